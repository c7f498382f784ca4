"""Human labels: `agreement` of judges with people, `correct` for corrected scores, and `annotate`
to give labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from claimeval import ir
from claimeval.api.data import Data, Read, path_of
from claimeval.api.ratings import graded_samples
from claimeval.api.run import Run
from claimeval.data.mapping import MappingSpec
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
    """
    if not 0 < half_width < 1:
        raise UsageError(f"half_width: {half_width}; give a number between 0 and 1")
    if not isinstance(run, Run | str | Path) and len(run) == 1:
        (run,) = run
    of_answers = bool(ratings or scores or pairs)
    if not isinstance(run, Run | str | Path) or (
        not (of_answers or isinstance(run, Run)) and Path(run).is_file()
    ):
        files = [Path(file) for file in ((run,) if isinstance(run, str | Path) else run)]
        if folders := [str(file) for file in files if file.is_dir()]:
            raise UsageError(
                f"agreement is about one run, given {', '.join(folders)}; `claimeval rejudge RUN"
                " --judge OTHER --keep-verdicts --out NEW` makes one with the verdicts of several"
                " judges, `compare` compares runs"
            )
        if not files:
            raise UsageError(
                "agreement needs a run directory, or files of grades with labels (--labels)"
            )
        if labels is None:
            raise UsageError(
                "grades are compared with grades by people: give these as labels (--labels)"
            )
        if evidence or cluster or by or of_answers:
            raise UsageError(
                "evidence, cluster, by, scores, ratings and pairs are not for files of grades"
            )
        return Agreement.of_grades(
            compare_graders(
                files,
                Path(labels),
                scale=relevance_scale(scale),
                assessors=None if assessors is None else Path(assessors),
                trec_runs=tuple(map(Path, trec_runs)),
                measures=measures,
                out=None if out is None else Path(out),
            )
        )
    file = None if labels is None else Path(labels)
    table = None if isinstance(run, Run) or not (ratings and Path(run).is_file()) else Path(run)
    graded = None if table or not file else _folder(run)
    if graded and file and [question.name for question in graded.manifest.questions] == ["grade"]:
        if evidence or by or of_answers or assessors or out or scale != "umbrela":
            raise UsageError(
                "of the grades of a run, `labels`, trec_runs, measures and cluster can be chosen"
            )
        return Agreement.of_grades(_compare_grades(graded, file, trec_runs, measures, cluster))
    if assessors or trec_runs or out or (scale, measures) != ("umbrela", MEASURES):
        raise UsageError("scale, assessors, trec_runs, measures and out are for grades")
    of_words = bool(file and scores and not ratings and not has_ratings(file))
    of_ratings = bool(table or (file and not of_words and (of_answers or has_ratings(file))))
    if of_ratings and (evidence or by):
        raise UsageError(
            "evidence and by are for claims; ratings of whole answers are compared without them"
        )
    if table:
        return Agreement.of_ratings(rate_table(table, scores, ratings, pairs=pairs))
    if pairs:
        raise UsageError("pairs is for a table with two scores per row")
    if of_answers and not file:
        raise UsageError(
            "ratings: give a table that has them, or a run and a file of ratings as labels"
        )
    with (graded or _folder(run)).on_disk() as folder:
        if file and of_ratings:
            return Agreement.of_ratings(rate_run(folder, file, ratings, scores, cluster))
        rating = scores[0] if of_words else None
        return _noted(measure_run(folder, file, evidence, cluster, by, half_width, rating))


def _compare_grades(
    run: Run, people: Path, trec_runs: Sequence[str | Path], measures: str, cluster: str | None
) -> dict[str, GraderReport]:
    """Compare the grades of a run, by its judge or panel, with those of people."""
    paths = tuple(map(Path, trec_runs))
    judges = run.manifest.judges
    scale = run.manifest.questions[0].scale
    ranked = {name: ir.read_run(path) for name, path in zip(labels_of(paths), paths, strict=True)}
    clusters = {
        sample.id: cluster_of(sample, cluster or run.manifest.cluster) for sample in run.samples
    }
    compared = validity(
        run.qrels, read_qrels(people), scale, runs=ranked, measures=measures, clusters=clusters
    )
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

    Returns:
        For the macro and the micro score: the score by the judges, the corrected score, and the
        score by people alone, each with its interval. Fewer than 15 labels have no interval.

    Raises:
        DataError: The directory holds no finished run, or a row of the labels is malformed.
        UsageError: There are no labels, none fits a judged claim, or the run has no such metric.
    """
    with _folder(run).on_disk() as folder:
        human_labels = corrections.labels_of(
            folder, None if labels is None else Path(labels), metric
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
        out: The qrels file of the document labels. Default: `RUN/annotation/documents.qrels`, or
            `runs/DATA-documents.qrels`.

    Returns:
        The drawn items with their labels so far; the same options give the same items.

    Raises:
        UsageError: A number is below 1, the run has no path or too few judged claims, or items were
            drawn before with other options.
        DataError: The directory holds no finished run.
    """
    check_at_least(1, n=n, depth=depth)
    if documents:
        if metric or design != "even" or annotator or disputed:
            raise UsageError(
                "metric, design, annotator and disputed are for claims; for documents, give each"
                " annotator an own out"
            )
        path = path_of(run)
        ranked = partial(_ranked, run, Read(mapping, group=group), corpus, trec_run)
        source = " ".join(Path(name).name for name in (path, trec_run) if name)
        target = Path(out) if out is not None else labeling.default_path(path or Path("data"))
        return DocumentAnnotation.draw_from(ranked, source, target, n=n, seed=seed, depth=depth)
    if depth or corpus or trec_run or out or mapping or group:
        raise UsageError(
            "depth, corpus, trec_run, out, mapping and group go with documents=True (--documents)"
        )
    if disputed and (design != "even" or seed):
        raise UsageError("design and seed are for a draw; disputed claims are not drawn")
    folder = path_of(run)
    if folder is None:
        raise UsageError("labels are stored next to a run on disk; save the run first")
    if disputed:
        return ClaimAnnotation(
            folder, labeling.disputed_claims(folder, metric, n or labeling.CLAIMS), annotator
        )
    return ClaimAnnotation(folder, labeling.draw_claims(folder, metric, n, design, seed), annotator)


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
