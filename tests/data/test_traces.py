"""Traces and results of chains are read as samples, by shape."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import claimeval as ce

ASKED = "How tall is the tower?"
SAID = "It is 63 m tall."
PAGE = "The tower is 63 m tall."


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def phoenix(
    trace: str, span: str, kind: str, parent: str | None = None, **attributes: object
) -> dict[str, Any]:
    """A span as Phoenix exports it."""
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    context = {"trace_id": trace, "span_id": span}
    return {
        "name": span,
        "context": context,
        "span_kind": kind,
        "parent_id": parent,
        "attributes": named,
    }


CHAIN = phoenix(
    "t1",
    "root",
    "CHAIN",
    input__value=json.dumps({"query": ASKED}),
    output__value=SAID,
    session__id="c7",
)
RETRIEVER = phoenix(
    "t1",
    "find",
    "RETRIEVER",
    "root",
    **{
        "input.value": ASKED,
        "retrieval.documents.0.document.content": PAGE,
        "retrieval.documents.0.document.id": "p1",
        "retrieval.documents.0.document.score": 0.9,
        "retrieval.documents.1.document.content": "It is red.",
        "retrieval.documents.1.document.id": "p1",
        "retrieval.documents.1.document.score": 0.5,
    },
)
LLM = phoenix(
    "t1",
    "ask",
    "LLM",
    "root",
    llm={
        "model_name": "gpt-5-mini",
        "provider": "openai",
        "input_messages": [{"message": {"role": "user", "content": f"{PAGE}\n{ASKED}"}}],
        "output_messages": [{"message": {"role": "assistant", "content": "63 m."}}],
    },
)


def check(sample: ce.Sample, *, trace: str = "t1") -> None:
    assert (sample.id, sample.question, sample.answer) == (trace, ASKED, SAID)
    assert sample.contexts
    assert sample.contexts[0].text == PAGE
    assert sample.metadata["trace_id"] == trace


def test_openinference_spans_are_one_sample_a_trace(tmp_path: Path) -> None:
    other = phoenix("t2", "only", "LLM", input__value="Why?", output__value="Because.")
    path = write(tmp_path / "spans.jsonl", RETRIEVER, other, LLM, CHAIN)
    sample, second = ce.read_samples(path)
    check(sample)
    assert sample.contexts
    assert [(one.id, one.score) for one in sample.contexts] == [("p1", 0.9), ("p1#2", 0.5)]
    assert sample.generator == "openai:gpt-5-mini"
    assert sample.metadata == {"trace_id": "t1", "span_id": "root", "conversation": "c7"}
    assert (second.question, second.answer, second.contexts) == ("Why?", "Because.", None)


def test_without_a_span_above_the_retrieval_gives_the_question_and_the_last_model_the_answer(
    tmp_path: Path,
) -> None:
    (sample,) = ce.read_samples(write(tmp_path / "spans.jsonl", RETRIEVER, LLM))
    assert (sample.question, sample.answer) == (ASKED, "63 m.")


@pytest.mark.parametrize(
    "said",
    [
        {"output.value": SAID},
        {"gen_ai.completion": SAID},
        {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": SAID}])},
        {
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": SAID,
        },
    ],
)
def test_a_chain_that_also_holds_its_documents_keeps_its_answer(
    tmp_path: Path, said: dict[str, object]
) -> None:
    documents = {"retrieval.documents.0.document.content": PAGE}
    span = phoenix("t1", "root", "CHAIN", None, **{"input.value": ASKED, **documents, **said})
    (sample,) = ce.read_samples(write(tmp_path / "spans.jsonl", span))
    assert (sample.question, sample.answer) == (ASKED, SAID)
    assert [context.text for context in sample.contexts or ()] == [PAGE]


def test_of_reranked_documents_those_of_the_reranker_count(tmp_path: Path) -> None:
    reranker = phoenix(
        "t1",
        "rank",
        "RERANKER",
        "root",
        **{"reranker.output_documents.0.document.content": "Best."},
    )
    (sample,) = ce.read_samples(write(tmp_path / "spans.jsonl", CHAIN, RETRIEVER, reranker))
    assert sample.contexts
    assert [one.text for one in sample.contexts] == ["Best."]


def test_spans_that_nothing_is_known_of_are_counted_and_said(tmp_path: Path) -> None:
    rows = [
        CHAIN,
        *(phoenix("t1", name, "UNKNOWN", "root") for name in ("GET /", "GET /", "SELECT")),
        RETRIEVER,
    ]
    path = write(tmp_path / "spans.jsonl", *rows, phoenix("t3", "e", "EMBEDDING"))
    with pytest.warns(UserWarning, match="left out") as told:
        (sample,) = ce.read_samples(path)
    check(sample)
    assert (
        str(told[0].message)
        == "spans of unknown kinds, left out: 3 (GET / 2, SELECT 1); traces without a question or"
        " an answer, left out: 1"
    )


def test_traces_that_say_nothing_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "spans.jsonl", phoenix("t1", "e", "EMBEDDING"))
    with pytest.raises(ce.DataError, match="1 traces, none with a question or an answer"):
        list(ce.read_samples(path))


def test_events_of_trulens_without_attributes_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "events.jsonl", {"event_id": "e", "record_attributes": "lost"})
    with pytest.raises(ce.DataError, match="1 traces, none with a question or an answer"):
        list(ce.read_samples(path))


def otlp(value: object) -> dict[str, Any]:
    """A value as OTLP's JSON writes it."""
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(one) for one in value]}}
    if isinstance(value, dict):
        return {
            "kvlistValue": {
                "values": [{"key": key, "value": otlp(one)} for key, one in value.items()]
            }
        }
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


@pytest.mark.parametrize("as_text", [True, False], ids=["JSON in a text", "structured"])
def test_genai_spans_of_an_otlp_file_exporter(tmp_path: Path, as_text: bool) -> None:
    written = json.dumps if as_text else lambda value: value
    spans = [
        (
            "s2",
            "s1",
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.query.text": ASKED,
                "gen_ai.retrieval.documents": written(
                    [{"id": "p1", "score": 0.9, "content": PAGE}]
                ),
            },
        ),
        (
            "s3",
            "s1",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "gpt-5",
                "gen_ai.response.model": "gpt-5-2026",
                "gen_ai.provider.name": "openai",
                "gen_ai.response.id": "chatcmpl-1",
                "gen_ai.input.messages": written(
                    [{"role": "user", "parts": [{"type": "text", "content": "Prompt"}]}]
                ),
                "gen_ai.output.messages": written(
                    [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]
                ),
            },
        ),
        ("s1", "", {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c7"}),
    ]
    listed = [
        {
            "traceId": "0af7",
            "spanId": name,
            "parentSpanId": parent,
            "name": name,
            "startTimeUnixNano": "17000",
            "attributes": [{"key": key, "value": otlp(value)} for key, value in attributes.items()],
        }
        for name, parent, attributes in spans
    ]
    row = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": listed}]}]}
    (sample,) = ce.read_samples(write(tmp_path / "otlp.jsonl", row))
    check(sample, trace="0af7")
    assert sample.generator == "openai:gpt-5-2026"
    found = {"trace_id": "0af7", "span_id": "s3", "conversation": "c7", "response_id": "chatcmpl-1"}
    assert sample.metadata == found
    (tmp_path / "one.json").write_text(json.dumps(row))
    assert list(ce.read_samples(tmp_path / "one.json")) == [sample]


def test_spans_that_the_sdk_of_opentelemetry_writes(tmp_path: Path) -> None:
    from opentelemetry.sdk import trace
    from opentelemetry.sdk.trace import export

    with (tmp_path / "spans.jsonl").open("w") as file:
        provider = trace.TracerProvider()
        console = export.ConsoleSpanExporter(
            out=file, formatter=lambda span: span.to_json(indent=None) + "\n"
        )
        provider.add_span_processor(export.SimpleSpanProcessor(console))
        tracer = provider.get_tracer("test")
        with tracer.start_as_current_span(
            "rag", attributes={"openinference.span.kind": "CHAIN"}
        ) as root:
            root.set_attributes({"input.value": ASKED, "output.value": SAID})
            with tracer.start_as_current_span(
                "find", attributes={"openinference.span.kind": "RETRIEVER"}
            ) as span:
                span.set_attribute("retrieval.documents.0.document.content", PAGE)
    (sample,) = ce.read_samples(tmp_path / "spans.jsonl")
    check(sample, trace=f"{root.get_span_context().trace_id:032x}")
    assert re.fullmatch("[0-9a-f]{16}", str(sample.metadata["span_id"]))


def test_prompts_and_completions_by_number_of_older_conventions(tmp_path: Path) -> None:
    attributes = {
        "gen_ai.system": "anthropic",
        "gen_ai.request.model": "claude",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": ASKED,
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": SAID,
    }
    row = {"trace_id": "t1", "span_id": "s", "name": "chat", "attributes": attributes}
    (sample,) = ce.read_samples(write(tmp_path / "spans.jsonl", row))
    assert (sample.question, sample.answer, sample.generator) == (ASKED, SAID, "anthropic:claude")


def test_a_dataframe_of_phoenix_and_its_file(tmp_path: Path) -> None:
    import pandas

    rows = [
        {
            "context.span_id": "s1",
            "context.trace_id": "t1",
            "parent_id": None,
            "span_kind": "CHAIN",
            "name": "rag",
            "attributes.input.value": ASKED,
            "attributes.output.value": SAID,
            "attributes.retrieval.documents": None,
        },
        {
            "context.span_id": "s2",
            "context.trace_id": "t1",
            "parent_id": "s1",
            "span_kind": "RETRIEVER",
            "name": "find",
            "attributes.input.value": ASKED,
            "attributes.output.value": None,
            "attributes.retrieval.documents": [
                {"document.content": PAGE, "document.id": "p1", "document.score": 0.9}
            ],
        },
    ]
    frame = pandas.DataFrame(rows).set_index("context.span_id")
    (sample,) = ce.read_samples(frame)
    check(sample)
    assert sample.metadata["span_id"] == "s1"
    frame.reset_index().to_parquet(tmp_path / "spans.parquet")
    frame.reset_index().to_csv(tmp_path / "spans.csv", index=False)
    assert list(ce.read_samples(tmp_path / "spans.parquet")) == [sample]
    assert list(ce.read_samples(tmp_path / "spans.csv")) == [sample]


OBSERVATIONS = [
    {
        "id": "o1",
        "traceId": "t1",
        "type": "RETRIEVER",
        "name": "find",
        "startTime": "2026-11-22T08:00:01Z",
        "input": ASKED,
        "output": [{"page_content": PAGE, "metadata": {"source": "a.md"}}],
        "parentObservationId": None,
    },
    {
        "id": "o2",
        "traceId": "t1",
        "type": "GENERATION",
        "name": "ask",
        "startTime": "2026-11-22T08:00:02Z",
        "input": [{"role": "user", "content": "Prompt"}],
        "output": {"role": "assistant", "content": SAID},
        "model": "gpt-5-mini",
        "parentObservationId": None,
    },
]


def test_a_trace_of_langfuse_with_its_observations(tmp_path: Path) -> None:
    trace = {
        "id": "t1",
        "timestamp": "2026-11-22T08:00:00Z",
        "name": "rag",
        "sessionId": "c7",
        "input": {"question": ASKED},
        "output": {"answer": SAID},
    }
    path = tmp_path / "trace-t1.json"
    for content in (
        {**trace, "observations": OBSERVATIONS},
        {"trace": trace, "observations": OBSERVATIONS},
    ):
        path.write_text(json.dumps(content))
        (sample,) = ce.read_samples(path)
        check(sample)
        assert sample.generator == "gpt-5-mini"
        assert sample.metadata == {"trace_id": "t1", "span_id": "t1", "conversation": "c7"}
    (alone,) = ce.read_samples(write(tmp_path / "traces.jsonl", trace))
    assert (alone.question, alone.answer, alone.contexts) == (ASKED, SAID, None)
    (chosen,) = ce.read_samples(
        write(tmp_path / "traces.jsonl", trace), mapping={"answer": "name", "question": "id"}
    )
    assert chosen.answer == "rag", "columns that are named are read as they stand"


def test_observations_of_langfuse_alone(tmp_path: Path) -> None:
    (sample,) = ce.read_samples(write(tmp_path / "observations.jsonl", *OBSERVATIONS))
    check(sample)
    (tmp_path / "page.json").write_text(
        json.dumps({"data": OBSERVATIONS, "meta": {"cursor": None}})
    )
    assert list(ce.read_samples(tmp_path / "page.json")) == [sample]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {
                "messages": [
                    {"type": "human", "content": "Hi"},
                    {"type": "ai", "content": "Hello"},
                    {"type": "human", "content": ASKED},
                ]
            },
            {"messages": [{"type": "human", "content": ASKED}, {"type": "ai", "content": SAID}]},
        ),
        ({"query_str": ASKED}, {"response": SAID}),
        (
            [{"role": "user", "content": [{"type": "text", "text": ASKED}]}],
            {"choices": [{"message": {"content": SAID}}]},
        ),
        (ASKED, {"generations": [[{"text": SAID}]]}),
        (json.dumps(ASKED), SAID),
    ],
    ids=["messages of LangChain", "LlamaIndex", "parts", "generations", "a text as JSON"],
)
def test_what_went_in_and_came_out_is_read_in_many_forms(
    tmp_path: Path, asked: object, said: object
) -> None:
    row = {"id": "o", "traceId": "t1", "type": "SPAN", "input": asked, "output": said}
    (sample,) = ce.read_samples(write(tmp_path / "observations.jsonl", row))
    assert (sample.question, sample.answer) == (ASKED, SAID)


def test_traces_are_drawn_one_in_so_many(tmp_path: Path) -> None:
    spans = [
        phoenix(f"t{i}", f"s{i}", "LLM", input__value=f"What about {i}?", output__value="Yes.")
        for i in range(400)
    ]
    path = write(tmp_path / "spans.jsonl", *spans)
    drawn = ce.draw(path, every=10, seed=7)
    assert 20 < len(drawn) < 65
    assert {row["drawn"]["probability"] for row in drawn} == {0.1}
    assert drawn.strata[""].rows == 400
    half = ce.draw(write(tmp_path / "half.jsonl", *spans[:200]), every=10, seed=7)
    ids = [row["id"] for row in drawn]
    assert [row["id"] for row in half] == [name for name in ids if int(name[1:]) < 200]
    out = tmp_path / "test.jsonl"
    ce.draw(path, every=10, seed=7, out=out)
    assert [sample.id for sample in ce.read_samples(out)] == ids


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"every": 10, "n": 5}, "leave out n"),
        ({"every": 10, "stratify": "topic"}, "leave out stratify"),
        ({"every": 0}, "every: 0; it needs 1 or more"),
        ({"every": 10**9}, "none of 3 questions was drawn"),
    ],
)
def test_a_share_is_drawn_alone(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ce.UsageError, match=problem):
        ce.draw([{"question": f"{i}?"} for i in range(3)], **options)


class Page:
    """A document of LangChain, as far as it is looked at."""

    def __init__(self, page_content: str) -> None:
        self.page_content = page_content
        self.metadata = {"source": "a.md"}
        self.id = None


@pytest.mark.parametrize(
    ("asked", "found", "said"),
    [
        ("input", "context", "answer"),
        ("query", "source_documents", "result"),
        ("question", "source_documents", "answer"),
    ],
)
def test_results_of_langchain_chains(asked: str, found: str, said: str) -> None:
    (sample,) = ce.read_samples([{asked: ASKED, found: [Page(PAGE)], said: SAID}])
    assert (sample.question, sample.answer) == (ASKED, SAID)
    assert sample.contexts == (ce.Document(id="1", text=PAGE, id_is_rank=True),)


def read_and_checked(row: Any, contexts: Any = ()) -> ce.Sample:
    """What `score` reads of a row, if `check` takes it too."""
    (sample,) = ce.score([row], judges="local:lexical", metrics="faithfulness").samples
    result = ce.check(row, contexts, judge="local:lexical")
    assert (result.sample.answer, result.sample.contexts) == (sample.answer, sample.contexts)
    return sample


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asked", ["question", "input"])
def test_objects_of_langchain_themselves(asked: str) -> None:
    core = pytest.importorskip("langchain_core")
    from langchain_core import documents, load, messages, runnables

    page = documents.Document(page_content=PAGE, id="p1", metadata={"source": "a.md"})
    expected = (ce.Document(id="p1", text=PAGE),)
    for said in (
        SAID,
        messages.AIMessage(SAID),
        messages.AIMessage([{"type": "text", "text": SAID}]),
    ):
        chain = runnables.RunnablePassthrough.assign(context=lambda _: [page]).assign(
            answer=lambda _, text=said: text
        )
        sample = read_and_checked(chain.invoke({asked: ASKED}))
        assert (sample.question, sample.answer, sample.contexts) == (
            ASKED,
            SAID,
            expected,
        ), core.__version__
        assert ce.check(said, page, judge="local:lexical").sample.contexts == expected
    (dumped,) = ce.read_samples([json.loads(load.dumps(chain.invoke({asked: ASKED})))])
    assert (dumped.answer, [one.text for one in dumped.contexts or ()]) == (SAID, [PAGE])
    qa = read_and_checked({"query": ASKED, "result": SAID, "source_documents": [page]})
    assert (qa.question, qa.contexts) == (ASKED, expected)
    (ranked,) = ce.read_samples([{"question": ASKED, "answer": SAID, "contexts": [(page, 0.5)]}])
    assert ranked.contexts == (ce.Document(id="p1", text=PAGE, score=0.5),)
    called = messages.AIMessage("", tool_calls=[{"name": "find", "args": {}, "id": "1"}])
    turns = [messages.HumanMessage(ASKED), called, messages.ToolMessage(PAGE, tool_call_id="1")]
    (agent,) = ce.read_samples([{"messages": [*turns, messages.AIMessage(SAID)]}])
    assert (agent.question, agent.answer, [one.text for one in agent.contexts or ()]) == (
        ASKED,
        SAID,
        [PAGE],
    )


@dataclasses.dataclass
class Response:
    """A response of LlamaIndex, as far as it is looked at."""

    response: str | None
    source_nodes: list[Any]
    metadata: dict[str, Any] | None = None


NODE = SimpleNamespace(node=SimpleNamespace(node_id="n1", get_content=lambda: PAGE), score=0.9)


def test_responses_of_llama_index() -> None:
    response = Response(SAID, [NODE], {"n1": {"file": "a.md"}})
    expected = (ce.Document(id="n1", text=PAGE, score=0.9),)
    for data in (
        {"question": ASKED, "response": response},
        [{"question": ASKED, "answer": response}],
    ):
        (sample,) = ce.read_samples(data)
        assert (sample.question, sample.answer, sample.contexts) == (ASKED, SAID, expected)
    (alone,) = ce.read_samples([response])
    assert (alone.question, alone.answer, alone.contexts) == ("", SAID, expected)


@pytest.mark.filterwarnings("ignore")
def test_objects_of_llama_index_itself() -> None:
    core = pytest.importorskip("llama_index.core")
    from llama_index.core import schema
    from llama_index.core.base.response import schema as responses
    from llama_index.core.evaluation import EvaluationResult

    node = schema.NodeWithScore(node=schema.TextNode(text=PAGE, id_="n1"), score=0.9)
    expected = (ce.Document(id="n1", text=PAGE, score=0.9),)
    made = responses.Response(response=SAID, source_nodes=[node], metadata={"n1": {}})
    streamed = responses.StreamingResponse(
        response_gen=iter(SAID.split(" ", 1)), source_nodes=[node]
    )
    assert (alone := read_and_checked(made)).contexts == expected
    assert alone.answer == SAID
    assert read_and_checked({"question": ASKED, "answer": made}).question == ASKED
    assert read_and_checked(streamed).answer == SAID.replace(" ", "", 1)
    assert (
        read_and_checked({"question": ASKED, "answer": SAID, "contexts": [node]}).contexts
        == expected
    )
    assert ce.check(SAID, node, judge="local:lexical").sample.contexts == expected
    assert (
        read_and_checked(
            {"query": ASKED, "response": SAID, "source_nodes": [node.to_dict()]}
        ).contexts
        == expected
    )
    (judged,) = ce.read_samples([EvaluationResult(query=ASKED, response=SAID, contexts=[PAGE])])
    assert (judged.question, judged.answer) == (ASKED, SAID)
    index = core.VectorStoreIndex([node.node], embed_model=core.MockEmbedding(embed_dim=2))
    found = index.as_query_engine(llm=core.llms.MockLLM()).query(ASKED)
    assert [
        one.text for one in read_and_checked({"question": ASKED, "answer": found}).contexts or ()
    ] == [PAGE]
