"""The claims job: extract claims from texts, have judges assess them against evidence, and score
the labels.

The claims of each part of a sample are extracted once and assessed for each pair of part and
evidence that the metrics need. Claims and verdicts of an earlier result of the sample are reused.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any, cast

from pydantic import JsonValue

from claimeval.data.survey import Survey, left_out
from claimeval.evaluation.ask import (
    Answers,
    CallAddress,
    ask_until_read,
    ask_windows,
    numbered,
    smaller_room,
)
from claimeval.evaluation.evidence import with_evidence
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
from claimeval.evaluation.kinds import JobKind
from claimeval.evaluation.manifest import JOB_SETTINGS, Manifest, QuestionRecord, versions
from claimeval.evaluation.numbering import find_numbering
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import assess, extract, prompts
from claimeval.judging.panel import Panel, voting
from claimeval.judging.panel.voting import refuse_same_family
from claimeval.judging.prompts import Prompt, PromptRecord
from claimeval.judging.replies import UNCLEAR, UnclearPhrase, unclear_json
from claimeval.lexical.languages import NAMES, language_of_all
from claimeval.metrics import scoring
from claimeval.metrics.citations import cited_contexts
from claimeval.metrics.derived import MetricSelection, derived, resolve_derived
from claimeval.metrics.rows import ABOUT_ANSWERS, METRICS, SUPPORT, Metric
from claimeval.providers import answers_any, claims_per_call, reads_prompts, specs
from claimeval.types.errors import StoppedEarly, UsageError, repeated_id, unknown_name
from claimeval.types.options import PanelOptions
from claimeval.types.questions import Questions
from claimeval.types.records import (
    ASKED,
    CLAIMS,
    GIVEN,
    Assessment,
    Call,
    Claim,
    Document,
    Evidence,
    Numbering,
    Part,
    Reason,
    Sample,
    SampleResult,
    Verdict,
    claims_question,
    has_words,
)
from claimeval.types.requests import Failure, Judge, Request

ONE_TEXT = frozenset({"answer", "reference", ASKED})
"""Parts that are one text; all others are sets of documents."""
FIRST_TEXTS = 20
UNGROUNDED_SHARE = 0.9
"""A run stops if more than this share of the claims in its first texts is ungrounded."""
LANGUAGE_SAMPLES = 200
"""Number of samples, from the first, that determine the language of the prompts."""
NAME = "score"
EXTRACT_PROMPT = "atomic"
ASSESS_PROMPT = "three_way"
"""Default prompts for extracting and assessing claims."""

ASSIGNMENTS = {
    "support": "supported",
    "partial_support": "partly_supported",
    "not_support": "not_found",
}
"""The words of the scale `partial` by nuggetizer's."""

_ONE_JUDGE = Panel()


@dataclass(frozen=True, kw_only=True)
class ClaimsOptions(Questions):
    """User settings of the claims job. None leaves the choice to the panel file, the source run or
    the default."""

    judges: Sequence[str | Judge] = ()
    """`provider:model`, `openai:model@URL`, YAML files or `Judge`; for a rejudged run also names of
    its judges."""
    metrics: Sequence[str | Metric] | None = None
    prompt_parameters: Mapping[str, str] = field(default_factory=dict)
    """Values of prompt parameters beside `reasons` and `quotes`, each for the prompt that has
    it."""
    language: str | None = None
    """Code of the language of the shipped prompts; None for English. `prompt_language` replaces
    `auto` beforehand."""
    claim_order: int = 0
    """Number of the order in which judges see the claims of a sample, which an experiment can
    vary."""
    panel: PanelOptions = PanelOptions()
    cluster: str | None = None
    """Field that defines clusters of samples in intervals; None for the question."""

    @property
    def parameters(self) -> dict[str, str]:
        """All values of prompt parameters."""
        return {**self.prompt_parameters, **self.asked_parameters}

    @property
    def panel_settings(self) -> dict[str, Any]:
        """The given panel settings, by the names of `Panel`."""
        given = {name: value for name in JOB_SETTINGS if (value := getattr(self, name)) is not None}
        return self.panel.given | given


@dataclass(frozen=True)
class ClaimsJob(QuestionJob):
    """Judge answers claim by claim. Created by `make_job`, which checks all settings before the
    first call."""

    metrics: tuple[Metric, ...]
    judges: tuple[Judge, ...]
    extractor: Judge
    extract_prompt: Prompt
    assess_prompt: Prompt
    panel: Panel = _ONE_JUDGE
    recorded_judges: frozenset[str] = frozenset()
    extracts: bool = True
    """Whether claims may have to be extracted."""
    derived: tuple[str, ...] = ()
    """Names of the derived metrics."""
    metric_prompts: Mapping[str, Prompt] = field(default_factory=dict)
    """The prompts of metrics that do not ask whether a text supports a claim, by metric."""
    joint: bool = True
    """Whether claims that no single document supports are assessed against all documents
    together."""
    cluster: str | None = None
    """Field that defines clusters of samples in intervals; None for the question."""
    claim_order: int | None = 0
    """Number of the order in which judges see the claims of a sample; None for text order."""
    remarks: tuple[str, ...] = ()
    """Notes about settings that depend on the data."""
    taken_from: Judge | None = None
    """The extractor of the claims of an earlier run that are kept; None without such claims."""
    numbering: Numbering | None = None
    """What the numbers in citations are; None: an id that is a number, else a rank."""
    needs_question: bool = False
    """Whether samples without a question count as `missing_input`, because a prompt reads it."""
    name = NAME

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges and extractors that may get requests."""
        return (*self.asked_judges, self.extractor) if self.extracts else self.asked_judges

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        prompts = (self.assess_prompt, *self.metric_prompts.values())
        if self.extracts or {metric.claims_of for metric in self.metrics} != {CLAIMS}:
            prompts = (self.extract_prompt, *prompts)
        return Manifest(
            job=self.name,
            metrics=(*self.metrics, *self.derived),
            questions=self.records,
            judges=self.judges,
            extractor=self.taken_from or self.extractor,
            prompts=tuple(prompt.record for prompt in prompts),
            panel=self.panel,
            settings={name: getattr(self.panel, name) for name in JOB_SETTINGS}
            | ({"claim_order": self.claim_order} if self.claim_order else {})
            | ({"numbering": self.numbering} if self.numbering else {}),
            notes=(*self.remarks, *notes(self)),
            cluster=self.cluster,
            versions=versions(*self.judges, self.extractor),
        )

    @property
    def claims_by(self) -> Judge | None:
        """The extractor of the claims; None if all are given."""
        if self.taken_from:
            return self.taken_from
        return self.extractor if self.extracts else None

    @property
    def records(self) -> tuple[QuestionRecord, ...]:
        """The questions about claims."""
        records = (self.record(metric.claims_of, metric.against) for metric in self.metrics)
        return tuple({record.name: record for record in records}.values())

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompt of the question whether a text supports a claim."""
        return (self.assess_prompt,)

    def prompt_of(self, assessment: Assessment, of: Part | None) -> str | None:
        """Return the id of the prompt of an assessment, of a claim of a part; None if the job does
        not make it."""
        asked = any(
            (metric.claims_of, metric.against) == (of, assessment.against)
            for metric in self.metrics
        )
        if of is None or not asked or (assessment.order or 0) > self.panel.shuffle_contexts:
            return None
        return self.prompt(of, assessment.against).id

    def prompt(self, of: Part, against: Part) -> Prompt:
        """Return the prompt for claims of a part against another part."""
        for metric in self.metrics if self.metric_prompts else ():
            if metric.prompt and (metric.claims_of, metric.against) == (of, against):
                return self.metric_prompts[metric.name]
        return self.assess_prompt

    def record(self, of: Part, against: Part) -> QuestionRecord:
        """Return the question about claims of a part against another part."""
        if (of, against) not in self._records:
            panel = self.panel.for_question(name := claims_question(of, against))
            self._records[of, against] = QuestionRecord(
                name=name,
                prompt=self.prompt(of, against).id,
                scale=panel.scale,
                subjects="claims",
                panel=panel,
            )
        return self._records[of, against]

    @cached_property
    def _records(self) -> dict[tuple[Part, Part], QuestionRecord]:
        return {}

    def check_grounding(
        self,
        extractor: Judge,
        claims: tuple[Claim, ...] | Failure,
        executor: Executor,
    ) -> None:
        """Raise StoppedEarly if nearly all claims of the first texts of the run are ungrounded.

        This detects replies that belong to other requests, as in a batch with wrong ids, before
        verdicts are paid for. The executor has the counts, because several runs may share one job.
        """
        counts = executor.counters(f"grounding of {extractor.name}")
        if (
            isinstance(claims, Failure)
            or not claims
            or counts["texts"] == FIRST_TEXTS
            or not reads_prompts(extractor)
        ):
            return
        counts["texts"] += 1
        counts["claims"] += len(claims)
        counts["ungrounded"] += sum(claim.grounding == "ungrounded" for claim in claims)
        if (
            counts["texts"] == FIRST_TEXTS
            and counts["ungrounded"] > UNGROUNDED_SHARE * counts["claims"]
        ):
            raise StoppedEarly(
                f"{extractor.name}: {counts['ungrounded']} of its first {counts['claims']} claims"
                " are not in the texts it was asked about. The replies belong to other questions,"
                " as in a batch with wrong ids, or the model invents claims. Use another --cache"
                " to ask again"
            )

    @cached_property
    def first_stage(self) -> ClaimsJob:
        """The job without requests that depend on verdicts: about all documents together."""
        if not self.panel.per_document:
            return self
        return replace(self, joint=self.panel.per_document is not True)

    def question(
        self,
        sample: Sample,
        of: Part,
        against: Part,
        documents: tuple[Document, ...],
    ) -> Question[Claim]:
        """Return the question about claims of one part against another, or against the sample's
        question.

        Args:
            sample: The sample.
            of: The part that the claims are from.
            against: The part that they are assessed against.
            documents: The documents of that part.
        """
        prompt = self.prompt(of, against)
        alternatives = sample.alternatives(against)
        brackets_cite = self.numbered(sample).brackets_cite
        record = self.record(of, against)

        def concerns(judge: Judge, _: Claim) -> bool:
            """Return whether the judge can be asked what a claim has to do with the question."""
            return answers_any(judge)

        return Question(
            records=(record,),
            address=CallAddress("assess", of),
            evidence=Evidence.of(against),
            documents=lambda evidence: (
                documents if evidence.is_whole else sample.documents(evidence) or ()
            ),
            ask=lambda judge, claims, shown: assess.ask(
                prompt,
                judge,
                claims,
                assess.ShownDocuments(shown, alternatives, brackets_cite),
                sample.full_question,
            ),
            read=lambda completion, request, _: assess.read(
                completion,
                request,
                computed=not reads_prompts(request.judge),
            ),
            singles=_single_documents(self.numbered(sample), of, against, record.panel),
            ask_pairs=partial(assess.ask_pairs, prompt),
            by_document=True,
            per_call=claims_per_call,
            order=lambda judge, claims: (
                assess.shuffled(claims, sample.id, self.claim_order)
                if reads_prompts(judge)
                else claims
            ),
            concerns=concerns if prompt.step != "assess" else None,
        )

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether no judge, or no extractor, is left."""
        return super().cannot_continue(stopped) or (
            self.extracts and self.extractor.name in stopped
        )

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the claims, verdicts and scores of one sample. Failures are reasons in the result.

        Verdicts of an earlier result, and its claims of parts whose extraction did not fail, are
        reused.
        """
        sample = self.numbered(sample_of(item))
        earlier = EarlierVerdicts(item)
        metrics = self._fed(sample, earlier)
        parts = list(dict.fromkeys(metric.claims_of for metric in metrics))
        replies: list[Extracted] = await gather_all(
            [claims_of(sample, part, self, executor, earlier) for part in parts]
        )
        extracted = dict(zip(parts, replies, strict=True))
        claims = {part: _claims_in(extraction) for part, extraction in extracted.items()}
        evidence = _evidence(sample, metrics, claims)
        given = _given(sample, self, evidence)

        def judged(of: Part, against: Part) -> Coroutine[Any, Any, JudgedSubjects]:
            """Judge the claims of one part against another part."""
            context = JudgingContext(self, executor, earlier, self.same_family(sample, of, against))
            known = set[str]()
            if of == "reference":
                known = {given_one.subject for given_one in given if given_one.against == against}
            asked = [claim for claim in claims[of] if claim.id not in known]
            return judge(self.question(sample, of, against, evidence[of, against]), asked, context)

        # All pairs of a sample at once: four metrics take the time of the slowest.
        judged_pairs: list[JudgedSubjects] = await gather_all(
            [judged(of, against) for of, against in evidence]
        )
        steps: list[Extracted | JudgedSubjects] = [*replies, *judged_pairs]
        calls = earlier.calls + tuple(chain.from_iterable(step.calls for step in steps))
        voted = votes(judged_pairs, [self.record(of, against) for of, against in evidence], calls)
        all_claims = tuple(chain.from_iterable(claims.values()))
        unscored = SampleResult(
            sample=sample,
            claims=all_claims,
            unextracted={
                part: why_without_claims(extraction)
                for part, extraction in extracted.items()
                if not claims[part]
            },
            assessments=self._in_order(sample, all_claims, voted, given),
            calls=calls,
        )
        return self.scored(unscored)

    def _fed(self, sample: Sample, earlier: EarlierVerdicts) -> list[Metric]:
        """Return the metrics whose inputs a sample has; none if it lacks a question that a prompt
        reads."""
        # A result that has calls was judged, and keeps its verdicts though its question is blank.
        if self.needs_question and not sample.question.strip() and not earlier.calls:
            return []
        return [metric for metric in self.metrics if metric.missing_part(sample) is None]

    def _in_order(
        self,
        sample: Sample,
        claims: Sequence[Claim],
        voted: Sequence[Assessment],
        given: Sequence[Assessment],
    ) -> tuple[Assessment, ...]:
        """Return the assessments of a sample with the sentence that each rests on: those against
        all evidence, those with labels of the data, those against single documents."""
        reasoning = {judge.name for judge in self.judges if reads_prompts(judge)}
        # A judge by words has no reason in a sentence, only the words of its score.
        with_sentences = with_evidence(sample, claims, voted, reasoning)
        whole = [assessment for assessment in with_sentences if assessment.is_whole]
        single = [assessment for assessment in with_sentences if not assessment.is_whole]
        return (*whole, *given, *single)

    def numbered(self, sample: Sample) -> Sample:
        """Return the sample with what the numbers in its citations are."""
        if sample.numbering == self.numbering:
            return sample
        return sample.model_copy(update={"numbering": self.numbering})

    def scored(self, result: SampleResult) -> SampleResult:
        """Return the result with the assessments against empty parts, of which nobody is asked,
        with the phrases that no claim was made of, and with the scores."""
        if result.sample.numbering != self.numbering:
            result = result.model_copy(update={"sample": self.numbered(result.sample)})
        columns = result.columns()
        unjudged = [
            metric for metric in self.metrics if (metric.claims_of, metric.against) not in columns
        ]
        if unasked := [
            *chain.from_iterable(scoring.unasked(unjudged, result.sample, result.claims).values())
        ]:
            others = [assessment for assessment in result.assessments if not assessment.is_whole]
            result = result.model_copy(update={"assessments": (*result.whole, *unasked, *others)})
        if phrases := _unclear(self, result):
            details = {**(result.details or {}), UNCLEAR: phrases}
            result = result.model_copy(update={"details": details})
        return result.model_copy(
            update={"scores": scoring.scores(self.metrics, result, self.derived)}
        )

    def check_families(self, generators: Iterable[str | None]) -> None:
        """Raise UsageError if a judge or the extractor is of a generator's family and
        `on_same_family` is `error`."""
        judges = [*(("judge", judge) for judge in self.judges), ("extractor", self.extractor)]
        refuse_same_family(judges, self.panel, generators)


def _single_documents(
    sample: Sample,
    of: Part,
    against: Part,
    panel: Panel,
) -> tuple[tuple[Evidence, Document], ...]:
    """Return the documents that claims are assessed against one by one or in other orders; none if
    there is one."""
    ranks = sample.ranks(against)
    documents = sample.documents(against) or ()
    # With one document, the single document and the whole evidence would be two questions of one
    # answer.
    if against in ONE_TEXT or len(ranks) < 2 or not (panel.per_document or panel.shuffle_contexts):
        return ()
    asked = frozenset(ranks)
    if panel.per_document == "cited":
        asked = cited_contexts(sample) if (of, against) == ("answer", "contexts") else frozenset()
    pairs = zip(ranks, documents, strict=True)
    return tuple(
        [
            (Evidence.of(against, document=rank), document)
            for rank, document in pairs
            if rank in asked
        ]
    )


Extracted = Answers[tuple[Claim, ...]]
"""The claims of a text, or why there are none."""


def _given(sample: Sample, job: ClaimsJob, pairs: Iterable[tuple[Part, Part]]) -> list[Assessment]:
    """Return the assessments of the given claims of a reference that came with them: importance and
    assignment."""
    claims = sample.given_claims("reference")
    labels: list[tuple[Part, list[str | None]]] = [
        (ASKED, [claim.importance for _, claim in claims]),
        ("answer", [ASSIGNMENTS.get(claim.assignment or "") for _, claim in claims]),
    ]
    assessments = []
    for against, words in labels:
        if ("reference", against) in pairs:
            record = job.record("reference", against)
            for (subject, _), word in zip(claims, words, strict=True):
                if word is not None:
                    # A prompt of two labels has no word for partial support, which counts as none
                    # in its strict form.
                    known = word if word in record.scale.words else "not_found"
                    verdict = Verdict(judge=GIVEN, **record.scale.labeled(known))
                    evidence = Evidence.of(against)
                    panel = record.panel
                    assessments.append(
                        voting.vote(subject, evidence, [verdict], panel, question=record.name)
                    )
    return assessments


def _unclear(job: ClaimsJob, result: SampleResult) -> dict[str, JsonValue]:
    """Return the phrases that the extraction of each part left out because their reference is
    unknown."""
    if not job.extract_prompt.lists_unclear:
        return {}
    unresolved: dict[str, dict[UnclearPhrase, None]] = {}
    for call in result.calls:
        if call.step == "extract" and call.reply and not call.failed:
            unresolved.setdefault(call.part, {}).update(dict.fromkeys(unclear_json(call.reply)))
    return {
        part: [phrase._asdict() for phrase in phrases]
        for part, phrases in unresolved.items()
        if phrases
    }


def _claims_in(extraction: Extracted) -> tuple[Claim, ...]:
    value = extraction.value
    return () if isinstance(value, Failure) else value


def _evidence(
    sample: Sample,
    metrics: Iterable[Metric],
    claims: Mapping[Part, Sequence[Claim]],
) -> dict[tuple[Part, Part], tuple[Document, ...]]:
    """Return, by pair of a part with claims and a part that these are assessed against, the
    documents of the latter, of which there is one at least."""
    evidence: dict[tuple[Part, Part], tuple[Document, ...]] = {}
    for metric in metrics:
        documents = sample.documents(metric.against)
        if claims[metric.claims_of] and documents:
            evidence[metric.claims_of, metric.against] = documents
    return evidence


def why_without_claims(extraction: Extracted) -> Reason:
    """Return why a text has no claims: the failure of its extraction, or that it states nothing."""
    value = extraction.value
    return value.reason if isinstance(value, Failure) else "no_claims"


async def claims_of(
    sample: Sample,
    part: Part,
    job: ClaimsJob,
    executor: Executor,
    earlier: EarlierVerdicts,
) -> Extracted:
    """Return the claims of one part: from an earlier result, given, or from the extractor.

    Args:
        sample: The sample.
        part: The part.
        job: The job, which has the extractor.
        executor: Answers the requests.
        earlier: What an earlier result of the sample has.
    """
    if (claims := earlier.claims(part)) is not None:
        return Extracted.only(claims)
    if given := sample.given_claims(part):
        return Extracted.only(
            tuple(
                [Claim(id=name, of=part, text=one.text, grounding="given") for name, one in given]
            )
        )
    return await _extract(sample, part, job.extractor, job, executor)


async def _extract(
    sample: Sample,
    part: Part,
    extractor: Judge,
    job: ClaimsJob,
    executor: Executor,
) -> Extracted:
    texts = sample.texts(part)
    assert texts is not None, "only parts that the sample has are extracted"
    extractions: list[Extracted] = await gather_all(
        [
            extract_text(sample, part, text, extractor, job.extract_prompt, executor)
            for text in texts
        ]
    )
    # Before the verdicts, which cost most of a run and would be about claims of other texts.
    for extraction in extractions:
        job.check_grounding(extractor, extraction.value, executor)
    if not sample.alternatives(part):
        return extractions[0]
    pairs = [(text, extraction.value) for text, extraction in zip(texts, extractions, strict=True)]
    return Extracted.only(
        extract.join_alternatives(part, pairs),
        tuple(chain.from_iterable(extraction.calls for extraction in extractions)),
    )


async def extract_text(
    sample: Sample,
    part: Part,
    text: str,
    extractor: Judge,
    prompt: Prompt,
    executor: Executor,
) -> Extracted:
    """Extract the claims of a text, in windows of its sentences if it is too long for one request.

    Args:
        sample: The sample, which has the question.
        part: The part that the text belongs to.
        text: The text.
        extractor: The extractor.
        prompt: The prompt.
        executor: Answers the requests.
    """
    if not has_words(text):
        return Extracted.only(())

    def request_for(window: extract.TextWindow | None = None) -> Request:
        """Return the request for the claims of a window."""
        return extract.ask(
            prompt,
            extractor,
            part,
            text,
            sample.full_question,
            window,
            brackets_cite=sample.brackets_cite,
        )

    def ask(
        request: Request, window: extract.TextWindow | str = ""
    ) -> Coroutine[Any, Any, Extracted]:
        """Ask for the claims."""
        return ask_until_read(
            request,
            lambda completion, request: extract.read(
                completion, request, part, sample.full_question
            ),
            executor,
            CallAddress("extract", part),
            str(window),
        )

    whole = request_for()
    room = executor.room(whole)
    calls: tuple[Call, ...] = ()
    if room is None or await executor.fits(whole):
        extracted = await ask(whole)
        if not extracted.too_long:
            return extracted
        calls = extracted.calls
        room = smaller_room(whole, extracted.value, executor.room(whole))
    while len(windows := extract.windows(whole, request_for(extract.NOTHING), room)) > 1:
        extractions = await ask_windows(windows, lambda window, _: ask(request_for(window), window))
        calls += numbered(extractions)
        if any(extraction.too_long for extraction in extractions):
            # A server that does not say its window is found by halves.
            room //= 2
            continue
        values = [extraction.value for extraction in extractions]
        # A window that failed fails the text: its claims would be missing from the score unseen.
        if failed := next((value for value in values if isinstance(value, Failure)), None):
            return Extracted.only(failed, calls)
        claims = [_claims_in(extraction) for extraction in extractions]
        return Extracted.only(extract.join_windows(part, windows, claims), calls)
    return Extracted.only(
        Failure(reason="too_long", message="the window has no room for the text"), calls
    )


def job_of(record: Manifest) -> ClaimsJob:
    """Return the job of a run, with its prompts, or the default ones if the run has claims or
    verdicts without one."""
    assert record.extractor, "a run of claims has an extractor"
    recorded = {prompt.step: Prompt.of(prompt) for prompt in reversed(record.prompts)}
    default = default_assess_prompt(record.derived)
    return ClaimsJob(
        metrics=record.rows,
        derived=record.derived,
        metric_prompts=metric_prompts(record.rows, record.prompts),
        judges=record.judges,
        extractor=record.extractor,
        extract_prompt=recorded.get("extract") or prompts.load("extract", EXTRACT_PROMPT),
        assess_prompt=recorded.get("assess") or prompts.load("assess", default),
        panel=record.panel,
        cluster=record.cluster,
        numbering=cast(Numbering | None, record.settings.get("numbering")),
    )


def _resume(record: Manifest) -> ClaimsJob:
    """Return the job of a run, which may be that of a cited report."""
    if "passages" not in record.settings:
        return job_of(record)
    from claimeval.evaluation.reports import report_job_of

    return report_job_of(record)


KIND = JobKind(NAME, resume=_resume)


def choose_metrics(requested: MetricSelection | None, surveyed: Survey) -> MetricSelection:
    """Return the requested metrics, or the built-in ones about answers whose inputs some sample
    has.

    For a test set without answers, the default is `reference_support`. Samples that lack an input
    of a metric count as `missing_input`.

    Raises:
        UsageError: If no sample has the inputs of a requested metric, or of any metric.
        DataError: If two samples have the same id.
    """
    if surveyed.duplicate_numbers:
        raise repeated_id(surveyed.duplicate_ids[0], *surveyed.duplicate_numbers)
    if requested:
        _check_inputs(requested.rows, surveyed)
        return requested
    usable = tuple(metric for metric in SUPPORT if surveyed.has_inputs_for(metric.name))
    about_answers = tuple(metric for metric in usable if metric.name in ABOUT_ANSWERS)
    # A test set without answers still says whether its contexts hold its gold answers.
    if not usable:
        needs = "; ".join(incomplete(surveyed, [METRICS[name] for name in ABOUT_ANSWERS]))
        raise UsageError(f"no sample has what a metric needs: {needs}{_advice(surveyed, 'answer')}")
    return MetricSelection(about_answers or usable, None)


def _check_inputs(metrics: Sequence[Metric], surveyed: Survey) -> None:
    """Raise UsageError if no sample has the inputs of a metric."""
    lacking = [metric for metric in metrics if not surveyed.has_inputs_for(metric.name)]
    if not lacking:
        return
    first = lacking[0]
    lacks = ", ".join(incomplete(surveyed, [first]))
    field = surveyed.missing_fields[first.name][0].field
    others = [metric.name for metric in metrics if metric not in lacking]
    instead = f", or use -m {','.join(others)}" if others else ""
    raise UsageError(
        f"no sample has what {first.name} needs: {lacks}{_advice(surveyed, field)}{instead}"
    )


def _advice(surveyed: Survey, field: str) -> str:
    """Return what to do about a missing field, as the end of a message."""
    return surveyed.advice or f"; if a column has it, name it, as in --field {field}=COLUMN"


def incomplete(surveyed: Survey, metrics: Sequence[Metric]) -> dict[str, list[str]]:
    """Return descriptions of inputs that some samples lack, each with the metrics that need it."""
    lacks: dict[str, list[str]] = {}
    for metric in metrics:
        for lack in surveyed.missing_fields[metric.name]:
            words = (
                f"{lack.count} of {surveyed.samples} samples lack {lack.field} (first:"
                f" {lack.first!r})"
            )
            lacks.setdefault(words, []).append(metric.name)
    return lacks


def make_job(
    options: ClaimsOptions,
    metrics: MetricSelection,
    *,
    extracts: bool = True,
) -> ClaimsJob:
    """Return the job after checking all settings. Raises UsageError before any call is made.

    Args:
        options: The settings.
        metrics: The metrics.
        extracts: Whether claims may have to be extracted, which not every judge can.
    """
    panel = specs.parse_panel(options.judges, options.claims_per_call)
    spec = options.extractor or panel.extractor
    extractor = (
        specs.parse_judge(spec, specs.asking(options.claims_per_call)) if spec else panel.judges[0]
    )
    # Calls and verdicts name a judge by its name alone.
    if any(judge.name == extractor.name and judge != extractor for judge in panel.judges):
        raise UsageError(
            f"extractor and judge are both called {extractor.name!r} but differ; give one another"
            " name"
        )
    if extracts:
        specs.check_extractor(extractor)
    extract_prompt, prompt = _load_prompts(options, metrics)
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    settings = specs.panel_settings(
        panel,
        {**citing(metrics.derived or (), panel.settings), **options.panel_settings},
        prompt.scale,
    )
    check_readers(metrics.rows, panel.judges)
    return ClaimsJob(
        metrics=metrics.rows,
        derived=resolve_derived(
            metrics,
            per_document=settings.per_document,
            three_way="contradicted" in settings.scale.words,
        ),
        metric_prompts=metric_prompts(metrics.rows),
        judges=panel.judges,
        extractor=extractor,
        extract_prompt=extract_prompt,
        assess_prompt=prompt,
        panel=settings,
        extracts=extracts or specs.can_extract(extractor),
        cluster=options.cluster,
        claim_order=options.claim_order,
    )


def needs_claims(metrics: Iterable[Metric], surveyed: Survey) -> bool:
    """Return whether claims have to be extracted for metrics: those of answers and documents, or of
    gold answers that came without claims."""
    parts = {metric.claims_of for metric in metrics}
    return parts != {"reference"} or surveyed.references_without_claims > 0


ASKED_FOR = {
    "reasons": (
        "assess",
        "always asks for all reasons; three_way, binary and partial can ask for fewer",
    ),
    "quotes": ("extract", "has no setting for quotes; atomic has"),
}
"""The step of each parameter that has an option, and what a prompt without the parameter does."""


def citing(metrics: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting that has the cited documents judged one by one, if a metric needs it and
    `given` has none."""
    needed = any(derived(name).cites for name in metrics)
    return {"per_document": "cited"} if needed and not given.get("per_document") else {}


def with_numbering(
    job: ClaimsJob,
    samples: Iterable[Sample],
    given: Numbering | None = None,
    *,
    ask: bool = True,
) -> ClaimsJob:
    """Return the job with what the numbers in the citations of its samples are, if it reads them.

    Args:
        job: The job.
        samples: The samples.
        given: The numbering, if the caller says it.
        ask: Whether two readings that the answers fit are an error.

    Raises:
        UsageError: Metrics of citations are asked for, and the answers fit two readings.
    """
    has_metrics = any(derived(name).cites for name in job.derived)
    if not has_metrics and not job.panel.per_document:
        # Brackets that cite nothing are words of claims, which judges by words compare.
        return replace(job, numbering=given) if given == "none" else job
    found = find_numbering(samples, given, ask=ask and has_metrics)
    # Without metrics of citations, no number of the run depends on whether brackets cite.
    notes = (found.note, found.doubt if has_metrics else None)
    remarks = (*job.remarks, *filter(None, notes))
    return replace(job, numbering=found.numbering, remarks=remarks)


def _load_prompts(options: ClaimsOptions, metrics: MetricSelection) -> list[Prompt]:
    """Return the prompts that extract and assess claims. Raises UsageError for a parameter that
    neither has."""
    by_step = {
        "extract": options.extract_prompt or EXTRACT_PROMPT,
        "assess": options.assess_prompt or default_assess_prompt(metrics.derived or ()),
    }
    by_step = {
        step: prompts.named_in(step, spec, options.language) for step, spec in by_step.items()
    }
    parameters = options.parameters
    declared = {step: prompts.load(step, spec).parameters for step, spec in by_step.items()}
    if unknown := set(parameters).difference(*declared.values()):
        name = min(unknown)
        if name in ASKED_FOR:
            step, without = ASKED_FOR[name]
            raise UsageError(
                f"{name}: the prompt {step}/{by_step[step].removeprefix(f'{step}/')} {without}"
            )
        raise unknown_name("parameter of the prompts:", name, set().union(*declared.values()))
    return [
        prompts.load(
            step,
            spec,
            {name: parameters[name] for name in declared[step] if name in parameters},
        )
        for step, spec in by_step.items()
    ]


AUTO = "auto"
"""The language of the samples."""


def prompt_language(samples: Iterable[Sample]) -> tuple[str, str]:
    """Return the code of the language of two thirds of the samples, and a note about the choice.

    The language is English if no language covers two thirds, or if the prompts are not translated
    into it.
    """
    # One language for the run: a mean over prompts of two languages would mix two ways of asking.
    first = islice(samples, LANGUAGE_SAMPLES)
    result = language_of_all(f"{sample.question}\n{sample.answer or ''}" for sample in first)
    if result.language in ("en", *prompts.languages()):
        return (
            result.language,
            f"prompts are in {NAMES[result.language]}, the language of the samples ({result})",
        )
    return (
        "en",
        (
            "prompts are in English: no other language with prompts covers two thirds of the"
            f" samples ({result})"
        ),
    )


def default_assess_prompt(metrics: Iterable[str]) -> str:
    """Return the default assess prompt: `partial` if a derived metric counts partial support, else
    `three_way`.

    It is also `three_way` if a metric distinguishes contradicted from not found, which `partial`
    does not.
    """
    rows = [derived(name) for name in metrics]
    return (
        "partial"
        if any(row.partial for row in rows) and not any(row.three_way for row in rows)
        else ASSESS_PROMPT
    )


def notes(job: ClaimsJob) -> tuple[str, ...]:
    """Return notes on the reliability of the numbers."""
    notes = specs.notes(job.judges, job.claims_by)
    names = [name for name in job.derived if derived(name).partial]
    # `nugget_recall` beside `nugget_recall_strict` would look like a second result, though one is
    # a copy of the other.
    if names and not job.panel.scale.ordered:
        verb = "equals" if len(names) == 1 else "equal"
        notes += (
            (
                f"the prompt {job.assess_prompt.name} has no label for partial support, so"
                f" {', '.join(names)} {verb} the strict form (assess/partial has one)"
            ),
        )
    if job.extracts and job.taken_from and job.taken_from.id != job.extractor.id:
        notes += (
            (
                f"missing claims were extracted by {job.extractor.name}, all others by"
                f" {job.taken_from.name}"
            ),
        )
    return notes


def metric_prompts(
    metrics: Iterable[Metric], recorded: Iterable[PromptRecord] = ()
) -> dict[str, Prompt]:
    """Return the custom prompts of metrics, by metric; a recorded prompt is used as it was."""
    before = {record.name: Prompt.of(record) for record in recorded if record.step == "weigh"}
    return {
        metric.name: before.get(metric.prompt) or prompts.load("weigh", metric.prompt)
        for metric in metrics
        if metric.prompt
    }


def check_readers(metrics: Iterable[Metric], judges: Sequence[Judge]) -> None:
    """Raise UsageError if a metric has a prompt of its own and no judge can be asked about a
    claim."""
    name = min((metric.name for metric in metrics if metric.prompt), default=None)
    if name and not any(map(answers_any, judges)):
        raise UsageError(
            f"{name} asks what a claim has to do with a question, which takes a language model or"
            " a decision model"
        )


def with_questions(job: ClaimsJob, surveyed: Survey) -> tuple[ClaimsJob, tuple[str, ...]]:
    """Return the job, which leaves out samples without a question if a prompt reads it, and a
    remark on those samples, if there are any.

    Raises DataError if no sample has a question.
    """
    used: list[Prompt] = []
    if any(map(reads_prompts, job.asked_judges)):
        used += (job.assess_prompt, *job.metric_prompts.values())
    if job.extracts and reads_prompts(job.extractor):
        used.append(job.extract_prompt)
    reading = next((prompt for prompt in used if "question" in prompt.reads), None)
    remarks = tuple[str, ...]()
    if reading and (lack := surveyed.no_question):
        remarks = (left_out(lack, surveyed.samples, reading.name),)
    return replace(job, needs_question=reading is not None), remarks
