"""OpenTelemetry: pushing scores and verdicts as events over OTLP/HTTP.

The usual environment variables apply: OTEL_EXPORTER_OTLP_LOGS_ENDPOINT or
OTEL_EXPORTER_OTLP_ENDPOINT for the collector, OTEL_EXPORTER_OTLP_HEADERS for headers,
OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME for the resource.
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from claimeval.api.push import Finding, Pushed, Settings, findings, sending
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.api.run import Run

EVENT = "gen_ai.evaluation.result"
SEMCONV = {
    "name": "gen_ai.evaluation.name",
    "value": "gen_ai.evaluation.score.value",
    "label": "gen_ai.evaluation.score.label",
    "explanation": "gen_ai.evaluation.explanation",
    "response": "gen_ai.response.id",
    "because": "error.type",
    "id": "log.record.uid",
}
"""Field of a finding to attribute, by OpenTelemetry's semantic conventions for generative AI
(status: development), as of their repository semantic-conventions-genai in November 2026 and of
version 1.37 before it."""
PREFIX = "claimeval."
"""Prefix of attributes without a name in the conventions."""
BATCH = 500
"""Events per request."""
NOTE = (
    "Log back ends show an event for each score and verdict, beside its trace. Platforms that take"
    " traces only do not take events (for Phoenix, push with `--to phoenix`). Events cannot be"
    " replaced: a second push adds them again, under the same ids"
)
_SENT = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"


def push(run: Run, settings: Settings) -> Pushed:
    """Send an event for each score and each verdict, in the trace and span of its sample if it has
    any.

    The event of an undefined score has `error.type`. Repeated events have the same
    `log.record.uid`.
    """
    where = settings.url or next(
        (os.environ[name] for name in _SENT if os.environ.get(name)), "http://localhost:4318"
    )
    rows = list(findings(run, settings.field))
    counts = Counter("claim verdicts" if row.is_verdict else "scores" for row in rows)
    left_out = Counter(
        "without a trace, sent by themselves"
        for row in rows
        if not row.is_verdict and not _ids(row)[0]
    )
    if not settings.dry_run:
        with sending("otlp", where):
            _send(run, rows, settings, where)
    return Pushed(where, dict(counts), dict(left_out), NOTE)


def attributes(finding: Finding) -> dict[str, str | int | float]:
    """Return the attributes of an event."""
    standard = {name: getattr(finding, field) for field, name in SEMCONV.items()}
    details = {
        PREFIX + name: value
        for name, value in {"sample": finding.sample, **finding.details}.items()
    }
    return {name: value for name, value in {**standard, **details}.items() if value is not None}


def _send(run: Run, rows: list[Finding], settings: Settings, where: str) -> None:
    from opentelemetry import trace
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.context import Context
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk._logs.export import LogRecordExportResult
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    import claimeval

    time = _nanoseconds(run.manifest.created)
    resource = Resource.create(
        {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "claimeval"}
    )
    scope = InstrumentationScope("claimeval", str(claimeval.__version__))

    def event(finding: Finding) -> Any:
        trace_id, span_id = _ids(finding)
        at = trace.SpanContext(
            trace_id, span_id, is_remote=True, trace_flags=trace.TraceFlags(trace_id and 1)
        )
        record = LogRecord(
            timestamp=time,
            context=trace.set_span_in_context(trace.NonRecordingSpan(at), Context()),
            severity_number=SeverityNumber.INFO,
            attributes=attributes(finding),
            event_name=EVENT,
        )
        return ReadableLogRecord(record, resource, scope)

    # The exporter takes a given endpoint as it is, and adds the path only to that of
    # OTEL_EXPORTER_OTLP_ENDPOINT.
    url = settings.url and f"{settings.url.rstrip('/').removesuffix('/v1/logs')}/v1/logs"
    exporter: Any = OTLPLogExporter(endpoint=url or None)
    progress = settings.started(len(rows), "events")
    log_handler = _Warnings()
    logger = logging.getLogger("opentelemetry.exporter")
    logger.addHandler(log_handler)
    propagate = logger.propagate
    # Its messages are in the error of this push; the root logger would print them too.
    logger.propagate = False
    try:
        for start in range(0, len(rows), BATCH):
            batch = [event(row) for row in rows[start : start + BATCH]]
            if exporter.export(batch) is not LogRecordExportResult.SUCCESS:
                words = log_handler.words or "the collector did not take the events"
                traces_only = re.search(r"\b40[45]\b|not found|not allowed", words, re.IGNORECASE)
                hint = (
                    ". It may take traces only: scores are events; for Phoenix, use `--to phoenix`"
                    if traces_only
                    else ""
                )
                raise UsageError(f"otlp at {where}: {words}{hint}")
            progress.calls += 1
            progress.done += len(batch)
            progress.notify()
    finally:
        logger.removeHandler(log_handler)
        logger.propagate = propagate
        exporter.shutdown()


class _Warnings(logging.Handler):
    """Keeps messages of the exporter, whose result does not say why it failed."""

    words = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first and the last message."""
        message = record.getMessage()
        self.words = f"{self.words.partition('; ')[0]}; {message}" if self.words else message


def _ids(finding: Finding) -> tuple[int, int]:
    """Return the ids of trace and span as numbers; 0 for missing and invalid ids."""

    def number(text: str | None, digits: int) -> int:
        # Some logs have the ids as UUIDs, with dashes, or as Python's `hex` writes a number, with
        # `0x`.
        plain = (text or "").replace("-", "").removeprefix("0x")
        return int(plain, 16) if re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", plain) else 0

    trace = number(finding.trace, 32)
    return trace, trace and number(finding.span, 16)


def _nanoseconds(created: str | None) -> int | None:
    """Return the creation time of a run, so that repeated events have the same time."""
    if created is None:
        return None
    time = datetime.fromisoformat(created)
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(time.timestamp()) * 10**9
