"""`claimeval agreement` and `correct`: judges compared with people, and scores corrected with human labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import Out, arguments
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.evaluation.validity import GraderReport
    from claimeval.runs.agreement import Agreement

LISTED = {
    "agreement": ("People", 2, "Compare judges with people, or with each other."),
    "correct": ("People", 3, "Correct a score with human labels."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeAgreement:
    """Options for comparing grades of documents."""

    scale: str = "umbrela"
    """Scale of the grades: umbrela (0 to 3), graded (0 to 2), binary, or a YAML file."""
    assessors: Path | None = None
    """Names of the assessors in a list of `grades` in a table: a JSON list, or an object with one."""
    trec_runs: Annotated[tuple[Path, ...], Names("--trec-run")] = ()
    """TREC run to order by the grades of both; repeatable."""
    measures: Annotated[str, Names("-m", "--measures")] = "ndcg@10,P@10"
    """Rank measures that order the TREC runs."""
    out: Out = None
    """Folder to write the grades of each assessor to, as qrels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeAnswers:
    """Options for comparing scores of whole answers with human ratings."""

    scores: Annotated[tuple[str, ...], Names("--score")] = ()
    """Metric of the run, or field of a table, as in responses.f1; repeatable.  [default: all metrics of the run]"""
    ratings: Annotated[tuple[str, ...], Names("--rating")] = ()
    """Field of ratings by people (numbers); repeatable.  [default: rating]"""
    pairs: bool = False
    """Each row has scores of two answers, and a rating that is higher the more the second is preferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementOptions:
    """Compare judges and panel with human labels, or with each other. Intervals resample whole questions; no calls.

    Prints accuracy, balanced accuracy, precision, recall, F1, kappa, AUROC if a judge gives probabilities, and the
    confusion of labels; kappa between any two raters, Krippendorff's alpha and Gwet's AC1.

    A file of labels has `id` (of the sample), `claim_id` or `text` (the claim, or a passage of the answer; neither for
    the whole sample), `label` (supported, contradicted, not_found, yes, no, or a grade), and, if needed, `against` and
    `annotator`. With `rating`, a number for the whole answer, the ratings are correlated with the scores.

    Example: claimeval agreement runs/a --labels labels.csv --evidence contexts

    Example: claimeval agreement pairs.jsonl --score responses.f1 --rating human.overall --pairs

    Example: claimeval agreement judge-a.txt judge-b.txt --labels human.txt
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN")]
    """A run directory; a table with --rating; or files of grades (qrels, tables) by one or several assessors."""
    labels: Path | None = None
    """Human labels, .jsonl or .csv, or grades.  [default: those from `annotate`, else those of an import]"""
    evidence: str | None = None
    """Evidence that the labels are about, if claims were assessed against several: contexts, reference, ..."""
    by: str | None = None
    """Also print agreement and confusion by this field, as in metadata.topic."""
    half_width: float = 0.05
    """Target half-width of the interval of the share of equal labels, for the number of labels still needed."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: as in the run]"""
    plot: Path | None = None
    """SVG file for a picture: the kappa of each pair of raters, and the confusion of each rater with people."""
    output: Output = Output()
    answers: Annotated[WholeAnswers, Heading("Whole answers")] = WholeAnswers()
    grades: Annotated[GradeAgreement, Heading("Documents")] = GradeAgreement()


def do_agreement(args: AgreementOptions) -> int:
    """Measure the agreement, print it, and return the exit code."""
    from claimeval.api import people
    from claimeval.report.charts import check_name
    from claimeval.runs.ratings import has_ratings
    from claimeval.runs.views.agreement import view

    if not args.runs:
        raise UsageError("agreement needs a run directory, or files of grades with --labels")
    run, *others = args.runs
    of_answers = args.answers != WholeAnswers()
    of_grades = not of_answers and not run.is_dir()
    of_answers = of_answers or bool(not of_grades and args.labels and has_ratings(args.labels))
    if of_grades and args.labels is None:
        raise UsageError("grades are compared with grades by people: name these with --labels")
    if of_grades and (args.evidence or args.cluster or args.plot):
        raise UsageError("--evidence, --cluster and --plot are for runs of claims")
    more = bool(others) or args.grades != GradeAgreement()
    if of_answers and (more or args.evidence or args.plot):
        raise UsageError("ratings of whole answers are compared with one run or table, without --evidence and --plot")
    if more and not of_grades:
        raise UsageError("several files, --scale, --assessors, --trec-run, --measures and --out are for grades")
    if args.plot:
        check_name(args.plot)
    settings = arguments(args, run=args.runs if of_grades else run)
    for name in ("runs", "plot", "out"):
        del settings[name]
    with notes_on_stderr(quiet=args.output.quiet):
        report = people.agreement(**settings)
    if of_grades:
        return _print_grades(args, report.assessors)
    if not of_answers:
        return _print_labels(args, report, run)
    args.output.draw(view(report, source=run.name))
    return args.output.result("agreement", report.model_dump(), path=run if run.is_dir() else None)


agreement = command("agreement", AgreementOptions, do_agreement)


def _print_labels(args: AgreementOptions, report: Agreement, run: Path) -> int:
    from claimeval.report.pictures import of_agreement
    from claimeval.runs.directory import cluster_field, load_manifest
    from claimeval.runs.views.agreement import ShortNames, view

    names = ShortNames(load_manifest(run).short_names)
    args.output.draw(view(report, names, str(run), cluster_field(run, args.cluster)))
    if report.raters:
        _print_next(args, report, names)
    if args.plot:
        drawn = of_agreement(report, names)
        if drawn is None:
            raise UsageError("there is nothing to draw: one judge and no labels")
        drawn.save(args.plot)
        args.output.line(f"Picture: {args.plot}")
    return args.output.result("agreement", report.model_dump(), path=run)


def _print_grades(args: AgreementOptions, content: Mapping[str, GraderReport]) -> int:
    from claimeval.data.test_collections import read_names, relevance_scale, write_assessors
    from claimeval.evaluation.validity import read_graders
    from claimeval.runs.views import grades

    grades_file, output = args.grades, args.output
    scale = relevance_scale(grades_file.scale)
    output.draw(grades.validity(content, confusions=len(content) == 1))
    output.draw(grades.refused({name: report.refused for name, report in content.items()}, scale))
    if grades_file.out:
        names = read_names(grades_file.assessors) if grades_file.assessors else ()
        written = write_assessors(read_graders(args.runs, names, scale)[0], grades_file.out)
        output.line(f"Grades: {len(written)} files in {grades_file.out}")
        output.line(f"Rank by them: claimeval rank {written[0]} YOUR.run -l {scale.positive_from:g}")
    record = {name: report.model_dump(mode="json") for name, report in content.items()}
    return output.result("agreement", {"assessors": record})


def _print_next(args: AgreementOptions, report: Agreement, names: Mapping[str, str]) -> None:
    """Print how many more labels are needed, and what `correct` and `experiment` could do with the labels."""
    from claimeval.statistics.selection import power

    counts = {names[rater.rater]: rater.labels_needed for rater in report.raters}
    counted = {name: count for name, count in counts.items() if count is not None}
    if counted:
        width = f"within ±{100 * args.half_width:g} points"
        if most := max(counted.values()):
            text = f"{most:,} more labels would give the share of equal labels {width}."
        else:
            text = f"The share of equal labels is known {width}."
        args.output.line(text, indent=1)
    labels = f" --labels {args.labels}" if args.labels else ""
    args.output.line(f" The score corrected by these labels: claimeval correct {args.runs[0]}{labels}")
    share = power(report.items, 0.1)
    text = (
        f"`claimeval experiment --select` would see a true gain of 10 points by another prompt in {share:.0%} of cases."
    )
    args.output.line(text, indent=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectOptions:
    """Correct a score with human labels: prints the judges' score, the corrected score, and the score by people alone.

    The judges are compared with people on the labeled claims, and their scores on all claims are shifted by their
    errors: the macro score, which `score` prints first, and the micro score. Intervals resample whole questions.

    Example: claimeval annotate runs/a --n 150, then claimeval correct runs/a
    """

    run: Annotated[Path, Argument("RUN")]
    """A run directory."""
    labels: Path | None = None
    """Human labels of claims or samples.  [default: those from `claimeval annotate`, else those of an import]"""
    metric: str | None = None
    """Metric to correct.  [default: the first of the run]"""
    method: Literal["auto", "rogan-gladen"] = "auto"
    """auto, or rogan-gladen for labels from elsewhere, of which only the judges' error rates apply."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: as in the run]"""
    output: Output = Output()


def do_correct(args: CorrectOptions) -> int:
    """Correct the score, print the numbers, and return the exit code."""
    from claimeval.api import people
    from claimeval.runs.views.correction import view

    with notes_on_stderr(quiet=args.output.quiet):
        correction = people.correct(**arguments(args))
    args.output.draw(view(correction))
    return args.output.result("correct", correction.model_dump())


correct = command("correct", CorrectOptions, do_correct)
