"""What the backends make of every kind of reply a provider can give, through the real SDKs."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchmarks.loopback import (
    Faults,
    Limits,
    Name,
    Options,
    Reply,
    ThreadHandle,
    named,
    serve_in_thread,
)
from benchmarks.loopback.sabotage import DEPTH, HUGE, KINDS
from claimeval import providers
from claimeval.providers import MAX_REPLY_BYTES
from claimeval.providers.keys import ENDPOINT_KEY
from claimeval.types.chat_format import read_chat
from claimeval.types.requests import CallError, Completion
from tests.conftest import StartServer
from tests.providers.asking import KEY, PROVIDERS, Asked, ask, judge_at, question

SAID = "Is it grounded?"
"""The judge echoes."""
Seen = dict[tuple[str, str], Asked]


@pytest.fixture(scope="module")
def seen() -> Seen:
    """Every fault but the slow ones, met by both providers' backends."""
    kinds = [kind for kind in KINDS if KINDS[kind].group != "slow"]
    with pytest.MonkeyPatch.context() as environment, serve_in_thread() as server:
        environment.setenv(ENDPOINT_KEY, KEY)
        found: Seen = {}
        for provider in PROVIDERS:
            server.server.faults = Faults(first=tuple(kinds))
            judge = judge_at(
                server, provider
            )  # a client for each, so that no connection that one broke is the next one's
            found |= {(kind, provider): ask(judge) for kind in kinds}
        return found


def both(seen: Seen, kind: str) -> list[Asked]:
    return [seen[kind, provider] for provider in PROVIDERS]


def errors(seen: Seen, kind: str) -> list[CallError]:
    found = [asked.outcome for asked in both(seen, kind)]
    assert all(isinstance(outcome, CallError) for outcome in found), kind
    return [outcome for outcome in found if isinstance(outcome, CallError)]


FATAL = {
    "insufficient_quota": "no quota left",
    "unsupported_parameter": "change the judge's settings",
    "status_401": "the key is not accepted: it is that of",
    "key_echo": "the key is not accepted: it is that of",
    "status_403": "check its permissions",
    "status_404": "check the model's name and the endpoint",
    "unknown_model": "check its name",
    "redirect_302": "not followed",
    "redirect_307": "not followed",
    "key_in_redirect": "not followed",
}
"""The first answer of this kind stops the judge; the message says what to do."""


@pytest.mark.parametrize(("kind", "advice"), FATAL.items())
def test_what_no_further_call_can_better_is_fatal(seen: Seen, kind: str, advice: str) -> None:
    for error in errors(seen, kind):
        assert (error.reason, error.fatal or bool(error.refused), error.retryable) == (
            "judge_stopped",
            True,
            False,
        )
        assert advice in error.message


REFUSED = {
    "status_400": "provider_error",
    "context_too_long": "too_long",
    "status_413": "too_long",
    "status_422": "provider_error",
    "filtered_prompt": "filtered",
}


@pytest.mark.parametrize(("kind", "reason"), REFUSED.items())
def test_what_lies_in_the_question_is_not_asked_again(seen: Seen, kind: str, reason: str) -> None:
    for error in errors(seen, kind):
        assert (error.reason, error.fatal, error.retryable) == (reason, False, False)


WAITS = {
    "rate_limited": None,
    "rate_limited_zero": 0.0,
    "rate_limited_seconds": 1.0,
    "rate_limited_ms": 0.25,
    "rate_limited_garbage": None,
    "rate_limited_day": 86400.0,
    "rate_limited_reset": 0.5,
}


@pytest.mark.parametrize(("kind", "seconds"), WAITS.items())
def test_a_rate_limit_says_how_long_to_wait(seen: Seen, kind: str, seconds: float | None) -> None:
    for error in errors(seen, kind):
        assert (error.reason, error.rate_limited, error.retry_after) == (
            "provider_error",
            True,
            seconds,
        )
        assert error.retryable
        assert not error.possibly_paid


def test_a_rate_limit_may_name_a_date(seen: Seen) -> None:
    for error in errors(seen, "rate_limited_date"):
        assert error.retry_after is not None
        assert 0 <= error.retry_after <= 2


def test_a_lack_of_capacity_is_not_our_rate(seen: Seen) -> None:
    for error in errors(seen, "capacity_429"):
        assert (error.retryable, error.rate_limited) == (True, False)


MAY_BE_PAID = {"status_408", "status_502", "status_504"} | set(named("connection", "malformed")) - {
    "lone_surrogate"
}
"""By the time of these the provider may have generated a reply and charged for it."""


@pytest.mark.parametrize("kind", [*named("transient", "connection", "malformed")])
def test_what_passes_is_worth_another_try(seen: Seen, kind: str) -> None:
    if kind == "lone_surrogate":
        return
    for error in errors(seen, kind):
        assert (error.reason, error.retryable, error.fatal) == ("provider_error", True, False)
        assert error.possibly_paid == (kind in MAY_BE_PAID)


REPLIES: dict[str, tuple[str | None, str]] = {
    "lone_surrogate": ("\ufffd", "stop"),
    "finish_length": ("Is it g", "length"),
    "finish_content_filter": ("", "content_filter"),
    "finish_error": ("", "error"),
    "finish_unknown": (SAID, "enough"),
    "refusal": (None, "stop"),
    "null_content": (None, "stop"),
    "empty_content": ("", "stop"),
    "huge_content": ("x" * HUGE, "stop"),
    "deep_content": ("[" * DEPTH, "stop"),
    "content_parts": (SAID, "stop"),
    "no_usage": (SAID, "stop"),
    "usage_words": (SAID, "stop"),
    "usage_negative": (SAID, "stop"),
    "closed_after": (SAID, "stop"),
    "key_in_reply": (SAID, "stop"),
}


@pytest.mark.parametrize("kind", REPLIES)
def test_a_reply_is_taken_as_it_was_sent_and_kept(seen: Seen, kind: str) -> None:
    for asked in both(seen, kind):
        assert isinstance(asked.outcome, Completion), kind
        assert (asked.outcome.text, asked.outcome.finish_reason) == REPLIES[kind]
        assert asked.kept == [asked.outcome]


def test_every_kind_of_fault_is_in_one_of_the_tables() -> None:
    passing = set(named("transient", "connection", "malformed", "slow"))
    tables = {*FATAL, *REFUSED, *WAITS, *REPLIES, *passing, "rate_limited_date", "capacity_429"}
    assert set(KINDS) == tables


def test_what_is_no_reply_is_not_kept(seen: Seen) -> None:
    assert not [
        where
        for where, asked in seen.items()
        if asked.kept and isinstance(asked.outcome, CallError)
    ]


def test_the_words_of_a_refusal_and_odd_usage_are_read_from_the_wire(seen: Seen) -> None:
    for asked in both(seen, "refusal"):
        assert isinstance(asked.outcome, Completion)
        assert asked.outcome.refusal == "I cannot help with that."
    for kind, counted in {
        "no_usage": (None, None),
        "usage_words": (None, 3),
        "usage_negative": (None, 3),
    }.items():
        for asked in both(seen, kind):
            assert isinstance(asked.outcome, Completion)
            usage = asked.outcome.usage
            assert (usage.prompt_tokens, usage.completion_tokens) == counted


def test_no_form_of_the_key_is_in_what_backends_hand_on(seen: Seen) -> None:
    assert "CANARY" not in repr(list(seen.values()))
    assert "CANARY" not in repr([vars(asked.outcome) for asked in seen.values()])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", ["redirect_302", "redirect_307"])
def test_a_redirect_is_not_followed(start_server: StartServer, provider: Name, status: str) -> None:
    elsewhere = start_server()
    target = f"http://127.0.0.1:{elsewhere.port}"
    server = start_server(Options(faults=Faults(first=(status,)), redirect_to=target))
    asked = ask(judge_at(server, provider))
    assert isinstance(asked.outcome, CallError)
    assert elsewhere.exchanges() == []
    assert len(server.exchanges()) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_that_is_not_there_costs_nothing_and_is_worth_a_retry(
    start_server: StartServer, provider: Name
) -> None:
    server = start_server()
    judge = judge_at(server, provider)
    server.stop()
    error = ask(judge).outcome
    assert isinstance(error, CallError)
    assert (error.reason, error.retryable, error.possibly_paid) == ("provider_error", True, False)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_fifty_calls_at_once_each_get_their_own_reply(
    start_server: StartServer, provider: Name
) -> None:
    judge = judge_at(start_server(), provider)

    async def main() -> list[tuple[str | None, str | None]]:
        async with providers.provider(judge.model).open(judge) as backend:

            async def one(i: int) -> tuple[str | None, str | None]:
                kept: list[Completion] = []
                reply = await backend.complete(question(judge, f"number {i}"), kept.append)
                return reply.text, kept[0].text

            return await asyncio.gather(*[one(i) for i in range(50)])

    assert asyncio.run(main()) == [(f"number {i}", f"number {i}") for i in range(50)]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_above_the_limit_is_an_error_that_says_so(
    start_server: StartServer, provider: Name
) -> None:
    judge = judge_at(start_server(judge=lambda body: Reply("x" * 5000)), provider)
    longest = MAX_REPLY_BYTES.set(5000)
    try:
        asked = ask(judge)
    finally:
        MAX_REPLY_BYTES.reset(longest)
    assert isinstance(asked.outcome, CallError)
    assert (asked.outcome.reason, asked.outcome.retryable, asked.kept) == (
        "provider_error",
        False,
        [],
    )
    assert asked.outcome.message.startswith(
        "the reply is larger than 0.005 MB, the limit of max_reply_bytes"
    )


SETTINGS: dict[Name, dict[str, object]] = {
    "openai": {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3, "user": "me"},
    "mistral": {
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "random_seed": 3,
        "safe_prompt": True,
    },
}


@pytest.mark.parametrize(("provider", "sent"), SETTINGS.items())
def test_settings_are_sent_under_the_providers_names(
    start_server: StartServer, provider: Name, sent: dict[str, object]
) -> None:
    bodies: list[dict[str, object]] = []

    def judge(body: dict[str, object]) -> Reply:
        bodies.append(body)
        return Reply("{}")

    server = start_server(judge=judge)
    extra = {"openai": {"user": "me"}, "mistral": {"safe_prompt": True}}[provider]
    fields = {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3, "extra": extra}
    ask(judge_at(server, provider, **fields))
    messages = [{"role": "user", "content": SAID}]
    plain = {name: value for name, value in bodies[0].items() if name not in ("stream",)}
    assert plain == {"model": "judge-1", "messages": messages, **sent}


def test_a_setting_that_the_server_does_not_know_stops_the_judge(
    openai_server: ThreadHandle,
) -> None:
    error = ask(judge_at(openai_server, "openai", extra={"nonsense": 1})).outcome
    assert isinstance(error, CallError)
    assert error.fatal
    assert "nonsense" in error.message


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_the_provider_lets_through_is_read_from_the_headers(
    start_server: StartServer, provider: Name
) -> None:
    server = start_server(Options(limits=Limits(requests=60, tokens=10_000)))
    reply = ask(judge_at(server, provider)).outcome
    assert isinstance(reply, Completion)
    assert reply.rate_limits is not None
    assert (
        reply.rate_limits.requests,
        reply.rate_limits.requests_remaining,
        reply.rate_limits.tokens,
    ) == (
        60,
        59,
        10_000,
    )


def test_the_body_is_kept_as_it_was_received(openai_server: ThreadHandle) -> None:
    reply = ask(judge_at(openai_server, "openai")).outcome
    assert isinstance(reply, Completion)
    assert json.loads(reply.body)["system_fingerprint"] == "fp_loopback"


@pytest.mark.parametrize(
    "count", ["1" + "0" * 400, "1e999", "NaN", "-1", "2.5", "true", str(2**53 + 1)]
)
def test_a_usage_that_cannot_be_a_count_is_none(count: str) -> None:
    body = (
        f'{{"choices": [{{"message": {{"content": "x"}}}}], "usage": {{"prompt_tokens": {count}}}}}'
    )
    assert read_chat(body.encode()).usage.prompt_tokens is None


@pytest.mark.parametrize("place", ["body", "choice"])
def test_the_words_of_an_error_within_a_reply_are_said_wherever_it_stands(place: str) -> None:
    error = {"error": {"message": "the upstream host is away", "code": 502}}
    choice = {"index": 0, "finish_reason": "error", "message": {"role": "assistant", "content": ""}}
    first = {
        "id": "gen-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "m" * 90,
    }
    reply = {
        "body": {**first, **error},
        "choice": {**first, "choices": [{**choice, **error}]},
    }[place]
    with pytest.raises(CallError, match="the upstream host is away"):
        read_chat(json.dumps(reply).encode())
