"""Read results of RAGChecker: claims of answer and reference, assessed against each other and against every context.

The field names can be RAGChecker's (`results` with `gt_answer_claims`, `retrieved2response`, ...) or descriptive ones
(`response_claims_vs_contexts`, ...). A claim's labels for the contexts become one verdict: supported if any context
entails it, else contradicted if any contradicts it, else not found. The verdict cites the contexts that entail it. The
labels for single contexts are kept, so that all of RAGChecker's metrics can be derived.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from claimeval.data.foreign.records import (
    JudgedSample,
    RecordedResults,
    assessment,
    claim,
    finite,
    metric_of,
    recorded_judge,
)
from claimeval.data.reading import sample as read_sample
from claimeval.data.rows import SourceRow, read_rows
from claimeval.metrics.derived import DERIVED, GROUPS
from claimeval.types.errors import DataError
from claimeval.types.records import Assessment, Claim, Evidence, Label, Part, Sample, SampleResult, Verdict
from claimeval.types.scales import THREE_WAY

JUDGE = "ragchecker"
CLAIMS: dict[Part, tuple[str, ...]] = {
    "answer": ("response_claims",),
    "reference": ("gt_answer_claims", "reference_claims"),
}
VERDICTS: dict[tuple[Part, Part], tuple[str, ...]] = {
    ("answer", "contexts"): ("retrieved2response", "response_claims_vs_contexts"),
    ("answer", "reference"): ("answer2response", "response_claims_vs_reference"),
    ("reference", "answer"): ("response2answer", "reference_claims_vs_response"),
    ("reference", "contexts"): ("retrieved2answer", "reference_claims_vs_contexts"),
}
"""The fields with the labels of the claims of one part against another: RAGChecker's name and a descriptive one."""
LABELS: dict[str, Label] = {"Entailment": "supported", "Contradiction": "contradicted", "Neutral": "not_found"}


def recognizes(row: SourceRow) -> bool:
    """Return whether a row is a checked sample of RAGChecker."""
    return any(name in row.fields for name in CLAIMS["answer"]) and any(
        name in row.fields for names in VERDICTS.values() for name in names
    )


def recorded_results(path: Path) -> RecordedResults:
    """Return the results of a file."""
    per_document = any(_per_document(row) for row in read_rows(path))
    names = (*GROUPS["ragchecker"], "contradiction_rate") if per_document else ("f1", "contradiction_rate")
    return RecordedResults(
        kind="ragchecker",
        judges=(recorded_judge(JUDGE),),
        metrics=tuple(metric_of(of, against) for of, against in VERDICTS),
        scale=THREE_WAY,
        derived=tuple(name for name in names if name in DERIVED),
        per_document=per_document,
        samples=lambda: map(_sample, read_rows(path)),
    )


def _per_document(row: SourceRow) -> bool:
    """Return whether a row has labels for single contexts."""
    verdicts = [row.first(VERDICTS[part, "contexts"]) for part in CLAIMS]
    return any(isinstance(labels, list) and any(isinstance(words, list) for words in labels) for labels in verdicts)


def _sample(row: SourceRow) -> JudgedSample:
    ragchecker_fields = {name for names in (*CLAIMS.values(), *VERDICTS.values()) for name in names} | {"metrics"}
    fields = {name: value for name, value in row.fields.items() if name not in ragchecker_fields}
    sample = read_sample(row._replace(fields=fields), {})
    claims = {part: of_part for part in CLAIMS if (of_part := _claims(row, part, sample)) is not None}
    documents = [document.id for document in sample.contexts or ()]
    return JudgedSample(
        SampleResult(
            sample=sample,
            claims=tuple(chain.from_iterable(claims.values())),
            unextracted={part: "no_claims" for part, of_part in claims.items() if not of_part},
            assessments=tuple(
                assessed
                for of, against in VERDICTS
                if of in claims
                for assessed in _assessments(row, claims[of], of, against, documents)
            ),
            per_document=tuple(
                assessed
                for part, of_part in claims.items()
                if len(documents) > 1
                for assessed in _cells(row, of_part, part)
            ),
        ),
        scores=_scores(row.fields.get("metrics")),
    )


def _claims(row: SourceRow, part: Part, sample: Sample) -> tuple[Claim, ...] | None:
    """Return the claims of a part, None if the row has none of it. Triplets are joined to one text."""
    entries = row.first(CLAIMS[part])
    if entries is None:
        return None
    if not isinstance(entries, list):
        raise DataError(f"{row.location}, field {CLAIMS[part][0]!r}: expected a list of claims")
    texts = [" ".join(map(str, entry)) if isinstance(entry, list) else str(entry) for entry in entries]
    return tuple(claim(f"{part}-{number}", text, part, sample) for number, text in enumerate(texts, 1))


def _assessments(
    row: SourceRow, claims: Sequence[Claim], of: Part, against: Part, documents: Sequence[str]
) -> Iterator[Assessment]:
    names = VERDICTS[of, against]
    entries = row.first(names)
    if entries is None:
        return
    if not isinstance(entries, list) or len(entries) != len(claims):
        raise DataError(f"{row.location}, field {names[0]!r}: expected {len(claims)} labels, one per claim")
    for one, entry in zip(claims, entries, strict=True):
        if isinstance(entry, list) and len(entry) != len(documents):
            raise DataError(f"{row.location}, field {names[0]!r}: expected {len(documents)} labels per claim")
        labels = [_label(row, names[0], word) for word in (entry if isinstance(entry, list) else [entry])]
        cites = zip(documents, labels, strict=True) if isinstance(entry, list) else ()
        verdict = Verdict(
            judge=JUDGE,
            label=merged(labels),
            cites=tuple(document for document, label in cites if label == "supported"),
        )
        yield assessment(one.id, Evidence(part=against), (verdict,))


def _cells(row: SourceRow, claims: Sequence[Claim], of: Part) -> Iterator[Assessment]:
    """Yield the labels for single contexts, which `_assessments` has checked."""
    names = VERDICTS[of, "contexts"]
    entries: Any = row.first(names) or ()
    for one, words in zip(claims, entries, strict=False):
        for rank, word in enumerate(words if isinstance(words, list) else (), 1):
            verdict = Verdict(judge=JUDGE, label=_label(row, names[0], word))
            yield assessment(one.id, Evidence(part="contexts", document=rank), (verdict,))


def merged(labels: Sequence[Label]) -> Label:
    """Return one label for all documents: supported if any supports, else contradicted if any does, else not found."""
    if "supported" in labels:
        return "supported"
    return "contradicted" if "contradicted" in labels else "not_found"


def _label(row: SourceRow, field: str, word: Any) -> Label:
    if word not in LABELS:
        raise DataError(
            f"{row.location}, field {field!r}: unknown label {str(word)[:40]!r}. Known: {', '.join(LABELS)}"
        )
    return LABELS[word]


def _scores(metrics: object) -> dict[str, float | None]:
    scores = metrics if isinstance(metrics, dict) else {}
    return {str(name): finite(value) for name, value in scores.items() if isinstance(value, int | float)}
