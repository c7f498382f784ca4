"""`claimeval annotate`: labeling claims or documents in the terminal."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Out, RowOptions, arguments
from claimeval.cli.terminal import Keys
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.errors import UsageError
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from collections.abc import Callable

    from claimeval.runs.annotation import Annotation, ClaimAnnotation, ClaimItem, DocumentAnnotation, DocumentItem
    from claimeval.runs.labeling import LgtmEstimate

LISTED = {"annotate": ("People", 1, "Label claims, answers or documents in the terminal.")}
DOCUMENTS = Heading("Documents")
ROOM = 12
"""Lines of the screen that the document does not use."""
LEAST = 6
"""Minimum number of lines of a document that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateOptions:
    """Label claims of a run, drawn at random: y supported, c contradicted, n not found, ? unsure, b back.

    You see the question, the claim and the evidence, but no verdict. Every label is saved at once; stop with q and
    resume with the same command. `claimeval agreement RUN` then compares the judges with you, and `claimeval correct
    RUN` corrects the score. Of a run of ratings you label whole answers, with the words of the rating. To label in the
    browser, use `claimeval view FOLDER --label-as NAME`.

    With --documents you label the top retrieved documents: y good, n not, ? unsure, b back, m the whole text. The share
    of good documents is LGTM@DEPTH, and the labels are qrels, which `claimeval rank` reads.

    Example: claimeval annotate answers.jsonl --documents --n 30 --out labels.qrels

    Example: claimeval annotate queries.tsv --documents --corpus docs.jsonl --trec-run bm25.run
    """

    run: Annotated[Path, Argument("RUN|DATA")]
    """A run directory; with --documents also samples, or queries if there is a --corpus."""
    n: Annotated[int | None, Names("-n", "--n")] = None
    """Claims to draw, earlier ones included (default: 100); with --documents, questions to draw (default: 50)."""
    metric: str | None = None
    """Metric whose claims are drawn, or rating whose answers are.  [default: the first of the run]"""
    design: str = "even"
    """even (with equal probability, evenly over how many judges support a claim), or label (at least 15 of each label
    of the judges, for agreement)."""
    seed: int = 0
    """Another seed draws other claims or questions."""
    annotator: str = ""
    """Your name, stored with each label; each name gets all drawn claims to label."""
    disputed: bool = False
    """Instead of a draw, label the claims on which judges or replicates differ, or people differ from the panel; at
    most --n. `correct` leaves these labels out."""
    export: Path | None = None
    """Write the drawn claims to this CSV file, for labeling elsewhere, and exit."""
    output: Output = Output()
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

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n", "depth")


def do(args: AnnotateOptions) -> int:
    """Ask for labels until all items have one or you stop, print the counts, and return the exit code."""
    from claimeval.api.people import annotate as draw
    from claimeval.runs.annotation import ClaimAnnotation, DocumentAnnotation

    settings = arguments(args)
    if settings.pop("export") and args.documents:
        raise UsageError("--export is for claims")
    if args.output.json and not args.documents:
        raise UsageError("--json goes with --documents")
    drawn = draw(**settings)
    if isinstance(drawn, DocumentAnnotation):
        return _label_documents(args, drawn)
    assert isinstance(drawn, ClaimAnnotation), "claims were drawn"
    return _label_claims(args, drawn)


annotate = command("annotate", AnnotateOptions, do)


def _label_claims(args: AnnotateOptions, drawn: ClaimAnnotation) -> int:
    run, output = args.run, args.output
    if to := args.export:
        count = drawn.export(to)
        output.line(
            f"{count} claims written to {to}; fill the column `label`, then: claimeval correct {run} --labels {to}"
        )
        return 0

    keys = _keys(drawn)

    def show(at: int) -> None:
        item = drawn.turns[at]
        output.rule(f"{at + 1} of {len(drawn.turns)}{', for the second time' if item.again else ''}")
        for document in item.documents:
            output.pairs([(document.id, document.title or "")], bold=document.id)
            output.line(document.text, indent=2)
            output.line()
        what = "answer" if item.claim.id == "answer" else "claim"
        texts = [("question", item.sample.question), (what, item.claim.text)]
        output.pairs([*texts, *_so_far(drawn, item)], bold=what)
        asked = f"How good is the answer by its {drawn.draw.metric.name}?" if what == "answer" else None
        output.line(f"{asked or f'Is the claim supported by the {item.against} above?'}  {keys}", style="dim")

    _ask(output, drawn, keys, show)
    output.line(f"{drawn.labeled} of {len(drawn)} claims labeled, in {drawn.path}")
    progress = drawn.progress
    if progress.repeated:
        output.line(f"{progress.same} of {progress.repeated} that were shown twice have the same label")
    if progress.needed is not None:
        more = f"about {progress.needed} more labels" if progress.needed else "these labels are enough"
        output.line(f"To know within ±0.05 how often the judges label as you do: {more}")
    complete = all(drawn.given(item) for item in drawn.turns)
    done = f"Next: claimeval agreement {run}, claimeval correct {run}"
    output.line(done if complete else "Run the same command to resume.")
    return 0


def _keys(drawn: Annotation, more: str = "") -> str:
    """Return the line that explains the keys."""
    words = (f"{key} {word.replace('_', ' ')}" for key, word in drawn.keys.items())
    return "   ".join([*words, "b back", "q stop", *([more] if more else [])])


def _label_documents(args: AnnotateOptions, drawn: DocumentAnnotation) -> int:
    output, loud = args.output, replace(args.output, quiet=False)
    keys = _keys(drawn, "m all of the text")

    def show(at: int) -> None:
        item = drawn.items[at]
        _show_document(loud, item, len(drawn.draw.queries), _so_far(drawn, item), keys)

    def show_all(at: int) -> None:
        loud.line(_text(drawn.items[at]), indent=2)
        loud.line()
        loud.line(keys)

    _ask(loud, drawn, keys, show, show_all)
    estimate = drawn.estimate
    _print_lgtm(output, estimate)
    output.line(f"Labels: {drawn.path}")
    if estimate.unmarked:
        output.line("Run the same command to resume.")
    return output.result("annotate", {"labels": str(drawn.path), **estimate.model_dump(mode="json")})


def _ask(
    output: Output,
    drawn: Annotation,
    line: str,
    show: Callable[[int], None],
    more: Callable[[int], None] | None = None,
) -> None:
    """Ask for the label of every turn without one; `line` explains the keys."""
    keys, at, shown = Keys(), _next(drawn), -1
    try:
        while at < len(drawn.turns):
            if shown != at:
                show(at)
                shown = at
            key = keys.next()
            if key == "q":
                return
            if key in drawn.keys:
                output.line(bold=drawn.keys[key])
                drawn.turns[at].label(drawn.keys[key])
                at = _next(drawn)
            elif key == "b" and at:
                at -= 1
            elif key == "m" and more:
                more(at)
            else:
                output.line("This is the first item." if key == "b" else line)
    except (KeyboardInterrupt, EOFError):
        output.line()


def _next(drawn: Annotation) -> int:
    """Return the index of the first turn without a label."""
    return next((i for i, item in enumerate(drawn.turns) if not drawn.given(item)), len(drawn.turns))


def _so_far(drawn: Annotation, item: ClaimItem | DocumentItem) -> list[tuple[str, str]]:
    given = drawn.given(item)
    return [("so far", str(given["label"]))] if given else []


def _show_document(output: Output, item: DocumentItem, queries: int, so_far: list[tuple[str, str]], keys: str) -> None:
    height, width = output.size
    room = max(LEAST, height - ROOM) if height else 40
    width = max(20, width - 2)
    text = _text(item)
    lines = output.wrap(text[: 2 * room * width], width)
    output.rule(f"question {item.number} of {queries}, document {item.position} of {item.documents}")
    for line in itertools.islice(lines, room):
        output.line(line, indent=2)
    if len(lines) > room or len(text) > 2 * room * width:
        output.line(f"  ... {len(text)} characters in all; m shows them", style="dim")
    output.line()
    output.pairs([("document", item.document.id), ("question", item.question), *so_far], bold="question")
    output.line(f"Is it a good result for the question?  {keys}", style="dim")


def _text(item: DocumentItem) -> str:
    title = f"{item.document.title}\n" if item.document.title else ""
    return title + item.document.text


def _print_lgtm(output: Output, lgtm: LgtmEstimate) -> None:
    if lgtm.value is None:
        output.line(f"  -  {lgtm.because}", bold=f"LGTM@{lgtm.first}")
    else:
        ends = f", 95 % interval {interval(lgtm.reported)}" if lgtm.reported else ""
        questions = "question" if lgtm.n == 1 else "questions"
        output.line(f"{ends}, n {lgtm.n} {questions}", bold=f"LGTM@{lgtm.first}  {decimal(lgtm.value)}")
        if not lgtm.reported:
            output.line(f" no interval: {lgtm.because}", style="dim")
    counts = f"{lgtm.good} good, {lgtm.bad} not, {lgtm.unsure} unsure, {lgtm.unmarked} not yet labeled"
    blank = f", {lgtm.without_text} without a text" if lgtm.without_text else ""
    output.line(f" documents: {counts}{blank}", style="dim")
    none = f"; nothing was retrieved for {lgtm.without_results} others" if lgtm.without_results else ""
    output.line(f" questions: {lgtm.begun} begun of {lgtm.drawn} drawn{none}", style="dim")
    if lgtm.bounds:
        ends = interval(lgtm.bounds)
        output.line(f" bounds: {ends}, if all without a label in them were bad, or good", style="dim")
