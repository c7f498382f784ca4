"""`claimeval rank`: retrieval measures of runs, with the numbers of trec_eval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def rank(
    qrels: Annotated[
        Path,
        typer.Argument(help="Relevance judgments: a TREC file (query, iteration, document, grade) or BEIR folder."),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="TREC runs (query, Q0, document, rank, score, tag); `-` is the standard input."
        ),
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "-m",
            help="Comma-separated or repeated: `ndcg@10`, `P@5`, `recall@100`, `map`, `mrr`, `hit@5`, "
            "`capped_recall@10`, `ndcg_exp@10`, `iprec@0.5`, `rbp(p=0.8)`, `P(rel=2)@5`. trec_eval's forms work too: "
            "`ndcg_cut.10,20`, `P.5`, `official`, `set`, `all_trec`.",
            show_default=False,
        ),
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Show the values of each query too.")] = False,
    no_summary: Annotated[bool, typer.Option("--no-summary", "-n", help="Do not show the means.")] = False,
    complete: Annotated[
        bool, typer.Option("--complete", "-c", help="Count queries that the run lacks as 0: `--missing zero`.")
    ] = False,
    missing: Annotated[
        Literal["skip", "zero", "error"], typer.Option(help="What queries of the qrels count that the run lacks.")
    ] = "skip",
    max_retrieved: Annotated[
        int | None,
        typer.Option("--max-retrieved", "-M", help="Look at so many documents per query only.", show_default=False),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(
            "--level",
            "-l",
            help="The lowest grade that counts as relevant. Default: 1; for `OUT/qrels.txt` of "
            "`claimeval relevance` what its scale says (not with --trec).",
            show_default=False,
        ),
    ] = None,
    judged_only: Annotated[bool, typer.Option("--judged-only", "-J", help="Drop unjudged documents first.")] = False,
    ties: Annotated[
        Literal["trec", "stable", "error"],
        typer.Option(help="Equal scores: order by document id as trec_eval does, keep the order given, or refuse."),
    ] = "trec",
    without_relevant: Annotated[
        Literal["zero", "undefined"], typer.Option(help="What queries without a relevant document count.")
    ] = "zero",
    fold: Annotated[
        str | None,
        typer.Option(
            help="A regular expression that is cut out of document ids, in qrels and runs; of those that are the same "
            "then, the best stays. `'#.*'` makes documents of pages such as `report#p12`.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="Which qrels of a BEIR folder: `qrels/SPLIT.tsv`.")] = "test",
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="Compare every later run with the first, query by query: difference, interval, test."
        ),
    ] = False,
    trec: Annotated[bool, typer.Option("--trec", help="Print what trec_eval 10.0 prints.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw precision over recall, and for two runs their differences per query (.svg).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Evaluate retrieval runs against relevance judgments.

    The numbers are those of trec_eval 10.0, and `-q -n -c -M -l -J -m` mean what they mean there.

    Example: `claimeval rank qrels.txt bm25.run dense.run -m ndcg@10,map --plot runs.svg`

    Example: `claimeval rank qrels_docs.txt pages.run --fold '#.*'`
    """
    from claimeval import ir
    from claimeval.evaluation.relevance_run import relevant_from
    from claimeval.ir import comparison, names, output, pictures
    from claimeval.types.errors import UsageError

    if paired and (len(runs) < 2 or trec):
        raise UsageError("--paired compares runs with the first: give two or more of them, without --trec")

    asked = names.read(measures or ("official" if trec else ir.DEFAULT_MEASURES))
    if asked.left_out:
        _refuse_or_tell(names.unknown_measure_message(asked.left_out), go_on=trec and bool(asked.measures))
    if level is None:
        level = 1 if trec else relevant_from(qrels) or 1
    judgments = ir.find_qrels(qrels, split) if qrels.is_dir() else qrels
    evaluations = [
        ir.evaluate(
            judgments,
            run,
            [*asked.measures, *(pictures.CURVE if plot else ())],
            level=level,
            judged_only=judged_only,
            max_retrieved=max_retrieved,
            ties=ties,
            missing="zero" if complete else missing,
            no_relevant=without_relevant,
            collapse_ids=fold,
        )
        for run in runs
    ]
    labels = output.labels(runs)
    if plot:
        pictures.draw(evaluations, labels, pictures.comparable(asked.measures), plot)
    shown = [evaluation.only(asked.measures) for evaluation in evaluations]
    pairings = comparison.against_first(shown, labels) if paired else []
    if json:
        typer.echo(output.as_json(shown, labels, per_query=per_query, pairings=pairings))
    elif trec:
        for label, evaluation in zip(labels, shown, strict=True):
            for remark in output.warnings(evaluation):
                typer.echo(f"claimeval: {label}: {remark}", err=True)
            typer.echo(
                ir.trec_text(evaluation, per_query=per_query, summary=not no_summary, run_id=asked.run_id), nl=False
            )
    else:
        typer.echo(output.text(shown, labels, per_query=per_query, summary=not no_summary), nl=False)
        if paired:
            typer.echo("\n" + comparison.text(pairings, labels[0]), nl=False)


def _refuse_or_tell(message: str, *, go_on: bool) -> None:
    from claimeval.types.errors import UsageError

    if not go_on:
        raise UsageError(message)
    typer.echo(f"claimeval: {message}", err=True)
