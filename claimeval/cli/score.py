"""`claimeval score`: judge the answers of a data file."""

from __future__ import annotations

from typing import Any

from claimeval.cli import options as o
from claimeval.cli import panel_options as p
from claimeval.cli.judging_options import Way, asking
from claimeval.cli.option_groups import takes


@takes(panel=p.panel, way=asking)
def score(
    data: o.Data,
    judge: o.Judges,
    metrics: o.Metrics = None,
    extractor: o.Extractor = None,
    extract_prompt: o.ExtractPrompt = "atomic",
    assess_prompt: o.AssessPrompt = None,
    references: o.References = None,
    *,
    panel: dict[str, Any],
    own_claims: p.OwnClaims = False,
    labels: p.Labels = None,
    out: o.Out = None,
    overwrite: o.Overwrite = False,
    way: Way,
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
    from claimeval.cli.running import Settings, run_and_tell

    run_and_tell(
        Settings(
            data=data,
            judges=tuple(judge),
            metrics=tuple(metrics.split(",")) if metrics is not None else None,
            extractor=extractor,
            extract_prompt=extract_prompt,
            assess_prompt=assess_prompt,
            references=references,
            labels=labels,
            panel=panel | p.given(own_claims=own_claims or None),
            out=out,
            overwrite=overwrite,
            cache=way.cache,
            limits=way.limits,
            batching=way.batching,
            limit=limit,
            fields=tuple(field or ()),
            cluster=cluster,
            fail_under=tuple(fail_under or ()),
            fail_over=tuple(fail_over or ()),
            max_missing=max_missing,
            offline=way.offline,
            json=json,
        )
    )
