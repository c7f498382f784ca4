"""The lists of sources and the footnotes of a report in Markdown.

A list is known by its heading, or because its entries have the labels of the report's marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from claimeval.data.source_files import addresses_in
from claimeval.lexical.citations import marks
from claimeval.types.records import has_words


class ListedSource(NamedTuple):
    """An entry of a list of sources, or a footnote."""

    label: str
    """As it is written; the place, from 1, in a list without labels."""
    text: str
    is_labeled: bool = True

    def shifted(self, shift: int) -> ListedSource:
        """Return the entry with another number."""
        if not shift or not self.label.isdecimal():
            return self
        return self._replace(label=str(int(self.label) + shift))

    def with_more(self, text: str) -> ListedSource:
        """Return the entry with what its next line says."""
        return self._replace(text=f"{self.text} {text}")


class ReportParts(NamedTuple):
    """A report without its lists, and their entries."""

    body: str
    entries: tuple[ListedSource, ...]


class _Section(NamedTuple):
    """A heading with all below it up to the next heading of its level."""

    title: str
    start: int
    """Line of the heading; that of the text where there is none."""
    text: int
    end: int


class _Content(NamedTuple):
    entries: list[ListedSource]
    is_whole: bool
    """Whether nothing but entries is there."""


_SOURCES = (
    r"references?|sources?|bibliography|works|literature|citations|quellen|quellenverzeichnis"
    r"|literatur|literaturverzeichnis|quellenangaben|références|bibliographie|sources|fuentes"
    r"|referencias|bibliografía|fonti|bibliografia|riferimenti|fontes|referências|bronnen"
    r"|источники|литература|список\s(?:литературы|источников)"
    r"|参考文献|参考资料|参考来源|资料来源|引用来源|信息来源|数据来源|来源|參考文獻|參考資料|來源"
    r"|参考|引用|出典|引用文献|参照|참고문헌|출처|참고\s자료"
)
_NOTES = r"foot-?notes|end-?notes|notes|links|anmerkungen|fußnoten|notas|note|注释|脚注|注"
_HEADING_OF_SOURCES = re.compile(
    rf"(?:list\sof\s|cited\s|zitierte\s|verwendete\s|selected\s)?"
    rf"(?:(?P<sources>{_SOURCES})|{_NOTES})"
    r"(?:\s(?:cited|used|list|consulted|citées))?"
    rf"(?:\s?(?:and|&|und|et|y|e|和|与|/)\s?(?:further\sreading|{_SOURCES}|{_NOTES}))?",
    re.IGNORECASE,
)
_ATX = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)[\s#]*$")
_BOLD = re.compile(r"\s{0,3}(?:\*\*|__)([^*_]+)(?:\*\*|__)\s*[:：]?\s*$")
_SETEXT = re.compile(r"\s{0,3}(=+|-{3,})\s*$")
_RULE = re.compile(r"\s{0,3}(?:[-*_]\s*){3,}$")
_LOWEST = 7
"""The level of a heading without a mark of its level."""
_LABELED = re.compile(
    r"\s{0,6}(?:[-*•+]\s+)?(?:\*\*|<a [^<>]*></a>\s*)*(?:"
    r"\[{1,2}\^?(?P<square>\d{1,3})\]{1,2}(?:\*\*)?[:.]?\s*"
    r"|\[\^?(?P<mark>[\w.-]{1,20})\](?!\()(?:\*\*)?(?::\s*|\s+)"
    r"|(?P<number>\d{1,3})(?:[.)](?:\*\*)?\s+|[、．]\s*)"
    r"|[(（](?P<round>\d{1,3})[)）]\s*"
    r"|[【［](?P<wide>\d{1,3})[】］]\s*"
    r"|(?P<raised>[⁰¹²³⁴-⁹]{1,3})\s*"
    r"|\^(?P<caret>\d{1,3})\^?\s+"
    r"|\|\s*\[?(?P<cell>\d{1,3})\]?\s*\|\s*"
    r"|\[?(?i:"
    r"source|src"
    r"|reference|ref\.?"
    r"|document|doc\.?"
    r"|quelle|fuente|fonte"
    r"|来源|文献|出典"
    r")\s?"
    r"(?P<word>\d{1,3})"
    r"\]?(?:\*\*)?\s?"
    r"[:.)：–—-]"
    r"(?:\*\*)?\s*"
    r")(?P<text>\S.*)$"
)
_BRACKETED = re.compile(r"\s{0,3}[\[【]\d{1,3}[\]】]")
_TABLE_RULE = re.compile(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*$")
_LABEL_IN_CELL = re.compile(r"[\w.-]{1,20}")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_BULLET = re.compile(r"\s{0,6}[-*•+]\s+(?P<text>\S.*)$")
_FOOTNOTE = re.compile(r"\s{0,3}\[(?P<note>\^)?(?P<label>[^\[\]\n]{1,40})\]:\s*(?P<text>\S.*)$")
_IN_ONE_LINE = re.compile(
    rf"(?im)^[^\w\n]*(?:{_SOURCES})[^\w\n]*[:：][^\w\n]*(?=\[\d)(?P<entries>.*)$"
)
_MARK = re.compile(r"[\[【［]\^?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*[\]】］](?![(:])")
_CONTENT = re.compile(r"\[([^\[\]\n]{1,80})\]")
_QUOTED = re.compile(r"\s{0,3}>\s?")
_FOLD = re.compile(
    r"</?details[^<>]*>|<summary[^<>]*>\s*(?:<[bi]>)?([^<>\n]+)(?:</[bi]>)?\s*</summary>"
)
"""A part that is folded, in Markdown of GitHub."""
_FILE = re.compile(r"\.[a-z]{2,5}\b", re.IGNORECASE)


def without_lists(text: str) -> ReportParts:
    """Return a report without its lists of sources and footnotes, and the entries of these."""
    text = _FOLD.sub(_unfolded, text)
    text = _IN_ONE_LINE.sub(_in_lines, text)
    lines, notes = _without_footnotes(text.split("\n"))
    lists = [one for one in map(partial(_list_of, lines), _sections(lines)) if one]
    if not lists:
        lines, entries = _without_last_list(lines)
        return ReportParts("\n".join(lines), (*notes, *entries))
    parts = list[str]()
    entries = list[ListedSource]()
    at = 0
    for one in lists:
        before = "\n".join(lines[at : one.section.start])
        part, numbered_entries = _renumbered(before, one.entries, entries)
        parts.append(part)
        entries += numbered_entries
        at = one.section.end
    parts.append("\n".join(lines[at:]))
    return ReportParts("\n".join(parts), (*notes, *entries))


class _List(NamedTuple):
    section: _Section
    entries: list[ListedSource]


def _list_of(lines: Sequence[str], section: _Section) -> _List | None:
    """Return the list of sources that a section is; None if it is another one."""
    rest = "\n".join([*lines[: section.start], *lines[section.end :]])
    content = _content(lines[section.text : section.end], rest)
    if not content.entries:
        return None
    is_labeled = content.entries[0].is_labeled
    is_list = _names_sources(section.title, also_notes=is_labeled)
    if is_list or (content.is_whole and _are_cited(content.entries, rest)):
        return _List(section, content.entries)
    return None


def _renumbered(
    text: str, entries: Sequence[ListedSource], earlier: Sequence[ListedSource]
) -> tuple[str, Sequence[ListedSource]]:
    """Return a text and its list with numbers that are new: each chapter may have its own list that
    begins with 1."""
    known = {entry.label: entry.text for entry in earlier}
    if all(known.get(entry.label, entry.text) == entry.text for entry in entries):
        return text, entries
    shift = max((int(label) for label in known if label.isdecimal()), default=0)

    def shifted(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + shift), match[0])

    return _MARK.sub(shifted, text), [entry.shifted(shift) for entry in entries]


def _unfolded(match: re.Match[str]) -> str:
    title = match[1]
    return f"\n\n**{title}**\n\n" if title else "\n\n"


def _in_lines(match: re.Match[str]) -> str:
    """Return "Sources: [1] a.pdf, [2] b.pdf" as a heading and lines."""
    pieces = re.split(r"(?=\[\d{1,3}\])", match["entries"])
    entries = [piece.strip(" ,;") for piece in pieces]
    labeled = filter(None, map(_LABELED.match, entries))
    if not any(has_words(entry["text"]) for entry in labeled):
        return match[0]  # "Sources: [1], [2]" below a paragraph are its marks
    return "\n".join(["# Sources", *filter(None, entries)])


def _names_sources(title: str, *, also_notes: bool = True) -> bool:
    """Return whether a section is a list of sources by its heading; what has no labels below
    "Notes" is a text."""
    plain = re.sub(r"^[\d.]+\s+|[*_:：#]", "", title).strip()
    match = _HEADING_OF_SOURCES.fullmatch(plain)
    return match is not None and (also_notes or match["sources"] is not None)


def _without_footnotes(lines: Sequence[str]) -> tuple[list[str], list[ListedSource]]:
    kept = list[str]()
    notes = list[ListedSource]()
    goes_on = False
    for line in lines:
        text = line.strip()
        if note := _footnote(line):
            notes.append(note)
            goes_on = True
        elif goes_on and text and line.startswith(("  ", "\t")):
            notes[-1] = notes[-1].with_more(text)
        else:
            goes_on = goes_on and not text
            kept.append(line)
    return kept, notes


def _footnote(line: str) -> ListedSource | None:
    note = _FOOTNOTE.match(line)
    if note is None:
        return None
    label = note["label"]
    # "[Note]: it rained" is a text, and "[note]: https://..." where a link leads
    if note["note"] or label.isdecimal() or addresses_in(note["text"]):
        return ListedSource(label, note["text"].strip())
    return None


def _sections(lines: Sequence[str]) -> list[_Section]:
    """Return the sections with a heading, in order; a section has its subsections."""
    headings = list(_headings(lines))
    sections = list[_Section]()
    for place, heading in enumerate(headings):
        following = (one for one in headings[place + 1 :] if one.level <= heading.level)
        end = next(following, None)
        section = _Section(
            heading.title,
            start=heading.line,
            text=heading.line + heading.lines,
            end=end.line if end else len(lines),
        )
        # the entries of "Books" and "Web" below "References" are entries of it
        outer = sections[-1] if sections else None
        is_inside = outer is not None and section.end <= outer.end
        if outer is None or not is_inside or not _names_sources(outer.title):
            sections.append(section)
    return sections


class _ReportHeading(NamedTuple):
    title: str
    level: int
    line: int
    lines: int = 1


def _headings(lines: Sequence[str]) -> Iterator[_ReportHeading]:
    plain = [_QUOTED.sub("", line, count=1) for line in (*lines, "")]
    for place, (line, following) in enumerate(pairwise(plain)):
        text = line.strip()
        underline = _SETEXT.match(following)
        if atx := _ATX.match(line):
            yield _ReportHeading(atx[2], len(atx[1]), place)
        # a line with a mark is the end of a paragraph, and the line below it is a rule
        elif text and underline and not marks(text):
            level = 1 if underline[1].startswith("=") else 2
            yield _ReportHeading(text, level, place, lines=2)
        elif bold := _BOLD.match(line):
            yield _ReportHeading(bold[1], _LOWEST, place)
        elif _names_sources(text):
            yield _ReportHeading(text, _LOWEST, place)


def _content(lines: Sequence[str], rest: str) -> _Content:
    """Return the entries among lines: those with a label, else items, else paragraphs. `rest` is
    the rest of the report, which has their marks."""
    lines = [_QUOTED.sub("", line, count=1) for line in lines]
    filled = [line for line in lines if line.strip() and not _RULE.match(line)]
    if entries := _in_table(filled, rest):
        return _Content(entries, is_whole=True)
    if any(map(_LABELED.match, filled)):
        return _labeled(lines)
    items = list(filter(None, map(_BULLET.match, filled)))
    if items:
        texts = [item["text"] for item in items]
        return _Content(_by_place(texts), is_whole=len(items) == len(filled))
    return _Content(_by_place(_paragraphs(lines)), is_whole=False)


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Return the paragraphs among lines; the lines of one in which each has an address."""
    text = "\n".join(lines)
    paragraphs = re.split(r"\n\s*\n", text.strip())
    if len(paragraphs) == 1:
        filled = list(filter(str.strip, lines))
        if all(map(addresses_in, filled)):
            paragraphs = filled
    joined = map(_in_one_line, paragraphs)
    return list(filter(None, joined))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _in_table(lines: Sequence[str], rest: str) -> list[ListedSource]:
    """Return the entries of a table with a column of their labels; none if the lines are no such
    table."""
    if len(lines) < 3 or not _TABLE_RULE.match(lines[1]):
        return []
    rows = list[list[str]]()
    for line in lines[2:]:
        row = line.strip()
        if not row.startswith("|"):
            return []
        cells = row.removeprefix("|").removesuffix("|").split("|")
        rows.append(list(map(str.strip, cells)))
    column = _labels_among(
        [*zip(*rows, strict=False)],
        _labels_cited(rest),
    )
    if column is None:
        return []
    entries = list[ListedSource]()
    for cells in rows:
        label = cells.pop(column)
        entry = ListedSource(
            label.strip(_AROUND_LABELS),
            " ".join(filter(None, cells)),
        )
        entries.append(entry)
    return entries


_AROUND_LABELS = "[]^*"


def _labels_cited(text: str) -> set[str]:
    """Return what marks name, and what else stands in square brackets, as `[S1, S2]`."""
    cited = set[str]()
    for mark in marks(text):
        cited.update(mark.names)
    for content in _CONTENT.findall(text):
        for part in re.split(r"[,;]", content):
            cited.add(part.strip(" ^"))
    return cited


def _labels_among(
    columns: Sequence[Sequence[str]],
    cited: set[str],
) -> int | None:
    """Return the place of the column of labels: of those whose cells can be labels and are all
    different, that which marks name most; the first one may have labels that none names."""
    named: dict[int, int] = {}
    for place, column in enumerate(columns):
        labels = {cell.strip(_AROUND_LABELS) for cell in column}
        are_different = len(labels) == len(column)
        if are_different and all(map(_LABEL_IN_CELL.fullmatch, labels)):
            named[place] = len(labels & cited)
    if not named:
        return None
    best = max(named, key=lambda place: named[place])
    if best and not named[best]:
        return None
    return best


def _by_place(texts: Sequence[str]) -> list[ListedSource]:
    entries = list[ListedSource]()
    for place, text in enumerate(texts, 1):
        entries.append(ListedSource(str(place), text, is_labeled=False))
    return entries


def _labeled(lines: Sequence[str]) -> _Content:
    entries = list[ListedSource]()
    is_whole = True
    after_blank = False
    for line in lines:
        text = line.strip()
        if match := _LABELED.match(line):
            entry = ListedSource(_label(match), match["text"].strip(" |"))
            entries.append(entry)
        elif not text or _RULE.match(line) or text.startswith(("|", "#")):
            after_blank = True
            continue
        elif entries and (not after_blank or line[0].isspace()):  # the rest of the last entry
            entries[-1] = entries[-1].with_more(text)
        else:
            is_whole = False
        after_blank = False
    labels = {entry.label for entry in entries}
    if len(labels) == 1 < len(entries):  # Markdown numbers a list by itself: "1. a", "1. b"
        numbered = _by_place([entry.text for entry in entries])
        entries = [entry._replace(is_labeled=True) for entry in numbered]
    return _Content(entries, is_whole)


def _label(match: re.Match[str]) -> str:
    names = ("square", "mark", "number", "round", "wide", "raised", "caret", "cell", "word")
    label: str = next(filter(None, map(match.group, names)))
    plain = label.translate(_RAISED)
    if plain.isdecimal():
        return str(int(plain))
    return plain


def _are_cited(entries: Sequence[ListedSource], rest: str) -> bool:
    """Return whether marks in the rest of a report name most of these entries, which are places of
    texts and not steps of a list."""
    labeled = [entry for entry in entries if entry.is_labeled]
    placed = sum(bool(addresses_in(one.text) or _FILE.search(one.text)) for one in labeled)
    return _are_named(entries, rest) and 2 * placed >= len(entries)


def _are_named(entries: Sequence[ListedSource], rest: str) -> bool:
    """Return whether marks name at least half of these entries."""
    cited = set(chain.from_iterable(mark.names for mark in marks(rest)))
    named = sum(entry.label in cited for entry in entries if entry.is_labeled)
    return bool(entries) and 2 * named >= len(entries)


def _without_last_list(lines: Sequence[str]) -> tuple[list[str], list[ListedSource]]:
    """Return a report without the list of sources that it ends with and that has no heading."""
    kept = _without_end(lines)
    start = len(kept)
    while start and kept[start - 1].strip() and not _ATX.match(kept[start - 1]):
        start -= 1
    rest = "\n".join(kept[:start])
    content = _content(kept[start:], rest)
    # what begins as the marks do is no step of a list, whether it has an address or not
    bracketed = all(map(_BRACKETED.match, kept[start:])) and _are_named(content.entries, rest)
    if content.is_whole and (bracketed or _are_cited(content.entries, rest)):
        return _without_end(kept[:start]), content.entries
    return list(lines), []


def _without_end(lines: Sequence[str]) -> list[str]:
    """Return lines without the blank ones and the rules that they end with."""
    kept = list(lines)
    while kept and (not kept[-1].strip() or _RULE.match(kept[-1])):
        kept.pop()
    return kept
