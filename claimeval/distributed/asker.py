"""The shared asker: sends the calls of many runs and machines, with one reply cache, one pace and one budget.

Clients reach it over HTTP (`server`) or as an actor of an engine. A call in flight continues if its client disconnects,
and equal requests are one call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import NamedTuple, Self

from claimeval import providers
from claimeval.execution.asker import Asker
from claimeval.execution.concurrently import start_soon
from claimeval.execution.elsewhere import HEARTBEAT
from claimeval.execution.wire import FORMAT, Answer, Asked, Ending, Post
from claimeval.types.errors import AskerError, StoreError, UsageError, visible
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Failure, Judge, Outcome

FORGOTTEN_AFTER = 3600.0
"""Seconds after its last post until a client is forgotten."""
GONE = "nobody waits for the reply any more"


class Status(NamedTuple):
    """Status of an asker, with counts since its start."""

    format: str
    judges: tuple[str, ...]
    """The judges as `provider:model@URL`."""
    clients: int
    """Clients that wait for an answer."""
    waiting: int
    """Requests without an answer."""
    in_flight: int
    calls: int
    """Calls, including retries."""
    replies: int
    tokens: int
    """Tokens of prompts and replies, as the providers count them."""
    cached: int
    """Requests answered without a call: from the cache, or by the call of another client."""
    failures: dict[str, int]
    """Failed attempts by reason."""
    spent: float | None
    """US dollars; None if a price is unknown."""
    budget: str
    spending: str | None
    """Spending of the budget, including earlier starts, in words; None without a limit."""
    ended: str | None
    """Why nothing more can be asked; None if the asker is open."""


class _Client:
    """A run that uses the asker."""

    def __init__(self) -> None:
        self.judges: dict[str, tuple[Judge, Judge]] = {}
        """Each judge as the client has it and as it is asked, by name."""
        self.posts = 0
        """Number of posts without a complete answer."""
        self.seen = 0.0


class SharedAsker:
    """Asks named judges for many clients, as long as the block lasts."""

    def __init__(self, judges: Iterable[Judge], options: RunOptions, progress: Progress, budget: str) -> None:
        """Create an asker.

        Args:
            judges: The judges that clients may use. Clients may change their sampling settings and reply length.
            options: The reply cache, limits, pace and prices, for all clients together.
            progress: Updated with every call.
            budget: The name of the budget; calls under the same name count together, also those of earlier starts.
        """
        self._judges = {judge.name: judge for judge in judges}
        self._progress = progress
        self._budget = budget
        self._asker = Asker(self._judges.values(), options, progress, budget)
        self._clients: dict[str, _Client] = {}
        self._tasks: set[asyncio.Future[Outcome]] = set()
        self._posts: set[asyncio.Queue[int | None]] = set()
        self.failure: StoreError | None = None
        """The error of the reply cache that ended the asker, if any."""
        self.over = asyncio.Event()
        """Set when the asker has ended."""
        self._closing: str | None = None
        self._draining: asyncio.Task[None] | None = None
        self._ended: str | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for judge in self._judges.values():
            if not providers.provider(judge.model).costs:
                raise UsageError(f"judge {judge.name!r} runs on the machines of the clients; leave it out here")
        await self._stack.enter_async_context(self._asker)
        assert self._asker.online, "an asker sends requests"
        self._online = self._asker.online
        self._asking, self._stored = self._asker.learning(), self._asker.stored
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end("it was stopped")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges that clients may use."""
        return tuple(self._judges)

    def begin(self, post: Post) -> list[Asked]:
        """Return the requests of a post. Raises AskerError if the asker has ended, or for a judge that it lacks."""
        if closed := self._ended or self._closing:
            raise AskerError(closed, 503)
        client = self._clients.setdefault(post.client, _Client())
        client.seen = time.monotonic()
        self._forget(client.seen - FORGOTTEN_AFTER)
        return post.asked([self._admitted(judge, client, post.client) for judge in post.judges])

    async def answer(self, post: Post, admitted: Sequence[Asked]) -> AsyncGenerator[list[Answer | Ending]]:
        """Yield the answers to a post as they arrive, then an ending.

        An empty list is a heartbeat.
        """
        client = self._clients[post.client]
        judges = [client.judges[judge.name][1] for judge in post.judges]
        answered: asyncio.Queue[int | None] = asyncio.Queue()
        self._posts.add(answered)
        client.posts += 1
        for judge in judges:
            if self._online.stopped.get(judge.name) == GONE:
                self._online.resume(judge.name)
        remaining = len(admitted)
        try:
            outcomes = [self._start(request_, number, answered) for number, request_ in enumerate(admitted)]
            while remaining and not self._ended:
                numbers = await _waiting(answered)
                answers: list[Answer | Ending] = [Answer(n, outcomes[n].result()) for n in numbers if n is not None]
                remaining -= len(answers)
                for _ in answers:
                    self._progress.sample_done()
                if not self._ended:
                    yield answers
            lessons = self._asker.lessons.learned(judges)
            learned = {theirs.name: lessons[ours.name] for theirs, ours in zip(post.judges, judges, strict=True)}
            yield [Ending(learned, self._ended if remaining else None)]
        finally:
            self._posts.discard(answered)
            client.posts -= 1
            client.seen = time.monotonic()
            if remaining and not client.posts:
                for judge in judges:
                    self._online.stop(judge.name, GONE)

    def _start(self, admitted: Asked, number: int, answered: asyncio.Queue[int | None]) -> asyncio.Future[Outcome]:
        """Start to answer a request, which continues if its client disconnects."""
        outcome = start_soon(self._outcome(admitted))
        if not outcome.done():
            self._tasks.add(outcome)
            outcome.add_done_callback(self._tasks.discard)
        outcome.add_done_callback(lambda _: answered.put_nowait(number))
        return outcome

    async def _outcome(self, admitted: Asked) -> Outcome:
        request = admitted.request
        try:
            while True:
                outcome = await (self._stored if admitted.stored else self._asking).ask(request)
                if isinstance(outcome, Completion) or outcome.reason != "judge_stopped":
                    return outcome
                if request.judge.name in self._online.stopped:
                    return outcome
                # It was in flight for another client, which disconnected or whose questions the judge refuses.
        except StoreError as error:
            self.failure = self.failure or error
            self._end(str(error))
            return Failure(reason="provider_error", message=str(error))

    def _admitted(self, judge: Judge, client: _Client, name: str) -> Judge:
        """Return a judge of a client as it is asked: with the asker's key and price, under a unique name."""
        theirs, ours = client.judges.get(judge.name, (None, judge))
        if theirs == judge:
            return ours
        like = self._like(judge)
        settings = {"name": f"{visible(judge.name, 80)} of {name[:8]}", "key_variable": like.key_variable}
        ours = judge.model_copy(update={**settings, "price": like.price, "family": None})
        self._online.admit(ours, like.name)
        client.judges[judge.name] = judge, ours
        return ours

    def _like(self, judge: Judge) -> Judge:
        """Return the asker's judge with the same model and endpoint. Raises AskerError if there is none."""
        same_model = [
            known for known in self._judges.values() if (known.model, known.endpoint) == (judge.model, judge.endpoint)
        ]
        if not same_model:
            requested = f"{judge.model} at {judge.endpoint}"
            raise AskerError(f"{visible(requested, 200)} may not be asked here; it asks {', '.join(self._judges)}", 422)
        for known in same_model:
            if (known.headers, known.query, known.extra) == (judge.headers, judge.query, judge.extra):
                return known
        raise AskerError(
            f"{visible(judge.model, 80)} is asked here with other headers, query or extra; both sides need the same "
            "judge file",
            422,
        )

    def _forget(self, before: float) -> None:
        for name, client in list(self._clients.items()):
            if not client.posts and client.seen < before:
                for _, judge in client.judges.values():
                    self._online.dismiss(judge)
                del self._clients[name]

    def _end(self, reason: str) -> None:
        """Stop sending and answering; the first reason is kept."""
        self._ended = self._ended or reason
        self.over.set()
        for client in self._clients.values():
            for _, judge in client.judges.values():
                self._online.stop(judge.name, self._ended)
        for post in self._posts:
            post.put_nowait(None)

    async def drain(self, seconds: float) -> None:
        """Take no more posts, send nothing more, and wait at most this long for the replies in flight."""
        if self._draining is None:
            self._closing = "it was stopped"
            self._draining = asyncio.create_task(self._online.drain(seconds))
        await asyncio.shield(self._draining)
        self._end(self._closing or "")

    @property
    def status(self) -> Status:
        """The status of the asker."""
        progress, budget = self._progress, self._asker.budget
        return Status(
            format=FORMAT,
            judges=tuple(f"{judge.model}@{judge.endpoint}" for judge in self._judges.values()),
            clients=sum(client.posts > 0 for client in self._clients.values()),
            waiting=len(self._tasks),
            in_flight=progress.in_flight,
            calls=progress.calls,
            replies=progress.replies,
            tokens=progress.tokens,
            cached=progress.cached,
            failures=dict(progress.failures),
            spent=budget.spent,
            budget=self._budget,
            spending=budget.spending_in_words() if self._asker.ledger else None,
            ended=self._ended or budget.exhausted,
        )


async def _waiting(answered: asyncio.Queue[int | None]) -> list[int | None]:
    """Wait for an answered request, and return the numbers of all answered requests; empty after a timeout."""
    numbers: list[int | None] = []
    if answered.empty():
        try:
            numbers.append(await asyncio.wait_for(answered.get(), HEARTBEAT))
        except TimeoutError:
            return []
    while not answered.empty():
        numbers.append(answered.get_nowait())
    return numbers
