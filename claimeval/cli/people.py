"""`claimeval annotate`, `agreement` and `correct`: labeling in the terminal, and judges next to
people."""

from __future__ import annotations

import itertools
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import claimeval as ce
from claimeval.cli.command import Heading, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Out, OutputOptions, RowOptions, arguments
from claimeval.cli.terminal import Keys
from claimeval.statistics.formatting import decimal, digits_of, interval, number_of
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.runs.agreement import Agreement as Measured
    from claimeval.runs.annotation import Annotation, ClaimAnnotation, DocumentAnnotation
    from claimeval.runs.labeling import LgtmEstimate
    from claimeval.types.records import Document

DOCUMENTS = Heading("Documents")
ANSWERS = Heading("Whole answers")
MEASURES = "ndcg@10,P@10"
ROOM = 12
"""Lines of the screen that the document does not use."""
LEAST = 6
"""Minimum number of lines of a document that are shown."""


@command("annotate")
class AnnotateCommand(OutputOptions):
    """Label claims of a run, drawn at random: y supported, c contradicted, n not found, ? unsure, b
    back.

    You see the question, the claim and the evidence, but no verdict. Every label is saved at once;
    stop with q and resume with the same command. `claimeval agreement RUN` then compares the judges
    with you, and `claimeval correct RUN` corrects the score. Of a run of ratings you label whole
    answers, with the words of the rating. To label in the browser, use `claimeval view FOLDER
    --label-as NAME`.

    With --documents you label the top retrieved documents: y good, n not, ? unsure, b back, m the
    whole text. The share of good documents is LGTM@DEPTH, and the labels are qrels, which
    `claimeval rank` reads.

    Example: claimeval annotate answers.jsonl --documents --n 30 --out labels.qrels

    Example: claimeval annotate queries.tsv --documents --corpus docs.jsonl --trec-run bm25.run
    """

    run: Annotated[Path, "RUN|DATA"]
    """A run directory; with --documents also samples, or queries if there is a --corpus."""
    n: Annotated[int | None, "-n", "--n"] = None
    """Claims to draw, earlier ones included (default: 100); with --documents, questions to draw
    (default: 50)."""
    metric: str | None = None
    """Metric whose claims are drawn, or rating whose answers are.  [default: the first of the
    run]"""
    design: str = "even"
    """even (with equal probability, evenly over how many judges support a claim), or label (at
    least 15 of each label of the judges, for agreement)."""
    seed: int = 0
    """Another seed draws other claims or questions."""
    annotator: str = ""
    """Your name, stored with each label; each name gets all drawn claims to label."""
    disputed: bool = False
    """Instead of a draw, label the claims on which judges or replicates differ, or people differ
    from the panel; at most --n. `correct` leaves these labels out."""
    export: Path | None = None
    """Write the drawn claims to this CSV file, for labeling elsewhere, and exit."""
    documents: Annotated[bool, DOCUMENTS] = False
    """Label retrieved documents as good or bad, for LGTM@DEPTH and qrels."""
    depth: Annotated[int | None, DOCUMENTS] = None
    """Documents per question.  [default: 10]"""
    corpus: Annotated[Path | None, DOCUMENTS] = None
    """The documents of a collection: .jsonl with id and text, or .tsv."""
    trec_run: Annotated[Path | None, DOCUMENTS] = None
    """The TREC run to label."""
    out: Annotated[Out, DOCUMENTS] = None
    """Qrels to write.  [default: RUN/annotation/documents.qrels, or runs/DATA-documents.qrels]"""
    rows: Annotated[RowOptions, DOCUMENTS] = RowOptions()

    def do(self) -> int:
        settings = arguments(self)
        output = self.output
        if settings.pop("export") and self.documents:
            raise UsageError("--export is for claims")
        drawn = ce.annotate(**settings)
        if self.export:
            return self._exported(drawn, self.export)
        _ask(replace(output, quiet=False), drawn)
        complete = all(map(drawn.given, drawn.turns))
        resume = "Run the same command to resume."
        if self.documents:
            estimate = drawn.estimate
            _print_lgtm(output, estimate)
            output.lines(f"Labels: {drawn.path}", estimate.unmarked and resume)
            return output.result(
                "annotate", {"labels": str(drawn.path), **estimate.model_dump(mode="json")}
            )
        labeled, count, needed, same, repeated = drawn.progress
        more = f"about {needed} more labels" if needed else "these labels are enough"
        output.lines(
            f"{labeled:,} of {number_of(count, drawn.unit)} labeled, in {drawn.path}",
            repeated and f"{same} of {repeated} that were shown twice have the same label",
            needed is not None
            and f"To know within ±0.05 how often the judges label as you do: {more}",
            self._next if complete else resume,
        )
        return output.result("annotate", {"labels": str(drawn.path), **drawn.progress._asdict()})

    @property
    def _next(self) -> str:
        # `correct` leaves labels of disputed claims out.
        corrects = "" if self.disputed else f", claimeval correct {self.run}"
        return f"Next: claimeval agreement {self.run}{corrects}"

    def _exported(self, drawn: Annotation, to: Path) -> int:
        done = f"{number_of(drawn.export(to), drawn.unit)} written to {to}"
        words = ", ".join(drawn.keys.values())
        # `correct` leaves labels of disputed claims out.
        reader = "agreement" if self.disputed else "correct"
        self.output.line(
            f"{done}; fill the column `label` ({words}), then: claimeval {reader} {self.run}"
            f" --labels {to}"
        )
        return self.output.result("annotate", {"labels": str(to)})


def _ask(output: Output, drawn: Annotation) -> None:
    """Ask for the label of every turn without one."""
    from claimeval.runs.annotation import DocumentAnnotation

    words = (f"{key} {word.replace('_', ' ')}" for key, word in drawn.keys.items())
    of_documents = isinstance(drawn, DocumentAnnotation)
    line = "   ".join(
        [*words, "b back", "q stop", *(["m all of the text"] if of_documents else [])]
    )
    show: Any = _show_document if of_documents else _show_claim
    keys = Keys()
    at = _next(drawn)
    shown = -1
    try:
        while at < len(drawn.turns):
            item: Any = drawn.turns[at]
            if shown != at:
                show(output, drawn, at, line)
                shown = at
            key = keys.next()
            if key == "q":
                return
            if key in drawn.keys:
                output.line(bold=drawn.keys[key])
                item.label(drawn.keys[key])
                at = _next(drawn)
            elif key == "b" and at:
                at -= 1
            elif key == "m" and of_documents:
                output.line(_text(item.document), indent=2)
                output.line()
                output.line(line)
            else:
                output.line("This is the first item." if key == "b" else line)
    except (KeyboardInterrupt, EOFError):
        output.line()


def _next(drawn: Annotation) -> int:
    """Return the index of the first turn without a label."""
    return next(
        (i for i, item in enumerate(drawn.turns) if not drawn.given(item)), len(drawn.turns)
    )


def _so_far(drawn: Annotation, at: int) -> list[tuple[str, str]]:
    given = drawn.given(drawn.turns[at])
    return [("so far", str(given["label"]))] if given else []


def _show_claim(output: Output, drawn: ClaimAnnotation, at: int, keys: str) -> None:
    item = drawn.turns[at]
    output.rule(f"{at + 1} of {len(drawn.turns)}{', for the second time' if item.again else ''}")
    for document in item.documents:
        output.pairs([(document.id, document.title or "")], bold=document.id)
        output.line(document.text, indent=2)
        output.line()
    what = "answer" if item.claim.id == "answer" else "claim"
    output.pairs(
        [("question", item.sample.question), (what, item.claim.text), *_so_far(drawn, at)],
        bold=what,
    )
    asked = f"How good is the answer by its {drawn.draw.metric.name}?" if what == "answer" else None
    output.line(
        f"{asked or f'Is the claim supported by the {item.against} above?'}  {keys}", style="dim"
    )


def _show_document(output: Output, drawn: DocumentAnnotation, at: int, keys: str) -> None:
    item = drawn.items[at]
    height, width = output.size
    room = max(LEAST, height - ROOM) if height else 40
    width = max(20, width - 2)
    text = _text(item.document)
    lines = output.wrap(text[: 2 * room * width], width)
    output.rule(
        f"question {item.number} of {len(drawn.draw.queries)}, document {item.position} of"
        f" {item.documents}"
    )
    for line in itertools.islice(lines, room):
        output.line(line, indent=2)
    if len(lines) > room or len(text) > 2 * room * width:
        output.line(f"  ... {len(text)} characters in all; m shows them", style="dim")
    output.line()
    fields = [("document", item.document.id), ("question", item.question), *_so_far(drawn, at)]
    output.pairs(fields, bold="question")
    output.line(f"Is it a good result for the question?  {keys}", style="dim")


def _text(document: Document) -> str:
    return f"{document.title}\n{document.text}" if document.title else document.text


def _print_lgtm(output: Output, lgtm: LgtmEstimate) -> None:
    ends = f", 95% interval {interval(lgtm.reported)}" if lgtm.reported else ""
    known = (
        f"  {lgtm.because}" if lgtm.value is None else f"{ends}, n {number_of(lgtm.n, 'question')}"
    )
    output.line(known, bold=f"LGTM@{lgtm.first}  {decimal(lgtm.value, digits_of(lgtm.reported))}")
    counts = (
        f"{lgtm.good} good, {lgtm.bad} not, {lgtm.unsure} unsure, {lgtm.unmarked} not yet labeled"
    )
    blank = f", {lgtm.without_text} without a text" if lgtm.without_text else ""
    none = (
        f"; nothing was retrieved for {lgtm.without_results} others" if lgtm.without_results else ""
    )
    within = lgtm.bounds and interval(lgtm.bounds)
    output.lines(
        lgtm.value is not None and not lgtm.reported and f" no interval: {lgtm.because}",
        f" documents: {counts}{blank}",
        f" questions: {lgtm.begun} begun of {lgtm.drawn} drawn{none}",
        within and f" bounds: {within}, if all without a label in them were bad, or good",
        style="dim",
    )


@command("agreement")
class AgreementCommand(OutputOptions):
    """Compare judges and panel with human labels, or with each other. Intervals resample whole
    questions; no calls.

    Prints accuracy, balanced accuracy, precision, recall, F1, kappa, AUROC if a judge gives
    probabilities, and the confusion of labels; kappa between any two raters, Krippendorff's alpha
    and Gwet's AC1.

    A file of labels has `id` (of the sample), `claim_id` or `text` (the claim, or a passage of the
    answer; neither for the whole sample), `label` (supported, contradicted, not_found, yes, no, or
    a grade), and, if needed, `against` and `annotator`. With `rating`, a number for the whole
    answer, the ratings are correlated with the scores.

    Example: claimeval agreement runs/a --labels labels.csv --evidence contexts

    Example: claimeval agreement pairs.jsonl --score responses.f1 --rating human.overall --pairs

    Example: claimeval agreement judge-a.txt judge-b.txt --labels human.txt
    """

    run: Annotated[tuple[Path, ...], "RUN"]
    """A run directory; a table with --rating; or files of grades (qrels, tables) by one or several
    assessors."""
    labels: Path | None = None
    """Human labels, .jsonl or .csv, or grades.  [default: those from `annotate`, else those of an
    import]"""
    evidence: str | None = None
    """Evidence that the labels are about, if claims were assessed against several: contexts,
    reference, ..."""
    by: str | None = None
    """Also print agreement and confusion by this field, as in metadata.topic."""
    half_width: float = 0.05
    """Target half-width of the interval of the share of equal labels, for the number of labels
    still needed."""
    cluster: str | None = None
    """Samples with equal values depend on each other.  [default: as in the run]"""
    sheet: str | None = None
    """The sheet of a spreadsheet that has several."""
    details: bool = False
    """Print all tables: every measure, confusion and pair of raters, and ten disputed claims."""
    plot: Path | None = None
    """SVG file for a picture: the kappa of each pair of raters, and the confusion of each rater
    with people."""
    scores: Annotated[tuple[str, ...], "--score", ANSWERS] = ()
    """Metric of the run, or field of a table, as in responses.f1; repeatable.  [default: all
    metrics of the run]"""
    ratings: Annotated[tuple[str, ...], "--rating", ANSWERS] = ()
    """Field of ratings by people (numbers); repeatable.  [default: rating]"""
    pairs: Annotated[bool, ANSWERS] = False
    """Each row has scores of two answers, and a rating that is higher the more the second is
    preferred."""
    scale: Annotated[str, DOCUMENTS] = "umbrela"
    """Scale of the grades: umbrela (0 to 3), graded (0 to 2), binary, or a YAML file."""
    assessors: Annotated[Path | None, DOCUMENTS] = None
    """Names of the assessors in a list of `grades` in a table: a JSON list, or an object with
    one."""
    trec_runs: Annotated[tuple[Path, ...], "--trec-run", DOCUMENTS] = ()
    """TREC run to order by the grades of both; repeatable."""
    measures: Annotated[str, "-m", "--measures", DOCUMENTS] = MEASURES
    """Rank measures that order the TREC runs."""
    out: Annotated[Out, DOCUMENTS] = None
    """Folder to write the grades of each assessor to, as qrels."""

    def do(self) -> int:
        from claimeval.data.test_collections import qrels_file
        from claimeval.report.pictures import of_agreement
        from claimeval.runs.directory import cluster_field, load_manifest
        from claimeval.runs.views.agreement import ShortNames, first, view

        settings = arguments(self)
        del settings["plot"]
        del settings["details"]
        report = ce.agreement(**settings)
        run = self.run[0] if self.run[0].is_dir() else None
        names = ShortNames(load_manifest(run).short_names if run else {})
        if self.plot:
            picture = of_agreement(report, names)
            if picture is None:
                raise UsageError(
                    "there is nothing to draw: --plot is for several raters of the claims of a run"
                )
            picture.save(self.plot)
        field = cluster_field(run, self.cluster) if run else None
        draw = view if self.details else first
        self.output.draw(draw(report, names, str(self.run[0]), field))
        _print_next(self, report)
        if self.out:
            name, assessor = next(iter(report.assessors.items()))
            rank = (
                f"Rank by them: claimeval rank {qrels_file(self.out, name)} YOUR.run -l"
                f" {assessor.relevant_from}"
            )
            self.output.lines(f"Grades: {len(report.assessors)} files in {self.out}", rank)
        return self.output.result("agreement", report.model_dump(mode="json"), path=run)


def _print_next(args: AgreementCommand, report: Measured) -> None:
    """Print what labels allow, where all tables are, and the picture."""
    if report.raters:
        _print_labels(args, report)
    of_ratings = ""
    if report.ratings and args.run[0].is_dir():
        run = shlex.quote(str(args.run[0]))
        of_ratings = (
            f"Next: claimeval annotate {run} labels single claims; claimeval agreement {run} then"
            " shows where judges and people differ"
        )
    elif report.ratings:
        of_ratings = (
            "Next: compare other fields: --score FIELD, --rating FIELD; all numbers: --json"
        )
    args.output.lines(
        not report.ratings and not args.details and "All tables: --details",
        of_ratings,
        args.plot and f"Picture: {args.plot}",
    )


def _print_labels(args: AgreementCommand, report: Measured) -> None:
    """Print how many more labels are needed, and what `correct` and `experiment` could do with the
    labels."""
    from claimeval.statistics.selection import power

    counts = [rater.labels_needed for rater in report.raters if rater.labels_needed is not None]
    # The share of equal labels among disputed claims is not that of all.
    if counts and not report.disputed:
        width = f"within ±{100 * args.half_width:g} points"
        most = max(counts)
        more = f"{most:,} more labels would give the share of equal labels {width}."
        args.output.line(more if most else f"The share of equal labels is known {width}.", indent=1)
    option = f" --labels {args.labels}" if args.labels else ""
    if report.disputed < report.strays.labels or not report.disputed:
        args.output.line(
            f" The score corrected by these labels: claimeval correct {args.run[0]}{option}"
        )
    labels = report.labeled
    questions = min(report.questions, labels)
    least = power(questions, 0.1)
    apart = ""
    if least < power(labels, 0.1) - 0.02:
        apart = f" ({least:.0%} if a judge is right or wrong about whole questions)"
    text = (
        f"With these {number_of(labels, 'label')}, `claimeval experiment --select` recognizes"
        f" a prompt that is 10 points better in {power(labels, 0.1):.0%} of trials{apart}."
    )
    args.output.line(text, indent=1)


@command("correct")
class CorrectCommand(OutputOptions):
    """Correct a score with human labels: prints the judges' score, the corrected score, and the
    score by people alone.

    The judges are compared with people on the labeled claims, and their scores on all claims are
    shifted by their errors: the macro score, which `score` prints first, and the micro score.
    Intervals resample whole questions.

    Example: claimeval annotate runs/a --n 150, then claimeval correct runs/a
    """

    run: Annotated[Path, "RUN"]
    """A run directory."""
    labels: Path | None = None
    """Human labels of claims or samples.  [default: those from `claimeval annotate`, else those of
    an import]"""
    metric: str | None = None
    """Metric to correct.  [default: the first of the run]"""
    method: Literal["auto", "rogan-gladen"] = "auto"
    """auto, or rogan-gladen for labels from elsewhere, of which only the judges' error rates
    apply."""
    cluster: str | None = None
    """Samples with equal values depend on each other.  [default: as in the run]"""
    sheet: str | None = None
    """The sheet of labels in a spreadsheet that has several."""

    def do(self) -> int:
        from claimeval.runs.views.agreement import correction as view

        correction = ce.correct(**arguments(self))
        self.output.draw(view(correction))
        run = shlex.quote(str(self.run))
        labels = f" --labels {shlex.quote(str(self.labels))}" if self.labels else ""
        self.output.line(
            f"Next: claimeval agreement {run}{labels} shows where judges and people differ;"
            f" claimeval annotate {run} adds labels"
        )
        return self.output.result("correct", correction.model_dump())
