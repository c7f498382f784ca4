"""The front doors of `claimeval relevance` and `claimeval retrieval`, over what samples retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Unpack

from claimeval import matching, retrieval
from claimeval.api import NO_SETTINGS, PanelSettings, ended, front_door, given, settings_given
from claimeval.asking.how import How, means
from claimeval.asking.reports import Given, SideReport, judged, material, reported
from claimeval.calls import Judge
from claimeval.errors import UsageError
from claimeval.relevance import pairs, per_sample
from claimeval.relevance.grading import PER_CALL, Graded
from claimeval.relevance.running import RelevanceSummary, grade_all, grading_plan
from claimeval.relevance_scales import RelevanceScale


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
    samples: Given,
    *,
    judges: Sequence[str | Judge],
    scale: str | RelevanceScale = "umbrela",
    prompt: str = "steps",
    per_call: int = PER_CALL,
    vote: str | None = None,
    tie: str | None = None,
    panel: PanelSettings = NO_SETTINGS,
    **how: Unpack[How],
) -> Grading:
    """Has judges grade how relevant the contexts of each sample are to its question.

    `scale` is `umbrela` (0 to 3), `graded`, `binary`, a YAML file or a `RelevanceScale`; `per_call` the documents in
    one call. Several grades become one by the median unless `vote` says otherwise. `how` are further options of
    `score`, see `How`.
    """
    said = {**settings_given(panel), **given(vote=vote, tie=tie)}
    plan = grading_plan(judges, scale, prompt, per_call=per_call, panel=said)
    asked = material(samples).samples
    items = list(pairs.of_samples(asked, per_call))
    unit = "pairs" if per_call == 1 else "groups"
    carried = means(how, pairs.survey(items).items, unit)
    grades: list[Graded] = []
    outcome = await grade_all(items, plan, grades.extend, source="samples", **carried)
    ended(outcome.ending)
    rows = per_sample.rows(asked, outcome.qrels, outcome.holes, plan.scale)
    units, cluster = per_sample.units(plan.scale), how.get("cluster")
    scores = reported(rows, asked, "relevance", units, outcome.summary.settings, cluster)
    return Grading(tuple(grades), outcome.qrels, outcome.summary, scores)


grade_relevance = front_door(agrade_relevance)


async def ascore_retrieval(
    samples: Given,
    *,
    measures: str = retrieval.MEASURES,
    match: retrieval.Match | Literal["judge"] = "ids",
    fold: str | None = None,
    judges: Sequence[str | Judge] = (),
    prompt: str = "same_content",
    per_call: int = PER_CALL,
    vote: str | None = None,
    tie: str | None = None,
    panel: PanelSettings = NO_SETTINGS,
    **how: Unpack[How],
) -> SideReport:
    """Rank metrics of what each sample retrieved, against its reference contexts.

    `match` says how they are compared: by `ids` (after `fold` was cut out of them), by `text`, or by a `judge` where
    the texts leave it open; only then `judges` and what follows count.
    """
    asked = retrieval.asked(measures)
    units = retrieval.units(asked)
    shown = material(samples).samples
    if match != "judge":
        if judges:
            raise UsageError(f"match={match!r} asks nobody; leave judges out, or say match='judge'")
        rows = retrieval.score(shown, asked, match, fold=fold)
        settings = {"match": match, **({"fold": fold} if fold else {})}
        return reported(rows, shown, "retrieval", units, settings, how.get("cluster"))
    if fold:
        raise UsageError("contexts are folded by their ids, as with match='ids'; leave fold out")
    said = {**settings_given(panel), **given(vote=vote, tie=tie)}
    plan = matching.matching_plan(judges, prompt, per_call=per_call, panel=said)
    work = matching.matching_work(plan, asked)
    return await judged(shown, work, "retrieval", units, matching.settings(plan), how)


score_retrieval = front_door(ascore_retrieval)
