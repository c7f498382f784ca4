"""Judges a source again: carries the plan out, or, where nobody is asked anything, counts the votes anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from claimeval.api import NO_SETTINGS, PanelSettings, Report, ended, front_door, given, settings_given, voted_again
from claimeval.calls import Judge
from claimeval.evaluation import carry_out, identity
from claimeval.execution.limits import set_limits
from claimeval.execution.progress import Progress
from claimeval.metrics import ClaimMetric
from claimeval.records import SampleResult
from claimeval.rejudging.preparing import Prepared, Wanted, prepare
from claimeval.rejudging.sources import of_report, open_source
from claimeval.revoting import revote
from claimeval.run import Tallies
from claimeval.store import default_folder


async def arejudge(
    run: Report | str | Path,
    *,
    judges: Sequence[str | Judge] = (),
    keep_verdicts: bool = False,
    extractor: str | Judge | None = None,
    metrics: Sequence[str | ClaimMetric] | None = None,
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
        Wanted(
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


def recount(prepared: Prepared) -> Iterator[SampleResult]:
    """Each sample with the votes on its verdicts counted anew, for a source about which nobody is asked anything."""
    plan = prepared.plan
    return (revote(result, plan.voters, plan.metrics, derived=plan.derived) for result in prepared.results)
