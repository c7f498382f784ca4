"""ragas' results: the rows of `EvaluationResult.to_pandas()`, a score a metric, and statements where traces were kept.

Statements are looked for wherever a row holds a list `statements` of objects with `statement` and `verdict`, which is
how ragas' faithfulness keeps its judge's reply. A score that is not a number (ragas' NaN) is undefined.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claimeval.data.foreign.records import JudgedSample, RecordedResults, assessment, claim, recorded_judge
from claimeval.data.reading import ALIASES
from claimeval.data.reading import sample as read_sample
from claimeval.data.rows import SourceRow, read_rows
from claimeval.judging.panel.settings import UNFAVOURABLE_FIRST
from claimeval.metrics.rows import METRICS
from claimeval.types.records import Claim, Evidence, Extraction, Label, SampleResult, Verdict

JUDGE = "ragas"
TEXTS = ("retrieved_contexts", "reference_contexts")
_OWN = {name for names in ALIASES.values() for name in names}
LABELS: dict[str, Label] = {"1": "supported", "0": "not_found", "true": "supported", "false": "not_found"}


def fits(row: SourceRow) -> bool:
    """Whether a row is a sample of ragas with a score or a trace beside it."""
    return "user_input" in row.fields and "response" in row.fields and bool(_scores(row) or _statements(row.fields))


def judged(path: Path) -> RecordedResults:
    """The file as judged samples."""
    return RecordedResults(
        kind="ragas",
        judges=(recorded_judge(JUDGE),),
        metrics=(METRICS["faithfulness"],),
        labels=UNFAVOURABLE_FIRST[1:],
        samples=lambda: map(_sample, read_rows(path)),
    )


def _scores(row: SourceRow) -> dict[str, float | None]:
    """The columns that hold numbers; in a CSV they are text."""
    found: dict[str, float | None] = {}
    for name, value in row.fields.items():
        if name in _OWN or isinstance(value, bool):
            continue
        try:
            number = float(value) if isinstance(value, int | float | str) else None
        except ValueError:
            continue
        if number is not None:
            found[name] = None if math.isnan(number) else number
    return found


def _sample(row: SourceRow) -> JudgedSample:
    scores = _scores(row)
    rest = {name: _listed(name, value) for name, value in row.fields.items() if name not in scores and name != "traces"}
    sample = read_sample(row._replace(fields=rest), {})
    statements = _statements(row.fields)
    claims = tuple(claim(f"answer-{i}", said[0], "answer", sample) for i, said in enumerate(statements, 1))
    verdicts = [_verdict(stated, *said[1:]) for stated, said in zip(claims, statements, strict=True)]
    return JudgedSample(
        SampleResult(
            sample=sample,
            extractions=(Extraction(of="answer", claims=claims),) if claims else (),
            assessments=tuple(assessment(v.subject, Evidence(part="contexts"), (v,)) for v in verdicts),
        ),
        scores=scores,
    )


def _verdict(stated: Claim, said: Any, reason: Any) -> Verdict:
    label = LABELS.get(str(said).strip().lower())
    if label is None:
        return Verdict(subject=stated.id, judge=JUDGE, unassessed="unparsable")
    return Verdict(subject=stated.id, judge=JUDGE, label=label, explanation=reason if isinstance(reason, str) else None)


def _statements(value: object) -> list[tuple[str, Any, Any]]:
    """The last list of judged statements anywhere in a value: statement, verdict, reason."""
    found: list[tuple[str, Any, Any]] = []
    for entries in _lists(value):
        if entries and all(isinstance(e, Mapping) and "statement" in e and "verdict" in e for e in entries):
            found = [(str(e["statement"]), e["verdict"], e.get("reason")) for e in entries]
    return found


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


def _listed(name: str, value: object) -> object:
    """A list that pandas wrote into a CSV as Python prints it."""
    if name not in TEXTS or not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        given = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return given if isinstance(given, list) else value
