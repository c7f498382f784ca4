"""The differences between OpenAI's and Mistral's APIs: accepted fields, replies and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.loopback.judge import Body, Reply, text_of
from benchmarks.loopback.wire import Answer, encode

Name = Literal["openai", "mistral"]

SHARED_FIELDS = frozenset(
    {
        "model",
        "messages",
        "temperature",
        "top_p",
        "max_tokens",
        "stream",
        "stop",
        "n",
        "presence_penalty",
        "frequency_penalty",
        "response_format",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "prediction",
        "metadata",
        "logprobs",
        "top_logprobs",
        "reasoning_effort",
        "prompt_cache_key",
        "service_tier",
    }
)
OPENAI_FIELDS = SHARED_FIELDS | {
    "max_completion_tokens",
    "seed",
    "logit_bias",
    "user",
    "store",
    "stream_options",
    "modalities",
    "audio",
    "verbosity",
    "functions",
    "function_call",
    "web_search_options",
    "safety_identifier",
    "prompt_cache_retention",
    "prompt_cache_options",
    "moderation",
}
MISTRAL_FIELDS = SHARED_FIELDS | {
    "random_seed",
    "safe_prompt",
    "prompt_mode",
    "min_tokens",
    "top_k",
    "repetition_penalty",
    "prompt_logprobs",
    "top_prompt_logprobs",
    "guardrails",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One provider's wire format."""

    name: Name
    fields: frozenset[str]
    complete: Callable[[Reply, Body, int, int], dict[str, Any]]
    """Returns the completion record for (reply, request body, request number, Unix time)."""
    error: Callable[..., dict[str, object]]
    """Returns the error record for (message, type=, code=, param=)."""
    reject_field: Callable[[str, object], Answer]
    """Returns the refusal of an unknown field for (name, value)."""

    def complain(
        self, status: int, message: str, *, code: str | None = None, param: str | None = None
    ) -> Answer:
        """Return the refusal of an invalid request."""
        kind = "invalid_request_error"
        return Answer(status, encode(self.error(message, type=kind, code=code, param=param)))


def count_tokens(text: str) -> int:
    """Return the approximate number of tokens: one per four characters, at least one."""
    return max(1, len(text) // 4)


def _usage(reply: Reply, body: Body) -> dict[str, object]:
    text = (
        reply.content
        if isinstance(reply.content, str)
        else str(reply.content or reply.refusal or "")
    )
    prompt = count_tokens(text_of(body))
    completion = count_tokens(text)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _openai_completion(reply: Reply, body: Body, number: int, now: int) -> dict[str, Any]:
    details: dict[str, object] = {
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
    message = {
        "role": "assistant",
        "content": reply.content,
        "refusal": reply.refusal,
        "annotations": [],
    }
    choice = {
        "index": 0,
        "message": message,
        "logprobs": reply.logprobs,
        "finish_reason": reply.finish_reason,
    }
    return {
        "id": f"chatcmpl-{number:012d}",
        "object": "chat.completion",
        "created": now,
        "model": reply.model or body["model"],
        "choices": [choice],
        "usage": {**_usage(reply, body), **details, **(reply.usage or {})},
        "service_tier": "default",
        "system_fingerprint": "fp_loopback",
    }


def _mistral_completion(reply: Reply, body: Body, number: int, now: int) -> dict[str, Any]:
    message: dict[str, object] = {"role": "assistant", "tool_calls": None, "content": reply.content}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    choice: dict[str, object] = {
        "index": 0,
        "finish_reason": reply.finish_reason,
        "message": message,
    }
    if reply.logprobs is not None:
        choice["logprobs"] = reply.logprobs
    return {
        "id": f"{number:032x}",
        "created": now,
        "model": reply.model or body["model"],
        "usage": {**_usage(reply, body), **(reply.usage or {})},
        "object": "chat.completion",
        "choices": [choice],
    }


def _openai_error(
    message: str, *, type: str, code: str | None = None, param: str | None = None
) -> dict[str, object]:
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def _mistral_error(
    message: str, *, type: str, code: str | None = None, param: str | None = None
) -> dict[str, object]:
    return {"object": "error", "message": message, "type": type, "param": param, "code": code}


def _openai_unknown_field(name: str, value: object) -> Answer:
    message = f"Unrecognized request argument supplied: {name}"
    return Answer(400, encode(_openai_error(message, type="invalid_request_error")))


def _mistral_unknown_field(name: str, value: object) -> Answer:
    detail = {
        "type": "extra_forbidden",
        "loc": ["body", name],
        "msg": "Extra inputs are not permitted",
        "input": value,
    }
    record: Mapping[str, object] = {
        "object": "error",
        "message": {"detail": [detail]},
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    return Answer(422, encode(record))


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(
        "openai", OPENAI_FIELDS, _openai_completion, _openai_error, _openai_unknown_field
    ),
    "mistral": Dialect(
        "mistral", MISTRAL_FIELDS, _mistral_completion, _mistral_error, _mistral_unknown_field
    ),
}
