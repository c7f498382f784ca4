"""The marks of a report, all as numbers of entries: `[^smith]`, `[[1]](https://...)`,
`(Smith, 2020)`, `[a.pdf]` and written addresses become `[1]`.

Links with a text of their own stay, since the text is part of the sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from claimeval.data.report_lists import ListedSource, ReportParts
from claimeval.data.source_files import address_key, addresses_in, without_end
from claimeval.lexical.citations import marks, name_key

_TARGET = r"<?(https?://(?:[^\s()<>]|\([^\s()]*\))+)>?(?:\s\"[^\"\n]*\")?\)"
"""Where a link leads; an address may have brackets, as https://example.org/Bern_(city)."""
_LINK = re.compile(rf"(?<!!)\[([^\[\]\n]+)\]\({_TARGET}")
_NUMBERED_LINK = re.compile(rf"\[{{1,2}}\^?(\d{{1,3}})\]{{1,2}}\({_TARGET}")
_TO_A_FILE = re.compile(
    r"(?<!!)\[([^\[\]\n]+)\]\(<?(?!https?:)([^()<>\n]+?)>?(?:\s\"[^\"\n]*\")?\)"
)
_WITHIN = re.compile(r"\[{1,2}\^?(\d{1,3})\]{1,2}\(#[^()\s]*\)")
"""A mark that leads to its entry in the same text."""
_ESCAPED = re.compile(r"\\\[(\^?\d[\d\s,;–-]*)\\\]")
_FROM_TO = re.compile(r"\[(\d{1,3})\]\s?[–-]\s?\[(\d{1,3})\](?!\()")
_NOTE_WITHIN = re.compile(r"\^\[([^\[\]\n]+)\]")
_BRACKETS = re.compile(r"(?<![!\]])\[([^\[\]\n]{1,80})\](?:\[([^\[\]\n]{1,80})\])?(?![(\[])")
_FOOTNOTE_NAME = re.compile(r"\^(?!\d+$)[\w.-]+")
_NUMBERS = re.compile(r"[\d\s,;^]+")
_WRITTEN = re.compile(
    r"(?<!\])(?<!\]\()(?<!\]\(<)(?P<open>[(<（]?)(?P<address>https?://[^\s<>\[\]，。；、（）】]+)>?"
)
_FILE = r"[\w./ -]*\w\.(?:pdf|docx?|html?|txt|md|csv|xlsx?|pptx?)"
_FILE_IN_BRACKETS = re.compile(
    rf"(?<![\w`\]])[\[(（](?P<name>{_FILE})(?:#\S*?)?(?:,? (?:pp?\.|pages?) ?[\d–-]+)?[\])）]"
    r"(?!\()",
    re.I,
)
_YEARS = r"(?:1[5-9]|20)\d\d[a-z]?"
_AUTHOR = r"[^\W\d_][\w’'-]+"
_IN_BRACKETS = re.compile(
    rf"(?:see |e\.g\.,? |cf\. )?(?P<author>{_AUTHOR})"
    r"(?P<others>,? (?:et al\.?|and|&|und|y|et)[^;\d]*)?"
    rf",? (?P<year>{_YEARS})(?P<page>,? pp?\. ?[\d–-]+)?"
)
_ROUND = re.compile(r"\(([^()\n]{6,200})\)")
_IN_TEXT = re.compile(
    rf"\b(?P<author>{_AUTHOR})(?P<others>(?: et al\.?| (?:and|&|und) {_AUTHOR})?) "
    rf"\((?P<year>{_YEARS})\)"
)
_AUTHOR_OF_ENTRY = re.compile(rf"\W*({_AUTHOR})")
_YEAR_OF_ENTRY = re.compile(rf"\b({_YEARS})\b")


class NumberedReport(NamedTuple):
    """A report whose marks are numbers."""

    body: str
    entries: dict[str, str]
    """The text of each entry by its number."""
    shown: dict[str, str]
    """What stands in the report where a number stands now: a name, an address."""


def numbered(parts: ReportParts, names: Collection[str]) -> NumberedReport:
    """Return a report with numbers for its marks.

    Args:
        parts: The report and its entries.
        names: What the sources are called, as `name_key` writes it.
    """
    labels = _Labels(parts)
    body = _ESCAPED.sub(r"[\1]", parts.body)
    body = _FROM_TO.sub(r"[\1-\2]", body)
    body = _WITHIN.sub(r"[\1]", body)
    body = _NUMBERED_LINK.sub(lambda link: labels.of_link(link[1], link[2]), body)
    body = _NOTE_WITHIN.sub(lambda note: labels.mark([labels.add(note[1])]), body)
    body = _BRACKETS.sub(labels.of_brackets, body)
    body = _LINK.sub(labels.of_titled, body)
    body = _TO_A_FILE.sub(labels.of_file, body)
    body = _WRITTEN.sub(labels.of_written, body)
    body = _FILE_IN_BRACKETS.sub(lambda mark: labels.mark([labels.add(mark["name"])]), body)
    body = _with_names(body, names, labels)
    body = _with_authors(body, parts, labels)
    return NumberedReport(body, labels.entries, labels.shown)


def links_in(body: str) -> list[str]:
    """Return the addresses of links with a text of their own, each once."""
    addresses = [link[2] for link in _LINK.finditer(body)]
    return list(dict.fromkeys(addresses))


class _Labels:
    """The numbers of the entries of a report; what is no number gets the next one."""

    def __init__(self, parts: ReportParts) -> None:
        self.entries: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._added: dict[str, str] = {}
        self._pages: dict[str, str] = {}
        self._last = _highest(parts)
        for entry in parts.entries:
            self._read(entry)

    def _read(self, entry: ListedSource) -> None:
        label = entry.label.casefold()
        if label.isdecimal():
            label = str(int(label))
        if label in self._numbers:
            return
        number = label
        if not label.isdecimal():
            number = self._next()
            self.shown[number] = f"[{entry.label}] {entry.text}"
        self._numbers[label] = number
        self.entries[number] = entry.text

    def _next(self) -> str:
        self._last += 1
        return str(self._last)

    def add(self, text: str) -> str:
        """Return the number of an entry with this text, or of a new one."""
        key = name_key(text)
        if addresses_in(text) == [text]:
            key = address_key(text)
        if key not in self._added:
            self._add(self._next(), key, text)
        return self._added[key]

    def _add(self, number: str, key: str, text: str) -> None:
        self._added[key] = number
        self.entries[number] = text
        self.shown[number] = text

    @staticmethod
    def mark(numbers: Iterable[str]) -> str:
        """Return the mark of entries."""
        return f"[{', '.join(dict.fromkeys(numbers))}]"

    def of_link(self, label: str, address: str) -> str:
        """Return the mark of `[1](https://...)`: the link is its own entry if the list has none,
        and if this number leads elsewhere here."""
        number = str(int(label))
        if number in self._numbers:
            return self.mark([number])
        key = address_key(address)
        if number not in self.entries and key not in self._added:
            self._add(number, key, address)
        return self.mark([self.add(address)])

    def of_brackets(self, match: re.Match[str]) -> str:
        """Return the mark of `[^smith]`, `[S1, S2]` or `[text][smith]`."""
        text = match[1]
        label = match[2] or ""
        known = self._numbers.get(label.casefold())
        numbers = self._known(text)
        if known and not numbers:
            return f"{text} {self.mark([known])}"
        if _FOOTNOTE_NAME.fullmatch(text) and not numbers:
            numbers = [self.without_entry(f"[{text}]", text[1:])]
        if not numbers or _NUMBERS.fullmatch(text):
            return match[0]
        sign = "^" if text.startswith("^") else ""
        rest = f"[{label}]" if label else ""
        return f"[{sign}{', '.join(numbers)}]{rest}"

    def without_entry(self, shown: str, label: str | None = None) -> str:
        """Return the number of a mark that has no entry."""
        key = (label or shown).casefold()
        if key not in self._numbers:
            self._numbers[key] = self._next()
            self.shown[self._numbers[key]] = shown
        return self._numbers[key]

    def _known(self, text: str) -> list[str]:
        """Return the numbers of labels in brackets; none if one of them is no label."""
        numbers = list[str]()
        for part in re.split(r"[,;]", text):
            label = part.strip(" ^").casefold()
            if label not in self._numbers:
                return []
            numbers.append(self._numbers[label])
        return numbers

    def of_titled(self, match: re.Match[str]) -> str:
        """Return a link with one address for each page, without brackets in it."""
        key = address_key(match[2])
        without_brackets = match[2].replace("(", "%28").replace(")", "%29")
        address = self._pages.setdefault(key, without_brackets)
        return f"[{match[1]}]({address})"

    def of_file(self, match: re.Match[str]) -> str:
        """Return the text of a link to a file, with its mark; to a heading or to a page of the same
        place, the text alone."""
        target = unquote(match[2])
        file = target.rpartition("/")[2].partition("#")[0]
        leads_elsewhere = target.startswith(("/", "mailto:"))
        if leads_elsewhere or not _names_a_file(file):
            return match[1]
        mark = self.mark([self.add(file)])
        return f"{match[1]} {mark}"

    def of_written(self, match: re.Match[str]) -> str:
        """Return the mark of an address that is written in the text."""
        written = match["address"]
        address = without_end(written)
        rest = written[len(address) :]
        mark = self.mark([self.add(address)])
        opened = match["open"].strip("<")
        if opened == "(" and rest.startswith(")"):
            return f"{mark}{rest[1:]}"
        return f"{opened}{mark}{rest}"


def _highest(parts: ReportParts) -> int:
    """Return the highest number of an entry or a mark."""
    labels = [entry.label for entry in parts.entries]
    for mark in marks(parts.body):
        labels += mark.names
    decimals = filter(str.isdecimal, labels)
    return max(map(int, decimals), default=0)


def _names_a_file(name: str) -> bool:
    return re.fullmatch(_FILE, name, re.IGNORECASE) is not None


def _with_names(body: str, names: Collection[str], labels: _Labels) -> str:
    """Return a report with numbers for marks that name a title or a file, as `(a.pdf, p. 3)`."""
    parts = list[str]()
    at = 0
    for mark in marks(body, names):
        text = body[mark.start : mark.end]
        if not _is_to_be_numbered(text, mark.names, names):
            continue
        numbers = [name if name.isdecimal() else labels.add(name) for name in mark.names]
        blank = text[: len(text) - len(text.lstrip())]
        parts += [
            body[at : mark.start],
            blank,
            labels.mark(numbers),
        ]
        at = mark.end
    parts.append(body[at:])
    return "".join(parts)


def _is_to_be_numbered(text: str, cited: Sequence[str], names: Collection[str]) -> bool:
    """Return whether a mark is a raised number or names sources and files alone."""
    if "](" in text:  # a link with a text of its own
        return False
    if text.lstrip().startswith("<sup>"):
        return True
    written = [name for name in cited if not name.isdecimal()]
    known = [name for name in written if name_key(name) in names or _names_a_file(name)]
    return bool(written) and known == written


def _with_authors(body: str, parts: ReportParts, labels: _Labels) -> str:
    """Return a report with numbers for `(Smith, 2020)` and `Smith (2020)`, where an entry begins
    with this name and has this year."""
    authors = _Authors(parts, labels)
    if not authors.numbers:
        return body
    authors.count(body)
    body = _ROUND.sub(authors.in_brackets, body)
    return _IN_TEXT.sub(authors.in_text, body)


class _Authors:
    """The entries of a list by the name that they begin with and their year."""

    def __init__(self, parts: ReportParts, labels: _Labels) -> None:
        self._labels = labels
        self.numbers: dict[tuple[str, str], str] = {}
        for entry in parts.entries:
            author = _AUTHOR_OF_ENTRY.match(entry.text)
            year = _YEAR_OF_ENTRY.search(entry.text)
            if author and year and entry.label.isdecimal():
                key = (_plain(author[1]), year[1])
                self.numbers.setdefault(key, str(int(entry.label)))

        self._names = {name for name, _ in self.numbers}
        is_numbered = any(entry.is_labeled for entry in parts.entries)
        self._are_marks = not is_numbered and len(self.numbers) == len(parts.entries)
        """Whether all entries are cited by author and year."""

    def count(self, body: str) -> None:
        """Look whether most of what has the form of such a mark has an entry: else they are places
        and years."""
        known = unknown = 0
        for match in _ROUND.finditer(body):
            for part in match[1].split(";"):
                if read := _IN_BRACKETS.fullmatch(part.strip()):
                    has_entry = self._number(read) is not None
                    known += has_entry
                    unknown += not has_entry
        self._are_marks = self._are_marks and known > max(1, unknown)

    def _number(self, match: re.Match[str] | None) -> str | None:
        if match is None:
            return None
        key = (_plain(match["author"]), match["year"])
        return self.numbers.get(key)

    def _lost(self, text: str, match: re.Match[str] | None, *, beside_an_entry: bool) -> str | None:
        """Return the number of a mark that has no entry; None if it is no mark.

        It is one where other marks are such if it stands beside an entry, or names an author: one
        of the list, or with others or a page. A name and a year alone may be a place, as
        `(London, 2012)` is.
        """
        if match is None or not self._are_marks or "," not in text:
            return None
        is_author = _plain(match["author"]) in self._names or match["others"] or match["page"]
        return self._labels.without_entry(f"({text})") if beside_an_entry or is_author else None

    def in_brackets(self, match: re.Match[str]) -> str:
        """Return the mark of `(Smith, 2020; Jones, 2019)` if all of them are entries, or have none
        where other marks are such."""
        texts = [part.strip() for part in match[1].split(";")]
        read = [_IN_BRACKETS.fullmatch(text) for text in texts]
        known = list(map(self._number, read))
        beside_an_entry = any(number is not None for number in known)
        numbers = list[str]()
        for text, part, number in zip(texts, read, known, strict=True):
            if number is None:
                number = self._lost(text, part, beside_an_entry=beside_an_entry)
            if number is None:
                return match[0]
            numbers.append(number)
        return self._labels.mark(numbers)

    def in_text(self, match: re.Match[str]) -> str:
        """Return "Smith [1]" for "Smith (2020)"."""
        number = self._number(match)
        if number is None:
            return match[0]
        mark = self._labels.mark([number])
        return f"{match['author']}{match['others']} {mark}"


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())
