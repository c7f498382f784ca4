"""Starts and stops loopback servers in a separate process or in a thread of this one."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from benchmarks.loopback.dialects import Name
from benchmarks.loopback.events import BatchLine, Event, Exchange, batch_lines, exchanges, read
from benchmarks.loopback.judge import Judge
from benchmarks.loopback.options import Options
from benchmarks.loopback.server import FLUSH, Loopback

ROOT = Path(__file__).resolve().parents[2]
STARTS_WITHIN = 20.0
STOPS_WITHIN = 5.0
"""Seconds after which a server that does not start or stop is an error, or killed."""
BASES: dict[Name, str] = {"openai": "/openai/v1", "mistral": "/mistral"}


class Handle:
    """A running server."""

    def __init__(self, port: int, log: Path, dialect: Name) -> None:
        self.port = port
        self.log = log
        self._dialect = dialect
        self._events: list[Event] = []
        self._position = 0

    @property
    def url(self) -> str:
        """The base URL for the SDK of this dialect: OpenAI's ends in /v1, Mistral's does not."""
        return self.url_for(self._dialect)

    def url_for(self, dialect: Name) -> str:
        """Return the server's base URL for the SDK of a dialect."""
        return f"http://127.0.0.1:{self.port}{BASES[dialect]}"

    def events(self) -> list[Event]:
        """Return all events so far, including those of every exchange that has ended for the
        client."""
        self._flush()
        events, self._position = read(self.log, self._position)
        self._events += events
        return self._events.copy()

    def exchanges(self) -> list[Exchange]:
        """Return all requests so far, each with its result."""
        return exchanges(self.events())

    def batch_lines(self) -> list[BatchLine]:
        """Return all processed lines of batches."""
        return batch_lines(self.events())

    def _flush(self) -> None:
        """Wait until the server has logged everything that it has sent, or return if it has
        ended."""
        request = f"GET {FLUSH} HTTP/1.1\r\nhost: loopback\r\n\r\n".encode()
        with (
            contextlib.suppress(ConnectionError),
            socket.create_connection(("127.0.0.1", self.port), timeout=STOPS_WITHIN) as connection,
        ):
            connection.sendall(request)
            connection.recv(1024)


class ProcessHandle(Handle):
    """A server in a separate process, which ends with its parent even if the parent is killed."""

    def __init__(
        self, process: subprocess.Popen[bytes], port: int, log: Path, dialect: Name
    ) -> None:
        super().__init__(port, log, dialect)
        self.process = process

    def stop(self) -> None:
        """Stop the server and all its connections. Calling it again has no effect."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()

    def kill(self) -> None:
        """Kill the process with SIGKILL, like a crash."""
        self.process.kill()
        self.process.wait()


class ThreadHandle(Handle):
    """A server in a thread of this process. ``server.judge`` can be replaced between requests."""

    def __init__(self, options: Options, judge: Judge | None, dialect: Name) -> None:
        self.server = Loopback(options, judge)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._serve, name="loopback", daemon=True)
        super().__init__(0, options.log_path, dialect)
        self._thread.start()
        if not self._ready.wait(STARTS_WITHIN):
            raise TimeoutError("the loopback server did not start")
        if self._failed is not None:
            raise self._failed

    def _serve(self) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            self._stop = asyncio.Event()
            await self.server.run(self._stop, self._listening)

        try:
            asyncio.run(main())
        except OSError as error:
            self._failed = error
        finally:
            self._ready.set()

    def _listening(self, port: int) -> None:
        self.port = port
        self._ready.set()

    def stop(self) -> None:
        """Stop the server and all its connections. Calling it again has no effect."""
        if self._thread.is_alive() and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOPS_WITHIN)


@contextlib.contextmanager
def serve(options: Options | None = None, *, dialect: Name = "openai") -> Iterator[ProcessHandle]:
    """Run a server on 127.0.0.1 in a separate process inside the `with` block."""
    with _with_log(options or Options()) as logged:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.loopback", logged.to_json()],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in the terminal is for the client under test, not for its server
            start_new_session=True,
        )
        try:
            handle = ProcessHandle(process, _await_port(process), logged.log_path, dialect)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        try:
            yield handle
        finally:
            handle.stop()


@contextlib.contextmanager
def serve_in_thread(
    options: Options | None = None, *, judge: Judge | None = None, dialect: Name = "openai"
) -> Iterator[ThreadHandle]:
    """Run a server in a thread of this process inside the `with` block: fast to start, with any
    callable as judge."""
    with _with_log(options or Options()) as logged:
        handle = ThreadHandle(logged, judge, dialect)
        try:
            yield handle
        finally:
            handle.stop()


@contextlib.contextmanager
def _with_log(options: Options) -> Iterator[Options]:
    with tempfile.TemporaryDirectory(prefix="loopback-") as folder:
        yield (
            options
            if options.log
            else dataclasses.replace(options, log=str(Path(folder) / "events.jsonl"))
        )


def _await_port(process: subprocess.Popen[bytes]) -> int:
    """Return the port that the child process prints when it listens."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(STARTS_WITHIN):
            raise TimeoutError(f"the loopback server did not start within {STARTS_WITHIN:.0f} s")
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(
            f"the loopback server ended with exit code {process.wait()}; its error is above"
        )
    return int(json.loads(line)["port"])


def main(options: Options) -> None:
    """Serve in the child process until its standard input is closed or it gets SIGTERM."""

    async def run() -> None:
        stop = asyncio.Event()

        def at_end() -> None:
            if not os.read(sys.stdin.fileno(), 1024):
                stop.set()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        loop.add_reader(sys.stdin.fileno(), at_end)
        await Loopback(options).run(
            stop, lambda port: print(json.dumps({"port": port}), flush=True)
        )

    asyncio.run(run())
