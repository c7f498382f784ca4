"""Coarse claims of a text, by rule: a sentence, or its clauses where they can safely stand alone. English.

Rules cannot take a text apart into single facts. This splitter makes only cuts that rarely change what is said: most
sentences are one claim, and no claim is without a verb unless its sentence is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from claimeval.lexical.boilerplate import is_boilerplate
from claimeval.lexical.citations import masked, without
from claimeval.lexical.clauses import clauses, is_verb
from claimeval.lexical.sentences import Span, TextBlock, block_sentences, blocks, sentences

__all__ = ["SentenceClaim", "Span", "sentences", "split_claims"]


class SentenceClaim(NamedTuple):
    """One claim of a text, with its place in it."""

    text: str
    """The claim as a sentence of its own: without citations and emphasis, a shared subject repeated, table cells named
    by their columns."""
    sentence_id: int
    """The index of its sentence in `sentences` of the same text."""
    start: int
    """`source[start:end]` is the verbatim quote that the claim was made from."""
    end: int


def split_claims(text: str) -> list[SentenceClaim]:
    """The claims of `text` in order, none if it asserts nothing.

    A sentence is cut at a semicolon or conjunction if both sides have a finite verb and nothing in it (a condition,
    reported speech, a quotation) could reach across the cut. Questions, refusals, greetings, headings, lead-ins that
    end in a colon, lists of sources, bare links and code assert nothing. A table row is one claim.
    """
    claims: list[SentenceClaim] = []
    sentence_id = 0
    found = blocks(text)
    bare = masked(text)
    for block, following in zip_longest(found, found[1:]):
        for sentence in block_sentences(text, block):
            if not _is_heading(bare, block, following):
                claims += [
                    SentenceClaim(plain, sentence_id, *quote)
                    for words, quote in _asserted(text, bare, block, sentence)
                    if _LETTER_OR_DIGIT.search(plain := _plain(words))
                ]
            sentence_id += 1
    return claims


def _asserted(text: str, bare: str, block: TextBlock, sentence: Span) -> Iterator[tuple[str, Span]]:
    """The parts of a sentence that assert something, as words and quote; `bare` is `text` with citations masked."""
    if block.kind == "row":
        yield _row(text, block), sentence
    elif block.kind in ("prose", "item"):
        for subject, quote in clauses(bare, sentence):
            words = text[quote.start : quote.end]
            if not is_boilerplate(without(words)):
                yield f"{subject} {words}".lstrip(), quote


# --- Headings and tables ---

_WORD = re.compile(r"[^\W_]+")
_LONGEST_HEADING = 8
"""Words."""


def _is_heading(text: str, block: TextBlock, following: TextBlock | None) -> bool:
    """Whether a block stands over others: marked as a heading, or short and unfinished, without a verb or a digit."""
    if block.kind != "prose" or following is None:
        return block.kind == "heading"
    words = _WORD.findall(text, block.start, block.end)
    stands_over = following.kind in ("item", "row") or len(_WORD.findall(text, *following[:2])) > _LONGEST_HEADING
    return (
        stands_over
        and len(words) <= _LONGEST_HEADING
        and text[block.start : block.end].rstrip()[-1:].isalnum()
        and not any(is_verb(word) or word.isdecimal() for word in words)
    )


def _row(text: str, block: TextBlock) -> str:
    """A table row, its cells named by the header: `Paris; Country: France; Inhabitants: 2.1 million`."""
    cells = _cells(text[block.start : block.end])
    if block.header is None:
        return "; ".join(cell for cell in cells if cell)
    names = _cells(text[block.header.start : block.header.end])
    named = [f"{name}: {cell}" if name else cell for name, cell in zip(names[1:], cells[1:], strict=False) if cell]
    return "; ".join([*cells[:1], *named])


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in (row.strip("|").split("|") if "|" in row else re.split(r" {3,}|\t+", row))]


# --- Plain text ---

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_NOISE = (
    re.compile(r"\s?\((?:sources?|see|refs?)\b[^()]{0,200}\)", re.IGNORECASE),
    re.compile(r"</?[a-zA-Z][^<>]{0,60}>"),
    re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=[\w.,!;])[*_](?!\w)"),  # emphasis
)


def _plain(text: str) -> str:
    """The text without citations, source notes, emphasis and line breaks."""
    text = without(text)
    for noise in _NOISE:
        text = noise.sub("", text)
    text = " ".join(text.split()).strip(" ,;")
    return text[:1].upper() + text[1:]
