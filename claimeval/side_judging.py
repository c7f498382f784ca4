"""Side scores that judges give: a row a sample, carried through the store like everything that is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from claimeval.calls import Judge
from claimeval.carrying import Ending, carry_through
from claimeval.execution import Executor
from claimeval.execution.batch import Batching
from claimeval.execution.limits import Limits
from claimeval.execution.progress import Progress
from claimeval.records import ABSTAINED, NOT_APPLICABLE, REASONS, Sample
from claimeval.side_scores import SideRow

FAILURES = frozenset(REASONS) - NOT_APPLICABLE - ABSTAINED
"""Reasons that lie neither in the sample nor in a judge's honest answer."""


class Work(NamedTuple):
    """What is done for every sample, by whom."""

    judges: tuple[Judge, ...]
    score: Callable[[Sample, Executor], Awaitable[SideRow]]
    identity: tuple[object, ...]
    """What makes two such works one, for which a cap holds; its `repr` counts."""


async def score_each(
    samples: Iterable[Sample],
    work: Work,
    *,
    cache: Path,
    limits: Limits,
    progress: Progress,
    offline: bool = False,
    batching: Batching | None = None,
) -> tuple[list[SideRow], Ending]:
    """The rows of all samples in order. Stops early as `claimeval score` does, and goes on from the stored replies."""
    rows: list[SideRow] = []
    ending = await carry_through(
        samples,
        work.score,
        judges=work.judges,
        cache=cache,
        limits=limits,
        progress=progress,
        offline=offline,
        on_result=rows.append,
        hopeless=lambda stopped: all(judge.name in stopped for judge in work.judges),
        run=_identity(work, samples) if limits.capped else "",
        batching=batching,
    )
    return rows, ending


def _identity(work: Work, samples: Iterable[Sample]) -> str:
    digest = sha256(repr((work.judges, work.identity)).encode())
    for sample in samples:
        digest.update(repr(sample).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def lost(rows: Sequence[SideRow]) -> float:
    """The share of scores lost to failures of judges, of those that the samples could have; 0 for none."""
    values = failures = 0
    for row in rows:
        values += sum(value is not None for value in row.scores.values())
        failures += sum(reason in FAILURES for reason in row.undefined.values())
    return failures / (values + failures) if failures else 0.0
