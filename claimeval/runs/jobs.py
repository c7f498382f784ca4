"""Jobs carried into run directories: what is asked is asked, every result is a line, and the votes are settled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from claimeval.data.labels import read_labels
from claimeval.evaluation.job import Job, JobOutcome, run_job
from claimeval.evaluation.summary.run import Tallies
from claimeval.execution.runner import RunStatus
from claimeval.runs.directory import MANIFEST, RunWriter, load_manifest, read_results
from claimeval.runs.rejudge.prepare import PreparedRejudge
from claimeval.runs.revote import settle
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress

T = TypeVar("T")


async def run_into(
    writer: RunWriter,
    job: Job[T],
    items: Iterable[T],
    *,
    options: RunOptions,
    progress: Progress,
    panel: PanelOptions = PanelOptions(),
    run: str | None = None,
) -> JobOutcome:
    """Carry a job over items and write its run directory.

    Args:
        writer: The run directory, begun with the manifest of the run.
        job: What is done for each item.
        items: As for `run_job`.
        options: How judges are asked, and what may be spent.
        progress: Told of every item and call.
        panel: Its `labels` are what the weights of a weighted vote are learned from.
        run: As for `run_job`.

    Returns:
        The summary that was written, and how the run ended.
    """
    with writer:
        outcome = await run_job(
            job, items, writer.manifest, options=options, progress=progress, on_result=writer.add, run=run
        )
        return _finished(writer, outcome, panel)


def recount_into(writer: RunWriter, prepared: PreparedRejudge, panel: PanelOptions) -> JobOutcome:
    """Count the votes of a source about which nobody is asked anything, and write the run directory."""
    tallies = Tallies.of(writer.manifest)
    for result in prepared.recounted():
        writer.add(result)
        tallies.add(result)
    return _finished(
        writer, JobOutcome(tallies.summary(), RunStatus(complete=True, interrupted=False, stopped={})), panel
    )


def _finished(writer: RunWriter, outcome: JobOutcome, panel: PanelOptions) -> JobOutcome:
    if writer.manifest.panel.needs_whole_run:
        labels = read_labels(Path(panel.labels)) if panel.labels else None
        kept = {"cost": outcome.summary.cost, "stopped": outcome.summary.stopped}
        summary = settle(writer, labels, complete=outcome.status.complete).model_copy(update=kept)
        outcome = outcome._replace(summary=summary)
    writer.finish(outcome.summary)
    if writer.manifest.job in WITH_QRELS:
        _write_qrels(writer.folder, complete=outcome.status.complete)
    return outcome


QRELS = "qrels.txt"
WITH_QRELS = ("grade",)
"""The jobs whose grades are also written as qrels."""


def _write_qrels(folder: Path, *, complete: bool) -> None:
    """Write the grades of a run that is complete, if there is one, as qrels."""
    from claimeval import ir
    from claimeval.evaluation.grade import qrels

    grades = qrels(read_results(folder)) if complete else {}
    if not grades:
        (folder / QRELS).unlink(missing_ok=True)
        return
    part = folder / f"{QRELS}.part"
    with part.open("w", encoding="utf-8") as file:
        ir.write_qrels(grades, file)
    part.replace(folder / QRELS)


def relevant_from(qrels: Path) -> int | None:
    """Return the grade from which these qrels call a document relevant; None unless a grade run wrote them."""
    if qrels.name != QRELS or not (qrels.parent / MANIFEST).exists():
        return None
    questions = load_manifest(qrels.parent).questions
    return int(questions[0].scale.positive_from) if questions else None
