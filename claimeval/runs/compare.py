"""Runs over the same samples, aligned by sample id: pairs with their flipped claims, and series of two or more."""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.flips import ClaimPair, Flip, FlipTally, claim_pairs, counted_differently, flip
from claimeval.metrics.rows import Metric
from claimeval.runs.causes import Cause, Causes, CauseTally, Totals
from claimeval.runs.directory import (
    RunResults,
    attached,
    cluster_field,
    joint_names,
    load_manifest,
    load_summary,
)
from claimeval.runs.lines import ResultLine
from claimeval.runs.overview import (
    DiscordantCounts,
    MetricComparison,
    Overview,
    OverviewBuilder,
    PairedRuns,
    SampleChange,
    data_name,
    open_to_doubt,
)
from claimeval.runs.slices import SliceTally, check_field, value_of
from claimeval.statistics import holm, mcnemar_exact, paired_difference
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import SampleResult

SHOWN = 20
"""Flipped claims that are kept."""
MOVED = 5
"""Samples that moved most, named for each metric."""
CLAIMS = "claims"
"""The source of metrics of claims."""
Pairs = list[tuple[float | None, float | None]]
"""The values of samples in two runs."""


class _Tested(Protocol):
    """What has a p-value."""

    @property
    def p(self) -> float | None:
        """Return the p-value; None where nothing was tested."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with other fields."""


M = TypeVar("M", bound=_Tested)


class SamplePair(NamedTuple):
    """One sample in both runs."""

    a: SampleResult
    b: SampleResult

    @property
    def changed(self) -> bool:
        """Whether claims, labels or scores differ."""
        a, b = self
        return a.claims != b.claims or a.scores != b.scores or _labels(a) != _labels(b)


class LinePair(NamedTuple):
    """The lines of one sample in both runs."""

    a: ResultLine
    b: ResultLine

    def read(self, *, verdicts: bool = False) -> SamplePair:
        """Return the results; `verdicts` says to read them with verdicts in any case."""
        a, b = self
        return SamplePair(a.with_verdicts(), b.with_verdicts()) if verdicts else SamplePair(a.result, b.result)


class PairChanges(NamedTuple):
    """What differs between the two results of a sample."""

    flips: list[ClaimPair]
    causes: dict[str, dict[Cause, float]]
    """By metric, what each cause adds to the difference of the sample's values."""


class OtherRun:
    """A run whose results are looked up by sample id; of the results only their places in the file are held."""

    def __init__(self, folder: Path, each: Callable[[SampleResult], None] | None = None) -> None:
        """`each` is called with every result, once all pairs were made; without it the lines have no verdicts."""
        self.manifest = load_manifest(folder)
        self._folder, self._each = folder, each
        self._results, self._full = RunResults.of(folder), each is not None
        self._places: dict[str, int] = {}
        """Of the results that were passed so far."""
        self.totals = Totals()
        """Of all results, once all pairs were made."""

    def pairs(self, lines: Iterable[ResultLine]) -> Iterator[LinePair]:
        """Yield the lines that this run has too, with their counterparts; runs in one order are read side by side."""
        following = self._pass_by()
        for line in lines:
            if (place := self._places.get(line.id)) is not None:
                yield LinePair(line, self._results.line(place, full=self._full))
            elif counterpart := next((other for other in following if other.id == line.id), None):
                yield LinePair(line, counterpart)
        deque(following, maxlen=0)

    def _pass_by(self) -> Iterator[ResultLine]:
        """Yield the lines in order, and count them."""
        for place, line in enumerate(self._results.lines(full=self._full)):
            if self._places.setdefault(line.id, place) != place:
                raise DataError(f"{self._folder}: duplicate sample id {line.id!r}")
            self.totals.add(line.scores)
            if self._each:
                self._each(line.result)
            yield line


class ComparedRuns(NamedTuple):
    """Two runs and what they differ by."""

    a: Overview
    b: Overview
    comparison: PairedRuns


def compare(
    a: Path,
    b: Path,
    each: Callable[[SamplePair, PairChanges], None] | None = None,
    *,
    cluster: str | None = None,
    sliced: bool = False,
) -> ComparedRuns:
    """Compare two run directories as `differences` does; return what each run comes to as well.

    Args:
        a: The first run.
        b: The second run.
        each: As for `differences`.
        cluster: As for `differences`.
        sliced: Whether to split the differences by every field with 2 to 50 values.
    """
    gathered = OverviewBuilder(load_manifest(a)), OverviewBuilder(load_manifest(b))

    def add(pair: LinePair, changes: PairChanges) -> None:
        """Hand on the results of a sample."""
        if each:
            each(pair.read(), changes)

    paired = _paired(ComparisonBuilder(a, b, cluster, sliced=sliced), add, gathered)
    return ComparedRuns(gathered[0].facts(a), gathered[1].facts(b), paired)


def differences(
    a: Path,
    b: Path,
    each: Callable[[LinePair, PairChanges], None] | None = None,
    *,
    cluster: str | None = None,
    by: str | None = None,
) -> PairedRuns:
    """Compare two run directories. Of samples that are the same in both nothing but the scores is read.

    Args:
        a: The first run.
        b: The second run.
        each: Called with every shared sample and what changed in it.
        cluster: Field by which intervals and tests draw samples together. Default: the field of the first run.
        by: Field whose values are compared each by itself too, as in `metadata.topic`.

    Returns:
        The comparison of every shared metric.

    Raises:
        DataError: If one directory holds no finished run.
        UsageError: If the runs share no metric or no sample.
    """
    if by:
        check_field(by, (line.sample for line in RunResults.of(a).lines(full=False)))
    return _paired(ComparisonBuilder(a, b, cluster, by), each)


def _paired(
    comparing: ComparisonBuilder,
    each: Callable[[LinePair, PairChanges], None] | None,
    gathered: tuple[OverviewBuilder, OverviewBuilder] | None = None,
) -> PairedRuns:
    """Read two runs side by side; with what gathers them, verdicts and calls are read too."""
    a, b = comparing.folders
    other, totals = OtherRun(b, gathered[1].add if gathered else None), Totals()

    def lines() -> Iterator[ResultLine]:
        """Yield the lines of the first run, and count them in."""
        for line in totals.each(RunResults.of(a).lines(full=gathered is not None)):
            if gathered:
                gathered[0].add(line.result)
            yield line

    for pair in other.pairs(lines()):
        changes = comparing.add(pair)
        if each:
            each(pair, changes)
    return comparing.comparison((totals, other.totals))


class PairedValues:
    """The values of metrics in two runs, sample by sample."""

    def __init__(self, source: str, metrics: Mapping[str, Metric | None], cluster: str | None, causes: Causes) -> None:
        """`metrics` has the metrics by name; None for one that is not over claims."""
        self._source, self._cluster = source, cluster
        self._causes = CauseTally(causes, metrics)
        self.ids: list[str] = []
        self.clusters = array("q")
        self.values: dict[str, Pairs] = {name: [] for name in metrics}
        self._units: dict[str, str] = {}

    def add(self, pair: LinePair, changed: SamplePair | None) -> dict[str, dict[Cause, float]]:
        """Add a sample, with its results if they differ; return what each cause adds to the difference of its values,
        by metric."""
        a, b = pair
        self.ids.append(a.id)
        self.clusters.append(cluster_of(a.sample, self._cluster))
        for name, values in self.values.items():
            score = a.scores[name]
            self._units[name] = score.unit
            values.append((score.value, b.scores[name].value))
        return self._causes.add(a.id, a.scores, b.scores, changed)

    def explained(self, totals: tuple[Totals, Totals]) -> list[MetricComparison]:
        """Return a comparison for each metric with its causes; `totals` are over all samples of both runs."""
        parts = {name: self._causes.decomposition(name, *totals) for name in self.values}
        return [
            one.model_copy(update={"because": parts[one.metric].parts, "change": parts[one.metric].change})
            for one in self.compared()
        ]

    def compared(self, chosen: Sequence[int] | None = None) -> list[MetricComparison]:
        """Return a comparison for each metric over all samples, or over those at some places."""
        places = range(len(self.ids)) if chosen is None else chosen
        ids, clusters = [self.ids[i] for i in places], [self.clusters[i] for i in places]
        return [
            compared_values(name, self._source, ids, [values[i] for i in places], clusters, self._units.get(name))
            for name, values in self.values.items()
        ]


def compared_values(
    name: str, source: str, ids: Sequence[str], values: Pairs, clusters: Sequence[int], unit: str | None
) -> MetricComparison:
    """Return the comparison of one metric, from the values of each sample in both runs.

    Args:
        name: The name of the metric.
        source: The job that computed it.
        ids: The ids of the samples.
        values: The values of each sample in A and in B; None where there is none.
        clusters: The cluster of each sample.
        unit: That of the values.
    """
    both = [(x, y, sample) for sample, (x, y) in zip(ids, values, strict=True) if x is not None and y is not None]
    before, after = [x for x, _ in values], [y for _, y in values]
    paired = paired_difference(after, before, clusters=clusters, shares=unit == "share")
    moved = heapq.nlargest(MOVED, ((abs(y - x), sample, x, y) for x, y, sample in both if x != y))
    return MetricComparison(
        metric=name,
        source=source,
        n=len(both),
        clusters=paired.clusters,
        a=sum(x for x, _, _ in both) / len(both) if both else None,
        b=sum(y for _, y, _ in both) / len(both) if both else None,
        difference=Estimate.of(paired),
        p=paired.p,
        increased=sum(y > x for x, y, _ in both),
        decreased=sum(y < x for x, y, _ in both),
        dropped=paired.dropped,
        changed_samples=tuple(SampleChange(sample=sample, before=x, after=y) for _, sample, x, y in moved),
    )


class ComparisonBuilder:
    """Takes the shared samples of two runs one by one."""

    def __init__(
        self, a: Path, b: Path, cluster: str | None = None, by: str | None = None, *, sliced: bool = False
    ) -> None:
        """`a` and `b` are run directories; the others are as for `compare` and `differences`."""
        self.folders = a, b
        self._manifests = before, after = load_manifest(a), load_manifest(b)
        self._given, self._cluster, self._by = cluster, cluster_field(a, cluster), by
        self._slices: dict[str, list[int]] = {}
        self.metrics = shared_metrics(before, after)
        names: dict[str, Metric | None] = {metric.name: metric for metric in self.metrics}
        names |= dict.fromkeys((*shared_derived(before, after), *shared_others(before, after)))
        self._paired = PairedValues(source_of(before), names, self._cluster, Causes(before, after))
        self._sliced = SliceTally(tuple(names), self._cluster) if sliced else None
        self._discordant: Counter[tuple[str, bool]] = Counter()
        self._other_texts = self._other_claims = 0
        graded = before.panel.scale.ordered and before.panel.scale == after.panel.scale
        self._tally = FlipTally({(metric.claims_of, metric.against) for metric in self.metrics}, graded=graded)
        self._flips: list[Flip] = []
        """The first claims that flipped."""

    def add(self, lines: LinePair) -> PairChanges:
        """Count one sample in and return what changed in it."""
        a, b = lines
        if self._by:
            value = value_of(a.sample, self._by) or ""
            self._slices.setdefault(value, []).append(len(self._paired.ids))
        if self._sliced:
            self._sliced.add(a.sample, a.scores, b.scores)
        if a.same(b):
            self._tally.add_same(a.assessed())
            return PairChanges([], self._paired.add(lines, None))
        pair = lines.read(verdicts=len(self._flips) < SHOWN)  # which have the explanations of flips
        changed = pair.changed
        causes = self._paired.add(lines, pair if changed else None)
        if pair.a.sample != pair.b.sample:
            self._other_texts += _texts(pair.a) != _texts(pair.b)
        pairs = list(claim_pairs(pair.a, pair.b))
        flips = self._tally.add(pairs)
        self._flips += [flip(pair.a, one) for one in flips[: SHOWN - len(self._flips)]]
        if changed:
            self._other_claims += _claims(pair.a) != _claims(pair.b)
            self._count_discordant(pairs)
        return PairChanges(flips, causes)

    def _count_discordant(self, pairs: Sequence[ClaimPair]) -> None:
        for claim, before, after in pairs:
            for metric in self.metrics:
                if (claim.of, before.evidence.part) == (metric.claims_of, metric.against) and counted_differently(
                    before, after, graded=False
                ):
                    self._discordant[metric.name, before.support == "supported"] += 1

    def comparison(self, totals: tuple[Totals, Totals]) -> PairedRuns:
        """Return what the pairs of samples come to, with the metrics of attached runs.

        Args:
            totals: Sums of each metric over all samples of the one and the other run.

        Raises:
            UsageError: The runs share no sample.
        """
        a, b = (folder.resolve().name for folder in self.folders)
        summaries = [load_summary(folder) for folder in self.folders]
        inside = _attached(*self.folders, self._given)
        shared = len(self._paired.ids)
        if not shared:
            raise UsageError(f"the runs {a} and {b} have no sample id in common")
        of_claims = {metric.name for metric in self.metrics}
        metrics = [
            metric.model_copy(update={"discordant": self._in_one_only(metric.metric)})
            if metric.metric in of_claims
            else metric
            for metric in self._paired.explained(totals)
        ]
        names = joint_names([(metric.source, metric.metric) for metric in inside.metrics], self._paired.values)
        metrics += [m.model_copy(update={"metric": names[m.source, m.metric]}) for m in inside.metrics]
        if not metrics:
            metric_names = [", ".join(manifest.names) for manifest in self._manifests]
            raise UsageError(
                f"the runs have no metric in common: one has {metric_names[0]}, the other {metric_names[1]}"
            )
        return PairedRuns(
            a=a,
            b=b,
            shared=shared,
            clusters=len(set(self._paired.clusters)),
            cluster=self._cluster,
            only_a=summaries[0].samples - shared,
            only_b=summaries[1].samples - shared,
            changed_texts=self._other_texts,
            changed_claims=self._other_claims,
            settings=(*changed_settings(*self._manifests), *inside.settings),
            abstained=tuple(self._abstained(*summaries)),
            metrics=tuple(adjusted(metrics)),
            by=self._by_value(),
            slices=tuple(map(self._sliced.changes, self._sliced.fields)) if self._sliced else (),
            **self._tally.counts()._asdict(),
            flips=tuple(self._flips),
        )

    def _by_value(self) -> dict[str, tuple[MetricComparison, ...]]:
        slices = sorted(self._slices.items(), key=lambda item: -len(item[1]))
        compared = {value: self._paired.compared(places) for value, places in slices}
        counts = Counter[str]()
        for metrics in compared.values():
            counts.update({metric.metric: metric.n for metric in metrics})
        compared = {
            value: [
                metric.model_copy(update={"contribution": metric.difference.value * metric.n / counts[metric.metric]})
                if metric.difference.value is not None
                else metric
                for metric in metrics
            ]
            for value, metrics in compared.items()
        }
        return _adjusted_by(compared)

    def _in_one_only(self, metric: str) -> DiscordantCounts:
        a, b = self._discordant[metric, True], self._discordant[metric, False]
        return DiscordantCounts(only_a=a, only_b=b, p=mcnemar_exact(a, b))

    def _abstained(self, a: Summary, b: Summary) -> Iterator[str]:
        for name, summary in (("A", a), ("B", b)):
            shared = {metric: one for metric, one in summary.metrics.items() if metric in self._paired.values}
            if counts := open_to_doubt(shared):
                yield f"{name}: {counts}. The difference says little."


def source_of(manifest: Manifest) -> str:
    """Return whose scores the metrics of a run are."""
    return CLAIMS if manifest.of_claims else manifest.job


def shared_metrics(a: Manifest, b: Manifest) -> tuple[Metric, ...]:
    """Return the metrics over claims that two runs share, by name and by what they compare."""
    theirs = {(other.name, other.claims_of, other.against) for other in b.rows}
    return tuple(metric for metric in a.rows if (metric.name, metric.claims_of, metric.against) in theirs)


def shared_derived(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """Return the metrics read off verdicts that two runs share."""
    return tuple(name for name in a.derived if name in b.derived)


def shared_others(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """Return the metrics that are not over claims and that two runs of one job share."""
    return tuple(name for name in a.others if name in b.others and a.job == b.job)


def adjusted(compared: Sequence[M]) -> list[M]:
    """Return the comparisons with p after Holm's correction over all of them."""
    by_holm = iter(holm([one.p for one in compared if one.p is not None]))
    return [one if one.p is None else one.model_copy(update={"p_adjusted": next(by_holm)}) for one in compared]


def _adjusted_by(compared: Mapping[str, Sequence[MetricComparison]]) -> dict[str, tuple[MetricComparison, ...]]:
    """Return the comparisons by value of a field with p after Holm's correction over all of them."""
    tested = iter(adjusted([metric for metrics in compared.values() for metric in metrics]))
    return {value: tuple(itertools.islice(tested, len(metrics))) for value, metrics in compared.items()}


def limited(compared: PairedRuns, names: Collection[str]) -> PairedRuns:
    """Return the comparison of some metrics, as if the runs had no others; `names` are with or without their source."""

    def chosen(metrics: Iterable[MetricComparison]) -> list[MetricComparison]:
        """Return the chosen ones of these metrics."""
        return [one for one in metrics if {one.metric, one.metric.rpartition("/")[2]} & set(names)]

    by = {value: chosen(metrics) for value, metrics in compared.by.items()}
    return compared.model_copy(update={"metrics": tuple(adjusted(chosen(compared.metrics))), "by": _adjusted_by(by)})


class Attached(NamedTuple):
    """What the runs of other jobs inside two run directories differ by."""

    metrics: tuple[MetricComparison, ...] = ()
    settings: tuple[str, ...] = ()


def _attached(a: Path, b: Path, cluster: str | None) -> Attached:
    """Compare the metrics that attached runs of the same name have in both run directories."""
    metrics: list[MetricComparison] = []
    settings: list[str] = []
    theirs = attached(b)
    for job, inside in attached(a).items():
        if job not in theirs:
            continue
        before, after = load_manifest(inside), load_manifest(theirs[job])
        # their data are the two runs, whose own difference is said already
        settings += [f"{job}, {line}" for line in changed_settings(before, after) if not line.startswith("data: ")]
        names: dict[str, Metric | None] = dict.fromkeys(shared_others(before, after))
        paired = PairedValues(job, names, cluster or before.cluster, Causes(before, after))
        totals, other = Totals(), OtherRun(theirs[job])
        for lines in other.pairs(totals.each(RunResults.of(inside).lines(full=False))):
            pair = None if lines.a.same(lines.b) else lines.read()
            paired.add(lines, pair if pair and pair.changed else None)
        metrics += paired.explained((totals, other.totals)) if paired.ids else ()
    return Attached(tuple(metrics), tuple(settings))


def _texts(result: SampleResult) -> tuple[object, ...]:
    sample = result.sample
    contexts = tuple((document.id, document.text) for document in sample.contexts or ())
    return sample.question, sample.answer, contexts, sample.reference_answers, sample.evidence


def _labels(result: SampleResult) -> list[tuple[object, ...]]:
    """Return what labels claims have, as far as it counts."""
    return [(one.subject, one.evidence, one.label, one.positive, one.tied) for one in result.assessments]


def _claims(result: SampleResult) -> list[tuple[str, str]]:
    return [(claim.id, claim.text) for claim in result.claims]


def _prompt_names(manifest: Manifest) -> dict[str, str]:
    """Return the prompts of a run by step; who was asked with which, where that differs from judge to judge."""
    by_step: dict[str, list[str]] = {}
    for prompt in manifest.prompts:
        judges = [judge for judge, prompts in manifest.asked_with.items() if prompt.id in prompts]
        some = f" to {', '.join(judges)}" if judges and len(judges) < len(manifest.judges) else ""
        by_step.setdefault(f"{prompt.step} prompt", []).append(f"{prompt.name} ({prompt.id}){some}")
    return {step: ", ".join(prompts) for step, prompts in by_step.items()}


def changed_settings(a: Manifest, b: Manifest) -> Iterator[str]:
    """Yield what differs between two manifests."""

    def told(manifest: Manifest) -> dict[str, str]:
        """Return what a reader must know of a run."""
        return {
            "data": data_name(manifest) or "given in Python",
            "judges": ", ".join(judge.name for judge in manifest.judges),
            "extractor": manifest.extractor.name if manifest.extractor else "none",
            **_prompt_names(manifest),
            "metrics": ", ".join(manifest.names),
            "documents": "one by one" if manifest.panel.per_document else "together",
            **{name: str(value) for name, value in manifest.settings.items()},
        }

    before, after = told(a), told(b)
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, 'none')} → {after.get(name, 'none')}"
    same_names = before["judges"] == after["judges"] and before["extractor"] == after["extractor"]
    if same_names and (a.judges, a.extractor) != (b.judges, b.extractor):
        yield "judges: same names, other settings"
