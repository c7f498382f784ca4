"""The claims job: claims are taken from texts once, put to the judges for each pair of part and evidence, and scored.

How one sample is evaluated is straight-line code over `ask`: extract the claims of each part, ask about each claim, ask
once more about claims that a reply left out, vote, score. What an earlier result of the sample has is taken from it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from claimeval.data.survey import Survey, no_question, repeated_id
from claimeval.evaluation.ask import CallAddress, ask_until_read
from claimeval.evaluation.judgment import (
    EarlierVerdicts,
    JudgedSubjects,
    JudgingContext,
    PanelJob,
    Question,
    judge,
    one_each,
)
from claimeval.evaluation.manifest import Manifest, QuestionRecord, versions
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import assess, extract, prompts
from claimeval.judging.panel import Panel
from claimeval.judging.panel.voting import refuse_same_family, same_family
from claimeval.judging.prompts import Prompt
from claimeval.metrics import scoring
from claimeval.metrics.derived import MetricSelection, derived, resolve_derived
from claimeval.metrics.rows import ABOUT_ANSWERS, METRICS, SUPPORT, Metric
from claimeval.providers import reads_prompts, specs
from claimeval.types.errors import StoppedEarly, UsageError, unknown_name
from claimeval.types.families import Families
from claimeval.types.options import PanelOptions
from claimeval.types.records import (
    ASKED,
    Call,
    Claim,
    Document,
    Evidence,
    Part,
    Sample,
    SampleResult,
    claims_question,
    says_something,
)
from claimeval.types.requests import Failure, Judge, Request

ONE_TEXT = frozenset({"answer", "reference", ASKED})
"""Parts that are read as a whole; all others are sets of documents."""
FIRST_TEXTS, UNGROUNDED_SHARE = 20, 0.9
"""Texts after which a run is stopped if a larger share of their claims is ungrounded."""
EXTRACT_PROMPT, ASSESS_PROMPT = "atomic", "three_way"
"""The prompts for taking and assessing claims if none is named."""


_ONE_JUDGE = Panel()


@dataclass(frozen=True, kw_only=True)
class ClaimsOptions:
    """What a user says about the claims job; None is not said, so the panel file, the source or the default decides."""

    judges: Sequence[str | Judge] = ()
    """`provider:model`, `openai:model@URL`, YAML files or `Judge`; of a run that is judged again also their names."""
    extractor: str | Judge | None = None
    """Who takes the claims from the texts; the first judge by default."""
    metrics: Sequence[str | Metric] | None = None
    extract_prompt: str | None = None
    assess_prompt: str | None = None
    """By default `three_way`, or `partial` if a metric counts partial support."""
    prompt_parameters: Mapping[str, str] = field(default_factory=dict)
    """Values of the prompts' parameters, each for the prompt that has it."""
    per_document: bool | None = None
    """Assess claims against each document alone too."""
    shuffle_contexts: int | None = None
    """In how many other orders of the documents claims are assessed too."""
    extract_per_judge: bool | None = None
    """Every judge takes its own claims and assesses those alone."""
    panel: PanelOptions = PanelOptions()
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""

    @property
    def panel_settings(self) -> dict[str, Any]:
        """The settings of a panel that were given, by the names of `Panel`."""
        question = {
            "per_document": self.per_document,
            "shuffle_contexts": self.shuffle_contexts,
            "extract_per_judge": self.extract_per_judge,
        }
        return self.panel.given | {name: value for name, value in question.items() if value is not None}


@dataclass(frozen=True)
class ClaimsJob(PanelJob):
    """Judge answers claim by claim: what is asked of every sample, settled and checked before any call is made."""

    metrics: tuple[Metric, ...]
    judges: tuple[Judge, ...]
    extractor: Judge
    extract_prompt: Prompt
    assess_prompt: Prompt
    panel: Panel = _ONE_JUDGE
    on_record: frozenset[str] = frozenset()
    extracts: bool = True
    """Whether some text may have to be taken apart."""
    derived: tuple[str, ...] = ()
    """Metrics that are read off the verdicts, by name."""
    own_prompts: Mapping[str, Prompt] = field(default_factory=dict)
    """By metric, the prompts of rows that ask something else than whether a text supports a claim."""
    joint: bool = True
    """Whether claims that no single document supports are assessed against all of them together."""
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""
    name = "score"

    @property
    def asked(self) -> tuple[Judge, ...]:
        """Everyone to whom a question may go."""
        return (*self.asked_judges, self.extractor) if self._one_extracts else self.asked_judges

    @property
    def _one_extracts(self) -> bool:
        return self.extracts and not self.panel.extract_per_judge

    @cached_property
    def families(self) -> Families:
        """Which models are of one family."""
        return Families(self.panel.families)

    @property
    def manifest(self) -> Manifest:
        """Everything about the job that decides numbers."""
        used = (self.extract_prompt, self.assess_prompt, *self.own_prompts.values())
        return Manifest(
            job=self.name,
            metrics=(*self.metrics, *self.derived),
            questions=tuple({one.name: one for one in map(self.record_of, self.metrics)}.values()),
            judges=self.judges,
            extractor=self.extractor,
            prompts=tuple(prompt.record for prompt in used),
            panel=self.panel,
            settings={
                "per_document": self.panel.per_document,
                "shuffle_contexts": self.panel.shuffle_contexts,
                "extract_per_judge": self.panel.extract_per_judge,
            },
            notes=notes(self),
            cluster=self.cluster,
            versions=versions(),
        )

    def prompt(self, of: Part, against: Part) -> Prompt:
        """What judges are asked of the claims of a part against a text."""
        for metric in self.metrics if self.own_prompts else ():
            if metric.prompt and (metric.claims_of, metric.against) == (of, against):
                return self.own_prompts[metric.name]
        return self.assess_prompt

    def record_of(self, metric: Metric) -> QuestionRecord:
        """The question that a metric asks."""
        return self.record(metric.claims_of, metric.against)

    def record(self, of: Part, against: Part) -> QuestionRecord:
        """The question about claims of a part against a text."""
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

    @cached_property
    def _grounding(self) -> defaultdict[str, Counter[str]]:
        """Of each extractor's first texts, how many claims there are and how many are grounded."""
        return defaultdict(Counter)

    def check_grounding(self, extractor: Judge, claims: tuple[Claim, ...] | Failure) -> None:
        """Raise StoppedEarly if nearly no claim of the first texts is from its text: replies belong to other questions.

        A results file of a batch whose lines answer one another's questions is noticed so before verdicts are paid.
        """
        seen = self._grounding[extractor.name]
        if isinstance(claims, Failure) or not claims or seen["texts"] == FIRST_TEXTS or not reads_prompts(extractor):
            return
        seen["texts"] += 1
        seen["claims"] += len(claims)
        seen["ungrounded"] += sum(claim.grounding == "ungrounded" for claim in claims)
        if seen["texts"] == FIRST_TEXTS and seen["ungrounded"] > UNGROUNDED_SHARE * seen["claims"]:
            raise StoppedEarly(
                f"{extractor.name}: {seen['ungrounded']} of its first {seen['claims']} claims are not in the texts it "
                "was asked about. It answers other questions than were asked: replies of a batch under wrong ids, "
                "or a model that invents claims. Another --cache asks anew"
            )

    @cached_property
    def first_stage(self) -> ClaimsJob:
        """The job without judges who are asked only where others disagree, and without all documents together about
        claims that no single one supports; itself if nothing hangs on verdicts."""
        if not (self.panel.escalate or self.panel.per_document):
            return self
        return replace(
            self,
            judges=self.judges[: self.panel.escalate],
            panel=self.panel.model_copy(update={"escalate": None}),
            joint=not self.panel.per_document,
        )

    def question(self, sample: Sample, of: Part, against: Part) -> Question[Claim]:
        """Ask whether a part of a sample supports the claims of another, or what they have to do with its question."""
        prompt, alternatives = self.prompt(of, against), sample.alternatives(against)
        record, of_extractor = self.record(of, against), self.panel.extract_per_judge
        whole = against in ONE_TEXT or not (record.panel.per_document or record.panel.shuffle_contexts)

        def concerns(judge: Judge, claim: Claim) -> bool:
            """Whether the judge reads such a prompt and, where each takes its own claims, took this one."""
            reads = prompt.step == "assess" or reads_prompts(judge)
            return reads and (not of_extractor or claim.extractor == judge.name)

        def ask(judge: Judge, claims: Sequence[Claim], evidence: Evidence) -> Request:
            """Return the request for verdicts on the claims, shown as c1, c2, ..."""
            shown = assess.ShownDocuments(sample.documents(evidence) or (), alternatives)
            return assess.ask(prompt, judge, claims, shown, sample.full_question)

        return Question(
            records=(record,),
            address=CallAddress("assess", of),
            evidence=Evidence(part=against),
            ask=ask,
            read=lambda completion, request, _: one_each(
                assess.read(completion, request, computed=not reads_prompts(request.judge))
            ),
            singles=() if whole else tuple(_singles(sample, against)),
            per_call=assess.CLAIMS_PER_CALL,
            concerns=concerns,
        )

    def hopeless(self, stopped: Mapping[str, str]) -> bool:
        """Whether no judge, or no extractor, is left."""
        return super().hopeless(stopped) or (self._one_extracts and self.extractor.name in stopped)

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return all claims, verdicts and scores of one sample. What fails is in the result as a reason.

        What an earlier result has (claims of parts whose extraction did not fail, verdicts) is taken over and not asked
        for again.
        """
        sample, known = (item.sample, item) if isinstance(item, SampleResult) else (item, None)
        return await _evaluate(sample, self, executor, EarlierVerdicts(known))


def _singles(sample: Sample, part: Part) -> Iterator[tuple[Evidence, Document]]:
    for rank, document in zip(sample.ranks(part), sample.documents(part) or (), strict=True):
        yield Evidence(part=part, document=rank), document


class _Extracted(NamedTuple):
    claims: tuple[Claim, ...] | Failure
    calls: tuple[Call, ...]


async def _evaluate(sample: Sample, job: ClaimsJob, executor: Executor, known: EarlierVerdicts) -> SampleResult:
    fed = [metric for metric in job.metrics if metric.missing_part(sample) is None]
    parts = list(dict.fromkeys(metric.claims_of for metric in fed))
    extracted: list[_Extracted] = await gather_all([_claims(sample, part, job, executor, known) for part in parts])
    claims = {
        part: () if isinstance(one.claims, Failure) else one.claims for part, one in zip(parts, extracted, strict=True)
    }

    def judged(of: Part, against: Part) -> Coroutine[Any, Any, JudgedSubjects]:
        """Judge the claims of one part against another part."""
        context = JudgingContext(
            judges=job.judges,
            executor=executor,
            same_family=same_family(job.judges, job.families, sample, of, against),
            on_record=job.on_record,
            joint=job.joint,
            earlier=known,
        )
        return judge(job.question(sample, of, against), claims[of], context)

    pairs = [
        (of, against)
        for of, against in dict.fromkeys((metric.claims_of, metric.against) for metric in fed)
        if claims[of] and sample.documents(against)
    ]
    found: list[JudgedSubjects] = await gather_all([judged(of, against) for of, against in pairs])
    asked: list[_Extracted | JudgedSubjects] = [*extracted, *found]
    every_claim = tuple(chain.from_iterable(claims.values()))
    without = [metric for metric in fed if (metric.claims_of, metric.against) not in pairs]
    unscored = SampleResult(
        sample=sample,
        claims=every_claim,
        unextracted={
            part: one.claims.reason if isinstance(one.claims, Failure) else "no_claims"
            for part, one in zip(parts, extracted, strict=True)
            if not claims[part]
        },
        assessments=tuple(
            chain(*[one.assessments for one in found], *scoring.unasked(without, sample, every_claim).values())
        ),
        per_document=tuple(chain.from_iterable([one.per_document for one in found])),
        orders=tuple(chain.from_iterable([one.orders for one in found])),
        calls=known.calls + tuple([call for one in asked for call in one.calls]),
    )
    return unscored.model_copy(update={"scores": scoring.scores(job.metrics, unscored, job.derived)})


async def _claims(sample: Sample, part: Part, job: ClaimsJob, executor: Executor, known: EarlierVerdicts) -> _Extracted:
    """The claims of one part: known, taken by the extractor, or by every judge for itself."""
    if (claims := known.claims(part)) is not None:
        return _Extracted(claims, ())
    if not job.panel.extract_per_judge:
        return await _extract(sample, part, job.extractor, job, executor)
    found: list[_Extracted] = await gather_all([_extract(sample, part, judge, job, executor) for judge in job.judges])
    by_judge = {judge.name: one.claims for judge, one in zip(job.judges, found, strict=True)}
    return _Extracted(extract.side_by_side(part, by_judge), tuple(call for one in found for call in one.calls))


async def _extract(sample: Sample, part: Part, taker: Judge, job: ClaimsJob, executor: Executor) -> _Extracted:
    texts = sample.texts(part)
    assert texts is not None, "only parts that the sample has are extracted"
    found: list[_Extracted] = await gather_all(
        [_extract_text(sample, part, text, taker, job.extract_prompt, executor) for text in texts]
    )
    for one in found:
        job.check_grounding(taker, one.claims)
    if not sample.alternatives(part):
        return found[0]
    pairs = [(text, one.claims) for text, one in zip(texts, found, strict=True)]
    return _Extracted(extract.one_after_another(part, pairs), tuple(call for one in found for call in one.calls))


async def _extract_text(
    sample: Sample, part: Part, text: str, taker: Judge, prompt: Prompt, executor: Executor
) -> _Extracted:
    if not says_something(text):
        return _Extracted((), ())
    reply = await ask_until_read(
        extract.ask(prompt, taker, part, text, sample.full_question),
        lambda completion, request: extract.read(completion, request, part, sample.full_question),
        executor,
        CallAddress("extract", part),
    )
    return _Extracted(reply.value, reply.calls)


def choose_metrics(asked: MetricSelection | None, found: Survey) -> MetricSelection:
    """The metrics that were asked for, or the built-in ones about answers that some sample can feed.

    Where none of these can be fed, `reference_support` is taken if it can: the file is a test set without answers.

    Samples that lack what a metric needs are counted as `missing_input`. UsageError where no sample can feed a metric
    that was asked for, or none at all; DataError where two samples have one id.
    """
    if found.duplicate_numbers:
        raise repeated_id(found.duplicate_ids[0], *found.duplicate_numbers)
    fed = tuple(metric for metric in SUPPORT if not asked and found.has_inputs_for(metric.name))
    chosen = asked.rows if asked else tuple(metric for metric in fed if metric.name in ABOUT_ANSWERS) or fed
    if not chosen:
        needs = "; ".join(incomplete(found, [METRICS[name] for name in ABOUT_ANSWERS]))
        raise UsageError(
            f"no sample can feed a metric: {needs}. Say with --field under which names they stand in the file, as in "
            "--field answer=draft, or name a metric over what there is, as in --metrics on_policy=answer:policy"
        )
    for metric in chosen:
        if not found.has_inputs_for(metric.name):
            lacks = ", ".join(incomplete(found, [metric]))
            raise UsageError(
                f"no sample can feed {metric.name}: {lacks}. Choose other --metrics, or say with --field under which "
                "name it stands in the file"
            )
    return asked or MetricSelection(chosen, None)


def incomplete(found: Survey, metrics: Sequence[Metric]) -> dict[str, list[str]]:
    """What some samples lack, in words, and the metrics that need it."""
    lacks: dict[str, list[str]] = {}
    for metric in metrics:
        for lack in found.missing_fields[metric.name]:
            words = f"{lack.count} of {found.samples} samples lack {lack.field} (first: {lack.first!r})"
            lacks.setdefault(words, []).append(metric.name)
    return lacks


def make_job(wanted: ClaimsOptions, metrics: MetricSelection) -> ClaimsJob:
    """Return the job with everything checked; UsageError before any call can be made."""
    found = specs.parse_panel(wanted.judges)
    spec = wanted.extractor or found.extractor
    taker = specs.parse_judge(spec) if spec else found.judges[0]
    if any(judge.name == taker.name and judge != taker for judge in found.judges):
        raise UsageError(f"extractor and judge are both called {taker.name!r} but differ; give one another name")
    extract_prompt, prompt = _load_prompts(wanted, metrics)
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    settings = specs.panel_settings(
        found, wanted.panel_settings, prompt.scale, with_labels=wanted.panel.labels is not None
    )
    if settings.extract_per_judge and spec:
        raise UsageError("every judge takes its own claims (extract_per_judge), so there is no extractor to name")
    return ClaimsJob(
        metrics=metrics.rows,
        derived=resolve_derived(
            metrics, per_document=settings.per_document, three_way="contradicted" in settings.scale.words
        ),
        own_prompts=own_prompts(metrics.rows, found.judges, settings),
        judges=found.judges,
        extractor=taker,
        extract_prompt=extract_prompt,
        assess_prompt=prompt,
        panel=settings,
        cluster=wanted.cluster,
    )


def _load_prompts(wanted: ClaimsOptions, metrics: MetricSelection) -> list[Prompt]:
    """Return the prompts that extract and assess claims; UsageError for a parameter that neither has."""
    named = {
        "extract": wanted.extract_prompt or EXTRACT_PROMPT,
        "assess": wanted.assess_prompt or usual_assess_prompt(metrics),
    }
    given = wanted.prompt_parameters
    loaded = [prompts.load(step, spec) for step, spec in named.items()]
    known = {name for prompt in loaded for name in prompt.parameters}
    if stray := set(given) - known:
        raise unknown_name("parameter of the prompts:", min(stray), known)
    values = [{name: given[name] for name in prompt.parameters if name in given} for prompt in loaded]
    return [
        prompts.load(*one, of) if of else prompt for one, of, prompt in zip(named.items(), values, loaded, strict=True)
    ]


def usual_assess_prompt(metrics: MetricSelection | None) -> str:
    """The assess prompt if none is named: `partial` if a metric counts partial support, `three_way` otherwise, and
    also if a metric needs contradicted told from not found, which `partial` does not."""
    rows = [derived(name) for name in (metrics.derived if metrics else None) or ()]
    return "partial" if any(row.partial for row in rows) and not any(row.three_way for row in rows) else ASSESS_PROMPT


def notes(job: ClaimsJob, extractor: Judge | None = None) -> tuple[str, ...]:
    """What must stand beside the numbers; `extractor` took the claims if the job's did not."""
    return (*specs.notes(job.judges, extractor or job.extractor), *without_partial_support(job))


def without_partial_support(job: ClaimsJob) -> tuple[str, ...]:
    """A note if metrics count partial support and the prompt lets no judge say it."""
    names = [name for name in job.derived if derived(name).partial]
    if not names or job.panel.scale.ordered:
        return ()
    verb = "equals" if len(names) == 1 else "equal"
    return (
        f"the prompt {job.assess_prompt.name} has no label for partial support, so {', '.join(names)} {verb} the "
        "strict form (assess/partial has one)",
    )


def own_prompts(metrics: Sequence[Metric], judges: Sequence[Judge], settings: Panel) -> dict[str, Prompt]:
    """The prompts of rows that have one of their own, by name; UsageError where nobody can be asked about a claim."""
    own = {metric.name: prompts.load("weigh", metric.prompt) for metric in metrics if metric.prompt}
    local = [judge.name for judge in judges if not reads_prompts(judge)]
    if own and len(local) == len(judges):
        raise UsageError(f"{min(own)} asks what a claim has to do with a question, which takes a language model")
    if own and settings.extract_per_judge and local:
        raise UsageError(
            f"{min(own)} asks what a claim has to do with a question, which takes a language model, and {local[0]!r}, "
            "which is none, takes claims of its own"
        )
    return own


def check_questions(job: ClaimsJob, found: Survey) -> None:
    """Raise DataError if samples have no question and a judge would be asked with a prompt that reads it."""
    if not found.no_question:
        return
    assessors = any(map(reads_prompts, job.asked_judges))
    asked = [*((job.assess_prompt, *job.own_prompts.values()) if assessors else ())]
    if job.extracts and reads_prompts(job.extractor):
        asked.append(job.extract_prompt)
    for prompt in asked:
        if "question" in prompt.reads:
            raise no_question(found.no_question, found.samples, prompt.name, found.metadata)


def check_families(job: ClaimsJob, generators: Iterable[str]) -> None:
    """UsageError where judge or extractor are of a generator's family and that was declared an error."""
    people = [*(("judge", one) for one in job.judges), ("extractor", job.extractor)]
    refuse_same_family(people, job.panel, generators)
