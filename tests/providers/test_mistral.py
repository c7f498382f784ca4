"""Mistral's chat through its own SDK: what is sent, and what is made of replies that the SDK drops,
refuses or logs."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx2
import pytest

from claimeval.providers import specs
from claimeval.providers.http import CONNECT_TIMEOUT, READ_TIMEOUT
from claimeval.types.chat_format import write_chat
from claimeval.types.errors import UsageError
from claimeval.types.requests import Completion, Judge
from tests.providers.asking import KEY, Asked, ask


class Host:
    """A host of Mistral's that answers every request alike."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.requests: list[httpx2.Request] = []
        self.content = write_chat("so", "judge-1")
        self.headers: dict[str, str] = {}
        transport = httpx2.MockTransport(self._answer)
        patch.setattr(
            httpx2.AsyncHTTPTransport, "handle_async_request", transport.handle_async_request
        )
        patch.setenv("MISTRAL_API_KEY", KEY)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        headers = {"content-type": "application/json", **self.headers}
        return httpx2.Response(200, headers=headers, content=self.content)

    def ask(self, **settings: Any) -> Asked:
        """What came of one question to a judge with these settings."""
        return ask(specs.parse_judge(Judge(name="judge", model="mistral:judge-1", **settings)))


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def test_chat_goes_to_its_address_with_its_key_and_the_limits_of_every_call(host: Host) -> None:
    assert host.ask().kept[0].text == "so"
    (sent,) = host.requests
    assert str(sent.url) == "https://api.mistral.ai/v1/chat/completions"
    assert sent.headers.get_list("authorization") == [f"Bearer {KEY}"]
    assert (sent.extensions["timeout"]["connect"], sent.extensions["timeout"]["read"]) == (
        CONNECT_TIMEOUT,
        READ_TIMEOUT,
    )


def test_headers_and_query_of_a_judge_replace_those_of_the_sdk(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE", "Token-house-123456")
    host.ask(headers={"authorization": "$HOUSE", "user-agent": "house"}, query={"team": "search"})
    (sent,) = host.requests
    assert str(sent.url) == "https://api.mistral.ai/v1/chat/completions?team=search"
    assert sent.headers.get_list("authorization") == ["Token-house-123456"]
    assert sent.headers.get_list("user-agent") == ["house"]


def test_what_the_sdk_drops_is_read_from_the_body(host: Host) -> None:
    thought = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "so"},
    ]
    record = json.loads(host.content)
    record |= {
        "region": "eu",
        "usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
    }
    record["choices"][0]["message"] |= {"content": thought, "mood": "calm"}
    host.content = json.dumps(record).encode()
    reply = host.ask().outcome
    assert isinstance(reply, Completion)
    assert (reply.text, reply.usage.prompt_tokens, reply.usage.cached_tokens) == ("so", 9, 4)
    assert reply.body == host.content


def test_a_reply_that_the_sdk_refuses_counts(host: Host) -> None:
    host.content = b'{"choices": [{"message": {"content": "so"}}]}'
    host.headers = {"content-type": "text/plain"}
    asked = host.ask()
    assert isinstance(asked.outcome, Completion)
    assert (asked.outcome.text, len(asked.kept)) == ("so", 1)


def test_a_model_that_is_to_go_does_not_fill_the_log(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    host.headers = {"x-model-deprecation-timestamp": "2027-01-01T00:00:00Z"}
    with caplog.at_level(logging.WARNING):
        assert host.ask().kept[0].text == "so"
    assert caplog.records == []


def test_the_debug_log_of_the_sdk_holds_no_key(
    host: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MISTRAL_DEBUG", "1")
    host.content = write_chat(f"your key is {KEY}", "judge-1")
    with caplog.at_level(logging.DEBUG):
        host.ask()
    assert "your key is [key]" in caplog.text
    assert KEY not in caplog.text


def test_telemetry_of_the_sdk_stays_off(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_SDK_TELEMETRY", "an address")  # an error where the SDK reads it
    assert host.ask().kept[0].text == "so"


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"safe_promt": True}, r"'safe_promt'. Did you mean 'safe_prompt'"),
        ({"safe_prompt": "rather"}, "safe_prompt: "),
    ],
)
def test_a_setting_that_the_sdk_does_not_send_is_refused_before_any_call(
    host: Host, extra: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        host.ask(extra=extra)
    assert host.requests == []
