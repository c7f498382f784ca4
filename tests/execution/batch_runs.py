"""A whole evaluation through batches, with what the server's log says of it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.loopback import Batching, BatchLine, Handle, Name, ThreadHandle
from claimeval.types.records import Sample
from claimeval.types.requests import Judge
from tests.conftest import StartServer
from tests.sample_runs import SAMPLE, Run, run

PROVIDERS: tuple[Name, ...] = ("openai", "mistral")


def samples(count: int) -> list[Sample]:
    """Samples that ask different questions; half of each answer's claims are supported."""
    return [
        SAMPLE.model_copy(update={"id": f"sample-{n}", "question": f"What about tower {n}?"})
        for n in range(count)
    ]


def spec(server: Handle, provider: Name, model: str = "judge") -> str:
    """A judge as a user names it."""
    return f"{provider}:{model}@{server.url_for(provider)}"


def ahead(start_server: StartServer, server: ThreadHandle, plan: Batching) -> ThreadHandle:
    """The same server when time has gone on: its batches now take as long as this plan says."""
    server.stop()
    options = server.server.options
    again = dataclasses.replace(
        options, batching=plan, state=str(options.state_path), port=server.port
    )
    return start_server(again, judge=server.server.judge)


class Came(NamedTuple):
    """What came of a run, by its own account and the server's."""

    run: Run
    lines: list[BatchLine]
    """What batches have worked off."""
    online: int
    """Requests that were asked one by one."""
    creates: int
    """Requests to make a batch; those to list them have no body."""

    @property
    def batches(self) -> int:
        return len({line.batch for line in self.lines})

    @property
    def asked(self) -> Counter[str]:
        """How often each request was in a batch."""
        return Counter(str(line.custom_id) for line in self.lines)

    @property
    def paid(self) -> Counter[str]:
        """How often each request was charged for in a batch."""
        return Counter(str(line.custom_id) for line in self.lines if line.paid)


def go(
    server: Handle, judges: Sequence[Judge | str], cache: Path, count: int = 4, **options: Any
) -> Came:
    """Carries the evaluation out."""
    done = run(judges, cache, samples(count), **{"batch": True} | options)
    exchanges = server.exchanges()
    empty = hashlib.sha256(b"").hexdigest()
    return Came(
        done,
        server.batch_lines(),
        sum(e.path.endswith("/chat/completions") for e in exchanges),
        sum(
            e.path.endswith(("/v1/batches", "/batch/jobs")) and e.sha256 != empty for e in exchanges
        ),
    )
