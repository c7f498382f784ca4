"""Draws views as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable

from claimeval.runs.views import Block, Entries, Entry, Line, Table, through
from claimeval.types.html import Html, element, joined, shown, table


def page(*parts: Iterable[Block] | Html) -> str:
    """Return views and HTML as the output of a cell, with its styles."""
    return shown(*(part if isinstance(part, Html) else html(part) for part in parts))


def html(blocks: Iterable[Block]) -> Html:
    """Return views as HTML. Every text is escaped as the content of an element."""
    return joined(drawn(through(block, str)) for block in blocks)


def drawn(block: Block) -> Html:
    """Return a block, all of whose cells are texts or HTML, as HTML."""
    match block:
        case Line():
            return _line(block)
        case Entries(title, entries):
            return joined((element("h4", title), element("ol", *map(_entry, entries))))
        case Table():
            return _table(block)


def _line(line: Line) -> Html:
    first, *others = (part for part in line.parts if part)
    if line.kind in ("caution", "note"):
        others.insert(0, first)
        first = f"{line.kind.capitalize()}: "
    bold = line.kind not in ("text", "remark")
    return element("p", element("b", first) if bold else first, *others, class_=line.kind)


def _entry(entry: Entry) -> Html:
    fields = (element("div", element("small", f"{name}: "), words) for name, words in entry.fields)
    return element("li", element("b", entry.name), *fields)


def _table(block: Table) -> Html:
    kinds = [column.kind for column in block.columns]
    # The first column is to the left in every table of a notebook.
    words = [i for i, kind in enumerate(kinds) if i and kind in ("text", "metric")]
    return joined(
        (
            *([element("h4", block.title)] if block.title else ()),
            table((column.name for column in block.columns), block.rows, words),
            *(element("p", element("small", note)) for note in block.notes),
        )
    )
