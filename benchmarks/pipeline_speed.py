"""Cost of a run compared with lower bounds: wall clock, CPU time per call, and time with all
replies cached.

From the root of the checkout:

    # compared with calls x latency / calls in flight; five minutes
    python -m benchmarks.pipeline_speed wall
    # CPU a call of asking and of the whole command, beside the same requests by AsyncOpenAI
    python -m benchmarks.pipeline_speed cpu
    # a run with all replies in the cache
    python -m benchmarks.pipeline_speed cached

The provider is a loopback server in a separate process. CPU time is that of the measured process
only. Programs are measured in turn, and the medians are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import heapq
import json
import sqlite3
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.loopback import Handle, Latency, Options, claim_judge, serve
from benchmarks.runs import CALLS, plan_at, run, samples, table, whole
from claimeval.evaluation.claims import ClaimsJob
from claimeval.execution import Executor
from claimeval.store.store import Store, digest, pack
from claimeval.types.chat_format import read_chat, request_body, write_chat
from claimeval.types.requests import Outcome, Request


def wall(count: int) -> None:
    """Measure the wall clock of runs: `count` samples with 16 calls in flight, 4 x count with 64,
    16 x count with 256.

    The lower bound is calls x latency / calls in flight. The goal is a ratio of at most 1.05 with
    64 calls in flight and 1.08 with 256. Fewer calls are in flight at the end of a run, for as long
    as the last slow call. So "to idle" is the ratio to a client without own work, which sends every
    request as early as possible. "AsyncOpenAI's" is the ratio of the SDK alone to the lower bound,
    with the same requests and no request waiting for another.
    """
    lines: list[tuple[object, ...]] = []
    for name, latency, concurrency in (
        ("200 ms", Latency(seconds=0.2), (16, 64)),
        (
            "200 ms, 5% at 3 s",
            Latency(seconds=0.2, tail_seconds=3.0, tail_rate=0.05, seed=1),
            (16, 64),
        ),
        ("1 s, 5% at 5 s", Latency(seconds=1.0, tail_seconds=5.0, tail_rate=0.05, seed=1), (256,)),
    ):
        for in_flight in concurrency:
            many = count * in_flight // 16
            with serve(server_options(latency)) as server, tempfile.TemporaryDirectory() as folder:
                plan = plan_at(server.url)
                warm_up(server)
                started = time.perf_counter()
                progress = run(plan, many, Path(folder), concurrency=in_flight)
                seconds = time.perf_counter() - started
                assert progress.calls == CALLS * many
                latencies = [
                    latency.of(n) for n in range(WARM_UP * CALLS, (WARM_UP + many) * CALLS)
                ]
                ideal = sum(latencies) / in_flight
                idle = without_work(latencies, in_flight)
                requests = bodies(plan, many)
                started = time.perf_counter()
                bare(server.url, requests, in_flight)
                alone = time.perf_counter() - started
            lines.append(
                (
                    name,
                    in_flight,
                    CALLS * many,
                    seconds,
                    ideal,
                    seconds / ideal,
                    seconds / idle,
                    alone / ideal,
                )
            )
    table(
        "wall clock of a run",
        (
            "latency",
            "in flight",
            "calls",
            "seconds",
            "x latency / in flight",
            *("ratio", "to idle", "AsyncOpenAI's"),
        ),
        lines,
    )


def without_work(latencies: list[float], in_flight: int) -> float:
    """Return the seconds of a run in which only the latencies take time.

    A sample has two extractions, then three assessments. Twice as many samples as calls in flight
    are active, and requests are sent in the order in which they become possible.
    """
    samples = iter(range(len(latencies) // CALLS))
    count = iter(latencies)
    stages = {sample: [2, 3] for sample in islice(samples, 2 * in_flight)}
    waiting = deque(sample for sample in stages for _ in range(2))
    under_way: list[tuple[float, int]] = []
    now = 0.0
    while waiting or under_way:
        while waiting and len(under_way) < in_flight:
            heapq.heappush(under_way, (now + next(count), waiting.popleft()))
        now, sample = heapq.heappop(under_way)
        stages[sample][0] -= 1
        if not stages[sample][0]:
            stages[sample].pop(0)
            if not stages[sample]:
                if (sample := next(samples, -1)) < 0:
                    continue
                stages[sample] = [2, 3]
            waiting.extend([sample] * stages[sample][0])
    return now


WARM_UP = 2
"""Number of samples."""


def server_options(latency: Latency) -> Options:
    return Options(judge="benchmarks.loopback.claim_judge:make", latency=latency)


def warm_up(server: Handle) -> None:
    """Run a few samples, so that everything is loaded before the measurement."""
    with tempfile.TemporaryDirectory() as folder:
        run(plan_at(server.url), WARM_UP, Path(folder))


# --- CPU a call ---


class Recording(Executor):
    """Answers in this process, and records or stores the requests."""

    def __init__(self, store: Store | None = None) -> None:
        self.requests: list[Request] = []
        self._store = store

    async def ask(self, request: Request) -> Outcome:
        said = claim_judge.answer(
            {"messages": [{"role": m.role, "content": m.content} for m in request.messages]}
        )
        reply = read_chat(write_chat(str(said.content), "judge"))
        if self._store is not None:
            self._store.put(request.key, pack(request, reply))
        else:
            self.requests.append(request)
        return reply


def bodies(plan: ClaimsJob, count: int) -> list[dict[str, Any]]:
    """Return the bodies of all requests of a run."""
    return [request_body(request) for request in asked_by(plan, count)]


def asked_by(plan: ClaimsJob, count: int) -> list[Request]:
    """Return all requests of a run."""
    recording = Recording()

    async def main() -> None:
        for sample in samples(count):
            await plan.evaluate(sample, recording)

    asyncio.run(main())
    return recording.requests


def bare(url: str, requests: list[dict[str, Any]], in_flight: int) -> None:
    """Send the requests with AsyncOpenAI alone, by workers that pull from an iterator."""
    from openai import AsyncOpenAI

    async def main() -> None:
        waiting = iter(requests)
        async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as sdk:

            async def worker() -> None:
                for body in waiting:
                    reply = await sdk.chat.completions.create(**body)
                    assert reply.choices[0].message.content

            await asyncio.gather(*[worker() for _ in range(in_flight)])

    asyncio.run(main())


def bare_mistral(url: str, requests: list[dict[str, Any]], in_flight: int) -> None:
    """Send the requests with Mistral's SDK alone."""
    from mistralai.client import Mistral

    async def main() -> None:
        waiting = iter(requests)
        async with Mistral(server_url=url, api_key="none") as sdk:

            async def worker() -> None:
                for body in waiting:
                    reply = await sdk.chat.complete_async(**body)
                    assert reply.choices

            await asyncio.gather(*[worker() for _ in range(in_flight)])

    asyncio.run(main())


def cpu(count: int, rounds: int, in_flight: int) -> None:
    """Measure CPU time per call, of asking alone and of the whole command with its page.

    The goals are 1.25 and 2.0 of AsyncOpenAI's; imports are in none of them. "After" is the time
    after the result of the last sample, which a user waits for.
    """
    with serve(server_options(Latency())) as server:
        urls = {"openai": server.url_for("openai"), "mistral": server.url_for("mistral")}
        plans = {name: plan_at(url, f"{name}:judge") for name, url in urls.items()}
        requests = bodies(plans["openai"], count)
        no_seed = [{**body, "random_seed": body.pop("seed", None)} for body in map(dict, requests)]

        def ours(provider: str) -> None:
            with tempfile.TemporaryDirectory() as folder:
                run(plans[provider], count, Path(folder), concurrency=in_flight)

        after: list[float] = []

        def command() -> None:
            with tempfile.TemporaryDirectory() as folder:
                url = urls["openai"]
                ended = whole("openai:judge", url, count, Path(folder), concurrency=in_flight)
            after.append(ended.after)

        ways: dict[str, Callable[[], None]] = {
            "AsyncOpenAI alone": partial(bare, urls["openai"], requests, in_flight),
            "claimeval, asking alone": partial(ours, "openai"),
            "claimeval, the whole command": command,
            "Mistral's SDK alone": partial(bare_mistral, urls["mistral"], no_seed, in_flight),
            "claimeval, Mistral, asking alone": partial(ours, "mistral"),
        }
        bare(urls["openai"], requests[:100], in_flight)
        warm_up(server)
        with tempfile.TemporaryDirectory() as folder:
            whole("openai:judge", urls["openai"], WARM_UP, Path(folder))
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                spent[name].append(cpu_ms(way) / len(requests))
    floor = statistics.median(spent["AsyncOpenAI alone"])
    lines: list[tuple[object, ...]] = [
        (name, statistics.median(found), min(found), statistics.median(found) / floor)
        for name, found in spent.items()
    ]
    table(
        f"CPU a call, {len(requests)} calls, {in_flight} in flight, no latency",
        ("", "median ms", "best ms", "to AsyncOpenAI"),
        lines,
    )
    print(
        f"after the last sample, best: {min(after):.0f} ms, {min(after) / len(requests):.3f} a call"
    )


def cpu_ms(work: Callable[[], object]) -> float:
    """Return the CPU time of this process over all threads, in milliseconds."""
    before = time.process_time()
    work()
    return 1000 * (time.process_time() - before)


# --- everything cached ---

NOWHERE = "http://127.0.0.1:9/v1"
"""The endpoint of a run with all replies in the cache."""


def fill(plan: ClaimsJob, count: int, folder: Path) -> None:
    """Put every reply of a run into the reply cache, without a server."""

    async def main() -> None:
        with Store(folder / "store") as store:
            recording = Recording(store)
            for sample in samples(count):
                await plan.evaluate(sample, recording)

    asyncio.run(main())


def cached(counts: tuple[int, ...], rounds: int) -> None:
    """Measure runs with all replies in the cache. The goal is 1.3 times the lower bound for any
    number of samples.

    The lower bound is a hash of the request, one read and the parsing of JSON for every reply.
    """
    plan = plan_at(NOWHERE)
    lines: list[tuple[object, ...]] = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            fill(plan, count, Path(folder))
            asked = [
                (request.key, json.dumps(request_body(request)))
                for request in asked_by(plan, count)
            ]
            again = partial(run, plan, count, Path(folder), offline=True)
            ways: dict[str, Callable[[], object]] = {
                "claimeval": again,
                "claimeval, a run that is resumed": partial(again, resumed=True),
                FLOOR: partial(floor, asked, Path(folder) / "store"),
            }
            spent: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(rounds):
                for name, way in ways.items():
                    spent[name].append(cpu_ms(way) / count)
        medians = {name: statistics.median(found) for name, found in spent.items()}
        for name, median in medians.items():
            ratio = median / medians[FLOOR]
            lines.append((name, count, 1000 / median, median / CALLS, ratio))
    table(
        "everything cached, on one core, medians",
        ("", "samples", "samples/s", "ms a request", "x floor"),
        lines,
    )


FLOOR = "floor: hash, one read, checksum, JSON"


def floor(asked: list[tuple[str, str]], store: Path) -> None:
    """Do only what every run must do with each request, in a loop.

    It hashes the text, as for the key; reads the stored value in one statement; hashes key and
    value for the checksum; parses the body of the response; and parses the reply, which is JSON. It
    does not render prompts or use verdicts.
    """
    database = sqlite3.connect(store / "cache.db")
    for key, text in asked:
        hashlib.sha256(text.encode()).hexdigest()
        (value,) = database.execute(
            "SELECT value FROM Cache WHERE key = ? AND raw = 1", (key,)
        ).fetchone()
        if digest(key, value[32:]) != value[:32]:
            raise ValueError(key)
        reply = json.loads(value[value.index(b"\n{", 32) :])
        json.loads(reply["choices"][0]["message"]["content"])
    database.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("wall", "cpu", "cached"))
    parser.add_argument("--samples", type=int, help="default: wall 400, cpu 200, cached 1000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-flight", type=int, default=16, help="for cpu")
    given = parser.parse_args()
    match given.part:
        case "wall":
            wall(given.samples or 400)
        case "cpu":
            cpu(given.samples or 200, given.rounds, given.in_flight)
        case "cached":
            count = given.samples or 1000
            cached((count, 2 * count, 4 * count), given.rounds)


if __name__ == "__main__":
    main()
