"""The way of one sample: each question is put to the judges where the sample can feed it; the votes are its scores.

Whether a system answers what can be answered and declines what cannot: refusals told apart from answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import JsonValue

from claimeval.evaluation.forecast.estimates import Range
from claimeval.evaluation.forecast.quotes import Prospect
from claimeval.evaluation.opinions import Asked, Opinions, opinions
from claimeval.evaluation.run import Work
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import panel, prompts
from claimeval.judging import prompts as prompting
from claimeval.judging import rate as rate_answer
from claimeval.metrics.scoring import SampleScores
from claimeval.providers import specs as lineups
from claimeval.types.answer_questions import ANSWER_QUESTIONS, ANSWERING, FAITHFUL, AnswerQuestion, answer_question
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.families import Families
from claimeval.types.records import Assessment, Reason, Sample, Score, says_something
from claimeval.types.requests import Judge

RATED = MappingProxyType(
    {"relevance": "rated_relevance", "faithful": "rated_faithfulness", "correct": "rated_correctness"}
)
"""Per question the metric: the mean of what the words count, fully or yes 1, partly 0.5, no 0."""
NONCOMMITTAL = "noncommittal"
"""1 where an answer evades or declines; asked together with relevance and counted apart from it."""
RATING_TOKENS = Range(30, 120)
"""Tokens assumed of a rating with its reason."""


class RatingsJob(NamedTuple):
    """What is asked about every answer, and whom."""

    judges: tuple[Judge, ...]
    asked: tuple[Asked, ...]
    families: Families

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(name for one in self.asked for name in metrics_of(one.question))

    @property
    def settings(self) -> dict[str, str]:
        """What decided the scores, in words."""
        return {
            "judges": ", ".join(judge.name for judge in self.judges),
            **{f"{one.question.name}: prompt": f"{one.prompt.name} {one.prompt.digest[:12]}" for one in self.asked},
            **{f"{one.question.name}: vote": _counted(one.panel) for one in self.asked},
        }

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two plans one."""
        return tuple((one.question, one.prompt.digest, one.panel) for one in self.asked)


def _counted(settings: panel.Panel) -> str:
    """How opinions are counted, in words; what is usual goes without saying."""
    said = {"tie": settings.tie, "quorum": settings.quorum, "replicates": settings.replicates}
    usual = {"tie": "abstain", "quorum": None, "replicates": 1}
    return ", ".join([settings.vote, *(f"{name} {value}" for name, value in said.items() if value != usual[name])])


def metrics_of(question: AnswerQuestion) -> tuple[str, ...]:
    """The scores that come of a question."""
    return (RATED[question.name], *question.flags)


def rating_plan(
    specs: Sequence[str | Judge],
    ask: Sequence[str] = tuple(ANSWER_QUESTIONS),
    *,
    prompts: Mapping[str, str] = MappingProxyType({}),
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> RatingsJob:
    """Everything that is asked of every sample, checked; UsageError before any call can be made.

    `prompts` are names or paths by question, by default the shipped prompt of the question's name. Unless `settings`
    or a panel file say how to vote, relevance goes by the median (of two in the middle the lower), the rest by
    majority.
    """
    questions = [answer_question(name) for name in dict.fromkeys(ask)]
    if not questions:
        raise UsageError(f"name what to ask: {', '.join(ANSWER_QUESTIONS)}")
    for name in prompts:
        if name not in ask:
            raise unknown_name("question with a prompt", name, ask)
    found = lineups.parse_panel(specs)
    return RatingsJob(
        lineups.require_prompt_readers(found.judges, "answers are rated"),
        tuple(
            Asked(
                question,
                prompting.load("answers", prompts.get(question.name, question.name)),
                lineups.panel_settings(
                    found,
                    settings,
                    question.scale,
                    usual="median" if len(question.scale.words) > 2 else "majority",
                    about_claims=False,
                ),
            )
            for question in questions
        ),
        Families(lineups.valid_settings({**found.settings, **settings}, {"supported", "not_found"}).families),
    )


def feeds(question: AnswerQuestion, sample: Sample) -> Reason | None:
    """Why a sample cannot be asked this; None where it can."""
    if sample.answer is None:
        return "missing_input"
    if question.against is not None and sample.documents(question.against) is None:
        return "missing_input"
    if not says_something(sample.answer):
        return "no_claims"
    return None


def askable(samples: Iterable[Sample], ask: Sequence[str] | None) -> tuple[str, ...]:
    """The questions to put: those that were named, else those that some sample can feed.

    UsageError where no sample can feed one that was named, or none at all; DataError for an id that stands twice.
    """
    wanted = [answer_question(name) for name in (ask or ANSWER_QUESTIONS)]
    fed: set[str] = set()
    ids: dict[str, int] = {}
    for number, sample in enumerate(samples, 1):
        if (first := ids.setdefault(sample.id, number)) != number:
            raise DataError(f"Duplicate sample id {sample.id!r} (samples {first} and {number}); ids must be unique")
        fed |= {question.name for question in wanted if feeds(question, sample) is None}
    if not ids:
        raise DataError("there are no samples")
    if not fed:
        raise UsageError(
            "no sample has an answer to rate; say with --field under which name it stands, as in --field answer=draft"
        )
    for question in wanted if ask else ():
        if question.name not in fed:
            lacks = f" and {question.against}" if question.against else ""
            raise UsageError(f"no sample can feed {question.name!r}: it needs an answer{lacks}; leave it out of --ask")
    return tuple(question.name for question in wanted if question.name in fed)


async def rate(sample: Sample, plan: RatingsJob, executor: Executor) -> SampleScores:
    """The scores of one sample; a failed rating is None with its reason.

    An empty answer is no answer to its question, without a call (relevance 0, noncommittal, not correct), and there is
    nothing in it to be faithful (`no_claims`).
    """
    lacks = {one.question.name: feeds(one.question, sample) for one in plan.asked}
    fed = [one for one in plan.asked if lacks[one.question.name] is None]
    found: list[Opinions] = await gather_all(
        [opinions(sample, one, plan.judges, plan.families, executor) for one in fed]
    )
    scores = {score.metric: score for rated in found for score in _scores(rated)}
    for one in plan.asked:
        because = lacks[one.question.name]
        if because == "no_claims" and one.question != FAITHFUL:
            values = {RATED[one.question.name]: 0.0} | dict.fromkeys(one.question.flags, 1.0)
            scores |= {name: Score(metric=name, value=value) for name, value in values.items()}
        elif because:
            scores |= {n: Score(metric=n, undefined_because=because) for n in metrics_of(one.question)}
    details: dict[str, JsonValue] = {rated.asked.question.name: rated.details for rated in found}
    return SampleScores(id=sample.id, scores=tuple(scores[name] for name in plan.metrics), details=details)


def _scores(rated: Opinions) -> Iterator[Score]:
    """The score of a question, then those of its flags."""
    question, vote = rated.asked.question, rated.vote
    yield _score(RATED[question.name], None if vote.grade is None else question.scale.value(vote.grade), vote)
    for flag in question.flags:
        raised = rated.vote_on(flag)
        yield _score(flag, None if raised.label is None else float(raised.label == "not_found"), raised)


def _score(name: str, value: float | None, vote: Assessment) -> Score:
    because = None if value is not None else vote.unassessed or "tie"
    return Score(metric=name, value=value, undefined_because=because)


def rating_work(plan: RatingsJob) -> Work:
    """What is done for every sample."""
    return Work(plan.judges, lambda sample, executor: rate(sample, plan, executor), plan.identity)


def tallies(rows: Iterable[SampleScores], plan: RatingsJob) -> dict[str, dict[str, int]]:
    """Per question how often each of its words was the panel's rating, and per flag how often it is raised."""
    counts = {
        one.question.name: dict.fromkeys([*one.question.scale.words, *one.question.flags], 0) for one in plan.asked
    }
    for row in rows:
        for one in plan.asked:
            question, count = one.question, counts[one.question.name]
            value = row.values[RATED[question.name]]
            if value is not None:
                count[question.scale.words[question.scale.values.index(value)]] += 1
            for flag in question.flags:
                count[flag] += row.values[flag] == 1.0
    return counts


def prospects(samples: Iterable[Sample], plan: RatingsJob) -> Iterator[Prospect]:
    """What will be asked, for an estimate of the cost."""
    for sample in samples:
        own = plan.families.same_family_judges(((judge.name, judge.model) for judge in plan.judges), sample.generator)
        for one in plan.asked:
            if feeds(one.question, sample):
                continue
            for number, judge in enumerate(plan.judges):
                certain = one.panel.escalate is None or number < one.panel.escalate
                if judge.name in own and one.panel.on_same_family == "skip":
                    continue
                for n in range(one.panel.replicates):
                    request = rate_answer.ask(one.prompt, judge, one.question, sample, replicate=n)
                    yield Prospect(one.question.name, request, RATING_TOKENS, certain)


METRICS = ("answered", "abstention_accuracy")
"""`answered`: 1 if the answer gives at least a part of what was asked for. `abstention_accuracy`: 1 if it does so for
an answerable question or declines an unanswerable one, by `is_answerable`."""


def answerability_plan(
    specs: Sequence[str | Judge], prompt: str = "plain", settings: Mapping[str, Any] = MappingProxyType({})
) -> RatingsJob:
    """What is asked of every answer, checked; UsageError before any call can be made.

    `settings` are those of `Panel` that were given; they come before those of a panel file.
    """
    found = lineups.parse_panel(specs)
    asked = lineups.panel_settings(found, settings, ANSWERING.scale, about_claims=False)
    asked = asked.model_copy(update={"grades": None})
    return RatingsJob(
        lineups.require_prompt_readers(found.judges, "answers are sorted"),
        (Asked(ANSWERING, prompts.load("answering", prompt), asked),),
        Families(asked.families),
    )


async def sort_answer(sample: Sample, plan: RatingsJob, executor: Executor) -> SampleScores:
    """The scores of one sample. An empty answer declines without a call; a sample without an answer has no value."""
    if sample.answer is None:
        return _row(sample, None, "missing_input", {})
    if not says_something(sample.answer):
        return _row(sample, False, None, {})
    said = await opinions(sample, plan.asked[0], plan.judges, plan.families, executor)
    vote = said.vote
    answered = None if vote.label is None else vote.label == "supported"
    return _row(sample, answered, vote.unassessed, {"judges": said.details})


def answerability_work(plan: RatingsJob) -> Work:
    """What is done for every sample."""
    return Work(plan.judges, lambda sample, executor: sort_answer(sample, plan, executor), plan.identity)


def _row(sample: Sample, answered: bool | None, because: Reason | None, details: dict[str, JsonValue]) -> SampleScores:
    first, second = METRICS
    accuracy = Score(metric=second, undefined_because=because)
    if sample.is_answerable is None:
        accuracy = Score(metric=second, undefined_because="missing_input")
    elif answered is not None:
        accuracy = Score(metric=second, value=float(answered == sample.is_answerable))
    value = None if answered is None else float(answered)
    answering = Score(metric=first, value=value, undefined_because=because)
    return SampleScores(id=sample.id, scores=(answering, accuracy), details=details)


def outcomes(samples: Iterable[Sample], rows: Iterable[SampleScores]) -> Mapping[str, int]:
    """How often answerable and unanswerable questions were answered and declined; those without either are left out."""
    counts: Counter[str] = Counter(
        {f"{kind}_{deed}": 0 for kind in ("answerable", "unanswerable") for deed in ("answered", "declined")}
    )
    for sample, row in zip(samples, rows, strict=True):
        if sample.is_answerable is not None and row.values["answered"] is not None:
            kind = "answerable" if sample.is_answerable else "unanswerable"
            counts[f"{kind}_{'answered' if row.values['answered'] else 'declined'}"] += 1
    return counts
