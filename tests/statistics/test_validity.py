"""Pairwise agreement and the alternative annotator test."""

from __future__ import annotations

import pytest
import scipy

from claimeval.statistics import alternative_annotator_test, pairwise_agreement
from claimeval.types.errors import UsageError

TRUTH = [i % 3 for i in range(60)]


def with_errors(every: int, start: int = 0) -> list[int]:
    """The truth, except for every so-many-th item."""
    return [(label + 1) % 3 if (i + start) % every == 0 else label for i, label in enumerate(TRUTH)]


def test_a_judge_like_the_annotators_passes() -> None:
    annotators = {"a": with_errors(10), "b": with_errors(10, 3), "c": with_errors(10, 6)}
    result = alternative_annotator_test(with_errors(20), annotators, epsilon=0.15)
    assert (result.winning_rate, result.passed) == (1.0, True)
    assert result.advantage is not None
    assert result.advantage > 0.9


def test_a_judge_that_guesses_fails() -> None:
    annotators = {"a": with_errors(10), "b": with_errors(10, 3), "c": with_errors(10, 6)}
    result = alternative_annotator_test([0] * 60, annotators, epsilon=0.15)
    assert (result.winning_rate, result.passed) == (0.0, False)
    assert result.advantage is not None
    assert result.advantage < 0.5


def test_the_p_value_is_that_of_scipys_t_test() -> None:
    """Two annotators: an item is won alone where exactly one of judge and annotator meets the other
    annotator."""
    a = with_errors(5)
    b = with_errors(12)
    judge = with_errors(7)
    leads = [
        int((x == y) >= (j == y)) - int((j == y) >= (x == y))
        for x, y, j in zip(a, b, judge, strict=True)
    ]
    expected = scipy.stats.ttest_1samp(leads, 0.2, alternative="less").pvalue
    result = alternative_annotator_test(judge, {"a": a, "b": b}, epsilon=0.2)
    assert result.comparisons[0].p == pytest.approx(expected, abs=1e-12)


def test_a_judge_identical_to_the_annotators_wins_although_nothing_varies() -> None:
    result = alternative_annotator_test(TRUTH, {"a": TRUTH, "b": TRUTH}, epsilon=0.1)
    assert [comparison.p for comparison in result.comparisons] == [0.0, 0.0]
    assert result.passed


def test_grades_are_compared_by_root_mean_square_error() -> None:
    annotators = {"a": [2] * 40, "b": [3] * 40}
    near = alternative_annotator_test([3] * 39 + [2], annotators, epsilon=0.2, similarity="rmse")
    far = alternative_annotator_test([9] * 39 + [2], annotators, epsilon=0.2, similarity="rmse")
    assert near.comparisons[0].advantage == 1.0
    assert far.comparisons[0].advantage == pytest.approx(1 / 40)
    with pytest.raises(UsageError, match="rmse needs numbers"):
        alternative_annotator_test(["x"] * 40, annotators, epsilon=0.2, similarity="rmse")


def test_annotators_with_few_items_are_skipped() -> None:
    few: list[int | None] = [*TRUTH[:29], *([None] * 31)]
    result = alternative_annotator_test(TRUTH, {"a": TRUTH, "b": TRUTH, "c": few}, epsilon=0.1)
    assert result.skipped == ("c",)
    nothing = alternative_annotator_test(TRUTH, {"a": TRUTH}, epsilon=0.1)
    assert nothing.passed is None
    assert nothing.because == "no annotator shares 30 items with another one and the judge"


def test_annotators_must_label_the_same_items() -> None:
    with pytest.raises(UsageError, match=r"\['b'\] do not"):
        alternative_annotator_test(TRUTH, {"a": TRUTH, "b": [1]}, epsilon=0.1)


def test_every_pair_of_raters_is_compared() -> None:
    pairs = pairwise_agreement({"judge": TRUTH, "ann": with_errors(10), "ben": with_errors(6)})
    assert [(pair.first, pair.second) for pair in pairs] == [
        ("judge", "ann"),
        ("judge", "ben"),
        ("ann", "ben"),
    ]
    assert pairs[0].raw.value == pytest.approx(0.9)
    assert pairs[0].kappa.value == pytest.approx(0.85, abs=0.001)
