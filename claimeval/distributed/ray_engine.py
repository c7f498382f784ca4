"""Runs on a Ray cluster: shards are tasks, one named actor sends all calls, and local models run in
a pool of actors.

Only this module uses Ray. If the worker or node of a shard dies, the shard starts again, without
limit. Its calls continue in the actor meanwhile, so that none is sent twice. The results of a shard
are returned and written as its part, and the parts are merged as usual.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import claimeval
from claimeval import providers
from claimeval.distributed.parts import Part
from claimeval.distributed.shards import Recipe, ShardResult, score_shard, write_part
from claimeval.evaluation.measure import MeasureJob
from claimeval.execution import Executor, RunStatus
from claimeval.execution.asker import ELSEWHERE, OPEN, Asker, Elsewhere, open_asker
from claimeval.execution.runner import GRACE, TERMINATING, Interrupt
from claimeval.providers import provider
from claimeval.types.errors import ClaimevalError, StoreError, UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Failure, Judge, Learned, Outcome, Request

VERSION = claimeval.__version__
LEAST = 25
MOST = 2000
SHARDS = 256
"""Minimum and maximum number of samples of a shard, and the target number of shards."""
AHEAD = 2
"""Shards per worker that are sent in advance."""
LOOK = 1.0
"""Seconds between two updates of the progress of calls."""
NAMESPACE = "claimeval"
CALLS = 100_000
"""Maximum number of calls of the coordinator's methods at a time; above all, requests that wait for
a reply."""
LOST = "the cluster lost the process that asks judges"
AGAIN = "run the same command to resume"

logger = logging.getLogger("claimeval")


def shards_for(items: int) -> int:
    """Return the number of shards for a run over this number of items."""
    size = min(max(-(-items // SHARDS), LEAST), MOST)
    return max(1, -(-items // size))


class Work(NamedTuple):
    """A shard to run."""

    part: Part
    positions: range


class Worked(NamedTuple):
    """The result of a shard from a worker."""

    result: ShardResult
    status: RunStatus
    calls: int
    """Calls of judges on the worker's machine."""
    cached: int


class Status(NamedTuple):
    """Counts of the coordinator's calls, as in `Progress`."""

    calls: int
    cached: int
    replies: int
    tokens: int
    in_flight: int
    failures: Counter[str]
    spent: float | None


class Answer(NamedTuple):
    """The outcome of a request, and what was learned about the judge's server by then."""

    outcome: Outcome
    learned: Learned


class Coordinator:
    """The actor of a run: asks the judges that cost money, and counts the workers that items
    ended."""

    def __init__(self) -> None:
        self._progress = Progress()
        self._stack = contextlib.AsyncExitStack()
        self._judges: dict[str, Judge] = {}
        self._crashes: dict[int, Counter[int]] = {}
        self._in_work: dict[int, set[int]] = {}
        self._attempts: Counter[int] = Counter()

    async def open(
        self, version: str, judges: Sequence[Judge], options: RunOptions, budget: str
    ) -> None:
        """Open the reply cache and the judges.

        Args:
            version: The version of claimeval that started the run, which must be the version here.
            judges: The judges that are asked; if empty, nothing is opened.
            options: The options of the run.
            budget: The name of the budget.
        """
        _check_version(version)
        self._judges = {judge.name: judge for judge in judges}
        if judges:
            self._asker = await self._stack.enter_async_context(
                open_asker(judges, options, self._progress, budget)
            )
            self._asking = self._asker.learning()
            self._stored = self._asker.stored

    async def ask(self, request: Request, *, stored: bool) -> Answer:
        """Answer a request; with `stored` only from the reply cache. Equal requests are one
        call."""
        # One object for all requests, as in a run of one process: each is unpickled with its own.
        judge = self._judges[request.judge.name]
        try:
            outcome = await (self._stored if stored else self._asking).ask(
                replace(request, judge=judge)
            )
        except StoreError:
            # On a full disk, further replies would be paid and could not be kept either.
            await self.drain(GRACE)
            raise
        return Answer(outcome, self._asker.lessons.learned([judge])[judge.name])

    async def learned(self) -> dict[str, Learned]:
        """Return what was learned about each judge's server, by name."""
        return self._asker.lessons.learned(self._judges.values()) if self._judges else {}

    async def status(self) -> Status:
        """Return the counts of the calls."""
        now = self._progress
        return Status(
            now.calls, now.cached, now.replies, now.tokens, now.in_flight, now.failures, now.spent
        )

    async def drain(self, seconds: float) -> None:
        """Send nothing more, and wait at most this long for the replies in flight."""
        if self._judges and self._asker.online:
            await self._asker.online.drain(seconds)

    async def close(self) -> None:
        """Close the reply cache."""
        await self._stack.aclose()

    async def attempt(self, shard: int) -> dict[int, int] | None:
        """Record that a worker starts a shard.

        Returns None the first time; later, the number of workers that each item may have ended, by
        position in the shard.
        """
        self._attempts[shard] += 1
        crashes = self._crashes.setdefault(shard, Counter())
        for position in self._in_work.pop(shard, ()):
            # The first lost worker counts too: items are recorded from the second one on, so that
            # a shard without trouble costs no call for each item.
            crashes[position] += 1 if crashes[position] else 2
        return dict(crashes) if self._attempts[shard] > 1 else None

    async def begun(self, shard: int, position: int) -> None:
        """Record that an item is in work."""
        self._in_work.setdefault(shard, set()).add(position)

    async def done(self, shard: int, position: int) -> None:
        """Record that an item has its result."""
        self._in_work[shard].discard(position)


def _check_version(version: str) -> None:
    if version != claimeval.__version__:
        node = ray.get_runtime_context().get_node_id()[:8]
        raise UsageError(
            f"claimeval {claimeval.__version__} is installed on the node {node}, and this run is of"
            f" {version}; install the same version on all nodes"
        )


class ActorExecutor(Elsewhere):
    """Executor that asks through the coordinator, a call of the actor per request."""

    def __init__(self, actor: Any, learned: Mapping[str, Learned]) -> None:
        """`learned` is what was learned about each judge's server so far."""
        self._actor = actor
        self.learned = dict(learned)
        self.stopped: dict[str, str] = {}
        self.exhausted: str | None = None
        self.lost: str | None = None

    async def ask(self, request: Request) -> Outcome:
        """Return the coordinator's outcome, or a failure if the judge has stopped or the
        coordinator is lost."""
        return await self._ask(request, stored=False)

    @property
    def stored(self) -> Executor:
        """Return an executor that answers only from the coordinator's reply cache."""
        return _Stored(self)

    def stop(self, judge: str, reason: str) -> None:
        """Send nothing more to a judge; the first reason is kept."""
        self.stopped.setdefault(judge, reason)

    async def _ask(self, request: Request, *, stored: bool) -> Outcome:
        judge = request.judge.name
        if ended := self.exhausted or self.lost:
            return Failure(
                reason="over_budget" if self.exhausted else "provider_error", message=ended
            )
        if judge in self.stopped:
            return Failure(reason="judge_stopped", message=self.stopped[judge])
        try:
            answer: Answer = await self._actor.ask.remote(request, stored=stored)
        except RayTaskError as error:
            # The cause, such as a StoreError, is what a run of one process raises.
            raise error.cause from None
        except RayError as error:
            self.lost = self.lost or f"{LOST}: {_first_line(error)}; {AGAIN}"
            return Failure(reason="provider_error", message=self.lost)
        outcome, self.learned[judge] = answer
        if isinstance(outcome, Failure):
            if outcome.reason == "judge_stopped":
                self.stop(judge, outcome.message)
            elif outcome.reason == "over_budget":
                self.exhausted = outcome.message
        return outcome


class _Stored(Executor):
    def __init__(self, executor: ActorExecutor) -> None:
        self._executor = executor

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply; without one a failure."""
        return await self._executor._ask(request, stored=True)


class ActorAttempts:
    """Attempts of a shard that ended a worker before; each is recorded before the item starts."""

    def __init__(self, actor: Any, shard: int, crashes: Mapping[int, int]) -> None:
        self._actor = actor
        self._shard = shard
        self.crashes = crashes

    def begun(self, position: int) -> None:
        """Record that an item is in work."""
        ray.get(self._actor.begun.remote(self._shard, position))

    def done(self, position: int) -> None:
        """Record that an item has its result."""
        ray.get(self._actor.done.remote(self._shard, position))


class Worker:
    """Runs shards in a process of a node; judges on this machine stay open from shard to shard.

    Its methods are not coroutines, because Ray would run these in a separate event loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._recipe: tuple[str, Recipe] | None = None
        self._judges = contextlib.AsyncExitStack()
        self._asker: Asker | None = None
        self._progress = Progress()

    def score(
        self,
        version: str,
        recipe: Sequence[Any],
        items: Sequence[Any],
        shard: int,
        coordinator: str,
    ) -> Worked:
        """Run a shard.

        Args:
            version: The version of claimeval that started the run.
            recipe: A reference to the recipe.
            items: The items of the shard.
            shard: The number of the shard.
            coordinator: The name of the coordinator's actor.
        """
        _check_version(version)
        (ref,) = recipe
        if self._recipe is None or self._recipe[0] != ref.hex():
            self._recipe = ref.hex(), ray.get(ref)
            self._asker = self._loop.run_until_complete(
                _reopened(self._judges, self._recipe[1], self._progress)
            )
        calls = self._progress.calls
        cached = self._progress.cached
        work = _work(self._recipe[1], items, shard, coordinator, self._asker)
        result, status = self._loop.run_until_complete(work)
        return Worked(result, status, self._progress.calls - calls, self._progress.cached - cached)


async def _reopened(
    judges: contextlib.AsyncExitStack, recipe: Recipe, progress: Progress
) -> Asker | None:
    """Close the judges of an earlier run, and open those of this run that are local; None if there
    are none.

    Their reply cache is deleted when they are closed.
    """
    await judges.aclose()
    if not (near := _near(recipe)):
        return None
    cache = judges.enter_context(tempfile.TemporaryDirectory(prefix="claimeval-"))
    return await judges.enter_async_context(open_asker(near, RunOptions(cache=cache), progress))


async def _work(
    recipe: Recipe, items: Sequence[Any], shard: int, coordinator: str, asker: Asker | None
) -> tuple[ShardResult, RunStatus]:
    """Run a shard; `asker` asks the judges on this machine."""
    actor: Any = ray.get_actor(coordinator, NAMESPACE)
    crashes = await actor.attempt.remote(shard)
    OPEN.set(asker)
    ELSEWHERE.set(ActorExecutor(actor, await actor.learned.remote()) if _far(recipe) else None)
    attempts = None if crashes is None else ActorAttempts(actor, shard, crashes)
    return await score_shard(recipe, items, attempts=attempts)


_WORKER: list[Worker] = []
"""The worker of this process, which Ray uses for many tasks."""


def _score(
    version: str, recipe: Sequence[Any], items: Sequence[Any], shard: int, coordinator: str
) -> Worked:
    """Run a shard as a task, as `Worker.score` does."""
    if not _WORKER:
        _WORKER.append(Worker())
    return _WORKER[0].score(version, recipe, items, shard, coordinator)


def _near(recipe: Recipe) -> tuple[Judge, ...]:
    """Return the judges that run on the machine that asks."""
    return tuple(judge for judge in recipe.job.asked if not provider(judge.model).costs)


def _far(recipe: Recipe) -> tuple[Judge, ...]:
    return tuple(judge for judge in recipe.job.asked if provider(judge.model).costs)


async def run_shards(
    recipe: Recipe, works: Sequence[Work], items: Iterable[Any], progress: Progress, run: str
) -> RunStatus:
    """Run shards on a cluster, and write their parts.

    Args:
        recipe: The job and its options, which name the engine.
        works: The shards to run, in order.
        items: All items of the run, read once.
        progress: Updated with shards and calls.
        run: The name of the budget.
    """
    with _connected(recipe.options.engine or ""):
        cluster = _Cluster(recipe, run)
        interrupt = Interrupt(cluster.drain)
        interrupted = RunStatus(complete=False, interrupted=True, stopped={})
        with interrupt.listening():
            try:
                await cluster.open()
                status = await cluster.do(works, items, progress)
                # Shards may stop because the coordinator stops, before this process has finished
                # stopping.
                return interrupted if interrupt.requested and not status.complete else status
            except asyncio.CancelledError:
                if not interrupt.requested:
                    raise
                return interrupted
            except (RayError, ConnectionError) as error:
                if interrupt.requested:
                    return interrupted
                if isinstance(error, RayTaskError) and isinstance(error.cause, ClaimevalError):
                    await cluster.drain()
                    raise error.cause from None
                if isinstance(error, RayTaskError) and not isinstance(error.cause, RayError):
                    raise
                lost = f"{LOST}, or its head: {_first_line(error)}; {AGAIN}"
                return RunStatus(complete=False, interrupted=False, stopped={}, lost=lost)
            finally:
                cluster.close()


class _Cluster:
    """A run on a cluster: its coordinator and its workers."""

    def __init__(self, recipe: Recipe, run: str) -> None:
        self._recipe = recipe
        self._run = run
        self._name = f"claimeval-{uuid.uuid4().hex[:12]}"
        self._actor: Any = None
        self._pool: list[Any] = []
        self._refs: dict[asyncio.Future[Worked], tuple[Work, Any]] = {}
        self._last = Status(0, 0, 0, 0, 0, Counter(), None)

    async def open(self) -> None:
        """Start the coordinator on this node, and the workers for local models."""
        on_this_node = NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # With Ray's defaults it would wait for a free CPU, of which some head nodes have none, and
        # send no request while 1,000 wait for a reply.
        settings = {
            "name": self._name,
            "namespace": NAMESPACE,
            "num_cpus": 0,
            "max_concurrency": CALLS,
        }
        self._actor = (
            ray.remote(Coordinator).options(**settings, scheduling_strategy=on_this_node).remote()
        )
        options = replace(self._recipe.options, engine=None, progress=None)
        await self._actor.open.remote(VERSION, _far(self._recipe), options, self._run)
        # Caps and pace hold for the whole run, and only the coordinator counts all of it.
        sent = replace(
            options,
            max_cost=None,
            max_calls=None,
            rpm=None,
            tpm=None,
            cache=options.cache if isinstance(self._recipe.job, MeasureJob) else None,
        )
        self._sent = [ray.put(replace(self._recipe, options=sent))]
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self._cpus = max(1, int(resources.get("CPU", 1)))
        if (gpus := _gpus(self._recipe, resources)) is not None:
            count = min(self._cpus, int(resources.get("GPU", 0) / gpus)) if gpus else self._cpus
            if not count:
                raise UsageError(
                    f"a judge needs {gpus:g} GPUs (num_gpus), and the cluster has"
                    f" {resources.get('GPU', 0):g}"
                )
            pooled = ray.remote(Worker).options(
                # Without limit: a lost node is no fault of the shard, and a sample that ends its
                # process is found by `attempt`.
                num_cpus=1,
                num_gpus=gpus,
                max_restarts=-1,
                max_task_retries=-1,
            )
            self._pool = [pooled.remote() for _ in range(count)]
        self._task = ray.remote(_score).options(num_cpus=1, max_retries=-1)

    async def do(
        self, works: Sequence[Work], items: Iterable[Any], progress: Progress
    ) -> RunStatus:
        """Run the shards, and write their parts."""
        ahead = list(reversed(works))
        position = 0
        iterator = iter(items)
        learned: dict[str, Learned] = {}
        while ahead or self._refs:
            while ahead and len(self._refs) < AHEAD * (len(self._pool) or self._cpus):
                work = ahead.pop()
                # Finished shards of a resumed run lie between: their items are read and left out.
                start = work.positions.start - position
                stop = work.positions.stop - position
                batch = list(islice(iterator, start, stop))
                position = work.positions.stop
                self._begin(work, batch)
            finished, _ = await asyncio.wait(
                self._refs, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED
            )
            await self._look(progress)
            for future in finished:
                work, _ = self._refs.pop(future)
                worked = future.result()
                if not worked.status.complete:
                    # Other shards may wait for paid replies.
                    await self.drain()
                    return worked.status
                learned |= {
                    judge: lesson
                    for judge, lesson in worked.status.learned.items()
                    if lesson != Learned()
                }
                write_part(self._recipe, work.part, work.positions, worked.result, worked.status)
                progress.batched(worked.calls)
                progress.cached += worked.cached
                for _ in work.positions:
                    progress.sample_done()
        await self._look(progress)
        await self._actor.close.remote()
        return RunStatus(complete=True, interrupted=False, stopped={}, learned=learned)

    def _begin(self, work: Work, batch: list[Any]) -> None:
        number = work.part.shard.number
        arguments = (VERSION, self._sent, batch, number, self._name)
        if self._pool:
            ref = self._pool[number % len(self._pool)].score.remote(*arguments)
        else:
            ref = self._task.remote(*arguments)
        self._refs[asyncio.ensure_future(_outcome(ref))] = work, ref

    async def _look(self, progress: Progress) -> None:
        """Add the calls of the coordinator since the last update to the progress."""
        before = self._last
        now = await self._actor.status.remote()
        self._last = now
        progress.batched(now.calls - before.calls)
        progress.cached += now.cached - before.cached
        progress.in_flight = now.in_flight
        replies = now.replies - before.replies
        tokens = now.tokens - before.tokens
        progress.unbatched(replies, tokens, now.failures - before.failures, now.spent)

    async def drain(self, seconds: float | None = None) -> None:
        """Send nothing more, and wait for the replies in flight."""
        if self._actor:
            with contextlib.suppress(RayError):
                await self._actor.drain.remote(seconds or GRACE)

    def close(self) -> None:
        """Stop all tasks and actors."""
        for future, (_, ref) in self._refs.items():
            future.cancel()
            if not self._pool:
                with contextlib.suppress(RayError):
                    # Without `force`, Ray interrupts a task only between two lines of Python, not
                    # in a model that is computing.
                    ray.cancel(ref, force=True)
        for actor in (*self._pool, self._actor):
            if actor is not None:
                with contextlib.suppress(RayError):
                    ray.kill(actor)


async def _outcome(ref: Any) -> Worked:
    worked: Worked = await ref
    return worked


def _gpus(recipe: Recipe, resources: Mapping[str, float]) -> float | None:
    """Return the number of GPUs that a worker needs; None if no local model is used."""
    if isinstance(recipe.job, MeasureJob):
        return float(resources.get("GPU", 0) >= 1) if recipe.job.local else None
    models = [judge for judge in _near(recipe) if _is_a_model(judge)]
    return max((judge.num_gpus or 0.0 for judge in models), default=None)


def _is_a_model(judge: Judge) -> bool:
    try:
        return providers.row_of(judge).describe_device(judge) is not None
    except UsageError:
        # Its package is installed on the nodes only, which are asked when the worker opens it.
        return True


@contextlib.contextmanager
def _connected(engine: str) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine; an existing connection of the program is
    used and kept.

    Ray's usage statistics are disabled, and the signal handlers of the program are kept.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = engine if "://" in engine else os.environ.get("RAY_ADDRESS") or None
    settings: dict[str, Any] = {
        "namespace": NAMESPACE,
        # Ray would print the output of every worker between the lines of the command.
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    if address is None:
        settings |= {"include_dashboard": False}
    handlers: dict[int, Any] = {}
    # Python sets signal handlers in the main thread only.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATING)}
    if address:
        logger.info("connecting to Ray at %s", address)
    else:
        logger.info("starting Ray on this machine")
    try:
        ray.init(address, **settings)
    except (ConnectionError, RuntimeError, ValueError, ImportError) as error:
        where = address or "on this machine"
        raise UsageError(
            f"engine {engine!r}: Ray {where} cannot be used: {_first_line(error)}"
        ) from error
    finally:
        # `ray.init` sets a SIGTERM handler, with which a stopped run would not wait for paid
        # replies.
        for number, handler in handlers.items():
            signal.signal(number, handler)
    try:
        yield
    finally:
        ray.shutdown()


def _first_line(error: BaseException) -> str:
    return next(
        (line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__
    )[:300]
