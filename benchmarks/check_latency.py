"""Latency of one answer with `check`, compared with the time of the judge alone in the same run.

From the root of the checkout:

    python -m benchmarks.check_latency [ANSWERS]

Answers have three sentences, each of which becomes a claim, and five contexts. The lower bound of `local:lexical` is
extracting and scoring the claims with the functions alone. The lower bound of a provider is the delay of its server,
for a call that extracts the claims and one that assesses them. `check` is called sequentially, `acheck` eight at a time
in one event loop. The reply cache is empty, except for the last line.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import claimeval as ce
from benchmarks.loopback import Latency, Options, serve
from benchmarks.runs import table
from claimeval.lexical import support
from claimeval.lexical.claims import split_claims

CONTEXTS = tuple(
    f"Chapter {n}. The bridge over the river Aare was built in {1900 + n} by {n} masons from the valley. It is "
    f"{40 + n} metres long and carries the road to the mill, which the town has owned since the flood."
    for n in range(1, 6)
)
AT_ONCE = 8
CALLS = 2


def answers(count: int, first: int = 0) -> list[str]:
    """Return different answers, so that none is in the reply cache."""
    return [
        f"The bridge was built in {1901 + n % 5} by {n} masons. It is {41 + n % 5} metres long. {n} ducks live there."
        for n in range(first, first + count)
    ]


class Times(NamedTuple):
    """Durations of calls."""

    each: Sequence[float]
    """Milliseconds of each call."""
    cpu: float
    """Milliseconds of CPU time of this process per call."""


def times(function: Callable[[str], object], texts: Sequence[str]) -> Times:
    """Return the duration of each call, one after the other."""
    milliseconds = []
    before = time.process_time()
    for text in texts:
        started = time.perf_counter()
        function(text)
        milliseconds.append(1000 * (time.perf_counter() - started))
    return Times(milliseconds, 1000 * (time.process_time() - before) / len(texts))


async def times_at_once(judge: str, texts: Sequence[str], options: ce.RunOptions) -> Times:
    """Return the duration of each `acheck`, with several at a time in one event loop."""
    slots = asyncio.Semaphore(AT_ONCE)
    milliseconds = []

    async def check(text: str) -> None:
        async with slots:
            started = time.perf_counter()
            await ce.acheck(text, CONTEXTS, judge=judge, options=options)
            milliseconds.append(1000 * (time.perf_counter() - started))

    before = time.process_time()
    await asyncio.gather(*map(check, texts))
    return Times(milliseconds, 1000 * (time.process_time() - before) / len(texts))


def by_words(text: str) -> None:
    """Compute the same as `local:lexical`."""
    evidence = support.prepare(CONTEXTS)
    for claim in split_claims(text):
        support.score_claim(claim.text, evidence)


def line(name: str, durations: Times, floor: float) -> tuple[object, ...]:
    """Return the median, the 95th percentile, and the ratio of the median to the lower bound."""
    p50, p95 = statistics.median(durations.each), statistics.quantiles(durations.each, n=20)[-1]
    return name, p50, p95, floor, p50 / floor, durations.cpu


def measure(name: str, judge: str, count: int, folder: Path, floor: float | None) -> list[tuple[object, ...]]:
    """Return the lines of one judge."""
    options = ce.RunOptions(cache=folder)
    check = partial(ce.check, contexts=CONTEXTS, judge=judge, options=options)
    times(check, answers(3))  # what a process loads on first use is loaded before the clock starts
    new = answers(count, 100)
    if floor is None:
        times(by_words, answers(3))
        floor = statistics.median(times(by_words, new).each)
    at_once = asyncio.run(times_at_once(judge, answers(count, 10_000), options))
    return [
        line(f"check, {name}", times(check, new), floor),
        line(f"acheck, {AT_ONCE} at once, {name}", at_once, floor),
        line(f"check, {name}, replies stored", times(check, new), floor),
    ]


def main(count: int) -> None:
    """Measure all judges and print the table."""
    lines: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        lines += measure("local:lexical", "local:lexical", count, Path(folder), None)
    for delay in (0.1, 0.5):
        options = Options(judge="benchmarks.loopback.claim_judge:make", latency=Latency(seconds=delay))
        with serve(options) as server, tempfile.TemporaryDirectory() as folder:
            name = f"provider of {1000 * delay:.0f} ms"
            lines += measure(name, f"openai:m@{server.url}", count, Path(folder), 1000 * CALLS * delay)
    columns = ("", "p50 ms", "p95 ms", "judge's own ms", "ratio", "CPU ms")
    table(f"latency of one answer, {count} answers each", columns, lines)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
