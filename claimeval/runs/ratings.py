"""Correlation of scores of whole answers with human ratings, and of annotators with each other.

The scores are those of a run, or columns of a table that also has ratings. A rating may be a
preference between two answers; then it is compared with the second score minus the first.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.nowhere import Nowhere, instead
from claimeval.data.paths import flat, values_at
from claimeval.data.rows import SourceRow, read_rows
from claimeval.runs.directory import RunResults, cluster_field, load_manifest
from claimeval.runs.labels import Strays
from claimeval.statistics import correlation
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record

RATING = "rating"
_IDS = ("id", "sample_id", "sample", "question_id", "query_id")


class RatingCorrelation(Record):
    """Correlation of one score with one human rating, the mean over annotators."""

    score: str
    rating: str
    items: int
    """Answers, or pairs of answers, with both."""
    spearman: Estimate
    pearson: Estimate
    agreeing: Estimate | None = None
    """For pairs: the share in which the score prefers the same answer as people, without pairs that
    people rate equal; an equal score counts half."""


class PeopleCorrelation(Record):
    """Correlation of two annotators of one rating, about the most that a score can reach."""

    rating: str
    items: int
    spearman: Estimate


class RatingAgreement(Record):
    """Correlations of scores with ratings of whole answers."""

    items: int
    """Answers, or pairs of answers, with a rating."""
    unmatched: int
    """Ratings of samples that are not in the run, and rows without a rating."""
    pairs: bool
    """Whether ratings are preferences between two answers."""
    correlations: tuple[RatingCorrelation, ...]
    people: tuple[PeopleCorrelation, ...]


class _ScoreColumn(NamedTuple):
    name: str
    values: dict[str, float]
    """By item."""


class _Ratings(NamedTuple):
    name: str
    by_annotator: dict[str, dict[str, float]]
    """By annotator and item."""

    @property
    def means(self) -> dict[str, float]:
        """Mean over annotators, by item."""
        by_key: dict[str, list[float]] = {}
        for ratings in self.by_annotator.values():
            for item, value in ratings.items():
                by_key.setdefault(item, []).append(value)
        return {item: sum(values) / len(values) for item, values in by_key.items()}


def has_ratings(labels: Path, sheet: str | None = None) -> bool:
    """Return whether a file, or a sheet of it, has ratings of whole answers and no labels."""
    first = next(iter(read_rows(labels, sheet=sheet)), None)
    return (
        first is not None
        and RATING in first.fields
        and not {"label", "grade"} & first.fields.keys()
    )


def rate_run(
    run: Path,
    ratings: Path,
    names: Sequence[str] = (),
    metrics: Sequence[str] = (),
    cluster: str | None = None,
    sheet: str | None = None,
) -> RatingAgreement:
    """Compare the scores of a run with ratings of its samples.

    Args:
        run: A run directory.
        ratings: A file with `id`, one or more ratings and, if needed, `annotator`.
        names: The fields of the ratings. Default: `rating`.
        metrics: The metrics. Default: all.
        cluster: The field whose equal values are one cluster; None: as in the run.
        sheet: The sheet of a spreadsheet of ratings.

    Raises:
        UsageError: No rating is about a sample of the run, or the run has no such metric.
    """
    manifest = load_manifest(run)
    run_metrics = manifest.names
    if unknown := [name for name in metrics if name not in run_metrics]:
        raise unknown_name("metric of the run", unknown[0], run_metrics)
    columns, clusters = _scores_of_run(run, metrics or run_metrics, cluster)
    by_name = {name: _Ratings(name, {}) for name in names or (RATING,)}
    nowhere = Nowhere(str(ratings), [("--rating", name) for name in by_name])
    strays = Strays()
    for row in read_rows(ratings, sheet=sheet):
        nowhere.add(row.fields)
        item = row.first(_IDS)
        if item is None:
            raise DataError(
                f"{row.location}: a rating needs the id of its sample (one of {', '.join(_IDS)})"
            )
        strays.read(1)
        if str(item) not in clusters:
            strays.add("no_sample", [str(item)])
        _add(by_name.values(), row, str(item), clusters)
    nowhere.check(raises=True)
    strays.counted.check(run, limited=manifest.data.limit is not None)
    if not any(one.by_annotator for one in by_name.values()):
        raise UsageError(f"{ratings} has no rating of a sample of {run}: the cells are empty")
    unmatched = strays.counted.unmatched
    return _compared(columns, list(by_name.values()), clusters, unmatched, pairs=False)


def _scores_of_run(
    run: Path, metrics: Iterable[str], cluster: str | None
) -> tuple[list[_ScoreColumn], dict[str, Hashable]]:
    """Return the scores of a run in columns, and the cluster of each sample."""
    field = cluster_field(run, cluster)
    columns = [_ScoreColumn(name, {}) for name in metrics]
    clusters: dict[str, Hashable] = {}
    for result in RunResults.of(run):
        clusters[result.sample.id] = cluster_of(result.sample, field)
        for name, values in columns:
            if name in result.scores and (value := result.scores[name].value) is not None:
                values[result.sample.id] = value
    return columns, clusters


def _score_in(row: SourceRow, name: str, *, pairs: bool) -> float | None:
    """Return the score in a field of a row, or with `pairs` by how much the second of two is
    higher; None if the row has none."""
    numbers = [_number(value, row, name) for value in flat(values_at(row.fields, name))]
    numeric = [value for value in numbers if value is not None]
    if not numeric:
        return None
    if len(numeric) != 1 + pairs:
        hint = "--pairs needs two" if pairs else "give one, or two with --pairs"
        raise DataError(f"{row.location}, field {name!r}: {len(numeric)} scores; {hint}")
    return numeric[-1] - numeric[0] if pairs else numeric[0]


def rate_table(
    table: Path,
    scores: Sequence[str],
    ratings: Sequence[str],
    *,
    pairs: bool = False,
    sheet: str | None = None,
) -> RatingAgreement:
    """Compare scores and ratings that are columns of one table; rows with the same `question` are
    one cluster.

    Args:
        table: The file.
        scores: Fields of scores, with dots into objects and through lists; each field of an object
            is a score.
        ratings: Fields of ratings, likewise; a list has the ratings of several annotators.
        pairs: Each row has two scores, of two answers, and a rating that is higher the more the
            second is preferred.
        sheet: The sheet of a spreadsheet.

    Raises:
        UsageError: No row has such a field.
        DataError: A row does not have one score or, with `pairs`, two.
    """
    if not scores or not ratings:
        raise UsageError("a table needs --score and --rating, the fields of both")
    rows = list(read_rows(table, sheet=sheet))
    columns = []
    for score in scores:
        columns += [_ScoreColumn(name, {}) for name in _expanded(rows, score)]
    tables = []
    for rating in ratings:
        tables += [_Ratings(name, {}) for name in _expanded(rows, rating)]
    clusters: dict[str, Hashable] = {}
    unmatched = 0
    for row in rows:
        item = f"{row.number}"
        clusters[item] = str(row.fields.get("question", item))
        before = _given(tables)
        _add(tables, row, item, clusters)
        unmatched += before == _given(tables)
        for name, values in columns:
            value = _score_in(row, name, pairs=pairs)
            if value is not None:
                values[item] = value
    return _compared(columns, tables, clusters, unmatched, pairs=pairs)


def _given(tables: Iterable[_Ratings]) -> int:
    """Return the number of ratings that annotators gave."""
    given = 0
    for one in tables:
        given += sum(map(len, one.by_annotator.values()))
    return given


def _expanded(rows: Sequence[SourceRow], path: str) -> list[str]:
    """Return the paths of the numbers at a path: the path, or one for each field of an object."""
    for row in rows:
        for value in flat(values_at(row.fields, path)):
            return [f"{path}.{name}" for name in value] if isinstance(value, dict) else [path]
    raise UsageError(f"no row has the field {path!r}.{instead(path, [row.fields for row in rows])}")


def _add(
    ratings: Iterable[_Ratings], row: SourceRow, item: str, items: Mapping[str, Hashable]
) -> None:
    if item not in items:
        return
    named = row.first(("annotator", "annotator_id"))
    for name, by_annotator in ratings:
        for number, value in enumerate(flat(values_at(row.fields, name)), 1):
            rating = _number(value, row, name)
            if rating is not None:
                who = str(named) if named is not None else f"annotator {number}"
                by_annotator.setdefault(who, {})[item] = rating


def _number(value: Any, row: SourceRow, name: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(
            f"{row.location}, field {name!r}: {str(value)[:40]!r} is not a number"
        ) from None
    # An empty cell of a data frame is NaN, which `float` takes for a number.
    return number if math.isfinite(number) else None


def _compared(
    columns: Sequence[_ScoreColumn],
    ratings: Sequence[_Ratings],
    clusters: Mapping[str, Hashable],
    unmatched: int,
    *,
    pairs: bool,
) -> RatingAgreement:
    items = set[str]()
    correlations: list[RatingCorrelation] = []
    for rating in ratings:
        items.update(rating.means)
        correlations += [_correlated(column, rating, clusters, pairs=pairs) for column in columns]
    return RatingAgreement(
        items=len(items),
        unmatched=unmatched,
        pairs=pairs,
        correlations=tuple(correlations),
        people=tuple(_among_people(ratings, clusters)),
    )


def _correlated(
    column: _ScoreColumn, ratings: _Ratings, clusters: Mapping[str, Hashable], *, pairs: bool
) -> RatingCorrelation:
    means = ratings.means
    items = [item for item in column.values if item in means]
    x = [column.values[item] for item in items]
    y = [means[item] for item in items]
    keys = [clusters[item] for item in items]
    return RatingCorrelation(
        score=column.name,
        rating=ratings.name,
        items=len(items),
        spearman=_correlation(x, y, keys, "spearman"),
        pearson=_correlation(x, y, keys, "pearson"),
        agreeing=_agreeing(x, y, keys) if pairs else None,
    )


def _correlation(
    x: Sequence[float], y: Sequence[float], clusters: Sequence[Hashable], kind: Any
) -> Estimate:
    if len(x) < 2:
        return Estimate(n=len(x), clusters=len(set(clusters)), because="too few answers with both")
    return Estimate.of(correlation(x, y, kind=kind, clusters=clusters))


def _agreeing(x: Sequence[float], y: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    from claimeval.statistics import mean_interval

    pairs = [
        (a, b, key)
        for a, b, key in zip(
            x,
            y,
            clusters,
            strict=True,
        )
        if b
    ]
    values = [0.5 if a == 0 else float((a > 0) == (b > 0)) for a, b, _ in pairs]
    return Estimate.of(mean_interval(values, clusters=[key for _, _, key in pairs]))


def _among_people(
    ratings: Sequence[_Ratings], clusters: Mapping[str, Hashable]
) -> Iterator[PeopleCorrelation]:
    for name, by_annotator in ratings:
        people = list(by_annotator.values())
        if len(people) != 2:
            continue
        items = [item for item in people[0] if item in people[1]]
        x, y = ([one[item] for item in items] for one in people)
        keys = [clusters[item] for item in items]
        yield PeopleCorrelation(
            rating=name, items=len(items), spearman=_correlation(x, y, keys, "spearman")
        )
