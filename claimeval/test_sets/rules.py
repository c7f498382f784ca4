"""What a written question must be before a judge is asked about it; each rule says in words why one is rejected."""

from __future__ import annotations

import re

from rapidfuzz import fuzz

from claimeval.records import Document
from claimeval.replies import WrittenQuery

VERBATIM = 90.0
"""From which `rapidfuzz.fuzz.partial_ratio` on, of 100, a question is a copy of its document's own words."""
WORDS = (3, 60)
"""A question has at least and at most so many words; scripts without spaces are not counted."""

_POINTS = re.compile(
    r"\b(?:(?:this|the|that|given|provided|above|following)\s+(?:document|passage|text|excerpt|article|paragraph|"
    r"section|page|context|table|figure|chapter|snippet)|(?:mentioned|described|stated|listed|shown|discussed)\s+"
    r"(?:above|here|below))\b",
    re.IGNORECASE,
)


def rejected(query: WrittenQuery, document: Document) -> str | None:
    """Why the question is of no use; None where every rule is kept."""
    text = _folded(document.text)
    words = len(query.question.split())
    if query.question.isascii() and not WORDS[0] <= words <= WORDS[1]:
        return "too short or too long"
    if _folded(query.passage) not in text:
        return "passage not in the document"
    if _POINTS.search(query.question):
        return "points at the document"
    if _folded(query.answer) in _folded(query.question):
        return "gives its answer away"
    asked = _folded(query.question).rstrip("?!. ")
    if fuzz.partial_ratio(asked, text, score_cutoff=VERBATIM):
        return "copied from the document"
    return None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
