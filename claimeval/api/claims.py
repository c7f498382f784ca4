"""The blocking front door over the async inside: `score` and `ascore`.

Judges a source again: carries the plan out, or, where nobody is asked anything, counts the votes anew.

Two runs over the same samples, compared in pairs: the Python door of `claimeval compare`.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

from claimeval.data.labels import read_labels
from claimeval.data.reading import parse_references, read_samples
from claimeval.data.survey import survey
from claimeval.evaluation.claims import ClaimsOptions, check_families, choose_metrics, make_job
from claimeval.evaluation.job import run_job
from claimeval.evaluation.summary.run import Tallies
from claimeval.execution.runner import RunStatus
from claimeval.judging.panel.voting import Voters
from claimeval.metrics.derived import select_metrics
from claimeval.metrics.rows import SUPPORT, Metric
from claimeval.runs.compare import compare as compare_folders
from claimeval.runs.directory import RESULTS, read_results
from claimeval.runs.overview import Comparison
from claimeval.runs.rejudge.prepare import prepare
from claimeval.runs.rejudge.sources import of_run, open_source
from claimeval.runs.revote import rates_of, revote, with_weights
from claimeval.runs.run import Run
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import StoppedEarly, UsageError
from claimeval.types.families import Families
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import References, Sample, SampleResult
from claimeval.types.requests import Judge

P = ParamSpec("P")


T = TypeVar("T")


Data = str | Path | Run | Iterable[Sample | Mapping[str, Any]]
"""A file that `read_samples` reads, a run directory, a run, samples, mappings with the fields of `Sample`, or a pandas
table of these."""


def blocking(way: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine to completion. If this thread already runs an event loop, use a new thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(way)
    outcome: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(way))
        except BaseException as error:  # noqa: BLE001  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="claimeval")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return outcome[0]


def blocking_twin(way: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """`aNAME`, for code that is asynchronous, as `NAME`, for code that is not."""

    @functools.wraps(way)
    def door(*args: P.args, **kwargs: P.kwargs) -> T:
        return blocking(way(*args, **kwargs))

    door.__name__ = door.__qualname__ = way.__name__.removeprefix("a")
    return door


async def ascore(
    data: Data,
    *,
    judges: Sequence[str | Judge],
    extractor: str | Judge | None = None,
    metrics: Sequence[str | Metric] | None = None,
    extract_prompt: str = "atomic",
    assess_prompt: str | None = None,
    references: References | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    extract_per_judge: bool | None = None,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge answers claim by claim. `score` is the same for code that is not asynchronous.

    Args:
        data: A file, a run or its directory, samples or mappings, or a pandas table of these.
        judges: `provider:model`, `openai:model@URL`, YAML files or `Judge`; several are a panel. There is no default.
        extractor: Who takes the claims from the texts; the first judge unless given.
        metrics: Names (`faithfulness`, `f1`, `nuggets`, ...), `name=claims_of:against` or `Metric`; by default the
            four about answers, as far as the samples can feed them.
        extract_prompt: The name or path of the prompt for taking claims.
        assess_prompt: The name or path of the prompt for assessing them; by default `three_way`, or `partial` if a
            metric counts partial support (`nuggets`).
        references: Whether one of several gold answers is enough (`any`, unless the samples say otherwise) or they are
            right only `together`.
        per_document: Assess claims against each document alone too; None leaves it to the panel file.
        shuffle_contexts: In how many other orders of the documents claims are assessed too.
        extract_per_judge: Every judge takes its own claims and assesses those alone.
        panel: How the verdicts of several judges are counted.
        options: How the judges are asked, and what may be spent.

    Returns:
        Every sample's claims, verdicts and scores, and their summary.

    Raises:
        UsageError: Before any call, for what the caller can fix.
        StoppedEarly: A cap is reached, batches are detached, or nobody is left to ask; the same call goes on.
    """
    material = as_samples(data, parse_references(references))
    asked = select_metrics(metrics) if metrics else None
    found = survey(material, asked.rows if asked else SUPPORT)
    wanted = ClaimsOptions(
        judges=judges,
        extractor=extractor,
        extract_prompt=extract_prompt,
        assess_prompt=assess_prompt,
        per_document=per_document,
        shuffle_contexts=shuffle_contexts,
        extract_per_judge=extract_per_judge,
        panel=panel,
        cluster=options.cluster,
    )
    job = make_job(wanted, choose_metrics(asked, found))
    check_families(job, found.generators)
    check_cluster(options.cluster, material)
    record = job.manifest.of_data(str(data) if isinstance(data, (str, Path)) else None)
    results: list[SampleResult] = []
    progress = Progress(len(material), options.progress)
    outcome = await run_job(job, material, record, options=options, progress=progress, on_result=results.append)
    ended(outcome.status)
    return voted_again(Run(tuple(results), outcome.summary, record), panel)


score = blocking_twin(ascore)


def voted_again(run: Run, panel: PanelOptions) -> Run:
    """Return the run with the votes that need all of it, and with the weights learned from the panel's labels."""
    if not run.manifest.panel.needs_whole_run:
        return run
    labels = read_labels(Path(panel.labels)) if panel.labels is not None else None
    record = with_weights(run.manifest, run.results, labels)
    voters = Voters(record.judges, record.panel, Families(record.panel.families))
    rates = rates_of(run.results, voters)
    tallies = Tallies.of(record)
    results = tuple(revote(result, voters, record.metrics, rates, record.derived) for result in run.results)
    for result in results:
        tallies.add(result)
    return Run(results, tallies.summary(rates=rates), record)


def without_labels(panel: PanelOptions) -> dict[str, Any]:
    """Return the settings of a panel that were given; UsageError for labels, which only votes on claims learn from."""
    if panel.labels is not None:
        raise UsageError("labels: weights are learned from labels of claims only, as in score and rejudge")
    return panel.given


def ended(status: RunStatus) -> None:
    """Raise KeyboardInterrupt or StoppedEarly, with the reason, if the job ended before its last item."""
    if status.interrupted:
        raise KeyboardInterrupt
    if status.over_budget:
        raise StoppedEarly(f"Budget reached: {status.over_budget}. To resume, use a higher limit.")
    if not status.complete:
        raise StoppedEarly(status.paused or why_stopped(status.stopped))


def why_stopped(stopped: Mapping[str, str]) -> str:
    """The judges that could not be asked any more, in one line."""
    return "; ".join(f"{judge}: {message}" for judge, message in stopped.items())


def as_samples(data: Data, references: References | None = None) -> list[Sample]:
    """Return the samples of the data; `references` decides for all whether one of several gold answers is enough."""
    if isinstance(data, Run):
        samples = [result.sample for result in data.results]
    elif isinstance(data, (str, Path)) and (Path(data) / RESULTS).exists():
        samples = [result.sample for result in read_results(Path(data))]
    elif isinstance(data, (str, Path)):
        return list(read_samples(data, references=references))
    else:
        records = data.to_dict("records") if hasattr(data, "to_dict") else data
        samples = [s if isinstance(s, Sample) else _from_mapping(s, i) for i, s in enumerate(records, 1)]
    return [s.model_copy(update={"references": references}) for s in samples] if references else samples


def _from_mapping(fields: Mapping[str, Any], number: int) -> Sample:
    """A sample from its fields; NaN, which tables have for nothing, is nothing."""
    from claimeval.data.reading import sample
    from claimeval.data.rows import SourceRow

    if not isinstance(fields, Mapping):
        raise UsageError(f"sample {number} is a {type(fields).__name__}; give Sample records, mappings or a file name")
    known = {name: value for name, value in fields.items() if not (isinstance(value, float) and value != value)}
    return sample(SourceRow(f"sample {number}", number, known), {})


async def arejudge(
    run: Run | str | Path,
    *,
    judges: Sequence[str | Judge] = (),
    keep_verdicts: bool = False,
    extractor: str | Judge | None = None,
    metrics: Sequence[str | Metric] | None = None,
    extract_prompt: str | None = None,
    assess_prompt: str | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    extract_per_judge: bool | None = None,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge the answers and claims of a run again: other judges, prompts, metrics or votes.

    Claims are taken from the run unless another `extractor` or `extract_prompt` is named; verdicts too, where judge and
    prompt are the same. With nothing but another `panel` or fewer `metrics` the votes are counted anew without a call.
    `summary.calls` says how many questions were asked and how many were answered by the run.

    Args:
        run: A run, a run directory, a result file of RAGChecker, ragas or deepeval, or a file of samples.
        judges: Judges to ask or names of judges of the run; by default all of the run.
        keep_verdicts: Keep the verdicts of the run's judges beside those of the new ones.
        extractor: Who takes claims from texts that have none.
        metrics: As for `score`; None for those of the run.
        extract_prompt: Take the claims anew, with this prompt.
        assess_prompt: The prompt for assessing; None for the run's.
        per_document: As for `score`; None for as in the run, like the two that follow.
        shuffle_contexts: As for `score`.
        extract_per_judge: As for `score`.
        panel: How verdicts are counted; None in a field is as in the run.
        options: How the judges are asked; `cluster` None is as in the run.

    Returns:
        The run with the new verdicts and votes.

    Raises:
        UsageError: Before any call, for what the caller can fix.
        StoppedEarly: As for `score`.
    """
    source = of_run(run) if isinstance(run, Run) else open_source(Path(run))
    prepared = prepare(
        source,
        ClaimsOptions(
            judges=judges,
            extractor=extractor,
            metrics=metrics,
            extract_prompt=extract_prompt,
            assess_prompt=assess_prompt,
            per_document=per_document,
            shuffle_contexts=shuffle_contexts,
            extract_per_judge=extract_per_judge,
            panel=panel,
            cluster=options.cluster,
        ),
        keep_verdicts=keep_verdicts,
        offline=options.offline,
    )
    record = prepared.manifest
    results: list[SampleResult] = []
    if prepared.asks:
        progress = Progress(prepared.samples, options.progress)
        outcome = await run_job(
            prepared.plan, prepared.results, record, options=options, progress=progress, on_result=results.append
        )
        ended(outcome.status)
        summary = outcome.summary
    else:
        results = list(prepared.recounted())
        tallies = Tallies.of(record)
        for result in results:
            tallies.add(result)
        summary = tallies.summary()
    return voted_again(Run(tuple(results), summary, record), panel)


rejudge = blocking_twin(arejudge)


def compare(a: Run | str | Path, b: Run | str | Path, *, cluster: str | None = None) -> Comparison:
    """What b differs by from a: paired differences b - a with intervals and tests, and the claims that flipped.

    Runs or run directories; samples are aligned by id. Intervals and tests draw whole questions, or samples with
    the same value of the field `cluster`. DataError for a directory without a finished run, UsageError
    where the two share no metric or no sample.
    """
    with TemporaryDirectory() as folder:
        folders = _folder(a, Path(folder) / "a"), _folder(b, Path(folder) / "b")
        return compare_folders(*folders, cluster=cluster).comparison


def _folder(run: Run | str | Path, place: Path) -> Path:
    if not isinstance(run, Run):
        return Path(run)
    run.save(place)
    return place
