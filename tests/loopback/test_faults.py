"""Every kind of fault as the two real SDKs see it, retries off, and the schedule that decides when
it comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import openai
import pytest
from mistralai.client import errors
from openai import AsyncOpenAI

from benchmarks.loopback import (
    Exchange,
    Faults,
    Handle,
    Limits,
    Options,
    mixed,
    named,
    serve_in_thread,
)
from benchmarks.loopback.sabotage import DEPTH, HUGE, KINDS
from benchmarks.loopback.sdk import ONE_CALL_EACH, mistral_client, openai_client
from tests.conftest import StartServer

QUESTION: Any = [{"role": "user", "content": "Is it grounded?"}]
KEY = "sk-CANARY"
PATIENCE = 20.0
TIMEOUTS = {"hang": 1.0}
WALLS = {"drip": 1.0}
"""Seconds until the SDK's own timeout, and until ours, for the faults that take for ever: more than
a connection takes on a machine with ten processes a core."""

Outcome = Any
"""What the SDK returned, or the error it raised."""
Call = Callable[[float], Awaitable[Any]]
"""Timeout in seconds -> the outcome."""


async def outcomes(ask: Call) -> dict[str, Outcome]:
    """Asks once for every kind of fault, in the order of the table."""
    seen: dict[str, Outcome] = {}
    for kind in named():
        try:
            timeout = TIMEOUTS.get(kind, PATIENCE)
            seen[kind] = await asyncio.wait_for(ask(timeout), WALLS.get(kind, PATIENCE))
        except (
            openai.OpenAIError,
            errors.MistralError,
            httpx2.HTTPError,
            ValueError,
            TimeoutError,
        ) as error:
            seen[kind] = error
    return seen


Seen = dict[tuple[str, str], tuple[Outcome, Exchange]]
"""(kind, SDK) -> what the SDK made of it, and how the log has it."""


@pytest.fixture(scope="module")
def seen() -> Seen:
    faults = Faults(first=named() * 2)

    async def run(server: Handle) -> tuple[dict[str, Outcome], dict[str, Outcome]]:
        async with openai_client(server, key=KEY, limits=ONE_CALL_EACH) as client:
            create = client.chat.completions.create
            first = await outcomes(
                lambda seconds: create(model="m", messages=QUESTION, timeout=seconds)
            )
        async with mistral_client(server, key=KEY, limits=ONE_CALL_EACH) as mistral:
            complete = mistral.chat.complete_async
            second = await outcomes(
                lambda seconds: complete(
                    model="m", messages=QUESTION, timeout_ms=int(seconds * 1000)
                )
            )
        return first, second

    with serve_in_thread(Options(faults=faults, drip=0.01)) as server:
        by_sdk = asyncio.run(run(server))
        logged = [e for e in server.exchanges() if e.path.startswith(("/openai", "/mistral"))]
        assert KEY.encode() not in server.log.read_bytes()
    return {
        (kind, sdk): (outcome, exchange)
        for sdk, outcomes_, exchanges_ in zip(
            ("openai", "mistral"), by_sdk, (logged[: len(KINDS)], logged[len(KINDS) :]), strict=True
        )
        for (kind, outcome), exchange in zip(outcomes_.items(), exchanges_, strict=True)
    }


STATUS = {
    "capacity_429": 429,
    "insufficient_quota": 429,
    "unsupported_parameter": 400,
    "context_too_long": 400,
    "filtered_prompt": 400,
    "key_echo": 401,
    "redirect_302": 404,  # both SDKs follow redirects, and there is nothing where these lead
    "redirect_307": 404,
    "key_in_redirect": 404,
} | {kind: 429 for kind in named("rate") if kind.startswith("rate_limited")}
STATUS |= {kind: int(kind.removeprefix("status_")) for kind in KINDS if kind.startswith("status_")}

OPENAI_CLASS = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    408: openai.APIStatusError,
    409: openai.ConflictError,
    413: openai.APIStatusError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
}

BROKEN = {
    "reset": httpx2.ReadError,
    "eof": httpx2.RemoteProtocolError,
    "cut_body": httpx2.RemoteProtocolError,
    "reset_in_body": httpx2.ReadError,
    "garbage": httpx2.RemoteProtocolError,
}


@pytest.mark.parametrize(("kind", "status"), STATUS.items())
def test_a_status_is_the_sdks_error_for_it(seen: Seen, kind: str, status: int) -> None:
    from_openai, logged = seen[kind, "openai"]
    assert type(from_openai) is OPENAI_CLASS.get(status, openai.InternalServerError)
    assert from_openai.status_code == status
    from_mistral, _ = seen[kind, "mistral"]
    assert type(from_mistral) is (errors.HTTPValidationError if status == 422 else errors.SDKError)
    assert from_mistral.status_code == status
    assert not logged.paid


def test_an_unknown_model_is_404_at_openai_and_400_at_mistral(seen: Seen) -> None:
    from_openai, _ = seen["unknown_model", "openai"]
    from_mistral, _ = seen["unknown_model", "mistral"]
    assert (from_openai.status_code, from_openai.code) == (404, "model_not_found")
    assert (from_mistral.status_code, json.loads(from_mistral.body)["type"]) == (
        400,
        "invalid_model",
    )


@pytest.mark.parametrize(
    ("kind", "code", "kind_of_error"),
    [
        ("insufficient_quota", "insufficient_quota", "insufficient_quota"),
        ("rate_limited", "rate_limit_exceeded", "requests"),
        ("unsupported_parameter", "unsupported_value", "invalid_request_error"),
        ("filtered_prompt", "content_filter", "invalid_request_error"),
        ("context_too_long", "context_length_exceeded", "invalid_request_error"),
        ("status_401", "invalid_api_key", "invalid_request_error"),
    ],
)
def test_openai_errors_carry_code_and_type(
    seen: Seen, kind: str, code: str, kind_of_error: str
) -> None:
    error, _ = seen[kind, "openai"]
    assert (error.code, error.type) == (code, kind_of_error)


@pytest.mark.parametrize(
    ("kind", "header", "value"),
    [
        ("rate_limited", "retry-after", None),
        ("rate_limited_zero", "retry-after", "0"),
        ("rate_limited_seconds", "retry-after", "1"),
        ("rate_limited_garbage", "retry-after", "soon"),
        ("rate_limited_day", "retry-after", "86400"),
        ("rate_limited_ms", "retry-after-ms", "250"),
        ("rate_limited_reset", "x-ratelimit-reset-requests", "500ms"),
        ("insufficient_quota", "x-ratelimit-limit-req-minute", "0"),
    ],
)
def test_a_rate_limit_says_when_to_come_again(
    seen: Seen, kind: str, header: str, value: str | None
) -> None:
    assert seen[kind, "openai"][0].response.headers.get(header) == value
    assert seen[kind, "mistral"][0].headers.get(header) == value


def test_a_rate_limit_may_name_a_date(seen: Seen) -> None:
    assert seen["rate_limited_date", "openai"][0].response.headers["retry-after"].endswith(" GMT")


@pytest.mark.parametrize(("kind", "cause"), BROKEN.items())
def test_a_broken_connection_is_a_connection_error(
    seen: Seen, kind: str, cause: type[Exception]
) -> None:
    from_openai, logged = seen[kind, "openai"]
    assert type(from_openai) is openai.APIConnectionError
    assert type(from_openai.__cause__) is cause
    assert type(seen[kind, "mistral"][0]) is cause
    assert (logged.paid, logged.fully_sent) == (True, False)


def test_a_hanging_server_is_a_timeout(seen: Seen) -> None:
    assert type(seen["hang", "openai"][0]) is openai.APITimeoutError
    assert type(seen["hang", "mistral"][0]) is httpx2.ReadTimeout


@pytest.mark.parametrize("sdk", ["openai", "mistral"])
def test_a_dripping_server_outlives_the_sdks_timeout(seen: Seen, sdk: str) -> None:
    assert type(seen["drip", sdk][0]) is TimeoutError  # ours, from the wall clock


@pytest.mark.parametrize("kind", ["empty_body", "html_as_json", "truncated_json"])
def test_json_that_is_none_raises(seen: Seen, kind: str) -> None:
    assert type(seen[kind, "openai"][0]) is json.JSONDecodeError
    assert type(seen[kind, "mistral"][0]) is errors.ResponseValidationError


@pytest.mark.parametrize(
    "kind", ["null_body", "list_body", "error_body", "choices_null", "no_usage", "usage_words"]
)
def test_mistral_refuses_records_that_openai_lets_pass(seen: Seen, kind: str) -> None:
    assert not isinstance(seen[kind, "openai"][0], Exception)
    assert type(seen[kind, "mistral"][0]) is errors.ResponseValidationError


def test_openai_returns_whatever_came(seen: Seen) -> None:
    came = {kind: outcome for (kind, sdk), (outcome, _) in seen.items() if sdk == "openai"}
    assert came["html_page"].startswith("<html>")
    assert came["null_body"] is None
    assert came["list_body"] == []
    assert (came["error_body"].id, came["error_body"].choices) == (None, None)
    assert came["choices_null"].choices is None
    assert came["no_usage"].usage is None
    assert came["usage_words"].usage.prompt_tokens == "ten"
    assert came["usage_negative"].usage.prompt_tokens == -5
    assert came["lone_surrogate"].choices[0].message.content == "\ud800"
    assert came["key_in_reply"].debug["authorization"] == f"Bearer {KEY}"
    assert came["key_in_reply"].debug["escaped"] == KEY


def test_both_return_an_empty_list_of_choices(seen: Seen) -> None:
    assert [seen["choices_empty", sdk][0].choices for sdk in ("openai", "mistral")] == [[], []]


def test_mistral_refuses_a_page_and_a_surrogate_and_replaces_bad_bytes(seen: Seen) -> None:
    assert type(seen["html_page", "mistral"][0]) is errors.SDKError
    assert type(seen["lone_surrogate", "mistral"][0]) is errors.ResponseValidationError
    assert seen["bad_utf8", "mistral"][0].choices[0].message.content == "caf� �"
    assert type(seen["bad_utf8", "openai"][0]) is UnicodeDecodeError


@pytest.mark.parametrize("sdk", ["openai", "mistral"])
@pytest.mark.parametrize(
    ("kind", "finish", "content"),
    [
        ("finish_length", "length", "Is it g"),
        ("finish_content_filter", "content_filter", ""),
        ("finish_error", "error", ""),
        ("finish_unknown", "enough", "Is it grounded?"),
        ("refusal", "stop", None),
        ("null_content", "stop", None),
        ("empty_content", "stop", ""),
        ("closed_after", "stop", "Is it grounded?"),
        ("huge_content", "stop", "x" * HUGE),
        ("deep_content", "stop", "[" * DEPTH),
    ],
)
def test_a_record_without_an_answer_is_returned(
    seen: Seen, kind: str, sdk: str, finish: str, content: str | None
) -> None:
    outcome, logged = seen[kind, sdk]
    choice = outcome.choices[0]
    assert choice.finish_reason == finish
    assert choice.message.content == content
    assert logged.paid
    assert logged.fully_sent


def test_mistral_drops_the_words_of_a_refusal(seen: Seen) -> None:
    assert seen["refusal", "openai"][0].choices[0].message.refusal == "I cannot help with that."
    assert not hasattr(seen["refusal", "mistral"][0].choices[0].message, "refusal")


def test_content_may_come_in_parts(seen: Seen) -> None:
    parts = seen["content_parts", "openai"][0].choices[0].message.content
    assert [part["type"] for part in parts] == ["thinking", "text"]
    chunks = seen["content_parts", "mistral"][0].choices[0].message.content
    assert chunks[1].text == "Is it grounded?"


def test_an_echoed_key_reaches_the_errors_text(seen: Seen) -> None:
    assert KEY in str(seen["key_echo", "openai"][0])
    assert KEY in str(seen["key_echo", "mistral"][0])
    assert KEY in seen["key_echo", "openai"][0].response.headers["x-echo"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_names_the_fault_and_what_it_cost(seen: Seen, kind: str) -> None:
    for sdk in ("openai", "mistral"):
        logged = seen[kind, sdk][1]
        assert logged.fault == kind
        assert logged.paid == KINDS[kind].paid
        assert logged.tokens == (6 if logged.paid else 0)


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_may_lead_to_another_server(start_server: StartServer, status: int) -> None:
    elsewhere = start_server()
    target = f"http://127.0.0.1:{elsewhere.port}"
    server = start_server(Options(faults=Faults(first=(f"redirect_{status}",)), redirect_to=target))

    async def ask() -> None:
        client = openai.DefaultAsyncHttpx2Client(follow_redirects=False)
        async with AsyncOpenAI(
            base_url=server.url, api_key=KEY, max_retries=0, http_client=client
        ) as sdk:
            await sdk.chat.completions.create(model="m", messages=QUESTION)

    with pytest.raises(openai.APIStatusError) as refused:
        asyncio.run(ask())
    assert refused.value.response.headers["location"].startswith(target)
    assert refused.value.status_code == status
    assert elsewhere.exchanges() == []


def test_the_schedule_is_a_function_of_the_seed_and_the_place() -> None:
    faults = Faults(seed=3, rates={"reset": 0.1, "status_500": 0.1})
    kinds = [faults.at(n) for n in range(10_000)]
    assert kinds == [faults.at(n) for n in range(10_000)]
    assert kinds != [Faults(seed=4, rates=faults.rates).at(n) for n in range(10_000)]
    assert 900 < kinds.count("reset") < 1100
    assert 900 < kinds.count("status_500") < 1100


def test_a_schedule_per_body_counts_attempts() -> None:
    faults = Faults(rates={"reset": 0.5}, per="body")
    of_a, of_b = ([faults.at(n, body) for n in range(50)] for body in ("a", "b"))
    assert of_a != of_b
    assert Faults(rates={"reset": 0.5}).at(7, "a") == Faults(rates={"reset": 0.5}).at(7, "b")


def test_the_first_requests_can_be_told_what_happens() -> None:
    faults = Faults(first=("reset", None, "eof"), rates={"status_500": 1.0})
    assert [faults.at(n) for n in range(4)] == ["reset", None, "eof", "status_500"]


@pytest.mark.parametrize(
    "wrong",
    [{"rates": {"nonsense": 0.1}}, {"first": ("nonsense",)}, {"rates": mixed(1.1, ["eof"])}],
)
def test_a_schedule_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        Faults(**wrong)


def test_mixed_shares_the_rate_among_the_kinds_of_a_group() -> None:
    rates = mixed(0.2, named("connection"))
    assert rates == dict.fromkeys(
        ["reset", "eof", "cut_body", "reset_in_body", "garbage"], pytest.approx(0.04)
    )


async def _until_answered(server: Handle, bodies: int) -> None:
    async with openai_client(server) as client:
        for number in range(bodies):
            while True:
                try:
                    question: Any = [{"role": "user", "content": f"question {number}"}]
                    await client.chat.completions.create(model="m", messages=question)
                    break
                except openai.OpenAIError:
                    continue


def test_the_server_keeps_to_the_schedule(start_server: StartServer) -> None:
    faults = Faults(seed=1, rates=mixed(0.5, named("transient")))
    server = start_server(Options(faults=faults))
    asyncio.run(_until_answered(server, 20))
    logged = server.exchanges()
    assert [e.fault for e in logged] == [faults.at(n) for n in range(len(logged))]
    assert sum(e.answered for e in logged) == 20


def test_a_body_meets_at_most_so_many_faults(start_server: StartServer) -> None:
    server = start_server(Options(faults=Faults(rates={"status_500": 1.0}, at_most=2)))
    asyncio.run(_until_answered(server, 5))
    assert [e.fault for e in server.exchanges()] == ["status_500", "status_500", None] * 5


def test_a_running_server_can_be_given_another_schedule(start_server: StartServer) -> None:
    server = start_server()
    asyncio.run(_until_answered(server, 1))
    server.server.faults = Faults(first=("eof",))
    asyncio.run(_until_answered(server, 1))
    assert [e.fault for e in server.exchanges()] == [None, "eof", None]


def test_options_survive_the_trip_to_another_process() -> None:
    options = Options(
        faults=Faults(seed=2, rates={"eof": 0.1}, first=("reset", None), per="body", at_most=3),
        limits=Limits(requests=60, tokens=10_000, by="window"),
    )
    assert Options.from_json(options.to_json()) == options
    assert Options.from_json("{}") == Options()
