"""Recognizes the language of a text by its script and its most common words, without a model or a
library.

>>> language_of("Der Turm steht am Markt und ist rot."), language_of("Paris, 1990")
('de', None)

More languages are recognized than have prompts, so that Italian is not mistaken for Spanish.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from claimeval.lexical.words import words_of

NAMES = {
    "ar": "Arabic",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fr": "French",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "mr": "Marathi",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "ur": "Urdu",
    "zh": "Chinese",
}
"""The languages that are recognized."""

MAJORITY = 2 / 3
"""Minimum share of a language among the texts whose language is recognized, to be the language of
all of them."""

_SCRIPTS = {
    "ja": r"[\u3041-\u30ff]",
    "zh": r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]",
    "hi": r"[\u0900-\u0963\u0970-\u097f]",
    "ar": r"[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff]",
    "ko": r"[\uac00-\ud7af]",
    "ru": r"[\u0400-\u04ff]",
    "th": r"[\u0e01-\u0e4e]",
    "": r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]",
}
"""Letters that indicate a language; the empty name is for Latin letters."""
_KANA = 0.1
"""Share of kana in the letters from which Han characters are Japanese."""
_NEIGHBORS = {
    "hi": {
        "hi": "है हैं का के की में से को और था थे",
        "mr": "आहे आहेत आणि होते होता च्या मध्ये ला ते",
    },
    "ru": {"ru": "и в не на что с по был его это как для"},
}
"""Commonest words of the languages that share a script other than Latin."""
_URDU, _PERSIAN, _ARABIC = map(re.compile, ("[ٹڈڑےںہھ]", "[پچژگکی]", "[كيىة]"))
"""Letters by which the languages of the Arabic script differ."""
_LATIN = {
    "en": (
        "the of and to in is was that for with are as by from which this it on be has were not an"
        " or their"
    ),
    "de": (
        "der die das und ist den dem ein eine nicht mit von zu auf für wurde sich auch werden sind"
        " im als bei nach"
    ),
    "fr": (
        "le la les des et est une dans pour que qui du au par sur avec ne pas sont cette il elle a"
        " été ont"
    ),
    "es": (
        "el la los las de que y en un una es por con para se del al no su como más fue son está lo"
    ),
    "pt": "o a os as de que e em um uma é por com para se do da no na não mais foi são está ao",
    "it": (
        "il la di che e un una è per con del della non sono nel alla gli le dei come anche stato"
        " lo si"
    ),
    "nl": (
        "de het een van en is dat niet op te zijn met voor aan wordt ook bij naar uit maar door"
        " werd heeft"
    ),
    "sv": "och att det som på är för av med till den inte en ett har de om var från i",
    "da": "og at det som på er for af med til den ikke en et har de om var fra i der",
    "pl": "i w na się z że jest nie do to o jak po był od przez dla oraz są",
    "tr": "ve bir bu için ile da de olarak olan daha gibi çok en ne kadar",
}
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 5000
"""Maximum number of characters of a text that are read."""
_LEAST = 0.08
"""Minimum share of a language's most common words among the words of a text."""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {language: re.compile(letters) for language, letters in _SCRIPTS.items()}


def language_of(text: str) -> str | None:
    """Return the code (ISO 639-1) of the main language of a text; None if it cannot be
    recognized."""
    read = text[:_LONGEST]
    if read.isascii():
        return _by_words(read, _LATIN)
    letters = {language: len(pattern.findall(read)) for language, pattern in _patterns().items()}
    if letters["ja"] >= _KANA * (letters["ja"] + letters["zh"]) > 0:
        # Japanese can have more Han characters than kana; Chinese has kana only where it quotes.
        letters["ja"] += letters.pop("zh")
    main = max(letters, key=lambda language: letters[language])
    if main == "":
        return _by_words(read, _LATIN)
    if main == "ar" and letters[main]:
        if _URDU.search(read):
            return "ur"
        return "fa" if len(_PERSIAN.findall(read)) > len(_ARABIC.findall(read)) else "ar"
    if main in _NEIGHBORS:
        return _by_words(read, _NEIGHBORS[main])
    return main if letters[main] else None


_SURE = 200
"""Minimum number of characters of a text whose language is compared: a few words have letters and
short words of many."""


def is_foreign(text: str, other: str) -> bool:
    """Return whether two texts are in different languages, as far as these are recognized.

    >>> german, english = "Der Turm ist hoch und alt. ", "The tower is high and it is old. "
    >>> is_foreign(german * 10, english * 10), is_foreign(german, english)
    (True, False)
    """
    if min(len(text), len(other)) < _SURE:
        return False
    language = language_of(text)
    return language is not None and language_of(other) not in (None, language)


def _by_words(text: str, of: dict[str, str]) -> str | None:
    words = _WORD.findall(text.lower()) if of is _LATIN else text.translate(_SIGNS).split()
    counts = {
        language: sum(map(words_of(common).__contains__, words)) for language, common in of.items()
    }
    best, *following = sorted(counts, key=lambda language: -counts[language])
    enough = counts[best] >= max(1 if of is not _LATIN else 2, _LEAST * len(words))
    # A tie names no language: Danish and Swedish share "det", "som", "med" and "har".
    return best if enough and not (following and counts[following[0]] == counts[best]) else None


_SIGNS = {ord(sign): " " for sign in "।॥.,;:!?()[]«»\"'"}


class LanguageFound(NamedTuple):
    """The language of many texts."""

    language: str | None
    """Code of the language; None if no language has a share of `MAJORITY`."""
    counts: dict[str, int]
    """Number of texts by recognized language, most common first."""

    def __str__(self) -> str:
        """Return the counts as text, such as "German 48, English 2"."""
        return (
            ", ".join(f"{NAMES[language]} {count}" for language, count in self.counts.items())
            or "none"
        )


def language_of_all(texts: Iterable[str]) -> LanguageFound:
    """Return the language of at least `MAJORITY` of the texts whose language is recognized."""
    counts = Counter(language for text in texts if (language := language_of(text)))
    ranked = dict(counts.most_common())
    best = next(iter(ranked), None)
    return LanguageFound(
        best if best and ranked[best] >= MAJORITY * counts.total() else None, ranked
    )
