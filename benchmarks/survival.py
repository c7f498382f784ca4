"""Runs with faults that are killed: lost replies, replies paid twice, and memory.

    # from the root of the checkout; about ten minutes
    python -m benchmarks.survival
    # what the tests run
    python -m benchmarks.survival --calls 360 --kills 3
    python -m benchmarks.survival --clients 4 --in-flight 32 --share 0.3

Client processes of the command line judge the same samples with one reply cache and a loopback
provider in a separate process, which fails on a seeded schedule and logs its requests and answers.
Clients are killed with SIGKILL at random times and restarted with the same command. In the end,
both logs are compared, and results and summary are compared with those of a run without faults and
kills.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.clients import Client, score, write_samples
from benchmarks.loopback import Exchange, Faults, Handle, Latency, Options, mixed, named, serve

SOFT = tuple(
    kind for kind in named("transient", "connection", "malformed") if kind != "lone_surrogate"
)
"""Faults after which a retry gets the same reply as without them."""


def faults(share: float, seed: int = 0) -> Faults:
    """Return a mix of temporary faults. Status 429 and hanging servers are rare, because all
    workers wait for them."""
    rates = mixed(share * 0.96, SOFT) | {"rate_limited_ms": share * 0.02, "hang": share * 0.02}
    return Faults(seed=seed, rates=rates, per="body", at_most=3)


class Survived(NamedTuple):
    """The results of both logs."""

    calls: int
    """Number of distinct requests."""
    requests: int
    kills: int
    lost: int
    """Number of requests without a complete reply, and of samples without a result."""
    repeated: int
    """Number of requests that got a complete reply more than once."""
    repeated_kept: int
    """Number of these for which an earlier reply was already durable."""
    repeated_read: int
    """Number of these for which the last byte of an earlier reply had been read, a tenth of a
    millisecond earlier."""
    peak: int
    """Peak memory in bytes."""
    seconds: float
    results: tuple[bytes, ...]
    """Results and summary of each client."""
    codes: tuple[int, ...]
    port: int
    """Port of the server, because the results have the judge's endpoint."""


def survive(
    folder: Path,
    samples: int,
    *,
    clients: int = 2,
    kills: int = 5,
    share: float = 0.2,
    seed: int = 0,
    concurrency: int = 16,
    within: float = 600.0,
    latency: float = 0.01,
    port: int = 0,
) -> Survived:
    """Run clients with one reply cache over the samples, kill them at random times, and read the
    logs."""
    folder.mkdir(exist_ok=True)
    write_samples(folder / "samples.jsonl", samples)
    options = ["--concurrency", str(concurrency)]
    if share:
        # Only a fault hangs. On a busy machine, a client may wait for seconds for its turn, and
        # would ask again for a reply that has come.
        options += ["--timeout", "3"]
    settings = Options(
        judge="benchmarks.loopback.claim_judge:make",
        faults=faults(share, seed),
        latency=Latency(seconds=latency),
        port=port,
    )
    chance = random.Random(f"kills {seed}")
    instants = sorted(chance.uniform(0.02, 0.9) * 3 * samples for _ in range(kills))
    with serve(settings) as server:
        started = time.monotonic()
        running = [Client(folder, f"run-{i}", score(server, *options)) for i in range(clients)]
        done = 0
        while alive := [client for client in running if client.running()]:
            assert time.monotonic() - started < within, "the clients do not come to an end"
            if done < kills and answered(server) >= instants[done]:
                victim = chance.choice(alive)
                victim.kill()
                victim.start()
                done += 1
            time.sleep(0.02)
        seconds = time.monotonic() - started
        return _survived(server.exchanges(), running, samples, done, seconds, server.port)


def answered(server: Handle) -> int:
    """Return the approximate number of answered requests, without reading the log."""
    return server.log.stat().st_size // BYTES_A_REQUEST


BYTES_A_REQUEST = 420
"""Approximate size of a request in the event log."""


def _survived(
    exchanges: list[Exchange],
    clients: Sequence[Client],
    samples: int,
    kills: int,
    seconds: float,
    port: int,
) -> Survived:
    good: dict[str, list[int]] = defaultdict(list)
    for http in exchanges:
        good[http.sha256] += [http.n] if http.answered else []
    begun = set[int]().union(*[client.noted("begin") for client in clients])
    ended = set[int]().union(*[client.noted("end") for client in clients])
    results = [
        client.out / name for client in clients for name in ("results.jsonl", "summary.json")
    ]
    lines = [file.read_bytes().count(b"\n") for file in results[::2]]
    return Survived(
        calls=len(good),
        requests=len(exchanges),
        kills=kills,
        lost=sum(not numbers for numbers in good.values())
        + sum(samples - count for count in lines),
        repeated=sum(len(numbers) > 1 for numbers in good.values()),
        repeated_kept=sum(any(n in ended for n in numbers[:-1]) for numbers in good.values()),
        repeated_read=sum(any(n in begun for n in numbers[:-1]) for numbers in good.values()),
        peak=max(client.peak for client in clients),
        seconds=seconds,
        results=tuple(file.read_bytes() for file in results),
        codes=tuple(code for client in clients for code in client.codes),
        port=port,
    )


def main() -> None:
    """Print the figures and their goals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--in-flight", type=int, default=16, help="of each client")
    parser.add_argument("--share", type=float, default=0.2, help="of requests that meet a fault")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    samples = -(-given.calls // 3)
    with tempfile.TemporaryDirectory() as name:
        found = survive(
            Path(name) / "killed",
            samples,
            clients=given.clients,
            kills=given.kills,
            share=given.share,
            seed=given.seed,
            concurrency=given.in_flight,
            within=3600.0,
        )
        calm = survive(
            Path(name) / "calm",
            samples,
            clients=1,
            kills=0,
            share=0.0,
            port=found.port,
            within=3600.0,
        )
    same = set(found.results[::2]) == {calm.results[0]} and set(found.results[1::2]) == {
        calm.results[1]
    }
    most = given.kills * given.in_flight
    lines = [
        ("questions", f"{found.calls:,}", ""),
        ("requests a question", f"{found.requests / found.calls:.2f}", "at most 1.4"),
        ("kills", found.kills, ""),
        ("lost questions and samples", found.lost, "0"),
        ("answered again although the reply was stored", found.repeated_kept, "0"),
        ("answered again although its last byte had been read", found.repeated_read, "0"),
        ("answered again at all", found.repeated, f"at most {most} (kills x in flight)"),
        ("results and summary equal to an undisturbed run's", same, "True"),
        ("peak memory of a client, MB", f"{found.peak / 1e6:.0f}", "at most 200"),
        ("seconds", f"{found.seconds:.0f}", ""),
    ]
    for what, figure, goal in lines:
        print(f"{what:54} {figure!s:>10}   {goal}")


if __name__ == "__main__":
    main()
