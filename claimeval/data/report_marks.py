"""The marks of a report, all as numbers of entries: `[^smith]`, `[[1]](https://...)`,
`(Smith, 2020)`, `[a.pdf]` and written addresses become `[1]`.

Links with a text of their own stay, since the text is part of the sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
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
_NUMBERED_FILE = re.compile(
    r"\[{1,2}\^?(\d{1,3})\]{1,2}\(<?(?!https?:)([^()<>\n]+?)>?(?:\s\"[^\"\n]*\")?\)"
)
_WITHIN = re.compile(r"\[{1,2}\^?(\d{1,3})\]{1,2}\(#[^()\s]*\)")
"""A mark that leads to its entry in the same text."""
_ESCAPED = re.compile(r"\\\[(\^?\d[\d\s,;–-]*)\\\]")
_FROM_TO = re.compile(r"\[(\d{1,3})\]\s?[–-]\s?\[(\d{1,3})\](?!\()")
_NOTE_WITHIN = re.compile(r"\^\[([^\[\]\n]+)\]")
_BRACKETS = re.compile(r"(?<![!\]])\[([^\[\]\n]{1,80})\](?:\[([^\[\]\n]{1,80})\])?(?![(\[])")
_ROUND_NUMBERS = re.compile(
    r"(?<=[^\W_]|[”’\"'%)])"
    r"\s\("
    r"(\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*)"
    r"\)"
    r"(?=\s*(?:[.,;:!?)]|\n|\Z))"
)
"""Numbers in round brackets at the end of a clause; an enumeration, "(1) the dam", begins one."""
_NAMED = re.compile(r"\[([^\[\]\n]{0,200}\([^\[\]\n]{1,200})\](?!\()")
"""A name with round brackets in it, as in `[report (final).pdf]`."""
_KEYS = re.compile(r"\[(-?@[^\[\]\n]{1,200})\](?!\()")
"""Keys of a bibliography, as in `[@smith2020, p. 4; @lind2019]`."""
_KEY = re.compile(r"\s*(?:[\w.]+\s)?-?@([\w:.#/+-]*\w)(?:,\s.*)?")
_FOOTNOTE_NAME = re.compile(r"\^(?!\d+$)[\w.-]+")
_NUMBERS = re.compile(r"[\d\s,;^]+")
_WRITTEN = re.compile(
    r"(?<!\])(?<!\]\()(?<!\]\(<)(?P<open>[(<（]?)(?P<address>https?://[^\s<>\[\]，。；、（）】]+)>?"
)
_FILE = r"[\w./ -]*\w\.(?:pdf|docx?|html?|txt|md|csv|xlsx?|pptx?)"
_FILE_IN_BRACKETS = re.compile(
    r"(?<![\w`\]])[\[(（](?:(?:see|cf\.|e\.g\.,?|vgl\.|siehe|voir|ver)\s)?"
    rf"(?P<name>{_FILE})(?:#\S*?)?(?:,? (?:pp?\.|pages?) ?[\d–-]+)?[\])）](?!\()",
    re.IGNORECASE,
)
_LEAST_YEAR = 1000
_SAME_AS_BEFORE = re.compile(
    r"\W*(?:"
    r"ib[ií]d(?:em)?"
    r"|ebd|ebenda"
    r"|там\sже"
    r")\b",
    re.IGNORECASE,
)
"""A note that names the source of the one before it."""
_YEARS = (
    r"(?:"
    r"(?:1[5-9]|20)\d\d[a-z]?"
    r"|n\.\s?d\."
    r"|o\.\s?J\."
    r"|s\.\s?[adf]\."
    r")"
)
"""A year, or that there is none."""
_AUTHOR = r"[^\W\d_][\w.’'-]+"
_AUTHORS = rf"{_AUTHOR}(?:\s{_AUTHOR}){{0,6}}?"
"""The family name of a person, or the name of an organization."""
_IN_BRACKETS = re.compile(
    rf"(?:see |e\.g\.,? |cf\. )?(?P<author>{_AUTHORS})"
    r"(?P<others>,? (?:et al\.?|and|&|und|y|et)[^;\d]*)?"
    rf",? (?P<year>{_YEARS})(?P<page>(?:,? pp?\. ?|:\s?)[\d–-]+)?"
)
_ROUND = re.compile(r"\(([^()\n]{6,200})\)")
_IN_TEXT = re.compile(
    rf"\b(?P<author>{_AUTHORS})(?P<others>(?: et al\.?| (?:and|&|und) {_AUTHOR})?) "
    rf"\((?P<year>{_YEARS})(?P<page>(?:,? pp?\. ?|:\s?)[\d–-]+)?\)"
)
_AUTHOR_OF_ENTRY = re.compile(rf"\W*({_AUTHOR})")
_YEAR_OF_ENTRY = re.compile(rf"(?<!\w)({_YEARS})(?!\w)")


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
    body = _with_round(body, parts)
    body = _FROM_TO.sub(r"[\1-\2]", body)
    body = _WITHIN.sub(r"[\1]", body)
    body = _NUMBERED_LINK.sub(lambda link: labels.of_link(link[1], link[2]), body)
    body = _NUMBERED_FILE.sub(labels.of_numbered_file, body)
    body = _NOTE_WITHIN.sub(lambda note: labels.mark([labels.add(note[1])]), body)
    body = _BRACKETS.sub(labels.of_brackets, body)
    body = _LINK.sub(labels.of_titled, body)
    body = _TO_A_FILE.sub(labels.of_file, body)
    body = _WRITTEN.sub(labels.of_written, body)
    body = _FILE_IN_BRACKETS.sub(lambda mark: labels.mark([labels.add(mark["name"])]), body)
    body = _NAMED.sub(lambda name: labels.of_name(name, names), body)
    body = _KEYS.sub(lambda keys: labels.of_keys(keys, names), body)
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
        if not _is_number_of_mark(label):
            number = self._next()
            self.shown[number] = f"[{entry.label}] {entry.text}"
        self._numbers[label] = number
        before = next(reversed(self.entries.values()), "")
        is_same = before and _SAME_AS_BEFORE.match(entry.text)
        self.entries[number] = before if is_same else entry.text

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
            return self.mark([self._numbers[number]])
        key = address_key(address)
        if number not in self.entries and key not in self._added:
            self._add(number, key, address)
        return self.mark([self.add(address)])

    def of_brackets(self, match: re.Match[str]) -> str:
        """Return the mark of `[^smith]`, `[S1, S2]` or `[text][smith]`."""
        text = match[1]
        label = match[2] or ""
        target = self._numbers.get(label.casefold())
        numbers = self._known(text)
        if target and not numbers:
            return f"{text} {self.mark([target])}"
        if _FOOTNOTE_NAME.fullmatch(text) and not numbers:
            numbers = [self.without_entry(f"[{text}]", text[1:])]
        if set(numbers) <= _decimals(text):
            return match[0]
        sign = "^" if text.startswith("^") else ""
        rest = f"[{label}]" if label else ""
        return f"[{sign}{', '.join(numbers)}]{rest}"

    def of_name(self, match: re.Match[str], names: Collection[str]) -> str:
        """Return the mark of a name of a source."""
        if name_key(match[1]) not in names:
            return match[0]
        return self.mark([self.add(match[1])])

    def of_keys(self, match: re.Match[str], names: Collection[str]) -> str:
        """Return the mark of keys, which are labels, names of files or what an entry begins with;
        one that is none of these has no entry."""
        numbers = list[str]()
        for written in match[1].split(";"):
            key = _KEY.fullmatch(written)
            if key is None:
                return match[0]
            name = key[1]
            is_label = name.casefold() in self._numbers
            if number := self._begins(name):
                numbers.append(number)
            elif name_key(name) in names and not is_label:
                numbers.append(self.add(name))
            else:
                numbers.append(self.without_entry(f"[@{name}]", name))
        return self.mark(numbers)

    def _begins(self, key: str) -> str | None:
        """Return the number of the entry that begins with a key and a colon, as `lind2019: ...`."""
        begins = re.compile(rf"\W*{re.escape(key)}\W{{0,3}}:", re.IGNORECASE)
        for number, text in self.entries.items():
            if begins.match(text):
                return number
        return None

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

    def of_numbered_file(self, match: re.Match[str]) -> str:
        """Return the mark of `[1](sources/a.pdf)`: that of the list, else of the file."""
        number = str(int(match[1]))
        file = unquote(match[2]).rpartition("/")[2].partition("#")[0]
        if number in self._numbers:
            return self.mark([self._numbers[number]])
        if not _names_a_file(file):
            return match[0]
        key = name_key(file)
        if number not in self.entries and key not in self._added:
            self._add(number, key, file)
        return self.mark([self.add(file)])

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


def _is_number_of_mark(label: str) -> bool:
    """Return whether a label is a number that marks in any text have: 0 and years are none."""
    return label.isdecimal() and 0 < int(label) < _LEAST_YEAR


def _decimals(text: str) -> set[str]:
    """Return the numbers of a mark that has nothing else."""
    if not _NUMBERS.fullmatch(text):
        return set()
    numbers = map(int, re.findall(r"\d+", text))
    return set(map(str, numbers))


def _highest(parts: ReportParts) -> int:
    """Return the highest number of an entry or a mark."""
    labels = [entry.label for entry in parts.entries]
    for mark in marks(parts.body):
        labels += mark.names
    return max(map(int, filter(_is_number_of_mark, labels)), default=0)


def _names_a_file(name: str) -> bool:
    return re.fullmatch(_FILE, name, re.IGNORECASE) is not None


def _with_round(body: str, parts: ReportParts) -> str:
    """Return a report with `[1]` for `(1)` if such brackets name most entries of its list, and no
    other marks name any."""
    labels = {entry.label for entry in parts.entries if entry.is_labeled}
    numbers = set(filter(_is_number_of_mark, labels))
    if not numbers or numbers & _named_in(body):
        return body
    replaced = _ROUND_NUMBERS.sub(r" [\1]", body)
    named = numbers & _named_in(replaced)
    return replaced if 2 * len(named) >= len(labels) else body


def _named_in(body: str) -> set[str]:
    return set(chain.from_iterable(mark.names for mark in marks(body)))


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
    shapes = {_shape(name) for name in names}
    known = [name for name in written if _shape(name_key(name)) in shapes or _names_a_file(name)]
    return bool(written) and known == written


def _shape(name: str) -> str:
    """Return a name without its numbers, in which a made-up one may differ."""
    return re.sub(r"\d+", "0", name)


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
        self._dated: list[tuple[str, str, str]] = []
        """The text of each entry, its year and its number."""
        for entry in parts.entries:
            author = _AUTHOR_OF_ENTRY.match(entry.text)
            year = _YEAR_OF_ENTRY.search(entry.text)
            if author and year and entry.label.isdecimal():
                number = str(int(entry.label))
                key = (_plain(author[1]), _plain(year[1]))
                self.numbers.setdefault(key, number)
                self._dated.append((entry.text, _plain(year[1]), number))

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
        return self._number_of(match["author"], match["year"]) if match else None

    def _number_of(self, author: str, year: str) -> str | None:
        """Return the number of the entry of an author and a year: of one that begins with a name
        of several words, or has an abbreviation as in "[WHO]"."""
        name = _plain(author)
        written = _plain(year)
        if number := self.numbers.get((name, written)):
            return number
        short = re.compile(rf"[\[(]{re.escape(author)}[\])]")
        for text, dated, number in self._dated:
            begins = " " in author and _plain(text).startswith(name)
            if dated == written and (begins or short.search(text)):
                return number
        return None

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
        words = match["author"].split()
        # "as Statistics Norway (2020) says": the name is the last words, as many as an entry has
        names = (" ".join(words[place:]) for place in range(len(words)))
        numbers = (self._number_of(name, match["year"]) for name in names)
        number = next(filter(None, numbers), None)
        if number is None:
            return match[0]
        mark = self._labels.mark([number])
        return f"{match['author']}{match['others']} {mark}"


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())
