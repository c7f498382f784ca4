"""Normalizations, which split texts into words, and the bags of words that most lexical metrics
compare.

``squad`` (the default) equals the SQuAD evaluation script for any input: it lowercases, deletes
ASCII punctuation and the English articles, and splits at white space. "co-op" becomes "coop"; curly
quotes, dashes and other signs outside ASCII remain part of their word.

``multilingual`` is for all other languages. It keeps articles, because "a" is a verb in French and
"an" a preposition in German, and has the same rules for all of Unicode:

1. apostrophes (' ` ´ and the typographic ones) separate words, so that French "l'Italie" contains
   "italie";
2. other ASCII punctuation is deleted, and so are the Unicode hyphens, the Catalan middle dot, the
   Hebrew maqaf and gershayim, and all invisible format characters (soft hyphen, joiners, direction
   marks);
3. every other punctuation mark or symbol, and the zero-width space, separates words ("1914–1918" is
   two words);
4. compatibility forms are unified (NFKC: full-width digits, ligatures, composed accents) and case
   is folded ("Straße" equals "STRASSE"); accents are kept, and Turkish dotted and dotless i have no
   special rule;
5. words are split at white space, and in scripts written without spaces (Han, kana, Thai, Lao,
   Khmer, Burmese) every character is a word, as for Chinese in the MLQA evaluation script (Lewis et
   al. 2020, arXiv:1910.07475).

Under ``squad``, ROUGE-L uses other words: see `rouge_words`.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from claimeval.types.errors import unknown_name


@cache
def words_of(text: str) -> frozenset[str]:
    """Return the words of a list that is separated by spaces."""
    return frozenset(text.split())


class Bag(NamedTuple):
    """The words of one text, without their order."""

    counts: dict[str, int]
    """How often each word occurs."""
    total: int
    """Number of words, with repetitions."""


@dataclass(frozen=True)
class Normalization:
    """Rules that turn a text into words.

    `fold` defines them: it returns the words separated by white space. Rules never depend on
    neighboring words, so a text that is mostly ASCII is folded as bytes, which is several times
    faster, and `fold` handles only its other words.
    """

    fold: Callable[[str], str]
    ascii_table: bytes
    """The result of `fold` for each ASCII character; NUL if only `fold` itself can handle it."""
    ascii_deleted: bytes
    """The ASCII characters that `fold` deletes."""
    articles: frozenset[str]
    """Words that do not count. `split` may return them."""
    rouge_split: Callable[[str], list[str]] | None = None
    """Returns the words for ROUGE-L; None if they are those of `words`."""

    def split(self, text: str) -> list[str]:
        """Split `text` into words in order, possibly with articles. The others equal
        `fold(text).split()`."""
        encoded = text.encode("utf-8", "surrogatepass")  # JSON can hold lone surrogates
        folded = encoded.translate(self.ascii_table, self.ascii_deleted)
        # The lower case of a capital sigma depends on the punctuation after it.
        if 0 in folded or len(encoded) > 1.2 * len(text) or "Σ" in text:
            return self.fold(text).split()
        words = folded.decode("utf-8", "surrogatepass").split()
        if len(encoded) > len(text):
            for index in [index for index, word in enumerate(words) if not word.isascii()][::-1]:
                words[index : index + 1] = self.fold(words[index]).split()
        return words

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in order, without articles."""
        return [word for word in self.split(text) if word not in self.articles]

    def rouge_words(self, text: str) -> list[str]:
        """Return the words of `text` in order, for ROUGE-L."""
        return self.rouge_split(text) if self.rouge_split else self.words(text)

    def bag(self, text: str) -> Bag:
        """Count the words of `text`, without articles."""
        words = self.split(text)
        counts = Counter(words)
        total = len(words)
        for article in self.articles:
            total -= counts.pop(article, 0)
        return Bag(counts, total)


class Bags(dict[str, Bag]):
    """A cache of the bags of recent texts, so that a context of many answers is split once.

    It is cleared after `LIMIT` characters, which limits memory to about 2 MB.
    """

    LIMIT = 200_000

    def __init__(self, normalization: Normalization) -> None:
        self._normalization = normalization
        self._characters = 0

    def __missing__(self, text: str) -> Bag:
        if self._characters > self.LIMIT:
            self.clear()
            self._characters = 0
        self._characters += len(text)
        bag = self[text] = self._normalization.bag(text)
        return bag


def _ascii_table(separators: bytes) -> bytes:
    """Return a table to lower case, with spaces for `separators` and NUL for control characters but
    white space.

    An article next to a control character is a word for a pattern with word boundaries, but not for
    `str.split`.
    """
    table = bytearray(bytes(range(256)).lower())
    for byte in separators:
        table[byte] = 32
    for byte in (*range(9), *range(14, 28), 127):
        table[byte] = 0
    return bytes(table)


_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = string.punctuation.encode()


def _squad_fold(text: str) -> str:
    bare = text.lower().encode("utf-8", "surrogatepass").translate(None, _PUNCTUATION)
    return _ARTICLE.sub(" ", bare.decode("utf-8", "surrogatepass"))


_SEPARATORS = "'`´‘’‛ʼʻ\u200b"
_DELETED = frozenset(string.punctuation + "·״\u05be\u2010\u2011") - frozenset(_SEPARATORS)


class _Signs(dict[int, int | str | None]):
    """The translation table of steps 1 to 3, filled as characters are met."""

    def __missing__(self, code: int) -> int | str | None:
        character = chr(code)
        category = unicodedata.category(chr(code))
        if character in _SEPARATORS:
            self[code] = " "
        elif character in _DELETED or category == "Cf":
            self[code] = None
        else:
            self[code] = " " if category[0] in "PS" else code
        return self[code]


_SIGNS = _Signs()
_UNSPACED = (
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    # Han
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
    "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"  # kana
    "]"
)


@cache
def _unspaced() -> re.Pattern[str]:
    """Return the pattern of a character of a script without spaces, compiled on first use: its
    ranges are long."""
    return re.compile(_UNSPACED)


def _multilingual_fold(text: str) -> str:
    unified = unicodedata.normalize("NFKC", text.translate(_SIGNS)).casefold()
    folded = unicodedata.normalize("NFKC", unified).translate(_SIGNS)
    return _unspaced().sub(r" \g<0> ", folded)


_ROUGE_WORD = re.compile(r"[a-z0-9]+")


def rouge_words(text: str) -> list[str]:
    """Return the words of rouge-score without stemming: the runs of a-z and 0-9 in the lowercase
    text."""
    return _ROUGE_WORD.findall(text.lower())


NORMALIZATIONS: dict[str, Normalization] = {
    "squad": Normalization(
        fold=_squad_fold,
        ascii_table=_ascii_table(separators=b""),
        ascii_deleted=_PUNCTUATION,
        articles=frozenset({"a", "an", "the"}),
        rouge_split=rouge_words,
    ),
    "multilingual": Normalization(
        fold=_multilingual_fold,
        ascii_table=_ascii_table(separators=b"'`"),
        ascii_deleted=bytes(set(_PUNCTUATION) - set(b"'`")),
        articles=frozenset(),
    ),
}


def named(name: str) -> Normalization:
    """Return the normalization with this name. Raises UsageError if there is none."""
    if name not in NORMALIZATIONS:
        raise unknown_name("normalization", name, NORMALIZATIONS)
    return NORMALIZATIONS[name]


def normalize(text: str, normalization: str = "squad") -> str:
    """Return the words of `text` joined by single spaces, as exact match and containment compare
    them.

    >>> normalize("The  Washington-Post, (an) 1877 paper")
    'washingtonpost 1877 paper'
    """
    return " ".join(named(normalization).words(text))


def is_unspaced_script(text: str) -> bool:
    """Return whether `text` has a script written without spaces, whose words only ``multilingual``
    can separate."""
    return _unspaced().search(text) is not None


_OTHER = re.compile(
    r"[\u0590-\u10ff\u1200-\u1dff\u2e80-\ud7ff\uf900-\ufdff\ufe70-\ufefe\uff10-\uffdc]"
)
_ZEROS = (
    0x660,
    0x6F0,
    0x7C0,
    0x966,
    0x9E6,
    0xA66,
    0xAE6,
    0xB66,
    0xBE6,
    0xC66,
    0xCE6,
    0xD66,
    0xDE6,
    0xE50,
    0xED0,
    0xF20,
    0x1040,
    0x17E0,
    0x1810,
    0xFF10,
)
"""The zeros of scripts with their own digits; the other nine digits follow each."""
_PLAIN = {0x66B: ".", 0x66C: ",", 0xFF0E: "."}
for _zero in _ZEROS:
    _PLAIN |= {_zero + digit: str(digit) for digit in range(10)}
_HAN_DIGITS = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_IN_DIGITS = re.compile(r"[〇零一二三四五六七八九]{3,}")
"""A number that is written digit by digit, such as a year."""
_IN_UNITS = re.compile(
    r"[一二两三四五六七八九][〇零一二两三四五六七八九]*[十百千万萬億亿兆][〇零一二两三四五六七八九十百千万萬億亿兆]*"
)
_TIMES = re.compile(r"(\d[\d,]*(?:\.\d+)?)([万萬億亿兆])")


_ASCII = bytes(range(128))


def beyond_ascii(text: str) -> str:
    """Return the characters of a text that are outside ASCII, in order.

    A pattern of such characters looks at each character of a text, which takes ten times as long
    as this: most texts with a dash or an accent have few of them.
    """
    if text.isascii():
        return ""
    encoded = text.encode("utf-8", "surrogatepass")
    beyond = encoded.translate(None, _ASCII)
    return beyond.decode("utf-8", "surrogatepass")


def is_other(text: str) -> bool:
    """Return whether a text has letters or digits of a script other than Latin, Greek and
    Cyrillic."""
    return _OTHER.search(beyond_ascii(text)) is not None


_RAISED = re.compile(r"(?<=\d)(?=[⁺⁻]?[⁰¹²³⁴-⁹])")


def with_powers(text: str) -> str:
    """Return a text in which the power of a number is apart, `10^⁶`: its compatibility form would
    make another number of both, 106."""
    return text if text.isascii() else _RAISED.sub("^", text)


def with_plain_numbers(text: str) -> str:
    """Return a text in which digits of other scripts and numbers in Chinese characters are ASCII
    digits."""
    if not is_other(text):
        return text
    text = _IN_UNITS.sub(lambda match: str(_value(match[0])), text.translate(_PLAIN))
    text = _IN_DIGITS.sub(lambda match: "".join(str(_HAN_DIGITS[sign]) for sign in match[0]), text)
    return _TIMES.sub(
        lambda match: scaled(match[1].replace(",", ""), len(str(_LARGE[match[2]])) - 1), text
    )


def _value(signs: str) -> int:
    """Return the value of a number in Chinese characters, as in 三百五十."""
    whole = part = digit = 0
    for sign in signs:
        if sign in _HAN_DIGITS:
            digit = 10 * digit + _HAN_DIGITS[sign]
        elif sign in _SMALL:
            part = part + (digit or 1) * _SMALL[sign]
            digit = 0
        else:
            whole = whole + (part + digit or 1) * _LARGE[sign]
            part = 0
            digit = 0
    return whole + part + digit


def scaled(number: str, power: int) -> str:
    """Return a number in plain decimal form times a power of ten, as text: 2.50 times 10**3 is
    2500."""
    whole, _, fraction = number.partition(".")
    shifted = (whole + fraction[:power].ljust(power, "0")).lstrip("0") or "0"
    return f"{shifted}.{fraction[power:]}" if fraction[power:] else shifted


def words_apart(text: str) -> str:
    """Return a text with ASCII digits, and with spaces around each character of scripts written
    without spaces."""
    return _unspaced().sub(r" \g<0> ", with_plain_numbers(text))
