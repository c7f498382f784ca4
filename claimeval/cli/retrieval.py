"""`claimeval retrieval`: rank metrics of the contexts of each sample."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from claimeval.cli import options as o
from claimeval.cli import panel_options as p
from claimeval.cli.judging_options import asking
from claimeval.cli.option_groups import takes
from claimeval.types.options import PanelOptions, RunOptions

JUDGED = "With --match judge"
"""The group under which `--help` lists what only goes with judges."""


@takes(options=asking, counting=p.counting)
def retrieval(
    data: o.DataOrRun,
    measures: Annotated[
        str,
        typer.Option(
            "-m",
            "--measures",
            help="Comma-separated, as in `claimeval rank`: `mrr`, `map`, `ndcg@10`, `recall@5`, `P@5`, `success@1`. "
            "`ap_retrieved` is what some tools call MAP or context precision.",
        ),
    ] = "mrr,map,recall@5,P@5,ndcg@10",
    match: Annotated[
        Literal["ids", "text", "judge"],
        typer.Option(
            help="`ids`: a context is right when its id is among `reference_context_ids`. `text`: when it holds one of "
            "`reference_contexts`, or is a piece of it. `judge`: also when a --judge says that it holds what one of "
            "them says; asked only where the texts leave it open."
        ),
    ] = "ids",
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            "-j",
            help="Who compares the texts under `--match judge`: `openai:MODEL`, ... Repeat for a panel.",
            rich_help_panel=JUDGED,
            show_default=False,
        ),
    ] = None,
    prompt: Annotated[
        str, typer.Option(help="`same_content`, or a .j2 file.", rich_help_panel=JUDGED)
    ] = "same_content",
    per_call: Annotated[
        int, typer.Option(min=1, max=50, help="Contexts compared with a reference in one call.", rich_help_panel=JUDGED)
    ] = 1,
    vote: Annotated[
        str | None,
        typer.Option(
            help="How the opinions of several judges become one: `majority` (unless said), `unanimous`, `any`.",
            rich_help_panel=JUDGED,
            show_default=False,
        ),
    ] = None,
    *,
    counting: PanelOptions,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be asked and paid; make no call.")] = False,
    options: RunOptions,
    max_missing: Annotated[
        float, typer.Option(min=0, max=1, help="Exit with 1 when a larger share of values was lost to failures.")
    ] = 0.01,
    fold: Annotated[
        str | None,
        typer.Option(
            help="A regular expression that is cut out of ids before they are compared; of contexts that are the same "
            "then, the best stays. `'#.*'` makes documents of pages such as `report#p12`.",
            show_default=False,
        ),
    ] = None,
    out: o.Out = None,
    limit: o.Limit = None,
    field: o.Field = None,
    cluster: o.Cluster = None,
    json: o.Json = False,
) -> None:
    """Score what each sample retrieved against its reference contexts, as context correctness.

    The numbers are those of trec_eval, per sample and with intervals over questions; those of a run directory stand
    beside the judges' scores. A sample without reference contexts has no value and is counted.
    Only `--match judge` makes calls; a pair that no judge could compare leaves its sample without a value.

    Example: `claimeval retrieval answers.jsonl -m mrr,map,recall@5`

    Example: `claimeval retrieval answers.jsonl --match judge --judge openai:gpt-5-mini`
    """
    from claimeval.cli.retrieving import Judged, match_by_judges, score_and_tell
    from claimeval.types.errors import UsageError

    if match != "judge":
        if judge:
            raise UsageError(f"--match {match} asks nobody; leave --judge out, or say --match judge")
        score_and_tell(
            data, match, fold, measures, out=out, fields=tuple(field or ()), limit=limit, cluster=cluster, as_json=json
        )
        return
    if fold:
        raise UsageError("contexts are folded by their ids, as in --match ids; leave --fold or --match judge out")
    match_by_judges(
        data,
        Judged(tuple(judge or ()), prompt, per_call, p.voting(counting, vote)),
        options,
        measures,
        only_plan=plan,
        max_missing=max_missing,
        out=out,
        fields=tuple(field or ()),
        limit=limit,
        cluster=cluster,
        as_json=json,
    )
