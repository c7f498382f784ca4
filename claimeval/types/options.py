"""Options of a run, of a panel and of local models, for the command line and for Python.

The first line of a field's docstring is its help on the command line. Values out of range and
options that contradict each other raise UsageError when the record is made.
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
"""Treatment of judges of the model family that wrote the answer: counted with a warning, not asked,
asked but not counted, or an error before the run starts."""

USELESS = ("unparsable", "incomplete", "truncated", "refused", "filtered")
"""Reasons for which a cached reply can be requested again."""
LongTexts = Literal["truncate", "window"]


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """A part of a run, made by a separate process."""

    number: int
    """From 1."""
    count: int
    """Number of shards of the run."""

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard in a text such as `3/16`, the third of 16; UsageError for anything
        else."""
        number, _, count = text.partition("/")
        if not (
            number.strip().isdecimal()
            and count.strip().isdecimal()
            and 1 <= int(number) <= int(count) <= 99_999
        ):
            raise UsageError(
                f"shard: {text!r}; give the shard's number and the number of shards, such as 3/16"
            )
        return cls(int(number), int(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options for calls to judges, and limits on their cost.

    Examples:
        >>> options = ce.RunOptions(max_cost=5, concurrency=20)
        >>> run = ce.score("answers.jsonl", judges="openai:gpt-5-mini", options=options)
        >>> run.cost.dollars < 5
        True
    """

    max_cost: float | None = None
    """Limit on cost in US dollars; then exit 3.

    Earlier parts of the same run count. A call is sent only if its maximum cost is within the
    limit.
    """
    max_calls: int | None = None
    """Limit on calls; then exit 3.

    Retries and earlier parts of the same run count.
    """
    prices: str | Path | None = None
    """YAML file of prices per million tokens.

    Lines of the form `model: {input: 0.25, output: 2.00}`, which take precedence over
    $CLAIMEVAL_PRICES and the built-in table.
    """
    cache: str | Path | None = None
    """Folder of the reply cache.

    Default: $CLAIMEVAL_CACHE, else ~/.cache/claimeval.
    """
    offline: bool = False
    """Use cached replies only.

    Questions without a cached reply are `not_in_cache`.
    """
    ask_again: str | tuple[str, ...] = ""
    """Ask again where the stored reply is unparsable, ...

    The reasons are unparsable, incomplete, truncated, refused and filtered. The question is asked
    again with the next attempt number in its key. Nothing is deleted, and later runs use the new
    reply.
    """
    concurrency: int | None = None
    """Calls at once per model; adapts.

    None starts low and rises until the provider pushes back.
    """
    rpm: int | None = None
    """Requests per minute and model.

    Default: the limits that the provider reports.
    """
    tpm: int | None = None
    """Tokens per minute and model.

    Default: the limits that the provider reports.
    """
    timeout: float = 300.0
    """Seconds per attempt.

    From sending the request to the last byte of the reply. Local models have no timeout.
    """
    max_reply_bytes: int = 16_000_000
    """Maximum size of a reply in bytes, also after decompression. Python only."""
    attempts: int = 6
    """Maximum number of attempts per call. Rate-limited attempts do not count. Python only."""
    backoff: float = 1.0
    """Seconds before the second attempt, doubled before each further one. Python only."""
    batch: bool = False
    """Ask through the providers' batch files.

    Half the price, with replies within 24 hours.
    """
    detach: bool = False
    """Submit batches, then exit 3.

    In Python: raise StoppedEarly. The same call resumes.
    """
    shard: str | None = None
    """Judge part 3 of 16 with 3/16; `merge` joins them.

    Shards are counted from 1. Each shard has consecutive samples and writes its results to `parts/`
    in the run directory, which all shards share. `Run.merge` and `claimeval merge` join them.
    """
    compress: bool = False
    """Write `results.jsonl.gz`, not `results.jsonl`. Python only.

    It is at most a quarter as large. All commands read both.
    """
    engine: str | None = None
    """ray, or ray://HOST:PORT.

    `ray` uses the cluster in $RAY_ADDRESS, else this machine. Each shard is a task, one actor sends
    all requests, and each worker loads local models once. Needs the extra `ray`.
    """
    stop_when_decided: float | None = None
    """Stop when the gates are decided, with this certainty.  [default: 0.95]

    Samples are judged in an order fixed by a hash of their questions, and the run ends as soon as
    every gate on a mean is decided, or one has failed. With this probability, between 0.5 and 1,
    the decision is that of the whole run, however often one looks. The same call without it goes
    on, and pays only for the rest.
    """
    cluster: str | None = None
    """Samples with equal values depend on each other.  [default: question]

    The field of a sample that defines the clusters for intervals and tests. None: the question, or
    the field of the run that is rejudged.
    """
    progress: Callable[[Progress], None] | None = field(default=None, compare=False)
    """Called after every change. Python only.

    None draws a bar in notebooks, and nothing elsewhere.
    """

    def __post_init__(self) -> None:
        require_at_least(self, 1, "concurrency", "rpm", "tpm", "attempts", "max_reply_bytes")
        require_at_least(self, 0, "max_cost", "max_calls", "backoff")
        certainty = self.stop_when_decided
        if certainty is not None and not 0.5 <= certainty < 1:
            raise UsageError(
                f"stop_when_decided: {certainty!r}; give a probability from 0.5 to below 1, as in"
                " 0.95"
            )
        if not (isinstance(self.timeout, int | float) and self.timeout > 0):
            raise UsageError(f"timeout: {self.timeout!r}; it needs a number of seconds above 0")
        for reason in self.reasons_to_ask_again:
            if reason not in USELESS:
                raise unknown_name("ask_again", reason, USELESS)
        if self.detach and not self.batch:
            raise UsageError("--detach submits batches; add --batch")
        if self.shard is not None:
            Shard.parse(self.shard)
            if self.compress:
                raise UsageError(
                    "compress cannot be used with shard; give it to `claimeval merge` instead"
                )
        if self.engine is not None:
            self._check_engine(self.engine)

    def _check_engine(self, engine: str) -> None:
        if engine != "ray" and not engine.startswith("ray://"):
            raise UsageError(f"engine: {engine!r}; it is ray, or ray://HOST:PORT")
        conflicting = [name for name in ("batch", "offline", "shard") if getattr(self, name)]
        if conflicting:
            raise UsageError(
                f"--{conflicting[0]} cannot be used with --engine; leave one of them out"
            )

    @property
    def reasons_to_ask_again(self) -> tuple[str, ...]:
        """The reasons of `ask_again` as a tuple."""
        reasons = self.ask_again.split(",") if isinstance(self.ask_again, str) else self.ask_again
        return tuple(reason.strip() for reason in reasons if reason.strip())

    @property
    def capped(self) -> bool:
        """Whether the run has a limit on calls or cost."""
        return self.max_calls is not None or self.max_cost is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelOptions:
    """Options for counting the verdicts of several judges.

    None means the value of the panel file, else of the run that is rejudged, else the default.

    Examples:
        >>> panel = ce.PanelOptions(vote="unanimous", quorum=2)
        >>> judges = ["openai:gpt-5-mini", "local:lexical"]
        >>> run = ce.score("answers.jsonl", judges=judges, panel=panel)
        >>> run.manifest.panel.vote
        'unanimous'
    """

    vote: str | None = None
    """majority by default; `claimeval metrics` lists all.

    The default for grades is `median`.
    """
    tie: str | None = None
    """abstain, conservative, or a judge.  [default: abstain]"""
    quorum: int | None = None
    """Judges who must give a label; over half by default."""
    replicates: int | None = None
    """Ask each judge N times; one vote.  [default: 1]"""
    weights: Mapping[str, float] | None = None
    """Per judge, for `weighted`."""
    on_same_family: OnSameFamily | None = None
    """warn, skip, no-vote or error.  [default: warn]

    Treatment of judges of the model family that wrote the answer.
    """
    families: Mapping[str, str] | str | Path | None = None
    """YAML file of model families.

    Maps patterns to families, as in {"house-*": "llama"}. In Python, also the mapping itself.
    """

    def __post_init__(self) -> None:
        require_at_least(self, 1, "quorum", "replicates")
        require_one_of(self, "on_same_family", get_args(OnSameFamily))

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not None, by name, with the families read."""
        from claimeval.types.families import read_families

        values = {
            row.name: value
            for row in fields(self)
            if (value := getattr(self, row.name)) is not None
        }
        if isinstance(self.families, (str, Path)):
            values["families"] = read_families(Path(self.families))
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """Options for the local model of `measure`.

    Examples:
        >>> ce.LocalOptions(model="org/model", batch_size=8).device
        'auto'
    """

    model: str | None = None
    """Folder or name on the Hugging Face hub. Default: the model of the metric."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""
    context_tokens: int | None = None
    """Context window in tokens. Default: the model's limit."""
    long_texts: LongTexts = "truncate"
    """Texts beyond the context window: truncate the end, or read in windows and use the best."""
    prompt: str | Path | None = None
    """A .j2 file that replaces the shipped prompt of `query_likelihood`."""
    device: str = "auto"
    """`cpu`, `cuda`, `cuda:1`, `mps` or `auto`: $CLAIMEVAL_DEVICE, else the fastest available."""
    dtype: str = "float32"
    """`bfloat16` is faster on many devices and changes the scores."""
    batch_size: int | Literal["auto"] = "auto"
    """Tokens per batch, with padding. Does not change scores."""

    def __post_init__(self) -> None:
        require_at_least(self, 16, "context_tokens")
        require_one_of(self, "long_texts", ("truncate", "window"))
        if self.batch_size != "auto":
            require_at_least(self, 1, "batch_size")


MOST = 1_000_000_000
"""The highest number that an option accepts: counts and billionths of a dollar up to it fit the
database of limits."""


def require_at_least(options: object, minimum: float, *names: str) -> None:
    """Raise UsageError for a field that is neither None nor a number from `minimum` to a
    billion."""
    check_at_least(minimum, **{name: getattr(options, name) for name in names})


def check_at_least(minimum: float, **values: object) -> None:
    """Raise UsageError for an argument that is neither None nor a number from `minimum` to a
    billion."""
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(value, int | float):
            raise UsageError(f"{name}: {value!r}; it needs a number of {minimum:g} or more")
        if not value >= minimum:  # NaN is not
            raise UsageError(f"{name}: {value!r}; it needs {minimum:g} or more")
        if value > MOST:
            raise UsageError(f"{name}: {value!r}; it needs {MOST:,} or less")


def require_one_of(options: object, name: str, allowed: tuple[str, ...]) -> None:
    """Raise UsageError for a field that is neither None nor one of the allowed words."""
    value = getattr(options, name)
    if value is not None and value not in allowed:
        raise unknown_name(name, str(value), allowed)
