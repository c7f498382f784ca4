"""The front doors of `claimeval answers` and `claimeval answerability`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Unpack

from claimeval.answerability import METRICS, answerability_plan, answerability_work
from claimeval.answers.baseline import Baseline, baselines
from claimeval.answers.members import Members, kin, members
from claimeval.answers.rating import askable, rating_plan, rating_work
from claimeval.api import NO_SETTINGS, PanelSettings, front_door, given, settings_given
from claimeval.asking.how import How
from claimeval.asking.reports import Given, SideReport, judged, material
from claimeval.calls import Judge
from claimeval.panel.summary import SameFamily
from claimeval.side_scores import SideRow, SideSummary

_NO_PROMPTS: Mapping[str, str] = MappingProxyType({})


class Ratings(NamedTuple):
    """Whole answers rated."""

    scores: SideReport
    baselines: tuple[Baseline, ...]
    """How the yes and no stand to the claims, where a report or a run directory was given."""
    members: dict[str, Members]
    """Per question what each judge said, and how far they agree."""
    same_family: tuple[SameFamily, ...]
    """The judges of the family that wrote answers here."""

    @property
    def summary(self) -> SideSummary:
        return self.scores.summary

    @property
    def rows(self) -> tuple[SideRow, ...]:
        return self.scores.rows


async def arate_answers(
    samples: Given,
    *,
    judges: Sequence[str | Judge],
    ask: Sequence[str] | None = None,
    prompts: Mapping[str, str] = _NO_PROMPTS,
    vote: str | None = None,
    tie: str | None = None,
    panel: PanelSettings = NO_SETTINGS,
    **how: Unpack[How],
) -> Ratings:
    """Has judges rate whole answers: `relevance`, `faithful`, `correct`; by default those that the samples can feed.

    `judges`, `vote`, `tie` and `panel` are those of `score`; unless said, yes and no go by majority and relevance by
    the median. `prompts` are names or paths by question. With a report or a run directory in place of the samples the
    yes and no are held against its claims. `how` are further options of `score`, see `How`.
    """
    given_samples, results = material(samples)
    said = {**settings_given(panel), **given(vote=vote, tie=tie)}
    plan = rating_plan(judges, askable(given_samples, ask), prompts=prompts, settings=said)
    family = kin(given_samples, plan)
    units = dict.fromkeys(plan.metrics, "share")
    scores = await judged(given_samples, rating_work(plan), "answers", units, plan.settings, how)
    held = baselines(results, scores.rows) if results else ()
    return Ratings(scores, held, members(scores.rows, plan), family)


rate_answers = front_door(arate_answers)


async def asort_answers(
    samples: Given,
    *,
    judges: Sequence[str | Judge],
    prompt: str = "plain",
    vote: str | None = None,
    tie: str | None = None,
    panel: PanelSettings = NO_SETTINGS,
    **how: Unpack[How],
) -> SideReport:
    """Has judges tell refusals from answers: `answered`, and `right_to_answer` against `is_answerable`.

    `how` are further options of `score`, see `How`.
    """
    plan = answerability_plan(judges, prompt, {**settings_given(panel), **given(vote=vote, tie=tie)})
    given_samples = material(samples).samples
    kin(given_samples, plan)
    units = dict.fromkeys(METRICS, "share")
    work = answerability_work(plan)
    return await judged(given_samples, work, "answerability", units, plan.settings, how)


sort_answers = front_door(asort_answers)
