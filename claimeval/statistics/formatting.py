"""Formats numbers for tables, messages and pages: values, intervals, p-values and percentages.

Halves are rounded away from zero: 0.2125 is 0.213. Floating-point error can leave such a number
just below the half, as 0.21249999999999997, so values are raised slightly before rounding. The
page's script rounds in the same way (`number` in numbers.js), so a number is the same in the
terminal, in Markdown and in HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

HAIR = 1 + 1e-12
"""Factor before rounding, larger than the floating-point error of sums in another order."""
UNDEFINED = "-"
"""Text for an undefined number."""
SMALLEST_P = 0.001
"""Smaller p-values are printed as `< 0.001`."""


LARGE = 1e15
"""Values from which on decimals say nothing."""


def decimal(value: float | None, digits: int = 3) -> str:
    """Format a value with `digits` decimals; a dash if it is undefined. Never returns `-0`."""
    if value is None:
        return UNDEFINED
    if abs(value) >= LARGE:
        return f"{value:.3g}"
    rounded = Decimal(value * HAIR).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{abs(rounded) if rounded.is_zero() else rounded:f}"


def signed(value: float | None, digits: int = 3) -> str:
    """Format a difference like `decimal`, with a plus if it is positive after rounding."""
    text = decimal(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def adding_up(values: Sequence[float], total: float, start: float = 0.0) -> list[str]:
    """Format differences so that the printed numbers add up from `start` to `total`.

    All are rounded down, then those with the largest remainders up, until the sum is right
    (Hamilton's method).
    """
    unit = Decimal("0.001")
    scaled = [Decimal(value) / unit for value in values]
    floors = [number.to_integral_value(ROUND_FLOOR) for number in scaled]
    missing = (Decimal(decimal(total)) - Decimal(decimal(start))) / unit - sum(floors)
    raised = sorted(range(len(values)), key=lambda i: floors[i] - scaled[i])[: max(0, int(missing))]
    return [signed(float((floor + (i in raised)) * unit)) for i, floor in enumerate(floors)]


def interval(ends: Sequence[float | None] | None, digits: int = 2) -> str:
    """Format both ends, as in `0.55 to 0.88`; a dash if an end is missing."""
    if ends is None or None in ends:
        return UNDEFINED
    return " to ".join(decimal(end, digits) for end in ends)


def signed_interval(ends: Sequence[float | None] | None, digits: int = 2) -> str:
    """Format the interval of a difference, as in `-0.02 to +0.10`."""
    if ends is None or None in ends:
        return UNDEFINED
    return " to ".join(signed(end, digits) for end in ends)


def p_value(value: float | None) -> str:
    """Format a p-value with three decimals, or as `< 0.001`."""
    return (
        f"< {decimal(SMALLEST_P)}" if value is not None and value < SMALLEST_P else decimal(value)
    )


def percent(share: float | None) -> str:
    """Format a share as a percentage with one decimal, as in `12.5%`."""
    return UNDEFINED if share is None else f"{decimal(100 * share, 1)}%"


def percent_interval(ends: Sequence[float | None] | None) -> str:
    """Format both ends as percentages, as in `91.6% to 99.3%`; a dash if an end is missing."""
    if ends is None or None in ends:
        return UNDEFINED
    return " to ".join(map(percent, ends))


def span(ends: Sequence[float], text: Callable[[float], str]) -> str:
    """Format both ends of a range, as in `120–140`; one number if both texts are the same."""
    low, high = map(text, ends)
    return low if low == high else f"{low}–{high}"


def number_of(count: int, noun: str) -> str:
    """Format a count with its noun, as in `1 query` and `1,204 queries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def tally(counts: Mapping[Any, int]) -> str:
    """Format counts, as in `3 unsure, 1 tie`."""
    return ", ".join(f"{number:,} {what}" for what, number in counts.items())


def count(number: float) -> str:
    """Format a count: exact up to 9999, then as `41k`, `1.2M`, `3.0G`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            scaled = number / (1e3 if unit == "k" else size)
            return f"{scaled:.0f}{unit}" if scaled >= 10 else f"{scaled:.1f}{unit}"
    return f"{number:.0f}"


def dollars(amount: float | None) -> str:
    """Format US dollars without the sign: two decimals, or four below a cent; `unknown` for
    None."""
    if not amount:
        return "unknown" if amount is None else "0"
    return decimal(amount, 4) if amount < 0.01 else f"{Decimal(decimal(amount, 2)):,}"


def byte_size(number: float) -> str:
    """Format a number of bytes, as in `1.3 MB`."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def day(seconds: float) -> str:
    """Format the date, in UTC, of a time in seconds since 1970, as in `2026-11-22`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def estimate(value: float | None, ends: Sequence[float | None] | None) -> str:
    """Format a value with its interval, if it has one, as in `0.753 (0.55 to 0.88)`."""
    return decimal(value) + ("" if ends is None or None in ends else f" ({interval(ends)})")


def signed_estimate(value: float | None, ends: Sequence[float | None] | None) -> str:
    """Format a difference with its interval, if it has one, as in `+0.044 (-0.02 to +0.10)`."""
    return signed(value) + ("" if ends is None or None in ends else f" ({signed_interval(ends)})")
