"""Locate claims in their source text, without a model.

A verbatim quote (after NFKC and white-space folding, ignoring citations) gives an `exact` span, in
the named sentences if they have these words, and of whole words if there are such. A near quote
(rapidfuzz `partial_ratio_alignment` of at least 90) gives a `fuzzy` span, and valid sentence ids
alone give `ids_only`. If a number of the claim is neither in the text nor in the question, the
claim is `ungrounded`, whatever its quote. Numbers in citations are ignored. Ungrounded claims are
flagged and counted, never dropped.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from claimeval.lexical.citations import bare, without
from claimeval.lexical.words import with_plain_numbers, with_powers
from claimeval.types.records import Grounding

FUZZY_QUOTE = 90.0
"""Minimum partial ratio at which a quote that is not verbatim is located."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DIGIT = re.compile("[0-9]")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_TO_FOLD = re.compile(r"[^\S ]|  ")
_MAX_FUZZY = 2_000_000
"""Quote length times text length above which there is no fuzzy search."""
_MOST_TRIED = 1_000
"""Places that are tried for whole words: all those of one letter that repeats take minutes."""
_SIGNS = frozenset({"Mn", "Mc"})
"""Categories of vowel signs and accents, which are part of the word with the letter before them."""


class GroundingMatch(NamedTuple):
    grounding: Grounding
    span: tuple[int, int] | None
    missing_numbers: tuple[str, ...]


class _Folded(NamedTuple):
    text: str
    offsets: tuple[int, ...]
    """`offsets[i]` is the original position of folded character i; the last entry is the end. Empty
    if unchanged."""


@lru_cache(maxsize=256)
def _fold(text: str) -> _Folded:
    if unicodedata.is_normalized("NFKC", text) and not _TO_FOLD.search(text):
        return _Folded(text, ())
    folded: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text):
        for c in unicodedata.normalize("NFKC", character):
            if not c.isspace():
                folded.append(c)
                offsets.append(offset)
            elif folded and folded[-1] != " ":
                folded.append(" ")
                offsets.append(offset)
    return _Folded("".join(folded), (*offsets, len(text)))


def _original(folded: _Folded, start: int, end: int) -> tuple[int, int]:
    return (folded.offsets[start], folded.offsets[end - 1] + 1) if folded.offsets else (start, end)


def _readable(text: str) -> str:
    """Return a text whose numbers are of ASCII digits, and their powers apart."""
    return with_plain_numbers(unicodedata.normalize("NFKC", with_powers(text)))


@lru_cache(maxsize=1024)
def numbers(text: str) -> frozenset[str]:
    """Return the numbers in a text, without thousands separators and trailing decimal zeros
    (`1,200.50` is `1200.5`).

    Digits of all scripts become 0 to 9, and 一九〇四 becomes 1904. Numbers of citations are left
    out.
    """
    if text.isascii() and not _DIGIT.search(text):
        return frozenset()
    values = set()
    for number in _NUMBER.findall(_readable(without(text))):
        plain = _THOUSANDS.sub("", number) if "," in number else number
        values.add(plain.rstrip("0").rstrip(".") if "." in plain else plain)
    return frozenset(values)


def ground(
    claim: str,
    quote: str | None,
    sentence_ids: Sequence[int],
    text: str,
    sentences: Sequence[tuple[int, int]],
    question: str,
) -> GroundingMatch:
    """Locate a claim in `text`.

    If the claim has no quote, search for its text instead. Unknown sentence ids are ignored. A
    claim with an exact quote but invalid ids is still exact; its span gives the position.

    Args:
        claim: The claim.
        quote: The words that the extractor quotes for it.
        sentence_ids: The sentences that the extractor names, from 1.
        text: The text.
        sentences: `sentences[i]` is the span of sentence i+1.
        question: The question of the sample, whose numbers a claim may repeat.
    """
    claim_numbers = numbers(claim)
    missing = (
        tuple(sorted(claim_numbers - numbers(text) - numbers(question))) if claim_numbers else ()
    )
    grounding, span = _span(quote or claim, sentence_ids, text, sentences)
    return GroundingMatch("ungrounded" if missing else grounding, span, missing)


def verbatim(
    quote: str, text: str, named: Sequence[tuple[int, int]] = ()
) -> tuple[int, int] | None:
    """Return the span of the verbatim `quote` in `text`, compared with citations first, then
    without. Quotes are short, so others may have the same words: those in the `named` spans come
    first."""
    bare_quote = bare(quote)
    bare_text = bare(text)
    has_marks = bool(bare_quote.offsets or bare_text.offsets)
    for spans in (named, ((0, len(text)),)):
        # With citations first: a quote of `[1]` alone would be empty without them.
        if span := _find(quote, text, spans):
            return span
        if has_marks:
            of_bare = [_within(bare_text.offsets, span) for span in spans]
            if span := _find(bare_quote.text, bare_text.text, of_bare):
                return bare_text.original(*span)
    return None


def _within(offsets: Sequence[int], span: tuple[int, int]) -> tuple[int, int]:
    """Return the span of the characters whose original positions are in a span; without `offsets`,
    all are where they were."""
    return (bisect_left(offsets, span[0]), bisect_left(offsets, span[1])) if offsets else span


def _find(quote: str, text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    folded = _fold(text)
    folded_quote = _fold(quote).text.strip()
    if not folded_quote:
        return None
    start = _first(folded_quote, folded.text, [_within(folded.offsets, span) for span in spans])
    return _original(folded, start, start + len(folded_quote)) if start >= 0 else None


def _first(quote: str, text: str, spans: Sequence[tuple[int, int]]) -> int:
    """Return where the quote first stands as whole words in these spans of the text, else where it
    first stands in them, else -1."""
    first = -1
    tried = 0
    for begin, end in spans:
        start = text.find(quote, begin, end)
        while start >= 0 and tried < _MOST_TRIED:
            if not (_cuts_a_word(start, text) or _cuts_a_word(start + len(quote), text)):
                return start
            first = start if first < 0 else first
            tried += 1
            start = text.find(quote, start + 1, end)
    return first


def _cuts_a_word(place: int, text: str) -> bool:
    """Return whether letters or digits stand on both sides of a place in a text, or a vowel sign or
    an accent on its right."""
    if not 0 < place < len(text):
        return False
    before = text[place - 1]
    after = text[place]
    if unicodedata.category(after) in _SIGNS:
        return True
    return after.isalnum() and (before.isalnum() or unicodedata.category(before) in _SIGNS)


def _span(
    claim_quote: str,
    sentence_ids: Sequence[int],
    text: str,
    sentences: Sequence[tuple[int, int]],
) -> tuple[Grounding, tuple[int, int] | None]:
    ids = sorted({i for i in sentence_ids if 1 <= i <= len(sentences)})
    named = [sentences[i - 1] for i in ids]
    if span := verbatim(claim_quote, text, _joined(ids, sentences)):
        return "exact", span
    if span := _nearly(claim_quote, text):
        return "fuzzy", span
    if named:
        return "ids_only", (named[0][0], named[-1][1])
    return "ungrounded", None


def _joined(ids: Sequence[int], sentences: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of sentences, of which those that follow each other are one: a quote may be
    of both."""
    spans: list[tuple[int, int]] = []
    for before, i in zip((0, *ids), ids, strict=False):
        start, end = sentences[i - 1]
        if spans and i == before + 1:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _nearly(claim_quote: str, text: str) -> tuple[int, int] | None:
    """Return the span of the words in the text that are nearly those of the quote."""
    bare_text = bare(text)
    folded = _fold(bare_text.text)
    quote = _fold(without(claim_quote)).text.strip()
    if not quote or len(quote) * len(folded.text) > _MAX_FUZZY:
        return None
    from rapidfuzz import fuzz

    near = fuzz.partial_ratio_alignment(quote, folded.text, score_cutoff=FUZZY_QUOTE)
    # rapidfuzz looks for the shorter text in the longer: a text of one word would be found in any
    # quote that has it.
    if not near or len(quote) > len(folded.text) or near.dest_end <= near.dest_start:
        return None
    return bare_text.original(*_original(folded, near.dest_start, near.dest_end))
