"""Langfuse: pushing scores as scores of traces.

Host and keys come from LANGFUSE_BASE_URL (or LANGFUSE_HOST), LANGFUSE_PUBLIC_KEY and
LANGFUSE_SECRET_KEY.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from claimeval.api.push import (
    Finding,
    Pushed,
    Settings,
    claims_by_score,
    findings,
    sending,
    with_trace,
)
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.api.run import Run

HOST = "https://cloud.langfuse.com"
BATCH = 50
"""Scores per request."""
NOTE = (
    "Traces have the defined scores, with claims and verdicts as their metadata. Undefined scores,"
    " and samples without a trace, do not arrive. A second push replaces scores by their ids"
)


def push(run: Run, settings: Settings) -> Pushed:
    """Send the scores of samples with a trace, with claims and verdicts as their metadata.

    Scores have stable ids, so that sending them again replaces them. Undefined scores are not sent.
    """
    environment = os.environ.get
    where = settings.url or environment("LANGFUSE_BASE_URL") or environment("LANGFUSE_HOST") or HOST
    rows = list(findings(run, settings.field))
    scores = [row for row in rows if not row.is_verdict]
    defined = [row for row in scores if row.value is not None]
    sent = with_trace(defined, "langfuse", settings.field)
    left_out = {
        "undefined": len(scores) - len(defined),
        "without a trace": len(defined) - len(sent),
    }
    records = {"scores": len(sent)}
    if not settings.dry_run:
        keys = environment("LANGFUSE_PUBLIC_KEY"), environment("LANGFUSE_SECRET_KEY")
        if not all(keys):
            raise UsageError(
                "langfuse: set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, the keys of the project"
            )
        with sending("langfuse", where):
            _send(sent, claims_by_score(rows), settings, where, keys)
    return Pushed(
        where, records, {reason: count for reason, count in left_out.items() if count}, NOTE
    )


def _send(
    sent: list[Finding],
    verdicts: dict[tuple[str, str], list[dict[str, Any]]],
    settings: Settings,
    where: str,
    keys: tuple[str | None, str | None],
) -> None:
    import httpx
    from langfuse.api import CreateScoreRequest, LangfuseAPI, ScoreDataType
    from langfuse.api.core import ApiError

    client = LangfuseAPI(
        base_url=where, username=keys[0], password=keys[1], x_langfuse_public_key=keys[0]
    )
    progress = settings.started(len(sent), "scores")
    for start in range(0, len(sent), BATCH):
        batch = [
            CreateScoreRequest(
                id=score.id,
                trace_id=score.trace,
                name=score.name,
                value=score.value or 0.0,
                data_type=ScoreDataType("NUMERIC"),
                comment=score.explanation,
                metadata={
                    "sample": score.sample,
                    **score.details,
                    "claims": verdicts.get((score.sample, score.name), []),
                },
            )
            for score in sent[start : start + BATCH]
        ]
        try:
            reply = client.scores.create(request=batch)
        except ApiError as error:
            why = (
                "check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"
                if error.status_code in (401, 403)
                else error.body
            )
            raise UsageError(f"langfuse at {where}: HTTP {error.status_code}: {why}") from error
        except httpx.HTTPError as error:
            raise UsageError(f"langfuse at {where}: {error}") from error
        if getattr(reply, "rejected", 0):
            first = next((error.message for error in reply.errors), "")
            raise UsageError(
                f"langfuse at {where}: {reply.rejected} of {len(batch)} scores were rejected:"
                f" {first}"
            )
        progress.calls += 1
        progress.done += len(batch)
        progress.notify()
