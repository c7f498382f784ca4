"""`claimeval serve`: the shared asker over HTTP.

It refuses requests that a page of another site could send (any `Origin`, another `Host`), posts without its token, and
bodies over 16 MB. It speaks plain HTTP; use a proxy for TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from claimeval.distributed.asker import SharedAsker
from claimeval.execution.runner import GRACE, TERMINATING
from claimeval.execution.wire import MOST_BYTES, TOKEN_VARIABLE, read_post, write_message
from claimeval.providers.keys import is_this_machine, read_key
from claimeval.types.errors import AskerError, UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

SHORTEST_TOKEN = 16
"""Minimum length of a token in characters."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Address(NamedTuple):
    """The address of an asker, and the host names that clients use."""

    host: str
    port: int
    names: tuple[str, ...]
    """Host names in lower case, without port."""

    @classmethod
    def parse(cls, listen: str, names: Sequence[str] = ()) -> Address:
        """Parse `HOST:PORT`. Raises UsageError for another form, or for all addresses without names."""
        host, _, port = listen.rpartition(":")
        bare = host.strip("[]")
        if not bare or not port.isdigit() or int(port) > 65535:
            raise UsageError(f"listen {listen!r} is not of the form HOST:PORT, as in 127.0.0.1:8812")
        if bare in ("0.0.0.0", "::") and not names:
            raise UsageError(
                f"listen {listen!r} is every address of this machine; name the one that clients use, or add --name for "
                "each name by which they reach it"
            )
        hosts = LOOPBACK if bare in LOOPBACK else (bare,)
        return cls(bare, int(port), tuple(name.lower() for name in (*hosts, *names)))

    @property
    def is_loopback(self) -> bool:
        """Whether it is reached from this machine only."""
        return is_this_machine(f"http://[{self.host}]" if ":" in self.host else f"http://{self.host}")


def read_token(address: Address) -> str | None:
    """Return the token in the environment; None if there is none, which is allowed on a loopback address only."""
    if TOKEN_VARIABLE not in os.environ:
        if address.is_loopback:
            return None
        raise UsageError(
            f"{address.host} is reached from other machines: put a token into the environment variable "
            f"{TOKEN_VARIABLE}, here and where clients run, for example of `openssl rand -hex 16`"
        )
    token = read_key(TOKEN_VARIABLE).get_secret_value()
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(
            f"the token in {TOKEN_VARIABLE} is shorter than {SHORTEST_TOKEN} characters; it can be guessed"
        )
    return token


def application(asker: SharedAsker, token: str | None, names: Collection[str]) -> ASGIApp:
    """Return the ASGI application of an open asker.

    `token` is required of clients unless it is None; `names` are the allowed host names.
    """

    async def ask(request: Request) -> Response:
        """Answer a post, line by line."""
        body = await _body(request)
        post = read_post(body)
        requests = asker.begin(post)

        async def lines() -> AsyncIterator[bytes]:
            """Yield a line for each answer, and an empty line as a heartbeat."""
            async for messages in asker.answer(post, requests):
                yield b"".join(map(write_message, messages)) or b"\n"

        return StreamingResponse(lines(), media_type="application/jsonl")

    async def status(request: Request) -> Response:
        """Return the status of the asker."""
        return _json(asker.status._asdict(), 200)

    def refused(request: Request, error: Exception) -> Response:
        """Return the reason of a refusal."""
        assert isinstance(error, AskerError)
        return _json({"error": str(error)}, error.status or 500)

    app = Starlette(
        routes=[Route("/v1/ask", ask, methods=["POST"]), Route("/v1/status", status, methods=["GET"])],
        exception_handlers={AskerError: refused},
    )
    return _Door(app, token, {name.lower() for name in names})


def _json(content: object, status: int) -> Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    text = json.dumps(content, indent=1) + "\n"
    return Response(text, status, headers, media_type="application/json")


async def _body(request: Request) -> bytes:
    too_long = AskerError(f"a post has at most {MOST_BYTES:,} bytes", 413)
    if int(request.headers.get("content-length") or 0) > MOST_BYTES:
        raise too_long
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise too_long
    return bytes(body)


class _Door:
    """Refuses requests of other sites' pages, to other host names, or without the token, before reading the body."""

    def __init__(self, app: ASGIApp, token: str | None, names: set[str]) -> None:
        self._app = app
        self._token = None if token is None else f"Bearer {token}".encode()
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] == "http" and (refusal := self._refusal(dict(scope["headers"]))):
            status, reason = refusal
            await _json({"error": reason}, status)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name not in self._names:
            return 403, f"this server is not named {name[:80]!r}; add the name with `claimeval serve --name`"
        if b"origin" in headers or headers.get(b"sec-fetch-site", b"none") != b"none":
            return 403, "pages may not ask here"
        if self._token and not hmac.compare_digest(headers.get(b"authorization", b""), self._token):
            return 401, f"the token in {TOKEN_VARIABLE} is missing or differs from the server's"
        return None


class AskerServer(uvicorn.Server):
    """Serves an open asker until a signal or `stop`.

    It then waits for the replies in flight, stores and returns them, and tells clients that it ends. A second signal
    ends it at once.
    """

    def __init__(self, asker: SharedAsker, token: str | None, address: Address) -> None:
        """Bind the address. Raises UsageError if that fails."""
        self._asker = asker
        self._stopping: asyncio.Task[None] | None = None
        self.listening = _bound(address)
        self.port: int = self.listening.getsockname()[1]
        app = application(asker, token, address.names)
        settings = uvicorn.Config(
            app, http="h11", ws="none", loop="asyncio", lifespan="off", access_log=False, log_config=None,
            log_level="error", server_header=False, timeout_graceful_shutdown=2,
        )  # fmt: skip
        super().__init__(settings)

    async def serve_asker(self) -> None:
        """Serve until the end. Raises StoreError if replies can no longer be stored."""
        self._loop = asyncio.get_running_loop()
        watching = self._loop.create_task(self._end_with_the_asker())
        try:
            await self.serve(sockets=[self.listening])
        finally:
            watching.cancel()
            self.listening.close()
        if self._asker.failure:
            raise self._asker.failure

    async def _end_with_the_asker(self) -> None:
        await self._asker.over.wait()
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on SIGINT, SIGTERM and SIGHUP. Does nothing outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATING)}
        handlers = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}
        for number in handlers:
            self._loop.add_signal_handler(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in handlers.items():
                self._loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _on_signal(self) -> None:
        if self._stopping:
            self.should_exit = self.force_exit = True
        else:
            self._stopping = self._loop.create_task(self._asker.drain(GRACE))

    def stop(self) -> None:
        """Stop the server, from any thread; does nothing if it has ended."""
        with contextlib.suppress(RuntimeError):  # its loop is closed
            self._loop.call_soon_threadsafe(self._on_signal)


def _bound(address: Address) -> socket.socket:
    try:
        family, *_, bound = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(bound)
        listening.listen()  # from now on, clients wait instead of being refused
    except OSError as error:
        problem = error.strerror or error
        raise UsageError(f"{address.host}:{address.port} cannot be used: {problem}; give another --listen") from error
    return listening
