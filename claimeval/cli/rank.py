"""`claimeval rank`: rankings against relevance judgments."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.terminal import write_data
from claimeval.types.options import require_at_least

LISTED = ("Retrieval", 2, "Evaluate rankings against qrels, as trec_eval does.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions:
    """Evaluate rankings against qrels, as trec_eval does.

    The numbers are those of trec_eval 10.0, and -q -n -c -M -l -J -m mean what they mean there.

    Example: claimeval rank qrels.txt bm25.run dense.run -m ndcg@10,map --plot runs.svg

    Example: claimeval rank qrels_docs.txt pages.run --collapse-ids '#.*'
    """

    qrels: Annotated[Path, Argument("QRELS")]
    """A TREC file (query, iteration, document, grade) or a BEIR folder."""
    trec_runs: Annotated[tuple[Path, ...], Argument("TREC_RUN")]
    """TREC runs (query, Q0, document, rank, score, tag); `-` is standard input."""
    measures: Annotated[tuple[str, ...], Names("-m", "--measures")] = ()
    """ndcg@10, P@5, recall@100, map, mrr, hit@5, rbp(p=0.8), P(rel=2)@5, ...; comma-separated or repeated. Names of
    trec_eval work too: ndcg_cut.10,20, official, set, all_trec."""
    per_query: Annotated[bool, Names("-q", "--per-query")] = False
    """Show the values of each query too."""
    no_summary: Annotated[bool, Names("-n", "--no-summary")] = False
    """Do not show the means."""
    complete: Annotated[bool, Names("-c", "--complete")] = False
    """Count queries that the run lacks as 0: --missing zero."""
    missing: Literal["skip", "zero", "error"] = "skip"
    """What queries count that the run lacks: skip, zero or error."""
    max_retrieved: Annotated[int | None, Names("-M", "--max-retrieved")] = None
    """Documents per query to look at."""
    level: Annotated[int | None, Names("-l", "--level")] = None
    """Lowest grade that counts as relevant; default 1, or as the scale of `claimeval grade` has it."""
    judged_only: Annotated[bool, Names("-J", "--judged-only")] = False
    """Drop documents without a judgment first."""
    ties: Literal["trec", "stable", "error"] = "trec"
    """Equal scores: trec (by document id), stable (as given) or error."""
    no_relevant: Literal["zero", "undefined"] = "zero"
    """What queries without a relevant document count: zero or undefined."""
    collapse_ids: str | None = None
    """Regular expression cut out of document ids; of equal ids the best stays. '#.*' makes report of report#p12."""
    split: str = "test"
    """Qrels of a BEIR folder: qrels/SPLIT.tsv."""
    paired: bool = False
    """Compare every later run with the first, query by query."""
    trec: bool = False
    """Print what trec_eval 10.0 prints."""
    plot: Path | None = None
    """Draw precision over recall and, for two runs, differences per query (.svg)."""
    json: bool = False
    """Print JSON on standard output."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "max_retrieved")


def do(given: RankOptions) -> int:
    """Evaluate every run, print the values, and return the exit code."""
    from claimeval import ir
    from claimeval.cli.printer import Output, say
    from claimeval.ir import comparison, names, output, pictures
    from claimeval.runs.jobs import relevant_from
    from claimeval.types.errors import UsageError

    if given.paired and (len(given.trec_runs) < 2 or given.trec):
        raise UsageError("--paired compares runs with the first: give two or more of them, without --trec")

    asked = names.read(list(given.measures) or ("official" if given.trec else ir.DEFAULT_MEASURES))
    if asked.left_out:
        message = names.unknown_measure_message(asked.left_out)
        if not (given.trec and asked.measures):
            raise UsageError(message)
        say(message)
    level = given.level
    if level is None:
        level = 1 if given.trec else relevant_from(given.qrels) or 1
    judgments = ir.find_qrels(given.qrels, given.split) if given.qrels.is_dir() else given.qrels
    evaluations = [
        ir.evaluate(
            judgments,
            run,
            [*asked.measures, *(pictures.CURVE if given.plot else ())],
            level=level,
            judged_only=given.judged_only,
            max_retrieved=given.max_retrieved,
            ties=given.ties,
            missing="zero" if given.complete else given.missing,
            no_relevant=given.no_relevant,
            collapse_ids=given.collapse_ids,
        )
        for run in given.trec_runs
    ]
    labels = output.labels(given.trec_runs)
    if given.plot:
        pictures.draw(evaluations, labels, pictures.comparable(asked.measures), given.plot)
    shown = [evaluation.only(asked.measures) for evaluation in evaluations]
    pairings = comparison.against_first(shown, labels) if given.paired else []
    if given.json:
        record = output.as_record(shown, labels, per_query=given.per_query, pairings=pairings)
        return Output(json=True).result("rank", record)
    if given.trec:
        for label, evaluation in zip(labels, shown, strict=True):
            for remark in output.warnings(evaluation):
                say(f"{label}: {remark}")
            summary, run_id = not given.no_summary, asked.run_id
            write_data(ir.trec_text(evaluation, per_query=given.per_query, summary=summary, run_id=run_id))
        return 0
    sys.stdout.write(output.text(shown, labels, per_query=given.per_query, summary=not given.no_summary))
    if given.paired:
        sys.stdout.write("\n" + output.pairings_text(pairings, labels[0]))
    return 0


rank = command("rank", RankOptions, do)
