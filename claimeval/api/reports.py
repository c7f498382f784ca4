"""Scores that are not of claims, as front doors give them: in memory, to be saved beside a run or made a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.api.data import Data, results_of, samples_of
from claimeval.api.run import raise_if_stopped
from claimeval.evaluation.run import Work, score_each
from claimeval.metrics.scoring import SampleScores, clustered
from claimeval.runs import scores
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Sample, SampleResult

if TYPE_CHECKING:
    import pandas


class Material(NamedTuple):
    """What was given."""

    samples: list[Sample]
    results: Sequence[SampleResult]
    """Of the run, where it is one."""


class SideReport(NamedTuple):
    """Scores that are not of claims: a row a sample, and what they add up to."""

    rows: tuple[SampleScores, ...]
    summary: scores.ScoresSummary

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {metric.mean}" for name, metric in self.summary.metrics.items())
        return f"<{self.summary.kind} of {len(self.rows)} samples: {means}>"

    def save(self, folder: str | Path) -> None:
        """Writes `scores/KIND.jsonl` and `.json` into a folder, as a rule that of a run over the same samples."""
        scores.write(Path(folder), self.summary.kind, self.rows, self.summary.settings, self.summary.cluster)

    def to_pandas(self) -> pandas.DataFrame:
        """A row a sample, indexed by sample id: per score its value (NaN where undefined) and `SCORE_because`."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError("a table needs pandas: pip install 'claimeval[pandas]'") from error

        names = list(self.summary.metrics)
        table = pandas.DataFrame(
            [
                {"id": row.id}
                | {name: row.values[name] for name in names}
                | {f"{name}_because": row.reasons.get(name) for name in names}
                for row in self.rows
            ],
            columns=["id", *(column for name in names for column in (name, f"{name}_because"))],
        ).set_index("id")
        return table.astype(dict.fromkeys(names, "float64"))


async def judged(
    samples: Sequence[Sample],
    work: Work,
    kind: str,
    settings: Mapping[str, str],
    options: RunOptions,
) -> SideReport:
    """The scores that a work gives the samples; raises where it stopped early."""
    check_cluster(options.cluster, samples)
    rows, ending = await score_each(samples, work, options=options, progress=Progress(len(samples), options.progress))
    raise_if_stopped(ending)
    return reported(rows, samples, kind, settings, options.cluster)


def reported(
    found: Iterable[SampleScores],
    samples: Sequence[Sample],
    kind: str,
    settings: Mapping[str, str],
    cluster: str | None,
) -> SideReport:
    """The rows of all samples with what they add up to."""
    rows = tuple(clustered(found, samples, cluster))
    sums = scores.ScoresTally()
    for row in rows:
        sums.add(row)
    return SideReport(rows, sums.summary(kind, settings, cluster))


def material(data: Data) -> Material:
    """The samples, and the results of the run where it is one."""
    return Material(list(samples_of(data)), list(results_of(data)))
