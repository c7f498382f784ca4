"""What can be judged again: a run directory, another tool's results, a file of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from claimeval.data.foreign import recognize
from claimeval.data.foreign.records import RecordedResults
from claimeval.data.reading import read_samples
from claimeval.evaluation.manifest import DataSource, Manifest, versions
from claimeval.providers import specs
from claimeval.runs.directory import MANIFEST, load_manifest, read_results
from claimeval.runs.import_replies import EXTRACTOR
from claimeval.types.records import Sample, SampleResult


class RejudgeSource(NamedTuple):
    """What is judged again: a run, another tool's results, or plain samples."""

    name: str
    results: Callable[[], Iterator[SampleResult]]
    """Goes over the samples anew each time it is called."""
    manifest: Manifest | None
    """None for plain samples."""


def open_source(path: Path, *, fields: Mapping[str, str] | None = None) -> RejudgeSource:
    """A run directory, a result file of another tool, or a file of samples."""
    if (path / MANIFEST).exists():
        return RejudgeSource(str(path), lambda: read_results(path), load_manifest(path))
    if not path.is_dir() and (found := recognize(path)):
        return _recorded(path, found)
    return RejudgeSource(str(path), lambda: map(_unjudged, read_samples(path, fields=fields)), None)


def _unjudged(sample: Sample) -> SampleResult:
    return SampleResult(sample=sample)


def _recorded(path: Path, judged: RecordedResults) -> RejudgeSource:
    record = Manifest(
        metrics=judged.metrics,
        derived=judged.derived,
        judges=judged.judges,
        extractor=EXTRACTOR,
        prompts=(),
        panel=specs.valid_settings(judged.panel_settings, judged.scale),
        data=DataSource(path=str(path)),
        versions=versions(),
    )
    return RejudgeSource(str(path), lambda: (sample.result for sample in judged.samples()), record)
