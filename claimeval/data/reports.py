"""Read a report with citations and a folder of its sources as one sample. Nothing is fetched.

A source is found by its address, else by its title or file name in the entry, else by the number
that its file name begins with.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

from claimeval.data.report_lists import without_lists
from claimeval.data.report_marks import NumberedReport, links_in, numbered
from claimeval.data.report_pages import markdown_of
from claimeval.data.source_files import (
    KINDS,
    PAGES,
    SourceFile,
    address_key,
    addresses_in,
    read_source,
    text_of,
)
from claimeval.lexical.citations import marks, name_key
from claimeval.lexical.languages import is_foreign
from claimeval.lexical.words import is_unspaced_script
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import REPORT, Document, Record, Sample

_TITLE = re.compile(r"(?m)^#\s+(.+)$")
LEAST_TITLE = 12
"""Characters of a title that is looked for in the entries of a list: a short one is in many. A
character of Chinese counts as two."""


class SourceFindings(Record):
    """What is known of the sources of a report without a call."""

    file: str
    sources: int
    """Files that were read."""
    cited: int = 0
    """Sources that the report cites; several entries and links may lead to one."""
    absent: tuple[str, ...] = ()
    """Cited entries and links without a file."""
    unreadable: tuple[str, ...] = ()
    """Files with fewer than 200 characters of text."""
    never_cited: tuple[str, ...] = ()
    """Entries of the list that no mark names."""
    unresolved: tuple[str, ...] = ()
    """Marks without an entry."""
    foreign: tuple[str, ...] = ()
    """Cited files in another language than the report. Their passages are found by names and
    numbers, so of a long one the passage that supports a claim may not be shown to the judges."""

    @property
    def in_words(self) -> str:
        """The findings as sentences."""
        told = "No citation was found in the report"
        if self.cited or self.unresolved:
            told = _count(self.cited, "source is cited", "sources are cited")
        told += f", {_count(self.sources, 'file was read', 'files were read')}"
        lists = (
            ("Not in the folder", self.absent),
            ("Nothing readable", self.unreadable),
            ("No entry", self.unresolved),
            ("Never cited", self.never_cited),
            ("In another language than the report", self.foreign),
        )
        return ". ".join(
            [told, *(f"{words}: {'; '.join(names)}" for words, names in lists if names)]
        )


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def read_report(report: Path, folder: Path, names: Path | None = None) -> Sample:
    """Return the report as a sample, whose contexts are its sources.

    Args:
        report: The report: .md, .markdown, .txt, .html or .htm.
        folder: The folder of its sources: .html, .htm, .pdf, .txt and .md.
        names: A table of `file` and `url` (or `title`), for sources that do not say their address.

    Raises:
        UsageError: Something is no report or no folder, or a package for a source is missing.
        DataError: A file cannot be read.
    """
    text = _report_text(report)
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; give the folder of the sources")
    known = {} if names is None else _names(names)
    sources = [_with_names(source, known) for source in _sources(folder, report)]
    listed = numbered(without_lists(text), _called(sources))
    links = {link: _find("", link, sources) for link in links_in(listed.body)}
    used = _used(listed.body, links)
    found = _found(listed, used, sources)
    by_host = _by_host((*links, *listed.entries.values()), sources)
    links = {link: name or by_host.get(link) for link, name in links.items()}
    found = {
        label: name or by_host.get(listed.entries.get(label, "")) for label, name in found.items()
    }
    cited = {name for name in chain(found.values(), links.values()) if name}
    sources = [one for one in sources if _kind(one) in KINDS or one.name in cited]
    findings = _findings(report, sources, listed, found, links, used)
    ids = {name: link for link, name in reversed(links.items()) if name}
    question = report.stem
    if title := _TITLE.search(listed.body):
        question = title[1].strip()
    return Sample(
        id=report.stem,
        question=question,
        answer=listed.body.strip(),
        contexts=[_context(source, ids) for source in sources],
        sources=_places(found, used, listed, ids),
        metadata={REPORT: findings.model_dump(mode="json")},
    )


def _found(
    listed: NumberedReport, used: Sequence[str], sources: Sequence[SourceFile]
) -> dict[str, str | None]:
    """Return the file of each entry; without a list, of each mark that has one.

    Numbers of files are looked at last, among the files that no entry names: in a folder with
    3-phase-motors.txt, entry 3 may be another source.
    """
    found = {label: _find(label, entry, sources) for label, entry in listed.entries.items()}
    rest = [source for source in sources if source.name not in found.values()]
    for label, name in found.items():
        if name or label in listed.shown:
            continue
        if addresses_in(listed.entries[label]):
            # no file has this address: it is none of the files that have another one
            found[label] = _by_number(label, [one for one in rest if not one.addresses], sources)
        else:
            found[label] = _by_number(label, rest, rest)
    if listed.entries:
        return found
    return {label: name for label in used if (name := _by_number(label, sources, sources))}


def _by_host(cited: Sequence[str], sources: Sequence[SourceFile]) -> dict[str, str]:
    """Return the file that is named by the host alone of each cited entry or link, if no other page
    of that host is cited."""
    pages: dict[str, set[str]] = {}
    for address in chain.from_iterable(map(addresses_in, cited)):
        key = address_key(address)
        pages.setdefault(key.partition("/")[0], set()).add(key)
    files: dict[str, str] = {}
    for source in sources:
        name = PurePosixPath(source.name).stem.casefold().removeprefix("www.")
        if len(pages.get(name, ())) == 1 and not source.addresses:
            files[name] = source.name
    found: dict[str, str] = {}
    for one in cited:
        hosts = {address_key(address).partition("/")[0] for address in addresses_in(one)}
        file = files.get(hosts.pop()) if len(hosts) == 1 else None
        if file:
            found[one] = file
    return found


def _findings(
    report: Path,
    sources: Sequence[SourceFile],
    listed: NumberedReport,
    found: Mapping[str, str | None],
    links: Mapping[str, str | None],
    used: Sequence[str],
) -> SourceFindings:
    cited = [label for label in found if label in used]
    absent = [_shown(listed, label) for label in cited if not found[label]]
    absent += [link for link, name in links.items() if not name]
    return SourceFindings(
        file=report.name,
        sources=sum(one.is_readable for one in sources),
        cited=len(_distinct(cited, found) | _distinct(links, links)),
        absent=tuple(dict.fromkeys(absent)),
        unreadable=tuple(one.name for one in sources if not one.is_readable),
        never_cited=tuple(
            listed.shown.get(label, f"[{label}]") for label in found if label not in used
        ),
        foreign=tuple(
            source.name
            for source in sources
            if source.name in {*found.values(), *links.values()}
            and is_foreign(source.text, listed.body)
        ),
        unresolved=tuple(
            listed.shown.get(label, f"[{label}]") for label in used if label not in found
        ),
    )


def _distinct(names: Iterable[str], files: Mapping[str, str | None]) -> set[str]:
    """Return the files of entries or links; what has none stands for itself."""
    distinct = set[str]()
    for name in names:
        distinct.add(files[name] or name)
    return distinct


def _shown(listed: NumberedReport, label: str) -> str:
    """Return how an entry is named: what stands in the text, else its number and the entry."""
    return listed.shown.get(label, f"[{label}] {listed.entries[label]}")


def _context(source: SourceFile, ids: Mapping[str, str]) -> Document:
    """Return a source as a context. One that cannot be read has neither text nor title, so that
    nothing is judged against it."""
    name = ids.get(source.name, source.name)
    if not source.is_readable:
        return Document(id=name, text="")
    return Document(id=name, text=source.text, title=source.title)


def _places(
    found: Mapping[str, str | None],
    used: Sequence[str],
    listed: NumberedReport,
    ids: Mapping[str, str],
) -> tuple[str, ...]:
    """Return what `[1]`, `[2]`, ... stand for; empty for a number without an entry, which is no
    place of a context."""
    highest = max(map(int, found), default=min(1, len(used)))
    places = list[str]()
    for number in range(1, highest + 1):
        label = str(number)
        name = found.get(label)
        if name:
            places.append(ids.get(name, name))
        else:
            places.append(_shown(listed, label) if label in listed.entries else "")
    return tuple(places)


def _used(body: str, links: Mapping[str, str | None]) -> list[str]:
    """Return the numbers that marks name, each once."""
    named = chain.from_iterable(mark.names for mark in marks(body, set(map(name_key, links))))
    return list(dict.fromkeys(name for name in named if name.isdecimal()))


def _find(label: str, entry: str, sources: Sequence[SourceFile]) -> str | None:
    """Return the name of the source that an entry or a link is about; None if it is not there."""
    addresses = {address_key(one) for one in addresses_in(entry)}
    written = f" {' '.join(entry.casefold().split())} "
    saved = set(map(_letters, addresses))
    for source in sources:
        keys = {address_key(one) for one in source.addresses}
        if (
            addresses & keys
            or saved & _saved_names(source)
            or any(_is_written(key, written) for key in keys - {""})
        ):
            return source.name
    words = _words(entry)
    lengths = {source.name: _longest_name(source, words) for source in sources}
    longest = max(lengths.values(), default=0)
    named = [source for source in sources if longest and lengths[source.name] == longest]
    if not named:
        return None
    return _by_number(label, named, named) or _first_readable(named)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _saved_names(source: SourceFile) -> set[str]:
    """Return the letters of an address as a program may have named the file after it, such as
    `example.org/tower.html` and `example.org_tower.pdf`."""
    path = PurePosixPath(source.name)
    names = {source.name, path.with_suffix("").as_posix(), path.name, path.stem}
    # a name without the dot of a host may be that of anything
    return {_letters(address_key(f"https://{name}")) for name in names if "." in name}


def _is_written(address: str, entry: str) -> bool:
    """Return whether an address stands in an entry without its scheme, as in "Height,
    example.org/height."."""
    before, found, after = entry.partition(address)
    return bool(found) and "/" in address and before[-1] in " (<" and after[0] in " .,;)>"


def _longest_name(source: SourceFile, words: str) -> int:
    """Return the length of the longest name of a source that is in the words of an entry."""
    titles = [title for title in map(_words, _titles(source)) if _weight(title) >= LEAST_TITLE]
    longest = len(words) if words == _words(_stem(source)) else 0
    for name in (_words(_file(source)), *titles):
        # Chinese has no spaces around a name; elsewhere "art" would be found in "start".
        found = name in words if is_unspaced_script(name) else f" {name} " in f" {words} "
        if found:
            longest = max(longest, len(name))
    return longest


def _titles(source: SourceFile) -> tuple[str, ...]:
    return tuple(filter(None, (source.title, *source.other_titles)))


def _words(text: str) -> str:
    """Return the words of a text alone, in lower case."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"[^\W_]+", plain))


def _weight(title: str) -> int:
    return sum(2 if is_unspaced_script(letter) else 1 for letter in title)


def _by_number(
    label: str, sources: Sequence[SourceFile], among: Sequence[SourceFile]
) -> str | None:
    """Return the source whose file name begins with a number; None if most files of those that it
    is among do not begin with one."""
    have_numbers = sum(_file(source)[:1].isdecimal() for source in among)
    if not label.isdecimal() or 2 * have_numbers <= len(among):
        return None
    begins = re.compile(rf"0*{label}(?!\d)")
    named = [source for source in sources if begins.match(_file(source))]
    return _first_readable(named) if named else None


def _first_readable(sources: Sequence[SourceFile]) -> str:
    return next((one.name for one in sources if one.is_readable), sources[0].name)


def _called(sources: Sequence[SourceFile]) -> frozenset[str]:
    """Return what sources are called, as marks may name them."""
    titles = chain.from_iterable(map(_titles, sources))
    long = [title for title in titles if _weight(title) >= LEAST_TITLE]
    files = [*map(_file, sources), *(one.name for one in sources)]
    stems = [stem for stem in map(_stem, sources) if not stem.isdecimal()]
    return frozenset(map(name_key, (*files, *stems, *long)))


def _file(source: SourceFile) -> str:
    return PurePosixPath(source.name).name


def _stem(source: SourceFile) -> str:
    return PurePosixPath(source.name).stem


def _kind(source: SourceFile) -> str:
    return PurePosixPath(source.name).suffix.lower()


def _names(table: Path) -> dict[str, tuple[str, ...]]:
    """Return the names of files in a table: their addresses and titles."""
    with table.open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    if not rows or "file" not in rows[0]:
        raise DataError(
            f"{table} needs the columns file and url, as in `03-report.pdf,https://...`"
        )
    return {
        str(row["file"]): tuple(filter(None, (row.get("url"), row.get("title")))) for row in rows
    }


def _with_names(source: SourceFile, known: Mapping[str, Sequence[str]]) -> SourceFile:
    """Return a source with the address and title that a table gives its file."""
    given = known.get(source.name, ())
    addresses = [name for name in given if addresses_in(name)]
    titles = [name for name in given if name not in addresses]
    return source._replace(
        title=next(iter(titles), source.title),
        other_titles=(*titles, *_titles(source)),
        addresses=(*source.addresses, *addresses),
    )


def _report_text(report: Path) -> str:
    if not report.is_file():
        raise DataError(f"{report} does not exist")
    if report.suffix.lower() in PAGES:
        return markdown_of(report.read_bytes())
    return text_of(report)


def _sources(folder: Path, report: Path) -> Iterator[SourceFile]:
    """Yield the files of a folder; those of another kind have no text."""
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        is_hidden = any(part.startswith(".") for part in PurePosixPath(name).parts)
        if file.is_file() and not is_hidden and file.resolve() != report.resolve():
            yield read_source(file, name)
