"""Validation of requests: the errors of the providers for invalid requests."""

from __future__ import annotations

import json
from collections.abc import Callable

from benchmarks.loopback.dialects import Dialect
from benchmarks.loopback.judge import Body
from benchmarks.loopback.wire import Answer, Request, encode

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def json_of(request: Request) -> object:
    """Return the JSON body; None if it is not JSON."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        return None
    try:
        text = request.body.decode("utf-8")
        value: object = json.loads(text)
        if "\\ud" in text.lower():
            encode(value).decode("utf-8")  # fails for lone surrogates
    except ValueError:
        return None
    return value


def refuse(dialect: Dialect, request: Request, body: object) -> Answer | None:
    """Return the provider's error for an invalid request; None for a valid one."""
    content_type = request.headers.get("content-type", "")
    if not content_type.startswith("application/json"):
        return dialect.complain(415, f"Unsupported content type: {content_type!r}.")
    return refuse_body(dialect, body)


def refuse_body(dialect: Dialect, body: object) -> Answer | None:
    """Return the provider's error for an invalid body, also of a batch; None for a valid one."""
    if not isinstance(body, dict):
        return dialect.complain(400, "We could not parse the JSON body of your request.")
    for name, value in body.items():
        if name not in dialect.fields:
            return dialect.reject_field(name, value)
    for name, wrong in WRONG.items():
        complaint = wrong(body)
        if complaint is not None:
            return dialect.complain(400, complaint, param=name)
    return None


def _wrong_model(body: Body) -> str | None:
    return (
        None
        if isinstance(body.get("model"), str) and body["model"]
        else "you must provide a model parameter"
    )


def _wrong_messages(body: Body) -> str | None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "Invalid 'messages': expected an array with at least one message."
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            return f"Invalid 'messages[{at}]': expected an object with a known role."
        if not isinstance(message.get("content"), str | list):
            return f"Invalid 'messages[{at}].content': expected a string or an array."
    return None


def _wrong_stream(body: Body) -> str | None:
    return "the loopback server does not stream" if body.get("stream") else None


def _wrong_n(body: Body) -> str | None:
    return None if body.get("n") in (None, 1) else "the loopback server gives one choice"


WRONG: dict[str, Callable[[Body], str | None]] = {
    "model": _wrong_model,
    "messages": _wrong_messages,
    "stream": _wrong_stream,
    "n": _wrong_n,
}
