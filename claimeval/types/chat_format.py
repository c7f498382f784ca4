"""The chat completions format: writes the bodies of requests, and reads and writes the bodies of
replies.

OpenAI, Mistral and all compatible servers use it, and local engines write it. Live replies, cached
replies and batch files are all read by the same function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json

from claimeval.types.requests import (
    ANY_KEYS,
    TOKEN_LIMITS,
    CallError,
    Completion,
    RateLimitStatus,
    Request,
)
from claimeval.types.usage import usage_of

TEMPLATE_ARGUMENTS = "chat_template_kwargs"
"""The field in which vLLM, SGLang and llama.cpp take arguments of a model's chat template."""
SURROGATE = re.compile("[\ud800-\udfff]")

_LIMITS = (
    *TOKEN_LIMITS,
    "max_output_tokens",
    "max_new_tokens",
    "max_tokens_to_sample",
    "max_length",
    "num_predict",
    "budget_tokens",
    "maxTokens",
    "maxOutputTokens",
)
"""Servers' names for the token limit of a reply or of its reasoning. `extra` must not have them at
any depth."""
_HAS_A_PRICE = "has a price that the caps do not count"
_MAY_HIDE_FIELDS = "may hide a field that undoes the caps; give its fields here"
_OTHER_MODELS = "names other models than the judge, and other prices"
_OTHER_SERVER = "names another server than the judge's; use endpoint:"
_SEVERAL_REPLIES = "asks for several replies, which the caps do not count"
_READ_WHOLE = "is set by claimeval, which reads replies whole"
_USE_SEED = "is set by claimeval; use seed:"
_USE_STRUCTURED = "is set by claimeval; use structured:"
_USE_TOP_LOGPROBS = "is set by claimeval; use top_logprobs:"

RESERVED = {
    "temperature": "is set by claimeval; use temperature:",
    "top_p": "is set by claimeval; use top_p:",
    "reasoning_effort": "is set by claimeval; use reasoning_effort:",
    "seed": _USE_SEED,
    "random_seed": _USE_SEED,
    "logprobs": _USE_TOP_LOGPROBS,
    "top_logprobs": _USE_TOP_LOGPROBS,
    **dict.fromkeys(
        _LIMITS, "is set by claimeval and counted by the caps; use max_tokens: or token_limit:"
    ),
    "model": "names another model than the judge, and other prices; use model:",
    "models": _OTHER_MODELS,
    "fallbacks": _OTHER_MODELS,
    "tools": _HAS_A_PRICE,
    "functions": _HAS_A_PRICE,
    "plugins": _HAS_A_PRICE,
    "extra_body": _MAY_HIDE_FIELDS,
    "generation_config": _MAY_HIDE_FIELDS,
    "api_base": _OTHER_SERVER,
    "base_url": _OTHER_SERVER,
    "api_key": "is a secret; use key_variable:",
    "messages": "is set by claimeval: the prompt",
    "response_format": _USE_STRUCTURED,
    "format": _USE_STRUCTURED,
    "n": _SEVERAL_REPLIES,
    "best_of": _SEVERAL_REPLIES,
    "stream": _READ_WHOLE,
    "stream_options": _READ_WHOLE,
    "prediction": _HAS_A_PRICE,
    "web_search_options": _HAS_A_PRICE,
    "modalities": _HAS_A_PRICE,
    "audio": _HAS_A_PRICE,
}
"""Fields that `extra` must not have, each with the reason: claimeval sets them, or they would
bypass the limits."""


def refused_in_extra(extra: Mapping[str, object]) -> str | None:
    """Return why `extra` cannot be sent; None if it can."""
    for name, value in extra.items():
        if reason := RESERVED.get(name):
            return f"{name!r} {reason}"
        if name == "service_tier" and value not in ("default", "flex"):
            return (
                f"'service_tier' {value!r} has prices that the caps do not count; default and flex"
                " can be set"
            )
        if nested := next((nested for nested in _names_within(value) if nested in _LIMITS), None):
            return f"{nested!r} in {name!r} {RESERVED[nested]}"
    return None


def _names_within(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
    if isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _names_within(part)


def request_body(request: Request, *, seed: str = "seed") -> dict[str, Any]:
    """Return the body of a request, with a provider's name for the seed."""
    judge = request.judge
    fields: dict[str, Any] = {
        "model": judge.model_name,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        judge.token_limit or "max_tokens": request.max_tokens,
        "temperature": judge.temperature,
        "top_p": judge.top_p,
        seed: judge.seed,
        "reasoning_effort": judge.reasoning_effort,
        "logprobs": True if request.top_logprobs else None,
        "top_logprobs": request.top_logprobs,
    }
    if schema := request.schema_sent:
        named = {
            "name": "reply",
            "strict": ANY_KEYS not in schema,
            "schema": json.loads(schema),
        }
        fields["response_format"] = {"type": "json_schema", "json_schema": named}
    if request.chat_template:
        fields[TEMPLATE_ARGUMENTS] = json.loads(request.chat_template)
    return {**judge.extra, **{name: value for name, value in fields.items() if value is not None}}


def _other_format(body: bytes, error: Exception) -> str:
    """Return what a body is that is no JSON."""
    start = body.lstrip()
    if start[:1] == b"<":
        return "the address answers with a web page and not with a reply"
    if start.startswith((b"data:", b"event:", b":")):
        return (
            "the server streams its replies, which claimeval does not read; put a gateway such as"
            " LiteLLM before it"
        )
    return f"the body is not JSON ({str(error)[:100]})"


def read_chat(
    body: bytes,
    *,
    latency: float | None = None,
    rate_limits: RateLimitStatus | None = None,
    cached: bool = False,
) -> Completion:
    """Return the completion in the body of a response with status 200. Reasoning is ignored.

    Lone surrogates, which cannot be written to files, become U+FFFD in the texts and stay in
    `body`.

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
        raise _error(f"{_other_format(body, error)}: {_preview(body)}") from error
    if not isinstance(reply, dict):
        raise _error(f"the body is not a JSON object: {_preview(body)}")
    choice = _first_choice(reply, body)
    finish = _str(choice.get("finish_reason"))
    message = choice.get("message")
    if finish and finish.startswith("content_filter"):
        # Gemini adds the category and omits the message
        finish = "content_filter"
        message = choice.get("message", {})
    if not isinstance(message, dict):
        raise _error(f"the reply has no message: {_preview(body)}")
    text = _text(message.get("content"))
    aside = (
        name
        for name in _REASONING
        if not (text or "").strip() and (_str(message.get(name)) or "").strip()
    )
    return Completion(
        body=body,
        text=text,
        aside=next(aside, None),
        finish_reason=finish,
        refusal=_str(message.get("refusal")),
        served_model=_str(reply.get("model")),
        # Zeros beside a text are no usage. The text of a decision is made here of its labels: a
        # model that wrote none may well have used 0 tokens of output.
        usage=usage_of(reply, has_text="answers" not in reply and bool(text or _written(message))),
        latency=latency,
        cached=cached,
        rate_limits=rate_limits,
        key=None,
    )


def _first_choice(reply: Mapping[str, Any], body: bytes) -> Mapping[str, Any]:
    """Return the first choice of a reply. Raises CallError for an error, which gateways send with
    status 200 too, and without a choice."""
    if error := reply.get("error"):
        raise _error(f"status 200 with an error inside: {_preview_of(error)}")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _error(f"the reply has no choices: {_preview(body)}")
    choice: Mapping[str, Any] = choices[0]
    if error := choice.get("error"):
        raise _error(f"status 200 with an error inside a choice: {_preview_of(error)}")
    return choice


_REASONING = ("reasoning_content", "reasoning")
"""Fields of a message in which servers put what their reasoning parsers take out of the content."""


def _parsed(body: bytes) -> Any:
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)  # slower, but accepts more, such as lone surrogates


class TokenLogprobs(NamedTuple):
    """A token of a reply with its alternatives."""

    content: bytes
    alternatives: tuple[tuple[str, float], ...]
    """The most likely tokens at its position, including itself, with their log probabilities."""


def read_tokens(body: bytes) -> tuple[TokenLogprobs, ...] | None:
    """Return the tokens of a reply, or None if the body has no log probabilities in a known
    format."""
    try:
        entries = json.loads(body)["choices"][0]["logprobs"]["content"]
        return tuple(
            TokenLogprobs(
                (
                    bytes(entry["bytes"])
                    if entry.get("bytes") is not None
                    else entry["token"].encode()
                ),
                tuple((token["token"], float(token["logprob"])) for token in entry["top_logprobs"]),
            )
            for entry in entries
        )
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def write_chat(text: str, model: str) -> bytes:
    """Return the body of a reply of a local engine."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    return json.dumps({"object": "chat.completion", "model": model, "choices": [choice]}).encode()


def _error(message: str) -> CallError:
    return CallError("provider_error", message, status=200, possibly_paid=True)


def _preview(body: bytes) -> str:
    return repr(body[:120].decode("utf-8", "replace"))


def _preview_of(error: object) -> str:
    """Return the beginning of an error record, which may stand at the end of a long body."""
    return _preview(json.dumps(error, ensure_ascii=False).encode("utf-8", "replace"))


def _str(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()  # in a tenth of the time of a search
    except UnicodeEncodeError:
        return SURROGATE.sub("\ufffd", value)
    return value


def _text(content: object) -> str | None:
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return _str(content)


def _written(message: Mapping[str, object]) -> bool:
    """Return whether a message has anything besides its content that a model wrote."""
    return any(message.get(name) for name in (*_REASONING, "refusal", "tool_calls"))


_REFUSAL = re.compile(
    r"(?:i['’]m|i am) (?:sorry|afraid)[^.]{0,30}(?:can['’]?t|cannot|unable)|sorry, (?:but )?i"
    r" (?:can['’]?t|cannot)|"
    r"i (?:can['’]?t|cannot|won['’]t|am unable to) (?:help|assist|comply|do"
    r" that|answer|judge|evaluate)",
    re.I,
)
"""How a refusal in prose begins."""


def refuses(text: str) -> bool:
    """Return whether a reply is a refusal in prose, with nothing that could be an answer."""
    return "{" not in text and _REFUSAL.match(text.strip()) is not None
