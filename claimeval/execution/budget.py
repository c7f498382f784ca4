"""Caps that hold: the worst case of every call is reserved before it is sent and settled when its cost is known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from claimeval.execution.ledger import Ledger
from claimeval.providers import provider
from claimeval.providers.prices import VARIABLE, Price, price, worst_case
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError, Completion, Judge, Request


def check_prices(judges: Iterable[Judge], prices: str | Path | None = None) -> None:
    """UsageError unless every judge's price is known: a cap on money could not be kept."""
    for judge in judges:
        if price(judge.model, judge.endpoint, prices) is None:
            raise UsageError(
                f"a cap on the cost needs the price of {judge.model} at {judge.endpoint}, and nobody stated one. Give "
                f"a YAML file with a line such as `{judge.model}: {{input: 0.25, output: 2.00}}` (US dollars per "
                f"million tokens) by --prices or in the environment variable {VARIABLE}, or cap the calls instead"
            )


def cost(completion: Completion, price: Price) -> float | None:
    """US dollars for a reply; None where the provider did not say how many tokens it counted."""
    usage = completion.usage
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens) if price.cached_input is not None else 0
    prompt = (usage.prompt_tokens - cached) * price.input + cached * (price.cached_input or 0.0)
    return (prompt + usage.completion_tokens * price.output) / 1e6


class Budget:
    """The spending of this process: held against the ledger's caps where there are any, and added up for show."""

    def __init__(self, judges: Iterable[Judge], ledger: Ledger | None = None, prices: str | Path | None = None) -> None:
        judges = tuple(judges)
        self._prices = {judge.name: price(judge.model, judge.endpoint, prices) for judge in judges}
        self._charged = {judge.name for judge in judges if provider(judge.model).costs}
        self._ledger = ledger
        self._under_way = 0
        self._settled = asyncio.Event()
        self.exhausted: str | None = None
        """Set, with the reason in words, when a call would have passed a cap."""
        self.spent: float | None = 0.0 if all(self._prices.values()) else None
        """US dollars in this process, calls of unknown outcome at their worst; None where a price is not known."""

    async def reserve(self, request: Request) -> float:
        """The worst case of a call, which is now reserved. Waits while calls under way may still free enough.

        CallError where the call would pass a cap for good.
        """
        known = self._prices[request.judge.name]
        most = worst_case(request, known) if known else 0.0
        if self._ledger and request.judge.name in self._charged:
            while not self.exhausted and not self._ledger.reserve(most):
                if self._under_way:
                    self._settled.clear()
                    await self._settled.wait()
                else:
                    spent = self._ledger.spent
                    self.exhausted = f"{spent.calls} calls and ${spent.cost:.4f} are spent"
                    self._settled.set()
            if self.exhausted:
                raise CallError("over_budget", self.exhausted, retryable=False)
        self._under_way += 1
        return most

    def settle(self, request: Request, reserved: float, outcome: Completion | CallError | None) -> None:
        """Enters what the call cost: all that was reserved where a reply may have been paid and lost."""
        known = self._prices[request.judge.name]
        paid: float | None = None
        if isinstance(outcome, Completion):
            paid = cost(outcome, known) if known else None
        elif outcome and not outcome.possibly_paid:
            paid = 0.0
        if paid is None:
            paid = reserved
        elif self._ledger and paid != reserved:
            self._ledger.settle(reserved, paid)
        if self.spent is not None:
            self.spent += paid
        self._under_way -= 1
        self._settled.set()
