"""How doors run a job: from what was prepared to a `Run`, in memory or in a run directory."""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from claimeval import providers
from claimeval.api.data import Examination, Metrics
from claimeval.api.run import Run, failures_in_words, raise_if_stopped
from claimeval.evaluation.job import Job
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.measure import MeasureJob, run_measure
from claimeval.execution.batch.state import pending_requests
from claimeval.execution.runner import RunStatus
from claimeval.metrics.rows import Metric
from claimeval.providers import specs
from claimeval.report import forms
from claimeval.report.progress_bar import progress_bar
from claimeval.runs.directory import MANIFEST, ResultWriter, RunInMemory, RunWriter
from claimeval.runs.jobs import recount_into, run_into
from claimeval.runs.rejudge import PreparedRejudge
from claimeval.store.store import cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Judge

logger = logging.getLogger("claimeval")

JudgeSpec = str | Path | Mapping[str, Any] | Judge
"""`provider:model`, `openai:model@URL`, the path of a judge file or a panel file, its content, or a `Judge`."""
Judges = JudgeSpec | Sequence[JudgeSpec]


class Prepared(NamedTuple):
    """A job that is checked and ready to run: what is asked, about which items."""

    job: Job[Any] | MeasureJob
    manifest: Manifest
    items: Iterable[Any]
    total: int | None
    """How many items there are; None if nobody counted them."""
    source: Path | None
    """The file or run directory that the items come from."""
    rejudged: PreparedRejudge | None = None
    """What is taken over from the source, if it is judged again."""
    unit: str = "samples"
    """What the progress counts."""

    @classmethod
    def over(cls, job: Job[Any] | MeasureJob, examination: Examination) -> Prepared:
        """Return the job over samples that were examined."""
        record = examination.described(job.manifest)
        return cls(job, record, examination.items, examination.total, examination.path)

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


async def run_prepared(
    prepared: Prepared, *, out: str | Path | None, overwrite: bool, panel: PanelOptions, options: RunOptions
) -> Run:
    """Run a prepared job, or only count its votes, and write the run to `out`.

    Args:
        prepared: The job with its samples and what an earlier run knows.
        out: Run directory to write. None: keep the run in memory.
        overwrite: Whether a run with other settings in `out` may be replaced.
        panel: How verdicts are counted.
        options: Concurrency, caps, cache and progress.

    Returns:
        The run, complete or stopped early.
    """
    if inspect := BEFORE_RUN.get():
        inspect(prepared)
    record = prepared.manifest
    folder = None if out is None else folder_for(out, prepared)
    if folder and folder.is_dir() and prepared.source and folder.resolve() == prepared.source.resolve():
        raise UsageError(f"{folder} is the run that is judged again; give another --out")
    if folder:
        with RunWriter(folder, record, overwrite=overwrite) as writer:
            status = await _write(writer, prepared, panel, options)
        run = Run.load(folder)
        if not status.interrupted:
            forms.write(folder, "html")
    else:
        held = RunInMemory(record)
        status = await _write(held, prepared, panel, options)
        assert held.summary, "a run that was written has its summary"
        run = Run(held.manifest, held.summary, held.results)
    for line in failures_in_words(run.record):
        warnings.warn(line, stacklevel=2)
    raise_if_stopped(status, run)
    return run


async def _write(writer: ResultWriter, prepared: Prepared, panel: PanelOptions, options: RunOptions) -> RunStatus:
    """Ask, or only count the votes of a source again, and write the run."""
    if prepared.rejudged and not prepared.rejudged.asks:
        return recount_into(writer, prepared.rejudged, panel, options).status
    job, progress = prepared.job, Progress(prepared.total, options.progress or progress_bar(), unit=prepared.unit)
    if isinstance(job, MeasureJob):
        outcome = run_measure(
            job, prepared.items, writer.manifest, options=options, progress=progress, on_result=writer.add
        )
        writer.finish(outcome.summary)
    else:
        _announce(job, options)
        outcome = await run_into(writer, job, prepared.items, options=options, progress=progress, panel=panel)
    return outcome.status


def _announce(job: Job[Any], options: RunOptions) -> None:
    """Tell the log which device local judges run on; warn if batches are pending that would be paid twice."""
    if options.offline:
        return
    for judge in job.judges:
        if judge in job.asked and (device := providers.describe_device(judge)):
            logger.info("%s on %s", judge.name, device)
    asks_online = not options.batch and any(map(providers.reads_prompts, job.asked))
    if asks_online and (count := pending_requests(cache_folder(options.cache))):
        warnings.warn(
            f"{count:,} requests are pending in batches. This run will send and pay for the ones it needs again. Add "
            "--batch to wait for them instead (see `claimeval batch list`).",
            stacklevel=2,
        )


def folder_for(out: str | Path, prepared: Prepared) -> Path:
    """Return the run directory: `out`, or with a final slash a folder in it, the same for the same call.

    That is `out/DATA-SETTINGS`; for a job over a run directory, `RUN/JOB`.
    """
    if not str(out).endswith("/"):
        return Path(out)
    record, source = prepared.manifest, prepared.source
    if source and prepared.rejudged is None and (source / MANIFEST).exists():
        return source / record.job
    digest = hashlib.sha256(record.model_dump_json(exclude={"versions", "claimeval"}).encode()).hexdigest()
    return Path(out) / f"{Path(record.data.path or 'data').stem}-{digest[:8]}"


def metric_names(metrics: Metrics) -> tuple[str | Metric, ...]:
    """Return metrics one by one."""
    return tuple(metrics.split(",")) if isinstance(metrics, str) else tuple(metrics)


def parse_specs(judges: Judges) -> tuple[str | Judge, ...]:
    """Return judges one by one."""
    if isinstance(judges, (str, Path, Mapping, Judge)):
        return (parse_spec(judges),)
    return tuple(map(parse_spec, judges))


def parse_spec(spec: JudgeSpec) -> str | Judge:
    """Return a judge as text or record: the content of a judge file becomes a record."""
    if isinstance(spec, Mapping):
        return specs.from_fields(spec, "the judge", str(spec.get("model", "")))
    return str(spec) if isinstance(spec, Path) else spec
