"""What a loopback server can be told, as data, so that another process can be started with it."""

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
    """Seconds before the first byte of a good answer: constant, with a share of slow ones."""

    seconds: float = 0.0
    tail_seconds: float = 0.0
    tail_rate: float = 0.0
    """Share of requests, 0 to 1, that take ``tail_seconds`` instead."""
    seed: int = 0

    def of(self, n: int) -> float:
        """The latency of request ``n``: a pure function of the seed and n."""
        slow = self.tail_rate and random.Random(f"latency {self.seed} {n}").random() < self.tail_rate
        return self.tail_seconds if slow else self.seconds


@dataclass(frozen=True, kw_only=True)
class Options:
    """One server's settings; every value survives a trip through JSON."""

    judge: str = "benchmarks.loopback.judge:EchoJudge"
    """``module:name`` of what makes the judge, importable from the root of the checkout."""
    judge_args: Mapping[str, object] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    latency: Latency = Latency()
    limits: Limits | None = None
    """Enforced for every model apart; None enforces none."""
    redirect_to: str = ""
    """The base URL that redirects point to; "" is this server."""
    key: str | None = None
    """The one API key that is accepted; None accepts any."""
    port: int = 0
    """0 takes a free one."""
    log: str | None = None
    """Path of the event log; None puts it into the handle's temporary folder."""
    batching: Batching = field(default_factory=Batching)
    state: str | None = None
    """The folder of files and batches; None puts it beside the event log."""
    drip: float = 0.05
    """Seconds between two bytes of a dripping answer."""

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Options:
        values = json.loads(text)
        faults, limits = values.pop("faults", {}), values.pop("limits", None)
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
        """Where the events go. The log must be set: handles do that."""
        assert self.log is not None
        return Path(self.log)

    @property
    def state_path(self) -> Path:
        """Where files and batches are kept."""
        return Path(self.state) if self.state else self.log_path.with_suffix(".state")
