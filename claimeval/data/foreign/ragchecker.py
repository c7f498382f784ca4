"""RAGChecker's checking results: claims of answer and reference, judged against each other and against every context.

Both its own output (`results` with `gt_answer_claims`, `retrieved2response`, ...) and rows with plain names
(`response_claims_vs_contexts`, ...) are read. A claim's labels for the single contexts become one verdict: supported
if any context entails it, else contradicted if any contradicts it, else not found. The entailing contexts are its
evidence. The labels for single contexts stay beside it, so that everything RAGChecker computes can be read off them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from claimeval.data.foreign.records import JudgedSample, RecordedResults, assessment, claim, metric_of, recorded_judge
from claimeval.data.reading import sample as read_sample
from claimeval.data.rows import SourceRow, read_rows
from claimeval.judging.panel.settings import UNFAVOURABLE_FIRST
from claimeval.metrics.derived import DERIVED, GROUPS
from claimeval.types.errors import DataError
from claimeval.types.records import Assessment, Claim, Evidence, Extraction, Label, Part, Sample, SampleResult, Verdict

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
"""The field with the labels of the claims of one part against another, under RAGChecker's name and a plain one."""
LABELS: dict[str, Label] = {"Entailment": "supported", "Contradiction": "contradicted", "Neutral": "not_found"}


def fits(row: SourceRow) -> bool:
    """Whether a row is one of RAGChecker's after claims were taken and checked."""
    return any(name in row.fields for name in CLAIMS["answer"]) and any(
        name in row.fields for names in VERDICTS.values() for name in names
    )


def judged(path: Path) -> RecordedResults:
    """The file as judged samples."""
    singly = any(_per_document(row) for row in read_rows(path))
    names = (*GROUPS["ragchecker"], "contradiction_rate") if singly else ("f1", "contradiction_rate")
    return RecordedResults(
        kind="ragchecker",
        judges=(recorded_judge(JUDGE),),
        metrics=tuple(metric_of(of, against) for of, against in VERDICTS),
        labels=UNFAVOURABLE_FIRST,
        derived=tuple(name for name in names if name in DERIVED),
        per_document=singly,
        samples=lambda: map(_sample, read_rows(path)),
    )


def _per_document(row: SourceRow) -> bool:
    """Whether a row has labels for single contexts."""
    given = [_first(row.fields, VERDICTS[part, "contexts"]) for part in CLAIMS]
    return any(isinstance(said, list) and any(isinstance(words, list) for words in said) for said in given)


def _sample(row: SourceRow) -> JudgedSample:
    own = {name for names in (*CLAIMS.values(), *VERDICTS.values()) for name in names} | {"metrics"}
    rest = {name: value for name, value in row.fields.items() if name not in own}
    sample = read_sample(row._replace(fields=rest), {})
    extractions = {part: _claims(row, part, sample) for part in CLAIMS}
    documents = [document.id for document in sample.contexts or ()]
    return JudgedSample(
        SampleResult(
            sample=sample,
            extractions=tuple(e for e in extractions.values() if e is not None),
            assessments=tuple(
                found
                for of, against in VERDICTS
                if (extraction := extractions[of])
                for found in _assessments(row, extraction.claims, of, against, documents)
            ),
            per_document=tuple(
                found
                for part, extraction in extractions.items()
                if extraction and len(documents) > 1
                for found in _cells(row, extraction.claims, part)
            ),
        ),
        scores=_scores(row.fields.get("metrics")),
    )


def _claims(row: SourceRow, part: Part, sample: Sample) -> Extraction | None:
    """The claims of a part; triplets are written as one text."""
    given = _first(row.fields, CLAIMS[part])
    if given is None:
        return None
    if not isinstance(given, list):
        raise DataError(f"{row.place}, field {CLAIMS[part][0]!r}: a list of claims was expected")
    texts = [" ".join(map(str, said)) if isinstance(said, list) else str(said) for said in given]
    claims = (claim(f"{part}-{number}", text, part, sample) for number, text in enumerate(texts, 1))
    return Extraction(of=part, claims=tuple(claims))


def _assessments(
    row: SourceRow, claims: Sequence[Claim], of: Part, against: Part, documents: Sequence[str]
) -> Iterator[Assessment]:
    names = VERDICTS[of, against]
    given = _first(row.fields, names)
    if given is None:
        return
    if not isinstance(given, list) or len(given) != len(claims):
        raise DataError(f"{row.place}, field {names[0]!r}: {len(claims)} labels were expected, one a claim")
    for stated, said in zip(claims, given, strict=True):
        several = isinstance(said, list)
        if several and len(said) != len(documents):
            raise DataError(f"{row.place}, field {names[0]!r}: {len(documents)} labels a claim were expected")
        labels = [_label(row, names[0], word) for word in (said if several else [said])]
        verdict = Verdict(
            subject=stated.id,
            judge=JUDGE,
            label=merged(labels),
            cites=tuple(d for d, label in zip(documents, labels, strict=True) if label == "supported")
            if several
            else (),
        )
        yield assessment(stated.id, Evidence(part=against), (verdict,))


def _cells(row: SourceRow, claims: Sequence[Claim], of: Part) -> Iterator[Assessment]:
    """The labels for single contexts, which `_assessments` has checked."""
    name = VERDICTS[of, "contexts"]
    given: Any = _first(row.fields, name) or ()
    for stated, words in zip(claims, given, strict=False):
        for rank, word in enumerate(words if isinstance(words, list) else (), 1):
            verdict = Verdict(subject=stated.id, judge=JUDGE, label=_label(row, name[0], word))
            yield assessment(stated.id, Evidence(part="contexts", document=rank), (verdict,))


def merged(labels: Sequence[Label]) -> Label:
    """One label for all documents: supported if any supports, else contradicted if any contradicts, else not found."""
    if "supported" in labels:
        return "supported"
    return "contradicted" if "contradicted" in labels else "not_found"


def _label(row: SourceRow, field: str, word: Any) -> Label:
    if word not in LABELS:
        raise DataError(f"{row.place}, field {field!r}: {str(word)[:40]!r} is none of {', '.join(LABELS)}")
    return LABELS[word]


def _first(fields: Mapping[str, object], names: Sequence[str]) -> object:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _scores(metrics: object) -> dict[str, float | None]:
    given = metrics if isinstance(metrics, dict) else {}
    return {str(name): float(value) for name, value in given.items() if isinstance(value, int | float)}
