"""What the replies cost that results rest on, by judge and step, from their tokens and the stated prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from claimeval.judging.assess import CLAIMS_PER_CALL
from claimeval.judging.panel import Panel
from claimeval.providers.prices import counted, price_of
from claimeval.types.estimates import Cost
from claimeval.types.records import Call, Evidence, Part, Record, SampleResult
from claimeval.types.requests import Judge, Usage


class StepCost(Record):
    """The cost of one judge in one step."""

    judge: str
    step: str
    cost: Cost


class RunCost(Record):
    """The cost of a run."""

    total: Cost
    by: tuple[StepCost, ...]
    skipped: int = 0
    """Calls that later judges did not need because the first ones agreed (escalation)."""


class JudgeCost:
    """Adds up the calls of one judge."""

    def __init__(self, judge: Judge | None, prices: str | Path | None = None) -> None:
        """`judge` None is a judge that the run does not know, whose price is unknown."""
        self._price = price_of(judge, prices) if judge else None
        self._calls = self._reused = 0
        self._prompt: int | None = None
        self._completion: int | None = None
        self._cached: int | None = None
        self._written: int | None = None
        self.uncounted = 0
        """Replies that came without a count of tokens, of the prompt or of the reply."""

    def add(self, call: Call) -> None:
        """Count one call in."""
        self._reused += call.reused
        self._calls += not call.reused
        if call.prompt_tokens is not None:
            self._prompt = (self._prompt or 0) + call.prompt_tokens
        if call.completion_tokens is not None:
            self._completion = (self._completion or 0) + call.completion_tokens
        if call.cached_tokens is not None:
            self._cached = (self._cached or 0) + call.cached_tokens
        if call.cache_write_tokens is not None:
            self._written = (self._written or 0) + call.cache_write_tokens
        self.uncounted += call.reply is not None and not counted(call)

    def cost(self) -> Cost:
        """Return the cost of the calls so far."""
        known = self._price is not None and not (self.uncounted and self._price.input + self._price.output > 0)
        used = Usage(
            prompt_tokens=self._prompt,
            completion_tokens=self._completion,
            cached_tokens=self._cached,
            cache_write_tokens=self._written,
        )
        return Cost(
            calls=self._calls,
            reused=self._reused,
            prompt_tokens=self._prompt,
            completion_tokens=self._completion,
            cached_tokens=self._cached,
            dollars=self._price.of(used) if known and self._price else None,
        )


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs; dollars are None if one of them is unknown."""
    every = list(costs)
    dollars = [cost.dollars for cost in every if cost.dollars is not None]
    return Cost(
        calls=sum(cost.calls for cost in every),
        reused=sum(cost.reused for cost in every),
        prompt_tokens=_sum(cost.prompt_tokens for cost in every),
        completion_tokens=_sum(cost.completion_tokens for cost in every),
        cached_tokens=_sum(cost.cached_tokens for cost in every),
        dollars=sum(dollars) if len(dollars) == len(every) else None,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    """Return the sum of what was counted; None if nothing was."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class CostTally:
    """Adds up the calls of a run."""

    def __init__(
        self, judges: Sequence[Judge], extractor: Judge | None, panel: Panel, prices: str | Path | None
    ) -> None:
        everyone = (*judges, *([extractor] if extractor else ()))
        self._prices = prices
        self._judges = {judge.name: judge for judge in everyone}
        for judge in everyone:
            price_of(judge, prices)  # a file of prices that cannot be read is refused at the start
        self._later = tuple(judge.name for judge in judges[panel.escalate :]) if panel.escalate else ()
        self._repeats = panel.replicates
        self._costs: dict[tuple[str, str], JudgeCost] = {}
        self._skipped = 0

    def add(self, result: SampleResult) -> None:
        """Count the calls of one sample in."""
        for call in result.calls:
            if (key := (call.judge, call.step)) not in self._costs:
                self._costs[key] = JudgeCost(self._judges.get(call.judge), self._prices)
            self._costs[key].add(call)
        if self._later:
            self._skipped += self._not_needed(result)

    def _not_needed(self, result: SampleResult) -> int:
        """Calls that the later judges would have had, each asked about all claims, less those they had."""
        part_of = {claim.id: claim.of for claim in result.claims}
        claims: Counter[tuple[Part, Evidence]] = Counter(
            (part_of[a.subject], a.evidence) for a in result.assessments if not a.unasked
        )
        in_all = sum(-(-n // CLAIMS_PER_CALL) for n in claims.values()) * len(self._later) * self._repeats
        had = sum(c.step == "assess" and c.judge in self._later and not c.attempt for c in result.calls)
        return max(0, in_all - had)

    def summary(self) -> RunCost | None:
        """Return the costs so far; None for a run without judges."""
        if not self._judges:
            return None
        by = tuple(
            StepCost(judge=judge, step=step, cost=costs.cost()) for (judge, step), costs in sorted(self._costs.items())
        )
        return RunCost(total=total(one.cost for one in by), by=by, skipped=self._skipped)
