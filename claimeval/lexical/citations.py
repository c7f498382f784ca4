"""Citations in a text, which name the source of a statement and are not part of it.

>>> without("Brandi was a restorer【1†source】, according to document 3.")
'Brandi was a restorer.'

These are citations, with numbers of up to three digits:

* marks in square or similar brackets: ``[1]``, ``[1, 2]``, ``[1-3]``, ``[1][2]``,
  ``[[1]](https://...)``, ``[^1]``, ``[^1^]``, ``[^note]``, ``[d1]``, ``[doc_2]``, ``[source: 3]``,
  ``[citation:4]``, ``【1†source】``, ``［１］``, ``〔1〕``;
* a source in round brackets: ``(Document 2)``, ``(Doc. 2)``, ``(see sources 1 and 3)``,
  ``（文档2）``, ``([1])``;
* a named source in any brackets: ``(Source: handbook.pdf)``, ``[Source: a; b]``, ``(Quelle:
  Handbuch)``;
* raised numbers after a word or a punctuation mark: ``restorer¹²``, ``restorer.<sup>3</sup>``;
* tags and commands: ``<cite>3</cite>``, ``<cite id="3">...</cite>``, ``\\cite{smith_2020}``;
* phrases that name a numbered source: ``According to document 3, ...``, ``..., as stated in
  Document 3.``, ``Document 3 states that ...``; also with ``[3]`` for the source, and in some other
  languages.

These are not, because their number may be a fact:

* a year (``[1994]``), a thousand (``[1,200]``), a bare number in round brackets (``(2)``), a name
  (``(Smith, 2020)``);
* values in brackets after a word such as "interval" (``the interval [2, 5]``), two after one such
  as "between" (``between [1, 5]``), or one before "million" (``[5] million``), scores (``[6-4]``),
  and powers (``5 km²``, ``10⁶``, ``x²``);
* code: ``x[0]``, ``my_list[1]``, ``a[1:3]``, and all in backticks but a mark alone;
* what the question, the contexts and the other brackets of the text explain (`brackets.py`);
* a numbered document that is the topic: ``Document 3 of the treaty``, ``the limit in document 3``.

Citations are only removed to compare texts, never from stored or displayed texts. `Bare` maps
positions back to the original. `marks` says what each of them cites; links and ids of documents in
brackets, which are part of the text when texts are compared, are marks too.

>>> [mark.names for mark in marks("Rain fell [1-3]. Snow too (Source: log.pdf).")]
[('1', '2', '3'), ('log.pdf',)]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from claimeval.lexical.brackets import (
    ANY_SOURCE,
    BEFORE,
    DIGITS,
    ENDS_CLAUSE,
    SENTENCE_BEFORE,
    SEVERAL,
    VALUES_BEFORE,
    WORD_AFTER,
    CitationMark,
    ShownTexts,
    Sources,
    citing,
)
from claimeval.lexical.words import words_of

_SOURCE = (
    r"(?:(?:documents?|doc(?:s\b|\b|(?=[\d_]))\.?|sources?|srcs?|passages?|contexts?|ctx|chunks?"
    r"|excerpts?|snippets?|references?|refs?(?:\b|(?=[\d_]))\.?"
    r"|citations?|cite|footnotes?|search\sresults?|evidence"
    r"|dokumente?|quellen?|documentos?|fuentes?|fontes?|documenti?|fonti|документ|источник)"
    r"(?:\sid)?"
    r"|文档|文件|资料|文献|来源|資料|文書|出典|문서|출처)"
)
_STEMS = words_of(
    "doc sourc src passag context ctx chunk excerpt snippet ref cit footnote result evidence dokum"
    " quell fuent font документ источник 文档 文件 资料 文献 来源 資料 文書 出典 문서 출처"
)
"""Every text that names a source has one of these. They are searched first, because most texts name
none."""
_ASCII_STEMS = [stem for stem in _STEMS if stem.isascii()]
# With four digits, "He died in [1994]" and "according to document 1994" would lose their years.
_NUMBER = r"\d{1,3}(?!\d)"
_AND = r"(?:\s?[,;、，&|–—-]\s?|\s(?:and|or|und|et|y|e|и)\s|\s?和\s?)"
# Quantifiers are bounded, so that an attempt that fails within 40,000 times `[1,` fails soon.
_LINK = r"\s{0,2}+(?:[_#:.-]{1,2}+\s{0,2}+)?+"
_NUMBERS = rf"{_NUMBER}(?:{_AND}(?:{_SOURCE}{_LINK})?{_NUMBER}){{0,19}}+"

_PAGES = r"\d{1,4}(?:[–-]\d{1,4})?"
_PAGE = (
    rf"(?:[,:;]?\s(?:(?:pp\.|pages|seiten|§§)\s?{_PAGES}(?:,\s?{_PAGES}){{0,9}}+"
    r"|(?:p\.|s\.|page|seite|ch(?:ap)?\.|chapter|kap\.|kapitel|sect?\.|section|para\.|paragraph"
    rf"|ll?\.|lines?|vol\.|figs?\.|figure|tab\.|table|§)\s?{_PAGES}))"
)
"""The place in a source, as in `[1, p. 3]`; a list of places only after a plural."""
_KIND = rf"(?:{_SOURCE}|[ds]|web(?:site|page)?s?|results?|hits?|links?|urls?|posts?)"
"""What can stand before a number in square brackets, as in `[web:1]`; too common elsewhere."""
_ITEM = (
    rf"[\^#†*]?(?:{_KIND}{_LINK})?{_NUMBER}(?::\d{{1,3}})?\^?"
    rf"(?:†[^\[\]【】]{{0,60}})?{_PAGE}?+"
)
_KEYED = (
    r"(?:sources?|citations?|cite|quellen?|fuentes?|fontes?|fonti|источник|来源|來源|出典|출처)"
    r"\s?[:：=]\s?[^()（）\[\]\n]{1,200}+"
)
_SQUARE = (
    rf"(?:\[\^[\w-]{{1,20}}+\^?\]|\[cite_start\]|\[\s?{_KEYED}\]"
    # not 1,200 in brackets
    r"|(?!\[\d{1,3}(?:,\d{3})+\])"
    # Markdown writes `\[1\]` for brackets that are no link.
    rf"\\?[\[［【〔〖]\s?{_ITEM}(?:{_AND}{_ITEM}){{0,19}}+\s?\\?[\]］】〕〗]"
    rf"|\[\[{_ITEM}\]\])(?:\((?:https?:|www\.|[#/])[^()\s]{{0,500}}+\))?"
)
_ROUND = (
    rf"[(（]\s?(?:(?:see|cf\.?|vgl\.?|siehe|voir|ver)\s)?"
    rf"(?:{_SOURCE}{_LINK}{_NUMBERS}{_PAGE}?|{_KEYED}|{_SQUARE}(?:[,;]?\s?{_SQUARE}){{0,9}}+)"
    r"\s?[)）]"
)
_LINK_TAGS = r"(?:\s|</?a\b[^<>\n]{0,300}>){0,400}+"
"""A link in raised numbers, or the white space in its place."""
_RAISED_NUMBERS = r"(?:\[?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,9}\]?|\[[a-z]\])"
_RAISED = (
    r"(?:[⁰¹²³⁴-⁹]{1,3}+(?:[,⁻⁺˒][⁰¹²³⁴-⁹]{1,3}+){0,9}(?![⁻⁺⁰¹²³⁴-⁹A-Za-z])"
    rf"|\s?<sup(?:\s[^<>\n]{{0,200}})?>{_LINK_TAGS}{_RAISED_NUMBERS}{_LINK_TAGS}</sup>"
    r"|\s?\^\[\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,9}\](?!\^)"
    r"|\^\[?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,9}\]?\^)"
)
_BRACED = r"\s{1,2}(?P<braced>\{\d{1,3}\})(?:\s?\{\d{1,3}\}){0,9}(?![A-Za-z\d{}])"
_TAG = r"(?:cite|citation|ref)"
_TAG_OF_A_NOTE = rf"(?:{_TAG}|sources?|src|doc(?:ument)?|footnote|fn|note)"
_NOTE = (
    rf"(?:<{_TAG_OF_A_NOTE}(?:\s[^<>\n]{{0,100}})?>\s{{0,2}}\[?{_ITEM}(?:{_AND}{_ITEM}){{0,19}}+\]?"
    rf"\s{{0,2}}</{_TAG_OF_A_NOTE}>"
    # A note of a wiki follows its word at once; a sentence in tags stands by itself.
    r"|(?<=[^\s>])<ref(?:\s(?:name|group)=[^<>\n]{1,100})?>(?:(?!</?ref\b)[^\n]){1,300}?</ref>)"
)
"""An element that holds what it cites, as in `<ref name="a">1</ref>`."""
_TAGGED = (
    rf"{_NOTE}|<{_TAG}>(?=[^<]*[\d_.])\s?[\w.:/#-]{{1,80}}+(?:\s?[,;]\s?[\w.:/#-]{{1,80}}+){{0,9}}"
    rf"\s?</{_TAG}>"
    rf"|<{_TAG}\s\w{{1,20}}=[\"']?[^<>\"'\n]{{1,200}}+[\"']?\s?/?>|</{_TAG}>"
    r"|\\(?:no|paren|text|auto)?cite[pt]?\*?(?:\[[^\[\]\n]{0,40}\]){0,2}\{[^{}\n]{1,200}+\}"
    r"|<(?:source|doc|document|footnote|fn)\s\w{1,20}=[\"']?[^<>\"'\n]{1,200}+[\"']?\s?/>"
    r"|\\footnote(?:mark|text)?(?:\[\d{1,3}\])?(?:\{[^{}\n]{1,300}+\})?"
    r"|\\textsuperscript\{\[?\d{1,3}(?:,\s?\d{1,3}){0,9}\]?\}"
    r"|\{\{\s?(?:cite\s?\w{0,20}|citation|sfnp?|efn|refn?|rp?|harv\w{0,6})\s?\|[^{}\n]{1,400}+\}\}"
    # Cohere: <co: 0>Rain fell</co: 0>
    r"|</?co:\s?\d{1,3}(?:\s?,\s?\d{1,3}){0,9}\s?>"
    # ChatGPT, with the signs of the private use area between which it writes them
    "|\ue200\\w{0,20}(?:\ue202[^\ue200-\ue202]{1,80})+\ue201"
)
_TURN = r"turn\d{1,3}[a-z]{2,12}\d{1,3}"
_SPOKEN_TURNS = rf"(?:file)?cite(?:{_TURN})+"
"""A mark of ChatGPT whose signs of the private use area were lost when it was copied."""
OPENING_MARK = rf"(?:\[cite_start\]|(?!{_NOTE})<(?:{_TAG}\s|co:)[^<>/\n]{{1,200}}>(?!\s|\Z))"
"""What stands before the first word of what is cited: it belongs to the sentence after it."""
TRAILING_MARK = rf"(?i:(?!{OPENING_MARK})(?:{_SQUARE}|{_ROUND}|{_RAISED}|{_TAGGED}))"
"""The pattern of a mark that can follow the full stop of its sentence; it has no groups."""

_MARK = (
    rf"\s{{0,2}}(?P<square>{_SQUARE})(?:\s?[,;]?\s?{_SQUARE}){{0,19}}+"
    rf"|\s{{0,2}}{_ROUND}|(?P<raised>{_RAISED})|{_BRACED}|\s{{0,2}}(?:{_TAGGED})"
)
OPENS_MARK = re.compile("[\\[［【〔〖(（⁰¹²³⁴-⁹<\\\\{^\ue200]")
"""The first character of a mark, after white space."""
_DIGIT = re.compile(r"\d")

_NUMBERED_SOURCE = rf"{_SOURCE}{_LINK}\d"
"""What a phrase names if it names no mark; few texts have one, and the patterns of phrases take
long to compile."""
_BEFORE_NUMBER = 32
"""Number of characters in which the longest name of a source ends that a number follows."""
_FIRST_DIGIT = re.compile(r"(?<!\d)\d")
_NAMED = (
    rf"(?:(?:the|le|la|el|il|o)\s)?"
    rf"(?:{_SOURCE}{_LINK}{_NUMBERS}(?![.,]?\d)|(?:{_SOURCE}\s)?{_SQUARE}(?:\s?{_SQUARE}){{0,9}}+)"
)
_TELLS = (
    "stated|mentioned|noted|described|reported|shown|seen|indicated|explained|discussed|outlined"
    "|detailed|highlighted|listed|cited|specified|given|found|confirmed|evidenced|supported"
)
_ATTRIBUTION = (
    rf"(?P<comma>,\s?)?(?<![^\W_])"
    rf"(?:according\sto|as\s(?:(?:is|was)\s)?(?:{_TELLS})\s(?:in|by)|as\sper|per|based\son"
    r"|(?P<in>in)"
    r"|laut|gemäß|selon|d['’]après|según|secondo|segundo|conforme|согласно|根据|据)"
    rf"\s{{0,2}}{_NAMED}(?:所述)?"
    r"(?:(?P<after>\s?[,，:]\s?)|(?=\n|\s?(?:[.;!?)\]。"
    r"]|\Z))|(?P<no_comma>\s(?=(?:the|an?|it|he|she|they|this|these|there"
    r"|ist|sind|war|waren|hat|haben|wird|wurden?)\s|(?-i:[A-Z]))))"
)
_STATEMENT = (
    r"(?:(?<=\s)(?:(?<=[.!?;:,\n]\s)|(?<=\band\s)|(?<=\bbut\s)|(?<=\bwhile\s))|\A\s{0,4})"
    rf"{_NAMED}\s(?:(?:also|further|clearly)\s)?"
    r"(?:states?|says?|mentions?|notes?|reports?|indicates?|explains?|shows?|confirms?|describes?"
    r"|suggests?|adds?|claims?|reveals?)\sthat\s"
)

_WORD_BEFORE = re.compile(r"([^\W\d_]+)(?:\sof)?\W{0,2}\Z")
_IS_BEFORE = re.compile(
    r"(?:\b(?:is|are|was|were|equals?)|=\s?\[?|\bfor\s\w+\sin)\Z", re.IGNORECASE
)
"""What brackets with values complete: "The output is [3, 5]", "A = [[1, 0], [0, 1]]", "for i in [1,
2, 3]"."""
_CALL_BEFORE = re.compile(r"\w[(\[]\Z")
_CALLED = re.compile(r"\w[._]\w+\Z")
"""A name that only code has, before round brackets."""
_ONE_BRACKET = re.compile(r"\[[^\[\]]*\]")
_JOINED = re.compile(r"\s(?:and|or|to)")
_CLAUSE_BEGINS = re.compile(r"(?:\A|[.!?;:\n\"“(]|\b(?:and|but|while|that))\s*\Z", re.IGNORECASE)
_BEFORE_PAIR = re.compile(
    r"(?:\b(?:between|within)|(?<!taken )(?<!drawn )(?<!adapted )(?<!cited )(?<!quoted"
    r" )(?<!obtained )(?<!derived )"
    r"(?<!data )(?<!evidence )(?<!results )(?<!findings )(?<!information )(?<!follows )\bfrom"
    r"|\b(?:values?|bounds|limits|levels?|scores?|weights|sequence|series)\sof"
    r"|\b(?:re)?(?:scaled|normali[sz]ed|mapped|clipped|sorted)\sto|\bmaps|\bscales?\sof"
    r"|\b(?:continuous|defined|differentiable|increasing|decreasing|uniform|constant|bounded)\son"
    r"|\b(?:ranges?|var(?:y|ies)|integrals?)\sover|\b(?:be|lies?|number|integer)\sin"
    r"|(?-i:(?<![\w'’])[b-z])\sin|∈)\Z",
    re.IGNORECASE,
)
"""Words before brackets whose two numbers are values, as in `from [1, 5]`."""
_PAIR = re.compile(r"\[\d{1,3}(?:\s?[,;–-]\s?|\s(?:and|to)\s)\d{1,3}\]")
_SCALE_AFTER = re.compile(
    r"\s?(?:(?:hundred|thousand|million|billion|trillion|percent|per cent)\b|[%‰°])"
)
_IDENTIFIER = re.compile(
    r"(?:(?<![\w.'’/])(?<!\d\s)[a-z]|(?<![\w@])[A-Za-z]\w*_\w*[A-Za-z0-9]"
    r"|(?<!\w)(?:arr|args|argv|nums|vec|df))\Z"
)
"""Before a bracket without space, a name as code has; a letter after a number is a unit (`5 m[1]`),
and after @ stands the name of an account."""
_SLICE = re.compile(r"\[\d*:\d*\]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`([^`\n]+)`", re.DOTALL)
_NO_CODE = re.compile(r"[\W\d]*")
_SAME_SENTENCE = 300
"""Number of characters in which a sentence with two brackets is looked for."""
_ENDS_SENTENCE = re.compile(r"[.!?…][\"”’)]?(?:\s|\[)|[。\n]")
_RANGES = re.compile(r"(\d{1,3})\s?[–:-]\s?(\d{1,3})(\s?[–:-]\s?\d)?")
"""Ranges of sources if they rise and have two ends: `[1-3]`, but not the score `[6-4]`."""
_ONLY_NUMBERS = re.compile(r"\[[\d\s,;:–-]+\]")
_OPENING_QUOTE = re.compile(r"(?:[“„«‘]|(?:(?<=[\s(:])|\A)\")\Z")
_COMPOUND_AFTER = re.compile(r"[-‐‑][a-z]")
"""What no mark is part of: "a [1,5]-hydride shift"."""
_PATH_BEFORE = re.compile(r"(?:\]/|\{)\w+\Z")
_PATH_AFTER = re.compile(r"/[a-z]")
_OPERATION_AFTER = re.compile(
    r"\s?(?:[=!<>]=|[+-]=)\s?\S|\s[=+*/%<>]\s[\w\"'(]|=[\w\"']|\.[a-z_]\w*\(|\("
)
_OPERATION_BEFORE = re.compile(r"(?:(?:\s[+*/-]|=)\s|\w\()[a-z_]\w*\Z")
_NAME_BEFORE = re.compile(r"(?<![\w.'’@-])[a-z]+\Z")
_YEAR = re.compile(r"(?<![\w.,^*/+−-])(?:1\d|20)\d\d\)?\Z")
"""Nobody raises a year to a power: "Ana Lind designed it in 1902².\""""
_GOES_ON = re.compile(r"\s+[a-zà-öø-ÿ]")
_UNIT = re.compile(
    r"(?:miles?|inch(?:es)?|foot|feet|yards?|acres?|(?:kilo|centi|milli)?met(?:re|er)s?"
    r"|sec(?:ond)?s?)|chi|eta|sin|cos|tan|log|.{1,2}"
)
"""Words after which a raised number is a power, including nearly all words of one or two
letters."""


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
    if "citeturn" in text:
        marks += _pattern(_SPOKEN_TURNS).finditer(text)
    spans = _citing(text, marks)
    if spans or (_may_name_a_source(text.casefold()) and (marks or _has_numbered_source(text))):
        spans += [match.span() for match in _pattern(_STATEMENT).finditer(text)]
        spans += filter(
            None, (_attribution(text, match) for match in _pattern(_ATTRIBUTION).finditer(text))
        )
    return _merged(spans)


def _citing(text: str, marks: Sequence[re.Match[str]]) -> list[tuple[int, int]]:
    """Return the spans of the marks that cite, which code, values and powers do not."""
    code = _code(text) if marks and "`" in text else []
    indexes = _indexes(text, marks)
    reordered = _in_another_order(text, marks)
    spans: list[tuple[int, int]] = []
    last_value = 0
    for mark in marks:
        start, end = mark.span()
        if _is_joined(text, mark, last_value):
            last_value = end
            continue
        if any(low <= start < high for low, high in code) or start in indexes:
            continue
        if "square" in mark.re.groupindex and not _is_next_raised(text, mark, spans):
            start = end if _is_argument(text, mark) else _citation_start(text, mark, reordered)
        if start < end:
            spans.append((start, end))
        else:
            last_value = end
    return spans


def _is_next_raised(text: str, mark: re.Match[str], spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a raised number follows another one that cites, as in `restorer^1^ ^2^`."""
    if mark["raised"] is None or not spans:
        return False
    start, end = spans[-1]
    is_raised = text[start:end].lstrip().startswith(("^", "<sup"))
    return is_raised and not text[end : mark.start()].strip(" ,;")


def _is_joined(text: str, mark: re.Match[str], last_value: int) -> bool:
    """Return whether brackets with several numbers are the second of a pair of values, as in
    `from [1, 1] to [4, 5]`."""
    if last_value == 0 or not SEVERAL.fullmatch(mark[0].strip()):
        return False
    return _JOINED.fullmatch(text, last_value, mark.start()) is not None


def _indexes(text: str, marks: Sequence[re.Match[str]]) -> set[int]:
    """Return where brackets begin that are attached to a name within a clause as an index is: in an
    operation, as `n = data[3] + 1`, or in a text that has a space before all other brackets, as
    `The loop reads data[3] first [1]`."""
    attached: set[int] = set()
    operands: set[int] = set()
    others: set[bool] = set()
    for mark in marks:
        if "square" not in mark.re.groupindex or not mark["square"]:
            continue
        start, end = mark.span()
        is_spaced = mark.start("square") > start
        low = max(0, start - BEFORE)
        operation = _OPERATION_AFTER.match(text, end) or _OPERATION_BEFORE.search(text, low, start)
        if is_spaced or not _NAME_BEFORE.search(text, low, start):
            others.add(is_spaced)
        elif operation:
            operands.add(start)
        elif WORD_AFTER.match(text, end):
            attached.add(start)
        else:
            others.add(False)
    return operands | attached if others == {True} else operands


def _in_another_order(text: str, marks: Sequence[re.Match[str]]) -> set[int]:
    """Return where brackets begin whose numbers stand in another order in the same sentence, as in
    `[3, 1, 2] becomes [1, 2, 3]`."""
    found: set[int] = set()
    before: dict[frozenset[str], re.Match[str]] = {}
    for mark in marks:
        square = mark["square"] if "square" in mark.re.groupindex else None
        if square is None or not SEVERAL.fullmatch(square):
            continue
        start = mark.start("square")
        if SENTENCE_BEFORE.search(text, max(0, start - BEFORE), start):
            continue  # it belongs to the sentence before
        numbers = DIGITS.findall(square)
        earlier = before.get(frozenset(numbers), mark)
        before[frozenset(numbers)] = mark
        if DIGITS.findall(earlier["square"]) == numbers:
            continue
        between = text[earlier.end() : start]
        if len(between) <= _SAME_SENTENCE and not _ENDS_SENTENCE.search(between):
            found.add(earlier.start())
            found.add(mark.start())
    return found - _citing_ends(text, marks) if found else found


def _citing_ends(text: str, marks: Sequence[re.Match[str]]) -> set[int]:
    """Return where marks begin that end a clause, if there are several: a text that ends one clause
    with a mark may do so with another."""
    ends: set[int] = set()
    for mark in marks:
        if ENDS_CLAUSE.match(text, mark.end()):
            ends.add(mark.start())
    return ends if len(ends) > 1 else set()


def _is_argument(text: str, mark: re.Match[str]) -> bool:
    """Return whether a bracket in round brackets is the list in a call, as in `sorted([3, 1])`."""
    start, end = mark.span()
    before = text[max(0, start - BEFORE) : start]
    if text[start] != "(" or not before[-1:].isalnum():
        return False
    brackets = _ONE_BRACKET.findall(mark[0])
    if not any(map(SEVERAL.fullmatch, brackets)):
        return False
    if _CALLED.search(before):
        return True
    return not ENDS_CLAUSE.match(text, end)


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return spans in order, with those that touch as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


_ID = (
    r"(?:[a-z][\w.-]{0,60}_[\w.-]{1,60}(?:#[\w=-]{1,20})?"  # kb_policy_7
    r"|[\w.-]{1,80}\.(?:pdf|docx?|html?|txt|md|csv|json|xlsx?|pptx?)(?:#[\w=-]{1,20})?"
    r"|(?-i:[a-z]{2,20})(?:[:#]\d{1,6}|-\d{3,6})(?:[-:]\d{1,6})?"  # kb:7, but not COVID-19
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)
_BRACKETED_IDS = (
    # A constant such as (CAP_SYS_PTRACE) is no id. The search is bounded: 100,000 times `[` took
    # minutes.
    r"\s{0,2}[\[(](?-i:(?=[^\s\])]{0,99}[a-z0-9]))"
    rf"[@#]?{_ID}(?:\s?[,;|]\s?[@#]?{_ID}){{0,9}}{_PAGE}?[\])](?!\()"
)


_URL = (
    r"<?(?:https?://|www\.)[^\s()\[\]<>\"]{1,300}+"
    r"(?:\([^\s()]{1,100}\)[^\s()\[\]<>\"]{0,300}+){0,3}>?"
)
_TITLED_URL = rf"\[[^\[\]\n]{{1,200}}\]\(\s?{_URL}(?:\s\"[^\"\n]{{0,100}}\")?\s?\)"
_LINKED = rf"\]\(\s?{_URL}(?:\s\"[^\"\n]{{0,100}}\")?\s?\)"
_SOURCE_LINK = (
    r"(?<!the )(?<!a )(?<!its )(?<!this )(?<!der )(?<!die )(?<!la )(?<!el )"
    rf"\[(?:source|link|ref(?:erence)?|quelle|fuente|fonte){_LINKED}"
)
"""A link that says it is a source, and not `the [source](https://...)`."""
_PLACE_LINK = rf"\[(?:here|hier|aquí|ici|aqui|qui|(?:[\w-]{{1,60}}\.){{1,5}}[a-z]{{2,12}}){_LINKED}"
"""A link by its site or as "here", which is a source after the end of a sentence or part: in "He
founded [example.org](https://...)." it is what the sentence is about."""
_BRACKETED_URLS = (
    rf"(?:(?:\s{{0,2}}{_SOURCE_LINK}|(?:(?<=[.!?;:)。])|\A)\s{{0,2}}{_PLACE_LINK})"
    rf"(?:\s?[,;]?\s?(?:{_SOURCE_LINK}|{_PLACE_LINK})){{0,9}}"
    r"|\s{0,2}(?<!\])[\[(]\s?(?:(?:see|via|cf\.?|vgl\.?|siehe|voir|ver)[:：]?\s)?"
    rf"(?:{_TITLED_URL}|{_URL})(?:\s?[,;|]?\s?(?:{_TITLED_URL}|{_URL})){{0,9}}\s?[\])](?!\())"
)
LINK = rf"{_TITLED_URL}(?:[,;|]?\s?{_TITLED_URL}){{0,9}}"
LINK_IN_BRACKETS = (
    rf"[(（]\s?(?:(?:see|via|cf\.?|vgl\.?|siehe|voir|ver|{_SOURCE})[:：]?\s)?"
    rf"(?:{_TITLED_URL}|{_URL})(?:\s?[,;|]?\s?(?:{_TITLED_URL}|{_URL})){{0,9}}\s?[)）]"
)
LINK_TO_PLACE = (
    rf"(?:{_SOURCE_LINK}|{_PLACE_LINK})(?:[,;|]?\s?(?:{_SOURCE_LINK}|{_PLACE_LINK})){{0,9}}"
)
"""The patterns of links with a text of their own that can follow the full stop of their sentence;
they have no groups."""
_NO_ADDRESS_BEFORE = re.compile(
    r"(?<!\w)(?:(?:web|home)?-?(?:sites?|pages?)|portals?|links?|urls?|address(?:es)?|blogs?|forms?"
    r"|repo(?:sitory|s)?|servers?|endpoints?|api|app|shop|store|platform|forum|wiki|online|at|on|is"
    r"|(?:web)?seiten?|adressen?|formulare?|página|sitio|sito|pagina|adresse|formulaire|сайт)"
    r"\W{0,3}\Z",
    re.IGNORECASE,
)
"""Words whose address in brackets is what the sentence says, and no source of it."""
_KEYS = (
    rf"\s{{0,2}}\[-?@(?=[^\s\]]{{0,60}}\d)[\w:.#/-]{{1,60}}{_PAGE}?"
    rf"(?:\s?[;,]\s?-?@[\w:.#/-]{{1,60}}{_PAGE}?){{0,9}}\]"
)
"""Keys of a bibliography, as in `[@smith2020, p. 4]`."""
_DAGGERS = r"(?<=[\w.,;])[†‡]{1,3}(?!\w)"


_LINE_OF_A_MARK = re.compile(
    r"^[ \t]{0,3}\[(?:\^[\w-]{1,20}\]:|[\w-]{1,20}\]:[ \t]*<?https?:)[^\n]*$", re.MULTILINE
)
"""A footnote of Markdown, which tells the source of the mark `[^1]`, or the link of the mark
`[1]`."""


@lru_cache(maxsize=256)
def _spans_to_remove(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of citations, of footnotes, and of brackets that hold only what looks like
    the id of a document: nothing that a document says stands in such brackets, whether or not they
    cite."""
    spans = _without_intervals(text, citation_spans(text))
    if "†" in text or "‡" in text:
        found = (match.span() for match in _pattern(_DAGGERS).finditer(text))
        spans = _merged([*spans, *found])
    if "[" not in text and "(" not in text:
        return spans
    named = _names_in_text(text)
    return _merged([*spans, *named]) if named else spans


def _names_in_text(text: str) -> list[tuple[int, int]]:
    """Return the spans of footnotes, and of brackets with ids, addresses and keys of sources."""
    spans: list[tuple[int, int]] = []
    if "]:" in text:
        spans += [match.span() for match in _LINE_OF_A_MARK.finditer(text)]
    forms = [_BRACKETED_IDS]
    if "://" in text or "www." in text:
        forms.append(_BRACKETED_URLS)
    if "@" in text:
        forms.append(_KEYS)
    for form in forms:
        for match in _pattern(form).finditer(text):
            if not (_is_code(text, match) or _is_an_address(text, match)):
                spans.append(match.span())
    return spans


def _is_an_address(text: str, match: re.Match[str]) -> bool:
    """Return whether brackets tell the address of something, as in "the site (www.a.org) is old"
    and "Use the form (www.a.org/form)."."""
    if match.re is not _pattern(_BRACKETED_URLS):
        return False
    start, end = match.span()
    before = max(0, start - BEFORE)
    if SENTENCE_BEFORE.search(text, before, start):
        return False
    if start == 0 and not _GOES_ON.match(text, end):
        return False
    if _NO_ADDRESS_BEFORE.search(text, before, start):
        return True
    return not (ENDS_CLAUSE.match(text, end) or OPENS_MARK.match(text[end : end + 2].lstrip()))


def _without_intervals(
    text: str, spans: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Return the spans that are no ends of an interval around the number before them."""
    if "[" not in text:
        return spans
    kept: list[tuple[int, int]] = []
    found: list[CitationMark] = []
    for start, end in spans:
        written = text[start:end].lstrip()
        found.append(CitationMark(end - len(written), end, ()))
    ends = {mark.end for mark in citing(text, found, ANY_SOURCE, None)}
    for span in spans:
        if span[1] in ends:
            kept.append(span)
    return tuple(kept)


def _is_code(text: str, match: re.Match[str]) -> bool:
    """Return whether brackets follow a name as in code, as in `read(my_file.txt)` and `x[a_b]`, or
    stand in backticks."""
    start = match.start()
    attached = not match[0][0].isspace() and (text[start - 1 : start].isalnum())
    if attached and ("(" in match[0] or _IDENTIFIER.search(text, max(0, start - BEFORE), start)):
        return True
    return "`" in text and any(low <= start < high for low, high in _code(text))


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because the long ones take a tenth of the start-up time of a
    command."""
    return re.compile(source, re.IGNORECASE)


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_MARK`, trying only positions where a mark may begin, which is faster
    than a search."""
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


def _has_numbered_source(text: str) -> bool:
    """Return whether the text has the name of a source with a number, as `document 3`.

    The pattern is tried where a stem stands before a number: to search a text for it takes longer
    than for all marks.
    """
    pattern = _pattern(_NUMBERED_SOURCE)
    for digit in _FIRST_DIGIT.finditer(text):
        start = max(0, digit.start() - _BEFORE_NUMBER)
        before = text[start : digit.start()].casefold()
        if _may_name_a_source(before) and pattern.search(text, start, digit.end()):
            return True
    return False


def _code(text: str) -> list[tuple[int, int]]:
    """Return the spans in backticks, except of a mark alone."""
    return [
        code.span()
        for code in _CODE.finditer(text)
        if code[1] is None or not _NO_CODE.fullmatch(code[1])
    ]


def _citation_start(
    text: str,
    mark: re.Match[str],
    reordered: Container[int],
) -> int:
    """Return where the citation in a match begins: after the values in brackets before it, as in
    `the interval [2, 5] [1]`; at its end if all of it is values."""
    if mark["square"]:
        return _start_in_brackets(text, mark, reordered)
    is_fact = False
    if mark["raised"] is not None:
        is_fact = _is_power(text, mark)
    elif mark["braced"] is not None:
        # `{1}` is a set after "set" or "=", and what follows a command of LaTeX
        before = text[max(0, mark.start() - BEFORE) : mark.start()]
        is_fact = before[-1:] in "=\\_^" or VALUES_BEFORE.search(before) is not None
    return mark.end() if is_fact else mark.start()


def _start_in_brackets(
    text: str,
    mark: re.Match[str],
    reordered: Container[int],
) -> int:
    """Return where the citation in a row of square brackets begins; at its end if it has none."""
    start = mark.start()
    before = text[max(0, start - BEFORE) : start]
    first, end = mark.span("square")
    is_attached = start == first and before[-1:].isalnum()
    if text[first] == "[" and is_attached:
        if _is_index(mark["square"], before):
            return _end_of_indexes(text, mark)
        if _is_in_a_path(text, end, before):
            return mark.end()
    elif text[first] == "[" and _is_part_of_a_word(text, mark, before):
        return end
    if start in reordered:
        return _end_of_values(text, mark)
    if _are_values(text, mark, before):
        return _end_of_values(text, mark)
    if not is_attached and _is_amount(text, mark, before):
        return _end_of_values(text, mark)
    return start


def _is_index(square: str, before: str) -> bool:
    """Return whether a bracket that is attached to a word is an index of code, or a slice.

    A word alone may be cited: "the data[3] show a fall".
    """
    if _SLICE.fullmatch(square):
        return True
    return _IDENTIFIER.search(before) is not None


def _end_of_indexes(text: str, mark: re.Match[str]) -> int:
    """Return where the indexes of a name end, as in `x[0][1]`."""
    end = mark.end("square")
    while end < mark.end() and text[end] == "[":
        end = text.index("]", end) + 1
    return end


def _end_of_values(text: str, mark: re.Match[str]) -> int:
    """Return where the values end in a row of brackets, as in `the intervals [1, 2], [3, 4]`."""
    end = mark.end("square")
    while more := SEVERAL.match(text, end):
        if more.end() > mark.end():
            break
        # "It is continuous on [1, 3] [4, 5]." cites, "The vectors [1, 2] [3, 4] span it" does not.
        if text[end] not in ",;" and ENDS_CLAUSE.match(text, more.end()):
            break
        end = more.end()
    return end


def _is_in_a_path(text: str, end: int, before: str) -> bool:
    """Return whether a bracket is part of a path or a name, as in `//div[2]/a[1]` and
    `${names[2]}`."""
    if _PATH_AFTER.match(text, end):
        return True
    return _PATH_BEFORE.search(before) is not None


def _is_part_of_a_word(text: str, mark: re.Match[str], before: str) -> bool:
    """Return whether brackets are part of a name or a key, as in `[1,5]-hydride` and `[Ctrl]+[1]`,
    or begin a quotation: `“[3] And God said”`."""
    first, end = mark.span("square")
    if mark.start() == first:
        if before.endswith("]+"):
            return True
        if _OPENING_QUOTE.search(before) and WORD_AFTER.match(text, end):
            return True
    if end < mark.end():
        return False
    return _COMPOUND_AFTER.match(text, end) is not None


def _are_values(text: str, mark: re.Match[str], before: str) -> bool:
    """Return whether the first numbers in square brackets are values, as in `the interval [2,
    5]`."""
    end = mark.end("square")
    # "She lived from [19]56 on."
    if end == mark.end() and text[end : end + 1].isdecimal():
        return True
    if _falls(mark["square"]):
        return True
    several = SEVERAL.match(text, mark.start("square"))
    if several is None:
        return False
    numbers = DIGITS.findall(several[0])
    # Nobody cites a source twice in one pair of brackets: "red is [255, 0, 0]".
    if len(set(numbers)) < len(numbers):
        return True
    # "It is [1, 2]." says nothing without its values. "It has a list [1, 2]." does, and the rest
    # of the sample tells what it is.
    ends_clause = end == mark.end() and ENDS_CLAUSE.match(text, end)
    if VALUES_BEFORE.search(before) and not ends_clause:
        return True
    return bool(_IS_BEFORE.search(before) or _CALL_BEFORE.search(before))


def _is_amount(text: str, mark: re.Match[str], before: str) -> bool:
    """Return whether numbers in square brackets are values, as in `between [1, 5]` and `[5]
    million`."""
    if _PAIR.fullmatch(mark["square"]) and _BEFORE_PAIR.search(before):
        return True
    end = mark.end("square")
    if end < mark.end():
        return False
    return _SCALE_AFTER.match(text, end) is not None


def _falls(bracket: str) -> bool:
    """Return whether a bracket has a range that no list of sources has, as in the score `[6-4]`."""
    if not _ONLY_NUMBERS.fullmatch(bracket):
        return False
    ranges = _RANGES.finditer(bracket)
    return any(one[3] or int(one[1]) >= int(one[2]) for one in ranges)


_RAISED_LIST = re.compile(r"\d\s?[,;]\s?\d")


def _is_power(text: str, mark: re.Match[str]) -> bool:
    """Return whether a raised number is a power or part of a formula, as in `5 km²` and `10⁶`."""
    before = text[max(0, mark.start() - BEFORE) : mark.start()]
    if (mark[0][0].isspace() or not before) and text[mark.end() : mark.end() + 1].isalpha():
        return True  # the number of an isotope, as in <sup>14</sup>C
    if before[-1:] in tuple("-−–⁻"):
        return True  # a unit such as kg m -²
    if "[" in mark[0] or before[-1:] == "%" or _YEAR.search(before):
        return False
    if _RAISED_LIST.search(mark[0]):
        return False  # no power is two numbers, as in 63<sup>2,3</sup>
    if before and before[-1] in ".,;:!?…。":
        if before[-1] not in ".," or not before[-2:-1].isdecimal():
            return False
        # "It has 40.² He" cites after the end of a sentence, "5.² is wrong" is a power: a word in
        # lower case goes on with it.
        ends_sentence = before[-1] == "." and not _GOES_ON.match(text, mark.end())
        return not (ends_sentence or _YEAR.search(before[:-1]))
    word = _WORD_BEFORE.search(before)
    return word is None or _UNIT.fullmatch(word[1].casefold()) is not None


def _attribution(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span to remove for a phrase that names a source; None if the phrase only gives a
    location."""
    start, end = match.span()
    begins = _CLAUSE_BEGINS.search(text, max(0, start - BEFORE), start) is not None
    # "In document 3, it is five" names a source; "the limit in document 3 is five" is about that
    # document.
    if (match["in"] or match["no_comma"]) and not begins:
        return None
    if not begins and match["comma"] is None:
        # "He taught according to document 3, and he wrote." keeps its comma, which belongs to the
        # sentence.
        end = match.start("after") if match["after"] else end
        start -= text[start - 1 : start].isspace()
    elif match["comma"] and match["after"]:
        end -= text[end - 1].isspace()
    return start, end


@lru_cache(maxsize=256)
def bare(text: str) -> Bare:
    """Return `text` without its citations, and the positions of the rest. Words around a citation
    stay separate."""
    spans = _spans_to_remove(text)
    if not spans:
        return Bare(text, ())
    parts: list[str] = []
    offsets: list[int] = []
    at = 0
    for start, end in (*spans, (len(text), len(text))):
        parts.append(text[at:start])
        offsets += range(at, start)
        span_text = text[start:end]
        # "Brandi[1]and Riegl" must not become "Brandiand Riegl".
        if (
            start
            and text[end : end + 1].isalnum()
            and (text[start - 1].isalnum() or span_text != span_text.strip())
        ):
            parts.append(" ")
            offsets.append(start)
        at = end
    return Bare("".join(parts), tuple(offsets))


def without(text: str) -> str:
    """Return `text` without its citations."""
    return bare(text).text


_ROUND_BRACKETS = str.maketrans("[［【〔〖{]］】〕〗}", "(((((())))))")


def numbers_as_words(text: str) -> str:
    """Return a text with round brackets around numbers that are all a pair of other brackets has,
    so that they are words of it and no citations. Every character keeps its place.

    >>> numbers_as_words("Press [1] at the point [2, 3], as said in [doc_1].")
    'Press (1) at the point (2, 3), as said in [doc_1].'
    """
    return _pattern(_BARE_NUMBERS).sub(lambda mark: mark[0].translate(_ROUND_BRACKETS), text)


def as_written(claim: str, text: str) -> str:
    """Return a claim from `numbers_as_words(text)` with the brackets that the text has.

    >>> as_written("Press (1) now.", "Press [1] now.")
    'Press [1] now.'
    """
    for mark in _pattern(_BARE_NUMBERS).finditer(text):
        claim = claim.replace(mark[0].translate(_ROUND_BRACKETS), mark[0], 1)
    return claim


def without_names(text: str, known: Collection[str]) -> str:
    """Return `text` without its citations and without brackets that hold the name of a known
    document, in the form of `name_key`."""
    parts: list[str] = []
    at = 0
    for mark in marks(text, known):
        parts.append(text[at : mark.start])
        at = mark.end
    return without("".join([*parts, text[at:]]))


def masked(text: str) -> str:
    """Return `text` with spaces in place of its citations, so that every other character keeps its
    position."""
    parts: list[str] = []
    at = 0
    for start, end in _spans_to_remove(text):
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


_PIECE = (
    r"[\[［【〔〖]{1,2}(?P<square>[^\[\]［］【】〔〕〖〗\\]*)\\?[\]］】〕〗]{1,2}"
    r"(?:\((?P<address>https?:[^()\s]*|www\.[^()\s]*|[#/][^()\s]*)\))?"
    rf"|<{_TAG}\s[^<>\n]*>\s*\[?(?P<noted>\d{{1,3}}[\d\s,;–-]*)\]?\s*</{_TAG}>"
    rf"|<{_TAG}(?:>|\s\w+=[\"']?)(?P<tagged>[^<>\"']+)[\"']?\s?(?:</{_TAG}>|/?>)"
    r"|\\[a-z]+\*?(?:\[[^\[\]]*\])*\{(?P<command>[^{}]+)\}"
    r"|[(（](?P<round>[^()（）\[\]【】]*)[)）]|\{(?P<braced>\d+)\}"
    rf"|</co:\s?(?P<cohere>[\d,\s]+)>|<co:[^<>]*>|(?P<turn>{_TURN})"
    r"|<sup\b[^<>]*>(?:<a\b[^<>]*>)?\s*(?P<sup>[^<]*)(?:</a>)?\s*</sup>|\^(?P<caret>[^\^]*)\^"
    r"|(?P<raised>[⁰¹²³⁴-⁹]+(?:[,⁻⁺˒][⁰¹²³⁴-⁹]+)*)"
)
_TITLED = (
    r"(?<!!)\[([^\[\]\n]{1,200})\]"
    r"\(\s?<?(?!mailto:|tel:|#)([^()\s<>]{1,500})>?(?:\s\"[^\"\n]{0,100}\")?\s?\)"
)
_BARE = r"[\[(]([^\[\]()\n]{1,100})[\])](?!\()"
_KIND_OF_NAME = rf"\A(?:@|(?:ids?|{_SOURCE})\s?[:：]\s?|{_SOURCE}\s(?!\d))"
"""What stands before the name of a document in brackets, as in `[doc: kb_7]` and `[@kb_7]`."""
_OPENING_WORDS = (
    rf"\A\W*(?:(?:see|cf\.?|vgl\.?|siehe|voir|ver)\s)?(?:{_KEYED.partition('[^()')[0]})?"
)
_ONE = rf"(?:{_KIND}{_LINK})?(\d{{1,3}})(?::\d{{1,3}})?"
_RANGE = r"(?<!\d)(\d{1,3})(?:\s?[–—-]\s?(\d{1,3}))?(?!\d)"
_BETWEEN_NAMES = r"\s?[;|、，]\s?|\s?,\s?|\s(?:and|or|und|et|y|e|и|&)\s"
_BARE_NUMBER = rf"{_NUMBER}(?::\d{{1,3}})?"
_BARE_NUMBERS = (
    rf"[\[［【〔〖]{{1,2}}\s?{_BARE_NUMBER}(?:{_AND}{_BARE_NUMBER}){{0,19}}+\s?[\]］】〕〗]{{1,2}}"
    r"|\{\d{1,3}\}"
)
_MOST = 50
"""Number of sources from the first to the last of a range; a longer one is no list of sources."""
_SIGNS = r"(?:[^\w\n]|_)"
_SOURCE_LIST = (
    # A line at a time: 10,000 lines of `<!--` took a minute.
    rf"^{_SIGNS}*+(?:sources?|references?|citations?|footnotes|bibliography|works"
    r" cited|quellen|literatur|fuentes|fonti"
    r"|fontes|参考文献|来源|出典)"
    rf"{_SIGNS}*+$(?:\n{_SIGNS}*+$)*+"
    r"(?:\n[ \t]*(?:(?:[-*•+]|\d{1,3}[.)]|\[)[^\n]*)?)*+"
)
"""A list of the sources below a text: it says what the marks stand for, and cites nothing
itself."""
_ENTRY = r"^[ \t]*(?:[-*•+][ \t]*)?(?:\[\^?([\w-]{1,20})\]:?|(\d{1,3})[.)])[ \t]+(\S[^\n]*)$"
_FOOTNOTE = r"^[ \t]*\[\^?([\w-]{1,20})\]:[ \t]*(\S[^\n]*)$"


def marks(
    text: str,
    known: Collection[str] = (),
    count: int = ANY_SOURCE.last,
    shown: ShownTexts | None = None,
    *,
    first: int = ANY_SOURCE.first,
) -> tuple[CitationMark, ...]:
    """Return the citations of a text in order, without those in a list of sources below it.

    Args:
        text: The text.
        known: The names of documents, as `name_key` writes them: ids, titles and addresses. They
            come before numbers, and are marks in plain brackets too, as in `[kb_policy_7]`; so are
            ids that differ only in their numbers.
        count: The highest number of a source; `¹²` are two marks if there are fewer than 12.
        shown: What the text may quote brackets from, as in "Press [1] to start".
        first: The lowest number of a source.
    """
    if not OPENS_MARK.search(text) and not _DIGIT.search(text):
        return ()
    lists = _listed(text, known)
    found: list[CitationMark] = []
    taken = bytearray(len(text))
    for low, high in lists.spans:
        taken[low:high] = b"\1" * (high - low)
    # `[1](https://example.org/4)` cites number 1, unless a document has the address: forms first.
    for start, end, names in chain(
        _marks_by_form(text, known, count), _links(text, known), _names_in_brackets(text, known)
    ):
        if taken.find(1, start, end) >= 0:
            continue  # an earlier form or a list of sources has this place
        cited = tuple(dict.fromkeys(lists.known.get(name, name) for name in names))
        if cited:
            found.append(CitationMark(start, end, cited))
            taken[start:end] = b"\1" * (end - start)
    found.sort()
    return tuple(citing(text, found, Sources(first, count), shown))


def is_bare(mark: str) -> bool:
    """Return whether a mark is numbers in brackets and nothing else that says that it cites.

    >>> [is_bare(mark) for mark in ("[1]", "[2, 3]", "{1}", "[doc_1]", "[^1]", "[1](https://a.org)")]
    [True, True, True, False, False, False]
    """
    return _pattern(_BARE_NUMBERS).fullmatch(mark.strip()) is not None


def _marks_by_form(
    text: str, known: Collection[str], count: int
) -> Iterator[tuple[int, int, Iterable[str]]]:
    """Yield what can be told from its form, as `[1]` and "according to document 3", with its
    names."""
    for start, end in citation_spans(text):
        pieces = [*_pattern(_PIECE).finditer(text, start, end)]
        for piece in pieces:
            yield (*piece.span(), _names_of_piece(piece, known, count))
        if not pieces:
            phrase = text[start:end]
            yield end - len(phrase.lstrip(" ,")), end, _numbers(phrase)


def _names_of_piece(piece: re.Match[str], known: Collection[str], count: int) -> Iterable[str]:
    """Return what one pair of brackets, one tag or one raised number names."""
    address = piece["address"]
    if address and name_key(address) in known:
        return [address]
    if content := piece["square"] or piece["tagged"] or piece["command"] or piece["round"]:
        return _names(content, known)
    if piece["cohere"]:
        return [f"co:{number}" for number in re.findall(r"\d+", piece["cohere"])]
    if name := piece["turn"] or piece["braced"]:
        return [str(int(name)) if name.isdecimal() else name]
    return _numbers(
        piece["sup"] or piece["noted"] or piece["caret"] or piece["raised"] or "", count
    )


def _links(text: str, known: Collection[str]) -> Iterator[tuple[int, int, Iterable[str]]]:
    """Yield links as `[handbook](https://...)`, which name their address, or their title if only
    that is known."""
    if "](" not in text:
        return
    for link in _pattern(_TITLED).finditer(text):
        # `[Rules](/gone)` cites the document "Rules" though no document has that address.
        is_attached = text[max(0, link.start() - 1) : link.start()].isalnum()
        if is_attached and link[1].isdecimal() and link[2].isalnum():
            continue  # a call, as in `handlers[2](event)`
        by_title = name_key(link[2]) not in known and name_key(link[1]) in known
        yield (*link.span(), [link[1] if by_title else link[2]])


def _names_in_brackets(
    text: str, known: Collection[str]
) -> Iterator[tuple[int, int, Iterable[str]]]:
    """Yield brackets that hold the names of known documents, as in `[kb_policy_7]`; also names that
    differ from known ids only in their numbers, which name a document that does not exist."""
    if not known:
        return
    # a title of words or a word alone would make every bracket alike to it
    alike = {_shape(name) for name in known if " " not in name and not name.isalpha()} - {"0"}
    for bracket in _pattern(_BARE).finditer(text):
        content = bracket[1]
        if name_key(content) not in known:
            content = _pattern(_KIND_OF_NAME).sub("", content)
        parts = (content, *_pattern(_BETWEEN_NAMES).split(_pattern(_PAGE).sub("", content)))
        keys = [name_key(_whole(part, known) or part) for part in parts]
        is_square = bracket[0][0] == "["
        is_title = not is_square and " " in bracket[1] and name_key(bracket[1]) in known
        # a title of several words is one where a citation stands: "It is high (Tower of Bern)."
        if is_title and ENDS_CLAUSE.match(text, bracket.end()):
            yield (*bracket.span(), [bracket[1]])
            continue
        if any(_names_a_document(key, known, alike, is_square=is_square) for key in keys):
            yield (*bracket.span(), _names(content, known))


def _names_a_document(
    key: str, known: Container[str], alike: Container[str], *, is_square: bool
) -> bool:
    """Return whether a text in brackets is the name of a document, and no number or word."""
    if key.isdecimal() and len(key) <= 3:
        return False  # read by its form, or a fact as in (2)
    if is_square:
        return key in known or _shape(key) in alike
    # "(France)" can be a fact, though a document is called so; `kb_7` and `a.pdf` cannot.
    is_id = not key.isdecimal() and re.search(r"[\d_./-]", key) is not None
    return key in known and is_id


@lru_cache(maxsize=4096)
def name_key(name: str) -> str:
    """Return the name of a document as it is compared: in lower case, without scheme, quotes and
    trailing slash."""
    folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split()).strip("\"'“”„<>.")
    return re.sub(r"\A(?:https?://)?(?:www\.)?", "", folded).rstrip("/")


def _shape(key: str) -> str:
    return re.sub(r"\d+", "0", key)


def _names(content: str, known: Container[str]) -> Iterator[str]:
    """Yield what the content of brackets names: known names first, then numbers, then any other
    name."""
    if name_key(content) in known:
        yield content
        return
    if content.isdecimal():
        yield str(int(content))
        return
    for part in _sources(content, known):
        head, _, tail = part.strip("^ ").partition("†")
        # `【4:0†report.pdf】` names a file, but `【1†source】` and `【3†L10-L20】` number 1 and 3.
        if tail and tail != "source" and not re.fullmatch(r"L\d.*", tail):
            yield tail
        elif cited := _cites(head, known):
            yield from cited
        elif head not in ("", "cite_start"):
            yield head.strip()


def _sources(content: str, known: Container[str]) -> list[str]:
    """Return the parts of the content of brackets that name a source each."""
    rest = _pattern(_OPENING_WORDS).sub("", _pattern(_PAGE).sub("", content))
    if name_key(rest) in known:
        return [rest]
    parts = _pattern(_BETWEEN_NAMES).split(rest)
    # A comma within a title parts nothing: "(Quelle: Handbuch, Band 3)" is one source.
    if any(" " in part and not _cites(part, known) for part in parts):
        return re.split(r"\s?[;|]\s?", rest)
    return parts


def _whole(name: str, known: Container[str]) -> str | None:
    """Return a known name, or the known document that it is a place in, as in `a.pdf#page=3`; None
    if there is none."""
    for each in (name, name.partition("#")[0]) if "#" in name else (name,):
        if each and name_key(each) in known:
            return each.strip()
    return None


def _cites(part: str, known: Container[str]) -> list[str]:
    """Return the numbers that are all of a part, `1-3` as three; or the part itself if its name is
    known."""
    if name := _whole(part, known):
        return [name]
    plain = unicodedata.normalize("NFKC", part).strip("^ ")
    if one := _pattern(_ONE).fullmatch(plain):
        return [str(int(one[1]))]
    ends = _pattern(rf"{_ONE}\s?[–—-]\s?{_ONE}").fullmatch(plain)
    return [*_numbers(f"{ends[1]}-{ends[2]}")] if ends else []


def _numbers(text: str, count: int = 999) -> Iterator[str]:
    """Yield the numbers in a text; a raised number above `count` is its digits."""
    plain = unicodedata.normalize("NFKC", text.translate(_RAISED_SIGNS))
    for match in _pattern(_RANGE).finditer(plain):
        low = int(match[1])
        high = int(match[2] or low)
        if low < high <= low + _MOST:
            yield from map(str, range(low, high + 1))
        else:
            single = match[1] if int(match[1]) <= count else " ".join(match[1])
            yield from (str(int(number)) for number in (*single.split(), *filter(None, [match[2]])))


_RAISED_SIGNS = str.maketrans("⁻⁺˒", "-,,")


_PRINTED = (
    rf"\s*(?:[#>*_]{{1,6}}+\s?)?(?:[\[【({{]\s?(?:{_KIND}{_LINK})?#?(?P<bracket>{_NUMBER})"
    rf"\s?[\]】)}}]|(?:{_SOURCE}|results?|hits?|id)\s?(?:#|no\.?|:)?\s?[\[(]?(?P<word>{_NUMBER})[\])]?\s?(?:[:.)–—-]|\n|\Z)"
    rf"|<\w{{1,20}}\s[^<>]{{0,40}}?=[\"']?(?P<tag>{_NUMBER})[\"']?[^<>]{{0,80}}>"
    rf"|(?P<item>{_NUMBER})(?:[.):]|\s[–—-])\s)"
)


_HEAD = re.compile(rf"(\D{{0,30}})({_NUMBER})([^\S\n]?(?:[^\w\s]|\n))")


def numbered_heads(texts: Sequence[str]) -> list[str] | None:
    """Return the numbers before which all texts begin alike, as in `Fragment 7 |` and `Fragment 5
    |`; None if they do not, or if a sentence goes on after a number.

    >>> numbered_heads(["Fragment 7 | The tower is high.", "Fragment 5 | It is old."])
    ['7', '5']
    """
    heads = [head for text in texts if (head := _HEAD.match(text))]
    if len(heads) < max(2, len(texts)) or len({(head[1], head[3]) for head in heads}) > 1:
        return None
    return [str(int(head[2])) for head in heads]


class PrintedLabel(NamedTuple):
    """The number that is printed before a text."""

    number: str
    is_item: bool
    """Whether it can as well be that of a section or of an item, as in `2. Safety`."""


def printed_label(text: str) -> PrintedLabel | None:
    """Return the number that is printed before a text, as in `[2] The tower ...` and `Document 2:`;
    None if there is none.

    >>> printed_label("[2] The tower is high.")
    PrintedLabel(number='2', is_item=False)
    """
    label = _pattern(_PRINTED).match(text)
    if label is None:
        return None
    return PrintedLabel(str(int(next(filter(None, label.groups())))), label["item"] is not None)


class _SourceLists(NamedTuple):
    """The lists of sources and the footnotes below a text."""

    spans: list[tuple[int, int]]
    known: Mapping[str, str]
    """By label, the known document that an entry names."""
    others: Mapping[str, str]
    """By label, the text of an entry that names none."""


def _listed(text: str, known: Container[str]) -> _SourceLists:
    """Return the lists of sources and footnotes of a text."""
    if "\n" not in text:
        return _SourceLists([], {}, {})
    lists = [match.span() for match in _pattern(rf"(?m){_SOURCE_LIST}").finditer(text)]
    notes = [*_pattern(rf"(?m){_FOOTNOTE}").finditer(text)]
    entries = [(note[1], note[2]) for note in notes]
    for start, end in lists:
        entries += [
            (entry[1] or entry[2], entry[3])
            for entry in _pattern(rf"(?m){_ENTRY}").finditer(text, start, end)
        ]
    meant: dict[str, str] = {}
    others: dict[str, str] = {}
    for label, content in entries:
        # An entry is a title with spaces, "Rules of 1902", or has an address among other words,
        # "Rules, https://x.org/m".
        candidates = (content, *re.split(r"[\s()\[\]<>,;]+", content))
        name = next((part for part in candidates if part and name_key(part) in known), None)
        if name is None:
            others.setdefault(label, content)
        else:
            meant.setdefault(label, name)
    return _SourceLists([*lists, *(note.span() for note in notes)], meant, others)


def absent_sources(text: str, known: Container[str]) -> Mapping[str, str]:
    """Return, by label, the entries of the lists of sources below a text that name no known
    document.

    None if no entry names a known document: such a list has other names for the documents, and its
    numbers are ranks.
    """
    lists = _listed(text, known)
    return lists.others if lists.known else {}
