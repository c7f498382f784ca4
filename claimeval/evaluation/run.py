"""Side scores that judges give: a row a sample, carried through the store like everything that is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from claimeval.execution import Executor
from claimeval.execution.runner import RunStatus, run_items
from claimeval.metrics.scoring import SampleScores
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import ABSTAINED, NOT_APPLICABLE, REASONS, Sample
from claimeval.types.requests import Judge

FAILURES = frozenset(REASONS) - NOT_APPLICABLE - ABSTAINED
"""Reasons that lie neither in the sample nor in a judge's honest answer."""


class Work(NamedTuple):
    """What is done for every sample, by whom."""

    judges: tuple[Judge, ...]
    score: Callable[[Sample, Executor], Awaitable[SampleScores]]
    identity: tuple[object, ...]
    """What makes two such works one, for which a cap holds; its `repr` counts."""


async def score_each(
    samples: Iterable[Sample],
    work: Work,
    *,
    options: RunOptions,
    progress: Progress,
) -> tuple[list[SampleScores], RunStatus]:
    """The rows of all samples in order. Stops early as `claimeval score` does, and goes on from the stored replies."""
    rows: list[SampleScores] = []
    ending = await run_items(
        samples,
        work.score,
        judges=work.judges,
        options=options,
        progress=progress,
        on_result=rows.append,
        hopeless=lambda stopped: all(judge.name in stopped for judge in work.judges),
        run=_identity(work, samples) if options.capped else "",
    )
    return rows, ending


def _identity(work: Work, samples: Iterable[Sample]) -> str:
    digest = sha256(repr((work.judges, work.identity)).encode())
    for sample in samples:
        digest.update(repr(sample).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def lost(rows: Sequence[SampleScores]) -> float:
    """The share of scores lost to failures of judges, of those that the samples could have; 0 for none."""
    values = failures = 0
    for row in rows:
        values += sum(value is not None for value in row.values.values())
        failures += sum(reason in FAILURES for reason in row.reasons.values())
    return failures / (values + failures) if failures else 0.0
