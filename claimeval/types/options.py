"""How a run is asked and paid, and how verdicts are counted: one record each, taken by every door.

The first line under a field is its help on the command line; what follows is for Python.

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

OnSameFamily = Literal["warn", "skip", "no-vote", "error"]
"""What becomes of judges of the family that wrote the answer: asked and counted with a warning, not asked about it,
asked without a vote, or refused before the run begins."""

USELESS = ("unparsable", "incomplete", "truncated", "refused", "filtered")
"""Reasons that a stored reply can be, and for which it can be asked for again."""
BatchRetries = Literal["batch", "online"]
LongTexts = Literal["truncate", "window"]


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """A part of a run that a process of its own makes."""

    number: int
    """From 1."""
    count: int
    """How many shards the run is cut into."""

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard in a text such as `3/16`, the third of 16; UsageError for anything else."""
        number, _, count = text.partition("/")
        if not (number.strip().isdecimal() and count.strip().isdecimal() and 1 <= int(number) <= int(count) <= 99_999):
            raise UsageError(f"shard: {text!r}; give its number and how many there are, from 1/16 to 16/16")
        return cls(int(number), int(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run asks its judges, and what it may spend."""

    max_cost: float | None = None
    """US dollars that calls may cost; then exit 3.

    Earlier parts of the same run count; a call is sent only if its worst case fits.
    """
    max_calls: int | None = None
    """Calls that may be made; then exit 3.

    Retries and earlier parts of the same run count.
    """
    prices: str | Path | None = None
    """YAML file of prices per million tokens.

    A line a model, `model: {input: 0.25, output: 2.00}`; before $CLAIMEVAL_PRICES and the shipped table.
    """
    cache: str | Path | None = None
    """Folder of the reply cache.

    None for $CLAIMEVAL_CACHE, else ~/.cache/claimeval.
    """
    offline: bool = False
    """Use cached replies only.

    Questions without one are `not_in_cache`.
    """
    ask_again: str | tuple[str, ...] = ""
    """Re-ask cached replies of these reasons: REASON,...

    unparsable, incomplete, truncated, refused or filtered: what such a reply leaves open is asked anew, with the next
    number of attempt in the key. Nothing is deleted, and later runs use the new reply.
    """
    concurrency: int | None = None
    """Calls in flight per model; adapts.

    None starts low and rises until the provider pushes back.
    """
    rpm: int | None = None
    """Requests a minute per model.

    None follows the limits that the provider reports.
    """
    tpm: int | None = None
    """Tokens a minute per model.

    None follows the limits that the provider reports.
    """
    timeout: float = 300.0
    """Seconds per attempt.

    From sending the request to the last byte of the reply; models on this machine take what they need.
    """
    max_reply_bytes: int = 16_000_000
    """Bytes of the longest reply that is read, also after unpacking. Python only."""
    attempts: int = 6
    """How often a call is tried when the provider fails; being told to slow down does not count. Python only."""
    backoff: float = 1.0
    """Seconds before the second attempt, doubled before each further one. Python only."""
    batch: bool = False
    """Ask through the providers' batch files.

    Half the price, an answer within 24 hours.
    """
    batch_retries: BatchRetries = "batch"
    """Re-ask by batch or online."""
    detach: bool = False
    """Submit batches, then exit 3.

    In Python: raise StoppedEarly. The same call resumes.
    """
    online: tuple[str, ...] = ()
    """Ask this judge online all the same. Repeatable."""
    shard: str | None = None
    """This process's part, as in 3/16; then `merge`.

    Shards are counted from 1. Each judges consecutive samples and writes them to `parts/` in the run directory, which
    all shards share; `Run.merge` and `claimeval merge` join them.
    """
    via: str | None = None
    """Ask through `claimeval serve` at HOST:PORT.

    It has the reply cache, the keys, the pace and the caps, for all that ask through it; judges on this machine are
    asked from here. Behind a proxy with TLS: https://HOST. The token is in $CLAIMEVAL_TOKEN.
    """
    compress: bool = False
    """Write `results.jsonl.gz`, not `results.jsonl`.

    A quarter of the bytes or less; everything reads both.
    """
    engine: str | None = None
    """ray, or ray://HOST:PORT.

    `ray` uses the cluster in $RAY_ADDRESS, else this machine. Shards are tasks, one actor asks, and models on the
    machines load once a worker. Needs the extra `ray`.
    """
    cluster: str | None = None
    """Equal values count as one cluster.  [default: question]

    The field of a sample by which intervals and tests draw samples together; None for the question, or for the field
    of the run that is judged again.
    """
    progress: Callable[[Progress], None] | None = field(default=None, compare=False)
    """Called after every change. Python only.

    None draws a bar in notebooks, and nothing elsewhere.
    """

    def __post_init__(self) -> None:
        require_at_least(self, 1, "concurrency", "rpm", "tpm", "attempts", "max_reply_bytes")
        require_at_least(self, 0, "max_cost", "max_calls", "backoff")
        if not (isinstance(self.timeout, int | float) and self.timeout > 0):
            raise UsageError(f"timeout: {self.timeout!r}; it needs a number of seconds above 0")
        require_one_of(self, "batch_retries", get_args(BatchRetries))
        for reason in self.reasons_to_ask_again:
            if reason not in USELESS:
                raise unknown_name("ask_again", reason, USELESS)
        if not self.batch and (self.batch_retries != "batch" or self.detach or self.online):
            raise UsageError("--batch-retries, --detach and --online say how --batch asks; add --batch")
        if self.shard is not None:
            Shard.parse(self.shard)
            if self.compress:
                raise UsageError("no shard is compressed; give --compress to `claimeval merge`, which writes the run")
        if self.engine is not None:
            if self.engine != "ray" and not self.engine.startswith("ray://"):
                raise UsageError(f"engine: {self.engine!r}; it is ray, or ray://HOST:PORT")
            conflicting = [name for name in ("batch", "offline", "shard") if getattr(self, name)]
            if conflicting:
                raise UsageError(f"--{conflicting[0]} cannot be used with --engine; leave one of them out")
        if self.via is not None:
            conflicting = [
                name for name in ("max_cost", "max_calls", "cache", "rpm", "tpm") if getattr(self, name) is not None
            ]
            if conflicting or self.batch:
                option = "--" + (conflicting or ["batch"])[0].replace("_", "-")
                raise UsageError(
                    f"{option} cannot be used with --via: the server holds the reply cache, the rates and the limits; "
                    "pass it to `claimeval serve`"
                )

    @property
    def reasons_to_ask_again(self) -> tuple[str, ...]:
        """The reasons of `ask_again`, one by one."""
        reasons = self.ask_again.split(",") if isinstance(self.ask_again, str) else self.ask_again
        return tuple(reason.strip() for reason in reasons if reason.strip())

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

    vote: str | None = None
    """majority by default; `claimeval metrics` lists all.

    `median` where answers are grades. An unknown name is refused when the panel is made, before any call.
    """
    tie: str | None = None
    """abstain, conservative, or a judge.  [default: abstain]"""
    quorum: int | None = None
    """Judges who must give a label; over half by default."""
    replicates: int | None = None
    """Ask each judge N times; one vote.  [default: 1]"""
    escalate: int | None = None
    """All judges only where the first N disagree."""
    weights: Mapping[str, float] | None = None
    """Per judge, for `weighted`."""
    labels: str | Path | None = None
    """Human labels to learn --vote weighted from."""
    on_same_family: OnSameFamily | None = None
    """warn, skip, no-vote or error.  [default: warn]

    What to do with judges of the model family that wrote the answer.
    """
    families: Mapping[str, str] | str | Path | None = None
    """YAML file of model families.

    Pattern to family, as in {"house-*": "llama"}; in Python also this mapping.
    """

    def __post_init__(self) -> None:
        require_at_least(self, 1, "quorum", "replicates")
        require_at_least(self, 2, "escalate")
        require_one_of(self, "on_same_family", get_args(OnSameFamily))

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not None, by name, without the labels and with the families read."""
        from claimeval.types.families import read_families

        values = {row.name: value for row in fields(self) if (value := getattr(self, row.name)) is not None}
        values.pop("labels", None)
        if isinstance(self.families, (str, Path)):
            values["families"] = read_families(Path(self.families))
        return values


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
        require_at_least(self, 16, "context_tokens")
        require_one_of(self, "long_texts", ("truncate", "window"))
        if self.batch_size != "auto":
            require_at_least(self, 1, "batch_size")


def require_at_least(options: object, least: float, *names: str) -> None:
    """Raise UsageError for a field that is neither None nor a number from `least` on."""
    for name in names:
        value = getattr(options, name)
        if value is not None and not (isinstance(value, int | float) and value >= least):
            raise UsageError(f"{name}: {value!r}; it needs {least:g} or more")


def require_one_of(options: object, name: str, allowed: tuple[str, ...]) -> None:
    """Raise UsageError for a field that is neither None nor one of the allowed words."""
    value = getattr(options, name)
    if value is not None and value not in allowed:
        raise unknown_name(name, str(value), allowed)
