"""Runs side by side: `compare`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from claimeval.api.run import Run
from claimeval.runs.compare import compare as compare_folders
from claimeval.runs.overview import Comparison


def compare(a: Run | str | Path, b: Run | str | Path, *, cluster: str | None = None) -> Comparison:
    """Compare two runs over the same samples, paired by sample id.

    Args:
        a: A run or its directory.
        b: The other one; differences are b minus a.
        cluster: The field whose equal values are one cluster in intervals and tests. Default: as in the first run.

    Returns:
        Paired differences with intervals and tests, and the claims that flipped.

    Raises:
        DataError: A directory holds no finished run.
        UsageError: The two share no metric or no sample.
    """
    with ExitStack() as stack:
        folders = [stack.enter_context(run.on_disk()) if isinstance(run, Run) else Path(run) for run in (a, b)]
        return compare_folders(folders[0], folders[1], cluster=cluster).comparison
