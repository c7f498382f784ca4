"""Read results of ragas: the rows of `EvaluationResult.to_pandas()` with a score per metric, and statements in traces.

The statements are the last list `statements` of objects with `statement` and `verdict` in a row, which is how the
faithfulness metric stores its judge's reply. A score that is NaN is undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from claimeval.data.foreign.records import JudgedSample, RecordedResults, assessment, claim, finite, recorded_judge
from claimeval.data.reading import ALIASES
from claimeval.data.reading import sample as read_sample
from claimeval.data.rows import SourceRow, read_rows
from claimeval.metrics.rows import METRICS
from claimeval.types.records import Evidence, Label, SampleResult, Verdict
from claimeval.types.scales import BINARY

JUDGE = "ragas"
_SAMPLE_FIELDS = {name for names in ALIASES.values() for name in names}
LABELS: dict[str, Label] = {"1": "supported", "0": "not_found", "true": "supported", "false": "not_found"}


def recognizes(row: SourceRow) -> bool:
    """Return whether a row is a sample of ragas with a score or a trace."""
    return "user_input" in row.fields and "response" in row.fields and bool(_scores(row) or _statements(row.fields))


def recorded_results(path: Path) -> RecordedResults:
    """Return the results of a file."""
    return RecordedResults(
        kind="ragas",
        judges=(recorded_judge(JUDGE),),
        metrics=(METRICS["faithfulness"],),
        scale=BINARY,
        samples=lambda: map(_sample, read_rows(path, texts=_SAMPLE_FIELDS)),
    )


def _scores(row: SourceRow) -> dict[str, float | None]:
    """Return the columns with numbers, which are text in a CSV."""
    scores: dict[str, float | None] = {}
    for name, value in row.fields.items():
        if name in _SAMPLE_FIELDS or isinstance(value, bool):
            continue
        if not isinstance(value, int | float | str):
            continue
        with suppress(ValueError):
            scores[name] = finite(value)
    return scores


def _sample(row: SourceRow) -> JudgedSample:
    scores = _scores(row)
    fields = {name: value for name, value in row.fields.items() if name not in scores and name != "traces"}
    sample = read_sample(row._replace(fields=fields), {})
    statements = _statements(row.fields)
    claims = tuple(claim(f"answer-{i}", text, "answer", sample) for i, (text, _, _) in enumerate(statements, 1))
    verdicts = [(one.id, _verdict(word, reason)) for one, (_, word, reason) in zip(claims, statements, strict=True)]
    return JudgedSample(
        SampleResult(
            sample=sample,
            claims=claims,
            assessments=tuple(assessment(claim_id, Evidence(part="contexts"), (v,)) for claim_id, v in verdicts),
        ),
        scores=scores,
    )


def _verdict(word: Any, reason: Any) -> Verdict:
    label = LABELS.get(str(word).strip().lower())
    if label is None:
        return Verdict(judge=JUDGE, unassessed="unparsable")
    return Verdict(judge=JUDGE, label=label, explanation=reason if isinstance(reason, str) else None)


def _statements(value: object) -> list[tuple[str, Any, Any]]:
    """Return statement, verdict and reason from the last list of judged statements anywhere in a value."""
    statements: list[tuple[str, Any, Any]] = []
    for entries in _lists(value):
        if entries and all(isinstance(e, Mapping) and "statement" in e and "verdict" in e for e in entries):
            statements = [(str(e["statement"]), e["verdict"], e.get("reason")) for e in entries]
    return statements


def _lists(value: object) -> Iterator[list[Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name == "statements" and isinstance(inner, list):
                yield inner
            else:
                yield from _lists(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _lists(inner)
