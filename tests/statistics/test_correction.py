"""PPI++, and its form for weighted means and unequal draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from claimeval.statistics import prediction_powered, weighted_correction
from claimeval.types.errors import UsageError


def simulated(
    seed: int, items: int, labels: int, *, yes: float = 0.7
) -> tuple[list[float], list[float], list[float | None]]:
    """Truth, a judge that is right in 85% and the truth of the first `labels` items."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items) < yes).astype(float)
    judge = np.where(rng.random(items) < 0.85, truth, 1 - truth)
    return truth.tolist(), judge.tolist(), [*truth[:labels].tolist(), *([None] * (items - labels))]


def test_value_weight_and_error_follow_the_formulas() -> None:
    """Four labeled items Y 1 1 0 0, F 1 0 0 0; four unlabeled, judge 1 1 1 0.

    cov(Y, F) = 1/8, var of all eight judge values (4 of 8) = 2/7, lambda = (1/8) / (2 * 2/7) =
    7/32; theta = lambda 3/4 + (2 - lambda) / 4.
    """
    result = prediction_powered([1, 0, 0, 0, 1, 1, 1, 0], [1, 1, 0, 0, None, None, None, None])
    weight = 7 / 32
    assert result.ppi_lambda == pytest.approx(weight)
    assert result.corrected.value == pytest.approx(weight * 0.75 + (2 - weight) / 4)
    rectified = np.array([1 - weight, 1, 0, 0])
    variance = weight**2 * np.var([1, 1, 1, 0], ddof=1) / 4 + np.var(rectified, ddof=1) / 4
    assert result.corrected.standard_error == pytest.approx(math.sqrt(variance))
    assert (result.labeled, result.unlabeled, result.method) == (4, 4, "ppi++")


def test_a_useless_judge_leaves_the_human_mean() -> None:
    judge = [0.0, 1.0] * 50
    human = [1.0, 1.0, 0.0, 0.0] * 5 + [None] * 80
    result = prediction_powered(judge, human)
    assert result.ppi_lambda == 0
    assert result.corrected == result.human
    assert result.corrected.value == 0.5


def test_with_a_label_for_every_item_the_mean_is_that_of_the_labels() -> None:
    result = prediction_powered([1, 0, 1, 1, 0], [1, 0, 0, 1, 0])
    assert result.corrected.value == pytest.approx(2 / 5)
    assert (result.ppi_lambda, result.unlabeled) == (0, 0)


def test_a_good_judge_narrows_the_interval() -> None:
    _, judge, human = simulated(1, 1000, 150)
    result = prediction_powered(judge, human)
    assert result.corrected.width is not None
    assert result.human.width is not None
    assert result.corrected.width < 0.85 * result.human.width


def test_a_judge_that_agreed_with_every_label_is_not_taken_for_perfect() -> None:
    """With 40 labels and none missed the judge may still err: the interval is wider than that of
    the judge alone."""
    truth, _, human = simulated(2, 2000, 40)
    result = prediction_powered(truth, human)
    assert result.corrected.width is not None
    assert result.judge.width is not None
    assert result.corrected.width > 2 * result.judge.width


def test_shares_stay_inside_0_and_1() -> None:
    judge = [1.0] * 30 + [1.0] * 70
    human = [1.0] * 30 + [None] * 70
    result = prediction_powered(judge, human)
    assert (result.corrected.value, result.corrected.method) == (1.0, "wilson")
    assert result.corrected.low == pytest.approx(1 - 1.959964**2 / (30 + 1.959964**2), abs=1e-6)


def test_values_beyond_shares_get_students_t() -> None:
    human = [3.0, 5.0, 4.0, 2.0, None, None]
    result = prediction_powered([3.0, 4.0, 4.0, 3.0, 5.0, 1.0], human)
    assert result.corrected.method == "t"
    assert result.corrected.high is not None
    assert result.corrected.value is not None
    assert result.corrected.standard_error is not None
    reach = result.corrected.high - result.corrected.value
    assert reach == pytest.approx(3.182446 * result.corrected.standard_error, rel=1e-6)


def test_clusters_that_hold_labelled_and_unlabelled_items_are_counted_once() -> None:
    _, judge, human = simulated(3, 400, 200)
    keys = [i % 200 // 4 for i in range(400)]
    together = prediction_powered(judge, human, clusters=keys)
    apart = prediction_powered(judge, human)
    assert together.corrected.value == apart.corrected.value
    assert together.corrected.clusters == 50
    weight = together.ppi_lambda
    assert weight is not None
    labels = np.array(human[:200], dtype=float)
    rectified = labels - weight * np.array(judge[:200])
    judged = weight * np.array(judge[200:])
    factor = math.sqrt(50 / 49)
    sums = factor * ((rectified - rectified.mean()) / 200 + (judged - judged.mean()) / 200).reshape(
        50, 4
    ).sum(axis=1)
    assert together.corrected.standard_error == pytest.approx(math.sqrt((sums**2).sum()))


def test_labels_needed_halve_the_interval() -> None:
    truth, judge, human = simulated(4, 4000, 150)
    result = prediction_powered(judge, human)
    assert result.labels_needed is not None
    more = [*truth[: 150 + result.labels_needed], *([None] * (4000 - 150 - result.labels_needed))]
    after = prediction_powered(judge, more)
    assert after.corrected.width is not None
    assert result.corrected.width is not None
    assert after.corrected.width == pytest.approx(result.corrected.width / 2, rel=0.12)


def test_too_few_items_cannot_halve_the_interval() -> None:
    _, judge, human = simulated(5, 200, 150)
    assert prediction_powered(judge, human).labels_needed is None


def test_without_labels_there_is_only_the_judge() -> None:
    result = prediction_powered([1.0, 0.0], [None, None])
    assert (result.corrected.value, result.human.value, result.judge.value) == (None, None, 0.5)
    assert prediction_powered([], []).corrected.because == "no items"


def test_a_weighted_mean_worked_by_hand() -> None:
    """Two samples of 1 and 3 claims, so weights 3, 1, 1, 1 (of 6). The first and the last are
    labeled: Y 1, 0; F 1, 1.

    By people (3 * 1 + 1 * 0) / 4 = .75; F is 1 on the labeled and (3 + 1 + 0 + 1) / 6 = 5/6 on all.
    Contributions to the difference: of people 3/4 * .25 and 1/4 * -.75, that is .1875 and -.1875;
    of F -(w (F - 5/6)): -1/12 and -(1/36 - 5/36 + 1/36) = 1/12. The best lambda is below 0, so it
    is 0.
    """
    result = weighted_correction(
        [1, 1, 0, 1], [1, None, None, 0], weights=[1, 1 / 3, 1 / 3, 1 / 3], clusters=[0, 1, 1, 1]
    )
    assert result.judge.value == pytest.approx(5 / 6)
    assert result.human.value == pytest.approx(0.75)
    assert (result.ppi_lambda, result.corrected.value) == pytest.approx((0, 0.75))
    # weights 3/4 and 1/4: 1 / (9/16 + 1/16)
    assert result.effective == pytest.approx(1.6)
    assert (result.corrected.n, result.labeled, result.unlabeled) == (2, 2, 2)


def test_with_equal_weights_it_is_the_regression_form_of_ppi() -> None:
    """Value and lambda by hand of 100 random items, of which 40 are labeled; lambda by numpy's
    least squares."""
    _, judge, human = simulated(9, 100, 40)
    result = weighted_correction(judge, human)
    labels = np.array(human[:40], float)
    scores = np.array(judge[:40])
    everyone = np.array(judge)
    first = np.concatenate([(labels - labels.mean()) / 40, np.zeros(60)])
    second = (
        np.concatenate([(scores - scores.mean()) / 40, np.zeros(60)])
        - (everyone - everyone.mean()) / 100
    )
    weight = float(np.linalg.lstsq(second[:, None], first, rcond=None)[0][0])
    assert result.ppi_lambda == pytest.approx(weight)
    assert result.corrected.value == pytest.approx(
        labels.mean() - weight * (scores.mean() - everyone.mean())
    )
    assert result.effective == pytest.approx(40)
    # the first form: w / (1 - 1/40) per item, sqrt(39/40) for their number
    error = np.sqrt(
        (((first - weight * second) / np.where(np.arange(100) < 40, 39 / 40, 1)) ** 2).sum()
        * 39
        / 40
    )
    assert result.corrected.standard_error == pytest.approx(error)


def test_unequal_probabilities_are_undone() -> None:
    """Weights 1 / pi of 2, 4 and 4 on the labels 1, 1 and 0: 6 / 10, of effectively 100 / 36
    labels."""
    people = weighted_correction(
        [0, 0, 0, 0, 0, 0],
        [1, 1, 0, None, None, None],
        probabilities=[0.5, 0.25, 0.25, 0.5, 0.5, 0.5],
    )
    assert people.human.value == pytest.approx(0.6)
    assert people.effective == pytest.approx(100 / 36)


def test_a_draw_of_mostly_wrong_items_is_corrected() -> None:
    """Items that the judge calls wrong are drawn ten times as often; the mean of the labels alone
    is far too low."""
    truth, judge, _ = simulated(6, 3000, 0)
    probabilities = [0.05 if says else 0.5 for says in judge]
    drawn = np.random.default_rng(60).random(3000) < probabilities
    human = [label if chosen else None for label, chosen in zip(truth, drawn, strict=True)]
    result = weighted_correction(judge, human, probabilities=probabilities)
    assert result.corrected.low is not None
    assert result.corrected.high is not None
    assert result.corrected.low < np.mean(truth) < result.corrected.high
    assert np.mean([label for label in human if label is not None]) < result.corrected.low


def test_labels_that_show_no_error_of_the_judge_leave_room_for_one() -> None:
    """All 20 labels confirm the judge, whose mean is .7: one more label may not, an error of lambda
    / 20.

    The interval is Wilson's for .7 * .3 / (error^2 + (1/20)^2) items, widened to Student's 19
    degrees of freedom; statsmodels.stats.proportion.proportion_confint has the same.
    """
    from scipy import stats
    from statsmodels.stats.proportion import proportion_confint

    judge = [1.0] * 70 + [0.0] * 30
    human = [1.0 if i < 14 else 0.0 if 70 <= i < 76 else None for i in range(100)]
    result = weighted_correction(judge, human)
    assert (result.corrected.value, result.ppi_lambda) == pytest.approx((0.7, 1))
    spread = (
        math.hypot(float(result.corrected.standard_error or 0), 1 / 20)
        * stats.t.ppf(0.975, 19)
        / 1.959964
    )
    size = 0.7 * 0.3 / spread**2
    low, high = proportion_confint(size * 0.7, size, method="wilson")
    assert (result.corrected.low, result.corrected.high) == pytest.approx((low, high), rel=1e-5)


def test_at_0_and_1_the_interval_is_wilsons() -> None:
    """Thirty labels, all supported, and a judge that supports everything: Wilson's interval of 30
    of 30."""
    from statsmodels.stats.proportion import proportion_confint

    for correct in (prediction_powered, weighted_correction):
        found = correct([1.0] * 100, [1.0] * 30 + [None] * 70).corrected
        assert (found.value, found.high) == pytest.approx((1, 1))
        assert found.low == pytest.approx(proportion_confint(30, 30, method="wilson")[0])


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="same items"):
        prediction_powered([1.0], [1.0, None])
    with pytest.raises(UsageError, match="finite"):
        prediction_powered([float("nan"), 1.0], [1.0, 1.0])
    with pytest.raises(UsageError, match="inclusion probabilities"):
        weighted_correction([1.0], [1.0], probabilities=[0.0])
    for weight in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(UsageError, match="weights must be above 0"):
            weighted_correction([1.0, 0.0], [1.0, None], weights=[1.0, weight])
    with pytest.raises(UsageError, match="weights must describe the same items: 1 and 2"):
        weighted_correction([1.0, 0.0], [1.0, None], weights=[1.0])


def test_what_cannot_be_known_has_a_reason_and_no_number() -> None:
    for correct in (prediction_powered, weighted_correction):
        one = correct([1.0, 0.0, 1.0], [1.0, None, None])
        assert (one.corrected.value, one.corrected.because) == (
            None,
            "fewer than two labeled clusters",
        )
        together = correct([1.0, 0.0, 1.0], [1.0, 0.0, None], clusters=["q", "q", "r"])
        assert together.corrected.because == "fewer than two labeled clusters"
        assert correct([], []).corrected.because == "no items"
        assert correct([1.0, 0.0], [None, None]).corrected.value is None
        equal = correct([1.0] * 10, [1.0] * 5 + [None] * 5)
        assert equal.corrected.low is not None
        assert equal.corrected.low < 1
