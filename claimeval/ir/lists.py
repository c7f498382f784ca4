"""One query: a ranked list of ids against the relevant ones; and arrays of grades for many queries.

``retrieved[i]`` is the document at rank i + 1. ``relevant`` is a collection of ids, or a mapping of id to grade.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from claimeval.ir.evaluation import Evaluation, count, summarize
from claimeval.ir.names import Measure, parse
from claimeval.ir.ranked import Floats, Ints, Ranked
from claimeval.types.errors import DataError

Relevant = Collection[str] | Mapping[str, int]
Gain = Literal["linear", "exponential"]


def evaluate_list(
    retrieved: Sequence[str], relevant: Relevant, measures: str | Iterable[str | Measure], *, level: int = 1
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
    if isinstance(retrieved, str) or isinstance(relevant, str):
        raise DataError("needed are a list of retrieved ids and a collection of relevant ids, not a single string")
    grades = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, level)
    repeated = [document for document, count in Counter(retrieved).items() if count > 1]
    if repeated:
        raise DataError(f"document {repeated[0]!r} was retrieved more than once; drop the later copies first")
    judged = [(rank, grades[document]) for rank, document in enumerate(retrieved, 1) if grades.get(document, -1) >= 0]
    pool = np.array([grade for grade in grades.values() if grade >= 0], np.int64)
    ranked = Ranked(
        queries=("",),
        retrieved=np.array([len(retrieved)]),
        judged=np.array([len(judged)]),
        query=np.zeros(len(judged), np.int64),
        rank=np.array([rank for rank, _ in judged], np.int64),
        grade=np.array([grade for _, grade in judged], np.int64),
        pool_query=np.zeros(len(pool), np.int64),
        pool_grade=pool,
    )
    values = _summary(ranked, measures, level).per_query[""]
    return {name: value for name, value in values.items() if value is not None}


def evaluate_array(
    grades: ArrayLike,
    measures: str | Iterable[str | Measure],
    *,
    scores: ArrayLike | None = None,
    level: int = 1,
) -> Evaluation:
    """Compute measures of a table of grades: ``grades[q][i]`` is the grade of the document at rank i + 1 of query q.

    Negative grades mean unjudged. The documents in the table are all that is known: recall, AP and nDCG refer to them.

    >>> evaluate_array([[0, 0, 1, 1, 1], [1, 0, 0, 0, 0]], "dcg").per_query["1"]
    {'dcg': 1.0}

    Args:
        grades: Whole numbers, queries by ranks.
        measures: Names such as ``"ndcg@10,map"``; see ``parse``.
        scores: A table of the same shape. Documents are ranked by it instead, equal scores in the order given.
        level: The lowest grade that counts as relevant.

    Returns:
        The evaluation; its queries are called ``"0"``, ``"1"`` and so on.

    Raises:
        DataError: If the tables are empty, of different shape, or hold other values.
        UsageError: If a measure is unknown.
    """
    table = np.asarray(grades)
    if table.ndim != 2 or table.size == 0 or (table != np.rint(table)).any():
        raise DataError(f"grades are a table of whole numbers, queries by ranks; given is one of shape {table.shape}")
    rows, width = table.shape
    if scores is not None:
        table = np.take_along_axis(table, _falling(np.asarray(scores, np.float64), table.shape), axis=1)
    query, position = np.nonzero(table >= 0)
    grade = table[query, position].astype(np.int64)
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
    return _summary(ranked, measures, level)


def precision(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the relevant documents among the first k, divided by k even if fewer were retrieved.

    Without k, the relevant share of all retrieved.
    """
    return _value(retrieved, relevant, "set_P" if k is None else f"P@{k}")


def recall(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the share of the relevant documents among the first k; without k, among all retrieved."""
    return _value(retrieved, relevant, "set_recall" if k is None else f"recall@{k}")


def capped_recall(retrieved: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return the relevant documents among the first k, divided by the smaller of k and their number (BEIR)."""
    return _value(retrieved, relevant, f"capped_recall@{k}")


def hit(retrieved: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return 1 if one of the first k is relevant, else 0."""
    return _value(retrieved, relevant, f"hit@{k}")


def f1(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the harmonic mean of precision and recall among the first k; without k, among all retrieved."""
    return _value(retrieved, relevant, "set_F" if k is None else f"f1@{k}")


def reciprocal_rank(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return 1 / rank of the first relevant document, 0 if there is none (among the first k)."""
    return _value(retrieved, relevant, _cut("recip_rank", k))


def average_precision(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return trec_eval's map: the sum of the precision at each relevant document, divided by all of them."""
    return _value(retrieved, relevant, _cut("map", k))


def ap_retrieved(retrieved: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Return the mean of the precision at each relevant document retrieved; missed documents are ignored."""
    return _value(retrieved, relevant, _cut("ap_retrieved", k))


def r_precision(retrieved: Sequence[str], relevant: Relevant) -> float:
    """Return the precision at the rank that equals the number of relevant documents."""
    return _value(retrieved, relevant, "Rprec")


def dcg(retrieved: Sequence[str], relevant: Relevant, k: int | None = None, *, gain: Gain = "linear") -> float:
    """Return the sum of gain / log2(rank + 1).

    Args:
        retrieved: Document ids; ``retrieved[i]`` is at rank i + 1.
        relevant: The relevant ids, or a mapping of id to grade.
        k: Use only the first k documents.
        gain: The gain of a grade: the grade itself, or 2 ** grade - 1 (``exponential``).
    """
    return _value(retrieved, relevant, _cut("dcg_exp" if gain == "exponential" else "dcg", k))


def ndcg(retrieved: Sequence[str], relevant: Relevant, k: int | None = None, *, gain: Gain = "linear") -> float:
    """Return DCG divided by that of the best possible order of all relevant documents; 0 if none is relevant.

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


def _summary(ranked: Ranked, measures: str | Iterable[str | Measure], level: int) -> Evaluation:
    return summarize(ranked, parse(measures), level=level, counts=count(ranked, level))


def _falling(scores: Floats, shape: tuple[int, ...]) -> Ints:
    if scores.shape != shape or np.isnan(scores).any():
        raise DataError(f"scores are numbers in a table of the shape of the grades, {shape}; given is {scores.shape}")
    return np.argsort(-scores, axis=1, kind="stable")
