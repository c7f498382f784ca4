"""Grades of an assessor held against those of people: kappa, confusion, and whether systems come in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from claimeval import ir
from claimeval.data.test_collections import read_assessors
from claimeval.ir.output import labels
from claimeval.statistics import cohen_kappa, confusion, raw_agreement
from claimeval.types.errors import DataError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record
from claimeval.types.scales import Scale


class Order(Record):
    """How an assessor orders systems by one measure, beside the order that people give."""

    measure: str
    tau: float | None
    """Kendall's tau-b of the two orders, in [-1, 1]; None below two systems or where one side ties them all."""
    human: dict[str, float | None]
    """The mean of each system by the grades of people."""
    assessor: dict[str, float | None]
    queries: int
    """Questions that both have grades for; the means are over these."""


class Validity(Record):
    """One assessor against people."""

    pairs: int
    """Pairs with a grade of both."""
    unassessed: int
    """Pairs that people graded and the assessor did not."""
    further: int
    """Pairs that only the assessor graded."""
    relevant_from: int
    exact: Estimate
    """Share of the pairs with the very same grade."""
    kappa: Estimate | None
    """Cohen's kappa over all grades; None where the two scales have different highest grades."""
    kappa_quadratic: Estimate | None
    """The same with a disagreement counted by its squared distance."""
    kappa_binary: Estimate
    """Cohen's kappa of relevant or not."""
    labels: tuple[int, ...]
    confusion: tuple[tuple[int, ...], ...]
    """`confusion[i][j]`: pairs that people grade `labels[i]` and the assessor `labels[j]`."""
    orders: tuple[Order, ...] = ()


class Refused(NamedTuple):
    """A grade that is not on the scale."""

    query: str
    document: str
    grade: int


def on_scale(grades: ir.Qrels, scale: Scale) -> tuple[dict[str, dict[str, int]], list[Refused]]:
    """The grades that are steps of the scale, and those that are not. DataError for what is no grade on any scale."""
    check_grades(grades)
    on_levels: dict[str, dict[str, int]] = {}
    refused: list[Refused] = []
    for query, row in grades.items():
        for document, grade in row.items():
            if grade in scale.steps:
                on_levels.setdefault(query, {})[document] = int(grade)
            else:
                refused.append(Refused(query, document, int(grade)))
    return on_levels, refused


HIGHEST = 100
"""No scale of relevance has more grades; a larger number is a score or an id in the wrong column."""


class _GradePairs(NamedTuple):
    assessor: list[int | None]
    human: list[int]
    queries: list[str]


def validity(
    assessor: ir.Qrels,
    human: ir.Qrels,
    scale: Scale,
    *,
    runs: Mapping[str, ir.TrecRun] = MappingProxyType({}),
    measures: str | Sequence[str] = ("ndcg@10", "P@10"),
    clusters: Mapping[str, int] = MappingProxyType({}),
) -> Validity:
    """Compare the grades of an assessor with those of people, over the pairs that people graded.

    Args:
        assessor: Grades of a judge or of the panel.
        human: Grades of people, whose scale is told from their highest grade; grades below 0 (pooled, not judged) do
            not count.
        scale: The scale of the assessor.
        runs: Rankings whose order under both qrels is compared.
        measures: Measures that rank the runs.
        clusters: Number of each query's cluster, by which intervals draw. A query without one is its own cluster.

    Returns:
        The agreement of the grades and of the rankings.

    Raises:
        DataError: If the two share no pair.
    """
    joined = _join(assessor, human)
    check_grades(assessor)
    check_grades(human)
    relevant_from, most, highest = int(scale.positive_from), scale.steps[-1], max(joined.human)
    theirs = relevant_from if highest == most else 2 if highest > 2 else 1
    labels = tuple(range(max([*(g for g in joined.assessor if g is not None), highest, most]) + 1))
    same_scale = highest <= most
    graded = sum(grade is not None for grade in joined.assessor)
    if not graded:
        raise DataError("the assessor and the people graded no pair in common; are the ids of the two files the same?")
    relevant = [None if grade is None else grade >= relevant_from for grade in joined.assessor]
    truly = [grade >= theirs for grade in joined.human]
    table = confusion(joined.assessor, joined.human, labels=labels)
    together = [clusters.get(query, query) for query in joined.queries]
    return Validity(
        pairs=graded,
        unassessed=len(joined.human) - graded,
        further=sum(len(grades) for grades in assessor.values()) - graded,
        relevant_from=relevant_from,
        exact=Estimate.of(raw_agreement(joined.assessor, joined.human, clusters=together)),
        kappa=Estimate.of(cohen_kappa(joined.assessor, joined.human, labels=labels, clusters=together))
        if same_scale
        else None,
        kappa_quadratic=Estimate.of(
            cohen_kappa(joined.assessor, joined.human, labels=labels, weights="quadratic", clusters=together)
        )
        if same_scale
        else None,
        kappa_binary=Estimate.of(cohen_kappa(relevant, truly, labels=(False, True), clusters=together)),
        labels=labels,
        confusion=table.counts,
        orders=_orders(assessor, human, runs, measures, relevant_from, theirs),
    )


def read_graders(
    files: Sequence[Path], names: Sequence[str], scale: Scale
) -> tuple[dict[str, dict[str, dict[str, int]]], dict[str, list[Refused]]]:
    """Return the grades of all assessors in files, and those off the scale; equal names get that of their file too.

    Raises:
        DataError: An assessor has no grade on the scale.
    """
    graders: dict[str, ir.Qrels] = {}
    for label, path in zip(labels(files), files, strict=True):
        for name, grades in read_assessors(path, names).items():
            assessor = label if name in (path.name, path.stem) else name
            graders[f"{label} {name}" if assessor in graders else assessor] = grades
    assessors: dict[str, dict[str, dict[str, int]]] = {}
    refused: dict[str, list[Refused]] = {}
    for name, levels in graders.items():
        assessors[name], refused[name] = on_scale(levels, scale)
        if not assessors[name]:
            raise DataError(
                f"no grade of {name} is on the scale {scale.name!r} ({scale.steps[0]} to {scale.steps[-1]}); give "
                "another --scale"
            )
    return assessors, refused


def check_grades(qrels: ir.Qrels) -> None:
    """DataError for a number that is no grade on any scale."""
    for query, grades in qrels.items():
        for document, grade in grades.items():
            if grade > HIGHEST:
                raise DataError(
                    f"{grade} is no grade of relevance (query {query!r}, document {document!r}): grades are whole "
                    f"numbers from 0 to {HIGHEST} at most"
                )


def share_pairs(pairs: Iterable[tuple[str, str]], human: ir.Qrels) -> bool:
    """Return whether people graded one of these pairs of question and document."""
    return any(human.get(query, {}).get(document, -1) >= 0 for query, document in pairs)


def _join(assessor: ir.Qrels, human: ir.Qrels) -> _GradePairs:
    joined = _GradePairs([], [], [])
    for query, grades in human.items():
        graded = assessor.get(query, {})
        for document, grade in grades.items():
            if grade >= 0:
                judged = graded.get(document)
                joined.assessor.append(None if judged is None else int(judged))
                joined.human.append(int(grade))
                joined.queries.append(query)
    if not joined.human:
        raise DataError("the human qrels hold no grade of 0 or more")
    return joined


def _orders(
    assessor: ir.Qrels,
    human: ir.Qrels,
    runs: Mapping[str, ir.TrecRun],
    measures: str | Sequence[str],
    level: int,
    human_level: int,
) -> tuple[Order, ...]:
    """Both sides evaluate every run over the questions that both have grades for; a run that lacks one has 0 there."""
    if len(runs) < 2:
        return ()
    shared = [query for query in human if assessor.get(query)]
    by_people = {q: human[q] for q in shared}
    by_assessor = {q: assessor[q] for q in shared}
    means = {
        name: (
            ir.evaluate(by_people, run, measures, level=human_level, missing="zero").mean,
            ir.evaluate(by_assessor, run, measures, level=level, missing="zero").mean,
        )
        for name, run in runs.items()
    }
    return tuple(
        Order(
            measure=measure.name,
            tau=kendall_tau(
                [first[measure.name] for first, _ in means.values()],
                [second[measure.name] for _, second in means.values()],
            ),
            human={name: first[measure.name] for name, (first, _) in means.items()},
            assessor={name: second[measure.name] for name, (_, second) in means.items()},
            queries=len(shared),
        )
        for measure in ir.parse(measures)
    )


def kendall_tau(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Kendall's tau-b of two lists of means; pairs with an undefined side do not count, None below two pairs.

    Also None where one list holds a single value only. Source: Kendall 1945; the value is scipy's.
    """
    from scipy.stats import kendalltau

    both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if len({x for x, _ in both}) < 2 or len({y for _, y in both}) < 2:
        return None
    return float(kendalltau([x for x, _ in both], [y for _, y in both]).statistic)
