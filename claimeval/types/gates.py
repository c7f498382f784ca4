"""Limits on the results of a run: what a caller sets, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from claimeval.types.errors import UsageError
from claimeval.types.records import Record, SampleResult

GateKind = Literal["fail_under", "fail_over", "max_drop", "max_missing"]
Outcome = Literal["passed", "failed", "undecided"]

NO_LIMITS: Mapping[str, float] = MappingProxyType({})

MAX_MISSING = 0.01
"""Default of the largest share of samples or claims that may be lost to failures."""


class Gate(NamedTuple):
    """One limit."""

    kind: GateKind
    metric: str
    limit: float

    def __str__(self) -> str:
        return f"--{self.kind.replace('_', '-')} {self.metric}={self.limit:g}"


class JudgedRun(Protocol):
    """A run with results, as `score` returns it."""

    @property
    def path(self) -> Path | None:
        """The run directory; None for a run in memory."""

    @property
    def results(self) -> Sequence[SampleResult]:
        """The result of every sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Limits on the results of a run.

    A run fails a gate if the number of this data is beyond the limit; no gate asks whether that may
    be chance, unless `beyond_chance` says so. Means are compared up to rounding: a mean of 7/10
    passes a limit of 0.7 from both sides.

    Examples:
        >>> gates = ce.Gates(fail_under={"faithfulness": 0.2}, max_missing=0.05)
        >>> run = ce.score("answers.jsonl", judges="openai:gpt-5-mini", gates=gates)
        >>> run.record.gates[0].outcome
        'passed'
    """

    fail_under: Mapping[str, float] = field(default_factory=dict)
    """Metric to the lowest mean allowed. Where bounds are reported in place of an interval, the
    lower bound counts."""
    fail_over: Mapping[str, float] = field(default_factory=dict)
    """Metric to the highest mean allowed; of bounds, the upper one counts."""
    max_drop: Mapping[str, float] = field(default_factory=dict)
    """Metric to the largest loss allowed against `baseline`, over the samples that both runs have:
    a lower mean, or a higher one for metrics that are best at 0."""
    baseline: JudgedRun | str | Path | None = None
    """The run, or its directory, that `max_drop` compares with."""
    max_missing: float = MAX_MISSING
    """The largest share of samples or claims of a metric that may be lost to failures, from 0 to
    1."""
    beyond_chance: bool = False
    """Let `max_drop` fail only if the interval of the difference excludes 0 as well."""

    def __post_init__(self) -> None:
        for gate in self.limits:
            if not 0 <= gate.limit <= 1:
                raise UsageError(f"gate {gate.metric}={gate.limit:g}: give a value from 0 to 1")
        if not 0 <= self.max_missing <= 1:
            raise UsageError(f"max_missing: {self.max_missing!r}; give a share from 0 to 1")
        if self.max_drop and self.baseline is None:
            raise UsageError("--max-drop needs --baseline, the run to compare with")
        if self.baseline is not None and not self.max_drop:
            raise UsageError(
                "--baseline needs --max-drop, as in --max-drop faithfulness=0.03: how much lower a"
                " metric may be"
            )
        if self.beyond_chance and not self.max_drop:
            raise UsageError("--beyond-chance is about --max-drop; the other gates are exact")

    @property
    def limits(self) -> tuple[Gate, ...]:
        """The gates on means, in the order in which they are given."""
        return (
            *(Gate("fail_under", name, limit) for name, limit in self.fail_under.items()),
            *(Gate("fail_over", name, limit) for name, limit in self.fail_over.items()),
            *(Gate("max_drop", name, limit) for name, limit in self.max_drop.items()),
        )


class GateResult(Record):
    """What became of a gate.

    Examples:
        >>> (result,) = ce.Run.load("runs/a").gate(fail_under={"faithfulness": 0.99})
        >>> isinstance(result, ce.GateResult)
        True
        >>> result.outcome, result.says
        ('failed', 'faithfulness is 0.95, below 0.99')
    """

    metric: str
    """Name of the metric."""
    kind: GateKind
    """The limit, named as in `Gates`."""
    threshold: float
    """The value of the limit."""
    outcome: Outcome
    """`passed`, `failed`, or `undecided` in a run that ended before the data could tell."""
    value: float | None = None
    """The mean, the bound that counts, the loss against the baseline, or the share that was
    lost."""
    low: float | None = None
    """The lower end of the interval of the value; None if it has none."""
    high: float | None = None
    """The upper end."""
    after: int | None = None
    """The number of samples that were judged when the gate was decided; None for a run that went on
    to its end."""
    of: int | None = None
    """The number of samples of the whole run."""
    pairs: int | None = None
    """For `max_drop`, the number of samples with a value in both runs."""
    unpaired: int | None = None
    """For `max_drop`, the number of samples that only one of the runs has."""
    p: float | None = None
    """For `max_drop`, the p-value of the difference."""
    says: str = ""
    """The outcome in words."""

    @property
    def failed(self) -> bool:
        """Whether the gate failed."""
        return self.outcome == "failed"
