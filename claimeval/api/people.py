"""Human labels: `agreement` of judges with people, `correct` for corrected scores, and `annotate`
to give labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from claimeval import ir
from claimeval.api.data import Data, Read, path_of
from claimeval.api.ratings import graded_samples
from claimeval.api.run import Run
from claimeval.data.mapping import MappingSpec, Turns
from claimeval.data.reasoning import AnswerReasoning
from claimeval.data.test_collections import read_qrels, relevance_scale
from claimeval.evaluation.validity import MEASURES, GraderReport, compare_graders, validity
from claimeval.ir.output import labels as labels_of
from claimeval.runs import correct as corrections
from claimeval.runs import labeling
from claimeval.runs.agreement import HALF_WIDTH, Agreement, measure_run
from claimeval.runs.annotation import Annotation, ClaimAnnotation, DocumentAnnotation
from claimeval.runs.correct import Correction, Method
from claimeval.runs.labeling import Design
from claimeval.runs.ratings import has_ratings, rate_run, rate_table
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import NoteWarning, UsageError
from claimeval.types.options import check_at_least
from claimeval.types.paths import expanded
from claimeval.types.records import Sample


def agreement(
    run: Run | str | Path | Sequence[str | Path],
    labels: str | Path | None = None,
    *,
    evidence: str | None = None,
    scores: Sequence[str] = (),
    ratings: Sequence[str] = (),
    pairs: bool = False,
    by: str | None = None,
    half_width: float = HALF_WIDTH,
    cluster: str | None = None,
    scale: str = "umbrela",
    assessors: str | Path | None = None,
    trec_runs: Sequence[str | Path] = (),
    measures: str = MEASURES,
    out: str | Path | None = None,
    sheet: str | None = None,
) -> Agreement:
    """Compare the judges of a run with people or with each other, scores with human ratings, or
    grades of documents.

    Args:
        run: A run, or its directory; a table with scores and ratings; or files of grades (qrels,
            tables) by one or several assessors. A run of `grade` needs grades by people as
            `labels`.
        labels: A file of human labels with `id` and `label`, and as needed `claim_id` or `text`,
            `against` and `annotator`; or with `id` and `rating`, a number for the whole answer; or
            of grades. None: those from `annotate`, else those that the run was imported with; if
            there are none, judges are compared with each other.
        evidence: The evidence that the labels are about, if the run has several kinds and the
            labels name none.
        scores: For a run, the metrics to compare with ratings (default: all); for a table, the
            fields of scores, as in `responses.f1`. An object has one score for each of its fields.
        ratings: The fields of the ratings; a list has the ratings of several annotators. Default:
            `rating`.
        pairs: Each row of a table has two scores, of two answers, and a rating that is higher the
            more the second answer is preferred.
        by: A field of the samples, such as `metadata.topic`; `.slices` has agreement and confusion
            for each value.
        half_width: Target half-width of the interval of the share of labels equal to people's;
            `labels_needed` of a rater is the number of additional labels that this takes.
        cluster: The field whose equal values are one cluster in intervals. Default: as in the run.
        scale: The scale of grades: `umbrela` (0 to 3), `graded` (0 to 2), `binary`, or a YAML file.
        assessors: Names of the assessors in a list of `grades` in a table: a JSON list, or an
            object with one.
        trec_runs: TREC runs to order by the grades of both.
        measures: Rank measures that order the TREC runs.
        out: A folder, to which the grades of each assessor on the scale are written as qrels.
        sheet: The sheet of a spreadsheet of labels, ratings or grades, if it has several.

    Returns:
        For ratings (`.ratings`): correlations with each score, and between annotators. For grades
        (`.assessors`): kappa and confusion of each assessor with people, and the order of the TREC
        runs by both. Otherwise accuracy, precision, recall, kappa and confusion of each judge and
        the panel; kappa between any two raters; Krippendorff's alpha and Gwet's AC1 of the judges.
        `raters` is empty without labels.

    Raises:
        DataError: The directory holds no finished run, or a row of the labels is malformed.
        UsageError: No label fits a claim or sample of the run, or an option is for another kind of
            comparison.

    Examples:
        >>> report = ce.agreement("runs/a", "labels.csv", evidence="contexts")
        >>> report.raters[0].rater
        'openai:gpt-5-mini'
        >>> round(report.raters[0].same.value, 2)
        0.73
    """
    asked = _AgreementOptions(
        labels=None if labels is None else Path(labels),
        evidence=evidence,
        scores=tuple(scores),
        ratings=tuple(ratings),
        pairs=pairs,
        by=by,
        half_width=half_width,
        cluster=cluster,
        scale=scale,
        assessors=None if assessors is None else Path(assessors),
        trec_runs=tuple(map(Path, trec_runs)),
        measures=measures,
        out=None if out is None else expanded(out),
        sheet=sheet,
    )
    subject = _subject(run, asked)
    comparison = _comparison(subject, asked)
    asked.check(comparison)
    return _noted(comparison.make(subject, asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgreementOptions:
    """The options of `agreement`."""

    labels: Path | None = None
    evidence: str | None = None
    scores: tuple[str, ...] = ()
    ratings: tuple[str, ...] = ()
    pairs: bool = False
    by: str | None = None
    half_width: float = HALF_WIDTH
    cluster: str | None = None
    scale: str = "umbrela"
    assessors: Path | None = None
    trec_runs: tuple[Path, ...] = ()
    measures: str = MEASURES
    out: Path | None = None
    sheet: str | None = None

    @property
    def of_answers(self) -> bool:
        """Whether scores or ratings of whole answers are named."""
        return bool(self.ratings or self.scores or self.pairs)

    def check(self, comparison: _AgreementComparison) -> None:
        """Raise UsageError for labels that the comparison lacks, and for options of another one."""
        if not 0 < self.half_width < 1:
            raise UsageError(f"half_width: {self.half_width}; give a number between 0 and 1")
        if comparison.needs_labels and self.labels is None:
            raise UsageError(
                f"{comparison.about} are compared with those by people: give these as labels"
                " (--labels)"
            )
        given = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        others = [name for name in given if name not in ("labels", "sheet", *comparison.takes)]
        if others:
            raise UsageError(
                f"{', '.join(others)}: not for {comparison.about}, which take"
                f" {', '.join(comparison.takes)}"
            )


_Subject = Run | Path | tuple[Path, ...]
"""What is compared: a run, a table, or files of grades."""


def _subject(run: Run | str | Path | Sequence[str | Path], asked: _AgreementOptions) -> _Subject:
    """Return what is to be compared, with paths as paths and run directories read."""
    if isinstance(run, Run):
        return run
    files = (expanded(run),) if isinstance(run, str | Path) else tuple(map(expanded, run))
    if not files:
        raise UsageError(
            "agreement needs a run directory, or files of grades with labels (--labels)"
        )
    if len(files) > 1:
        folders = [str(file) for file in files if file.is_dir()]
        if folders:
            raise UsageError(
                f"agreement is about one run, given {', '.join(folders)}; `claimeval rejudge RUN"
                " --judge OTHER --keep-verdicts --out NEW` makes one with the verdicts of several"
                " judges, `compare` compares runs"
            )
        return files
    (file,) = files
    if not file.is_file():
        return _folder(file)
    if asked.ratings:
        return file
    if asked.of_answers:
        raise UsageError(
            "ratings: give a table that has them, or a run and a file of ratings as labels"
        )
    return files


class _AgreementComparison(NamedTuple):
    """One of the comparisons that `agreement` makes."""

    about: str
    """What it compares, in the words of messages."""
    takes: tuple[str, ...]
    """The options that it has besides `labels`."""
    make: Callable[[Any, _AgreementOptions], Agreement]
    needs_labels: bool = True


def _comparison(subject: _Subject, asked: _AgreementOptions) -> _AgreementComparison:
    """Return the comparison that is asked for."""
    if isinstance(subject, tuple):
        return GRADE_FILES
    if isinstance(subject, Path):
        return RATING_TABLE
    questions = [question.name for question in subject.manifest.questions]
    if asked.labels and questions == ["grade"]:
        return GRADED_RUN
    if asked.labels and (asked.ratings or has_ratings(asked.labels, asked.sheet)):
        return RATED_RUN
    return JUDGED_RUN


def _grade_files(files: tuple[Path, ...], asked: _AgreementOptions) -> Agreement:
    assert asked.labels, "checked: grades need labels"
    reports = compare_graders(
        list(files),
        asked.labels,
        scale=relevance_scale(asked.scale),
        assessors=asked.assessors,
        trec_runs=asked.trec_runs,
        measures=asked.measures,
        out=asked.out,
        sheet=asked.sheet,
    )
    return Agreement.of_grades(reports)


def _rating_table(table: Path, asked: _AgreementOptions) -> Agreement:
    found = rate_table(
        table,
        asked.scores,
        asked.ratings,
        pairs=asked.pairs,
        sheet=asked.sheet,
    )
    return Agreement.of_ratings(found)


def _graded_run(run: Run, asked: _AgreementOptions) -> Agreement:
    assert asked.labels, "checked: grades need labels"
    return Agreement.of_grades(
        _compare_grades(
            run,
            read_qrels(asked.labels, asked.sheet),
            asked.trec_runs,
            asked.measures,
            asked.cluster,
        )
    )


def _rated_run(run: Run, asked: _AgreementOptions) -> Agreement:
    assert asked.labels, "checked: ratings need labels"
    with run.on_disk() as folder:
        return Agreement.of_ratings(
            rate_run(folder, asked.labels, asked.ratings, asked.scores, asked.cluster, asked.sheet)
        )


def _judged_run(run: Run, asked: _AgreementOptions) -> Agreement:
    # Labels of words (fully, partly, no) are compared with a rating of the run, which a score
    # names.
    rating = asked.scores[0] if asked.scores else None
    if rating and not asked.labels:
        raise UsageError(
            "ratings: give a table that has them, or a run and a file of ratings as labels"
        )
    with run.on_disk() as folder:
        return measure_run(
            folder,
            asked.labels,
            asked.evidence,
            asked.cluster,
            asked.by,
            asked.half_width,
            rating,
            asked.sheet,
        )


GRADE_FILES = _AgreementComparison(
    "files of grades", ("scale", "assessors", "trec_runs", "measures", "out"), _grade_files
)
RATING_TABLE = _AgreementComparison(
    "tables of ratings", ("scores", "ratings", "pairs"), _rating_table, needs_labels=False
)
GRADED_RUN = _AgreementComparison(
    "grades of a run", ("trec_runs", "measures", "cluster"), _graded_run
)
RATED_RUN = _AgreementComparison("ratings of answers", ("scores", "ratings", "cluster"), _rated_run)
JUDGED_RUN = _AgreementComparison(
    "labels of a run",
    ("evidence", "scores", "by", "half_width", "cluster"),
    _judged_run,
    needs_labels=False,
)


def _compare_grades(
    run: Run,
    people: ir.Qrels,
    trec_runs: Sequence[str | Path],
    measures: str,
    cluster: str | None,
) -> dict[str, GraderReport]:
    """Compare the grades of a run, by its judge or panel, with those of people."""
    paths = tuple(map(Path, trec_runs))
    judges = run.manifest.judges
    scale = run.manifest.questions[0].scale
    ranked = {
        name: ir.read_run(path)
        for name, path in zip(
            labels_of(paths),
            paths,
            strict=True,
        )
    }
    clusters = {
        sample.id: cluster_of(sample, cluster or run.manifest.cluster) for sample in run.samples
    }
    compared = validity(run.qrels, people, scale, runs=ranked, measures=measures, clusters=clusters)
    name = "panel" if len(judges) > 1 else judges[0].name
    return {name: GraderReport(**dict(compared), steps=scale.steps)}


N = TypeVar("N", Agreement, Correction)


def _noted(report: N) -> N:
    """Return a report, and warn of its notes."""
    for note in report.notes:
        warnings.warn(note, NoteWarning, stacklevel=3)
    return report


def correct(
    run: Run | str | Path,
    labels: str | Path | None = None,
    *,
    metric: str | None = None,
    method: Method = "auto",
    cluster: str | None = None,
    sheet: str | None = None,
) -> Correction:
    """Correct the scores of the judges with human labels of some claims or answers: the macro and
    the micro score.

    Args:
        run: A run of claims or of ratings, or its directory. Labels of rated answers are words of
            their scale, and the mean rating is corrected (`micro`).
        labels: A file of labels of claims or of whole samples. None: those from `annotate`, else
            those that the run was imported with.
        metric: The metric to correct. Default: the first of the run.
        method: `auto` takes labels from elsewhere as a random sample of the claims; with
            `rogan-gladen`, only the judges' error rates on them apply.
        cluster: The field whose equal values are one cluster in intervals. Default: as in the run.
        sheet: The sheet of a spreadsheet of labels, if it has several.

    Returns:
        For the macro and the micro score: the score by the judges, the corrected score, and the
        score by people alone, each with its interval. Fewer than 15 labels have no interval.

    Raises:
        DataError: The directory holds no finished run, or a row of the labels is malformed.
        UsageError: There are no labels, none fits a judged claim, or the run has no such metric.

    Examples:
        >>> correction = ce.correct("runs/a", "labels.csv")
        >>> round(correction.macro.corrected.value, 2)
        0.76
    """
    with _folder(run).on_disk() as folder:
        human_labels = corrections.labels_of(
            folder, None if labels is None else Path(labels), metric, sheet
        )
        return _noted(corrections.correct(folder, metric, human_labels, method, cluster))


def annotate(
    run: Data,
    *,
    n: int | None = None,
    metric: str | None = None,
    design: Design = "even",
    seed: int = 0,
    annotator: str = "",
    disputed: bool = False,
    documents: bool = False,
    depth: int | None = None,
    corpus: str | Path | None = None,
    trec_run: str | Path | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    out: str | Path | None = None,
) -> Annotation:
    """Draw claims or rated answers of a run, or retrieved documents, for people to label; verdicts
    are not shown.

    Iterate the result and call `item.label(...)`. Each label is saved at once, and labeled items
    are left out.

    Args:
        run: A run with a path, or its directory. With `documents`, any data; with `corpus`,
            queries.
        n: The number of claims to draw, those of an earlier draw included (default 100), or with
            `documents` of questions (default 50).
        metric: The metric whose claims are drawn, or the rating whose answers are. Default: the
            first of the run.
        design: How claims are drawn: `even` with equal probability, evenly over the share of judges
            that support them; `label` with at least 15 for each label of the judges, for agreement.
        seed: Seed of the draw.
        annotator: A name to store with each label of a claim.
        disputed: Instead of a draw, the claims on which judges or replicates differ, or people
            differ from the panel; at most `n`. They are no random sample: `correct` leaves their
            labels out.
        documents: Label retrieved documents (`good`, `bad`, `unsure`) instead of claims.
        depth: The number of top documents to label for each question (default 10).
        corpus: The documents of a collection, for queries; needs `trec_run`.
        trec_run: The TREC run whose documents are labeled.
        mapping: As for `score`, for a file of samples.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        out: The qrels file of the document labels. Default: `RUN/annotation/documents.qrels`, or
            `runs/DATA-documents.qrels`.

    Returns:
        The drawn items with their labels so far; the same options give the same items.

    Raises:
        UsageError: A number is below 1, the run has no path or too few judged claims, or items were
            drawn before with other options.
        DataError: The directory holds no finished run.

    Examples:
        >>> drawn = ce.annotate("runs/b", n=60, annotator="ana")
        >>> drawn.turns[0].label("supported")
        >>> drawn.progress.labeled
        1
    """
    check_at_least(1, n=n, depth=depth)
    if documents:
        if metric or design != "even" or annotator or disputed:
            raise UsageError(
                "metric, design, annotator and disputed are for claims; for documents, give each"
                " annotator an own out"
            )
        read = Read(
            mapping, group=group, turns=turns, answer_reasoning=answer_reasoning, sheet=sheet
        )
        path = path_of(run)
        source = " ".join(Path(name).name for name in (path, trec_run) if name)
        target = expanded(out) if out is not None else labeling.default_path(path or Path("data"))
        ranked = partial(_ranked, run, read, corpus, trec_run)
        return DocumentAnnotation.draw_from(ranked, source, target, n=n, seed=seed, depth=depth)
    if any((depth, corpus, trec_run, out, mapping, group, turns, answer_reasoning, sheet)):
        raise UsageError(
            "depth, corpus, trec_run, out and how data are read (mapping, group, turns,"
            " answer_reasoning, sheet) go with documents=True (--documents)"
        )
    if disputed and (design != "even" or seed):
        raise UsageError("design and seed are for a draw; disputed claims are not drawn")
    folder = path_of(run)
    if folder is None:
        raise UsageError("labels are stored next to a run on disk; save the run first")
    if disputed:
        draw = labeling.disputed_claims(folder, metric, n or labeling.CLAIMS)
    else:
        draw = labeling.draw_claims(folder, metric, n, design, seed)
    return ClaimAnnotation(folder, draw, annotator)


def _folder(run: Run | str | Path) -> Run:
    return run if isinstance(run, Run) else Run.load(run)


def _ranked(
    data: Data,
    read: Read,
    corpus: str | Path | None,
    trec_run: str | Path | None,
    depth: int,
) -> Iterable[Sample]:
    if (corpus is None) != (trec_run is None):
        raise UsageError(
            "documents of a collection need both: corpus with the texts and trec_run with the"
            " ranking"
        )
    runs = () if trec_run is None else (trec_run,)
    return graded_samples(data, read, corpus=corpus, trec_runs=runs, depth=depth, human=None)
