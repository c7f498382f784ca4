"""The server: OpenAI's chat completions API at /openai/v1, and Mistral's at /mistral/v1.

It validates requests as strictly as the providers, answers with a judge, and logs every request
before it answers. It uses only the standard library and no task per request, for several thousand
requests per second and core.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.loopback.batch.endpoints import Batches
from benchmarks.loopback.checks import json_of, refuse
from benchmarks.loopback.connection import Connection
from benchmarks.loopback.dialects import DIALECTS, Dialect, count_tokens
from benchmarks.loopback.events import EventLog
from benchmarks.loopback.faults import Faults, Progress
from benchmarks.loopback.judge import Judge, load, text_of
from benchmarks.loopback.limits import Limiter
from benchmarks.loopback.options import Options
from benchmarks.loopback.sabotage import KINDS, Scene
from benchmarks.loopback.wire import COMPLETE, NO_STATUS, Answer, Request, encode

FLUSH = "/loopback/flush"
"""A path that is not logged. When it is answered, all events of finished exchanges are in the
log."""
MODELS = "/models"
"""The end of another such path: the server lists no models."""
UNLOGGED = -1


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with its number in the log."""

    number: int
    request: Request
    body: Any
    """The JSON value of its body; None if it is not JSON."""
    sha256: str

    @property
    def model(self) -> str | None:
        """The requested model, if any."""
        model = self.body.get("model") if isinstance(self.body, dict) else None
        return model if isinstance(model, str) else None


class Loopback:
    """A server. ``judge`` and ``faults`` can be replaced while it runs."""

    def __init__(self, options: Options, judge: Judge | None = None) -> None:
        self.options = options
        self.judge = judge or load(options.judge, options.judge_args)
        self._log = EventLog(options.log_path)
        self._faults = options.faults
        self._progress = Progress()
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._requests = self._log.requests
        self._batches = Batches(
            options.state_path, options.batching, lambda body: self.judge(body), self._log
        )
        self._open: set[Connection] = set()

    @property
    def faults(self) -> Faults:
        """The schedule of faults. A new one starts with the next request."""
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._faults = faults
        self._progress = Progress()

    async def run(self, stop: asyncio.Event, listening: Callable[[int], None]) -> None:
        """Serve on 127.0.0.1 until ``stop`` is set. ``listening`` is called with the port."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            self._connection, "127.0.0.1", self.options.port, backlog=1024
        )
        try:
            listening(server.sockets[0].getsockname()[1])
            await stop.wait()
        finally:
            server.close()
            for connection in list(self._open):
                connection.abort()
            await server.wait_closed()
            await asyncio.sleep(
                0
            )  # connection_lost of aborted connections runs in the next iteration of the loop
            self._log.close()

    def _connection(self) -> Connection:
        return Connection(self._respond, self._ended, self.options.drip, self._open)

    def _respond(self, request: Request) -> tuple[int, Answer]:
        if request.path == FLUSH:
            return UNLOGGED, Answer(200, b"{}")
        if request.path.endswith(MODELS):
            return UNLOGGED, Answer(404, b"{}")
        number = self._requests
        self._requests += 1
        asked = Asked(number, request, json_of(request), hashlib.sha256(request.body).hexdigest())
        self._log.write(
            {
                "event": "received",
                "time": time.time(),
                "n": number,
                "path": request.path.partition("?")[0],
                "sha256": asked.sha256,
                "model": asked.model,
                "headers": list(request.headers),
            }
        )
        return number, self._answer(asked)

    def _ended(self, number: int, answer: Answer, fully_sent: bool) -> None:
        if number == UNLOGGED:
            return
        self._log.write(
            {
                "event": "sent",
                "time": time.time(),
                "n": number,
                "status": None if answer.manner in NO_STATUS else answer.status,
                "fault": answer.fault,
                "paid": answer.paid,
                "tokens": answer.tokens,
                "fully_sent": fully_sent and answer.manner in COMPLETE,
            }
        )

    def _answer(self, asked: Asked) -> Answer:
        request = asked.request
        _, prefix, *rest = request.path.partition("?")[0].split("/", 2)
        dialect = DIALECTS.get(prefix)
        if dialect is None:
            return Answer(404, b'{"detail":"Not Found"}')
        refused = self._refuse_key(dialect, request)
        if refused is not None:
            return refused
        if (request.method, rest) == ("POST", ["v1/chat/completions"]):
            return refuse(dialect, request, asked.body) or self._complete(dialect, asked)
        below = "".join(rest).removeprefix("v1/")
        about_batches = self._batches.answer(dialect, request, below, asked.body)
        if about_batches is not None:
            return about_batches
        return dialect.complain(404, f"Invalid URL ({request.method} {request.path})")

    def _refuse_key(self, dialect: Dialect, request: Request) -> Answer | None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme == "Bearer" and key and self.options.key in (None, key):
            return None
        if dialect.name == "mistral":
            return Answer(401, b'{"detail":"Unauthorized"}')
        masked = f"{key[:3]}***{key[-4:]}" if len(key) > 12 else "***"
        return dialect.complain(
            401, f"Incorrect API key provided: {masked}.", code="invalid_api_key"
        )

    def _complete(self, dialect: Dialect, asked: Asked) -> Answer:
        """Return the answer to a valid request."""
        limiter = self._limiter(dialect, asked)
        prompt_tokens = count_tokens(text_of(asked.body))
        refused = limiter.refuse(dialect, prompt_tokens, time.monotonic()) if limiter else None
        if refused is not None:
            return refused
        tokens = 0

        def generate() -> dict[str, Any]:
            nonlocal tokens
            completion = dialect.complete(
                self.judge(asked.body), asked.body, asked.number, int(time.time())
            )
            total = completion["usage"]["total_tokens"]
            tokens = total if isinstance(total, int) else prompt_tokens
            return completion

        kind = self._progress.next(self._faults, asked.sha256)
        answer = (
            self._spoil(kind, dialect, asked, generate) if kind else Answer(200, encode(generate()))
        )
        headers = {"x-request-id": f"req_{asked.number:012d}"}
        if limiter:
            limiter.charge(tokens - prompt_tokens if tokens else 0, time.monotonic())
            headers |= limiter.headers(dialect, tokens, time.monotonic())
        paid = kind is None or KINDS[kind].paid
        return dataclasses.replace(
            answer,
            headers={**headers, **answer.headers},
            fault=kind,
            paid=paid,
            tokens=tokens,
            delay=self.options.latency.of(asked.number) if paid else 0.0,
        )

    def _spoil(
        self, kind: str, dialect: Dialect, asked: Asked, generate: Callable[[], dict[str, Any]]
    ) -> Answer:
        request = asked.request
        key = request.headers["authorization"].removeprefix("Bearer ")
        model = asked.body["model"]
        redirect_to = self.options.redirect_to
        return KINDS[kind].make(
            Scene(dialect, key, model, request.path, redirect_to, time.time(), generate)
        )

    def _limiter(self, dialect: Dialect, asked: Asked) -> Limiter | None:
        if self.options.limits is None:
            return None
        return self._limiters.setdefault(
            (dialect.name, asked.body["model"]), Limiter(self.options.limits)
        )
