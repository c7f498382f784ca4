"""Running a job into a run: asking judges, writing every result, and taking votes that need the whole run."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from claimeval.evaluation.job import Job, JobOutcome, run_job
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.execution import RunStatus
from claimeval.runs.directory import MANIFEST, ResultWriter, load_manifest, read_results, write_text
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Sample, SampleResult

if TYPE_CHECKING:
    from claimeval.data.labels import HumanLabel
    from claimeval.runs.rejudge import PreparedRejudge

T = TypeVar("T")


async def run_into(
    writer: ResultWriter,
    job: Job[T],
    items: Iterable[T],
    *,
    options: RunOptions,
    progress: Progress,
    panel: PanelOptions = PanelOptions(),
    run: str | None = None,
) -> JobOutcome:
    """Run a job on items and write the run.

    Args:
        writer: The run, with its manifest.
        job: The job.
        items: As for `run_job`.
        options: How judges are asked, and what may be spent.
        progress: Updated with every item and call.
        panel: Its `labels` are used to learn the weights of a weighted vote.
        run: As for `run_job`.

    Returns:
        The summary that was written, and the status of the run.
    """
    labels = read_vote_labels(writer.manifest, panel)
    outcome = await run_job(
        job, items, writer.manifest, options=options, progress=progress, on_result=writer.add, run=run
    )
    return finish(writer, outcome, labels)


def recount_into(
    writer: ResultWriter, prepared: PreparedRejudge, panel: PanelOptions, options: RunOptions
) -> JobOutcome:
    """Count the votes of a source again without asking a judge, and write the run.

    Args:
        writer: The run, with its manifest.
        prepared: The source with its reusable verdicts.
        panel: Its `labels` are used to learn the weights of a weighted vote.
        options: Its `prices` are used for the cost.
    """
    labels = read_vote_labels(writer.manifest, panel)
    tallies = SummaryBuilder(writer.manifest, options.prices)
    writer.add_all(tallies.each(prepared.recounted()))
    return finish(
        writer, JobOutcome(tallies.summary(), RunStatus(complete=True, interrupted=False, stopped={})), labels
    )


def read_vote_labels(record: Manifest, panel: PanelOptions) -> list[HumanLabel] | None:
    """Return the labels from which weights are learned. Raises an error for unusable labels before any call."""
    if panel.labels is None:
        return None
    from claimeval.data.labels import read_labels

    learning = () if record.of_claims else [q for q in record.questions if q.panel.rule.needs_weights]
    labels = list(read_labels(Path(panel.labels), {word for question in learning for word in question.scale.words}))
    if len(learning) > 1 and any(label.evidence is None for label in labels):
        raise UsageError(
            f"{panel.labels}: the run asks several questions; say in a column `against` which of them a label answers "
            "(asked, contexts or reference)"
        )
    return labels


def finish(writer: ResultWriter, outcome: JobOutcome, labels: list[HumanLabel] | None) -> JobOutcome:
    """Take the votes that need the whole run, and write its summary and the other files of the job.

    Returns the outcome with the summary that was written. `labels` are used to learn the weights of a weighted vote.
    """
    if writer.manifest.panel.needs_all_verdicts:
        from claimeval.runs.revote import settle

        outcome = _with_summary(outcome, settle(writer, labels, complete=outcome.status.complete))
    elif writer.manifest.job == "write_queries":
        from claimeval.evaluation.write_queries import reject_repeated
        from claimeval.runs.revote import revised

        rewritten = revised(writer, reject_repeated())
        outcome = _with_summary(outcome, rewritten.summary(complete=outcome.status.complete))
    manifest = writer.manifest.with_learned(outcome.status.learned)
    if manifest != writer.manifest:
        writer.amend(manifest)
    writer.finish(outcome.summary)
    if writer.folder and writer.manifest.job in WITH_QRELS:
        _write_test_collection(writer.folder, writer.manifest, complete=outcome.status.complete)
    return outcome


def _with_summary(outcome: JobOutcome, summary: Summary) -> JobOutcome:
    unchanged = {"cost": outcome.summary.cost, "stopped": outcome.summary.stopped}
    return outcome._replace(summary=summary.model_copy(update=unchanged))


QRELS, QUERIES = "qrels.txt", "queries.jsonl"
WITH_QRELS = ("grade", "write_queries")
"""The jobs that write qrels: their grades, or the source documents of the questions they wrote."""


def qrels_of(record: Manifest, results: Iterable[SampleResult]) -> dict[str, dict[str, int]]:
    """Return the grades of documents by sample; the source of a written question has grade 1."""
    from claimeval.evaluation import grade, write_queries

    if record.job == write_queries.NAME:
        accepted = write_queries.kept_samples(record, results)
        return {sample.id: dict.fromkeys(sample.reference_context_ids, 1) for sample in accepted}
    return grade.qrels(results)


def _write_test_collection(folder: Path, record: Manifest, *, complete: bool) -> None:
    """Write the qrels of a complete run, and the questions that it wrote; remove files that would be empty."""
    from claimeval import ir
    from claimeval.evaluation import write_queries

    lines = io.StringIO()
    ir.write_qrels(qrels_of(record, read_results(folder)) if complete else {}, lines)
    _replace(folder / QRELS, lines.getvalue())
    if record.job == write_queries.NAME:
        accepted = write_queries.kept_samples(record, read_results(folder)) if complete else ()
        _replace(folder / QUERIES, "".join(map(_row, accepted)))


def _row(sample: Sample) -> str:
    """Return a line of a data file."""
    fields = sample.model_dump(mode="json", exclude_defaults=True, exclude={"metadata"})
    return json.dumps(fields | sample.metadata, ensure_ascii=False) + "\n"


def _replace(path: Path, text: str) -> None:
    if not text:
        path.unlink(missing_ok=True)
        return
    write_text(path, text)


def relevant_from(qrels: Path) -> int | None:
    """Return the lowest grade that counts as relevant in these qrels; None unless a grade run wrote them."""
    if qrels.name != QRELS or not (qrels.parent / MANIFEST).exists():
        return None
    questions = load_manifest(qrels.parent).questions
    return int(questions[0].scale.positive_from) if questions else None
