"""Preparation of a rejudge: checks a source (run, results of another tool, samples) and selects reusable verdicts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from claimeval.data.mapping import NO_MAPPING, RowMapping
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
from claimeval.execution import ComputedJob
from claimeval.judging import prompts as prompting
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt, PromptRecord
from claimeval.metrics.derived import MetricSelection, derived, resolve_derived, select_metrics
from claimeval.metrics.rows import SUPPORT, Metric
from claimeval.providers import specs
from claimeval.providers.specs import PanelSpec
from claimeval.runs.directory import MANIFEST, RunResults, incomplete, load_manifest, results_file
from claimeval.runs.import_replies import recorded_manifest
from claimeval.runs.revote import Recount, job_of
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.records import ABSTAINED, GIVEN, Assessment, Call, Part, Sample, SampleResult, Verdict, has_words
from claimeval.types.requests import IMPORTED, Judge
from claimeval.types.scales import Scale

T = TypeVar("T")
K = TypeVar("K")


class RejudgeSource(NamedTuple):
    """A run, results of another tool, or plain samples to rejudge."""

    name: str
    results: Iterable[SampleResult]
    """The samples, which are read from the start on each pass."""
    manifest: Manifest | None = None
    """None for plain samples."""
    note: Callable[[], str | None] = lambda: None
    """Note for the new run if the source is an incomplete run or rows were skipped; complete once the source is
    read."""
    file: Path | None = None
    """The file of the results; None for a run in memory and for plain samples."""
    mapping: RowMapping = NO_MAPPING
    """How the rows of plain samples are read."""
    limit: int | None = None
    """The number of samples, from the first; None for all."""

    def recorded(self, record: Manifest) -> Manifest:
        """Return the manifest of a run made from this source, completed by its data, digest, prompts and notes."""
        before, note = self.manifest, self.note()
        record = record.model_copy(update={"notes": (*record.notes, note)}) if note else record
        if before is None:
            return record.of_data(self.name, limit=self.limit, mapping=self.mapping)
        data = before.data.model_copy(update={"samples": None, "limit": self.limit or before.data.limit})
        source = RunSource.of(self.file and Path(self.name), self.file, record.asked_with)
        return record.model_copy(update={"data": data, "source": source})


def open_source(path: Path) -> RejudgeSource | None:
    """Open a run directory or a result file of another tool; return None for other files."""
    if (path / MANIFEST).exists():
        results, note = RunResults.of(path), None
        if line := incomplete(path):
            if next(iter(results), None) is None:
                raise UsageError(f"{path} has no finished sample to judge again; run the command that began it first")
            warnings.warn(line, stacklevel=2)
            note = f"the run that was judged again was not complete: {line}"
        return RejudgeSource(str(path), results, load_manifest(path), lambda: note, results_file(path))
    if not path.is_dir() and (kind := recognize(path)):
        panel = specs.valid_settings(kind.panel_settings, kind.scale)
        record = recorded_manifest(kind, str(path), panel)
        judged = Reiterable(lambda: (recorded.result for recorded in kind.samples()))
        return RejudgeSource(str(path), judged, record, file=path)
    return None


class Results(Reiterable[T]):
    """What is judged of each sample of a source; each pass reads the source again."""

    def __init__(self, results: Iterable[SampleResult], reduce: Callable[[SampleResult], T]) -> None:
        """`reduce` returns the reusable part of a sample."""
        super().__init__(lambda: map(reduce, results))
        self._results, self._reduce = results, reduce

    def count(self) -> int:
        """Return the number of samples."""
        return len(self._results) if isinstance(self._results, RunResults) else super().count()

    def part(self, positions: range) -> Reiterable[T]:
        """Return the samples at these positions; in a run directory, lines before them are not parsed."""
        stored, reduce = self._results, self._reduce
        if not isinstance(stored, RunResults):
            return super().part(positions)
        return Reiterable(lambda: map(reduce, stored.part(positions)))


class Rejudged(NamedTuple):
    """A source that is ready to be judged."""

    job: ClaimsJob | QuestionJob | ComputedJob[SampleResult]
    """Without judges to ask, the votes are only counted again."""
    manifest: Manifest
    items: Results[Any]
    """Each sample with its reusable claims and verdicts."""
    total: int | None
    """The number of samples; None if it was not counted because no judge is asked."""


def prepare(
    source: RejudgeSource,
    requested: ClaimsOptions,
    *,
    keep_verdicts: bool = False,
    options: RunOptions = RunOptions(),
) -> Rejudged:
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
    before = source.manifest
    if before and before.job == "measure":
        return _measured_again(source, before, requested, keep_verdicts)
    check_cluster(requested.cluster, (result.sample for result in source.results))
    again = _prepare_ratings if before and not before.of_claims else _prepare_claims
    prepared = again(source, before or Manifest(), requested, keep_verdicts, options)
    record = source.recorded(prepared.manifest)
    return prepared._replace(manifest=record, job=prepared.job if prepared.job.asked else Recount(record))


def _measured_again(source: RejudgeSource, before: Manifest, requested: ClaimsOptions, keep_verdicts: bool) -> Rejudged:
    """Prepare a run of `measure`, which is computed again."""
    from claimeval.evaluation.measure import job_of as measure_job

    if requested != ClaimsOptions(metrics=requested.metrics, cluster=requested.cluster) or keep_verdicts:
        raise UsageError("the source is a run of measure, which has no judges; only `metrics` can be changed")
    job = measure_job(before, None if requested.metrics is None else list(map(str, requested.metrics)))
    samples = Results(source.results, lambda result: result.sample)
    return Rejudged(job, source.recorded(job.manifest), samples, samples.count())


def _prepare_claims(
    source: RejudgeSource, before: Manifest, requested: ClaimsOptions, keep_verdicts: bool, options: RunOptions
) -> Rejudged:
    metrics = MetricSelection(before.rows, before.derived or None) if source.manifest else None
    if requested.metrics:
        metrics = select_metrics(requested.metrics)
    earlier = Earlier(before, requested, (EXTRACT_PROMPT, default_assess_prompt(metrics)))
    panel, recorded_judges = _panel(earlier, metrics, keep_verdicts, options)
    missing: dict[Part, int] = {}
    surveyed: Survey | None = None
    asks = len(recorded_judges) < len(panel.judges)
    if metrics is None or not earlier.has(metrics.rows) or earlier.names_claims or asks:
        rows = metrics.rows if metrics else SUPPORT
        surveyed = survey(_samples(source.results, rows, earlier, missing), rows)
        metrics = choose_metrics(metrics, surveyed)
    extractor = _extractor(earlier, panel, missing)
    extracted_by = extractor or before.extractor
    assert extracted_by is not None, "claims are taken over from a run, whose claims have an extractor"
    names, scale = {judge.name for judge in panel.judges}, earlier.assess_prompt.scale
    assert scale is not None, "an assess prompt has a scale; loading checks it"
    together = scale.ordered or before.panel.scale.ordered or set(before.panel.scale.words) <= set(scale.words)
    if names & recorded_judges and not (names - recorded_judges and together):
        scale = before.panel.scale
    settings = _settings(earlier, panel, recorded_judges, before.panel, scale, metrics=metrics)
    plan = ClaimsJob(
        metrics=metrics.rows,
        derived=_derived(metrics, requested, settings),
        metric_prompts=metric_prompts(metrics.rows, panel.judges, settings),
        judges=panel.judges,
        extractor=extracted_by,
        extract_prompt=earlier.extract_prompt,
        assess_prompt=earlier.assess_prompt,
        panel=settings,
        recorded_judges=recorded_judges,
        extracts=extractor is not None,
        cluster=requested.cluster or before.cluster,
    )
    if surveyed and source.manifest is None:
        plan = with_questions(plan, surveyed)
    check_families(plan, surveyed.generators if surveyed else ())
    items = Results(source.results, earlier.reuse(plan))
    record = _record(earlier, plan, of_run=source.manifest is not None)
    return Rejudged(plan, record, items, surveyed.samples if surveyed else None)


def _prepare_ratings(
    source: RejudgeSource, before: Manifest, requested: ClaimsOptions, keep_verdicts: bool, options: RunOptions
) -> Rejudged:
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
    earlier = Earlier(before, requested, (EXTRACT_PROMPT, ASSESS_PROMPT), step)
    panel, recorded = _panel(earlier, None, keep_verdicts, options)

    def counted(of_run: Panel, usual: str) -> Panel:
        """Return how verdicts on a question are counted now."""
        return _settings(earlier, panel, recorded, of_run, of_run.scale, usual)

    prompt = earlier.assess_prompt if requested.assess_prompt else None
    job = job.again(OtherJudging(panel.judges, recorded, prompt, counted, requested.cluster or before.cluster))
    job.check_families(result.sample.generator for result in source.results)
    prompts = {record.name: record.prompt for record in job.records}
    reuse = Reuse(job, before, prompts, prompts)
    items = Results(
        source.results,
        lambda result: reuse.reduced(result, [(a, a.question) for a in result.assessments if a.question in prompts]),
    )
    record = _with_prompts(job.manifest, before, recorded, [prompt.id for prompt in job.prompts])
    return Rejudged(job, record, items, items.count() if len(recorded) < len(panel.judges) else None)


def _derived(metrics: MetricSelection, requested: ClaimsOptions, settings: Panel) -> tuple[str, ...]:
    """Return the derived metrics: those of the run that can be computed from the new verdicts."""
    per_document, three_way = settings.per_document, "contradicted" in settings.scale.words
    if metrics.derived is not None and not requested.metrics:
        rows = map(derived, metrics.derived)
        if names := tuple(row.name for row in rows if row.readable(per_document=per_document, three_way=three_way)):
            return names
        metrics = metrics._replace(derived=None)
    return resolve_derived(metrics, per_document=per_document, three_way=three_way)


def _samples(
    results: Iterable[SampleResult], metrics: Sequence[Metric], earlier: Earlier, missing: dict[Part, int]
) -> Iterator[Sample]:
    """Yield the samples, and count in `missing`, by part, those with a text but without reusable claims."""
    for result in results:
        for part in {m.claims_of for m in metrics if m.missing_part(result.sample) is None} - earlier.parts(result):
            missing[part] = missing.get(part, 0) + 1
        yield result.sample


def _panel(
    earlier: Earlier, metrics: MetricSelection | None, keep_verdicts: bool, options: RunOptions
) -> tuple[PanelSpec, frozenset[str]]:
    """Return the panel, and the names of its judges that are not asked but keep their recorded verdicts."""
    requested, named = earlier.requested, earlier.named
    others = [spec for spec in requested.judges if spec not in named]
    new = specs.parse_panel(others, requested.claims_per_call) if others else PanelSpec((), None, {})
    settings = {**new.settings, **requested.panel_settings}
    settings |= citing(metrics, {"per_document": earlier.record.panel.per_document} | settings)
    names = named if requested.judges else list(earlier.run_judges)
    only_counted = (
        not (requested.judges or earlier.names_claims or options.ask_again)
        and requested.claims_per_call is None
        and all(map(earlier.same_prompt, earlier.run_judges))
        and earlier.has(metrics.rows if metrics else ())
        and earlier.same_documents(settings)
        and settings.get("replicates", 1) <= earlier.record.panel.replicates
    )
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


def _extractor(earlier: Earlier, panel: PanelSpec, missing: Mapping[Part, int]) -> Judge | None:
    """Return the extractor of missing claims; None if no claims are missing."""
    if earlier.claims_hold and not missing:
        return None
    if spec := earlier.extractor or panel.extractor:
        return specs.parse_judge(spec)
    if (before := earlier.record.extractor) is None:
        return panel.judges[0]
    try:
        if before.provider != IMPORTED:
            return specs.parse_judge(before)
        why = "its claims are on record only"
    except UsageError as error:
        why = str(error)
    texts = ", ".join(f"{n} texts of {part}" for part, n in missing.items()) or "the texts"
    raise UsageError(f"{texts} have no claims yet and the run's extractor cannot be asked ({why}); name an --extractor")


def _settings(
    earlier: Earlier,
    panel: PanelSpec,
    recorded_judges: frozenset[str],
    before: Panel,
    scale: Scale,
    usual: str = "majority",
    metrics: MetricSelection | None = None,
) -> Panel:
    """Return the panel settings: requested ones, else those of a panel file, else those of the run if judges stay."""
    requested, names = earlier.requested, [judge.name for judge in panel.judges]
    base: dict[str, Any] = {"vote": usual, "per_document": before.per_document}
    if not requested.judges:
        base = before.model_dump(exclude={"scale"})
    elif recorded_judges.intersection(names):
        base["replicates"] = before.replicates
    given = {**base, **panel.settings, **requested.panel_settings}
    given |= citing(metrics, given)
    return specs.panel_settings(panel, given, scale, with_labels=requested.panel.labels is not None)


def _record(earlier: Earlier, plan: ClaimsJob, *, of_run: bool) -> Manifest:
    """Return the manifest of the new run, including prompts, notes and extractor of reused claims and verdicts."""
    before = earlier.record
    extractor = before.extractor if before.extractor and earlier.claims_hold else plan.extractor
    notes = notes_of(plan, extractor)
    if plan.extracts and plan.extractor.id != extractor.id:
        notes += (f"missing claims were extracted by {plan.extractor.name}, all others by {extractor.name}",)
    record = plan.manifest.model_copy(update={"notes": notes, "extractor": extractor})
    if not of_run:
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
    used, notes = dict.fromkeys((*others, *chain.from_iterable(asked_with.values()))), record.notes
    names = {
        judge: ", ".join(records[i].name for i in ids if i in records and records[i].step != "weigh")
        for judge, ids in asked_with.items()
    }
    if len(set(names.values())) > 1:
        unknown = "elsewhere, with a prompt that is not known"
        each = "; ".join(f"{judge} {prompts or unknown}" for judge, prompts in names.items())
        notes += (f"the judges were asked with different prompts: {each}",)
    prompts = tuple(records[i] for i in used)
    return record.model_copy(update={"prompts": prompts, "source": RunSource(asked_with=asked_with), "notes": notes})


class Earlier:
    """A run with the requested extractor, prompts and judges: which of its claims and verdicts remain valid."""

    def __init__(
        self, record: Manifest, requested: ClaimsOptions, defaults: tuple[str, str], step: str = "assess"
    ) -> None:
        """Options that are not requested are as in the run; plain samples have an empty manifest.

        `defaults` are the extract and assess prompt for runs without, and `step` is the step of the judges' prompt.
        """
        self.record, self.requested = record, requested
        self._step = step
        self.extractor = specs.parse_judge(requested.extractor) if requested.extractor else None
        self.run_judges = {judge.name: judge for judge in record.judges}
        self.named = [spec for spec in requested.judges if isinstance(spec, str) and spec in self.run_judges]
        """Names of judges of the run that are requested."""
        self._ids = {judge.name: judge.id for judge in record.asked}
        recorded = [p for p in record.prompts if p.step == "extract"]
        parameters = requested.prompt_parameters
        self._asks_anew = requested.assess_prompt is not None or "reasons" in parameters
        splits_anew = requested.extract_prompt is not None or "quotes" in parameters
        self.extract_prompt = _prompt("extract", requested.extract_prompt, recorded, defaults[0], parameters)
        prompts = self._support_prompts(*(self.named or self.run_judges))
        self.assess_prompt = _prompt(step, requested.assess_prompt, prompts, defaults[1], parameters)
        self.undecided = () if requested.assess_prompt or len(prompts) < 2 else tuple(p.name for p in prompts)
        """Names of the run's prompts if there are several and none is requested; then no judge can be asked."""
        self._settings = self.extractor.id if self.extractor else None
        self._extract_prompt = self.extract_prompt.id if splits_anew else None
        self.names_claims = bool(self._settings or self._extract_prompt)
        """Whether an extractor or its prompt is requested."""
        self.claims_hold = (
            record.extractor is not None
            and self._settings in (None, record.extractor.id)
            and (not splits_anew or any(p.id == self.extract_prompt.id for p in recorded))
        )

    def _support_prompts(self, *judges: str) -> list[PromptRecord]:
        """Return the prompts with which these judges of the run gave their verdicts."""
        ids = {prompt for judge in judges for prompt in self.record.asked_with.get(judge, ())}
        return [p for p in self.record.prompts if p.id in ids and p.step == self._step]

    def same_prompt(self, judge: str) -> bool:
        """Return whether a judge of the run was asked only with the requested prompt."""
        return not self._asks_anew or [p.id for p in self._support_prompts(judge)] == [self.assess_prompt.id]

    def has(self, metrics: Sequence[Metric]) -> bool:
        """Return whether the run has the assessments that these metrics need."""
        before = {(m.claims_of, m.against) for m in self.record.rows}
        return all((metric.claims_of, metric.against) in before for metric in metrics)

    def same_documents(self, settings: Mapping[str, Any]) -> bool:
        """Return whether the run's verdicts include all document orders and splits that the settings require."""
        before = self.record.panel
        fewer_orders: bool = settings.get("shuffle_contexts", 0) <= before.shuffle_contexts
        return fewer_orders and settings.get("per_document", before.per_document) == before.per_document

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

    def reuse(self, plan: ClaimsJob) -> Callable[[SampleResult], SampleResult]:
        """Return a function that reduces a result to its reusable claims, verdicts and calls."""
        pairs = {(metric.claims_of, metric.against) for metric in plan.metrics}
        # documents shown one by one are other evidence than all of them together
        same_split = (plan.panel.per_document is True) == (self.record.panel.per_document is True)
        prompts = {(of, to): plan.prompt(of, to).id for of, to in pairs if same_split or to in ONE_TEXT}
        reuse = Reuse(plan, self.record, prompts, pairs)

        def reduced(result: SampleResult) -> SampleResult:
            """Return the reusable part of a result."""
            reused = self.parts(result).intersection(of for of, _ in pairs)
            claims = tuple([claim for claim in result.claims if claim.of in reused])
            part = {claim.id: claim.of for claim in claims}
            asked = [
                (a, (part[a.subject], a.against))
                for a in result.assessments
                if a.subject in part and (a.order or 0) <= plan.panel.shuffle_contexts
            ]

            def keeps(call: Call) -> bool:
                """Return whether a call made one of these claims, or asked about them as judges are asked now."""
                of, to = call.part, call.evidence.part if call.evidence else None
                return of in reused and (to is None or reuse.holds(call.judge, call.prompt, (of, to)))

            unextracted = {part: because for part, because in result.unextracted.items() if part in reused}
            return reuse.reduced(result, asked, keeps, claims=claims, unextracted=unextracted)

        return reduced


class Reuse(Generic[K]):
    """The verdicts and calls of a run that remain valid for a job."""

    def __init__(self, job: PanelJob, before: Manifest, prompts: Mapping[K, str | None], allowed: Container[K]) -> None:
        """`prompts` has the questions whose verdicts may be reused, with their prompts now.

        Verdicts of recorded judges are reused if their question is `allowed`.
        """
        self._job, self._prompts, self._allowed = job, prompts, allowed
        self._before = {judge.name: judge.id for judge in before.judges}
        self._now = {judge.name: judge.id for judge in job.judges}

    def holds(self, judge: str, prompt: str | None, question: K) -> bool:
        """Return whether a judge, asked a question with a prompt, has the current settings and prompt."""
        if judge == GIVEN or judge in self._job.recorded_judges:
            return question in self._allowed
        same_judge = self._before.get(judge) == self._now.get(judge)
        return same_judge and question in self._prompts and prompt == self._prompts[question]

    def _is_usable(self, verdict: Verdict) -> bool:
        """Return whether a verdict is reused: failed calls are made again, and surplus replicates are left out."""
        answered = verdict.unassessed is None or verdict.unassessed in ABSTAINED
        usable = answered or verdict.judge in self._job.recorded_judges
        return usable and verdict.replicate < self._job.panel.replicates

    def reduced(
        self,
        result: SampleResult,
        asked: Iterable[tuple[Assessment, K]],
        keeps: Callable[[Call], bool] | None = None,
        **fields: Any,
    ) -> SampleResult:
        """Return a sample with the reusable verdicts of assessments, each with its question, and with their calls.

        `keeps` says whether a call is kept; None keeps the calls of the reused verdicts.
        """
        kept = [
            (a, [v for v in a.verdicts if self.holds(v.judge, result.prompt_of(v), question) and self._is_usable(v)])
            for a, question in asked
        ]
        sources = {(v.judge, result.prompt_of(v), a.evidence) for a, verdicts in kept for v in verdicts}
        calls = [
            place
            for place, call in enumerate(result.calls)
            if (keeps(call) if keeps else (call.judge, call.prompt, call.evidence) in sources)
        ]
        places = {before: now for now, before in enumerate(calls)}

        def moved(verdict: Verdict) -> Verdict:
            """Return the verdict with the new place of its call."""
            if verdict.call is None or places.get(verdict.call) == verdict.call:
                return verdict
            prompt = None if verdict.call in places else result.prompt_of(verdict)
            return verdict.model_copy(update={"call": places.get(verdict.call), "prompt": prompt})

        return SampleResult(
            sample=result.sample,
            assessments=tuple([a.model_copy(update={"verdicts": tuple(map(moved, vs))}) for a, vs in kept]),
            calls=tuple([result.calls[place].model_copy(update={"reused": True}) for place in calls]),
            **{"claims": (), **fields},
        )


def _prompt(
    step: str, named: str | None, recorded: Sequence[PromptRecord], default: str, parameters: Mapping[str, str]
) -> Prompt:
    """Return the requested prompt, else the recorded one, else the default, with those of `parameters` of its step."""
    given = {name: value for name, value in parameters.items() if ASKED_FOR[name][0] == step}
    if named or not recorded:
        return prompting.load(step, named or default, given)
    return Prompt.of(recorded[0], given)
