"""A plan says what a run will ask: exactly where the claims are known, in a range that holds the
truth elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import pytest

from claimeval.judging import extract, prompts
from claimeval.providers.prices import cost_bound
from claimeval.store.store import Store, pack
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.errors import UsageError
from claimeval.types.records import Sample
from claimeval.types.requests import AssessTask, Completion, Judge, Request
from tests.evaluation.paid import SAMPLES, Paid, foresee, holds, judge, line, pay, plan, sample


def test_without_a_store_extractions_are_exact_and_assessments_a_range_around_the_truth(
    store: Store,
) -> None:
    found = foresee(SAMPLES, plan())
    paid = pay(SAMPLES, plan(), store)

    extraction = line(found, "extract")
    assessment = line(found, "assess")
    # Answers of four samples (one is empty, one absent) and the references of all six.
    assert (extraction.calls, extraction.exact) == ((10, 10), True)
    assert paid.calls["extract", "a"] == 10
    assert holds(assessment.calls, paid.calls["assess", "a"])
    assert not assessment.exact
    assert assessment.calls[0] < assessment.calls[1]
    assert found.basis == (
        "claims: 1.0 to 5.0 per sentence of texts that are not extracted yet, assumed",
    )


@pytest.mark.parametrize("prompt", ["three_way", "binary", "tags"])
def test_where_the_claims_are_stored_the_calls_are_those_really_made_afterwards(
    store: Store, prompt: str
) -> None:
    pay(SAMPLES, plan(metrics=["faithfulness"]), store)
    pay(SAMPLES[:2], plan(metrics=["coverage"]), store)
    asked = plan(
        judge("a"), judge("b"), metrics=["faithfulness", "correctness"], assess_prompt=prompt
    )
    found = foresee(SAMPLES, asked, store)
    paid = pay(SAMPLES, asked, store)

    for name in ("a", "b"):
        assert line(found, "assess", name).exact
        assert line(found, "assess", name).calls == (paid.calls["assess", name],) * 2
    assert paid.calls["assess", "b"] > 0
    assert line(found, "extract").calls == (0, 0)
    assert line(found, "extract").cached == 4
    assert found.basis == ()
    assert found.calls == (paid.calls.total(),) * 2


def test_what_is_stored_is_not_counted_and_nothing_is_written(store: Store) -> None:
    pay(SAMPLES, plan(), store)
    before = list(store)
    found = foresee(SAMPLES, plan(), store)

    assert found.calls == (0, 0)
    assert line(found, "extract").cached == 10
    # faithfulness 1 + 1 + 3 (45 claims), correctness the same and "no contexts", coverage of four
    # references (one sample has no answer, one an empty one), context_recall of five (no contexts
    # in one).
    assert line(found, "assess").cached == 5 + 6 + 4 + 5
    assert (found.cost, found.cost_bound, found.judges_without_price) == ((0, 0), 0, ())
    foresee(SAMPLES, plan(judge("b")), store)
    assert list(store) == before


def test_the_chunks_of_a_long_list_of_claims_are_counted(store: Store) -> None:
    pay([SAMPLES[2]], plan(metrics=["faithfulness"]), store)
    found = foresee([SAMPLES[2]], plan(metrics=["faithfulness"], assess_prompt="binary"), store)

    assert line(found, "assess").calls == (3, 3)  # 45 claims, at most 20 in a call


def test_the_same_question_in_two_samples_is_counted_once(store: Store) -> None:
    twins = [sample("x"), sample("x").model_copy(update={"id": "y"})]
    one = foresee(twins[:1], plan())
    two = foresee(twins, plan())

    assert one.calls == two.calls
    assert one.lines == two.lines
    pay(twins[:1], plan(), store)
    assert foresee(twins, plan(), store).calls == (0, 0)
    assert line(foresee(twins, plan(), store), "extract").cached == 2


def test_a_stored_reply_that_is_no_use_is_followed_by_the_question_that_will_be_put_again(
    store: Store,
) -> None:
    request = extract.ask(
        prompts.load("extract", "atomic"),
        judge(),
        "answer",
        "One fact. Two facts.",
        "What of first?",
    )
    store.put(request.key, pack(request, read_chat(write_chat("no JSON", "a"))))
    asked = plan(metrics=["faithfulness"])
    found = foresee(SAMPLES[:1], asked, store)

    assert (line(found, "extract").cached, line(found, "extract").calls) == (1, (1, 1))
    assert pay(SAMPLES[:1], asked, store).calls["extract", "a"] == 1


def test_claims_that_cost_nothing_are_taken_at_once_so_that_the_rest_is_exact(store: Store) -> None:
    local = Judge(name="local:lexical", model="local:lexical", endpoint="lexical/1")
    asked = plan(local, judge("a"), metrics=["faithfulness"])
    found = foresee(SAMPLES[:2], asked)

    assert [line.exact for line in found.lines] == [True, True, True]
    assert line(found, "assess").calls == (2, 2)
    free = line(found, "assess", "local:lexical")
    assert (free.calls, free.prompt_tokens, free.output_tokens, free.cost, free.basis) == (
        (2, 2),
        (0, 0),
        (0, 0),
        (0, 0),
        (),
    )
    assert found.judges_without_price == ("a",)


def test_a_judge_that_is_asked_repeatedly_is_counted_as_often(store: Store) -> None:
    asked = plan(metrics=["faithfulness"], replicates=3)
    assert foresee(SAMPLES[:1], asked).calls == (1 + 3, 1 + 3)
    pay(SAMPLES[:1], plan(metrics=["faithfulness"]), store)
    found = foresee(SAMPLES[:1], asked, store)

    assert (line(found, "assess").cached, found.calls) == (1, (2, 2))
    assert pay(SAMPLES[:1], asked, store).calls.total() == 2


def test_input_that_begins_an_earlier_question_may_be_cached_but_not_in_batches(
    store: Store,
) -> None:
    long = sample("long", contexts=({"id": "d", "text": "much about it " * 400},))
    pay([long], plan(metrics=["faithfulness"]), store)
    asked = plan(judge("b"), metrics=["faithfulness"], extractor=judge("a"), replicates=3)
    assessed = line(foresee([long], asked, store), "assess", "b")
    size = assessed.prompt_tokens[1]  # three questions of one size, at three bytes a token
    # Two of the three questions, up to the claims "One fact." and "Two facts."
    assert (assessed.calls, assessed.cached_tokens) == ((3, 3), ceil(2 * (size - 9 - 10) / 3))
    assert line(foresee(SAMPLES[:1], asked), "assess", "b").cached_tokens == 0
    assert line(foresee([long], asked, store, batched=("b",)), "assess", "b").cached_tokens == 0


def test_stored_verdicts_on_all_claims_together_do_not_answer_for_some_of_them(
    store: Store,
) -> None:
    contexts = ({"id": "d", "text": "Much."}, {"id": "e", "text": "More."})
    answer = "It has a WRONG fact. It has a MISSING one. It stands."
    samples = [sample("second", answer, contexts=contexts)]
    pay(samples, plan(metrics=["faithfulness"]), store)
    asked = plan(metrics=["faithfulness"], per_document=True)
    found = line(foresee(samples, asked, store), "assess")
    assert (found.calls, found.exact) == ((2, 3), False)
    # Each document alone, and then both about the two claims that neither supports.
    assert pay(samples, asked, store).calls == {("assess", "a"): 3}
    assert line(foresee(samples, asked, store), "assess").calls == (0, 0)


def _all(label: str, request: Request) -> str:
    assert isinstance(request.task, AssessTask)
    return json.dumps(
        {
            "verdicts": [
                {"id": f"c{i}", "label": label} for i, _ in enumerate(request.task.claims, 1)
            ]
        }
    )


def test_judges_of_the_generators_family_are_not_counted_where_they_are_not_asked() -> None:
    judges = judge("a", model="openai:gpt-5-mini"), judge("b", model="mistral:mistral-large-latest")
    samples = [sample("x", generator="openai:gpt-4o")]
    found = foresee(samples, plan(*judges, metrics=["faithfulness"], on_same_family="skip"))

    assert line(found, "assess", "a").calls == (0, 0)
    assert line(found, "assess", "b").calls == (1, 1)


def test_no_samples_need_no_calls() -> None:
    found = foresee([], plan())

    assert (found.samples, found.calls, found.cost, found.basis) == (0, (0, 0), (0, 0), ())


def test_the_cost_is_tokens_times_price_and_the_worst_case_is_what_a_cap_reserves(
    store: Store, tmp_path: Path
) -> None:
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
            reserved.append(cost_bound(request, price))
            return super().reply(request)

    pay(SAMPLES, asked, store, Reserving(store))
    assessment = line(found, "assess")
    low, high = (
        (p * 2 + o * 10) / 1e6
        for p, o in zip(assessment.prompt_tokens, assessment.output_tokens, strict=True)
    )
    assert assessment.cost == pytest.approx((low, high))
    assert found.cost == assessment.cost
    assert found.cost_bound == pytest.approx(sum(reserved))
    assert found.cost_bound > high


def test_an_unknown_price_is_said_and_the_rest_is_added_up(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:b: {input: 2, output: 10}", encoding="utf-8")
    found = foresee(SAMPLES, plan(judge("a"), judge("b")), prices=prices)

    assert found.judges_without_price == ("a",)
    known = line(found, "assess", "b")
    assert line(found, "assess", "a").cost is None
    assert line(found, "assess", "a").cost_bound is None
    assert found.cost is None
    assert found.known_cost == known.cost
    assert found.cost_bound == known.cost_bound


def test_a_file_of_prices_that_cannot_be_read_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no price file"):
        foresee(SAMPLES, plan(), prices=tmp_path / "absent.yaml")


def test_samples_are_taken_one_by_one() -> None:
    taken = 0

    def samples() -> Iterator[Sample]:
        nonlocal taken
        for taken in range(1, 4):
            yield sample(f"{taken}")

    assert foresee(samples(), plan()).samples == taken == 3


def test_long_evidence_is_foreseen_for_the_claims_of_every_part() -> None:
    long = sample("q", contexts=({"id": "d", "text": "Much about the river. " * 2000},))
    found = foresee([long], plan(judge(context_tokens=4096), metrics=["faithfulness", "coverage"]))

    (evidence,) = found.long
    assert (evidence.judge, evidence.samples) == ("a", 1)
    assert evidence.windows > 2
