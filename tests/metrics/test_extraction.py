"""Counts of claims over many texts, by hand and on recorded claims."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from claimeval.lexical.claims import sentences, split_claims
from claimeval.lexical.extraction import PAIR, match, token_f1
from claimeval.metrics.extraction import (
    EXAMINED,
    ExaminedClaims,
    F1Tally,
    RatioTally,
    ratio_difference,
)
from claimeval.types.records import Claim, Sample, SampleResult
from tests.shared_data import shared_data


@pytest.mark.parametrize(
    ("split", "f1"), [("sentences", 0.22), ("local", 0.28), ("recorded", 0.84)]
)
def test_extractors_have_the_measured_f1_on_human_claims_of_biographies(
    split: str, f1: float
) -> None:
    """Of every third answer; those of all differ by less than .01."""
    tally = F1Tally("claim_f1")
    rows = [
        json.loads(line) for line in shared_data("factscore/visible.jsonl").read_text().splitlines()
    ]
    for i, row in enumerate([row for row in rows if row["sentences"]][::3]):
        gold = [fact["text"] for one in row["sentences"] for fact in one["human_facts"] or []]
        claims = {
            "sentences": [row["output"][start:end] for start, end in sentences(row["output"])],
            "local": [claim.text for claim in split_claims(row["output"])],
            "recorded": [text for one in row["sentences"] for text in one["model_facts"] or []],
        }[split]
        right, found = match(claims, gold)
        tally.add((sum(right), len(right), sum(found), len(found)), i)
    assert tally.ratio().value == pytest.approx(f1, abs=0.02)


def test_the_threshold_of_pairs_is_where_right_and_wrong_pairs_part() -> None:
    rows = [
        json.loads(line) for line in shared_data("factscore/visible.jsonl").read_text().splitlines()
    ]
    right = []
    wrong = []
    for row in rows:
        for i, one in enumerate(row["sentences"] or []):
            recorded = one["model_facts"] or []
            edited = [f["text"] for f in one["human_facts"] or [] if f["text"] not in recorded][:1]
            others = [
                f
                for j, other in enumerate(row["sentences"])
                if j != i
                for f in other["model_facts"] or []
            ]
            if edited and recorded and len(others) > 2:
                right.append(token_f1(edited, recorded).max())
                wrong.append(token_f1(edited, others).max())
    steps = [0.3 + 0.05 * i for i in range(14)]
    youden = {
        t: sum(f >= t for f in right) / len(right) - sum(f >= t for f in wrong) / len(wrong)
        for t in steps
    }
    assert max(youden, key=lambda t: youden[t]) == pytest.approx(PAIR, abs=0.051)


def test_a_ratio_adds_up_all_texts_and_says_why_there_is_none() -> None:
    tally = RatioTally("numbers_lost")
    assert tally.ratio().in_words == "none to lose"
    tally.add((1, 4), cluster=1)
    assert (tally.ratio().in_words, tally.ratio().hits, tally.ratio().total) == (
        "n = 4, too few",
        1,
        4,
    )
    for cluster in range(2, 8):
        tally.add((0, 4), cluster=cluster)
    assert tally.ratio().value == pytest.approx(1 / 28)
    free = RatioTally("claims_per_sentence")
    free.add((6, 4), cluster=1)
    assert free.ratio().value == 1.5


def test_f1_is_of_the_sums() -> None:
    tally = F1Tally("claim_f1")
    assert tally.ratio().because == "none"
    tally.add((2, 2, 2, 2), 1)  # 1
    tally.add((1, 4, 1, 2), 2)  # 2 * .25 * .5 / .75 = 1/3
    tally.add((0, 0, 0, 3), 3)  # 0
    assert tally.ratio().value == pytest.approx(2 * 0.5 * (3 / 7) / (0.5 + 3 / 7))


def _taken(place: int, text: str, claims: Sequence[str]) -> SampleResult:
    of = [
        Claim(grounding="ungrounded", id=f"answer-{i}", text=claim, of="answer", sentences=(i,))
        for i, claim in enumerate(claims, 1)
    ]
    return SampleResult(
        sample=Sample(id=str(place), question=f"{place}?", answer=text),
        claims=tuple(of),
        assessments=(),
    )


def test_claims_that_leave_sentences_out_cover_less_and_nobody_covers_less_than_itself() -> None:
    text = "Ada Lind was born in Oslo in 1931. She sang in Rome. She died in Bern."
    full = [text[start:end] for start, end in sentences(text)]
    whole = ExaminedClaims(30)
    less = ExaminedClaims(30)
    for i in range(30):
        whole.add(_taken(i, text, full))
        less.add(_taken(i, text, full[:2] if i % 3 else full))
    found = less.covers_less_than(whole)
    assert found is not None
    assert found.startswith("statements_lost +0.22")
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
    assert found.value == pytest.approx(2 / 3)
    # at most 1 - .05 ** (1/12) = 22% of all texts differ otherwise, by at most 5/3
    assert found.low == pytest.approx(2 / 3 - (1 - 0.05 ** (1 / 12)) * 5 / 3)
