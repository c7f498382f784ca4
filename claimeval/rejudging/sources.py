"""What can be judged again: a run directory, another tool's results, a file of samples, a report in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from claimeval import lineups
from claimeval.api import Report
from claimeval.data.judged import Judged
from claimeval.data.reading import read_samples
from claimeval.data.result_files import recognised
from claimeval.importing import EXTRACTOR
from claimeval.records import Sample, SampleResult
from claimeval.run import MANIFEST, Manifest, load_manifest, read_results, versions


class Source(NamedTuple):
    """What is judged again: a run, another tool's results, or plain samples."""

    name: str
    results: Callable[[], Iterator[SampleResult]]
    """Goes over the samples anew each time it is called."""
    manifest: Manifest | None
    """None for plain samples."""


def open_source(path: Path, *, fields: Mapping[str, str] | None = None) -> Source:
    """A run directory, a result file of another tool, or a file of samples."""
    if (path / MANIFEST).exists():
        return Source(str(path), lambda: read_results(path), load_manifest(path))
    if not path.is_dir() and (found := recognised(path)):
        return _recorded(path, found)
    return Source(str(path), lambda: map(_unjudged, read_samples(path, fields=fields)), None)


def _unjudged(sample: Sample) -> SampleResult:
    return SampleResult(sample=sample)


def _recorded(path: Path, judged: Judged) -> Source:
    record = Manifest(
        metrics=judged.metrics,
        derived=judged.derived,
        judges=judged.judges,
        extractor=EXTRACTOR,
        prompts=(),
        panel=lineups.valid_settings(judged.asked, set(judged.labels)),
        data=str(path),
        versions=versions(),
    )
    return Source(str(path), lambda: (sample.result for sample in judged.samples()), record)


def of_report(report: Report) -> Source:
    """A report as a source."""
    return Source(report.manifest.data or "report", lambda: iter(report.results), report.manifest)
