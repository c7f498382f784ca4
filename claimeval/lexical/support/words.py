"""What the lexical support score looks for in a text: content words lightly stemmed, numbers and names; no citations.

Every content word and number has a key: the stem in lower case without accents, or the key of `lexical_numbers`.
Function words have none. The word lists, in `lexical_support.json`, are English.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Sequence
from importlib import resources
from itertools import zip_longest
from typing import Any, NamedTuple

from claimeval.lexical.citations import without
from claimeval.lexical.support.numbers import THOUSANDS, joined, number_key

_TOKEN = re.compile(
    r"[a-zA-Z][^\W_]{1,39}(?:['’][^\W\d_]{1,40})?"  # most words; the last alternative would do, but later
    r"|(?:[^\W\d_]\.){2,10}"  # U.S.
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # Chinese, Japanese, Korean: a character for a word
    rf"|(?<![\d.,]){THOUSANDS}(?![\d,])"
    r"|\d{1,40}(?:[.,]\d{1,40}){0,10}[^\W\d_]{0,3}"
    r"|[^\W_]{1,40}(?:['’][^\W\d_]{1,40})?"
)
_OPENING = re.compile(r"(?:^|[.!?:;\"“‘'(])\s*+$")
_MOSTLY_CAPITALS = 0.7
"""Share of capitalised words from which a text is a heading, whose capitals do not make names."""


class Word(NamedTuple):
    """One word of a text."""

    text: str
    key: str
    """Empty for a function word."""
    opens: bool
    """Whether a sentence, quotation or bracket starts with it, which is reason enough for a capital."""


class _Lists(NamedTuple):
    """The word lists, ready for look-up."""

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
    """The contents of `lexical_support.json`: coefficients, caps, thresholds and word lists; read on first use."""
    text = resources.files("claimeval.lexical.support").joinpath("lexical_support.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@functools.cache
def _lists() -> _Lists:
    words = model()["words"]
    months, ordinals = ([names.split("/") for names in words[kind].split()] for kind in ("months", "ordinals"))
    opposites: dict[str, set[str]] = {}
    for one, other in (map(stem, pair.split("/")) for pair in words["antonyms"].split()):
        opposites.setdefault(one, set()).add(other)
        opposites.setdefault(other, set()).add(one)
    return _Lists(
        function_words=frozenset(words["function_words"].split()),
        negations=frozenset(words["negations"].split()),
        near_negations=frozenset(words["near_negations"].split()),
        months=frozenset(stem(names[0].lower()) for names in months),
        aliases={name: stem(names[0].lower()) for names in (*months, *ordinals) for name in names},
        numbers=words["numbers"],
        powers=words["powers"],
        suffixes=words["suffixes"],
        irregular=dict(pair.split("/") for pair in words["irregular"].split()),
        antonyms={word: frozenset(others) for word, others in opposites.items()},
    )


def read(text: str) -> tuple[list[str], list[str]]:
    """The keys of `text`, and its function words, each in order."""
    keys: list[str] = []
    function_words: list[str] = []
    for token in _TOKEN.findall(without(text)):
        if key := _key(token):
            keys.append(key)
        else:
            function_words.append(token)
    return joined(keys), function_words


def tokens(text: str) -> list[Word]:
    """The words of `text` one by one; numbers of several words are not joined."""
    text = without(text)
    return [
        Word(match[0], _key(match[0]), _OPENING.search(text, max(0, match.start() - 3), match.start()) is not None)
        for match in _TOKEN.finditer(text)
    ]


@functools.lru_cache(maxsize=1 << 16)
def _key(token: str) -> str:
    """The key of one token, before numbers are joined; empty for a function word."""
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
    if is_negation(word) or (word in lists.function_words and not (token.isupper() and len(word) == 2)):
        return ""
    return stem(lists.irregular.get(word, word))


def stem(word: str) -> str:
    """`word` without its regular ending: plural, -ing, -ed, -ly, a final -e; a final -y or -ie is -i.

    At least three letters stay. It needs no dictionary and conflates little: "cities" and "city", "making" and "make".
    """
    if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    return word


def beginning(key: str) -> str:
    """The first five letters of a word, the whole key of a number: words that begin alike may be forms of one word."""
    return key if key[0] in "#+*" else key[:5]


def is_number(key: str) -> bool:
    """Whether a key is a number or a month."""
    return key[0] == "#" or key in _lists().months


def is_negation(word: str) -> bool:
    """Whether a word in lower case denies what follows."""
    return word in _lists().negations or word.endswith(("n't", "n’t"))


def is_near_negation(word: str) -> bool:
    """Whether a word in lower case may deny what it is said of, as "unlikely" and "instead" do."""
    return word in _lists().near_negations


def antonyms(key: str) -> frozenset[str]:
    """The stems of the listed opposites of a stem."""
    return _lists().antonyms.get(key, frozenset())


def names(words: Sequence[Word], *, openings: bool = False) -> set[str]:
    """The keys of the capitalised words; not months, words also written small, and headings.

    The first word of a sentence needs a second capital in or after it, unless `openings` are all to be counted.
    """
    if sum(word.text[0].isupper() for word in words) > max(3, _MOSTLY_CAPITALS * len(words)):
        return set()
    common = {word.key for word in words if word.text[0].islower()} | _lists().months
    return {
        word.key
        for word, following in zip_longest(words, words[1:])
        if word.key
        and word.text[0].isupper()
        and word.key not in common
        and (
            openings
            or not word.opens
            or any(letter.isupper() for letter in word.text[1:])
            or (following is not None and following.text[0].isupper())
        )
    }
