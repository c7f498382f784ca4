"""A whole evaluation against a loopback server, with everything that came of it."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.evaluation.job import run_identity
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.execution import RunStatus
from claimeval.execution.runner import run_job
from claimeval.metrics.derived import select_metrics
from claimeval.runs.directory import RunInMemory, RunWriter
from claimeval.runs.jobs import RunSink
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Document, Reason, Sample, SampleResult, Score
from claimeval.types.requests import Judge

SAMPLE = Sample(
    id="tower",
    question="What about the tower?",
    answer="The tower is high. The WRONG king built it. A MISSING priest prayed. It stands.",
    contexts=(Document(id="page", text="The tower is high and stands."),),
    reference_answers=("It is high. It is old.",),
)
"""`benchmarks.loopback.claim_judge` supports two of the answer's four claims, and both of the
reference's."""
RIGHT = 0.5
"""The faithfulness of SAMPLE."""


class Outcome(NamedTuple):
    summary: Summary
    status: RunStatus


class Run(NamedTuple):
    results: Sequence[SampleResult]
    outcome: Outcome
    progress: Progress

    @property
    def values(self) -> list[float | None]:
        """Faithfulness, sample by sample."""
        return [result["faithfulness"].value for result in self.results]

    @property
    def reasons(self) -> list[str | None]:
        """Why there is none."""
        return [result["faithfulness"].because for result in self.results]


_SECONDS = re.compile(rb',\s*"seconds":\s*(?:null|[0-9.e-]+)')


def untimed(file: Path) -> bytes:
    """The bytes of a file of a run, but for the seconds that replies took: those of two stores
    differ."""
    content = file.read_bytes()
    return without_seconds(gzip.decompress(content) if file.suffix == ".gz" else content)


def without_seconds(content: bytes) -> bytes:
    """The same JSON, but for the seconds that replies took."""
    return _SECONDS.sub(b"", content)


def values(result: SampleResult) -> dict[str, float | None]:
    """The value of each metric of a sample."""
    return {name: score.value for name, score in result.scores.items()}


def reasons(result: SampleResult) -> dict[str, str]:
    """Why metrics of a sample have no value."""
    return {name: score.because for name, score in result.scores.items() if score.because}


def scored(
    values: Mapping[str, float | None], because: Reason = "unparsable", unit: str = "share"
) -> dict[str, Score]:
    """Scores of a sample that are not of claims; those without a value have the reason."""
    return {
        name: Score.undefined(because, unit) if value is None else Score.share(value)
        for name, value in values.items()
    }


def run(
    judges: Sequence[Judge | str],
    cache: Path,
    samples: Sequence[Sample] = (SAMPLE,),
    *,
    extractor: Judge | str | None = None,
    metrics: Sequence[str] = ("faithfulness",),
    extract_prompt: str = "atomic",
    assess_prompt: str = "three_way",
    **options: Any,
) -> Run:
    """Carries the evaluation out; what fails fails quickly unless `options` say otherwise."""
    progress = Progress(len(samples))
    quick: dict[str, Any] = {"attempts": 2, "timeout": 5.0, "backoff": 0.0}
    settled = RunOptions(**quick | options, cache=cache)
    wanted = ClaimsOptions(
        judges=judges,
        extractor=extractor,
        extract_prompt=extract_prompt,
        assess_prompt=assess_prompt,
    )
    job = make_job(wanted, select_metrics(metrics))
    memory = RunInMemory(job.manifest)
    sink = RunSink(memory, SummaryBuilder(memory.manifest, settled.prices))
    budget = run_identity(job.manifest, samples) if settled.capped else ""
    status = asyncio.run(run_job(job, samples, sink.add, settled, progress, run=budget))
    summary = sink.finish(status)
    return Run(memory.results, Outcome(summary, status), progress)


def attach(
    folder: Path, kind: str, results: Sequence[SampleResult], units: Mapping[str, str]
) -> None:
    """Write scores without a judge as a run attached to the run in a folder."""
    record = Manifest(job="measure", metrics=tuple(units), versions=versions())
    tallies = SummaryBuilder(record)
    with RunWriter(folder / kind, record) as writer:
        for result in tallies.each(results):
            writer.add(result)
        writer.finish(tallies.summary())
