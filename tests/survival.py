"""Runs that are killed: client processes, a server that fails as it is told, and what both their logs say in the end.

As a program it is the client: the command line, with a note in a log for every reply before and after the step that
makes it durable.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.loopback import Exchange, Faults, Handle, Latency, Options, mixed, named, serve
from tests import instants
from tests.instants import Instant

ROOT = Path(__file__).parents[1]
SOFT = tuple(kind for kind in named("transient", "connection", "malformed") if kind != "lone_surrogate")
"""Faults after which a client that asks again gets the very same reply as without them."""


def faults(share: float, seed: int = 0) -> Faults:
    """A mix of everything that passes; 429s and silent servers are a few, since all workers wait for them."""
    rates = mixed(share * 0.96, SOFT) | {"rate_limited_ms": share * 0.02, "hang": share * 0.02}
    return Faults(seed=seed, rates=rates, per="body", at_most=3)


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


class Client:
    """One process of the command line, restarted as often as it takes."""

    def __init__(
        self, folder: Path, server: Handle, name: str, options: Sequence[str], instant: Instant | None = None
    ) -> None:
        """It starts at once; with an `instant` it kills itself then, the first time."""
        self.out = folder / name
        self.log = folder / f"{name}.log"
        self._command = [
            *(sys.executable, "-m", "tests.survival", "score", "samples.jsonl"),
            *("--judge", f"openai:judge@{server.url}", "--metrics", "faithfulness,correctness"),
            *("--cache", str(folder / "store"), "--out", self.out.name, *options),
        ]
        self.peak = 0
        """Bytes of memory that one of its processes had at most."""
        self.codes: list[int] = []
        self.start(instant)

    def start(self, instant: Instant | None = None) -> None:
        """Begins, or goes on."""
        environment = os.environ | {"SURVIVAL_LOG": str(self.log), "PYTHONPATH": str(ROOT)}
        environment |= {instants.VARIABLE: str(instant)} if instant else {}
        with (self.out.parent / f"{self.out.name}.err").open("ab") as errors:
            self._process = subprocess.Popen(
                self._command, cwd=self.out.parent, env=environment, stdout=subprocess.DEVNULL, stderr=errors
            )

    @property
    def pid(self) -> int:
        """Of its present process."""
        return self._process.pid

    def running(self) -> bool:
        """Whether it still works; takes note of how it ended."""
        if self._process.returncode is not None:
            return False
        self._look()
        pid, status = os.waitpid(self._process.pid, os.WNOHANG)
        if not pid:
            return True
        self._ended(status)
        return False

    def wait(self) -> None:
        """Waits for the end."""
        _, status = os.waitpid(self._process.pid, 0)
        self._ended(status)

    def send(self, number: int) -> None:
        """Sends a signal."""
        self._process.send_signal(number)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends the signal and waits for the end."""
        self._look()
        self.send(number)
        self.wait()

    def _look(self) -> None:
        """Takes note of the most memory it had so far. (What wait4 says begins with the memory of the parent.)"""
        with contextlib.suppress(FileNotFoundError):
            lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
            most = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
            self.peak = max(self.peak, int(most) * 1024)

    def _ended(self, status: int) -> None:
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.codes.append(self._process.returncode)

    def noted(self, word: str) -> set[int]:
        """The numbers of the requests whose replies it has begun or ended to make durable."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return {int(line.split()[1]) for line in lines if line.startswith(word)}


class Survived(NamedTuple):
    """What both logs say."""

    calls: int
    """Distinct questions."""
    requests: int
    kills: int
    lost: int
    """Questions without a good reply, and samples without their result."""
    repeated: int
    """Questions that got a good, whole reply more than once."""
    repeated_kept: int
    """Of these, those where an earlier reply had been read and the step that makes it durable was over."""
    repeated_read: int
    """The same, counting from the last byte on: the step itself takes a tenth of a millisecond."""
    peak: int
    """Bytes."""
    seconds: float
    results: tuple[bytes, ...]
    """The results of each client, and of the summary."""
    codes: tuple[int, ...]
    port: int
    """Of the server: a judge's address is part of the results."""


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
    """Lets clients with one store go through the samples, kills them at random instants, and reads the logs."""
    folder.mkdir(exist_ok=True)
    write_samples(folder / "samples.jsonl", samples)
    options = ("--concurrency", str(concurrency), "--timeout", "3")
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
        running = [Client(folder, server, f"run-{i}", options) for i in range(clients)]
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
    """About how many requests have been answered so far, without reading the whole log."""
    return server.log.stat().st_size // BYTES_A_REQUEST


BYTES_A_REQUEST = 420
"""Of the event log."""


def _survived(
    exchanges: list[Exchange], clients: Sequence[Client], samples: int, kills: int, seconds: float, port: int
) -> Survived:
    good: dict[str, list[int]] = defaultdict(list)
    for http in exchanges:
        good[http.sha256] += [http.n] if http.answered else []
    begun = set[int]().union(*[client.noted("begin") for client in clients])
    ended = set[int]().union(*[client.noted("end") for client in clients])
    results = [client.out / name for client in clients for name in ("results.jsonl", "summary.json")]
    lines = [file.read_bytes().count(b"\n") for file in results[::2]]
    return Survived(
        calls=len(good),
        requests=len(exchanges),
        kills=kills,
        lost=sum(not numbers for numbers in good.values()) + sum(samples - count for count in lines),
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
    """The client's side."""
    import httpx2

    from claimeval.cli.main import main as command_line
    from claimeval.providers import http

    log = os.open(os.environ["SURVIVAL_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    instants.obey()
    record_response = http.record_response

    def note_response(response: httpx2.Response) -> None:
        number = response.headers.get("x-request-id", "req_-1").removeprefix("req_")
        os.write(log, f"begin {number}\n".encode())
        record_response(response)
        os.write(log, f"end {number}\n".encode())

    setattr(http, "record_response", note_response)  # noqa: B010  # not among the names it exports
    command_line()


if __name__ == "__main__":
    main()
