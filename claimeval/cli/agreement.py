"""`claimeval agreement`: judges against people, or against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Out
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.runs.agreement import Agreement, RaterReport
    from claimeval.types.estimates import Estimate

LISTED = ("People", 2, "Compare judges with people, or with each other.")
PAIRS = 15
"""Pairs of raters that are printed; of more only the range is."""
COLUMNS = 3
"""Raters that are printed in columns; more are printed in rows."""
TABLES = 4
"""Raters whose confusions are printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeAgreement:
    """How grades of documents are compared."""

    scale: str = "umbrela"
    """Scale of the grades: umbrela (0 to 3), graded (0 to 2), binary, or a YAML file."""
    assessors: Path | None = None
    """Names for a list of `grades` in a table, in its order: a JSON list, or an object with one."""
    trec_runs: Annotated[tuple[Path, ...], Names("--trec-run")] = ()
    """A TREC run that both put in order; repeatable."""
    measures: Annotated[str, Names("-m", "--measures")] = "ndcg@10,P@10"
    """Rank measures by which runs are put in order."""
    out: Out = None
    """Folder for the grades of each assessor as qrels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementOptions:
    """Compare judges and panel with human labels, or with each other. Intervals resample whole questions; no calls.

    Accuracy, balanced accuracy, precision, recall, F1, kappa, AUROC if a judge gives probabilities, and the labels
    that are confused; kappa between any two raters, Krippendorff's alpha and Gwet's AC1.

    A file of labels has `id` (of the sample), `claim_id` or `text` (the claim, or a passage of the answer; neither for
    the whole sample), `label` (supported, contradicted, not_found, yes, no, or a grade), and, if needed, `against` and
    `annotator`.

    Example: claimeval agreement runs/a --labels labels.csv --evidence contexts

    Example: claimeval agreement judge-a.txt judge-b.txt --labels human.txt
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN")]
    """A run directory; or files of grades, as qrels or tables, each by an assessor or several."""
    labels: Path | None = None
    """Human labels, .jsonl or .csv, or grades; by default those that the run was imported with, if any."""
    evidence: str | None = None
    """Evidence that the labels are about, if claims were assessed against several: contexts, reference, ..."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: as in the run]"""
    output: Output = Output()
    grades: Annotated[GradeAgreement, Heading("Documents")] = GradeAgreement()


def do(given: AgreementOptions) -> int:
    """Measure the agreement, print it, and return the exit code."""
    if not given.runs:
        raise UsageError("agreement needs a run directory, or files of grades with --labels")
    if given.runs[0].is_dir():
        return _of_run(given)
    return _of_grades(given)


agreement = command("agreement", AgreementOptions, do)


def _of_run(given: AgreementOptions) -> int:
    from claimeval.api import people
    from claimeval.runs.directory import cluster_field, load_manifest

    if len(given.runs) > 1 or given.grades != GradeAgreement():
        raise UsageError("several files, --scale, --assessors, --trec-run, --measures and --out are for grades")
    (run,) = given.runs
    report = people.agreement(run, given.labels, evidence=given.evidence, cluster=given.cluster)
    _print(given.output, run, report, load_manifest(run).short_names, cluster_field(run, given.cluster))
    return given.output.result("agreement", report.model_dump(), path=run)


def _of_grades(given: AgreementOptions) -> int:
    from claimeval import ir
    from claimeval.cli.validity_table import print_refused, print_validity
    from claimeval.data.grades import read_names, read_qrels, relevance_scale, write_assessors
    from claimeval.evaluation.validity import read_graders, validity
    from claimeval.ir.output import labels

    if given.labels is None:
        raise UsageError("grades are compared with grades by people: name these with --labels")
    if given.evidence or given.cluster:
        raise UsageError("--evidence and --cluster are for runs of claims")
    asked, output = given.grades, given.output
    scale, human = relevance_scale(asked.scale), read_qrels(given.labels)
    runs = {name: ir.read_run(path) for name, path in zip(labels(asked.trec_runs), asked.trec_runs, strict=True)}
    names = read_names(asked.assessors) if asked.assessors else ()
    assessors, refused = read_graders(given.runs, names, scale)
    found = {
        name: validity(grades, human, scale, runs=runs, measures=asked.measures) for name, grades in assessors.items()
    }
    written = write_assessors(assessors, asked.out) if asked.out else []
    print_validity(output, found, confusions=len(found) == 1)
    print_refused(output, refused, scale)
    if written:
        output.line(f"Grades: {len(written)} files in {asked.out}")
        output.line(f"Rank by them: claimeval rank {written[0]} YOUR.run -l {scale.positive_from:g}")
    record = {
        name: {**one.model_dump(mode="json"), "refused": [grade._asdict() for grade in refused[name]]}
        for name, one in found.items()
    }
    return output.result("agreement", {"assessors": record})


def _print(output: Output, run: Path, report: Agreement, names: dict[str, str], field: str | None) -> None:
    from claimeval.types.clusters import cluster_noun

    what = "labeled items" if report.raters else "claims, no human labels"
    output.line()
    output.line(f": {report.items} {what} on {report.questions} {cluster_noun(field)}", bold=str(run))
    if report.unmatched:
        output.note(f"{report.unmatched} labels fit no claim or sample of this run", kind="Caution")
    if words := report.labels.words():
        output.line(f"Labels {words}")
    if report.raters:
        _print_numbers(output, report.raters, names)
    for rater in report.raters[:TABLES]:
        rows = [(label, *map(str, counts)) for label, counts in zip(rater.labels, rater.confusion, strict=True)]
        output.table((f"people \\ {names.get(rater.rater, rater.rater)}", *rater.labels), rows)
    if report.pairs:
        _print_pairs(output, report, names)
    if report.alpha and report.ac1:
        later = " and ".join(names.get(name, name) for name in report.asked_later)
        of = f" (without {later}, who saw disputed claims only)" if later else ""
        numbers = f"Krippendorff's alpha {_of(report.alpha)}, Gwet's AC1 {_of(report.ac1)}"
        output.line(f" Judges{of}: {numbers}")
    for reason, those in _without_interval(report, names).items():
        output.line(f" No interval for {', '.join(those)}: {reason}.", style="dim")


def _without_interval(report: Agreement, names: dict[str, str]) -> dict[str, list[str]]:
    """By reason the printed values that have no interval; that pairs of many raters have none needs no reason."""
    from claimeval.runs.agreement import by_measure
    from claimeval.statistics.bootstrap import NOT_REQUESTED

    printed = [("alpha", report.alpha), ("AC1", report.ac1)]
    if len(report.raters) <= COLUMNS:
        for name, numbers in by_measure(report.raters):
            of = zip(report.raters, numbers, strict=True)
            printed += [(f"{name} of {names.get(rater.rater, rater.rater)}", number) for rater, number in of]
    for pair in report.pairs if len(report.pairs) <= PAIRS else ():
        who = " / ".join(names.get(rater, rater) for rater in (pair.first, pair.second))
        printed += [(f"equal of {who}", pair.raw), (f"kappa of {who}", pair.kappa)]
    found: dict[str, list[str]] = {}
    for what, number in printed:
        if number and number.value is not None and number.interval is None and number.because != NOT_REQUESTED:
            found.setdefault(str(number.because), []).append(what)
    return found


def _print_numbers(output: Output, raters: Sequence[RaterReport], names: dict[str, str]) -> None:
    """Print a column a rater with intervals, or for many raters a row each with the main numbers."""
    if len(raters) > COLUMNS:
        graded = raters[0].weighted_kappa is not None
        rows = []
        for rater in raters:
            shown = [rater.accuracy, rater.balanced_accuracy, rater.f1, rater.kappa]
            shown += [rater.kappa_of_labels, rater.weighted_kappa or rater.kappa] if graded else []
            rows.append((names.get(rater.rater, rater.rater), str(rater.compared), *map(_short, shown)))
        more = ("grades", "kappa^2") if graded else ()
        output.table(("rater", "compared", "accuracy", "balanced", "F1", "kappa", *more), rows)
        return
    from claimeval.runs.agreement import by_measure

    counts = (f"{r.compared}" + (f" (+{r.unassessed})" if r.unassessed else "") for r in raters)
    lines = [("compared (+ unassessed)", *counts)]
    lines += [(name, *map(_of, numbers)) for name, numbers in by_measure(raters) if any(numbers)]
    output.table(("", *(names.get(rater.rater, rater.rater) for rater in raters)), lines)


def _print_pairs(output: Output, report: Agreement, names: dict[str, str]) -> None:
    from claimeval.statistics.formatting import decimal

    if len(report.pairs) > PAIRS:
        kappas = sorted(pair.kappa.value for pair in report.pairs if pair.kappa.value is not None)
        output.line(f" Cohen's kappa of {len(report.pairs)} pairs: {decimal(kappas[0])} to {decimal(kappas[-1])}")
        return
    rows = []
    for pair in report.pairs:
        who = " / ".join(names.get(rater, rater) for rater in (pair.first, pair.second))
        rows.append((who, str(pair.items), _of(pair.raw), _of(pair.kappa)))
    output.table(("pair", "items", "equal", "kappa"), rows)


def _of(number: Estimate | None) -> str:
    from claimeval.statistics.formatting import estimate

    if number is None or number.value is None:
        return "-"
    return estimate(number.value, number.interval)


def _short(number: Estimate | None) -> str:
    from claimeval.statistics.formatting import decimal

    return decimal(number.value if number else None)
