"""The lexical support score: how far the words, numbers and names of a claim stand together in the evidence.

It finds words, not meaning, in English text. A logistic regression with the signs of its coefficients fixed turns the
features into a score; a cue of a conflict (a number that is nowhere, a negation, an opposite, another name or number in
the same place) caps it. Coefficients, caps, thresholds and word lists are data, in `lexical_support.json`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Sequence
from operator import mul
from typing import Literal, NamedTuple

from claimeval.lexical.sentences import Span
from claimeval.lexical.support import conflicts, words
from claimeval.lexical.support.features import (
    FEATURES,
    ClaimFeatures,
    SentenceIndex,
    WordMatch,
    features,
    find,
    read_claim,
)

ENGINE = "lexical-v2"
NOTICE = "lexical support score, not an LLM judgement"


class SupportScore(NamedTuple):
    """How far a claim is found in the evidence."""

    score: float
    """In [0, 1]; `label` says what it means. 0.5 with the flag `nothing_to_find` for a claim without a content word."""
    possible_conflict: tuple[str, ...]
    """The words that capped the score: the claim's, then the evidence's where it has another in the same place."""
    flags: tuple[str, ...]
    """Cues. These cap the score: `number_nowhere`, `negation`, `antonym`, `other_name`, `other_number`. One is for
    review only: `role_swap`, the names stand in another order."""
    best_document: int | None
    """Index of the first document with the highest score; None if none has a content word of the claim."""
    best_sentence: Span | None
    """The sentence of that document with most of the claim, as a span of its text."""
    per_document: tuple[float, ...]
    """The score against each document alone. `score` is the highest, or less where a number is in none of them."""


class Weights(NamedTuple):
    """The logistic regression: log-odds of support = intercept + sum of coefficient x feature."""

    intercept: float
    coefficients: tuple[float, ...]
    """In the order of `FEATURES`."""


class PreparedDocuments(NamedTuple):
    """Documents that were read once, to assess many claims against."""

    documents: tuple[SentenceIndex, ...]


def prepare(documents: Sequence[str]) -> PreparedDocuments:
    """Reads the documents that claims are assessed against. Keep the result: reading costs more than a claim."""
    return PreparedDocuments(tuple(SentenceIndex(text) for text in documents))


def score_claim(claim: str, evidence: PreparedDocuments, *, weights: Weights | None = None) -> SupportScore:
    """How far `claim` is found in `evidence`: the highest score over its documents, 0 if there is none.

    `weights` are the shipped ones unless others, fitted on other labels, are to be tried.
    """
    wanted = read_claim(claim)
    weights = weights or shipped_weights()
    if not wanted.keys:
        return SupportScore(0.5, (), ("nothing_to_find",), None, None, (0.5,) * len(evidence.documents))
    readings = [_assess(wanted, document, weights) for document in evidence.documents]
    per_document = tuple(reading.score for reading in readings)
    best = max(range(len(readings)), key=per_document.__getitem__, default=None)
    if best is None or readings[best].sentence is None:
        return SupportScore(0.0, (), (), None, None, per_document)
    score, conflict, flags, sentence, _ = readings[best]
    nowhere = wanted.digits
    for reading in readings:
        nowhere &= ~reading.alike
    if nowhere:
        score = min(score, words.model()["caps"]["number_nowhere"])
        conflict = tuple(dict.fromkeys((*wanted.spelt(nowhere), *conflict)))
        flags = ("number_nowhere", *flags)
    return SupportScore(score, conflict, flags, best, sentence, per_document)


@functools.cache
def shipped_weights() -> Weights:
    """The weights of `lexical_support.json`, one set for all evidence."""
    model = words.model()
    return Weights(model["intercept"], tuple(model["coefficients"][name] for name in FEATURES))


def label(score: float) -> Literal["supported", "not_found", "unsure"]:
    """What a score means: supported from 0.75, not found up to 0.25. Never "contradicted", which words cannot show."""
    thresholds = words.model()["thresholds"]
    if score >= thresholds["supported"]:
        return "supported"
    return "not_found" if score <= thresholds["not_found"] else "unsure"


@functools.cache
def coefficients_digest() -> str:
    """SHA-256 of everything that turns words into a score: coefficients, caps, thresholds and word lists."""
    return hashlib.sha256(json.dumps(words.model(), sort_keys=True).encode()).hexdigest()


class _DocumentSupport(NamedTuple):
    """A claim read against one document."""

    score: float
    conflict: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    sentence: Span | None = None
    alike: int = 0


def _assess(claim: ClaimFeatures, document: SentenceIndex, weights: Weights) -> _DocumentSupport:
    found = find(claim, document)
    if found is None:
        return _DocumentSupport(0.0)
    values = features(claim, document, found)
    score = 1 / (1 + math.exp(-weights.intercept - sum(map(mul, weights.coefficients, values))))
    span = document.spans[found.best]
    cap, conflict, flags = _compare(claim, found, document.text[span.start : span.end])
    if cap:
        score, flags = min(score, words.model()["caps"][cap]), (cap, *flags)
    return _DocumentSupport(score, conflict, flags, span, found.alike)


def _compare(claim: ClaimFeatures, found: WordMatch, text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The cap that the best sentence calls for, the words that differ, and flags.

    A cue counts only between nearly equal texts, so most claims are compared with nothing.
    """
    count = len(claim.keys)
    if found.sentence.bit_count() < max(2, count / 2):
        return "", (), ()
    lacking = claim.every & ~found.sentence
    few, fewer = max(1, count // 4), count // 8
    cues = (
        ("antonym", conflicts.antonym, lacking.bit_count() <= few),
        ("negation", conflicts.negation, lacking.bit_count() <= few),
        ("other_name", conflicts.other_name, (lacking & ~claim.openings).bit_count() <= fewer),
        ("other_number", conflicts.other_number, (lacking & ~claim.digits).bit_count() <= fewer),
    )
    if not any(nearly_equal for _, _, nearly_equal in cues):
        return "", (), ()
    sentence = words.tokens(text)
    swapped = ("role_swap",) if not lacking and conflicts.role_swap(claim.tokens, sentence) else ()
    for cap, cue, nearly_equal in cues:
        if nearly_equal and (differing := cue(claim.tokens, sentence)):
            return cap, differing, swapped
    return "", (), swapped
