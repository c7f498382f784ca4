"""Measures of a ranked list of ids, and of arrays of grades.

``retrieved[i]`` is the document at rank i + 1. ``relevant`` is a collection of ids, or a mapping of
id to grade.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from claimeval.ir.evaluation import Evaluation, count_columns, summarize
from claimeval.ir.measures import Measure, parse
from claimeval.ir.ranked import Floats, Pool, Ranked, RankedQuery, as_grades
from claimeval.types.errors import DataError

Relevant = Collection[str] | Mapping[str, float]
Gain = Literal["linear", "exponential"]


def evaluate_list(
    retrieved: Sequence[str],
    relevant: Relevant,
    measures: str | Iterable[str | Measure],
    *,
    level: float = 1,
) -> dict[str, float]:
    """Compute measures of one ranked list; 0 if a denominator is 0.

    >>> evaluate_list(["A", "x", "B"], {"A", "B", "C", "D"}, "P@3,ap_retrieved")["ap_retrieved"]
    0.8333333333333333

    Args:
        retrieved: Document ids; ``retrieved[i]`` is at rank i + 1. An empty list scores 0.
        relevant: The relevant ids, or a mapping of id to grade.
        measures: Names such as ``"ndcg@10,map"``; see ``parse``.
        level: The lowest grade that counts as relevant.

    Returns:
        The value of each measure by name.

    Raises:
        DataError: If an argument is a single string or an id is retrieved twice.
        UsageError: If a measure is unknown.
    """
    _check_ids(retrieved, relevant)
    grades = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, level)
    graded = [
        (rank, grades[document]) for rank, document in enumerate(retrieved, 1) if document in grades
    ]
    ranked = RankedQuery(
        Pool(grades.values()),
        len(retrieved),
        [(rank, grade) for rank, grade in graded if grade >= 0],
        [rank for rank, grade in graded if grade < 0],
    )
    return {
        measure.name: measure.of_query(ranked, measure.setting(level))
        for measure in parse(measures)
    }


def _check_ids(retrieved: Sequence[str], relevant: Relevant) -> None:
    # A text is a collection of its letters, and would be scored as such.
    if isinstance(retrieved, str) or isinstance(relevant, str):
        raise DataError(
            "expected a list of retrieved ids and a collection of relevant ids, not a single string"
        )
    repeated = [document for document, count in Counter(retrieved).items() if count > 1]
    if repeated:
        raise DataError(
            f"document {repeated[0]!r} was retrieved more than once; drop the later copies first"
        )


def evaluate_array(
    grades: ArrayLike,
    measures: str | Iterable[str | Measure],
    *,
    scores: ArrayLike | None = None,
    level: float = 1,
) -> Evaluation:
    """Compute measures of a table of grades: ``grades[q][i]`` is the grade of the document at rank
    i + 1 of query q.

    Negative grades mean unjudged. The documents in the table are all that is known: recall, AP and
    nDCG refer to them.

    >>> evaluate_array([[0, 0, 1, 1, 1], [1, 0, 0, 0, 0]], "dcg").per_query["1"]
    {'dcg': 1.0}

    Args:
        grades: Numbers, queries by ranks.
        measures: Names such as ``"ndcg@10,map"``; see ``parse``.
        scores: A table of the same shape. Documents are ranked by it instead, with equal scores in
            the given order.
        level: The lowest grade that counts as relevant.

    Returns:
        The evaluation; its queries are called ``"0"``, ``"1"`` and so on.

    Raises:
        DataError: If the tables are empty, differ in shape, or have values that are not numbers.
        UsageError: If a measure is unknown.
    """
    table = _table("grades", grades)
    parsed = parse(measures)
    rows, width = table.shape
    if scores is not None:
        ranked_by = _table("scores", scores)
        if ranked_by.shape != table.shape:
            raise DataError(
                f"scores must have the shape of the grades, {table.shape}; got {ranked_by.shape}"
            )
        order = np.argsort(-ranked_by, axis=1, kind="stable")
        table = np.take_along_axis(table, order, axis=1)
    query, position = np.nonzero(table >= 0)
    grade = as_grades(table[query, position])
    ranked = Ranked(
        queries=tuple(map(str, range(rows))),
        retrieved=np.full(rows, width),
        judged=np.bincount(query, minlength=rows),
        query=query,
        rank=position + 1,
        grade=grade,
        pool_query=query,
        pool_grade=grade,
    )
    settings = [measure.setting(level) for measure in parsed]
    return summarize(ranked, parsed, settings, count=partial(count_columns, ranked, level))


def precision(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the number of relevant documents among the first k, divided by k even if fewer were
    retrieved.

    Without k, the share of relevant documents among all retrieved.
    """
    return _value(retrieved, relevant, "set_P" if k is None else f"P@{k}")


def recall(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the share of the relevant documents among the first k; without k, among all
    retrieved."""
    return _value(retrieved, relevant, "set_recall" if k is None else f"recall@{k}")


def capped_recall(retrieved: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return the number of relevant documents among the first k, divided by the smaller of k and R
    (BEIR)."""
    return _value(retrieved, relevant, f"capped_recall@{k}")


def hit(retrieved: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return 1 if one of the first k is relevant, else 0."""
    return _value(retrieved, relevant, f"hit@{k}")


def f1(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the harmonic mean of precision and recall among the first k; without k, among all
    retrieved."""
    return _value(retrieved, relevant, "set_F" if k is None else f"f1@{k}")


def reciprocal_rank(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return 1 / rank of the first relevant document, 0 if there is none (among the first k)."""
    return _value(retrieved, relevant, _cut("recip_rank", k))


def average_precision(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return trec_eval's map: the sum of the precision at each relevant document, divided by all of
    them."""
    return _value(retrieved, relevant, _cut("map", k))


def ap_retrieved(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the mean of the precision at each relevant document retrieved; missed documents are
    ignored."""
    return _value(retrieved, relevant, _cut("ap_retrieved", k))


def r_precision(retrieved: Sequence[str], relevant: Relevant) -> float:
    """Return the precision at the rank that equals the number of relevant documents."""
    return _value(retrieved, relevant, "Rprec")


def dcg(
    retrieved: Sequence[str],
    relevant: Relevant,
    k: int | None = None,
    *,
    gain: Gain = "linear",
) -> float:
    """Return the sum of gain / log2(rank + 1).

    Args:
        retrieved: Document ids; ``retrieved[i]`` is at rank i + 1.
        relevant: The relevant ids, or a mapping of id to grade.
        k: Use only the first k documents.
        gain: The gain of a grade: the grade itself, or 2 ** grade - 1 (``exponential``).
    """
    return _value(retrieved, relevant, _cut("dcg_exp" if gain == "exponential" else "dcg", k))


def ndcg(
    retrieved: Sequence[str],
    relevant: Relevant,
    k: int | None = None,
    *,
    gain: Gain = "linear",
) -> float:
    """Return DCG divided by that of the best possible order of all relevant documents; 0 if none is
    relevant.

    Args:
        retrieved: Document ids; ``retrieved[i]`` is at rank i + 1.
        relevant: The relevant ids, or a mapping of id to grade.
        k: Use only the first k documents.
        gain: The gain of a grade: the grade itself, or 2 ** grade - 1 (``exponential``).
    """
    return _value(retrieved, relevant, _cut("ndcg_exp" if gain == "exponential" else "ndcg", k))


def _value(retrieved: Sequence[str], relevant: Relevant, measure: str) -> float:
    return evaluate_list(retrieved, relevant, measure)[measure]


def _cut(measure: str, k: int | None) -> str:
    return measure if k is None else f"{measure}@{k}"


def _table(name: str, rows: ArrayLike) -> Floats:
    """Return a table of numbers. Raises DataError, with the row, for anything else."""
    expected = f"{name} must be a table of numbers, queries by ranks"
    try:
        table = np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{expected}, {_why_no_table(rows)}") from None
    if table.ndim != 2 or table.size == 0 or np.isnan(table).any():
        raise DataError(
            f"{expected}; got the shape {table.shape}{' with NaN' if np.isnan(table).any() else ''}"
        )
    return table


def _why_no_table(rows: ArrayLike) -> str:
    """Return how rows that numpy takes for no table of numbers differ from one."""
    listed = list(rows) if isinstance(rows, Iterable) else []
    widths = [len(row) if isinstance(row, Sized) else 0 for row in listed]
    odd = next((number for number, width in enumerate(widths) if width != widths[0]), None)
    if odd is None:
        return "not of other values"
    return (
        f"all rows as long as the first; row 0 has {widths[0]} and row {odd} has {widths[odd]}."
        " Fill short rows with grade -1, or evaluate dicts with ir.evaluate"
    )
