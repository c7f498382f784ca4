"""Preparation of a rejudge: checks a source (run, results of another tool) and selects reusable
verdicts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.mapping import RowMapping
from claimeval.data.result_files import recognize
from claimeval.data.survey import survey
from claimeval.evaluation.claims import (
    ASKED_FOR,
    ONE_TEXT,
    ClaimsJob,
    ClaimsOptions,
    check_readers,
    choose_metrics,
    citing,
    with_numbering,
)
from claimeval.evaluation.job import Reiterable
from claimeval.evaluation.judgment import QuestionJob
from claimeval.evaluation.manifest import JOB_SETTINGS, Manifest, RunSource
from claimeval.execution import ComputedJob
from claimeval.judging import prompts as prompting
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt, PromptRecord
from claimeval.metrics.derived import MetricSelection, derived, resolve_derived, select_metrics
from claimeval.metrics.rows import Metric
from claimeval.providers import specs
from claimeval.providers.specs import PanelSpec
from claimeval.runs.directory import MANIFEST, RunResults, incomplete, load_manifest, results_file
from claimeval.runs.jobs import Prepared
from claimeval.runs.lines import Mapped
from claimeval.runs.revote import Revote, job_of
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.options import RunOptions
from claimeval.types.records import (
    ABSTAINED,
    GIVEN,
    Assessment,
    Call,
    Numbering,
    Part,
    Sample,
    SampleResult,
    Verdict,
    has_words,
)
from claimeval.types.requests import IMPORTED, Judge
from claimeval.types.scales import Scale


class RejudgeSource(NamedTuple):
    """A run, or results of another tool, to rejudge."""

    results: Iterable[SampleResult]
    """The samples, which are read from the start on each pass."""
    manifest: Manifest
    path: Path | None = None
    """The run directory, or the file of another tool; None for a run in memory."""
    note: str | None = None
    """Note for the new run if the source is an incomplete run."""
    limit: int | None = None
    """The number of samples, from the first; None for all."""

    @property
    def samples(self) -> Iterator[Sample]:
        """The samples alone."""
        return (result.sample for result in self.results)

    def stating(self, numbering: Numbering) -> RejudgeSource:
        """Return the source with a numbering that was stated, which the new run records and a run
        that is made of it takes over."""
        data = self.manifest.data
        mapping = {**data.mapping, "numbering": numbering}
        data = data.model_copy(update={"mapping": mapping})
        return self._replace(manifest=self.manifest.model_copy(update={"data": data}))

    def prepared(
        self,
        job: QuestionJob | ComputedJob[SampleResult],
        record: Manifest,
        reduce: Callable[[SampleResult], object],
    ) -> Prepared:
        """Return the job over what `reduce` makes of each sample; its manifest gets the data,
        source and note."""
        results = self.results
        data = self.manifest.data
        file = self.path
        items = (
            Mapped(results, reduce)
            if isinstance(results, Sequence)
            else Reiterable(lambda: map(reduce, results))
        )
        made = {
            "data": data.model_copy(update={"samples": None, "limit": self.limit or data.limit}),
            "source": RunSource.of(
                file, results_file(file) if file and file.is_dir() else file, record.asked_with
            ),
            "notes": (*record.notes, self.note) if self.note else record.notes,
        }
        return Prepared(job, record.model_copy(update=made), items, None, self.path)


def open_source(path: Path) -> RejudgeSource | None:
    """Open a run directory or a result file of another tool; None for other files."""
    if (path / MANIFEST).exists():
        results = RunResults.of(path)
        note = None
        if line := incomplete(path):
            if next(iter(results), None) is None:
                raise UsageError(
                    f"{path} has no finished sample to judge again; run the command that began it"
                    " first"
                )
            warnings.warn(line, stacklevel=2)
            note = f"the run that was judged again was not complete: {line}"
        return RejudgeSource(results, load_manifest(path), path, note)
    if path.is_dir() or not (kind := recognize(path)):
        return None
    from claimeval.runs.import_replies import recorded_manifest

    record = recorded_manifest(
        kind, str(path), specs.valid_settings(kind.panel_settings, kind.scale)
    )
    return RejudgeSource(
        Reiterable(lambda: (recorded.result for recorded in kind.samples())), record, path
    )


def prepare(
    source: RejudgeSource,
    requested: ClaimsOptions,
    *,
    keep_verdicts: bool = False,
    numbering: Numbering | None = None,
    options: RunOptions = RunOptions(),
) -> Prepared:
    """Choose judges, prompts and metrics and check them against the source in one pass; no judge is
    asked.

    Args:
        source: The source to rejudge.
        requested: Settings that differ from those of the source.
        keep_verdicts: Keep the verdicts of the run's judges next to those of the new judges.
        numbering: What the numbers in citations are; None: as the run says, or as found.
        options: With `offline`, judges of the run are not asked and keep their verdicts; with
            `ask_again`, they are asked even if nothing else has changed.

    Raises:
        UsageError: The settings do not fit each other or the source.
    """
    check_cluster(requested.cluster, source.samples)
    now = _with_metrics(source.manifest, requested)
    if now.job == "measure":
        if (
            requested != ClaimsOptions(metrics=requested.metrics, cluster=requested.cluster)
            or keep_verdicts
        ):
            raise UsageError(
                "the source is a run of measure, which has no judges; only `metrics` can be changed"
            )
        job = job_of(now)
        prepared = source.prepared(job, job.manifest, lambda result: result.sample)
        return prepared._replace(total=prepared.count_items())
    earlier = Earlier(source.manifest, requested, job_of(now))
    panel, recorded = _panel(earlier, keep_verdicts, options)
    missing: dict[Part, int] = {}
    total = None
    asks = len(recorded) < len(panel.judges)
    if asks or earlier.names_claims or earlier.new_pairs:
        found = survey(_samples(source.results, earlier, missing), now.rows)
        total = found.samples
        if now.of_claims:
            choose_metrics(MetricSelection(now.rows, now.derived), found)
    job = earlier.again(panel, recorded, missing)
    if isinstance(job, ClaimsJob):
        told = RowMapping.model_validate(
            {"numbering": source.manifest.data.mapping.get("numbering")}
        )
        given = numbering or told.numbering
        job = with_numbering(job, Reiterable(lambda: source.samples), given)
        if given:
            source = source.stating(given)
    job.check_families(sample.generator for sample in source.samples)
    record = earlier.manifest(job)
    prepared = source.prepared(
        job if job.asked else Revote(record),
        record,
        Reuse(earlier, job),
    )
    return prepared._replace(total=total)


def _with_metrics(record: Manifest, requested: ClaimsOptions) -> Manifest:
    """Return the manifest of a run with the requested metrics and clusters."""
    changed: dict[str, Any] = {"cluster": requested.cluster or record.cluster}
    if requested.metrics and record.of_claims:
        changed["metrics"] = tuple(
            chain.from_iterable(filter(None, select_metrics(requested.metrics)))
        )
    elif requested.metrics:
        names = tuple(
            metric if isinstance(metric, str) else metric.name for metric in requested.metrics
        )
        if record.questions:
            for name in names:
                if name not in record.names:
                    raise unknown_name("score of the run", name, record.names)
        changed["metrics"] = names
    return record.model_copy(update=changed)


def _samples(
    results: Iterable[SampleResult], earlier: Earlier, missing: dict[Part, int]
) -> Iterator[Sample]:
    """Yield the samples, and count in `missing`, by part, those with a text but without reusable
    claims."""
    for result in results:
        reusable = earlier.parts(result)
        for part in dict.fromkeys(
            m.claims_of for m in earlier.rows if m.missing_part(result.sample) is None
        ):
            if part not in reusable:
                missing[part] = missing.get(part, 0) + 1
        yield result.sample


def _panel(
    earlier: Earlier, keep_verdicts: bool, options: RunOptions
) -> tuple[PanelSpec, frozenset[str]]:
    """Return the panel, and the names of its judges that are not asked but keep their recorded
    verdicts."""
    requested = earlier.requested
    before = earlier.record.panel
    others = [spec for spec in requested.judges if spec not in earlier.named]
    new = (
        specs.parse_panel(others, requested.claims_per_call) if others else PanelSpec((), None, {})
    )
    settings = {**new.settings, **requested.panel_settings}
    settings |= citing(earlier.derived, {"per_document": before.per_document} | settings)
    # Fewer orders of documents than the run asked about are among its verdicts; more are not.
    same_documents = (
        settings.get("shuffle_contexts", 0) <= before.shuffle_contexts
        and settings.get("per_document", before.per_document) == before.per_document
    )
    names = earlier.named if requested.judges else list(earlier.judges)
    only_counted = same_documents and earlier.is_only_counted(settings, options)
    judges, recorded = _judges_of_run(
        earlier, names, asks_nobody=only_counted or options.offline, same_documents=same_documents
    )
    if keep_verdicts:
        kept = _kept(earlier, names, same_documents=same_documents)
        judges[:0] = kept
        recorded |= {judge.name for judge in kept}
    _check_joined(earlier, judges, new.judges, all_recorded=len(recorded) == len(judges))
    panel = new._replace(judges=(*judges, *new.judges), settings=settings)
    return panel, frozenset(recorded)


def _judges_of_run(
    earlier: Earlier, names: Iterable[str], *, asks_nobody: bool, same_documents: bool
) -> tuple[list[Judge], set[str]]:
    """Return these judges of the run, and the names of those that are not asked but keep their
    recorded verdicts.

    Args:
        earlier: The run.
        names: The names of the judges.
        asks_nobody: Whether no judge of the run is asked.
        same_documents: Whether documents are shown as they were to the judges of the run.
    """
    asking = specs.asking(earlier.requested.claims_per_call)
    judges: list[Judge] = []
    recorded: set[str] = set()
    for name in names:
        judge = earlier.judges[name]
        # Behind an imported judge is a file of replies, which can answer nothing new.
        if not asks_nobody and judge.provider != IMPORTED:
            judges.append(specs.parse_judge(judge, asking))
            continue
        _check_recorded(earlier, name, same_documents=same_documents)
        judges.append(judge)
        recorded.add(name)
    return judges, recorded


def _kept(earlier: Earlier, names: Collection[str], *, same_documents: bool) -> list[Judge]:
    """Return the judges of the run besides these, whose verdicts are kept."""
    kept = [judge for name, judge in earlier.judges.items() if name not in names]
    if kept and not same_documents:
        raise UsageError(
            f"Cannot keep the verdicts of judge {kept[0].name!r}: they were made with different"
            " document settings. Rejudge the run with the new settings first, then add judges"
            " with --keep-verdicts."
        )
    return kept


def _check_joined(
    earlier: Earlier, judges: Sequence[Judge], new: Sequence[Judge], *, all_recorded: bool
) -> None:
    """Raise UsageError if the judges of the run and the new ones are no panel.

    `all_recorded`: whether none of the judges of the run is asked.
    """
    twice = {judge.name for judge in judges} & {judge.name for judge in new}
    if twice:
        raise UsageError(
            f"the run has a judge {min(twice)!r} already; give the new one another `name` in a YAML"
            " file"
        )
    if not judges and not new:
        specs.parse_panel(())  # raises an error that lists the judges
    if earlier.undecided and (new or not all_recorded):
        raise UsageError(
            f"verdicts of the run come from several prompts ({', '.join(earlier.undecided)}); say"
            " with --assess-prompt which of them to ask with"
        )


def _check_requested(record: Manifest, requested: ClaimsOptions, *, several: bool) -> None:
    """Raise UsageError for options that are not for this run.

    `several`: whether it asks several questions, each with a prompt of its own.
    """
    parameters = requested.parameters
    of_claims = ("extractor", "extract_prompt", "claims_per_call", *JOB_SETTINGS, *parameters)
    for name in () if record.of_claims else of_claims:
        if getattr(requested, name, "given") is not None:
            raise UsageError(f"{name}: a run of {record.job} has no claims; leave it out")
    if requested.assess_prompt and several:
        raise UsageError(
            "assess_prompt: the run asks several questions; name the --metrics of one of them"
        )


def _new_pairs(before: Iterable[Metric], now: Iterable[Metric]) -> set[tuple[Part, Part]]:
    """Return the parts of claims and evidence that only the metrics of now put together.

    The prompt counts too: a metric with another prompt asks another question about the same claims
    and evidence, and may not take over the labels of the first.
    """
    known = {(metric.claims_of, metric.against, metric.prompt) for metric in before}
    needed = {(metric.claims_of, metric.against, metric.prompt) for metric in now}
    return {(of, against) for of, against, _ in needed - known}


def _dropped_prompts(record: Manifest, job: QuestionJob, rows: Iterable[Metric]) -> set[str | None]:
    """Return the ids of the prompts of questions and metrics that are not asked any more."""
    names = {question.name for question in job.records}
    asked = {question.prompt for question in record.questions if question.name in names}
    weighed = {metric.prompt for metric in rows}
    dropped: set[str | None] = {question.prompt for question in record.questions} - asked
    for prompt in record.prompts:
        if prompt.step == "weigh" and prompt.name not in weighed:
            dropped.add(prompt.id)
    return dropped


def _check_recorded(earlier: Earlier, name: str, *, same_documents: bool) -> None:
    """Raise UsageError if the recorded verdicts of a judge, which is not asked again, do not answer
    what is asked now."""
    if not earlier.same_prompt(name):
        raise UsageError(
            f"judge {name!r} cannot be asked again with another prompt; name judges that can"
        )
    if not same_documents:
        raise UsageError(
            f"judge {name!r} cannot be asked again, and its verdicts were made with different"
            " document settings"
        )


class Earlier:
    """A run with what is requested: which of its claims and verdicts remain valid, and the job that
    judges it again."""

    def __init__(self, record: Manifest, requested: ClaimsOptions, job: QuestionJob) -> None:
        """`job` is that of the run, with the requested metrics. Options that are not requested are
        as in the run."""
        self.record = record
        self.requested = requested
        self._job = job
        self._manifest = job.manifest
        several = len({prompt.id for prompt in job.prompts}) > 1
        _check_requested(record, requested, several=several)
        self.rows = self._manifest.rows
        self.derived = self._manifest.derived
        self.new_pairs = _new_pairs(record.rows, self.rows)
        """Part of the claims and part of the evidence of metrics for which the run has no
        assessments."""
        self.judges = {judge.name: judge for judge in record.judges}
        self.named = [
            spec for spec in requested.judges if isinstance(spec, str) and spec in self.judges
        ]
        """Names of judges of the run that are requested."""
        dropped = _dropped_prompts(record, job, self.rows)
        self._asked_with = {
            judge: [i for i in ids if i not in dropped] for judge, ids in record.asked_with.items()
        }
        """The prompts of the run's judges, without those of questions that are not asked any
        more."""
        self._step = None if several else job.prompts[0].step
        """The step of the prompt of the question; None if there are several questions, whose
        prompts stay."""
        prompts = self._of_judges(*(self.named or self.judges))
        is_decided = requested.assess_prompt is not None or len(prompts) < 2
        self.undecided = () if is_decided else tuple(prompt.name for prompt in prompts)
        """Names of the run's prompts if there are several and none is requested; then no judge can
        be asked."""
        self._prompts = self._requested_prompts(prompts)
        """The prompts that are asked with now, by step."""
        parameters = requested.parameters
        self._asks_anew = requested.assess_prompt is not None or "reasons" in parameters
        self._read_extraction()

    def _read_extraction(self) -> None:
        """Read who is to split texts into claims and how, and whether the run's claims hold."""
        requested = self.requested
        record = self.record
        splits_anew = requested.extract_prompt is not None or "quotes" in requested.parameters
        self._extractor = specs.parse_judge(requested.extractor) if requested.extractor else None
        self._extracted_by = self._extractor.id if self._extractor else None
        self._extracted_with = self._prompts["extract"].id if splits_anew else None
        self.names_claims = bool(self._extractor) or splits_anew
        """Whether an extractor or its prompt is requested."""
        same_extractor = self._extracted_by in (None, record.extractor and record.extractor.id)
        known_prompts = {prompt.id for prompt in record.prompts}
        same_prompt = self._extracted_with is None or self._extracted_with in known_prompts
        self._claims_hold = same_extractor and same_prompt

    def _requested_prompts(self, of_judges: Sequence[PromptRecord]) -> dict[str | None, Prompt]:
        """Return the prompts that are asked with now, by step: as requested, else those of the
        run."""
        requested = self.requested
        spec = {"extract": requested.extract_prompt, self._step: requested.assess_prompt}
        of_run = {
            prompt.step: prompt
            for prompt in (*self._manifest.prompts, *of_judges[:1])
            if prompt.step in spec
        }
        return {
            step: _asked(prompt, spec[step], requested.parameters)
            for step, prompt in of_run.items()
        }

    def _of_judges(self, *judges: str) -> list[PromptRecord]:
        """Return the prompts with which these judges of the run were asked the question."""
        ids = set(chain.from_iterable(self._asked_with.get(judge, ()) for judge in judges))
        return [
            prompt
            for prompt in self.record.prompts
            if prompt.id in ids and prompt.step == self._step
        ]

    def same_prompt(self, judge: str) -> bool:
        """Return whether a judge of the run was asked only with the requested prompt."""
        return not self._asks_anew or [p.id for p in self._of_judges(judge)] == [
            self._prompts[self._step].id
        ]

    def is_only_counted(self, settings: Mapping[str, Any], options: RunOptions) -> bool:
        """Return whether the run's verdicts are counted anew, because nothing is requested that it
        does not have; `settings` are those of the panel."""
        requested = self.requested
        if requested.judges or self.names_claims or options.ask_again:
            return False
        # How many claims share a call changes the question to a judge, also about the same claims.
        if specs.asking(requested.claims_per_call):
            return False
        if settings.get("replicates", 1) > self.record.panel.replicates:
            return False
        return all(map(self.same_prompt, self.judges)) and not self.new_pairs

    def parts(self, result: SampleResult) -> set[Part]:
        """Return the parts of a sample that the metrics ask for and whose claims are reusable."""
        extracted = {claim.of for claim in result.claims}
        # A text in which the extractor found no claim is done; one whose call failed is asked about
        # again.
        extracted |= {
            part for part, because in result.unextracted.items() if because == "no_claims"
        }
        return {
            part
            for part in extracted & {row.claims_of for row in self.rows}
            if self._holds(part, result)
        }

    def _holds(self, part: Part, result: SampleResult) -> bool:
        """Return whether the claims of a part were extracted as requested."""
        if not self.names_claims:
            return True
        # A text without words has no claims under any extractor, and no call that says which.
        if part in result.unextracted and not has_words(result.sample.text(part) or ""):
            return True
        ids = {judge.name: judge.id for judge in self.record.asked}
        calls = [call for call in result.calls if call.step == "extract" and call.part == part]
        return bool(calls) and all(
            self._extracted_by in (None, ids.get(call.judge))
            and self._extracted_with in (None, call.prompt)
            for call in calls
        )

    def again(
        self, panel: PanelSpec, recorded: frozenset[str], missing: Mapping[Part, int]
    ) -> QuestionJob:
        """Return the job that judges the run again.

        Args:
            panel: The judges, with the requested panel settings.
            recorded: Names of the judges that are not asked.
            missing: The number of texts without reusable claims, by part.
        """
        now = self._manifest
        requested = self.requested
        usual = self._job.usual_votes

        def counted(of_run: Panel, scale: Scale, vote: str = "majority") -> Panel:
            """Return how verdicts on a question are counted: as requested, else as in the run if
            its judges stay."""
            settings: dict[str, Any] = {"vote": vote, "per_document": of_run.per_document}
            if not requested.judges:
                settings = of_run.model_dump(exclude={"scale"})
            elif recorded:
                settings["replicates"] = of_run.replicates
            return specs.panel_settings(panel, settings | panel.settings, scale)

        asked = self._prompts.get(self._step)
        changed: dict[str, Any] = {
            "judges": panel.judges,
            "prompts": (*(prompt.record for prompt in self._prompts.values()), *now.prompts),
        }
        questions = []
        for q in now.questions:
            panel_of_question = counted(q.panel, q.scale, usual.get(q.name, "majority"))
            prompt = asked.id if asked else q.prompt
            questions.append(q.model_copy(update={"panel": panel_of_question, "prompt": prompt}))
        changed["questions"] = tuple(questions)
        if now.of_claims:
            scale = asked and asked.scale
            assert scale, "an assess prompt has a scale; loading checks it"
            if self._keeps_scale(panel, recorded, scale):
                scale = now.panel.scale
            changed["panel"] = counted(now.panel, scale)
            changed["metrics"] = (*self.rows, *self._readable(changed["panel"]))
            check_readers(self.rows, panel.judges)
        job: Any = replace(job_of(now.model_copy(update=changed)), recorded_judges=recorded)
        if now.of_claims:
            extractor = self._extractor_of(panel, missing)
            taken_from = now.extractor if self._claims_hold else None
            job = replace(
                job,
                extracts=bool(extractor),
                extractor=extractor or now.extractor,
                taken_from=taken_from,
            )
        made: QuestionJob = job
        return made

    def _keeps_scale(self, panel: PanelSpec, recorded: Collection[str], scale: Scale) -> bool:
        """Return whether votes are counted in the words of the run, not in those of the scale of
        the new prompt.

        Recorded verdicts are in the words of the run. Where a judge that is asked joins them, a
        scale that has all these words, or on which words have an order, holds both.
        """
        before = self._manifest.panel.scale
        if not recorded:
            return False
        if len(recorded) == len(panel.judges):
            return True
        return not (scale.ordered or before.ordered or set(before.words) <= set(scale.words))

    def _readable(self, panel: Panel) -> tuple[str, ...]:
        """Return the derived metrics: the requested ones, else those of the run that the new
        verdicts allow."""
        per_document = panel.per_document
        three_way = "contradicted" in panel.scale.words
        rows = map(derived, () if self.requested.metrics else self.derived)
        if names := tuple(
            row.name for row in rows if row.readable(per_document=per_document, three_way=three_way)
        ):
            return names
        chosen = MetricSelection(self.rows, self.derived if self.requested.metrics else None)
        return resolve_derived(chosen, per_document=per_document, three_way=three_way)

    def _extractor_of(self, panel: PanelSpec, missing: Mapping[Part, int]) -> Judge | None:
        """Return the extractor of missing claims; None if no claims are missing."""
        if self._claims_hold and not missing:
            return None
        if spec := self._extractor or panel.extractor:
            extractor = specs.parse_judge(spec)
            specs.check_extractor(extractor)
            return extractor
        before = self.record.extractor
        why = "its claims are on record only"
        assert before, "a run of claims has an extractor"
        try:
            if before.provider != IMPORTED:
                return specs.parse_judge(before)
        except UsageError as error:
            why = str(error)
        texts = ", ".join(f"{n} texts of {part}" for part, n in missing.items()) or "the texts"
        raise UsageError(
            f"{texts} have no claims yet and the run's extractor cannot be asked ({why}); name an"
            " --extractor"
        )

    def manifest(self, job: QuestionJob) -> Manifest:
        """Return the manifest of the new run, with the prompts of its claims and verdicts.

        It has a note if the judges were asked with different prompts.
        """
        record = job.manifest
        before = self.record.prompts
        notes = record.notes
        made = record.prompts if isinstance(job, ClaimsJob) and job.extracts else ()
        extract = [
            prompt.id
            for prompt in (*made, *(before if self._claims_hold else ()))
            if prompt.step == "extract"
        ]
        asked_with = dict(record.asked_with)
        asked_with |= {
            judge: tuple(self._asked_with.get(judge, ()))
            for judge in asked_with.keys() & job.recorded_judges
        }
        used = dict.fromkeys(chain(extract, *asked_with.values()))
        records = {prompt.id: prompt for prompt in (*before, *record.prompts)}
        note = _note_of_prompts(asked_with, records)
        if note:
            notes += (note,)
        questions = (
            q if q.prompt in used else q.model_copy(update={"prompt": None})
            for q in record.questions
        )
        return record.model_copy(
            update={
                "questions": tuple(questions),
                "prompts": tuple(records[i] for i in used),
                "source": RunSource(asked_with=asked_with),
                "notes": notes,
            }
        )


def _note_of_prompts(
    asked_with: Mapping[str, Iterable[str]], records: Mapping[str, PromptRecord]
) -> str | None:
    """Return a note if the judges were asked with different prompts.

    Args:
        asked_with: The ids of the prompts of each judge.
        records: The prompts that are known, by id.
    """
    names: dict[str, str] = {}
    for judge, ids in asked_with.items():
        known = [records[i] for i in ids if i in records]
        # Nuggets are weighed with a prompt of their own, by all judges or by none.
        names[judge] = ", ".join(prompt.name for prompt in known if prompt.step != "weigh")
    if len(set(names.values())) < 2:
        return None
    unknown = "elsewhere, with a prompt that is not known"
    each = "; ".join(f"{judge} {prompts or unknown}" for judge, prompts in names.items())
    return f"the judges were asked with different prompts: {each}"


def _renumbered(
    kept: Sequence[tuple[Assessment, Sequence[Verdict]]], calls: Sequence[int]
) -> tuple[Assessment, ...]:
    """Return assessments with the verdicts that are kept, whose calls have new places.

    `calls` are the places of the calls that are kept, in their order.
    """
    places: dict[int | None, int] = {before: now for now, before in enumerate(calls)}

    def moved(verdict: Verdict) -> Verdict:
        place = places.get(verdict.call)
        return verdict if place == verdict.call else verdict.model_copy(update={"call": place})

    return tuple(
        [
            assessment.model_copy(update={"verdicts": tuple(map(moved, verdicts))})
            for assessment, verdicts in kept
        ]
    )


class Reuse:
    """Reduces the results of a run to what remains valid for a job: claims, verdicts, and the calls
    behind them."""

    def __init__(self, earlier: Earlier, job: QuestionJob) -> None:
        self._earlier = earlier
        self._job = job
        self._before = {name: judge.id for name, judge in earlier.judges.items()}
        self._now = {judge.name: judge.id for judge in job.judges}
        # Documents shown one by one are other evidence than all of them together.
        self._same_split = (job.panel.per_document is True) == (
            earlier.record.panel.per_document is True
        )

    def __call__(self, result: SampleResult) -> SampleResult:
        """Return the reusable part of a result; the calls are those of its claims and verdicts."""
        parts = self._earlier.parts(result)
        claims = tuple([claim for claim in result.claims if claim.of in parts])
        of = {claim.id: claim.of for claim in claims}
        kept = self._kept(result, of)
        calls = _calls_behind(result, parts, kept)
        unextracted = {part: why for part, why in result.unextracted.items() if part in parts}
        return SampleResult(
            sample=result.sample,
            claims=claims,
            unextracted=unextracted,
            assessments=_renumbered(kept, calls),
            calls=tuple(
                [result.calls[place].model_copy(update={"reused": True}) for place in calls]
            ),
        )

    def _kept(
        self, result: SampleResult, of: Mapping[str, Part]
    ) -> list[tuple[Assessment, list[Verdict]]]:
        """Return the assessments of questions that the job asks too, with the verdicts that are
        reused; `of` says which part the claims that are kept are from."""
        kept: list[tuple[Assessment, list[Verdict]]] = []
        for a in result.assessments:
            part = of.get(a.subject)
            if (part, a.against) in self._earlier.new_pairs:
                continue
            if prompt := self._job.prompt_of(a, part):
                holding = [one for one in a.verdicts if self._holds(one, result, a, prompt)]
                kept.append((a, holding))
        return kept

    def _holds(self, verdict: Verdict, result: SampleResult, a: Assessment, prompt: str) -> bool:
        """Return whether a verdict is reused: it is recorded, or the judge answered and would be
        asked the same again.

        Surplus replicates are left out.
        """
        judge = verdict.judge
        if verdict.replicate >= self._job.panel.replicates:
            return False
        if judge in self._job.recorded_judges:
            return True
        # An abstention is an answer, which the same question gets again; a failed call is none.
        answered = verdict.unassessed is None or verdict.unassessed in ABSTAINED
        same_evidence = self._same_split or a.against in ONE_TEXT
        same_judge = self._before.get(judge) == self._now.get(judge) and prompt == result.prompt_of(
            verdict
        )
        return answered and (judge == GIVEN or (same_evidence and same_judge))


def _calls_behind(
    result: SampleResult,
    parts: Collection[Part],
    kept: Iterable[tuple[Assessment, Sequence[Verdict]]],
) -> list[int]:
    """Return the places of the calls from which claims of these parts or verdicts that are kept
    come, also where the reply of another call has replaced their own."""
    named: set[int | None] = set()
    answers = set()
    for a, verdicts in kept:
        for v in verdicts:
            named.add(v.call)
            answers.add((v.judge, result.prompt_of(v), a.evidence, v.replicate, a.subject))

    def is_needed(place: int, call: Call) -> bool:
        """Return whether something that is kept comes from a call."""
        if place in named or (call.step == "extract" and call.part in parts):
            return True
        question = (call.judge, call.prompt, call.evidence, call.replicate)
        return any((*question, subject) in answers for subject in call.subjects)

    return [place for place, call in enumerate(result.calls) if is_needed(place, call)]


def _asked(prompt: PromptRecord, named: str | None, parameters: Mapping[str, str]) -> Prompt:
    """Return this prompt, or another one of its step that is named, with those of `parameters` of
    the step."""
    given = {name: value for name, value in parameters.items() if ASKED_FOR[name][0] == prompt.step}
    return prompting.load(prompt.step, named, given) if named else Prompt.of(prompt, given)
