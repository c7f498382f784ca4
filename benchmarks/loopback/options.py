"""Options of a loopback server, as data that can be passed to another process."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.loopback.batch.plan import Batching
from benchmarks.loopback.faults import Faults
from benchmarks.loopback.limits import Limits


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Seconds before the first byte of an answer without faults: constant, with a share of slow
    answers."""

    seconds: float = 0.0
    tail_seconds: float = 0.0
    tail_rate: float = 0.0
    """Share of requests, 0 to 1, that take ``tail_seconds`` instead."""
    seed: int = 0

    def of(self, n: int) -> float:
        """Return the latency of request ``n``, which depends only on the seed and n."""
        slow = (
            self.tail_rate and random.Random(f"latency {self.seed} {n}").random() < self.tail_rate
        )
        return self.tail_seconds if slow else self.seconds


@dataclass(frozen=True, kw_only=True)
class Options:
    """The settings of a server, all of which can be written as JSON."""

    judge: str = "benchmarks.loopback.judge:EchoJudge"
    """``module:name`` of the function that makes the judge, importable from the root of the
    checkout."""
    judge_args: Mapping[str, object] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    latency: Latency = Latency()
    limits: Limits | None = None
    """Rate limits of each model; None for no limits."""
    redirect_to: str = ""
    """The base URL of redirects; "" for this server."""
    key: str | None = None
    """The only API key that is accepted; None accepts any."""
    port: int = 0
    """0 for a free port."""
    log: str | None = None
    """Path of the event log; None for the handle's temporary folder."""
    batching: Batching = field(default_factory=Batching)
    state: str | None = None
    """Folder of files and batches; None for a folder next to the event log."""
    drip: float = 0.05
    """Seconds between two bytes of a dripping answer."""

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Options:
        values = json.loads(text)
        faults = values.pop("faults", {})
        limits = values.pop("limits", None)
        batching: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.pop("batching", {}).items()
        }
        return cls(
            **{**values, "latency": Latency(**values.get("latency", {}))},
            faults=Faults(**{**faults, "first": tuple(faults.get("first", ()))}),
            batching=Batching(**batching),
            limits=Limits(**limits) if limits else None,
        )

    @property
    def log_path(self) -> Path:
        """Path of the event log, which handles set."""
        assert self.log is not None
        return Path(self.log)

    @property
    def state_path(self) -> Path:
        """Folder of files and batches."""
        return Path(self.state) if self.state else self.log_path.with_suffix(".state")
