"""The chat completions format: convert the body of a reply to a `Completion`, and the reverse.

OpenAI, Mistral and all compatible servers use it, and local engines write it. So live replies, stored replies and batch
files are all read by the same function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json

from claimeval.types.requests import CallError, Completion, RateLimitStatus, Usage

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_chat(
    body: bytes, *, latency: float | None = None, rate_limits: RateLimitStatus | None = None, cached: bool = False
) -> Completion:
    """Return the completion in the body of a response with status 200. Reasoning is ignored.

    Lone surrogates, which cannot be written to files, are replaced by U+FFFD, but kept in `body`.

    Args:
        body: The body of the response.
        latency: Seconds from sending to the last byte.
        rate_limits: Rate limits from the headers.
        cached: Whether the reply is from the reply cache.

    Raises:
        CallError: If the body has no completion.
    """
    try:
        reply = _parsed(body)
    except (ValueError, RecursionError) as error:
        raise _error(f"the body is not JSON ({str(error)[:100]}): {_preview(body)}") from error
    if not isinstance(reply, dict):
        raise _error(f"the body is not a JSON object: {_preview(body)}")
    if reply.get("error"):
        raise _error(f"status 200 with an error inside: {_preview(body)}")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _error(f"the reply has no choices: {_preview(body)}")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise _error(f"the reply has no message: {_preview(body)}")
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
        rate_limits=rate_limits,
    )


def _parsed(body: bytes) -> Any:
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)  # slower, but accepts more, such as lone surrogates


class TokenLogprobs(NamedTuple):
    """A token of a reply with its alternatives."""

    content: bytes
    alternatives: tuple[tuple[str, float], ...]
    """The most likely tokens in its position, including itself, with their log probabilities."""


def read_tokens(body: bytes) -> tuple[TokenLogprobs, ...] | None:
    """Return the tokens of a reply, or None if the body has no log probabilities in a known format."""
    try:
        entries = json.loads(body)["choices"][0]["logprobs"]["content"]
        return tuple(
            TokenLogprobs(
                bytes(entry["bytes"]) if entry.get("bytes") is not None else entry["token"].encode(),
                tuple((token["token"], float(token["logprob"])) for token in entry["top_logprobs"]),
            )
            for entry in entries
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def write_chat(text: str, model: str) -> bytes:
    """Return the body of a reply of a local engine."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "model": model, "choices": [choice]}).encode()


def _error(message: str) -> CallError:
    return CallError("provider_error", message, status=200, possibly_paid=True)


def _preview(body: bytes) -> str:
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
