"""Read the files of the sources of a report: pages, PDFs and texts. Nothing is fetched."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from claimeval.data.file_formats import encoding_of
from claimeval.lexical.words import is_unspaced_script
from claimeval.types.errors import not_installed

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LEAST = 200
"""Characters below which a source is unreadable: a wall of cookies or a scan leaves a few words."""
PAGES = (".html", ".htm")
TEXTS = (".txt", ".md")
KINDS = (*PAGES, ".pdf", *TEXTS)
_TRACKING = re.compile(r"utm_\w+|ref|source|fbclid|gclid")
_ADDRESS = re.compile(r"https?://[^\s<>\[\]{}\"'`|\\，。；、（）【】「」《》]+")
_DOI = re.compile(r"\bdoi:\s?(10\.\d{4,}/[^\s<>\"']+)", re.IGNORECASE)
_SAID = re.compile(r"(?im)^\W*(?:source|url|address|link|来源|网址|链接)\W*[:：]")
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(?:.*\n){0,60}?---[ \t]*(?:\n|\Z)")
"""What programs write before a text in Markdown."""
_TITLE_IN_FRONT = re.compile(r"(?im)^title[ \t]*:[ \t]*[\"']?(\S.*?)[\"']?[ \t]*$")
_HEAD = 400
"""Characters at the beginning of a text that may say its address."""
_LONGEST_TITLE = 150
"""Characters of a first line that may be a title."""


class SourceFile(NamedTuple):
    """A file of the folder."""

    name: str
    text: str
    title: str | None = None
    """What it calls itself."""
    other_titles: tuple[str, ...] = ()
    """Its heading, its first line, its title without the name of the site: what an entry may call
    it."""
    addresses: tuple[str, ...] = ()

    @property
    def is_readable(self) -> bool:
        """Whether it has enough text to be judged against."""
        return len(self.text.strip()) >= LEAST


def read_source(file: Path, name: str) -> SourceFile:
    """Return a source, without text if nothing in it can be read."""
    kind = file.suffix.lower()
    if kind == ".pdf":
        return _pdf(file, name)
    if kind in PAGES:
        return _page(file.read_bytes(), name)
    if kind not in TEXTS:
        return SourceFile(name, "")
    text = text_of(file)
    body = text
    title = None
    if front := _FRONT_MATTER.match(text):
        body = text[front.end() :]
        if said := _TITLE_IN_FRONT.search(front[0]):
            title = said[1]
    first = body.lstrip().partition("\n")[0].strip()
    if first.startswith("#") and not title:
        title = first.lstrip("# ").strip()
    others = (first.lstrip("# "),) if len(first) <= _LONGEST_TITLE else ()
    head = text[:_HEAD]
    addresses = tuple(addresses_in(head)) if _SAID.search(head) else ()
    return SourceFile(name, text, title, others, addresses)


def text_of(file: Path) -> str:
    """Return the content of a text file in UTF-8 or UTF-16, else in Windows-1252."""
    content = file.read_bytes()
    try:
        text = content.decode(encoding_of(file))
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _page(content: bytes, name: str) -> SourceFile:
    try:
        import trafilatura
    except ImportError as error:
        raise not_installed(f"{name} needs {error.name}", "report") from error
    if not content.strip():
        return SourceFile(name, "")
    text = trafilatura.extract(
        content,
        include_comments=False,
        include_tables=True,
        favor_recall=True,
    )
    tree = tree_of(content)
    title = str(tree.xpath("string(//title)")).strip()
    heading = str(tree.xpath("string(//h1)")).strip()
    # "Height of the tower | Town of Bern": entries seldom have the name of the site
    parts = re.split(r"\s[|–—·•»-]\s", title)
    others = tuple(filter(None, (heading, max(parts, key=len))))
    addresses = tree.xpath("//link[@rel='canonical']/@href | //meta[@property='og:url']/@content")
    return SourceFile(name, text or "", title or None, others, tuple(map(str, addresses)))


def tree_of(content: bytes) -> HtmlElement:
    """Return the elements of a page: in UTF-8 if that is valid, else as the page declares; none of
    a page without any."""
    try:
        from lxml import etree, html
    except ImportError as error:
        raise not_installed(f"a page needs {error.name}", "report") from error
    parser = html.HTMLParser(encoding="utf-8")
    try:
        content.decode()
    except UnicodeDecodeError:
        parser = html.HTMLParser()
    try:
        return html.document_fromstring(content, parser)
    except etree.ParserError:  # nothing, or comments alone
        return html.document_fromstring("<html></html>")


def _pdf(file: Path, name: str) -> SourceFile:
    try:
        import pypdfium2
    except ImportError as error:
        raise not_installed(f"{name} needs {error.name}", "report") from error
    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError:
        return SourceFile(name, "")
    try:
        pages = [page.get_textpage().get_text_bounded() for page in document]
        title = document.get_metadata_value("Title") or None
    finally:
        document.close()
    lines = "\n".join(pages).strip().splitlines()
    if _is_scan(pages):
        return SourceFile(name, "", title)
    return SourceFile(name, joined_lines("\n".join(pages)), title, tuple(lines[:1]))


_LEAST_OF_PAGE = 20
"""Characters of a page that has text."""


def _is_scan(pages: Sequence[str]) -> bool:
    """Return whether most pages are pictures: they have no text, or only what stands on most pages,
    as "Downloaded from example.org, page 7" below each."""
    shapes = [
        {re.sub(r"\d+", "", line).strip(): len(line) for line in page.splitlines()}
        for page in pages
    ]
    counts = Counter(chain.from_iterable(shapes))
    running = {line for line, count in counts.items() if count > 2 and 2 * count > len(pages)}
    written = [
        sum(length for line, length in shape.items() if line not in running) for shape in shapes
    ]
    return 2 * sum(length >= _LEAST_OF_PAGE for length in written) < len(pages)


_BREAK = r"[^\S\n]*\n\s*"
_CUT_WORD = re.compile(rf"(?<=[^\W\d_])(?:[\u00ad\ufffe]|-(?={_BREAK}[a-zà-öø-ÿ])){_BREAK}(?=\w)")


def joined_lines(text: str) -> str:
    """Return the lines of a printed page as one text: they are no sentences.

    A word that is cut at the end of a line is whole again, and a ligature is letters.

    >>> joined_lines("The har-\\nbour of 2019-\\n2020")
    'The harbour of 2019-2020'
    """
    whole = _CUT_WORD.sub("", text.replace("\r\n", "\n"))
    parts = list[str]()
    for line in filter(None, map(str.strip, whole.split("\n"))):
        before = parts[-1][-1:] if parts else ""
        goes_on = before == "-" or (is_unspaced_script(before) and is_unspaced_script(line[0]))
        parts.append(f" {line}" if before and not goes_on else line)
    return unicodedata.normalize("NFKC", "".join(parts))


def addresses_in(text: str) -> list[str]:
    """Return the addresses in a text, without the punctuation after them.

    >>> addresses_in("See (https://example.org/Bern_(city)), doi:10.1000/182.")
    ['https://example.org/Bern_(city)', 'https://doi.org/10.1000/182']
    """
    found = [without_end(match[0]) for match in _ADDRESS.finditer(text)]
    return found + [f"https://doi.org/{without_end(match[1])}" for match in _DOI.finditer(text)]


def without_end(address: str) -> str:
    """Return an address without the punctuation of its sentence after it."""
    while address:
        closes_none = address[-1] == ")" and address.count(")") > address.count("(")
        if address[-1] not in ".,;:!?*_'\"" and not closes_none:
            break
        address = address[:-1]
    return address


def address_key(address: str) -> str:
    """Return an address without what does not change the page: scheme, `www.`, fragment and
    tracking."""
    plain = unquote(address.strip()).casefold()
    try:
        parts = urlsplit(plain)
    except ValueError:  # what a page calls its address need not be one
        return plain
    host = re.sub(r"\Awww\.|\Adx\.(?=doi\.org)", "", parts.netloc)
    kept = [pair for pair in parse_qsl(parts.query) if not _TRACKING.fullmatch(pair[0])]
    query = f"?{urlencode(sorted(kept))}" if kept else ""
    return without_end(f"{host}{parts.path.rstrip('/')}{query}")
