"""Runs that stop when their gates are decided: the order of the samples, and the test of every
gate after each of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.evaluation.job import sample_of
from claimeval.evaluation.manifest import DataSource, Manifest
from claimeval.evaluation.summary import Summary
from claimeval.runs.directory import MANIFEST, RunResults, load_manifest, load_summary
from claimeval.runs.gates import Baseline, evaluate, loss
from claimeval.runs.gates import check as gate_limits
from claimeval.runs.pairing import Asked, question_of
from claimeval.statistics.formatting import decimal, digits_of, interval
from claimeval.statistics.sequential import STEPS, SequentialMean, Side
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError
from claimeval.types.gates import Gate, GateResult, Gates, Outcome
from claimeval.types.options import RunOptions
from claimeval.types.records import ABSTAINED, NOT_APPLICABLE, SampleResult

SEED = 0
"""Changes the order of all stopped runs. It is fixed, so that two runs over the same questions
judge the same ones first, and can be paired."""


class Ordered(NamedTuple):
    """The items of a run in the order in which they are judged."""

    items: tuple[Any, ...]
    sizes: tuple[int, ...]
    """The number of items of each cluster; those of a cluster stand together."""


def order(items: Iterable[Any], cluster: str | None) -> Ordered:
    """Return the items by a hash of their cluster, which has nothing to do with their scores.

    The order is the same after a stop, on every machine, and however the file is sorted. Whole
    clusters are judged, because the samples of one question are not in random order one by one.
    """

    def place(item: Any) -> bytes:
        """Return where the cluster of an item stands."""
        number = cluster_of(sample_of(item), cluster)
        return blake2b(f"{SEED} {number}".encode(), digest_size=16).digest()

    in_order = sorted(items, key=place)
    sizes = tuple(len(list(together)) for _, together in groupby(in_order, key=place))
    return Ordered(tuple(in_order), sizes)


def check(options: RunOptions, gates: Gates | None, job: str) -> None:
    """Raise UsageError where a run cannot stop when it is decided."""
    if options.stop_when_decided is None:
        return
    for name in ("batch", "detach", "shard", "engine", "offline"):
        if getattr(options, name):
            raise UsageError(
                f"--stop-when-decided cannot be used with --{name}, which asks everything at once"
            )
    if gates is None or not gates.limits:
        raise UsageError(
            "--stop-when-decided needs a gate on a mean, as in --fail-under faithfulness=0.8"
        )
    if job not in ("score", "rate"):
        raise UsageError(f"--stop-when-decided is for score, rate and rejudge, not for {job}")


class _Watched:
    """One gate, with its tests."""

    def __init__(
        self,
        gate: Gate,
        gates: Gates,
        sizes: Sequence[int],
        confidence: float,
        baseline: Baseline | None,
        steps: int,
    ) -> None:
        self.gate = gate
        self._baseline = baseline
        self.never = ""
        """Why the gate is not decided early; empty if it may be."""
        if gate.kind == "max_drop" and gates.beyond_chance:
            self.never = "--beyond-chance asks for the interval of the whole run"
        # A loss is between -1 and 1, a score between 0 and 1.
        low = -1.0 if gate.kind == "max_drop" else 0.0
        self.mean = SequentialMean(
            len(sizes),
            [gate.limit],
            largest=max(sizes),
            confidence=confidence,
            low=low,
            steps=steps,
        )
        self._abstained = False
        self.side: Side | None = None

    def add(self, cluster: Sequence[SampleResult]) -> None:
        """Take the samples of the next cluster."""
        if self.side or self.never:
            return
        for result in cluster:
            reasons = {score.because for score in result.scores.values()}
            reasons.update(assessment.unassessed for assessment in result.whole)
            self._abstained |= not reasons.isdisjoint(ABSTAINED)
        self.mean.add([self._value(result) for result in cluster])
        side = self.mean.decision(self.gate.limit)
        # Bounds only make a metric worse: a gate that fails on the mean fails on them too, while
        # one that holds on the mean may not.
        if side and not (self._abstained and side == self._good):
            self.side = side

    def _value(self, result: SampleResult) -> float | None:
        score = result.scores[self.gate.metric]
        if score.unit != "share":
            self.never = f"{self.gate.metric} is no share from 0 to 1"
            return None
        if self.gate.kind != "max_drop":
            return score.value
        assert self._baseline, "a loss has a baseline"
        before = self._baseline.value(result.id, self.gate.metric)
        if score.value is None or before is None:
            return None
        return loss(self.gate.metric, score.value, before)

    @property
    def _good(self) -> Side:
        """The side on which the gate holds."""
        return "above" if self.gate.kind == "fail_under" else "below"

    @property
    def outcome(self) -> Outcome:
        """What is certain about the gate."""
        if self.side is None:
            return "undecided"
        return "passed" if self.side == self._good else "failed"

    @property
    def open_because(self) -> str:
        """Why a gate that the scores have decided is still open; empty if nothing holds it."""
        if self.never:
            return self.never
        decided = self.mean.read and self.mean.decision(self.gate.limit)
        if decided and self._abstained and self.side is None:
            return (
                "judges abstained, and where they abstain on a tenth of the claims the gate"
                " compares bounds, which are known at the end"
            )
        return ""


class Watch:
    """Tests the gates of a run after each of its clusters."""

    def __init__(
        self,
        gates: Gates,
        limits: Sequence[Gate],
        ordered: Ordered,
        confidence: float,
        baseline: Baseline | None = None,
        *,
        steps: int = STEPS,
    ) -> None:
        """Start with no results.

        Args:
            gates: The gates of the run.
            limits: Those on means, with canonical names.
            ordered: The items in their order.
            confidence: The probability that no gate is decided otherwise than by the whole run.
            baseline: The run that `max_drop` compares with.
            steps: Number of steps in which ends are computed; 1 where nobody reads them.
        """
        self._gates = gates
        self._steps = steps
        self._ordered = ordered
        self._sizes = ordered.sizes
        self.samples = len(ordered.items)
        """The number of samples of the whole run."""
        self.confidence = confidence
        # The risks of several gates add up at most.
        risk = (1 - confidence) / len(limits)
        self._watched = [
            _Watched(gate, gates, self._sizes, 1 - risk, baseline, steps) for gate in limits
        ]
        self._sequences: dict[str, SequentialMean] = {}
        """For each share among the scores, what its mean over the whole run can be."""
        self._cluster: list[SampleResult] = []
        self._clusters = 0
        self._lost: dict[str, int] = {}
        self.judged = 0
        """The number of samples taken so far."""

    def add(self, result: SampleResult) -> None:
        """Take the next result, in the order of the items."""
        self.judged += 1
        for name, score in result.scores.items():
            if score.because and score.because not in NOT_APPLICABLE | ABSTAINED:
                self._lost[name] = self._lost.get(name, 0) + 1
        self._cluster.append(result)
        if len(self._cluster) < self._sizes[self._clusters]:
            return
        for watched in self._watched:
            watched.add(self._cluster)
        for name, score in result.scores.items():
            if score.unit == "share" and not self._clusters:
                self._sequences[name] = SequentialMean(
                    len(self._sizes), [], largest=max(self._sizes), steps=self._steps
                )
        for name, sequence in self._sequences.items():
            sequence.add([one.scores[name].value for one in self._cluster])
        self._cluster = []
        self._clusters += 1

    @property
    def items(self) -> tuple[Any, ...]:
        """The items in the order in which they are judged."""
        return self._ordered.items

    def decided(self) -> str | None:
        """Return why the run can end; None if it has to go on."""
        return self.reason if self.ended and self.judged < self.samples else None

    @property
    def ended(self) -> bool:
        """Whether the run can end: all gates are decided, or one has failed.

        That too much is lost to failures is certain as soon as the share of all samples is lost;
        that it will not be is not waited for.
        """
        outcomes = [watched.outcome for watched in self._watched]
        most = self._gates.max_missing * self.samples
        lost = any(count > most for count in self._lost.values())
        return lost or "failed" in outcomes or "undecided" not in outcomes

    def results(self, means: Mapping[str, float | None]) -> tuple[GateResult, ...]:
        """Return what is certain about each gate; `means` are those of the samples so far."""
        return tuple([self._result(watched, means) for watched in self._watched])

    def _result(self, watched: _Watched, means: Mapping[str, float | None]) -> GateResult:
        gate = watched.gate
        low, high = watched.mean.interval
        return GateResult(
            metric=gate.metric,
            kind=gate.kind,
            threshold=gate.limit,
            outcome=watched.outcome,
            value=None if gate.kind == "max_drop" else means.get(gate.metric),
            low=low,
            high=high,
            after=self.judged,
            of=self.samples,
            says=self._in_words(watched, means),
        )

    def _in_words(self, watched: _Watched, means: Mapping[str, float | None]) -> str:
        gate = watched.gate
        read = f"after {self.judged:,} of {self.samples:,} samples"
        if watched.side is None:
            because = f" ({watched.open_because})" if watched.open_because else ""
            return f"{gate} is not decided {read}{because}"
        certain = f"{100 * self.confidence:.4g}% certain, however often one looks"
        ends = interval(watched.mean.interval)
        if gate.kind == "max_drop":
            word = "loses more than" if watched.side == "above" else "loses less than"
            return (
                f"decided {read}: {gate.metric} {word} {gate.limit:g} against the baseline"
                f" ({certain}; a loss of {ends})"
            )
        mean = decimal(means.get(gate.metric), digits_of(watched.mean.interval))
        return (
            f"decided {read}: {gate.metric} is {watched.side} {gate.limit:g} ({certain}); the mean"
            f" so far, {mean} ({ends}), is not the final number"
        )

    def judge(self, summary: Summary) -> Summary:
        """Return the summary of a stopped run with what is certain about its gates, and with ends
        that hold however often one looked in place of intervals, which do not."""
        means = {name: metric.mean for name, metric in summary.metrics.items()}
        metrics = dict(summary.metrics)
        for name, metric in summary.metrics.items():
            if metric.ends == "bounds":
                continue
            ends: dict[str, object] = {"low": None, "high": None, "ends": "none"}
            if name in self._sequences:
                low, high = self._sequences[name].interval
                ends = {"low": low, "high": high, "ends": "sequence"}
            metrics[name] = metric.model_copy(update=ends)
        return summary.model_copy(update={"gates": self.results(means), "metrics": metrics})

    @property
    def reason(self) -> str:
        """Why the run ended before its last sample."""
        decided = "a gate has failed"
        if all(watched.outcome == "passed" for watched in self._watched):
            decided = "every gate is decided"
        return f"stopped after {self.judged:,} of {self.samples:,} samples, because {decided}"


class Gating(NamedTuple):
    """The gates of a run, checked before its first call."""

    gates: Gates
    limits: tuple[Gate, ...]
    """The gates on means, with canonical names."""
    baseline: Baseline | None
    cluster: str | None
    data: DataSource
    confidence: float | None
    """With which certainty the run stops when they are decided; None if it goes to its end."""

    @classmethod
    def of(cls, gates: Gates | None, manifest: Manifest, options: RunOptions) -> Gating | None:
        """Check the gates; None without any.

        Raises:
            DataError: The baseline holds no run.
            UsageError: The run or the baseline does not have the metric of a gate, or the run
                cannot stop when they are decided.
        """
        check(options, gates, manifest.job)
        if gates is None:
            return None
        limits = gate_limits(gates, manifest.names)
        baseline = Baseline.of_gates(gates)
        if baseline:
            baseline.check(limits)
        return cls(
            gates, limits, baseline, manifest.cluster, manifest.data, options.stop_when_decided
        )

    def watch(self, items: Iterable[Any]) -> Watch | None:
        """Return what tests the gates while the run goes on; None if it goes to its end.

        Raises:
            UsageError: Under half of the smaller run can be paired with the baseline.
        """
        if self.confidence is None:
            self._paired(items)  # what cannot be compared is said before the first call
            return None
        ordered = order(items, self.cluster)
        baseline = self._paired(ordered.items)
        return Watch(self.gates, self.limits, ordered, self.confidence, baseline)

    def _paired(self, items: Iterable[Any]) -> Baseline | None:
        """Return the values of the baseline by the ids of the items."""
        if self.baseline is None:
            return None
        samples = map(sample_of, items)
        questions = {sample.id: question_of(sample) for sample in samples}
        return self.baseline.paired(Asked(questions, self.data))

    def judging(self, watch: Watch | None) -> Callable[[Summary, Iterable[SampleResult]], Summary]:
        """Return what adds the outcome of the gates to the summary of the run."""

        def judge(summary: Summary, results: Iterable[SampleResult]) -> Summary:
            """Add the outcome of the gates."""
            if watch and not summary.complete:
                return watch.judge(summary)
            outcome = evaluate(
                self.gates, summary.metrics, results, self.baseline, self.cluster, self.data
            )
            return summary.model_copy(update={"gates": outcome})

        return judge


ORDERS = 30
"""Number of orders over which the expected share of judged samples is a mean."""


class Expected(NamedTuple):
    """What stopping would have saved in an earlier run of the same data."""

    run: Path
    share: float
    """Mean share of the samples that is judged before the gates are decided."""


def expected(gating: Gating, data: str | None, folder: Path) -> Expected | None:
    """Return what stopping is expected to save, from the last complete run of the same data.

    Args:
        gating: The gates, with a certainty.
        data: The digest of the data file.
        folder: The folder of runs that is searched.

    Returns:
        The share of judged samples over `ORDERS` random orders; None without such a run.
    """
    run = _last_run(gating, data, folder)
    if run is None or gating.confidence is None:
        return None
    results = list(RunResults.of(run))
    draw = random.Random(SEED)
    read = 0
    for _ in range(ORDERS):
        clusters: dict[int, list[SampleResult]] = {}
        for result in results:
            clusters.setdefault(cluster_of(result.sample, gating.cluster), []).append(result)
        shuffled = list(clusters.values())
        draw.shuffle(shuffled)
        ordered = Ordered(tuple(chain.from_iterable(shuffled)), tuple(map(len, shuffled)))
        watch = Watch(
            gating.gates, gating.limits, ordered, gating.confidence, gating.baseline, steps=1
        )
        for result in ordered.items:
            watch.add(result)
            if watch.ended:
                break
        # A run whose gates are never decided is read to its end, and counts as such.
        read += watch.judged
    return Expected(run, read / (ORDERS * len(results)))


def _last_run(gating: Gating, data: str | None, folder: Path) -> Path | None:
    metrics = {gate.metric for gate in gating.limits}
    found: list[tuple[str, Path]] = []
    for path in folder.glob(f"*/{MANIFEST}") if data else ():
        with suppress(DataError):
            manifest = load_manifest(path.parent)
            if manifest.data.digest != data or not metrics <= set(manifest.names):
                continue
            if load_summary(path.parent).complete:
                found.append((manifest.created or "", path.parent))
    return max(found)[1] if found else None
