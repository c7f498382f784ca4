"""One call over HTTP: the reply is taken in the step that read its last byte, whatever an SDK then makes of it.

SDKs tidy up connections, validate and hop through threads between reading a body and handing it over, and they lose
parts of it or raise. A process that dies there has lost a paid reply, so replies are taken underneath them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from claimeval.backends import Keep
from claimeval.backends.http_errors import allowance, error_for
from claimeval.backends.keys import scrub, scrub_body
from claimeval.calls import CallError, Completion
from claimeval.wire import read_chat

if TYPE_CHECKING:
    import httpx2
    from pydantic import SecretStr

_current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The exchange that the current task's call belongs to."""


def deliver(response: httpx2.Response) -> None:
    """Hands a response that was read whole to the call that asked for it."""
    if exchange := _current.get():
        exchange.receive(response)


class Exchange:
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
            self._completion = read_chat(body, latency=latency, allowance=allowance(headers))
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
