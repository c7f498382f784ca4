"""Development checks: the same numbers as scikit-learn, statsmodels, krippendorff and ppi-python.

None of them is a dependency at run time; the `dev` extra installs them. Each is imported inside its
test, because statsmodels and ppi-python take seconds to load.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from claimeval.statistics import (
    NO_INTERVAL,
    auroc,
    binary_report,
    cohen_kappa,
    holm,
    krippendorff_alpha,
    prediction_powered,
    wilson_interval,
)
from claimeval.statistics.bootstrap import cluster_sums, clustered_error

SEEDS = range(5)


def grades(seed: int, items: int = 80) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, items)
    second = np.where(rng.random(items) < 0.6, first, rng.integers(0, 4, items))
    return first.tolist(), second.tolist()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("weights", "theirs"), [("unweighted", None), ("linear", "linear"), ("quadratic", "quadratic")]
)
def test_kappa_equals_scikit_learn(seed: int, weights: str, theirs: str | None) -> None:
    from sklearn import metrics

    a, b = grades(seed)
    # parametrised literal
    mine = cohen_kappa(a, b, weights=weights, resampling=NO_INTERVAL)  # type: ignore[arg-type]
    assert mine.value == pytest.approx(metrics.cohen_kappa_score(a, b, weights=theirs), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_classification_equals_scikit_learn(seed: int) -> None:
    from sklearn import metrics

    rng = np.random.default_rng(seed)
    human = rng.random(120) < 0.7
    probabilities = np.clip(human * 0.3 + rng.random(120) * 0.7, 0, 1).round(2)
    judge = probabilities > 0.5
    report = binary_report(
        judge.tolist(), human.tolist(), probabilities=probabilities.tolist(), resampling=NO_INTERVAL
    )
    assert report.auroc is not None
    assert report.accuracy.value == pytest.approx(metrics.accuracy_score(human, judge), abs=1e-9)
    assert report.balanced_accuracy.value == pytest.approx(
        metrics.balanced_accuracy_score(human, judge), abs=1e-9
    )
    assert report.precision.value == pytest.approx(metrics.precision_score(human, judge), abs=1e-9)
    assert report.recall.value == pytest.approx(metrics.recall_score(human, judge), abs=1e-9)
    assert report.f1.value == pytest.approx(metrics.f1_score(human, judge), abs=1e-9)
    assert report.kappa.value == pytest.approx(metrics.cohen_kappa_score(human, judge), abs=1e-9)
    assert report.auroc.value == pytest.approx(
        metrics.roc_auc_score(human, probabilities), abs=1e-9
    )
    assert auroc(human.tolist(), probabilities.tolist()) == report.auroc


@pytest.mark.parametrize("seed", SEEDS)
def test_holm_equals_statsmodels(seed: int) -> None:
    from statsmodels.stats import multitest

    p_values = (np.random.default_rng(seed).random(9) ** 3).tolist()
    assert holm(p_values) == pytest.approx(
        multitest.multipletests(p_values, method="holm")[1].tolist(), abs=1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_clustered_errors_equal_statsmodels(seed: int) -> None:
    """Its small-sample factor is G/(G-1) (N-1)/(N-K) with K = 1 regressor, so only G/(G-1)
    remains."""
    from statsmodels import api

    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 12, 90)
    values = rng.random(90) + keys / 10
    fit = api.OLS(values, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": keys})
    sums = cluster_sums((values - values.mean())[:, None], keys.tolist())[:, 0]
    assert clustered_error(sums, 90) == pytest.approx(float(fit.bse[0]), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_wilson_equals_statsmodels(seed: int) -> None:
    from statsmodels.stats import proportion

    theirs = proportion.proportion_confint(seed + 1, 40, method="wilson")
    assert wilson_interval((seed + 1) / 40, 40) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_equals_the_krippendorff_package(
    seed: int, scale: Literal["nominal", "ordinal", "interval"]
) -> None:
    import krippendorff

    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 4, (30, 4)).astype(float)
    ratings[rng.random((30, 4)) < 0.2] = np.nan
    theirs = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=scale)
    labels = [[None if np.isnan(value) else int(value) for value in row] for row in ratings]
    mine = krippendorff_alpha(labels, scale=scale, resampling=NO_INTERVAL).value
    assert mine == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_ppi_equals_ppi_python(seed: int) -> None:
    import ppi_py as ppi

    rng = np.random.default_rng(seed)
    truth = (rng.random(500) < 0.6).astype(float)
    judge = np.where(rng.random(500) < 0.8, truth, 1 - truth)
    labels: list[float | None] = [*truth[:100].tolist(), *([None] * 400)]
    mine = prediction_powered(judge.tolist(), labels)
    arguments = (truth[:100], judge[:100], judge[100:])
    assert mine.corrected.value == pytest.approx(
        ppi.ppi_mean_pointestimate(*arguments)[0], abs=1e-9
    )
    low, high = ppi.ppi_mean_ci(*arguments, alpha=0.05, lam=mine.ppi_lambda)
    assert mine.corrected.standard_error == pytest.approx((high - low)[0] / 2 / 1.959964, rel=0.006)
