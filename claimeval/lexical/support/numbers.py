"""Numbers as the lexical support score compares them: one key per value, however it is written.

The key of a number is `#` and its plain decimal form: "twelve", "12" and "12.0" are `#12`; "235, 000", "235,000",
"235k" and "235 thousand" are `#235000`. Until its neighbours are known, a number word is `+12` and a power of ten `*3`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

THOUSANDS = r"\d{1,3}(?:(?:,\s?|[\u00a0\u202f])\d{3}){1,10}"
"""Digits in groups of three, as in 235,000; the stray space of "235, 000" is how tokenised corpora write it."""

_GROUPED = re.compile(THOUSANDS + r"(?:\.\d+)?")
_DIGITS = re.compile(r"[\d.,\s]*\d")
_PLAIN = re.compile(r"#\d+(?:\.\d+)?")
_LONGEST = 40
"""Characters: a longer number is not multiplied further."""
_SPOKEN = frozenset([f"+{value}" for value in range(100)] + [f"*{power}" for power in range(20)])
_ORDINAL_ENDINGS = ("", "st", "nd", "rd", "th")


def number_key(token: str, suffixes: Mapping[str, int]) -> str:
    """The key of a token that starts with a digit: `3.50` is `#3.5`, `21st` is `#21`, `1.5bn` is `#1500000000`.

    `suffixes` are the endings that stand for a power of ten. Any other ending stays part of the key: `#1990s`.
    """
    match = _DIGITS.match(token)
    assert match is not None, "the caller has seen a digit"
    digits, ending = match[0], token[match.end() :].lower()
    if _GROUPED.fullmatch(digits):
        digits = re.sub(r"[,\s]", "", digits)
    whole, _, fraction = digits.replace(",", ".").partition(".")
    if "." in fraction:
        return f"#{digits}{ending}"
    number = whole.lstrip("0") or "0"
    if fraction := fraction.rstrip("0"):
        number += f".{fraction}"
    if ending in suffixes:
        return "#" + _scaled(number, suffixes[ending])
    return f"#{number}" if ending in _ORDINAL_ENDINGS else f"#{number}{ending}"


def joined(found: list[str]) -> list[str]:
    """The keys with number words and powers of ten read together: `+20 +5 *3` becomes `#25000`."""
    if _SPOKEN.isdisjoint(found):
        return found
    keys: list[str] = []
    spoken = 0
    """The value of the number words that end `keys`, 0 if a digit or another word does."""
    for key in found:
        if key[0] == "+":
            value = int(key[1:])
            room = 100 if spoken % 100 == 0 else 10 if spoken % 10 == 0 and spoken % 100 >= 20 else 0
            if spoken and 0 < value < room:
                spoken += value
                keys[-1] = f"#{spoken}"
            else:
                spoken = value
                keys.append(f"#{value}")
        elif key[0] == "*":
            power = int(key[1:])
            if keys and len(keys[-1]) < _LONGEST and _PLAIN.fullmatch(keys[-1]):
                keys[-1] = "#" + _scaled(keys[-1][1:], power)
                spoken *= 10**power
            else:
                spoken = 10**power
                keys.append(f"#{spoken}")
        else:
            spoken = 0
            keys.append(key)
    return keys


def significant(key: str) -> tuple[str, int] | None:
    """The significant digits of a number key and the power of ten of the first: `#81.80` gives ("818", 1).

    None for zero and for what is not a plain number.
    """
    if not _PLAIN.fullmatch(key):
        return None
    whole, _, fraction = key[1:].partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return None
    return digits.rstrip("0"), len(whole) - 1 - (len(whole + fraction) - len(digits))


def rounded(digits: str, magnitude: int, places: int) -> tuple[str, int]:
    """Significant digits rounded half up to `places` of them: 81797 to three places is 818."""
    kept = str(int(digits[:places]) + (digits[places : places + 1] >= "5"))
    return kept.rstrip("0"), magnitude + len(kept) - min(places, len(digits))


def _scaled(number: str, power: int) -> str:
    whole, _, fraction = number.partition(".")
    shifted = (whole + fraction[:power].ljust(power, "0")).lstrip("0") or "0"
    return f"{shifted}.{fraction[power:]}" if fraction[power:] else shifted
