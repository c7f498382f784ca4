"""Texts as words: the normalizations, and the bag of words that most lexical metrics compare.

``squad`` (the default) is what the SQuAD evaluation script does, for any input: lower case, delete ASCII
punctuation, delete the English articles, cut at white space. "co-op" becomes "coop"; curly quotes, dashes and
other signs outside ASCII stay part of their word.

``multilingual`` is for every other language. It keeps articles, as "a" is a verb in French and "an" a preposition
in German, and treats all of Unicode alike:

1. apostrophes (' ` ´ and the typographic ones) separate words, so that French "l'Italie" holds "italie";
2. other ASCII punctuation is deleted as above, and with it the Unicode hyphens, the Catalan middle dot, the Hebrew
   maqaf and gershayim, and all invisible format characters (soft hyphen, joiners, direction marks);
3. every other punctuation mark or symbol, and the zero-width space, separates words ("1914–1918" is two words);
4. compatibility forms are unified (NFKC: full-width digits, ligatures, composed accents) and case is folded
   ("Straße" equals "STRASSE"); accents are kept, and Turkish dotted and dotless i get no special care;
5. words are cut at white space, and in scripts written without spaces (Han, kana, Thai, Lao, Khmer, Burmese) every
   character is a word, as Chinese is in the MLQA evaluation script (Lewis et al. 2020, arXiv:1910.07475).

ROUGE-L has different words under ``squad``: see `rouge_words`.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from claimeval.types.errors import unknown_name


class Bag(NamedTuple):
    """The words of one text without their order."""

    counts: dict[str, int]
    """How often each word occurs (multiset counts)."""
    total: int
    """Number of words, repetitions included."""


@dataclass(frozen=True)
class Normalization:
    """Rules that turn a text into words.

    `fold` defines them: it turns a text into words between white space. No normalization looks beyond a word, so
    a text that is mostly ASCII is folded on bytes, several times faster, and `fold` only sees its other words.
    """

    fold: Callable[[str], str]
    ascii_table: bytes
    """What `fold` turns each ASCII character into; NUL for those that only `fold` itself treats rightly."""
    ascii_deleted: bytes
    """The ASCII characters that `fold` deletes."""
    articles: frozenset[str]
    """Words that do not count; `split` may leave them in."""
    rouge_split: Callable[[str], list[str]] | None = None
    """The words that ROUGE-L compares, where they are not those of `words`."""

    def split(self, text: str) -> list[str]:
        """Split `text` into words in order, perhaps with articles; without them, equal to `fold(text).split()`."""
        encoded = text.encode("utf-8", "surrogatepass")  # JSON can hold lone surrogates
        folded = encoded.translate(self.ascii_table, self.ascii_deleted)
        # The lower case of a capital sigma depends on the punctuation behind it.
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
        """Return the words of `text` in order, as ROUGE-L compares them."""
        return self.rouge_split(text) if self.rouge_split else self.words(text)

    def bag(self, text: str) -> Bag:
        """Count the words of `text`, without articles."""
        words = self.split(text)
        counts, total = Counter(words), len(words)
        for article in self.articles:
            total -= counts.pop(article, 0)
        return Bag(counts, total)


class Bags(dict[str, Bag]):
    """The bags of recent texts, so that a context shared by many answers is split once.

    After more than `LIMIT` characters it starts again empty, so memory stays bounded (about 2 MB).
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
    """Build a table: lower case, `separators` as spaces, and NUL for control characters that are not white space.

    To a pattern with word boundaries an article beside a control character is a word, to `str.split` it is not.
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
        character, category = chr(code), unicodedata.category(chr(code))
        if character in _SEPARATORS:
            self[code] = " "
        elif character in _DELETED or category == "Cf":
            self[code] = None
        else:
            self[code] = " " if category[0] in "PS" else code
        return self[code]


_SIGNS = _Signs()
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"  # kana
    "]"
)


def _multilingual_fold(text: str) -> str:
    unified = unicodedata.normalize("NFKC", text.translate(_SIGNS)).casefold()
    folded = unicodedata.normalize("NFKC", unified).translate(_SIGNS)
    return _UNSPACED.sub(r" \g<0> ", folded)


_ROUGE_WORD = re.compile(r"[a-z0-9]+")


def rouge_words(text: str) -> list[str]:
    """Return what rouge-score compares without stemming: the runs of a-z and 0-9 in the lower-cased text."""
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
    """Return the normalization of that name; UsageError if there is none."""
    if name not in NORMALIZATIONS:
        raise unknown_name("normalization", name, NORMALIZATIONS)
    return NORMALIZATIONS[name]


def normalize(text: str, normalization: str = "squad") -> str:
    """Return the words of `text` joined by single spaces: what exact match and containment compare.

    >>> normalize("The  Washington-Post, (an) 1877 paper")
    'washingtonpost 1877 paper'
    """
    return " ".join(named(normalization).words(text))


def is_unspaced_script(text: str) -> bool:
    """Return whether `text` has a script written without spaces, whose words only ``multilingual`` can tell apart."""
    return _UNSPACED.search(text) is not None
