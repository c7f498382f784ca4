"""What the commands share whose scores stand beside those of judges: where samples come from and scores go."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from claimeval.data.reading import parse_fields, read_samples
from claimeval.metrics.scoring import SampleScores, clustered
from claimeval.runs.directory import RESULTS, load_manifest, read_results
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Sample


class Place:
    """The samples of a data file or a run, and the run directory that their scores go to."""

    def __init__(
        self,
        data: Path,
        kind: str,
        *,
        out: Path | None,
        fields: tuple[str, ...],
        limit: int | None,
        cluster: str | None = None,
    ) -> None:
        run = data if (data / RESULTS).exists() else out
        if run and limit and (run / RESULTS).exists():
            raise UsageError("--limit would leave samples of the run without scores; leave it out")
        self.folder = run or Path("runs") / f"{data.stem}-{kind}"
        self._data = data
        self._fields = parse_fields(list(fields))
        self._limit = limit
        self._run = run if run and run != data and (run / RESULTS).exists() else None
        if cluster is None and run and (run / RESULTS).exists():
            cluster = load_manifest(run).cluster
        else:
            check_cluster(cluster, self.samples())
        self.cluster = cluster
        """The field by which samples belong together: the given one, or that of the run; None for the question."""

    def samples(self) -> Iterator[Sample]:
        """The samples, read anew.

        DataError where they are not those of the run that they are to stand beside, and for an id that stands twice.
        """
        samples: Iterator[Sample]
        if (self._data / RESULTS).exists():
            samples = (result.sample for result in read_results(self._data))
        else:
            samples = _different(read_samples(self._data, fields=self._fields))
        chosen = itertools.islice(samples, self._limit)
        return _same_samples(chosen, self._run) if self._run else chosen

    def clustered(self, rows: Iterable[SampleScores]) -> Iterator[SampleScores]:
        """The rows of all samples, with what these belong to."""
        return clustered(rows, self.samples(), self.cluster)


def _different(samples: Iterator[Sample]) -> Iterator[Sample]:
    """The samples, made sure to have ids of their own."""
    seen: dict[str, int] = {}
    for number, sample in enumerate(samples, 1):
        if (first := seen.setdefault(sample.id, number)) != number:
            raise DataError(f"Duplicate sample id {sample.id!r} (samples {first} and {number}); ids must be unique")
        yield sample


def _same_samples(samples: Iterator[Sample], run: Path) -> Iterator[Sample]:
    """The samples, made sure to be those of the run, in its order."""
    for ours, theirs in itertools.zip_longest(samples, read_results(run)):
        if ours is None or theirs is None or ours.id != theirs.sample.id:
            found = "no more samples" if ours is None else repr(ours.id)
            wanted = "no more samples" if theirs is None else repr(theirs.sample.id)
            raise DataError(f"the data has {found} where the run {run} has {wanted}; they must be the same samples")
        yield ours
