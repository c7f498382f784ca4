"""Judging claims: `score` and `rejudge`, and their asynchronous twins."""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from claimeval import providers
from claimeval.api.data import NO_FIELDS, Data, path_of, samples_of
from claimeval.api.run import Run, raise_if_stopped
from claimeval.api.twins import blocking_twin
from claimeval.data.reading import parse_references
from claimeval.data.survey import survey
from claimeval.evaluation.claims import (
    ClaimsJob,
    ClaimsOptions,
    check_families,
    choose_metrics,
    incomplete,
    make_job,
)
from claimeval.evaluation.manifest import Manifest
from claimeval.execution.batch.state import pending_requests
from claimeval.execution.runner import RunStatus
from claimeval.metrics.derived import select_metrics
from claimeval.metrics.rows import SUPPORT, Metric
from claimeval.providers import specs
from claimeval.report import forms
from claimeval.runs.directory import RunWriter
from claimeval.runs.jobs import recount_into, run_into
from claimeval.runs.rejudge.prepare import PreparedRejudge, prepare
from claimeval.runs.rejudge.sources import RejudgeSource, open_source
from claimeval.store.store import cache_folder
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import References, Sample, SampleResult
from claimeval.types.requests import Judge

logger = logging.getLogger("claimeval")

JudgeSpec = str | Path | Mapping[str, Any] | Judge
"""`provider:model`, `openai:model@URL`, the path of a judge file or a panel file, its content, or a `Judge`."""
Judges = JudgeSpec | Sequence[JudgeSpec]
Metrics = str | Sequence[str | Metric]
"""Names and `NAME=CLAIMS_OF:AGAINST`, as a list or one text with commas; or `Metric` records."""


class Prepared(NamedTuple):
    """A job that is checked and ready to run: what is asked, about which items."""

    job: ClaimsJob
    manifest: Manifest
    items: Iterable[Sample | SampleResult]
    total: int | None
    """How many items there are; None if nobody counted them."""
    source: Path | None
    """The file or run directory that the items come from."""
    rejudged: PreparedRejudge | None = None
    """What is taken over from the source, if it is judged again."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics of the run."""
        return self.manifest.names


BEFORE_RUN: ContextVar[Callable[[Prepared], None] | None] = ContextVar("before_run", default=None)


@contextmanager
def before_run(inspect: Callable[[Prepared], None]) -> Iterator[None]:
    """Call `inspect` with every job that doors are about to run inside this context; what it raises stops the job."""
    token = BEFORE_RUN.set(inspect)
    try:
        yield
    finally:
        BEFORE_RUN.reset(token)


async def ascore(
    data: Data,
    *,
    judges: Judges,
    metrics: Metrics | None = None,
    extractor: JudgeSpec | None = None,
    extract_prompt: str | Path = "atomic",
    assess_prompt: str | Path | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    references: References | None = None,
    extract_per_judge: bool | None = None,
    fields: Mapping[str, str] = NO_FIELDS,
    limit: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge answers claim by claim. `score` blocks, `ascore` is awaited; both take the same arguments.

    Args:
        data: A file (.jsonl, .json, .csv, .parquet), a run or its directory, samples, rows, or a table.
        judges: `provider:model`, `openai:model@URL`, YAML files, their content, or `Judge`; several are a panel. There
            is no default.
        metrics: Names (`faithfulness`, `f1`, `nuggets`, ...), `NAME=CLAIMS_OF:AGAINST` or `Metric`. Default:
            faithfulness, correctness, coverage and context_recall, as far as the data can feed them.
        extractor: The judge that extracts the claims. Default: the first judge.
        extract_prompt: Name or path of the prompt that extracts claims.
        assess_prompt: Name or path of the prompt that assesses claims. Default: `three_way`, or `partial` if a metric
            counts partial support (`nuggets`).
        per_document: Also assess each claim against each document alone. None: as in the panel file, else no.
        shuffle_contexts: In how many other orders of the documents claims are also assessed, 0 or more.
        references: Whether one of several gold answers is enough (`any`) or they are right only `together`. Default:
            what the data say, else `any`.
        extract_per_judge: Have every judge extract claims and assess only those.
        fields: Sample field to column name, as in `{"answer": "draft"}`.
        limit: The number of samples to judge, from the first; None for all.
        out: The run directory to write. None keeps the run in memory; with a final slash, as in `runs/`, a folder in
            it that is named after data and settings, the same for the same call.
        overwrite: Replace a run with other settings in `out`.
        panel: How the verdicts of several judges are counted.
        options: How the judges are asked, and what may be spent.

    Returns:
        The claims, verdicts and scores of every sample, and their summary. With `out` results are read from disk.

    Raises:
        UsageError: Before any call, for what you can fix; also for data without a sample.
        DataError: A row of the data is malformed.
        StoreError: The reply cache cannot be read or written.
        StoppedEarly: A cap is reached, batches are detached, or no judge is left; `.run` is the run as far as it went,
            and the same call resumes it.
    """
    samples = samples_of(data, fields=fields, limit=limit, references=parse_references(references))
    selection = select_metrics(_names(metrics)) if metrics is not None else None
    found = survey(samples, selection.rows if selection else SUPPORT)
    chosen = choose_metrics(selection, found)
    for missing, names in incomplete(found, chosen.rows).items():
        logger.info("%s: counted as missing_input in %s", missing, ", ".join(names))
    job = make_job(
        ClaimsOptions(
            judges=_specs(judges),
            extractor=_spec(extractor),
            extract_prompt=str(extract_prompt),
            assess_prompt=None if assess_prompt is None else str(assess_prompt),
            per_document=per_document,
            shuffle_contexts=shuffle_contexts,
            extract_per_judge=extract_per_judge,
            panel=panel,
            cluster=options.cluster,
        ),
        chosen,
    )
    check_families(job, found.generators)
    check_cluster(options.cluster, samples)
    path = path_of(data)
    record = job.manifest.of_data(str(path) if path else None, limit=limit)
    prepared = Prepared(job, record, samples, found.samples, path)
    return await run_prepared(prepared, out=out, overwrite=overwrite, panel=panel, options=options)


score = blocking_twin(ascore)


async def arejudge(
    source: Data,
    *,
    judges: Judges | None = None,
    keep_verdicts: bool = False,
    metrics: Metrics | None = None,
    extractor: JudgeSpec | None = None,
    extract_prompt: str | Path | None = None,
    assess_prompt: str | Path | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    extract_per_judge: bool | None = None,
    fields: Mapping[str, str] = NO_FIELDS,
    limit: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge the answers and claims of a run again: other judges, prompts, metrics or votes.

    Claims are taken from the run unless another `extractor` or `extract_prompt` is named. A verdict is taken over if
    judge settings, prompt, evidence and claim are the same. With only another `panel` or fewer `metrics` the votes are
    counted again without a call. `summary.calls` counts the questions that were asked and those the run answered.
    `rejudge` blocks, `arejudge` is awaited; both take the same arguments.

    Args:
        source: A run or its directory; a result file of RAGChecker, ragas or deepeval; or data as for `score`.
        judges: Judges to ask, or names of judges of the run. None: all of the run.
        keep_verdicts: Keep the verdicts of the run's judges beside those of the new ones.
        metrics: As for `score`; None: those of the run.
        extractor: The judge that extracts claims from texts without any; another one than the run's extracts all again.
        extract_prompt: Extract the claims again, with this prompt.
        assess_prompt: The prompt that assesses claims; None: that of the run.
        per_document: As for `score`; None: as in the run, like the two that follow.
        shuffle_contexts: As for `score`.
        extract_per_judge: As for `score`.
        fields: As for `score`, for a file of samples.
        limit: The number of samples to judge, from the first; None for all.
        out: As for `score`; another directory than that of the source.
        overwrite: As for `score`.
        panel: How verdicts are counted; None, also of a field: as in the run.
        options: How the judges are asked; `cluster` None: as in the run.

    Returns:
        The run with the new verdicts and votes.

    Raises:
        UsageError: Before any call, for what you can fix.
        DataError: The source holds no finished run, or a row is malformed.
        StoppedEarly: As for `score`.
    """
    panel = panel or PanelOptions()
    rejudged = prepare(
        _source(source, fields, limit),
        ClaimsOptions(
            judges=() if judges is None else _specs(judges),
            extractor=_spec(extractor),
            metrics=None if metrics is None else _names(metrics),
            extract_prompt=None if extract_prompt is None else str(extract_prompt),
            assess_prompt=None if assess_prompt is None else str(assess_prompt),
            per_document=per_document,
            shuffle_contexts=shuffle_contexts,
            extract_per_judge=extract_per_judge,
            panel=panel,
            cluster=options.cluster,
        ),
        keep_verdicts=keep_verdicts,
        offline=options.offline,
    )
    record = rejudged.manifest.model_copy(update={"limit": limit})
    prepared = Prepared(rejudged.plan, record, rejudged.results, rejudged.samples, path_of(source), rejudged)
    return await run_prepared(prepared, out=out, overwrite=overwrite, panel=panel, options=options)


rejudge = blocking_twin(arejudge)


async def run_prepared(
    prepared: Prepared, *, out: str | Path | None, overwrite: bool, panel: PanelOptions, options: RunOptions
) -> Run:
    """Ask what a job asks, or only count its votes, and return the run, written to `out`."""
    if inspect := BEFORE_RUN.get():
        inspect(prepared)
    record = prepared.manifest
    folder = None if out is None else folder_for(out, record)
    if folder and folder.is_dir() and prepared.source and folder.resolve() == prepared.source.resolve():
        raise UsageError(f"{folder} is the run that is judged again; give another --out")
    if folder:
        status = await _write(RunWriter(folder, record, overwrite=overwrite), prepared, panel, options)
        run = Run.load(folder)
        if not status.interrupted:
            forms.write(folder, "html")
    else:
        with TemporaryDirectory() as temporary:
            status = await _write(RunWriter(Path(temporary), record), prepared, panel, options)
            run = Run.load(temporary).in_memory()
    raise_if_stopped(status, run)
    return run


async def _write(writer: RunWriter, prepared: Prepared, panel: PanelOptions, options: RunOptions) -> RunStatus:
    """Ask, or only count the votes of a source again, and write the run directory."""
    with writer:
        if prepared.rejudged and not prepared.rejudged.asks:
            return recount_into(writer, prepared.rejudged, panel).status
        _announce(prepared.job, options)
        progress = Progress(prepared.total, options.progress)
        outcome = await run_into(writer, prepared.job, prepared.items, options=options, progress=progress, panel=panel)
        return outcome.status


def _announce(job: ClaimsJob, options: RunOptions) -> None:
    """Tell the log which device local judges run on; warn if batches are pending that would be paid twice."""
    if options.offline:
        return
    for judge in job.judges:
        if judge.name not in job.on_record and (device := providers.describe_device(judge)):
            logger.info("%s on %s", judge.name, device)
    asks_online = not options.batch and any(map(providers.reads_prompts, job.asked))
    if asks_online and (count := pending_requests(cache_folder(options.cache))):
        warnings.warn(
            f"{count:,} requests are pending in batches. This run will send and pay for the ones it needs again. Add "
            "--batch to wait for them instead (see `claimeval batch list`).",
            stacklevel=2,
        )


def without_labels(panel: PanelOptions) -> dict[str, Any]:
    """Return the settings of a panel that were given; UsageError for labels, which only votes on claims learn from."""
    if panel.labels is not None:
        raise UsageError("labels: weights are learned from labels of claims only, as in score and rejudge")
    return panel.given


def folder_for(out: str | Path, record: Manifest) -> Path:
    """Return the run directory: `out`, or with a final slash `out/DATA-SETTINGS`, the same for the same call."""
    if not str(out).endswith("/"):
        return Path(out)
    digest = hashlib.sha256(record.model_dump_json(exclude={"versions"}).encode()).hexdigest()
    return Path(out) / f"{Path(record.data or 'data').stem}-{digest[:8]}"


def _source(data: Data, fields: Mapping[str, str], limit: int | None) -> RejudgeSource:
    """A run, another tool's results, or samples without verdicts."""
    if isinstance(data, Run):
        run = data
        source = RejudgeSource(str(run.path or run.manifest.data or "run"), lambda: iter(run.results), run.manifest)
    elif isinstance(data, (str, Path)):
        source = open_source(Path(data), fields=fields)
    else:
        samples = samples_of(data, fields=fields)
        source = RejudgeSource("data", lambda: (SampleResult(sample=sample) for sample in samples), None)
    if limit is None:
        return source
    return source._replace(results=lambda: islice(source.results(), limit))


def _names(metrics: Metrics) -> tuple[str | Metric, ...]:
    return tuple(metrics.split(",")) if isinstance(metrics, str) else tuple(metrics)


def _specs(judges: Judges) -> tuple[str | Judge, ...]:
    """Judges one by one."""
    if isinstance(judges, (str, Path, Mapping, Judge)):
        return (parse_spec(judges),)
    return tuple(map(parse_spec, judges))


def parse_spec(spec: JudgeSpec) -> str | Judge:
    """Return a judge as text or record: the content of a judge file becomes a record."""
    if isinstance(spec, Mapping):
        return specs.from_fields(spec, "the judge", str(spec.get("model", "")))
    return str(spec) if isinstance(spec, Path) else spec


def _spec(spec: JudgeSpec | None) -> str | Judge | None:
    return None if spec is None else parse_spec(spec)
