"""Carries a plan out over samples: every sample goes its way, and what comes out is added up.

Side scores that judges give: a row a sample, carried through the store like everything that is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Generic, NamedTuple, TypeVar

from claimeval.evaluation.claims import evaluate
from claimeval.evaluation.plan import ClaimsJob
from claimeval.evaluation.summary.run import Summary, Tallies
from claimeval.execution import Executor
from claimeval.execution.runner import Ending, run_items
from claimeval.metrics.side import SideRow
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import ABSTAINED, NOT_APPLICABLE, REASONS, Sample, SampleResult
from claimeval.types.requests import Judge

T = TypeVar("T")


class Reiterable(Generic[T]):
    """An iterable that can be iterated more than once; each pass reads the items from the start."""

    def __init__(self, begin: Callable[[], Iterator[T]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[T]:
        return self._begin()


class Outline(NamedTuple):
    """How a run ended."""

    summary: Summary
    """`complete` is False when the run stopped before the last sample."""
    interrupted: bool
    """By Ctrl-C."""
    stopped: dict[str, str]
    """The judges that could not be asked any more, and why."""
    over_budget: str | None
    """The cap that was reached, in words."""
    paused: str | None = None
    """What is under way in batches, in words, when the run did not wait for it."""

    @property
    def ending(self) -> Ending:
        """The same without what the run adds up to."""
        return Ending(self.summary.complete, self.interrupted, self.stopped, self.over_budget, self.paused)


def identity(plan: ClaimsJob, samples: Iterable[Sample]) -> str:
    """What makes two commands one run, for which a cap holds: the same questions about the same samples."""
    digest = hashlib.sha256()
    for part in (*plan.metrics, *plan.judges, plan.extractor):
        digest.update(part.model_dump_json().encode())
    panel = plan.panel
    digest.update(f"{panel.per_document} {panel.shuffles} {panel.replicates} {panel.own_claims}".encode())
    for prompt in (plan.extract_prompt, plan.assess_prompt, *plan.own_prompts.values()):
        digest.update(prompt.digest.encode())
    for sample in samples:
        digest.update(repr(sample).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


async def carry_out(
    samples: Iterable[Sample | SampleResult],
    plan: ClaimsJob,
    *,
    notes: tuple[str, ...],
    options: RunOptions,
    progress: Progress,
    on_result: Callable[[SampleResult], None],
    run: str = "",
) -> Outline:
    """Evaluates every sample; `on_result` gets the results one by one, in the order of the samples.

    An earlier result stands for its sample: what it has is not asked for again.
    Stops early, with what is finished so far, on Ctrl-C, when a cap is reached and when no judge or no extractor is
    left; replies that are under way then are waited for and kept. `run` is the `identity` that the caps are for. With
    `options.batch` the samples are gone over several times, and must be the same each time.
    """
    tallies = Tallies(plan.metrics, notes, plan.judges, plan.extractor, plan.panel, plan.derived, plan.cluster)

    async def work(item: Sample | SampleResult, executor: Executor) -> SampleResult:
        if isinstance(item, SampleResult):
            return await evaluate(item.sample, plan, executor, item)
        return await evaluate(item, plan, executor)

    def take(result: SampleResult) -> None:
        tallies.add(result)
        on_result(result)

    ending = await run_items(
        samples,
        work,
        judges=plan.asked,
        options=options,
        progress=progress,
        on_result=take,
        hopeless=lambda stopped: _hopeless(stopped, plan),
        run=run,
    )
    return Outline(
        summary=tallies.summary(complete=ending.complete),
        interrupted=ending.interrupted,
        stopped=ending.stopped,
        over_budget=ending.over_budget,
        paused=ending.paused,
    )


def _hopeless(stopped: Mapping[str, str], plan: ClaimsJob) -> bool:
    asked = [judge.name for judge in plan.judges if judge.name not in plan.on_record]
    nobody = bool(asked) and all(name in stopped for name in asked)
    one_taker = plan.extracts and not plan.panel.own_claims
    return nobody or (one_taker and plan.extractor.name in stopped)


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
    options: RunOptions,
    progress: Progress,
) -> tuple[list[SideRow], Ending]:
    """The rows of all samples in order. Stops early as `claimeval score` does, and goes on from the stored replies."""
    rows: list[SideRow] = []
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


def lost(rows: Sequence[SideRow]) -> float:
    """The share of scores lost to failures of judges, of those that the samples could have; 0 for none."""
    values = failures = 0
    for row in rows:
        values += sum(value is not None for value in row.scores.values())
        failures += sum(reason in FAILURES for reason in row.undefined.values())
    return failures / (values + failures) if failures else 0.0
