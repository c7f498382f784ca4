"""Open files, memory and Python's warnings during a long run with 50 calls per second and 5%
faults.

    python -m benchmarks.soak [MINUTES]      # from the root of the checkout; 60 minutes

The goal is that the last quarter does not use more memory than the second, within 5%, or more open
files.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.clients import Client, score, write_samples
from benchmarks.loopback import Latency, Options, serve
from benchmarks.survival import faults

IN_FLIGHT = 16


class Look(NamedTuple):
    """The state of the process at one time."""

    files: int
    """Number of open files and sockets."""
    memory: int
    """Memory in bytes."""


class Soaked(NamedTuple):
    looks: list[Look]
    """States at regular intervals, after all workers have started."""
    codes: list[int]
    said: str
    """The error output, with warnings of Python's development mode about unclosed files."""


def soak(
    folder: Path, seconds: float, calls_per_second: float = 50.0, share: float = 0.05
) -> Soaked:
    """Run for about `seconds`, with faults in a share of the calls."""
    write_samples(folder / "samples.jsonl", int(seconds * calls_per_second / 3))
    settings = Options(
        judge="benchmarks.loopback.claim_judge:make",
        faults=faults(share),
        latency=Latency(seconds=IN_FLIGHT / calls_per_second),
    )
    looks = []
    with serve(settings) as server:
        os.environ |= {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error"}
        try:
            command = score(server, "--concurrency", str(IN_FLIGHT), "--timeout", "3")
            client = Client(folder, "run", command, fresh=True)
            while client.running():
                if client.log.exists() and client.log.stat().st_size > 100 * IN_FLIGHT:
                    looks.append(_look(client.pid))
                time.sleep(seconds / 200)
        finally:
            del os.environ["PYTHONDEVMODE"], os.environ["PYTHONWARNINGS"]
    return Soaked(
        [look for look in looks if look.memory], client.codes, (folder / "run.err").read_text()
    )


def _look(pid: int) -> Look:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return Look(0, 0)
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return Look(files, int(lines.get("VmRSS", "0 kB").split()[0]) * 1024)


def main(minutes: float) -> None:
    """Print a line for each quarter of the run."""
    with tempfile.TemporaryDirectory() as folder:
        soaked = soak(Path(folder), 60 * minutes)
    quarter = len(soaked.looks) // 4
    print(f"{'quarter':8} {'open files':>11} {'memory, MB':>11}   medians")
    for number in range(4):
        looks = soaked.looks[number * quarter : (number + 1) * quarter]
        print(
            f"{number + 1:<8} {median(x.files for x in looks):11.0f}"
            f" {median(x.memory for x in looks) / 1e6:11.1f}"
        )
    warned = [word for word in ("Warning", "Traceback", "unclosed") if word in soaked.said]
    print(f"ended with {soaked.codes[-1]}; warnings: {', '.join(warned) or 'none'}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
