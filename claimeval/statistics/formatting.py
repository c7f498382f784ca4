"""Formats numbers for tables, messages and pages: values, intervals, p-values and percentages.

A value and its interval have the same decimals: two, or more where the interval is narrower than
two decimals can show (`digits_of`).

A number that is not zero is not printed as zero: it has as many decimals as its first digit needs,
and from the fifth on it is written as `3.1e-8`.

Halves are rounded away from zero: 0.285 is 0.29. Floating-point error can leave such a number
just below the half, as 0.28499999999999998, so values are raised slightly before rounding. The
page's script rounds in the same way (`number` in numbers.js), so a number is the same in the
terminal, in Markdown and in HTML.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

HAIR = 1 + 1e-12
"""Factor before rounding, larger than the floating-point error of sums in another order."""
DIGITS = 2
"""Decimals of a value and its interval."""
FINEST = 4
"""Maximum decimals of a value with a narrow interval, and of one beside a close limit."""
UNDEFINED = "-"
"""Text for an undefined number."""
SMALLEST_P = 0.001
"""Smaller p-values are printed as `< 0.001`."""
LARGE = 1e15
"""Values from which on decimals say nothing."""
ZERO = 1e-14
"""Smaller numbers are errors of rounding, as in 0.1 + 0.2 - 0.3."""


def digits_of(ends: Sequence[float | None] | None) -> int:
    """Return the decimals of a value and its interval: two, or as many as it takes, at most four,
    for the interval to be two units of the last decimal wide, and for its ends to be no zeros.

    Ten thousand samples have an interval of 0.956 to 0.964, which two decimals would print as
    "0.96 to 0.96".
    """
    if ends is None or None in ends:
        return DIGITS
    low, high = (end for end in ends if end is not None)
    width = abs(high - low)
    if width < 10.0 ** -(FINEST + 1):  # nothing to tell apart: 1 to 1, or an error of rounding
        return DIGITS
    digits = max(_visible(low), _visible(high))
    while digits < FINEST and width * HAIR < 2 * 10.0**-digits:
        digits += 1
    return digits


def _rounded(value: float, digits: int) -> Decimal:
    return Decimal(value * HAIR).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _visible(value: float, digits: int = DIGITS) -> int:
    """Return `digits`, or the decimals that a smaller number needs to be no zero; `digits` if four
    are too few."""
    for finer in range(digits, max(FINEST, digits) + 1):
        if _rounded(value, finer):
            return finer
    return digits


def digits_of_sum(sums: Iterable[float], digits: int) -> int:
    """Return `digits`, or the decimals that parts need to add up to sums that are not printed as
    zero: two of the first sum's if four decimals are too few."""
    for value in sums:
        digits = _visible(value, digits)
        if abs(value) >= ZERO and not _rounded(value, digits):
            digits = 1 - math.floor(math.log10(abs(value)))
    return digits


def decimal(value: float | None, digits: int = DIGITS) -> str:
    """Format a value with `digits` decimals, or more if it would be printed as zero; a dash if it
    is undefined. Never returns `-0`."""
    if value is None:
        return UNDEFINED
    if abs(value) >= LARGE:
        return f"{value:.3g}"
    rounded = _rounded(value, _visible(value, digits))
    if abs(value) >= ZERO and (digits > FINEST or not rounded):
        mantissa, _, exponent = f"{value:.1e}".partition("e-")
        return f"{mantissa}e-{exponent.lstrip('0')}"
    if rounded.is_zero():
        return "0" if digits > FINEST else f"{abs(rounded):f}"
    return f"{rounded:f}"


def short(value: float) -> float:
    """Return a number with six significant digits, for a page that prints fewer."""
    return float(f"{value:.6g}")


def next_to(value: float | None, limit: float, ends: Sequence[float | None] | None = None) -> str:
    """Format a value next to a limit that it is compared with: with as many decimals as it takes
    to read differently, since "0.80, below 0.8" says nothing."""
    digits = digits_of(ends)
    while digits < FINEST and value is not None and value != limit:
        if decimal(value, digits) != decimal(limit, digits):
            break
        digits += 1
    return decimal(value, digits)


def signed(value: float | None, digits: int = DIGITS) -> str:
    """Format a difference like `decimal`, with a plus if it is positive."""
    return f"{'+' * (value is not None and value >= ZERO)}{decimal(value, digits)}"


def adding_up(
    values: Sequence[float], total: float, start: float = 0.0, digits: int = DIGITS
) -> list[str]:
    """Format differences so that the printed numbers add up from `start` to `total`.

    All are rounded down, then those with the largest remainders up, until the sum is right
    (Hamilton's method).
    """
    unit = Decimal(1).scaleb(-digits)
    scaled = [Decimal(value) / unit for value in values]
    floors = [number.to_integral_value(ROUND_FLOOR) for number in scaled]
    # What must add up are the rounded numbers that a reader sees: 0.333 + 0.333 + 0.333 is not 1.
    shown = _rounded(total, digits) - _rounded(start, digits)
    missing = shown / unit - sum(floors)
    raised = sorted(range(len(values)), key=lambda i: floors[i] - scaled[i])[: max(0, int(missing))]
    steps = [float((floor + (i in raised)) * unit) for i, floor in enumerate(floors)]
    return [signed(step, digits) for step in steps]


def interval(ends: Sequence[float | None] | None, digits: int | None = None) -> str:
    """Format both ends, as in `0.55 to 0.88`; a dash if an end is missing."""
    if ends is None or None in ends:
        return UNDEFINED
    digits = digits_of(ends) if digits is None else digits
    return " to ".join(decimal(end, digits) for end in ends)


def signed_interval(ends: Sequence[float | None] | None, digits: int | None = None) -> str:
    """Format the interval of a difference, as in `-0.02 to +0.10`."""
    if ends is None or None in ends:
        return UNDEFINED
    digits = digits_of(ends) if digits is None else digits
    return " to ".join(signed(end, digits) for end in ends)


def p_value(value: float | None) -> str:
    """Format a p-value with three decimals, or as `< 0.001`."""
    if value is not None and value < SMALLEST_P:
        return f"< {SMALLEST_P}"
    return decimal(value, 3)


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
    """Format a value with its interval, if it has one, as in `0.75 (0.55 to 0.88)`."""
    shown = decimal(value, digits_of(ends))
    return shown if ends is None or None in ends else f"{shown} ({interval(ends)})"


def signed_estimate(value: float | None, ends: Sequence[float | None] | None) -> str:
    """Format a difference with its interval, if it has one, as in `+0.04 (-0.02 to +0.10)`."""
    shown = signed(value, digits_of(ends))
    return shown if ends is None or None in ends else f"{shown} ({signed_interval(ends)})"
