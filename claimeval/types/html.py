"""HTML of objects in notebooks: all text is escaped, and there are no scripts, links or ids.

Notebooks have their own themes, which may differ from the system's. Colors are therefore mixed from
the color of the surrounding text (`currentColor`), and the colors of labels can be read on white
and on black. Untrusted notebooks remove the styles and keep headings, tables and lists. The classes
keep MathJax from rendering dollar signs as formulas.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable

from claimeval.types.errors import escaped

STYLE = """
.claimeval{color:inherit;line-height:1.45;max-width:62rem;overflow-wrap:anywhere}
.claimeval p,.claimeval ul,.claimeval ol{margin:.35em 0}
.claimeval h4{margin:1em 0 .3em;font-size:1em;font-weight:600}
.claimeval small{font-size:.88em;opacity:.78}
.claimeval svg{display:block;max-width:100%;height:auto;margin:.6em 0}
.claimeval table{border-collapse:collapse;margin:.5em 0;display:block;
max-width:100%;overflow-x:auto}
.claimeval th,.claimeval td{padding:.2em .7em;text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums;border:0;
border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent);background:none}
.claimeval thead th{vertical-align:bottom;overflow-wrap:normal}
.claimeval td.words{white-space:normal;min-width:8em}
.claimeval tr>:first-child,.claimeval tr>.words{text-align:left}
.claimeval .caution{margin:.5em 0;padding:.3em .8em;border-left:.25rem solid #b8860b}
.claimeval li{margin:.5em 0}
.claimeval blockquote{margin:.2em 0;padding:.1em .8em;
border-left:2px solid color-mix(in srgb,currentColor 30%,transparent)}
.claimeval .supported,.claimeval .contradicted,.claimeval .not_found,
.claimeval .unassessed{padding-left:.4em;
border-left:.3rem solid color-mix(in srgb,currentColor 35%,transparent)}
.claimeval .supported{border-color:#128a74}
.claimeval .contradicted{border-color:#d8463b}
.claimeval .not_found{border-color:#b8860b}
"""


class Html(str):
    """HTML, which is not escaped again."""

    __slots__ = ()


def element(name: str, *content: str | None, **attributes: object) -> Html:
    """Return an element. Content that is None is left out.

    In names of attributes, a trailing underscore is removed and other underscores become dashes.
    """
    settings = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escape(str(value))}"'
        for key, value in attributes.items()
    )
    inner = "".join(
        part if isinstance(part, Html) else _escape(part) for part in content if part is not None
    )
    return Html(f"<{name}{settings}>{inner}</{name}>")


def joined(parts: Iterable[Html]) -> Html:
    """Return the elements as one text."""
    return Html("".join(parts))


def table(head: Iterable[str], rows: Iterable[Iterable[str]], words: Collection[int] = ()) -> Html:
    """Return a table with column headings, whose columns of `words` begin at the left.

    The first cell of each row is its heading.
    """

    def line(cells: Iterable[str], name: str) -> Html:
        drawn = list[Html]()
        for column, cell in enumerate(cells):
            settings = {"class_": "words"} if column in words else {}
            drawn.append(element(name if column else "th", cell, **settings))
        return element("tr", *drawn)

    body = joined(line(row, "td") for row in rows)
    return element("table", element("thead", line(head, "th")), element("tbody", body))


def listed(heading: str, items: Iterable[str]) -> Html:
    """Return a heading and a list; empty without items."""
    entries = [element("li", item) for item in items]
    return joined((element("h4", heading), element("ul", *entries))) if entries else Html()


def labeled(word: str, support: str | None, text: str) -> Html:
    """Return a label followed by a text, with the color of `support`; None for no color."""
    return element(
        "div",
        element("b", word.replace("_", " ")),
        Html(" "),
        text,
        class_=support or "unassessed",
    )


def shown(*parts: Html) -> str:
    """Return the fragment for a notebook, with its styles."""
    inner = joined((Html(f"<style>{STYLE}</style>"), *parts))
    return element("div", inner, class_="claimeval mathjax_ignore tex2jax_ignore")


def _escape(text: str) -> str:
    return html.escape(escaped(text))
