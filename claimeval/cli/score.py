"""`claimeval score`: judge the answers of a data file."""

from __future__ import annotations

from dataclasses import replace

from claimeval.cli import options as o
from claimeval.cli import panel_options as p
from claimeval.cli.judging_options import asking
from claimeval.cli.option_groups import takes
from claimeval.types.options import PanelOptions, RunOptions


@takes(panel=p.panel, options=asking)
def score(
    data: o.Data,
    judge: o.Judges,
    metrics: o.Metrics = None,
    extractor: o.Extractor = None,
    extract_prompt: o.ExtractPrompt = "atomic",
    assess_prompt: o.AssessPrompt = None,
    references: o.References = None,
    *,
    panel: PanelOptions,
    per_document: p.PerDocument = None,
    shuffle_contexts: p.ShuffleContexts = None,
    own_claims: p.OwnClaims = False,
    out: o.Out = None,
    overwrite: o.Overwrite = False,
    options: RunOptions,
    limit: o.Limit = None,
    field: o.Field = None,
    cluster: o.Cluster = None,
    fail_under: o.FailUnder = None,
    fail_over: o.FailOver = None,
    max_missing: o.MaxMissing = 0.01,
    json: o.Json = False,
) -> None:
    """Take answers apart into claims, have judges assess each one, and add the verdicts up.

    Every reply is stored the moment it arrives: stop the command at any time, run it again, and nothing is paid twice.

    Example: `claimeval score answers.jsonl --judge openai:gpt-5-mini --metrics faithfulness,correctness --out runs/a`
    """
    from claimeval.cli.running import Gates, score_and_print

    score_and_print(
        data,
        judge,
        metrics=metrics,
        extractor=extractor,
        extract_prompt=extract_prompt,
        assess_prompt=assess_prompt,
        references=references,
        panel=panel,
        per_document=per_document,
        shuffle_contexts=shuffle_contexts,
        extract_per_judge=own_claims or None,
        out=out,
        overwrite=overwrite,
        options=replace(options, cluster=cluster),
        limit=limit,
        fields=field or (),
        gates=Gates.parse(fail_under, fail_over, max_missing),
        json_output=json,
    )
