"""The sources of metrics and statistics in BibTeX: `sources.bib` beside this file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_ENTRY = re.compile(r"@\w+\{(\w+),")
_CITED = re.compile(r"([^\W\d_][\w'-]*)(?: et al\.| and [^\W\d_]\w*)? \(?((?:19|20)\d\d)\b")
"""A name and a year, as in `Min et al. 2023`, `Buckley and Voorhees 2004` or `Cohen 1960`."""
PROGRAMS = {
    "RAGChecker": "ru2024",
    "AutoNuggetizer": "pradeep2024",
    "ragas": "es2023",
    "TREC RAG 2024": "thakur2025",
    "K-Precision++": "adlakha2023",
    "RecallEM": "adlakha2023",
    "Kish": "kish1965",
    "Wilson": "wilson1927",
}
"""Programs and methods that sources name without a year, and the paper to cite for them."""


@cache
def entries() -> Mapping[str, str]:
    """Return every entry by its key."""
    text = Path(__file__).with_name("sources.bib").read_text(encoding="utf-8")
    return {_key(line): line for line in text.splitlines() if line}


def _key(entry: str) -> str:
    found = _ENTRY.match(entry)
    assert found, "each line of the file is an entry"
    return found[1]


def cited(source: str) -> tuple[str, ...]:
    """Return the keys of the papers that the source of a number names.

    >>> cited("RAGChecker (Ru et al. 2024), ragas NoiseSensitivity")
    ('ru2024', 'es2023')
    """
    keys: dict[str, int] = {}
    for match in _CITED.finditer(source):
        key = f"{_plain(match[1])}{match[2]}"
        keys.setdefault(key, match.start())
    for name, key in PROGRAMS.items():
        if name in source:
            keys[key] = min(source.index(name), keys.get(key, len(source)))
    known = [key for key in keys if key in entries()]
    return tuple(sorted(known, key=keys.__getitem__))


def _plain(name: str) -> str:
    """Return a family name in small letters without accents."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalpha() and letter.isascii())


def bibtex(keys: Iterable[str]) -> str:
    """Return the entries of these keys, one field on a line."""
    chosen = [entries()[key] for key in dict.fromkeys(keys)]
    return "\n\n".join(map(_unfolded, chosen))


def _unfolded(entry: str) -> str:
    head, *fields = re.split(r", (?=[a-z]+ = )", entry.removesuffix("}"))
    return ",\n  ".join([head, *fields]) + "\n}"
