"""`claimeval rejudge`: the same answers and claims under other judges, prompts or votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import batch_options as b
from claimeval.cli import options as o
from claimeval.cli import panel_options as p

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


def rejudge(
    sources: Sources,
    out: Out,
    judge: Judges = None,
    keep_verdicts: Keep = False,
    metrics: o.Metrics = None,
    extractor: Extractor = None,
    extract_prompt: ExtractPrompt = None,
    assess_prompt: AssessPrompt = None,
    vote: p.Vote = None,
    tie: p.Tie = None,
    quorum: p.Quorum = None,
    replicates: p.Replicates = None,
    escalate: p.Escalate = None,
    per_document: p.PerDocument = False,
    shuffle_contexts: p.ShuffleContexts = None,
    on_same_family: p.OnSameFamily = None,
    leave_own_family_out: p.LeaveOwnFamilyOut = False,
    families: p.Families = None,
    labels: p.Labels = None,
    overwrite: o.Overwrite = False,
    cache: o.Cache = None,
    concurrency: o.Concurrency = None,
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = 300.0,
    max_calls: o.MaxCalls = None,
    max_cost: o.MaxCost = None,
    prices: o.Prices = None,
    batch: b.Batch = False,
    batch_retries: b.BatchRetries = "batch",
    detach: b.Detach = False,
    by_hand: b.ByHand = False,
    online: b.Online = None,
    field: o.Field = None,
    fail_under: o.FailUnder = None,
    max_missing: o.MaxMissing = 0.01,
    offline: o.Offline = False,
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
    from claimeval.cli.rejudging import rejudge_and_tell
    from claimeval.cli.running import Settings
    from claimeval.execution.limits import Limits
    from claimeval.rejudging import Wanted

    rejudge_and_tell(
        tuple(sources),
        Wanted(
            judges=tuple(judge or ()),
            keep=keep_verdicts,
            extractor=extractor,
            metrics=tuple(metrics.split(",")) if metrics is not None else None,
            extract_prompt=extract_prompt,
            assess_prompt=assess_prompt,
            panel=p.said(
                vote,
                tie,
                quorum,
                replicates,
                escalate,
                on_same_family,
                leave_own_family_out,
                families,
                per_document=per_document,
                shuffle_contexts=shuffle_contexts,
            ),
            with_labels=labels is not None,
            offline=offline,
        ),
        Settings(
            data=sources[0],
            judges=(),
            labels=labels,
            out=out,
            overwrite=overwrite,
            cache=cache,
            limits=Limits(
                concurrency=concurrency, rpm=rpm, tpm=tpm, timeout=timeout, max_calls=max_calls, max_cost=max_cost
            ),
            batching=b.said(batch, batch_retries, detach, by_hand, online),
            fields=tuple(field or ()),
            fail_under=tuple(fail_under or ()),
            max_missing=max_missing,
            offline=offline,
            json=json,
        ),
    )
