"""A line of a result file -> the key of a request, and its reply or why it has none.

OpenAI and Mistral write the same lines: `{"custom_id", "response": {"status_code", "body"}, "error"}`. They come in any
order, from two files, cut, doubled or strange.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from pydantic import SecretStr

from claimeval.backends.http_errors import error_for
from claimeval.backends.keys import scrub_body
from claimeval.calls import CallError, Completion
from claimeval.wire import read_chat

KEY = re.compile(r"[0-9a-f]{64}")
EXPIRED, CANCELLED = "batch_expired", "batch_cancelled"


class Result(NamedTuple):
    """What became of one request."""

    key: str
    outcome: Completion | CallError | None
    """None: it did not run, since the batch was cancelled."""


def read_line(raw: bytes, api_key: SecretStr) -> Result | None:
    """The result in a line; None for a line that names no request of ours.

    The API key is taken out of the line before anything else, since servers echo it.
    """
    try:
        line = json.loads(scrub_body(raw, api_key))
    except (ValueError, RecursionError):
        return None
    key = line.get("custom_id") if isinstance(line, dict) else None
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return None
    response, error = line.get("response"), line.get("error")
    if isinstance(error, dict) and error.get("code") == CANCELLED:
        return Result(key, None)
    if not isinstance(response, dict):
        return Result(key, _without_response(error, api_key))
    status, body = response.get("status_code"), response.get("body")
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    if status == 200:
        return Result(key, _reply(text))
    if isinstance(status, int) and 100 <= status < 600:
        return Result(key, error_for(status, {}, text, api_key))
    return Result(key, CallError("provider_error", f"a result with status {status!r}", possibly_paid=True))


def _reply(text: str) -> Completion | CallError:
    try:
        return read_chat(text.encode("utf-8", "surrogatepass"))
    except CallError as error:
        return error


def _without_response(error: Any, api_key: SecretStr) -> CallError:
    """Why a request has no response: it did not run in time, or the provider says something else."""
    if isinstance(error, dict) and error.get("code") == EXPIRED:
        return CallError("timeout", "the batch expired before the request ran")
    found = error_for(500, {}, json.dumps({"error": error}), api_key)
    message = found.message.removeprefix("status 500: ")
    return CallError(found.reason, message, retryable=found.retryable, fatal=found.fatal)
