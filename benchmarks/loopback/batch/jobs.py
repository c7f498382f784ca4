"""Batches: their records, and their status at a given time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.loopback.batch.files import replace
from benchmarks.loopback.batch.plan import Batching
from benchmarks.loopback.dialects import Name

Phase = Literal[
    "queued",
    "running",
    "finishing",
    "done",
    "failed",
    "expired",
    "cancelling",
    "cancelled",
    "unknown",
]
QUEUED = 0.1
FINISHING = 0.9
CANCELLING = 0.1
HALF = 0.5
"""Shares of a batch's duration: end of validation, start of collecting results, stop after
cancelling, and start of an unknown status."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a whole batch was refused."""

    code: str
    message: str
    line: int | None = None
    """Line number, from 1; None if it is not about one line."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a batch that has ended."""

    at: float
    """Unix time."""
    output: str | None
    """Id of the output file; None if there is none."""
    errors: str | None
    """Id of the error file; None if there is none."""
    completed: int
    failed: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The stored record of a batch."""

    id: str
    n: int
    """Number of the batch on the server, from 0, over both providers."""
    dialect: Name
    inputs: tuple[str, ...]
    """File ids."""
    endpoint: str
    model: str | None
    metadata: dict[str, Any] | None
    created: float
    """Unix time."""
    total: int
    """Number of lines."""
    problems: tuple[Problem, ...] = ()
    cancelled: float | None = None
    """Unix time of the request to cancel."""
    settled: Settled | None = None

    def phase(self, plan: Batching, now: float) -> Phase:
        """Return the status, which depends only on the plan and the time."""
        took = plan.duration(self.n)
        elapsed = now - self.created
        outcome = plan.outcome(self.n)
        if self.cancelled is not None:
            return "cancelled" if now >= self.cancelled + CANCELLING * took else "cancelling"
        if elapsed < QUEUED * took:
            return "queued"
        if self.problems or outcome in ("failed", "token_limit"):
            return "failed"
        if outcome == "stuck":
            return "running"
        if outcome == "unknown_status" and HALF * took <= elapsed < took:
            return "unknown"
        if elapsed < FINISHING * took:
            return "running"
        if elapsed < took:
            return "finishing"
        return "expired" if outcome == "expired" else "done"

    def share_done(self, plan: Batching) -> float:
        """Return the share of the lines that had run when it ended, from 0 to 1."""
        if plan.outcome(self.n) == "expired":
            return HALF
        took = plan.duration(self.n)
        if self.cancelled is None or took == 0:
            return 1.0
        return min(1.0, (self.cancelled - self.created) / took)


class Jobs:
    """The batches in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, job: Job) -> Job:
        self._folder.mkdir(parents=True, exist_ok=True)
        replace(self._folder / f"{job.n:06d}.json", json.dumps(dataclasses.asdict(job)).encode())
        return job

    def count(self) -> int:
        """Return the number of batches that were ever created."""
        return sum(1 for _ in self._folder.glob("*.json"))

    def all(self, dialect: Name) -> Iterator[Job]:
        """Yield the batches of one provider, newest first."""
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            job = _job(json.loads(path.read_bytes()))
            if job.dialect == dialect:
                yield job

    def get(self, dialect: Name, id: str) -> Job | None:
        return next((job for job in self.all(dialect) if job.id == id), None)


def _job(kept: dict[str, Any]) -> Job:
    settled = kept.pop("settled")
    problems = tuple(Problem(**problem) for problem in kept.pop("problems"))
    return Job(
        **{**kept, "inputs": tuple(kept["inputs"])},
        problems=problems,
        settled=Settled(**settled) if settled else None,
    )
