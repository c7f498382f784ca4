"""Whether a system answers what can be answered and declines what cannot: refusals told apart from answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from claimeval import lineups, prompting
from claimeval.answer_questions import ANSWERING
from claimeval.answers.opinions import Asked, opinions
from claimeval.answers.rating import RatingPlan, language_models, rating_panel
from claimeval.calls import Judge
from claimeval.execution import Executor
from claimeval.families import Families
from claimeval.records import NOT_APPLICABLE, Reason, Sample, says_something
from claimeval.side_judging import Work
from claimeval.side_scores import SideRow

METRICS = ("answered", "right_to_answer")
"""`answered`: 1 where the answer gives at least a part of what was asked for. `right_to_answer`: 1 where it does so for
an answerable question or declines an unanswerable one, by `is_answerable`."""


def answerability_plan(
    specs: Sequence[str | Judge], prompt: str = "plain", settings: Mapping[str, Any] = MappingProxyType({})
) -> RatingPlan:
    """What is asked of every answer, checked; UsageError before any call can be made.

    `settings` are those of `Panel` that were given; they come before those of a panel file.
    """
    found = lineups.named(specs)
    asked = rating_panel(ANSWERING, found, settings).model_copy(update={"grades": None})
    return RatingPlan(
        language_models(found.judges, "answers are sorted"),
        (Asked(ANSWERING, prompting.load("answering", prompt), asked),),
        Families(asked.families),
    )


async def sort_answer(sample: Sample, plan: RatingPlan, executor: Executor) -> SideRow:
    """The scores of one sample. An empty answer declines without a call; a sample without an answer has no value."""
    if sample.answer is None:
        return _row(sample, None, "missing_input", {})
    if not says_something(sample.answer):
        return _row(sample, False, None, {})
    said = await opinions(sample, plan.asked[0], plan.judges, plan.families, executor)
    vote = said.vote
    answered = None if vote.label == "unassessed" else vote.label == "supported"
    return _row(sample, answered, vote.unassessed_because, {"judges": said.details})


def answerability_work(plan: RatingPlan) -> Work:
    """What is done for every sample."""
    return Work(plan.judges, lambda sample, executor: sort_answer(sample, plan, executor), plan.identity)


def _row(sample: Sample, answered: bool | None, because: Reason | None, details: dict[str, JsonValue]) -> SideRow:
    undefined = {} if because is None else {name: str(because) for name in METRICS}
    right: bool | None = None
    if sample.is_answerable is None:
        undefined["right_to_answer"] = "no is_answerable"
    elif answered is not None:
        right = answered == sample.is_answerable
    scores = {
        "answered": None if answered is None else float(answered),
        "right_to_answer": None if right is None else float(right),
    }
    open_ = [name for name, why in undefined.items() if why == because and because not in NOT_APPLICABLE]
    bounds = dict.fromkeys(open_, (0.0, 1.0))
    return SideRow(id=sample.id, scores=scores, undefined=undefined, bounds=bounds, details=details)


def outcomes(samples: Iterable[Sample], rows: Iterable[SideRow]) -> Mapping[str, int]:
    """How often answerable and unanswerable questions were answered and declined; those without either are left out."""
    counts: Counter[str] = Counter(
        {f"{kind}_{deed}": 0 for kind in ("answerable", "unanswerable") for deed in ("answered", "declined")}
    )
    for sample, row in zip(samples, rows, strict=True):
        if sample.is_answerable is not None and row.scores["answered"] is not None:
            kind = "answerable" if sample.is_answerable else "unanswerable"
            counts[f"{kind}_{'answered' if row.scores['answered'] else 'declined'}"] += 1
    return counts
