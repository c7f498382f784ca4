"""Evaluations for people and scripts: a table with what the means leave out in words below, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from claimeval.ir.names import Measure
from claimeval.ir.pairs import Pairing
from claimeval.ir.results import Evaluation


def labels(runs: Sequence[Path]) -> list[str]:
    """What to call runs: their file names where these differ, else their paths."""
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def text(evaluations: Sequence[Evaluation], labels: Sequence[str], *, per_query: bool, summary: bool) -> str:
    """Values of each query, run by run, and means, measure by measure; remarks below."""
    parts = []
    if per_query:
        parts += [f"{label}\n{_of_queries(ev)}" for label, ev in zip(labels, evaluations, strict=True)]
    if summary:
        parts.append(_of_means(evaluations, labels))
    said = [f"{label}: {'; '.join([basis(ev), *trouble(ev)])}\n" for label, ev in zip(labels, evaluations, strict=True)]
    return "\n".join([*parts, "".join(said)])


def as_json(
    evaluations: Sequence[Evaluation], labels: Sequence[str], *, per_query: bool, pairings: Sequence[Pairing] = ()
) -> str:
    """One object a run, and one a pairing where runs were compared."""
    runs = [
        {"run": label, **evaluation.as_dict(per_query=per_query)}
        for label, evaluation in zip(labels, evaluations, strict=True)
    ]
    pairs = [
        {"run": p.run, "minus": labels[0], "measure": p.measure, **asdict(p.comparison), "p_holm": p.p_holm}
        for p in pairings
    ]
    content = {"runs": runs, **({"pairs": pairs} if pairs else {})}
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


def basis(evaluation: Evaluation) -> str:
    """How many queries and documents lie behind the means."""
    counts = evaluation.counts
    said = f"{_many(counts.queries, 'query')}, {_many(counts.retrieved, 'document')} retrieved"
    return said if counts.unjudged is None else f"{said}, {counts.unjudged} of them without judgment"


def trouble(evaluation: Evaluation) -> Iterator[str]:
    """What was left out of the means or counts 0 in them, and which of several grades count as relevant."""
    counts = evaluation.counts
    if counts.highest_grade > 1 and any(measure.row.relevance == "binary" for measure in evaluation.measures):
        yield f"grades reach {counts.highest_grade}, relevant from {counts.level} on (-l)"
    if counts.missing:
        fate = "counted as 0" if counts.missing_are_zero else "left out (-c counts them as 0)"
        yield f"{_some(counts.missing)} of the qrels not in the run, {fate}"
    if counts.not_judged:
        yield f"{_some(counts.not_judged)} of the run not in the qrels, ignored"
    if counts.without_relevant:
        fate = "counted as 0" if counts.without_relevant_are_zero else "left out"
        yield f"{_some(counts.without_relevant)} without a relevant document, {fate}"


def _of_means(evaluations: Sequence[Evaluation], labels: Sequence[str]) -> str:
    return _align(
        [
            ["measure", *labels],
            *(
                [measure.name, *(_shown(measure, evaluation.mean[measure.name]) for evaluation in evaluations)]
                for measure in evaluations[0].measures
            ),
        ]
    )


def _of_queries(evaluation: Evaluation) -> str:
    return _align(
        [
            ["query", *(measure.name for measure in evaluation.measures)],
            *(
                [query, *(_shown(measure, values[measure.name]) for measure in evaluation.measures)]
                for query, values in evaluation.per_query.items()
            ),
        ]
    )


def _shown(measure: Measure, value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if measure.row.summary == "sum" else f"{value:.4f}"


def _align(rows: list[list[str]]) -> str:
    """Columns as wide as needed, the first one to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + "\n"
        for row in rows
    )


def _many(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _some(names: Sequence[str]) -> str:
    listed = ", ".join(names[:5])
    return f"{_many(len(names), 'query')} ({listed}{', ...' if len(names) > 5 else ''})"
