"""Batch runs that are killed at named instants, and what the server's log says in the end.

As a program it is the client: the command line, killed by itself (SIGKILL) at an instant that the environment names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.loopback import Handle
from tests.instants import VARIABLE, Instant, deadly
from tests.survival import ROOT

GATHERING = "claim"
INTENT_WRITTEN = "mark_ready"
UPLOADED = "mark_uploaded"
ID_STORED = "mark_submitted"
TAKEN_OUT = "remove_answered"
CLOSED = "end"


class Client(NamedTuple):
    """How one process ended."""

    code: int
    peak: int
    """Bytes of memory at most."""
    seconds: float


class Killed(NamedTuple):
    """What came of a run in several processes."""

    clients: list[Client]
    batches: int
    asked: Counter[str]
    """How often each request was in a batch."""
    paid: Counter[str]
    files: tuple[bytes, bytes]
    """Results and summary."""
    errors: str


def command(folder: Path, server: Handle, out: str, *options: str) -> list[str]:
    """A panel of two providers on loopback."""
    judges = (f"openai:first@{server.url_for('openai')}", f"mistral:second@{server.url_for('mistral')}")
    return [
        *("score", str(folder / "samples.jsonl"), "--judge", judges[0], "--judge", judges[1]),
        *("--metrics", "faithfulness", "--cache", str(folder / f"{out}-store"), "--out", str(folder / out), *options),
    ]


def start(arguments: Sequence[str], folder: Path, instant: Instant | None = None) -> Client:
    """One process, from its beginning to its end."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | ({VARIABLE: str(instant)} if instant else {})
    with (folder / "errors").open("ab") as errors:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.execution.batch_kills", *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Client(process.returncode, usage.ru_maxrss * 1024, time.monotonic() - began)


def online(folder: Path, server: Handle) -> tuple[bytes, bytes]:
    """The files of the same run without batches."""
    assert start(command(folder, server, "online"), folder).code == 0
    return files(folder / "online")


def files(out: Path) -> tuple[bytes, bytes]:
    return (out / "results.jsonl").read_bytes(), (out / "summary.json").read_bytes()


def killed(folder: Path, server: Handle, instants: Sequence[Instant], *options: str) -> Killed:
    """A batch run that is killed at each of the instants in turn, and then goes on to its end."""
    arguments = command(folder, server, "batch", "--batch", *options)
    clients = [start(arguments, folder, instant) for instant in [*instants, None]]
    lines = server.batch_lines()
    return Killed(
        clients,
        len({line.batch for line in lines}),
        Counter(str(line.custom_id) for line in lines),
        Counter(str(line.custom_id) for line in lines if line.paid),
        files(folder / "batch"),
        (folder / "errors").read_text(),
    )


def main() -> None:
    """The client's side."""
    from claimeval.cli.main import main as command_line
    from claimeval.execution.batch import polling
    from claimeval.execution.batch.state import BatchState

    polling.MIN_INTERVAL = 0.2
    if VARIABLE in os.environ:
        when, what, n = os.environ[VARIABLE].split()
        setattr(BatchState, what, deadly(getattr(BatchState, what), when, int(n)))
    command_line()


if __name__ == "__main__":
    main()
