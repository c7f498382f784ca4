"""The blocking front door over the async inside: `score`, `ascore`, `Report`.

Judges a source again: carries the plan out, or, where nobody is asked anything, counts the votes anew.

Two runs over the same samples, compared in pairs: the Python door of `claimeval compare`.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from claimeval.data.reading import parse_references, read_samples
from claimeval.data.survey import survey
from claimeval.evaluation.manifest import manifest
from claimeval.evaluation.plan import ClaimsJob, check_families, choose_metrics, make_plan
from claimeval.evaluation.plan import notes as notes_of
from claimeval.evaluation.run import carry_out, identity
from claimeval.evaluation.summary.run import Summary, Tallies
from claimeval.execution.batch.executor import Batching
from claimeval.execution.limits import set_limits
from claimeval.execution.progress import Progress
from claimeval.execution.runner import Ending
from claimeval.judging.panel import Panel
from claimeval.metrics.derived import select_metrics
from claimeval.metrics.rows import SUPPORT, Metric
from claimeval.runs.compare import compare as compare_folders
from claimeval.runs.overview import Comparison
from claimeval.runs.rejudge.prepare import PreparedRejudge, RejudgeOptions, prepare
from claimeval.runs.rejudge.sources import of_report, open_source
from claimeval.runs.report import NO_SETTINGS, PanelSettings, Report
from claimeval.runs.revote import rates_of, revote
from claimeval.store.store import default_folder
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import StoppedEarly, UsageError
from claimeval.types.records import References, Sample, SampleResult
from claimeval.types.requests import Judge

if TYPE_CHECKING:
    pass

P = ParamSpec("P")


T = TypeVar("T")


Samples = str | Path | Iterable[Sample | Mapping[str, Any]]
"""A file that `read_samples` reads, or samples, or mappings with the fields of `Sample`, or a pandas table of these."""


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


def front_door(way: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """`aNAME`, for code that is asynchronous, as `NAME`, for code that is not."""

    @functools.wraps(way)
    def door(*args: P.args, **kwargs: P.kwargs) -> T:
        return blocking(way(*args, **kwargs))

    door.__name__ = door.__qualname__ = way.__name__.removeprefix("a")
    return door


async def ascore(
    samples: Samples,
    *,
    judges: Sequence[str | Judge],
    extractor: str | Judge | None = None,
    metrics: Sequence[str | Metric] | None = None,
    extract_prompt: str = "atomic",
    assess_prompt: str | None = None,
    references: References | None = None,
    vote: str | None = None,
    tie: str | None = None,
    panel: PanelSettings = NO_SETTINGS,
    cluster: str | None = None,
    concurrency: int | None = None,
    rpm: int | None = None,
    tpm: int | None = None,
    timeout: float = 300.0,
    max_calls: int | None = None,
    max_cost: float | None = None,
    batch: bool = False,
    batch_retries: Literal["batch", "online"] = "batch",
    detach: bool = False,
    online: Sequence[str] = (),
    cache: str | Path | None = None,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Takes answers apart into claims, has judges assess them, and adds the verdicts up.

    `judges` are `provider:model`, `openai:model@URL` or YAML files; there is no default. Several are a panel: `vote`
    (`majority` unless said) and `tie` (`abstain`) say how their verdicts become a label, `panel` holds further
    settings of `Panel`, such as `{"replicates": 3, "per_document": True}`. `extractor` takes the claims from the
    texts, by default the first judge. `metrics` are names (`faithfulness`, `f1`, `nuggets`, ...),
    `name=claims_of:against` or `Metric`; by default the four about answers, as far as the samples can feed them.
    `references` says whether one of several gold answers is enough (`any`, unless the samples say otherwise) or they
    are right only `together`. `assess_prompt` is by default `three_way`, or `partial` if a metric counts partial
    support (`nuggets`). `concurrency` is calls in flight per model, `rpm` and `tpm` are requests and tokens a minute;
    left out, they follow what the provider bears. `timeout` is seconds for an attempt. `max_calls` and `max_cost` (US
    dollars) are caps for this question over these samples, earlier interrupted runs included; StoppedEarly when one is
    reached, and a higher cap goes on from there. `batch` asks through the provider's batch files (half the price,
    within 24 hours), except the judges named in `online`; with `detach` it raises StoppedEarly once they are
    submitted, and the same call goes on from there. `cache` is the folder of the reply store (`$CLAIMEVAL_CACHE`);
    with `offline` only stored replies are used. UsageError, before any call, for what the caller can mend. `score` is
    this for code that is not asynchronous; it works inside a running event loop too.
    """
    material = as_samples(samples, parse_references(references))
    asked = select_metrics(metrics) if metrics else None
    found = survey(material, asked.rows if asked else SUPPORT)
    said = {**settings_given(panel), **given(vote=vote, tie=tie)}
    plan = make_plan(
        judges, extractor, choose_metrics(asked, found), extract_prompt, assess_prompt, said, cluster=cluster
    )
    check_families(plan, found.generators)
    check_cluster(cluster, material)
    notes = notes_of(plan)
    limits = set_limits(
        concurrency=concurrency, rpm=rpm, tpm=tpm, timeout=timeout, max_calls=max_calls, max_cost=max_cost
    )
    results: list[SampleResult] = []
    outline = await carry_out(
        material,
        plan,
        notes=notes,
        cache=Path(cache) if cache else default_folder(),
        limits=limits,
        progress=Progress(len(material), progress),
        offline=offline,
        on_result=results.append,
        run=identity(plan, material) if limits.capped else "",
        batching=Batching(batch_retries, detach, online=tuple(online)) if batch else None,
    )
    ended(outline.ending)
    summary = outline.summary
    if plan.panel.needs_whole_run:
        results, summary = voted_again(results, plan, notes)
    return Report(
        tuple(results),
        summary,
        manifest(plan, notes, str(samples) if isinstance(samples, (str, Path)) else None),
    )


score = front_door(ascore)


def settings_given(panel: PanelSettings) -> dict[str, Any]:
    """The settings of a panel that were given, by name."""
    return panel.model_dump(exclude_unset=True) if isinstance(panel, Panel) else dict(panel)


def given(**settings: object) -> dict[str, Any]:
    """Those of the settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def voted_again(
    results: Sequence[SampleResult], plan: ClaimsJob, notes: tuple[str, ...]
) -> tuple[list[SampleResult], Summary]:
    """The results with the votes that needed all of them, and what they add up to."""
    rates = rates_of(results, plan.voters)
    tallies = Tallies(plan.metrics, notes, plan.judges, plan.extractor, plan.panel, plan.derived, plan.cluster)
    revoted = [revote(result, plan.voters, plan.metrics, rates, plan.derived) for result in results]
    for result in revoted:
        tallies.add(result)
    return revoted, tallies.summary(rates=rates)


def ended(ending: Ending) -> None:
    """Raise KeyboardInterrupt or StoppedEarly, with the reason, if the job ended before its last item."""
    if ending.interrupted:
        raise KeyboardInterrupt
    if ending.over_budget:
        raise StoppedEarly(f"Budget reached: {ending.over_budget}. To resume, use a higher limit.")
    if not ending.complete:
        raise StoppedEarly(ending.paused or why_stopped(ending.stopped))


def why_stopped(stopped: Mapping[str, str]) -> str:
    """The judges that could not be asked any more, in one line."""
    return "; ".join(f"{judge}: {message}" for judge, message in stopped.items())


def as_samples(samples: Samples, references: References | None = None) -> list[Sample]:
    """What was given as samples, as records; `references` says of all whether one of several gold answers is enough."""
    if isinstance(samples, (str, Path)):
        return list(read_samples(samples, references=references))
    records = samples.to_dict("records") if hasattr(samples, "to_dict") else samples
    found = [s if isinstance(s, Sample) else _from_mapping(s, i) for i, s in enumerate(records, 1)]
    return [s.model_copy(update={"references": references}) for s in found] if references else found


def _from_mapping(fields: Mapping[str, Any], number: int) -> Sample:
    """A sample from its fields; NaN, which tables have for nothing, is nothing."""
    from claimeval.data.reading import sample
    from claimeval.data.rows import SourceRow

    if not isinstance(fields, Mapping):
        raise UsageError(f"sample {number} is a {type(fields).__name__}; give Sample records, mappings or a file name")
    known = {name: value for name, value in fields.items() if not (isinstance(value, float) and value != value)}
    return sample(SourceRow(f"sample {number}", number, known), {})


async def arejudge(
    run: Report | str | Path,
    *,
    judges: Sequence[str | Judge] = (),
    keep_verdicts: bool = False,
    extractor: str | Judge | None = None,
    metrics: Sequence[str | Metric] | None = None,
    extract_prompt: str | None = None,
    assess_prompt: str | None = None,
    vote: str | None = None,
    tie: str | None = None,
    panel: PanelSettings = NO_SETTINGS,
    cluster: str | None = None,
    concurrency: int | None = None,
    timeout: float = 300.0,
    max_calls: int | None = None,
    max_cost: float | None = None,
    cache: str | Path | None = None,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Judges the answers and claims of a run again: other judges, prompts, metrics or votes.

    `run` is a report, a run directory, a result file of RAGChecker, ragas or deepeval, or a file of samples. `judges`
    are judges to ask or names of judges of the run, by default all of the run; with `keep_verdicts` the run's judges
    stay beside the new ones. Claims are taken from the run unless another `extractor` or `extract_prompt` is named;
    verdicts too, where judge and prompt are the same. With nothing but `vote`, `tie`, `panel` or fewer `metrics` the
    votes are counted anew without a call. `summary.calls` says how many questions were asked and how many were answered
    by the run. `cluster` is the run's own unless said. The rest is as for `score`.
    """
    source = of_report(run) if isinstance(run, Report) else open_source(Path(run))
    said = {**settings_given(panel), **given(vote=vote, tie=tie)}
    prepared = prepare(
        source,
        RejudgeOptions(
            judges=judges,
            keep=keep_verdicts,
            extractor=extractor,
            metrics=metrics,
            extract_prompt=extract_prompt,
            assess_prompt=assess_prompt,
            panel=said,
            offline=offline,
            cluster=cluster,
        ),
    )
    plan, record = prepared.plan, prepared.manifest
    results: list[SampleResult] = []
    if prepared.asks:
        limits = set_limits(
            concurrency=concurrency, rpm=None, tpm=None, timeout=timeout, max_calls=max_calls, max_cost=max_cost
        )
        outline = await carry_out(
            prepared.results,
            plan,
            notes=record.notes,
            cache=Path(cache) if cache else default_folder(),
            limits=limits,
            progress=Progress(prepared.samples, progress),
            offline=offline,
            on_result=results.append,
            run=identity(plan, (r.sample for r in source.results())) if limits.capped else "",
        )
        ended(outline.ending)
        summary = outline.summary
    else:
        results = list(recount(prepared))
        tallies = Tallies.of(record)
        for result in results:
            tallies.add(result)
        summary = tallies.summary()
    if plan.panel.needs_whole_run:
        results, summary = voted_again(results, plan, record.notes)
    return Report(tuple(results), summary, record)


rejudge = front_door(arejudge)


def recount(prepared: PreparedRejudge) -> Iterator[SampleResult]:
    """Each sample with the votes on its verdicts counted anew, for a source about which nobody is asked anything."""
    plan = prepared.plan
    return (revote(result, plan.voters, plan.metrics, derived=plan.derived) for result in prepared.results)


def compare(a: Report | str | Path, b: Report | str | Path, *, cluster: str | None = None) -> Comparison:
    """What b differs by from a: paired differences b - a with intervals and tests, and the claims that flipped.

    Reports or run directories; samples are aligned by id. Intervals and tests draw whole questions, or samples with
    the same value of the field `cluster`. DataError for a directory without a finished run, UsageError
    where the two share no metric or no sample.
    """
    with TemporaryDirectory() as folder:
        folders = _folder(a, Path(folder) / "a"), _folder(b, Path(folder) / "b")
        return compare_folders(*folders, cluster=cluster).comparison


def _folder(run: Report | str | Path, place: Path) -> Path:
    if not isinstance(run, Report):
        return Path(run)
    run.save(place)
    return place
