"""How a run is asked and paid, and how verdicts are counted: one record each, taken by every door.

A value out of range, or options that contradict each other, raise UsageError when the record is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from claimeval.types.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from claimeval.types.progress import Progress

Vote = Literal["majority", "unanimous", "any", "median", "mean", "weighted", "dawid_skene"]
"""The vote rules; `judging.panel.rules` has a function for each."""

OnSameFamily = Literal["warn", "skip", "no-vote", "error"]
"""What becomes of judges of the family that wrote the answer: asked and counted with a warning, not asked about it,
asked without a vote, or refused before the run begins."""

BatchRetries = Literal["batch", "online"]
LongTexts = Literal["truncate", "window"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run asks its judges, and what it may spend."""

    max_cost: float | None = None
    """US dollars, earlier parts of the same run included; a call is sent only if its worst case fits."""
    max_calls: int | None = None
    """Requests, retries and earlier parts of the same run included."""
    prices: str | Path | None = None
    """A YAML file, a line a model, in dollars per million tokens; before $CLAIMEVAL_PRICES and the shipped table."""
    cache: str | Path | None = None
    """The folder of the reply store; None for $CLAIMEVAL_CACHE, else ~/.cache/claimeval."""
    offline: bool = False
    """Stored replies only; questions without one are `not_in_cache`."""
    concurrency: int | None = None
    """Calls in flight per model; None adapts to what the provider bears."""
    rpm: int | None = None
    """Requests a minute per model; None goes by the provider's replies."""
    tpm: int | None = None
    """Tokens a minute per model; None goes by the provider's replies."""
    timeout: float = 300.0
    """Seconds for one attempt, from sending to the last byte; models on this machine take what they need."""
    attempts: int = 6
    """How often a call is tried when the provider fails; being told to slow down does not count. Python only."""
    backoff: float = 1.0
    """Seconds before the second attempt, doubled before each further one. Python only."""
    batch: bool = False
    """Ask through the providers' batch files: half the price, within 24 hours."""
    batch_retries: BatchRetries = "batch"
    """Whether questions that a batch left open are asked again by batch or online."""
    detach: bool = False
    """Submit batches and raise StoppedEarly; the same call goes on."""
    online: tuple[str, ...] = ()
    """Judges that are asked online in spite of `batch`, by name."""
    cluster: str | None = None
    """The field of a sample whose equal values are one cluster in intervals and tests; None for the question, or for
    the field of the run that is judged again."""
    progress: Callable[[Progress], None] | None = field(default=None, compare=False)
    """Called after every change. Python only."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "concurrency", "rpm", "tpm", "attempts")
        _at_least(self, 0, "max_cost", "max_calls", "backoff")
        if not (isinstance(self.timeout, int | float) and self.timeout > 0):
            raise UsageError(f"timeout: {self.timeout!r}; it needs a number of seconds above 0")
        _one_of(self, "batch_retries", get_args(BatchRetries))
        if not self.batch and (self.batch_retries != "batch" or self.detach or self.online):
            raise UsageError("--batch-retries, --detach and --online say how --batch asks; add --batch")

    @property
    def capped(self) -> bool:
        """Whether the run's spending is held against a cap."""
        return self.max_calls is not None or self.max_cost is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelOptions:
    """How the verdicts of several judges are counted.

    None leaves a setting to the panel file, else to the run that is judged again, else to the default, which fits a
    single judge too.
    """

    vote: Vote | None = None
    """`majority`; `median` where answers are grades."""
    tie: str | None = None
    """`abstain` (the default), `conservative`, or the name of the judge who decides."""
    quorum: int | None = None
    """Judges who must give a label; by default more than half."""
    replicates: int | None = None
    """How often each judge is asked; once by default."""
    escalate: int | None = None
    """Ask the judges after the first so many only where these disagree; by default all are asked about everything."""
    weights: Mapping[str, float] | None = None
    """Per judge, for `weighted`."""
    labels: str | Path | None = None
    """A file of human labels from which the weights of `weighted` are learned."""
    on_same_family: OnSameFamily | None = None
    """Judges of the family that wrote the answer; `warn` by default."""
    families: Mapping[str, str] | str | Path | None = None
    """Further families, pattern to family as in {"house-*": "llama"}, or a YAML file of these."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "quorum", "replicates")
        _at_least(self, 2, "escalate")
        _one_of(self, "vote", get_args(Vote))
        _one_of(self, "on_same_family", get_args(OnSameFamily))

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not None, by name, without the labels and with the families read."""
        from claimeval.types.families import read_families

        found = {row.name: value for row in fields(self) if (value := getattr(self, row.name)) is not None}
        found.pop("labels", None)
        if isinstance(self.families, (str, Path)):
            found["families"] = read_families(Path(self.families))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """Which local model `measure` asks, and how it reads; one model a run."""

    model: str | None = None
    """A folder, or a name on the Hugging Face hub; None for the model of the metric."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""
    context_tokens: int | None = None
    """Tokens that the model reads at once; None for its limit."""
    long_texts: LongTexts = "truncate"
    """A text over that limit: cut its end off, or read it in windows and take the best."""
    prompt: str | Path | None = None
    """A .j2 file in the place of the shipped prompt of `query_likelihood`."""
    device: str = "auto"
    """`cpu`, `cuda`, `cuda:1`, `mps`; `auto` is $CLAIMEVAL_DEVICE, else the fastest there is."""
    dtype: str = "float32"
    """`bfloat16` is faster on many devices and changes the scores."""
    batch_size: int | Literal["auto"] = "auto"
    """Tokens in one batch, padding included; it does not change scores."""

    def __post_init__(self) -> None:
        _at_least(self, 16, "context_tokens")
        _one_of(self, "long_texts", ("truncate", "window"))
        if self.batch_size != "auto":
            _at_least(self, 1, "batch_size")


def _at_least(options: object, least: int, *names: str) -> None:
    for name in names:
        value = getattr(options, name)
        if value is not None and not (isinstance(value, int | float) and value >= least):
            raise UsageError(f"{name}: {value!r}; it needs {least} or more")


def _one_of(options: object, name: str, allowed: tuple[str, ...]) -> None:
    value = getattr(options, name)
    if value is not None and value not in allowed:
        raise unknown_name(name, str(value), allowed)
