"""The blocking front door over the async inside: `score`, `ascore`, `Report`."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeVar

from claimeval.calls import Judge
from claimeval.carrying import Ending
from claimeval.clustering import check_cluster
from claimeval.data.reading import parse_references, read_samples
from claimeval.data.survey import survey
from claimeval.derived import choose
from claimeval.errors import StoppedEarly, UsageError
from claimeval.evaluation import carry_out, identity
from claimeval.execution.batch import Batching
from claimeval.execution.limits import set_limits
from claimeval.execution.progress import Progress
from claimeval.metrics import SUPPORT, ClaimMetric
from claimeval.panel import Panel
from claimeval.plan import Plan, check_families, choose_metrics, make_plan
from claimeval.plan import notes as notes_of
from claimeval.records import Claim, References, Sample, SampleResult
from claimeval.revoting import rates_of, revote
from claimeval.run import Manifest, RunWriter, Summary, Tallies, load_manifest, load_summary, manifest, read_results
from claimeval.store import default_folder

if TYPE_CHECKING:
    import pandas

P = ParamSpec("P")
T = TypeVar("T")
Samples = str | Path | Iterable[Sample | Mapping[str, Any]]
"""A file that `read_samples` reads, or samples, or mappings with the fields of `Sample`, or a pandas table of these."""
PanelSettings = Panel | Mapping[str, Any]
"""Settings of `Panel`, all of them or some by name."""
NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})


class Report(NamedTuple):
    """What an evaluation found: every sample's claims, verdicts and scores, and what they add up to."""

    results: tuple[SampleResult, ...]
    summary: Summary
    manifest: Manifest

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {metric.mean}" for name, metric in self.summary.metrics.items())
        return f"<Report of {len(self.results)} samples: {means}>"

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Writes a run directory: manifest, results, summary."""
        writer = RunWriter(Path(folder), self.manifest, overwrite=overwrite)
        for result in self.results:
            writer.add(result)
        writer.finish(self.summary)

    @classmethod
    def load(cls, folder: str | Path) -> Report:
        """Reads a run directory; DataError where it is none."""
        folder = Path(folder)
        return cls(tuple(read_results(folder)), load_summary(folder), load_manifest(folder))

    @property
    def claims(self) -> Iterator[tuple[SampleResult, Claim]]:
        """Every claim with the result it belongs to."""
        return ((result, claim) for result in self.results for claim in result.claims)

    def to_pandas(self) -> pandas.DataFrame:
        """A row a sample, indexed by sample id: per metric its value (NaN where undefined) and `METRIC_because`."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError("a table needs pandas: pip install 'claimeval[pandas]'") from error

        table = pandas.DataFrame(
            [
                {"id": result.sample.id}
                | {score.metric: score.value for score in result.scores}
                | {f"{score.metric}_because": score.undefined_because for score in result.scores}
                for result in self.results
            ],
            columns=[
                "id",
                *(column for name in self._metrics for column in (name, f"{name}_because")),
            ],
        ).set_index("id")
        return table.astype(dict.fromkeys(self._metrics, "float64"))

    @property
    def _metrics(self) -> tuple[str, ...]:
        return (*(metric.name for metric in self.manifest.metrics), *self.manifest.derived)


def blocking(way: Coroutine[Any, Any, T]) -> T:
    """Runs to the end: in this thread, or in one of its own where this thread already runs an event loop."""
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
    metrics: Sequence[str | ClaimMetric] | None = None,
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
    `name=claims_of:against` or `ClaimMetric`; by default the four about answers, as far as the samples can feed them.
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
    asked = choose(metrics) if metrics else None
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
    results: Sequence[SampleResult], plan: Plan, notes: tuple[str, ...]
) -> tuple[list[SampleResult], Summary]:
    """The results with the votes that needed all of them, and what they add up to."""
    rates = rates_of(results, plan.voters)
    tallies = Tallies(plan.metrics, notes, plan.judges, plan.extractor, plan.panel, plan.derived, plan.cluster)
    revoted = [revote(result, plan.voters, plan.metrics, rates, plan.derived) for result in results]
    for result in revoted:
        tallies.add(result)
    return revoted, tallies.summary(rates=rates)


def ended(ending: Ending) -> None:
    """Raises what work that did not reach its end comes to: KeyboardInterrupt, or StoppedEarly and why."""
    if ending.interrupted:
        raise KeyboardInterrupt
    if ending.over_budget:
        raise StoppedEarly(f"the cap is reached: {ending.over_budget}; a higher cap goes on from here")
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
    from claimeval.data.rows import Row

    if not isinstance(fields, Mapping):
        raise UsageError(f"sample {number} is a {type(fields).__name__}; give Sample records, mappings or a file name")
    known = {name: value for name, value in fields.items() if not (isinstance(value, float) and value != value)}
    return sample(Row(f"sample {number}", number, known), {})
