"""A folder of runs: which there are and what each came to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from claimeval.runs.directory import MANIFEST, RESULTS, SUMMARY, load_manifest, load_summary
from claimeval.runs.overview import data_name
from claimeval.types.errors import DataError

DEPTH = 4
"""Folders below the given one in which runs are looked for."""


class RunEntry(NamedTuple):
    """One run in the list. Without a summary `problem` says why."""

    name: str
    """Its path below the folder, with `/`; `.` for the folder itself."""
    changed: float
    """When its summary was written, in seconds since 1970."""
    data: str
    judges: tuple[str, ...]
    samples: int
    complete: bool
    metrics: dict[str, tuple[float | None, tuple[float, float] | None]]
    """Mean and interval by metric."""
    problem: str | None = None


def runs(folder: Path) -> dict[str, Path]:
    """The run directories in a folder by name, without following links."""
    return dict(sorted((path.relative_to(folder).as_posix(), path) for path in _find(folder, DEPTH)))


def _find(folder: Path, depth: int) -> Iterator[Path]:
    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    names = {entry.name for entry in entries}
    if {MANIFEST, RESULTS} <= names:
        yield folder
    elif depth:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.R_OK | os.X_OK):
                yield from _find(Path(entry.path), depth - 1)


def listed(name: str, path: Path) -> RunEntry:
    """What the list says of a run."""
    try:
        manifest, summary = load_manifest(path), load_summary(path)
    except DataError as error:
        return RunEntry(name, 0.0, "", (), 0, False, {}, str(error))
    return RunEntry(
        name=name,
        changed=(path / SUMMARY).stat().st_mtime,
        data=data_name(manifest) or "",
        judges=tuple(manifest.short_names[judge.name] for judge in manifest.judges),
        samples=summary.samples,
        complete=summary.complete,
        metrics={metric: (found.mean, found.ends) for metric, found in summary.metrics.items()},
    )
