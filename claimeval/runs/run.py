"""The result of a run in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary.run import Summary
from claimeval.runs.directory import RunWriter, load_manifest, load_summary, read_results
from claimeval.types.errors import UsageError
from claimeval.types.records import Claim, SampleResult

if TYPE_CHECKING:
    import pandas


class Run(NamedTuple):
    """An evaluation: every sample's claims, verdicts and scores, and what they add up to."""

    results: tuple[SampleResult, ...]
    summary: Summary
    manifest: Manifest

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {metric.mean}" for name, metric in self.summary.metrics.items())
        return f"<Run of {len(self.results)} samples: {means}>"

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Writes a run directory: manifest, results, summary."""
        with RunWriter(Path(folder), self.manifest, overwrite=overwrite) as writer:
            for result in self.results:
                writer.add(result)
            writer.finish(self.summary)

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Reads a run directory; DataError where it is none."""
        folder = Path(folder)
        return cls(tuple(read_results(folder)), load_summary(folder), load_manifest(folder))

    @property
    def claims(self) -> Iterator[tuple[SampleResult, Claim]]:
        """Every claim with the result it belongs to."""
        return ((result, claim) for result in self.results for claim in result.claims)

    def to_pandas(self) -> pandas.DataFrame:
        """A row a sample, indexed by sample id: per metric its value (NaN where undefined) and `METRIC_because`."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError("a table needs pandas: pip install 'claimeval[pandas]'") from error

        table = pandas.DataFrame(
            [
                {"id": result.sample.id}
                | {score.metric: score.value for score in result.scores}
                | {f"{score.metric}_because": score.undefined_because for score in result.scores}
                for result in self.results
            ],
            columns=[
                "id",
                *(column for name in self._metrics for column in (name, f"{name}_because")),
            ],
        ).set_index("id")
        return table.astype(dict.fromkeys(self._metrics, "float64"))

    @property
    def _metrics(self) -> tuple[str, ...]:
        return self.manifest.names
