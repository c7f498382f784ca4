"""Logs of chats and agents, as APIs and frameworks record them.

The shapes of LangChain (core 1.8), pydantic-ai (2.68), OpenAI (3.57) and google-genai (3.6) were
written by these packages; those of Anthropic, Bedrock Converse, Cohere, Vercel's AI SDK,
OpenTelemetry, Haystack, LlamaIndex and Open WebUI are those of their documentation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import claimeval as ce
from claimeval.types.clusters import cluster_of
from tests.command_line import call


class Exchange(NamedTuple):
    """A question, what tools returned for it, and the answer."""

    question: str
    returned: tuple[str, ...]
    answer: str


Log = list[Exchange]
Row = dict[str, Any]
LOOK = "Let me look."
"""What an assistant says beside the call of a tool."""


def openai_chat(log: Log) -> Row:
    messages: list[Row] = [{"role": "system", "content": "Be brief."}]
    for question, returned, answer in log:
        call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
        messages.append({"role": "user", "content": question})
        if returned:
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages += [{"role": "tool", "tool_call_id": "c", "content": text} for text in returned]
        messages.append({"role": "assistant", "content": answer})
    return {"messages": messages}


def openai_responses(log: Log) -> Row:
    items: list[Row] = []
    for question, returned, answer in log:
        asked = [{"type": "input_text", "text": question}]
        items.append({"role": "user", "content": asked})
        items.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]})
        for text in returned:
            items.append({"type": "function_call", "name": "search", "arguments": "{}"})
            items.append({"type": "function_call_output", "call_id": "c", "output": text})
        part = {"type": "output_text", "text": answer, "annotations": []}
        items.append({"type": "message", "role": "assistant", "content": [part]})
    ends = max(at for at, item in enumerate(items) if item.get("role") == "user") + 1
    return {"model": "m", "object": "response", "input": items[:ends], "output": items[ends:]}


def anthropic(log: Log) -> Row:
    messages: list[Row] = []
    for question, returned, answer in log:
        messages.append({"role": "user", "content": [{"type": "text", "text": question}]})
        for text in returned:
            use = {"type": "tool_use", "id": "t", "name": "search", "input": {"q": question}}
            result = {"type": "tool_result", "tool_use_id": "t"}
            content = [{"type": "text", "text": text}]
            said = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": LOOK}, use]
            messages.append({"role": "assistant", "content": said})
            messages.append({"role": "user", "content": [{**result, "content": content}]})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return {"messages": messages}


def bedrock_converse(log: Log) -> Row:
    messages: list[Row] = []
    for question, returned, answer in log:
        messages.append({"role": "user", "content": [{"text": question}]})
        for text in returned:
            result = {"toolUseId": "t", "content": [{"text": text}], "status": "success"}
            use = {"toolUse": {"toolUseId": "t", "name": "search", "input": {}}}
            messages.append({"role": "assistant", "content": [use]})
            messages.append({"role": "user", "content": [{"toolResult": result}]})
        messages.append({"role": "assistant", "content": [{"text": answer}]})
    return {"messages": messages}


def gemini(log: Log) -> Row:
    contents: list[Row] = []
    for question, returned, answer in log:
        contents.append({"role": "user", "parts": [{"text": question}]})
        for text in returned:
            response = {"name": "search", "response": {"result": text}}
            called = [{"text": "Hm.", "thought": True}, {"functionCall": {"name": "search"}}]
            contents.append({"role": "model", "parts": called})
            contents.append({"role": "user", "parts": [{"functionResponse": response}]})
        contents.append({"role": "model", "parts": [{"text": answer}]})
    return {"contents": contents}


def langchain(log: Log) -> Row:
    """As `model_dump` writes messages."""
    messages: list[Row] = []
    for question, returned, answer in log:
        of_tool = {"name": "search", "tool_call_id": "c", "type": "tool", "status": "success"}
        messages.append({"content": question, "type": "human", "id": "1"})
        if returned:
            calls = [{"name": "search", "args": {"q": question}, "id": "c", "type": "tool_call"}]
            messages.append({"content": "", "type": "ai", "id": "2", "tool_calls": calls})
        messages += [{"content": text, **of_tool} for text in returned]
        messages.append({"content": answer, "type": "ai", "id": "3", "tool_calls": []})
    return {"messages": messages}


def langchain_dicts(log: Log) -> Row:
    """As `messages_to_dict` writes messages."""
    messages = langchain(log)["messages"]
    return {"messages": [{"type": one["type"], "data": one} for one in messages]}


def langchain_dumps(log: Log) -> Row:
    """As `dumps` writes messages."""
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
    messages: list[Row] = []
    for one in langchain(log)["messages"]:
        path = ["langchain", "schema", "messages", names[one["type"]]]
        messages.append({"lc": 1, "type": "constructor", "id": path, "kwargs": one})
    return {"messages": messages}


def langgraph(log: Log) -> Row:
    return {"values": langchain(log), "next": [], "checkpoint": {"thread_id": "t"}}


def pydantic_ai(log: Log) -> Row:
    messages: list[Row] = []
    for question, returned, answer in log:
        asked = {"content": question, "part_kind": "user-prompt"}
        messages.append({"parts": [asked], "kind": "request"})
        for text in returned:
            called = {"tool_name": "search", "args": "{}", "part_kind": "tool-call"}
            said = [{"content": "Hm.", "part_kind": "thinking"}, called]
            result = {"tool_name": "search", "content": text, "part_kind": "tool-return"}
            messages.append({"parts": said, "kind": "response", "model_name": "m"})
            messages.append({"parts": [result], "kind": "request"})
        messages.append({"parts": [{"content": answer, "part_kind": "text"}], "kind": "response"})
    return {"messages": messages}


def ai_sdk(log: Log) -> Row:
    """The messages of a user interface: results and answer are parts of one message."""
    messages: list[Row] = []
    for question, returned, answer in log:
        messages.append({"id": "u", "role": "user", "parts": [{"type": "text", "text": question}]})
        tool = {"type": "tool-search", "toolCallId": "c", "state": "output-available", "input": {}}
        results = [{**tool, "output": {"text": text}} for text in returned]
        said = [{"type": "step-start"}, {"type": "reasoning", "text": "Hm."}, *results]
        parts = [*said, {"type": "text", "text": answer, "state": "done"}]
        messages.append({"id": "a", "role": "assistant", "parts": parts})
    return {"messages": messages}


def ai_sdk_model(log: Log) -> Row:
    """The messages that are sent to a model."""
    messages: list[Row] = []
    for question, returned, answer in log:
        messages.append({"role": "user", "content": [{"type": "text", "text": question}]})
        for text in returned:
            called = {"type": "tool-call", "toolCallId": "c", "toolName": "search", "input": {}}
            result = {"type": "tool-result", "toolCallId": "c", "toolName": "search"}
            output = {"type": "text", "value": text}
            messages.append({"role": "assistant", "content": [called]})
            messages.append({"role": "tool", "content": [{**result, "output": output}]})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return {"messages": messages}


def opentelemetry(log: Log) -> Row:
    messages: list[Row] = []
    for question, returned, answer in log:
        messages.append({"role": "user", "parts": [{"type": "text", "content": question}]})
        for text in returned:
            called = {"type": "tool_call", "id": "c", "name": "search", "arguments": {}}
            result = {"type": "tool_call_response", "id": "c", "response": text}
            messages.append({"role": "assistant", "parts": [called]})
            messages.append({"role": "tool", "parts": [result]})
        messages.append({"role": "assistant", "parts": [{"type": "text", "content": answer}]})
    return {"messages": messages}


def haystack(log: Log) -> Row:
    messages: list[Row] = []
    for question, returned, answer in log:
        messages.append({"role": "user", "meta": {}, "name": None, "content": [{"text": question}]})
        for text in returned:
            called = {"tool_name": "search", "arguments": {}, "id": "c"}
            result = {"result": text, "origin": called, "error": False}
            messages.append({"role": "assistant", "content": [{"tool_call": called}]})
            messages.append({"role": "tool", "content": [{"tool_call_result": result}]})
        messages.append({"role": "assistant", "content": [{"text": answer}]})
    return {"messages": messages}


def llama_index(log: Log) -> Row:
    messages: list[Row] = []
    for question, returned, answer in log:
        asked = {"block_type": "text", "text": question}
        said = {"block_type": "text", "text": answer}
        messages.append({"role": "user", "additional_kwargs": {}, "blocks": [asked]})
        for text in returned:
            result = [{"block_type": "text", "text": text}]
            messages.append({"role": "tool", "additional_kwargs": {}, "blocks": result})
        messages.append({"role": "assistant", "additional_kwargs": {}, "blocks": [said]})
    return {"messages": messages}


FORMATS: list[Callable[[Log], Row]] = [
    openai_chat,
    openai_responses,
    anthropic,
    bedrock_converse,
    gemini,
    langchain,
    langchain_dicts,
    langchain_dumps,
    langgraph,
    pydantic_ai,
    ai_sdk,
    ai_sdk_model,
    opentelemetry,
    haystack,
    llama_index,
]

WORDS = st.text("abcdefgh", min_size=2, max_size=6)
SENTENCES = st.lists(WORDS, min_size=2, max_size=5).map(" ".join)
LOGS = st.lists(
    st.builds(
        Exchange, SENTENCES, st.lists(SENTENCES, max_size=2, unique=True).map(tuple), SENTENCES
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
@settings(max_examples=10, deadline=None)
@given(log=LOGS)
def test_every_answer_of_every_log_is_read_with_its_question_and_results(
    write: Callable[[Log], Row], log: Log
) -> None:
    row = json.loads(json.dumps(write(log)))
    read = list(ce.read_samples([row], turns="all"))
    assert [(one.question, one.answer) for one in read] == [
        (one.question, one.answer) for one in log
    ]
    for sample, exchange in zip(read, log, strict=True):
        texts = tuple(document.text for document in sample.contexts or ())
        assert texts == exchange.returned
        assert sample.metadata["conversation"] == "1"
    (last,) = ce.read_samples([row])
    kept = {"id", "metadata"}
    assert last.model_dump(exclude=kept) == read[-1].model_dump(exclude=kept)
    assert last.id == "1"


@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
def test_a_log_that_ends_with_the_result_of_a_tool_has_no_answer(
    write: Callable[[Log], Row],
) -> None:
    row = write([Exchange("How high is it?", ("It is 63 m high.",), "SAID")])
    (sample,) = ce.read_samples([json.loads(json.dumps(row).replace("SAID", ""))])
    assert sample.answer in (None, LOOK), "never what the tool returned"


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
def test_logs_are_read_from_cells_columns_and_frames(
    write: Callable[[Log], Row], form: str, tmp_path: Path
) -> None:
    import pandas

    log = [Exchange("One?", ("1 is one.",), "1."), Exchange("Two?", ("2 is two.", "So."), "2.")]
    # Parquet has no objects without keys
    rows = json.loads(json.dumps([write(log), write(log[1:])]).replace(": {}", ': {"k": "v"}'))
    frame = pandas.DataFrame(rows)
    path = tmp_path / f"a.{form}"
    if form == "csv":
        cells = frame.map(lambda cell: cell if isinstance(cell, str) else json.dumps(cell))
        cells.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    read = list(ce.read_samples(frame if form == "frame" else path, turns="all"))
    assert [
        (one.question, one.answer, tuple(document.text for document in one.contexts or ()))
        for one in read
    ] == [(one.question, one.answer, one.returned) for one in [*log, log[1]]]


DOCUMENTS = [
    {"title": "Tower", "text": "It is 63 m high."},
    {"title": "Hall", "text": "It is low."},
]


@pytest.mark.parametrize(
    "beside",
    [
        {"docs": ["It is 63 m high.", "It is low."]},
        {"documents": DOCUMENTS},
        {"sources": DOCUMENTS},
        {"context": {"intent": "[]", "citations": [{"content": d["text"]} for d in DOCUMENTS]}},
        {"sourceDocuments": [{"pageContent": d["text"], "metadata": {}} for d in DOCUMENTS]},
        {"sources": [{"source": {"name": "a"}, "document": [d["text"] for d in DOCUMENTS]}]},
        {"metadata": {"retrieved_documents": DOCUMENTS}},
    ],
    ids=["texts", "objects", "sources", "Azure", "Flowise", "Open WebUI", "metadata"],
)
def test_documents_in_a_message_are_contexts_of_its_turn(beside: Row) -> None:
    messages = [
        {"role": "user", "content": "How high is it?"},
        {"role": "assistant", "content": "63 m.", **beside},
        {"role": "user", "content": "Thanks!"},
        {"role": "assistant", "content": "You are welcome."},
    ]
    first, second = ce.read_samples([{"messages": messages}], turns="all")
    assert [document.text for document in first.contexts or ()] == [
        "It is 63 m high.",
        "It is low.",
    ]
    assert (second.question, second.contexts) == ("Thanks!", None)


@pytest.mark.parametrize(
    "beside",
    [
        {"citations": ["https://example.org/a", "https://example.org/b"]},
        {"citations": [{"start": 0, "end": 5, "text": "63 m.", "sources": []}]},
        {"sources": ["a.md", "b.md"]},
        {"context": ""},
    ],
    ids=["addresses", "parts of the answer", "names", "empty"],
)
def test_addresses_names_and_parts_of_the_answer_are_no_contexts(beside: Row) -> None:
    said = {"role": "assistant", "content": "63 m.", **beside}
    (sample,) = ce.read_samples([{"messages": [{"role": "user", "content": "How high?"}, said]}])
    assert (sample.answer, sample.contexts) == ("63 m.", None)


ASKED = {"role": "user", "content": "How high is it?"}
SAID = {"role": "assistant", "content": "It is 63 m high."}


@pytest.mark.parametrize(
    "messages",
    [
        {"currentId": "b", "messages": {"b": {**SAID, "parentId": "a"}, "a": {**ASKED, "id": "a"}}},
        [{**SAID, "created_at": 2}, {**ASKED, "created_at": 1}],
        [
            {"source": "user", "type": "TextMessage", "content": ASKED["content"]},
            {"source": "helper", "type": "ToolCallRequestEvent", "content": [{"name": "search"}]},
            {"source": "helper", "type": "ToolCallExecutionEvent", "content": [{"content": "?"}]},
            {"source": "helper", "type": "TextMessage", "content": SAID["content"]},
        ],
        [["human", ASKED["content"]], ["ai", SAID["content"]]],
        [[ASKED["content"], SAID["content"]]],
        [{"inputs": {"question": ASKED["content"]}, "outputs": {"answer": SAID["content"]}}],
        [
            {"author": "user", "content": {"role": "user", "parts": [{"text": ASKED["content"]}]}},
            {
                "author": "helper",
                "content": {"role": "model", "parts": [{"text": SAID["content"]}]},
            },
        ],
        [
            {"role": "userMessage", "content": ASKED["content"]},
            {"role": "apiMessage", "content": SAID["content"]},
        ],
        [
            {"speaker": "USER", "utterance": ASKED["content"]},
            {"speaker": "SYSTEM", "utterance": SAID["content"]},
        ],
        [
            {"event": "action", "name": "action_listen"},
            {"event": "user", "text": ASKED["content"]},
            {"event": "slot", "name": "place"},
            {"event": "bot", "text": SAID["content"]},
        ],
        [
            {"type": "trace", "from": {"id": "b", "role": 0}},
            {"type": "message", "from": {"id": "u", "role": 1}, "text": ASKED["content"]},
            {"type": "message", "from": {"id": "b", "role": 0}, "text": SAID["content"]},
        ],
        [
            {"sender": "User", "isCreatedByUser": True, "text": ASKED["content"]},
            {"sender": "GPT-4", "isCreatedByUser": False, "text": SAID["content"]},
        ],
        [
            {
                "Role": {"Label": "user"},
                "Items": [{"$type": "TextContent", "Text": ASKED["content"]}],
            },
            {
                "Role": {"Label": "assistant"},
                "Items": [{"$type": "TextContent", "Text": SAID["content"]}],
            },
        ],
    ],
    ids=[
        "tree",
        "newest first",
        "AutoGen",
        "pairs of role",
        "pairs",
        "Prompt flow",
        "ADK",
        "Flowise",
        "speakers",
        "Rasa",
        "Copilot Studio",
        "LibreChat",
        "Semantic Kernel",
    ],
)
def test_further_forms_of_one_exchange_are_read(messages: Any) -> None:
    (sample,) = ce.read_samples([{"messages": messages}])
    assert (sample.question, sample.answer, sample.history) == (
        ASKED["content"],
        SAID["content"],
        (),
    )


def test_an_answer_that_is_a_list_of_items_or_parts_is_read() -> None:
    part = {"type": "output_text", "text": "It is 63 m high."}
    items = [
        {"type": "function_call_output", "call_id": "c", "output": "63 metres."},
        {"type": "message", "role": "assistant", "content": [part]},
    ]
    (sample,) = ce.read_samples([{"question": "How high?", "answer": items}])
    assert (sample.question, sample.answer) == ("How high?", "It is 63 m high.")
    assert [document.text for document in sample.contexts or ()] == ["63 metres."]
    (sample,) = ce.read_samples([{"question": "How high?", "answer": [part]}])
    assert (sample.question, sample.answer) == ("How high?", "It is 63 m high.")


@pytest.mark.parametrize(
    ("returned", "texts"),
    [
        ("It is 63 m.", ["It is 63 m."]),
        ([{"type": "text", "text": "It is"}, {"type": "text", "text": "63 m."}], ["It is\n63 m."]),
        (
            [{"type": "text", "text": "63 m."}, {"type": "image", "source": {"data": "iVBO"}}],
            ["63 m."],
        ),
        ([{"type": "image", "source": {"data": "iVBO"}}], []),
        ([{"type": "web_search_result", "url": "https://a", "encrypted_content": "Eq"}], []),
        (DOCUMENTS, [document["text"] for document in DOCUMENTS]),
        ({"results": DOCUMENTS}, [document["text"] for document in DOCUMENTS]),
        ({"height": 63, "unit": "m"}, ['{"height": 63, "unit": "m"}']),
        ([], []),
        (None, []),
    ],
)
def test_what_a_tool_returned_is_read_as_texts_or_documents(
    returned: Any, texts: list[str]
) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": returned}
    messages = [ASKED, {"role": "user", "content": [result]}, SAID]
    (sample,) = ce.read_samples([{"messages": messages}])
    assert [document.text for document in sample.contexts or ()] == texts
    assert (sample.question, sample.answer) == (ASKED["content"], SAID["content"])


def test_the_parts_of_an_answer_with_citations_are_one_text() -> None:
    parts = [
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "63 m high", "citations": [{"cited_text": "63 metres"}]},
        {"type": "text", "text": "."},
    ]
    document = {"type": "text", "media_type": "text/plain", "data": "It is 63 metres high."}
    asked = [
        {"type": "document", "source": document, "title": "Tower", "citations": {"enabled": True}},
        {"type": "text", "text": "How high?"},
    ]
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": parts}]
    (sample,) = ce.read_samples([{"messages": messages}])
    assert (sample.question, sample.answer) == ("How high?", "It is 63 m high.")
    (found,) = sample.contexts or ()
    assert (found.title, found.text) == ("Tower", "It is 63 metres high.")


def test_results_of_a_tool_that_are_documents_are_documents_with_their_titles() -> None:
    response = {"name": "search", "response": {"results": DOCUMENTS}}
    contents = [
        {"role": "user", "parts": [{"text": "How high?"}]},
        {"role": "user", "parts": [{"functionResponse": response}]},
        {"role": "model", "parts": [{"text": "63 m."}]},
    ]
    (sample,) = ce.read_samples([{"contents": contents}])
    assert [(d.title, d.text) for d in sample.contexts or ()] == [
        (d["title"], d["text"]) for d in DOCUMENTS
    ]


def ten_turns(name: str, wrong: set[int]) -> Row:
    log = []
    for turn in range(1, 11):
        height = 90 if turn in wrong else 50 + turn
        tower = f"Tower {turn} of {name}"
        returned = (f"{tower} is {50 + turn} metres high.",)
        log.append(Exchange(f"How high is {tower}?", returned, f"{tower} is {height} metres high."))
    return {"id": name, **openai_chat(log)}


def test_conversations_of_ten_turns_go_from_file_to_compare(tmp_path: Path) -> None:
    for name, wrong in (("one", set[int]()), ("two", {3, 7})):
        rows = [ten_turns(place, wrong) for place in ("Bern", "Basel", "Chur")]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    score = ("-j", "local:lexical", "-m", "faithfulness")
    last = call("score", "two.jsonl", *score, "-o", "last", folder=tmp_path).stdout
    assert "27 earlier answers are not judged: --turns all" in last
    assert "27 earlier answers" in call("doctor", "two.jsonl", folder=tmp_path).stdout
    for name in ("one", "two"):
        told = call(
            "score", f"{name}.jsonl", *score, "--turns", "all", "-o", name, folder=tmp_path
        ).stdout
        assert "30 samples, 3 conversations" in told
    run = ce.Run.load(tmp_path / "two")
    assert run.manifest.cluster == "conversation"
    assert [sample.id for sample in run.samples][:2] == ["Bern/1", "Bern/2"]
    assert len({cluster_of(sample) for sample in run.samples}) == 3
    assert run["faithfulness"].mean == pytest.approx(24 / 30)
    told = call("compare", "one", "two", folder=tmp_path).stdout
    assert "30 samples in both, 3 conversations" in told
    assert "30 (0 up, 6 down)" in told
    # the third answer stands before the turns 4 to 10 of each conversation, and no question changed
    words = " ".join(told.split())
    assert "another conversation before the question (21 of 30)" in words
    assert "other questions" not in words


def test_another_cluster_and_a_mapping_file_are_followed(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps(ten_turns("Bern", set())))
    (tmp_path / "map.yaml").write_text("turns: all\n")
    call(
        *("score", "c.jsonl", "-j", "local:lexical", "-m", "faithfulness", "-o", "run"),
        *("--mapping", "map.yaml", "--cluster", "question"),
        folder=tmp_path,
    )
    run = ce.Run.load(tmp_path / "run")
    assert (run.manifest.cluster, len(list(run.samples))) == ("question", 10)
    assert run.manifest.data.mapping["turns"] == "all"


def test_an_experiment_over_every_turn_has_conversations_as_clusters(tmp_path: Path) -> None:
    rows = [ten_turns(place, {2}) for place in ("Bern", "Basel")]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "e.yaml").write_text(
        "data: c.jsonl\nturns: all\nbaseline: a\nmetrics: [faithfulness]\narms:\n"
        "- {name: a, judges: ['local:lexical']}\n"
        "- {name: b, judges: ['local:lexical'], extract_prompt: bullets}\n"
    )
    told = call("experiment", "e.yaml", "-o", "e", folder=tmp_path).stdout
    assert "20 samples, 2 conversations" in told


def test_what_stands_beside_the_messages_belongs_to_the_last_question() -> None:
    row = openai_chat([Exchange("One?", (), "1."), Exchange("Two?", (), "2.")])
    row |= {"contexts": ["Two is 2."], "reference": "2", "topic": "numbers", "conversation": "c"}
    first, second = ce.read_samples([row], turns="all")
    assert (first.contexts, first.reference_answers) == (None, ())
    assert [document.text for document in second.contexts or ()] == ["Two is 2."]
    assert second.reference_answers == ("2",)
    assert [one.metadata["conversation"] for one in (first, second)] == ["c", "c"]
    assert [one.metadata["turn"] for one in (first, second)] == [1, 2]
    assert [one.metadata["topic"] for one in (first, second)] == ["numbers", "numbers"]


def test_rows_without_messages_are_one_sample_each() -> None:
    (sample,) = ce.read_samples([{"id": "a", "question": "Q?", "answer": "A."}], turns="all")
    assert (sample.id, sample.metadata) == ("a", {})


@pytest.mark.parametrize(
    ("returned", "texts"),
    [
        (
            [{"text": "It is 63 m.", "score": 0.5}, {"text": "It is red."}],
            ["It is 63 m.", "It is red."],
        ),
        ({"results": [{"content": "It is 63 m.", "source": "a.md"}]}, ["It is 63 m."]),
        # what has more than a document is data, of which nothing may be lost
        (
            [{"text": "adult", "price": "12 euros"}],
            ['[{"text": "adult", "price": "12 euros"}]'],
        ),
        ({"height": 63}, ['{"height": 63}']),
    ],
    ids=["documents", "within an object", "data", "a value"],
)
def test_documents_that_a_tool_returned_as_json_are_contexts_each(
    returned: Any, texts: list[str]
) -> None:
    found = {"role": "tool", "content": json.dumps(returned)}
    (sample,) = ce.read_samples([{"messages": [ASKED, found, SAID]}])
    assert [document.text for document in sample.contexts or ()] == texts


def test_a_prompt_with_the_question_of_the_row_is_its_turn() -> None:
    prompt = f"Context: It is 63 m high.\n\nQuestion: {ASKED['content']}\nAnswer briefly."
    messages = [{"role": "user", "content": prompt}, SAID]
    row = {"question": ASKED["content"], "contexts": ["It is 63 m high."], "messages": messages}
    (sample,) = ce.read_samples([row])
    assert (sample.question, sample.answer, sample.history) == (
        ASKED["content"],
        SAID["content"],
        (),
    )


def test_a_history_that_ends_with_an_answer_is_offered_as_the_conversation() -> None:
    row = {"chat_history": [ASKED, SAID], "documents": [{"snippet": "Its height is 63 m."}]}
    with pytest.raises(ce.DataError) as raised:
        list(ce.read_samples([row]))
    reading = {"messages": "chat_history", "contexts": "documents"}
    assert raised.value.readings == (reading,)
    (sample,) = ce.read_samples([row], mapping=reading)
    assert (sample.question, sample.answer) == (ASKED["content"], SAID["content"])


def test_a_list_with_an_item_for_each_answer_gives_each_turn_its_contexts() -> None:
    pages = [{"chunks": [{"content": "It is 63 m high."}]}, {"chunks": [{"content": "It is red."}]}]
    more = [{"role": "user", "content": "Red?"}, {"role": "assistant", "content": "Yes."}]
    row = {"messages": [ASKED, SAID, *more], "reference": pages}
    samples = list(ce.read_samples([row], turns="all"))
    texts = [[document.text for document in sample.contexts or ()] for sample in samples]
    assert texts == [["It is 63 m high."], ["It is red."]]
    row["reference"] = pages[1:]
    first, last = ce.read_samples([row], turns="all", mapping={"contexts": "reference[-1].chunks"})
    assert (first.contexts, len(last.contexts or ())) == (None, 1)
