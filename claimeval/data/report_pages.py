"""The text of a report in HTML as Markdown, with its marks and the notes that they lead to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from claimeval.data.source_files import tree_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_BLOCKS = frozenset(("p", "li", "div", "section", "tr", "blockquote", "table", "ol", "ul", "dd"))
_UNSEEN = frozenset(("script", "style", "nav", "head", "template", "noscript"))
_NUMBER = re.compile(r"\s*\[{0,2}(\d{1,3})\]{0,2}\s*")
_WITHIN_LINES = frozenset(("a", "span", "sup", "cite", "b", "i", "em", "strong", "small", "font"))
_NOTES = frozenset(("p", "li", "dd", "tr", "td", "div", "aside"))
_LABEL = re.compile(r"\s*[\[(]?\s*([a-z]{1,2}|[*†‡§¶]{1,3})\s*[\])]?\s*")
"""What a mark without a number shows: a letter or a sign."""
_LABEL_OF_TERM = re.compile(r"\s*(?:\[([\w.-]{1,20})\]|\(?(\d{1,3})[.)]?)\s*")
_NAME = re.compile(r"[\w.-]{1,20}")
_FOUR_DIGITS = re.compile(r"(?<!\d)\d{4}(?!\d)")
_TO_A_FILE = re.compile(r"(?![\w+.-]*:|//)[^()<>\n]+\.[A-Za-z]{2,5}(?:#[^()<>\n]*)?")
_BACK = re.compile(r"[\s\ufe0e↩↑^]+")
"""What a link from a note back to its mark shows."""


def markdown_of(content: bytes) -> str:
    """Return the text of an HTML report with its headings, links and marks as Markdown."""
    tree = tree_of(content)
    text = "".join(_Writer(tree).inline(tree))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


class _Writer:
    """Writes elements; a note is known by the mark that leads to it, not by its place."""

    def __init__(self, tree: HtmlElement) -> None:
        self._labels, self._marks = _labels(tree)

    def inline(self, element: HtmlElement) -> Iterator[str]:
        tag = element.tag if isinstance(element.tag, str) else ""
        if tag and tag not in _UNSEEN:
            yield from self._opened(element, tag)
        if element.tail:
            yield re.sub(r"\s+", " ", element.tail)

    def _opened(self, element: HtmlElement, tag: str) -> Iterator[str]:
        inner = "".join(self._content(element))
        if element in self._labels:
            yield f"\n\n[^{self._labels[element]}]: {' '.join(inner.split())}\n\n"
        elif tag in ("dt", "dd"):
            yield self._term(element, inner)
        elif re.fullmatch(r"h[1-6]", tag):
            yield f"\n\n{'#' * int(tag[1])} {inner.strip()}\n\n"
        elif tag == "a":
            yield self._link(element, inner)
        elif tag == "table" and (rows := self._rows(element)):
            yield f"\n\n{rows}\n\n"
        elif tag == "sup":
            # "5 m<sup>2</sup>" is no mark: what is one is decided where marks are read
            yield inner if "[" in inner else f"<sup>{inner.strip()}</sup>"
        elif tag == "li":
            is_numbered = element.getparent().tag == "ol"
            yield (
                f"\n{_place(element)}. {inner.strip()}\n"
                if is_numbered
                else f"\n- {inner.strip()}\n"
            )
        elif tag == "br":
            yield "\n"
        elif tag in _BLOCKS:
            yield f"\n\n{inner.strip()}\n\n"
        else:
            yield inner

    def _term(self, element: HtmlElement, inner: str) -> str:
        """Return a term of a list of terms, or what is said of it: a label stands before what it
        labels, as `[1]` before an entry."""
        if element.tag == "dd":
            is_entry = _label_of_term(element.getprevious()) is not None
            return f"{inner.strip()}\n\n" if is_entry else f"\n\n{inner.strip()}\n\n"
        if element.getnext() in self._labels:
            return ""
        label = _label_of_term(element)
        return f"\n\n[{label}] " if label else inner

    def _link(self, element: HtmlElement, inner: str) -> str:
        label = self._marks.get(element)
        if label is None:
            return _link(element, inner)
        is_text = not (_NUMBER.fullmatch(inner) or _LABEL.fullmatch(inner))
        return f"{inner.strip()} [^{label}]" if is_text else f"[^{label}]"

    def _rows(self, table: HtmlElement) -> str:
        """Return a table as rows of Markdown; empty for one that only lays out a page, or that has
        notes."""
        if not self._labels.keys().isdisjoint(table.iter()):
            return ""
        rows = list[list[str]]()
        for row in table.iter("tr"):
            cells = ("".join(self._content(cell)) for cell in row.iterchildren("td", "th"))
            rows.append([cell.strip().replace("|", "/") for cell in cells])
        width = max(map(len, rows), default=0)
        if width < 2 or any("\n" in cell for cell in chain.from_iterable(rows)):
            return ""
        # Markdown has no table without names of columns
        if next(table.iter("th"), None) is None:
            rows.insert(0, [])
        rows.insert(1, ["---"] * width)
        lines = [" | ".join([*row, *[""] * (width - len(row))]) for row in rows]
        return "\n".join(f"| {line} |" for line in lines)

    def _content(self, element: HtmlElement) -> Iterable[str]:
        if element.text:
            yield re.sub(r"\s+", " ", element.text)
        for child in element:
            yield from self.inline(child)


class _Notes(NamedTuple):
    labels: Mapping[HtmlElement, str]
    """The label of each note."""
    marks: Mapping[HtmlElement, str]
    """The label of the note of each link that is a mark and shows no number."""


def _labels(tree: HtmlElement) -> _Notes:
    """Return the notes that marks lead to. A note stands after its mark: the link from a note back
    to its mark leads to no note."""
    places = {element: place for place, element in enumerate(tree.iter())}
    labels: dict[HtmlElement, str] = {}
    marks: dict[HtmlElement, str] = {}
    for link in tree.iter("a"):
        note = _note(tree, str(link.get("href") or ""))
        if note is None or places[note] <= places[link]:
            continue
        text = link.text_content()
        if number := _NUMBER.fullmatch(text):
            labels.setdefault(note, number[1])
        elif label := _label(link, note):
            marks[link] = labels.setdefault(note, label)
    return _Notes(labels, marks)


def _label(link: HtmlElement, note: HtmlElement) -> str | None:
    """Return the label of the note that a link without a number is the mark of; None if it is no
    mark.

    A letter is one if it is raised or in brackets, a sign always, and other words if they have a
    year and the note has all of them, as "Smith 2020" and "Smith, A. (2020)".
    """
    text = link.text_content()
    if mark := _LABEL.fullmatch(text):
        raised = any(one.tag == "sup" for one in (*link.iterancestors(), *link.iter()))
        is_mark = not mark[1].isalpha() or raised or text.strip() != mark[1]
        return mark[1] if is_mark else None
    words = set(re.findall(r"\w+", text)) - {"et", "al", "and"}
    named = _FOUR_DIGITS.search(text) and words <= set(re.findall(r"\w+", note.text_content()))
    name = str(link.get("href"))[1:]
    return name if named and _NAME.fullmatch(name) else None


def _label_of_term(element: HtmlElement | None) -> str | None:
    """Return the label that a term of a list of terms is, as in `<dt>[1]</dt>`."""
    if element is None or element.tag != "dt":
        return None
    label = _LABEL_OF_TERM.fullmatch(element.text_content())
    return (label[1] or label[2]) if label else None


def _note(tree: HtmlElement, reference: str) -> HtmlElement | None:
    """Return the paragraph or item that a reference leads to; None for a section or a heading."""
    if not reference.startswith("#"):
        return None
    found = tree.xpath("//*[@id=$name or @name=$name]", name=reference[1:])
    element = found[0] if found else None
    while element is not None and element.tag in _WITHIN_LINES:
        element = element.getparent()
    if element is not None and element.tag == "dt":  # [1], with the entry in <dd>
        element = element.getnext()
    if element is None or element.tag not in _NOTES or element.xpath(".//h1|.//h2|.//h3"):
        return None
    return element


def _link(element: HtmlElement, inner: str) -> str:
    target = str(element.get("href") or "")
    number = _NUMBER.fullmatch(element.text_content())
    if target.startswith("#"):
        if number:
            return f"[{number[1]}]"
        return "" if _BACK.fullmatch(inner) else inner
    text = number[1] if number else inner.strip()
    if not target.startswith(("http://", "https://")):
        return f"[{text}]({target})" if text and _TO_A_FILE.fullmatch(target) else inner
    return f"[{text}]({target})"


def _place(item: HtmlElement) -> int:
    """Return the number that is shown before an item of an ordered list."""
    items = [child for child in item.getparent() if child.tag == "li"]
    first = str(item.getparent().get("start") or "1")
    value = str(item.get("value") or "")
    if value.isdecimal():
        return int(value)
    return items.index(item) + (int(first) if first.isdecimal() else 1)
