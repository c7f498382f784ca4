"""Rate limits: the two ways of counting, worked by hand, and what the SDKs are told."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import openai
import pytest
from mistralai.client import errors

from benchmarks.loopback import Limits, Options
from benchmarks.loopback.dialects import DIALECTS
from benchmarks.loopback.limits import Bucket, Limiter, Window, duration
from benchmarks.loopback.sdk import mistral_client, openai_client
from tests.conftest import StartServer

OPENAI = DIALECTS["openai"]


def test_a_bucket_is_full_at_first_and_refills_evenly() -> None:
    bucket = Bucket(60, 60.0)  # one a second
    bucket.take(60, now=0)
    assert bucket.left(0) == 0
    assert bucket.wait(1, 0) == 1
    assert bucket.wait(10, 4) == 6
    assert bucket.left(4) == 4
    assert bucket.full_in(4) == 56
    assert bucket.left(1000) == 60


def test_a_window_forgets_what_is_older_than_itself() -> None:
    window = Window(3, 60.0)
    for now in (0, 10, 20):
        assert window.wait(1, now) == 0
        window.take(1, now)
    assert window.wait(1, 30) == 30  # the first leaves at 60
    assert window.wait(2, 30) == 40  # the second at 70
    assert window.left(60) == 1
    assert window.full_in(60) == 20


@pytest.mark.parametrize("meter", [Bucket(100, 60.0), Window(100, 60.0)])
def test_what_is_bigger_than_the_limit_never_fits(meter: Bucket | Window) -> None:
    assert meter.wait(101, 0) == math.inf
    assert meter.wait(100, 0) == 0


def test_a_limiter_refuses_with_the_longer_wait_and_takes_nothing() -> None:
    limiter = Limiter(Limits(requests=60, tokens=600))
    assert limiter.refuse(OPENAI, 600, now=0) is None
    refusal = limiter.refuse(OPENAI, 50, now=0)  # a request is there, 50 tokens come back in 5 s
    assert refusal is not None
    assert (refusal.status, refusal.headers["retry-after"]) == (429, "5")
    assert json.loads(refusal.body)["error"]["type"] == "tokens"
    assert refusal.headers["x-ratelimit-remaining-requests"] == "59"
    assert limiter.refuse(OPENAI, 50, now=5) is None


def test_tokens_of_the_completion_are_charged_afterwards() -> None:
    limiter = Limiter(Limits(tokens=100))
    assert limiter.refuse(OPENAI, 40, now=0) is None
    limiter.charge(90, now=0)
    assert limiter.headers(OPENAI, 130, now=0)["x-ratelimit-remaining-tokens"] == "0"
    refusal = limiter.refuse(OPENAI, 10, now=0)  # 130 used, 40 too many: 24 s
    assert refusal is not None
    assert refusal.headers["retry-after"] == "24"


def test_a_request_that_never_fits_names_no_time_to_come_again() -> None:
    refusal = Limiter(Limits(tokens=100)).refuse(OPENAI, 101, now=0)
    assert refusal is not None
    assert "retry-after" not in refusal.headers
    assert "too large" in json.loads(refusal.body)["error"]["message"]


def test_limits_need_a_number() -> None:
    with pytest.raises(ValueError):
        Limits()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0ms"), (0.5, "500ms"), (1.2, "1.2s"), (59, "59s"), (90, "1m30s"), (360, "6m0s"), (3600, "1h0m0s")],
)
def test_durations_are_written_as_openai_writes_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


QUESTION: Any = [{"role": "user", "content": "Is it grounded?"}]


def test_openai_is_told_the_state_and_then_refused(start_server: StartServer) -> None:
    server = start_server(Options(limits=Limits(requests=1, tokens=100)))

    async def ask() -> Any:
        async with openai_client(server) as client:
            first = await client.chat.completions.with_raw_response.create(model="m", messages=QUESTION)
            other = await client.chat.completions.with_raw_response.create(model="other", messages=QUESTION)
            with pytest.raises(openai.RateLimitError) as refused:
                await client.chat.completions.create(model="m", messages=QUESTION)
            return first.headers, other.headers, refused.value

    first, other, refused = asyncio.run(ask())
    told = {name: value for name, value in first.items() if name.startswith("x-ratelimit-")}
    assert told.pop("x-ratelimit-reset-requests").startswith(("1m0s", "59."))
    assert told.pop("x-ratelimit-reset-tokens").startswith(("3.", "4s"))  # 6 of 100 in 60 s
    assert told == {
        "x-ratelimit-limit-requests": "1",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-limit-tokens": "100",
        "x-ratelimit-remaining-tokens": "94",
    }
    assert other["x-ratelimit-remaining-tokens"] == "94"  # every model has limits of its own
    assert refused.code == "rate_limit_exceeded"
    assert 50 < int(refused.response.headers["retry-after"]) <= 60
    assert [(e.status, e.paid, e.fault) for e in server.exchanges()] == [
        (200, True, None),
        (200, True, None),
        (429, False, None),
    ]


def test_mistral_is_told_in_its_own_words(start_server: StartServer) -> None:
    server = start_server(Options(limits=Limits(requests=1)), dialect="mistral")

    async def ask() -> None:
        async with mistral_client(server) as client:
            for _ in range(2):
                await client.chat.complete_async(model="m", messages=QUESTION)

    with pytest.raises(errors.SDKError) as refused:
        asyncio.run(ask())
    assert json.loads(refused.value.body)["code"] == "1300"
    assert refused.value.headers["x-ratelimit-remaining-req-minute"] == "0"
    assert 50 < int(refused.value.headers["retry-after"]) <= 60
