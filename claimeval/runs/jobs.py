"""A job that is ready to run, and what takes its results, sums them up and takes votes that need
the whole run."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.evaluation.exchanged import ExchangeCheck
from claimeval.evaluation.job import Job, Reiterable, run_identity
from claimeval.evaluation.kinds import JobKind, kind_of
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.execution import DONE, ComputedJob, RunStatus
from claimeval.runs.directory import MANIFEST, ResultWriter, RunResults, load_manifest, write_text
from claimeval.types.options import RunOptions
from claimeval.types.records import SampleResult

logger = logging.getLogger("claimeval")


class Prepared(NamedTuple):
    """A job that is checked and ready to run, with its items."""

    job: Job[Any] | ComputedJob[SampleResult]
    manifest: Manifest
    items: Reiterable[Any] | Sequence[Any]
    total: int | None
    """The number of items; None if it is not known."""
    source: Path | None
    """The file or run directory of the items."""
    unit: str = "samples"
    """The unit of the progress."""
    remarks: tuple[str, ...] = ()
    """What to say of the items before the first request, once nothing can refuse the run."""

    def log_remarks(self) -> None:
        """Log what is said of the items."""
        for remark in self.remarks:
            logger.info("%s", remark)

    def count_items(self) -> int:
        """Return the number of items; if it is not known, they may be read."""
        if self.total is not None:
            return self.total
        return len(self.items) if isinstance(self.items, Sequence) else self.items.count()

    def part(self, positions: range) -> Reiterable[Any]:
        """Return the items at these positions; those of a sequence are read without the items
        before them."""
        items = self.items
        if isinstance(items, Sequence):
            return Reiterable(lambda: map(items.__getitem__, positions))
        return items.part(positions)

    def budget(self, options: RunOptions) -> str:
        """Return the identity of the run for its budget; empty without one."""
        return run_identity(self.manifest, self.items) if options.capped and self.job.asked else ""


class RunSink:
    """Takes the results of a job one by one, writes them and sums them up, and finishes the run."""

    def __init__(self, writer: ResultWriter, tallies: SummaryBuilder | None = None) -> None:
        """Begin a run in a directory or in memory. `tallies` sum it up, by default without a price
        file."""
        self._writer = writer
        self._tallies = tallies or SummaryBuilder(writer.manifest)
        self._exchanges = ExchangeCheck()

    def add(self, result: SampleResult) -> None:
        """Add the result of a sample."""
        self.count(result)
        self._writer.add(result)

    def count(self, result: SampleResult) -> None:
        """Sum up the result of a sample that is already written."""
        self._tallies.add(result)
        self._exchanges.add(result)

    def finish(
        self,
        status: RunStatus = DONE,
        judge: Callable[[Summary, Iterable[SampleResult]], Summary] | None = None,
    ) -> Summary:
        """Write the summary and the other files of the job, and return the summary.

        Args:
            status: How the run ended.
            judge: Adds to the summary what became of the gates. A run that stopped for another
                reason has none.

        Raises:
            StoppedEarly: The replies belong to other requests.
        """
        writer = self._writer
        if not status.interrupted:
            self._exchanges.check(writer.added())
        summary = self._tallies.summary(complete=status.complete, stopped=status.reason)
        kind = kind_of(writer.manifest)
        revise = kind.revise() if kind.revise else None
        if revise:
            tallies = SummaryBuilder(writer.manifest)
            writer.revise(tallies.each(map(revise, writer.added())))
            # The prices of the run were given to the first tallies alone, which also know why it
            # stopped.
            revised = tallies.summary(complete=status.complete)
            summary = revised.model_copy(update={"cost": summary.cost, "stopped": summary.stopped})
        if judge and (status.complete or status.decided):
            summary = judge(summary, writer.added())
        writer.manifest = writer.manifest.with_learned(status.learned)
        if summary.complete:
            writer.manifest = writer.manifest.of_samples(summary.samples)
        writer.finish(summary)
        if writer.folder and kind.qrels:
            _write_test_collection(writer.folder, writer.manifest, kind, complete=status.complete)
        return summary


QRELS = "qrels.txt"
QUERIES = "queries.jsonl"


def _write_test_collection(
    folder: Path, record: Manifest, kind: JobKind, *, complete: bool
) -> None:
    """Write the qrels of a complete run, and the questions that it made; remove files that would be
    empty."""
    from claimeval import ir

    results = RunResults.of(folder) if complete else ()
    qrels = io.StringIO()
    queries = io.StringIO()
    ir.write_qrels(kind.qrels(record, results) if kind.qrels else {}, qrels)
    for sample in kind.samples(record, results) if kind.samples else ():
        row = (
            sample.model_dump(mode="json", exclude_defaults=True, exclude={"metadata"})
            | sample.metadata
        )
        queries.write(json.dumps(row, ensure_ascii=False) + "\n")
    for name, text in {
        QRELS: qrels.getvalue(),
        **({QUERIES: queries.getvalue()} if kind.samples else {}),
    }.items():
        if text:
            write_text(folder / name, text)
        else:
            (folder / name).unlink(missing_ok=True)


def relevant_from(qrels: Path) -> int | None:
    """Return the lowest grade that counts as relevant in these qrels; None unless a grade run wrote
    them."""
    if qrels.name != QRELS or not (qrels.parent / MANIFEST).exists():
        return None
    questions = load_manifest(qrels.parent).questions
    return int(questions[0].scale.positive_from) if questions else None
