"""How the number of slots is found."""

from __future__ import annotations

import pytest

from claimeval.execution.pace import (
    DECREASE_INTERVAL,
    INITIAL_LIMIT,
    MAX_CONCURRENCY,
    ConcurrencyLimit,
)


def clean_round(slots: ConcurrencyLimit, share: float = 1.0) -> None:
    """As many replies as there are slots, of which a share was in use at once."""
    busy = max(1, int(slots.limit * share))
    replies = slots.limit
    for _ in range(busy):
        slots.acquire()
    for _ in range(replies):
        slots.succeeded()
    for _ in range(busy):
        slots.release()


def test_it_doubles_while_rounds_are_clean() -> None:
    slots = ConcurrencyLimit(None)
    seen = [slots.limit]
    for _ in range(6):
        clean_round(slots)
        seen.append(slots.limit)
    assert seen == [INITIAL_LIMIT, 16, 32, 64, MAX_CONCURRENCY, MAX_CONCURRENCY, MAX_CONCURRENCY]


def test_it_grows_only_when_it_was_used() -> None:
    slots = ConcurrencyLimit(None)
    for _ in range(5):
        clean_round(slots, share=0.5)
    assert slots.limit == INITIAL_LIMIT


def test_too_much_cuts_a_fifth_and_then_it_grows_slowly() -> None:
    slots = ConcurrencyLimit(None)
    for _ in range(3):
        clean_round(slots)
    assert slots.limit == 64
    slots.throttled(now=0.0)
    assert slots.limit == 51
    clean_round(slots)
    assert slots.limit == 53  # 5% more, rounded down


def test_the_calls_in_flight_at_a_cut_cut_no_further() -> None:
    slots = ConcurrencyLimit(None)
    for now in (0.0, 1.0, DECREASE_INTERVAL - 0.1):
        slots.throttled(now)
    assert slots.limit == 6
    slots.throttled(DECREASE_INTERVAL)
    assert slots.limit == 4


def test_it_never_falls_below_one_and_rises_from_there() -> None:
    slots = ConcurrencyLimit(None)
    for cut in range(50):
        slots.throttled(cut * DECREASE_INTERVAL)
    assert slots.limit == 1
    clean_round(slots)
    assert slots.limit == 2


def test_trouble_at_the_provider_delays_growth_without_a_cut() -> None:
    slots = ConcurrencyLimit(None)
    slots.acquire()
    for _ in range(INITIAL_LIMIT - 1):
        slots.succeeded()
    slots.failed()
    slots.succeeded()
    assert slots.limit == INITIAL_LIMIT


@pytest.mark.parametrize("number", [1, 16, 500])
def test_a_number_that_was_given_stays(number: int) -> None:
    slots = ConcurrencyLimit(number)
    clean_round(slots)
    slots.throttled(0.0)
    assert slots.limit == number
    for _ in range(number):
        assert not slots.full
        slots.acquire()
    assert slots.full
