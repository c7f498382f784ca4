"""The front doors of `claimeval answers` and `claimeval answerability`.

The front doors of `claimeval relevance` and `claimeval retrieval`, over what samples retrieved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from claimeval.api.data import Data
from claimeval.api.jobs import without_labels
from claimeval.api.reports import SideReport, judged, material, reported
from claimeval.api.run import raise_if_stopped
from claimeval.api.twins import blocking_twin
from claimeval.evaluation import matching, relevance, relevance_run, retrieval
from claimeval.evaluation.baseline import RatingComparison, compare_ratings
from claimeval.evaluation.raters import Members, kin, members
from claimeval.evaluation.ratings import (
    answerability_plan,
    answerability_work,
    askable,
    rating_plan,
    rating_work,
)
from claimeval.evaluation.relevance import PER_CALL, Graded
from claimeval.evaluation.relevance_run import RelevanceSummary, grade_all, grading_plan
from claimeval.evaluation.summary.records import SameFamily
from claimeval.metrics.scoring import SampleScores
from claimeval.runs.scores import ScoresSummary
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Judge
from claimeval.types.scales import Scale

_NO_PROMPTS: Mapping[str, str] = MappingProxyType({})


class Ratings(NamedTuple):
    """Whole answers rated."""

    scores: SideReport
    baselines: tuple[RatingComparison, ...]
    """How the yes and no stand to the claims, where a run or a run directory was given."""
    members: dict[str, Members]
    """Per question what each judge said, and how far they agree."""
    same_family: tuple[SameFamily, ...]
    """The judges of the family that wrote answers here."""

    @property
    def summary(self) -> ScoresSummary:
        return self.scores.summary

    @property
    def rows(self) -> tuple[SampleScores, ...]:
        return self.scores.rows


async def arate_answers(
    data: Data,
    *,
    judges: Sequence[str | Judge],
    ask: Sequence[str] | None = None,
    prompts: Mapping[str, str] = _NO_PROMPTS,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Ratings:
    """Has judges rate whole answers: `relevance`, `faithful`, `correct`; by default those that the samples can feed.

    `judges`, `panel` and `options` are those of `score`; unless said, yes and no go by majority and relevance by
    the median. `prompts` are names or paths by question. With a run or a run directory in place of samples the
    yes and no are held against its claims.
    """
    given_samples, results = material(data)
    plan = rating_plan(judges, askable(given_samples, ask), prompts=prompts, settings=without_labels(panel))
    family = kin(given_samples, plan)
    scores = await judged(given_samples, rating_work(plan), "answers", plan.settings, options)
    held = compare_ratings(results, scores.rows) if results else ()
    return Ratings(scores, held, members(scores.rows, plan), family)


rate_answers = blocking_twin(arate_answers)


async def asort_answers(
    data: Data,
    *,
    judges: Sequence[str | Judge],
    prompt: str = "plain",
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> SideReport:
    """Has judges tell refusals from answers: `answered`, and `abstention_accuracy` against `is_answerable`."""
    plan = answerability_plan(judges, prompt, without_labels(panel))
    given_samples = material(data).samples
    kin(given_samples, plan)
    work = answerability_work(plan)
    return await judged(given_samples, work, "answerability", plan.settings, options)


sort_answers = blocking_twin(asort_answers)


class Grading(NamedTuple):
    """Documents graded for relevance."""

    grades: tuple[Graded, ...]
    """A row a pair of sample and document, with every judge's grade and reason."""
    qrels: dict[str, dict[str, int]]
    """Sample to document to grade, without the holes; what `claimeval.ir.evaluate` takes."""
    summary: RelevanceSummary
    scores: SideReport
    """Context relevance and context precision of each sample."""


async def agrade_relevance(
    data: Data,
    *,
    judges: Sequence[str | Judge],
    scale: str | Scale = "umbrela",
    prompt: str = "steps",
    per_call: int = PER_CALL,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Grading:
    """Has judges grade how relevant the contexts of each sample are to its question.

    `scale` is `umbrela` (0 to 3), `graded`, `binary`, a YAML file or a `Scale`; `per_call` the documents in
    one call. Several grades become one by the median unless `panel.vote` says otherwise.
    """
    plan = grading_plan(judges, scale, prompt, per_call=per_call, panel=without_labels(panel))
    asked = material(data).samples
    items = list(relevance.of_samples(asked, per_call))
    unit = "pairs" if per_call == 1 else "groups"
    progress = Progress(relevance.survey(items).items, options.progress, unit=unit)
    grades: list[Graded] = []
    outcome = await grade_all(items, plan, grades.extend, source="samples", options=options, progress=progress)
    raise_if_stopped(outcome.ending)
    rows = relevance_run.rows(asked, outcome.qrels, outcome.holes, plan.scale)
    scores = reported(rows, asked, "relevance", outcome.summary.settings, options.cluster)
    return Grading(tuple(grades), outcome.qrels, outcome.summary, scores)


grade_relevance = blocking_twin(agrade_relevance)


async def ascore_retrieval(
    data: Data,
    *,
    measures: str = retrieval.MEASURES,
    match: retrieval.Match | Literal["judge"] = "ids",
    fold: str | None = None,
    judges: Sequence[str | Judge] = (),
    prompt: str = "same_content",
    per_call: int = PER_CALL,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> SideReport:
    """Rank metrics of what each sample retrieved, against its reference contexts.

    `match` says how they are compared: by `ids` (after `fold` was cut out of them), by `text`, or by a `judge` where
    the texts leave it open; only then `judges` and what follows count.
    """
    asked = retrieval.asked(measures)
    shown = material(data).samples
    if match != "judge":
        if judges:
            raise UsageError(f"match={match!r} asks nobody; leave judges out, or say match='judge'")
        rows = retrieval.score(shown, asked, match, fold=fold)
        settings = {"match": match, **({"fold": fold} if fold else {})}
        return reported(rows, shown, "retrieval", settings, options.cluster)
    if fold:
        raise UsageError("contexts are folded by their ids, as with match='ids'; leave fold out")
    plan = matching.matching_plan(judges, prompt, per_call=per_call, panel=without_labels(panel))
    work = matching.matching_work(plan, asked)
    return await judged(shown, work, "retrieval", matching.settings(plan), options)


score_retrieval = blocking_twin(ascore_retrieval)
