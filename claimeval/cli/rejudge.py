"""`claimeval rejudge`: the same answers and claims under other judges, prompts or votes."""

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

Sources = Annotated[
    list[Path],
    typer.Argument(
        help="Run directories; or result files of RAGChecker, ragas or deepeval; or files of samples. Several are "
        "judged one after the other.",
        show_default=False,
    ),
]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="Who assesses the claims: as for `claimeval score`, or the name of a judge of the run, whose verdicts are "
        "taken over. Repeat for a panel. Unless said, the judges of the run.",
        show_default=False,
    ),
]
Keep = Annotated[
    bool,
    typer.Option("--keep-verdicts", help="Keep the verdicts of all the run's judges beside those of the new ones."),
]
ExtractPrompt = Annotated[
    str | None,
    typer.Option(
        help="Take the claims anew, with this prompt. Unless said, the run's claims stay.", show_default=False
    ),
]
AssessPrompt = Annotated[
    str | None, typer.Option(help="Prompt for assessing. Unless said, the run's own.", show_default=False)
]
Extractor = Annotated[
    str | None,
    typer.Option(
        help="Who takes claims from texts that have none; another one than the run's takes all anew.",
        show_default=False,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        help="The run directory to write; with several sources, a directory with one run for each.",
        show_default=False,
    ),
]


@takes(panel=p.panel, options=asking)
def rejudge(
    sources: Sources,
    out: Out,
    judge: Judges = None,
    keep_verdicts: Keep = False,
    metrics: o.Metrics = None,
    extractor: Extractor = None,
    extract_prompt: ExtractPrompt = None,
    assess_prompt: AssessPrompt = None,
    *,
    panel: PanelOptions,
    per_document: p.PerDocument = None,
    shuffle_contexts: p.ShuffleContexts = None,
    overwrite: o.Overwrite = False,
    options: RunOptions,
    field: o.Field = None,
    cluster: o.Cluster = None,
    fail_under: o.FailUnder = None,
    fail_over: o.FailOver = None,
    max_missing: o.MaxMissing = 0.01,
    json: o.Json = False,
) -> None:
    """Judge what a run holds again, and pay only for what is new.

    Claims are taken from the run, and so are verdicts of judges who would be asked the same again. With nothing but
    `--vote`, `--tie`, `--quorum`, `--families` or fewer `--metrics` the votes are counted anew without a call.

    Examples:

    `claimeval rejudge runs/a --judge mistral:mistral-large-latest --keep-verdicts --out runs/b` adds a judge;

    `claimeval rejudge runs/a --assess-prompt binary --out runs/c` asks the run's judges with another prompt;

    `claimeval rejudge runs/b --vote dawid_skene --out runs/d` only counts again.
    """
    from claimeval.cli.rejudging import rejudge_and_print
    from claimeval.cli.running import Gates
    from claimeval.data.reading import parse_fields

    rejudge_and_print(
        tuple(sources),
        out,
        {
            "judges": tuple(judge) if judge else None,
            "keep_verdicts": keep_verdicts,
            "metrics": metrics,
            "extractor": extractor,
            "extract_prompt": extract_prompt,
            "assess_prompt": assess_prompt,
            "per_document": per_document,
            "shuffle_contexts": shuffle_contexts,
            "fields": parse_fields(field or []),
            "overwrite": overwrite,
            "panel": panel,
        },
        replace(options, cluster=cluster),
        Gates.parse(fail_under, fail_over, max_missing),
        json_output=json,
    )
