"""HTTP for providers' SDKs: a shared client, a recorder of responses, and the errors of all
providers.

The client reads whole bodies up to a limit, follows no redirects, and uses proxies only for https.
Between reading a body and returning it, SDKs close connections, validate and switch threads, and
may drop parts of it or raise. A process that dies there would lose a paid reply, so replies are
recorded below the SDKs.
"""

from __future__ import annotations

import email.utils
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import UTC
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from claimeval.providers import MAX_REPLY_BYTES, Keep
from claimeval.providers.error_bodies import ErrorDetails, read_error
from claimeval.providers.keys import (
    Secrets,
    is_loopback,
    masked,
    rejection,
    scrub,
    scrub_body,
    scrubbed_logs,
)
from claimeval.types.chat_format import read_chat
from claimeval.types.errors import UsageError
from claimeval.types.refusals import STREAM, refused_parameters, without_grouping
from claimeval.types.requests import (
    LONG_REPLY,
    SYSTEM,
    CallError,
    Completion,
    Judge,
    RateLimitStatus,
)

if TYPE_CHECKING:
    import httpx2

MAX_RETRY_AFTER = 86_400.0

_NOT_ACCEPTED = "the key is not accepted"
_FATAL_CODES = {
    "insufficient_quota": "the account has no quota left: check plan and billing",
    "billing_not_active": "billing is not active for this account",
    "enforced_spend_limit_reached": "the account's spend limit is reached",
    "budget_exceeded": "the gateway's budget for this key is spent",
    "invalid_api_key": _NOT_ACCEPTED,
    "invalid_model": "the server does not know this model: check its name",
    "model_not_found": "the server does not know this model: check its name",
}
_BAD_SETTING = "the model does not take a parameter that is set: change the judge's settings"
_NO_CREDIT = re.compile(
    r"credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|"
    r"(?:out of|no|all available) credits?\b|arrearage|good standing|"
    r"balance (?:is )?(?:insufficient|not enough|too low)|"
    r"budget has been exceeded|billing hard limit|余额不足|欠费",
    re.I,
)
_FATAL_WORDS = (
    (
        re.compile(
            r"(?:invalid|unknown|unsupported|no such|cannot find) model\b|model not exist|"
            r"not a (?:valid|supported|known) model|"
            r"model[^.;\n]{0,80}(?:does(?: not|n't) exist|not found|decommissioned|(?<!is )retired|"
            r"identifier is invalid|end of life|"
            r"(?:has been|was) (?:retired|deprecated|discontinued|removed)|"
            r"(?:is|are) no longer (?:supported|available|served))|"
            r"model ['\"`]?[\w./:-]+['\"`]? is (?:not (?:available|supported)|unavailable)|"
            r"requested model[^.;\n]{0,60}(?:not|n't) (?:available|supported)|"
            r"DeploymentNotFound|on-demand throughput|模型不存在",
            re.I,
        ),
        "model_not_found",
    ),
    (
        re.compile(
            r"AuthenticationError|No connected db|"
            r"(?:incorrect|invalid|missing|expired|no) api[ _-]?key|"
            r"api[ _-]?key (?:is )?(?:not (?:valid|found)|invalid|expired|missing|required)|"
            r"provide an? (?:valid )?api[ _-]?key|unauthori[sz]ed\b|access token is|"
            r"(?:missing|invalid|no) (?:authorization|authentication|bearer|access token)",
            re.I,
        ),
        "invalid_api_key",
    ),
    (_NO_CREDIT, "insufficient_quota"),
)
"""Messages of gateways with status 400 or 422 and without a code."""
_TOO_LONG = re.compile(
    r"maximum (?:context|prompt|model) length|context["
    r" _](?:length|window|limit|size)|ContextWindowExceeded|"
    r"(?:prompt|input|context|request) is too (?:long|large)|too long to fit|request too long|"
    r"too many (?:input |prompt )?tokens|input token count|"
    r"model token limit|(?:inputs?|prompt)['\"`]?(?: tokens)?(?: \(\d+\))? \+ ?['\"`]?max_|"
    r"inputs` tokens \+|(?:上下文|输入)(?:的?总?长度|过长)",
    re.I,
)
"""Messages about a prompt that exceeds the context window: OpenAI, Anthropic, Mistral, Gemini,
vLLM, llama.cpp, Ollama, LM Studio, TGI, Bedrock, xAI, Moonshot, and gateways."""
_PROMPT = (
    r"\b(?:prompt|inputs?|messages?|request|conversation|sequence|token (?:count|length)|"
    r"context (?:length|window|size|limit))\b"
)
_MORE_THAN_ALLOWED = re.compile(
    rf"{_PROMPT}[^.;\n]{{0,60}}(?:exceed|longer than|(?:more|greater|larger) than|over the|"
    r"too (?:long|large)\b|must have less than|should be \[|only supports \d)|context overflow|"
    rf"exceed[^.;\n]{{0,40}}{_PROMPT}|reduce the length of",
    re.I,
)
"""Words for a prompt that is too long, if they are about its tokens or length."""
_LENGTH = re.compile(
    r"token|length|context|too long|prompt (?:is )?too large|size of the (?:prompt|input)", re.I
)
_OTHER_LIMIT = re.compile(
    r"rate limit|per (?:minute|day|hour)|quota|credit|balance|budget|string too long|characters|"
    r"\bMB\b|image|file|max(?:imum)?[_ ](?:completion|output|new)?[_ ]?tokens\b|"
    r"(?:output|completion) tokens",
    re.I,
)
"""Words of messages about other limits than the context window."""
_TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error"}
_WINDOWS = (
    re.compile(r"> *(\d{3,8})\b"),
    re.compile(r'"n_ctx": *(\d{3,8})\b'),
    re.compile(
        r"(?:context|model|prompt)[ _](?:length|window|size|limit)(?: is| has| of(?: only)?|:)?"
        r" *\(?(\d{3,8})\b",
        re.I,
    ),
    re.compile(r"(\d{3,8}) maximum context length", re.I),
    re.compile(r"(?:tokens allowed|limit of|token limit:?|must be <=) *\(?(\d{3,8})\b", re.I),
    re.compile(
        r"(?:\bmax(?:imum)?|allowed|limit|less than|at most|supports|上限|最大)(?![a-z])"
        r"[^.;\d\n]{0,30}(\d{3,8})\b",
        re.I,
    ),
    re.compile(r"should be \[\d+, ?(\d{3,8})\]", re.I),
)
"""The context window in such a message: "210000 tokens > 200000 maximum", llama.cpp's field, and in
words."""
_FILTERED = re.compile(
    r"content filtering policy|content management policy|ContentPolicyViolation|ResponsibleAI|"
    r"(?:input|prompt|request)[^.;\n]{0,20} (?:was|were|been) flagged|inappropriate content|"
    r"content exists risk|high risk|DataInspectionFailed|safety (?:system|filter|check)|"
    r"SAFETY_CHECK|guardrail|sensitive (?:content|words|information)|prohibited[ _]content|"
    r"(?:blocked|rejected) (?:by|due to)[^.;\n]{0,40}(?:filter|moderation|safety|polic)|unsafe|"
    r"violat\w+[^.;\n]{0,40}(?:usage|content|safety|use) (?:polic|guideline)|敏感|不安全",
    re.I,
)
"""Messages about a prompt that a filter refused: Anthropic, Azure and LiteLLM (400), OpenRouter
(403), DashScope, DeepSeek, Moonshot, Zhipu, xAI, OpenAI, and gateways."""
_FILTER_CODES = {
    "content_filter",
    "content_policy_violation",
    "data_inspection_failed",
    "sensitive_words_detected",
    "invalid_prompt",
    "1301",
}
"""Codes for such a prompt: OpenAI and Azure, DashScope, new-api, Zhipu."""
_OF_ACCOUNT = re.compile(r"\b(?:account|organi[sz]ation|api key|user)\b", re.I)
_NOT_VERIFIED = re.compile(r"organi[sz]ation must be verified", re.I)
_NO_ROOM = re.compile(r"max_(?:completion_)?tokens must be at least 1, got -\d")
"""vLLM's message about a prompt that leaves less than no room for a reply."""
_LIMIT_IS_NO_WINDOW = re.compile(r"max_(?:completion_|new_|output_)?tokens`?'? must be", re.I)
"""Groq's message about a reply that is too long, which mentions the context window at its end."""
_ASKED_AGAIN = {"json_validate_failed", "tool_use_failed"}
"""Codes of Groq for a reply that was no valid JSON, which the next one may be."""
_FATAL_STATUS = {
    401: _NOT_ACCEPTED,
    402: "payment is required: check plan and billing",
    403: "the key may not use this: check its permissions",
    404: "the server does not know this model or address: check the model's name and the endpoint",
    405: "this is not a chat-completions address: check the endpoint",
    410: "the server no longer has this model or address: check the model's name and the endpoint",
}
_REFUSING_STATUS = {400, 404, 422, 500, 501}
"""Statuses with which servers refuse a part of a request."""
_OVERLOADED = re.compile(
    r"overload|\bcapacity\b|\bbusy\b|temporar|try again|out of memory|no space left|rate limit|"
    r"quota|timed? ?out|deadline|unavailable|being (?:updated|loaded)|is loading|maintenance|"
    r"connection (?:refused|reset)|upstream connect",
    re.I,
)
"""Words of a server in trouble, which has refused no part of the request."""
_RETRYABLE_STATUS = {408, 409, 425, 429}
_GATEWAY_STATUS = {408, 502, 504, *range(520, 528)}
"""Statuses from a gateway; the model may still have answered and charged."""
_UNKNOWN_FIELD = re.compile(r"extra_forbidden|Unrecognized request argument|UnsupportedParams")
"""Messages about an unknown field of the body, without a code: Mistral (422), OpenAI and LiteLLM
(400)."""
_RETRY_DELAY = re.compile(r'"retryDelay": *"(\d+(?:\.\d+)?)s"')
"""The seconds to wait in a body from Gemini, which sends no header for it."""
_RATE_LIMITS = (
    (
        "x-ratelimit-limit-requests",
        "x-ratelimit-limit-req-minute",
        "anthropic-ratelimit-requests-limit",
    ),
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-remaining-req-minute",
        "anthropic-ratelimit-requests-remaining",
    ),
    (
        "x-ratelimit-limit-tokens",
        "x-ratelimit-limit-tokens-minute",
        "anthropic-ratelimit-tokens-limit",
    ),
    (
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-remaining-tokens-minute",
        "anthropic-ratelimit-tokens-remaining",
    ),
)
"""The headers of each field of `RateLimitStatus`: OpenAI's, Mistral's and Anthropic's."""
_REDIRECT = (
    "the endpoint answers with a redirect (status {}); it is not followed, since that would send"
    " the key elsewhere. Give the final address"
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def error_for(status: int, headers: Mapping[str, str], body: str, key: SecretStr) -> CallError:
    """Translate a response whose status is not 200. The provider's message is kept, without keys.

    `code` and `type` in the body take precedence over the status, which can be ambiguous: a 429 may
    mean "slow down" or "no credit left".

    Args:
        status: The HTTP status.
        headers: The headers of the response, with names in lower case.
        body: The body as text.
        key: The key to remove from the message.
    """
    details = read_error(body)
    reason = scrub(details.message, key)[:500]
    message = f"status {status}: {reason}"
    if request_id := headers.get("request-id"):
        message += f" (request {scrub(request_id, key)[:80]})"
    # Before all others: a prompt that is too long is cut into windows, whatever else it is called.
    if _is_too_long(status, details):
        return CallError(
            "too_long",
            message,
            status=status,
            retryable=False,
            context_tokens=stated_window(f"{details.words} {body if details.words else ''}"),
        )
    if 300 <= status < 400:
        return CallError("judge_stopped", _REDIRECT.format(status), status=status, fatal=True)
    if _is_filtered(status, details):
        return CallError("filtered", message, status=status, retryable=False)
    if details.codes & _ASKED_AGAIN:
        return CallError("provider_error", message, status=status, possibly_paid=True)
    if error := _unusable(status, message, details, key):
        return error
    if status == 413 or reason.lower().startswith("request too large"):
        return CallError("too_long", message, status=status, retryable=False)
    another_form = status in _REFUSING_STATUS and not _explained(details)
    if status in _RETRYABLE_STATUS or status >= 500:
        error = _temporary(status, headers, message, body)
        error.another_form = another_form
        return error
    return CallError(
        "provider_error", message, status=status, retryable=False, another_form=another_form
    )


def _explained(details: ErrorDetails) -> bool:
    """Return whether an error has a cause that no other form of the request would remove."""
    words = details.words
    of_key = (pattern for pattern, _ in _FATAL_WORDS)
    return bool(_OVERLOADED.search(words) or any(pattern.search(words) for pattern in of_key))


def _is_too_long(status: int, details: ErrorDetails) -> bool:
    if details.codes & _TOO_LONG_CODES:
        return True
    words = details.words
    too_long = _exceeds(words)
    if status == 500:
        # what a server in trouble says of its context is no refusal
        return too_long
    # "max_tokens is too large" limits the reply, and says nothing about the window
    if _NO_ROOM.search(words):
        return True
    about_window = _TOO_LONG.search(words) and not _LIMIT_IS_NO_WINDOW.match(words.lstrip("`'"))
    return status in (400, 413, 422) and (bool(about_window) or too_long)


def _exceeds(words: str) -> bool:
    """Return whether a message says that a prompt is longer than the server takes."""
    return bool(
        _MORE_THAN_ALLOWED.search(words)
        and _LENGTH.search(words)
        and not _OTHER_LIMIT.search(words)
    )


def _is_filtered(status: int, details: ErrorDetails) -> bool:
    if details.codes & _FILTER_CODES:
        return True
    words = details.words
    flagged = status in (400, 403, 422, 451) and _FILTERED.search(words)
    # an account that is suspended is no prompt that is refused
    return bool(flagged) and not _OF_ACCOUNT.search(words)


def _unusable(status: int, message: str, details: ErrorDetails, key: SecretStr) -> CallError | None:
    """Return the error of a judge that cannot be used as it is asked; None for other errors."""
    if _NOT_VERIFIED.search(details.words):
        return _fatal(status, message, "verify the organization, or name another model")
    # Some servers refuse a parameter as an unknown route or with a crash, which is no outage.
    if status in (404, 405, 413, 500, 501):
        refused = refused_parameters(details.words, details.parameter, strict=status == 500)
        if refused:
            return _refused(status, message, refused)
    by_code = next(map(_FATAL_CODES.get, sorted(details.codes & _FATAL_CODES.keys())), None)
    if advice := by_code or _FATAL_STATUS.get(status):
        error = _fatal(status, message, rejection(key) if advice == _NOT_ACCEPTED else advice)
        # an address that is unknown, or a host that knows no such field
        error.another_form = status == 404 and not (by_code or _explained(details))
        return error
    return _refusal(status, message, details) if status in (400, 422) else None


def _temporary(status: int, headers: Mapping[str, str], message: str, body: str) -> CallError:
    """Return the error of a request that may succeed later, or of an account without credit."""
    limits = rate_limits(headers)
    # An account without credit may have a limit of 0 requests, and waiting does not raise it.
    if status == 429 and ((limits and limits.requests == 0) or _NO_CREDIT.search(message)):
        return _fatal(status, message, _FATAL_CODES["insufficient_quota"])
    wait = retry_after(headers)
    if wait is None and (delay := _RETRY_DELAY.search(body)):
        wait = min(float(delay[1]), MAX_RETRY_AFTER)
    # a 429 for want of capacity does not mean that this client sends too fast
    capacity = "capacity" in message.lower()
    return CallError(
        "provider_error",
        message,
        status=status,
        retry_after=wait,
        rate_limited=status == 429 and not capacity,
        possibly_paid=status in _GATEWAY_STATUS,
        rate_limits=limits,
    )


def stated_window(words: str) -> int | None:
    """Return the context window, in tokens, that a refusal of a long prompt states; None if it
    states none."""
    words = without_grouping(words)
    stated = next((match for pattern in _WINDOWS if (match := pattern.search(words))), None)
    return int(stated[1]) if stated else None


def _fatal(status: int, message: str, advice: str) -> CallError:
    return CallError("judge_stopped", f"{message.rstrip('.')}; {advice}", status=status, fatal=True)


def _refusal(status: int, message: str, details: ErrorDetails) -> CallError | None:
    """Return the error for a 400 or 422 by its code or message; None if it is unknown."""
    words = details.words
    for pattern, reason in _FATAL_WORDS:
        if pattern.search(words):
            return _fatal(status, message, _FATAL_CODES[reason])
    by_code = bool(details.codes & {"unsupported_parameter", "unsupported_value"})
    if refused := refused_parameters(words, details.parameter):
        error = _refused(status, message, refused)
        # a code says what the words may only seem to say
        error.another_form = not by_code
        return error
    if by_code or _UNKNOWN_FIELD.search(words):
        error = _fatal(status, message, _BAD_SETTING)
        error.another_form = True
        return error
    return None


_ADVICE = {
    STREAM: (
        "the server only streams its replies, which claimeval does not read; put a gateway such as"
        " LiteLLM before it"
    ),
    SYSTEM: "the model takes no system text, also not in the user's message",
}


def _refused(status: int, message: str, refused: tuple[str, ...]) -> CallError:
    """Return the error for what a server refuses of a request, which may be sent in another
    form."""
    advice = _ADVICE.get(refused[0], _BAD_SETTING)
    if refused[0].startswith(LONG_REPLY):
        advice = "set a lower max_tokens in a judge file"
    return CallError(
        "judge_stopped",
        f"{message.rstrip('.')}; {advice}",
        status=status,
        retryable=False,
        refused=refused,
        another_form=True,
    )


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds to wait: `retry-after-ms`, `retry-after` (seconds or date), or the reset
    of a used-up limit.

    None for absent, negative or invalid values; 0 means immediately. Header names are in lower
    case.
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
    """Return the rate limits in OpenAI's or Mistral's headers; None if there are none."""
    told = [
        [value for name in names if (value := _number(headers.get(name))) is not None]
        for names in _RATE_LIMITS
    ]
    return (
        RateLimitStatus(*(int(values[0]) if values else None for values in told))
        if any(told)
        else None
    )


def duration(text: str) -> float | None:
    """Return the seconds in a text such as `1.2s`, `6m0s` or `500ms`, at most a day; None for other
    texts."""
    parts = _DURATION.findall(text)
    if not parts or "".join(n + unit for n, unit in parts) != text:
        return None
    seconds = sum(float(n) * _SECONDS[unit] for n, unit in parts)
    return min(seconds, MAX_RETRY_AFTER) if seconds < float("inf") else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(text: str, now: float) -> float | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp() - now
    return seconds if seconds >= 0 else None


CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 600.0
"""Seconds between two bytes. The executor sets the deadline for a whole attempt."""


def header_names(variable: str) -> list[str]:
    """Return the names of the headers that an SDK reads from an environment variable, one header
    per line."""
    lines = os.environ.get(variable, "").split("\n")
    return [line.partition(":")[0].strip() for line in lines if ":" in line]


def check_endpoint(url: str, judge: str) -> str:
    """Return the base URL without a trailing slash.

    Raises UsageError unless it is an http(s) URL without credentials and query. An http:// endpoint
    behind a proxy is also refused, because the proxy would see the key.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"the endpoint of judge {masked(judge)!r} carries credentials or a query; put keys in"
            " the environment, and parameters of the address under `query` in a judge file"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"endpoint {url!r} of judge {judge!r} is not an http:// or https:// address; write it"
            f" whole, as in http://{url.rpartition('//')[2]}"
        )
    if parts.scheme == "http" and not _skips_proxy(parts.hostname):
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            if os.environ.get(variable):
                raise UsageError(
                    f"{variable} is set and the endpoint {url!r} is not https, so the proxy would"
                    f" see your key. Add {parts.hostname} to NO_PROXY or use https"
                )
    return url.rstrip("/")


def _skips_proxy(host: str) -> bool:
    if is_loopback(host):
        return True
    exempt = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
    names = [name.strip().lstrip(".") for name in exempt if name.strip()]
    return any(name in ("*", host) or host.endswith("." + name) for name in names)


@asynccontextmanager
async def client(endpoint: str, key: SecretStr) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client for the duration of the block, whose logs do not show the key.

    Every response is read whole and passed to `record_response` before the connection is released,
    which may wait.
    """
    import httpx2

    # An http:// address never goes through a proxy, which would see the key.
    secure = endpoint.startswith("https://")
    longest = MAX_REPLY_BYTES.get()

    class WholeResponses(httpx2.AsyncClient):
        """A client that reads and records every response before the SDK sees it."""

        async def send(
            self,
            request: httpx2.Request,
            *,
            stream: bool = False,
            **options: Any,
        ) -> httpx2.Response:
            """Send a request, and read the whole response unless it is streamed."""
            response = await super().send(request, stream=True, **options)
            if stream:
                return response
            try:
                whole = await _read(response, longest)
                record_response(whole)
            finally:
                await response.aclose()
            return whole

    with environment_errors():
        whole_responses = WholeResponses(
            timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
            # httpx2 opens 100 connections by default, and the calls beyond would wait in it until
            # their deadline.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
            follow_redirects=False,
            trust_env=secure,
            verify=secure,  # loading the trusted certificates takes 30 ms
        )
    with scrubbed_logs(key):
        async with whole_responses as http_client:
            yield http_client


@contextmanager
def environment_errors() -> Iterator[None]:
    """Translate errors in creating a client with the certificates and proxies of the
    environment."""
    import httpx2

    try:
        yield
    except OSError as error:
        bundle = os.environ.get("SSL_CERT_FILE")
        raise UsageError(
            f"SSL_CERT_FILE={bundle!r} cannot be read as certificates: {error.strerror}"
        ) from error
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        advice = "name an http:// proxy, or `pip install socksio` for a SOCKS proxy"
        raise UsageError(
            f"the proxy in HTTPS_PROXY or ALL_PROXY cannot be used; {advice}"
        ) from error


async def _read(response: httpx2.Response, longest: int) -> httpx2.Response:
    """Return the response with its whole body, uncompressed.

    A body that is too long raises CallError if the status is 200, else the error message replaces
    it.
    """
    import httpx2

    body = bytearray()
    headers = response.headers
    encoding = headers.get("content-encoding")
    try:
        async for part in cast(httpx2.AsyncByteStream, response.stream):
            _extend(body, part, longest)
        if encoding:
            if "," in encoding:  # intermediate results of decompression would have no limit
                message = f"the reply is packed several times: {encoding[:60]}"
                raise CallError(
                    "provider_error",
                    message,
                    status=200,
                    retryable=False,
                    possibly_paid=True,
                )
            packed = httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(bytes(body)))
            body = bytearray()
            for part in packed.iter_bytes():  # at most a megabyte each
                _extend(body, part, longest)
    except CallError as error:
        if response.status_code == 200:
            raise
        body = bytearray(error.message.encode())
    if encoding:
        headers = headers.copy()
        del headers["content-encoding"]
    return httpx2.Response(
        response.status_code,
        headers=headers,
        content=bytes(body),
        request=response.request,
    )


def _extend(body: bytearray, part: bytes, longest: int) -> None:
    body += part
    if len(body) > longest:
        message = (
            f"the reply is larger than {longest / 1e6:g} MB, the limit of max_reply_bytes; it was"
            " not read"
        )
        raise CallError("provider_error", message, status=200, retryable=False, possibly_paid=True)


def _error_in_reply(body: bytes, headers: Mapping[str, str], key: SecretStr) -> CallError | None:
    """Return the error that a gateway sent with status 200, by the status in its body; None if
    there is none."""
    try:
        reply = json.loads(body)
        record = reply.get("error") or reply["choices"][0]["error"]
        status = int(record["code"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    # OpenRouter sends errors of its providers with status 200 and their status as the code.
    if not 400 <= status < 600:
        return None
    body = json.dumps({"error": record}).encode()
    error = error_for(status, headers, body.decode("utf-8", "replace"), key)
    error.possibly_paid = True
    return error


_current: ContextVar[ResponseRecorder | None] = ContextVar("recorder", default=None)
"""The recorder of the current task's call."""


def record_response(response: httpx2.Response) -> None:
    """Pass a completely read response to the recorder of the current call."""
    if recorder := _current.get():
        recorder.receive(response)


def connection_error(error: BaseException, key: SecretStr) -> CallError:
    """Translate an error of the HTTP client: no response was received, or not completely."""
    import httpx2

    if isinstance(error, CallError):
        return error
    # A request that was sent may be charged although no reply came.
    sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    if isinstance(error, httpx2.TimeoutException):
        return CallError("timeout", "the server did not answer in time", possibly_paid=sent)
    reason = scrub(str(error) or type(error).__name__, key)
    if reason == "All connection attempts failed":  # httpx2 does not say why
        reason = "nothing answers there"
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        advice = (
            "set SSL_CERT_FILE to a file with the certificates of your company or server"
            " (docs/reference/judge-files.md)"
        )
        return CallError("judge_stopped", f"no connection: {reason}. {advice}", fatal=True)
    return CallError("provider_error", f"no connection: {reason}", possibly_paid=sent)


def sdk_settings(
    judge: Judge,
    key: Secrets,
    http: httpx2.AsyncClient,
    headers: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the settings of a client of the SDK `openai` or `anthropic`.

    Args:
        judge: The resolved judge.
        key: Its key, headers and query.
        http: The HTTP client.
        headers: The headers of every request; `Omit` for headers that the SDK would add but the
            server must not see.
    """
    return {
        "api_key": key.get_secret_value(),
        "base_url": judge.endpoint,
        "max_retries": 0,
        "http_client": http,
        "timeout": http.timeout,
        "default_headers": headers,
        "default_query": key.query or None,
    }


def _package(sdk: object) -> Any:
    """Return the package of an SDK client, which has its error classes."""
    return sys.modules[type(sdk).__module__.partition(".")[0]]


@contextmanager
def explained(sdk: Any, key: SecretStr) -> Iterator[None]:
    """Translate errors of the SDK `openai` or `anthropic` and of the HTTP client, and remove the
    key."""
    import httpx2

    package = _package(sdk)
    try:
        yield
    except package.APIStatusError as error:
        raise error_for(
            error.status_code,
            error.response.headers,
            error.response.text,
            key,
        ) from None
    except package.APIConnectionError as error:
        raise connection_error(error.__cause__ or error, key) from None
    except httpx2.RequestError as error:
        raise connection_error(error, key) from None


class ResponseRecorder:
    """Records the response to one call."""

    def __init__(
        self,
        key: SecretStr,
        keep: Keep,
        as_chat: Callable[[bytes], bytes] = bytes,
    ) -> None:
        """`as_chat` converts a reply of another format to the chat-completions format."""
        self._key = key
        self._keep = keep
        self._as_chat = as_chat
        self._started = time.perf_counter()
        self._completion: Completion | None = None
        self._error: CallError | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Record the responses of calls made within the block."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def open_for(self, sdk: Any) -> Iterator[None]:
        """Record the response of a call of the SDK `openai` or `anthropic`, and ignore its errors
        if there is one."""
        package = _package(sdk)
        with self.open():
            try:
                yield
            except package.APIConnectionError as error:
                self.abort(error.__cause__ or error)
            except package.APIStatusError:
                pass  # the recorder holds the server's response

    def receive(self, response: httpx2.Response) -> None:
        """Keep the reply or the server's error."""
        headers = dict(response.headers.items())  # httpx2 searches all headers at each lookup
        if response.status_code != 200:
            self._error = error_for(response.status_code, headers, response.text, self._key)
            return
        latency = time.perf_counter() - self._started
        try:
            body = self._as_chat(scrub_body(response.content, self._key))
            self._completion = read_chat(body, latency=latency, rate_limits=rate_limits(headers))
        except CallError as error:
            self._error = _error_in_reply(response.content, headers, self._key) or error
        else:
            self._keep(self._completion)

    def abort(self, error: BaseException) -> None:
        """Record an error of the HTTP client; it is ignored once a response was received."""
        if not (self._completion or self._error):
            self._error = connection_error(error, self._key)

    def completion(self) -> Completion:
        """Return the reply. Raises CallError if there is none."""
        if self._completion:
            return self._completion
        raise self._error or CallError(
            "provider_error", "the server did not answer", possibly_paid=True
        )
