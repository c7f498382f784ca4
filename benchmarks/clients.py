"""Processes of the command line that are killed at a given instant and restarted.

They are forked from a process that has imported the command line, because imports are most of the
start-up time.
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
from contextvars import ContextVar
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
    """The instant just before or after the nth call of a function."""

    when: str
    what: str
    """`module:name.name`."""
    n: int = 1

    def __str__(self) -> str:
        return f"{self.when} {self.what} {self.n}"

    def arm(self) -> None:
        """Make this process kill itself with SIGKILL at this instant."""
        module_name, _, path = self.what.partition(":")
        owner_path, _, name = path.rpartition(".")
        module = importlib.import_module(module_name)
        owner = attrgetter(owner_path)(module) if owner_path else module
        setattr(owner, name, _deadly(getattr(owner, name), self.when, self.n))


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
    """Write samples of three calls each, one extraction and two assessments, with about `words`
    words of evidence."""
    with file.open("w", encoding="utf-8") as lines:
        for i in range(samples):
            sample = {
                "id": f"sample-{i}",
                "question": f"What about tower {i}?",
                "answer": (
                    f"Tower {i} is {i} metres high. The WRONG king built it. A MISSING priest"
                    " prayed. It stands."
                ),
                "contexts": [
                    f"Tower {i} is {i} metres high and it stands." + " It is old." * (words // 3)
                ],
                "reference_answers": [f"It is {i} metres high."],
            }
            lines.write(json.dumps(sample) + "\n")


def score(server: Handle, *options: str) -> list[str]:
    """Return the command that scores `samples.jsonl` with one judge, with the reply cache
    `store`."""
    judge = f"openai:judge@{server.url}"
    return [
        *(
            "score",
            "samples.jsonl",
            "--judge",
            judge,
            "--metrics",
            "faithfulness,correctness",
            "--cache",
            "store",
        ),
        *options,
    ]


class Client:
    """A process of the command line, which can be restarted.

    Its log has the start and the end of the step that makes each reply durable. The end of a reply
    that waits for another process, which writes to the reply cache, comes later.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        command: Sequence[str],
        instant: Instant | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        """Start the process.

        Args:
            folder: The working directory.
            name: Name of its run directory, log and error file.
            command: Command and options without `--out`.
            instant: When the first process kills itself.
            fresh: Whether to start a new interpreter, with the environment's settings for Python.
        """
        self.out = folder / name
        self.log = folder / f"{name}.log"
        self.errors = folder / f"{name}.err"
        self._command = [*command, "--out", name]
        self._fresh = fresh
        self.peak = 0
        """Peak memory in bytes of its processes."""
        self.codes: list[int] = []
        self.start(instant)

    def start(self, instant: Instant | None = None) -> None:
        """Start the process, or restart it after its end."""
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        arguments = (
            self._command,
            str(self.out.parent),
            environment,
            str(self.log),
            str(self.errors),
            instant,
        )
        make = _SPAWNS.Process if self._fresh else FORKS.Process
        self._process = make(target=_run_client, args=arguments, daemon=True)
        self._process.start()
        self._alive = True

    @property
    def pid(self) -> int:
        """The id of the current process."""
        assert self._process.pid
        return self._process.pid

    def running(self) -> bool:
        """Return whether the process is alive, and record its memory and exit code."""
        if self._alive:
            self._record_memory()
            self._join(0)
        return self._alive

    def wait(self) -> None:
        """Wait for the end."""
        while self._alive:
            self._join(0.02)
            self._record_memory()

    def send(self, number: int) -> None:
        """Send a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait for the end."""
        self._record_memory()
        self.send(number)
        self.wait()

    def noted(self, word: str) -> set[int]:
        """Return the numbers of the requests whose replies it began, or finished, to make
        durable."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return {int(line.split()[1]) for line in lines if line.startswith(word)}

    def _join(self, seconds: float) -> None:
        """Wait at most `seconds` for the end, and record the exit code."""
        self._process.join(seconds)
        if (code := self._process.exitcode) is not None:
            self._alive = False
            self.codes.append(code)

    def _record_memory(self) -> None:
        """Record the peak memory so far. (That of wait4 includes the memory of the parent.)"""
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
            peak = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
            self.peak = max(self.peak, int(peak) * 1024)


def _run_client(
    command: list[str],
    folder: str,
    environment: dict[str, str],
    log: str,
    errors: str,
    instant: Instant | None,
) -> None:
    """Run the command line in the client's process."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)

    import httpx2

    from claimeval.__main__ import main
    from claimeval.execution.batch import polling
    from claimeval.providers import http
    from claimeval.store.store import Store

    polling.MIN_INTERVAL = 0.2
    notes = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if instant:
        instant.arm()
    record_response = http.record_response
    put_at_once = Store.put_at_once
    # a variable of the context, which a task that stores the reply later copies
    receiving = ContextVar[str | None]("receiving", default=None)

    def note_response(response: httpx2.Response) -> None:
        number = response.headers.get("x-request-id", "req_-1").removeprefix("req_")
        os.write(notes, f"begin {number}\n".encode())
        token = receiving.set(number)
        try:
            record_response(response)
        finally:
            receiving.reset(token)

    def note_stored(store: Store, key: str, value: bytes) -> None:
        put_at_once(store, key, value)
        if number := receiving.get():
            os.write(notes, f"end {number}\n".encode())

    # mypy allows no assignment to a method, and to no name that a module does not export
    setattr(Store, "put_at_once", note_stored)  # noqa: B010
    setattr(http, "record_response", note_response)  # noqa: B010
    sys.argv = ["claimeval", *command]
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may have changed it
    try:
        main()
    finally:
        # From here on an interpreter of its own would end with the code of the command, whatever
        # the signal.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
