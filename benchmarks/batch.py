"""Speed of batches on this machine, and the cost at the provider of killing a run.

    python benchmarks/batch.py speed [REQUESTS]      write 50,000 requests to files, read and store 50,000 results
    python benchmarks/batch.py kills [SAMPLES]       5,000 samples, 2 judges, 2 rounds, killed 5 times, and online

`speed` uses one core, and prints seconds, requests per second, megabytes and the peak memory of a separate process. The
lower bound is writing and reading the same bytes as plain lines. `kills` prints the exit code of each process, how
often each request was sent and paid, and whether results and summary equal those of the online run byte for byte.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from benchmarks.clients import Client, Instant, write_samples
from benchmarks.loopback import Batching as Plan
from benchmarks.loopback import Handle, Options, serve
from claimeval.execution.batch.executor import BatchBudget, BatchExecutor, run_until_blocked
from claimeval.execution.batch.files import BatchResultReader
from claimeval.execution.batch.state import BatchState
from claimeval.execution.budget import Budget
from claimeval.execution.cached import OfflineExecutor
from claimeval.execution.concurrently import map_in_order
from claimeval.execution.runner import workers_for
from claimeval.store.store import Store
from claimeval.types.chat_format import write_chat
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Judge, Message, Request

ROOT = Path(__file__).parents[1]
NOWHERE = "http://127.0.0.1:1/v1"
_STATE = "claimeval.execution.batch.state:BatchState"
GATHERING, INTENT_WRITTEN, UPLOADED = f"{_STATE}.claim", f"{_STATE}.mark_ready", f"{_STATE}.mark_uploaded"
ID_STORED, TAKEN_OUT, CLOSED = f"{_STATE}.mark_submitted", f"{_STATE}.remove_answered", f"{_STATE}.end"
INSTANTS = (
    Instant("after", GATHERING, 2000),
    Instant("before", ID_STORED),
    Instant("before", TAKEN_OUT, 3),
    Instant("before", ID_STORED, 2),
    Instant("before", CLOSED),
)
"""While the first questions are gathered; with a batch made and its id not stored; with replies stored and their
requests not yet taken out; the same two once more in the second round, with one of two batches stored, and read."""
EVIDENCE = "The tower of the village was built in the year 1901 by Ana Souto, and it is 63 metres high. " * 30
VERDICTS = {
    "verdicts": [
        {"id": f"c{n}", "reason": "the first document says so", "evidence": ["d1"], "label": "supported"}
        for n in range(1, 11)
    ]
}
SCHEMA = json.dumps({"type": "object", "properties": {"verdicts": {"type": "array"}}})


def requests(count: int, endpoint: str) -> Iterator[Request]:
    """Yield requests of about 3 kB."""
    judge = Judge(name="judge", model="openai:judge", endpoint=endpoint, temperature=0.0)
    for number in range(count):
        yield Request(
            judge=judge,
            messages=(
                Message(role="system", content="You check claims against documents."),
                Message(role="user", content=f"{EVIDENCE}\n\nclaim {number}: the tower is {number} metres high."),
            ),
            reply_format="json",
            response_schema=SCHEMA,
            max_tokens=4096,
            prompt="0" * 64,
        )


async def gather(folder: Path, count: int, endpoint: str = NOWHERE) -> None:
    """Write the requests to files, like a pass over samples, and get the replies if there is a server."""
    options = RunOptions(batch=True, timeout=60.0)
    judge = next(requests(1, endpoint)).judge
    with Store(folder) as store:
        budget = BatchBudget(Budget([judge]), None, "")
        async with BatchExecutor({"judge": judge}, options, store, OfflineExecutor(), budget, Progress()) as batched:
            asking = map_in_order(
                requests(count, endpoint),
                lambda request: run_until_blocked(batched.ask(request)),
                workers_for(options),
            )
            async with aclosing(asking) as replies:
                async for reply in replies:
                    assert reply is None
            if endpoint == NOWHERE:
                batched.close_files()
            else:
                await batched.next_round()
        assert len(store) == (0 if endpoint == NOWHERE else count)


async def read(folder: Path, results: Path, count: int) -> None:
    """Read the results into the reply cache."""
    with Store(folder) as store, BatchState(folder) as state:
        (batch,) = state.batches("ready")
        reading = BatchResultReader(state, store, lambda run, reserved, paid: None, batch)
        await reading.read(results, SecretStr("sk-benchmark-key"))
        reading.finish(None)
        assert reading.received.replies == len(store) == count


def write_results(folder: Path, results: Path) -> None:
    """Write a result line for every request, like a provider, in reverse order."""
    body = json.loads(write_chat(json.dumps(VERDICTS), "judge-1"))
    body["usage"] = {"prompt_tokens": 800, "completion_tokens": 400, "total_tokens": 1200}
    with BatchState(folder) as state, results.open("wb") as out:
        for batch in reversed(state.batches("ready")):
            for key in state.pending_keys(batch.name):
                response = {"status_code": 200, "request_id": "r", "body": body}
                line = {"id": "batch_req", "custom_id": key, "response": response, "error": None}
                out.write(json.dumps(line).encode() + b"\n")


class Step(NamedTuple):
    seconds: float
    cpu: float
    """Seconds of CPU time."""
    peak: int
    """Peak memory in bytes."""


def alone(name: str, *arguments: object) -> Step:
    """Run a step in a separate process, on one core."""
    command = [sys.executable, __file__, "step", name, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CLAIMEVAL_ENDPOINT_KEY": "benchmark-key"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return Step(**json.loads(done.stdout))


def take_step(name: str, folder: str, *rest: str) -> None:
    """The child's side."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    place = Path(folder)
    started, worked = time.perf_counter(), time.process_time()
    match name:
        case "gather":
            asyncio.run(gather(place, int(rest[0])))
        case "read":
            asyncio.run(read(place, Path(rest[1]), int(rest[0])))
        case "whole":
            asyncio.run(gather(place, int(rest[0]), rest[1]))
        case "floor":
            for file in (place / "batches").glob("*.jsonl"):
                copy(file, Path(rest[1]))
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    print(
        json.dumps({"seconds": seconds, "cpu": cpu, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})
    )


def copy(source: Path, place: Path) -> None:
    """Reads every line as JSON and writes it again: less than this no reader of these files can do."""
    with source.open("rb") as lines, place.open("wb") as out:
        for line in lines:
            out.write(json.dumps(json.loads(line)).encode() + b"\n")


def speed(count: int) -> None:
    """Prints the table of seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        results = Path(name) / "results.jsonl"
        steps = {"requests gathered": alone("gather", folder, count)}
        size = sum(file.stat().st_size for file in (folder / "batches").glob("*.jsonl"))
        steps["floor: their lines parsed and written"] = alone("floor", folder, count, Path(name) / "copy")
        write_results(folder, results)
        steps["results read and stored"] = alone("read", folder, count, results)
        sizes = [size, size, results.stat().st_size]
        with serve(Options()) as server:
            steps["all of it, with a server on loopback"] = alone("whole", Path(name) / "other", count, server.url)
        sizes.append(sizes[0] + sizes[2])
    print(f"{count:,} requests, one core{'':15} {'seconds':>8} {'CPU s':>7} {'a second':>9} {'MB':>5} {'peak MB':>8}")
    for (what, step), megabytes in zip(steps.items(), sizes, strict=True):
        rate = count / step.seconds
        sizes_ = f"{megabytes / 1e6:5.0f} {step.peak / 1e6:8.0f}"
        print(f"{what:40} {step.seconds:8.1f} {step.cpu:7.1f} {rate:9,.0f} {sizes_}")


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
    judges = (f"openai:first@{server.url_for('openai')}", f"mistral:second@{server.url_for('mistral')}")
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
        print(f"\n{came.peak / 1e6:.0f} MB of memory at most; {len(came.asked):,} requests in {came.batches} batches")
        print(f"asked more than once: {sum(n > 1 for n in came.asked.values())}")
        print(f"paid more than once:  {sum(n > 1 for n in came.paid.values())}")
        print(f"results and summary are those of the online run to the byte: {came.files == wanted}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["step", name, *rest]:
            take_step(name, *rest)
        case ["kills", *rest]:
            kills(int(rest[0]) if rest else 5_000)
        case ["speed", *rest]:
            speed(int(rest[0]) if rest else 50_000)
        case _:
            sys.exit(__doc__)
