"""The HTTP client that SDK backends share: whole bodies, no redirects, no limit of its own, proxies only for https.

One call over HTTP: the reply is taken in the step that read its last byte, whatever an SDK then makes of it.

SDKs tidy up connections, validate and hop through threads between reading a body and handing it over, and they lose
parts of it or raise. A process that dies there has lost a paid reply, so replies are taken underneath them.
"""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from claimeval.providers import Keep
from claimeval.providers.http_errors import error_for, rate_limits
from claimeval.providers.keys import scrub, scrub_body, scrubbed_logs
from claimeval.types.chat_format import read_chat
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError, Completion

if TYPE_CHECKING:
    import httpx2
    from pydantic import SecretStr

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 600.0
"""Seconds between two bytes. The deadline for a whole attempt is the executor's, by the wall clock."""


def check_endpoint(url: str, given: str) -> str:
    """The base URL without a trailing slash; UsageError unless it is plain http(s) without credentials or query.

    An http:// endpoint that a proxy setting would route through a proxy is refused: the proxy would see the key.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"endpoint {url!r} of judge {given!r} is not an http:// or https:// address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"the endpoint of judge {given!r} carries credentials or a query; put keys in the environment")
    if parts.scheme == "http" and not _bypasses_proxy(parts.hostname):
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            if os.environ.get(variable):
                raise UsageError(
                    f"{variable} is set and the endpoint {url!r} is not https, so the proxy would see your key. "
                    f"Add {parts.hostname} to NO_PROXY or use https"
                )
    return url.rstrip("/")


def _bypasses_proxy(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        if ipaddress.ip_address(host).is_loopback:
            return True
    except ValueError:
        pass
    exempt = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
    names = [name.strip().lstrip(".") for name in exempt if name.strip()]
    return any(name == "*" or host == name or host.endswith("." + name) for name in names)


@asynccontextmanager
async def client(endpoint: str, key: SecretStr) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for one run, whose connections live as long as the block and whose logs do not show the key.

    Every response is read whole and handed to `record_response` before the connection is tidied up, which may wait.
    """
    import httpx2

    secure = endpoint.startswith("https://")

    class WholeResponses(httpx2.AsyncClient):
        async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
            response = await super().send(request, stream=True, **options)
            if stream:
                return response
            try:
                body = b"".join([part async for part in cast(httpx2.AsyncByteStream, response.stream)])
                whole = httpx2.Response(response.status_code, headers=response.headers, content=body, request=request)
                record_response(whole)
            finally:
                await response.aclose()
            return whole

    whole_responses = WholeResponses(
        timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        follow_redirects=False,
        trust_env=secure,
        verify=secure,  # loading the trusted certificates takes 30 ms
    )
    with scrubbed_logs(key):
        async with whole_responses as opened:
            yield opened


_current: ContextVar[ResponseRecorder | None] = ContextVar("exchange", default=None)
"""The exchange that the current task's call belongs to."""


def record_response(response: httpx2.Response) -> None:
    """Hands a response that was read whole to the call that asked for it."""
    if exchange := _current.get():
        exchange.receive(response)


class ResponseRecorder:
    """Collects what one call brings in."""

    def __init__(self, key: SecretStr, keep: Keep) -> None:
        self._key = key
        self._keep = keep
        self._started = time.perf_counter()
        self._completion: Completion | None = None
        self._error: CallError | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """The block in which the call is made."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def receive(self, response: httpx2.Response) -> None:
        """Keeps the reply, or what the server said instead of one."""
        headers = response.headers
        if response.status_code != 200:
            self._error = error_for(response.status_code, headers, response.text, self._key)
            return
        latency = time.perf_counter() - self._started
        try:
            body = scrub_body(response.content, self._key)
            self._completion = read_chat(body, latency=latency, rate_limits=rate_limits(headers))
        except CallError as error:
            self._error = error
        else:
            self._keep(self._completion)

    def break_off(self, error: BaseException) -> None:
        """Takes note of an error of the HTTP client; it counts for nothing once a response was received."""
        import httpx2

        if self._completion or self._error:
            return
        sent = not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout))
        if isinstance(error, httpx2.TimeoutException):
            self._error = CallError("timeout", "the server did not answer in time", possibly_paid=sent)
        else:
            said = scrub(str(error) or type(error).__name__, self._key)
            self._error = CallError("provider_error", f"no connection: {said}", possibly_paid=sent)

    def completion(self) -> Completion:
        """The reply; CallError when what came is none, or when nothing came."""
        if self._completion:
            return self._completion
        raise self._error or CallError("provider_error", "the server did not answer", possibly_paid=True)
