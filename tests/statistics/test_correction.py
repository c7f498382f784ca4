"""PPI++, stratified PPI++ and active inference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from claimeval.statistics import active_estimate, draw_by_uncertainty, prediction_powered
from claimeval.types.errors import UsageError


def simulated(
    seed: int, items: int, labels: int, *, yes: float = 0.7
) -> tuple[list[float], list[float], list[float | None]]:
    """Truth, a judge that is right in 85 % and the truth of the first `labels` items."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items) < yes).astype(float)
    judge = np.where(rng.random(items) < 0.85, truth, 1 - truth)
    return truth.tolist(), judge.tolist(), [*truth[:labels].tolist(), *([None] * (items - labels))]


def test_value_weight_and_error_follow_the_formulas() -> None:
    """Four labeled items Y 1 1 0 0, F 1 0 0 0; four unlabeled, judge 1 1 1 0.

    cov(Y, F) = 1/8, var of all eight judge values (4 of 8) = 2/7, lambda = (1/8) / (2 * 2/7) = 7/32;
    theta = lambda 3/4 + (2 - lambda) / 4.
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
    judge, human = [0.0, 1.0] * 50, [1.0, 1.0, 0.0, 0.0] * 5 + [None] * 80
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
    """With 40 labels and none missed the judge may still err: the interval is wider than that of the judge alone."""
    truth, _, human = simulated(2, 2000, 40)
    result = prediction_powered(truth, human)
    assert result.corrected.width is not None
    assert result.judge.width is not None
    assert result.corrected.width > 2 * result.judge.width


def test_shares_stay_inside_0_and_1() -> None:
    judge, human = [1.0] * 30 + [1.0] * 70, [1.0] * 30 + [None] * 70
    result = prediction_powered(judge, human)
    assert (result.corrected.value, result.corrected.method) == (1.0, "rule_of_three")
    assert result.corrected.low == pytest.approx(0.05 ** (1 / 30))


def test_values_beyond_shares_get_students_t() -> None:
    human = [3.0, 5.0, 4.0, 2.0, None, None]
    result = prediction_powered([3.0, 4.0, 4.0, 3.0, 5.0, 1.0], human)
    assert result.corrected.method == "t"
    assert result.corrected.high is not None
    assert result.corrected.value is not None
    assert result.corrected.standard_error is not None
    reach = result.corrected.high - result.corrected.value
    assert reach == pytest.approx(3.182446 * result.corrected.standard_error, rel=1e-6)


def test_strata_are_weighted_by_their_share_of_all_items() -> None:
    """Stratum a holds 6 of 10 items with human mean 1, b 4 of 10 with mean .5; the judge is constant in each.

    The mean is .8; the variance within comes from b, that between from distances .2 and .3, by 4/3 for four labels.
    """
    judge = [1.0] * 6 + [0.0] * 4
    human = [1, 1, None, None, None, None, 1, 0, None, None]
    result = prediction_powered(judge, human, strata=["a"] * 6 + ["b"] * 4)
    assert result.corrected.value == pytest.approx(0.6 * 1 + 0.4 * 0.5)
    within, between = 0.4**2 * 0.5 / 2, (6 * 0.2**2 + 4 * 0.3**2) / 10**2 * 4 / 3
    assert result.corrected.standard_error == pytest.approx(math.sqrt(within + between))
    assert result.method == "stratified ppi++"


def test_pure_strata_are_not_taken_for_pure() -> None:
    """Every label agrees with the judge's, by whose verdict the strata are made: yet there is an interval."""
    judge = [1.0] * 70 + [0.0] * 30
    human = [1.0 if i < 20 else 0.0 if 70 <= i < 80 else None for i in range(100)]
    plain, by_verdict = prediction_powered(judge, human), prediction_powered(judge, human, strata=judge)
    assert by_verdict.corrected.value == pytest.approx(0.7)
    assert by_verdict.corrected.width is not None
    assert plain.corrected.width is not None
    assert by_verdict.corrected.width > 0.9 * plain.corrected.width


def test_a_stratum_without_labels_leaves_the_mean_undefined() -> None:
    result = prediction_powered([1, 0, 1, 0], [1, 0, None, None], strata=["a", "a", "b", "b"])
    assert result.corrected.value is None
    assert result.corrected.because == "fewer than two labeled clusters in a stratum"
    assert result.judge.value == 0.5


def test_clusters_that_hold_labelled_and_unlabelled_items_are_counted_once() -> None:
    _, judge, human = simulated(3, 400, 200)
    keys = [i % 200 // 4 for i in range(400)]
    together, apart = prediction_powered(judge, human, clusters=keys), prediction_powered(judge, human)
    assert together.corrected.value == apart.corrected.value
    assert together.corrected.clusters == 50
    weight = together.ppi_lambda
    assert weight is not None
    labels = np.array(human[:200], dtype=float)
    rectified, judged = labels - weight * np.array(judge[:200]), weight * np.array(judge[200:])
    factor = math.sqrt(50 / 49)
    sums = factor * ((rectified - rectified.mean()) / 200 + (judged - judged.mean()) / 200).reshape(50, 4).sum(axis=1)
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


def test_active_estimate_worked_by_hand() -> None:
    """Increments F + (Y - F) / pi: 1 + (0 - 1) / .5 = -1, 1, 0 + (1 - 0) / .5 = 2, 0; mean .5."""
    result = active_estimate([1, 1, 0, 0], [0, None, 1, None], [0.5, 0.5, 0.5, 0.5])
    assert result.corrected.value == 0.5
    assert result.corrected.standard_error == pytest.approx(np.std([-1, 1, 2, 0], ddof=1) / 2)
    assert result.human.value == 0.5


def test_active_estimate_corrects_for_the_unequal_draw() -> None:
    rng = np.random.default_rng(6)
    chance = rng.beta(0.5, 0.3, 3000)
    truth = (rng.random(3000) < chance).astype(float)
    draw = draw_by_uncertainty((chance * (1 - chance)).tolist(), 400, seed=6)
    human: list[float | None] = [None] * 3000
    for item in draw.chosen:
        human[item] = float(truth[item])
    result = active_estimate(chance.tolist(), human, draw.probabilities)
    labelled_mean = truth[list(draw.chosen)].mean()
    assert result.corrected.low is not None
    assert result.corrected.high is not None
    assert result.corrected.low < truth.mean() < result.corrected.high
    assert labelled_mean < result.corrected.low


def test_the_people_of_an_active_estimate_are_a_weighted_mean() -> None:
    """Weights 2, 4 and 4 of the labels 1, 1 and 0: 6 / 10. With F = 0 it would be (2 + 4) / 6 items = 1."""
    people = active_estimate([1, 1, 1, 0, 0, 0], [1, 1, 0, None, None, None], [0.5, 0.25, 0.25, 0.5, 0.5, 0.5]).human
    assert people.value == pytest.approx(0.6)


def test_labels_that_show_no_error_of_the_judge_leave_room_for_one() -> None:
    """All 20 labels confirm the judge. Ten weigh 10 and ten 1, sqrt(50.5) in the mean; one more moves as many items.

    The spread is hypot(error, sqrt(50.5) / 110) and the interval Wilson's for v (1 - v) / spread^2 items, widened to
    Student's 19 degrees of freedom, 2.093 / 1.96; statsmodels.stats.proportion.proportion_confint has the same.
    """
    from scipy import stats
    from statsmodels.stats.proportion import proportion_confint

    judge = [1.0] * 100 + [0.0] * 10
    human = [1.0] * 10 + [None] * 90 + [0.0] * 10
    result = active_estimate(judge, human, [0.1] * 100 + [1.0] * 10).corrected
    assert result.value == pytest.approx(100 / 110)
    assert result.clusters == 20
    error = np.std(judge, ddof=1) / math.sqrt(110)
    spread = math.hypot(error, math.sqrt(50.5) / 110) * stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975)
    size = 100 / 110 * 10 / 110 / spread**2
    low, high = proportion_confint(size * 100 / 110, size, method="wilson")
    assert result.low == pytest.approx(low)
    assert result.high == pytest.approx(high)


def test_a_value_cut_to_1_has_the_interval_of_the_value_that_was_cut() -> None:
    """F + (Y - F) / pi of two labels: 2, 2, and 1 for 38 others; mean 1.05, which is cut to 1.

    The error is std / sqrt(40) and the spread hypot(error, 2 / 40), times Student's 12.706 for one degree of freedom.
    """
    result = active_estimate([0.0, 0.0] + [1.0] * 38, [1.0, 1.0] + [None] * 38, [0.5] * 40).corrected
    increments = [2.0, 2.0] + [1.0] * 38
    spread = math.hypot(np.std(increments, ddof=1) / math.sqrt(40), 2 / 40)
    assert (result.value, result.high) == (1.0, 1.0)
    assert result.low == pytest.approx(min(1 - (1 - 0.05**0.5), 1.05 - 12.7062 * spread), abs=1e-4)


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="same items"):
        prediction_powered([1.0], [1.0, None])
    with pytest.raises(UsageError, match="finite"):
        prediction_powered([float("nan"), 1.0], [1.0, 1.0])
    with pytest.raises(UsageError, match="inclusion probabilities"):
        active_estimate([1.0], [1.0], [0.0])
