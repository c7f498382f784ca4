"""Read test runs of DeepEval: test cases with the scores of all metrics, and the verdicts of the faithfulness metric.

The metric's log (`verboseLogs`) lists claims and verdicts without ids. If their numbers differ, all claims are
unassessed. `no` is contradicted. `idk` is not found, which DeepEval counts as faithful.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claimeval.data.foreign.records import JudgedSample, RecordedResults, assessment, claim, finite, recorded_judge
from claimeval.data.rows import SourceRow, read_rows
from claimeval.metrics.rows import METRICS
from claimeval.types.errors import DataError
from claimeval.types.records import (
    Assessment,
    Claim,
    Document,
    Evidence,
    Label,
    Sample,
    SampleResult,
    Verdict,
)
from claimeval.types.scales import THREE_WAY

UNNAMED = "deepeval"
FAITHFULNESS = "Faithfulness"
LABELS: dict[str, Label] = {"yes": "supported", "no": "contradicted", "idk": "not_found"}
_CLAIMS = re.compile(r"^Claims:\s*\n\[\s*\n(.*?)\n\]", re.DOTALL | re.MULTILINE)
_VERDICTS = re.compile(r"^Verdicts:\s*\n(\[.*)", re.DOTALL | re.MULTILINE)


def recognizes(row: SourceRow) -> bool:
    """Return whether a row is a test case of a test run."""
    return isinstance(row.fields.get("metricsData"), list) and "input" in row.fields


def recorded_results(path: Path) -> RecordedResults:
    """Return the results of a file. The judges are the evaluation models of the faithfulness metric."""
    names: dict[str, None] = {}
    for row in read_rows(path):
        for metric in _metrics(row):
            if metric["name"] == FAITHFULNESS:
                names[_judge(metric)] = None
    return RecordedResults(
        kind="deepeval",
        judges=tuple(map(recorded_judge, names or {UNNAMED: None})),
        metrics=(METRICS["faithfulness"],),
        scale=THREE_WAY,
        samples=lambda: map(_sample, read_rows(path)),
    )


def _metrics(row: SourceRow) -> Iterator[dict[str, Any]]:
    metrics = row.fields.get("metricsData") or ()
    for metric in metrics if isinstance(metrics, list) else ():
        if not isinstance(metric, dict) or not isinstance(metric.get("name"), str):
            raise DataError(f"{row.location}, field 'metricsData': a metric without a name")
        yield metric


def _judge(metric: dict[str, Any]) -> str:
    return str(metric.get("evaluationModel") or UNNAMED)


def _sample(row: SourceRow) -> JudgedSample:
    fields = row.fields
    expected, actual = fields.get("expectedOutput"), fields.get("actualOutput")
    contexts = fields.get("retrievalContext")
    sample = Sample(
        id=str(fields.get("name") or row.number),
        question=str(fields["input"]),
        answer=None if actual is None else str(actual),
        contexts=tuple(Document(id=str(i), text=str(text)) for i, text in enumerate(contexts, 1))
        if isinstance(contexts, list)
        else None,
        reference_answers=() if expected is None else (str(expected),),
    )
    claims: tuple[Claim, ...] = ()
    assessments: tuple[Assessment, ...] = ()
    scores: dict[str, float | None] = {}
    for metric in _metrics(row):
        value = metric.get("score")
        scores[metric["name"]] = finite(value) if isinstance(value, int | float) else None
        if metric["name"] == FAITHFULNESS and isinstance(metric.get("verboseLogs"), str):
            claims, assessments = _verdicts(metric["verboseLogs"], _judge(metric), sample)
    return JudgedSample(
        SampleResult(
            sample=sample,
            claims=claims,
            assessments=assessments,
        ),
        scores=scores,
    )


def _verdicts(log: str, judge: str, sample: Sample) -> tuple[tuple[Claim, ...], tuple[Assessment, ...]]:
    """Return claims and verdicts of a log, which prints one text a line, in quotes and without escapes."""
    match = _CLAIMS.search(log)
    texts = [line.strip().removesuffix(",")[1:-1] for line in match.group(1).splitlines()] if match else []
    claims = tuple(claim(f"answer-{i}", text, "answer", sample) for i, text in enumerate(texts, 1))
    entries = _entries(log)
    verdicts = (
        [_verdict(judge, entry) for entry in entries]
        if len(entries) == len(claims)
        else [Verdict(judge=judge, unassessed="incomplete") for _ in claims]
    )
    pairs = zip(claims, verdicts, strict=True)
    return claims, tuple(assessment(one.id, Evidence(part="contexts"), (verdict,)) for one, verdict in pairs)


def _entries(log: str) -> list[Any]:
    match = _VERDICTS.search(log)
    if not match:
        return []
    try:
        entries, _ = json.JSONDecoder().raw_decode(match.group(1))
    except ValueError:
        return []
    return entries if isinstance(entries, list) else []


def _verdict(judge: str, entry: Any) -> Verdict:
    word = str(entry.get("verdict", "")).strip().lower() if isinstance(entry, dict) else ""
    reason = entry.get("reason") if isinstance(entry, dict) else None
    if word not in LABELS:
        return Verdict(judge=judge, unassessed="unparsable")
    return Verdict(judge=judge, label=LABELS[word], explanation=reason if isinstance(reason, str) else None)
