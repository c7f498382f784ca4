"""Two runs over the same samples, compared in pairs: the Python door of `claimeval compare`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from claimeval.api import Report
from claimeval.report.comparison import compare as compare_folders
from claimeval.report.facts import Comparison


def compare(a: Report | str | Path, b: Report | str | Path, *, cluster: str | None = None) -> Comparison:
    """What b differs by from a: paired differences b - a with intervals and tests, and the claims that flipped.

    Reports or run directories; samples are aligned by id. Intervals and tests draw whole questions, or samples with
    the same value of the field `cluster`. DataError for a directory without a finished run, UsageError
    where the two share no metric or no sample.
    """
    with TemporaryDirectory() as folder:
        folders = _folder(a, Path(folder) / "a"), _folder(b, Path(folder) / "b")
        return compare_folders(*folders, cluster=cluster).comparison


def _folder(run: Report | str | Path, place: Path) -> Path:
    if not isinstance(run, Report):
        return Path(run)
    run.save(place)
    return place
