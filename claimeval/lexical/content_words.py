"""Content words of a text: lightly stemmed words, numbers by value and names, without citations.

The lexical support score compares them, and so does the quality of extracted claims.

Words and numbers are recognized in any script. The lists of function words are English; months,
powers of ten and negations are listed for all languages that have prompts. The lists are in
`lexical_support.json`.

Every content word and number has a key; function words have none. The key of a word is its stem in
lower case without accents. The key of a number is `#` and its plain decimal form: "twelve", "12"
and "12.0" are `#12`; "235, 000", "235,000", "235k" and "235 thousand" are `#235000`. Before
neighboring words are joined, a number word is `+12` and a power of ten `*3`.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Mapping
from importlib import resources
from itertools import zip_longest
from typing import Any, NamedTuple

from claimeval.lexical.citations import without
from claimeval.lexical.words import is_other, scaled, with_powers, words_apart

THOUSANDS = r"\d{1,3}(?:(?:,\s?|[\u00a0\u202f])\d{3}){1,10}"
"""Digits in groups of three, as in 235,000. Tokenized corpora add a space: "235, 000"."""

_GROUPED = re.compile(THOUSANDS + r"(?:\.\d+)?")
_DIGITS = re.compile(r"[\d.,\s]*\d")
_PLAIN = re.compile(r"#\d+(?:\.\d+)?")
_LONGEST = 40
"""Maximum number of characters of a number that is multiplied."""
_SPOKEN = frozenset([f"+{value}" for value in range(100)] + [f"*{power}" for power in range(20)])
_ORDINAL_ENDINGS = ("", "st", "nd", "rd", "th")


def number_key(token: str, suffixes: Mapping[str, int]) -> str:
    """Return the key of a token that starts with a digit: `3.50` is `#3.5`, `21st` is `#21`,
    `1.5bn` is `#1500000000`.

    `suffixes` are the endings that mean a power of ten. Any other ending is part of the key:
    `#1990s`.
    """
    match = _DIGITS.match(token)
    assert match is not None, "the token starts with a digit"
    digits = match[0]
    ending = token[match.end() :].lower()
    if _GROUPED.fullmatch(digits):
        digits = re.sub(r"[,\s]", "", digits)
    whole, _, fraction = digits.replace(",", ".").partition(".")
    if "." in fraction:
        return f"#{digits}{ending}"
    number = whole.lstrip("0") or "0"
    if fraction := fraction.rstrip("0"):
        number += f".{fraction}"
    if ending in suffixes:
        return "#" + scaled(number, suffixes[ending])
    return f"#{number}" if ending in _ORDINAL_ENDINGS else f"#{number}{ending}"


def joined(keys_to_join: list[str]) -> list[str]:
    """Join number words and powers of ten in a list of keys: `+20 +5 *3` becomes `#25000`."""
    if _SPOKEN.isdisjoint(keys_to_join):
        return keys_to_join
    keys: list[str] = []
    spoken = 0
    """The value of the number words at the end of `keys`; 0 if it ends with digits or another
    word."""
    for key in keys_to_join:
        if key[0] == "+":
            value = int(key[1:])
            if spoken and 0 < value < _room_after(spoken):
                spoken += value
                keys[-1] = f"#{spoken}"
            else:
                spoken = value
                keys.append(f"#{value}")
        elif key[0] == "*":
            power = int(key[1:])
            if keys and len(keys[-1]) < _LONGEST and _PLAIN.fullmatch(keys[-1]):
                keys[-1] = "#" + scaled(keys[-1][1:], power)
                spoken *= 10**power
            else:
                spoken = 10**power
                keys.append(f"#{spoken}")
        else:
            spoken = 0
            keys.append(key)
    return keys


def _room_after(spoken: int) -> int:
    """Return the value below which a number word continues a number: 100 after "two hundred", 10
    after "twenty"."""
    if spoken % 100 == 0:
        return 100
    if spoken % 10 == 0 and spoken % 100 >= 20:
        return 10
    return 0


def significant(key: str) -> tuple[str, int] | None:
    """Return the significant digits of a number key and the power of ten of the first: `#81.80`
    gives ("818", 1).

    None for zero and for keys that are not plain numbers.
    """
    if not _PLAIN.fullmatch(key):
        return None
    whole, _, fraction = key[1:].partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return None
    return digits.rstrip("0"), len(whole) - 1 - (len(whole + fraction) - len(digits))


def rounded(digits: str, magnitude: int, count: int) -> tuple[str, int]:
    """Round significant digits half up to `count` of them: 81797 to three digits is 818."""
    head = str(int(digits[:count]) + (digits[count : count + 1] >= "5"))
    return head.rstrip("0"), magnitude + len(head) - min(count, len(digits))


_TOKEN = re.compile(
    # most words; also in the last alternative, but faster here
    r"[a-zA-Z][^\W_]{1,39}(?:['’][^\W\d_]{1,40})?"
    r"|(?:[^\W\d_]\.){2,10}"  # U.S.
    rf"|(?<![\d.,]){THOUSANDS}(?![\d,])"
    r"|\d{1,40}(?:[.,]\d{1,40}){0,10}[^\W\d_]{0,3}"
    r"|[^\W_]{1,40}(?:['’][^\W\d_]{1,40})?"
)
_LETTER = (
    r"(?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0970-\u0dff])"
)
"""A letter or a combining sign, because Python does not count Hindi vowel signs as letters."""
_TOKEN_OF_OTHER_SCRIPT = re.compile(
    rf"(?<![\d.,]){THOUSANDS}(?![\d,])"
    rf"|\d{{1,40}}(?:[.,]\d{{1,40}}){{0,10}}[a-zA-Z]{{0,3}}"
    rf"|{_LETTER}{{1,40}}(?:['’]{_LETTER}{{1,40}})?"
)
_BEFORE_OPENING = frozenset(".!?:;\"“‘'(")
_NEAR = 3
"""Number of characters before a word that are searched for the start of a sentence, quotation or
bracket."""
_MOSTLY_CAPITALS = 0.7
"""Share of capitalized words above which a text is a heading, where capitals do not indicate
names."""


class Word(NamedTuple):
    """One word of a text."""

    text: str
    key: str
    """Empty for a function word."""
    opens: bool
    """Whether it starts a sentence, quotation or bracket, which explains a capital."""


class _Lists(NamedTuple):
    """The word lists."""

    function_words: frozenset[str]
    negations: frozenset[str]
    near_negations: frozenset[str]
    months: frozenset[str]
    aliases: dict[str, str]
    """The key of an abbreviated month or an ordinal in digits, by its exact spelling."""
    numbers: dict[str, int]
    powers: dict[str, int]
    suffixes: dict[str, int]
    irregular: dict[str, str]
    antonyms: dict[str, frozenset[str]]


@functools.cache
def model() -> dict[str, Any]:
    """Return the coefficients, caps, thresholds and word lists of `lexical_support.json`."""
    text = (
        resources.files("claimeval.lexical")
        .joinpath("lexical_support.json")
        .read_text(encoding="utf-8")
    )
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@functools.cache
def _lists() -> _Lists:
    words = model()["words"]
    months, ordinals = (
        [names.split("/") for names in words[kind].split()] for kind in ("months", "ordinals")
    )
    opposites: dict[str, set[str]] = {}
    for first, second in (map(stem, pair.split("/")) for pair in words["antonyms"].split()):
        opposites.setdefault(first, set()).add(second)
        opposites.setdefault(second, set()).add(first)
    aliases: dict[str, str] = {}
    for names in (*months, *ordinals):
        aliases |= dict.fromkeys(names, stem(names[0].lower()))
    return _Lists(
        function_words=frozenset(words["function_words"].split()),
        negations=frozenset(words["negations"].split()),
        near_negations=frozenset(words["near_negations"].split()),
        months=frozenset(stem(names[0].lower()) for names in months),
        aliases=aliases,
        numbers=words["numbers"],
        powers=words["powers"],
        suffixes=words["suffixes"],
        irregular=dict(pair.split("/") for pair in words["irregular"].split()),
        antonyms={word: frozenset(opposite) for word, opposite in opposites.items()},
    )


def read(text: str) -> tuple[list[str], list[str]]:
    """Return the keys of `text`, and its function words, each in order."""
    keys: list[str] = []
    function_words: list[str] = []
    pattern, text = _readable(without(text))
    for token in pattern.findall(text):
        if key := _key(token):
            keys.append(key)
        else:
            function_words.append(token)
    return joined(keys), function_words


@functools.lru_cache(maxsize=256)
def tokens(text: str) -> tuple[Word, ...]:
    """Return the words of `text`. Numbers of several words are not joined."""
    pattern, text = _readable(without(text))
    return tuple(
        [
            Word(match[0], _key(match[0]), _opens(text, match.start()))
            for match in pattern.finditer(text)
        ]
    )


def _opens(text: str, start: int) -> bool:
    """Return whether the word at `start` starts a sentence, quotation or bracket."""
    if start > 1 and text[start - 1] == " " and text[start - 2].isalnum():
        return False
    before = text[max(0, start - _NEAR) : start].rstrip()
    return before[-1] in _BEFORE_OPENING if before else start <= _NEAR


def _readable(text: str) -> tuple[re.Pattern[str], str]:
    """Return the pattern for the words of a text, and the text that it applies to."""
    text = with_powers(text)
    return (_TOKEN_OF_OTHER_SCRIPT, words_apart(text)) if is_other(text) else (_TOKEN, text)


@functools.lru_cache(maxsize=1 << 16)
def _key(token: str) -> str:
    """Return the key of one token, before numbers are joined; empty for a function word."""
    lists = _lists()
    if token in lists.aliases:
        return lists.aliases[token]
    if not token.isascii():
        token = unicodedata.normalize("NFKD", token.replace("’", "'"))
        token = "".join(c for c in token if not unicodedata.combining(c))
    if token[:1].isdecimal():
        return number_key(token, lists.suffixes)
    word = token.replace(".", "").lower().removesuffix("'s")
    if word in lists.numbers:
        return f"+{lists.numbers[word]}"
    if word in lists.powers:
        return f"*{lists.powers[word]}"
    # "US" and "IT" in capitals are names, though "us" and "it" are function words.
    if is_negation(word) or (
        word in lists.function_words and not (token.isupper() and len(word) == 2)
    ):
        return ""
    return stem(lists.irregular.get(word, word))


def stem(word: str) -> str:
    """Return `word` without its regular ending: plural, -ing, -ed, -ly, a final -e; a final -y or
    -ie becomes -i.

    At least three letters remain. It uses no dictionary: "cities" equals "city", and "making"
    equals "make".
    """
    # "glass", "virus" and "crisis" are no plurals.
    if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word[: -len(ending)]
            # "stopped" loses a letter with its ending; "falling", "passed" and "buzzing" have two
            # without it. Of the rarer "stuffing" and "purring" the stem is a letter too short.
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    return word


def beginning(key: str) -> str:
    """Return the first five letters of a word, which its forms usually share, or the whole key of a
    number."""
    return key if key[0] in "#+*" else key[:5]


def is_number(key: str) -> bool:
    """Return whether a key is a number or a month."""
    return key[0] == "#" or key in _lists().months


def is_month(key: str) -> bool:
    """Return whether a key is a month."""
    return key in _lists().months


def is_negation(word: str) -> bool:
    """Return whether a lowercase word is a negation."""
    return word in _lists().negations or word.endswith(("n't", "n’t"))


def is_near_negation(word: str) -> bool:
    """Return whether a lowercase word may be a negation, such as "unlikely" or "instead"."""
    return word in _lists().near_negations


def antonyms(key: str) -> frozenset[str]:
    """Return the stems of the listed opposites of a stem."""
    return _lists().antonyms.get(key, frozenset())


@functools.lru_cache(maxsize=256)
def names(words: tuple[Word, ...], *, openings: bool = False) -> frozenset[str]:
    """Return the keys of capitalized words, except months, words that also occur in lower case, and
    headings.

    The first word of a sentence needs a second capital in it or in the next word, unless `openings`
    is set.
    """
    capitals = [
        (word, following)
        for word, following in zip_longest(words, words[1:])
        if word.text[0].isupper()
    ]
    # a text of three words in capitals, "Ana Lind Tower", may be one name and no heading
    if not capitals or len(capitals) > max(3, _MOSTLY_CAPITALS * len(words)):
        return frozenset()
    common = {word.key for word in words if word.text[0].islower()} | _lists().months | {""}
    named = {word.key for word, following in capitals if openings or _shows_name(word, following)}
    return frozenset(named - common)


def _shows_name(word: Word, following: Word | None) -> bool:
    """Return whether the capital of a word is not only that of the beginning of a sentence."""
    return (
        not word.opens
        or any(letter.isupper() for letter in word.text[1:])
        or (following is not None and following.text[0].isupper())
    )
