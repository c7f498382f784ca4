"""Judging a source again (a run, another tool's results, a file of samples): what is asked, and what is reused."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.foreign import recognize
from claimeval.data.foreign.records import RECORDED
from claimeval.data.reading import NO_FIELDS, Problems, read_samples
from claimeval.data.survey import Survey, survey
from claimeval.evaluation.claims import (
    ASSESS_PROMPT,
    EXTRACT_PROMPT,
    ClaimsJob,
    ClaimsOptions,
    check_families,
    check_questions,
    choose_metrics,
    own_prompts,
    usual_assess_prompt,
)
from claimeval.evaluation.claims import notes as notes_of
from claimeval.evaluation.grade import GradeJob
from claimeval.evaluation.judgment import OtherJudging
from claimeval.evaluation.manifest import Manifest, RunSource
from claimeval.evaluation.rate import RateJob
from claimeval.judging import panel as panels
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.derived import MetricSelection, derived, resolve_derived, select_metrics
from claimeval.metrics.rows import SUPPORT, Metric
from claimeval.providers import specs
from claimeval.providers.specs import PanelSpec
from claimeval.runs.directory import MANIFEST, incomplete, load_manifest, read_results, results_file
from claimeval.runs.import_replies import recorded_manifest
from claimeval.runs.reuse import ReusableVerdicts, ReuseCounts, reused
from claimeval.runs.revote import Revote, job_of
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.records import Part, Sample, SampleResult
from claimeval.types.requests import Judge
from claimeval.types.scales import Scale


class RejudgeSource(NamedTuple):
    """What is judged again: a run, another tool's results, or plain samples."""

    name: str
    results: Callable[[], Iterator[SampleResult]]
    """Goes over the samples anew each time it is called."""
    manifest: Manifest | None
    """None for plain samples."""
    note: Callable[[], str | None] = lambda: None
    """What must stand beside the numbers of a run that is judged again before it was complete, or of which rows were
    left out; known when the source was read."""
    file: Path | None = None
    """The file of the results; None for a run in memory and for plain samples."""

    def recorded(self, record: Manifest, limit: int | None, fields: Mapping[str, str] = NO_FIELDS) -> Manifest:
        """Return the manifest of a run made from this source, with its data, its digest and who was asked with what.

        Args:
            record: What is asked now.
            limit: The number of samples that are taken, from the first; None for all.
            fields: Sample field to column name, for a file of samples.
        """
        before = self.manifest
        if before is None:
            return record.of_data(self.name, limit=limit, fields=fields)
        data = before.data.model_copy(update={"samples": None, "limit": limit or before.data.limit})
        source = RunSource.of(self.file and Path(self.name), self.file, record.asked_with)
        return record.model_copy(update={"data": data, "source": source})


def open_source(path: Path, *, fields: Mapping[str, str] = NO_FIELDS, skip_malformed: bool = False) -> RejudgeSource:
    """A run directory, a result file of another tool, or a file of samples."""
    if (path / MANIFEST).exists():
        note: str | None = None
        if line := incomplete(path):
            if next(read_results(path), None) is None:
                raise UsageError(f"{path} has no finished sample to judge again; run the command that began it first")
            warnings.warn(line, stacklevel=2)
            note = f"the run that was judged again was not complete: {line}"
        return RejudgeSource(
            str(path), lambda: read_results(path), load_manifest(path), lambda: note, results_file(path)
        )
    if not path.is_dir() and (found := recognize(path)):
        panel = specs.valid_settings(found.panel_settings, found.scale)
        record = recorded_manifest(found, str(path), panel)
        return RejudgeSource(str(path), lambda: (one.result for one in found.samples()), record, file=path)
    problems = Problems(skip=skip_malformed, unique_ids=skip_malformed)

    def unjudged() -> Iterator[SampleResult]:
        """Read the samples, which have no verdicts."""
        return (SampleResult(sample=sample) for sample in read_samples(path, fields=fields, problems=problems))

    return RejudgeSource(str(path), unjudged, None, problems.note)


class Results:
    """The samples with what is taken over, made anew each time they are gone over."""

    def __init__(self, source: RejudgeSource, reused: Callable[[SampleResult, ReuseCounts], SampleResult]) -> None:
        """`reused` returns what is taken over of a sample, and counts the calls that this saves."""
        self._source, self._reused = source, reused
        self.saved = ReuseCounts()
        """Calls that the samples of the latest round make unnecessary."""

    def __iter__(self) -> Iterator[SampleResult]:
        self.saved = ReuseCounts()
        return (self._reused(result, self.saved) for result in self._source.results())


class PreparedRejudge(NamedTuple):
    """A source ready to be judged: what is asked, and each sample with what need not be."""

    plan: ClaimsJob | RateJob | GradeJob
    manifest: Manifest
    samples: int | None
    """How many there are; None where nobody is asked and so nobody counted."""
    results: Results
    """Each sample with the claims and verdicts that are taken over."""

    def recounted(self) -> Iterator[SampleResult]:
        """Each sample with the votes on its verdicts counted anew, if nobody is asked anything."""
        return map(Revote(self.manifest), self.results)

    @property
    def asks(self) -> bool:
        """Whether anybody may be asked anything; otherwise the votes are counted anew and nothing else happens."""
        return bool(self.plan.asked)


def prepare(
    source: RejudgeSource, wanted: ClaimsOptions, *, keep_verdicts: bool = False, options: RunOptions = RunOptions()
) -> PreparedRejudge:
    """Settle what is asked and check it against the source in one pass; UsageError before any call can be made.

    Args:
        source: What is judged again.
        wanted: What shall be other than in the source.
        keep_verdicts: Keep the verdicts of the run's judges beside those of the new ones.
        options: With `offline` the judges of the run are not asked, and their verdicts are all there is; with
            `ask_again` they are asked, even if nothing else has changed.
    """
    check_cluster(wanted.cluster, (result.sample for result in source.results()))
    if source.manifest and not source.manifest.of_claims:
        prepared = _prepare_ratings(source, source.manifest, wanted, keep_verdicts, options)
    else:
        prepared = _prepare_claims(source, wanted, keep_verdicts, options)
    note, record = source.note(), prepared.manifest
    return prepared._replace(manifest=record.model_copy(update={"notes": (*record.notes, note)})) if note else prepared


def _prepare_claims(
    source: RejudgeSource, wanted: ClaimsOptions, keep_verdicts: bool, options: RunOptions
) -> PreparedRejudge:
    metrics = _metrics(source, wanted)
    known = ReusableVerdicts(source.manifest, wanted, (EXTRACT_PROMPT, usual_assess_prompt(metrics)))
    line_up, on_record = _line_up(known, metrics, keep_verdicts, options)
    lacking: dict[Part, int] = {}
    found: Survey | None = None
    if metrics is None or not known.has(metrics.rows) or known.names_claims or len(on_record) < len(line_up.judges):
        found, lacking = _look_over(source, metrics.rows if metrics else SUPPORT, known)
        metrics = choose_metrics(metrics, found)
    extractor = _extractor(known, line_up, lacking)
    settings = _settings(known, line_up, on_record)
    plan = ClaimsJob(
        metrics=metrics.rows,
        derived=_derived(metrics, wanted, settings),
        own_prompts=own_prompts(metrics.rows, line_up.judges, settings),
        judges=line_up.judges,
        extractor=extractor or known.extractor_on_record,
        extract_prompt=known.extract_prompt,
        assess_prompt=known.assess_prompt,
        panel=settings,
        on_record=on_record,
        extracts=extractor is not None,
        cluster=wanted.cluster or (source.manifest.cluster if source.manifest else None),
    )
    if found and source.manifest is None:
        check_questions(plan, found)
    check_families(plan, found.generators if found else ())
    return PreparedRejudge(
        plan=plan,
        manifest=_record(known, plan),
        samples=found.samples if found else None,
        results=Results(source, lambda result, saved: known.taken_over(result, plan, saved)),
    )


def _prepare_ratings(
    source: RejudgeSource, before: Manifest, wanted: ClaimsOptions, keep_verdicts: bool, options: RunOptions
) -> PreparedRejudge:
    """The same for a run of ratings or grades, which has no claims."""
    job = job_of(before)
    for name in ("extractor", "extract_prompt", "per_document", "shuffle_contexts", "extract_per_judge"):
        if getattr(wanted, name) is not None:
            raise UsageError(f"{name}: a run of {before.job} has no claims; leave it out")
    if wanted.metrics is not None:
        job = job.only([metric if isinstance(metric, str) else metric.name for metric in wanted.metrics])
    steps = {prompt.id: prompt.step for prompt in job.prompts}
    if wanted.assess_prompt and len(steps) > 1:
        raise UsageError("assess_prompt: the run asks several questions; name the --metrics of one of them")
    step = job.prompts[0].step if len(steps) == 1 else "assess"
    known = ReusableVerdicts(before, wanted, (EXTRACT_PROMPT, ASSESS_PROMPT), step)
    line_up, on_record = _line_up(known, None, keep_verdicts, options)
    asks = len(on_record) < len(line_up.judges)
    names = {judge.name for judge in line_up.judges}

    def counted(panel: Panel, usual: str) -> Panel:
        """Return how verdicts on a question are counted now."""
        base: dict[str, Any] = {"vote": usual} | ({"replicates": panel.replicates} if names & on_record else {})
        base = base if wanted.judges else panel.model_dump(exclude={"scale"})
        settings = specs.valid_settings({**base, **line_up.settings, **wanted.panel_settings}, panel.scale)
        panels.check(settings, [judge.name for judge in line_up.judges], with_labels=wanted.panel.labels is not None)
        return settings

    prompt = known.assess_prompt if wanted.assess_prompt else None
    job = job.again(OtherJudging(line_up.judges, on_record, prompt, counted, wanted.cluster or before.cluster))
    job.check_families(result.sample.generator for result in source.results())
    record = _with_prompts(job.manifest, before, on_record, [prompt.id for prompt in job.prompts])
    before_ids = {judge.name: judge.id for judge in before.judges}
    return PreparedRejudge(
        plan=job,
        manifest=record,
        samples=sum(1 for _ in source.results()) if asks else None,
        results=Results(source, lambda result, saved: reused(result, job, before_ids, saved)),
    )


def _metrics(source: RejudgeSource, wanted: ClaimsOptions) -> MetricSelection | None:
    if wanted.metrics:
        return select_metrics(wanted.metrics)
    before = source.manifest
    return MetricSelection(before.rows, before.derived or None) if before else None


def _derived(metrics: MetricSelection, wanted: ClaimsOptions, settings: Panel) -> tuple[str, ...]:
    """The derived rows: of those of the run, the ones that can be read off what judges are asked now."""
    asked = {"per_document": settings.per_document, "three_way": "contradicted" in settings.scale.words}
    if metrics.derived is None or wanted.metrics:
        return resolve_derived(metrics, **asked)
    names = tuple(name for name in metrics.derived if derived(name).readable(**asked))
    return names or resolve_derived(metrics._replace(derived=None), **asked)


def _look_over(
    source: RejudgeSource, metrics: Sequence[Metric], known: ReusableVerdicts
) -> tuple[Survey, dict[Part, int]]:
    """What the samples can feed, and in how many of them a part has a text but no claims that can be taken over."""
    lacking: dict[Part, int] = {}

    def samples() -> Iterator[Sample]:
        for result in source.results():
            parts = {m.claims_of for m in metrics if m.missing_part(result.sample) is None} - known.parts(result)
            for part in parts:
                lacking[part] = lacking.get(part, 0) + 1
            yield result.sample

    return survey(samples(), metrics), lacking


def _line_up(
    known: ReusableVerdicts, metrics: MetricSelection | None, keep_verdicts: bool, options: RunOptions
) -> tuple[PanelSpec, frozenset[str]]:
    """Who judges, and who of them is not asked because the verdicts on record are all there is."""
    wanted, named = known.wanted, known.named
    others = [spec for spec in wanted.judges if spec not in named]
    fresh = specs.parse_panel(others) if others else PanelSpec((), None, {})
    settings = {**fresh.settings, **wanted.panel_settings}
    names = named if wanted.judges else list(known.own)
    unchanged = not known.names_claims and all(map(known.same_prompt, known.own))
    has_all = known.has(metrics.rows if metrics else ())
    only_counted = not wanted.judges and unchanged and has_all and known.asked_as(wanted.panel_settings)
    only_counted = only_counted and not options.ask_again
    own, on_record = [], set()
    for name in names:
        judge = known.own[name]
        if only_counted or options.offline or judge.provider == RECORDED:
            if not known.same_prompt(name):
                raise UsageError(f"judge {name!r} cannot be asked again with another prompt; name judges that can")
            if not known.shown_as(settings):
                raise UsageError(
                    f"judge {name!r} cannot be asked again, and its verdicts were made with different document settings"
                )
            on_record.add(name)
            own.append(judge)
        else:
            own.append(specs.parse_judge(judge))
    if keep_verdicts:
        kept = [judge for name, judge in known.own.items() if name not in names]
        if kept and not known.shown_as(settings):
            raise UsageError(
                f"Cannot keep the verdicts of judge {kept[0].name!r}: they were made with different document settings. "
                "Rejudge the run with the new settings first, then add judges with --keep-verdicts."
            )
        own = [*kept, *own]
        on_record |= {judge.name for judge in kept}
    judges = (*own, *fresh.judges)
    if not judges:
        specs.parse_panel(())  # says which judges there are to name
    twice = {judge.name for judge in own} & {judge.name for judge in fresh.judges}
    if twice:
        raise UsageError(f"the run has a judge {min(twice)!r} already; give the new one another `name` in a YAML file")
    if known.undecided and len(on_record) < len(judges):
        raise UsageError(
            f"verdicts of the run come from several prompts ({', '.join(known.undecided)}); say with --assess-prompt "
            "which of them to ask with"
        )
    return fresh._replace(judges=judges), frozenset(on_record)


def _extractor(known: ReusableVerdicts, line_up: PanelSpec, lacking: Mapping[Part, int]) -> Judge | None:
    """Who takes claims where there are none; None where every part has its claims already."""
    if known.claims_hold and not lacking:
        return None
    spec = known.extractor or line_up.extractor
    if spec:
        return specs.parse_judge(spec)
    if known.record is None:
        return line_up.judges[0]
    before = known.record.extractor
    assert before is not None, "a run of claims has an extractor"
    try:
        if before.provider != RECORDED:
            return specs.parse_judge(before)
        why = "its claims are on record only"
    except UsageError as error:
        why = str(error)
    texts = ", ".join(f"{n} texts of {part}" for part, n in lacking.items()) or "the texts"
    raise UsageError(f"{texts} have no claims yet and the run's extractor cannot be asked ({why}); name an --extractor")


def _settings(known: ReusableVerdicts, line_up: PanelSpec, on_record: frozenset[str]) -> Panel:
    """The panel's settings: what is wanted, before a panel file's, before the run's own where its judges stay."""
    wanted, before = known.wanted, known.record.panel if known.record else Panel()
    names = {judge.name for judge in line_up.judges}
    scale = known.assess_prompt.scale
    assert scale is not None, "an assess prompt has a scale; loading checks it"
    base: dict[str, Any] = {"replicates": before.replicates} if names & on_record else {}
    if before.per_document:
        base["per_document"] = True
    if known.record and not wanted.judges:
        base = before.model_dump(exclude={"scale"}, exclude_defaults=True)
    if names & on_record and not (names - on_record and _has_words_of(scale, before.scale)):
        scale = before.scale
    settings = specs.valid_settings({**base, **line_up.settings, **wanted.panel_settings}, scale)
    panels.check(settings, [judge.name for judge in line_up.judges], with_labels=wanted.panel.labels is not None)
    return settings


def _has_words_of(scale: Scale, before: Scale) -> bool:
    """Whether verdicts on another scale can be voted on together with verdicts on this one."""
    return scale.ordered or before.ordered or set(before.words) <= set(scale.words)


def _record(known: ReusableVerdicts, plan: ClaimsJob) -> Manifest:
    """The manifest of what comes out: prompts, notes and extractor of what was taken over stand in it too."""
    before = known.record
    taker = before.extractor if before and before.extractor and known.claims_hold else plan.extractor
    notes = (*notes_of(plan, taker), *_extractor_notes(plan, taker))
    record = plan.manifest.model_copy(update={"notes": notes, "extractor": taker})
    if before is None:
        return record
    own = {metric.prompt for metric in plan.metrics}
    extract = [record.prompts[0].id] if plan.extracts else []
    if known.claims_hold:
        extract += [prompt.id for prompt in before.prompts if prompt.step == "extract"]
    record = _with_prompts(record, before, plan.on_record, extract, lambda p: p.step == "assess" or p.name in own)
    used = {prompt.id for prompt in record.prompts}
    questions = (one if one.prompt in used else one.model_copy(update={"prompt": None}) for one in record.questions)
    return record.model_copy(update={"questions": tuple(questions)})


def _with_prompts(
    record: Manifest,
    before: Manifest,
    on_record: Container[str],
    others: Iterable[str],
    wanted: Callable[[PromptRecord], bool] = lambda prompt: True,
) -> Manifest:
    """Return the manifest with the prompts that verdicts come from, `others`, and a note if judges had different ones.

    Judges on record keep those prompts of the run that are wanted.
    """
    records = {prompt.id: prompt for prompt in (*before.prompts, *record.prompts)}
    asked_with = {
        name: tuple(i for i in before.asked_with.get(name, ()) if wanted(records[i])) if name in on_record else ids
        for name, ids in record.asked_with.items()
    }
    used = dict.fromkeys((*others, *chain.from_iterable(asked_with.values())))
    update = {
        "prompts": tuple(records[i] for i in used),
        "source": RunSource(asked_with=asked_with),
        "notes": (*record.notes, *_prompt_notes(asked_with, records)),
    }
    return record.model_copy(update=update)


def _extractor_notes(plan: ClaimsJob, taker: Judge) -> tuple[str, ...]:
    """What must stand beside the numbers where claims that the run lacks are taken by somebody else."""
    if not plan.extracts or plan.extractor.id == taker.id:
        return ()
    return (f"claims that were missing were taken by {plan.extractor.name}, all others by {taker.name}",)


def _prompt_notes(asked_with: Mapping[str, tuple[str, ...]], records: Mapping[str, PromptRecord]) -> tuple[str, ...]:
    """What must stand beside the numbers where the judges were not all asked with the same prompt."""
    support = {
        name: ", ".join(records[i].name for i in ids if i in records and records[i].step != "weigh")
        for name, ids in asked_with.items()
    }
    if len(set(support.values())) < 2:
        return ()
    said = (f"{name} {prompts or 'elsewhere, with a prompt that is not known'}" for name, prompts in support.items())
    return (f"the judges were asked with different prompts: {'; '.join(said)}",)
