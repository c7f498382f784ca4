"""The event log: JSON lines that say what was asked, answered and paid, readable while it grows."""

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
    """Appends one event per ``os.write``, so that lines are whole even when the server is killed."""

    def __init__(self, path: Path) -> None:
        self.requests = sum(e["event"] == "received" for e in read(path)[0]) if path.exists() else 0
        """How many requests the log held when it was opened: a restarted server counts on."""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, event: Event) -> None:
        os.write(self._file, json.dumps(event, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with what became of it."""

    n: int
    received: float
    """Unix time."""
    path: str
    sha256: str
    """Of the body's bytes: equal requests are equal here."""
    model: str | None
    headers: tuple[str, ...]
    """Names only, lower case, never values."""
    sent: float | None = None
    """Unix time when the exchange ended; None while it is in flight or when the server was killed before."""
    status: int | None = None
    """None also where the fault left no room for a status line."""
    fault: str | None = None
    paid: bool = False
    tokens: int = 0
    fully_sent: bool = False
    """All bytes of a whole answer were handed to the operating system."""

    @property
    def answered(self) -> bool:
        """A good, whole reply left the server."""
        return self.status == 200 and self.fault is None and self.fully_sent


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One line of a batch with what became of it."""

    batch: str
    custom_id: str | None
    sha256: str
    """Of the body as compact JSON."""
    fault: str | None
    paid: bool
    tokens: int


def batch_lines(events: Iterable[Event]) -> list[BatchLine]:
    """All lines that batches have worked off, each once, though a server that was killed meanwhile logs them again."""
    worked_off = {(e["batch"], e["custom_id"]): e for e in events if e["event"] == "batch_line"}
    fields = BatchLine.__dataclass_fields__
    return [BatchLine(**{name: event[name] for name in fields}) for event in worked_off.values()]


def read(path: Path, position: int = 0) -> tuple[list[Event], int]:
    """The events of a log from a position on, and where they end; a torn last line (server killed) is left out."""
    with path.open("rb") as log:
        log.seek(position)
        lines = [line for line in log if line.endswith(b"\n")]
    return [json.loads(line) for line in lines], position + sum(map(len, lines))


def exchanges(events: Iterable[Event]) -> list[Exchange]:
    """The events of each request joined, in order of arrival."""
    asked: dict[int, Event] = {}
    ended: dict[int, Event] = {}
    for event in events:
        if event["event"] != "batch_line":
            (asked if event["event"] == "received" else ended)[event["n"]] = event
    return list(_join(asked, ended))


def _join(asked: dict[int, Event], ended: dict[int, Event]) -> Iterator[Exchange]:
    for n, event in sorted(asked.items()):
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
