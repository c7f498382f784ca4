"""The chat-completions wire format: body bytes <-> `Completion`.

OpenAI, Mistral and every compatible server answer in it, and local engines write it too, so that one reader serves
live replies, the store and batch files. Nothing but the bytes decides what a reply says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json

from claimeval.types.requests import Allowance, CallError, Completion, Usage

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_chat(
    body: bytes, *, latency: float | None = None, allowance: Allowance | None = None, cached: bool = False
) -> Completion:
    """The completion in a body that came with status 200; CallError when it holds none.

    Reasoning parts are ignored. Lone surrogates, which no file can hold, are replaced by U+FFFD; `body` keeps them.
    """
    try:
        reply = _parsed(body)
    except (ValueError, RecursionError) as error:
        raise _broken(f"the body is not JSON ({str(error)[:100]}): {_start(body)}") from error
    if not isinstance(reply, dict):
        raise _broken(f"the body is not a JSON object: {_start(body)}")
    if reply.get("error"):
        raise _broken(f"status 200 with an error inside: {_start(body)}")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _broken(f"the reply has no choices: {_start(body)}")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise _broken(f"the reply has no message: {_start(body)}")
    usage = reply.get("usage")
    return Completion(
        body=body,
        text=_text(message.get("content")),
        finish_reason=_str(choices[0].get("finish_reason")),
        refusal=_str(message.get("refusal")),
        served_model=_str(reply.get("model")),
        usage=_usage(usage) if isinstance(usage, dict) else Usage(),
        latency=latency,
        cached=cached,
        allowance=allowance,
    )


def _parsed(body: bytes) -> Any:
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)  # slower, and reads what the other parser refuses, such as lone surrogates


class TokenLogprobs(NamedTuple):
    """One token of a reply."""

    content: bytes
    alternatives: tuple[tuple[str, float], ...]
    """The most likely tokens at its place, itself among them, with their log-probabilities."""


def read_tokens(body: bytes) -> tuple[TokenLogprobs, ...] | None:
    """The tokens of a reply with their alternatives; None where the body has none, or not in a form that is known."""
    try:
        listed = json.loads(body)["choices"][0]["logprobs"]["content"]
        return tuple(
            TokenLogprobs(
                bytes(entry["bytes"]) if entry.get("bytes") is not None else entry["token"].encode(),
                tuple((other["token"], float(other["logprob"])) for other in entry["top_logprobs"]),
            )
            for entry in listed
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def write_chat(text: str, model: str) -> bytes:
    """The body of a reply that a local engine gives."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "model": model, "choices": [choice]}).encode()


def _broken(message: str) -> CallError:
    return CallError("provider_error", message, status=200, possibly_paid=True)


def _start(body: bytes) -> str:
    return repr(body[:120].decode("utf-8", "replace"))


def _str(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def _text(content: object) -> str | None:
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return _str(content)


def _usage(usage: Mapping[str, object]) -> Usage:
    details = usage.get("prompt_tokens_details")
    return Usage(
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
