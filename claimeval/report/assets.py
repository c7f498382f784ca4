"""Templates, styles and scripts of the HTML pages, each with a Content-Security-Policy that allows
only these."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).with_name("assets")

STYLES = {
    "report": (
        "colours.css",
        "base.css",
        "overview.css",
        "forwarded.css",
        "listing.css",
        "sample.css",
        "labeled.css",
        "sides.css",
        "dialog.css",
        "print.css",
    ),
    "experiment": ("colours.css", "base.css", "overview.css", "listing.css"),
    "forwarded": ("colours.css", "base.css", "overview.css", "forwarded.css", "print.css"),
    "label": ("colours.css", "base.css", "sample.css", "label.css"),
    "viewer": ("colours.css", "base.css", "pictures.css", "viewer.css"),
    "series": ("colours.css", "base.css", "pictures.css", "series.css"),
}
"""Style files of each page, in order. The script of a page, if any, is NAME.js with all its
imports."""

CONNECTED = ("label",)
"""Pages that send something to the server that they come from."""

_PART = re.compile(r"<!--(bar|buttons|body)-->\n")
"""Where a part of a page begins; what comes before the first is its title."""
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ ]*(?://.*|/\*\*[^*]*\*+(?:[^/*][^*]*\*+)*/)\n", re.MULTILINE)


class Page(NamedTuple):
    """A page without its data."""

    html: str
    """HTML with `<!--NAME-->` as the place for data."""
    policy: str
    """Content-Security-Policy, also included in the page. It allows this style and this script."""

    @property
    def connected_policy(self) -> str:
        """The policy of a served page that also sends something to its server."""
        return self.policy.replace("base-uri", "connect-src 'self'; base-uri", 1)


@cache
def page(name: str) -> Page:
    """Return a page with its style and script."""
    style = "".join((FOLDER / file).read_text(encoding="utf-8") for file in STYLES[name])
    script = bundle(name) if (FOLDER / f"{name}.js").is_file() else ""
    connected = "connect-src 'self'; " if name in CONNECTED else ""
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)};"
        f" {connected}base-uri 'none'; form-action 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    )
    head, *rest = _PART.split((FOLDER / f"{name}.html").read_text(encoding="utf-8"))
    parts = {
        "buttons": "",
        "head": head,
        **dict(
            zip(
                rest[::2],
                rest[1::2],
                strict=True,
            )
        ),
    }
    html = (FOLDER / "frame.html").read_text(encoding="utf-8")
    for mark, text in parts.items():
        html = html.replace(f"<!--{mark}-->\n", text)
    return Page(_filled(html, policy=policy, style=style, script=script), policy)


def fill(name: str, **texts: str) -> str:
    """Return a page with texts, which are HTML, in their places."""
    return _filled(page(name).html, **texts)


def _filled(html: str, **texts: str) -> str:
    for place, text in texts.items():
        html = html.replace(f"<!--{place}-->", text)
    return html


def bundle(name: str) -> str:
    """Return a module and all its imports as one script.

    Each module becomes a function that is called once, after its imports, and returns its exports,
    so that names are private to their module. Native modules do not work in a single file under a
    policy of hashes.

    Raises ValueError for circular imports, and for other forms of imports and exports than `import
    { a, b as c } from "./module.js";` and `export` before a function, class or const.
    """
    modules: dict[str, str] = {}
    _add(name, modules, ())
    return '"use strict";\n' + "".join(modules.values())


def _add(name: str, modules: dict[str, str], importing: tuple[str, ...]) -> None:
    """Add a module after those that it imports."""
    if name in importing:
        raise ValueError(f"modules import each other: {' > '.join((*importing, name))}")
    if name in modules:
        return
    source = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    for _, imported in _IMPORT.findall(source):
        _add(imported, modules, (*importing, name))
    code = _IMPORT.sub(
        lambda match: f"const {match[1].replace(' as ', ': ')} = $_{match[2]};\n", source
    )
    exported = ", ".join(name for _, name in _EXPORT.findall(code))
    # Comments would be a fifth of the script in every page.
    code = _COMMENT.sub("", _EXPORT.sub(r"\1", code))
    if other := re.search(r"^(?:import|export)\b.*", code, re.MULTILINE):
        raise ValueError(f"{name}.js: this import or export cannot be bundled: {other[0]}")
    modules[name] = f"const $_{name} = (() => {{\n{code}return {{ {exported} }};\n}})();\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
