"""The event log: JSON lines about requests, answers and costs, which can be read while the server
runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = dict[str, Any]
"""``{"event": "received", "time", "n", "path", "sha256", "model", "headers": [names]}`` and later
``{"event": "sent", "time", "n", "status", "fault", "paid", "tokens", "fully_sent"}``.
``n`` counts requests from 0. Lines of batches:
``{"event": "batch_line", "time", "batch", "custom_id", "sha256", "fault", "paid", "tokens"}``."""


class EventLog:
    """Appends one event per ``os.write``, so that lines are complete even if the server is
    killed."""

    def __init__(self, path: Path) -> None:
        self.requests = sum(e["event"] == "received" for e in read(path)[0]) if path.exists() else 0
        """Number of requests in the log when it was opened, from which a restarted server continues
        to count."""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, event: Event) -> None:
        os.write(self._file, json.dumps(event, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with its result."""

    n: int
    received: float
    """Unix time."""
    path: str
    sha256: str
    """SHA-256 of the body, the same for equal requests."""
    model: str | None
    headers: tuple[str, ...]
    """Names of the headers in lower case, without values."""
    sent: float | None = None
    """Unix time when the exchange ended; None if it is in flight or the server was killed."""
    status: int | None = None
    """None also if the fault prevented a status line."""
    fault: str | None = None
    paid: bool = False
    tokens: int = 0
    fully_sent: bool = False
    """Whether all bytes of a complete answer were passed to the operating system."""

    @property
    def answered(self) -> bool:
        """Whether the server sent a complete reply without faults."""
        return self.status == 200 and self.fault is None and self.fully_sent


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One line of a batch with its result."""

    batch: str
    custom_id: str | None
    sha256: str
    """SHA-256 of the body as compact JSON."""
    fault: str | None
    paid: bool
    tokens: int


def batch_lines(events: Iterable[Event]) -> list[BatchLine]:
    """Return all processed lines of batches, each once, even if a server that was killed logged
    them again."""
    processed = {(e["batch"], e["custom_id"]): e for e in events if e["event"] == "batch_line"}
    fields = BatchLine.__dataclass_fields__
    return [BatchLine(**{name: event[name] for name in fields}) for event in processed.values()]


def read(path: Path, position: int = 0) -> tuple[list[Event], int]:
    """Return the events of a log from a position on, and the position of their end, without an
    incomplete last line."""
    with path.open("rb") as log:
        log.seek(position)
        lines = [line for line in log if line.endswith(b"\n")]
    return [json.loads(line) for line in lines], position + sum(map(len, lines))


def exchanges(events: Iterable[Event]) -> list[Exchange]:
    """Return the joined events of each request, in order of arrival."""
    received: dict[int, Event] = {}
    ended: dict[int, Event] = {}
    for event in events:
        if event["event"] != "batch_line":
            (received if event["event"] == "received" else ended)[event["n"]] = event
    return list(_join(received, ended))


def _join(received: dict[int, Event], ended: dict[int, Event]) -> Iterator[Exchange]:
    for n, event in sorted(received.items()):
        end = ended.get(n, {})
        yield Exchange(
            n=n,
            received=event["time"],
            path=event["path"],
            sha256=event["sha256"],
            model=event["model"],
            headers=tuple(event["headers"]),
            sent=end.get("time"),
            status=end.get("status"),
            fault=end.get("fault"),
            paid=end.get("paid", False),
            tokens=end.get("tokens", 0),
            fully_sent=end.get("fully_sent", False),
        )
