"""HTML of runs, comparisons and experiments in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.flips import Flip
from claimeval.report import pictures
from claimeval.report.charts import Picture
from claimeval.runs.directory import ScoresSummary
from claimeval.runs.experiments.results import ExperimentResult
from claimeval.runs.front import FrontBuilder
from claimeval.runs.overview import PairedRuns
from claimeval.runs.views import comparison as comparison_view
from claimeval.runs.views import experiment as experiment_view
from claimeval.runs.views import remark
from claimeval.runs.views import run as run_view
from claimeval.runs.views.notebook import page
from claimeval.types.html import Html
from claimeval.types.records import SampleResult

if TYPE_CHECKING:
    from claimeval.runs.series import Series

LOOKED_AT = 2000
"""Number of samples that are searched for the worst claims, so that a cell shows its run
quickly."""
FLIPS = 5


def run(
    manifest: Manifest,
    record: Summary,
    results: Sequence[SampleResult],
    sides: Sequence[ScoresSummary],
) -> str:
    """Return what is shown of a run.

    Args:
        manifest: Its settings.
        record: Its scores and counts.
        results: Its results; the claims to read first are among the first `LOOKED_AT`.
        sides: The scores of runs without a judge beside it.
    """
    builder = FrontBuilder(manifest, run_view.READ)
    for result in islice(results, LOOKED_AT):
        builder.add(result)
    front = builder.front(record)
    whole = len(results) <= LOOKED_AT
    diagnosis = builder.diagnosis if whole else None
    ranks = builder.by_rank if whole else None
    metrics = dict(record.metrics)
    for side in sides:
        metrics |= side.metrics
    among = (
        [] if whole else [remark(f"the claims to read are among the first {LOOKED_AT:,} samples")]
    )
    return page(
        run_view.front(manifest, record, front),
        _drawn(pictures.of_metrics(metrics, "Means")),
        run_view.view(manifest, record, front, sides=sides, diagnosis=diagnosis, by_rank=ranks),
        among,
    )


def _drawn(picture: Picture | None) -> Html:
    return Html(picture.svg) if picture else Html()


def comparison(pair: PairedRuns, trend: Series | None = None) -> str:
    """Return the differences of a run to a baseline, and the flipped claims.

    `trend` is a series of more than two runs, which is shown instead of the differences.
    """
    if trend:
        from claimeval.report.series import parts

        return page(*parts(trend))
    drawn = _drawn(pictures.of_comparison(pair))
    return page(comparison_view.front(pair), drawn, comparison_view.details(pair, flips=FLIPS))


def experiment(result: ExperimentResult, flips: Sequence[Flip]) -> str:
    """Return what is shown of an experiment, with the flipped claims of its last arm."""
    return page(experiment_view.view(result, flips))
