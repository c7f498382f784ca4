"""Templates, styles and scripts of the HTML pages, each with a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).with_name("assets")

STYLES = {
    "report": (
        "colours.css",
        "base.css",
        "overview.css",
        "listing.css",
        "sample.css",
        "dialog.css",
        "print.css",
    ),
    "experiment": ("colours.css", "base.css", "overview.css", "listing.css"),
    "viewer": ("colours.css", "base.css", "viewer.css"),
}
SCRIPTS = {
    "report": (
        "elements.js",
        "text.js",
        "words.js",
        "labels.js",
        "unpacking.js",
        "data.js",
        "route.js",
        "plots.js",
        "metrics.js",
        "overview.js",
        "panel.js",
        "comparison.js",
        "settings.js",
        "listing.js",
        "filters.js",
        "search.js",
        "claims.js",
        "evidence.js",
        "matrix.js",
        "exchange.js",
        "sample.js",
        "main.js",
    ),
    "experiment": ("elements.js", "text.js", "labels.js", "unpacking.js", "plots.js", "experiment.js"),
    "viewer": ("elements.js", "text.js", "unpacking.js", "viewer.js"),
}
"""Files of each page, in the order in which they are joined."""


class Page(NamedTuple):
    """A page without its data."""

    html: str
    """HTML with `<!--NAME-->` as the place for data."""
    policy: str
    """Content-Security-Policy, also included in the page. It allows this style and this script."""


@cache
def page(name: str) -> Page:
    """Return a page with its style and script."""
    style = "".join((FOLDER / file).read_text(encoding="utf-8") for file in STYLES[name])
    script = '"use strict";\n' + "".join((FOLDER / file).read_text(encoding="utf-8") for file in SCRIPTS[name])
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    html = (FOLDER / f"{name}.html").read_text(encoding="utf-8")
    for mark, text in (("policy", policy), ("style", style), ("script", script)):
        html = html.replace(f"<!--{mark}-->", text)
    return Page(html, policy)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
