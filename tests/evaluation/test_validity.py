"""Grades against those of people, worked by hand."""

from __future__ import annotations

import random

import pytest
import scipy

from claimeval.evaluation.validity import kendall_tau, validity
from claimeval.types.errors import DataError
from claimeval.types.scales import BINARY_RELEVANCE, UMBRELA

HUMAN = {"q1": {"a": 0, "b": 1, "pooled": -1}, "q2": {"c": 2, "d": 3, "e": 3}}
ASSESSOR = {"q1": {"a": 0, "b": 1, "new": 2}, "q2": {"c": 2, "d": 2}}


def test_kappa_and_confusion_worked_by_hand() -> None:
    found = validity(ASSESSOR, HUMAN, UMBRELA)
    assert (found.pairs, found.unassessed, found.further) == (4, 1, 1)
    assert found.exact.value == 0.75
    # observed 3/4; expected 1/4 * (1/4 + 1/4 + 1/2 + 0) = 1/4; (3/4 - 1/4) / (1 - 1/4)
    assert found.kappa
    assert found.kappa.value == pytest.approx(2 / 3)
    assert found.kappa_binary.value == 1.0
    assert found.confusion == ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 1, 0))


def test_a_two_way_scale_is_held_against_four_grades_only_as_relevant_or_not() -> None:
    found = validity({"q1": {"a": 0, "b": 1}, "q2": {"c": 1, "d": 1}}, HUMAN, BINARY_RELEVANCE)
    assert found.kappa is None
    # a no/no, b yes/no, c and d yes/yes: observed 3/4, expected 3/4 * 1/2 + 1/4 * 1/2 = 1/2
    assert found.kappa_binary.value == pytest.approx(0.5)


def test_systems_are_put_in_order_over_the_questions_that_both_graded() -> None:
    human = {"q": {"a": 1, "b": 0}, "alone": {"z": 1}}
    assessor = {"q": {"a": 0, "b": 1}}
    runs = {"first": {"q": {"a": 2.0, "b": 1.0}}, "second": {"q": {"b": 2.0, "a": 1.0}}}
    (order,) = validity(assessor, human, BINARY_RELEVANCE, runs=runs, measures="mrr").orders
    assert order.human == {"first": 1.0, "second": 0.5}
    assert order.assessor == {"first": 0.5, "second": 1.0}
    assert (order.tau, order.queries) == (-1.0, 1)


def test_tau_worked_by_hand() -> None:
    # of the six pairs of 1 2 3 4 and 1 3 2 4 five are in order: (5 - 1) / 6
    assert kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(2 / 3)
    assert kendall_tau([1, None, 2], [1, 5, 2]) == pytest.approx(1.0)
    assert kendall_tau([1, 2], [3, 3]) is None
    assert kendall_tau([1], [2]) is None


def test_kendalls_tau_equals_scipy_with_ties() -> None:
    rng = random.Random(3)
    for size in range(3, 40):
        a, b = ([float(rng.randint(0, 6)) for _ in range(size)] for _ in range(2))
        assert kendall_tau(a, b) == pytest.approx(scipy.stats.kendalltau(a, b).statistic, abs=1e-12)


def test_a_number_that_is_no_grade_is_refused() -> None:
    with pytest.raises(DataError, match="1000000 is no grade"):
        validity({"q1": {"a": 1_000_000}}, HUMAN, UMBRELA)
    with pytest.raises(DataError, match="101 is no grade"):
        validity(ASSESSOR, {"q1": {"a": 101}}, UMBRELA)


def test_nothing_in_common_is_said() -> None:
    with pytest.raises(DataError, match="no pair in common"):
        validity({"other": {"a": 1}}, HUMAN, UMBRELA)
