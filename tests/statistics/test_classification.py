"""A judge's labels against human ones."""

from __future__ import annotations

import math

import pytest

from claimeval.statistics import binary_report, confusion
from claimeval.types.errors import UsageError

JUDGE = [True] * 8 + [False] * 2 + [True] * 3 + [False] * 7
HUMAN = [True] * 10 + [False] * 10


def test_rates_worked_by_hand() -> None:
    """8 hits, 2 misses, 3 false alarms, 7 rejections."""
    report = binary_report(JUDGE, HUMAN)
    assert (report.true_positives, report.false_negatives) == (8, 2)
    assert (report.false_positives, report.true_negatives) == (3, 7)
    assert report.accuracy.value == pytest.approx(15 / 20)
    assert report.balanced_accuracy.value == pytest.approx((0.8 + 0.7) / 2)
    assert report.precision.value == pytest.approx(8 / 11)
    assert report.recall.value == pytest.approx(0.8)
    assert report.specificity.value == pytest.approx(0.7)
    assert report.f1.value == pytest.approx(16 / 21)
    assert report.kappa.value == pytest.approx((0.75 - 0.5) / 0.5)
    assert report.auroc is None


def test_every_rate_has_an_interval_around_it() -> None:
    report = binary_report(JUDGE, HUMAN, probabilities=[0.9 if label else 0.2 for label in JUDGE])
    assert report.auroc is not None
    for estimate in (
        report.accuracy,
        report.precision,
        report.recall,
        report.f1,
        report.kappa,
        report.auroc,
    ):
        assert estimate.low is not None
        assert estimate.value is not None
        assert estimate.high is not None
        assert estimate.low < estimate.value < estimate.high


def test_the_interval_of_balanced_accuracy_knows_what_few_wrong_items_cannot_show() -> None:
    """Recall 185 of 190, specificity 10 of 10; scipy 1.17.1:
    proportion_ci(185, 190, method="wilson") has the low end .939886, that of "exact" the high end
    .991401; Wilson's of 10 of 10 is .722467 to 1.

    low = .986842 - sqrt((.973684 - .939886)^2 + (1 - .722467)^2) / 2 = .847050,
    high = .986842 + (.991401 - .973684) / 2 = .995701.
    """
    judge = [True] * 185 + [False] * 15
    human = [True] * 190 + [False] * 10
    estimate = binary_report(judge, human).balanced_accuracy
    assert estimate.value == pytest.approx(0.986842, abs=1e-6)
    assert [estimate.low, estimate.high] == pytest.approx([0.847050, 0.995701], abs=1e-6)
    assert (estimate.method, estimate.n, estimate.clusters) == ("mover", 200, 200)
    singles = binary_report(judge, human, clusters=range(200)).balanced_accuracy
    assert singles == estimate


def test_balanced_accuracy_is_less_certain_if_the_judge_is_wrong_on_whole_questions() -> None:
    """Twenty questions of five items; in four of them everything is wrong."""
    human = [True, True, True, False, False] * 20
    judge = [not label if item < 20 else label for item, label in enumerate(human)]
    keys = [item // 5 for item in range(100)]
    by_item = binary_report(judge, human).balanced_accuracy
    by_question = binary_report(judge, human, clusters=keys).balanced_accuracy
    assert by_item.value == by_question.value == pytest.approx(0.8)
    assert by_item.width is not None
    assert by_question.width is not None
    assert by_question.width > 2 * by_item.width


def test_balanced_accuracy_has_an_interval_if_only_one_item_is_wrong() -> None:
    """Jeffreys' interval of 1 of 1 begins at .146745 (scipy 1.17.1: beta(1.5, .5).ppf(.025)); the
    judge finds 19 of 19 right items, whose Wilson interval begins at .831821."""
    estimate = binary_report([True] * 19 + [False], [True] * 19 + [False]).balanced_accuracy
    low = 1 - math.hypot(1 - 0.146745, 1 - 0.831821) / 2
    assert [estimate.low, estimate.high] == pytest.approx([low, 1.0], abs=1e-5)


def test_f1_without_an_error_is_not_certain() -> None:
    """As of 30 shares that are all 1: at most 1 - .05^(1/30) = .095 of all items may differ."""
    f1 = binary_report([True] * 30, [True] * 30).f1
    assert (f1.value, f1.high, f1.n) == (1.0, 1.0, 30)
    assert f1.low == pytest.approx(1 - 0.0950, abs=1e-4)
    undefined = binary_report([False] * 5, [False] * 5).f1
    assert (undefined.value, undefined.because) == (None, "one of the labels never occurs")


def test_unassessed_items_are_counted_and_unlabelled_ones_are_not() -> None:
    report = binary_report([True, None, False, True], [True, True, False, None])
    assert (report.accuracy.n, report.accuracy.value, report.unassessed) == (2, 1.0, 1)


def test_probabilities_may_be_missing() -> None:
    report = binary_report(
        [True] * 4, [True, True, False, False], probabilities=[0.9, None, 0.1, None]
    )
    assert report.auroc is not None
    assert (report.auroc.value, report.auroc.n) == (1.0, 2)


def test_a_judge_that_always_says_yes_has_undefined_kappa_only_where_people_do_too() -> None:
    report = binary_report([True] * 10, [True] * 10)
    assert report.kappa.value is None
    assert report.balanced_accuracy.because == "one of the labels never occurs"
    assert report.specificity.because == "no values"
    assert report.accuracy.method == "rule_of_three"


def test_confusion_by_label() -> None:
    table = confusion(
        ["yes", "no", "part", None, "no"],
        ["yes", "yes", "part", "no", None],
        labels=["no", "part", "yes"],
    )
    assert table.counts == ((0, 0, 0), (0, 1, 0), (1, 0, 1))
    assert table.unassessed == (1, 0, 0)
    assert table.labels == ("no", "part", "yes")


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="same items"):
        binary_report([True], [True, False])
    with pytest.raises(UsageError, match="same items"):
        confusion(["yes"], [])
