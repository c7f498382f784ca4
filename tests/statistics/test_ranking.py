"""AUROC and correlation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from claimeval.statistics import auroc, correlation
from claimeval.types.errors import UsageError


def test_auroc_worked_by_hand() -> None:
    """Yes .9 .5, no .5 .1: of four pairs three are in order and one is tied."""
    assert auroc([True, True, False, False], [0.9, 0.5, 0.5, 0.1]).value == pytest.approx(3.5 / 4)


def test_auroc_is_mann_whitneys_u() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(60) < 0.4
    scores = np.round(truth * 0.5 + rng.random(60), 1)
    u = scipy.stats.mannwhitneyu(scores[truth], scores[~truth]).statistic
    assert auroc(truth.tolist(), scores.tolist()).value == pytest.approx(
        u / (truth.sum() * (~truth).sum())
    )


def test_the_error_of_auroc_is_delongs() -> None:
    """Placements of the yes 1, .75 among two no, of the no .75, 1: var = var(1, .75) / 2 + var(.75,
    1) / 2."""
    error = auroc([True, True, False, False], [0.9, 0.5, 0.5, 0.1]).standard_error
    assert error == pytest.approx(np.sqrt(np.var([1, 0.75], ddof=1) / 2 * 2))


def test_clustered_copies_do_not_narrow_the_interval_of_auroc() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(80) < 0.5
    scores = truth * 0.5 + rng.random(80)
    once = auroc(truth.tolist(), scores.tolist())
    copied = auroc(
        np.repeat(truth, 4).tolist(),
        np.repeat(scores, 4).tolist(),
        clusters=[i // 4 for i in range(320)],
    )
    assert copied.value == pytest.approx(once.value)
    assert copied.standard_error == pytest.approx(once.standard_error, rel=1e-9)


def test_one_outcome_has_no_auroc() -> None:
    assert auroc([True, True], [0.1, 0.2]).because == "needs items of both outcomes"
    assert auroc([True, False], [0.9, 0.1]).low is None


def test_perfect_order_gets_wilsons_interval() -> None:
    estimate = auroc([True] * 20 + [False] * 30, [1.0] * 20 + [0.0] * 30)
    assert estimate.value == 1.0
    assert estimate.low == pytest.approx(1 - 1.959964**2 / (20 + 1.959964**2), abs=1e-6)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_correlation_equals_scipy(kind: str) -> None:
    x, y = np.random.default_rng(2).integers(0, 6, (2, 50)).astype(float)
    y = y + x
    expected = (scipy.stats.pearsonr if kind == "pearson" else scipy.stats.spearmanr)(
        x, y
    ).statistic
    # parametrised literal
    estimate = correlation(x.tolist(), y.tolist(), kind=kind)  # type: ignore[arg-type]
    assert estimate.value == pytest.approx(expected, abs=1e-12)


def test_only_the_correlation_of_ranks_has_an_interval() -> None:
    x, y = np.random.default_rng(2).integers(0, 6, (2, 50)).astype(float)
    spearman = correlation(x.tolist(), (x + y).tolist())
    assert spearman.low is not None
    assert spearman.high is not None
    assert spearman.value is not None
    assert spearman.low < spearman.value < spearman.high
    pearson = correlation(x.tolist(), (x + y).tolist(), kind="pearson")
    assert (pearson.low, pearson.high, pearson.method) == (None, None, "none")
    assert str(pearson.because).startswith("items far from all others")


def test_resampled_ranks_are_those_of_the_resample() -> None:
    """The standard error is that of a plain loop over resamples, ranks made anew each time."""
    rng = np.random.default_rng(3)
    x = rng.random(40).round(1)
    y = (x + rng.random(40)).round(1)
    loop = [scipy.stats.spearmanr(x[i], y[i]).statistic for i in rng.integers(0, 40, (1500, 40))]
    error = correlation(x.tolist(), y.tolist()).standard_error
    assert error == pytest.approx(np.std(loop), rel=0.08)


def test_a_constant_score_has_no_correlation() -> None:
    estimate = correlation([0.3] * 5, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert (estimate.value, estimate.because) == (None, "one of the scores is constant")
    assert correlation([], []).value is None


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="same items"):
        correlation([1.0], [])
    with pytest.raises(UsageError, match="finite"):
        correlation([1.0, float("inf")], [1.0, 2.0])
    with pytest.raises(UsageError, match="Known: pearson, spearman"):
        correlation([1.0], [1.0], kind="kendall")  # type: ignore[arg-type]  # a caller's wish
    with pytest.raises(UsageError, match="same items"):
        auroc([True], [])
