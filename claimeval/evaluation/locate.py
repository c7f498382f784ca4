"""The locate job: judge failed claims against the passages of a corpus that are nearest to them,
and tell from the label and from the passages that decide it where the fault lies.

An item is a sample with its failed claims. Its evidence `corpus` has the passages of all of them;
each claim is judged against its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

from pydantic import Field

from claimeval.evaluation.ask import CallAddress
from claimeval.evaluation.evidence import with_evidence
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
from claimeval.judging import assess, prompts
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.providers import reads_prompts, specs
from claimeval.types.records import (
    CAUSES,
    Assessment,
    Cause,
    Claim,
    Document,
    Evidence,
    Part,
    Reason,
    Record,
    Sample,
    SampleResult,
    Score,
    Verdict,
)
from claimeval.types.requests import Judge

NAME = "locate"
PROMPT = "fewest"
CORPUS: Part = "corpus"
"""The evidence set with the passages."""
UNIT = "claims"
CHUNKED = "chunked"
"""The setting that says whether the passages are the chunks of a retriever."""


class ClaimPassages(Record):
    """What a failed claim is judged against, as numbers of the documents of `corpus`, from 0."""

    shown: tuple[int, ...]
    """The passages, in reading order."""
    had: tuple[int, ...] = ()
    """Of them, those that the run had."""


class Located(Record):
    """What is known of the passages of a sample: `details["locate"]` of its result."""

    places: tuple[int, ...] = ()
    """The place of each document of `corpus` in the whole corpus, from 0."""
    documents: tuple[str, ...] = ()
    """The document of each; an empty one is unknown."""
    scattered: tuple[str, ...] = ()
    """Documents whose passages do not follow each other in the corpus."""
    claims: dict[str, ClaimPassages] = Field(default_factory=dict)
    """By the id of a failed claim."""

    @classmethod
    def of(cls, result: SampleResult) -> Located:
        """Return what the details of a result say."""
        return cls.model_validate(result.details.get(NAME, {}))

    @property
    def details(self) -> dict[str, Any]:
        """What `of` reads, to be kept in a result."""
        kept = self.model_dump(mode="json", exclude=None if self.scattered else {"scattered"})
        return {NAME: kept}


class _Cited(NamedTuple):
    """The passages that decide a claim."""

    numbers: tuple[int, ...]
    new: bool
    """Whether one of them is a passage that the run did not have."""


@dataclass(frozen=True)
class LocateJob(QuestionJob):
    """Judge failed claims against the passages of a corpus."""

    judges: tuple[Judge, ...]
    prompt: Prompt
    panel: Panel
    chunked: bool = True
    """Whether the passages are the chunks of a retriever."""
    cluster: str | None = None
    settings: tuple[tuple[str, str | int], ...] = ()
    """What describes the corpus, for the manifest."""
    recorded_judges: frozenset[str] = frozenset()
    name = NAME

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        return Manifest(
            job=NAME,
            metrics=tuple(CAUSES),
            questions=self.records,
            judges=self.judges,
            prompts=(self.prompt.record,),
            panel=self.panel,
            settings={CHUNKED: self.chunked, **dict(self.settings)},
            notes=specs.notes(self.judges, None),
            cluster=self.cluster,
            versions=versions(*self.judges),
        )

    @property
    def records(self) -> tuple[QuestionRecord, ...]:
        """The question whether the passages support a claim."""
        record = QuestionRecord(
            name="support",
            prompt=self.prompt.id,
            scale=self.panel.scale,
            subjects="claims",
            panel=self.panel,
        )
        return (record,)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompt of the question."""
        return (self.prompt,)

    @property
    def first_stage(self) -> LocateJob:
        """The job itself, whose requests do not depend on verdicts."""
        return self

    def question(self, sample: Sample, claim: Claim, shown: Sequence[int]) -> Question[Claim]:
        """Return the question whether some passages of a sample support a claim."""
        corpus = sample.evidence[CORPUS]
        passages = [corpus[number] for number in shown]

        def ask_about(judge: Judge, claims: Sequence[Claim], documents: Sequence[Document]) -> Any:
            """Return the request."""
            evidence = assess.ShownDocuments(documents)
            return assess.ask(self.prompt, judge, claims, evidence, sample.full_question)

        return Question(
            records=self.records,
            address=CallAddress("assess", claim.of),
            evidence=Evidence.of(CORPUS),
            documents=lambda _: passages,
            ask=ask_about,
            read=lambda completion, request, _: assess.read(
                completion,
                request,
                computed=not reads_prompts(request.judge),
            ),
        )

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the verdicts on the failed claims of a sample, their causes and the scores."""
        assert isinstance(item, SampleResult), "the items are samples with their failed claims"
        located = Located.of(item)
        sample = item.sample
        earlier = EarlierVerdicts(item)
        context = JudgingContext(self, executor, earlier, self.same_family(sample, "answer"))
        judged: list[JudgedSubjects] = await gather_all(
            [
                judge(
                    self.question(sample, claim, located.claims[claim.id].shown),
                    [claim],
                    context,
                )
                for claim in item.claims
                if claim.id in located.claims
            ]
        )
        calls = earlier.calls + tuple(chain.from_iterable(one.calls for one in judged))
        reasoning = {judge.name for judge in self.judges if reads_prompts(judge)}
        voted = with_evidence(sample, item.claims, votes(judged, self.records, calls), reasoning)
        # The verdicts of an earlier run of `locate` are known to `earlier`, and would count twice.
        known = [one for one in item.assessments if one.against != CORPUS]
        result = item.model_copy(update={"assessments": (*known, *voted), "calls": calls})
        return self.scored(result)

    def scored(self, result: SampleResult) -> SampleResult:
        """Return the result with the cause of each claim, and the number of claims by cause."""
        located = Located.of(result)
        parts = {claim.id: claim.of for claim in result.claims}
        assessments = list[Assessment]()
        for one in result.assessments:
            cause = self._cause(result.sample, one, parts[one.subject], located)
            assessments.append(one.model_copy(update={"cause": cause}))
        scores = cause_scores(assessments)
        return result.model_copy(update={"assessments": tuple(assessments), "scores": scores})

    def _cause(self, sample: Sample, one: Assessment, of: Part, located: Located) -> Cause | None:
        """Return where the fault of a claim lies; None without a label, and for a claim of the
        answer that the judges now find in passages that the run had."""
        if one.against != CORPUS:
            return "unused"
        if one.label is None:
            return None
        if one.support != "supported":
            return "contradicted" if one.support == "contradicted" else "not_near"
        return self._of_supported(sample, one, of, located)

    def _of_supported(
        self,
        sample: Sample,
        one: Assessment,
        of: Part,
        located: Located,
    ) -> Cause | None:
        """Return the cause that most of the judges who support a claim imply by the passages that
        they name; of several, that of the first judge."""
        causes = Counter[Cause | None]()
        for verdict in one.verdicts:
            if verdict.support == "supported":
                cited = _cited(sample, verdict, located.claims[one.subject])
                # Counter keeps the order of the judges, so that of two causes named as often the
                # first one's counts.
                causes[self._by_passages(cited, of, located)] += 1
        return causes.most_common(1)[0][0]

    def _by_passages(self, cited: _Cited, of: Part, located: Located) -> Cause | None:
        if not cited.new:
            return "unused" if of == "reference" else None
        # Passages that claimeval cut itself say nothing about how the retriever's chunks split a
        # fact.
        if len(cited.numbers) < 2 or not self.chunked:
            return "not_retrieved"
        # Nor do those of which nobody knows whether they stand beside each other.
        adjacent = _adjacent(cited.numbers, located)
        if adjacent is None:
            return "not_retrieved"
        return "split" if adjacent else "spread"


def _cited(sample: Sample, verdict: Verdict, passages: ClaimPassages) -> _Cited:
    """Return the passages that a judge names, or that of the sentence nearest to its reason if it
    names none."""
    places = {document.id: i for i, document in enumerate(sample.evidence[CORPUS])}
    names = list(verdict.cites)
    if verdict.evidence and not names:
        names = [verdict.evidence.document]
    numbers = tuple(sorted({places[name] for name in names if name in places}))
    # A judge that names no passage has not said that the run had it.
    return _Cited(numbers, new=not numbers or not set(passages.had).issuperset(numbers))


def _adjacent(numbers: Sequence[int], located: Located) -> bool | None:
    """Return whether passages follow each other in one document; None if nothing shows it: their
    documents are not known, or the passages of their document are not in reading order."""
    documents = {located.documents[number] for number in numbers}
    places = sorted(located.places[number] for number in numbers)
    if places[0] < 0:  # a context that is not in the corpus
        return None
    if len(documents - {""}) > 1:
        return False
    follow = all(b - a == 1 for a, b in pairwise(places))
    if "" in documents:
        return None if follow else False
    return None if documents.issubset(located.scattered) else follow


def cause_scores(assessments: Iterable[Assessment]) -> dict[str, Score]:
    """Return the number of claims by cause. It has no value if a claim has no label, and then
    bounds."""
    counts = dict.fromkeys(CAUSES, 0)
    total = 0
    because: Reason | None = None
    unlabeled = 0
    for one in assessments:
        total += 1
        if one.unassessed:
            unlabeled += 1
            because = because or one.unassessed
        if one.cause:
            counts[one.cause] += 1
    scores = dict[str, Score]()
    for cause, count in counts.items():
        scores[cause] = Score(
            value=None if unlabeled else float(count),
            unit=UNIT,
            hits=count,
            judged=total - unlabeled,
            total=total,
            bounds=(float(count), float(count + unlabeled)),
            because=because,
        )
    return scores


def make_job(judging: Judging, *, chunked: bool, settings: Mapping[str, str | int]) -> LocateJob:
    """Return the job after checking all settings. Raises UsageError before any call is made."""
    prompt = prompts.load("assess", PROMPT)
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    spec = specs.parse_panel(judging.judges)
    panel = specs.panel_settings(spec, judging.panel.given, prompt.scale)
    return LocateJob(
        judges=spec.judges,
        prompt=prompt,
        panel=panel,
        chunked=chunked,
        cluster=judging.cluster,
        settings=tuple(settings.items()),
    )


def cause_counts(
    results: Iterable[SampleResult], part: Callable[[Part], bool] = lambda _: True
) -> dict[Cause, int]:
    """Return the number of failed claims by cause, of the parts that are asked for."""
    counts = dict.fromkeys(CAUSES, 0)
    for result in results:
        parts = {claim.id: claim.of for claim in result.claims}
        for one in result.whole:
            if one.cause and part(parts[one.subject]):
                counts[one.cause] += 1
    return counts


def _counts(_: Manifest, results: Iterable[SampleResult]) -> Mapping[str, Mapping[str, int]]:
    return {NAME: {str(cause): number for cause, number in cause_counts(results).items()}}


KIND = JobKind(NAME, counts=_counts, in_shards=False)
