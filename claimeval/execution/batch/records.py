"""The nouns of batches: a file of requests on its way, and a request that has no reply yet.

A line of a result file -> the key of a request, and its reply or why it has none.

OpenAI and Mistral write the same lines: `{"custom_id", "response": {"status_code", "body"}, "error"}`. They come in any
order, from two files, cut, doubled or strange.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple

from pydantic import SecretStr

from claimeval.providers.http_errors import error_for
from claimeval.providers.keys import scrub_body
from claimeval.types.chat_format import read_chat
from claimeval.types.records import Reason
from claimeval.types.requests import CallError, Completion, Judge

State = Literal["gathering", "ready", "submitted", "answered", "refused", "cancelled", "split", "dropped"]
"""`ready`: written, with its name, before the provider hears of it."""
OPEN: tuple[State, ...] = ("gathering", "ready", "submitted")


class Batch(NamedTuple):
    """One file of requests and what became of it."""

    name: str
    """Ours, 32 hex digits; the provider has it in the batch's metadata."""
    judge: Judge
    """A judge whose model answers it. It holds no key."""
    run: str
    """The ledger's row that its cost is held against; empty where there is none."""
    state: State
    requests: int
    size: int
    """Bytes of its file."""
    at: float
    """When it was submitted, or its file begun, in seconds since 1970."""
    upload: str | None
    """The id of its file at the provider."""
    id: str | None
    """Its id at the provider."""
    status: str
    """The provider's last word on it."""
    answered: int
    failed: int
    problem: str

    @property
    def open(self) -> bool:
        """Whether replies may still come of it."""
        return self.state in OPEN

    @property
    def group(self) -> BatchTarget:
        """Batches of one group are asked of the same model at the same place with the same key."""
        return group(self.judge)


class BatchTarget(NamedTuple):
    model: str
    endpoint: str
    key_variable: str


def group(judge: Judge) -> BatchTarget:
    """The group that a resolved judge's requests belong to: they may share files."""
    return BatchTarget(judge.model, judge.endpoint or "", judge.key_variable or "")


class Entry(NamedTuple):
    """A request without a reply."""

    batch: str | None
    """The one that it rides in; None after it came back without a reply."""
    prompt: str
    """Digest of the prompt."""
    reserved: int
    """Billionths of a dollar set aside for it."""
    tries: int
    reason: Reason | None
    message: str
    final: int
    """1 when it is not worth another try, else 0."""


class Freed(NamedTuple):
    """Requests that a batch will not answer, and what had been set aside for them."""

    requests: int
    reserved: int


class Sealed(NamedTuple):
    """A file of requests that lies whole on the disk."""

    name: str
    requests: int
    size: int


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
