"""Matrices of one sample, written by hand."""

from __future__ import annotations

from collections.abc import Sequence

from claimeval.metrics.formulas import Matrix
from claimeval.types.records import (
    ASKED,
    Assessment,
    Claim,
    Document,
    Evidence,
    Reason,
    Sample,
    SampleResult,
)

LABELS = {
    "s": "supported",
    "n": "not_found",
    "c": "contradicted",
    "p": "partly_supported",
    "?": None,
}


def assessment(subject: str, evidence: Evidence, letter: str) -> Assessment:
    label = LABELS[letter]
    return Assessment(
        subject=subject,
        question="support",
        against=evidence.part,
        document=evidence.document,
        verdicts=(),
        label=label,
        unassessed=None if label else "refused",
        positive=False if letter == "p" else None,
    )


def matrix(
    *,
    p: str = "",
    q: str = "",
    f: str | None = None,
    R: Sequence[str] = (),
    C: Sequence[str] = (),
    on_topic: str = "",
    vital: str = "",
) -> Matrix:
    """A letter a claim: s supported, n not found, c contradicted, p partly, ? unassessed. R and C
    have a row a claim.

    p: answer claims against the reference; q: reference claims against the answer; f: answer claims
    against all contexts; R, C: claims of answer and reference against each context.
    """
    m = max(len(q), len(C), len(vital))
    n = max(len(p), len(R), len(f or ""))
    size = len((*R, *C)[0]) if (*R, *C) else 2
    sample = Sample(
        id="s",
        question="?",
        answer="a",
        reference_answers=("r",),
        contexts=tuple(Document(id=str(j), text="d") for j in range(size)),
    )
    sizes = {"answer": n, "reference": m}
    claims = tuple(
        Claim(grounding="ungrounded", id=f"{of}-{i}", text="c", of=of)
        for of, number in sizes.items()
        for i in range(number)
    )
    none: dict[str, Reason] = {of: "no_claims" for of, number in sizes.items() if not number}
    columns = {
        ("answer", "reference"): p,
        ("reference", "answer"): q,
        ("answer", "contexts"): f or "".join(_together(row) for row in R),
        ("reference", "contexts"): "".join(_together(row) for row in C),
        ("answer", ASKED): on_topic,
        ("reference", ASKED): vital,
    }
    found = [
        assessment(f"{of}-{i}", Evidence(part=against), letter)
        for (of, against), letters in columns.items()
        for i, letter in enumerate(letters)
    ]
    found += [
        assessment(f"{of}-{i}", Evidence(part="contexts", document=j), letter)
        for of, rows in (("answer", R), ("reference", C))
        for i, row in enumerate(rows)
        for j, letter in enumerate(row, 1)
        if size > 1
    ]
    return Matrix.of(
        SampleResult(sample=sample, claims=claims, unextracted=none, assessments=tuple(found))
    )


def _together(row: str) -> str:
    return next((letter for letter in "s?cn" if letter in row), "n")
