"""How numbers are printed. Expected texts are worked by hand from the exact values of the
numbers."""

from __future__ import annotations

import math

import pytest

from claimeval.statistics.formatting import (
    decimal,
    dollars,
    estimate,
    interval,
    number_of,
    p_value,
    percent,
    signed,
    signed_estimate,
    signed_interval,
    tally,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5625, "0.563"),  # 9/16 is exact in binary and lies half-way
        (-0.5625, "-0.563"),
        (0.0625, "0.063"),
        (0.0005, "0.001"),  # as a float 0.0005000000000000000104
        (0.0015, "0.002"),  # as a float 0.0015000000000000000312
        (1.0005, "1.001"),  # as a float 1.000499999999999989
        (0.2125, "0.213"),  # as a float 0.21249999999999999445
        (
            0.6375 - 0.85,
            "-0.213",
        ),  # as floats -0.21250000000000002; the same difference, computed in another way
        (0.21249999, "0.212"),
        (-0.0001, "0.000"),
        (1, "1.000"),
        (None, "-"),
    ],
)
def test_halves_are_rounded_away_from_zero_however_they_were_computed(
    value: float | None, text: str
) -> None:
    assert decimal(value) == text


def test_a_printed_number_is_never_further_away_than_half_a_step() -> None:
    for n in range(1, 65):
        for k in range(n + 1):
            assert math.isclose(float(decimal(k / n)), k / n, abs_tol=0.0005 + 1e-12)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5625, "+0.563"),
        (-0.5625, "-0.563"),
        (0.0, "0.000"),
        (-0.0004, "0.000"),
        (0.0004, "0.000"),
    ],
)
def test_a_difference_has_a_sign_unless_it_is_zero_as_printed(value: float, text: str) -> None:
    assert signed(value) == text


def test_an_interval_has_one_form() -> None:
    assert interval((0.545, 0.875)) == "0.55 to 0.88"  # 0.545 is 0.54500000000000003997 as a float
    assert signed_interval((-0.125, 0.25)) == "-0.13 to +0.25"
    assert interval(None) == interval((0.1, None)) == signed_interval((None, None)) == "-"


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "< 0.001"), (0.000999, "< 0.001"), (0.001, "0.001"), (0.0625, "0.063"), (None, "-")],
)
def test_a_small_p_is_not_printed_as_zero(p: float | None, text: str) -> None:
    assert p_value(p) == text


def test_a_share_is_a_percentage_with_one_decimal() -> None:
    assert [percent(share) for share in (0.125, 1.0, 1 / 3, None)] == [
        "12.5%",
        "100.0%",
        "33.3%",
        "-",
    ]


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "unknown"),
        (0.0, "0"),
        (0.00421, "0.0042"),
        (0.01, "0.01"),
        (3.265, "3.27"),
        (1234.5, "1,234.50"),
    ],
)
def test_dollars_have_two_decimals_and_four_below_a_cent(amount: float | None, text: str) -> None:
    assert dollars(amount) == text


def test_counts_have_commas_and_their_noun() -> None:
    assert [number_of(count, "query") for count in (0, 1, 1204)] == [
        "0 queries",
        "1 query",
        "1,204 queries",
    ]
    assert tally({"tie": 1, "unsure": 1204}) == "1 tie, 1,204 unsure"


def test_an_estimate_is_a_value_with_its_interval_if_it_has_one() -> None:
    assert estimate(0.7534, (0.549, 0.885)) == "0.753 (0.55 to 0.89)"
    assert estimate(0.7534, None) == estimate(0.7534, (None, None)) == "0.753"
    assert signed_estimate(0.0441, (-0.02, 0.1)) == "+0.044 (-0.02 to +0.10)"
