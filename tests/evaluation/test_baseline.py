"""Whole-answer ratings held against claims."""

from __future__ import annotations

import pytest

from claimeval.evaluation.raters import all_claims_supported, compare_ratings
from claimeval.types.records import Sample, SampleResult, Score
from tests.sample_runs import scored


def result(name: str, hits: int, judged: int, total: int) -> SampleResult:
    value = hits / judged if judged else None
    score = Score.share(value, hits=hits, judged=judged, total=total)
    return SampleResult.of(Sample(id=name, question="Q"), scores={"faithfulness": score})


def row(name: str, value: float | None) -> SampleResult:
    return rating(name, {"rated_faithfulness": value, "rated_correctness": 1.0})


def rating(name: str, found: dict[str, float | None]) -> SampleResult:
    return SampleResult.of(Sample(id=name, question="Q"), scores=scored(found))


@pytest.mark.parametrize(
    ("hits", "judged", "total", "every"),
    [
        (2, 2, 2, True),
        (1, 2, 2, False),
        (1, 2, 3, False),
        (2, 2, 3, None),
        (0, 0, 3, None),
        (0, 0, 0, None),
    ],
)
def test_every_claim_is_known_where_the_unassessed_cannot_change_it(
    hits: int, judged: int, total: int, every: bool | None
) -> None:
    assert all_claims_supported(Score.share(None, hits=hits, judged=judged, total=total)) is every


def test_shares_agreement_kappa_and_where_they_part() -> None:
    # whole:  yes yes no no  hole  yes   -> 3 of 5
    # claims: all not all not all  open  -> 3 of 5
    # of both known: yes/all, yes/not, no/all, no/not: agreement 2 of 4, kappa (0.5 - 0.5) / 0.5 = 0
    values = [1.0, 1.0, 0.0, 0.0, None, 1.0]
    claims = [(3, 3, 3), (1, 3, 3), (2, 2, 2), (0, 2, 2), (1, 1, 1), (1, 1, 2)]
    found = compare_ratings(
        [result(str(i), *one) for i, one in enumerate(claims)],
        [row(str(i), one) for i, one in enumerate(values)],
    )
    (one,) = found  # the run has no correctness
    assert (one.rating, one.metric) == ("rated_faithfulness", "faithfulness")
    assert one.whole.value == pytest.approx(0.6)
    assert one.claims.value == pytest.approx(0.6)
    assert (one.whole.n, one.claims.n) == (5, 5)
    assert (one.agreement.value, one.agreement.n) == (0.5, 4)
    assert one.kappa.value == pytest.approx(0.0)
    assert [(apart.id, apart.whole, apart.supported, apart.judged) for apart in one.apart] == [
        ("1", True, 1, 3),
        ("2", False, 2, 2),
    ]


def test_without_a_rating_of_that_kind_there_is_nothing_to_compare() -> None:
    assert compare_ratings([result("0", 1, 1, 1)], [rating("0", {"rated_relevance": 1.0})]) == ()
