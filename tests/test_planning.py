"""A plan says what a run will ask: exactly where the claims are known, in a range that holds the truth elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from claimeval import prompting
from claimeval.calls import AssessTask, Completion, ExtractTask, Judge, Outcome, Request
from claimeval.errors import UsageError
from claimeval.execution.replies import completion, pack
from claimeval.metrics import rows
from claimeval.panel import Panel
from claimeval.pipeline import Plan, evaluate
from claimeval.planning import estimates
from claimeval.planning.estimates import Counted, Range
from claimeval.planning.walk import Forecast, forecast
from claimeval.planning.workload import Line
from claimeval.prices import prompt_bytes, worst_case
from claimeval.records import Sample
from claimeval.steps import extract
from claimeval.store import Store
from claimeval.wire import read_chat, write_chat
from tests import claim_judge

METRICS = ("faithfulness", "correctness", "coverage", "context_recall")


def judge(name: str = "a", **settings: Any) -> Judge:
    return Judge.model_validate({"name": name, "model": f"openai:{name}", "endpoint": "http://e", **settings})


def plan(
    *judges: Judge,
    metrics: Sequence[str] = METRICS,
    extractor: Judge | None = None,
    assess_prompt: str = "three_way",
    **panel: Any,
) -> Plan:
    judges = judges or (judge(),)
    return Plan(
        metrics=rows(metrics),
        judges=judges,
        extractor=extractor or judges[0],
        extract_prompt=prompting.load("extract", "atomic"),
        assess_prompt=prompting.load("assess", assess_prompt),
        panel=Panel.model_validate(panel),
    )


def sample(name: str, answer: str | None = "One fact. Two facts.", **fields: Any) -> Sample:
    return Sample.model_validate(
        {
            "id": name,
            "question": f"What of {name}?",
            "answer": answer,
            "contexts": ({"id": "d", "text": f"Much about {name}."},),
            "reference_answers": (f"All about {name}. It is so.",),
            **fields,
        }
    )


SAMPLES = [
    sample("first"),
    sample("second", "It has a WRONG fact. It has a MISSING one. It stands."),
    sample("many", " ".join(f"Fact number {n} holds." for n in range(45))),
    sample("silent", ""),
    sample("no answer", None),
    sample("no contexts", contexts=()),
]


class Paid:
    """A provider that takes every sentence for a claim; each reply is stored, and counted by step and judge."""

    def __init__(self, store: Store, usage: bool = True) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.usage: Counter[tuple[str, str, str]] = Counter()
        self._store = store
        self._usage = usage

    async def ask(self, request: Request) -> Outcome:
        if (value := self._store.get(request.key)) is not None:
            return completion(value)
        done = self.reply(request)
        self._store.put(request.key, pack(request, done))
        step = "extract" if isinstance(request.task, ExtractTask) else "assess"
        self.calls[step, request.judge.name] += 1
        self.usage[step, request.judge.name, "prompt"] += done.usage.prompt_tokens or 0
        self.usage[step, request.judge.name, "output"] += done.usage.completion_tokens or 0
        return done

    def reply(self, request: Request) -> Completion:
        """What the model says; a token is four bytes."""
        said = claim_judge.answer({"messages": [m.model_dump() for m in request.messages]}).content
        assert isinstance(said, str)
        body = json.loads(write_chat(said, request.judge.model))
        if self._usage:
            tokens = {"prompt_tokens": prompt_bytes(request) // 4, "completion_tokens": len(said) // 4}
            body["usage"] = tokens
        return read_chat(json.dumps(body).encode(), latency=0.1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store


def foresee(samples: Iterable[Sample], plan: Plan, store: Store | None = None, prices: Path | None = None) -> Forecast:
    return asyncio.run(forecast(samples, plan, store, prices))


def pay(samples: Iterable[Sample], plan: Plan, store: Store, paid: Paid | None = None) -> Paid:
    """Runs the plan for real."""
    paid = paid or Paid(store)

    async def run() -> None:
        for sample in samples:
            await evaluate(sample, plan, paid)

    asyncio.run(run())
    return paid


def line(found: Forecast, step: str, judge: str = "a") -> Line:
    return next(line for line in found.lines if (line.step, line.judge) == (step, judge))


def holds(ends: tuple[float, float], truth: float) -> bool:
    return ends[0] <= truth <= ends[1]


# --- Calls ---


def test_without_a_store_extractions_are_exact_and_assessments_a_range_around_the_truth(store: Store) -> None:
    found = foresee(SAMPLES, plan())
    paid = pay(SAMPLES, plan(), store)

    extraction, assessment = line(found, "extract"), line(found, "assess")
    # Answers of four samples (one is empty, one absent) and the references of all six.
    assert (extraction.calls, extraction.exact) == ((10, 10), True)
    assert paid.calls["extract", "a"] == 10
    assert holds(assessment.calls, paid.calls["assess", "a"])
    assert not assessment.exact
    assert assessment.calls[0] < assessment.calls[1]
    assert found.how == ("claims: 1.0 to 5.0 a sentence where they are not stored, assumed",)


@pytest.mark.parametrize("prompt", ["three_way", "binary", "tags"])
def test_where_the_claims_are_stored_the_calls_are_those_really_made_afterwards(store: Store, prompt: str) -> None:
    pay(SAMPLES, plan(metrics=["faithfulness"]), store)
    pay(SAMPLES[:2], plan(metrics=["coverage"]), store)
    asked = plan(judge("a"), judge("b"), metrics=["faithfulness", "correctness"], assess_prompt=prompt)
    found = foresee(SAMPLES, asked, store)
    paid = pay(SAMPLES, asked, store)

    for name in ("a", "b"):
        assert line(found, "assess", name).exact
        assert line(found, "assess", name).calls == (paid.calls["assess", name],) * 2
    assert paid.calls["assess", "b"] > 0
    assert line(found, "extract").calls == (0, 0)
    assert line(found, "extract").stored == 4
    assert found.how == ()
    assert found.calls == (paid.calls.total(),) * 2


def test_what_is_stored_is_not_counted_and_nothing_is_written(store: Store) -> None:
    pay(SAMPLES, plan(), store)
    before = list(store)
    found = foresee(SAMPLES, plan(), store)

    assert found.calls == (0, 0)
    assert line(found, "extract").stored == 10
    # faithfulness 1 + 1 + 3 (45 claims), correctness the same and "no contexts", coverage of five references (there is
    # no answer in one), context_recall of five (no contexts in one).
    assert line(found, "assess").stored == 5 + 6 + 5 + 5
    assert (found.cost, found.worst, found.unpriced) == ((0, 0), 0, ())
    foresee(SAMPLES, plan(judge("b")), store)
    assert list(store) == before


def test_the_chunks_of_a_long_list_of_claims_are_counted(store: Store) -> None:
    pay([SAMPLES[2]], plan(metrics=["faithfulness"]), store)
    found = foresee([SAMPLES[2]], plan(metrics=["faithfulness"], assess_prompt="binary"), store)

    assert line(found, "assess").calls == (3, 3)  # 45 claims, at most 20 in a call


def test_the_same_question_in_two_samples_is_counted_once(store: Store) -> None:
    twins = [sample("x"), sample("x").model_copy(update={"id": "y"})]
    one, two = foresee(twins[:1], plan()), foresee(twins, plan())

    assert one.calls == two.calls
    assert one.lines == two.lines
    pay(twins[:1], plan(), store)
    assert foresee(twins, plan(), store).calls == (0, 0)
    assert line(foresee(twins, plan(), store), "extract").stored == 2


def test_a_stored_reply_that_is_no_use_is_followed_by_the_question_that_will_be_put_again(store: Store) -> None:
    request = extract.ask(
        prompting.load("extract", "atomic"), judge(), "answer", "One fact. Two facts.", "What of first?"
    )
    store.put(request.key, pack(request, read_chat(write_chat("no JSON", "a"))))
    asked = plan(metrics=["faithfulness"])
    found = foresee(SAMPLES[:1], asked, store)

    assert (line(found, "extract").stored, line(found, "extract").calls) == (1, (1, 1))
    assert pay(SAMPLES[:1], asked, store).calls["extract", "a"] == 1


def test_claims_that_cost_nothing_are_taken_at_once_so_that_the_rest_is_exact(store: Store) -> None:
    local = Judge(name="local:lexical", model="local:lexical", endpoint="lexical/1")
    asked = plan(local, judge("a"), metrics=["faithfulness"])
    found = foresee(SAMPLES[:2], asked)

    assert [line.exact for line in found.lines] == [True, True, True]
    assert line(found, "assess").calls == (2, 2)
    free = line(found, "assess", "local:lexical")
    assert (free.calls, free.prompt_tokens, free.output_tokens, free.cost, free.how) == (
        (2, 2),
        (0, 0),
        (0, 0),
        (0, 0),
        (),
    )
    assert found.unpriced == ("a",)


def test_a_judge_that_is_asked_repeatedly_is_counted_as_often(store: Store) -> None:
    asked = plan(metrics=["faithfulness"], replicates=3)
    assert foresee(SAMPLES[:1], asked).calls == (1 + 3, 1 + 3)
    pay(SAMPLES[:1], plan(metrics=["faithfulness"]), store)
    found = foresee(SAMPLES[:1], asked, store)

    assert (line(found, "assess").stored, found.calls) == (1, (2, 2))
    assert pay(SAMPLES[:1], asked, store).calls.total() == 2


def test_judges_that_are_asked_only_about_disputed_claims_are_a_range_until_the_dispute_is_known(store: Store) -> None:
    judges = judge("a"), judge("b"), judge("c")
    asked = plan(*judges, metrics=["faithfulness"], escalate=2)
    unknown = foresee(SAMPLES[:2], asked)
    assert line(unknown, "assess", "b").calls == (2, 2)
    assert line(unknown, "assess", "c").calls == (0, 2)

    pay(SAMPLES[:2], plan(metrics=["faithfulness"]), store)
    claims_known = foresee(SAMPLES[:2], asked, store)
    assert line(claims_known, "assess", "b").exact
    assert line(claims_known, "assess", "c").calls == (0, 2)
    assert claims_known.how == ("judges who are asked only where the first ones disagree: from never to always",)

    contrary = Paid(store)
    contrary.reply = lambda request: read_chat(write_chat(_all("contradicted", request), "b"))  # type: ignore[method-assign]
    pay(SAMPLES[:2], plan(judge("b"), metrics=["faithfulness"], extractor=judge("a")), store, contrary)
    known = foresee(SAMPLES[:2], asked, store)
    assert (line(known, "assess", "c").calls, line(known, "assess", "c").exact) == ((2, 2), True)
    assert pay(SAMPLES[:2], asked, store).calls == {("assess", "c"): 2}


def _all(label: str, request: Request) -> str:
    assert isinstance(request.task, AssessTask)
    return json.dumps({"verdicts": [{"id": f"c{i}", "label": label} for i, _ in enumerate(request.task.claims, 1)]})


def test_judges_of_the_generators_family_are_not_counted_where_they_are_not_asked() -> None:
    judges = judge("a", model="openai:gpt-5-mini"), judge("b", model="mistral:mistral-large-latest")
    samples = [sample("x", generator="openai:gpt-4o")]
    found = foresee(samples, plan(*judges, metrics=["faithfulness"], on_same_family="exclude"))

    assert line(found, "assess", "a").calls == (0, 0)
    assert line(found, "assess", "b").calls == (1, 1)


def test_no_samples_need_no_calls() -> None:
    found = foresee([], plan())

    assert (found.samples, found.calls, found.cost, found.how) == (0, (0, 0), (0, 0), ())


# --- Tokens ---


def test_the_ranges_of_tokens_hold_what_the_run_then_uses(store: Store) -> None:
    known = [sample(f"known {n}", "It stands. It is tall.") for n in range(30)]
    new = [sample(f"new {n}", "It stands. It is tall.") for n in range(50)]
    pay(known, plan(), store)
    found = foresee(new, plan(), store)
    paid = pay(new, plan(), store)

    for step in ("extract", "assess"):
        assert holds(line(found, step).calls, paid.calls[step, "a"])
        assert holds(line(found, step).output_tokens, paid.usage[step, "a", "output"])
        assert holds(line(found, step).prompt_tokens, paid.usage[step, "a", "prompt"])
    assert line(found, "extract").how[1].endswith("as in stored replies to extract/atomic")
    # Nothing of the new data is stored, so what a token is must be assumed.
    assert line(found, "extract").how[0] == "prompt tokens: assumed, 3 to 5 bytes each"


def test_prompts_of_the_same_data_that_were_counted_say_how_long_a_token_is(store: Store) -> None:
    samples = [sample(f"{n}") for n in range(6)]
    pay(samples[:5], plan(metrics=["faithfulness"]), store)
    found = foresee(samples, plan(metrics=["faithfulness"]), store)

    assert line(found, "extract").how[0] == "prompt tokens: 3.80 to 4.20 bytes each, as in 10 stored replies"


def test_bytes_per_token_are_those_of_five_or_more_replies_with_a_margin() -> None:
    assert estimates.measured(Counted(4, 4000, 1000)) is None
    assert estimates.measured(Counted(5, 4000, 1000)) == pytest.approx(Range(3.8, 4.2))


def test_a_spread_is_the_10th_to_the_90th_percentile_and_holds_the_mean() -> None:
    assert estimates.spread(Counter(range(1, 20))) is None  # 19 values
    assert estimates.spread(Counter(range(1, 21))) == Range(2, 18)
    assert estimates.spread(Counter({1: 19, 1000: 1})) == Range(1, (19 + 1000) / 20)
    assert estimates.spread(Counter({5: 40})) == Range(5, 5)


def test_output_is_taken_from_replies_to_the_same_prompt_by_the_same_model_at_the_same_place(store: Store) -> None:
    pay(SAMPLES[:1], plan(metrics=["faithfulness"]), store)
    digest = prompting.load("extract", "atomic").digest
    same = ("openai:a", "http://e", digest)
    others = [("openai:b", "http://e", digest), ("openai:a", None, digest), ("openai:a", "http://e", "other")]
    found = estimates.output_seen(store, [same, *others])

    assert [found[source].total() for source in (same, *others)] == [1, 0, 0, 0]


def test_replies_without_usage_leave_the_assumptions_standing(store: Store) -> None:
    samples = [sample(f"{n}") for n in range(30)]
    pay(samples[:25], plan(), store, Paid(store, usage=False))
    found = foresee(samples, plan(), store)

    for step in ("extract", "assess"):
        assert line(found, step).how == ("prompt tokens: assumed, 3 to 5 bytes each", "output tokens: assumed")


def test_the_newest_replies_are_sampled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [sample(f"{n}") for n in range(9)]
    pay(samples, plan(metrics=["faithfulness"]), store)
    source = ("openai:a", "http://e", prompting.load("extract", "atomic").digest)

    monkeypatch.setattr(estimates, "SAMPLED", 3)
    assert estimates.output_seen(store, [source])[source].total() == 3
    monkeypatch.setattr(estimates, "LOOKED_AT", 4)  # of each sample an extraction, then an assessment
    assert estimates.output_seen(store, [source])[source].total() == 2


def test_the_output_assumed_for_an_assessment() -> None:
    # Two verdicts of 20 to 60 tokens and 10 around them; a model that thinks, 100 to 3,000 more, but never over 4,096.
    assert estimates.verdicts(judge(), 1, 2) == Range(50, 130)
    assert estimates.verdicts(judge(thinks_aloud=True), 1, 2) == Range(150, 3130)
    assert estimates.verdicts(judge(model="openai:gpt-5-mini"), 2, 0) == Range(220, 6020)


def test_the_output_assumed_for_an_extraction() -> None:
    request = extract.ask(prompting.load("extract", "atomic"), judge(), "answer", "A fact. Two.", "Why?")
    # 2 sentences, 12 bytes. Low: 2 x 1 x 45 + 12 x 1.5 = 108 bytes, 5 to a token. High: 2 x 5 x 45 + 12 x 3.5 = 492, 3.
    assert estimates.output(request) == pytest.approx(Range(108 / 5 + 10, 492 / 3 + 10))
    cut = request.model_copy(update={"max_tokens": 100})
    assert estimates.output(cut).high == 100


# --- Money ---


def test_the_cost_is_tokens_times_price_and_the_worst_case_is_what_a_cap_reserves(store: Store, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:a: {input: 2, output: 10}", encoding="utf-8")
    pay(SAMPLES, plan(metrics=["faithfulness"]), store)
    asked = plan(metrics=["faithfulness"], assess_prompt="binary")
    found = foresee(SAMPLES, asked, store, prices)

    reserved: list[float] = []

    class Reserving(Paid):
        def reply(self, request: Request) -> Completion:
            price = line(found, "assess").price
            assert price is not None
            reserved.append(worst_case(request, price))
            return super().reply(request)

    pay(SAMPLES, asked, store, Reserving(store))
    assessment = line(found, "assess")
    low, high = (
        (p * 2 + o * 10) / 1e6 for p, o in zip(assessment.prompt_tokens, assessment.output_tokens, strict=True)
    )
    assert assessment.cost == pytest.approx((low, high))
    assert found.cost == assessment.cost
    assert found.worst == pytest.approx(sum(reserved))
    assert found.worst > high


def test_an_unknown_price_is_said_and_the_rest_is_added_up(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:b: {input: 2, output: 10}", encoding="utf-8")
    found = foresee(SAMPLES, plan(judge("a"), judge("b")), prices=prices)

    assert found.unpriced == ("a",)
    known = line(found, "assess", "b")
    assert line(found, "assess", "a").cost is None
    assert line(found, "assess", "a").worst is None
    assert found.cost == known.cost
    assert found.worst == known.worst


def test_a_file_of_prices_that_cannot_be_read_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the file of prices"):
        foresee(SAMPLES, plan(), prices=tmp_path / "absent.yaml")


def test_samples_are_taken_one_by_one() -> None:
    taken = 0

    def samples() -> Iterator[Sample]:
        nonlocal taken
        for taken in range(1, 4):
            yield sample(f"{taken}")

    assert foresee(samples(), plan()).samples == taken == 3
