"""Tokens are foreseen from what the store has seen, else from assumptions that are said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from claimeval.evaluation import estimates
from claimeval.evaluation.estimates import Range, TokenCounts
from claimeval.judging import extract, prompts
from claimeval.store.store import Store
from tests.evaluation.paid import SAMPLES, Paid, foresee, holds, judge, line, pay, plan, sample


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
    assert line(found, "extract").basis[1].endswith("as in stored replies to extract/atomic")
    # Nothing of the new data is stored, so what a token is must be assumed.
    assert line(found, "extract").basis[0] == "prompt tokens: assumed, 3 to 5 bytes each"


def test_prompts_of_the_same_data_that_were_counted_say_how_long_a_token_is(store: Store) -> None:
    samples = [sample(f"{n}") for n in range(6)]
    pay(samples[:5], plan(metrics=["faithfulness"]), store)
    found = foresee(samples, plan(metrics=["faithfulness"]), store)

    assert (
        line(found, "extract").basis[0]
        == "prompt tokens: 3.80 to 4.20 bytes each, as in 10 stored replies"
    )


def test_bytes_per_token_are_those_of_five_or_more_replies_with_a_margin() -> None:
    assert estimates.measured(TokenCounts(4, 4000, 1000)) is None
    assert estimates.measured(TokenCounts(5, 4000, 1000)) == pytest.approx(Range(3.8, 4.2))


def test_a_spread_is_the_10th_to_the_90th_percentile_and_holds_the_mean() -> None:
    assert estimates.spread(Counter(range(1, 20))) is None  # 19 values
    assert estimates.spread(Counter(range(1, 21))) == Range(2, 18)
    assert estimates.spread(Counter({1: 19, 1000: 1})) == Range(1, (19 + 1000) / 20)
    assert estimates.spread(Counter({5: 40})) == Range(5, 5)


def test_output_is_taken_from_replies_to_the_same_prompt_by_the_same_model_at_the_same_place(
    store: Store,
) -> None:
    pay(SAMPLES[:1], plan(metrics=["faithfulness"]), store)
    digest = prompts.load("extract", "atomic").digest
    same = ("openai:a", "http://e", digest)
    others = [
        ("openai:b", "http://e", digest),
        ("openai:a", None, digest),
        ("openai:a", "http://e", "other"),
    ]
    recorded = estimates.RecordedOutput(store)

    assert [recorded.of(source).total() for source in (same, *others)] == [1, 0, 0, 0]


def test_replies_without_usage_leave_the_assumptions_standing(store: Store) -> None:
    samples = [sample(f"{n}") for n in range(30)]
    pay(samples[:25], plan(), store, Paid(store, usage=False))
    found = foresee(samples, plan(), store)

    for step in ("extract", "assess"):
        assert line(found, step).basis == (
            "prompt tokens: assumed, 3 to 5 bytes each",
            "output tokens: assumed",
        )


def test_the_newest_replies_are_sampled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [sample(f"{n}") for n in range(9)]
    pay(samples, plan(metrics=["faithfulness"]), store)
    source = ("openai:a", "http://e", prompts.load("extract", "atomic").digest)

    monkeypatch.setattr(estimates, "SAMPLED", 3)
    assert estimates.RecordedOutput(store).of(source).total() == 3
    monkeypatch.setattr(
        estimates, "LOOKED_AT", 4
    )  # of each sample an extraction, then an assessment
    assert estimates.RecordedOutput(store).of(source).total() == 2


def test_the_output_assumed_for_an_assessment() -> None:
    # Two verdicts of 20 to 60 tokens and 10 around them; a model that thinks, 100 to 3,000 more,
    # but never over 4,096.
    assert estimates.verdicts(judge(), 1, 2) == Range(50, 130)
    assert estimates.verdicts(judge(reasoning_effort="low"), 1, 2) == Range(150, 3130)
    assert estimates.verdicts(judge(model="openai:gpt-5-mini"), 2, 0) == Range(220, 6020)


def test_the_output_assumed_for_an_extraction() -> None:
    request = extract.ask(
        prompts.load("extract", "atomic"), judge(), "answer", "A fact. Two.", "Why?"
    )
    # 2 sentences, 12 bytes. Low: 2 x 1 x 45 + 12 x 1.2 = 104.4 bytes, 5 to a token. High: 2 x 5 x
    # 45 + 12 x 2.6 = 481.2, 3.
    assert estimates.output(request, "extract", 1) == pytest.approx(
        Range(104.4 / 5 + 10, 481.2 / 3 + 10)
    )
    cut = replace(request, max_tokens=100)
    assert estimates.output(cut, "extract", 1).high == 100
