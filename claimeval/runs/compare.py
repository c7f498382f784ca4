"""Two runs over the same samples: aligned by sample id, compared in pairs, with the claims that flipped."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.flips import Flip, FlipTally
from claimeval.metrics.rows import Metric
from claimeval.runs.directory import RESULTS, cluster_field, from_line, load_manifest, read_results
from claimeval.runs.overview import (
    Gathering,
    MetricComparison,
    Overview,
    PairedRuns,
    data_name,
    open_to_doubt,
)
from claimeval.statistics import holm, paired_difference
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import SampleResult

SHOWN = 20


class SamplePair(NamedTuple):
    """One sample in both runs."""

    a: SampleResult
    b: SampleResult


class Other:
    """A run whose results are looked up by sample id; of the results only their places in the file are held."""

    def __init__(self, folder: Path) -> None:
        self.manifest = load_manifest(folder)
        gathering = Gathering(self.manifest)
        self._path = folder / RESULTS
        self._places: dict[str, int] = {}
        place = 0
        for result, length in zip(read_results(folder), _lengths(self._path), strict=True):
            self._places[result.sample.id] = place
            place += length
            gathering.add(result)
        self.facts: Overview = gathering.facts(folder)

    def pairs(self, results: Iterator[SampleResult]) -> Iterator[SamplePair]:
        """The results that this run has too, each with its counterpart."""
        with self._path.open("rb") as file:
            for result in results:
                if (place := self._places.get(result.sample.id)) is not None:
                    file.seek(place)
                    yield SamplePair(result, from_line(file.readline()))


def _lengths(path: Path) -> Iterator[int]:
    """The lengths of a file's lines in bytes."""
    with path.open("rb") as file:
        yield from map(len, file)


class Compared(NamedTuple):
    """Two runs and what they differ by."""

    a: Overview
    b: Overview
    comparison: PairedRuns


def compare(
    a: Path, b: Path, each: Callable[[SamplePair, int], None] | None = None, *, cluster: str | None = None
) -> Compared:
    """Compare two run directories.

    Args:
        a: The first run.
        b: The second run.
        each: Called with every shared sample and its number of flipped claims.
        cluster: Field by which intervals and tests draw samples together. Default: the field of the first run.

    Returns:
        The comparison of every shared metric.

    Raises:
        DataError: If one directory holds no finished run.
        UsageError: If the runs share no metric or no sample.
    """
    other, manifest = Other(b), load_manifest(a)
    gathering, comparing = Gathering(manifest), Comparing(manifest, other.manifest, cluster_field(a, cluster))

    def counted() -> Iterator[SampleResult]:
        for result in read_results(a):
            gathering.add(result)
            yield result

    for pair in other.pairs(counted()):
        flipped = comparing.add(pair)
        if each:
            each(pair, flipped)
    facts = gathering.facts(a)
    return Compared(facts, other.facts, comparing.comparison(facts, other.facts))


class Comparing:
    """Takes the shared samples of two runs one by one."""

    def __init__(self, a: Manifest, b: Manifest, cluster: str | None) -> None:
        self._a, self._b, self._cluster = a, b, cluster
        self._clusters = array("q")
        self.metrics = shared_metrics(a, b)
        derived = (name for name in a.derived if name in b.derived)
        names = (*(metric.name for metric in self.metrics), *derived, *shared_units(a, b))
        self._values: dict[str, list[tuple[float | None, float | None]]] = {name: [] for name in names}
        self._other_texts = self._other_claims = 0
        self._tally = flip_tally(a, b)
        self._flips: list[Flip] = []

    def add(self, pair: SamplePair) -> int:
        """Counts one sample in and says how many of its claims flipped."""
        self._clusters.append(cluster_of(pair.a.sample, self._cluster))
        for name, values in self._values.items():
            values.append((pair.a.score(name).value, pair.b.score(name).value))
        self._other_texts += _texts(pair.a) != _texts(pair.b)
        self._other_claims += _claims(pair.a) != _claims(pair.b)
        found = self._tally.add(pair.a, pair.b)
        self._flips += found[: SHOWN - len(self._flips)]
        return len(found)

    def comparison(self, a: Overview, b: Overview) -> PairedRuns:
        """What the pairs come to. UsageError where the runs share no sample."""
        shared = len(self._clusters)
        if not shared:
            raise UsageError(f"the runs {a.name} and {b.name} have no sample id in common")
        metrics = [pair_up(name, values, self._clusters) for name, values in self._values.items()]
        tested = [i for i, metric in enumerate(metrics) if metric.p is not None]
        adjusted = dict(zip(tested, holm([metrics[i].p or 0.0 for i in tested]), strict=True))
        return PairedRuns(
            a=a.name,
            b=b.name,
            shared=shared,
            clusters=len(set(self._clusters)),
            cluster=self._cluster,
            only_a=a.summary.samples - shared,
            only_b=b.summary.samples - shared,
            other_texts=self._other_texts,
            other_claims=self._other_claims,
            settings=tuple(changed_settings(self._a, self._b)),
            abstained=tuple(self._abstained(a, b)),
            metrics=tuple(m.model_copy(update={"p_adjusted": adjusted.get(i)}) for i, m in enumerate(metrics)),
            **self._tally.counts()._asdict(),
            flips=tuple(self._flips),
        )

    def _abstained(self, a: Overview, b: Overview) -> Iterator[str]:
        for name, facts in (("A", a), ("B", b)):
            shared = {metric: found for metric, found in facts.summary.metrics.items() if metric in self._values}
            if said := open_to_doubt(shared):
                yield f"{name}: {said}. The difference says little."


def shared_metrics(a: Manifest, b: Manifest) -> tuple[Metric, ...]:
    """The metrics over claims that two runs share, by name and by what they compare.

    UsageError if they share no metric at all.
    """
    metrics = tuple(metric for metric in a.metrics if _row(metric) in {_row(other) for other in b.metrics})
    if not metrics and not shared_units(a, b):
        names = [", ".join(manifest.names) for manifest in (a, b)]
        raise UsageError(f"the runs have no metric in common: one has {names[0]}, the other {names[1]}")
    return metrics


def shared_units(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """The metrics that are not over claims and have the same unit in both runs."""
    return tuple(name for name, unit in a.units.items() if b.units.get(name) == unit)


def flip_tally(a: Manifest, b: Manifest) -> FlipTally:
    """Counts flips between two runs, over the claims and evidence that metrics of both score."""
    graded = a.panel.scale.ordered and a.panel.scale == b.panel.scale
    return FlipTally({(metric.claims_of, metric.against) for metric in shared_metrics(a, b)}, graded=graded)


def pair_up(name: str, values: list[tuple[float | None, float | None]], clusters: Sequence[int]) -> MetricComparison:
    """One metric from its values in both runs, sample by sample, and what each sample belongs to."""
    both = [(x, y) for x, y in values if x is not None and y is not None]
    paired = paired_difference([y for _, y in values], [x for x, _ in values], clusters=clusters)
    return MetricComparison(
        metric=name,
        n=len(both),
        clusters=paired.clusters,
        a=sum(x for x, _ in both) / len(both) if both else None,
        b=sum(y for _, y in both) / len(both) if both else None,
        difference=Estimate.of(paired),
        p=paired.p,
        p_adjusted=None,
        higher=sum(y > x for x, y in both),
        lower=sum(y < x for x, y in both),
        dropped=paired.dropped,
    )


def _row(metric: Metric) -> tuple[str, str, str]:
    return metric.name, metric.claims_of, metric.against


def _texts(result: SampleResult) -> tuple[object, ...]:
    sample = result.sample
    contexts = tuple((document.id, document.text) for document in sample.contexts or ())
    return sample.question, sample.answer, contexts, sample.reference_answers, sample.evidence


def _claims(result: SampleResult) -> list[tuple[str, str]]:
    return [(claim.id, claim.text) for claim in result.claims]


def _prompts_told(manifest: Manifest) -> dict[str, str]:
    """The prompts of a run by step; who was asked with which, where that differs from judge to judge."""
    told: dict[str, list[str]] = {}
    for prompt in manifest.prompts:
        asked = [judge for judge, prompts in manifest.asked_with.items() if prompt.id in prompts]
        some = f" to {', '.join(asked)}" if asked and len(asked) < len(manifest.judges) else ""
        told.setdefault(f"{prompt.step} prompt", []).append(f"{prompt.name} ({prompt.id}){some}")
    return {step: ", ".join(prompts) for step, prompts in told.items()}


def changed_settings(a: Manifest, b: Manifest) -> Iterator[str]:
    """What differs between two manifests."""

    def told(manifest: Manifest) -> dict[str, str]:
        return {
            "data": data_name(manifest) or "given in Python",
            "judges": ", ".join(judge.name for judge in manifest.judges),
            "extractor": manifest.extractor.name if manifest.extractor else "none",
            **_prompts_told(manifest),
            "metrics": ", ".join(manifest.names),
            "documents": "one by one" if manifest.panel.per_document else "together",
        }

    before, after = told(a), told(b)
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, 'none')} → {after.get(name, 'none')}"
    same_names = before["judges"] == after["judges"] and before["extractor"] == after["extractor"]
    if same_names and (a.judges, a.extractor) != (b.judges, b.extractor):
        yield "judges: same names, other settings"
