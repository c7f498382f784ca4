"""Carries a plan out over samples: every sample goes its way, and what comes out is added up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from claimeval.carrying import Ending, carry_through
from claimeval.execution import Executor
from claimeval.execution.batch import Batching
from claimeval.execution.limits import Limits
from claimeval.execution.progress import Progress
from claimeval.pipeline import evaluate
from claimeval.plan import Plan
from claimeval.records import Sample, SampleResult
from claimeval.run import Summary, Tallies

T = TypeVar("T")


class Anew(Generic[T]):
    """Items that are read from the beginning whenever they are gone over."""

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


def identity(plan: Plan, samples: Iterable[Sample]) -> str:
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
    plan: Plan,
    *,
    notes: tuple[str, ...],
    cache: Path,
    limits: Limits,
    progress: Progress,
    offline: bool,
    on_result: Callable[[SampleResult], None],
    run: str = "",
    batching: Batching | None = None,
) -> Outline:
    """Evaluates every sample; `on_result` gets the results one by one, in the order of the samples.

    An earlier result stands for its sample: what it has is not asked for again.
    Stops early, with what is finished so far, on Ctrl-C, when a cap is reached and when no judge or no extractor is
    left; replies that are under way then are waited for and kept. `run` is the `identity` that the caps are for. With
    `batching` the samples are gone over several times, and must be the same each time.
    """
    tallies = Tallies(plan.metrics, notes, plan.judges, plan.extractor, plan.panel, plan.derived, plan.cluster)

    async def work(item: Sample | SampleResult, executor: Executor) -> SampleResult:
        if isinstance(item, SampleResult):
            return await evaluate(item.sample, plan, executor, item)
        return await evaluate(item, plan, executor)

    def take(result: SampleResult) -> None:
        tallies.add(result)
        on_result(result)

    ending = await carry_through(
        samples,
        work,
        judges=plan.asked,
        cache=cache,
        limits=limits,
        progress=progress,
        offline=offline,
        on_result=take,
        hopeless=lambda stopped: _hopeless(stopped, plan),
        run=run,
        batching=batching,
    )
    return Outline(
        summary=tallies.summary(complete=ending.complete),
        interrupted=ending.interrupted,
        stopped=ending.stopped,
        over_budget=ending.over_budget,
        paused=ending.paused,
    )


def _hopeless(stopped: Mapping[str, str], plan: Plan) -> bool:
    asked = [judge.name for judge in plan.judges if judge.name not in plan.on_record]
    nobody = bool(asked) and all(name in stopped for name in asked)
    one_taker = plan.extracts and not plan.panel.own_claims
    return nobody or (one_taker and plan.extractor.name in stopped)
