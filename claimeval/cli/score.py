"""`claimeval score`: judge the answers of a data file."""

from __future__ import annotations

from claimeval.cli import batch_options as b
from claimeval.cli import options as o
from claimeval.cli import panel_options as p


def score(
    data: o.Data,
    judge: o.Judges,
    metrics: o.Metrics = None,
    extractor: o.Extractor = None,
    extract_prompt: o.ExtractPrompt = "atomic",
    assess_prompt: o.AssessPrompt = "three_way",
    vote: p.Vote = None,
    tie: p.Tie = None,
    quorum: p.Quorum = None,
    replicates: p.Replicates = None,
    escalate: p.Escalate = None,
    per_document: p.PerDocument = False,
    shuffle_contexts: p.ShuffleContexts = None,
    own_claims: p.OwnClaims = False,
    on_same_family: p.OnSameFamily = None,
    leave_own_family_out: p.LeaveOwnFamilyOut = False,
    families: p.Families = None,
    labels: p.Labels = None,
    out: o.Out = None,
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
    limit: o.Limit = None,
    field: o.Field = None,
    fail_under: o.FailUnder = None,
    max_missing: o.MaxMissing = 0.01,
    offline: o.Offline = False,
    json: o.Json = False,
) -> None:
    """Take answers apart into claims, have judges assess each one, and add the verdicts up.

    Every reply is stored the moment it arrives: stop the command at any time, run it again, and nothing is paid twice.

    Example: `claimeval score answers.jsonl --judge openai:gpt-5-mini --metrics faithfulness,correctness --out runs/a`
    """
    from claimeval.cli.running import Settings, run_and_tell
    from claimeval.execution.limits import Limits

    run_and_tell(
        Settings(
            data=data,
            judges=tuple(judge),
            metrics=tuple(metrics.split(",")) if metrics is not None else None,
            extractor=extractor,
            extract_prompt=extract_prompt,
            assess_prompt=assess_prompt,
            labels=labels,
            panel=p.said(
                vote,
                tie,
                quorum,
                replicates,
                escalate,
                on_same_family,
                leave_own_family_out,
                families,
                own_claims=own_claims,
                per_document=per_document,
                shuffle_contexts=shuffle_contexts,
            ),
            out=out,
            overwrite=overwrite,
            cache=cache,
            limits=Limits(
                concurrency=concurrency, rpm=rpm, tpm=tpm, timeout=timeout, max_calls=max_calls, max_cost=max_cost
            ),
            batching=b.said(batch, batch_retries, detach, by_hand, online),
            limit=limit,
            fields=tuple(field or ()),
            fail_under=tuple(fail_under or ()),
            max_missing=max_missing,
            offline=offline,
            json=json,
        )
    )
