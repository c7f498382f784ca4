"""HTTP status, headers and error body -> `CallError`: one table for every provider that speaks HTTP.

What an error means is read from `code` and `type` in the body first, since one status can mean several things: a
429 is "slow down" or "no money left".
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC

from pydantic import SecretStr

from claimeval.providers.keys import scrub
from claimeval.types.requests import CallError, RateLimitStatus

MAX_RETRY_AFTER = 86_400.0

_FATAL_CODES = {
    "insufficient_quota": "the account has no quota left: check plan and billing",
    "billing_not_active": "billing is not active for this account",
    "enforced_spend_limit_reached": "the account's spend limit is reached",
    "invalid_api_key": "the key is not accepted: check the environment variable that holds it",
    "invalid_model": "the server does not know this model: check its name",
    "model_not_found": "the server does not know this model: check its name",
    "unsupported_parameter": "the model does not take a parameter that is set: change the judge's settings",
    "unsupported_value": "the model does not take this value of a parameter: change the judge's settings",
}
_FATAL_STATUS = {
    401: "the key is not accepted: check the environment variable that holds it",
    402: "payment is required: check plan and billing",
    403: "the key may not use this: check its permissions",
    404: "the server does not know this model or address: check the model's name and the endpoint",
    405: "this is not a chat-completions address: check the endpoint",
}
_RETRYABLE_STATUS = {408, 409, 425, 429}
_GATEWAY_STATUS = {408, 502, 504, *range(520, 528)}
"""Said by something between us and the model, which may have answered, and charged, all the same."""
_UNKNOWN_FIELD = re.compile(r"extra_forbidden|Unrecognized request argument")
"""How Mistral (422) and OpenAI (400) say that they do not know a field of the body; neither gives it a code."""
_ALLOWANCE = (
    ("x-ratelimit-limit-requests", "x-ratelimit-limit-req-minute"),
    ("x-ratelimit-remaining-requests", "x-ratelimit-remaining-req-minute"),
    ("x-ratelimit-limit-tokens", "x-ratelimit-limit-tokens-minute"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-remaining-tokens-minute"),
)
"""The headers of each field of `RateLimitStatus`, OpenAI's and Mistral's."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def error_for(status: int, headers: Mapping[str, str], body: str, key: SecretStr) -> CallError:
    """The error of a reply whose status is not 200. The provider's own words are kept, without keys."""
    code, kind, words = _details(body)
    said = scrub(words, key)[:500]
    message = f"status {status}: {said}"
    if 300 <= status < 400:
        return CallError(
            "judge_stopped",
            f"the endpoint answers with a redirect (status {status}); it is not followed, since that would send the "
            "key elsewhere. Give the final address",
            status=status,
            fatal=True,
        )
    if code == "content_filter" or kind == "content_filter":
        return CallError("filtered", message, status=status, retryable=False)
    if advice := _FATAL_CODES.get(code) or _FATAL_CODES.get(kind) or _FATAL_STATUS.get(status):
        return CallError("judge_stopped", f"{message.rstrip('.')}. {advice}", status=status, fatal=True)
    if status in (400, 422) and _UNKNOWN_FIELD.search(said):
        advice = _FATAL_CODES["unsupported_parameter"]
        return CallError("judge_stopped", f"{message.rstrip('.')}. {advice}", status=status, fatal=True)
    let_through = rate_limits(headers)
    if status == 429 and let_through and let_through.requests == 0:
        return CallError(
            "judge_stopped", f"{message.rstrip('.')}. {_FATAL_CODES['insufficient_quota']}", status=status, fatal=True
        )
    if code == "context_length_exceeded" or status == 413 or said.lower().startswith("request too large"):
        return CallError("provider_error", f"{message} (the prompt is too long)", status=status, retryable=False)
    if status in _RETRYABLE_STATUS or status >= 500:
        capacity = "capacity" in said.lower()
        return CallError(
            "provider_error",
            message,
            status=status,
            retry_after=retry_after(headers),
            rate_limited=status == 429 and not capacity,
            possibly_paid=status in _GATEWAY_STATUS,
            rate_limits=let_through,
        )
    return CallError("provider_error", message, status=status, retryable=False)


def _details(body: str) -> tuple[str, str, str]:
    """Code, type and message of an error body; several providers' forms, or the text itself."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "", "", " ".join(body.split())[:500]
    error = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(error, dict):
        return "", "", str(error)
    message = error.get("message") or error.get("detail") or body
    return str(error.get("code") or ""), str(error.get("type") or ""), str(message)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, from `retry-after-ms`, `retry-after` (seconds or date), or the reset of the limit that was hit.

    None for absent, negative or meaningless values; 0 means at once. Header names are lower-case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, MAX_RETRY_AFTER)
    text = headers.get("retry-after")
    if text:
        seconds = _number(text)
        if seconds is None:
            seconds = _until(text, time.time() if now is None else now)
        if seconds is not None:
            return min(seconds, MAX_RETRY_AFTER)
    resets = [
        duration(headers.get(f"x-ratelimit-reset-{kind}", ""))
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}", "0") == "0"
    ]
    return max((r for r in resets if r is not None), default=None)


def rate_limits(headers: Mapping[str, str]) -> RateLimitStatus | None:
    """What the provider lets through in a minute, from OpenAI's or Mistral's headers; None where they say nothing."""
    told = [_first(headers, names) for names in _ALLOWANCE]
    return None if told == [None] * len(told) else RateLimitStatus(*told)


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    values = (_number(headers.get(name)) for name in names)
    return next((int(value) for value in values if value is not None), None)


def duration(text: str) -> float | None:
    """Seconds in a text such as `1.2s`, `6m0s`, `500ms`; None for anything else."""
    parts = _DURATION.findall(text)
    if not parts or "".join(n + unit for n, unit in parts) != text:
        return None
    return sum(float(n) * _SECONDS[unit] for n, unit in parts)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(text: str, now: float) -> float | None:
    try:
        when = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    seconds = when.replace(tzinfo=when.tzinfo or UTC).timestamp() - now
    return seconds if seconds >= 0 else None
