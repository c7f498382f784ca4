"""Agreement coefficients on published examples."""

from __future__ import annotations

import pytest

from claimeval.statistics import cohen_kappa, gwet_ac1, krippendorff_alpha, raw_agreement
from claimeval.types.errors import UsageError

NONE = None
# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", example C: 4 observers, 12 units.
KRIPPENDORFF = list(
    zip(
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
        strict=True,
    )
)


@pytest.mark.parametrize(
    ("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_canonical_example_with_missing_labels(scale: str, published: float) -> None:
    # parametrised literal
    estimate = krippendorff_alpha(KRIPPENDORFF, scale=scale)  # type: ignore[arg-type]
    assert estimate.value == pytest.approx(published, abs=0.0005)
    assert (estimate.n, estimate.clusters) == (11, 11)


def test_ac1_with_missing_labels() -> None:
    """The value of the R package irrCAC on Krippendorff's example."""
    assert gwet_ac1(KRIPPENDORFF).value == pytest.approx(0.77544, abs=5e-6)


def test_cohen_kappa_worked_by_hand() -> None:
    """20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: po = .7, pe = .5 * .6 + .5 * .4 = .5, kappa =
    .4."""
    a = ["y"] * 25 + ["n"] * 25
    b = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(a, b).value == pytest.approx(0.4)
    assert raw_agreement(a, b).value == pytest.approx(0.7)


def test_weighted_kappa_worked_by_hand() -> None:
    """Labels 0 1 2; pairs 00 11 22 02: observed |i-j| sums to 2, squares to 4.

    Row sums 2 1 1, column sums 1 1 2, expected counts row * column / 4: linear sum (2*1 + 2*2*2 +
    1*1 + 1*2 + 1*1*2 + 1*1) / 4 = 4, quadratic (2*1 + 2*2*4 + 1*1 + 1*2 + 1*1*4 + 1*1) / 4 = 6.5.
    """
    a = [0, 1, 2, 0]
    b = [0, 1, 2, 2]
    assert cohen_kappa(a, b, weights="linear").value == pytest.approx(1 - 2 / 4)
    assert cohen_kappa(a, b, weights="quadratic").value == pytest.approx(1 - 4 / 6.5)


def test_the_order_of_the_scale_decides_the_weights() -> None:
    a = ["low", "mid", "high", "low"]
    b = ["low", "mid", "high", "high"]
    ordered = cohen_kappa(a, b, weights="linear", labels=["low", "mid", "high"])
    assert ordered.value == pytest.approx(1 - 2 / 4)


def test_prevalence_lowers_kappa_but_not_ac1() -> None:
    """90 yes/yes and 5 of either disagreement: po = .9, pe = .95^2 + .05^2 = .905, AC1 pe = 2 * .95
    * .05."""
    a = ["y"] * 95 + ["n"] * 5
    b = ["y"] * 90 + ["n"] * 5 + ["y"] * 5
    assert cohen_kappa(a, b).value == pytest.approx((0.9 - 0.905) / 0.095)
    assert gwet_ac1(list(zip(a, b, strict=True))).value == pytest.approx((0.9 - 0.095) / 0.905)


def test_one_label_leaves_coefficients_undefined_but_not_raw_agreement() -> None:
    a = b = ["y"] * 10
    kappa = cohen_kappa(a, b)
    assert (kappa.value, kappa.because) == (None, "both raters use only one label")
    assert krippendorff_alpha([["y", "y"]] * 10).because == "only one label is used"
    assert gwet_ac1([["y", "y"]] * 10).value is None
    assert gwet_ac1([["y", "y"]] * 10, labels=["y", "n"]).value == 1.0
    assert raw_agreement(a, b).value == 1.0


def test_items_without_two_labels_do_not_count() -> None:
    assert cohen_kappa(["y", None, "n", "n"], ["y", "y", "n", None]).n == 2
    assert raw_agreement(["y", None], ["y", "y"]).n == 1
    nothing = krippendorff_alpha([["y"], [None, "n"]])
    assert (nothing.value, nothing.because) == (None, "no item has two labels")
    assert gwet_ac1([]).because == "no item has two labels"


def test_counts_say_how_many_items_have_the_same_labels() -> None:
    patterns = sorted(set(KRIPPENDORFF), key=repr)
    counts = [(index + 1) * KRIPPENDORFF.count(pattern) for index, pattern in enumerate(patterns)]
    spelt_out = [
        pattern for pattern, count in zip(patterns, counts, strict=True) for _ in range(count)
    ]
    for coefficient in (krippendorff_alpha, gwet_ac1):
        short = coefficient(patterns, counts=counts)
        long = coefficient(spelt_out)
        assert short.value == pytest.approx(long.value, abs=1e-12)
        assert (short.n, short.clusters) == (long.n, long.clusters)
        assert short.low == pytest.approx(long.low, abs=0.02)
    first = [p[0] for p in patterns]
    second = [p[1] for p in patterns]
    short = cohen_kappa(first, second, counts=counts)
    long = cohen_kappa([p[0] for p in spelt_out], [p[1] for p in spelt_out])
    assert short.value == pytest.approx(long.value, abs=1e-12)
    assert short.n == long.n
    with pytest.raises(UsageError, match="one number per item"):
        cohen_kappa(first, second, counts=[1])
    with pytest.raises(UsageError, match="cannot be clustered"):
        cohen_kappa(first, second, counts=counts, clusters=first)


def test_the_interval_resamples_whole_clusters() -> None:
    a = ["y", "n"] * 40
    b = [label if (i // 8) % 3 else "y" for i, label in enumerate(a)]
    keys = [i // 8 for i in range(80)]
    apart = cohen_kappa(a, b)
    together = cohen_kappa(a, b, clusters=keys)
    assert apart.value == together.value
    assert (apart.clusters, together.clusters) == (80, 10)
    assert apart.width is not None
    assert together.width is not None
    assert together.width > apart.width


def test_bad_input_is_refused_in_words() -> None:
    for measure in (cohen_kappa, raw_agreement):
        with pytest.raises(UsageError, match="same items"):
            measure(["y"], ["y", "n"])
    with pytest.raises(UsageError, match="off the scale"):
        cohen_kappa(["y"], ["maybe"], labels=["y", "n"])
    with pytest.raises(UsageError, match="needs numbers"):
        krippendorff_alpha([["y", "n"]], scale="interval")
    with pytest.raises(UsageError, match="Did you mean 'linear'"):
        cohen_kappa(["y"], ["n"], weights="lineal")  # type: ignore[arg-type]  # a caller's typo


@pytest.mark.parametrize(("alike", "rare"), [(29, 0.5), (9, 0.5)])
def test_alpha_with_one_rare_label_is_no_certain_zero(alike: int, rare: float) -> None:
    """Coincidences 2 * alike, 1, 1, 0: observed disagreement is what chance expects, alpha 0."""
    found = krippendorff_alpha([[1, 1]] * alike + [[1, 0]])
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert (found.low, found.high, found.standard_error) == (None, None, None)
    assert (
        found.because
        == f"an interval needs 7 items of the rarer labels, a rater gives {rare} on average"
    )


def test_kappa_with_one_disagreement_each_way_in_thirty_has_no_interval() -> None:
    """1 - .0667 / (2 * 29/30 * 1/30) = -1/29."""
    found = cohen_kappa([1] * 29 + [0], [1] * 28 + [0, 1])
    assert found.value == pytest.approx(-1 / 29)
    assert found.low is None
    assert (
        found.because == "an interval needs 5 items of the rarer labels, a rater gives 1 on average"
    )


def test_five_items_of_the_rarer_label_are_enough_unless_they_stand_in_one_cluster() -> None:
    a = [1] * 30 + [0] * 5
    b = [1] * 29 + [0] * 6
    assert cohen_kappa(a, b).low is not None
    questions = [*range(29), *["q"] * 6]
    found = cohen_kappa(a, b, clusters=questions)
    assert found.low is None
    assert (
        found.because == "an interval needs 5 items of the rarer labels, a rater gives 1 on average"
    )


def test_ac1_keeps_its_interval_where_labels_are_rare() -> None:
    assert gwet_ac1([[1, 1]] * 29 + [[1, 0]]).low is not None
