"""Runs that meet faults and are killed: what is lost, what is paid twice, how much memory it takes.

    python -m benchmarks.survival                                   # from the root of the checkout; about ten minutes
    python -m benchmarks.survival --calls 1000 --kills 3            # what the tests run
    python -m benchmarks.survival --clients 4 --in-flight 32 --share 0.3

Client processes of the command line go through the same samples over one store, against a loopback provider in a
process of its own that fails on a seeded schedule and logs what it was asked and answered. Clients are killed with
SIGKILL at random instants and started again with the same command. In the end both logs are compared, and results and
summary with those of a run without faults and kills.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.survival import survive


def main() -> None:
    """Prints the figures beside their goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
        calm = survive(Path(name) / "calm", samples, clients=1, kills=0, share=0.0, port=found.port, within=3600.0)
    same = set(found.results[::2]) == {calm.results[0]} and set(found.results[1::2]) == {calm.results[1]}
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
