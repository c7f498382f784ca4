"""How long one answer takes with `check`, beside the time that the judge itself needs for it in the same run.

From the root of the checkout:

    python -m benchmarks.check_latency [ANSWERS]

Answers have three sentences, each of which becomes a claim, and five contexts. The floor of `local:lexical` is taking
and scoring the claims by the functions alone. The floor of a provider is what its server waits: one call takes the
claims and one assesses them. `check` is called one after the other; `acheck` eight at a time in one event loop. Nothing
is in the reply cache but in the last line.
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
    """Different answers, so that each is asked about."""
    return [
        f"The bridge was built in {1901 + n % 5} by {n} masons. It is {41 + n % 5} metres long. {n} ducks live there."
        for n in range(first, first + count)
    ]


class Times(NamedTuple):
    """How long calls take."""

    each: Sequence[float]
    """Milliseconds of each call."""
    cpu: float
    """Milliseconds of CPU of this process a call."""


def times(function: Callable[[str], object], texts: Sequence[str]) -> Times:
    """How long each call takes, one after the other."""
    found = []
    before = time.process_time()
    for text in texts:
        started = time.perf_counter()
        function(text)
        found.append(1000 * (time.perf_counter() - started))
    return Times(found, 1000 * (time.process_time() - before) / len(texts))


async def times_at_once(judge: str, texts: Sequence[str], options: ce.RunOptions) -> Times:
    """How long each `acheck` takes where several are under way in one event loop."""
    places = asyncio.Semaphore(AT_ONCE)
    found = []

    async def one(text: str) -> None:
        async with places:
            started = time.perf_counter()
            await ce.acheck(text, CONTEXTS, judge=judge, options=options)
            found.append(1000 * (time.perf_counter() - started))

    before = time.process_time()
    await asyncio.gather(*map(one, texts))
    return Times(found, 1000 * (time.process_time() - before) / len(texts))


def by_words(text: str) -> None:
    """What `local:lexical` computes."""
    evidence = support.prepare(CONTEXTS)
    for claim in split_claims(text):
        support.score_claim(claim.text, evidence)


def line(name: str, found: Times, floor: float) -> tuple[object, ...]:
    """Return the median, the 95th percentile, and what they are to the floor."""
    p50, p95 = statistics.median(found.each), statistics.quantiles(found.each, n=20)[-1]
    return name, p50, p95, floor, p50 / floor, found.cpu


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
    """Measures all judges and prints the table."""
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
