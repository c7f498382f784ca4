"""Cost at the provider of killing a batch run.

    python -m benchmarks.batch [SAMPLES]
        5,000 samples, 2 judges, 2 rounds, killed 5 times, and online

It prints the exit code of each process, how often each request was sent and paid, and whether
results and summary equal those of the online run byte for byte.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.clients import Client, Instant, write_samples
from benchmarks.loopback import Batching as Plan
from benchmarks.loopback import Handle, Options, serve

_STATE = "claimeval.execution.batch.state:BatchState"
GATHERING = f"{_STATE}.claim"
INTENT_WRITTEN = f"{_STATE}.mark_ready"
UPLOADED = f"{_STATE}.mark_uploaded"
ID_STORED = f"{_STATE}.mark_submitted"
TAKEN_OUT = f"{_STATE}.remove_answered"
CLOSED = f"{_STATE}.end"
INSTANTS = (
    Instant("after", GATHERING, 2000),
    Instant("before", ID_STORED),
    Instant("before", TAKEN_OUT, 3),
    Instant("before", ID_STORED, 2),
    Instant("before", CLOSED),
)
"""While the first questions are gathered; with a batch made and its id not stored; with replies
stored and their requests not yet taken out; the same two once more in the second round, with one of
two batches stored, and read."""


class Killed(NamedTuple):
    """What came of a run in several processes."""

    codes: list[int]
    seconds: list[float]
    """How each process ended, and how long it took."""
    peak: int
    """Bytes of memory at most."""
    batches: int
    asked: Counter[str]
    """How often each request was in a batch."""
    paid: Counter[str]
    files: tuple[bytes, bytes]
    """Results and summary."""
    errors: str


def panel(server: Handle, store: str, *options: str) -> list[str]:
    """The command that has `samples.jsonl` judged by models of two providers."""
    judges = (
        f"openai:first@{server.url_for('openai')}",
        f"mistral:second@{server.url_for('mistral')}",
    )
    return [
        *("score", "samples.jsonl", "--judge", judges[0], "--judge", judges[1]),
        *("--metrics", "faithfulness", "--cache", store, *options),
    ]


def online(folder: Path, server: Handle) -> tuple[bytes, bytes]:
    """The files of the run without batches."""
    client = Client(folder, "online", panel(server, "online-store"))
    client.wait()
    assert client.codes == [0]
    return files(client.out)


def files(out: Path) -> tuple[bytes, bytes]:
    return (out / "results.jsonl").read_bytes(), (out / "summary.json").read_bytes()


def killed(folder: Path, server: Handle, instants: Sequence[Instant]) -> Killed:
    """A batch run that is killed at each of the instants in turn, and then goes on to its end."""
    ends = [time.monotonic()]
    client = Client(folder, "batch", panel(server, "batch-store", "--batch"), instants[0])
    client.wait()
    for instant in [*instants[1:], None]:
        ends.append(time.monotonic())
        client.start(instant)
        client.wait()
    ends.append(time.monotonic())
    lines = server.batch_lines()
    return Killed(
        client.codes,
        [end - start for start, end in pairwise(ends)],
        client.peak,
        len({line.batch for line in lines}),
        Counter(str(line.custom_id) for line in lines),
        Counter(str(line.custom_id) for line in lines if line.paid),
        files(client.out),
        client.errors.read_text(),
    )


def kills(count: int) -> None:
    """Prints the table of processes and what the server's log says."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder / "samples.jsonl", count)
        plan = Plan(seconds=2.0, spread=1.0)
        with serve(Options(judge="benchmarks.loopback.claim_judge:make", batching=plan)) as server:
            wanted = online(folder, server)
            came = killed(folder, server, INSTANTS)
        print(f"{'process':72} {'ended with':>10} {'seconds':>8}")
        for code, seconds, instant in zip(came.codes, came.seconds, [*INSTANTS, None], strict=True):
            print(f"{f'killed {instant}' if instant else 'to the end':72} {code:10} {seconds:8.1f}")
        print(
            f"\n{came.peak / 1e6:.0f} MB of memory at most; {len(came.asked):,} requests in"
            f" {came.batches} batches"
        )
        print(f"asked more than once: {sum(n > 1 for n in came.asked.values())}")
        print(f"paid more than once:  {sum(n > 1 for n in came.paid.values())}")
        print(
            f"results and summary are those of the online run to the byte: {came.files == wanted}"
        )


if __name__ == "__main__":
    kills(int(sys.argv[1]) if sys.argv[1:] else 5_000)
