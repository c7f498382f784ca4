"""CPU time of a call through `claimeval serve`, for client and server, compared with a run without a server.

The same samples are judged directly and through the server, in separate processes, with a loopback provider. A figure
is the difference between a long and a short run, divided by the number of additional calls, so that it does not include
the start of a process. Pairs are measured in turn, and the medians are printed. The results must be equal byte for
byte.

    python -m benchmarks.asker [ROUNDS] [SAMPLES]
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.clients import write_samples
from benchmarks.loopback import Options, serve

CALLS_A_SAMPLE = 3
SHORT = 100
"""Samples of the short runs."""


class Cpu(NamedTuple):
    """Milliseconds of CPU time per call."""

    direct: float
    client: float
    asker: float


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start `claimeval ARGUMENTS`."""
    command = [sys.executable, "-m", "claimeval", *map(str, arguments)]
    environment = os.environ | {"CLAIMEVAL_ENDPOINT_KEY": "sk-loopback"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """Wait for the end of a process, and return its seconds of CPU time."""
    assert process.stdout
    assert process.stderr
    _, errors = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1), errors.decode()[-2000:]
    process.stdout.close()
    process.stderr.close()
    return used.ru_utime + used.ru_stime


def direct(samples: Path, judge: str, folder: Path) -> float:
    """Return the seconds of a run without a server."""
    return cpu_of(start("score", samples, "-j", judge, "-o", folder / "direct", "--cache", folder / "home", "-q"))


def shared(samples: Path, judge: str, folder: Path) -> tuple[float, float]:
    """Return the seconds of a client, and of the server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        via = f"127.0.0.1:{probe.getsockname()[1]}"
    asker = start("serve", "-j", judge, "--cache", folder / "asker", "--listen", via)
    assert asker.stdout
    while b"Ctrl-C" not in asker.stdout.readline():
        pass
    client = cpu_of(start("score", samples, "-j", judge, "-o", folder / "shared", "--via", via, "-q"))
    asker.send_signal(signal.SIGTERM)
    return client, cpu_of(asker)


def measure(count: int, judge: str) -> Cpu:
    """Return the milliseconds per call, from a short and a long run each."""
    seconds = []
    for samples in (SHORT, SHORT + count):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_samples(folder / "samples.jsonl", samples)
            alone = direct(folder / "samples.jsonl", judge, folder)
            seconds.append((alone, *shared(folder / "samples.jsonl", judge, folder)))
            lines = [(folder / run / "results.jsonl").read_bytes() for run in ("direct", "shared")]
            assert lines[0] == lines[1], "both runs have the same results"
    short, long = seconds
    return Cpu(*(1000 * (b - a) / (count * CALLS_A_SAMPLE) for a, b in zip(short, long, strict=True)))


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    rounds, count = map(int, [*arguments, *("3", "1000")[len(arguments) :]])
    with serve(Options(judge="benchmarks.loopback.claim_judge:make")) as server:
        judge = f"openai:model@{server.url}"
        measured = [measure(count, judge) for _ in range(rounds)]
    ms = Cpu(*(statistics.median(column) for column in zip(*measured, strict=True)))
    print(f"{rounds} rounds, {count * CALLS_A_SAMPLE} calls each; CPU a call, median")
    rows = {
        "a run that asks by itself": ms.direct,
        "client of an asker": ms.client,
        "the asker": ms.asker,
        "client and asker": ms.client + ms.asker,
    }
    for name, figure in rows.items():
        print(f"  {name:26} {figure:6.2f} ms   {figure / ms.direct:4.2f} of the first")


if __name__ == "__main__":
    main(sys.argv[1:])
