"""The server as the two real SDKs see it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import openai
import pytest
from mistralai.client import errors
from openai import AsyncOpenAI

from benchmarks.loopback import EchoJudge, Handle, Latency, Options, Reply, ThreadHandle, serve
from benchmarks.loopback.process import ROOT
from benchmarks.loopback.sdk import mistral_client, openai_client

QUESTION: Any = [{"role": "user", "content": "Is it grounded?"}]


async def ask_openai(server: Handle, **changes: Any) -> Any:
    asked = {"model": "gpt-test", "messages": QUESTION, **changes}
    async with openai_client(server) as client:
        return await client.chat.completions.create(**asked)


async def ask_mistral(server: Handle, **changes: Any) -> Any:
    asked = {"model": "mistral-test", "messages": QUESTION, **changes}
    async with mistral_client(server) as client:
        return await client.chat.complete_async(**asked)


def test_openai_sdk_reads_a_reply(openai_server: ThreadHandle) -> None:
    reply = asyncio.run(ask_openai(openai_server))
    assert reply.choices[0].message.content == "Is it grounded?"
    assert (reply.choices[0].finish_reason, reply.model) == ("stop", "gpt-test")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (
        3,
        3,
    )  # 15 characters, four a token


def test_mistral_sdk_reads_a_reply(mistral_server: ThreadHandle) -> None:
    reply = asyncio.run(ask_mistral(mistral_server, random_seed=7))
    assert reply.choices[0].message.content == "Is it grounded?"
    assert (reply.choices[0].finish_reason, reply.model) == ("stop", "mistral-test")
    assert reply.usage.total_tokens == 6


def test_both_sdks_share_one_log(openai_server: ThreadHandle) -> None:
    asyncio.run(ask_openai(openai_server))
    asyncio.run(ask_mistral(openai_server))
    first, second = openai_server.exchanges()
    assert [first.n, second.n] == [0, 1]
    assert [first.path, second.path] == [
        "/openai/v1/chat/completions",
        "/mistral/v1/chat/completions",
    ]
    assert [first.model, second.model] == ["gpt-test", "mistral-test"]
    assert all(
        e.answered and e.paid and e.tokens == 6 and "authorization" in e.headers
        for e in (first, second)
    )


def test_equal_requests_have_equal_hashes_in_the_log(openai_server: ThreadHandle) -> None:
    for content in ("a", "a", "b"):
        asyncio.run(ask_openai(openai_server, messages=[{"role": "user", "content": content}]))
    first, second, third = (e.sha256 for e in openai_server.exchanges())
    assert first == second != third


def test_the_log_hashes_the_bytes_and_holds_no_key(openai_server: ThreadHandle) -> None:
    body = json.dumps({"model": "m", "messages": QUESTION}).encode()
    headers = {"Authorization": "Bearer sk-CANARY", "Content-Type": "application/json"}
    request = urllib.request.Request(openai_server.url + "/chat/completions", body, headers)
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    assert openai_server.exchanges()[0].sha256 == hashlib.sha256(body).hexdigest()
    assert b"CANARY" not in openai_server.log.read_bytes()


@pytest.mark.parametrize("missing", ["Authorization", "Content-Type"])
def test_a_request_without_its_headers_is_refused(
    openai_server: ThreadHandle, missing: str
) -> None:
    headers = {"Authorization": "Bearer sk-test", "Content-Type": "application/json"}
    headers[missing] = "none"
    body = json.dumps({"model": "m", "messages": QUESTION}).encode()
    request = urllib.request.Request(openai_server.url + "/chat/completions", body, headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    refused.value.close()
    assert refused.value.code == {"Authorization": 401, "Content-Type": 415}[missing]
    assert not openai_server.exchanges()[0].paid


@pytest.mark.parametrize(
    "changes",
    [{"messages": []}, {"messages": [{"role": "wizard", "content": "x"}]}, {"model": ""}, {"n": 2}],
)
def test_openai_refuses_what_is_wrong_in_itself(openai_server: ThreadHandle, changes: Any) -> None:
    with pytest.raises(openai.BadRequestError):
        asyncio.run(ask_openai(openai_server, **changes))


def test_openai_refuses_an_unknown_field(openai_server: ThreadHandle) -> None:
    with pytest.raises(
        openai.BadRequestError, match="Unrecognized request argument supplied: random_seed"
    ):
        asyncio.run(ask_openai(openai_server, extra_body={"random_seed": 1}))


def test_mistral_refuses_openai_field_names(mistral_server: ThreadHandle) -> None:
    client = AsyncOpenAI(base_url=mistral_server.url + "/v1", api_key="key-test", max_retries=0)

    async def ask() -> None:
        async with client:
            await client.chat.completions.create(
                model="m", messages=QUESTION, max_completion_tokens=5
            )

    with pytest.raises(openai.UnprocessableEntityError) as refused:
        asyncio.run(ask())
    assert refused.value.response.json()["message"]["detail"][0]["loc"] == [
        "body",
        "max_completion_tokens",
    ]


def test_only_the_configured_key_is_accepted(start_server: Any) -> None:
    server = start_server(Options(key="sk-other"))
    with pytest.raises(openai.AuthenticationError) as refused:
        asyncio.run(ask_openai(server))
    assert refused.value.code == "invalid_api_key"
    with pytest.raises(errors.SDKError) as unauthorized:
        asyncio.run(ask_mistral(server))
    assert unauthorized.value.status_code == 401


def test_a_judge_is_any_function_from_the_body_to_a_reply(openai_server: ThreadHandle) -> None:
    replies = iter([Reply("one"), Reply("two", finish_reason="length")])
    openai_server.server.judge = lambda body: next(replies)
    said = [asyncio.run(ask_openai(openai_server)).choices[0] for _ in range(2)]
    assert [(r.message.content, r.finish_reason) for r in said] == [
        ("one", "stop"),
        ("two", "length"),
    ]


def test_an_echo_can_be_given_a_size() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "abc"}]}
    assert EchoJudge(size=7)(body).content == "abcabca"
    assert EchoJudge(size=2)(body).content == "ab"


def test_many_calls_at_once_are_all_answered_and_logged(openai_server: ThreadHandle) -> None:
    async def ask_all() -> list[Any]:
        async with openai_client(openai_server) as client:
            create = client.chat.completions.create
            return await asyncio.gather(
                *(
                    create(model="m", messages=[{"role": "user", "content": str(i)}])
                    for i in range(100)
                )
            )

    replies = asyncio.run(ask_all())
    assert [r.choices[0].message.content for r in replies] == [str(i) for i in range(100)]
    assert sum(e.answered for e in openai_server.exchanges()) == 100


def test_a_five_megabyte_reply_arrives_whole(start_server: Any) -> None:
    server = start_server(judge=EchoJudge(size=5_000_000))
    reply = asyncio.run(ask_openai(server))
    assert len(reply.choices[0].message.content) == 5_000_000
    assert server.exchanges()[0].fully_sent


def test_a_call_given_up_is_paid_but_not_sent(start_server: Any) -> None:
    server = start_server(Options(latency=Latency(seconds=30)))
    with pytest.raises(openai.APITimeoutError):
        asyncio.run(ask_openai(server, timeout=0.1))
    (exchange,) = server.exchanges()
    assert (exchange.paid, exchange.fully_sent) == (True, False)


def test_the_slow_tail_is_a_function_of_the_seed() -> None:
    latency = Latency(seconds=0.2, tail_seconds=3, tail_rate=0.05, seed=1)
    slow = [n for n in range(10_000) if latency.of(n) == 3]
    assert slow == [n for n in range(10_000) if latency.of(n) == 3]
    assert 400 < len(slow) < 600


def test_a_server_in_its_own_process_answers_and_ends() -> None:
    options = Options(judge="benchmarks.loopback.judge:EchoJudge", judge_args={"size": 2})
    with serve(options, dialect="mistral") as server:
        assert (
            asyncio.run(ask_mistral(server)).choices[0].message.content
            == QUESTION[-1]["content"][:2]
        )
        assert server.exchanges()[0].answered
        server.stop()
        assert server.process.returncode == 0
        assert len(server.exchanges()) == 1  # the log stays readable


def test_a_server_dies_with_its_parent(tmp_path: Path) -> None:
    program = """
import os, signal
from benchmarks.loopback import serve
with serve() as server:
    print(server.port, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    parent = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert parent.returncode == -signal.SIGKILL
    port = int(parent.stdout)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)
    pytest.fail("the server outlived its parent")


def test_a_killed_server_leaves_a_readable_log() -> None:
    with serve() as server:
        asyncio.run(ask_openai(server))
        assert len(server.exchanges()) == 1  # the server has logged the end of it, too
        server.kill()
        assert [e.answered for e in server.exchanges()] == [True]
