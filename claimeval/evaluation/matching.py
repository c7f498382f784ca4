"""Retrieved texts matched with reference passages by judges, where neither ids nor the texts themselves tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from claimeval import ir
from claimeval.evaluation.relevance import PER_CALL, Candidates, Graded, GradingPlan, grade
from claimeval.evaluation.relevance_run import grading_plan
from claimeval.evaluation.retrieval import assigned, by_content, held_by_text, units, value_of
from claimeval.evaluation.run import Work
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.metrics.scoring import SampleScores, defined, undefined
from claimeval.types.records import Reason, Sample
from claimeval.types.requests import Judge
from claimeval.types.scales import MATCH


def matching_plan(
    specs: Sequence[str | Judge],
    prompt: str = "same_content",
    *,
    per_call: int = PER_CALL,
    panel: Mapping[str, Any] = MappingProxyType({}),
) -> GradingPlan:
    """What is asked of every pair of reference and document, checked; UsageError before any call can be made."""
    return grading_plan(specs, MATCH, prompt, per_call=per_call, panel={"vote": "majority", **panel})


def matching_work(plan: GradingPlan, measures: Sequence[ir.Measure]) -> Work:
    """What is done for every sample."""
    return Work(
        plan.judges,
        lambda sample, executor: match(sample, plan, measures, executor),
        (plan.prompt.digest, plan.scale, plan.panel, plan.per_call),
    )


def settings(plan: GradingPlan) -> dict[str, str]:
    """What decided the matches, in words."""
    return {
        "match": "judge",
        "judges": ", ".join(judge.name for judge in plan.judges),
        "prompt": f"{plan.prompt.name} {plan.prompt.digest[:12]}",
        "vote": plan.panel.vote,
    }


def candidates(sample: Sample, per_call: int) -> Iterator[Candidates]:
    """The pairs that the texts leave open, by reference (`reference-1`, ...).

    A document that holds a reference by its text is not asked about, nor are documents below the one that holds the
    reference at hand.
    """
    by_text = by_content(sample)
    for name, reference in held_by_text(sample).references.items():
        above = by_text.index(name) if name in by_text else len(by_text)
        unsure = [
            document.model_copy(update={"id": str(rank)})
            for rank, (document, held) in enumerate(zip(sample.contexts or (), by_text, strict=True), 1)
            if rank <= above and held.startswith("other-") and (document.text.strip() or document.title)
        ]
        for start in range(0, len(unsure), per_call):
            yield Candidates(name, reference, tuple(unsure[start : start + per_call]))


def every_candidate(samples: Iterable[Sample], per_call: int) -> Iterator[Candidates]:
    """The open pairs of all samples, for an estimate of the cost."""
    for sample in samples:
        yield from candidates(sample, per_call)


async def match(sample: Sample, plan: GradingPlan, measures: Sequence[ir.Measure], executor: Executor) -> SampleScores:
    """The rank metrics of one sample. Where a judge's opinion on a pair is missing nothing has a value."""
    unit = units(measures)
    if sample.contexts is None or not sample.reference_contexts:
        return undefined(sample.id, unit, "missing_input")
    asked: list[tuple[Graded, ...]] = await gather_all(
        [grade(item, plan, executor) for item in candidates(sample, plan.per_call)]
    )
    graded = [one for group in asked for one in group]
    details: dict[str, JsonValue] = {
        "judged": [one.model_dump(mode="json", exclude_defaults=True) for one in graded],
    }
    if because := _hole(graded):
        return undefined(sample.id, unit, because).model_copy(update={"details": details})
    by_text = held_by_text(sample)
    said = {(int(one.document), one.query) for one in graded if one.grade}
    held = {rank: names | {name for at, name in said if at == rank} for rank, names in by_text.by_rank.items()}
    found = assigned(by_text._replace(by_rank=held))
    values = value_of(found, list(by_text.references), measures)
    return defined(sample.id, values, unit).model_copy(update={"details": {"matched": list(found), **details}})


def judged_pairs(rows: Iterable[SampleScores]) -> int:
    """How many pairs of reference and document were put to judges."""
    return sum(len(pairs) for row in rows if isinstance(pairs := row.details.get("judged"), list))


def _hole(graded: Iterable[Graded]) -> Reason | None:
    return next((one.ungraded_because for one in graded if one.grade is None), None)
