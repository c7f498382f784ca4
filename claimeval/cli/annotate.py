"""`claimeval annotate`: labeling claims or documents in the terminal."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Fields, Out, arguments
from claimeval.cli.terminal import Keys
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.errors import UsageError
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from claimeval.api.people import ClaimAnnotation, DocumentAnnotation, DocumentItem
    from claimeval.runs.labeling import LgtmEstimate, Mark

LISTED = {"annotate": ("People", 1, "Label claims or documents in the terminal.")}
LABELS = {"y": "supported", "c": "contradicted", "n": "not_found", "?": "unsure"}
LABEL_KEYS = "y supported   c contradicted   n not found   ? unsure   b back   q stop"
MARKS: dict[str, Mark] = {"y": "good", "n": "bad", "?": "unsure"}
MARK_KEYS = "y good   n not good   ? unsure   b back   m all of the text   q stop"
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
    RUN` corrects the score.

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
    """Metric whose claims are drawn.  [default: the first of the run]"""
    design: str = "even"
    """even (with equal probability, evenly over how many judges support a claim), or label (at least 15 of each label
    of the judges, for agreement)."""
    seed: int = 0
    """Another seed draws other claims or questions."""
    annotator: str = ""
    """Your name, stored with each label; each name gets all drawn claims to label."""
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
    fields: Annotated[Fields, DOCUMENTS] = field(default_factory=dict)
    """FIELD=COLUMN, as in answer=draft. Repeatable."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n", "depth")


def do(args: AnnotateOptions) -> int:
    """Ask for labels until all items have one or you stop, print the counts, and return the exit code."""
    from claimeval.api.people import ClaimAnnotation, DocumentAnnotation
    from claimeval.api.people import annotate as draw

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

    def show(at: int) -> None:
        item = drawn.items[at]
        output.rule(f"{at + 1} of {len(drawn)}")
        for document in item.documents:
            output.pairs([(document.id, document.title or "")], bold=document.id)
            output.line(document.text, indent=2)
            output.line()
        texts = [("question", item.sample.question), ("claim", item.claim.text)]
        output.pairs([*texts, *_so_far(drawn.labels.get(item.key))], bold="claim")
        output.line(f"Is the claim supported by the {item.against} above?  {LABEL_KEYS}", style="dim")

    _ask(output, drawn, LABELS, LABEL_KEYS, show, lambda at, key: drawn.items[at].label(LABELS[key]))
    output.line(f"{drawn.labeled} of {len(drawn)} claims labeled, in {drawn.path}")
    complete = drawn.labeled == len(drawn)
    done = f"Next: claimeval agreement {run}, claimeval correct {run}"
    output.line(done if complete else "Run the same command to resume.")
    return 0


def _label_documents(args: AnnotateOptions, drawn: DocumentAnnotation) -> int:
    output, loud = args.output, replace(args.output, quiet=False)

    def show(at: int) -> None:
        item = drawn.items[at]
        _show_document(loud, item, len(drawn.draw.queries), drawn.labels.get(item.key))

    def show_all(at: int) -> None:
        loud.line(_text(drawn.items[at]), indent=2)
        loud.line()
        loud.line(MARK_KEYS)

    _ask(loud, drawn, MARKS, MARK_KEYS, show, lambda at, key: drawn.items[at].label(MARKS[key]), show_all)
    estimate = drawn.estimate
    _print_lgtm(output, estimate)
    output.line(f"Labels: {drawn.path}")
    if estimate.unmarked:
        output.line("Run the same command to resume.")
    return output.result("annotate", {"labels": str(drawn.path), **estimate.model_dump(mode="json")})


def _ask(
    output: Output,
    drawn: ClaimAnnotation | DocumentAnnotation,
    words: Mapping[str, str],
    line: str,
    show: Callable[[int], None],
    label: Callable[[int, str], None],
    more: Callable[[int], None] | None = None,
) -> None:
    """Ask for the label of every item without one, by a key of `words`; `line` explains the keys."""
    keys, at, shown = Keys(), _next(drawn), -1
    try:
        while at < len(drawn):
            if shown != at:
                show(at)
                shown = at
            key = keys.next()
            if key == "q":
                return
            if key in words:
                output.line(bold=words[key])
                label(at, key)
                at = _next(drawn)
            elif key == "b" and at:
                at -= 1
            elif key == "m" and more:
                more(at)
            else:
                output.line("This is the first item." if key == "b" else line)
    except (KeyboardInterrupt, EOFError):
        output.line()


def _next(drawn: ClaimAnnotation | DocumentAnnotation) -> int:
    """Return the index of the first item without a label."""
    keys, labels = [item.key for item in drawn.items], drawn.labels
    return next((i for i, key in enumerate(keys) if key not in labels), len(keys))


def _so_far(label: str | None) -> list[tuple[str, str]]:
    return [("so far", label)] if label else []


def _show_document(output: Output, item: DocumentItem, queries: int, label: Mark | None) -> None:
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
    output.pairs([("document", item.document.id), ("question", item.question), *_so_far(label)], bold="question")
    output.line(f"Is it a good result for the question?  {MARK_KEYS}", style="dim")


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
