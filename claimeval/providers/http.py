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
from claimeval.types.refusals import STREAM, refused_parameters
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
_FATAL_WORDS = (
    (
        re.compile(
            r"invalid model name|model.{0,80}(?:does not exist|not found)|unknown model", re.I
        ),
        "model_not_found",
    ),
    (
        re.compile(
            r"AuthenticationError|No connected db|(?:incorrect|invalid) api[ _-]?key|api key not"
            r" valid",
            re.I,
        ),
        "invalid_api_key",
    ),
    (re.compile(r"credit balance is too low", re.I), "insufficient_quota"),
)
"""Messages of gateways with status 400 or 422 and without a code."""
_TOO_LONG = re.compile(
    r"maximum (?:context|prompt|model) length|context["
    r" _](?:length|window|limit|size)|ContextWindowExceeded|"
    r"(?:prompt|input|context|request) is too long|too long to fit|request too long|too many"
    r" tokens|input token count|"
    r"model token limit|inputs` tokens \+",
    re.I,
)
"""Messages about a prompt that exceeds the context window: OpenAI, Anthropic, Mistral, Gemini,
vLLM, llama.cpp, Ollama, LM Studio, TGI, Bedrock, xAI, Moonshot, and gateways."""
_TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error"}
_WINDOWS = (
    re.compile(r"> *(\d{3,8})\b"),
    re.compile(r'"n_ctx": *(\d{3,8})\b'),
    re.compile(
        r"(?:context|model|prompt)[ _](?:length|window|size|limit)(?: is| of(?: only)?|:)?"
        r" *\(?(\d{3,8})\b",
        re.I,
    ),
    re.compile(r"(\d{3,8}) maximum context length", re.I),
    re.compile(r"(?:tokens allowed|limit of|token limit:?|must be <=) *\(?(\d{3,8})\b", re.I),
)
"""The context window in such a message: "210000 tokens > 200000 maximum", llama.cpp's field, and in
words."""
_FILTERED = re.compile(
    r"content filtering policy|content management policy|ContentPolicyViolation|input was flagged",
    re.I,
)
"""Messages about a prompt that a filter refused: Anthropic, Azure and LiteLLM (400), OpenRouter
(403)."""
_NOT_VERIFIED = re.compile(r"organi[sz]ation must be verified", re.I)
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
}
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
    code, kind, words, parameter = _details(body)
    reason = scrub(words, key)[:500]
    message = f"status {status}: {reason}"
    if request_id := headers.get("request-id"):
        message += f" (request {scrub(request_id, key)[:80]})"
    if _is_too_long(status, code, kind, words):
        return CallError(
            "too_long", message, status=status, retryable=False, context_tokens=stated_window(body)
        )
    if 300 <= status < 400:
        return CallError("judge_stopped", _REDIRECT.format(status), status=status, fatal=True)
    if _is_filtered(status, code, kind, words):
        return CallError("filtered", message, status=status, retryable=False)
    if {code, kind} & _ASKED_AGAIN:
        return CallError("provider_error", message, status=status, possibly_paid=True)
    if _NOT_VERIFIED.search(words):
        return _fatal(status, message, "verify the organization, or name another model")
    if status in (404, 500, 501):
        refused = refused_parameters(words, parameter, strict=status == 500)
        if refused:
            return _refused(status, message, refused)
    if advice := _FATAL_CODES.get(code) or _FATAL_CODES.get(kind) or _FATAL_STATUS.get(status):
        return _fatal(status, message, rejection(key) if advice == _NOT_ACCEPTED else advice)
    if status in (400, 422):
        refusal = _refusal(status, message, code, kind, words, parameter)
        if refusal:
            return refusal
    if status == 413 or reason.lower().startswith("request too large"):
        return CallError("too_long", message, status=status, retryable=False)
    if status in _RETRYABLE_STATUS or status >= 500:
        return _temporary(status, headers, message, body)
    return CallError("provider_error", message, status=status, retryable=False)


def _is_too_long(status: int, code: str, kind: str, words: str) -> bool:
    if not _TOO_LONG_CODES.isdisjoint((code, kind)):
        return True
    # "max_tokens is too large" limits the reply, and says nothing about the window
    about_window = _TOO_LONG.search(words) and not _LIMIT_IS_NO_WINDOW.match(words.lstrip("`'"))
    return status in (400, 413, 422) and bool(about_window)


def _is_filtered(status: int, code: str, kind: str, words: str) -> bool:
    if "content_filter" in (code, kind):
        return True
    return status in (400, 403) and _FILTERED.search(words) is not None


def _temporary(status: int, headers: Mapping[str, str], message: str, body: str) -> CallError:
    """Return the error of a request that may succeed later, or of an account without credit."""
    limits = rate_limits(headers)
    if status == 429 and limits and limits.requests == 0:
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
    stated = next((match for pattern in _WINDOWS if (match := pattern.search(words))), None)
    return int(stated[1]) if stated else None


def _fatal(status: int, message: str, advice: str) -> CallError:
    return CallError("judge_stopped", f"{message.rstrip('.')}; {advice}", status=status, fatal=True)


def _refusal(
    status: int, message: str, code: str, kind: str, words: str, parameter: str
) -> CallError | None:
    """Return the error for a 400 or 422 by its code or message; None if it is unknown."""
    for pattern, reason in _FATAL_WORDS:
        if pattern.search(words):
            return _fatal(status, message, _FATAL_CODES[reason])
    by_code = bool({code, kind} & {"unsupported_parameter", "unsupported_value"})
    if refused := refused_parameters(words, parameter):
        return _refused(status, message, refused)
    if by_code or _UNKNOWN_FIELD.search(words):
        return _fatal(status, message, _BAD_SETTING)
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
    )


def _details(body: str) -> tuple[str, str, str, str]:
    """Return code, type, message and parameter of an error body in the form of any provider, or the
    text itself."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return "", "", " ".join(body.split())[:500], ""
    if isinstance(content, list) and content and isinstance(content[0], dict):  # Gemini's
        content = content[0]
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return "", "", str(error), ""
    message = error.get("message") or error.get("detail") or body
    return (
        str(error.get("code") or ""),
        str(error.get("type") or ""),
        str(message),
        str(error.get("param") or ""),
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

    secure = endpoint.startswith("https://")
    longest = MAX_REPLY_BYTES.get()

    class WholeResponses(httpx2.AsyncClient):
        """A client that reads and records every response before the SDK sees it."""

        async def send(
            self, request: httpx2.Request, *, stream: bool = False, **options: Any
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
                    "provider_error", message, status=200, retryable=False, possibly_paid=True
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
        response.status_code, headers=headers, content=bytes(body), request=response.request
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
    judge: Judge, key: Secrets, http: httpx2.AsyncClient, headers: Mapping[str, Any]
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
            error.status_code, error.response.headers, error.response.text, key
        ) from None
    except package.APIConnectionError as error:
        raise connection_error(error.__cause__ or error, key) from None
    except httpx2.RequestError as error:
        raise connection_error(error, key) from None


class ResponseRecorder:
    """Records the response to one call."""

    def __init__(
        self, key: SecretStr, keep: Keep, as_chat: Callable[[bytes], bytes] = bytes
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
