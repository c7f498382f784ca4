"""Anthropic's messages through its real SDK."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.providers import MAX_REPLY_BYTES, anthropic, provider, specs
from claimeval.providers.prices import Price, cost_bound, price_of
from claimeval.types.errors import UsageError
from claimeval.types.families import Families
from claimeval.types.requests import CallError, Completion, Judge, Message, Request
from tests.canary import CANARY
from tests.providers.anthropic_server import (
    AnthropicServer,
    Body,
    anthropic_server,
    error,
    judged,
    message,
    text,
    tool,
)
from tests.providers.asking import Asked, ask
from tests.sample_runs import RIGHT, run

SCHEMA = '{"type":"object","properties":{"reason":{"type":"string","maxLength":500}}}'


def said(reply: Body, body: Body) -> Body:
    return reply


def judge(
    server: AnthropicServer | None = None, model: str = "claude-haiku-4-5", **settings: Any
) -> Judge:
    at = f"@{server.url}" if server else ""
    return specs.parse_judge(f"anthropic:{model}{at}", settings)


def request(judge: Judge, **fields: Any) -> Request:
    messages = (
        Message(role="system", content="You judge."),
        Message(role="user", content="Is it so?"),
    )
    given: dict[str, Any] = {
        "response_schema": SCHEMA,
        "max_tokens": judge.max_tokens,
        "reply_format": "json",
    }
    return Request(judge=judge, messages=messages, **given | fields)


def answered(reply: Body | tuple[int, bytes], **settings: Any) -> Asked:
    with anthropic_server(lambda body: reply) as server:
        return ask(judge(server, **settings))


def completed(*content: Body, **fields: Any) -> Completion:
    outcome = answered(message(*content, **fields)).outcome
    assert isinstance(outcome, Completion)
    return outcome


def refused(status: int, kind: str, words: str, **headers: str) -> CallError:
    outcome = answered(error(status, kind, words, **headers)).outcome  # type: ignore[arg-type]
    assert isinstance(outcome, CallError)
    return outcome


def test_a_request_forces_the_schema_by_a_tool_and_marks_the_system_prompt_for_the_cache() -> None:
    assert anthropic.body(request(judge())) == {
        "model": "claude-haiku-4-5",
        "max_tokens": 4096,
        "temperature": 0.0,
        "system": [{"type": "text", "text": "You judge.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Is it so?"}],
        "tools": [
            {
                "name": "reply",
                "description": "Give the reply that the prompt asks for.",
                "input_schema": json.loads(SCHEMA),
            }
        ],
        "tool_choice": {"type": "tool", "name": "reply", "disable_parallel_tool_use": True},
    }


@pytest.mark.parametrize(
    "model", ["claude-sonnet-5-5", "claude-opus-5", "claude-fable-5", "claude-haiku-5-5-20261001"]
)
def test_a_model_that_thinks_gets_the_schema_as_its_format_no_temperature_and_more_tokens(
    model: str,
) -> None:
    body = anthropic.body(request(judge(model=model, reasoning_effort="low")))
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}}
    assert body["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": schema},
    }
    assert body["max_tokens"] == 16_384
    assert {"temperature", "tools", "tool_choice"}.isdisjoint(body)


@pytest.mark.parametrize(
    "model", ["claude-haiku-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-8", "claude-3-opus"]
)
def test_other_models_do_not_count_as_thinking(model: str) -> None:
    assert not anthropic.reasons(model)


def test_without_a_schema_nothing_is_forced() -> None:
    plain = anthropic.body(
        request(judge(structured=False, top_p=0.5, extra={"metadata": {"user_id": "x"}}))
    )
    assert {"tools", "tool_choice", "output_config", "temperature"}.isdisjoint(plain)
    assert (plain["top_p"], plain["metadata"]) == (0.5, {"user_id": "x"})


def test_the_sdk_sends_key_version_headers_and_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-house: secret")
    monkeypatch.setenv("TENANT", "tenant-of-mine")
    with anthropic_server(lambda body: message(text("{}"))) as server:
        settings: dict[str, Any] = {
            "headers": {"x-tenant": "$TENANT"},
            "query": {"api-version": "2"},
        }
        assert isinstance(ask(judge(server, **settings)).outcome, Completion)
    sent = server.headers[0]
    assert (sent["x-api-key"], sent["x-tenant"]) == (CANARY, "tenant-of-mine")
    assert "x-house" not in sent  # the server is not Anthropic's


def test_headers_of_the_environment_are_anthropics_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer house\nX-Api-Key: house")
    with anthropic_server(lambda body: message(text("{}"))) as server:
        ask(judge(server))
    sent = server.headers[0]
    assert (sent["authorization"], sent["x-api-key"]) == (f"Bearer {CANARY}", CANARY)


def test_without_the_sdk_a_model_of_anthropic_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def absent(package: str) -> str:
        if package == "anthropic":
            raise importlib.metadata.PackageNotFoundError(package)
        return installed(package)

    installed = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", absent)
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(UsageError, match="models of Anthropic need its SDK"):
        run([judge()], tmp_path)
    with pytest.raises(UsageError, match="models of Anthropic need its SDK"):
        ce.score(
            [{"question": "q", "answer": "a", "contexts": ["a"]}],
            judges="anthropic:m",
            metrics="faithfulness",
        )


def test_what_a_server_echoes_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refused(401, "authentication_error", "no", x_echo=f"Bearer {CANARY}")
    assert "[key]" in caplog.text
    assert CANARY not in caplog.text


def test_a_temperature_is_sent_under_the_version_that_still_takes_it() -> None:
    with anthropic_server(lambda body: message(text("{}"))) as server:
        ask(judge(server))
        ask(judge(server, temperature=None))
    assert ["temperature" in body for body in server.bodies] == [True, False]
    first, second = (sent["anthropic-version"] for sent in server.headers)
    assert first == "2023-06-01" < second


def test_the_input_of_the_tool_is_the_reply() -> None:
    reply = completed(
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        text("Here it is:"),
        tool({"verdict": "é"}),
        stop_reason="tool_use",
    )
    assert (reply.text, reply.finish_reason) == ('{"verdict": "é"}', "stop")
    assert reply.served_model == "claude-haiku-4-5-20251001"
    stored = json.loads(reply.body)
    assert [block["type"] for block in stored["content"]] == [
        "thinking",
        "text",
        "tool_use",
    ]  # nothing is lost
    assert (stored["id"], stored["stop_reason"]) == ("msg_01", "tool_use")


def test_a_field_that_is_json_in_a_string_is_read_as_what_it_is() -> None:
    assert completed(tool({"verdicts": '[{"id": "c1"}]'})).text == '{"verdicts": [{"id": "c1"}]}'
    assert (
        completed(tool({"reason": "[sic]", "rating": "yes"})).text
        == '{"reason": "[sic]", "rating": "yes"}'
    )
    assert completed(tool("so")).text == '"so"'


@pytest.mark.parametrize(
    ("stop_reason", "fields", "finish", "refusal"),
    [
        ("end_turn", {}, "stop", None),
        ("stop_sequence", {}, "stop", None),
        ("max_tokens", {}, "length", None),
        ("model_context_window_exceeded", {}, "length", None),
        ("pause_turn", {}, "pause_turn", None),
        ("refusal", {}, "stop", "the model refused to reply"),
        ("refusal", {"stop_details": {"type": "refusal", "category": "bio"}}, "stop", "bio"),
        ("refusal", {"stop_details": {"category": "bio", "explanation": "No."}}, "stop", "No."),
    ],
)
def test_a_stop_reason_is_read(
    stop_reason: str, fields: Body, finish: str, refusal: str | None
) -> None:
    reply = completed(text("so"), stop_reason=stop_reason, **fields)
    assert (reply.text, reply.finish_reason, reply.refusal) == ("so", finish, refusal)


def test_reasons_of_samples_follow_from_stop_reasons(tmp_path: Path) -> None:
    for stop_reason, reason in [
        ("max_tokens", "truncated"),
        ("refusal", "refused"),
        ("pause_turn", "provider_error"),
    ]:
        reply = message(text(""), stop_reason=stop_reason)
        with anthropic_server(partial(said, reply)) as server:
            assert run([judge(server)], tmp_path / stop_reason).reasons == [reason]


def test_tokens_of_the_cache_are_counted_and_priced() -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 500,
        "output_tokens": 7,
    }
    found = completed(text("{}"), usage=usage).usage
    assert (found.prompt_tokens, found.cached_tokens, found.cache_write_tokens) == (2600, 2000, 500)
    price = price_of(judge())
    assert price is not None
    # Haiku 4.5: 1 $ in, 0.10 $ read, 1.25 $ written, 5 $ out, a million.
    assert price.of(found) == pytest.approx((100 * 1 + 2000 * 0.10 + 500 * 1.25 + 7 * 5) / 1e6)


def test_the_cost_of_a_run_counts_the_cache_and_a_cap_the_worst_case(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 1000,
        "output_tokens": 100,
    }

    def reply(body: Body) -> Body:
        return {**judged(body), "usage": usage}

    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "anthropic:claude-haiku-4-5: {input: 1, output: 5, cached_input: 0.1, cache_write: 1.25}\n"
    )
    with anthropic_server(reply) as server:
        done = run([judge(server)], tmp_path / "cache", prices=prices, max_cost=1.0)
    assert done.values == [RIGHT]
    assert done.progress.spent == pytest.approx(2 * (1000 * 1.25 + 100 * 5) / 1e6)
    price = Price(1.0, 5.0, 0.1, None, 1.25)
    asked = request(judge())
    # 3 x 16 tokens around two messages and the whole, 1,024 for the order to call the tool; all
    # written to the cache
    assert cost_bound(asked, price) == pytest.approx(
        ((asked.size + 48 + 1024) * 1.25 + 4096 * 5) / 1e6
    )


@pytest.mark.parametrize(
    ("status", "kind", "words", "expected"),
    [
        (401, "authentication_error", "invalid x-api-key", {"fatal": True}),
        (403, "permission_error", "no access", {"fatal": True}),
        (404, "not_found_error", "model: claude-nosuch", {"fatal": True}),
        (402, "billing_error", "pay first", {"fatal": True}),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            {"fatal": True},
        ),
        (429, "rate_limit_error", "slow down", {"rate_limited": True, "retryable": True}),
        (500, "api_error", "Internal server error", {"retryable": True}),
        (504, "timeout_error", "too long", {"retryable": True, "possibly_paid": True}),
        (
            529,
            "overloaded_error",
            "Overloaded",
            {"retryable": True, "rate_limited": False, "possibly_paid": False},
        ),
        (
            413,
            "request_too_large",
            "Request exceeds the maximum size",
            {"retryable": False, "fatal": False},
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 215341 tokens > 200000 maximum",
            {"reason": "too_long", "context_tokens": 200000, "fatal": False},
        ),
        (
            400,
            "invalid_request_error",
            (
                "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000,"
                " decrease input length or `max_tokens` and try again"
            ),
            {"reason": "too_long", "context_tokens": 200000, "fatal": False},
        ),
        (
            400,
            "invalid_request_error",
            (
                "max_tokens: 90000 > 8192, which is the maximum allowed number of output tokens for"
                " claude-3-haiku"
            ),
            {"fatal": False, "refused": ("max_tokens<=8192,90000",)},
        ),
        (
            400,
            "invalid_request_error",
            "Output blocked by content filtering policy",
            {"reason": "filtered"},
        ),
        (
            400,
            "invalid_request_error",
            "`temperature` is deprecated for this model.",
            {"refused": ("temperature",)},
        ),
        (
            400,
            "invalid_request_error",
            "Thinking may not be enabled when tool_choice forces tool use.",
            {"refused": ("response_format",)},
        ),
    ],
)
def test_an_error_says_what_to_do(
    status: int, kind: str, words: str, expected: dict[str, object]
) -> None:
    found = refused(status, kind, words)
    assert {name: getattr(found, name) for name in expected} == expected
    assert words.rstrip(".") in found.message


def test_an_error_has_its_request_id_its_wait_and_the_limits() -> None:
    found = refused(
        429,
        "rate_limit_error",
        "slow down",
        request_id="req_011",
        retry_after="7",
        anthropic_ratelimit_requests_limit="50",
        anthropic_ratelimit_requests_remaining="1",
        anthropic_ratelimit_tokens_limit="30000",
        anthropic_ratelimit_tokens_remaining="29000",
    )
    assert found.message == "status 429: slow down (request req_011)"
    assert (found.retry_after, found.rate_limits) == (7.0, (50, 1, 30000, 29000))


def test_a_key_that_the_server_echoes_is_in_no_message_and_no_reply() -> None:
    found = refused(401, "authentication_error", f"no such key: {CANARY}", request_id=CANARY)
    assert CANARY not in found.message
    reply = completed(text(CANARY))
    assert CANARY.encode() not in reply.body
    assert reply.text == "[key]"


def test_a_reply_above_the_limit_is_not_read() -> None:
    longest = MAX_REPLY_BYTES.set(5000)
    try:
        found = answered(message(text("x" * 6000))).outcome
    finally:
        MAX_REPLY_BYTES.reset(longest)
    assert isinstance(found, CallError)
    assert found.message.startswith("the reply is larger than 0.005 MB")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seed": 1}, "anthropic does not take seed"),
        ({"top_logprobs": 2}, "anthropic does not take top_logprobs"),
        ({"token_limit": "max_completion_tokens"}, "leave token_limit out"),
        ({"extra": {"tools": []}}, "'tools' has a price"),
        ({"extra": {"tool_choice": {"type": "auto"}}}, "use structured:"),
        ({"extra": {"output_config": {"effort": "max"}}}, "use reasoning_effort:"),
        ({"extra": {"system": "Be kind."}}, "'system' is set by claimeval"),
        ({"extra": {"speed": "fast"}}, "has a price that the caps do not count"),
        (
            {"extra": {"thinking": {"type": "enabled", "budget_tokens": 2000}}},
            "'budget_tokens' in 'thinking'",
        ),
        ({"extra": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}}, "for five minutes"),
        ({"headers": {"x-api-key": "sk-1234567"}}, "holds a secret"),
        ({"query": {"token": "sk-1234567"}}, "holds a secret"),
    ],
)
def test_a_setting_that_cannot_work_or_undoes_a_cap_is_refused(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        judge(**settings)


def test_the_row_knows_its_address_family_and_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    row = provider("anthropic:claude-haiku-4-5")
    assert judge().endpoint == "https://api.anthropic.com"
    assert (
        judge(model="claude-haiku-4-5@https://gateway.example/v1").endpoint
        == "https://gateway.example"
    )
    assert Families().family_of("anthropic:claude-sonnet-5-5") == Families().family_of(
        "bedrock/claude-3-opus"
    )
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://house.example")
    assert judge().endpoint == "https://house.example"
    assert row.owns("https://house.example")


def test_a_run_is_stored_and_asked_again_costs_nothing(tmp_path: Path) -> None:
    with anthropic_server() as server:
        first = run([judge(server)], tmp_path)
        asked = len(server.bodies)
        again = run([judge(server)], tmp_path)
    assert first.values == again.values == [RIGHT]
    assert (asked, len(server.bodies)) == (2, 2)
    assert all("tool_choice" in body for body in server.bodies)


def test_what_a_model_refuses_is_left_out_and_remembered(tmp_path: Path) -> None:
    """A model of which nothing is known, that thinks: it takes neither temperature nor a forced
    tool."""

    def thinking(body: Body) -> Any:
        if "temperature" in body:
            return error(
                400, "invalid_request_error", "`temperature` is deprecated for this model."
            )
        if "tool_choice" in body:
            return error(
                400,
                "invalid_request_error",
                "Thinking may not be enabled when tool_choice forces tool use.",
            )
        return judged(body)

    with anthropic_server(thinking) as server:
        done = run([judge(server, model="claude-next")], tmp_path, concurrency=1)
    assert done.values == [RIGHT]
    # Two refusals, the whole form once more, which is refused as well, and two replies.
    assert len(server.bodies) == 5
    assert {"temperature", "tools"}.isdisjoint(server.bodies[-1])
