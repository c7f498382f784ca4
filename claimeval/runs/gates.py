"""Gates: whether the results of a run are within their limits. Every door asks here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

from claimeval.evaluation.manifest import DataSource
from claimeval.metrics.derived import ZERO_IS_BEST
from claimeval.metrics.rows import canonical_name
from claimeval.metrics.scoring import MetricSummary, bounds_of
from claimeval.runs.directory import RunResults, load_manifest, load_summary
from claimeval.runs.overview import MetricComparison
from claimeval.runs.pairing import (
    Asked,
    check_paired,
    equal_questions,
    paired_by,
    question_of,
    texts_in,
)
from claimeval.statistics.estimates import least_covered
from claimeval.statistics.formatting import interval, next_to, p_value, percent
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.gates import Gate, GateResult, Gates, Outcome
from claimeval.types.records import ScoredSample

UNKNOWN = DataSource()
"""Data of which nothing is known."""
ROUNDING = 1e-12
"""Values that differ by less are equal: a mean of three times 7/10 is 0.7, not 0.6999999999999998.
A mean of a million scores is off by less."""


@dataclass(frozen=True)
class Baseline:
    """The values of another run, to which those of a run are compared sample by sample."""

    name: str
    values: Mapping[str, Mapping[str, float | None]]
    """By sample id and metric."""
    asked: Asked
    """What its samples ask."""
    stopped: str = ""
    """Why it has fewer results than samples, if its own gates were decided before the end."""

    def paired(self, asked: Asked) -> Baseline:
        """Return the same values by the ids of another run, as `compare` pairs samples.

        Raises:
            UsageError: Under half of the smaller run can be paired.
        """
        by = paired_by(asked, self.asked)
        equal = equal_questions(asked, self.asked)
        own = {key: name for name, key in self.asked.keys(by, equal.b).items()}
        keys = asked.keys(by, equal.a)
        partners = {name: own[key] for name, key in keys.items() if key in own}
        check_paired(
            len(partners),
            (len(keys), len(own)),
            ("this run", self.name),
        )
        values = {name: self.values[partner] for name, partner in partners.items()}
        return replace(self, values=values)

    @classmethod
    def of(cls, folder: Path) -> Baseline:
        """Read the baseline from a run directory.

        Raises:
            DataError: The directory holds no run.
        """
        data = load_manifest(folder).data
        read = cls.of_results(str(folder), RunResults.of(folder).scored(), data)
        summary = load_summary(folder)
        stopped = summary.stopped if summary.decided else None
        asked = read.asked._replace(texts=partial(texts_in, folder))
        return replace(read, asked=asked, stopped=stopped or "")

    @classmethod
    def of_results(
        cls, name: str, results: Iterable[ScoredSample], data: DataSource = UNKNOWN
    ) -> Baseline:
        """Return the baseline of results in memory; `data` are those of their run."""
        values: dict[str, dict[str, float | None]] = {}
        questions: dict[str, str] = {}
        for result in results:
            questions[result.id] = question_of(result.sample)
            values[result.id] = {metric: score.value for metric, score in result.scores.items()}
        return cls(name, values, Asked(questions, data))

    @classmethod
    def of_gates(cls, gates: Gates) -> Baseline | None:
        """Return the values of the run that gates compare with; None without one.

        Raises:
            DataError: The directory holds no run.
        """
        run = gates.baseline
        if run is None:
            return None
        if isinstance(run, (str, Path)):
            return cls.of(Path(run))
        if run.path:
            return cls.of(run.path)
        return cls.of_results("the baseline", run.results)

    def value(self, sample: str, metric: str) -> float | None:
        """Return the value of a metric of a sample; None if there is none."""
        return self.values.get(sample, {}).get(metric)

    def check(self, gates: Iterable[Gate]) -> None:
        """Raise UsageError if no sample has the metric of a gate."""
        known = set[str]()
        for metrics in self.values.values():
            known.update(metrics)
        for gate in gates:
            if gate.kind == "max_drop" and gate.metric not in known:
                raise unknown_name(f"metric of the baseline {self.name}:", gate.metric, known)


def is_below(value: float, limit: float) -> bool:
    """Return whether a value is below a limit by more than rounding."""
    return limit - value > ROUNDING


def loss(metric: str, value: float, baseline: float) -> float:
    """Return by how much a value is worse than that of the baseline; below 0 if it is better."""
    return value - baseline if metric in ZERO_IS_BEST else baseline - value


def check(gates: Gates, metrics: Iterable[str]) -> tuple[Gate, ...]:
    """Return the gates on means with canonical names. Raises UsageError for an unknown metric."""
    known = list(metrics)
    checked = []
    for gate in gates.limits:
        name = canonical_name(gate.metric)
        if name not in known:
            raise unknown_name(f"metric in the gate {gate.metric}={gate.limit:g}:", name, known)
        # `groundedness=0.9` is a gate on faithfulness, the one name that summaries have.
        checked.append(gate._replace(metric=name))
    return tuple(checked)


def evaluate(
    gates: Gates,
    summary: Mapping[str, MetricSummary],
    results: Iterable[ScoredSample] = (),
    baseline: Baseline | None = None,
    cluster: str | None = None,
    data: DataSource = UNKNOWN,
) -> tuple[GateResult, ...]:
    """Return the outcome of each gate on a mean, and of each metric that lost too much.

    Args:
        gates: The limits.
        summary: The metrics of the run.
        results: The samples of the run, which `max_drop` pairs with those of the baseline.
        baseline: The run that `max_drop` compares with.
        cluster: The field whose equal values are one cluster in intervals.
        data: The data of the run, which say whether its ids were given.

    Raises:
        UsageError: A gate is on a metric that the run does not have, or under half of the smaller
            run can be paired with the other one.
    """
    limits = check(gates, summary)
    drops = [gate for gate in limits if gate.kind == "max_drop"]
    found = [_on_mean(gate, summary[gate.metric]) for gate in limits if gate not in drops]
    if drops:
        if baseline is None:
            raise UsageError("--max-drop needs --baseline, the run to compare with")
        baseline.check(drops)
        samples = list(results)
        paired = baseline.paired(Asked.of_results(samples, data))
        found += [
            _on_drop(
                gate,
                summary[gate.metric],
                samples,
                paired,
                cluster,
                beyond_chance=gates.beyond_chance,
            )
            for gate in drops
        ]
    found += _on_losses(gates.max_missing, summary)
    return tuple(found)


def _on_mean(gate: Gate, metric: MetricSummary) -> GateResult:
    is_under = gate.kind == "fail_under"
    bound = None
    if metric.ends == "bounds":
        # A mean over the claims that judges were sure of would pass a gate by what they abstained
        # from.
        bound = metric.low if is_under else metric.high
    value = metric.mean if bound is None else bound
    holds = value is not None and not (
        is_below(value, gate.limit) if is_under else is_below(gate.limit, value)
    )
    outcome: Outcome = "passed" if holds else "failed"
    word = "below" if is_under else "above"
    if outcome == "passed":
        word = "at least" if is_under else "at most"
    says = "is undefined" if value is None else f"is {next_to(value, gate.limit, metric.reported)}"
    if bound is not None and outcome == "failed":
        says = f"may be {next_to(bound, gate.limit)}, as judges abstained on many claims"
    return GateResult(
        metric=gate.metric,
        kind=gate.kind,
        threshold=gate.limit,
        outcome=outcome,
        value=value,
        low=metric.low,
        high=metric.high,
        says=f"{gate.metric} {says}, {word} {gate.limit:g}",
    )


def _on_drop(
    gate: Gate,
    metric: MetricSummary,
    samples: Sequence[ScoredSample],
    baseline: Baseline,
    cluster: str | None,
    *,
    beyond_chance: bool,
) -> GateResult:
    """Compare the samples that both runs have: the loss is exact, and its interval stands beside
    it. Where judges abstained on many claims, the loss is the largest possible one."""
    name = gate.metric
    shared = [sample for sample in samples if sample.id in baseline.values]
    unpaired = len(samples) + len(baseline.asked.questions) - 2 * len(shared)
    compared = MetricComparison.of(
        name,
        "claims",
        [sample.id for sample in shared],
        [(one.scores[name].value, baseline.value(one.id, name)) for one in shared],
        [cluster_of(sample.sample, cluster) for sample in shared],
        next((sample.scores[name].unit for sample in shared), None),
    )
    value, ends = _mean_loss(compared)
    is_bound = metric.ends == "bounds"
    if is_bound:
        # The interval is of the loss among what judges were sure of, which is not compared here.
        value = _largest_loss(name, baseline, shared)
        ends = None
    by_chance = ends is not None and ends[0] <= 0 <= ends[1]
    outcome: Outcome = "passed"
    if value is None or is_below(gate.limit, value):
        outcome = "passed" if beyond_chance and by_chance else "failed"
    return GateResult(
        metric=name,
        kind=gate.kind,
        threshold=gate.limit,
        outcome=outcome,
        value=value,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        pairs=compared.n,
        unpaired=unpaired,
        p=compared.p,
        says=_drop_in_words(
            gate, value, ends, compared, unpaired, baseline, outcome, is_bound=is_bound
        ),
    )


def _mean_loss(compared: MetricComparison) -> tuple[float | None, tuple[float, float] | None]:
    """Return the mean loss and its interval; `compared` is the baseline (b) beside the run (a)."""
    # `of` returns b - a, and b is the baseline: a loss where a higher mean is better
    value = compared.difference.value
    ends = compared.difference.reported
    if compared.metric not in ZERO_IS_BEST:
        return value, ends
    return None if value is None else -value, (-ends[1], -ends[0]) if ends else None


def _largest_loss(name: str, baseline: Baseline, shared: Sequence[ScoredSample]) -> float | None:
    """Return the mean loss over the samples that both runs have if all claims without a verdict
    were as bad as possible."""
    losses: list[float] = []
    for one in shared:
        before = baseline.value(one.id, name)
        bounds = bounds_of(one.scores[name])
        if before is not None and bounds is not None:
            worst = bounds[1] if name in ZERO_IS_BEST else bounds[0]
            losses.append(loss(name, worst, before))
    return fmean(losses) if losses else None


def _drop_in_words(
    gate: Gate,
    value: float | None,
    ends: tuple[float, float] | None,
    compared: MetricComparison,
    unpaired: int,
    baseline: Baseline,
    outcome: Outcome,
    *,
    is_bound: bool,
) -> str:
    worse = "higher" if gate.metric in ZERO_IS_BEST else "lower"
    run = baseline.name
    if value is None:
        return f"{gate.metric} has no value in both runs, so its loss against {run} is unknown"
    size = next_to(abs(value), gate.limit, ends)
    amount = f"{size} {worse}"
    if value < 0:
        amount = f"{size} {'lower' if worse == 'higher' else 'higher'}"
    of_pairs = f"over {compared.n:,} samples"
    if unpaired:
        of_pairs += f" ({unpaired:,} have no partner)"
    if baseline.stopped:
        of_pairs += f" (the baseline {baseline.stopped})"
    beside = ""
    if ends:
        beside = f"; 95% interval of the loss {interval(ends)}"
        if compared.p is not None:
            beside += f", p {p_value(compared.p)}"
        if ends[0] <= 0 <= ends[1]:
            beside += ", within chance"
        if covered := least_covered("MetricComparison.difference"):
            beside += f" (the interval covered as little as {covered:.0f}% in simulations)"
    allowed = f"{gate.limit:g} allowed"
    side = f"more than the {allowed}" if outcome == "failed" else allowed
    if is_bound:
        abstained = "as judges abstained on many claims"
        return f"{gate.metric} may be {amount} than in {run}, {abstained}, {side}"
    return f"{gate.metric} is {amount} than in {run}, {side}, {of_pairs}{beside}"


def _on_losses(most: float, summary: Mapping[str, MetricSummary]) -> list[GateResult]:
    """Return a failed gate for each metric of which too much was lost to failures: what is missing,
    why, and what to do."""
    failed: list[GateResult] = []
    for name, metric in summary.items():
        if metric.failure_rate <= most:
            continue
        share = percent(metric.failure_rate)
        says = (
            f"{name} lost {share} of samples or claims to failures ({', '.join(metric.failures)});"
            f" {percent(most)} may be lost unless you set --max-missing"
        )
        if metric.failures == ["not_in_cache"]:
            says = (
                f"{name}: {share} of samples or claims have no stored reply (not_in_cache), and"
                " nothing was asked. Ask a judge without --offline, or allow it with --max-missing"
            )
        failed.append(
            GateResult(
                metric=name,
                kind="max_missing",
                threshold=most,
                outcome="failed",
                value=metric.failure_rate,
                says=says,
            )
        )
    return failed
