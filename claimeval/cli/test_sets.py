"""`claimeval draw` and `write-queries`: test sets drawn from logs or written by a judge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import QUESTIONS, Asking, Fields, Gates, Out, arguments
from claimeval.cli.terminal import write_data
from claimeval.runs.views import columns, table
from claimeval.statistics.formatting import tally
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions, require_at_least

if TYPE_CHECKING:
    from claimeval.api.run import Run

LISTED = {
    "draw": ("Data", 1, "Draw a test set from logs or traces."),
    "write-queries": ("Data", 2, "Write questions that documents answer."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawOptions:
    """Draw a test set from logs, in one pass over a log of any size, seeded.

    Each row keeps its fields and gets `drawn`: its file and row, its stratum, and the probability of drawing a question
    like it, for estimates about the whole log.

    Example: claimeval draw log.jsonl --n 200 --stratify metadata.topic -o test.jsonl

    Example: claimeval draw traces.jsonl --every 1000 --seed 7 -o test.jsonl

    Example: zcat logs/*.jsonl.gz | claimeval draw - --n 200 -o test.jsonl
    """

    log: Annotated[Path, Argument("LOG")]
    """Questions as they were asked, or traces: .jsonl, .json, .csv or .parquet; `-` is JSON Lines on standard input."""
    n: Annotated[int | None, Names("-n", "--n")] = None
    """Rows to draw.  [default: 200]"""
    every: int | None = None
    """Draw one in N different questions instead of --n rows."""
    stratify: str | None = None
    """Field whose values each get their share of rows, such as generator or metadata.topic."""
    min_per_stratum: int = 15
    """With --stratify: minimum rows of each value, if it has that many."""
    seed: int = 0
    """Another seed draws other rows."""
    keep_duplicates: bool = False
    """Draw from all rows. By default, equal questions count once and one of near duplicates is kept."""
    duplicate_threshold: float = 90.0
    """Similarity of words, 1 to 100, from which two questions are near duplicates."""
    fields: Fields = field(default_factory=dict)
    """question=COLUMN, if the question has none of the default names."""
    out: Out = None
    """File to write, .jsonl.  [default: standard output]"""
    output: Output = Output()

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n", "every", "duplicate_threshold")
        require_at_least(self, 0, "min_per_stratum")
        if self.duplicate_threshold > 100:
            raise UsageError(f"duplicate_threshold: {self.duplicate_threshold!r}; it needs 100 or less")


def do_draw(args: DrawOptions) -> int:
    """Draw and write the rows, print the counts, and return the exit code."""
    from claimeval.api import data as api
    from claimeval.data.sampling import COUNT

    out, output = args.out, args.output
    if output.json and out is None:
        raise UsageError("--json prints what was drawn: say with --out where the rows go")
    with notes_on_stderr(quiet=output.quiet):
        drawn = api.draw(**arguments(args))
    if not out:
        write_data(api.as_lines(drawn))
        output = replace(output, json=True)  # the rows are on standard output, so the table goes to standard error
    rows = [
        (
            name or "all",
            counts.rows,
            f"{'' if counts.exact else 'about '}{counts.questions}",
            counts.drawn,
            counts.near_duplicates,
        )
        for name, counts in drawn.strata.items()
    ]
    head = columns(args.stratify or "log", numbers=("rows", "different", "drawn", "near duplicates left out"))
    output.draw([table("drawn", head, rows)])
    if drawn.empty_questions:
        output.line(f" {drawn.empty_questions} rows with an empty question left out", style="dim")
    if not args.every and len(drawn) < (requested := args.n or COUNT):
        output.line(f" {len(drawn)} of {requested} wanted: the log has no more that are different", style="dim")
    if not out:
        return 0
    output.line(f"Test set: {out}")
    strata = {name: counts._asdict() for name, counts in drawn.strata.items()}
    record = {"out": str(out), "drawn": len(drawn), "empty": drawn.empty_questions, "strata": strata}
    return output.result("draw", record)


draw = command("draw", DrawOptions, do_draw)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteQueriesOptions:
    """Have a judge write questions that documents answer, and keep the useful ones as a test set.

    A question is kept if its passage is in the document, if it does not refer to the document, copy it or contain its
    answer, if it is no near duplicate, and if the checker finds it answerable, self-contained and realistic. Writes
    `queries.jsonl` with answers, passages and sources, which every command reads, `qrels.txt` with the source of each
    question, and the rejected questions with reasons.

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
    """Replace a run with other settings in --out."""
    output: Output = Output()
    checker: Annotated[str | None, QUESTIONS] = None
    """Judge that checks the questions.  [default: the writer]"""
    write_prompt: Annotated[str, QUESTIONS] = "plain"
    """Prompt for writing: plain, or a .j2 file."""
    check_prompt: Annotated[str, QUESTIONS] = "plain"
    """Prompt for checking: plain, or a .j2 file."""
    options: Asking = RunOptions()

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n", "per_document")


def do_write_queries(args: WriteQueriesOptions) -> int:
    """Write the test set, print the counts, and return the exit code."""
    from claimeval.cli.running import print_finished, watch
    from claimeval.evaluation.write_queries import count_queries
    from claimeval.runs.jobs import QRELS, QUERIES

    output = args.output
    finished = watch(lambda options: door(args, options), args.options, Gates(max_missing=1.0), output)
    run = finished.run
    counts = count_queries(run.results)
    output.line(f"{counts.documents} documents, {counts.written} questions written, {counts.kept} kept")
    if counts.rejected:
        output.line(f"rejected: {tally(counts.rejected)}")
    if counts.failures:
        output.line(f"failed: {tally(counts.failures)}")
    if run.path and run.complete and counts.kept:
        output.line(f"Test set: {run.path / QUERIES}")
        output.line(f"Qrels: {run.path / QRELS}")
    return print_finished("write-queries", finished, output, {"counts": counts.model_dump(mode="json")})


def door(args: WriteQueriesOptions, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.test_sets import write_queries

    out = args.out or Path("runs") / f"{args.corpus.stem}-queries"
    return write_queries(**arguments(args, out=out, options=options))


write_queries = command("write-queries", WriteQueriesOptions, do_write_queries, door)
