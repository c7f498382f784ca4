"""Draws views as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable

from claimeval.runs.views import Block, Entries, Line, Table, through
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
        case Line(parts, kind):
            first, *others = (part for part in parts if part)
            if kind in ("caution", "note"):
                first, others = f"{kind.capitalize()}: ", [first, *others]
            return element(
                "p",
                element("b", first) if kind not in ("text", "remark") else first,
                *others,
                class_=kind,
            )
        case Entries(title, entries):
            items = (
                element(
                    "li",
                    element("b", entry.name),
                    *(
                        element("div", element("small", f"{name}: "), words)
                        for name, words in entry.fields
                    ),
                )
                for entry in entries
            )
            return joined((element("h4", title), element("ol", *items)))
        case Table(columns=columns, rows=rows, title=title, notes=notes):
            return joined(
                (
                    *([element("h4", title)] if title else ()),
                    table(
                        (column.name for column in columns),
                        rows,
                        [
                            i
                            for i, column in enumerate(columns)
                            if i and column.kind in ("text", "metric")
                        ],
                    ),
                    *(element("p", element("small", note)) for note in notes),
                )
            )
