"""Convert traces of question-answering systems, and results of chains, to rows of samples.

Formats are recognized by their fields: spans of OpenInference and of the OpenTelemetry conventions
for generative AI (as exporters and Phoenix write them), traces and observations of Langfuse,
results of LangChain chains and responses of LlamaIndex. The spans of a trace become one row with
question, contexts, answer and generator.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import Any, NamedTuple, TypeVar

from claimeval.data.conversations import parsed, spoken
from claimeval.data.documents import document, listed
from claimeval.data.paths import opened, values_at
from claimeval.data.rows import SourceRow
from claimeval.data.trace_kinds import OF_OPIK, mlflow_spans, opik_spans, trace_kind
from claimeval.types.errors import DataError

Other = TypeVar("Other")

_KIND_NAMES = {
    "retriever": ("retriever", "retrieval", "vector_db_retrieve"),
    "reranker": ("reranker",),
    "llm": ("llm", "chat", "text_completion", "generate_content", "generation", "chat_model"),
    "chain": ("chain", "agent", "invoke_agent", "invoke_workflow", "span", "trace", "workflow"),
    "other": (
        "embedding",
        "embeddings",
        "tool",
        "execute_tool",
        "guardrail",
        "evaluator",
        "event",
        "prompt",
        "create_agent",
        "plan",
        "task",
        "execute_task",
    ),
}
_KINDS: dict[str, str] = {}
for _kind_name, _names in _KIND_NAMES.items():
    _KINDS.update(dict.fromkeys(_names, _kind_name))
"""The kind of a span by its OpenInference kind, GenAI operation or Langfuse type."""
_KIND_UNDER = ("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind")
_RETRIEVING = ("retriever", "reranker")
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
_OF_TRACELOOP = (
    ("input.value", "traceloop.entity.input", "inputs"),
    ("output.value", "traceloop.entity.output", "outputs"),
)
"""Attributes of OpenInference, their names in spans of OpenLLMetry, and the key that holds them."""
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

_DOCUMENT = re.compile(
    r"(?P<list>retrieval\.documents|reranker\.output_documents)"
    r"\.(?P<rank>\d+)\.document\.(?P<field>\w+)"
)
_MESSAGE = re.compile(
    r"(?P<list>llm\.input_messages|llm\.output_messages|gen_ai\.prompt|gen_ai\.completion)"
    r"\.(?P<rank>\d+)\."
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
_EXPECTED = [
    f"assessments[{name}=expected_response].expectation.value"
    for name in ("assessment_name", "name")
]
"""Paths of the gold answer in a trace of MLflow."""
_NAMED = 3
"""Number of names of unknown spans in the warning."""


class _TraceSpan(NamedTuple):
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

    @property
    def speaks(self) -> bool:
        """Whether it is a chain or a call of a model that has a text."""
        return self.kind in ("chain", "llm") and any((self.question, self.answer, self.said))


class _Trace:
    """The spans of a trace."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.spans: list[_TraceSpan] = []
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


def _traces(rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
    traces: dict[str, _Trace] = {}
    unknown: Counter[str] = Counter()
    location = "traces"
    for row in rows:
        location = row.location
        for span in _spans(row.fields):
            trace = traces.setdefault(span.trace, _Trace(row.location))
            # Only some spans of a trace carry the session, often the outermost alone.
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
    parts = [*_unknown_spans(unknown)]
    if unanswered:
        parts.append(f"traces without a question or an answer, left out: {unanswered}")
    if parts:
        warnings.warn("; ".join(parts), stacklevel=2)


def _unknown_spans(unknown: Counter[str]) -> Iterator[str]:
    """Yield how many spans are left out because nobody knows their kind."""
    if total := unknown.total():
        names = ", ".join(f"{name} {n}" for name, n in unknown.most_common(_NAMED))
        more = f", and {len(unknown) - _NAMED} other names" if len(unknown) > _NAMED else ""
        yield f"spans of unknown kinds, left out: {total} ({names}{more})"


def _spans(fields: Mapping[str, Any]) -> Iterator[_TraceSpan]:
    """Yield the spans in a row."""
    if "resourceSpans" in fields:
        yield from map(
            _span, _listed(list(values_at(fields, "resourceSpans[*].scopeSpans[*].spans[*]")))
        )
    elif isinstance(observations := fields.get("observations", opik_spans(fields)), list):
        top = fields["trace"] if isinstance(fields.get("trace"), dict) else fields
        name = str(top.get("id", ""))
        yield _of_tool(top, name)
        yield from (_of_tool(observation, name, name) for observation in _listed(observations))
    elif fields.keys() >= OF_OPIK:
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
    elif spans := mlflow_spans(fields):
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


def _trulens(fields: Mapping[str, Any]) -> _TraceSpan:
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


def _of_tool(fields: Mapping[str, Any], trace: str, parent: str = "") -> _TraceSpan:
    """Return a span of a tool that records input and output: those of unknown kinds are parts of a
    chain."""
    attributes = {
        name: next(filter(None, map(fields.get, keys)), None) for name, keys in _OF_TOOLS.items()
    }
    kind = str(parsed(attributes["openinference.span.kind"]))
    # Langfuse calls everything else a span or an event.
    attributes["openinference.span.kind"] = kind if kind.lower() in _KINDS else "chain"
    return _span({**fields, "attributes": {**_attributes(fields), **attributes}}, trace, parent)


def _span(fields: Mapping[str, Any], trace: str | None = None, parent: str = "") -> _TraceSpan:
    """Return the relevant content of a span, without a kind if that is unknown."""
    attributes = _all_attributes(fields)
    span = _placed(fields, attributes, trace, parent)
    by_name = {**attributes, **_lists(attributes)}
    output = attributes.get("output.value")
    retrieved = next((by_name[name] for name in _RETRIEVED if by_name.get(name)), None)
    model = _first(attributes, _MODEL)
    answer = _spoken_under(_SAID, by_name, "assistant")
    kind = _kind(attributes, retrieved, answer, has_model=bool(model))
    if not kind:
        return span
    # a chain is asked by what went into it, a model by the messages that it was sent
    asked = reversed(_ASKED) if kind == "llm" else _ASKED
    span = span._replace(kind=kind, question=_spoken_under(asked, by_name, "user"))
    if kind in _RETRIEVING:
        return span._replace(documents=_documents(output if retrieved is None else retrieved))
    documents: list[dict[str, Any]] = []
    if kind != "llm":
        documents = (
            _documents(retrieved or []) or _beside(output) or _beside(attributes.get("input.value"))
        )
    provider = _first(attributes, _PROVIDER)
    return span._replace(
        answer=answer,
        said=None if answer else _as_json(output),
        model=f"{provider}:{model}" if model and provider and ":" not in model else model,
        response=_first(attributes, ("gen_ai.response.id",)),
        documents=documents,
        reference=spoken(attributes.get("reference.value"), "assistant"),
    )


def _all_attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a span by names with dots: its own, those of columns and of
    events."""
    columns = {name[11:]: value for name, value in fields.items() if name.startswith("attributes.")}
    attributes = dict(_flat({**columns, **_attributes(fields)}))
    kind = fields.get("span_kind")
    if kind and isinstance(kind, str):
        attributes.setdefault("openinference.span.kind", kind)
    for event in _listed(fields.get("events")):
        if str(event.get("name", "")).startswith("gen_ai."):
            attributes = {**_attributes(event), **attributes}
    for name, of_traceloop, within in _OF_TRACELOOP:
        if of_traceloop in attributes:
            attributes.setdefault(name, _unwrapped(attributes[of_traceloop], within))
    return attributes


def _unwrapped(value: Any, within: str) -> Any:
    """Return what OpenLLMetry recorded: tags of LangChain are beside it, and arguments of a
    function in `args` and `kwargs`."""
    content = parsed(value)
    if not isinstance(content, dict):
        return value
    if content.get(within) is not None:
        return content[within]
    if content.keys() == {"args", "kwargs"}:
        return content["kwargs"] or next(iter(content["args"] or ()), None)
    return content


def _placed(
    fields: Mapping[str, Any],
    attributes: Mapping[str, Any],
    trace: str | None,
    parent: str,
) -> _TraceSpan:
    """Return where a span is in its trace."""
    name = _first(fields, _SPAN).removeprefix("0x")
    above = _first(fields, _PARENT).removeprefix("0x") or parent
    return _TraceSpan(
        trace=_first(fields, _TRACE).removeprefix("0x") if trace is None else trace,
        id=name,
        parent="" if above == name else above,
        name=_first(fields, ("name",)),
        start=_first(fields, _START),
        session=_first(attributes, _SESSION),
    )


def _lists(attributes: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the documents and messages whose fields are attributes with the number in the name."""
    by_list: dict[str, dict[int, dict[str, Any]]] = {}
    for name, value in attributes.items():
        if match := _DOCUMENT.fullmatch(name) or _MESSAGE.fullmatch(name):
            field = match["field"].partition(".")[0].removesuffix("s")
            entries = by_list.setdefault(match["list"], {})
            entries.setdefault(int(match["rank"]), {})[field] = value
    return {
        name: [entry for _, entry in sorted(entries.items())] for name, entries in by_list.items()
    }


def _kind(
    attributes: Mapping[str, Any], retrieved: Any, answer: str | None, *, has_model: bool
) -> str:
    """Return the kind of a span; empty if it is unknown.

    What holds documents is a retrieval, whatever it is called, unless it is a chain with an answer.
    """
    named = (_KINDS.get(str(attributes.get(name)).lower()) for name in _KIND_UNDER)
    kind = next(filter(None, named), "")
    if kind in (*_RETRIEVING, "llm"):
        return kind
    pages = _are_pages(attributes.get("output.value"))
    if retrieved or pages:
        is_chain = kind == "chain" and not pages and answer
        return "chain" if is_chain else "retriever"
    return kind or ("llm" if has_model else "")


def _spoken_under(names: Iterable[str], values: Mapping[str, Any], role: str) -> str | None:
    """Return the first text of a role under one of these names."""
    texts = (spoken(values.get(name), role) for name in names)
    return next((text for text in texts if text), None)


def _beside(value: Any, depth: int = 2) -> list[dict[str, Any]]:
    """Return the documents under a name for them in an object, or in the objects in it."""
    value = parsed(value)
    if not isinstance(value, dict):
        return []
    for name in _BESIDE:
        items = listed(value.get(name))
        if items and all(isinstance(item, str) or document(item) for item in items):
            return _documents(items)
    return next(
        (found for inner in value.values() if depth and (found := _beside(inner, depth - 1))), []
    )


class _Parts(NamedTuple):
    """The spans of a trace that have its question, answer and documents, in their order."""

    speaking: list[_TraceSpan]
    """Chains and calls of models with a text."""
    top: list[_TraceSpan]
    """The outermost of them."""
    calls: list[_TraceSpan]
    retrievals: list[_TraceSpan]

    @classmethod
    def of(cls, spans: Sequence[_TraceSpan]) -> _Parts:
        """Return the parts of spans in their order."""
        speaking = [span for span in spans if span.speaks]
        parents = {span.id: span.parent for span in spans}
        depth = {span.id: _depth(span.id, parents) for span in speaking}
        top_depth = min(depth.values(), default=0)
        return cls(
            speaking,
            [span for span in speaking if depth[span.id] == top_depth],
            [span for span in speaking if span.kind == "llm"],
            [span for span in spans if span.kind in _RETRIEVING],
        )

    @property
    def question(self) -> str | None:
        """The question of the outermost chain, else of a retrieval, else of a model."""
        chains = [span for span in self.top if span.kind == "chain"]
        asking = [*chains, *self.retrievals, *self.top, *self.calls]
        return next((span.question for span in asking if span.question), None)

    @property
    def saying(self) -> list[_TraceSpan]:
        """The spans that may have the answer, likeliest first: the last ones go before others."""
        return [*reversed(self.top), *reversed(self.calls), *reversed(self.speaking)]

    @property
    def last(self) -> _TraceSpan | None:
        """The span with the answer."""
        return next((span for span in self.saying if span.answer), None)

    @property
    def object_said(self) -> str | None:
        """The object with texts that came out, if there is no answer."""
        return next((span.said for span in self.saying if span.said), None)

    @property
    def response(self) -> str | None:
        """The provider's id of the answer."""
        return next((span.response for span in reversed(self.calls) if span.response), None)

    @property
    def documents(self) -> Sequence[dict[str, Any]] | None:
        """What was retrieved, by the last reranker if there is one; else what stands beside a
        question or an answer."""
        lists = [span.documents for span in self.retrievals]
        beside = [*reversed(self.top), *reversed(self.speaking)]
        documents = next((span.documents for span in beside if span.documents), None)
        if not self.retrievals or (documents and not any(lists)):
            return documents
        # What a reranker left out did not reach the model.
        reranked = [span.documents for span in self.retrievals if span.kind == "reranker"]
        return list(chain.from_iterable(reranked[-1:] or lists))

    @property
    def reference(self) -> str | None:
        """The gold answer beside an outermost span."""
        return next((span.reference for span in self.top if span.reference), None)

    @property
    def model(self) -> str | None:
        """The model that answered."""
        named = (*reversed(self.calls), *reversed(self.top))
        return next((span.model for span in named if span.model), None)


def _sample(name: str, trace: _Trace) -> dict[str, Any] | None:
    """Return the row of a trace; None without a question and an answer.

    The question and the answer are those of the top spans, else those of the retrieval and of the
    last model call. The documents of a reranker replace those of the retrieval.
    """
    spans = sorted(trace.spans, key=_start)
    parts = _Parts.of(spans)
    question = parts.question
    last = parts.last
    answer = last.answer if last else parts.object_said
    if question is None and answer is None:
        return None
    metadata = {
        "trace_id": name,
        "span_id": (last or (parts.top or parts.retrievals or spans)[-1]).id,
        "conversation": trace.session,
        "response_id": parts.response,
    }
    contexts = parts.documents
    reference = parts.reference
    fields = {
        "id": name,
        "question": question or "",
        "answer": answer,
        "contexts": None if contexts is None else _unique(contexts),
        "reference_answers": reference and [reference],
        "generator": parts.model,
        "metadata": {key: value for key, value in metadata.items() if value},
    }
    return {key: value for key, value in fields.items() if value is not None or key == "answer"}


def _start(span: _TraceSpan) -> tuple[int, str]:
    """Return the key that sorts spans by their start; numbers of nanoseconds may differ in
    length."""
    return (len(span.start), span.start) if span.start.isdecimal() else (0, span.start)


def _depth(name: str, parents: Mapping[str, str]) -> int:
    """Return the number of known spans above a span."""
    spans = {name}
    # Spans that are each other's parents, as a broken exporter writes them, would never end.
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
    value = parsed(value)
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
    value = parsed(value) if isinstance(value, str) and "page_content" in value else value
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


def _as_json(value: Any) -> str | None:
    """Return an object with texts as JSON; None for other values."""
    content = parsed(value)
    if not isinstance(content, dict):
        return None
    has_text = any(isinstance(inner, str) for inner in content.values())
    return json.dumps(content, ensure_ascii=False) if has_text else None
