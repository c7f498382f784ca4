"""Requests that begin alike follow the first one; what is asked stays the same."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

import claimeval as ce
from benchmarks.loopback import Latency, Options, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.evaluation.ask import even_chunks
from claimeval.execution import Executor
from claimeval.execution.warm import SHARED, WarmingExecutor
from claimeval.providers import anthropic, openai
from claimeval.types.records import Document
from claimeval.types.refusals import refused_parameters
from claimeval.types.requests import Completion, Failure, Judge, Message, Outcome, Request
from tests.conftest import StartServer

JUDGE = Judge(model="openai:m")


def request(text: str, judge: Judge = JUDGE) -> Request:
    return Request(
        judge=judge, messages=(Message("user", text),), reply_format="json", max_tokens=10
    )


READ = Completion(body=b"", text="")


class Watched(Executor):
    """Takes a moment for each request, and keeps the order of what happens."""

    def __init__(self, outcome: Outcome = READ) -> None:
        self.log: list[str] = []
        self._outcome = outcome

    async def ask(self, request: Request) -> Outcome:
        name = request.messages[0].content[-1]
        self.log.append(f"+{name}")
        await asyncio.sleep(0.01)
        self.log.append(f"-{name}")
        return self._outcome


def log_of(requests: list[Request], watched: Watched) -> list[str]:
    async def ask_all() -> None:
        warming = WarmingExecutor(watched)
        await asyncio.gather(*map(warming.ask, requests))
        await asyncio.gather(*map(warming.ask, requests[-1:]))

    asyncio.run(ask_all())
    return watched.log


LONG = "e" * SHARED


@pytest.mark.parametrize(
    "outcome", [Completion(body=b"", text=""), Failure(reason="timeout", message="late")]
)
def test_the_first_goes_ahead_and_the_others_follow_together(outcome: Outcome) -> None:
    log = log_of([request(LONG + n) for n in "abc"], Watched(outcome))
    assert log[:2] == ["+a", "-a"]
    assert sorted(log[2:4]) == ["+b", "+c"]
    assert log[-2:] == ["+c", "-c"], "once it is warm, nothing waits"


def test_the_prompts_of_requests_that_follow_are_not_kept() -> None:
    """200 of 20 kB each, one after the other, leave less than two of them in memory."""

    class Silent(Executor):
        async def ask(self, request: Request) -> Outcome:
            return READ

    async def held() -> int:
        """Return the bytes that are held after all requests."""
        warming = WarmingExecutor(Silent())
        await warming.ask(request(LONG))
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for number in range(200):
            await warming.ask(request(LONG + f"{number:020000}"))
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return after - before

    assert asyncio.run(held()) < 40_000


def test_short_requests_and_other_models_do_not_wait() -> None:
    other = Judge(model="openai:other")
    for requests in ([request(n) for n in "ab"], [request(LONG + "a"), request(LONG + "b", other)]):
        assert log_of(requests, Watched())[:2] == ["+a", "+b"]
    schemas = [replace(request(LONG + n), response_schema=f'{{"{n}":1}}') for n in "ab"]
    assert log_of(schemas, Watched())[:2] == ["+a", "+b"], "a schema precedes the prompt"


def bodies_of(
    requests: list[Request], body: Callable[[Request], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The bodies, in the order in which they are sent; the last request comes after all others have
    ended."""
    sent: list[dict[str, Any]] = []

    class Sent(Executor):
        async def ask(self, request: Request) -> Outcome:
            sent.append(body(request))
            return READ

    async def ask_all() -> None:
        warming = WarmingExecutor(Sent())
        await asyncio.gather(*map(warming.ask, requests[:-1]))
        await warming.ask(requests[-1])

    asyncio.run(ask_all())
    return sent


def test_anthropic_is_told_where_the_shared_evidence_ends_if_another_request_follows() -> None:
    claude = Judge(model="anthropic:claude-haiku-4-5", endpoint="https://api.anthropic.com")
    shared = f"{LONG}\n</evidence>\n"
    sent = bodies_of(
        [request(shared + text, claude) for text in ("c1: one", "c1: two", "c2: late")],
        anthropic.body,
    )
    mark = {"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}}
    assert [body["messages"][0]["content"] for body in sent] == [
        [mark, {"type": "text", "text": text}] for text in ("c1: one", "c1: two", "c2: late")
    ]


def test_a_request_that_is_alone_pays_for_no_cache_write() -> None:
    claude = Judge(model="anthropic:claude-haiku-4-5", endpoint="https://api.anthropic.com")
    sent = bodies_of([request(f"{LONG}\na", claude), request(f"{LONG}\nb", claude)], anthropic.body)
    assert [body["messages"][0]["content"] for body in sent] == [f"{LONG}\na", f"{LONG}\nb"]


@pytest.mark.parametrize(
    ("endpoint", "extra", "keys"),
    [
        ("https://api.openai.com/v1", {}, 1),
        ("https://eu.api.openai.com/v1", {}, 1),
        ("http://127.0.0.1:8000/v1", {}, 0),
        ("https://api.openai.com/v1", {"prompt_cache_key": "mine"}, 1),
    ],
)
def test_openai_gets_one_cache_key_for_requests_that_begin_alike(
    endpoint: str, extra: dict[str, JsonValue], keys: int
) -> None:
    judge = Judge(model="openai:m", endpoint=endpoint, extra=extra)
    sent = bodies_of([request(LONG + n, judge) for n in "abc"], openai.body)
    found = {body["prompt_cache_key"] for body in sent if "prompt_cache_key" in body}
    assert len(found) == keys
    assert found >= set(extra.values())
    assert [openai.body(request("short", judge)).get("prompt_cache_key")] == [
        extra.get("prompt_cache_key")
    ]


def test_a_cache_key_that_openai_refuses_is_left_out() -> None:
    refused = refused_parameters("Unknown parameter: 'prompt_cache_key'.", "prompt_cache_key")
    judge = Judge(model="openai:m", endpoint="https://api.openai.com/v1").without(refused)
    assert judge
    assert not any(
        "prompt_cache_key" in body for body in bodies_of([request(LONG, judge)] * 2, openai.body)
    )
    given = Judge(model="openai:m", extra={"prompt_cache_key": "mine"})
    assert given.without(refused) is None, "what a user set is not left out"


@pytest.mark.parametrize(
    ("subjects", "limit", "sizes"),
    [
        (0, 5, []),
        (1, 5, [1]),
        (5, 5, [5]),
        (6, 5, [3, 3]),
        (11, 5, [4, 4, 3]),
        (21, 5, [5, 4, 4, 4, 4]),
        (21, 20, [11, 10]),
        (41, 40, [21, 20]),
        (3, 1, [1, 1, 1]),
    ],
)
def test_chunks_are_as_few_and_as_even_as_possible(
    subjects: int, limit: int, sizes: list[int]
) -> None:
    claims = [Document(id=str(n), text="It holds.") for n in range(subjects)]
    chunks = even_chunks(claims, limit)
    assert [len(chunk) for chunk in chunks] == sizes
    assert [claim for chunk in chunks for claim in chunk] == claims


def test_a_run_asks_with_one_schema_a_prompt_and_warms_the_evidence_of_each_sample(
    start_server: StartServer, tmp_path: Path
) -> None:
    """Seven claims of a sample are chunks of 4 and 3; their evidence is longer than what providers
    cache."""
    asked: list[Body] = []

    def answer(body: Body) -> Reply:
        if "<claims>" in text_of(body):
            asked.append(body)
        return claim_judge.answer(body)

    server = start_server(Options(latency=Latency(seconds=0.05)), judge=answer)
    judge = ce.Judge(model="openai:m", endpoint=server.url)
    samples = [
        ce.Sample(
            id=f"s{n}",
            question="Which?",
            answer=" ".join(f"Fact {n}-{claim} holds." for claim in range(7)),
            contexts=(Document(id="d", text=f"Text {n}. " * 500),),
        )
        for n in range(3)
    ]
    run = ce.score(
        samples, judges=judge, metrics="faithfulness", options=ce.RunOptions(cache=tmp_path)
    )
    assert {
        len(call.subjects) for result in run for call in result.calls if call.step == "assess"
    } == {4, 3}
    assert len(asked) == 6
    assert len({json.dumps(body["response_format"]) for body in asked}) == 1
    evidence = Counter(text_of(body).partition("<claims>")[0] for body in asked)
    assert sorted(evidence.values()) == [2, 2, 2]
