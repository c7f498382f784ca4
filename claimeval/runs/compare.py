"""Comparison of two runs over the same samples, paired by id or question: differences, tests, flips
and causes."""

from __future__ import annotations

import itertools
from array import array
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.flips import (
    ClaimPair,
    Flip,
    FlipTally,
    assessments_by_text,
    claim_pairs,
    flip,
)
from claimeval.metrics.rows import Metric
from claimeval.runs.by_rank import ByRank, by_rank
from claimeval.runs.causes import Cause, Causes, CauseTally, Totals
from claimeval.runs.directory import (
    RunResults,
    attached,
    cluster_field,
    joint_names,
    load_manifest,
    load_summary,
)
from claimeval.runs.drift import RelabeledTally
from claimeval.runs.inputs import Facts, Inputs
from claimeval.runs.notes import open_to_doubt
from claimeval.runs.overview import (
    ContradictedAnswers,
    DiscordantCounts,
    MetricComparison,
    Overview,
    OverviewBuilder,
    PairedRuns,
    Pairs,
    data_name,
)
from claimeval.runs.pairing import (
    NO_NUMBERS,
    Asked,
    EqualQuestions,
    JoinedClusters,
    PairedBy,
    PairKeys,
    check_paired,
    equal_questions,
    paired_by,
)
from claimeval.runs.slices import SliceTally, check_field, value_of
from claimeval.statistics import holm, mcnemar_exact
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Sample, SampleResult, ScoredSample

SHOWN = 20
"""Flipped claims that a comparison lists."""
CLAIMS = "claims"
"""The source of metrics of claims."""


class _Tested(Protocol):
    """A record with a p-value."""

    @property
    def p(self) -> float | None:
        """The p-value; None if nothing was tested."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with other fields."""


M = TypeVar("M", bound=_Tested)


T = TypeVar("T", bound=ScoredSample)


class Pair(NamedTuple, Generic[T]):
    """One sample in both runs."""

    a: T
    b: T

    @property
    def changed(self) -> bool:
        """Whether claims, labels or scores differ."""
        a, b = self
        return a.claims != b.claims or a.scores != b.scores or _labels(a) != _labels(b)


class PairChanges(NamedTuple):
    """Flips and causes of a sample, and the documents that changed."""

    flips: list[ClaimPair]
    causes: dict[str, dict[Cause, float]]
    """By metric, the contribution of each cause to the difference of the sample's values."""
    documents: Sequence[tuple[str, str]]
    """What happened to documents, and their names."""


class SharedSamples(Generic[T]):
    """The samples of run a that run b has too, with their positions; of run b, only positions are
    kept in memory."""

    def __init__(
        self,
        folder: Path,
        runs: Sequence[Sequence[T]],
        by: PairedBy,
        each: Sequence[Callable[[T], None]] = (),
        equal: EqualQuestions = NO_NUMBERS,
    ) -> None:
        """`folder` is that of run b; `each` has a function for the results of each run; `equal` are
        the numbers of samples with equal questions."""
        self._folder = folder
        self._runs = runs
        self._keys = PairKeys(by, equal.a), PairKeys(by, equal.b)
        self._each = each
        self._places: dict[str, int] = {}
        """Positions of the results of run b that were read so far, by what they are paired by."""
        self.totals = Totals(), Totals()
        """Totals of all results of each run, after the last pair."""

    def __iter__(self) -> Iterator[tuple[tuple[int, int], Pair[T]]]:
        """If both runs have the same order, the files are read in parallel."""
        following = self._read(1)
        for position, key, result in self._read(0):
            if (place := self._places.get(key)) is not None:
                yield (position, place), Pair(result, self._runs[1][place])
            elif found := next((one for one in following if one[1] == key), None):
                yield (position, found[0]), Pair(result, found[2])
        deque(following, maxlen=0)

    def _read(self, run: int) -> Iterator[tuple[int, str, T]]:
        """Yield position, key and result of the samples of a run."""
        for position, result in enumerate(self._runs[run]):
            key = self._keys[run](result)
            if run and self._places.setdefault(key, position) != position:
                raise DataError(f"{self._folder}: duplicate sample id {result.id!r}")
            self.totals[run].add(result.scores)
            if self._each:
                self._each[run](result)
            yield position, key, result


class ComparedRuns(NamedTuple):
    """Two runs and their comparison."""

    a: Overview
    b: Overview
    comparison: PairedRuns


def compare(
    a: Path,
    b: Path,
    each: Callable[[Pair[SampleResult], PairChanges], None] = lambda pair, changes: None,
    *,
    cluster: str | None = None,
    sliced: bool = False,
) -> ComparedRuns:
    """Compare two run directories as `differences` does, and return the overview of each run too.

    Args:
        a: The first run.
        b: The second run.
        each: Called with every shared sample and its changes.
        cluster: As for `differences`.
        sliced: Whether to split the differences by every field with 2 to 50 values.
    """
    builder = ComparisonBuilder(a, b, cluster, sliced=sliced)
    overviews = OverviewBuilder(load_manifest(a)), OverviewBuilder(load_manifest(b))
    pairs = SharedSamples(
        b,
        (RunResults.of(a), RunResults.of(b)),
        builder.paired_by,
        [overview.add for overview in overviews],
        builder.equal,
    )
    for _, pair in pairs:
        each(pair, builder.add(pair, pair.__getitem__))
    paired = builder.comparison(pairs.totals)
    return ComparedRuns(overviews[0].overview(a), overviews[1].overview(b), paired)


def differences(
    a: Path,
    b: Path,
    *,
    cluster: str | None = None,
    by: str | None = None,
    metrics: Collection[str] | None = None,
) -> PairedRuns:
    """Compare two run directories; verdicts are only read for flips that are listed and documents
    that changed.

    Args:
        a: The first run.
        b: The second run.
        cluster: Field whose equal values are one cluster in intervals and tests. Default: that of
            the first run.
        by: Field by whose values the samples are also compared separately, as in `metadata.topic`.
        metrics: The names of the metrics that are compared. Default: all.

    Returns:
        The comparison of every shared metric.

    Raises:
        DataError: If one directory holds no finished run.
        UsageError: If the runs share no metric, or less than half of the samples of the smaller
            one.
    """
    runs = RunResults.of(a), RunResults.of(b)
    if by is not None:
        check_field(by, (result.sample for result in runs[0].scored()))
    builder = ComparisonBuilder(a, b, cluster, by)
    scored = [run.scored() for run in runs]
    pairs = SharedSamples(b, scored, builder.paired_by, equal=builder.equal)
    judged = [run.judged() for run in runs]
    for places, pair in pairs:
        # a default of a lambda has no type
        builder.add(pair, lambda run, at=places: judged[run][at[run]])  # type: ignore[misc]
    return builder.comparison(pairs.totals, metrics)


class PairedValues:
    """Values of metrics in two runs, sample by sample."""

    def __init__(
        self,
        source: str,
        metrics: Mapping[str, Metric | None],
        cluster: str | None,
        causes: Causes,
        paired_by: PairedBy,
    ) -> None:
        """`metrics` maps names to metrics; None for a metric that is not over claims."""
        self.metrics = metrics
        self._paired_by = paired_by
        self._source = source
        self._cluster = cluster
        self.causes = CauseTally(causes, metrics)
        self.ids: list[str] = []
        self._clusters = array("q")
        self._joined = JoinedClusters()
        self.values: dict[str, Pairs] = {name: [] for name in metrics}
        self.units: dict[str, str] = {}

    def add(self, pair: Pair[T], inputs: Inputs | None) -> dict[str, dict[Cause, float]]:
        """Add a sample, and return the contribution of each cause to the difference of its values,
        by metric.

        `inputs` None: its results are the same.
        """
        a, b = pair
        self.ids.append(a.id)
        self._clusters.append(self.cluster_in_a(a.sample))
        if inputs:
            # Where only run a has the conversation before the questions, the samples are clusters
            # in either order of the runs.
            self._joined.join(self._clusters[-1], self.cluster_in_b(b.sample))
        for name, values in self.values.items():
            if name not in a.scores or name not in b.scores:
                raise DataError(
                    f"sample {a.id!r} has no {name} in one of the runs: its results are damaged"
                )
            score = a.scores[name]
            self.units[name] = score.unit
            values.append((score.value, b.scores[name].value))
        return self.causes.add(a.id, a.scores, b.scores, inputs)

    def cluster_in_a(self, sample: Sample) -> int:
        """Return the number of the cluster of a sample of run a."""
        return cluster_of(sample, self._cluster)

    def cluster_in_b(self, sample: Sample) -> int:
        """Return the number of the cluster of a sample of run b."""
        cluster = cluster_of(sample, self._cluster)
        # Where ids say nothing, conversation 1 of one file is another one than that of the other.
        return ~cluster if self._paired_by == "question" else cluster

    @cached_property
    def clusters(self) -> list[int]:
        """The cluster of each sample, once all are added."""
        return [self._joined.root(cluster) for cluster in self._clusters]

    @property
    def known(self) -> set[int]:
        """The clusters of all samples in either run."""
        return {*self._clusters, *self._joined.joined}

    def explained(self, totals: tuple[Totals, Totals]) -> list[MetricComparison]:
        """Return a comparison for each metric with its causes; `totals` are over all samples of
        both runs."""
        explained = []
        for metric in self.compared(range(len(self.ids))):
            because, change = self.causes.decomposition(metric.metric, totals)
            explained.append(metric.model_copy(update={"because": because, "change": change}))
        return explained

    def compared(self, positions: Sequence[int]) -> list[MetricComparison]:
        """Return a comparison for each metric over the samples at some positions."""
        ids = [self.ids[i] for i in positions]
        clusters = [self.clusters[i] for i in positions]
        return [
            MetricComparison.of(
                name,
                self._source,
                ids,
                [values[i] for i in positions],
                clusters,
                self.units.get(name),
            )
            for name, values in self.values.items()
        ]


MANY = 5_000
"""Samples up to which ranks of evidence are compared."""


class ComparisonBuilder:
    """Builds the comparison of two runs from their shared samples, one by one."""

    def __init__(
        self,
        a: Path,
        b: Path,
        cluster: str | None = None,
        by: str | None = None,
        *,
        sliced: bool = False,
    ) -> None:
        """`a` and `b` are run directories; the other parameters are as for `compare` and
        `differences`."""
        self.folders = a, b
        asked = Asked.of(a), Asked.of(b)
        self.paired_by = paired_by(*asked)
        self.equal = NO_NUMBERS
        if self.paired_by == "question":
            self.equal = equal_questions(*asked)
        self._in_both: tuple[set[str], set[str]] = set(), set()
        """Of each run, the ids of the samples that the other one has too."""
        self._manifests = before, after = load_manifest(a), load_manifest(b)
        self._requested_cluster = cluster
        self._cluster = cluster_field(a, cluster)
        self._by = by
        self._slices: dict[str, list[int]] = {}
        names = shared_metrics(before, after)
        self._paired = PairedValues(
            source_of(before), names, self._cluster, Causes(before, after), self.paired_by
        )
        self._sliced = SliceTally(tuple(names), self._cluster) if sliced else None
        self._facts: list[Facts] = []
        self._facets = SliceTally((), None)
        self._other_texts = self._other_claims = 0
        # Words of two scales are compared by what they count as, since a 2 of 3 is no 2 of 5.
        graded = before.panel.scale.ordered and before.panel.scale == after.panel.scale
        self._tally = FlipTally(
            {(one.claims_of, one.against) for one in names.values() if one}, graded=graded
        )
        self._relabeled = RelabeledTally(graded=graded)
        self._flips: list[Flip] = []
        """The first claims that flipped."""
        # Beside a judge that says yes or no, another would seem to find contradictions that came.
        self._tell = before.tells_contradictions and after.tells_contradictions
        self._contradicted = Counter[tuple[bool, bool]]()
        """Samples by whether the answer of each run has a contradicted claim."""

    def add(self, pair: Pair[T], full: Callable[[int], SampleResult]) -> PairChanges:
        """Add a sample and return its changes; `full` gives the result of a run with verdicts,
        which explain flips."""
        a, b = pair
        for ids, result in zip(self._in_both, pair, strict=True):
            ids.add(result.id)
        if self._by is not None:
            value = value_of(a.sample, self._by) or ""
            self._slices.setdefault(value, []).append(len(self._paired.ids))
        if self._sliced:
            self._sliced.add(a.sample, a.scores, b.scores)
        changed = pair.changed
        inputs = Inputs(a, b, full)
        causes = self._paired.add(pair, inputs if changed else None)
        self._facts.append(Facts.of(inputs))
        if self._tell:
            self._contradicted[_is_contradicted(a), _is_contradicted(b)] += 1
        self._facets.add(b.sample, {})
        documents = sorted(self._facts[-1].documents)
        if a.sample != b.sample:
            self._other_texts += _texts(a) != _texts(b)
        elif not changed:
            self._tally.add_same(a)
            return PairChanges([], causes, documents)
        pairs = list(claim_pairs(a, *inputs.assessments))
        flips = self._tally.add(pairs)
        if changed:
            self._relabeled.add(inputs, pairs)
        # Verdicts, most of a line of results, are read for the claims that are listed alone.
        if flips and len(self._flips) < SHOWN:
            self._flips += _explained(a, flips[: SHOWN - len(self._flips)], full)
        claims = ([(claim.id, claim.text) for claim in result.claims] for result in pair)
        self._other_claims += changed and next(claims) != next(claims)
        return PairChanges(flips, causes, documents)

    def _by_rank(self, samples: int) -> tuple[ByRank | None, ByRank | None]:
        """Return the gold claims in the answers of each run by the rank of their evidence; of large
        runs, none, because their results are read once more."""
        if "coverage" not in self._paired.values or samples > MANY:
            return None, None
        a, b = (by_rank(RunResults.of(folder), self._cluster) for folder in self.folders)
        return a, b

    def comparison(
        self, totals: tuple[Totals, Totals], chosen: Collection[str] | None = None
    ) -> PairedRuns:
        """Return the comparison over the samples so far, with the metrics of attached runs.

        Args:
            totals: The totals over all samples of each run.
            chosen: The names of the metrics, with or without their source; all by default.

        Raises:
            UsageError: If the runs share less than half of the samples of the smaller one, or no
                metric.
        """
        a, b = (folder.resolve().name for folder in self.folders)
        summaries = [load_summary(folder) for folder in self.folders]
        shared = len(self._paired.ids)
        check_paired(
            shared,
            (summaries[0].samples, summaries[1].samples),
            (a, b),
        )
        attached_metrics, attached_settings = _attached(
            *self.folders, self.paired_by, self._requested_cluster
        )
        metrics = [self._with_flips(metric) for metric in self._paired.explained(totals)]
        names = joint_names(
            [(metric.source, metric.metric) for metric in attached_metrics], self._paired.values
        )
        metrics += [
            m.model_copy(update={"metric": names[m.source, m.metric]}) for m in attached_metrics
        ]
        if not metrics:
            metric_names = [", ".join(manifest.names) for manifest in self._manifests]
            raise UsageError(
                f"the runs have no metric in common: one has {metric_names[0]}, the other"
                f" {metric_names[1]}"
            )
        if chosen is not None:
            # A metric is named with its source or without.
            metrics = [
                m for m in metrics if m.metric in chosen or m.metric.rpartition("/")[2] in chosen
            ]
        # After the choice: one metric that is asked for alone keeps its own p, as in a trend.
        metrics = adjusted(metrics)
        settings = (*changed_settings(*self._manifests), *attached_settings)
        # Imported here, so that other commands work without the file (`tests/test_leaves.py`).
        from claimeval.runs.culprit import Case

        return PairedRuns(
            a=a,
            b=b,
            shared=shared,
            paired_by=self.paired_by,
            clusters=len(set(self._paired.clusters)),
            cluster=self._cluster,
            only_a=summaries[0].samples - shared,
            only_b=summaries[1].samples - shared,
            changed_texts=self._other_texts,
            changed_claims=self._other_claims,
            settings=settings,
            abstained=tuple(self._doubts(summaries)),
            metrics=tuple(metrics),
            by=self._by_value(chosen),
            by_rank=self._by_rank(len(self._paired.ids)),
            slices=tuple(map(self._sliced.changes, self._sliced.fields)) if self._sliced else (),
            **self._tally.counts()._asdict(),
            flips=tuple(self._flips),
            contradicted=ContradictedAnswers(
                a=sum(count for (of_a, _), count in self._contradicted.items() if of_a),
                b=sum(count for (_, of_b), count in self._contradicted.items() if of_b),
                only_a=self._contradicted[True, False],
                only_b=self._contradicted[False, True],
            ),
            culprit=Case(
                self._facts,
                self._facets.facets(),
                {metric.metric: metric for metric in metrics},
                self._paired,
                totals,
                list(zip(self.folders, self._manifests, summaries, strict=True)),
                settings,
                self._repeated,
                self._relabeled.counts(),
            ).culprit(),
        )

    def _with_flips(self, metric: MetricComparison) -> MetricComparison:
        """Return a comparison with the test of the claims that count in one run only, if the metric
        is over claims and the runs share some."""
        of = self._paired.metrics[metric.metric]
        counts = self._tally.discordant(of.claims_of, of.against) if of else None
        if not counts:
            return metric
        once = DiscordantCounts(
            only_a=counts[0],
            only_b=counts[1],
            p=mcnemar_exact(*counts),
        )
        return metric.model_copy(update={"discordant": once})

    def _doubts(self, summaries: Iterable[Summary]) -> Iterator[str]:
        """Yield a caution for each run whose judges abstained or were divided on many claims."""
        for run, summary in zip("ab", summaries, strict=True):
            metrics = {n: m for n, m in summary.metrics.items() if n in self._paired.values}
            if doubt := open_to_doubt(metrics):
                yield f"{run}: {doubt}. The difference says little."

    def _repeated(self) -> tuple[int, int]:
        """Return how many samples of only one run repeat a question of both."""
        known = self._paired.known
        again = [0, 0]
        for run, ids in enumerate(self._in_both):
            for one in RunResults.of(self.folders[run]).scored():
                if one.id not in ids:
                    in_run = self._paired.cluster_in_b if run else self._paired.cluster_in_a
                    again[run] += in_run(one.sample) in known
        return again[0], again[1]

    def _by_value(self, chosen: Collection[str] | None) -> dict[str, tuple[MetricComparison, ...]]:
        found = {
            value: [m for m in self._paired.compared(of) if chosen is None or m.metric in chosen]
            for value, of in sorted(self._slices.items(), key=lambda item: -len(item[1]))
        }
        counts = Counter[str]()
        for metrics in found.values():
            counts.update({metric.metric: metric.n for metric in metrics})
        tested = iter(adjusted(list(itertools.chain.from_iterable(found.values()))))
        by_value: dict[str, tuple[MetricComparison, ...]] = {}
        for value, metrics in found.items():
            of_value = itertools.islice(tested, len(metrics))
            by_value[value] = tuple(_contributing(one, counts[one.metric]) for one in of_value)
        return by_value


def _contributing(metric: MetricComparison, samples: int) -> MetricComparison:
    """Return the comparison of a slice with what it adds to the difference over all samples, of
    which there are so many."""
    of_slice = metric.difference.value
    if of_slice is None:
        return metric
    return metric.model_copy(update={"contribution": of_slice * metric.n / samples})


def _explained(
    a: ScoredSample, flips: Iterable[ClaimPair], full: Callable[[int], SampleResult]
) -> list[Flip]:
    """Return flipped claims with their verdicts, which `full` reads of each run."""
    flipped = {(one.claim.id, one.a.evidence) for one in flips}
    pairs = claim_pairs(a, *(assessments_by_text(full(run)) for run in (0, 1)))
    return [flip(a, one) for one in pairs if (one.claim.id, one.a.evidence) in flipped]


def source_of(manifest: Manifest) -> str:
    """Return the source of the metrics of a run: `claims`, or its job."""
    return CLAIMS if manifest.of_claims else manifest.job


def shared_metrics(a: Manifest, b: Manifest) -> dict[str, Metric | None]:
    """Return the metrics that two runs share: those over claims, equal in name, claims and
    evidence, then others.

    Metrics that are not over claims are None; derived ones come before those of a job that both
    runs are of.
    """
    in_b = {(metric.name, metric.claims_of, metric.against) for metric in b.rows}
    found: dict[str, Metric | None] = {
        m.name: m for m in a.rows if (m.name, m.claims_of, m.against) in in_b
    }
    others = [name for name in a.others if name in b.others and a.job == b.job]
    return found | dict.fromkeys([*(name for name in a.derived if name in b.derived), *others])


def adjusted(compared: Sequence[M]) -> list[M]:
    """Return the comparisons with p after Holm's correction over all of them."""
    by_holm = iter(holm([item.p for item in compared if item.p is not None]))
    return [
        item if item.p is None else item.model_copy(update={"p_adjusted": next(by_holm)})
        for item in compared
    ]


def _attached(
    a: Path, b: Path, by: PairedBy, cluster: str | None
) -> tuple[list[MetricComparison], list[str]]:
    """Compare the metrics that attached runs of the same name have in both run directories; also
    return settings."""
    metrics: list[MetricComparison] = []
    settings: list[str] = []
    in_a = attached(a)
    in_b = attached(b)
    for job in (job for job in in_a if job in in_b):
        folders = in_a[job], in_b[job]
        before, after = map(load_manifest, folders)
        # The data of attached runs are the two runs themselves.
        settings += [
            f"{job}, {line}"
            for line in changed_settings(before, after)
            if not line.startswith("data: ")
        ]
        causes = Causes(before, after)
        paired = PairedValues(
            job, shared_metrics(before, after), cluster or before.cluster, causes, by
        )
        pairs = SharedSamples(
            folders[1], [RunResults.of(folder).scored() for folder in folders], by
        )
        for _, pair in pairs:
            paired.add(pair, Inputs(*pair) if pair.changed else None)
        metrics += paired.explained(pairs.totals) if paired.ids else ()
    return metrics, settings


def _texts(result: ScoredSample) -> tuple[object, ...]:
    sample = result.sample
    contexts = tuple((document.id, document.text) for document in sample.contexts or ())
    return sample.question, sample.answer, contexts, sample.reference_answers, sample.evidence


def _is_contradicted(result: ScoredSample) -> bool:
    """Return whether a claim of the answer is contradicted by what it was assessed against."""
    found = {one.subject for one in result.labels if one.label == "contradicted"}
    return any(claim.of == "answer" and claim.id in found for claim in result.claims)


def _labels(result: ScoredSample) -> list[tuple[object, ...]]:
    """Return the labels of claims without the verdicts behind them."""
    return [(a.subject, a.against, a.document, a.label, a.positive, a.tied) for a in result.labels]


def _prompt_names(manifest: Manifest) -> dict[str, str]:
    """Return the prompts of a run by step, with the judges of each prompt if it did not go to
    all."""
    by_step: dict[str, list[str]] = {}
    for prompt in manifest.prompts:
        judges = [judge for judge, prompts in manifest.asked_with.items() if prompt.id in prompts]
        some = f" to {', '.join(judges)}" if judges and len(judges) < len(manifest.judges) else ""
        by_step.setdefault(f"{prompt.step} prompt", []).append(f"{prompt.name} ({prompt.id}){some}")
    return {step: ", ".join(prompts) for step, prompts in by_step.items()}


def _settings(manifest: Manifest) -> dict[str, str]:
    """Return the settings of a run in words, by name."""
    return {
        "data": data_name(manifest) or "given in Python",
        "judges": ", ".join(judge.name for judge in manifest.judges),
        "extractor": manifest.extractor.name if manifest.extractor else "none",
        **_prompt_names(manifest),
        "metrics": ", ".join(manifest.names),
        "documents": "one by one" if manifest.panel.per_document is True else "together",
        **{name: str(value) for name, value in manifest.settings.items()},
    }


def changed_settings(a: Manifest, b: Manifest) -> Iterator[str]:
    """Yield the settings that differ between two manifests, in words."""
    before = _settings(a)
    after = _settings(b)
    for name in dict.fromkeys([*before, *after]):
        # The numbering `none` says something, and a run without one says nothing.
        absent = "not stated" if name == "numbering" else "none"
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, absent)} → {after.get(name, absent)}"
    same_names = before["judges"] == after["judges"] and before["extractor"] == after["extractor"]
    # A panel file may give a judge another temperature under the same name.
    if same_names and (a.judges, a.extractor) != (b.judges, b.extractor):
        yield "judges: same names, other settings"
