"""Compare the grades of an assessor with those of people: kappa, confusion, and the ranking of
systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from claimeval import ir
from claimeval.data.file_formats import sheet_in
from claimeval.data.test_collections import read_assessors, read_names, read_qrels, write_assessors
from claimeval.ir.output import labels
from claimeval.statistics import cohen_kappa, confusion, raw_agreement
from claimeval.statistics.agreement import Weighting
from claimeval.types.errors import DataError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record
from claimeval.types.scales import Scale


class Order(Record):
    """The ranking of systems by one measure, under the grades of an assessor and of people."""

    measure: str
    tau: float | None
    """Kendall's tau-b of the two orders, in [-1, 1]; None below two systems or if one side ties
    them all."""
    human: dict[str, float | None]
    """The mean of each system by the grades of people."""
    assessor: dict[str, float | None]
    """The mean of each system by the grades of the assessor."""
    queries: int
    """Number of queries that both have graded; the means are over these."""


class Validity(Record):
    """Agreement of one assessor with people."""

    pairs: int
    """Pairs that both graded."""
    unassessed: int
    """Pairs that only people graded."""
    further: int
    """Pairs that only the assessor graded."""
    relevant_from: int
    exact: Estimate
    """Share of pairs with equal grades."""
    kappa: Estimate | None
    """Cohen's kappa over all grades; None if people's highest grade is above the assessor's
    scale."""
    kappa_quadratic: Estimate | None
    """Cohen's kappa with quadratic weights."""
    kappa_binary: Estimate
    """Cohen's kappa of relevant or not."""
    labels: tuple[int, ...]
    confusion: tuple[tuple[int, ...], ...]
    """`confusion[i][j]`: pairs that people grade `labels[i]` and the assessor `labels[j]`."""
    orders: tuple[Order, ...] = ()


class RefusedGrade(Record):
    """A grade that is not on the scale."""

    query: str
    document: str
    grade: int


class GraderReport(Validity):
    """Agreement of one assessor in a file of grades with people."""

    steps: tuple[int, ...] = ()
    """The grades of the scale."""
    refused: tuple[RefusedGrade, ...] = ()
    """Grades off the scale; they count as unassessed."""


def on_scale(
    grades: ir.Qrels, scale: Scale
) -> tuple[dict[str, dict[str, int]], list[RefusedGrade]]:
    """Return the grades on the scale, and those off the scale. Raises DataError for values that
    cannot be grades."""
    check_grades(grades)
    on_levels: dict[str, dict[str, int]] = {}
    refused: list[RefusedGrade] = []
    for query, row in grades.items():
        for document, grade in row.items():
            if grade in scale.steps:
                on_levels.setdefault(query, {})[document] = int(grade)
            else:
                refused.append(RefusedGrade(query=query, document=document, grade=int(grade)))
    return on_levels, refused


MEASURES = "ndcg@10,P@10"
"""Rank measures that order TREC runs."""
HIGHEST = 100
"""Maximum grade; a larger number is a score or an id in the wrong column."""


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
    measures: str | Sequence[str] = MEASURES,
    clusters: Mapping[str, int] = MappingProxyType({}),
) -> Validity:
    """Compare the grades of an assessor with those of people, over the pairs that people graded.

    Args:
        assessor: Grades of a judge or of the panel.
        human: Grades of people, on a scale up to their highest grade; grades below 0 (pooled, not
            judged) are ignored.
        scale: The scale of the assessor.
        runs: TREC runs that are ranked under both qrels.
        measures: Measures that rank the runs.
        clusters: Number of each query's cluster in intervals. A query without one is its own
            cluster.

    Raises:
        DataError: If the two share no pair.
    """
    joined = _join(assessor, human)
    check_grades(assessor)
    check_grades(human)
    relevant_from = int(scale.positive_from)
    most = scale.steps[-1]
    highest = max(joined.human)
    human_relevant_from = _relevant_from(highest, scale)
    given = [grade for grade in joined.assessor if grade is not None]
    labels = tuple(range(max([*given, highest, most]) + 1))
    graded = len(given)
    if not graded:
        raise DataError(
            "the assessor and the people graded no pair in common; are the ids of the two files the"
            " same?"
        )
    relevant = [None if grade is None else grade >= relevant_from for grade in joined.assessor]
    human_relevant = [grade >= human_relevant_from for grade in joined.human]
    table = confusion(joined.assessor, joined.human, labels=labels)
    query_clusters = [clusters.get(query, query) for query in joined.queries]

    def kappa(weights: Weighting = "unweighted") -> Estimate | None:
        """Return the agreement in single grades; None if people have grades that the scale
        lacks."""
        if highest > most:
            return None
        return Estimate.of(
            cohen_kappa(
                joined.assessor,
                joined.human,
                labels=labels,
                weights=weights,
                clusters=query_clusters,
            )
        )

    return Validity(
        pairs=graded,
        unassessed=len(joined.human) - graded,
        further=sum(len(grades) for grades in assessor.values()) - graded,
        relevant_from=relevant_from,
        exact=Estimate.of(raw_agreement(joined.assessor, joined.human, clusters=query_clusters)),
        kappa=kappa(),
        kappa_quadratic=kappa("quadratic"),
        kappa_binary=Estimate.of(
            cohen_kappa(relevant, human_relevant, labels=(False, True), clusters=query_clusters)
        ),
        labels=labels,
        confusion=table.counts,
        orders=_orders(assessor, human, runs, measures, relevant_from, human_relevant_from),
    )


def _relevant_from(highest: int, scale: Scale) -> int:
    """Return the lowest grade of people that is relevant, on a scale up to their highest grade."""
    if highest == scale.steps[-1]:
        return int(scale.positive_from)
    # Of grades up to 3 or 4, as in TREC's Deep Learning tracks, 1 is only related.
    return 2 if highest > 2 else 1


def read_graders(
    files: Sequence[Path],
    names: Sequence[str],
    scale: Scale,
    sheet: str | None = None,
) -> tuple[dict[str, dict[str, dict[str, int]]], dict[str, list[RefusedGrade]]]:
    """Return the grades of all assessors in files, and those off the scale; repeated names get the
    file's name too.

    Args:
        files: Qrels, or tables of grades.
        names: Names of the assessors in a list of `grades` in a table.
        scale: The scale of the assessors.
        sheet: The sheet of spreadsheets.

    Raises:
        DataError: If an assessor has no grade on the scale.
    """
    graders: dict[str, ir.Qrels] = {}
    for label, path in zip(labels(files), files, strict=True):
        for name, grades in read_assessors(path, names, sheet_in(path, sheet)).items():
            assessor = label if name in (path.name, path.stem) else name
            # Two files of one judge are two assessors.
            graders[f"{label} {name}" if assessor in graders else assessor] = grades
    assessors: dict[str, dict[str, dict[str, int]]] = {}
    refused: dict[str, list[RefusedGrade]] = {}
    for name, levels in graders.items():
        assessors[name], refused[name] = on_scale(levels, scale)
        if not assessors[name]:
            raise DataError(
                f"no grade of {name} is on the scale {scale.name!r} ({scale.steps[0]} to"
                f" {scale.steps[-1]}); give another --scale"
            )
    return assessors, refused


def compare_graders(
    files: Sequence[Path],
    people: Path,
    *,
    scale: Scale,
    assessors: Path | None = None,
    trec_runs: Sequence[Path] = (),
    measures: str | Sequence[str] = MEASURES,
    out: Path | None = None,
    sheet: str | None = None,
) -> dict[str, GraderReport]:
    """Compare the grades of all assessors in files with those of people.

    Args:
        files: Qrels, or tables of grades.
        people: Grades of people, likewise.
        scale: The scale of the assessors.
        assessors: Names of the assessors in a list of `grades` in a table.
        trec_runs: TREC runs that are ranked by the grades of both.
        measures: Measures that rank the runs.
        out: A folder, to which the grades of each assessor are written as qrels.
        sheet: The sheet of spreadsheets.
    """
    human = read_qrels(people, sheet_in(people, sheet))
    runs = {
        name: ir.read_run(path) for name, path in zip(labels(trec_runs), trec_runs, strict=True)
    }
    names = read_names(assessors) if assessors else ()
    graders, refused = read_graders(files, names, scale, sheet)
    compared = {
        name: GraderReport(
            **dict(validity(grades, human, scale, runs=runs, measures=measures)),
            steps=scale.steps,
            refused=tuple(refused[name]),
        )
        for name, grades in graders.items()
    }
    if out:
        write_assessors(graders, out)
    return compared


def check_grades(qrels: ir.Qrels) -> None:
    """Raise DataError for a number that cannot be a grade."""
    for query, grades in qrels.items():
        for document, grade in grades.items():
            # A file whose columns are swapped has ids such as 1038342 where grades should be.
            if grade > HIGHEST:
                raise DataError(
                    f"{grade} is no grade of relevance (query {query!r}, document {document!r}):"
                    f" grades are whole numbers from 0 to {HIGHEST} at most"
                )


def share_pairs(pairs: Iterable[tuple[str, str]], human: ir.Qrels) -> bool:
    """Return whether people graded at least one of these pairs of query and document."""
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
        raise DataError("the human qrels have no grade of 0 or more")
    return joined


def _orders(
    assessor: ir.Qrels,
    human: ir.Qrels,
    runs: Mapping[str, ir.TrecRun],
    measures: str | Sequence[str],
    level: int,
    human_level: int,
) -> tuple[Order, ...]:
    """Rank the runs under both qrels, over the queries graded by both; a run without results for a
    query has 0."""
    if len(runs) < 2:
        return ()
    shared = [query for query in human if assessor.get(query)]
    means = [
        {
            # A run without results for a question has 0 there, or it would gain by answering easy
            # questions only.
            name: ir.evaluate(graded, run, measures, level=at, missing="zero").mean
            for name, run in runs.items()
        }
        for graded, at in (
            ({q: human[q] for q in shared}, human_level),
            ({q: assessor[q] for q in shared}, level),
        )
    ]
    orders = []
    for measure in (measure.name for measure in ir.parse(measures)):
        people, judged = ({name: mean[measure] for name, mean in side.items()} for side in means)
        tau = kendall_tau([*people.values()], [*judged.values()])
        orders.append(
            Order(measure=measure, tau=tau, human=people, assessor=judged, queries=len(shared))
        )
    return tuple(orders)


def kendall_tau(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Return Kendall's tau-b of two lists of means, ignoring pairs with an undefined value.

    None below two pairs, or if one list has only one value. Equals `scipy.stats.kendalltau`.
    Source: Kendall 1945.
    """
    both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    signs = [((x > v) - (x < v), (y > w) - (y < w)) for (x, y), (v, w) in combinations(both, 2)]
    apart_in_a = sum(s != 0 for s, _ in signs)
    apart_in_b = sum(s != 0 for _, s in signs)
    if not apart_in_a or not apart_in_b:
        return None
    return sum(s * t for s, t in signs) / math.sqrt(apart_in_a * apart_in_b)
