"""Planted faults of extraction: every one moves its own count, and none is rewarded by guarded F1.

`benchmarks.planted_faults` plants them in recorded claims; here in as many answers as show them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from benchmarks.planted_faults import FAULTS, NEGATION, OWN, answers, base, checks, measured, spoiled
from claimeval.lexical.claims import sentences, split_claims
from claimeval.lexical.extraction import PAIR, examine, match, token_f1
from claimeval.metrics.extraction import (
    EXAMINED,
    ExaminedClaims,
    MatchTally,
    RatioTally,
    order_remark,
    ratio_difference,
)
from claimeval.types.records import Claim, Sample, SampleResult
from tests.shared_data import shared_data

SIZE = {"factscore": 20, "refchecker": 120}
"""Answers that each set gives to the suite."""


@pytest.fixture
def recorded() -> None:
    """Skip without the recorded claims."""
    for name in SIZE:
        shared_data(f"{name}/visible.jsonl")


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("name", SIZE)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_moves_its_own_count_and_is_not_rewarded(name: str, fault: str) -> None:
    assert [one.words for one in checks(name, fault, SIZE[name]) if not one.holds] == []


@pytest.mark.usefixtures("recorded")
def test_deleted_negations_are_seen_in_all_negated_answers_of_both_sets() -> None:
    before: list[tuple[int, ...]] = []
    after: list[tuple[int, ...]] = []
    for name in SIZE:
        for answer in answers(name):
            if NEGATION.search(answer.text):
                claims = FAULTS["negations deleted"](answer, answer)
                before.append(examine(answer.text, answer.base).counts["negations_lost"])
                after.append(examine(answer.text, claims).counts["negations_lost"])
    found = ratio_difference(before, after, range(len(before))).difference
    assert found.low is not None
    assert found.low > 0.3


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("fault", [fault for fault in OWN if fault not in ("a third recombined", "hedges deleted")])
def test_a_tenth_of_a_fault_still_moves_its_count_in_the_right_direction(fault: str) -> None:
    before, after = (
        base("refchecker", SIZE["refchecker"]),
        measured(spoiled("refchecker", fault, SIZE["refchecker"], dose=0.1)),
    )
    found = ratio_difference(before[OWN[fault][0]], after[OWN[fault][0]], range(len(before["f1"]))).difference
    assert found.value is not None
    assert found.value > 0


@pytest.mark.usefixtures("recorded")
def test_a_dose_of_nothing_changes_nothing_at_all() -> None:
    before, after = (
        base("refchecker", SIZE["refchecker"]),
        measured(spoiled("refchecker", "conditions cut", SIZE["refchecker"], dose=0.0)),
    )
    for name in before:
        found = ratio_difference(before[name], after[name], range(len(before[name]))).difference
        assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("name", "split", "guarded", "pairs"),
    [
        ("refchecker", "sentences", 0.33, 0.39),
        ("refchecker", "local", 0.38, 0.43),
        ("factscore", "local", 0.43, 0.49),
        ("factscore", "recorded", 0.84, 0.86),
    ],
)
def test_extractors_have_the_measured_f1_on_human_claims(name: str, split: str, guarded: float, pairs: float) -> None:
    """Of every third answer; those of all differ by less than .01."""
    tallies = {"guarded": MatchTally(), "pairs": MatchTally()}
    for i, answer in enumerate(answers(name)[::3]):
        claims = {
            "sentences": [answer.text[start:end] for start, end in sentences(answer.text)],
            "local": [claim.text for claim in split_claims(answer.text)],
            "recorded": [claim.text for claim in answer.base],
        }[split]
        for matching, tally in tallies.items():
            right, found = match(claims, answer.gold, matching)  # type: ignore[arg-type]  # both are matchings
            tally.add((sum(right), len(right), sum(found), len(found)), i)
    assert tallies["guarded"].f1().value == pytest.approx(guarded, abs=0.02)
    assert tallies["pairs"].f1().value == pytest.approx(pairs, abs=0.02)


def test_the_threshold_of_pairs_is_where_right_and_wrong_pairs_part() -> None:
    rows = [json.loads(line) for line in shared_data("factscore/visible.jsonl").read_text().splitlines()]
    right, wrong = [], []
    for row in rows:
        for i, one in enumerate(row["sentences"] or []):
            recorded = one["model_facts"] or []
            edited = [f["text"] for f in one["human_facts"] or [] if f["text"] not in recorded][:1]
            others = [f for j, other in enumerate(row["sentences"]) if j != i for f in other["model_facts"] or []]
            if edited and recorded and len(others) > 2:
                right.append(token_f1(edited, recorded).max())
                wrong.append(token_f1(edited, others).max())
    steps = [0.3 + 0.05 * i for i in range(14)]
    youden = {t: sum(f >= t for f in right) / len(right) - sum(f >= t for f in wrong) / len(wrong) for t in steps}
    assert max(youden, key=lambda t: youden[t]) == pytest.approx(PAIR, abs=0.051)


def test_a_ratio_adds_up_all_texts_and_says_why_there_is_none() -> None:
    tally = RatioTally("numbers_lost")
    assert tally.ratio().in_words == "none to lose"
    tally.add((1, 4), cluster=1)
    assert (tally.ratio().in_words, tally.ratio().hits, tally.ratio().total) == ("n = 4, too few", 1, 4)
    for cluster in range(2, 8):
        tally.add((0, 4), cluster=cluster)
    assert tally.ratio().value == pytest.approx(1 / 28)
    free = RatioTally("claims_per_sentence")
    free.add((6, 4), cluster=1)
    assert free.ratio().value == 1.5


def test_f1_is_of_the_sums_and_its_mean_of_the_texts() -> None:
    tally = MatchTally()
    tally.add((2, 2, 2, 2), 1)  # 1
    tally.add((1, 4, 1, 2), 2)  # 2 * .25 * .5 / .75 = 1/3
    tally.add((0, 0, 0, 3), 3)  # 0
    assert tally.f1().value == pytest.approx(2 * 0.5 * (3 / 7) / (0.5 + 3 / 7))
    assert tally.macro_f1().value == pytest.approx((1 + 1 / 3) / 3)


def _taken(place: int, text: str, claims: Sequence[str]) -> SampleResult:
    of = [Claim(id=f"answer-{i}", text=claim, of="answer", sentence_ids=(i,)) for i, claim in enumerate(claims, 1)]
    return SampleResult(sample=Sample(id=str(place), question=f"{place}?", answer=text), claims=tuple(of))


def test_claims_that_leave_sentences_out_cover_less_and_nobody_covers_less_than_itself() -> None:
    text = "Ada Lind was born in Oslo in 1931. She sang in Rome. She died in Bern."
    full = [text[start:end] for start, end in sentences(text)]
    whole, less = ExaminedClaims(30), ExaminedClaims(30)
    for i in range(30):
        whole.add(_taken(i, text, full))
        less.add(_taken(i, text, full[:2] if i % 3 else full))
    found = less.covers_less_than(whole)
    assert found is not None
    assert found.startswith("statements_lost +0.222")
    assert whole.covers_less_than(less) is None
    assert whole.covers_less_than(whole) is None
    shown = less.summary()
    assert shown is not None
    assert (shown.texts, shown.all_texts, shown.claims, shown.sentences) == (30, 30, 70, 90)
    assert shown.unclaimed == {"statement": 20}


def test_a_report_examines_the_same_few_texts_of_a_large_run_whatever_their_order() -> None:
    results = [_taken(i, "She sang.", ["She sang."]) for i in range(40)]
    some = [ExaminedClaims(40 * EXAMINED // 8) for _ in range(2)]
    for forth, back in zip(results, reversed(results), strict=True):
        some[0].add(forth)
        some[1].add(back)
    first, second = (one.summary() for one in some)
    assert first is not None
    assert first == second
    assert 0 < first.texts < first.all_texts == 40


def test_texts_that_all_differ_alike_have_an_interval_from_their_number() -> None:
    found = ratio_difference([(0, 3)] * 12, [(2, 3)] * 12, range(12))
    assert found.difference.value == pytest.approx(2 / 3)
    # at most 1 - .05 ** (1/12) = 22 % of all texts differ otherwise, by at most 5/3
    assert found.difference.low == pytest.approx(2 / 3 - (1 - 0.05 ** (1 / 12)) * 5 / 3)
    assert found.beyond() == 1


def test_two_matchings_that_order_two_extractors_differently_are_named() -> None:
    a = [(1, 4, 1, 4)] * 8
    better, worse = ratio_difference(a, [(2, 4, 2, 4)] * 8, range(8)), ratio_difference(a, [(0, 4, 0, 4)] * 8, range(8))
    assert order_remark(better, better, ("guarded", "contain")) is None
    found = order_remark(better, worse, ("guarded", "contain"))
    assert found is not None
    assert "guarded +0.250, contain -0.250" in found
