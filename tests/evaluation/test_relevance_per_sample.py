"""Context relevance and precision of single samples, from the grades of their documents."""

from __future__ import annotations

import itertools
import random

import pytest

from claimeval import ir
from claimeval.evaluation.relevance_run import precision, rows
from claimeval.metrics.scoring import SampleScores
from claimeval.types.records import Document, Reason, Sample
from claimeval.types.scales import UMBRELA


def row(*grades: int | None) -> SampleScores:
    """The row of a sample whose documents have these grades; None is unparsable."""
    names = [f"d{i}" for i in range(len(grades))]
    sample = Sample(id="s", question="Q", contexts=tuple(Document(id=name, text="T") for name in names))
    given = {name: grade for name, grade in zip(names, grades, strict=True) if grade is not None}
    holes: dict[str, Reason] = {name: "unparsable" for name in names if name not in given}
    (found,) = rows([sample], {"s": given}, {"s": holes}, UMBRELA)
    return found


def test_shares_grades_and_precision_by_rank() -> None:
    # relevant at ranks 1 and 3: (1/1 + 2/3) / 2
    assert row(3, 1, 2).values == {
        "context_relevance": pytest.approx(2 / 3),
        "context_precision_ap": pytest.approx((1 + 2 / 3) / 2),
        "context_grade": 2.0,
    }


def test_documents_of_which_none_is_relevant_have_zero() -> None:
    assert row(1, 0).values == {"context_relevance": 0.0, "context_precision_ap": 0.0, "context_grade": 0.5}


def test_a_document_without_a_grade_leaves_the_value_open_between_bounds() -> None:
    found = row(3, None, 2)
    assert set(found.values.values()) == {None}
    assert set(found.reasons.values()) == {"unparsable"}
    bounds = {score.metric: score.bounds for score in found.scores}
    assert bounds["context_relevance"] == pytest.approx((2 / 3, 1.0))
    assert bounds["context_grade"] == pytest.approx((5 / 3, 8 / 3))
    # not relevant: (1 + 2/3) / 2; relevant: (1 + 1 + 1) / 3
    assert bounds["context_precision_ap"] == pytest.approx((5 / 6, 1.0))


def test_a_sample_that_retrieved_nothing_has_no_evidence() -> None:
    found = row()
    assert set(found.reasons.values()) == {"no_evidence"}
    assert not any(score.bounds for score in found.scores)


def test_the_ends_are_those_of_all_ways_to_fill_the_gaps() -> None:
    draw = random.Random(1)
    for _ in range(200):
        said = [draw.choice([True, False, None]) for _ in range(draw.randint(1, 7))]
        gaps = [i for i, one in enumerate(said) if one is None]
        values = []
        for filling in itertools.product([True, False], repeat=len(gaps)):
            full = list(said)
            for place, one in zip(gaps, filling, strict=True):
                full[place] = one
            names = [str(i) for i in range(len(full))]
            relevant = {name for name, one in zip(names, full, strict=True) if one}
            values.append(ir.ap_retrieved(names, relevant) if relevant else 0.0)
        assert precision(said) == pytest.approx((min(values), max(values)))
