"""Runs of any size with a loopback provider, and tables, for benchmarks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import claimeval as ce
from claimeval.evaluation.claims import ClaimsJob, ClaimsOptions, make_job
from claimeval.evaluation.resumed import ResumedJob
from claimeval.execution.runner import run_job
from claimeval.metrics.derived import select_metrics
from claimeval.runs.directory import RunWriter
from claimeval.runs.jobs import RunSink
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Document, Sample
from claimeval.types.requests import Judge

ROOT = Path(__file__).parents[1]
METRICS = ("faithfulness", "correctness", "coverage")
"""Two extractions and three assessments per sample."""
CALLS = 5
WORDS = (
    "The tower of Porto Alto was begun by Ana Souto in the spring and it is built of granite from"
    " the north."
)


def samples(count: int) -> Iterator[Sample]:
    """Yield samples with four claims in the answer, two in the reference, and three documents of
    about 80 words."""
    for i in range(count):
        answer = (
            f"Tower {i} is {i} metres high. Ana Souto built it. The WRONG king paid for it. It"
            " stands to this day."
        )
        documents = [
            Document(id=f"page-{n}", text=f"Page {n} on tower {i}. " + f"{WORDS} " * 4)
            for n in range(3)
        ]
        yield Sample(
            id=f"sample-{i}",
            question=f"What should I know about tower {i}?",
            answer=answer,
            contexts=tuple(documents),
            reference_answers=(f"Tower {i} is {i} metres high. It was built by Ana Souto.",),
        )


def plan_at(url: str, model: str = "openai:judge") -> ClaimsJob:
    judge = Judge(name="judge", model=model, endpoint=url)
    return make_job(ClaimsOptions(judges=[judge]), select_metrics(METRICS))


def run(
    plan: ClaimsJob, count: int, folder: Path, *, resumed: bool = False, **options: Any
) -> Progress:
    """Run a job with reply cache, results and summary; with `resumed`, from what the same run had
    written before."""
    progress = Progress(count)
    writer = RunWriter(folder / "run", plan.manifest, overwrite=not resumed)
    sink = RunSink(writer)
    settings = RunOptions(cache=folder / "store", **options)
    job = ResumedJob(plan, writer.manifest, writer.written()) if resumed else plan
    summary = sink.finish(asyncio.run(run_job(job, samples(count), sink.add, settings, progress)))
    assert summary.complete
    assert summary["faithfulness"].mean == 0.75, "the judge's rules predict this score"
    return progress


class Ended(NamedTuple):
    """CPU time of this process at the end of a whole command."""

    after: float
    """Milliseconds after the result of the last sample: summary, page, and reading the run."""


def whole(model: str, url: str, count: int, folder: Path, **options: Any) -> Ended:
    """Score as a user does, with run directory and page."""
    last = 0.0

    def note(progress: Progress) -> None:
        nonlocal last
        if progress.done == count:
            last = last or time.process_time()

    settings = RunOptions(cache=folder / "store", progress=note, **options)
    judge = Judge(name="judge", model=model, endpoint=url)
    run = ce.score(
        list(samples(count)),
        judges=judge,
        metrics=METRICS,
        out=folder / "run",
        overwrite=True,
        options=settings,
    )
    assert run.path
    assert (run.path / "report.html").exists()
    assert run["faithfulness"].mean == 0.75, "the judge's rules predict this score"
    return Ended(1000 * (time.process_time() - last))


def table(title: str, columns: tuple[str, ...], lines: list[tuple[object, ...]]) -> None:
    """Print a table with aligned columns."""
    cells = [
        columns,
        *[tuple(f"{c:.3f}" if isinstance(c, float) else str(c) for c in line) for line in lines],
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    print(f"\n{title}")
    for row in cells:
        print(
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        )


# --- wall ---
