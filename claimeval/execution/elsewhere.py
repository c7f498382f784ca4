"""Executor that sends requests to a remote asker (`claimeval serve`), which several runs share.

The asker has the reply cache, the keys, the pace and the budget. Judges on this machine are never asked remotely.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from claimeval.execution import Executor
from claimeval.execution.budget import cost
from claimeval.execution.cached import not_in_cache
from claimeval.execution.wire import MOST_BYTES, TOKEN_VARIABLE, Answer, Asked, read_line, write_post
from claimeval.providers.http import environment_errors
from claimeval.providers.prices import price_of
from claimeval.types.errors import AskerError, UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Failure, Judge, Learned, Outcome, Request

if TYPE_CHECKING:
    import httpx2

GATHER_TIME = 0.01
"""Seconds for which a request waits for others to share its post."""
MOST_REQUESTS = 64
"""Maximum number of requests in one post."""
LONG_POST = 1_000_000
"""Characters of prompts in a post after which no further request is added."""
CONNECT_TIMEOUT = 10.0
SILENCE = 60.0
"""Seconds without a byte after which an asker counts as unreachable. It sends an empty line every `HEARTBEAT`."""
HEARTBEAT = 15.0
RETRY_TIME = 3.0
"""Seconds for which a post is sent again to an asker that does not answer, which may be restarting."""
NO_TLS = 495
"""The status for failed TLS, as in nginx; such a post is not sent again."""
RETRY_INTERVAL = 0.2
"""Seconds between two attempts."""


class Transport(Protocol):
    """Connection to an asker."""

    @property
    def address(self) -> str:
        """The asker's address in messages."""

    def send(self, post: bytes) -> AsyncGenerator[bytes]:
        """Send a post and yield the lines of the answer; raises AskerError if it is refused or the answer breaks off.

        An empty line is a heartbeat.
        """


TRANSPORT: ContextVar[Transport | None] = ContextVar("transport", default=None)
"""Connection to the asker in a process that an engine such as Ray started; None to connect to `RunOptions.via`."""


def asker_url(via: str) -> str:
    """Return the URL of an asker given as `HOST:PORT`, or as the URL of a proxy in front of it."""
    url = via if "://" in via else f"http://{via}"
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port or "://" in via)
    except ValueError:
        is_valid = False
    if not is_valid or parts.username or parts.query or parts.path not in ("", "/"):
        raise UsageError(f"via {via!r} is not of the form HOST:PORT, as `claimeval serve` prints it, or https://HOST")
    return f"{parts.scheme}://{parts.netloc}"


class HttpTransport:
    """Connection to `claimeval serve`."""

    def __init__(self, via: str) -> None:
        self.url = asker_url(via)
        self.address = via
        self._client: httpx2.AsyncClient

    async def __aenter__(self) -> Self:
        import httpx2

        token = os.environ.get(TOKEN_VARIABLE)
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise UsageError(f"the environment variable {TOKEN_VARIABLE} contains a character that tokens cannot have")
        secure = self.url.startswith("https://")
        with environment_errors():
            self._client = httpx2.AsyncClient(
                base_url=self.url,
                headers={"Authorization": f"Bearer {token}"} if token else {},
                timeout=httpx2.Timeout(SILENCE, connect=CONNECT_TIMEOUT),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
                trust_env=secure,
                verify=secure,
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def send(self, post: bytes) -> AsyncGenerator[bytes]:
        """Send a post and yield the lines of the answer, as in `Transport`."""
        import httpx2

        kind = {"Content-Type": "application/json"}
        try:
            async with self._client.stream("POST", "/v1/ask", content=post, headers=kind) as response:
                if response.status_code != 200:
                    body = await response.aread()
                    raise AskerError(_refusal(body, response.status_code), response.status_code)
                yield b""
                rest = b""
                async for part in response.aiter_raw():
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        yield line
        except httpx2.TransportError as error:
            problem = str(error) or type(error).__name__
            if "[SSL" in problem:
                advice = (
                    "`claimeval serve` speaks plain HTTP: leave out https://. If a proxy with TLS is in front of it, "
                    "set SSL_CERT_FILE to a file with its certificates"
                )
                raise AskerError(f"{problem}. {advice}", NO_TLS) from error
            raise AskerError(problem) from error


def _refusal(body: bytes, status: int) -> str:
    import json

    try:
        return str(json.loads(body)["error"])
    except (ValueError, TypeError, KeyError):
        return f"status {status}; is this the address that `claimeval serve` printed?"


class _Waiting(NamedTuple):
    asked: Asked
    future: asyncio.Future[Outcome]


class ElsewhereExecutor:
    """Executor that sends requests to one remote asker, several requests per post."""

    def __init__(self, judges: Sequence[Judge], options: RunOptions, progress: Progress) -> None:
        self._judges = tuple(judges)
        self._via = options.via or ""
        self._offline = options.offline
        self._progress = progress
        self._prices = {judge.name: price_of(judge, options.prices) for judge in judges}
        self._spent: float | None = 0.0 if all(self._prices.values()) else None
        self._client = uuid.uuid4().hex
        self._queue: list[_Waiting] = []
        self._posting: asyncio.TimerHandle | None = None
        self._posts: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()
        self._transport: Transport
        self.stopped: dict[str, str] = {}
        """The judges that have stopped, each with the reason."""
        self.exhausted: str | None = None
        """Description of the asker's limit that was reached."""
        self.lost: str | None = None
        """Why the asker cannot be reached any more."""
        self.learned: Mapping[str, Learned] = MappingProxyType({})
        """What the asker has learned about each judge's server, by judge name."""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            transport = TRANSPORT.get()
            self._transport = (
                await stack.enter_async_context(HttpTransport(self._via)) if transport is None else transport
            )
            try:
                await self._deliver([])
            except AskerError as error:
                if error.status is not None and error.status < 500:
                    raise UsageError(f"the server {self._transport.address}: {error}") from error
                self._lose(error)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._posting:
            self._posting.cancel()
        for post in self._posts:
            post.cancel()
        await asyncio.gather(*self._posts, return_exceptions=True)
        await self._stack.aclose()

    async def ask(self, request: Request) -> Outcome:
        """Return the asker's outcome, or a failure if the judge has stopped or the asker is lost."""
        return await self._ask(Asked(request, self._offline))

    @property
    def stored(self) -> Executor:
        """Return an executor that answers only from the asker's reply cache."""
        return _Stored(self)

    def stop(self, judge: str, reason: str) -> None:
        """Send nothing more to a judge; the first reason is kept."""
        self.stopped.setdefault(judge, reason)

    async def _ask(self, asked: Asked) -> Outcome:
        request = asked.request
        if self.lost or self.exhausted:
            return Failure(reason="over_budget" if self.exhausted else "provider_error", message=self._ended)
        if request.judge.name in self.stopped:
            return Failure(reason="judge_stopped", message=self.stopped[request.judge.name])
        waiting = _Waiting(asked, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if len(self._queue) >= MOST_REQUESTS:
            self._post()
        elif self._posting is None:
            self._posting = asyncio.get_running_loop().call_later(GATHER_TIME, self._post)
        outcome = await waiting.future
        return self._recorded(asked, outcome)

    @property
    def _ended(self) -> str:
        return self.exhausted or self.lost or ""

    def _recorded(self, asked: Asked, outcome: Outcome) -> Outcome:
        """Record the progress, and whether the judge or the run has stopped."""
        request = asked.request
        name = request.judge.name
        if isinstance(outcome, Failure):
            if outcome.reason == "not_in_cache":
                return not_in_cache(request)
            if outcome.reason == "judge_stopped":
                self.stop(name, outcome.message)
            elif outcome.reason == "over_budget" and not self.exhausted:
                at_server = isinstance(self._transport, HttpTransport)
                limit = f", the limit of the asker {self._transport.address}" if at_server else ""
                self.exhausted = outcome.message + limit
        elif outcome.cached:
            if not asked.stored:
                self._progress.answered_from_cache()
        else:
            if self._spent is not None and (price := self._prices[name]):
                self._spent += cost(outcome, price) or 0.0
            self._progress.sent()
            self._progress.ended(outcome, self._spent)
        return outcome

    def _post(self) -> None:
        """Send the waiting requests."""
        if self._posting:
            self._posting.cancel()
            self._posting = None
        while self._queue:
            characters, count = 0, 0
            for asked, _ in self._queue[:MOST_REQUESTS]:
                characters += sum(len(message.content) for message in asked.request.messages)
                if count and characters > LONG_POST:
                    break
                count += 1
            batch, self._queue = self._queue[:count], self._queue[count:]
            post = asyncio.create_task(self._send(batch))
            self._posts.add(post)
            post.add_done_callback(self._posts.discard)

    async def _send(self, batch: list[_Waiting]) -> None:
        """Send a post, and set the outcome of every request."""
        try:
            await self._deliver(batch)
        except AskerError as error:
            if error.status == 413 and len(batch) == 1:
                _finish(batch[0], Failure(reason="too_long", message=f"the server refuses the request: {error}"))
            else:
                self._lose(error)
        for waiting in batch:
            _finish(waiting, Failure(reason="provider_error", message=self._ended))

    async def _deliver(self, batch: Iterable[_Waiting]) -> None:
        """Post the waiting requests until all have an outcome, again if the answer breaks off.

        An answer that breaks off after `RETRY_TIME` counts as cut by a proxy, so the asker is still reachable.
        """
        unreachable_since: float | None = None
        while True:
            last_line_at: float | None = None
            finished, remaining = False, [waiting for waiting in batch if not waiting.future.done()]
            post = write_post(self._client, self._judges, [waiting.asked for waiting in remaining])
            if len(post) > MOST_BYTES:
                raise AskerError(f"{len(post):,} bytes, and a post has at most {MOST_BYTES:,}", 413)
            try:
                async with aclosing(self._transport.send(post)) as lines:
                    async for line in lines:
                        last_line_at = time.monotonic()
                        message = read_line(line)
                        if isinstance(message, Answer):
                            unreachable_since = None
                            _finish(remaining[message.number], message.outcome)
                        elif message:
                            self.learned = {**self.learned, **message.learned}
                            if message.ended:
                                raise AskerError(message.ended, 503)
                            finished = True  # the rest is read too, so that the connection can be used again
                if finished:
                    return
                raise AskerError("the answer breaks off")
            except AskerError as error:
                now = time.monotonic()
                if unreachable_since is None or (last_line_at and now - last_line_at > RETRY_TIME):
                    unreachable_since = now
                if error.status is not None or now - unreachable_since > RETRY_TIME:
                    raise
            await asyncio.sleep(RETRY_INTERVAL)

    def _lose(self, error: AskerError) -> None:
        """Record that the asker cannot be reached any more; the first reason is kept."""
        if error.status is None:
            problem = f"does not answer ({error}); start it again, then run the same command to resume"
        else:
            problem = f"ended this run: {error}; run the same command to resume"
        self.lost = self.lost or f"the server {self._transport.address} {problem}"


def _finish(waiting: _Waiting, outcome: Outcome) -> None:
    """Set the outcome of a request unless it has one or was cancelled."""
    if not waiting.future.done():
        waiting.future.set_result(outcome)


class _Stored:
    def __init__(self, elsewhere: ElsewhereExecutor) -> None:
        self._elsewhere = elsewhere

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply; without one a failure."""
        return await self._elsewhere._ask(Asked(request, stored=True))


class ExecutorByJudge:
    """Executor that passes each request to the executor of its judge."""

    def __init__(self, executors: Mapping[str, Executor], others: Executor) -> None:
        """`executors` is by judge name; `others` is for all other judges."""
        self._executors = executors
        self._others = others

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the judge's executor."""
        return await self._executors.get(request.judge.name, self._others).ask(request)
