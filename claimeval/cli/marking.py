"""What `claimeval annotate --documents` does: one document after another, each mark saved at once, then LGTM@10."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from claimeval import ir
from claimeval.cli.asking import Keys, harmless
from claimeval.data.corpora import read_corpus, read_queries
from claimeval.data.reading import parse_fields, read_samples
from claimeval.evaluation import relevance
from claimeval.evaluation.relevance import Candidates
from claimeval.runs.directory import RESULTS, read_results
from claimeval.runs.labels.documents import (
    COUNT,
    FIRST,
    DocumentLabel,
    DocumentLabels,
    DocumentToLabel,
    Lgtm,
    Mark,
    draw,
    lgtm,
    of_samples,
)
from claimeval.runs.labels.draw import FOLDER
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.errors import UsageError

KEYS: dict[str, Mark] = {"y": "good", "n": "bad", "?": "unsure"}
HELP = "y good   n not good   ? unsure   b back   m all of the text   q stop"
ROOM = 12
"""Lines of the screen that are not the document's."""
LEAST = 6
"""Lines of a document that are shown on the smallest screen."""


class Asked(NamedTuple):
    """The options of the command, as they were given."""

    data: Path
    corpus: Path | None
    run: Path | None
    first: int | None
    questions: int | None
    seed: int
    out: Path | None
    fields: tuple[str, ...]
    only_figure: bool
    json: bool


def mark_and_tell(asked: Asked) -> None:
    """Asks until everything is marked or the person stops, and says what the marks add up to."""
    marks = DocumentLabels(asked.out or _default(asked.data))
    console = Console(highlight=False, emoji=False, stderr=asked.json)
    if not asked.only_figure:
        _mark(console, marks, asked)
    if marks.drawn is None:
        raise UsageError(f"there are no marks in {marks.path} yet; leave --figure out to begin")
    found = lgtm(marks.drawn, marks.answers)
    if asked.json:
        print(json.dumps({"marks": str(marks.path), **found.model_dump(mode="json")}, indent=1))
        return
    _tell(console, found)
    console.print(f"Marks: {marks.path}", markup=False, soft_wrap=True)
    if found.unmarked and not asked.only_figure:
        console.print("Run the same command to resume.")


def _default(data: Path) -> Path:
    return (
        data / FOLDER / "documents.qrels"
        if (data / RESULTS).exists()
        else Path("runs") / f"{data.stem}-documents.qrels"
    )


def _mark(console: Console, marks: DocumentLabels, asked: Asked) -> None:
    before = marks.drawn
    first = asked.first or (before.first if before else FIRST)
    drawn, todo = draw(
        _items(asked, first),
        asked.questions or (before.count if before else COUNT),
        first=first,
        seed=asked.seed,
        source=" ".join(path.name for path in (asked.data, asked.run) if path),
    )
    marks.begin(drawn)
    try:
        _ask(console, marks, todo, len(drawn.queries))
    except (KeyboardInterrupt, EOFError):
        console.print()


def _items(asked: Asked, first: int) -> Iterable[Candidates]:
    if (asked.corpus is None) != (asked.run is None):
        raise UsageError("documents of a collection need both: --corpus with the texts and --run with what was found")
    if asked.corpus and asked.run:
        pool = relevance.pool([ir.read_run(asked.run)], first)
        wanted = {name for names in pool.values() for name in names}
        documents = {document.id: document for document in read_corpus(asked.corpus) if document.id in wanted}
        return relevance.of_pool(pool, read_queries(asked.data), documents, first)
    if (asked.data / RESULTS).exists():
        return of_samples((result.sample for result in read_results(asked.data)), first)
    return of_samples(read_samples(asked.data, fields=parse_fields(list(asked.fields))), first)


def _ask(console: Console, marks: DocumentLabels, todo: list[DocumentToLabel], queries: int) -> None:
    keys = Keys()
    at = _next(marks, todo)
    while at < len(todo):
        pair = todo[at]
        said = marks.answers.get((pair.query, pair.document.id))
        _show(console, pair, queries, said)
        while (key := keys.next()) not in KEYS and not (key == "b" and at):
            if key == "q":
                return
            if key == "m":
                console.print(Padding(Text(_text(pair)), (0, 0, 1, 2)))
            console.print(HELP if key != "b" else "This is the first one.")
        if key == "b":
            at -= 1
            continue
        console.print(f"[bold]{KEYS[key]}[/]")
        marks.add(DocumentLabel(query=pair.query, document=pair.document.id, mark=KEYS[key]))
        at = _next(marks, todo)


def _next(marks: DocumentLabels, todo: list[DocumentToLabel]) -> int:
    """Where the first one stands that has no answer."""
    unanswered = (i for i, pair in enumerate(todo) if (pair.query, pair.document.id) not in marks.answers)
    return next(unanswered, len(todo))


def _show(console: Console, pair: DocumentToLabel, queries: int, said: Mark | None) -> None:
    room = max(LEAST, console.height - ROOM) if console.is_terminal else 40
    width = max(20, console.width - 2)
    text = _text(pair)
    lines = Text(text[: 2 * room * width]).wrap(console, width)
    console.rule(f"question {pair.number} of {queries}, document {pair.place} of {pair.of}")
    for line in itertools.islice(lines, room):
        console.print(Padding(line, (0, 0, 0, 2)))
    if len(lines) > room or len(text) > 2 * room * width:
        console.print(f"  [dim]... {len(text)} characters in all; m shows them[/]")
    console.print(f"\n[dim]document[/] {escape(harmless(pair.document.id))}")
    console.print(f"[dim]question[/] [bold]{escape(harmless(pair.question))}[/]")
    if said:
        console.print(f"[dim]so far  [/] {said}")
    console.print(f"[dim]Is it a good result for the question?  {HELP}[/]")


def _text(pair: DocumentToLabel) -> str:
    title = f"{pair.document.title}\n" if pair.document.title else ""
    return harmless(title + pair.document.text)


def _tell(console: Console, found: Lgtm) -> None:
    questions = "question" if found.n == 1 else "questions"
    if found.value is None:
        console.print(f"[bold]LGTM@{found.first}[/]  -  {found.undefined_because}")
    else:
        ends = f", 95 % interval {interval(found.ci)}" if found.ci else ""
        console.print(f"[bold]LGTM@{found.first}  {decimal(found.value)}[/]{ends}, n {found.n} {questions}")
    if found.value is not None and not found.ci:
        console.print(f" no interval: {found.undefined_because}", style="dim")
    counts = f"{found.good} good, {found.bad} not, {found.unsure} unsure, {found.unmarked} not yet marked"
    blank = f", {found.without_text} without a text" if found.without_text else ""
    console.print(f" documents: {counts}{blank}", style="dim")
    none = f"; nothing was retrieved for {found.without_results} others" if found.without_results else ""
    console.print(f" questions: {found.begun} begun of {found.drawn} drawn{none}", style="dim")
    if found.bounds:
        console.print(
            f" bounds: {interval(found.bounds)}, if all without a mark in them were bad, or good",
            style="dim",
        )
