"""Running a prepared job for the functions of this package: checks, shards, engines, and the
resulting `Run`."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from claimeval import providers
from claimeval.api.run import Run, write_page
from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.job import Job
from claimeval.evaluation.kinds import kind_of
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.resumed import ResumedJob
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.execution import DONE, ComputedJob, RunStatus
from claimeval.execution.budget import check_caps
from claimeval.execution.runner import run_job
from claimeval.providers import specs
from claimeval.report.progress_bar import progress_bar
from claimeval.report.selection import WRITTEN
from claimeval.runs.directory import MANIFEST, ResultWriter, RunInMemory, RunResults, RunWriter
from claimeval.runs.ending import Ending
from claimeval.runs.jobs import Prepared, RunSink
from claimeval.runs.stopping import Gating
from claimeval.statistics.formatting import number_of
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store, cache_folder, check_cache
from claimeval.types.errors import UsageError, is_installed, missing_part, not_installed
from claimeval.types.gates import Gates
from claimeval.types.options import RunOptions, Shard
from claimeval.types.paths import expanded
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult
from claimeval.types.requests import Judge, Learned, Request

if TYPE_CHECKING:
    from claimeval.distributed.parts import Part, PartIndex
    from claimeval.evaluation.summary import Summary
    from claimeval.report.page import PageDraft

logger = logging.getLogger("claimeval")

JudgeSpec = str | Path | Mapping[str, Any] | Judge
"""`provider:model`, `openai:model@URL`, the path of a judge file or a panel file, its content, or a
`Judge`."""
Judges = JudgeSpec | Sequence[JudgeSpec]


BEFORE_RUN: ContextVar[Callable[[Prepared], None] | None] = ContextVar("before_run", default=None)


@contextmanager
def before_run(inspect: Callable[[Prepared], None]) -> Iterator[None]:
    """Call `inspect` with every job before it runs inside this context; an exception stops the
    job."""
    token = BEFORE_RUN.set(inspect)
    try:
        yield
    finally:
        BEFORE_RUN.reset(token)


async def run_prepared(
    prepared: Prepared,
    *,
    out: str | Path | None,
    overwrite: bool,
    options: RunOptions,
    gates: Gates | None = None,
) -> Run:
    """Run a prepared job into a directory, memory, a shard or the shards of a cluster.

    Args:
        prepared: The job with its items.
        out: The run directory to write. None keeps the run in memory.
        overwrite: Whether to replace a run with other settings in `out`.
        options: Concurrency, limits, cache and progress.
        gates: Limits on the results, which are checked at the end, or after each sample if the
            options say so.

    Returns:
        The complete run.

    Raises:
        StoppedEarly: The run stopped early; `.run` is the unfinished run.
        Interrupted: The same on Ctrl-C.
    """
    if inspect := BEFORE_RUN.get():
        inspect(prepared)
    folder = None if out is None else folder_for(out, prepared)
    _check(prepared, folder, options)
    gating = Gating.of(gates, prepared.manifest, options)
    if options.engine is not None:
        with TemporaryDirectory() as temporary:
            into = folder or Path(temporary) / "run"
            run = await _run_on_engine(prepared, into, options, overwrite=overwrite)
            run = run.with_gates(gates) if gates else run
            return (run if folder else run.in_memory()).ended()
    if options.shard is not None:
        if gates and gates.limits:
            raise UsageError("gates are about the whole run; give them to `claimeval merge`")
        return (await _run_shard(prepared, folder, options, overwrite=overwrite)).ended()
    return (await _run_here(prepared, folder, options, gating, overwrite=overwrite)).ended()


def _check(prepared: Prepared, folder: Path | None, options: RunOptions) -> None:
    """Raise an error for what would fail after the first call: folder, limits or cache."""
    source = prepared.source
    if folder and folder.is_dir() and source and folder.resolve() == source.resolve():
        raise UsageError(f"{folder} is the run that is judged again; give another --out")
    check_caps(prepared.job.asked, options)
    _check_judges(prepared, options)
    # Judges that compute their verdicts need no folder that can be written.
    if any(not providers.row_of(judge).computes(judge) for judge in prepared.job.asked):
        check_cache(options.cache)


def _check_judges(prepared: Prepared, options: RunOptions) -> None:
    """Raise UsageError if a judge has no key, or none can be asked in batches. On a cluster, the
    process that asks has the keys."""
    job = prepared.job
    if options.offline or options.engine or isinstance(job, ComputedJob):
        return
    for judge in job.asked:
        providers.check_key(judge)
    if options.batch:
        from claimeval.execution.batch.executor import batch_judges

        batch_judges(job.asked)


async def _run_here(
    prepared: Prepared,
    folder: Path | None,
    options: RunOptions,
    gating: Gating | None,
    *,
    overwrite: bool,
) -> Run:
    """Run a prepared job in this process, into a directory or in memory."""
    progress = _progress(prepared, prepared.total, options)
    announced = False
    budget = prepared.budget(options)
    begun = folder is not None and folder.exists()
    made = prepared.manifest.of_samples(prepared.total if prepared.unit == "samples" else None)
    with ExitStack() as opened:
        while True:
            with (
                RunWriter(folder, made, overwrite=overwrite, compressed=options.compress)
                if folder
                else nullcontext(RunInMemory(made))
            ) as writer:
                sink = RunSink(writer, SummaryBuilder(writer.manifest, options.prices))
                watch = gating.watch(prepared.items) if gating else None
                job = _resumed(prepared.job, writer, options)
                draft = _draft(writer, prepared.total, job, opened)
                if not announced:  # the writer refuses the directory of another run
                    _announce(prepared, options)
                    announced = True
                status = await run_job(
                    job,
                    watch.items if watch else prepared.items,
                    _all_of(sink, watch, draft),
                    options,
                    progress,
                    run=budget,
                    decided=watch.decided if watch else None,
                    answered=draft.sent if draft else None,
                )
                if not status.again:
                    summary = sink.finish(status, gating.judging(watch) if gating else None)
                    break
                progress.begin_again()
        page = draft.begun if draft else None
        return _ended(writer, summary, status, page, begun=begun)


def _resumed(
    job: Job[Any] | ComputedJob[SampleResult], writer: ResultWriter, options: RunOptions
) -> Job[Any] | ResumedJob | ComputedJob[SampleResult]:
    """Return the job; if its run has results already, one that keeps those that would be the
    same."""
    # With batches, a sample is begun in each round. Cited reports read their sources again.
    if options.batch or type(job) is not ClaimsJob or not isinstance(writer, RunWriter):
        return job
    return ResumedJob(job, writer.manifest, writer.written())


def _ended(
    writer: ResultWriter,
    summary: Summary,
    status: RunStatus,
    draft: PageDraft | None,
    *,
    begun: bool,
) -> Run:
    """Return the run that a writer has finished, with its page if it is on disk.

    Args:
        writer: The writer.
        summary: The summary of the run.
        status: How the run ended.
        draft: The page as far as it is made; None if it is not begun.
        begun: Whether the directory was there before.
    """
    ending = Ending.of(status)
    if isinstance(writer, RunInMemory):
        return Run(writer.manifest, summary, tuple(writer.results), ending=ending)
    folder = writer.folder
    run = Run.load(folder)
    run.ending = ending
    if writer.kept:
        earlier = number_of(writer.kept.samples, "sample")
        kept = f"{folder} keeps the results of an earlier run of {earlier}"
        warnings.warn(f"{kept}: this one stopped early", stacklevel=2)
    if status.stopped and not begun and not run.record.samples:  # a refused key, for example
        run = run.in_memory()
        shutil.rmtree(folder)
    elif not status.interrupted:
        write_page(run, None if writer.kept else draft)
    return run


CAUGHT_UP = 200
"""Samples that are added to a page at once: about half a second."""


class _Draft:
    """The page of a run, which is made while its judges are asked.

    The same command again mostly has nothing to ask. What it had is on its page already, so the
    page of a run that is resumed is begun with the first result that is another one; if that comes
    late, the page is made of the run directory at the end.
    """

    def __init__(self, writer: RunWriter, job: object, opened: ExitStack) -> None:
        self._writer = writer
        self._resumed = job if writer.resumes and isinstance(job, ResumedJob) else None
        self._opened = opened
        self.begun: PageDraft | None = None
        if self._resumed is None:
            self._begin()

    def _begin(self) -> PageDraft:
        from claimeval.report.page import PageDraft

        self.begun = self._opened.enter_context(PageDraft(self._writer.manifest))
        return self.begun

    def sent(self, request: Request) -> None:
        """Keep a request until the result of its sample is added."""
        if self.begun:
            self.begun.sent(request)

    def add(self, result: SampleResult) -> None:
        """Add a sample, which is written."""
        if self.begun:
            self.begun.add(result)
        elif self._resumed and not self._resumed.is_same and self._writer.samples <= CAUGHT_UP:
            begun = self._begin()
            for written in self._writer.added():
                begun.add(written)


def _draft(
    writer: ResultWriter, total: int | None, job: object, opened: ExitStack
) -> _Draft | None:
    """Return the page of a run; None if it will not have one, or if its results are revised at the
    end."""
    if not isinstance(writer, RunWriter) or (total or 0) > WRITTEN:
        return None
    return None if kind_of(writer.manifest).revise else _Draft(writer, job, opened)


class _Taker(Protocol):
    def add(self, result: SampleResult) -> None:
        """Take the result of a sample."""


def _all_of(*takers: _Taker | None) -> Callable[[SampleResult], None]:
    """Return a function that gives a result to all takers, in order."""
    given = [taker for taker in takers if taker]

    def add(result: SampleResult) -> None:
        """Give the result to all."""
        for taker in given:
            taker.add(result)

    return add


class ShardRun(Run):
    """The run of one shard, with the results of its samples."""

    def __init__(
        self,
        part: Part,
        manifest: Manifest,
        tallies: SummaryBuilder,
        status: RunStatus,
        index: PartIndex | None,
    ):
        summary = tallies.summary(complete=status.complete, stopped=status.reason)
        results = RunResults(part.lines, part.replies) if index else ()
        super().__init__(
            manifest.of_samples(summary.samples), summary, results, ending=Ending.of(status)
        )
        self.part = part
        """The files of its results."""


async def _run_shard(
    prepared: Prepared,
    folder: Path | None,
    options: RunOptions,
    *,
    overwrite: bool,
) -> Run:
    """Run one shard of a prepared job, unless it is finished or the run is merged."""
    from claimeval.distributed.parts import Part, begin, learned_windows, tallies_of
    from claimeval.distributed.shards import Recipe, cut, run_shard

    if not kind_of(prepared.manifest).in_shards:
        raise UsageError(f"shard: a run of {prepared.manifest.job} cannot be split into shards")
    if folder is None:
        raise UsageError("a shard needs `out`, the run directory that all shards share")
    shard = Shard.parse(options.shard or "")
    record = begin(folder, prepared.manifest, shard, overwrite=overwrite)
    if record is None:
        logger.info("%s is merged already; shard %s has nothing to do", folder, shard)
        return Run.load(folder)
    part = Part(folder, shard)
    if index := part.finished(record):
        logger.info("shard %s of %s is finished; it has nothing to do", shard, folder)
        return ShardRun(part, record, tallies_of(record, part, index), DONE, index)
    positions = cut(prepared.count_items(), shard)
    progress = _progress(prepared, len(positions), options)
    budget = prepared.budget(options)
    _announce(prepared, options)
    _learn_windows(prepared.job.asked, learned_windows(folder), options)
    recipe = Recipe(prepared.job, record, options)
    index, tallies, status = await run_shard(
        recipe, part, prepared.part(positions), positions, progress, budget
    )
    return ShardRun(part, record, tallies, status, index)


def _learn_windows(
    judges: Iterable[Judge], windows: Mapping[str, int], options: RunOptions
) -> None:
    """Add the context windows that other shards learned to the reply cache of this one, which may
    be on another machine."""
    if not windows or options.offline:
        return
    with Store(cache_folder(options.cache)) as store:
        lessons = Lessons(store.folder)
        for judge in judges:
            if window := windows.get(judge.name):
                lessons.add(judge.id, Learned(context_tokens=window))


async def _run_on_engine(
    prepared: Prepared,
    folder: Path,
    options: RunOptions,
    *,
    overwrite: bool,
) -> Run:
    """Run a prepared job on a cluster, shard by shard, and merge the shards, unless they are merged
    already."""
    from claimeval.distributed.parts import Part, begin, remove_outdated
    from claimeval.distributed.shards import Recipe, cut

    try:
        from claimeval.distributed.ray_engine import Work, run_shards, shards_for
    except ImportError as error:
        lacking = missing_part(error)
        raise lacking or not_installed(f"--engine needs {error.name}", "ray") from error
    if options.cache:  # the process of the cluster that opens it was started elsewhere
        options = replace(options, cache=expanded(options.cache).absolute())
    total = prepared.count_items()
    count = shards_for(total)
    if record := begin(folder, prepared.manifest, Shard(1, count), overwrite=overwrite):
        prepared.log_remarks()
        parts = [Part(folder, Shard(number, count)) for number in range(1, count + 1)]
        progress = _progress(prepared, total, options)
        recipe = Recipe(prepared.job, record, options)
        budget = prepared.budget(options)
        while True:
            works = [
                Work(part, cut(total, part.shard)) for part in parts if not part.finished(record)
            ]
            progress.done = total - sum(len(work.positions) for work in works)
            ending = Ending.of(await run_shards(recipe, works, prepared.items, progress, budget))
            if ending.stopped:
                raise ending.error()
            if not remove_outdated(folder):
                break
    return Run.merge(folder, compress=options.compress)


def _progress(prepared: Prepared, total: int | None, options: RunOptions) -> Progress:
    """Return the progress over this number of items."""
    return Progress(total, options.progress or progress_bar(), unit=prepared.unit)


def _announce(prepared: Prepared, options: RunOptions) -> None:
    """Log what is said of the items and the device of local judges, and warn if requests are
    pending in batches that would be paid twice."""
    prepared.log_remarks()
    job = prepared.job
    if options.offline or isinstance(job, ComputedJob):
        return
    for judge in job.judges:
        if judge in job.asked and (device := providers.row_of(judge).describe_device(judge)):
            logger.info("%s on %s", judge.name, device)
    if options.batch or not any(map(providers.reads_prompts, job.asked)):
        return
    if not is_installed("claimeval.execution.batch"):
        return
    from claimeval.execution.batch.state import pending_requests

    if count := pending_requests(cache_folder(options.cache)):
        warnings.warn(
            f"{count:,} requests are pending in batches. This run will send and pay for the ones it"
            " needs again. Add --batch to wait for them instead (see `claimeval batch list`).",
            stacklevel=2,
        )


def folder_for(out: str | Path, prepared: Prepared) -> Path:
    """Return the run directory: `out`, or if it ends with a slash, a folder in it that is the same
    for the same call.

    That folder is `out/DATA-SETTINGS`, or `RUN/JOB` for a job over a run directory.
    """
    if not str(out).endswith("/"):
        return expanded(out)
    record = prepared.manifest
    source = prepared.source
    if source and record.source is None and (source / MANIFEST).exists():
        return source / record.job
    digest = hashlib.sha256(
        record.model_dump_json(exclude={"versions", "claimeval"}).encode()
    ).hexdigest()
    return expanded(out) / f"{Path(record.data.path or 'data').stem}-{digest[:8]}"


def parse_specs(judges: Judges) -> tuple[str | Judge, ...]:
    """Return judges as a tuple."""
    if isinstance(judges, (str, Mapping, Judge)) or not isinstance(judges, Iterable):
        return (parse_spec(judges),)
    return tuple(map(parse_spec, judges))


def parse_spec(spec: object) -> str | Judge:
    """Return a judge as text or record; the content of a judge file becomes a record."""
    if isinstance(spec, Mapping):
        return specs.from_fields(spec, "the judge", str(spec.get("model", "")))
    if isinstance(spec, (str, Path, Judge)):
        return str(spec) if isinstance(spec, Path) else spec
    if callable(spec):
        name = getattr(spec, "__name__", "judge")
        raise UsageError(
            f"a function is a judge as Judge.from_callable({name!r}, {name}, model='local:{name}')"
        )
    raise UsageError(
        f"{type(spec).__name__} is no judge: give 'provider:model', 'provider:model@URL', a judge"
        " file or a Judge. A function that asks a client of yours is one as"
        " Judge.from_callable('name', function, model='name')"
    )


T = TypeVar("T")


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine to completion. If this thread already runs an event loop, use a new
    thread."""
    running = None
    with suppress(RuntimeError):
        running = asyncio.get_running_loop()
    if running is None:
        return asyncio.run(coroutine)
    from concurrent.futures import ThreadPoolExecutor

    # A notebook has a loop in this thread, and the other one needs the context too: `plan` stops a
    # function by a context variable.
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="claimeval")
    try:
        return executor.submit(copy_context().run, asyncio.run, coroutine).result()
    finally:
        executor.shutdown(wait=False)
