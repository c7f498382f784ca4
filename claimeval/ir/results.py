"""The values of one run: per query, on average, and what lies behind the means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from claimeval.ir.names import Measure
from claimeval.ir.ranked import Floats, Ranked

_LEAST = 1e-5
"""What an average precision below it counts in ``gm_map``, as in trec_eval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCounts:
    """What lies behind the means."""

    queries: int
    """Queries evaluated."""
    missing: tuple[str, ...] = ()
    """Queries of the qrels that the run lacks."""
    missing_are_zero: bool = False
    """They count as 0; otherwise they are left out of the means."""
    not_judged: tuple[str, ...] = ()
    """Queries of the run that the qrels lack; they are ignored."""
    without_relevant: tuple[str, ...] = ()
    """Evaluated queries for which no document is relevant."""
    without_relevant_are_zero: bool = True
    """They count as 0; otherwise their values are None and left out of the means."""
    level: int
    """The lowest grade that counts as relevant, for the measures that go by relevant or not."""
    highest_grade: int
    """Of the documents of the evaluated queries, retrieved or not."""
    graded: int
    """Documents of the evaluated queries graded above 0, retrieved or not."""
    retrieved: int
    """Documents retrieved for the evaluated queries, after any cut."""
    unjudged: int | None
    """How many of them have no judgment; they count as not relevant. None where they were not counted: dicts are only
    searched for what the measures need, so ask for ``judged`` as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The values of one run."""

    run_id: str | None = None
    """The tag of the run file."""
    measures: tuple[Measure, ...]
    per_query: Mapping[str, Mapping[str, float | None]]
    """Query to measure to value; None where it is undefined."""
    mean: Mapping[str, float | None]
    """Measure to its mean over the queries where it is defined; counts are summed, ``gm_map`` is geometric."""
    counts: QueryCounts

    def only(self, measures: tuple[Measure, ...]) -> Evaluation:
        """The same with some of the measures."""
        names = {measure.name for measure in measures}
        return replace(
            self,
            measures=measures,
            per_query={
                query: {name: value for name, value in values.items() if name in names}
                for query, values in self.per_query.items()
            },
            mean={name: value for name, value in self.mean.items() if name in names},
        )

    def as_dict(self, *, per_query: bool = True) -> dict[str, object]:
        """The numbers in the form of JSON."""
        shown: dict[str, object] = {"run_id": self.run_id, "mean": dict(self.mean), "counts": asdict(self.counts)}
        if per_query:
            shown["per_query"] = {query: dict(values) for query, values in self.per_query.items()}
        return shown


def summarise(
    ranked: Ranked,
    measures: tuple[Measure, ...],
    *,
    counts: QueryCounts,
    level: int = 1,
    undefined: bool = False,
    run_id: str | None = None,
) -> Evaluation:
    """Compute the measures; with ``undefined``, queries without relevant documents have no value."""
    columns = [_column(measure, ranked, level, undefined=undefined) for measure in measures]
    names = [measure.name for measure in measures]
    listed = [_plain(measure, values) for measure, values in zip(measures, columns, strict=True)]
    return Evaluation(
        run_id=run_id,
        measures=measures,
        per_query={
            query: dict(zip(names, values, strict=True))
            for query, values in zip(ranked.queries, zip(*listed, strict=True), strict=True)
        },
        mean={measure.name: _mean(measure, values) for measure, values in zip(measures, columns, strict=True)},
        counts=counts,
    )


def count(ranked: Ranked, level: int) -> QueryCounts:
    """The counts that the ranking itself tells."""
    return QueryCounts(
        queries=len(ranked.queries),
        without_relevant=tuple(ranked.queries[number] for number in np.flatnonzero(ranked.total_relevant(level) == 0)),
        level=level,
        highest_grade=int(ranked.pool_grade.max(initial=0)),
        graded=int((ranked.pool_grade > 0).sum()),
        retrieved=int(ranked.retrieved.sum()),
        unjudged=None if ranked.judged is None else int((ranked.retrieved - ranked.judged).sum()),
    )


def _column(measure: Measure, ranked: Ranked, level: int, *, undefined: bool) -> Floats:
    """The values of one measure, NaN where it is undefined."""
    setting = measure.setting(level)
    values = measure.row.formula(ranked, setting)
    if not undefined or measure.row.relevance == "none" or measure.row.summary == "sum":
        return values
    graded = measure.row.relevance != "binary" and not setting.binary
    return np.where(ranked.total_relevant(1 if graded else setting.level) == 0, np.nan, values)


def _mean(measure: Measure, values: Floats) -> float | None:
    """The summary over the queries where the measure is defined; None where it is defined for none.

    Values are added one by one in the order of the queries, as trec_eval adds them.
    """
    defined = values[~np.isnan(values)]
    if not defined.size:
        return None
    if measure.row.summary == "sum":
        return int(defined.sum())
    if measure.row.summary == "geometric":
        return float(np.exp(_added(np.log(np.maximum(defined, _LEAST))) / defined.size))
    return _added(defined) / defined.size


def _added(values: Floats) -> float:
    return float(np.cumsum(values)[-1])


def _plain(measure: Measure, values: Floats) -> list[float | None]:
    if measure.row.summary == "sum":
        return list(values.astype(np.int64).tolist())
    if np.isnan(values).any():
        return [None if value != value else value for value in values.tolist()]
    return list(values.tolist())
