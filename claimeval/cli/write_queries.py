"""`claimeval write-queries`: a test set of questions that documents answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Asking, Out
from claimeval.types.options import RunOptions, require_at_least

if TYPE_CHECKING:
    from claimeval.evaluation.queries import WritingPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingQuestions:
    """What the judges are asked."""

    checker: str | None = None
    """Judge of the second look; the writer by default."""
    write_prompt: str = "plain"
    """Prompt for writing: plain, or a .j2 file."""
    check_prompt: str = "plain"
    """Prompt for the second look: plain, or a .j2 file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteQueriesOptions:
    """Have a judge write questions that documents answer, reject the useless ones, and keep the rest as a test set.

    A question is kept if its passage is in the document, it does not point at the document, copy it or give its answer
    away, is not nearly another one, and a second look finds it answerable, self-contained and realistic. Writes
    `queries.jsonl` with answers, passages and sources, which every command reads, `qrels.txt` with the source of each,
    and all that was rejected, with the reason.

    Example: claimeval write-queries docs.jsonl -j openai:gpt-5-mini --n 200
    """

    corpus: Annotated[Path, Argument("CORPUS")]
    """Documents: .jsonl with id and text, .tsv, or a BEIR folder."""
    judge: Annotated[str, Names("-j", "--judge")]
    """PROVIDER:MODEL[@URL] or judge file that writes."""
    n: Annotated[int, Names("-n", "--n")] = 50
    """Documents to draw and write about."""
    per_document: int = 1
    """Questions about each document, 10 at most."""
    seed: int = 0
    """Another seed draws other documents."""
    out: Out = None
    """Run directory; default runs/CORPUS-queries."""
    overwrite: bool = False
    """Replace a test set of other settings in --out."""
    output: Output = Output()
    questions: Annotated[WritingQuestions, Heading("Questions")] = WritingQuestions()
    options: Asking = RunOptions()

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n", "per_document")


def do(given: WriteQueriesOptions) -> int:
    """Write the test set, print what was kept, and return the exit code."""
    import asyncio

    from claimeval.cli.progress_line import ProgressLine
    from claimeval.cli.running import ending, notes_on_stderr
    from claimeval.data.corpora import read_corpus
    from claimeval.evaluation.queries_run import DATA, QRELS, draw, run
    from claimeval.types.progress import Progress

    plan, output = _plan(given), given.output
    documents = draw(read_corpus(given.corpus), given.n, given.seed)
    folder = given.out or Path("runs") / f"{given.corpus.stem}-queries"
    with notes_on_stderr(quiet=output.quiet), ProgressLine(None if output.quiet else sys.stderr) as line:
        outcome = asyncio.run(
            run(
                documents,
                plan,
                folder,
                corpus=given.corpus.name,
                seed=given.seed,
                options=given.options,
                progress=Progress(len(documents), line.show, unit="documents"),
                overwrite=given.overwrite,
            )
        )
    made = outcome.summary
    output.line(f"{made.documents} documents, {made.written} questions written, {made.kept} kept")
    _print_counts(output, "rejected", made.rejected)
    _print_counts(output, "failed", made.failures)
    if made.complete:
        output.line(f"Test set: {folder / DATA}")
        output.line(f"Qrels: {folder / QRELS}")
    code, stopped = ending(outcome.ending)
    record = made.model_dump(mode="json", exclude={"prompts"})
    return output.result("write-queries", record, path=folder, exit_code=code, stopped=stopped)


write_queries = command("write-queries", WriteQueriesOptions, do)


def forecast(given: WriteQueriesOptions) -> int:
    """Print what `do` would ask, and return the exit code."""
    from claimeval.cli.plan import print_quotes
    from claimeval.data.corpora import read_corpus
    from claimeval.evaluation.queries_run import draw, prospects

    documents = draw(read_corpus(given.corpus), given.n, given.seed)
    return print_quotes(prospects(documents, _plan(given)), given.options, given.output)


def _plan(given: WriteQueriesOptions) -> WritingPlan:
    from claimeval.evaluation.queries_run import writing_plan

    asked = given.questions
    return writing_plan(
        given.judge,
        asked.checker,
        write_prompt=asked.write_prompt,
        check_prompt=asked.check_prompt,
        per_document=given.per_document,
    )


def _print_counts(output: Output, what: str, counts: Mapping[str, int]) -> None:
    if counts:
        output.line(f"{what}: " + ", ".join(f"{count} {reason}" for reason, count in counts.items()))
