"""Convert traces of question-answering systems, and results of chains, to rows of samples.

Formats are recognized by their fields: spans of OpenInference and of the OpenTelemetry conventions
for generative AI (as exporters and Phoenix write them), traces and observations of Langfuse,
results of LangChain chains and responses of LlamaIndex. The spans of a trace become one row with
question, contexts, answer and generator.
"""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import Any, NamedTuple, TypeVar

from claimeval.data.cells import parse_json
from claimeval.data.documents import document, listed
from claimeval.data.paths import opened, values_at
from claimeval.data.rows import SourceRow, plain
from claimeval.types.errors import DataError

Other = TypeVar("Other")

_KIND_NAMES = {
    "retriever": ("retriever", "retrieval"),
    "reranker": ("reranker",),
    "llm": ("llm", "chat", "text_completion", "generate_content", "generation", "chat_model"),
    "chain": ("chain", "agent", "invoke_agent", "invoke_workflow", "span", "trace", "workflow"),
    "other": (
        *(
            "embedding",
            "embeddings",
            "tool",
            "execute_tool",
            "guardrail",
            "evaluator",
            "event",
            "prompt",
        ),
        *("create_agent", "plan"),
    ),
}
_KINDS = {name: kind for kind, names in _KIND_NAMES.items() for name in names}
"""The kind of a span by its OpenInference kind, GenAI operation or Langfuse type."""
_KIND = ("openinference.span.kind", "gen_ai.operation.name")
_MODEL = ("llm.model_name", "gen_ai.response.model", "gen_ai.request.model")
_PROVIDER = ("llm.provider", "gen_ai.provider.name", "gen_ai.system", "llm.system")
_SESSION = ("session.id", "gen_ai.conversation.id", "langfuse.session.id")
_TRACE = ("context.trace_id", "trace_id", "traceId", "id")
_SPAN = ("context.span_id", "span_id", "spanId", "id")
_PARENT = (
    "parent_id",
    "parentSpanId",
    "parentObservationId",
    "parent_observation_id",
    "parent_span_id",
    "parent_run_id",
)
_START = ("start_time", "startTimeUnixNano", "start_time_unix_nano", "startTime", "timestamp")
_OF_TOOLS = {
    "openinference.span.kind": (
        "type",
        "observationType",
        "observation_type",
        "run_type",
        "mlflow.spanType",
        "span_type",
    ),
    "input.value": ("input", "mlflow.spanInputs", "inputs"),
    "output.value": ("output", "mlflow.spanOutputs", "outputs"),
    "reference.value": ("expectedOutput", "expected_output", "reference_outputs"),
    "llm.model_name": ("model", "providedModelName", "provided_model_name", "modelId"),
    "session.id": ("sessionId", "session_id"),
}
"""Attributes of OpenInference, and their names in the spans of Langfuse, Opik, LangSmith and
MLflow."""
_ASKED = (
    "gen_ai.retrieval.query.text",
    "reranker.query",
    "input.value",
    "gen_ai.input.messages",
    "llm.input_messages",
    "gen_ai.prompt",
)
_SAID = ("llm.output_messages", "gen_ai.completion", "output.value", "gen_ai.output.messages")
_RETRIEVED = ("reranker.output_documents", "retrieval.documents", "gen_ai.retrieval.documents")
_ID_BESIDE = ("metadata.id", "metadata.doc_id")
_WHOLE = {*_ASKED, *_SAID, "reference.value", "gen_ai.retrieval.documents", "metadata"}
_WHOLE -= {"llm.input_messages", "llm.output_messages"}
"""Attributes that are values, not prefixes of others."""

_QUESTION = (
    *(
        "question",
        "query",
        "user_input",
        "input",
        "query_str",
        "user_query",
        "prompt",
        "message",
        "messages",
    ),
    *("text", "content", "parts", "kwargs"),
)
_ANSWER = (
    *(
        "answer",
        "response",
        "output",
        "result",
        "output_text",
        "message",
        "messages",
        "choices",
        "generations",
    ),
    *("text", "content", "parts", "kwargs"),
)
_ROLES = {
    "user": _QUESTION,
    "human": _QUESTION,
    "assistant": _ANSWER,
    "ai": _ANSWER,
    "model": _ANSWER,
}
_DOCUMENT = re.compile(
    r"(?P<list>retrieval\.documents|reranker\.output_documents)\.(?P<rank>\d+)\.document\.(?P<field>\w+)"
)
_MESSAGE = re.compile(
    r"(?P<list>llm\.input_messages|llm\.output_messages|gen_ai\.prompt|gen_ai\.completion)\.(?P<rank>\d+)\."
    r"(?:message\.)?(?P<field>role|content|contents\.\d+\.message_content\.text)"
)
_BESIDE = (
    *(
        "contexts",
        "context",
        "retrieved_contexts",
        "retrieved_context",
        "retrieved_documents",
        "retrieval_context",
    ),
    *(
        "documents",
        "docs",
        "source_documents",
        "source_nodes",
        "sources",
        "chunks",
        "passages",
        "results",
    ),
)
"""Names of the documents in what went into or came out of a span."""
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
_OF_OPIK = frozenset({"trace_id", "trace_start_time", "span_parent_span_id"})
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
_EXPECTED = [
    f"assessments[{name}=expected_response].expectation.value"
    for name in ("assessment_name", "name")
]
"""Paths of the gold answer in a trace of MLflow."""
_NAMED = 3
"""Number of names of unknown spans in the warning."""


class _Span(NamedTuple):
    """The relevant content of a span."""

    trace: str
    id: str
    parent: str
    name: str
    start: str
    session: str
    kind: str = ""
    """Empty if it is unknown."""
    question: str | None = None
    answer: str | None = None
    documents: Sequence[dict[str, Any]] = ()
    """Of a chain, those in what went into or came out of it."""
    model: str = ""
    response: str = ""
    """The provider's id of the answer."""
    reference: str | None = None
    said: str | None = None
    """The object with texts that came out, as JSON, if none of its keys is known for an answer."""


class _Trace:
    """The spans of a trace."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.spans: list[_Span] = []
        self.session = ""


def samples_in(rows: Iterable[SourceRow | Other]) -> Iterator[SourceRow | Other]:
    """Yield rows of samples. If the first row is a span, yield one row per trace.

    All spans are read before the first row, because those of a trace need not be consecutive. Spans
    of unknown kinds are counted in a warning. Rows of other types than `SourceRow` are passed on.

    Raises:
        DataError: If no trace has a question or an answer.
    """
    iterator = iter(rows)
    first = list(islice(iterator, 1))
    rows = chain(first, iterator)
    if not first or not isinstance(first[0], SourceRow) or not trace_kind(first[0].fields):
        return rows
    return _traces(row for row in rows if isinstance(row, SourceRow))


def trace_kind(fields: Mapping[str, Any]) -> str | None:
    """Return which kind of `TRACES` a row is from: a span, several spans, or a trace with its
    observations."""
    names = fields.keys()
    if "resourceSpans" in names:
        return "OpenTelemetry spans"
    if ("context.trace_id" in names and "input" not in names) or (
        isinstance(fields.get("context"), dict) and "trace_id" in fields["context"]
    ):
        return "Phoenix spans"
    if names >= _OF_OPIK:
        return "Opik trace"
    if names & {"traceId", "trace_id"}:
        if names & {"spanId", "span_id"}:
            return "OpenTelemetry spans"
        if names & {"type", "observationType"} and "input" in names:
            return "Langfuse observations"
    if isinstance(fields.get("observations"), list):
        return "Langfuse traces"
    if _opik_spans(fields) is not None:
        return "Opik trace"
    if {"run_type", "inputs", "outputs"} <= names:
        return "LangSmith runs"
    if {"event_id", "record_attributes"} <= names:
        return "TruLens events"
    if isinstance(_mlflow_spans(fields), list):
        return "MLflow traces of spans"
    return (
        "Langfuse traces"
        if {"id", "timestamp", "input", "output"} <= names and names & _OF_LANGFUSE
        else None
    )


def _traces(rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
    traces: dict[str, _Trace] = {}
    unknown: Counter[str] = Counter()
    location = "traces"
    for row in rows:
        location = row.location
        for span in _spans(row.fields):
            trace = traces.setdefault(span.trace, _Trace(row.location))
            trace.session = trace.session or span.session
            if span.kind:
                trace.spans.append(span)
            else:
                unknown[span.name or "(no name)"] += 1
    unanswered = 0
    number = 0
    for name, trace in traces.items():
        if fields := _sample(name, trace):
            number += 1
            yield SourceRow(f"{trace.location}, trace {name}", number, fields)
        else:
            unanswered += 1
    if not number:
        raise DataError(f"{location}: {len(traces)} traces, none with a question or an answer")
    parts = (
        [f"traces without a question or an answer, left out: {unanswered}"] if unanswered else []
    )
    if total := unknown.total():
        names = ", ".join(f"{name} {n}" for name, n in unknown.most_common(_NAMED))
        more = f", and {len(unknown) - _NAMED} other names" if len(unknown) > _NAMED else ""
        parts.insert(0, f"spans of unknown kinds, left out: {total} ({names}{more})")
    if parts:
        warnings.warn("; ".join(parts), stacklevel=2)


def _spans(fields: Mapping[str, Any]) -> Iterator[_Span]:
    """Yield the spans in a row."""
    if "resourceSpans" in fields:
        yield from map(
            _span, _listed(list(values_at(fields, "resourceSpans[*].scopeSpans[*].spans[*]")))
        )
    elif isinstance(observations := fields.get("observations", _opik_spans(fields)), list):
        top = fields["trace"] if isinstance(fields.get("trace"), dict) else fields
        name = str(top.get("id", ""))
        yield _of_tool(top, name)
        yield from (_of_tool(observation, name, name) for observation in _listed(observations))
    elif fields.keys() >= _OF_OPIK:
        name = str(fields["trace_id"])
        yield _of_tool(_opik_columns(fields, "trace_"), name)
        yield _of_tool(_opik_columns(fields, "span_"), name, name)
    elif "run_type" in fields:
        name = _first(fields, ("trace_id", "id"))
        model = _first(fields, ("extra.metadata.ls_model_name",))
        yield _of_tool(
            {**fields, "model": model, "session_id": None}, name
        )  # the session of LangSmith is a project
        for run in _listed(fields.get("child_runs")):
            yield from _spans({"trace_id": name, **run})
    elif "record_attributes" in fields:
        yield _trulens(fields)
    elif spans := _mlflow_spans(fields):
        info = opened(fields.get("info")) if "info" in fields else fields
        name = _first(info, ("trace_id", "request_id"))
        expected = next(chain.from_iterable(values_at(info, path) for path in _EXPECTED), None)
        for span in _listed(spans):
            yield _of_tool({**span, **_attributes(span), "expected_output": expected}, name)
    elif "input" in fields and "output" in fields and "attributes" not in fields:
        yield _of_tool(fields, _first(fields, _TRACE))
    else:
        yield _span(fields)


def _listed(value: Any) -> list[dict[str, Any]]:
    return [
        item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)
    ]


def _attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a span or event: an object, its JSON, or OTLP's list of keys and
    values."""
    attributes = opened(fields.get("attributes"))
    if isinstance(attributes, list):
        return {str(pair.get("key")): _any_value(pair.get("value")) for pair in _listed(attributes)}
    return (
        {str(name): value for name, value in attributes.items()}
        if isinstance(attributes, dict)
        else {}
    )


def _trulens(fields: Mapping[str, Any]) -> _Span:
    """Return an event of TruLens as a span; those of an evaluation have neither a question nor an
    answer."""
    attributes = _attributes({"attributes": fields["record_attributes"]})
    recorded = {name.removeprefix("ai.observability."): value for name, value in attributes.items()}
    span = {
        "id": fields["event_id"],
        "parent_id": _first(fields, ("record.parent_span_id",)),
        "start_time": fields.get("start_timestamp"),
        "type": recorded.get("span_type"),
        "input": recorded.get("record_root.input"),
        "output": recorded.get("record_root.output"),
        "expected_output": recorded.get("record_root.ground_truth_output"),
        "model": recorded.get("cost.model"),
        "attributes": {"retrieval.documents": recorded.get("retrieval.retrieved_contexts")},
    }
    return _of_tool(span, str(recorded.get("record_id")))


def _opik_spans(fields: Mapping[str, Any]) -> list[Any] | None:
    """Return the spans beside a trace in a file of Opik."""
    spans = fields.get("spans")
    return (
        spans
        if isinstance(fields.get("trace"), dict)
        and isinstance(spans, list)
        and "trace_id" not in fields
        else None
    )


def _opik_columns(fields: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the trace or the span in a row of Opik's table, where names begin with a prefix and
    `_` is for a dot."""
    own = {
        name.removeprefix(prefix): value
        for name, value in fields.items()
        if name.startswith(prefix)
    }
    for put in ("input", "output"):
        inner = {
            name[len(put) + 1 :]: value
            for name, value in own.items()
            if name.startswith(f"{put}_") and value
        }
        own[put] = inner or own.get(put)
    return own


def _mlflow_spans(fields: Mapping[str, Any]) -> list[Any] | None:
    """Return the spans of a trace of MLflow, as its data frames, files and records have them."""
    data = opened(fields.get("data")) if "info" in fields else fields
    spans = opened(data.get("spans")) if isinstance(data, dict) else None
    return (
        spans
        if isinstance(spans, list) and {"trace_id", "request_id", "info"} & fields.keys()
        else None
    )


def _any_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "arrayValue" in value:
        return [_any_value(item) for item in _listed(value["arrayValue"].get("values") or [])]
    if "kvlistValue" in value:
        pairs = _listed(value["kvlistValue"].get("values") or [])
        return {str(pair.get("key")): _any_value(pair.get("value")) for pair in pairs}
    return next(iter(value.values()), None)


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested attributes under names with dots, such as
    `retrieval.documents.0.document.content`."""
    if prefix in _WHOLE or not value or not isinstance(value, (dict, list)):
        yield prefix, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{prefix}.{number}")
    else:
        yield prefix, value


def _of_tool(fields: Mapping[str, Any], trace: str, parent: str = "") -> _Span:
    """Return a span of a tool that records input and output: those of unknown kinds are parts of a
    chain."""
    attributes = {
        name: next(filter(None, map(fields.get, keys)), None) for name, keys in _OF_TOOLS.items()
    }
    kind = str(_parsed(attributes["openinference.span.kind"]))
    attributes["openinference.span.kind"] = kind if kind.lower() in _KINDS else "chain"
    return _span({**fields, "attributes": {**_attributes(fields), **attributes}}, trace, parent)


def _span(fields: Mapping[str, Any], trace: str | None = None, parent: str = "") -> _Span:
    """Return the relevant content of a span, without a kind if that is unknown."""
    columns = {name[11:]: value for name, value in fields.items() if name.startswith("attributes.")}
    attributes = dict(_flat({**columns, **_attributes(fields)}))
    if (kind := fields.get("span_kind")) and isinstance(kind, str):
        attributes.setdefault("openinference.span.kind", kind)
    for event in _listed(fields.get("events")):
        if str(event.get("name", "")).startswith("gen_ai."):
            attributes = {**_attributes(event), **attributes}
    name = _first(fields, _SPAN).removeprefix("0x")
    above = _first(fields, _PARENT).removeprefix("0x") or parent
    facts = _Span(
        trace=_first(fields, _TRACE).removeprefix("0x") if trace is None else trace,
        id=name,
        parent="" if above == name else above,
        name=_first(fields, ("name",)),
        start=_first(fields, _START),
        session=_first(attributes, _SESSION),
    )
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for name, value in attributes.items():
        if match := _DOCUMENT.fullmatch(name) or _MESSAGE.fullmatch(name):
            field = match["field"].partition(".")[0].removesuffix("s")
            found.setdefault(match["list"], {}).setdefault(int(match["rank"]), {})[field] = value
    by_name = {
        **attributes,
        **{name: [entry for _, entry in sorted(ranked.items())] for name, ranked in found.items()},
    }
    output = attributes.get("output.value")
    kind = _KINDS.get(_first(attributes, _KIND).lower(), "")
    documents = next((by_name[name] for name in _RETRIEVED if by_name.get(name)), None)
    pages = _are_pages(output)
    if kind not in ("retriever", "reranker", "llm") and (documents or pages):
        kind = "chain" if kind == "chain" and not pages and _text(output, _ANSWER) else "retriever"
    model = _first(attributes, _MODEL)
    provider = _first(attributes, _PROVIDER)
    kind = kind or ("llm" if model else "")
    if not kind:
        return facts
    asked = _ASKED if kind != "llm" else tuple(reversed(_ASKED))
    question = next((text for name in asked if (text := _text(by_name.get(name), _QUESTION))), None)
    facts = facts._replace(kind=kind, question=question)
    if kind in ("retriever", "reranker"):
        return facts._replace(documents=_documents(output if documents is None else documents))
    beside = (
        _documents(documents or []) or _beside(output) or _beside(attributes.get("input.value"))
    )
    answer = next((text for name in _SAID if (text := _text(by_name.get(name), _ANSWER))), None)
    return facts._replace(
        answer=answer,
        said=None if answer else _as_json(output),
        model=f"{provider}:{model}" if model and provider and ":" not in model else model,
        response=_first(attributes, ("gen_ai.response.id",)),
        documents=[] if kind == "llm" else beside,
        reference=_text(attributes.get("reference.value"), _ANSWER),
    )


def _beside(value: Any, depth: int = 2) -> list[dict[str, Any]]:
    """Return the documents under a name for them in an object, or in the objects in it."""
    value = _parsed(value)
    if not isinstance(value, dict):
        return []
    for name in _BESIDE:
        items = listed(value.get(name))
        if items and all(isinstance(item, str) or document(item) for item in items):
            return _documents(items)
    return next(
        (found for inner in value.values() if depth and (found := _beside(inner, depth - 1))), []
    )


def _sample(name: str, trace: _Trace) -> dict[str, Any] | None:
    """Return the row of a trace; None without a question and an answer.

    The question and the answer are those of the top spans, else those of the retrieval and of the
    last model call. The documents of a reranker replace those of the retrieval.
    """
    spans = sorted(
        trace.spans,
        key=lambda span: (
            (len(span.start), span.start) if span.start.isdecimal() else (0, span.start)
        ),
    )
    with_text = [
        span
        for span in spans
        if span.kind in ("chain", "llm") and any((span.question, span.answer, span.said))
    ]
    parents = {span.id: span.parent for span in spans}
    depth = {span.id: _depth(span.id, parents) for span in with_text}
    top_depth = min(depth.values(), default=0)
    top = [span for span in with_text if depth[span.id] == top_depth]
    calls = [span for span in with_text if span.kind == "llm"]
    retrievals = [span for span in spans if span.kind in ("retriever", "reranker")]
    asking = [*(span for span in top if span.kind == "chain"), *retrievals, *top, *calls]
    question = next((span.question for span in asking if span.question), None)
    saying = [*reversed(top), *reversed(calls), *reversed(with_text)]
    last = next((span for span in saying if span.answer), None)
    answer = last.answer if last else next((span.said for span in saying if span.said), None)
    if question is None and answer is None:
        return None
    metadata = {
        "trace_id": name,
        "span_id": (last or (top or retrievals or spans)[-1]).id,
        "conversation": trace.session,
        "response_id": next((span.response for span in reversed(calls) if span.response), None),
    }
    reranked = [span for span in retrievals if span.kind == "reranker"]
    contexts = next(
        (span.documents for span in [*reversed(top), *reversed(with_text)] if span.documents), None
    )
    if retrievals and (any(span.documents for span in retrievals) or not contexts):
        contexts = [found for span in reranked[-1:] or retrievals for found in span.documents]
    reference = next((span.reference for span in top if span.reference), None)
    fields = {
        "id": name,
        "question": question or "",
        "answer": answer,
        "contexts": None if contexts is None else _unique(contexts),
        "reference_answers": reference and [reference],
        "generator": next(
            (span.model for span in (*reversed(calls), *reversed(top)) if span.model), None
        ),
        "metadata": {key: value for key, value in metadata.items() if value},
    }
    return {key: value for key, value in fields.items() if value is not None or key == "answer"}


def _depth(name: str, parents: Mapping[str, str]) -> int:
    """Return the number of known spans above a span."""
    spans = {name}
    while (name := parents.get(name, "")) in parents and name not in spans:
        spans.add(name)
    return len(spans) - 1


def _unique(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return documents without duplicates, with unique ids."""
    distinct: dict[tuple[Any, Any], dict[str, Any]] = {}
    for each in found:
        distinct.setdefault((each.get("id"), each["text"]), each)
    names: dict[str, dict[str, Any]] = {}
    for rank, each in enumerate(distinct.values(), 1):
        given = rank if each.get("id") in (None, "") else each["id"]
        name = next(
            name for n in count(1) if (name := f"{given}#{n}" if n > 1 else str(given)) not in names
        )
        names[name] = {**each, "id": name}
    return list(names.values())


def _documents(value: Any) -> list[dict[str, Any]]:
    """Return the documents in a value: a list of objects or texts, or an object with such a
    list."""
    value = _parsed(value)
    if isinstance(value, dict):
        value = next((listed for listed in value.values() if isinstance(listed, list)), [value])
    items = [
        item
        for item in (value if isinstance(value, list) else [value])
        if isinstance(item, (str, dict))
    ]
    return [
        {
            "id": (isinstance(item, dict) and _first(item, _ID_BESIDE)) or None,
            "text": "",
            **(document(item) or {}),
        }
        for item in items
    ]


def _are_pages(value: Any) -> bool:
    value = _parsed(value) if isinstance(value, str) and "page_content" in value else value
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(p, dict) and "page_content" in p for p in value)
    )


def _first(fields: Mapping[str, Any], paths: Iterable[str]) -> str:
    """Return the first of these values that is a text or a number, as text; empty if there is
    none."""
    for path in paths:
        value = fields.get(path)
        if value is None and "." in path and path.partition(".")[0] in fields:
            value = next(values_at(fields, path), None)
        if isinstance(value, (str, int, float)) and value == value and value != "":
            return str(value)
    return ""


def _parsed(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def spoken(value: Any, field: str) -> str | None:
    """Return the question or the answer in an object, in messages or in JSON; None if there is
    none."""
    return _text(value, _QUESTION if field == "question" else _ANSWER)


def _text(value: Any, keys: tuple[str, ...]) -> str | None:
    """Return the text in the input or output of a span; of messages, the last one of the user or
    the assistant."""
    original = value
    value = _parsed(value)
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, list):
        roles = [(message, _ROLES.get(_role(message))) for message in value]
        if any(role for _, role in roles):
            value = [message for message, role in roles if role is keys]
        texts = (_text(message, keys) for message in reversed(value))
        first = next((text for text in texts if text), None)
    elif isinstance(value, dict):
        first = next((text for key in keys if (text := _text(value.get(key), keys))), None)
    else:
        return None
    return first or (
        original if isinstance(original, str) and not isinstance(value, dict) else None
    )


def _as_json(value: Any) -> str | None:
    """Return an object with texts as JSON; None for other values."""
    parsed = _parsed(value)
    has_text = isinstance(parsed, dict) and any(isinstance(inner, str) for inner in parsed.values())
    return json.dumps(parsed, ensure_ascii=False) if has_text else None


def _role(message: Any) -> str:
    if not isinstance(message, dict):
        return ""
    role = message.get("role") or message.get("type")
    return role.lower() if isinstance(role, str) else ""


def unpacked(item: Any) -> Any:
    """Return the fields of a row; a response of LlamaIndex in it becomes answer and contexts.

    An object with `source_nodes` is a response, one with `page_content` a document, so that neither
    package is imported. A response that is streamed is read to its end.
    """
    if _is_response(item):
        return _of_response(item)
    if isinstance(item, Mapping):
        fields: dict[str, Any] = {}
        for name, value in item.items():
            fields |= _of_response(value) if _is_response(value) else {str(name): _content(value)}
        return plain(fields)
    return plain(item)


def _is_response(value: Any) -> bool:
    return hasattr(value, "source_nodes") and not isinstance(value, Mapping)


def _of_response(response: Any) -> dict[str, Any]:
    answer = response if "response_gen" in dir(response) else response.response
    return {
        "answer": None if answer is None else str(answer),
        "contexts": _content(response.source_nodes),
    }


def _content(value: Any) -> Any:
    """Return the text of a message of LangChain, the fields of its documents and of nodes of
    LlamaIndex."""
    if isinstance(content := getattr(value, "content", None), (str, list)) and hasattr(
        value, "type"
    ):
        parts = [content] if isinstance(content, str) else content
        return "".join(
            part if isinstance(part, str) else str(part.get("text", "")) for part in parts
        )
    return _page(value)


def _page(item: Any) -> Any:
    """Return the fields of a document of LangChain or a node of LlamaIndex, also in lists; other
    values stay."""
    if isinstance(item, (list, tuple)):
        return [_page(value) for value in item]
    if hasattr(item, "page_content") and not dataclasses.is_dataclass(item):
        return {"id": getattr(item, "id", None), "page_content": item.page_content}
    node = getattr(item, "node", item)
    if hasattr(node, "get_content") and hasattr(node, "node_id"):
        return {
            "id": node.node_id,
            "text": node.get_content(),
            "score": plain(getattr(item, "score", None)),
        }
    return item
