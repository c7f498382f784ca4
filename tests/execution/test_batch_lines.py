"""One line of a result file at a time: the reply, or why there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr

from claimeval.execution.batch import Result, read_line
from claimeval.types.requests import CallError, Completion

KEY = "ab" * 32
API_KEY = SecretStr("sk-CANARY-0123456789")
BODY = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "model": "m-1"}


def read(line: Any) -> Result | None:
    return read_line(json.dumps(line).encode() + b"\n", API_KEY)


def error(line: Any) -> CallError:
    result = read(line)
    assert result
    assert result.key == KEY
    assert isinstance(result.outcome, CallError)
    return result.outcome


def with_response(status: Any, body: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "custom_id": KEY,
        "response": {"status_code": status, "request_id": "r", "body": body},
    }


def test_a_reply_is_read_as_a_live_one_is() -> None:
    result = read(with_response(200, BODY))
    assert result
    assert isinstance(result.outcome, Completion)
    assert (result.key, result.outcome.text, result.outcome.served_model) == (KEY, "yes", "m-1")
    assert json.loads(result.outcome.body) == BODY


def test_a_body_that_is_text_is_read_too() -> None:
    result = read(with_response(200, json.dumps(BODY)))
    assert result
    assert isinstance(result.outcome, Completion)
    assert result.outcome.text == "yes"


def test_the_api_key_is_taken_out_before_anything_is_read() -> None:
    said = {"choices": [{"message": {"content": "your key is sk-CANARY-0123456789"}}]}
    result = read(with_response(200, said))
    assert result
    assert isinstance(result.outcome, Completion)
    assert result.outcome.text == "your key is [key]"
    assert b"CANARY" not in result.outcome.body


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null\n",
        b"[]\n",
        b'"text"\n',
        b"\xff\xfe\n",
        b"[" * 100_000,
        b'{"response": {}}\n',
        b'{"custom_id": null}\n',
        b'{"custom_id": "0"}\n',
        b'{"custom_id": "' + b"AB" * 32 + b'"}\n',
    ],
)
def test_a_line_that_names_no_request_is_none_of_ours(raw: bytes) -> None:
    assert read_line(raw, API_KEY) is None


@pytest.mark.parametrize(
    ("status", "body", "reason", "retryable", "fatal"),
    [
        (
            429,
            {"error": {"code": "rate_limit_exceeded", "message": "slow down"}},
            "provider_error",
            True,
            False,
        ),
        (500, {"error": {"message": "oops"}}, "provider_error", True, False),
        (503, None, "provider_error", True, False),
        (400, {"error": {"message": "bad"}}, "provider_error", False, False),
        (400, {"error": {"code": "content_filter", "message": "no"}}, "filtered", False, False),
        (
            401,
            {"error": {"code": "invalid_api_key", "message": "no"}},
            "judge_stopped",
            False,
            True,
        ),
        (
            429,
            {"error": {"code": "insufficient_quota", "message": "no"}},
            "judge_stopped",
            False,
            True,
        ),
        (0, {}, "provider_error", True, False),
        (None, {}, "provider_error", True, False),
        ("200", BODY, "provider_error", True, False),
        (200, None, "provider_error", True, False),
        (200, {}, "provider_error", True, False),
        (200, {"choices": []}, "provider_error", True, False),
        (200, {"error": {"message": "oops"}}, "provider_error", True, False),
    ],
)
def test_what_holds_no_reply_says_why(
    status: Any, body: Any, reason: str, retryable: bool, fatal: bool
) -> None:
    found = error(with_response(status, body))
    assert (found.reason, found.retryable, found.fatal) == (reason, retryable, fatal)


def test_a_request_that_did_not_run_in_time_was_not_paid() -> None:
    found = error(
        {"custom_id": KEY, "response": None, "error": {"code": "batch_expired", "message": "late"}}
    )
    assert (found.reason, found.retryable, found.possibly_paid) == ("timeout", True, False)


def test_a_cancelled_request_has_no_outcome() -> None:
    assert read(
        {"custom_id": KEY, "response": None, "error": {"code": "batch_cancelled"}}
    ) == Result(KEY, None)


@pytest.mark.parametrize(
    "said", [None, {}, "gone", {"code": "internal", "message": "Something went wrong."}, [1]]
)
def test_an_error_that_nobody_documented_may_pass(said: Any) -> None:
    found = error({"custom_id": KEY, "response": None, "error": said})
    assert (found.reason, found.retryable) == ("provider_error", True)
    assert "status 500" not in found.message
