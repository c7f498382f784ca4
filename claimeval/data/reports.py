"""Read a report with citations and a folder of its sources as one sample. Nothing is fetched.

The report is Markdown or HTML with `[1]`, footnotes, links or a list of references. A source is
found by its address, else by its title or file name in the entry of the list, else by the number
that its file name begins with.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.types.errors import DataError, UsageError, not_installed
from claimeval.types.records import Document, Record, Sample

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LEAST = 200
"""Characters below which a source is unreadable: a wall of cookies or a scan leaves a few words."""
METADATA = "report"
KINDS = (".html", ".htm", ".pdf", ".txt", ".md")
_HEADING = re.compile(
    r"(?im)^(?:#{1,6}\s*|\*\*)?(?:references|sources|bibliography|works cited|footnotes|notes"
    r"|endnotes|quellen|quellenverzeichnis|literatur|literaturverzeichnis|références|fuentes"
    r"|referencias|fonti|bibliografia|参考文献|参考资料|来源)\b[:*\s]*$"
)
_ENTRY = re.compile(
    r"(?m)^\s{0,3}(?:[-*]\s+)?(?:\[\^?(?P<mark>[\w-]+)\]:?|(?P<number>\d{1,3})[.)])\s+(?P<text>\S.*)$"
)
_FOOTNOTE = re.compile(r"(?m)^\[\^[\w-]+\]:")
_NAMED = re.compile(r"\[\^([\w-]+)\]")
_ADDRESS = re.compile(r"https?://[^\s<>)\]\"']+")
_LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(<?(https?://\S+?)>?(?:\s+\"[^\"]*\")?\)")
_MARK = re.compile(r"\[\^?(\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*)\](?!:)")
_TITLE = re.compile(r"(?m)^#\s+(.+)$")
_TRACKING = re.compile(r"[?&](?:utm_\w+|ref|source)=[^&]*")
_BROKEN = re.compile(r"(\w)[\u00ad\ufffe-]\r?\n(\w)")
LEAST_TITLE = 12
"""Characters of a title that is looked for in the entries of a list: a short one is in many."""


class Source(NamedTuple):
    """A file of the folder."""

    name: str
    text: str
    title: str | None = None
    addresses: tuple[str, ...] = ()


class SourceFindings(Record):
    """What is known of the sources of a report without a call."""

    file: str
    sources: int
    """Files that were read."""
    cited: int = 0
    """Entries and links that the report cites."""
    absent: tuple[str, ...] = ()
    """Cited entries and links without a file."""
    unreadable: tuple[str, ...] = ()
    """Files with fewer than 200 characters of text."""
    never_cited: tuple[str, ...] = ()
    """Entries of the list that no mark names."""
    unresolved: tuple[str, ...] = ()
    """Marks without an entry."""

    @property
    def in_words(self) -> str:
        """The findings as sentences."""
        told = [f"{self.cited} sources are cited, {self.sources} files were read"]
        lists = (
            ("Not in the folder", self.absent),
            ("Nothing readable", self.unreadable),
            ("No entry", self.unresolved),
            ("Never cited", self.never_cited),
        )
        told += [f"{words}: {'; '.join(names)}" for words, names in lists if names]
        return ". ".join(told)


class _List(NamedTuple):
    """The text of a report, and the entries of its list of sources by label."""

    body: str
    entries: Mapping[str, str]


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
    listed = _numbered(_parts(text))
    found = {label: _find(label, entry, sources) for label, entry in listed.entries.items()}
    links = {link: _find("", link, sources) for link in _LINK.findall(listed.body)}
    used = _used(listed.body)
    if not listed.entries:
        found = {label: _by_number(label, sources) for label in used}
        found = {label: name for label, name in found.items() if name}
    findings = _findings(report, sources, listed, found, links, used)
    ids = {name: link for link, name in links.items() if name}
    contexts = [_context(source, ids) for source in sources]
    question = report.stem
    if title := _TITLE.search(listed.body):
        question = title[1].strip()
    return Sample(
        id=report.stem,
        question=question,
        answer=listed.body.rstrip(),
        contexts=contexts,
        sources=_places(found, listed.entries, ids),
        metadata={METADATA: findings.model_dump(mode="json")},
    )


def _findings(
    report: Path,
    sources: Sequence[Source],
    listed: _List,
    found: Mapping[str, str | None],
    links: Mapping[str, str | None],
    used: Sequence[str],
) -> SourceFindings:
    cited = [label for label in found if label in used]
    absent = [f"[{label}] {listed.entries[label]}" for label in cited if not found[label]]
    absent += [link for link, name in links.items() if not name]
    return SourceFindings(
        file=report.name,
        sources=len(sources),
        cited=len(cited) + len(links),
        absent=tuple(absent),
        unreadable=tuple(one.name for one in sources if len(one.text.strip()) < LEAST),
        never_cited=tuple(f"[{label}]" for label in found if label not in used),
        unresolved=tuple(f"[{label}]" for label in used if label not in found),
    )


def _context(source: Source, ids: Mapping[str, str]) -> Document:
    """Return a source as a context. One that cannot be read has neither text nor title, so that
    nothing is judged against it."""
    name = ids.get(source.name, source.name)
    if len(source.text.strip()) < LEAST:
        return Document(id=name, text="")
    return Document(id=name, text=source.text, title=source.title)


def _places(
    found: Mapping[str, str | None], entries: Mapping[str, str], ids: Mapping[str, str]
) -> tuple[str, ...]:
    """Return what `[1]`, `[2]`, ... stand for; empty for a number without an entry."""
    numbers = [int(label) for label in found if label.isdecimal()]
    places = list[str]()
    for number in range(1, max(numbers, default=0) + 1):
        label = str(number)
        name = found.get(label)
        if name:
            places.append(ids.get(name, name))
        else:
            places.append(f"[{label}] {entries[label]}" if label in entries else "")
    return tuple(places)


def _parts(text: str) -> _List:
    """Return the body of a report without its list of sources, and the entries of that list."""
    heads = list(_HEADING.finditer(text))
    body = text
    listing = ""
    if heads:
        body = text[: heads[-1].start()]
        listing = text[heads[-1].end() :]
    notes = [match for match in _ENTRY.finditer(body) if _FOOTNOTE.match(match[0].strip())]
    for match in reversed(notes):
        body = body[: match.start()] + body[match.end() :]
    entries = dict[str, str]()
    for match in (*notes, *_ENTRY.finditer(listing)):
        entries.setdefault(match["mark"] or match["number"], match["text"].strip())
    return _List(body, entries)


def _numbered(listed: _List) -> _List:
    """Return the report with numbers in place of footnotes that have names, as in `[^smith]`."""
    labels = [*listed.entries, *_NAMED.findall(listed.body)]
    taken = [int(label) for label in labels if label.isdecimal()]
    following = max(taken, default=0) + 1
    numbers = dict[str, str]()
    for label in labels:
        if not label.isdecimal() and label not in numbers:
            numbers[label] = str(following)
            following += 1
    body = _NAMED.sub(lambda match: f"[^{numbers.get(match[1], match[1])}]", listed.body)
    entries = {numbers.get(label, label): text for label, text in listed.entries.items()}
    return _List(body, entries)


def _used(body: str) -> list[str]:
    """Return the numbers that marks name, each once."""
    used = dict[str, None]()
    for match in _MARK.finditer(body):
        for part in re.split(r"[,;]", match[1]):
            first, *last = [int(number) for number in re.findall(r"\d+", part)]
            used |= dict.fromkeys(map(str, range(first, (last or [first])[0] + 1)))
    return list(used)


def _find(label: str, entry: str, sources: Sequence[Source]) -> str | None:
    """Return the name of the source that an entry or a link is about; None if it is not there."""
    addresses = {address_key(one) for one in _ADDRESS.findall(entry)}
    for source in sources:
        if not addresses.isdisjoint(map(address_key, source.addresses)):
            return source.name
    words = entry.casefold()
    for source in sources:
        title = (source.title or "").casefold()
        if source.name.casefold() in words or (len(title) >= LEAST_TITLE and title in words):
            return source.name
    # An address that no file has says that the source is another one, whatever its number.
    with_addresses = any(source.addresses for source in sources)
    return None if addresses and with_addresses else _by_number(label, sources)


def _by_number(label: str, sources: Sequence[Source]) -> str | None:
    if not label.isdecimal():
        return None
    begins = re.compile(rf"0*{label}(?!\d)")
    named = [source.name for source in sources if begins.match(source.name)]
    return named[0] if len(named) == 1 else None


def address_key(address: str) -> str:
    """Return an address without what does not change the page: scheme, `www.`, fragment and
    tracking."""
    plain = re.sub(r"^https?://(?:www\.)?", "", address.strip().casefold()).partition("#")[0]
    return _TRACKING.sub("", plain).rstrip("/.,;)")


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


def _with_names(source: Source, known: Mapping[str, Sequence[str]]) -> Source:
    """Return a source with the address and title that a table gives its file."""
    given = known.get(source.name, ())
    addresses = tuple(name for name in given if _ADDRESS.match(name))
    titles = [name for name in given if not _ADDRESS.match(name)]
    title = source.title
    if titles:
        title = titles[0]
    return source._replace(
        addresses=(*source.addresses, *addresses),
        title=title,
    )


def _report_text(report: Path) -> str:
    if not report.is_file():
        raise DataError(f"{report} does not exist")
    text = report.read_text(encoding="utf-8", errors="replace")
    if report.suffix.lower() in (".html", ".htm"):
        return _markdown_of(text)
    return text.replace("\r\n", "\n")


def _sources(folder: Path, report: Path) -> Iterator[Source]:
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() in KINDS and file.resolve() != report.resolve():
            yield read_source(file, file.relative_to(folder).as_posix())


def read_source(file: Path, name: str) -> Source:
    """Return a source, without text if nothing in it can be read."""
    kind = file.suffix.lower()
    if kind == ".pdf":
        return _pdf(file, name)
    text = file.read_text(encoding="utf-8", errors="replace")
    if kind in (".html", ".htm"):
        return _page(text, name)
    first = text.lstrip().partition("\n")[0]
    head = text[:400]
    said = re.search(r"(?im)^(?:source|url|address)\s*:", head)
    title = None
    if first.startswith("#"):
        title = first.lstrip("# ").strip()
    addresses = tuple[str, ...]()
    if said:
        addresses = tuple(_ADDRESS.findall(head))
    return Source(name, text, title, addresses)


def _page(content: str, name: str) -> Source:
    try:
        import trafilatura
        from lxml import html
    except ImportError as error:
        raise not_installed(f"{name} needs {error.name}", "report") from error
    text = trafilatura.extract(
        content, include_comments=False, include_tables=True, favor_recall=True
    )
    if not content.strip():
        return Source(name, "")
    tree = html.document_fromstring(content)
    titles = tree.xpath("string(//title)")
    addresses = tree.xpath("//link[@rel='canonical']/@href | //meta[@property='og:url']/@content")
    return Source(name, text or "", str(titles).strip() or None, tuple(map(str, addresses)))


def _pdf(file: Path, name: str) -> Source:
    try:
        import pypdfium2
    except ImportError as error:
        raise not_installed(f"{name} needs {error.name}", "report") from error
    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError:
        return Source(name, "")
    try:
        pages = [page.get_textpage().get_text_bounded() for page in document]
        title = document.get_metadata_value("Title") or None
    finally:
        document.close()
    joined = _BROKEN.sub(r"\1\2", "\n".join(pages))
    # Lines of a page are no sentences, and a ligature is no letter of a claim.
    text = unicodedata.normalize("NFKC", re.sub(r"\s*\r?\n\s*", " ", joined))
    return Source(name, text, title)


_BLOCKS = frozenset(("p", "li", "div", "section", "tr", "blockquote", "table", "ol", "ul", "dd"))
_UNSEEN = frozenset(("script", "style", "nav", "head", "template", "noscript"))


def _markdown_of(content: str) -> str:
    """Return the text of an HTML report with its headings, links and marks as Markdown."""
    try:
        from lxml import html
    except ImportError as error:
        raise not_installed("a report in HTML needs lxml", "report") from error
    tree = html.document_fromstring(content)
    text = "".join(_inline(tree))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _inline(element: HtmlElement) -> Iterator[str]:
    tag = element.tag if isinstance(element.tag, str) else ""
    if tag not in _UNSEEN and tag:
        yield from _opened(element, tag)
    if element.tail:
        yield re.sub(r"\s+", " ", element.tail)


def _opened(element: HtmlElement, tag: str) -> Iterator[str]:
    inner = "".join(_content(element))
    target = str(element.get("href") or "")
    plain = inner.strip().strip("[]")
    if re.fullmatch(r"h[1-6]", tag):
        yield f"\n\n{'#' * int(tag[1])} {inner.strip()}\n\n"
    elif tag == "a" and target.startswith("#") and plain.isdecimal():
        yield f"[{plain}]"
    elif tag == "a" and target.startswith(("http://", "https://")):
        yield f"[{inner.strip()}]({target})"
    elif tag == "sup" and plain.isdecimal():
        yield f"[{plain}]"
    elif tag == "li" and element.getparent().tag == "ol":
        number = element.getparent().index(element) + 1
        yield f"\n{number}. {inner.strip()}\n"
    elif tag in _BLOCKS or tag == "br":
        yield f"\n\n{inner.strip()}\n\n" if tag != "br" else "\n"
    else:
        yield inner


def _content(element: HtmlElement) -> Iterable[str]:
    if element.text:
        yield re.sub(r"\s+", " ", element.text)
    for child in element:
        yield from _inline(child)
