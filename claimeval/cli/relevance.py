"""`claimeval relevance`: documents graded by judges, written as qrels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o
from claimeval.cli import panel_options as p
from claimeval.cli.judging_options import asking
from claimeval.cli.option_groups import takes
from claimeval.types.options import PanelOptions, RunOptions

Graders = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="Who grades: `openai:gpt-5-mini`, `mistral:mistral-large-latest`, "
        "`openai:MODEL@http://127.0.0.1:8000/v1` for any OpenAI-compatible server, or a YAML file. Repeat for a panel.",
        show_default=False,
    ),
]


@takes(options=asking, counting=p.counting)
def relevance(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Samples whose contexts are graded, or the directory of a run over them; or, with --corpus, queries "
            "(.jsonl, .json, .tsv); or a BEIR folder, which has both.",
            show_default=False,
        ),
    ] = None,
    judge: Graders = None,
    scale: Annotated[
        str,
        typer.Option(
            help="`umbrela` (0 nothing to do with it, 1 related, 2 partly answers, 3 answers exactly), `binary`, "
            "`graded` (0 to 2), or a YAML file with `meanings` (grade 0 first) and `positive_from`."
        ),
    ] = "umbrela",
    corpus: Annotated[
        Path | None,
        typer.Option(help="The documents: .jsonl with id and text, or .tsv.", show_default=False),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            help="A TREC run: its first --depth documents are graded. Repeat to pool several; two or more are also "
            "put in order by the new grades and by --qrels.",
            show_default=False,
        ),
    ] = None,
    depth: Annotated[int, typer.Option(min=0, help="How many documents of each query and run go into the pool.")] = 10,
    qrels: Annotated[
        Path | None,
        typer.Option(
            help="Grades of people: what the new grades are held against. A TREC or BEIR file, or a table (.jsonl, "
            ".csv, ...) with `query_id`, `doc_id`, `grade`. With a corpus these pairs are graded too (--depth 0: these "
            "alone).",
            show_default=False,
        ),
    ] = None,
    grades: Annotated[
        list[Path] | None,
        typer.Option(
            help="Grades that some assessor gave before, to be held against --qrels; nothing is asked. Repeat. A table "
            "may hold those of many, as `grades`; --out writes those of each as qrels.",
            show_default=False,
        ),
    ] = None,
    assessors: Annotated[
        Path | None,
        typer.Option(
            help="Names for a list of `grades`, in its order: a JSON list, or an object with one.", show_default=False
        ),
    ] = None,
    measures: Annotated[
        str, typer.Option("-m", "--measures", help="By what the runs are put in order.")
    ] = "ndcg@10,P@10",
    prompt: Annotated[str, typer.Option(help="`steps`, `plain`, or a .j2 file.")] = "steps",
    per_call: Annotated[
        int,
        typer.Option(
            min=1,
            max=50,
            help="Documents in one call. More is cheaper, but a grade then also hangs on its neighbours.",
        ),
    ] = 1,
    vote: Annotated[
        str | None,
        typer.Option(
            help="How several grades become one: `median` (unless said; of two in the middle the lower), `majority`, "
            "`mean`, `unanimous`, `any`, `weighted`.",
            rich_help_panel=p.PANEL,
            show_default=False,
        ),
    ] = None,
    *,
    counting: PanelOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The folder to write. Default: `runs/DATA-relevance`, or `RUN/relevance`.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace grades of other settings in the same --out.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be asked and paid; make no call.")] = False,
    options: RunOptions,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N samples or queries.", show_default=False)
    ] = None,
    field: o.Field = None,
    cluster: o.Cluster = None,
    max_missing: Annotated[
        float, typer.Option(min=0, max=1, help="Exit with 1 when a larger share of pairs was lost to failures.")
    ] = 0.01,
    json: o.Json = False,
) -> None:
    """Have judges grade how relevant documents are to a question, and write the grades as qrels.

    What `claimeval rank` reads comes out: `claimeval rank OUT/qrels.txt my.run`. A pair that could not be graded is a
    hole with its reason, never a 0. Every reply is stored the moment it arrives: stop the command, run it again, and
    nothing is paid twice.

    Of samples it also says how relevant their contexts are: `context_relevance`, the share of relevant ones,
    `context_grade`, their mean grade, and `context_precision_ap`, the precision in order of rank that some tools call
    context precision. Of a run these stand beside its other scores.

    Example: `claimeval relevance answers.jsonl --judge openai:gpt-5-mini --out runs/grades`

    Example: `claimeval relevance --qrels human.txt --grades judge-a.txt --grades judge-b.txt`

    Example: `claimeval relevance queries.tsv --corpus docs.jsonl --run bm25.run --qrels human.txt -j ...`
    """
    from claimeval.cli.grading import Settings, compare_and_tell, grade_and_tell
    from claimeval.types.errors import UsageError

    settings = Settings(
        data=data,
        judges=tuple(judge or ()),
        scale=scale,
        corpus=corpus,
        runs=tuple(run or ()),
        depth=depth,
        qrels=qrels,
        measures=measures,
        prompt=prompt,
        per_call=per_call,
        panel=p.voting(counting, vote),
        out=out,
        overwrite=overwrite,
        only_plan=plan,
        options=replace(options, cluster=cluster),
        limit=limit,
        fields=tuple(field or ()),
        max_missing=max_missing,
        json=json,
    )
    if assessors and not grades:
        raise UsageError("--assessors names those who gave the --grades; there are none")
    if not grades:
        grade_and_tell(settings)
    elif data or judge:
        raise UsageError("--grades compares grades that are there and asks nobody; leave DATA and --judge out")
    else:
        compare_and_tell(settings, tuple(grades), assessors)
