"""Cost of calls by judge and step, and texts that are longer than a judge's window."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from claimeval.metrics.tally import Keyed
from claimeval.providers import automatic_claims, claims_per_call, row_of
from claimeval.providers.prices import Price, counted
from claimeval.providers.served import ServedPrices, is_model, names_deployments
from claimeval.providers.windows import known_window
from claimeval.types.estimates import Cost, LongEvidence
from claimeval.types.records import Call, Evidence, Record, SampleResult
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
    fewer_prompt_tokens: float | None = None
    """The share of the prompt tokens that `--claims-per-call auto` would have saved, if that is
    notable; None if not, or if the server counted none."""


class _Tokens:
    """The tokens of the replies of one price, either all with a stated cost or all without; None if
    none was reported."""

    def __init__(self) -> None:
        self.prompt: int | None = None
        self.completion: int | None = None
        self.cached: int | None = None
        self._written: int | None = None
        self._uncounted = 0
        """Replies without a token count of the prompt or the reply."""
        self._stated: float | None = None
        """US dollars that the provider states it charged."""

    def add(self, call: Call) -> None:
        """Add a reply."""
        self.prompt = _sum((self.prompt, call.prompt_tokens))
        self.completion = _sum((self.completion, call.completion_tokens))
        self.cached = _sum((self.cached, call.cached_tokens))
        self._written = _sum((self._written, call.cache_write_tokens))
        self._uncounted += not counted(call)
        if call.dollars is not None:
            self._stated = (self._stated or 0.0) + call.dollars

    def dollars(self, price: Price | None) -> float | None:
        """Return the cost; None if it is not stated, and the price or a count is unknown."""
        if self._stated is not None:
            return self._stated
        if price is None or (self._uncounted and price.input + price.output > 0):
            return None
        return price.of(Usage(self.prompt, self.completion, self.cached, self._written))


LEAST_SPARED = 0.05
"""Least share of the prompt tokens of a run that is worth a line."""
BYTES_PER_TOKEN = 4
CLAIM_TOKENS = 6
"""Tokens of a claim in a question: its text, and its id and line."""


class EvidenceCopies:
    """Counts the prompt tokens that fewer, longer questions about the same evidence would spare.

    Each question about claims has the rules, the evidence and the question of the sample, and then
    its claims. What a question has beside its claims is sent once for each further question.
    """

    def __init__(self, judges: Iterable[Judge]) -> None:
        self._longer = dict[str, int]()
        """The number of claims in a longer question, by judge that could have one."""
        for judge in judges:
            longer = automatic_claims(judge)
            if longer > claims_per_call(judge):
                self._longer[judge.name] = longer
        self.spared = 0.0

    def add(self, result: SampleResult) -> None:
        """Add the questions about the claims of one sample."""
        if not self._longer:
            return
        asked = Keyed[tuple[str, Evidence | None, int], list[Call]](lambda key: [])
        for call in result.calls:
            if call.judge in self._longer and _is_counted_question(call):
                asked[call.judge, call.evidence, call.replicate].append(call)
        sizes = {
            claim.id: len(claim.text.encode("utf-8", "replace")) / BYTES_PER_TOKEN + CLAIM_TOKENS
            for claim in result.claims
        }
        for (judge, _, _), calls in asked.items():
            self.spared += _spared(calls, sizes, self._longer[judge])


def _is_counted_question(call: Call) -> bool:
    """Return whether a call asked about claims for the first time, and its prompt was counted."""
    is_first = not call.attempt and call.window is None
    return call.step == "assess" and is_first and call.prompt_tokens is not None


def _spared(calls: Sequence[Call], sizes: Mapping[str, float], longer: int) -> float:
    """Return the prompt tokens of questions about the same evidence that questions of `longer`
    claims would spare."""
    claims = list(chain.from_iterable([call.subjects for call in calls]))
    fewer = len(calls) - math.ceil(len(claims) / longer)
    if fewer <= 0:
        return 0.0
    sent = sum(call.prompt_tokens or 0 for call in calls)
    beside = sent - sum(sizes.get(claim, 0.0) for claim in claims)
    return fewer * max(beside, 0.0) / len(calls)


Prices = Callable[[str | None], Price | None]
"""Returns the price of a reply by the model that answered."""


class JudgeCost:
    """Adds up the calls of one judge."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._calls = self._reused = self._verdicts = 0
        self._tokens = Keyed[tuple[Price | None, bool], _Tokens](lambda price: _Tokens())
        """By price, which depends on the model that answered, and whether the cost is stated."""
        self._milliseconds: int | None = None

    def add(self, call: Call) -> None:
        """Add one call. Without a reply it took its time, but has no verdicts, costs nothing and is
        not counted."""
        if call.seconds is not None:
            self._milliseconds = (self._milliseconds or 0) + round(1000 * call.seconds)
        if call.reply is None:
            return
        self._reused += call.reused
        self._calls += not call.reused
        # A second attempt or window asks about the same claims.
        self._verdicts += 0 if call.attempt or (call.window or 1) > 1 else len(call.subjects)
        self._tokens[self._prices(call.served_model), call.dollars is not None].add(call)

    def cost(self) -> Cost:
        """Return the cost of the calls so far."""
        by_price = self._tokens.items() or [((self._prices(None), False), _Tokens())]
        total_dollars = _all([tokens.dollars(price) for (price, _), tokens in by_price])
        used = [tokens for _, tokens in by_price]
        return Cost(
            calls=self._calls,
            reused=self._reused,
            verdicts=self._verdicts,
            prompt_tokens=_sum(tokens.prompt for tokens in used),
            completion_tokens=_sum(tokens.completion for tokens in used),
            cached_tokens=_sum(tokens.cached for tokens in used),
            dollars=total_dollars,
            dollars_per_verdict=_each(total_dollars, self._verdicts),
            seconds=None if self._milliseconds is None else self._milliseconds / 1000,
        )


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs; dollars are None if any cost is unknown."""
    all_costs = list(costs)
    seconds = [cost.seconds for cost in all_costs if cost.seconds is not None]
    known = _all([cost.dollars for cost in all_costs])
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


def _all(amounts: Sequence[float | None]) -> float | None:
    """Return the sum of amounts; None if one is unknown, since a part of a bill is no bill."""
    known = [amount for amount in amounts if amount is not None]
    return math.fsum(known) if len(known) == len(amounts) else None


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
        self._prices = {
            judge.name: ServedPrices(judge, prices, asked=known.get(judge.name))
            for judge in everyone
        }
        self._costs = Keyed[tuple[str, str], JudgeCost](lambda key: JudgeCost(self._of(key[0])))
        self._copies = EvidenceCopies(judges)

    def _of(self, judge: str) -> Prices:
        # a judge that is not in the manifest has no price
        return self._prices[judge].of if judge in self._prices else lambda served: None

    @property
    def prices(self) -> dict[str, Price | None]:
        """The price of each judge, which may be unknown."""
        return {name: prices.asked for name, prices in self._prices.items()}

    def add(self, result: SampleResult) -> None:
        """Add the calls of one sample."""
        for call in result.calls:
            self._costs[call.judge, call.step].add(call)
        self._copies.add(result)

    def summary(self) -> RunCost | None:
        """Return the costs so far; None for a run without judges."""
        if not self._prices:
            return None
        by = tuple(
            StepCost(judge=judge, step=step, cost=costs.cost())
            for (judge, step), costs in sorted(self._costs.items())
        )
        everything = total(step.cost for step in by)
        # Servers that report no usage leave the tokens unknown, and then no share is.
        spared = self._copies.spared / (everything.prompt_tokens or math.inf)
        return RunCost(
            total=everything,
            by=by,
            fewer_prompt_tokens=spared if spared >= LEAST_SPARED else None,
        )


class ServedModels(Record):
    """The models that answered the calls of a judge."""

    name: str
    """The judge."""
    served: dict[str, int]
    """Replies by the name of the model that the server reported, most frequent first."""


class ServedTally:
    """Counts replies by the model that answered."""

    def __init__(self, judges: Iterable[Judge]) -> None:
        # imported judges have no row: nobody asked a model for them
        asked = [judge for judge in judges if row_of(judge).name and row_of(judge).costs]
        self._judges = {judge.name: judge for judge in asked}
        self._served = {name: Counter[str]() for name in self._judges}

    def add(self, call: Call) -> None:
        """Add a call."""
        if call.served_model and call.judge in self._served:
            self._served[call.judge][call.served_model] += 1

    def summary(self) -> tuple[ServedModels, ...]:
        """Return the counts of each judge whose server reported a model."""
        return tuple(
            ServedModels(name=name, served=dict(served.most_common()))
            for name, served in self._served.items()
            if served
        )

    def others(self) -> tuple[ServedModels, ...]:
        """Return the replies by other models than the one that was asked.

        Where users name deployments, only a second model is another one.
        """
        found = []
        for name, served in self._served.items():
            judge = self._judges[name]
            asked = judge.model_name
            others = {model: n for model, n in served.most_common() if not is_model(asked, model)}
            # A deployment "prod-judge" of Azure answers as gpt-5.2, which is no other model.
            if others and not (len(served) == 1 and names_deployments(judge)):
                found.append(ServedModels(name=name, served=others))
        return tuple(found)


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
