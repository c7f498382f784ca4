"""Judged samples, and RAGChecker's result files, which are recognized by their fields.

Claims of answer and reference are assessed against each other and against every context, under
RAGChecker's field names (`results` with `gt_answer_claims`, `retrieved2response`, ...) or
descriptive ones (`response_claims_vs_contexts`, ...). A claim's labels for the contexts become one
verdict: supported if any context entails it, else contradicted if any contradicts it, else not
found. The verdict cites the contexts that entail it. The labels for single contexts are kept, so
that all of RAGChecker's metrics can be derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.labels import HumanLabel
from claimeval.data.reading import sample as read_sample
from claimeval.data.reasoning import AnswerReasoning, settle_reasoning
from claimeval.data.rows import SourceRow, read_rows
from claimeval.judging.grounding import ground
from claimeval.metrics.derived import DERIVED, GROUPS
from claimeval.metrics.rows import METRICS, Metric
from claimeval.types.errors import DataError
from claimeval.types.records import (
    Assessment,
    Claim,
    Evidence,
    Label,
    Part,
    Record,
    Sample,
    SampleResult,
    Verdict,
)
from claimeval.types.requests import IMPORTED, Judge
from claimeval.types.scales import THREE_WAY, Scale


class JudgedSample(NamedTuple):
    """A sample judged by another tool. Its assessments have verdicts, but no label yet."""

    result: SampleResult
    human: tuple[HumanLabel, ...] = ()
    forms: tuple[tuple[str, str], ...] = ()
    """The judge and the form of every reply."""


class RecordedResults(NamedTuple):
    """A file of judged samples. `samples` reads the file at each call."""

    judges: tuple[Judge, ...]
    metrics: tuple[Metric, ...]
    scale: Scale
    """The words that the judges could give."""
    samples: Callable[[], Iterator[JudgedSample]]
    replicates: int = 1
    derived: tuple[str, ...] = ()
    """Metrics that can be derived from the verdicts."""
    per_document: bool = False
    """Whether the judges saw each context separately."""
    repeated: int = 0
    """Rows that repeat a claim text of their sample for the same judge. 0 if the claims have
    ids."""

    @property
    def panel_settings(self) -> dict[str, Any]:
        """Return the panel settings that the judges were asked with."""
        return {"replicates": self.replicates, "per_document": self.per_document}


class UnreadReply(Record):
    """A recorded reply without a readable verdict."""

    sample: str
    subject: str
    judge: str
    because: str
    reply: str


def recorded_judge(name: str) -> Judge:
    """Return a judge with recorded verdicts."""
    return Judge(name=name, model=f"{IMPORTED}:{name}")


def metric_of(claims_of: Part, against: Part) -> Metric:
    """Return the built-in metric of these parts, or a new one named after them."""
    for row in METRICS.values():
        if (row.claims_of, row.against) == (claims_of, against):
            return row
    return Metric(name=f"{claims_of}_against_{against}", claims_of=claims_of, against=against)


def claim(claim_id: str, text: str, of: Part, sample: Sample) -> Claim:
    """Return a claim with its span in the text that it was extracted from, if the sample has the
    text.

    Args:
        claim_id: Id of the claim.
        text: Text of the claim.
        of: The part that the claim was extracted from.
        sample: The sample.
    """
    source = sample.text(of)
    if source is None:
        return Claim(id=claim_id, text=text, of=of, grounding="ids_only")
    match = ground(text, None, (), source, (), sample.full_question)
    return Claim(id=claim_id, of=of, text=text, **match._asdict())


def assessment(subject: str, evidence: Evidence, verdicts: tuple[Verdict, ...]) -> Assessment:
    """Return an assessment before the vote."""
    return Assessment(
        subject=subject,
        question="support",
        against=evidence.part,
        document=evidence.document,
        verdicts=verdicts,
        unassessed="tie",
    )


def recognize(path: Path, reasoning: AnswerReasoning | None = None) -> RecordedResults | None:
    """Return the results of a file, or None if its first row is not RAGChecker's; `reasoning` says
    what is done with that of a model in answers."""
    first = next(iter(read_rows(path)), None)
    if first is None:
        return None
    named = first.fields.keys()
    # Claims alone may be those of any extractor; only labels make a file of results.
    if named.isdisjoint(_CLAIMS["answer"]) or named.isdisjoint(chain(*_VERDICTS.values())):
        return None
    return _of_ragchecker(path, reasoning)


_CLAIMS: dict[Part, tuple[str, ...]] = {
    "answer": ("response_claims",),
    "reference": ("gt_answer_claims", "reference_claims"),
}
_VERDICTS: dict[tuple[Part, Part], tuple[str, ...]] = {
    ("answer", "contexts"): ("retrieved2response", "response_claims_vs_contexts"),
    ("answer", "reference"): ("answer2response", "response_claims_vs_reference"),
    ("reference", "answer"): ("response2answer", "reference_claims_vs_response"),
    ("reference", "contexts"): ("retrieved2answer", "reference_claims_vs_contexts"),
}
"""The fields with the labels of the claims of one part against another: RAGChecker's name and a
descriptive one."""
_RAGCHECKER_FIELDS = {"metrics", *chain(*_CLAIMS.values(), *_VERDICTS.values())}
_RAGCHECKER_LABELS: dict[str, Label] = {
    "Entailment": "supported",
    "Contradiction": "contradicted",
    "Neutral": "not_found",
}
BEST_FIRST = (*_RAGCHECKER_LABELS.values(),)
"""The labels for single documents, of which the first in this order is the label for all of
them."""


def _of_ragchecker(path: Path, reasoning: AnswerReasoning | None) -> RecordedResults:
    contexts = [_VERDICTS[part, "contexts"] for part in _CLAIMS]
    per_document = False
    for row in read_rows(path):
        for labels in map(row.first, contexts):
            # A list for each claim has a label for each document.
            nested = isinstance(labels, list) and any(isinstance(one, list) for one in labels)
            per_document = per_document or nested
    names = (
        (*GROUPS["ragchecker"], "contradiction_rate")
        if per_document
        else ("f1", "contradiction_rate")
    )
    return RecordedResults(
        judges=(recorded_judge("ragchecker"),),
        metrics=tuple(metric_of(of, against) for of, against in _VERDICTS),
        scale=THREE_WAY,
        derived=tuple(name for name in names if name in DERIVED),
        per_document=per_document,
        samples=lambda: (_ragchecker_sample(row, reasoning) for row in read_rows(path)),
    )


def _ragchecker_sample(row: SourceRow, reasoning: AnswerReasoning | None) -> JudgedSample:
    fields = {name: value for name, value in row.fields.items() if name not in _RAGCHECKER_FIELDS}
    sample = read_sample(row._replace(fields=fields), {})
    sample = settle_reasoning(sample, row.location, reasoning)
    documents = [document.id for document in sample.contexts or ()]
    claims = {
        part: of_part
        for part in _CLAIMS
        if (of_part := _ragchecker_claims(row, part, sample)) is not None
    }
    assessments: list[Assessment] = []
    per_document: list[Assessment] = []
    for (of, against), names in _VERDICTS.items():
        for judged, labels in _labeled_claims(row, claims.get(of), names, len(documents)):
            # A single document is the whole evidence.
            if against == "contexts" and isinstance(labels, list) and len(set(documents)) > 1:
                per_document += _alone(judged, against, labels)
            assessments.append(_together(judged, against, labels, documents))
    result = SampleResult(
        sample=sample,
        claims=tuple(chain(*claims.values())),
        unextracted={part: "no_claims" for part, of_part in claims.items() if not of_part},
        assessments=(*assessments, *per_document),
    )
    return JudgedSample(result)


def _alone(judged: Claim, against: Part, labels: Iterable[Label]) -> Iterator[Assessment]:
    """Yield the assessments of a claim against each document alone."""
    for rank, label in enumerate(labels, 1):
        verdict = Verdict(judge="ragchecker", label=label)
        yield assessment(judged.id, Evidence.of(against, document=rank), (verdict,))


def _together(
    judged: Claim,
    against: Part,
    labels: Sequence[Label],
    documents: Sequence[str],
) -> Assessment:
    """Return the assessment of a claim against all documents: the best label of one counts."""
    by_document = dict(zip(documents, labels, strict=True)) if isinstance(labels, list) else {}
    verdict = Verdict(
        judge="ragchecker",
        label=min(labels, key=BEST_FIRST.index, default="not_found"),
        cites=tuple(name for name, label in by_document.items() if label == "supported"),
    )
    return assessment(judged.id, Evidence.of(against), (verdict,))


def _ragchecker_claims(row: SourceRow, part: Part, sample: Sample) -> tuple[Claim, ...] | None:
    """Return the claims of a part, None if the row does not have them. Triplets are joined to one
    text."""
    entries = row.first(_CLAIMS[part])
    if entries is None:
        return None
    if not isinstance(entries, list):
        raise DataError(f"{row.location}, field {_CLAIMS[part][0]!r}: expected a list of claims")
    texts = [
        " ".join(map(str, entry)) if isinstance(entry, list) else str(entry) for entry in entries
    ]
    return tuple(
        claim(f"{part}-{number}", text, part, sample) for number, text in enumerate(texts, 1)
    )


def _labeled_claims(
    row: SourceRow,
    claims: Sequence[Claim] | None,
    names: Sequence[str],
    documents: int,
) -> Iterator[tuple[Claim, Sequence[Label]]]:
    """Yield each claim with a list of labels, one per document, or with a tuple of one label for
    all documents."""
    location = f"{row.location}, field {names[0]!r}"

    def label(word: Any) -> Label:
        if not isinstance(word, str) or word not in _RAGCHECKER_LABELS:
            known = ", ".join(_RAGCHECKER_LABELS)
            raise DataError(f"{location}: unknown label {str(word)[:40]!r}. Known: {known}")
        return _RAGCHECKER_LABELS[word]

    entries = row.first(names)
    if claims is None or entries is None:
        return
    if not isinstance(entries, list) or len(entries) != len(claims):
        raise DataError(f"{location}: expected {len(claims)} labels, one per claim")
    for of_entry, entry in zip(claims, entries, strict=True):
        if isinstance(entry, list) and len(entry) != documents:
            raise DataError(f"{location}: expected {documents} labels per claim")
        yield (
            of_entry,
            [label(word) for word in entry] if isinstance(entry, list) else (label(entry),),
        )
