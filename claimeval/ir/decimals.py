"""Decimal numbers in a text, read by columns: exactly what ``float`` makes of them.

Up to 24 bytes of a number are put into three words of eight digits, and each word becomes an integer by three
multiplications (the bytes of a word are added in pairs, then in fours, then in eights). An integer below 2**53 and a
power of ten up to 10**22 are exact as 64-bit floats, so that their quotient is rounded once, as it should be (Clinger
1990). Larger ones are divided in extended precision where the machine has it. Exponents, infinities and whatever else
does not fit are left to ``float``.
"""

from __future__ import annotations

import numpy as np

from claimeval.ir.fields import TRAILING, Field, Irregular, TextTable, Words
from claimeval.ir.ranked import Bools, Floats, Ints

_DIGITS = 19
"""So many decimal digits always fit 64 bits."""
_POWERS = np.array([float(10**exponent) for exponent in range(_DIGITS + 1)])
_EXTENDED = np.array([np.longdouble(str(10**exponent)) for exponent in range(_DIGITS + 1)])
_EXACT = np.uint64(1 << 53)
_HAS_EXTENDED = np.finfo(np.longdouble).nmant >= 63
_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


def decimals(text: TextTable, field: Field) -> Floats:
    """The number in each field; raises Irregular where one is no number or NaN."""
    negative = text.words(field.start) & np.uint64(0xFF) == ord("-")
    start = field.start + negative
    point = _find_point(text, start, field.end)
    has_point = point < field.end
    fraction = np.where(has_point, field.end - 1 - point, 0)
    count = field.end - start - has_point

    whole = np.zeros(len(start), np.uint64)
    wrong = np.zeros(len(start), np.uint64)
    for number in range(min((int(count.max(initial=0)) + 7) // 8, 3)):
        digits = _digits(text, field.end - 8 * (number + 1), np.where(has_point, fraction, 24), count, number)
        wrong |= (digits + np.uint64(0x7676767676767676)) | digits
        whole += _value(digits) * np.uint64(10 ** (8 * number))
    usable = ((wrong & _HIGH) == 0) & (count > 0) & (count <= _DIGITS)
    fraction = np.where(usable, fraction, 0)
    values: Floats = whole / _POWERS[fraction]
    large = np.flatnonzero(usable & (whole > _EXACT))
    if large.size and _HAS_EXTENDED:
        values[large], usable[large] = _divide_extended(whole[large], fraction[large])
    elif large.size:
        usable[large] = False
    values = np.where(negative, -values, values)
    rest = np.flatnonzero(~usable)
    values[rest] = [_by_float(characters) for characters in text.bytes_of(field.take(rest))]
    return values


def _find_point(text: TextTable, start: Ints, end: Ints) -> Ints:
    """Position of the first point among the first eight bytes, or the end."""
    other = text.words(start) ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    points = (other - _ONES) & ~other & _HIGH
    lowest = points & (~points + np.uint64(1))
    exponent = (lowest.astype(np.float64).view(np.int64) >> 52) - 1023
    return np.where(lowest != 0, np.minimum(start + (exponent >> 3), end), end)


def _digits(text: TextTable, position: Ints, fraction: Ints, count: Ints, number: int) -> Words:
    """Eight digits, 0 to 9 each, that end ``8 * number`` digits before the number's end; others are above 9.

    Digits behind the point are where they should be; those before it are one byte further left.
    """
    behind = TRAILING[np.clip(fraction - 8 * number, 0, 8)]
    characters = (text.words(position) & behind) | (text.words(position - 1) & ~behind)
    return (characters ^ np.uint64(0x3030303030303030)) & TRAILING[np.clip(count - 8 * number, 0, 8)]


def _value(digits: Words) -> Words:
    pairs = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(10000) + (fours >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


def _divide_extended(whole: Words, fraction: Ints) -> tuple[Floats, Bools]:
    """Quotients, and which of them are surely rounded right.

    The extended quotient is rounded once more to 64 bits; that can only go wrong where it lies half-way.
    """
    extended = whole.astype(np.longdouble) / _EXTENDED[fraction]
    values = extended.astype(np.float64)
    return values, np.abs(extended - values) * 2 != np.spacing(values)


def _by_float(characters: bytes) -> float:
    try:
        value = float(characters)
    except ValueError:
        raise Irregular from None
    if value != value or b"_" in characters:
        raise Irregular
    return value
