"""A run with servers that allow 60 requests and 10,000 tokens per minute, as a bucket and as a sliding window.

    python -m benchmarks.rate_limits [MINUTES]      # from the root of the checkout; 4 minutes for each server

The run has no limits set and adapts to the replies. The goal is to have less than 2% of the requests refused, and to
use more than 90% of the limit from the second minute on. tests/execution/test_pace.py does the same in virtual time.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.loopback import Latency, Options, serve
from benchmarks.loopback import Limits as ServerLimits
from benchmarks.runs import plan_at, samples, table
from claimeval.evaluation.claims import ClaimsJob
from claimeval.execution.runner import run_job
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress


def rate(minutes: int) -> None:
    """Print a table of refused requests and of the use of the limits, for both kinds of limits."""
    lines: list[tuple[object, ...]] = []
    for by in ("bucket", "window"):
        limits = ServerLimits(requests=60, tokens=10_000, by="bucket" if by == "bucket" else "window")
        options = Options(judge="benchmarks.loopback.claim_judge:make", limits=limits, latency=Latency(seconds=0.5))
        with serve(options) as server, tempfile.TemporaryDirectory() as folder:
            started = time.time()
            asyncio.run(for_a_while(plan_at(server.url), Path(folder), 60.0 * minutes))
            found = server.exchanges()
        later = [e for e in found if e.answered and e.sent and e.sent - started >= 60]
        refused = sum(e.status == 429 for e in found)
        used = max(len(later) / 60, sum(e.tokens for e in later) / 10_000) / (minutes - 1)
        lines.append((by, len(found), refused, f"{refused / len(found):.1%}", f"{used:.1%}"))
    columns = ("limit", "requests", "refused", "share refused", "limit used after the first minute")
    table(f"60 requests, 10,000 tokens a minute, {minutes} minutes, nothing told", columns, lines)


async def for_a_while(plan: ClaimsJob, folder: Path, seconds: float) -> None:
    """Run for `seconds`, then stop."""

    def ignore(result: object) -> None:
        """Ignore a result."""

    running = run_job(plan, samples(10_000), ignore, RunOptions(cache=folder / "store"), Progress())
    try:
        async with asyncio.timeout(seconds):
            await running
    except TimeoutError:
        return


if __name__ == "__main__":
    rate(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
