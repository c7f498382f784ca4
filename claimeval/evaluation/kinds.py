"""The kinds of jobs: each is declared by one row in the file of the job, in this package or in
another.

Another package names its row by an entry point of the group `claimeval.jobs`: `tone =
"my_package.tone:KIND"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import PanelOptions

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from claimeval.evaluation.job import Job
    from claimeval.evaluation.manifest import Manifest
    from claimeval.types.records import Sample, SampleResult
    from claimeval.types.requests import Judge

ENTRY_POINTS = "claimeval.jobs"
"""The group of entry points by which other packages declare jobs."""


class Judging(NamedTuple):
    """What every judged job is told."""

    judges: Sequence[str | Judge]
    panel: PanelOptions = PanelOptions()
    cluster: str | None = None
    """Field that defines clusters of samples in intervals."""


class JobKind(NamedTuple):
    """A job: how it is prepared and resumed, and what its runs have beyond results and scores."""

    name: str
    """The name in manifests, and of the command."""
    options: type[Any] | None = None
    """A frozen dataclass of the job's own options, each with a default; its docstrings are the help
    of the command."""
    prepare: Callable[[Judging, Any, Iterable[Sample]], Job[Any]] | None = None
    """Return the job for these options, checked against the samples; None if it has a function of
    its own."""
    resume: Callable[[Manifest], Any] | None = None
    """Return the job of a run, to vote or judge again; None if that is impossible.

    The manifest may have other metrics, judges, prompts and panels than the run: those of a
    rejudge.
    """
    counts: Callable[[Manifest, Iterable[SampleResult]], Mapping[str, Mapping[str, int]]] | None = (
        None
    )
    """Return counts to print with a run, by name and word."""
    in_shards: bool = True
    """Whether a run can be split into shards."""
    unique: bool = True
    """Whether two results cannot have the same sample id."""
    revise: Callable[[], Callable[[SampleResult], SampleResult]] | None = None
    """Return what revises each result when all are known; None if nothing does."""
    qrels: Callable[[Manifest, Iterable[SampleResult]], dict[str, dict[str, int]]] | None = None
    """Return grades of documents by sample, which are written as qrels."""
    samples: Callable[[Manifest, Iterable[SampleResult]], Iterable[Sample]] | None = None
    """Return the samples that the run made; None if its samples are those that were judged."""


JOBS = {
    "score": "claims",
    "rate": "rate",
    "grade": "grade",
    "measure": "measure",
    "extraction": "extraction",
    "write_queries": "write_queries",
    "locate": "locate",
}
"""The modules of the jobs of this package, which are imported when they are needed; each has its
row as `KIND`."""
WRITTEN_OUT = frozenset(
    {"score", "rate", "grade", "measure", "extraction", "write_queries", "locate"}
)
"""The jobs whose command and function are written out; those of others are made from the row."""


@cache
def installed() -> EntryPoints:
    """Return the jobs of other packages."""
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def made_names() -> tuple[str, ...]:
    """Return the names of the jobs whose command and function are made from the row, as for those
    of other packages."""
    return tuple(sorted((installed().names | JOBS.keys()) - WRITTEN_OUT))


@cache
def kind(name: str) -> JobKind:
    """Return the kind of a job.

    Raises:
        DataError: Neither this version nor an installed package has the job.
        UsageError: The package that has it cannot be loaded.
    """
    if name in JOBS:
        row: JobKind = import_module(f"claimeval.evaluation.{JOBS[name]}").KIND
        return row
    for entry in installed().select(name=name):
        try:
            loaded = entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"the job {name!r} of the entry point {entry.value!r} cannot be loaded: {error}"
            ) from error
        if not isinstance(loaded, JobKind) or loaded.name != name:
            raise UsageError(
                f"the entry point {entry.value!r} is not a JobKind with the name {name!r}"
            )
        return loaded
    raise DataError(f"the job {name!r} is neither in this version nor in an installed package")


def kind_of(manifest: Manifest) -> JobKind:
    """Return the kind of a run's job. Raises errors as `kind` does."""
    return kind(manifest.job)
