"""Citations in a text, which name the source of a statement and are not part of it.

>>> without("Brandi was a restorer【1†source】, according to document 3.")
'Brandi was a restorer.'

These are citations, with numbers of up to three digits:

* marks in square or similar brackets: ``[1]``, ``[1, 2]``, ``[1-3]``, ``[1][2]``, ``[[1]](https://...)``, ``[^1]``,
  ``[^1^]``, ``[^note]``, ``[d1]``, ``[doc_2]``, ``[source: 3]``, ``[citation:4]``, ``【1†source】``,
  ``［１］``, ``〔1〕``;
* a source in round brackets: ``(Document 2)``, ``(Doc. 2)``, ``(see sources 1 and 3)``, ``（文档2）``, ``([1])``;
* raised numbers after a word or a punctuation mark: ``restorer¹²``, ``restorer.<sup>3</sup>``;
* phrases that name a numbered source: ``According to document 3, ...``, ``..., as stated in Document 3.``,
  ``Document 3 states that ...``; also with ``[3]`` for the source, and in some other languages.

These are not, because their number may be a fact:

* a year (``[1994]``), a thousand (``[1,200]``), a bare number in round brackets (``(2)``), a name (``(Smith, 2020)``);
* values in brackets after a word such as "interval" (``the interval [2, 5]``) and powers (``5 km²``, ``10⁶``, ``x²``);
* a numbered document that is the topic: ``Document 3 of the treaty``, ``the limit in document 3``.

Citations are only removed to compare texts, never from stored or displayed texts. `Bare` maps positions back to the
original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

_SOURCE = (
    r"(?:(?:documents?|doc(?:s\b|\b|(?=[\d_]))\.?|sources?|passages?|contexts?|chunks?|excerpts?|snippets?|references?|refs?\b\.?"
    r"|citations?|cite|footnotes?|search\sresults?|evidence"
    r"|dokumente?|quellen?|documentos?|fuentes?|fontes?|documenti?|fonti|документ|источник)(?:\sid)?"
    r"|文档|文件|资料|文献|来源|資料|文書|出典|문서|출처)"
)
_STEMS = (
    *("doc", "sourc", "passag", "context", "chunk", "excerpt", "snippet", "ref", "cit", "footnote", "result"),
    *("evidence", "dokum", "quell", "fuent", "font", "документ", "источник"),
    *("文档", "文件", "资料", "文献", "来源", "資料", "文書", "出典", "문서", "출처"),
)
"""Every text that names a source has one of these. They are searched first, because most texts name none."""
_ASCII_STEMS = tuple(stem for stem in _STEMS if stem.isascii())
_NUMBER = r"\d{1,3}(?!\d)"
_AND = r"(?:\s?[,;、，&|–—-]\s?|\s(?:and|or|und|et|y|e|и)\s|\s?和\s?)"
_LINK = r"\s{0,2}+(?:[_#:.-]{1,2}+\s{0,2}+)?+"
_NUMBERS = rf"{_NUMBER}(?:{_AND}(?:{_SOURCE}{_LINK})?{_NUMBER}){{0,19}}+"

_ITEM = rf"\^?(?:(?:{_SOURCE}|[ds]){_LINK})?{_NUMBER}(?::\d{{1,3}})?\^?(?:†[^\[\]【】]{{0,60}})?"
_SQUARE = (
    rf"(?:\[\^[\w-]{{1,20}}+\^?\]|\[cite_start\]|(?!\[\d{{1,3}}(?:,\d{{3}})+\])[\[［【〔〖]\s?{_ITEM}(?:{_AND}{_ITEM}){{0,19}}+\s?[\]］】〕〗]"
    rf"|\[\[{_ITEM}\]\])(?:\((?:https?:|www\.|[#/])[^()\s]{{0,500}}+\))?"
)
_ROUND = (
    rf"[(（]\s?(?:(?:see|cf\.?|vgl\.?|siehe|voir|ver)\s)?"
    rf"(?:{_SOURCE}{_LINK}{_NUMBERS}(?:,?\spp?\.\s?\d{{1,4}}(?:[–-]\d{{1,4}})?)?|{_SQUARE}(?:[,;]?\s?{_SQUARE}){{0,9}}+)\s?[)）]"
)
_RAISED = (
    r"(?:[⁰¹²³⁴-⁹]{1,3}(?:[,⁻⁺˒][⁰¹²³⁴-⁹]{1,3}){0,9}|\s?<sup>\s?\[?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,9}\]?\s?</sup>)"
)
TRAILING_MARK = rf"(?i:{_SQUARE}|{_ROUND}|{_RAISED})"
"""The pattern of a mark that can follow the full stop of its sentence; it has no groups."""

_MARK = rf"\s{{0,2}}(?P<square>{_SQUARE})(?:\s?[,;]?\s?{_SQUARE}){{0,19}}+|\s{{0,2}}{_ROUND}|(?P<raised>{_RAISED})"
OPENS_MARK = re.compile(r"[\[［【〔〖(（⁰¹²³⁴-⁹<]")
"""The first character of a mark, after white space."""
_DIGIT = re.compile(r"\d")

_NUMBERED_SOURCE = rf"{_SOURCE}{_LINK}\d"
"""What a phrase names if it names no mark; few texts have one, and the patterns of phrases take long to compile."""
_NAMED = (
    rf"(?:(?:the|le|la|el|il|o)\s)?"
    rf"(?:{_SOURCE}{_LINK}{_NUMBERS}(?![.,]?\d)|(?:{_SOURCE}\s)?{_SQUARE}(?:\s?{_SQUARE}){{0,9}}+)"
)
_TELLS = (
    "stated|mentioned|noted|described|reported|shown|seen|indicated|explained|discussed|outlined|detailed|highlighted|listed"
    "|cited|specified|given|found|confirmed|evidenced|supported"
)
_ATTRIBUTION = (
    rf"(?P<comma>,\s?)?(?<![^\W_])(?:according\sto|as\s(?:(?:is|was)\s)?(?:{_TELLS})\s(?:in|by)|as\sper|per|based\son|(?P<in>in)"
    r"|laut|gemäß|selon|d['’]après|según|secondo|segundo|conforme|согласно|根据|据)"
    rf"\s{{0,2}}{_NAMED}(?:所述)?"
    r"(?:(?P<after>\s?[,，:]\s?)|(?=\n|\s?(?:[.;!?)\]。]|\Z))|(?P<no_comma>\s(?=(?:the|an?|it|he|she|they|this|these|there"
    r"|ist|sind|war|waren|hat|haben|wird|wurden?)\s|(?-i:[A-Z]))))"
)
_STATEMENT = (
    rf"(?:(?<=\s)(?:(?<=[.!?;:,\n]\s)|(?<=\band\s)|(?<=\bbut\s)|(?<=\bwhile\s))|\A\s{{0,4}}){_NAMED}\s(?:(?:also|further|clearly)\s)?"
    r"(?:states?|says?|mentions?|notes?|reports?|indicates?|explains?|shows?|confirms?|describes?|suggests?|adds?"
    r"|claims?|reveals?)\sthat\s"
)

_BEFORE = 24
"""Number of characters before a mark that are searched for the preceding word."""
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\W{0,2}\Z")
_CLAUSE_BEGINS = re.compile(r"(?:\A|[.!?;:\n\"“(]|\b(?:and|but|while|that))\s*\Z", re.IGNORECASE)
_BEFORE_VALUES = re.compile(r"intervals?|ranges?|ci|vectors?|arrays?|matrix|list|tuple|set|domain|coordinates")
"""Words before brackets whose numbers are values."""
_UNIT = re.compile(
    r"(?:miles?|inch(?:es)?|foot|feet|yards?|acres?|(?:kilo|centi|milli)?met(?:re|er)s?|sec(?:ond)?s?)"
    r"|chi|eta|sin|cos|tan|log|.{1,2}"
)
"""Words after which a raised number is a power, including nearly all words of one or two letters."""


class Bare(NamedTuple):
    """A text without its citations."""

    text: str
    offsets: tuple[int, ...]
    """`offsets[i]` is the position of `text[i]` in the original; empty if there was no citation."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of the non-empty `text[start:end]`."""
        return (self.offsets[start], self.offsets[end - 1] + 1) if self.offsets else (start, end)


@lru_cache(maxsize=256)
def citation_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the citations of `text`, in order and without overlap.

    Spans include the white space before a mark and the comma around a phrase.
    """
    marks: list[re.Match[str]] = []
    if OPENS_MARK.search(text):
        marks += _marks(text)
    elif not _DIGIT.search(text):
        return ()
    spans = [mark.span() for mark in marks if not _states_a_value(text, mark)]
    if spans or (_may_name_a_source(text.casefold()) and (marks or _pattern(_NUMBERED_SOURCE).search(text))):
        spans += [match.span() for match in _pattern(_STATEMENT).finditer(text)]
        spans += filter(None, (_attribution(text, match) for match in _pattern(_ATTRIBUTION).finditer(text)))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because the long ones take a tenth of the start-up time of a command."""
    return re.compile(source, re.IGNORECASE)


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_MARK`, trying only positions where a mark may begin, which is faster than a search."""
    pattern = _pattern(_MARK)
    end = 0
    for opening in OPENS_MARK.finditer(text):
        start = opening.start()
        if start < end:
            continue
        while start > max(end, opening.start() - 2) and text[start - 1].isspace():
            start -= 1
        for position in range(start, opening.start() + 1):
            if match := pattern.match(text, position):
                yield match
                end = match.end()
                break


def _may_name_a_source(text: str) -> bool:
    stems = _ASCII_STEMS if text.isascii() else _STEMS
    for stem in stems:  # noqa: SIM110  # `any` takes twice the time, and most texts have no stem
        if stem in text:
            return True
    return False


def _states_a_value(text: str, mark: re.Match[str]) -> bool:
    """Return whether the number in a mark is a power, or a value in brackets after a word such as "interval"."""
    before = text[max(0, mark.start() - _BEFORE) : mark.start()]
    word = _WORD_BEFORE.search(before)
    if mark["raised"] is None:
        return (
            mark["square"] is not None and word is not None and _BEFORE_VALUES.fullmatch(word[1].casefold()) is not None
        )
    if before[-1:] in ".,;:!?…。":
        return before[-2:-1].isdecimal() and before[-1] in ".,"
    return word is None or _UNIT.fullmatch(word[1].casefold()) is not None


def _attribution(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span to remove for a phrase that names a source; None if the phrase only gives a location."""
    start, end = match.span()
    begins = _CLAUSE_BEGINS.search(text, max(0, start - _BEFORE), start) is not None
    if (match["in"] or match["no_comma"]) and not begins:
        return None
    if not begins and match["comma"] is None:
        end = match.start("after") if match["after"] else end
        start -= text[start - 1 : start].isspace()
    elif match["comma"] and match["after"]:
        end -= text[end - 1].isspace()
    return start, end


@lru_cache(maxsize=256)
def bare(text: str) -> Bare:
    """Return `text` without its citations, and the positions of the rest. Words around a citation stay separate."""
    spans = citation_spans(text)
    if not spans:
        return Bare(text, ())
    parts: list[str] = []
    offsets: list[int] = []
    at = 0
    for start, end in (*spans, (len(text), len(text))):
        parts.append(text[at:start])
        offsets += range(at, start)
        span_text = text[start:end]
        if start and text[end : end + 1].isalnum() and (text[start - 1].isalnum() or span_text != span_text.strip()):
            parts.append(" ")
            offsets.append(start)
        at = end
    return Bare("".join(parts), tuple(offsets))


def without(text: str) -> str:
    """Return `text` without its citations."""
    return bare(text).text


def masked(text: str) -> str:
    """Return `text` with spaces in place of its citations, so that every other character keeps its position."""
    parts: list[str] = []
    at = 0
    for start, end in citation_spans(text):
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])
