"""Recognize traces of question-answering systems by the fields of their first row.

`traces` converts them, and is imported for data that are traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claimeval.data.paths import opened

_OF_LANGFUSE = frozenset(
    {
        "sessionId",
        "session_id",
        "userId",
        "user_id",
        "projectId",
        "project_id",
        "public",
        "bookmarked",
    }
)
_OF_A_TRACE = frozenset({"timestamp", "trace", "projectId", "htmlPath"})
"""Fields beside the observations of a trace, which tell them from those of an agent."""
OF_OPIK = frozenset({"trace_id", "trace_start_time", "span_parent_span_id"})
"""Columns of the table in which Opik writes the spans of a trace, each beside the trace."""
TRACES = (
    *(
        "OpenTelemetry spans",
        "Phoenix spans",
        "Langfuse observations",
        "Langfuse traces",
        "LangSmith runs",
    ),
    *("MLflow traces of spans", "Opik trace", "TruLens events"),
)
"""The kinds of spans that are read as one sample a trace."""


def trace_kind(fields: Mapping[str, Any]) -> str | None:
    """Return which kind of `TRACES` a row is from: a span, several spans, or a trace with its
    observations."""
    if "resourceSpans" in fields:
        return "OpenTelemetry spans"
    return _kind_of_span(fields) or _kind_of_trace(fields)


def _kind_of_span(fields: Mapping[str, Any]) -> str | None:
    names = fields.keys()
    if ("context.trace_id" in names and "input" not in names) or (
        isinstance(fields.get("context"), dict) and "trace_id" in fields["context"]
    ):
        return "Phoenix spans"
    if names >= OF_OPIK:
        return "Opik trace"
    if names & {"traceId", "trace_id"}:
        # Langfuse has a `traceId` too, but ids of observations in place of spans.
        if names & {"spanId", "span_id"}:
            return "OpenTelemetry spans"
        if names & {"type", "observationType"} and "input" in names:
            return "Langfuse observations"
    return None


def _kind_of_trace(fields: Mapping[str, Any]) -> str | None:
    names = fields.keys()
    if isinstance(fields.get("observations"), list) and names & _OF_A_TRACE:
        return "Langfuse traces"
    if opik_spans(fields) is not None:
        return "Opik trace"
    if {"run_type", "inputs", "outputs"} <= names:
        return "LangSmith runs"
    if {"event_id", "record_attributes"} <= names:
        return "TruLens events"
    if isinstance(mlflow_spans(fields), list):
        return "MLflow traces of spans"
    return (
        "Langfuse traces"
        if {"id", "timestamp", "input", "output"} <= names and names & _OF_LANGFUSE
        else None
    )


def opik_spans(fields: Mapping[str, Any]) -> list[Any] | None:
    """Return the spans beside a trace in a file of Opik."""
    spans = fields.get("spans")
    return (
        spans
        if isinstance(fields.get("trace"), dict)
        and isinstance(spans, list)
        and "trace_id" not in fields
        else None
    )


def mlflow_spans(fields: Mapping[str, Any]) -> list[Any] | None:
    """Return the spans of a trace of MLflow, as its data frames, files and records have them."""
    data = opened(fields.get("data")) if "info" in fields else fields
    spans = opened(data.get("spans")) if isinstance(data, dict) else None
    return (
        spans
        if isinstance(spans, list) and {"trace_id", "request_id", "info"} & fields.keys()
        else None
    )
