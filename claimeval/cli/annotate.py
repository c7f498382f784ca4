"""`claimeval annotate`: claims or documents, labeled in the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Fields, Out
from claimeval.types.errors import UsageError
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from claimeval.evaluation.relevance import Candidates
    from claimeval.runs.claim_labels import ClaimDraw, ClaimLabels, ClaimToLabel
    from claimeval.runs.document_labels import DocumentDraw, DocumentLabels, DocumentToLabel, Lgtm, Mark
    from claimeval.types.records import Label

LISTED = ("People", 1, "Label claims or documents in the terminal.")
LABELS: dict[str, Label | Literal["unsure"]] = {
    "y": "supported",
    "c": "contradicted",
    "n": "not_found",
    "?": "unsure",
}
LABEL_KEYS = "y supported   c contradicted   n not found   ? unsure   q stop"
MARKS: dict[str, Mark] = {"y": "good", "n": "bad", "?": "unsure"}
MARK_KEYS = "y good   n not good   ? unsure   b back   m all of the text   q stop"
ROOM = 12
"""Lines of the screen that are not the document's."""
LEAST = 6
"""Lines of a document that are shown on the smallest screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOptions:
    """Which documents are labeled."""

    documents: bool = False
    """Label retrieved documents as good or not; gives LGTM@DEPTH and qrels."""
    depth: int | None = None
    """Documents of each question; 10 by default."""
    corpus: Path | None = None
    """The documents of a collection: .jsonl with id and text, or .tsv."""
    trec_run: Path | None = None
    """The TREC run to label."""
    out: Out = None
    """Qrels to write; default RUN/annotation/documents.qrels, or runs/DATA-documents.qrels."""
    fields: Fields = field(default_factory=dict)
    """FIELD=COLUMN, as in answer=draft. Repeatable."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "depth")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateOptions:
    """Label claims of a run, drawn at random: y supported, c contradicted, n not found, ? unsure.

    You see the question, the claim and the evidence, and nothing of the judge's verdict. Every label is saved at once;
    stop with q and resume with the same command. `claimeval correct RUN` then corrects the score.

    With --documents you label the first documents that were retrieved: y good, n not, ? unsure, b back, m all of a long
    text. The share of good ones is LGTM@DEPTH, and the labels are qrels, which `claimeval rank` reads.

    Example: claimeval annotate answers.jsonl --documents --n 30 --out labels.qrels

    Example: claimeval annotate queries.tsv --documents --corpus docs.jsonl --trec-run bm25.run
    """

    run: Annotated[Path, Argument("RUN|DATA")]
    """A run directory; with --documents also samples, or queries if there is a --corpus."""
    n: Annotated[int | None, Names("-n", "--n")] = None
    """Claims to draw, 100 by default; with --documents questions, 50 by default."""
    metric: str | None = None
    """Metric whose claims are drawn; the first of the run by default."""
    design: Literal["uniform", "stratified", "uncertainty"] = "uniform"
    """uniform, stratified (enough of each label of the judge), or uncertainty (likelier if it is unsure)."""
    seed: int = 0
    """Another seed draws other claims or questions."""
    annotator: str | None = None
    """Your name, kept with each label."""
    export: Path | None = None
    """Write the drawn claims to this CSV file to label elsewhere, and end."""
    output: Output = Output()
    about: Annotated[DocumentOptions, Heading("Documents")] = DocumentOptions()

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n")


def do(given: AnnotateOptions) -> int:
    """Ask until everything is labeled or you stop, print the state, and return the exit code."""
    if given.about.documents:
        if given.metric or given.design != "uniform" or given.annotator or given.export:
            raise UsageError(
                "--metric, --design, --annotator and --export are for claims; with --documents give each annotator a "
                "file with --out"
            )
        return _label_documents(given)
    if given.about != DocumentOptions() or given.output.json:
        raise UsageError("--depth, --corpus, --trec-run, --out, --field and --json go with --documents")
    return _label_claims(given)


annotate = command("annotate", AnnotateOptions, do)


def _label_claims(given: AnnotateOptions) -> int:
    from claimeval.runs.claim_labels import ClaimLabels, draw, export

    run, output = given.run, given.output
    found = draw(run, given.metric, given.n or 100, given.design, given.seed)
    if to := given.export:
        count = export(run, found, to)
        output.line(
            f"{count} claims written to {to}; fill the column `label`, then: claimeval correct {run} --labels {to}"
        )
        return 0
    labels = ClaimLabels(run, found.metric.name)
    try:
        _ask_about_claims(given, found, labels)
    except (KeyboardInterrupt, EOFError):
        output.line()
    done = len(labels.answered)
    output.line(f"{done} of {len(found.items)} claims labeled, in {labels.path}")
    complete = done == len(found.items)
    output.line(f"Next: claimeval correct {run}" if complete else "Run the same command to resume.")
    return 0


def _ask_about_claims(given: AnnotateOptions, found: ClaimDraw, labels: ClaimLabels) -> None:
    from claimeval.cli.terminal import Keys
    from claimeval.runs.claim_labels import questions

    keys, output = Keys(), given.output
    for question in questions(given.run, found, labels.answered):
        _show_claim(output, question, found, len(labels.answered) + 1)
        while (key := keys.next()) not in LABELS:
            if key == "q":
                return
            output.line(LABEL_KEYS, wrap=True)
        output.line(bold=LABELS[key])
        labels.add(question, found.metric.against, LABELS[key], given.annotator)


def _show_claim(output: Output, question: ClaimToLabel, found: ClaimDraw, number: int) -> None:
    from claimeval.cli.terminal import strip_control

    sample = question.result.sample
    output.rule(f"{number} of {len(found.items)}")
    for document in sample.documents(found.metric.against) or ():
        output.pairs({strip_control(document.id): (strip_control(document.title or ""), "bold")})
        output.line(strip_control(document.text), indent=2)
        output.line()
    output.pairs(
        {
            "question": (strip_control(sample.question), ""),
            "claim": (strip_control(question.claim.text), "bold"),
        }
    )
    output.line(f"Is the claim supported by the {found.metric.against} above?  {LABEL_KEYS}", style="dim", wrap=True)


def _label_documents(given: AnnotateOptions) -> int:
    from claimeval.runs.document_labels import DocumentLabels, default_path, lgtm

    about = given.about
    labels = DocumentLabels(about.out or default_path(given.run))
    output = given.output
    found = lgtm(_draw_documents(given, labels), labels.answers)
    _print_lgtm(output, found)
    output.line(f"Labels: {labels.path}")
    if found.unmarked:
        output.line("Run the same command to resume.")
    return output.result("annotate", {"labels": str(labels.path), **found.model_dump(mode="json")})


def _draw_documents(given: AnnotateOptions, labels: DocumentLabels) -> DocumentDraw:
    from claimeval.runs.document_labels import COUNT, FIRST, draw

    about, before = given.about, labels.drawn
    depth = about.depth or (before.first if before else FIRST)
    drawn, todo = draw(
        _items(given, depth),
        given.n or (before.count if before else COUNT),
        first=depth,
        seed=given.seed,
        source=" ".join(path.name for path in (given.run, about.trec_run) if path),
    )
    labels.begin(drawn)
    try:
        _ask_about_documents(replace(given.output, quiet=False), labels, todo, len(drawn.queries))
    except (KeyboardInterrupt, EOFError):
        given.output.line()
    return drawn


def _items(given: AnnotateOptions, depth: int) -> Iterable[Candidates]:
    from claimeval import ir
    from claimeval.data.corpora import read_corpus, read_queries
    from claimeval.data.reading import read_samples
    from claimeval.evaluation import relevance
    from claimeval.runs.directory import has_results, read_results
    from claimeval.runs.document_labels import of_samples

    about, data = given.about, given.run
    if (about.corpus is None) != (about.trec_run is None):
        raise UsageError("documents of a collection need both: --corpus with the texts and --trec-run with the ranking")
    if about.corpus and about.trec_run:
        pool = relevance.pool([ir.read_run(about.trec_run)], depth)
        wanted = {name for names in pool.values() for name in names}
        documents = {document.id: document for document in read_corpus(about.corpus) if document.id in wanted}
        return relevance.of_pool(pool, read_queries(data), documents, depth)
    if has_results(data):
        return of_samples((result.sample for result in read_results(data)), depth)
    return of_samples(read_samples(data, fields=about.fields), depth)


def _ask_about_documents(output: Output, labels: DocumentLabels, todo: list[DocumentToLabel], queries: int) -> None:
    from claimeval.cli.terminal import Keys
    from claimeval.runs.document_labels import DocumentLabel

    keys, at = Keys(), _next(labels, todo)
    while at < len(todo):
        item = todo[at]
        _show_document(output, item, queries, labels.answers.get((item.query, item.document.id)))
        while (key := keys.next()) not in MARKS and not (key == "b" and at):
            if key == "q":
                return
            if key == "m":
                output.line(_text(item), indent=2)
                output.line()
            output.line(MARK_KEYS if key != "b" else "This is the first one.", wrap=True)
        if key == "b":
            at -= 1
            continue
        output.line(bold=MARKS[key])
        labels.add(DocumentLabel(query=item.query, document=item.document.id, mark=MARKS[key]))
        at = _next(labels, todo)


def _next(labels: DocumentLabels, todo: list[DocumentToLabel]) -> int:
    """Return the index of the first document without a label."""
    open_ = (i for i, item in enumerate(todo) if (item.query, item.document.id) not in labels.answers)
    return next(open_, len(todo))


def _show_document(output: Output, item: DocumentToLabel, queries: int, label: Mark | None) -> None:
    from claimeval.cli.terminal import strip_control

    height, width = output.size
    room = max(LEAST, height - ROOM) if height else 40
    width = max(20, width - 2)
    text = _text(item)
    lines = output.wrap(text[: 2 * room * width], width)
    output.rule(f"question {item.number} of {queries}, document {item.place} of {item.of}")
    for line in itertools.islice(lines, room):
        output.line(line, indent=2)
    if len(lines) > room or len(text) > 2 * room * width:
        output.line(f"  ... {len(text)} characters in all; m shows them", style="dim", wrap=True)
    output.line()
    texts = {"document": (strip_control(item.document.id), ""), "question": (strip_control(item.question), "bold")}
    output.pairs(texts | ({"so far": (label, "")} if label else {}))
    output.line(f"Is it a good result for the question?  {MARK_KEYS}", style="dim", wrap=True)


def _text(item: DocumentToLabel) -> str:
    from claimeval.cli.terminal import strip_control

    title = f"{item.document.title}\n" if item.document.title else ""
    return strip_control(title + item.document.text)


def _print_lgtm(output: Output, found: Lgtm) -> None:
    from claimeval.statistics.formatting import decimal, interval

    if found.value is None:
        output.line(f"  -  {found.because}", bold=f"LGTM@{found.first}", wrap=True)
    else:
        ends = f", 95 % interval {interval(found.interval)}" if found.interval else ""
        questions = "question" if found.n == 1 else "questions"
        output.line(f"{ends}, n {found.n} {questions}", bold=f"LGTM@{found.first}  {decimal(found.value)}")
        if not found.interval:
            output.line(f" no interval: {found.because}", style="dim", wrap=True)
    counts = f"{found.good} good, {found.bad} not, {found.unsure} unsure, {found.unmarked} not yet labeled"
    blank = f", {found.without_text} without a text" if found.without_text else ""
    output.line(f" documents: {counts}{blank}", style="dim", wrap=True)
    none = f"; nothing was retrieved for {found.without_results} others" if found.without_results else ""
    output.line(f" questions: {found.begun} begun of {found.drawn} drawn{none}", style="dim", wrap=True)
    if found.bounds:
        ends = interval(found.bounds)
        output.line(f" bounds: {ends}, if all without a label in them were bad, or good", style="dim", wrap=True)
