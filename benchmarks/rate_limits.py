"""Runs with servers that allow 600 requests and 100,000 tokens per minute, as a bucket and as a
sliding window.

From the root of the checkout; 11 minutes, both at the same time:

    python -m benchmarks.rate_limits [MINUTES]

The runs have no limits set: they learn them from the headers of replies. From the second minute on,
what was answered and what was scored is divided by what the server allowed; the tokens are the
limit that binds. The goals: 97% of it or more, no sample without its scores, and less than 1% of
the requests refused. tests/execution/test_pace.py does the same in virtual time.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Literal

from benchmarks.loopback import Latency, Options, serve
from benchmarks.loopback import Limits as ServerLimits
from benchmarks.runs import CALLS, plan_at, samples, table
from claimeval.evaluation.claims import ClaimsJob
from claimeval.execution.runner import run_job
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult

REQUESTS = 600
TOKENS = 100_000
KINDS: tuple[Literal["bucket", "window"], ...] = ("bucket", "window")


def rate(by: Literal["bucket", "window"], minutes: int) -> tuple[object, ...]:
    """Return a line of the table: a run with one kind of limits."""
    limits = ServerLimits(requests=REQUESTS, tokens=TOKENS, by=by)
    options = Options(
        judge="benchmarks.loopback.claim_judge:make", limits=limits, latency=Latency(seconds=0.5)
    )
    results: list[tuple[float, SampleResult]] = []
    with serve(options) as server, tempfile.TemporaryDirectory() as folder:
        started = time.time()
        asyncio.run(for_a_while(plan_at(server.url), Path(folder), 60.0 * minutes, results))
        found = server.exchanges()
    later = [e for e in found if e.answered and e.sent and 60 <= e.sent - started < 60 * minutes]
    tokens = sum(e.tokens for e in later)
    used = max(len(later) / REQUESTS, tokens / TOKENS) / (minutes - 1)
    whole = [
        at
        for at, result in results
        if all(score.value is not None for score in result.scores.values())
    ]
    scored = sum(at - started >= 60 for at in whole)
    allowed = (minutes - 1) * min(REQUESTS / CALLS, TOKENS / (CALLS * tokens / len(later)))
    refused = sum(e.status == 429 for e in found)
    shares = f"{refused / len(found):.1%}", f"{used:.1%}", f"{scored / allowed:.1%}"
    return by, len(found), refused, *shares, f"{len(results) - len(whole)} of {len(results)}"


async def for_a_while(
    plan: ClaimsJob, folder: Path, seconds: float, results: list[tuple[float, SampleResult]]
) -> None:
    """Run for `seconds`, then stop; collects the results with their times."""
    settings = RunOptions(cache=folder / "store")
    running = run_job(
        plan, samples(10_000), lambda r: results.append((time.time(), r)), settings, Progress()
    )
    try:
        async with asyncio.timeout(seconds):
            await running
    except TimeoutError:
        return


def main() -> None:
    """Print a table with a line for each kind of limits."""
    minutes = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    columns = (
        "limit",
        "requests",
        "refused",
        "share",
        "limit used",
        "samples scored of those allowed",
        "lost",
    )
    with ProcessPoolExecutor() as pool:
        lines = list(pool.map(rate, KINDS, repeat(minutes)))
    title = (
        f"{REQUESTS} requests, {TOKENS:,} tokens a minute, {minutes} minutes, the first not"
        " counted; nothing told"
    )
    table(title, columns, lines)


if __name__ == "__main__":
    main()
