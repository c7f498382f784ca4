"""What a known list of questions will cost: those that the store does not answer, counted and priced by judge."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from claimeval.evaluation.forecast.estimates import BYTES_PER_TOKEN, Range, thinking
from claimeval.providers.prices import cost_bound, price, prompt_bytes
from claimeval.store.store import Store
from claimeval.types.records import Record
from claimeval.types.requests import Request


class Prospect(NamedTuple):
    """A question that will be asked, or that may be."""

    step: str
    request: Request
    output: Range
    """Tokens of the reply as assumed, thinking apart."""
    certain: bool = True


class StepForecast(Record):
    """What one judge is asked in one step. Questions put again after a useless reply come on top."""

    step: str
    judge: str
    stored: int
    """Questions that the store answers."""
    calls: tuple[int, int]
    """At least and at most."""
    prompt_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    cost: tuple[float, float] | None
    """US dollars; None where nobody stated a price."""
    worst: float | None
    """US dollars if every byte of the prompts were a token and every reply ran to its limit."""


def quote(
    prospects: Iterable[Prospect], store: Store | None, prices: str | Path | None = None
) -> tuple[StepForecast, ...]:
    """A row for each step and judge, each different question counted once; prompts are 3 to 5 bytes a token."""
    sums: dict[tuple[str, str], _TextTotals] = {}
    seen: set[str] = set()
    for step, request, output, certain in prospects:
        if request.key in seen:
            continue
        seen.add(request.key)
        judge = request.judge
        found = sums.setdefault((step, judge.name), _TextTotals(request, prices))
        found.add(request, output, certain, stored=store is not None and store.get(request.key) is not None)
    return tuple(found.quote(step, judge) for (step, judge), found in sums.items())


class _TextTotals:
    def __init__(self, first: Request, prices: str | Path | None) -> None:
        self._price = price(first.judge.model, first.judge.endpoint, prices)
        self._stored = 0
        self._ends = [[0, 0.0, 0.0], [0, 0.0, 0.0]]
        """Calls, prompt tokens and output tokens, at least and at most."""
        self._worst = 0.0

    def add(self, request: Request, output: Range, certain: bool, *, stored: bool) -> None:
        if stored:
            self._stored += 1
            return
        size, extra = prompt_bytes(request), thinking(request.judge)
        for end, sure in ((0, certain), (1, True)):
            if sure:
                sums = self._ends[end]
                sums[0] += 1
                sums[1] += size / (BYTES_PER_TOKEN.high if end == 0 else BYTES_PER_TOKEN.low)
                sums[2] += min(output[end] + extra[end], request.max_tokens)
        self._worst += cost_bound(request, self._price) if self._price else 0.0

    def quote(self, step: str, judge: str) -> StepForecast:
        low, high = self._ends
        known = self._price
        return StepForecast(
            step=step,
            judge=judge,
            stored=self._stored,
            calls=(int(low[0]), int(high[0])),
            prompt_tokens=(round(low[1]), round(high[1])),
            output_tokens=(round(low[2]), round(high[2])),
            cost=None
            if known is None
            else (
                (low[1] * known.input + low[2] * known.output) / 1e6,
                (high[1] * known.input + high[2] * known.output) / 1e6,
            ),
            worst=self._worst if known else None,
        )
