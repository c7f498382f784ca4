"""Replies of small models on this machine are limited, if their server states their size; those of
all others are not, and their requests stay the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.execution.pace import INITIAL_LIMIT, ConcurrencyLimit
from claimeval.testing import serve
from claimeval.types.chat_format import write_chat

SAMPLE = ce.Sample(
    id="1", question="How high is it?", answer="It is 63 m high.", contexts=("It is 63 m high.",)
)
LLAMA_CPP = "Hello {{ message }}"
QWEN = "{%- if enable_thinking %}<think>{% endif %}"
RIGHT = {
    "claims": [{"claim": "It is 63 m high.", "sentences": [1], "quote": "It is 63 m high."}],
    "verdicts": [{"id": "c1", "reason": "", "evidence": ["d1"], "label": "supported"}],
}


class Server:
    """Answers rightly, states facts about its model, and keeps what it was asked."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts
        """Bodies of responses by the end of the path."""
        self.paths: list[str] = []
        self.limits: list[int] = []

    def respond(self, path: str, _: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        """Respond as llama.cpp or Ollama does."""
        self.paths.append(path)
        for end, body in self.facts.items():
            if path.endswith(end):
                return 200, json.dumps(body).encode()
        if not path.endswith("/chat/completions"):
            return 404, b"{}"
        asked = json.loads(content)
        self.limits.append(asked["max_tokens"])
        step = "claims" if "<sentences>" in asked["messages"][-1]["content"] else "verdicts"
        return 200, write_chat(json.dumps({step: RIGHT[step]}), asked["model"])


def llama_cpp(parameters: object, template: str = LLAMA_CPP) -> Server:
    entry = {"id": "/models/a.gguf", "owned_by": "llamacpp", "meta": {"n_params": parameters}}
    return Server({"/v1/models": {"data": [entry]}, "/props": {"chat_template": template}})


def ollama(parameters: int, *capabilities: str) -> Server:
    info = {"general.parameter_count": parameters}
    return Server({"/api/show": {"model_info": info, "capabilities": list(capabilities)}})


def limits(
    server: Server, cache: Path, *, model: str = "openai:local", **settings: Any
) -> set[int]:
    """Score a sample with a judge at the server, and return the limits of the replies."""
    with serve(server.respond) as url:
        judge = ce.Judge(name="small", model=f"{model}@{url}", **settings)
        options = ce.RunOptions(cache=cache)
        scored = ce.score([SAMPLE], judges=judge, metrics="faithfulness", options=options)
    assert scored.results[0].scores["faithfulness"].value == 1.0
    return set(server.limits)


@pytest.mark.parametrize(
    "server",
    [llama_cpp(134_515_008), llama_cpp(999_999_999), ollama(268_098_176, "completion")],
)
def test_replies_of_a_small_model_are_limited_to_what_the_question_needs(
    server: Server, tmp_path: Path
) -> None:
    model = "ollama:tiny" if "/api/show" in server.facts else "openai:local"
    # 256 and 60 for a verdict
    assert limits(server, tmp_path, model=model) == {1024, 316}


@pytest.mark.parametrize(
    "server",
    [
        llama_cpp(1_000_000_000),
        llama_cpp(751_632_384, QWEN),  # Qwen3-0.6B
        llama_cpp("134M"),
        llama_cpp(None),
        llama_cpp(True),
        Server({"/v1/models": {"data": [{"id": "a"}, {"id": "b", "meta": {"n_params": 9}}]}}),
        Server({"/v1/models": []}),
        Server({"/v1/models": {"data": {"meta": 1}}}),
        Server({}),
        ollama(751_632_384, "completion", "thinking"),
        ollama(8_190_735_360, "completion"),
    ],
)
def test_other_models_keep_their_limit(server: Server, tmp_path: Path) -> None:
    model = "ollama:other" if "/api/show" in server.facts else "openai:local"
    assert limits(server, tmp_path, model=model) == {4096}


def test_a_limit_in_the_judge_file_is_kept_and_no_server_is_asked(tmp_path: Path) -> None:
    server = llama_cpp(134_515_008)
    assert limits(server, tmp_path, max_tokens=2000) == {2000}
    assert {path.rpartition("/v1")[2] for path in server.paths} == {"/chat/completions"}


def test_a_model_of_the_table_is_not_asked_about(tmp_path: Path) -> None:
    server = llama_cpp(134_515_008)
    assert limits(server, tmp_path, model="openai:gpt-4.1-mini") == {4096}
    assert not any(path.endswith("/models") for path in server.paths)


def test_the_size_is_asked_once_and_kept_beside_the_replies(tmp_path: Path) -> None:
    """A second run finds the replies of the first, and asks the server nothing; a run of another
    sample sends the same limit."""
    server = llama_cpp(134_515_008)
    with serve(server.respond) as url:

        def score(text: str, *, offline: bool = False) -> None:
            """Score an answer with this text."""
            sample = SAMPLE.model_copy(update={"answer": text})
            judge = ce.Judge(name="small", model=f"openai:local@{url}")
            options = ce.RunOptions(cache=tmp_path, offline=offline)
            run = ce.score([sample], judges=judge, metrics="faithfulness", options=options)
            assert run.results[0].scores["faithfulness"].value == 1.0

        score("It is 63 m high.")
        first = list(server.paths)
        score("It is 63 m high.")
        score("It is 63 m high.", offline=True)
        assert server.paths == first
        score("It is 63 m high!")
    asked = [path for path in server.paths if not path.endswith("/chat/completions")]
    assert asked == ["/v1/models", "/props"]
    assert set(server.limits) == {1024, 316}


def test_replies_from_before_the_size_was_asked_are_still_found(tmp_path: Path) -> None:
    server = Server({})
    with serve(server.respond) as url:
        judge = ce.Judge(name="small", model=f"openai:local@{url}")

        def score() -> None:
            """Score the sample."""
            options = ce.RunOptions(cache=tmp_path)
            ce.score([SAMPLE], judges=judge, metrics="faithfulness", options=options)

        score()
        sent = len(server.limits)
        server.facts = llama_cpp(134_515_008).facts
        score()
    assert len(server.limits) == sent


def test_the_first_warning_names_the_size_and_the_setting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits(llama_cpp(134_515_008), tmp_path)
    assert "has 135 million parameters" in caplog.text
    assert "`max_tokens`" in caplog.text


@pytest.mark.parametrize(
    ("fixed", "answered", "limit"),
    [(None, 2, 2), (None, 0, 1), (None, 50, INITIAL_LIMIT), (6, 0, 6)],
)
def test_as_many_calls_are_in_flight_as_were_answered_while_one_timed_out(
    fixed: int | None, answered: int, limit: int
) -> None:
    """A limit that the user set stays; so does that of a server that answers the others."""
    concurrency = ConcurrencyLimit(fixed)
    concurrency.overloaded(answered)
    assert concurrency.limit == limit


def test_a_small_model_that_does_not_end_is_not_asked_for_more(tmp_path: Path) -> None:
    """A cut verdict on one claim is not asked for again, and no higher limit is advised."""
    server = llama_cpp(134_515_008)

    def respond(path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        status, body = server.respond(path, headers, content)
        if path.endswith("/chat/completions") and b"<sentences>" not in content:
            reply = json.loads(body)
            reply["choices"][0]["message"]["content"] = '{"verdicts":[{"id":"c1","reason":"It is'
            reply["choices"][0]["finish_reason"] = "length"
            body = json.dumps(reply).encode()
        return status, body

    with serve(respond) as url:
        judge = ce.Judge(name="small", model=f"openai:local@{url}")
        options = ce.RunOptions(cache=tmp_path)
        run = ce.score([SAMPLE], judges=judge, metrics="faithfulness", options=options)
    assert server.limits == [1024, 316]
    assert run.results[0].scores["faithfulness"].value is None
    (failed,) = [call for call in run.results[0].calls if call.failed]
    assert failed.message == "the reply of a small model is longer than its question needs"
