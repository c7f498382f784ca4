"""`claimeval agreement` and `correct`: judges compared with people, and scores corrected with human labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Out, arguments
from claimeval.statistics.formatting import decimal, dollars, estimate, interval, number_of
from claimeval.types.errors import UsageError, visible

if TYPE_CHECKING:
    from claimeval.evaluation.summary.panel import Dispute
    from claimeval.runs.agreement import Agreement, CalibrationReport, RaterReport, RaterSlice
    from claimeval.runs.judges import JudgeNumbers
    from claimeval.types.estimates import Estimate

LISTED = {
    "agreement": ("People", 2, "Compare judges with people, or with each other."),
    "correct": ("People", 3, "Correct a score with human labels."),
}
PAIRS = 15
"""Maximum number of pairs of raters that are printed; for more, the range is printed."""
COLUMNS = 3
"""Maximum number of raters that are printed in columns; more are printed in rows."""
TABLES = 4
"""Raters whose confusions are printed."""
DISPUTES = 10
"""Disputed claims that are printed."""
SHOWN = 100
"""Characters of a claim or a reply."""


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


class ShortNames(dict[str, str]):
    """Short names of judges in tables; other raters, such as the panel, keep their name."""

    def __missing__(self, name: str) -> str:
        return name


def do_agreement(args: AgreementOptions) -> int:
    """Measure the agreement, print it, and return the exit code."""
    if not args.runs:
        raise UsageError("agreement needs a run directory, or files of grades with --labels")
    whole_answers = args.answers != WholeAnswers()
    if not whole_answers and not args.runs[0].is_dir():
        return _of_grades(args)
    from claimeval.runs.ratings import has_ratings

    if whole_answers or (args.labels and has_ratings(args.labels)):
        return _of_answers(args)
    return _of_run(args)


agreement = command("agreement", AgreementOptions, do_agreement)


def _last_parts(names: Iterable[str]) -> dict[str, str]:
    """Return the last part of each path if these are unique, else the paths."""
    short = {name: name.rpartition(".")[2] for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in short}


def _of_answers(args: AgreementOptions) -> int:
    from claimeval.api import people

    if len(args.runs) > 1 or args.grades != GradeAgreement() or args.evidence or args.plot:
        raise UsageError("ratings of whole answers are compared with one run or table, without --evidence and --plot")
    (source,), ratings_file, output = args.runs, args.answers, args.output
    report = people.agreement(
        source,
        args.labels,
        scores=ratings_file.scores,
        ratings=ratings_file.ratings,
        pairs=ratings_file.pairs,
        cluster=args.cluster,
    )
    ratings = report.ratings
    assert ratings, "ratings were asked for"
    what = "pairs of answers" if ratings.pairs else "answers"
    output.line()
    output.line(f": {ratings.items:,} {what} with a rating by people", bold=source.name)
    scores = _last_parts(pair.score for pair in ratings.correlations)
    people_of = _last_parts(pair.rating for pair in ratings.correlations)
    rows = [
        (
            scores[pair.score],
            people_of[pair.rating],
            str(pair.items),
            _of(pair.spearman),
            _of(pair.pearson),
            *([_of(pair.agreeing)] * ratings.pairs),
        )
        for pair in ratings.correlations
    ]
    output.text_table(
        ("score", "people", "n", "Spearman", "Pearson", *(["same preference"] * ratings.pairs)), rows, words=(0, 1)
    )
    for pair in ratings.people:
        text = f" two annotators of {pair.rating} with each other: Spearman {_of(pair.spearman)}, {pair.items} {what}"
        output.line(text, style="dim")
    if ratings.unmatched:
        output.line(f" left out: {number_of(ratings.unmatched, 'row')} without a rating or of no sample", style="dim")
    return output.result("agreement", report.model_dump(), path=source if source.is_dir() else None)


def _of_run(args: AgreementOptions) -> int:
    from claimeval.api import people
    from claimeval.report.charts import check_name
    from claimeval.report.pictures import of_agreement
    from claimeval.runs.directory import cluster_field, load_manifest

    if len(args.runs) > 1 or args.grades != GradeAgreement():
        raise UsageError("several files, --scale, --assessors, --trec-run, --measures and --out are for grades")
    (run,) = args.runs
    if args.plot:
        check_name(args.plot)
    report = people.agreement(
        run,
        args.labels,
        evidence=args.evidence,
        by=args.by,
        half_width=args.half_width,
        cluster=args.cluster,
    )
    names = ShortNames(load_manifest(run).short_names)
    _print(args.output, run, report, names, cluster_field(run, args.cluster))
    if report.raters:
        _print_next(args, report, names)
    if args.plot:
        drawn = of_agreement(report, names)
        if drawn is None:
            raise UsageError("there is nothing to draw: one judge and no labels")
        drawn.save(args.plot)
        args.output.line(f"Picture: {args.plot}")
    return args.output.result("agreement", report.model_dump(), path=run)


def _of_grades(args: AgreementOptions) -> int:
    from claimeval.api import people
    from claimeval.cli.grade import print_refused, print_validity
    from claimeval.data.test_collections import read_names, relevance_scale, write_assessors
    from claimeval.evaluation.validity import read_graders

    if args.labels is None:
        raise UsageError("grades are compared with grades by people: name these with --labels")
    if args.evidence or args.cluster or args.plot:
        raise UsageError("--evidence, --cluster and --plot are for runs of claims")
    grades_file, output = args.grades, args.output
    scale = relevance_scale(grades_file.scale)
    content = people.agreement(
        args.runs,
        args.labels,
        scale=grades_file.scale,
        assessors=grades_file.assessors,
        trec_runs=grades_file.trec_runs,
        measures=grades_file.measures,
    ).assessors
    written: list[Path] = []
    if grades_file.out:
        names = read_names(grades_file.assessors) if grades_file.assessors else ()
        written = write_assessors(read_graders(args.runs, names, scale)[0], grades_file.out)
    print_validity(output, content, confusions=len(content) == 1)
    print_refused(output, {name: report.refused for name, report in content.items()}, scale)
    if written:
        output.line(f"Grades: {len(written)} files in {grades_file.out}")
        output.line(f"Rank by them: claimeval rank {written[0]} YOUR.run -l {scale.positive_from:g}")
    record = {name: report.model_dump(mode="json") for name, report in content.items()}
    return output.result("agreement", {"assessors": record})


def _print(output: Output, run: Path, report: Agreement, names: ShortNames, field: str | None) -> None:
    from claimeval.types.clusters import cluster_noun

    what = "labeled items" if report.raters else "claims, no human labels"
    output.line()
    output.line(f": {report.items} {what} on {report.questions} {cluster_noun(field)}", bold=str(run))
    for note in report.notes:
        output.note(note, kind="Caution")
    if report.raters:
        _print_numbers(output, report.raters, names)
    for rater in report.raters[:TABLES]:
        output.confusion(f"people \\ {names[rater.rater]}", rater.labels, rater.confusion)
    if report.slices:
        _print_slices(output, report.slices, names)
    if report.pairs:
        _print_pairs(output, report, names)
    if report.alpha and report.ac1:
        later = " and ".join(names[name] for name in report.asked_later)
        of = f" (without {later}, who saw disputed claims only)" if later else ""
        numbers = f"Krippendorff's alpha {_of(report.alpha)}, Gwet's AC1 {_of(report.ac1)}"
        output.line(f" Judges{of}: {numbers}")
    for reason, figures in _without_interval(report, names).items():
        output.line(f" No interval for {', '.join(figures)}: {reason}.", style="dim")
    _print_judges(output, report.judges, names)
    for rater in report.raters:
        if rater.calibration and rater.calibration.n:
            _print_calibration(output, names[rater.rater], rater.calibration)
    _print_disputes(output, report.disputes, names)


def _print_slices(output: Output, slices: Sequence[RaterSlice], names: ShortNames) -> None:
    """Print the agreement of each rater with people by value of a field, with its confusions."""
    rows = []
    for part in slices:
        wrong = [
            f"{count} {people} as {rater}"
            for people, counts in zip(part.labels, part.confusion, strict=True)
            for rater, count in zip(part.labels, counts, strict=True)
            if count and people != rater
        ]
        who = names[part.rater]
        rows.append((part.value, who, str(part.compared), _of(part.same), _of(part.kappa), ", ".join(wrong)))
    output.text_table(("value", "rater", "n", "equal", "kappa", "confused"), rows, words=(0, 1, 5))


def _print_next(args: AgreementOptions, report: Agreement, names: ShortNames) -> None:
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


def _print_judges(output: Output, judges: Sequence[JudgeNumbers], names: ShortNames) -> None:
    """Print cost, speed, agreement and failures of each judge."""
    rows = [
        (
            names[judge.judge] + " *" * judge.on_front,
            f"{judge.verdicts:,}",
            "unknown" if judge.dollars_per_1000 is None else f"${dollars(judge.dollars_per_1000)}",
            "-" if judge.seconds is None else f"{judge.seconds:.2f}",
            decimal(judge.agreement),
            decimal(judge.kappa),
            decimal(judge.kappa_with_judges),
            str(sum(judge.failed.values())),
        )
        for judge in judges
    ]
    if not rows:
        return
    compared = next((judge.agrees_with for judge in judges if judge.agrees_with), "others")
    columns = ("judge", "verdicts", "per 1,000", "seconds\na call", f"equal to\n{compared}", "kappa")
    output.line()
    output.text_table((*columns, "kappa with\njudges", "failed\ncalls"), rows)
    if len(judges) > 1 and any(judge.on_front for judge in judges):
        output.line("* no other judge agrees as much for less", style="dim", indent=1)
    if odd := next((names[judge.judge] for judge in judges if judge.odd_one), None):
        output.line(f"{odd} agrees least with the other judges", indent=1)
    if compared == "panel":
        for judge in judges[:TABLES]:
            output.confusion(f"panel \\ {names[judge.judge]}", judge.labels, judge.confusion)
    for judge in judges:
        for reason, example in judge.examples.items():
            reply = visible(example.reply or example.message or "", SHOWN)
            who = names[judge.judge]
            output.line(f"{who}: {judge.failed[reason]} {reason}, as in {example.sample_id}: {reply}", indent=1)


def _print_calibration(output: Output, name: str, report: CalibrationReport) -> None:
    rows = [
        (decimal(bin_.probability, 2), decimal(bin_.share, 2), interval((bin_.low, bin_.high)), str(bin_.n))
        for bin_ in report.bins
    ]
    output.text_table((f"{name}: stated", "supported", "95 % interval", "claims"), rows, words=())
    output.line(
        f"calibration error {decimal(report.error)}, Brier score {decimal(report.brier)}", style="dim", indent=1
    )


def _print_disputes(output: Output, disputes: Sequence[Dispute], names: ShortNames) -> None:
    if not disputes:
        return
    output.line()
    output.line(", most divided first; --json has up to 20", bold="Disputed claims")
    for dispute in disputes[:DISPUTES]:
        votes = ", ".join(f"{names[judge]} {vote}" for judge, vote in dispute.votes.items())
        output.line(f"{dispute.sample} {dispute.subject}: {visible(dispute.claim, SHOWN)} ({votes})", indent=1)


def _without_interval(report: Agreement, names: ShortNames) -> dict[str, list[str]]:
    """Return the names of printed values without an interval, by reason; pairs of many raters are left out."""
    from claimeval.runs.agreement import by_measure
    from claimeval.statistics.bootstrap import NOT_REQUESTED

    printed = [("alpha", report.alpha), ("AC1", report.ac1)]
    if len(report.raters) <= COLUMNS:
        for name, numbers in by_measure(report.raters):
            of = zip(report.raters, numbers, strict=True)
            printed += [(f"{name} of {names[rater.rater]}", number) for rater, number in of]
    for pair in report.pairs if len(report.pairs) <= PAIRS else ():
        who = " / ".join(names[rater] for rater in (pair.first, pair.second))
        printed += [(f"equal of {who}", pair.raw), (f"kappa of {who}", pair.kappa)]
    reasons: dict[str, list[str]] = {}
    for what, number in printed:
        if number and number.value is not None and number.reported is None and number.because != NOT_REQUESTED:
            reasons.setdefault(str(number.because), []).append(what)
    return reasons


def _print_numbers(output: Output, raters: Sequence[RaterReport], names: ShortNames) -> None:
    """Print a column with intervals for each rater, or for many raters a row with the main numbers."""
    if len(raters) > COLUMNS:
        graded = raters[0].weighted_kappa is not None
        rows = []
        for rater in raters:
            shown = [rater.accuracy, rater.balanced_accuracy, rater.f1, rater.kappa]
            shown += [rater.kappa_of_labels, rater.weighted_kappa or rater.kappa] if graded else []
            rows.append((names[rater.rater], str(rater.compared), *map(_short, shown)))
        more = ("grades", "kappa^2") if graded else ()
        output.text_table(("rater", "compared", "accuracy", "balanced", "F1", "kappa", *more), rows)
        return
    from claimeval.runs.agreement import by_measure

    counts = (f"{r.compared}" + (f" (+{r.unassessed})" if r.unassessed else "") for r in raters)
    lines = [("compared (+ unassessed)", *counts)]
    lines += [(name, *map(_of, numbers)) for name, numbers in by_measure(raters) if any(numbers)]
    output.text_table(("", *(names[rater.rater] for rater in raters)), lines)


def _print_pairs(output: Output, report: Agreement, names: ShortNames) -> None:
    if len(report.pairs) > PAIRS:
        kappas = sorted(pair.kappa.value for pair in report.pairs if pair.kappa.value is not None)
        ends = f"{decimal(kappas[0])} to {decimal(kappas[-1])}" if kappas else "no value"
        output.line(f" Cohen's kappa of {len(report.pairs)} pairs: {ends}")
        return
    rows = []
    for pair in report.pairs:
        who = " / ".join(names[rater] for rater in (pair.first, pair.second))
        rows.append((who, str(pair.items), _of(pair.raw), _of(pair.kappa)))
    output.text_table(("pair", "items", "equal", "kappa"), rows)


def _of(number: Estimate | None) -> str:
    if number is None or number.value is None:
        return "-"
    return estimate(number.value, number.reported)


def _short(number: Estimate | None) -> str:
    return decimal(number.value if number else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectOptions:
    """Correct a score with human labels: prints the judges' score, the corrected score, and the score by people alone.

    The judges are compared with people on the labeled claims, and their score on all claims is shifted by their errors.
    The micro score is corrected: supported claims over judged claims. Intervals resample whole questions.

    Example: claimeval annotate runs/a --n 150, then claimeval correct runs/a
    """

    run: Annotated[Path, Argument("RUN")]
    """A run directory."""
    labels: Path | None = None
    """Human labels of claims or samples.  [default: those from `claimeval annotate`, else those of an import]"""
    metric: str | None = None
    """Metric to correct.  [default: the first of the run]"""
    method: Literal["auto", "ppi", "stratified", "active", "rogan-gladen"] = "auto"
    """auto (by how claims were drawn), ppi, stratified, active or rogan-gladen (for labels from elsewhere)."""
    seed: int = 0
    """Seed of the bootstrap interval."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: as in the run]"""
    output: Output = Output()


def do_correct(args: CorrectOptions) -> int:
    """Correct the score, print the three numbers, and return the exit code."""
    from claimeval.api import people

    correction = people.correct(**arguments(args))
    output = args.output
    what = "micro" if correction.unit == "claim" else "share of samples with every claim supported"
    of = "judged claims" if correction.unit == "claim" else "samples with a judged claim"
    output.line()
    output.line(f", {what}: {correction.items} {of}, {correction.labeled} of them labeled", bold=correction.metric)
    numbers = {
        "the judges alone": correction.judged,
        f"corrected ({correction.method})": correction.corrected,
        "people alone": correction.people,
    }
    output.text_table(
        ("by", "value", "95 % interval", "width"), [(name, *_cells(number)) for name, number in numbers.items()]
    )
    if correction.ppi_lambda is not None:
        output.line(f"- weight of the judges: {decimal(correction.ppi_lambda, 2)} (0: ignored, 1: full weight)")
    output.line("- the judges' interval ignores their errors")
    if correction.labels_needed is not None:
        output.line(f"- {correction.labels_needed} more labels would halve the corrected interval")
    for note in correction.notes:
        output.line(f"- {note}")
    return output.result("correct", correction.model_dump())


correct = command("correct", CorrectOptions, do_correct)


def _cells(number: Estimate) -> list[str]:
    if number.value is None:
        return [f"- ({number.because})", "-", "-"]
    width = None if number.low is None or number.high is None else number.high - number.low
    return [decimal(number.value), interval(number.reported), decimal(width)]
