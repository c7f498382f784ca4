"""Processes of the command line that end at a named instant, or when they are killed, and begin again.

They are forked from a process that has imported the command line already, which is what a start costs most.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.loopback import Handle

ROOT = Path(__file__).parents[1]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["benchmarks.client_imports"])
"""Starts processes that have imported the command line."""
_SPAWNS = multiprocessing.get_context("spawn")


class Instant(NamedTuple):
    """Just before or after the nth time that something is done."""

    when: str
    what: str
    """`module:name.name`."""
    n: int = 1

    def __str__(self) -> str:
        return f"{self.when} {self.what} {self.n}"

    def arm(self) -> None:
        """Makes this process kill itself (SIGKILL) then."""
        module, _, path = self.what.partition(":")
        owner, _, name = path.rpartition(".")
        place = importlib.import_module(module)
        holder = attrgetter(owner)(place) if owner else place
        setattr(holder, name, _deadly(getattr(holder, name), self.when, self.n))


def _deadly(step: Callable[..., Any], when: str, n: int) -> Callable[..., Any]:
    done = 0

    @functools.wraps(step)
    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal done
        done += 1
        if done == n and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        value = step(*arguments, **options)
        if done == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return call


def write_samples(file: Path, samples: int, words: int = 60) -> None:
    """Samples of three calls each, one extraction and two assessments, with evidence of about so many words."""
    with file.open("w", encoding="utf-8") as lines:
        for i in range(samples):
            sample = {
                "id": f"sample-{i}",
                "question": f"What about tower {i}?",
                "answer": f"Tower {i} is {i} metres high. The WRONG king built it. A MISSING priest prayed. It stands.",
                "contexts": [f"Tower {i} is {i} metres high and it stands." + " It is old." * (words // 3)],
                "reference_answers": [f"It is {i} metres high."],
            }
            lines.write(json.dumps(sample) + "\n")


def score(server: Handle, *options: str) -> list[str]:
    """The command that has `samples.jsonl` judged by one model, with replies in `store`."""
    judge = f"openai:judge@{server.url}"
    return [
        *("score", "samples.jsonl", "--judge", judge, "--metrics", "faithfulness,correctness", "--cache", "store"),
        *options,
    ]


class Client:
    """One process of the command line, restarted as often as it takes.

    It notes in a log, for every reply, the beginning and the end of the step that makes it durable.
    """

    def __init__(
        self, folder: Path, name: str, command: Sequence[str], instant: Instant | None = None, *, fresh: bool = False
    ) -> None:
        """Start it at once; its run directory, log and errors have its name.

        Args:
            folder: Where it runs.
            name: That of its run directory.
            command: Command and options, but for `--out`.
            instant: When it kills itself, the first time.
            fresh: Whether to start an interpreter for it, with the settings that the environment has for Python.
        """
        self.out, self.log, self.errors = folder / name, folder / f"{name}.log", folder / f"{name}.err"
        self._command = [*command, "--out", name]
        self._fresh = fresh
        self.peak = 0
        """Bytes of memory that one of its processes had at most."""
        self.codes: list[int] = []
        self.start(instant)

    def start(self, instant: Instant | None = None) -> None:
        """Begins, or goes on."""
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        given = (self._command, str(self.out.parent), environment, str(self.log), str(self.errors), instant)
        make = _SPAWNS.Process if self._fresh else FORKS.Process
        self._process = make(target=_live, args=given, daemon=True)
        self._process.start()
        self._alive = True

    @property
    def pid(self) -> int:
        """Of its present process."""
        assert self._process.pid
        return self._process.pid

    def running(self) -> bool:
        """Whether it still works; takes note of its memory, and of how it ended."""
        if self._alive:
            self._look()
            self._join(0)
        return self._alive

    def wait(self) -> None:
        """Waits for the end."""
        while self._alive:
            self._join(0.02)
            self._look()

    def send(self, number: int) -> None:
        """Sends a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends the signal and waits for the end."""
        self._look()
        self.send(number)
        self.wait()

    def noted(self, word: str) -> set[int]:
        """The numbers of the requests whose replies it has begun or ended to make durable."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return {int(line.split()[1]) for line in lines if line.startswith(word)}

    def _join(self, seconds: float) -> None:
        """Waits so long for the end, and takes note of it."""
        self._process.join(seconds)
        if (code := self._process.exitcode) is not None:
            self._alive = False
            self.codes.append(code)

    def _look(self) -> None:
        """Takes note of the most memory it had so far. (What wait4 says begins with the memory of the parent.)"""
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
            most = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
            self.peak = max(self.peak, int(most) * 1024)


def _live(
    command: list[str], folder: str, environment: dict[str, str], log: str, errors: str, instant: Instant | None
) -> None:
    """The client's side."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)

    import httpx2

    from claimeval.cli.main import main
    from claimeval.execution.batch import polling
    from claimeval.providers import http

    polling.MIN_INTERVAL = 0.2
    notes = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if instant:
        instant.arm()
    record_response = http.record_response

    def note_response(response: httpx2.Response) -> None:
        number = response.headers.get("x-request-id", "req_-1").removeprefix("req_")
        os.write(notes, f"begin {number}\n".encode())
        record_response(response)
        os.write(notes, f"end {number}\n".encode())

    setattr(http, "record_response", note_response)  # noqa: B010  # not among the names it exports
    sys.argv = ["claimeval", *command]
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where all of this runs under nohup
    main()
