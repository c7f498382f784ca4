"""Phoenix: pushing scores as annotations of spans, or of traces where a sample has no span.

The address comes from PHOENIX_COLLECTOR_ENDPOINT, the key of a server with accounts from
PHOENIX_API_KEY. Needs no package.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from claimeval.api.push import (
    ERROR,
    Finding,
    Pushed,
    Settings,
    claims_by_score,
    findings,
    is_judged_by_model,
    sending,
    with_trace,
)
from claimeval.types.errors import UsageError, visible

if TYPE_CHECKING:
    from claimeval.api.run import Run

HOST = "http://localhost:6006"
BATCH = 100
"""Annotations per request."""
SECONDS = 60.0
NOTE = (
    "Spans, or traces of samples without `span_id`, have the defined scores as annotations, with"
    " claims and verdicts as their metadata. Undefined scores, and samples without a trace, do not"
    " arrive. A second push replaces annotations by their identifiers"
)
Kind = Literal["span", "trace"]


def push(run: Run, settings: Settings) -> Pushed:
    """Send the scores of samples with a span or a trace as annotations.

    Annotations have stable identifiers, so that sending them again replaces them. Undefined scores
    are not sent.
    """
    where = settings.url or os.environ.get("PHOENIX_COLLECTOR_ENDPOINT") or HOST
    # The variable often has the path that exporters of traces need, as in
    # `http://localhost:6006/v1/traces`.
    where = where.rstrip("/").removesuffix("/v1/traces")
    rows = list(findings(run, settings.field))
    scores = [row for row in rows if not row.is_verdict]
    defined = [row for row in scores if row.value is not None]
    placed, traced = _placed(defined, settings.field)
    counts = {"span annotations": len(placed), "trace annotations": len(traced)}
    left_out = {
        "undefined": len(scores) - len(defined),
        "without a trace": len(defined) - len(placed) - len(traced),
    }
    if not settings.dry_run:
        by_model = is_judged_by_model(run)
        claims = claims_by_score(rows)
        annotations: dict[Kind, list[dict[str, object]]] = {
            "span": [_annotation(row, "span", claims, by_model) for row in placed],
            "trace": [_annotation(row, "trace", claims, by_model) for row in traced],
        }
        with sending("phoenix", where):
            _send(where, annotations, settings)
    return Pushed(where, _counted(counts), _counted(left_out), NOTE)


def _placed(defined: Sequence[Finding], field: str) -> tuple[list[Finding], list[Finding]]:
    """Return the scores of samples with a span, and of others with a trace.

    Raises UsageError if no sample has either.
    """
    placed = [row for row in defined if row.span]
    others = [row for row in defined if not row.span]
    if not placed:
        return [], with_trace(others, "phoenix", field)
    return placed, [row for row in others if row.trace]


def _counted(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _annotation(
    row: Finding,
    kind: Kind,
    claims: dict[tuple[str, str], list[dict[str, Any]]],
    by_model: bool,
) -> dict[str, object]:
    address = row.span if kind == "span" else row.trace
    # Phoenix stores the ids of OpenTelemetry in lower case, without 0x or dashes.
    hexadecimal = (address or "").lower().removeprefix("0x").replace("-", "")
    return {
        f"{kind}_id": hexadecimal,
        "name": row.name,
        "annotator_kind": "LLM" if by_model else "CODE",
        "identifier": f"claimeval:{row.id}",
        "result": {"score": row.value, "explanation": row.explanation or None},
        "metadata": {
            "sample": row.sample,
            **row.details,
            "claims": claims.get((row.sample, row.name), []),
        },
    }


def _send(
    where: str, annotations: Mapping[Kind, Sequence[dict[str, object]]], settings: Settings
) -> None:
    progress = settings.started(sum(map(len, annotations.values())), "annotations")
    for kind, of_kind in annotations.items():
        for start in range(0, len(of_kind), BATCH):
            batch = of_kind[start : start + BATCH]
            _post(where, kind, batch)
            progress.calls += 1
            progress.done += len(batch)
            progress.notify()


def _post(where: str, kind: Kind, annotations: Sequence[dict[str, object]]) -> None:
    """Send a batch, and wait until it is stored, so that an unknown span is an error."""
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("PHOENIX_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    body = json.dumps({"data": annotations}).encode()
    address = f"{where}/v1/{kind}_annotations?sync=true"
    try:
        with urlopen(Request(address, body, headers, method="POST"), timeout=SECONDS) as reply:
            reply.read()
    except HTTPError as error:
        said = visible(error.read().decode("utf-8", "replace"), ERROR)
        raise UsageError(
            f"phoenix at {where}: HTTP {error.code}: {_why(error.code, kind, said)}"
        ) from error


def _why(code: int, kind: Kind, said: str) -> str:
    if code in (401, 403):
        return "set PHOENIX_API_KEY to a key of the server"
    if code == 404:
        return f"it has no such {kind}: {said}"
    return said
