"""Read results of other tools as samples with verdicts and scores.

The result files of RAGChecker, ragas and DeepEval are recognized by their fields. The tools' scores keep their names.

RAGChecker: claims of answer and reference, assessed against each other and against every context, under RAGChecker's
field names (`results` with `gt_answer_claims`, `retrieved2response`, ...) or descriptive ones
(`response_claims_vs_contexts`, ...). A claim's labels for the contexts become one verdict: supported if any context
entails it, else contradicted if any contradicts it, else not found. The verdict cites the contexts that entail it. The
labels for single contexts are kept, so that all of RAGChecker's metrics can be derived.

DeepEval: test cases with the scores of all metrics, and the verdicts of the faithfulness metric. The metric's log
(`verboseLogs`) lists claims and verdicts without ids. If their numbers differ, all claims are unassessed. `no` is
contradicted. `idk` is not found, which DeepEval counts as faithful.

ragas: the rows of `EvaluationResult.to_pandas()` with a score per metric, and statements in traces. The statements are
the last list `statements` of objects with `statement` and `verdict` in a row, which is how the faithfulness metric
stores its judge's reply. A score that is NaN is undefined.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.labels import HumanLabel
from claimeval.data.reading import ALIASES
from claimeval.data.reading import sample as read_sample
from claimeval.data.rows import SourceRow, read_rows
from claimeval.judging.grounding import ground
from claimeval.metrics.derived import DERIVED, GROUPS
from claimeval.metrics.rows import METRICS, Metric
from claimeval.types.errors import DataError
from claimeval.types.records import (
    Assessment,
    Claim,
    Document,
    Evidence,
    Label,
    Part,
    Record,
    Sample,
    SampleResult,
    Verdict,
)
from claimeval.types.requests import RECORDED, Judge
from claimeval.types.scales import BINARY, THREE_WAY, Scale


class JudgedSample(NamedTuple):
    """A sample judged by another tool. Its assessments have verdicts, but no label yet."""

    result: SampleResult
    human: tuple[HumanLabel, ...] = ()
    scores: dict[str, float | None] = {}  # noqa: RUF012  # never changed
    """The tool's scores of the sample, by name."""
    forms: tuple[tuple[str, str], ...] = ()
    """The judge and the form of every reply."""


class RecordedResults(NamedTuple):
    """A file of judged samples. `samples` reads the file at each call."""

    kind: str
    """The tool that wrote the file: `ragchecker`, `ragas`, `deepeval`, or `recorded`."""
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
    """Rows that repeat a claim text of their sample for the same judge. 0 if the claims have ids."""

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


def finite(value: float | str | None) -> float | None:
    """Return a tool's score as a number; None for NaN, infinities and numbers too large for a float.

    Raises ValueError for a text that is not a number.
    """
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def recorded_judge(name: str) -> Judge:
    """Return a judge with recorded verdicts."""
    return Judge(name=name, model=f"{RECORDED}:{name}")


def metric_of(claims_of: Part, against: Part) -> Metric:
    """Return the built-in metric of these parts, or a new one named after them."""
    for row in METRICS.values():
        if (row.claims_of, row.against) == (claims_of, against):
            return row
    return Metric(name=f"{claims_of}_against_{against}", claims_of=claims_of, against=against)


def claim(claim_id: str, text: str, of: Part, sample: Sample) -> Claim:
    """Return a claim with its span in the text that it was extracted from, if the sample has the text.

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
    return Claim(id=claim_id, text=text, of=of, **match._asdict())


def assessment(subject: str, evidence: Evidence, verdicts: tuple[Verdict, ...]) -> Assessment:
    """Return an assessment before the vote."""
    return Assessment(subject=subject, question="support", evidence=evidence, verdicts=verdicts, unassessed="tie")


READERS = ("ragchecker", "deepeval", "ragas")
"""The tools whose result files are recognized."""


def recognize(path: Path) -> RecordedResults | None:
    """Return the results of a file, or None if its first row is not from a tool in `READERS`."""
    first = next(iter(read_rows(path)), None)
    if first is None:
        return None
    fields = first.fields
    if not fields.keys().isdisjoint(_CLAIMS["answer"]) and not fields.keys().isdisjoint(chain(*_VERDICTS.values())):
        return _of_ragchecker(path)
    if isinstance(fields.get("metricsData"), list) and "input" in fields:
        return _of_deepeval(path)
    if "user_input" in fields and "response" in fields and (_ragas_scores(first) or _statements(fields)):
        return _of_ragas(path)
    return None


def _worded_claims(
    sample: Sample, judge: str, labels: Mapping[str, Label], texts: Sequence[str], words: Iterable[tuple[Any, Any]]
) -> SampleResult:
    """Return claims of the answer with one verdict each on the contexts, from the judge's word and its reason."""
    claims = tuple(claim(f"answer-{number}", text, "answer", sample) for number, text in enumerate(texts, 1))
    verdicts = []
    for word, reason in words:
        label = labels.get(str(word).strip().lower())
        explanation = reason if label and isinstance(reason, str) else None
        verdicts.append(
            Verdict(judge=judge, label=label, explanation=explanation, unassessed=None if label else "unparsable")
        )
    if len(verdicts) != len(claims):
        verdicts = [Verdict(judge=judge, unassessed="incomplete") for _ in claims]
    assessments = (
        assessment(of.id, Evidence(part="contexts"), (verdict,)) for of, verdict in zip(claims, verdicts, strict=True)
    )
    return SampleResult(sample=sample, claims=claims, assessments=tuple(assessments))


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
"""The fields with the labels of the claims of one part against another: RAGChecker's name and a descriptive one."""
_RAGCHECKER_FIELDS = {"metrics", *chain(*_CLAIMS.values(), *_VERDICTS.values())}
_RAGCHECKER_LABELS: dict[str, Label] = {
    "Entailment": "supported", "Contradiction": "contradicted", "Neutral": "not_found",
}  # fmt: skip


def _of_ragchecker(path: Path) -> RecordedResults:
    contexts = [_VERDICTS[part, "contexts"] for part in _CLAIMS]
    labels = (row.first(names) for row in read_rows(path) for names in contexts)
    per_document = any(isinstance(words, list) for listed in labels if isinstance(listed, list) for words in listed)
    names = (*GROUPS["ragchecker"], "contradiction_rate") if per_document else ("f1", "contradiction_rate")
    return RecordedResults(
        kind="ragchecker",
        judges=(recorded_judge("ragchecker"),),
        metrics=tuple(metric_of(of, against) for of, against in _VERDICTS),
        scale=THREE_WAY,
        derived=tuple(name for name in names if name in DERIVED),
        per_document=per_document,
        samples=lambda: map(_ragchecker_sample, read_rows(path)),
    )


def _ragchecker_sample(row: SourceRow) -> JudgedSample:
    fields = {name: value for name, value in row.fields.items() if name not in _RAGCHECKER_FIELDS}
    sample = read_sample(row._replace(fields=fields), {})
    documents = [document.id for document in sample.contexts or ()]
    claims = {part: of_part for part in _CLAIMS if (of_part := _ragchecker_claims(row, part, sample)) is not None}
    assessments, per_document = [], []
    for of, against in _VERDICTS:
        for judged_claim, labels in _labeled_claims(row, claims.get(of), _VERDICTS[of, against], len(documents)):
            by_document = dict(zip(documents, labels, strict=True)) if isinstance(labels, list) else {}
            for rank, label in enumerate(labels if against == "contexts" and len(by_document) > 1 else (), 1):
                verdict = Verdict(judge="ragchecker", label=label)
                per_document.append(assessment(judged_claim.id, Evidence(part=against, document=rank), (verdict,)))
            cites = tuple(name for name, label in by_document.items() if label == "supported")
            verdict = Verdict(judge="ragchecker", label=_merged(labels), cites=cites)
            assessments.append(assessment(judged_claim.id, Evidence(part=against), (verdict,)))
    metrics = row.fields.get("metrics")
    scores = metrics.items() if isinstance(metrics, dict) else ()
    result = SampleResult(
        sample=sample,
        claims=tuple(chain(*claims.values())),
        unextracted={part: "no_claims" for part, of_part in claims.items() if not of_part},
        assessments=tuple(assessments),
        per_document=tuple(per_document),
    )
    return JudgedSample(
        result, scores={str(name): finite(value) for name, value in scores if isinstance(value, int | float)}
    )


def _ragchecker_claims(row: SourceRow, part: Part, sample: Sample) -> tuple[Claim, ...] | None:
    """Return the claims of a part, None if the row does not have them. Triplets are joined to one text."""
    entries = row.first(_CLAIMS[part])
    if entries is None:
        return None
    if not isinstance(entries, list):
        raise DataError(f"{row.location}, field {_CLAIMS[part][0]!r}: expected a list of claims")
    texts = [" ".join(map(str, entry)) if isinstance(entry, list) else str(entry) for entry in entries]
    return tuple(claim(f"{part}-{number}", text, part, sample) for number, text in enumerate(texts, 1))


def _labeled_claims(
    row: SourceRow, claims: Sequence[Claim] | None, names: Sequence[str], documents: int
) -> Iterator[tuple[Claim, Sequence[Label]]]:
    """Yield each claim with a list of labels, one per document, or with a tuple of one label for all documents."""
    location = f"{row.location}, field {names[0]!r}"

    def label(word: Any) -> Label:
        if word not in _RAGCHECKER_LABELS:
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
        yield of_entry, [label(word) for word in entry] if isinstance(entry, list) else (label(entry),)


def _merged(labels: Sequence[Label]) -> Label:
    """Return one label for all documents: supported if any is, else contradicted if any is, else not found."""
    if "supported" in labels:
        return "supported"
    return "contradicted" if "contradicted" in labels else "not_found"


_UNNAMED = "deepeval"
_FAITHFULNESS = "Faithfulness"
_DEEPEVAL_LABELS: dict[str, Label] = {"yes": "supported", "no": "contradicted", "idk": "not_found"}
_LOGGED_CLAIMS = re.compile(r"^Claims:\s*\n\[\s*\n(.*?)\n\]", re.DOTALL | re.MULTILINE)
_LOGGED_VERDICTS = re.compile(r"^Verdicts:\s*\n(\[.*)", re.DOTALL | re.MULTILINE)


def _of_deepeval(path: Path) -> RecordedResults:
    """Return the results of a file. The judges are the evaluation models of the faithfulness metric."""
    metrics = (metric for row in read_rows(path) for metric in _deepeval_metrics(row))
    names = dict.fromkeys(_evaluation_model(metric) for metric in metrics if metric["name"] == _FAITHFULNESS)
    return RecordedResults(
        kind="deepeval",
        judges=tuple(map(recorded_judge, names or (_UNNAMED,))),
        metrics=(METRICS["faithfulness"],),
        scale=THREE_WAY,
        samples=lambda: map(_deepeval_sample, read_rows(path)),
    )


def _deepeval_metrics(row: SourceRow) -> Iterator[dict[str, Any]]:
    metrics = row.fields.get("metricsData")
    for metric in metrics if isinstance(metrics, list) else ():
        if not isinstance(metric, dict) or not isinstance(metric.get("name"), str):
            raise DataError(f"{row.location}, field 'metricsData': a metric without a name")
        yield metric


def _evaluation_model(metric: Mapping[str, Any]) -> str:
    return str(metric.get("evaluationModel") or _UNNAMED)


def _deepeval_sample(row: SourceRow) -> JudgedSample:
    fields = row.fields
    expected, actual = fields.get("expectedOutput"), fields.get("actualOutput")
    contexts = fields.get("retrievalContext")
    documents = enumerate(contexts, 1) if isinstance(contexts, list) else None
    sample = Sample(
        id=str(fields.get("name") or row.number),
        question=str(fields["input"]),
        answer=None if actual is None else str(actual),
        contexts=tuple(Document(id=str(rank), text=str(text)) for rank, text in documents) if documents else None,
        reference_answers=() if expected is None else (str(expected),),
    )
    result = SampleResult(sample=sample)
    scores: dict[str, float | None] = {}
    for metric in _deepeval_metrics(row):
        value = metric.get("score")
        scores[metric["name"]] = finite(value) if isinstance(value, int | float) else None
        if metric["name"] == _FAITHFULNESS and isinstance(log := metric.get("verboseLogs"), str):
            texts, words = _logged(log)
            result = _worded_claims(sample, _evaluation_model(metric), _DEEPEVAL_LABELS, texts, words)
    return JudgedSample(result, scores=scores)


def _logged(log: str) -> tuple[list[str], list[tuple[Any, Any]]]:
    """Return the claims, and the words with reasons, in a log, which has one quoted text per line without escapes."""
    claims, verdicts = _LOGGED_CLAIMS.search(log), _LOGGED_VERDICTS.search(log)
    texts = [line.strip().removesuffix(",")[1:-1] for line in claims[1].splitlines()] if claims else []
    entries: Any = []
    with suppress(ValueError):
        entries, _ = json.JSONDecoder().raw_decode(verdicts[1]) if verdicts else ([], 0)
    objects = [entry if isinstance(entry, dict) else {} for entry in entries] if isinstance(entries, list) else []
    return texts, [(entry.get("verdict", ""), entry.get("reason")) for entry in objects]


_SAMPLE_FIELDS = {name for names in ALIASES.values() for name in names}
_RAGAS_LABELS: dict[str, Label] = {
    "1": "supported", "0": "not_found", "true": "supported", "false": "not_found",
}  # fmt: skip


def _of_ragas(path: Path) -> RecordedResults:
    return RecordedResults(
        kind="ragas",
        judges=(recorded_judge("ragas"),),
        metrics=(METRICS["faithfulness"],),
        scale=BINARY,
        samples=lambda: map(_ragas_sample, read_rows(path, texts=_SAMPLE_FIELDS)),
    )


def _ragas_scores(row: SourceRow) -> dict[str, float | None]:
    """Return the numeric columns, whose values are texts in a CSV."""
    scores: dict[str, float | None] = {}
    for name, value in row.fields.items():
        if name not in _SAMPLE_FIELDS and isinstance(value, int | float | str) and not isinstance(value, bool):
            with suppress(ValueError):
                scores[name] = finite(value)
    return scores


def _ragas_sample(row: SourceRow) -> JudgedSample:
    scores = _ragas_scores(row)
    fields = {name: value for name, value in row.fields.items() if name not in scores and name != "traces"}
    statements = _statements(row.fields)
    result = _worded_claims(
        read_sample(row._replace(fields=fields), {}),
        "ragas",
        _RAGAS_LABELS,
        [str(statement["statement"]) for statement in statements],
        [(statement["verdict"], statement.get("reason")) for statement in statements],
    )
    return JudgedSample(result, scores=scores)


def _statements(value: object) -> list[Mapping[str, Any]]:
    """Return the last list of judged statements anywhere in a value."""
    judged = [
        entries
        for entries in _lists(value)
        if entries and all(isinstance(entry, Mapping) and {"statement", "verdict"} <= entry.keys() for entry in entries)
    ]
    return judged[-1] if judged else []


def _lists(value: object) -> Iterator[list[Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name == "statements" and isinstance(inner, list):
                yield inner
            else:
                yield from _lists(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _lists(inner)
