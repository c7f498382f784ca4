"""Cost of calls by judge and step, and texts that are longer than a judge's window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from claimeval.metrics.tally import Keyed
from claimeval.providers.prices import Price, counted, price_of
from claimeval.providers.windows import known_window
from claimeval.types.estimates import Cost, LongEvidence
from claimeval.types.records import Call, Record, SampleResult
from claimeval.types.requests import Judge, Usage

NO_PRICES: Mapping[str, Price | None] = MappingProxyType({})


class StepCost(Record):
    """The cost of one judge in one step."""

    judge: str
    step: str
    cost: Cost


class RunCost(Record):
    """The cost of a run."""

    total: Cost
    by: tuple[StepCost, ...]


class JudgeCost:
    """Adds up the calls of one judge."""

    def __init__(self, price: Price | None) -> None:
        """`price` is None if it is unknown, as for a judge that is not in the manifest."""
        self._price = price
        self._calls = self._reused = self._verdicts = 0
        self._prompt: int | None = None
        self._completion: int | None = None
        self._cached: int | None = None
        self._written: int | None = None
        self._milliseconds: int | None = None
        self.uncounted = 0
        """Replies without a token count of the prompt or the reply."""

    def add(self, call: Call) -> None:
        """Add one call. Without a reply it took its time, but has no verdicts, costs nothing and is
        not counted."""
        if call.seconds is not None:
            self._milliseconds = (self._milliseconds or 0) + round(1000 * call.seconds)
        if call.reply is None:
            return
        self._reused += call.reused
        self._calls += not call.reused
        self._verdicts += 0 if call.attempt or (call.window or 1) > 1 else len(call.subjects)
        if call.prompt_tokens is not None:
            self._prompt = (self._prompt or 0) + call.prompt_tokens
        if call.completion_tokens is not None:
            self._completion = (self._completion or 0) + call.completion_tokens
        if call.cached_tokens is not None:
            self._cached = (self._cached or 0) + call.cached_tokens
        if call.cache_write_tokens is not None:
            self._written = (self._written or 0) + call.cache_write_tokens
        self.uncounted += not counted(call)

    def cost(self) -> Cost:
        """Return the cost of the calls so far."""
        is_priced = self._price is not None and not (
            self.uncounted and self._price.input + self._price.output > 0
        )
        used = Usage(
            prompt_tokens=self._prompt,
            completion_tokens=self._completion,
            cached_tokens=self._cached,
            cache_write_tokens=self._written,
        )
        dollars = self._price.of(used) if is_priced and self._price else None
        return Cost(
            calls=self._calls,
            reused=self._reused,
            verdicts=self._verdicts,
            prompt_tokens=self._prompt,
            completion_tokens=self._completion,
            cached_tokens=self._cached,
            dollars=dollars,
            dollars_per_verdict=_each(dollars, self._verdicts),
            seconds=None if self._milliseconds is None else self._milliseconds / 1000,
        )


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs; dollars are None if any cost is unknown."""
    all_costs = list(costs)
    dollars = [cost.dollars for cost in all_costs if cost.dollars is not None]
    seconds = [cost.seconds for cost in all_costs if cost.seconds is not None]
    known = sum(dollars) if len(dollars) == len(all_costs) else None
    verdicts = sum(cost.verdicts for cost in all_costs)
    return Cost(
        calls=sum(cost.calls for cost in all_costs),
        verdicts=verdicts,
        reused=sum(cost.reused for cost in all_costs),
        prompt_tokens=_sum(cost.prompt_tokens for cost in all_costs),
        completion_tokens=_sum(cost.completion_tokens for cost in all_costs),
        cached_tokens=_sum(cost.cached_tokens for cost in all_costs),
        dollars=known,
        dollars_per_verdict=_each(known, verdicts),
        seconds=round(math.fsum(seconds), 3) if seconds else None,
    )


def _each(dollars: float | None, verdicts: int) -> float | None:
    return None if dollars is None or not verdicts else dollars / verdicts


def _sum(counts: Iterable[int | None]) -> int | None:
    """Return the sum of the known counts; None if there are none."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class CostTally:
    """Computes the cost of a run."""

    def __init__(
        self,
        judges: Sequence[Judge],
        extractor: Judge | None,
        prices: str | Path | None,
        known: Mapping[str, Price | None] = NO_PRICES,
    ) -> None:
        """`prices` is a price file; `known` are prices by judge that take precedence over it."""
        everyone = (*judges, *([extractor] if extractor else ()))
        self.prices = {judge.name: price_of(judge, prices) for judge in everyone} | dict(known)
        """The price of each judge, which may be unknown."""
        self._costs = Keyed[tuple[str, str], JudgeCost](
            lambda key: JudgeCost(self.prices.get(key[0]))
        )

    def add(self, result: SampleResult) -> None:
        """Add the calls of one sample."""
        for call in result.calls:
            self._costs[call.judge, call.step].add(call)

    def summary(self) -> RunCost | None:
        """Return the costs so far; None for a run without judges."""
        if not self.prices:
            return None
        by = tuple(
            StepCost(judge=judge, step=step, cost=costs.cost())
            for (judge, step), costs in sorted(self._costs.items())
        )
        return RunCost(total=total(step.cost for step in by), by=by)


def windows_of(calls: Iterable[Call]) -> dict[str, int]:
    """Return the maximum number of windows in which each judge read a text of one sample, if it was
    too long."""
    windows: dict[str, int] = {}
    for call in calls:
        if call.window is not None:
            windows[call.judge] = max(windows.get(call.judge, 0), call.window)
    return windows


def long_evidence(
    counts: Mapping[str, Sequence[int]],
    judges: Iterable[Judge],
    adapted: Callable[[Judge], Judge] = lambda judge: judge,
) -> tuple[LongEvidence, ...]:
    """Return the samples with texts that do not fit, for each judge that has such samples.

    `counts` has the number of windows of each of these samples, by judge. `adapted` returns a judge
    with what was learned about its server.
    """
    return tuple(
        LongEvidence(
            judge=judge.name,
            context_tokens=known_window(adapted(judge)) or judge.learned.context_tokens,
            samples=len(counts[judge.name]),
            windows=max(counts[judge.name]),
        )
        for judge in {judge.name: judge for judge in judges}.values()
        if judge.name in counts
    )
