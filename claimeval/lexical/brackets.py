"""Brackets with numbers in an answer that look like marks, and are values, places or quotations.

What a word means is not known here. A bracket is explained by what can be counted:

* the question or a context has it, after the same word or in the same quotation;
* the question or a context has its numbers, one after another, where the answer has it: `9 [6, 17]`
  for "9 (95% CI 6 to 17)";
* there are not so many sources, as in `Ages [18, 65] were studied`;
* the number before it lies between its two numbers, in every bracket with several numbers:
  `2 [1, 3] points, and 6 [4, 9] under placebo`.

A mark that is taken for a value is worse than a value that is taken for a mark, so a single number
is never explained by counts alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

BEFORE = 24
"""Number of characters before a bracket that are searched for the preceding word."""
DIGITS = re.compile(r"\d+")
SEVERAL = re.compile(r"[,;]?\s?[\[［]\s?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){1,19}\s?[\]］]")
"""Two or more numbers in one pair of brackets."""
SENTENCE_BEFORE = re.compile(r"[.!?…。][\"”’)]?\s{0,2}\Z")
"""What stands before a mark that belongs to the sentence before it."""
ENDS_CLAUSE = re.compile(r"\s*(?:[.,;:!?…。\n]|\Z)")
VALUES_BEFORE = re.compile(
    r"(?<![^\W_])(?:intervall?e?n?s?|ranges?|ci|vectors?|arrays?|matrix|list|tuple|set|domain"
    r"|coordinates|iqr|rgb|percentiles|bounding box)(?:\s(?:of|is|was|are|were))?[^\w.!?…]{0,2}\Z",
    re.IGNORECASE,
)
"""Words before brackets whose two or more numbers are values, as in `the interval [2, 5]`.

One number is a citation: "the data set [1]", "a price range [2]", and so are two after the full
stop: "She is on the list. [1, 2]". In TREC RAG 2024, 14 citations stood after such a word. So do
two at the end of a clause of an answer whose contexts are known: "It has a wide range [1, 2]."."""
WORD_AFTER = re.compile(r"\s[^\W_]+")
_CAPITAL_AFTER = re.compile(r" (?=[A-ZÀ-Þ])[^\W\d_]+")
_NAME_OF_PART = re.compile(r"[^\W\d_][\w.'’-]*,?\s")
_OPENS = re.compile(r"[\[{]")
_BRACKET_AFTER = re.compile(r"\s?\[\d")
_NEXT_WORD = re.compile(r"[,;:]?\s[^\W_]+")
_TOKEN_BEFORE = re.compile(r"[\w.'’-]+(?:[,;:]?\s)?\Z")
_VALUE_BEFORE = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?)\s?(%\s?|[^\W\d_]{1,12}\s)?\Z")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NEAR = 16
"""Number of characters between two numbers of a text that stand one after another, as in "6 to
17"."""
_BY_VALUE = 40
"""Number of characters between them and the value that they belong to."""
_AROUND = 5
"""Number of numbers on either side of them that can be the value."""
_QUOTATION = re.compile(
    r"“[^“”\n]{1,500}”|„[^„“”\n]{1,500}[“”]|«[^«»\n]{1,500}»|\"[^\"\n]{1,500}\""
)


class CitationMark(NamedTuple):
    """One citation in a text: `text[start:end]`."""

    start: int
    end: int
    names: tuple[str, ...]
    """What it cites, each once: numbers without leading zeros, and names as written."""


class ShownTexts(NamedTuple):
    """What an answer may quote brackets and values from."""

    question: str
    """What a user asked, which cites nothing."""
    texts: Sequence[str] = ()
    """The contexts, which may have citations of their own."""


class Sources(NamedTuple):
    """The lowest and the highest number of a source."""

    first: int
    last: int

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.first <= number <= self.last


ANY_SOURCE = Sources(0, 999)
"""The numbers of sources of which nothing is known."""


def citing(
    text: str,
    marks: Sequence[CitationMark],
    sources: Sources,
    shown: ShownTexts | None,
) -> list[CitationMark]:
    """Return the marks of a text that nothing explains.

    Args:
        text: The text.
        marks: What looks like a mark in it, in order.
        sources: The numbers that sources can have.
        shown: What the text may quote from. None: this is not known.
    """
    if not marks:
        return []
    brackets = [_Bracket.of(text, mark, sources) for mark in marks]
    several = [bracket for bracket in brackets if bracket.numbers]
    explained = {*_around_values(brackets, several, is_all=shown is None)}
    if shown is None:
        explained.update(_after_nouns_of_values(text, brackets))
    else:
        explained.update(_in_a_row(several, shown))
        brackets = [bracket for bracket in brackets if bracket.start not in explained]
        explained.update(_outside(brackets, sources))
        explained.update(_indexes_from_0(brackets, sources))
        explained.update(_quoted(text, brackets, shown))
    return [mark for mark in marks if mark.start not in explained]


class _Bracket(NamedTuple):
    """A mark with what stands around it."""

    start: int
    end: int
    written: str
    names: tuple[str, ...]
    """What it cites."""
    word: str
    """The word before it with the blank between, if there is one; empty if there is none."""
    numbers: Sequence[int]
    """Its numbers, if it has several in one pair of brackets; else none."""
    strays: int
    """How many of its numbers no source has."""
    value: str
    """The number before its two numbers, if it lies between them; empty if there is none."""
    has_unit: bool
    """Whether a unit stands between that number and the bracket."""
    is_inside: bool
    """Whether its clause goes on after it."""
    after: str
    """The first characters after it."""

    @classmethod
    def of(cls, text: str, mark: CitationMark, sources: Sources) -> _Bracket:
        """Return a mark with what stands around it in a text."""
        start = mark.start
        end = mark.end
        written = text[start:end]
        before = text[max(0, start - BEFORE) : start]
        word = _TOKEN_BEFORE.search(before)
        value = _VALUE_BEFORE.search(before)
        each: list[int] = []
        if written[0] == "[" and all(map(str.isdecimal, mark.names)):
            each = list(map(int, DIGITS.findall(written)))
        numbers = each if SEVERAL.fullmatch(written) else []
        goes_on = WORD_AFTER.match(text, end) is not None
        return cls(
            start=start,
            end=end,
            written=written,
            names=mark.names,
            word=word[0] if word else "",
            numbers=numbers,
            strays=_strays(each, sources),
            value=value[1] if value and _is_between(value[1], numbers) else "",
            has_unit=value is not None and value[2] is not None,
            is_inside=goes_on and not SENTENCE_BEFORE.search(before),
            after=text[end : end + 2 * BEFORE],
        )

    @property
    def are_strays(self) -> bool:
        """Whether it has several numbers, none of them that of a source."""
        return len(self.numbers) > 0 and self.strays == len(self.numbers)

    @property
    def is_after_its_value(self) -> bool:
        """Whether it follows a number between its two ones, without a unit."""
        return self.value != "" and not self.has_unit

    @property
    def may_be_inside(self) -> bool:
        """Whether it stands within a clause, and has a value or the numbers of sources."""
        if self.strays and not self.value:
            return False
        return self.is_inside

    @property
    def may_be_outside(self) -> bool:
        """Whether it has a number that no source has, and stands within a clause or before another
        mark."""
        if not self.numbers or not self.strays:
            return False
        return self.is_inside or _BRACKET_AFTER.match(self.after) is not None


def _strays(numbers: Sequence[int], sources: Sources) -> int:
    """Return how many numbers no source has: all if one of them is a 0 that none has, because no
    bracket has it beside the numbers of sources."""
    strays = [number for number in numbers if number not in sources]
    return len(numbers) if 0 in strays else len(strays)


def _is_between(value: str, numbers: Sequence[int]) -> bool:
    """Return whether a number lies between two others."""
    if len(numbers) != 2:
        return False
    low, high = numbers
    return low < float(value) < high


def _around_values(
    brackets: Sequence[_Bracket],
    several: Sequence[_Bracket],
    *,
    is_all: bool,
) -> Iterator[int]:
    """Yield where the ends of intervals begin, as in `4 [2, 7] days`.

    One bracket can be a mark after a number, as in `He won 3 [2, 5]`. Two are not, if they are all
    brackets with several numbers, or all that stand within a clause; nor is one that is alone in a
    text that is all there is.
    """
    enough = 2
    if is_all and len(brackets) == 1:
        enough = 1
    within = [bracket for bracket in several if bracket.may_be_inside]
    for group in (several, within):
        if len(group) < enough:
            continue
        if all(bracket.is_after_its_value for bracket in group):
            for bracket in group:
                yield bracket.start


def _after_nouns_of_values(text: str, brackets: Sequence[_Bracket]) -> Iterator[int]:
    """Yield where brackets begin that end a clause after a word such as "list", in a text that ends
    no other one with a mark: "It returns the list [1, 2]."."""
    ends: list[_Bracket] = []
    for bracket in brackets:
        if ENDS_CLAUSE.match(bracket.after):
            ends.append(bracket)
    if len(ends) != 1:
        return
    start = ends[0].start
    before = text[max(0, start - BEFORE) : start].rstrip()
    if ends[0].numbers and VALUES_BEFORE.search(before):
        yield start


def _in_a_row(several: Sequence[_Bracket], shown: ShownTexts) -> Iterator[int]:
    """Yield where brackets begin whose numbers stand one after another in a shown text: with the
    value before them, or if no source has one of them."""
    texts = (shown.question, *shown.texts)
    for bracket in several:
        if not bracket.value and not bracket.strays:
            continue
        if any(_has_in_a_row(text, bracket) for text in texts):
            yield bracket.start


def _has_in_a_row(text: str, bracket: _Bracket) -> bool:
    """Return whether a text has the numbers of a bracket, and the value if there is one."""
    wanted = list(map(str, bracket.numbers))
    numbers = _numbers_of(text)
    for at, number in enumerate(numbers):
        if number[0] != wanted[0]:
            continue
        end = at + len(wanted)
        row = numbers[at:end]
        if [one[0] for one in row] != wanted:
            continue
        gaps = [after.start() - one.end() for one, after in pairwise(row)]
        if max(gaps) > _NEAR:
            continue
        around = numbers[max(0, at - _AROUND) : end + _AROUND]
        if not bracket.value or _is_beside(bracket.value, row, around):
            return True
    return False


@lru_cache(maxsize=16)
def _numbers_of(text: str) -> Sequence[re.Match[str]]:
    """Return the numbers of a text, which are looked through for every bracket of an answer.

    Few texts are kept, because the numbers of a long one take some space.
    """
    return tuple(_NUMBER.finditer(text))


def _is_beside(
    value: str,
    row: Sequence[re.Match[str]],
    around: Sequence[re.Match[str]],
) -> bool:
    """Return whether a value stands shortly before or after a row of numbers."""
    low = row[0].start() - _BY_VALUE
    high = row[-1].end() + _BY_VALUE
    for number in around:
        if number in row or number[0] != value:
            continue
        if low <= number.end() and number.start() <= high:
            return True
    return False


def _outside(brackets: Sequence[_Bracket], sources: Sources) -> Iterator[int]:
    """Yield where several numbers in a bracket begin that not so many sources have: after a number
    between them, as in `20 [15, 25]`, and within a clause, as in `Ages [18, 65] were studied [1]`.

    At the end of a clause they can be the numbers of a list that is not known here, and in an
    answer that cites, a number too many in a list can be a mistake of the model.
    """
    outside: list[_Bracket] = []
    rest: list[_Bracket] = []
    for bracket in brackets:
        if _is_no_source(bracket):
            yield bracket.start
        elif bracket.are_strays and bracket.may_be_outside:
            outside.append(bracket)
        else:
            rest.append(bracket)
    # Most answers have none of these, and a thousand numbers take long to write.
    if outside:
        known = set(map(str, range(sources.first, sources.last + 1)))
        if all(known.issuperset(bracket.names) for bracket in rest):
            for bracket in outside:
                yield bracket.start
    # An answer that has no other bracket cites nothing: "The ages [6, 12] pay half."
    if len(brackets) == len(rest) == 1 and rest[0].may_be_outside:
        yield rest[0].start


def _is_no_source(bracket: _Bracket) -> bool:
    """Return whether the numbers of a bracket are none of sources, whatever the others are."""
    if not bracket.strays:
        return False
    if bracket.value:
        # "He won 3 medals [2, 15]" may cite a source too many, "15 kg [14, 16]" does not.
        return bracket.are_strays or not bracket.has_unit
    # A mark without the space after it, "[1]and", has a number that a source has.
    return not bracket.numbers and bracket.after[:1].isalpha()


def _indexes_from_0(brackets: Sequence[_Bracket], sources: Sources) -> Iterator[int]:
    """Yield where the indexes of a name begin that has a 0 too, as in `dp[2] is dp[1] plus dp[0]`,
    if no source has that number."""
    if 0 in sources:
        return
    for word, indexes in _by_word(brackets):
        numbers = {index.names for index in indexes}
        if word[-1].isalnum() and len(numbers) > 1 and ("0",) in numbers:
            for index in indexes:
                yield index.start


def _by_word(brackets: Iterable[_Bracket]) -> Iterable[tuple[str, Sequence[_Bracket]]]:
    """Return the brackets after each word."""
    by_word: dict[str, list[_Bracket]] = {}
    for bracket in brackets:
        if bracket.word:
            by_word.setdefault(bracket.word.casefold(), []).append(bracket)
    return by_word.items()


def _quoted(text: str, brackets: Sequence[_Bracket], shown: ShownTexts) -> Iterator[int]:
    """Yield where brackets begin that stand in a shown text as they do here."""
    texts = [_plain(text) for text in (shown.question, *shown.texts) if _OPENS.search(text)]
    if not texts:
        return
    brackets = [bracket for bracket in brackets if _OPENS.match(bracket.written)]
    for bracket in brackets:
        if (
            _is_asked_for(bracket, shown.question)
            or _is_after_the_same_word(bracket, texts)
            or _is_a_label(bracket, shown.texts)
        ):
            yield bracket.start
    yield from _in_quotations(text, brackets, texts)
    yield from _names_of_parts(brackets, texts)


def _is_asked_for(bracket: _Bracket, question: str) -> bool:
    """Return whether a bracket with several numbers stands in a question.

    A question cites nothing: "What is the length of the vector [3, 4]?"
    """
    if not bracket.numbers:
        return False
    written = "".join(bracket.written.split())
    return written in "".join(question.split())


def _is_after_the_same_word(bracket: _Bracket, texts: Sequence[str]) -> bool:
    """Return whether a bracket stands in a text after the same word and, if it may be one of that
    text's own citations, before the same word too."""
    if not bracket.word:
        return False
    quoted = bracket.word + bracket.written
    # Of a bracket at the end of a clause, `It opened in 1902 [1].`, a model writes the same.
    if bracket.word[-1].isspace() and not bracket.numbers:
        after = _NEXT_WORD.match(bracket.after)
        if after is None:
            return False
        quoted += after[0]
    return _stands_in(quoted, texts)


def _is_a_label(bracket: _Bracket, texts: Sequence[str]) -> bool:
    """Return whether a bracket stands before the same word with a capital within a line of a text,
    as in "Choose [2] Settings"; at the beginning of a line it can be the number of the context."""
    label = _CAPITAL_AFTER.match(bracket.after)
    # "It is old. [2] The tower ..." has a mark before the first word of the next sentence.
    if label is None or not bracket.is_inside:
        return False
    named = re.escape(bracket.written + label[0])
    quoted = re.compile(rf"[^\s>*#][^\S\n]{named}(?!\w)")
    return any(quoted.search(one) for one in texts)


def _in_quotations(
    text: str,
    brackets: Sequence[_Bracket],
    texts: Sequence[str],
) -> Iterator[int]:
    """Yield where brackets begin in quotations that a shown text has word for word."""
    for quotation in _QUOTATION.finditer(text):
        if not _stands_in(quotation[0][1:-1], texts):
            continue
        low, high = quotation.span()
        for bracket in brackets:
            if low < bracket.start < high:
                yield bracket.start


def _names_of_parts(brackets: Sequence[_Bracket], texts: Sequence[str]) -> Iterator[int]:
    """Yield where brackets begin that number what one word names, as in `Part [4] fits into part
    [7]`, if the shown texts have both."""
    for word, alike in _by_word(brackets):
        written = {bracket.written for bracket in alike}
        if len(written) < 2 or not _NAME_OF_PART.fullmatch(word):
            continue
        is_inside = [bracket.is_inside for bracket in alike]
        are_shown = [_stands_in(word + one, texts) for one in written]
        if any(is_inside) and all(are_shown):
            for bracket in alike:
                yield bracket.start


def _stands_in(quoted: str, texts: Iterable[str]) -> bool:
    """Return whether a text has these words, however they are parted by blanks."""
    words = _plain(quoted).rstrip(".,;:!? ")
    whole = re.compile(rf"(?<!\w){re.escape(words)}")
    return any(whole.search(one) for one in texts)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
