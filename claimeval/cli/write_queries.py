"""`claimeval write-queries`: a test set of questions that documents answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output, tally
from claimeval.cli.shared import Asking, Gates, Out, arguments
from claimeval.types.options import RunOptions, require_at_least

if TYPE_CHECKING:
    from claimeval.api.run import Run


LISTED = ("Data", 2, "Write questions that documents answer.")


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
    """Replace a run of other settings in --out."""
    output: Output = Output()
    questions: Annotated[WritingQuestions, Heading("Questions")] = WritingQuestions()
    options: Asking = RunOptions()

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n", "per_document")


def do(given: WriteQueriesOptions) -> int:
    """Write the test set, print what was kept, and return the exit code."""
    from claimeval.cli.running import print_finished, watch
    from claimeval.evaluation.write_queries import count_queries
    from claimeval.runs.jobs import QRELS, QUERIES

    output = given.output
    finished = watch(lambda options: door(given, options), given.options, Gates(max_missing=1.0), output)
    run = finished.run
    assert run.path, "the run is on disk"
    counts = count_queries(run.results)
    output.line(f"{counts.documents} documents, {counts.written} questions written, {counts.kept} kept")
    if counts.rejected:
        output.line(f"rejected: {tally(counts.rejected)}")
    if counts.failures:
        output.line(f"failed: {tally(counts.failures)}")
    if run.complete and counts.kept:
        output.line(f"Test set: {run.path / QUERIES}")
        output.line(f"Qrels: {run.path / QRELS}")
    return print_finished("write-queries", finished, output, {"counts": counts.model_dump(mode="json")})


write_queries = command("write-queries", WriteQueriesOptions, do)


def door(given: WriteQueriesOptions, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.test_sets import write_queries

    out = given.out or Path("runs") / f"{given.corpus.stem}-queries"
    return write_queries(**arguments(given, out=out, options=options))
