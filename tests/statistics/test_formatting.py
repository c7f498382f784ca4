"""How numbers are printed. Expected texts are worked by hand from the exact values of the
numbers."""

from __future__ import annotations

import math
import re

import pytest

from claimeval.statistics.formatting import (
    decimal,
    dollars,
    estimate,
    interval,
    next_to,
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
        (0.1 + 0.2 - 0.3, "0.000"),  # 5.6e-17
        (1, "1.000"),
        (None, "-"),
    ],
)
def test_halves_are_rounded_away_from_zero_however_they_were_computed(
    value: float | None, text: str
) -> None:
    assert decimal(value, 3) == text


def test_a_printed_number_is_never_further_away_than_half_a_step() -> None:
    for n in range(1, 65):
        for k in range(n + 1):
            assert math.isclose(float(decimal(k / n, 3)), k / n, abs_tol=0.0005 + 1e-12)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.004, "0.004"),
        (-0.00496, "-0.005"),
        (0.0004, "0.0004"),
        (0.00005, "0.0001"),
        (0.00004999, "5.0e-5"),
        (3.14e-8, "3.1e-8"),
        (-2.96e-11, "-3.0e-11"),
    ],
)
def test_a_number_that_is_not_zero_is_not_printed_as_zero(value: float, text: str) -> None:
    assert decimal(value) == text
    assert signed(value) == (f"+{text}" if value > 0 else text)


def test_the_ends_of_an_interval_are_not_printed_as_zero_either() -> None:
    assert estimate(0.312, (0.004, 0.6)) == "0.312 (0.004 to 0.600)"
    assert signed_estimate(0.0124, (-0.0004, 0.03)) == "+0.0124 (-0.0004 to +0.0300)"
    assert estimate(3e-8, (1e-8, 5e-8)) == "3.0e-8 (1.0e-8 to 5.0e-8)"
    assert estimate(0.3, (0.0, 0.6)) == "0.30 (0.00 to 0.60)"
    assert percent(0.0004) == "0.04%"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5625, "+0.563"),
        (-0.5625, "-0.563"),
        (0.0, "0.000"),
        (0.3 - 0.1 - 0.2, "0.000"),
        (-0.0004, "-0.0004"),
        (0.0004, "+0.0004"),
    ],
)
def test_a_difference_has_a_sign_unless_it_is_zero(value: float, text: str) -> None:
    assert signed(value, 3) == text


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
    assert estimate(0.7534, (0.549, 0.885)) == "0.75 (0.55 to 0.89)"
    assert estimate(0.7534, None) == estimate(0.7534, (None, None)) == "0.75"
    assert signed_estimate(0.0441, (-0.02, 0.1)) == "+0.04 (-0.02 to +0.10)"


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((0.55, 0.88), "0.96 (0.55 to 0.88)"),
        ((0.95, 0.97), "0.96 (0.95 to 0.97)"),  # two steps of the second decimal
        ((0.9556, 0.9641), "0.960 (0.956 to 0.964)"),  # as of ten thousand samples
        ((0.95951, 0.96039), "0.9600 (0.9595 to 0.9604)"),
        ((0.9599999, 0.96), "0.96 (0.96 to 0.96)"),  # an error of rounding
    ],
)
def test_a_value_has_the_decimals_that_its_interval_needs(
    ends: tuple[float, float], text: str
) -> None:
    assert estimate(0.96, ends) == text
    shown = re.findall(r"[\d.]+", text)
    assert len({len(number) for number in shown}) == 1


def test_a_small_difference_beyond_chance_is_not_printed_as_zero() -> None:
    assert signed_estimate(0.004, (0.001, 0.007)) == "+0.004 (+0.001 to +0.007)"


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (0.796, 0.8, "0.796"),  # "0.80, below 0.8" would say nothing
        (0.79996, 0.8, "0.8000"),  # four decimals at most
        (0.75, 0.8, "0.75"),
        (0.8, 0.8, "0.80"),
        (None, 0.8, "-"),
    ],
)
def test_a_value_next_to_its_limit_reads_differently(
    value: float | None, limit: float, text: str
) -> None:
    assert next_to(value, limit) == text
