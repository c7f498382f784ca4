"""Pictures of rank metrics: nDCG over k, precision over recall, and the queries on which two runs
differ."""

from __future__ import annotations

from collections.abc import Sequence

from claimeval.ir import Evaluation
from claimeval.ir.measures import Measure
from claimeval.report.charts import Curve, Mark, Picture, bars, beside, lines
from claimeval.statistics import mean_interval
from claimeval.types.errors import UsageError

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_NDCG = {k: f"ndcg@{k}" for k in DEPTHS}
_RECALLS = {tenth / 10: f"iprec@{tenth / 10:g}" for tenth in range(11)}
CURVES = ("num_ret", *_NDCG.values(), *_RECALLS.values())
"""The measures that ``draw`` needs."""


def comparable(measures: Sequence[Measure]) -> str:
    """Return the first measure that is not a count, for the chart of queries. Raises UsageError if
    all are counts."""
    for measure in measures:
        if measure.row.summary != "sum":
            return measure.name
    raise UsageError(
        "a picture compares values of queries; choose a measure that is not a count, such as map"
    )


def draw(evaluations: Sequence[Evaluation], labels: Sequence[str], measure: str) -> Picture:
    """Draw nDCG over k with 95% intervals, and the interpolated precision at eleven levels of
    recall.

    For two runs, bars show for each query how much better the second run is in ``measure``.

    Args:
        evaluations: The evaluation of each run, with the measures of ``CURVES`` and ``measure``.
        labels: The name of each run.
        measure: The measure of the bars.

    Raises:
        UsageError: If two runs have no query in common.
    """
    named = list(zip(labels, evaluations, strict=True))
    deepest = max(
        (
            query["num_ret"] or 0
            for evaluation in evaluations
            for query in evaluation.per_query.values()
        ),
        default=0,
    )
    depths = {k: name for k, name in _NDCG.items() if k <= max(2, deepest)}
    ndcg = [
        Curve(label, [(k, _mark(evaluation, name)) for k, name in depths.items()])
        for label, evaluation in named
    ]
    precision = [
        Curve(label, [(x, Mark("", evaluation.mean[name])) for x, name in _RECALLS.items()])
        for label, evaluation in named
    ]
    parts = [
        lines(ndcg, "nDCG over k", "k (documents looked at)", "nDCG@k", log=True, width=420),
        lines(precision, "Precision over recall", "recall", "interpolated precision", width=420),
    ]
    if len(evaluations) == 2:
        changes = differences(evaluations[0], evaluations[1], measure)
        if not changes:
            raise UsageError(
                f"the runs {labels[0]!r} and {labels[1]!r} have no query in common to compare"
            )
        parts.append(
            bars(
                changes,
                f"{measure}: {labels[1]} minus {labels[0]}",
                "queries",
                "difference",
                width=420,
            )
        )
    return beside(", ".join(labels), parts)


def differences(first: Evaluation, second: Evaluation, measure: str) -> list[float]:
    """Return the second run's value minus the first's for each query with both values, in
    descending order."""
    pairs = [
        (first.per_query[query][measure], second.per_query[query][measure])
        for query in first.per_query
        if query in second.per_query
    ]
    return sorted((b - a for a, b in pairs if a is not None and b is not None), reverse=True)


def _mark(evaluation: Evaluation, measure: str) -> Mark:
    values = [
        value for query in evaluation.per_query.values() if (value := query[measure]) is not None
    ]
    estimate = mean_interval(values)
    return Mark("", evaluation.mean[measure], estimate.low, estimate.high, len(values))
