"""The text of a report in HTML as Markdown, with its marks and the notes that they lead to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from claimeval.data.source_files import tree_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_BLOCKS = frozenset(("p", "li", "div", "section", "tr", "blockquote", "table", "ol", "ul", "dd"))
_UNSEEN = frozenset(("script", "style", "nav", "head", "template", "noscript"))
_NUMBER = re.compile(r"\s*\[{0,2}(\d{1,3})\]{0,2}\s*")
_WITHIN_LINES = frozenset(("a", "span", "sup", "cite", "b", "i", "em", "strong", "small", "font"))
_NOTES = frozenset(("p", "li", "dd", "tr", "td", "div", "aside"))
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
        self._labels = _labels(tree)

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
        elif tag == "dt" and element.getnext() in self._labels:
            return
        elif re.fullmatch(r"h[1-6]", tag):
            yield f"\n\n{'#' * int(tag[1])} {inner.strip()}\n\n"
        elif tag == "a":
            yield _link(element, inner)
        elif tag == "sup":
            # "5 m<sup>2</sup>" is no mark: what is one is decided where marks are read
            yield inner if "[" in inner else f"<sup>{inner.strip()}</sup>"
        elif tag == "li" and element.getparent().tag == "ol":
            yield f"\n{_place(element)}. {inner.strip()}\n"
        elif tag == "li":
            yield f"\n- {inner.strip()}\n"
        elif tag == "br":
            yield "\n"
        elif tag in _BLOCKS:
            yield f"\n\n{inner.strip()}\n\n"
        else:
            yield inner

    def _content(self, element: HtmlElement) -> Iterable[str]:
        if element.text:
            yield re.sub(r"\s+", " ", element.text)
        for child in element:
            yield from self.inline(child)


def _labels(tree: HtmlElement) -> Mapping[HtmlElement, str]:
    """Return the notes that marks with a number lead to, with their numbers. A note stands after
    its mark: the link from a note back to its mark leads to no note."""
    places = {element: place for place, element in enumerate(tree.iter())}
    labels: dict[HtmlElement, str] = {}
    for link in tree.iter("a"):
        number = _NUMBER.fullmatch(link.text_content())
        note = _note(tree, str(link.get("href") or "")) if number else None
        if number and note is not None and places[note] > places[link]:
            labels.setdefault(note, number[1])
    return labels


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
    if not target.startswith(("http://", "https://")):
        return inner
    return f"[{number[1] if number else inner.strip()}]({target})"


def _place(item: HtmlElement) -> int:
    """Return the number that is shown before an item of an ordered list."""
    items = [child for child in item.getparent() if child.tag == "li"]
    first = str(item.getparent().get("start") or "1")
    value = str(item.get("value") or "")
    if value.isdecimal():
        return int(value)
    return items.index(item) + (int(first) if first.isdecimal() else 1)
