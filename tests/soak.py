"""A long run at an even pace with faults: what it holds open and how much memory it has as time goes by."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.loopback import Latency, Options, serve
from tests.survival import Client, faults, write_samples

IN_FLIGHT = 16


class Look(NamedTuple):
    """One look at the process."""

    files: int
    """Open files and sockets."""
    memory: int
    """Bytes."""


class Soaked(NamedTuple):
    looks: list[Look]
    """Evenly over time, from the moment on when every place was taken."""
    codes: list[int]
    said: str
    """On its error output, where Python's development mode warns of what was not closed."""


def soak(folder: Path, seconds: float, calls_per_second: float = 50.0, share: float = 0.05) -> Soaked:
    """A run that takes about so many seconds, of whose calls a share meets a fault."""
    write_samples(folder / "samples.jsonl", int(seconds * calls_per_second / 3))
    settings = Options(
        judge="benchmarks.loopback.claim_judge:make",
        faults=faults(share),
        latency=Latency(seconds=IN_FLIGHT / calls_per_second),
    )
    looks = []
    os.environ |= {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error"}
    try:
        with serve(settings) as server:
            client = Client(folder, server, "run", ("--concurrency", str(IN_FLIGHT), "--timeout", "3"))
            while client.running():
                if client.log.exists() and client.log.stat().st_size > 100 * IN_FLIGHT:
                    looks.append(_look(client.pid))
                time.sleep(seconds / 200)
    finally:
        del os.environ["PYTHONDEVMODE"], os.environ["PYTHONWARNINGS"]
    return Soaked([look for look in looks if look.memory], client.codes, (folder / "run.err").read_text())


def _look(pid: int) -> Look:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return Look(0, 0)
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return Look(files, int(lines.get("VmRSS", "0 kB").split()[0]) * 1024)
