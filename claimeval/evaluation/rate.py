"""The rate job: judges rate whole answers, one question at a time, and the votes are the scores."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product, starmap
from typing import NamedTuple, cast

from pydantic import JsonValue

from claimeval.data.survey import MissingField, counted, distinct, left_out
from claimeval.evaluation.ask import CallAddress
from claimeval.evaluation.job import sample_of
from claimeval.evaluation.judgment import (
    EarlierVerdicts,
    JudgedSubjects,
    JudgingContext,
    Question,
    QuestionJob,
    judge,
    votes,
)
from claimeval.evaluation.kinds import JobKind, Judging
from claimeval.evaluation.manifest import Manifest, QuestionRecord, versions
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import prompts, rate
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.metrics.names import unknown
from claimeval.providers import answers_any, reads_prompts, specs
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import (
    ASKED,
    Assessment,
    Evidence,
    Reason,
    Sample,
    SampleResult,
    Score,
    has_words,
)
from claimeval.types.requests import Judge
from claimeval.types.scales import (
    ABSTENTION,
    ANSWER_QUESTIONS,
    FAITHFULNESS,
    FLAG,
    RELEVANCE,
    RatingQuestion,
    criterion_question,
)

logger = logging.getLogger("claimeval")
NAME = "rate"
ANSWERED = "answered"
ABSTENTION_ACCURACY = "abstention_accuracy"
"""`answered`: 1 if the answer gives at least part of the requested information.
`abstention_accuracy`: 1 if an answerable question is answered or an unanswerable one is declined,
by `is_answerable`."""
CRITERIA = "criteria"
"""The criteria of a run, among the settings of its manifest."""


@dataclass(frozen=True, kw_only=True)
class RateOptions:
    """What is asked about answers."""

    ask: Sequence[str] | None = None
    """Names of questions; None for all whose inputs some sample has."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Names or paths of prompts, by question."""
    criteria: Mapping[str, str] = field(default_factory=dict)
    """Criteria in a sentence, by `NAME` or `NAME:contexts`."""


@dataclass(frozen=True)
class PutQuestion:
    """A question with its prompt and panel settings."""

    question: RatingQuestion
    prompt: Prompt
    panel: Panel

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the scores."""
        if self.question == ABSTENTION:
            return ANSWERED, ABSTENTION_ACCURACY
        return (self.question.metric, *self.question.flags)

    def missing(self, sample: Sample, rated: Sequence[Assessment] | None) -> Reason | None:
        """Return why this cannot be asked about a sample, which may have been rated; None if it
        can."""
        if "question" in self.prompt.reads and not sample.question.strip() and not rated:
            return "missing_input"
        return missing(self.question, sample)

    @cached_property
    def records(self) -> tuple[QuestionRecord, ...]:
        """The question and its flags, which are decided by majority."""
        # The lower median of relevance is of an ordered scale, and yes and no have no middle.
        flags = self.panel.model_copy(update={"vote": "majority", "scale": FLAG})
        panels = {self.question.metric: self.panel} | dict.fromkeys(self.question.flags, flags)
        return tuple(
            QuestionRecord(
                name=name,
                prompt=self.prompt.id,
                scale=panel.scale,
                subjects="answer",
                panel=panel,
            )
            for name, panel in panels.items()
        )


class _WholeAnswer(NamedTuple):
    """The whole answer as the subject of a question."""

    id: str = "answer"


def rating_question(sample: Sample, put: PutQuestion) -> Question[_WholeAnswer]:
    """Return the question about the whole answer of a sample."""
    return Question(
        records=put.records,
        address=CallAddress(put.prompt.step, "answer"),
        evidence=Evidence.of(put.question.against or ASKED),
        documents=lambda evidence: (put.question.against and sample.documents(evidence)) or (),
        ask=lambda judge, subjects, documents: rate.ask(
            put.prompt,
            judge,
            put.question,
            sample,
            documents,
        ),
        read=lambda reply, request, subjects: rate.read(
            reply,
            request,
            put.question,
            subjects[0].id,
        ),
    )


@dataclass(frozen=True)
class RateJob(QuestionJob):
    """Rate whole answers."""

    judges: tuple[Judge, ...]
    questions: tuple[PutQuestion, ...]
    cluster: str | None = None
    recorded_judges: frozenset[str] = frozenset()
    name: str = NAME
    remarks: tuple[str, ...] = ()
    """What to say of the samples before they are rated."""

    @property
    def panel(self) -> Panel:  # type: ignore[override]  # derived, where other jobs have a field
        """The panel settings of the first question; same-family rule and replicates are equal in
        all."""
        return self.questions[0].panel

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        return Manifest(
            job=self.name,
            metrics=tuple(chain.from_iterable(put.metrics for put in self.questions)),
            questions=self.records,
            judges=self.judges,
            prompts=tuple(prompt.record for prompt in self.prompts),
            panel=self.panel,
            settings=_criteria(put.question for put in self.questions),
            cluster=self.cluster,
            versions=versions(*self.judges),
        )

    @property
    def records(self) -> tuple[QuestionRecord, ...]:
        """The questions and their flags."""
        return tuple(chain.from_iterable(put.records for put in self.questions))

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of the questions."""
        return tuple(put.prompt for put in self.questions)

    @property
    def usual_votes(self) -> dict[str, str]:
        """The default vote of each question."""
        return {put.question.metric: put.question.vote for put in self.questions}

    @property
    def first_stage(self) -> RateJob:
        """The job itself, whose requests do not depend on verdicts."""
        return self

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the ratings of one answer. A rating that failed is a score without a value, with a
        reason.

        An empty answer is rated without a call: relevance 0, noncommittal, not correct and not
        answered. Its faithfulness is undefined (`no_claims`).
        """
        sample = sample_of(item)
        rated = item.whole if isinstance(item, SampleResult) else None
        context = JudgingContext(
            self,
            executor,
            EarlierVerdicts(item),
            self.same_family(sample, "answer"),
        )
        judged: list[JudgedSubjects] = await gather_all(
            [
                judge(rating_question(sample, put), [_WholeAnswer()], context)
                for put in self.questions
                if put.missing(sample, rated) is None
            ]
        )
        new_calls = chain.from_iterable(subjects.calls for subjects in judged)
        calls = (*context.earlier.calls, *new_calls)
        assessments = votes(judged, self.records, calls)
        return self.scored(
            SampleResult(sample=sample, claims=(), assessments=assessments, calls=calls)
        )

    def scored(self, result: SampleResult) -> SampleResult:
        """Return the result with the scores from its assessments."""
        votes = {vote.question: vote for vote in result.whole}
        scores: dict[str, Score] = {}
        for put in self.questions:
            because = put.missing(result.sample, result.whole)
            scores |= (
                _unasked(put, result.sample, because)
                if because
                else _scores(put, result.sample, votes)
            )
        return result.model_copy(update={"scores": scores})


def _scores(put: PutQuestion, sample: Sample, votes: Mapping[str, Assessment]) -> dict[str, Score]:
    """Return the scores of a question from the votes on it and on its flags."""
    question = put.question
    vote = votes[question.metric]
    if question == ABSTENTION:
        return _abstention(sample, vote.positive, vote.unassessed)
    rated = Score.share(
        None if vote.label is None else question.scale.value(vote.label), because=vote.unassessed
    )
    raised = {flag: votes[flag] for flag in question.flags}
    return {question.metric: rated} | {
        flag: Score.share(
            None if vote.label is None else float(vote.label == "yes"), because=vote.unassessed
        )
        for flag, vote in raised.items()
    }


def _unasked(put: PutQuestion, sample: Sample, because: Reason) -> dict[str, Score]:
    """Return the scores of a question that could not be asked."""
    question = put.question
    if question == ABSTENTION:
        return _abstention(sample, None if sample.answer is None else False, because)
    # An empty answer is irrelevant and noncommittal without a judge; it is neither faithful nor
    # unfaithful, and nobody knows what a criterion of the user says of it.
    if because == "no_claims" and question != FAITHFULNESS and not question.criterion:
        return {
            question.metric: Score.share(0.0),
            **{flag: Score.share(1.0) for flag in question.flags},
        }
    return {name: Score.undefined(because) for name in put.metrics}


def _abstention(sample: Sample, answered: bool | None, because: Reason | None) -> dict[str, Score]:
    answered_share = Score.undefined(because) if answered is None else Score.share(float(answered))
    if sample.is_answerable is None:
        return {ANSWERED: answered_share, ABSTENTION_ACCURACY: Score.undefined("missing_input")}
    right = (
        answered_share if answered is None else Score.share(float(answered == sample.is_answerable))
    )
    return {ANSWERED: answered_share, ABSTENTION_ACCURACY: right}


def missing(question: RatingQuestion, sample: Sample) -> Reason | None:
    """Return why a question cannot be asked about a sample; None if it can."""
    if sample.answer is None:
        return "missing_input"
    if question.against is not None and sample.documents(question.against) is None:
        return "missing_input"
    if not has_words(sample.answer):
        return "no_claims"
    return None


def job_of(
    record: Manifest, rated: Iterable[RatingQuestion] = ANSWER_QUESTIONS.values()
) -> RateJob:
    """Return the job of a run, with its prompts and the questions of its metrics.

    `rated` are the questions that it may have asked.
    """
    by_id = {prompt.id: Prompt.of(prompt) for prompt in record.prompts}
    criteria = cast(Mapping[str, str], record.settings.get(CRITERIA, {}))
    by_metric = {
        question.metric: question
        for question in (*rated, *starmap(criterion_question, criteria.items()))
    }
    questions = (
        PutQuestion(by_metric[question.name], by_id[question.prompt or ""], question.panel)
        for question in record.questions
        if question.name in by_metric
    )
    asked = tuple(put for put in questions if set(put.metrics).intersection(record.names))
    return RateJob(record.judges, asked, record.cluster, name=record.job)


def make_job(
    judging: Judging,
    options: RateOptions,
    samples: Iterable[Sample],
    rated: Mapping[str, RatingQuestion] = ANSWER_QUESTIONS,
    name: str = NAME,
) -> RateJob:
    """Return the job after checking all settings against the samples.

    Args:
        judging: The judges, and how their votes are counted.
        options: What is asked.
        samples: The samples.
        rated: The questions that can be asked, by name.
        name: The name of the job.

    Raises:
        UsageError: Before any call, for what you can fix.
    """
    requested = _requested(options, rated)
    spec = specs.parse_panel(judging.judges)
    survey = _survey(samples, requested, rated)
    questions = _answerable(
        requested or [q for q in rated.values() if q.name in survey.available],
        spec.judges,
        asked_for=bool(requested),
    )
    names = [question.name for question in questions]
    if without := set(options.prompts).difference(names):
        raise unknown_name("question with a prompt", min(without), names)

    def put(question: RatingQuestion) -> PutQuestion:
        """Return the question with its prompt and panel."""
        prompt = prompts.load(question.step, options.prompts.get(question.name, question.prompt))
        panel = specs.panel_settings(
            spec,
            judging.panel.given,
            question.scale,
            usual=question.vote,
        )
        return PutQuestion(question, prompt, panel)

    job = RateJob(spec.judges, tuple(map(put, questions)), judging.cluster, name=name)
    reading = next((prompt for prompt in job.prompts if "question" in prompt.reads), None)
    if reading and (lack := survey.no_question):
        job = replace(job, remarks=(left_out(lack, survey.samples, reading.name),))
    job.check_families(survey.generators)
    return job


def _requested(options: RateOptions, rated: Mapping[str, RatingQuestion]) -> list[RatingQuestion]:
    """Return the questions and criteria that are asked for by name; none if all are to be asked
    that can be.

    Raises UsageError if there is no such question, or if two criteria have one name.
    """
    if options.ask is not None and not options.ask:
        raise UsageError(f"name what to ask: {', '.join(rated)}")
    named = [_named(question, rated) for question in dict.fromkeys(options.ask or ())]
    requested = [*named, *starmap(criterion_question, options.criteria.items())]
    names = [question.name for question in requested]
    if len(names) > len(set(names)):
        raise UsageError(
            f"two criteria are called {max(names, key=names.count)!r}; give each another name"
        )
    return requested


def _answers(judge: Judge, question: RatingQuestion) -> bool:
    """Return whether a judge can answer a question: by its prompt, by its typed form, or because it
    asks about support."""
    if reads_prompts(judge):
        return True
    return bool(question.asks) if answers_any(judge) else question.is_support


def _answerable(
    questions: Sequence[RatingQuestion],
    judges: Sequence[Judge],
    *,
    asked_for: bool,
) -> list[RatingQuestion]:
    """Return the questions that all judges can answer.

    Raises UsageError if a judge cannot answer one that was asked for, or any.
    """
    kept = list(questions)
    for asked in judges:
        unable = [question.name for question in kept if not _answers(asked, question)]
        kept = [question for question in kept if question.name not in unable]
        if not unable:
            continue
        if asked_for or not kept:
            raise UsageError(
                f"judge {asked.name!r} says only whether documents support a text, and cannot"
                f" answer {', '.join(unable)}; name a language model, or a decision model such as"
                " decisions:gpt-6-luna"
            )
        logger.info("not asked, because %s cannot answer it: %s", asked.name, ", ".join(unable))
    return kept


def _criteria(questions: Iterable[RatingQuestion]) -> dict[str, JsonValue]:
    """Return the criteria among questions, as manifests have them."""
    criteria: dict[str, JsonValue] = {
        (
            f"{question.name}:{question.against}" if question.against else question.name
        ): question.criterion
        for question in questions
        if question.criterion
    }
    return {CRITERIA: criteria} if criteria else {}


class _AnswerCounts(NamedTuple):
    """Inputs of the samples."""

    available: frozenset[str]
    """Names of the questions whose inputs some sample has."""
    generators: tuple[str, ...]
    samples: int
    no_question: MissingField | None
    """Samples without a question, if there are any."""


def _named(name: str, rated: Mapping[str, RatingQuestion]) -> RatingQuestion:
    if name not in rated:
        raise unknown("question about answers", name, rated)
    return rated[name]


def _survey(
    samples: Iterable[Sample],
    requested: Sequence[RatingQuestion],
    rated: Mapping[str, RatingQuestion],
) -> _AnswerCounts:
    """Return the inputs of the samples. Raises an error if a named question lacks inputs, or if an
    id is repeated."""
    available: set[str] = set()
    count = 0
    generators: dict[str, None] = {}
    without: MissingField | None = None
    for count, sample in enumerate(distinct(samples), 1):  # noqa: B007  # it is returned
        for question in requested or rated.values():
            # Without labels only half of the abstention scores are known, so it is asked only by
            # name.
            has_label = (
                bool(requested) or question != ABSTENTION or sample.is_answerable is not None
            )
            if has_label and missing(question, sample) is None:
                available.add(question.name)
        if sample.generator:
            generators[sample.generator] = None
        if not sample.question.strip():
            without = counted(without, "question", sample)
    _check_available(requested, available)
    return _AnswerCounts(frozenset(available), tuple(generators), count, without)


def _check_available(requested: Iterable[RatingQuestion], available: Collection[str]) -> None:
    """Raise UsageError if no question can be asked about any sample, or one that was asked for."""
    if not available:
        raise UsageError(
            "no sample has an answer to rate; if a column has it, name it, as in --field"
            " answer=COLUMN"
        )
    for question in requested:
        # A typed name is a wish that is not fulfilled in silence; without names, what cannot be
        # asked is left out.
        if question.name not in available:
            lacks = f" and {question.against}" if question.against else ""
            raise UsageError(
                f"no sample has what {question.name!r} needs: an answer{lacks}. Leave it out of"
                " --ask, or name the columns with --field"
            )


def count_words(results: Iterable[SampleResult], record: Manifest) -> dict[str, dict[str, int]]:
    """Return how often the panel gave each word of each question, and how often it raised each
    flag."""
    scales = {
        question.name: question.scale for question in record.questions if question.scale.ordered
    }
    counts = {name: dict.fromkeys(scale.words, 0) for name, scale in scales.items()}
    flags = Counter(dict.fromkeys(RELEVANCE.flags, 0) if RELEVANCE.metric in scales else {})
    for result in results:
        for rating in result.whole:
            if rating.question in scales:
                if rating.label is not None:
                    counts[rating.question][rating.label] += 1
            elif rating.question in flags and rating.label == "yes":
                flags[rating.question] += 1
    return {
        name: {**words, **(dict(flags) if name == RELEVANCE.metric else {})}
        for name, words in counts.items()
    }


def outcomes(results: Iterable[SampleResult]) -> dict[str, int]:
    """Return the number of answered and declined questions, by whether they are answerable."""
    cells = product(("answerable", "unanswerable"), ("answered", "declined"))
    counts = Counter({f"{kind}_{reaction}": 0 for kind, reaction in cells})
    for result in results:
        answered = result.scores[ANSWERED].value if ANSWERED in result.scores else None
        if result.sample.is_answerable is not None and answered is not None:
            kind = "answerable" if result.sample.is_answerable else "unanswerable"
            counts[f"{kind}_{'answered' if answered else 'declined'}"] += 1
    return dict(counts)


KIND = JobKind(NAME, resume=job_of)
