"""Preparation of a rejudge: checks a source (run, results of another tool, samples) and selects reusable verdicts."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from claimeval.data.mapping import NO_MAPPING, RowMapping
from claimeval.data.reading import Problems, mapping_of_file, read_samples
from claimeval.data.result_files import recognize
from claimeval.data.survey import Survey, survey
from claimeval.evaluation.claims import (
    ASKED_FOR,
    ASSESS_PROMPT,
    EXTRACT_PROMPT,
    ONE_TEXT,
    ClaimsJob,
    ClaimsOptions,
    check_families,
    choose_metrics,
    citing,
    default_assess_prompt,
    metric_prompts,
    with_questions,
)
from claimeval.evaluation.claims import notes as notes_of
from claimeval.evaluation.job import Reiterable
from claimeval.evaluation.judgment import OtherJudging, PanelJob, QuestionJob
from claimeval.evaluation.manifest import Manifest, RunSource
from claimeval.judging import panel as panels
from claimeval.judging import prompts as prompting
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt, PromptRecord
from claimeval.metrics.derived import MetricSelection, derived, resolve_derived, select_metrics
from claimeval.metrics.rows import SUPPORT, Metric
from claimeval.providers import claims_per_call, specs
from claimeval.providers.specs import PanelSpec
from claimeval.runs.directory import MANIFEST, RunResults, incomplete, load_manifest, read_results, results_file
from claimeval.runs.import_replies import recorded_manifest
from claimeval.runs.revote import job_of
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.records import (
    ABSTAINED,
    GIVEN,
    Assessment,
    Call,
    Part,
    Sample,
    SampleResult,
    Verdict,
    has_words,
)
from claimeval.types.requests import CLAIMS_PER_CALL, IMPORTED, Judge
from claimeval.types.scales import Scale

T = TypeVar("T")


class RejudgeSource(NamedTuple):
    """A run, results of another tool, or plain samples to rejudge."""

    name: str
    results: Callable[[], Iterator[SampleResult]]
    """Reads the samples from the start on each call."""
    manifest: Manifest | None
    """None for plain samples."""
    note: Callable[[], str | None] = lambda: None
    """Note for the new run if the source is an incomplete run or rows were skipped; complete once the source is
    read."""
    file: Path | None = None
    """The file of the results; None for a run in memory and for plain samples."""
    stored: RunResults | None = None
    """The results of a run directory, of which a range can be read without parsing the lines before it."""
    mapping: RowMapping = NO_MAPPING
    """How the rows of plain samples are read."""

    def recorded(self, record: Manifest, limit: int | None) -> Manifest:
        """Return the manifest of a run made from this source, completed by its data, digest and prompts.

        Args:
            record: The manifest of the new run.
            limit: The number of samples, from the first; None for all.
        """
        before = self.manifest
        if before is None:
            return record.of_data(self.name, limit=limit, mapping=self.mapping)
        data = before.data.model_copy(update={"samples": None, "limit": limit or before.data.limit})
        source = RunSource.of(self.file and Path(self.name), self.file, record.asked_with)
        return record.model_copy(update={"data": data, "source": source})


def open_source(path: Path, *, mapping: RowMapping = NO_MAPPING, skip_malformed: bool = False) -> RejudgeSource:
    """Open a run directory, a result file of another tool, or a file of samples."""
    if (path / MANIFEST).exists():
        note: str | None = None
        if line := incomplete(path):
            if next(read_results(path), None) is None:
                raise UsageError(f"{path} has no finished sample to judge again; run the command that began it first")
            warnings.warn(line, stacklevel=2)
            note = f"the run that was judged again was not complete: {line}"
        stored = RunResults.of(path)
        return RejudgeSource(
            str(path), lambda: iter(stored), load_manifest(path), lambda: note, results_file(path), stored
        )
    if not path.is_dir() and (kind := recognize(path)):
        panel = specs.valid_settings(kind.panel_settings, kind.scale)
        record = recorded_manifest(kind, str(path), panel)
        return RejudgeSource(str(path), lambda: (recorded.result for recorded in kind.samples()), record, file=path)
    problems = Problems(skip=skip_malformed, unique_ids=skip_malformed)
    mapping = mapping_of_file(path, mapping)

    def unjudged() -> Iterator[SampleResult]:
        """Read the samples without verdicts."""
        return (SampleResult.of(sample) for sample in read_samples(path, mapping=mapping, problems=problems))

    return RejudgeSource(str(path), unjudged, None, problems.note, mapping=mapping)


class Results(Reiterable[T]):
    """The samples of a source with their reusable verdicts; each pass reads the source again."""

    def __init__(self, source: RejudgeSource, reused: Callable[[SampleResult, ReuseCounts], T]) -> None:
        """`reused` returns the reusable part of a sample, and counts the calls that it saves."""
        super().__init__(lambda: self._of(source.results()))
        self._source, self._reused = source, reused
        self.saved = ReuseCounts()
        """Calls saved in the latest pass."""

    def _of(self, results: Iterable[SampleResult]) -> Iterator[T]:
        self.saved = ReuseCounts()
        return (self._reused(result, self.saved) for result in results)

    def count(self) -> int:
        """Return the number of samples."""
        stored = self._source.stored
        return super().count() if stored is None else len(stored)

    def part(self, positions: range) -> Reiterable[T]:
        """Return the samples at these positions; in a run directory, lines before them are not parsed."""
        stored = self._source.stored
        return super().part(positions) if stored is None else Reiterable(lambda: self._of(stored.part(positions)))


class PreparedRejudge(NamedTuple):
    """A source that is ready to be judged: the job, and the samples with their reusable verdicts."""

    plan: ClaimsJob | QuestionJob
    manifest: Manifest
    samples: int | None
    """The number of samples; None if it was not counted because no judge is asked."""
    results: Results[SampleResult]
    """Each sample with its reusable claims and verdicts."""

    @property
    def asks(self) -> bool:
        """Whether a judge may be asked; if not, only the votes are counted again."""
        return bool(self.plan.asked)


def prepare(
    source: RejudgeSource, requested: ClaimsOptions, *, keep_verdicts: bool = False, options: RunOptions = RunOptions()
) -> PreparedRejudge:
    """Choose judges, prompts and metrics and check them against the source in one pass; no judge is asked.

    Args:
        source: The source to rejudge.
        requested: Settings that differ from those of the source.
        keep_verdicts: Keep the verdicts of the run's judges next to those of the new judges.
        options: With `offline`, judges of the run are not asked and keep their verdicts; with `ask_again`, they are
            asked even if nothing else has changed.

    Raises:
        UsageError: The settings do not fit each other or the source.
    """
    check_cluster(requested.cluster, (result.sample for result in source.results()))
    if source.manifest and not source.manifest.of_claims:
        prepared = _prepare_ratings(source, source.manifest, requested, keep_verdicts, options)
    else:
        prepared = _prepare_claims(source, requested, keep_verdicts, options)
    note, record = source.note(), prepared.manifest
    return prepared._replace(manifest=record.model_copy(update={"notes": (*record.notes, note)})) if note else prepared


def _prepare_claims(
    source: RejudgeSource, requested: ClaimsOptions, keep_verdicts: bool, options: RunOptions
) -> PreparedRejudge:
    metrics = _metrics(source, requested)
    earlier = ReusableVerdicts(source.manifest, requested, (EXTRACT_PROMPT, default_assess_prompt(metrics)))
    panel, recorded_judges = _panel(earlier, metrics, keep_verdicts, options)
    missing: dict[Part, int] = {}
    surveyed: Survey | None = None
    if (
        metrics is None
        or not earlier.has(metrics.rows)
        or earlier.names_claims
        or len(recorded_judges) < len(panel.judges)
    ):
        surveyed, missing = _survey(source, metrics.rows if metrics else SUPPORT, earlier)
        metrics = choose_metrics(metrics, surveyed)
    extractor = _extractor(earlier, panel, missing)
    settings = _settings(earlier, panel, recorded_judges, metrics)
    plan = ClaimsJob(
        metrics=metrics.rows,
        derived=_derived(metrics, requested, settings),
        metric_prompts=metric_prompts(metrics.rows, panel.judges, settings),
        judges=panel.judges,
        extractor=extractor or earlier.recorded_extractor,
        extract_prompt=earlier.extract_prompt,
        assess_prompt=earlier.assess_prompt,
        panel=settings,
        recorded_judges=recorded_judges,
        extracts=extractor is not None,
        cluster=requested.cluster or (source.manifest.cluster if source.manifest else None),
    )
    if surveyed and source.manifest is None:
        plan = with_questions(plan, surveyed)
    check_families(plan, surveyed.generators if surveyed else ())
    return PreparedRejudge(
        plan=plan,
        manifest=_record(earlier, plan),
        samples=surveyed.samples if surveyed else None,
        results=Results(source, earlier.reuse(plan)),
    )


def _prepare_ratings(
    source: RejudgeSource, before: Manifest, requested: ClaimsOptions, keep_verdicts: bool, options: RunOptions
) -> PreparedRejudge:
    """Prepare a run of ratings or grades, which has no claims."""
    job = job_of(before)
    for name in ("extractor", "extract_prompt", "per_document", "shuffle_contexts", "claims_per_call",
                 "extract_per_judge", *requested.prompt_parameters):  # fmt: skip
        if getattr(requested, name, "given") is not None:
            raise UsageError(f"{name}: a run of {before.job} has no claims; leave it out")
    if requested.metrics is not None:
        job = job.only([metric if isinstance(metric, str) else metric.name for metric in requested.metrics])
    steps = {prompt.id: prompt.step for prompt in job.prompts}
    if requested.assess_prompt and len(steps) > 1:
        raise UsageError("assess_prompt: the run asks several questions; name the --metrics of one of them")
    step = job.prompts[0].step if len(steps) == 1 else "assess"
    earlier = ReusableVerdicts(before, requested, (EXTRACT_PROMPT, ASSESS_PROMPT), step)
    panel, recorded_judges = _panel(earlier, None, keep_verdicts, options)
    asks = len(recorded_judges) < len(panel.judges)
    names = {judge.name for judge in panel.judges}

    def counted(earlier_panel: Panel, default_vote: str) -> Panel:
        """Return how verdicts on a question are counted now."""
        base: dict[str, Any] = {"vote": default_vote}
        if not requested.judges:
            base = earlier_panel.model_dump(exclude={"scale"})
        elif names & recorded_judges:
            base["replicates"] = earlier_panel.replicates
        settings = specs.valid_settings({**base, **panel.settings, **requested.panel_settings}, earlier_panel.scale)
        panels.check(settings, [judge.name for judge in panel.judges], with_labels=requested.panel.labels is not None)
        return settings

    prompt = earlier.assess_prompt if requested.assess_prompt else None
    job = job.again(OtherJudging(panel.judges, recorded_judges, prompt, counted, requested.cluster or before.cluster))
    job.check_families(result.sample.generator for result in source.results())
    record = _with_prompts(job.manifest, before, recorded_judges, [prompt.id for prompt in job.prompts])
    before_ids = {judge.name: judge.id for judge in before.judges}
    results = Results(source, lambda result, saved: reused(result, job, before_ids, saved))
    return PreparedRejudge(
        plan=job,
        manifest=record,
        samples=results.count() if asks else None,
        results=results,
    )


def _metrics(source: RejudgeSource, requested: ClaimsOptions) -> MetricSelection | None:
    if requested.metrics:
        return select_metrics(requested.metrics)
    before = source.manifest
    return MetricSelection(before.rows, before.derived or None) if before else None


def _derived(metrics: MetricSelection, requested: ClaimsOptions, settings: Panel) -> tuple[str, ...]:
    """Return the derived metrics: those of the run that can be computed from the new verdicts."""
    per_document, three_way = settings.per_document, "contradicted" in settings.scale.words
    if metrics.derived is not None and not requested.metrics:
        rows = map(derived, metrics.derived)
        if names := tuple(row.name for row in rows if row.readable(per_document=per_document, three_way=three_way)):
            return names
        metrics = metrics._replace(derived=None)
    return resolve_derived(metrics, per_document=per_document, three_way=three_way)


def _survey(
    source: RejudgeSource, metrics: Sequence[Metric], earlier: ReusableVerdicts
) -> tuple[Survey, dict[Part, int]]:
    """Survey the samples; also count, by part, those with a text but without reusable claims."""
    missing: dict[Part, int] = {}

    def samples() -> Iterator[Sample]:
        for result in source.results():
            parts = {m.claims_of for m in metrics if m.missing_part(result.sample) is None} - earlier.parts(result)
            for part in parts:
                missing[part] = missing.get(part, 0) + 1
            yield result.sample

    return survey(samples(), metrics), missing


def _panel(
    earlier: ReusableVerdicts, metrics: MetricSelection | None, keep_verdicts: bool, options: RunOptions
) -> tuple[PanelSpec, frozenset[str]]:
    """Return the panel, and the names of its judges that are not asked but keep their recorded verdicts."""
    requested, named = earlier.requested, earlier.named
    others = [spec for spec in requested.judges if spec not in named]
    new = specs.parse_panel(others, requested.claims_per_call) if others else PanelSpec((), None, {})
    settings = {**new.settings, **requested.panel_settings}
    before = {"per_document": earlier.record.panel.per_document} if earlier.record else {}
    settings |= citing(metrics, before | settings)
    names = named if requested.judges else list(earlier.run_judges)
    unchanged = not earlier.names_claims and all(map(earlier.same_prompt, earlier.run_judges))
    has_all = earlier.has(metrics.rows if metrics else ())
    only_counted = not requested.judges and unchanged and has_all and earlier.same_settings(settings)
    only_counted = only_counted and not options.ask_again and requested.claims_per_call is None
    of_run, recorded_judges = [], set()
    for name in names:
        judge = earlier.run_judges[name]
        if only_counted or options.offline or judge.provider == IMPORTED:
            if not earlier.same_prompt(name):
                raise UsageError(f"judge {name!r} cannot be asked again with another prompt; name judges that can")
            if not earlier.same_documents(settings):
                raise UsageError(
                    f"judge {name!r} cannot be asked again, and its verdicts were made with different document settings"
                )
            recorded_judges.add(name)
            of_run.append(judge)
        else:
            of_run.append(specs.parse_judge(judge, specs.asking(requested.claims_per_call)))
    if keep_verdicts:
        kept_judges = [judge for name, judge in earlier.run_judges.items() if name not in names]
        if kept_judges and not earlier.same_documents(settings):
            raise UsageError(
                f"Cannot keep the verdicts of judge {kept_judges[0].name!r}: they were made with different document "
                "settings. Rejudge the run with the new settings first, then add judges with --keep-verdicts."
            )
        of_run = [*kept_judges, *of_run]
        recorded_judges |= {judge.name for judge in kept_judges}
    judges = (*of_run, *new.judges)
    if not judges:
        specs.parse_panel(())  # raises an error that lists the judges
    twice = {judge.name for judge in of_run} & {judge.name for judge in new.judges}
    if twice:
        raise UsageError(f"the run has a judge {min(twice)!r} already; give the new one another `name` in a YAML file")
    if earlier.undecided and len(recorded_judges) < len(judges):
        raise UsageError(
            f"verdicts of the run come from several prompts ({', '.join(earlier.undecided)}); say with --assess-prompt "
            "which of them to ask with"
        )
    return new._replace(judges=judges), frozenset(recorded_judges)


def _extractor(earlier: ReusableVerdicts, panel: PanelSpec, missing: Mapping[Part, int]) -> Judge | None:
    """Return the extractor of missing claims; None if no claims are missing."""
    if earlier.claims_hold and not missing:
        return None
    spec = earlier.extractor or panel.extractor
    if spec:
        return specs.parse_judge(spec)
    if earlier.record is None:
        return panel.judges[0]
    before = earlier.record.extractor
    assert before is not None, "a run of claims has an extractor"
    try:
        if before.provider != IMPORTED:
            return specs.parse_judge(before)
        why = "its claims are on record only"
    except UsageError as error:
        why = str(error)
    texts = ", ".join(f"{n} texts of {part}" for part, n in missing.items()) or "the texts"
    raise UsageError(f"{texts} have no claims yet and the run's extractor cannot be asked ({why}); name an --extractor")


def _settings(
    earlier: ReusableVerdicts, panel: PanelSpec, recorded_judges: frozenset[str], metrics: MetricSelection
) -> Panel:
    """Return the panel settings: requested ones, else those of a panel file, else those of the run if judges stay."""
    requested, before = earlier.requested, earlier.record.panel if earlier.record else Panel()
    names = {judge.name for judge in panel.judges}
    scale = earlier.assess_prompt.scale
    assert scale is not None, "an assess prompt has a scale; loading checks it"
    base: dict[str, Any] = {"replicates": before.replicates} if names & recorded_judges else {}
    if before.per_document:
        base["per_document"] = before.per_document
    if earlier.record and not requested.judges:
        base = before.model_dump(exclude={"scale"}, exclude_defaults=True)
    if names & recorded_judges and not (names - recorded_judges and _has_words_of(scale, before.scale)):
        scale = before.scale
    given = {**base, **panel.settings, **requested.panel_settings}
    settings = specs.valid_settings({**given, **citing(metrics, given)}, scale)
    panels.check(settings, [judge.name for judge in panel.judges], with_labels=requested.panel.labels is not None)
    return settings


def _has_words_of(scale: Scale, before: Scale) -> bool:
    """Return whether earlier verdicts can be voted on together with verdicts on the new scale."""
    return scale.ordered or before.ordered or set(before.words) <= set(scale.words)


def _record(earlier: ReusableVerdicts, plan: ClaimsJob) -> Manifest:
    """Return the manifest of the new run, including prompts, notes and extractor of reused claims and verdicts."""
    before = earlier.record
    extractor = before.extractor if before and before.extractor and earlier.claims_hold else plan.extractor
    notes = (*notes_of(plan, extractor), *_extractor_notes(plan, extractor))
    record = plan.manifest.model_copy(update={"notes": notes, "extractor": extractor})
    if before is None:
        return record
    metric_prompts = {metric.prompt for metric in plan.metrics}
    extract = [record.prompts[0].id] if plan.extracts else []
    if earlier.claims_hold:
        extract += [prompt.id for prompt in before.prompts if prompt.step == "extract"]
    record = _with_prompts(
        record, before, plan.recorded_judges, extract, lambda p: p.step == "assess" or p.name in metric_prompts
    )
    used = {prompt.id for prompt in record.prompts}
    questions = (q if q.prompt in used else q.model_copy(update={"prompt": None}) for q in record.questions)
    return record.model_copy(update={"questions": tuple(questions)})


def _with_prompts(
    record: Manifest,
    before: Manifest,
    recorded_judges: Container[str],
    others: Iterable[str],
    includes: Callable[[PromptRecord], bool] = lambda prompt: True,
) -> Manifest:
    """Return the manifest with the prompts of its verdicts, `others`, and a note if judges had different prompts.

    Recorded judges keep the prompts of the run that `includes` accepts.
    """
    records = {prompt.id: prompt for prompt in (*before.prompts, *record.prompts)}
    asked_with = {
        name: tuple(i for i in before.asked_with.get(name, ()) if includes(records[i]))
        if name in recorded_judges
        else ids
        for name, ids in record.asked_with.items()
    }
    used = dict.fromkeys((*others, *chain.from_iterable(asked_with.values())))
    update = {
        "prompts": tuple(records[i] for i in used),
        "source": RunSource(asked_with=asked_with),
        "notes": (*record.notes, *_prompt_notes(asked_with, records)),
    }
    return record.model_copy(update=update)


def _extractor_notes(plan: ClaimsJob, extractor: Judge) -> tuple[str, ...]:
    """Return a note if missing claims are extracted by another extractor."""
    if not plan.extracts or plan.extractor.id == extractor.id:
        return ()
    return (f"missing claims were extracted by {plan.extractor.name}, all others by {extractor.name}",)


def _prompt_notes(asked_with: Mapping[str, tuple[str, ...]], records: Mapping[str, PromptRecord]) -> tuple[str, ...]:
    """Return a note if the judges were not all asked with the same prompt."""
    support = {
        name: ", ".join(records[i].name for i in ids if i in records and records[i].step != "weigh")
        for name, ids in asked_with.items()
    }
    if len(set(support.values())) < 2:
        return ()
    prompts_of = (
        f"{name} {prompts or 'elsewhere, with a prompt that is not known'}" for name, prompts in support.items()
    )
    return (f"the judges were asked with different prompts: {'; '.join(prompts_of)}",)


class ReuseCounts:
    """Number of calls that are saved by reusing their results."""

    def __init__(self) -> None:
        self.extractions = 0
        self.assessments = 0

    @property
    def calls(self) -> int:
        """All calls that are saved."""
        return self.extractions + self.assessments


class ReusableVerdicts:
    """Claims and verdicts of a run that remain valid with the requested extractor, prompts and judges."""

    def __init__(
        self, record: Manifest | None, requested: ClaimsOptions, defaults: tuple[str, str], step: str = "assess"
    ) -> None:
        """Options that are not requested are as in the run.

        `defaults` are the extract and assess prompt for runs without, and `step` is the step of the judges' prompt.
        """
        self.record, self.requested = record, requested
        self._step = step
        self.extractor = specs.parse_judge(requested.extractor) if requested.extractor else None
        self.run_judges = {judge.name: judge for judge in record.judges} if record else {}
        self.named = [spec for spec in requested.judges if isinstance(spec, str) and spec in self.run_judges]
        """Names of judges of the run that are requested."""
        self._ids = {judge.name: judge.id for judge in record.asked} if record else {}
        self._prompts = {p.id: p for p in record.prompts} if record else {}
        recorded = [p for p in self._prompts.values() if p.step == "extract"]
        parameters = requested.prompt_parameters
        self._asks_anew = requested.assess_prompt is not None or "reasons" in parameters
        splits_anew = requested.extract_prompt is not None or "quotes" in parameters
        self.extract_prompt = _prompt("extract", requested.extract_prompt, recorded, defaults[0], parameters)
        prompts = self.support_prompts(*(self.named or self.run_judges))
        self.assess_prompt = _prompt(step, requested.assess_prompt, prompts, defaults[1], parameters)
        self.undecided = () if requested.assess_prompt or len(prompts) < 2 else tuple(p.name for p in prompts)
        """Names of the run's prompts if there are several and none is requested; then no judge can be asked."""
        self._settings = self.extractor.id if self.extractor else None
        self._extract_prompt = self.extract_prompt.id if splits_anew else None
        self.names_claims = bool(self._settings or self._extract_prompt)
        """Whether an extractor or its prompt is requested."""
        self.claims_hold = (
            record is not None
            and record.extractor is not None
            and self._settings in (None, record.extractor.id)
            and (not splits_anew or any(p.id == self.extract_prompt.id for p in recorded))
        )

    @property
    def recorded_extractor(self) -> Judge:
        """The extractor of the reused claims."""
        assert self.record is not None, "claims are taken over from a run"
        assert self.record.extractor is not None, "claims have an extractor"
        return self.record.extractor

    def support_prompts(self, *judges: str) -> list[PromptRecord]:
        """Return the prompts with which these judges of the run gave their verdicts."""
        asked_with = self.record.asked_with if self.record else {}
        ids = {prompt for judge in judges for prompt in asked_with.get(judge, ())}
        return [p for p in self._prompts.values() if p.id in ids and p.step == self._step]

    def same_prompt(self, judge: str) -> bool:
        """Return whether a judge of the run was asked only with the requested prompt."""
        if not self._asks_anew:
            return self.record is not None
        return [p.id for p in self.support_prompts(judge)] == [self.assess_prompt.id]

    def has(self, metrics: Sequence[Metric]) -> bool:
        """Return whether the run has the assessments that these metrics need."""
        before = {(m.claims_of, m.against) for m in self.record.rows} if self.record else set()
        return all((metric.claims_of, metric.against) in before for metric in metrics)

    def same_settings(self, settings: Mapping[str, Any]) -> bool:
        """Return whether judges with these panel settings would be asked nothing new."""
        if self.record is None:
            return False
        return self.same_documents(settings) and settings.get("replicates", 1) <= self.record.panel.replicates

    def same_documents(self, settings: Mapping[str, Any]) -> bool:
        """Return whether the run's verdicts include all document orders and splits that the settings require."""
        before = self.record.panel if self.record else Panel()
        per_document: bool | str = settings.get("per_document", before.per_document)
        shuffle_contexts: int = settings.get("shuffle_contexts", 0)
        return per_document == before.per_document and shuffle_contexts <= before.shuffle_contexts

    def parts(self, result: SampleResult) -> set[Part]:
        """Return the parts of a sample whose claims are reusable."""
        extracted = {claim.of for claim in result.claims}
        extracted |= {part for part, because in result.unextracted.items() if because == "no_claims"}
        return {part for part in extracted if self._holds(part, result)}

    def _holds(self, part: Part, result: SampleResult) -> bool:
        """Return whether the claims of a part were extracted as requested."""
        if not self.names_claims or (part in result.unextracted and not has_words(result.sample.text(part) or "")):
            return True
        extractions = [
            (call.judge, call.prompt) for call in result.calls if call.step == "extract" and call.part == part
        ]
        return bool(extractions) and all(
            self._settings in (None, self._ids.get(judge)) and self._extract_prompt in (None, prompt)
            for judge, prompt in extractions
        )

    def reuse(self, plan: ClaimsJob) -> Callable[[SampleResult, ReuseCounts], SampleResult]:
        """Return a function that reduces a result to its reusable claims, verdicts and calls."""
        parts = {metric.claims_of for metric in plan.metrics}
        pairs = {(metric.claims_of, metric.against) for metric in plan.metrics}
        prompts = {pair: plan.prompt(*pair).id for pair in pairs if self._shown_the_same(pair[1], plan)}
        same = _same_settings(plan, self._ids, pairs, prompts)
        sizes = {judge.name: claims_per_call(judge) for judge in plan.judges}

        def reuse(result: SampleResult, saved: ReuseCounts) -> SampleResult:
            """Return the reusable part of a result."""
            reused = self.parts(result) & parts
            claims = tuple([claim for claim in result.claims if claim.of in reused])
            part = {claim.id: claim.of for claim in claims}

            def reusable(verdict: Verdict, a: Assessment) -> bool:
                """Return whether a verdict on one of these claims is reusable."""
                prompt = result.prompt_of(verdict)
                return same(verdict.judge, prompt, (part[a.subject], a.against)) and _is_usable(verdict, plan)

            kept = [
                (a, [verdict for verdict in a.verdicts if reusable(verdict, a)])
                for a in result.assessments
                if a.subject in part and (a.order or 0) <= plan.panel.shuffle_contexts
            ]
            calls = [
                place
                for place, call in enumerate(result.calls)
                if call.part in reused
                and (call.evidence is None or same(call.judge, call.prompt, (call.part, call.evidence.part)))
            ]
            assessments, reused_calls = _with_calls(result, [(a, verdicts) for a, verdicts in kept if verdicts], calls)
            saved.extractions += len({claim.of for claim in claims})
            saved.assessments += _calls_for([a for a in assessments if a.is_whole], part, sizes)
            return SampleResult(
                sample=result.sample,
                claims=claims,
                unextracted={part: because for part, because in result.unextracted.items() if part in reused},
                assessments=assessments,
                calls=reused_calls,
            )

        return reuse

    def _shown_the_same(self, against: Part, plan: ClaimsJob) -> bool:
        """Return whether the run showed its judges the documents of a part one by one, or together, as `plan` does."""
        if self.record is None:
            return False
        together = [panel.per_document is not True for panel in (plan.panel, self.record.panel)]
        return against in ONE_TEXT or together[0] == together[1]


def reused(result: SampleResult, job: QuestionJob, before: Mapping[str, str], saved: ReuseCounts) -> SampleResult:
    """Return the sample with the reusable verdicts on its answer or documents, and their calls.

    Args:
        result: The result of the sample.
        job: The new job.
        before: The ids of the judges that gave the verdicts, by name.
        saved: Counts the calls that are saved.
    """
    prompts = {record.name: record.prompt for record in job.records}
    same = _same_settings(job, before, prompts, prompts)
    kept = [
        (
            a,
            [
                verdict
                for verdict in a.verdicts
                if same(verdict.judge, result.prompt_of(verdict), a.question) and _is_usable(verdict, job)
            ],
        )
        for a in result.assessments
        if a.question in prompts
    ]
    sources = {(v.judge, result.prompt_of(v), a.evidence) for a, verdicts in kept for v in verdicts}
    places = [place for place, call in enumerate(result.calls) if (call.judge, call.prompt, call.evidence) in sources]
    assessments, calls = _with_calls(result, kept, places)
    saved.assessments += sum(not call.failed for call in calls)
    return SampleResult(sample=result.sample, claims=(), assessments=assessments, calls=calls)


class _Reused(NamedTuple):
    assessments: tuple[Assessment, ...]
    calls: tuple[Call, ...]


def _with_calls(
    result: SampleResult, kept: Iterable[tuple[Assessment, Sequence[Verdict]]], calls: Sequence[int]
) -> _Reused:
    """Return assessments with these verdicts alone, and the calls at these places, which the verdicts name anew."""
    places = {before: now for now, before in enumerate(calls)}

    def moved(verdict: Verdict) -> Verdict:
        """Return the verdict with the new place of its call."""
        if verdict.call is None or places.get(verdict.call) == verdict.call:
            return verdict
        prompt = None if verdict.call in places else result.prompt_of(verdict)
        return verdict.model_copy(update={"call": places.get(verdict.call), "prompt": prompt})

    return _Reused(
        tuple([a.model_copy(update={"verdicts": tuple(map(moved, verdicts))}) for a, verdicts in kept]),
        tuple([result.calls[place].model_copy(update={"reused": True}) for place in calls]),
    )


K = TypeVar("K")


def _same_settings(
    job: PanelJob,
    before: Mapping[str, str],
    allowed: Container[K],
    prompts: Mapping[K, str | None],
) -> Callable[[str, str | None, K], bool]:
    """Return a function that tells whether judge and prompt of a verdict or call are those that the job uses now.

    `before` has the ids of the earlier judges by name. For recorded judges it is enough that the question is `allowed`.
    """
    judges = {judge.name: judge.id for judge in job.judges}

    def same(judge: str, prompt: str | None, question: K) -> bool:
        """Return whether a judge, asked with a prompt, has the current settings and prompt."""
        if judge == GIVEN or judge in job.recorded_judges:
            return question in allowed
        return question in prompts and (before.get(judge), prompt) == (judges.get(judge), prompts[question])

    return same


def _is_usable(verdict: Verdict, plan: PanelJob) -> bool:
    """Return whether a verdict is reused: failed calls are made again, and surplus replicates are left out."""
    answered = verdict.unassessed is None or verdict.unassessed in ABSTAINED
    return verdict.replicate < plan.panel.replicates and (answered or verdict.judge in plan.recorded_judges)


def _calls_for(assessments: Sequence[Assessment], part: Mapping[str, Part], sizes: Mapping[str, int]) -> int:
    """Return the number of calls needed to ask for these verdicts."""
    claims: Counter[tuple[str, int, Part, str]] = Counter()
    alike = Counter(
        (part[a.subject], str(a.evidence), tuple([(v.judge, v.replicate) for v in a.verdicts])) for a in assessments
    )
    for (of, evidence, judges), n in alike.items():
        for judge, replicate in judges:
            claims[judge, replicate, of, evidence] += n
    return sum(-(-n // sizes.get(judge, CLAIMS_PER_CALL)) for (judge, *_), n in claims.items())


def _prompt(
    step: str, named: str | None, recorded: Sequence[PromptRecord], default: str, parameters: Mapping[str, str]
) -> Prompt:
    """Return the requested prompt, else the recorded one, else the default, with those of `parameters` of its step."""
    given = {name: value for name, value in parameters.items() if ASKED_FOR[name].step == step}
    if named or not recorded:
        return prompting.load(step, named or default, given)
    return Prompt.of(recorded[0], given)
