"""Records of batches: a file of requests, a request without a reply, and a line of a result file.

OpenAI and Mistral write the same result lines: `{"custom_id", "response": {"status_code", "body"},
"error"}`. The lines come in any order and from two files. They can be cut, repeated or unexpected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import SecretStr

from claimeval.providers.http import error_for
from claimeval.providers.keys import scrub_body
from claimeval.types.chat_format import read_chat
from claimeval.types.records import Reason
from claimeval.types.requests import CallError, Completion, Judge

State = Literal[
    "gathering", "ready", "submitted", "answered", "refused", "cancelled", "split", "dropped"
]
"""`ready`: the request file and the batch's name are on disk, and the provider has not been
contacted."""
OPEN: tuple[State, ...] = ("gathering", "ready", "submitted")


class Batch(NamedTuple):
    """A file of requests and its status."""

    name: str
    """Our name, 32 hex digits. The provider keeps it in the metadata of the batch."""
    judge: Judge
    """A judge whose model answers the batch. It holds no API key."""
    run: str
    """The ledger row that the cost is charged to, empty if there is none."""
    state: State
    requests: int
    size: int
    """Size of the request file in bytes."""
    at: float
    """Time of submission, or of creation before that, in seconds since 1970."""
    upload: str | None
    """The provider's id of the request file."""
    id: str | None
    """The provider's id of the batch."""
    status: str
    """The last status that the provider reported."""
    answered: int
    failed: int
    problem: str

    @property
    def open(self) -> bool:
        """Whether replies can still arrive."""
        return self.state in OPEN

    @property
    def target(self) -> BatchTarget:
        """Return the target that this batch is sent to."""
        return batch_target(self.judge)


class BatchTarget(NamedTuple):
    """A model at an endpoint with a key. Requests to the same target can share a file."""

    model: str
    endpoint: str
    key_variable: str


def batch_target(judge: Judge) -> BatchTarget:
    """Return the target of a resolved judge's requests."""
    return BatchTarget(judge.model, judge.endpoint or "", judge.key_variable or "")


class UnansweredRequest(NamedTuple):
    """A request without a reply."""

    batch: str | None
    """The batch that holds the request, None after it came back without a reply."""
    prompt: str
    """Digest of the prompt."""
    reserved: int
    """Reserved cost in billionths of a US dollar."""
    tries: int
    reason: Reason | None
    message: str
    final: int
    """1 if the request is not worth another try, else 0."""


class ReleasedRequests(NamedTuple):
    """Requests that a batch will not answer, with the cost that was reserved for them."""

    requests: int
    reserved: int


class ClosedRequestFile(NamedTuple):
    """A request file that is complete on disk."""

    name: str
    requests: int
    size: int


KEY = re.compile(r"[0-9a-f]{64}")
EXPIRED = "batch_expired"
CANCELLED = "batch_cancelled"


class Result(NamedTuple):
    """Result of one request."""

    key: str
    outcome: Completion | CallError | None
    """None if the batch was cancelled before the request ran."""


def read_line(raw: bytes, api_key: SecretStr) -> Result | None:
    """Return the result in a line, or None if the line does not name a request of ours.

    The API key is removed from the line first, because some servers echo it.
    """
    try:
        line = json.loads(scrub_body(raw, api_key))
    except (ValueError, RecursionError):
        return None
    key = line.get("custom_id") if isinstance(line, dict) else None
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return None
    response = line.get("response")
    error = line.get("error")
    if isinstance(error, dict) and error.get("code") == CANCELLED:
        return Result(key, None)
    if not isinstance(response, dict):
        return Result(key, _error_without_response(error, api_key))
    return Result(key, _outcome(response, api_key))


def _outcome(response: Mapping[str, Any], api_key: SecretStr) -> Completion | CallError:
    """Return the reply or the error in a response, which has the status of a single call."""
    status = response.get("status_code")
    body = response.get("body")
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    if status == 200:
        return _reply(text)
    if isinstance(status, int) and 100 <= status < 600:
        return error_for(status, {}, text, api_key)
    return CallError("provider_error", f"a result with status {status!r}", possibly_paid=True)


def _reply(text: str) -> Completion | CallError:
    try:
        return read_chat(text.encode("utf-8", "surrogatepass"))
    except CallError as error:
        return error


def _error_without_response(error: Any, api_key: SecretStr) -> CallError:
    if isinstance(error, dict) and error.get("code") == EXPIRED:
        return CallError("timeout", "the batch expired before the request ran")
    call_error = error_for(500, {}, json.dumps({"error": error}), api_key)
    message = call_error.message.removeprefix("status 500: ")
    return CallError(
        call_error.reason,
        message,
        retryable=call_error.retryable,
        fatal=call_error.fatal,
    )
