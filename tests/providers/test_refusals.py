"""What hosts refuse, in their wordings, and errors that only look like a refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from claimeval.providers.http import error_for
from claimeval.types.refusals import refused_parameters
from claimeval.types.requests import CallError, Judge, Message, Request

WORDINGS = json.loads(Path(__file__).with_name("refusals.json").read_text(encoding="utf-8"))
KEY = SecretStr("sk-CANARY-key")


def told(status: int, message: str, **fields: object) -> CallError:
    return error_for(status, {}, json.dumps({"error": {"message": message, **fields}}), KEY)


@pytest.mark.parametrize(("host", "status", "words", "refused"), WORDINGS)
def test_a_wording_of_a_host_says_what_is_refused(
    host: str, status: int, words: str, refused: str
) -> None:
    found = told(status, words)
    assert found.reason == "judge_stopped"
    assert set(found.refused) == ({refused} if "<=" in refused else set(refused.split(",")))
    assert not found.retryable


JUDGE = Judge.model_validate(
    {
        "model": "openai:m",
        "endpoint": "http://127.0.0.1/v1",
        "max_tokens": 16384,
        "token_limit": "max_tokens",
        "temperature": 0.0,
    }
)


@pytest.mark.parametrize(("host", "status", "words", "refused"), WORDINGS)
def test_a_request_is_sent_in_another_form_or_the_advice_says_why_not(
    host: str, status: int, words: str, refused: str
) -> None:
    found = told(status, words)
    named = {"token_limit": refused} if refused == "max_completion_tokens" else {}
    judge = JUDGE.model_copy(update=named)
    other = judge.without(found.refused)
    if refused in ("stream", "seed"):
        assert other is None
        assert "LiteLLM" in found.message or "change the judge's settings" in found.message
        return
    assert other is not None
    request = Request(
        judge=judge,
        messages=(Message("system", "S"), Message("user", "U")),
        reply_format="json",
        max_tokens=16384,
        response_schema='{"type":"object"}',
    )
    assert request.to(other).key != request.key or refused == "prompt_cache_key"
    if refused == "system":
        assert request.to(other).messages == (Message("user", "S\n\nU"),)
    if "<=" in refused:
        limit = int(refused.partition("<=")[2].split(",")[0])
        assert request.to(other).max_tokens == limit
        assert request.repeated(1, 0).to(other).max_tokens == limit


LOOK_ALIKE = [
    (400, "Invalid prompt: the system prompt mentions temperature and response_format."),
    (400, "Your request was flagged: system prompt about temperature."),
    (400, "messages[0].content: string too long. The system message has 9000000 characters."),
    (500, "Internal system error: temperature sensor of node gpu-3 does not respond."),
    (500, "The system is currently not available, please try again."),
    (500, "Internal error while streaming the response, only 3 tokens were written."),
    (400, "The model `temperature-7b` does not exist."),
    (400, "Could not parse the body: unexpected end of data at column 812."),
    (400, "Invalid value for 'temperature': decimal above maximum value."),
    (400, "Invalid 'messages[1].content': expected a string, but got null."),
    (400, "Rate limit: tokens per minute of your organization are used up."),
    (400, "The request could not be processed. Try again later."),
    (
        400,
        "Cannot process messages: [{'role': 'system', 'content': 'System role not supported is what"
        " the text says about temperature, which must not exceed 40 degrees; structured outputs'}]",
    ),
    (
        400,
        'Content "the answer says that max_tokens must be less than 4096 and that temperature is'
        ' not supported by the model" is not readable.',
    ),
    (500, "CUDA out of memory. Tried to allocate 2.00 GiB; max_tokens is 4096."),
    (500, "Failed to load the grammar model of the speech system."),
    (500, "upstream connect error or disconnect/reset before headers. reset reason: overflow"),
    (503, "The model is overloaded; temperature of the queue is high."),
    (500, "operating system: no space left on device"),
    (400, "Your account is not active: only verified users may send requests."),
    (400, "Unable to download the file that the system prompt mentions."),
    (400, "Invalid image: the limit is 20 MB."),
    (422, "messages must have at least one user message"),
    (400, "The deployment of this model is being updated."),
    (400, "Billing hard limit has been reached."),
    (400, "context deadline exceeded"),
    (500, "Traceback: KeyError: 'seed'"),
    (500, "json: cannot unmarshal response"),
    (400, "Prompt contains the word stream, which the filter of your team blocks."),
    (500, "The server had an error while processing the system fingerprint."),
    (400, "Request reached organization TPD rate limit, current: 1506556, limit: 1500000"),
    (400, "The role of this user does not permit inference"),
    (500, "The request exceeded the time limit of 600 seconds"),
    (500, "temperature alarm: the GPU was throttled"),
    (500, "KV cache exceeded: context pool too large for memory"),
    (500, "unexpected system prompt cache failure"),
]


@pytest.mark.parametrize(("status", "words"), LOOK_ALIKE)
def test_an_error_that_only_mentions_a_field_teaches_nothing(status: int, words: str) -> None:
    assert told(status, words).refused == ()


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_status_of_a_server_in_trouble_teaches_nothing(status: int) -> None:
    assert told(status, "System role not supported").refused == ()


@given(st.text())
def test_any_text_is_read(words: str) -> None:
    assert isinstance(refused_parameters(words), tuple)


def test_failed_json_of_groq_is_asked_again() -> None:
    fields = {"code": "json_validate_failed", "failed_generation": "{"}
    found = told(400, "Failed to generate JSON. Please adjust your prompt.", **fields)
    assert (found.reason, found.retryable, found.fatal) == ("provider_error", True, False)


def test_an_organization_that_is_not_verified_is_said() -> None:
    words = "Your organization must be verified to use the model `o3`. Please go to settings."
    found = told(404, words, code="model_not_found")
    assert found.fatal
    assert "verify the organization, or name another model" in found.message


def test_a_web_page_of_a_proxy_teaches_nothing() -> None:
    page = "<html><h1>400 Bad Request</h1><p>max_tokens must be at most 4096</p></html>"
    found = error_for(400, {}, page, KEY)
    assert (found.reason, found.refused, found.context_tokens) == ("provider_error", (), None)
