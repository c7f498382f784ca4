"""The lexical support score: whether the evidence has the words, numbers and names of a claim,
close together.

It compares words, not meaning, of English texts. A logistic regression whose coefficients have
fixed signs computes the score from features. Signs of a conflict (a missing number, a negation, an
opposite, another name or number in the same position) cap it. Coefficients, caps, thresholds and
word lists are in `lexical_support.json`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Sequence
from operator import mul
from typing import Literal, NamedTuple

from claimeval.lexical import content_words as words
from claimeval.lexical import unspaced
from claimeval.lexical.citations import without
from claimeval.lexical.support.features import (
    FEATURES,
    ClaimFeatures,
    SentenceIndex,
    WordMatch,
    antonym,
    compared,
    feature_values,
    is_copied,
    match_words,
    negation,
    other_name,
    other_number,
    read_claim,
    role_swap,
)
from claimeval.lexical.words import is_unspaced_script

ENGINE = "lexical-v5"
NOTICE = "lexical support score, not an LLM judgment"


class SupportScore(NamedTuple):
    """The lexical support of a claim by the evidence."""

    score: float
    """In [0, 1]; see `label`. 0.5 with the flag `nothing_to_find` for a claim without content
    words."""
    possible_conflict: tuple[str, ...]
    """The words that capped the score: the claim's, then those of the evidence in the same
    position, if any."""
    flags: tuple[str, ...]
    """Signs of a conflict. `number_nowhere`, `negation`, `antonym`, `other_name` and `other_number`
    cap the score. `role_swap`, names in another order, is only for review."""
    best_document: int | None
    """Index of the first document with the highest score, or of the one in conflict that caps it;
    None if none has a content word of the claim."""
    per_document: tuple[float, ...]
    """The score against each document alone. `score` is the highest, or lower if a number is in no
    document or if the sentence with most of the claim's words is in conflict with the claim."""


class Weights(NamedTuple):
    """The logistic regression: log-odds of support = intercept + sum of coefficient x feature."""

    intercept: float
    coefficients: tuple[float, ...]
    """In the order of `FEATURES`."""


class PreparedDocuments(NamedTuple):
    """Indexed documents, for scoring many claims."""

    documents: tuple[SentenceIndex, ...]


def prepare(documents: Sequence[str]) -> PreparedDocuments:
    """Index documents. Reuse the result, because indexing takes longer than scoring a claim."""
    return PreparedDocuments(tuple(SentenceIndex(text) for text in documents))


def score_claim(
    claim: str, evidence: PreparedDocuments, *, weights: Weights | None = None
) -> SupportScore:
    """Return the highest score of a claim over the documents; 0 without documents.

    If the sentence with most of the claim's words is in conflict with the claim, the score is that
    of its document: other documents may have the same words, but farther apart.

    `weights` are the shipped ones by default; pass others to test a fit to other labels.
    """
    features = read_claim(claim)
    weights = weights or shipped_weights()
    if not features.keys:
        return SupportScore(0.5, (), ("nothing_to_find",), None, (0.5,) * len(evidence.documents))
    readings = [_assess(features, document, weights) for document in evidence.documents]
    if is_unspaced_script(claim):
        pairs = zip(readings, evidence.documents, strict=True)
        readings = [
            _copied(reading, features) if is_copied(claim, document) else reading
            for reading, document in pairs
        ]
    per_document = tuple(reading.score for reading in readings)
    best = max(range(len(readings)), key=per_document.__getitem__, default=None)
    if best is None or not readings[best].in_sentence:
        return SupportScore(0.0, (), (), None, per_document)
    closest = max(range(len(readings)), key=lambda i: (readings[i].in_sentence, per_document[i]))
    if readings[closest].capped:
        best = closest
    score, conflict, flags = readings[best][:3]
    nowhere = features.digits
    for reading in readings:
        nowhere &= ~reading.anywhere
    if nowhere:
        score = min(score, words.model()["caps"]["number_nowhere"])
        conflict = tuple(dict.fromkeys((*features.spelled(nowhere), *conflict)))
        flags = ("number_nowhere", *flags)
    return SupportScore(score, conflict, flags, best, per_document)


@functools.cache
def shipped_weights() -> Weights:
    """Return the weights in `lexical_support.json`."""
    model = words.model()
    return Weights(model["intercept"], tuple(model["coefficients"][name] for name in FEATURES))


def label(score: float) -> Literal["supported", "not_found", "unsure"]:
    """Return the label of a score: supported from 0.75, not found up to 0.25. Words cannot show a
    contradiction."""
    thresholds = words.model()["thresholds"]
    if score >= thresholds["supported"]:
        return "supported"
    return "not_found" if score <= thresholds["not_found"] else "unsure"


@functools.cache
def coefficients_digest() -> str:
    """Return the SHA-256 of the coefficients, caps, thresholds and word lists."""
    return hashlib.sha256(json.dumps(words.model(), sort_keys=True).encode()).hexdigest()


class _DocumentSupport(NamedTuple):
    """The support of a claim by one document."""

    score: float
    conflict: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    anywhere: int = 0
    in_sentence: int = 0
    """Number of the claim's words in the sentence."""
    capped: bool = False
    """Whether the sentence is in conflict with the claim."""


def _assess(claim: ClaimFeatures, document: SentenceIndex, weights: Weights) -> _DocumentSupport:
    match = match_words(claim, document)
    if match is None:
        return _DocumentSupport(0.0)
    values = feature_values(claim, document, match)
    score = 1 / (1 + math.exp(-weights.intercept - sum(map(mul, weights.coefficients, values))))
    span = document.spans[match.best]
    text = document.text[span.start : span.end]
    cap, conflict, flags = _compare(claim, match, text)
    if claim.is_unspaced and (denial := unspaced.one_sided(claim.text, without(text))):
        cap = "negation"
        conflict = denial
    if cap:
        score = min(score, words.model()["caps"][cap])
        flags = (cap, *flags)
    return _DocumentSupport(
        score, conflict, flags, match.anywhere, match.sentence.bit_count(), bool(cap)
    )


def _copied(reading: _DocumentSupport, features: ClaimFeatures) -> _DocumentSupport:
    """Return the support of a claim that a document has word for word.

    In scripts without spaces and full stops, a sentence can be longer than the pieces in which
    words are compared, and names of the next sentence look like conflicts.
    """
    supported = words.model()["thresholds"]["supported"]
    return _DocumentSupport(
        max(reading.score, supported),
        anywhere=features.every,
        in_sentence=len(features.keys),
    )


def _compare(
    claim: ClaimFeatures, match: WordMatch, text: str
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the name of the cap that applies to the best sentence, the words that differ, and
    flags.

    Signs of a conflict count only between nearly equal texts, so most claims need no comparison.
    """
    count = len(claim.keys)
    if match.sentence.bit_count() < max(2, count / 2):
        return "", (), ()
    missing = claim.every & ~match.sentence
    few = max(1, count // 4)
    fewer = count // 8
    cues = (
        ("antonym", antonym, missing.bit_count() <= few),
        ("negation", negation, missing.bit_count() <= few),
        ("other_name", other_name, (missing & ~claim.openings).bit_count() <= fewer),
        ("other_number", other_number, (missing & ~claim.digits).bit_count() <= fewer),
    )
    if not any(nearly_equal for _, _, nearly_equal in cues):
        return "", (), ()
    sentence = compared(text)
    swapped = ("role_swap",) if not missing and role_swap(claim.tokens, sentence) else ()
    for cap, cue, nearly_equal in cues:
        if nearly_equal and (differing := cue(claim.tokens, sentence)):
            return cap, differing, swapped
    return "", (), swapped
