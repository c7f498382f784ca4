"""At most the limit in any minute, whatever the order in which amounts become known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval.execution.pace import MINUTE, RateWindow


def test_what_fits_need_not_wait() -> None:
    window = RateWindow(10)
    assert window.wait(10, 0.0) == 0.0
    window.reserve(4, 0.0)
    assert window.wait(6, 0.0) == 0.0


def test_what_does_not_fit_waits_until_enough_is_a_minute_old() -> None:
    window = RateWindow(10)
    for at in (0.0, 1.0, 2.0):
        window.reserve(3, at)
    assert window.wait(1, 2.0) == 0.0
    assert window.wait(4, 2.0) == MINUTE - 2.0  # the first 3 are enough
    assert window.wait(5, 2.0) == MINUTE - 1.0
    assert window.wait(4, MINUTE) == 0.0


def test_more_than_the_limit_fits_when_nothing_else_is_used() -> None:
    window = RateWindow(10)
    assert window.wait(25, 0.0) == 0.0
    window.reserve(1, 0.0)
    assert window.wait(25, 0.0) == MINUTE
    assert window.wait(25, MINUTE) == 0.0


def test_a_correction_counts_while_the_use_does() -> None:
    window = RateWindow(10)
    use = window.reserve(8, 0.0)
    window.correct(use, 2, 5.0)
    assert (window.used(5.0), window.wait(8, 5.0)) == (2, 0.0)
    window.correct(use, 9, MINUTE)
    assert window.used(MINUTE) == 0


def test_without_a_limit_everything_fits_and_is_noted() -> None:
    window = RateWindow()
    for _ in range(5):
        window.reserve(1, 0.0)
    assert window.wait(1e9, 0.0) == 0.0
    window.limit = 5
    assert window.wait(1, 1.0) == MINUTE - 1.0


def test_what_others_use_of_the_same_account_counts_too() -> None:
    window = RateWindow(60)
    window.reserve(10, 0.0)
    window.limit_remaining(50, 0.0)
    assert window.used(0.0) == 10
    window.limit_remaining(20, 1.0)
    assert window.used(1.0) == 40


@given(
    limit=st.integers(1, 20),
    asked=st.lists(st.tuples(st.floats(0, 30), st.integers(1, 25)), min_size=1, max_size=40),
)
def test_no_minute_ever_sees_more_than_the_limit(
    limit: int, asked: list[tuple[float, int]]
) -> None:
    window = RateWindow(limit)
    now = 0.0
    passed = []
    for pause, amount in asked:
        now += pause
        for _ in range(len(asked) + 1):
            wait = window.wait(amount, now)
            if wait <= 0:
                break
            now += wait + 1e-6
        assert window.wait(amount, now) == 0.0, "waiting comes to an end"
        window.reserve(amount, now)
        passed.append((now, amount))
    for at, amount in passed:
        within = sum(other for when, other in passed if at - MINUTE < when <= at)
        assert within <= max(limit, amount)


@pytest.mark.parametrize("limit", [1, 60])
def test_the_whole_limit_is_used(limit: int) -> None:
    window = RateWindow(limit)
    now = 0.0
    passed = 0
    while now < 10 * MINUTE:
        if (wait := window.wait(1, now)) > 0:
            now += wait
            continue
        window.reserve(1, now)
        passed += 1
    assert passed == 10 * limit
