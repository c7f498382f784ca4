"""Requests that begin alike follow the first one; what is asked stays the same."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Latency, Options, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.evaluation.judgment import even_size
from claimeval.execution import Executor
from claimeval.execution.warm import SHARED, WarmingExecutor
from claimeval.types.records import Document
from claimeval.types.requests import Completion, Failure, Judge, Message, Outcome, Request
from tests.conftest import StartServer

JUDGE = Judge(model="openai:m")


def request(text: str, judge: Judge = JUDGE) -> Request:
    return Request(judge=judge, messages=(Message("user", text),), reply_format="json", max_tokens=10)


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


@pytest.mark.parametrize("outcome", [Completion(body=b"", text=""), Failure(reason="timeout", message="late")])
def test_the_first_goes_ahead_and_the_others_follow_together(outcome: Outcome) -> None:
    log = log_of([request(LONG + n) for n in "abc"], Watched(outcome))
    assert log[:2] == ["+a", "-a"]
    assert sorted(log[2:4]) == ["+b", "+c"]
    assert log[-2:] == ["+c", "-c"], "once it is warm, nothing waits"


def test_short_requests_and_other_models_do_not_wait() -> None:
    other = Judge(model="openai:other")
    for requests in ([request(n) for n in "ab"], [request(LONG + "a"), request(LONG + "b", other)]):
        assert log_of(requests, Watched())[:2] == ["+a", "+b"]
    schemas = [replace(request(LONG + n), response_schema=f'{{"{n}":1}}') for n in "ab"]
    assert log_of(schemas, Watched())[:2] == ["+a", "+b"], "a schema precedes the prompt"


@pytest.mark.parametrize(
    ("subjects", "limit", "sizes"),
    [(0, 5, []), (1, 5, [1]), (5, 5, [5]), (6, 5, [3, 3]), (11, 5, [4, 4, 3]), (21, 20, [11, 10]), (3, 1, [1, 1, 1])],
)
def test_chunks_are_as_few_and_as_even_as_possible(subjects: int, limit: int, sizes: list[int]) -> None:
    size = even_size(subjects, limit)
    assert [min(size, subjects - start) for start in range(0, subjects, size)] == sizes


def test_a_run_asks_with_one_schema_a_prompt_and_warms_the_evidence_of_each_sample(
    start_server: StartServer, tmp_path: Path
) -> None:
    """Seven claims of a sample are chunks of 4 and 3; their evidence is longer than what providers cache."""
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
    run = ce.score(samples, judges=judge, metrics="faithfulness", options=ce.RunOptions(cache=tmp_path))
    assert {len(call.subjects) for result in run for call in result.calls if call.step == "assess"} == {4, 3}
    assert len(asked) == 6
    assert len({json.dumps(body["response_format"]) for body in asked}) == 1
    evidence = Counter(text_of(body).partition("<claims>")[0] for body in asked)
    assert sorted(evidence.values()) == [2, 2, 2]
