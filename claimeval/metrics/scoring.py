"""Scores of samples from labels, and the summary of a metric over a run."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from pydantic import Field

from claimeval.metrics.derived import best
from claimeval.metrics.derived import scores as derived_scores
from claimeval.metrics.formulas import Matrix
from claimeval.metrics.rows import Metric
from claimeval.statistics import Resampling, mean_interval
from claimeval.statistics.formatting import decimal, digits_of, interval
from claimeval.types import html
from claimeval.types.estimates import Ends, Estimate
from claimeval.types.records import (
    ABSTAINED,
    NOT_APPLICABLE,
    Assessment,
    Claim,
    Label,
    Part,
    Reason,
    Record,
    Sample,
    SampleResult,
    Score,
    ScoredSample,
    claims_question,
)


def score(metric: Metric, claims: Sequence[Claim], assessments: Sequence[Assessment]) -> Score:
    """Return the share of the judged claims that are supported.

    If no claim has a label, the score is undefined for the most frequent reason, or `not_in_cache`
    without assessments.
    """
    assessed = {a.subject: a.support for a in assessments}
    if not any(assessed.values()):
        reasons = Counter(a.unassessed for a in assessments if a.unassessed)
        because = reasons.most_common(1)[0][0] if reasons else "not_in_cache"
        return Score.undefined(because, total=len(claims))
    by_number: dict[int, list[Label | None]] = {}
    for claim in claims:
        number = claim.alternative if claim.alternative and metric.takes_best else 0
        by_number.setdefault(number, []).append(assessed.get(claim.id))
    return best({number: _share_of(labels) for number, labels in by_number.items()})


def counted(metric: Metric, result: ScoredSample) -> frozenset[str]:
    """Return the ids of the claims of a metric's score. Of alternative gold answers, only one
    counts."""
    claims = result.claims_of(metric.claims_of)
    score = result.scores.get(metric.name)
    chosen = score.alternative if score else None
    return frozenset(claim.id for claim in claims if chosen in (None, claim.alternative))


def _share_of(labels: Sequence[Label | None]) -> Score:
    """Return the share of supported claims among those with a label; without a value if none has a
    label."""
    judged = [label for label in labels if label]
    hits = judged.count("supported")
    return (
        Score.counted(hits, len(judged), len(labels))
        if judged
        else Score.undefined(None, total=len(labels))
    )


def unasked(
    metrics: Sequence[Metric],
    sample: Sample,
    claims: Sequence[Claim],
) -> dict[tuple[Part, Part], list[Assessment]]:
    """Return the assessments against empty parts, which support no claim, so that no judge is
    asked."""
    columns: dict[tuple[Part, Part], list[Assessment]] = {}
    for metric in metrics:
        of_part = [claim for claim in claims if claim.of == metric.claims_of]
        if not of_part or sample.documents(metric.against) != ():
            continue
        question = claims_question(metric.claims_of, metric.against)
        columns[metric.claims_of, metric.against] = [
            Assessment(
                subject=claim.id,
                question=question,
                against=metric.against,
                verdicts=(),
                label="not_found",
            )
            for claim in of_part
        ]
    return columns


def scores(
    metrics: Sequence[Metric],
    result: SampleResult,
    derived: Sequence[str] = (),
) -> dict[str, Score]:
    """Return the scores of a sample's claims and assessments, by metric. `derived` has names of
    derived metrics."""
    columns = result.columns()
    scored: dict[str, Score] = {}
    for metric in metrics:
        part = metric.claims_of
        assessed = columns.get((part, metric.against), ())
        if not assessed and metric.missing_part(result.sample) is not None:
            scored[metric.name] = Score.undefined("missing_input")
        elif reason := result.unextracted.get(part):
            scored[metric.name] = Score.undefined(reason, total=0)
        elif claims := result.claims_of(part):
            scored[metric.name] = score(metric, claims, assessed)
        else:
            scored[metric.name] = Score.undefined("missing_input")
    if derived:
        covered = scored["coverage"].alternative if "coverage" in scored else None
        scored |= derived_scores(derived, Matrix.of(result), covered)
    return scored


def without_lost(metrics: Sequence[Metric], result: SampleResult) -> SampleResult:
    """Return the result for a decision about this single answer: a score is undefined if any of its
    calls failed.

    The mean of many samples may be over the claims that could be judged. But an answer with half of
    its claims not judged in time must not pass a gate. Counts and bounds stay. Abstentions are no
    failures.
    """
    parts = {metric.name: (metric.claims_of, metric.against) for metric in metrics}
    failed: dict[tuple[Part, Part], list[Reason]] = {}
    for pair, assessments in result.columns().items():
        # An abstention is a judgment; a timeout is none, and a gate must not pass on half of an
        # answer.
        reasons_of_pair = [a.unassessed for a in assessments if a.unassessed]
        failed[pair] = [r for r in reasons_of_pair if r not in NOT_APPLICABLE | ABSTAINED]
    scored = dict(result.scores)
    for name, sample_score in scored.items():
        pairs = [parts[name]] if name in parts else [*failed]  # a derived metric needs several
        reasons = Counter(chain.from_iterable(failed.get(pair, ()) for pair in pairs))
        if sample_score.value is not None and reasons:
            scored[name] = sample_score.model_copy(
                update={"value": None, "because": reasons.most_common(1)[0][0]}
            )
    return result.model_copy(update={"scores": scored})


ABSTAINING = 0.1
"""Share of abstentions above which tables print bounds: the claims that judges are sure of are no
random sample."""


def is_doubtful(abstained: int, total: int) -> bool:
    """Return whether bounds are reported, as `abstained` of `total` claims or samples are unsure or
    tied."""
    return abstained > ABSTAINING * total


class MetricSummary(Record):
    """One metric over all samples of a run: its mean with an interval, and counts of missing
    values."""

    mean: float | None
    """Macro mean: the mean of the samples' values; None if no sample has a value."""
    low: float | None
    high: float | None
    """The reported ends: of the 95% interval of the mean, or the bounds, as `ends` says; None if
    there are none.

    The interval resamples whole questions, or clusters as `--cluster` says. Bounds are reported if
    judges abstained on more than a tenth of the claims.
    """
    n: int
    """Number of samples with a value."""
    clusters: int
    """Number of questions (or clusters) of these samples."""
    because: str | None = None
    """Why there is no mean (the most frequent reason) or no interval."""
    unit: str = "share"
    """`share` for a value in [0, 1]; otherwise what is counted."""
    missing: dict[Reason, int] = Field(default_factory=dict)
    """Number of samples without a value, by reason."""
    micro: float | None = None
    """Supported claims / judged claims over all samples."""
    bounds: tuple[float, float] | None = None
    """The mean if all unassessed claims were unsupported, and if all were supported.

    Samples to which the metric does not apply (no claims, no evidence, no input) are not included.
    """
    ends: Ends = "none"
    """What `low` and `high` are."""
    sampling: tuple[float, float] | None = None
    """The interval that the bounds withdraw; None if it is reported."""
    total: int | None = None
    """Number of claims of all samples; None if nothing is counted."""
    judged: int | None = None
    """Number of claims with a label."""
    hits: int | None = None
    """Number of supported claims; derived metrics may count something else."""
    unassessed: dict[Reason, int] = Field(default_factory=dict)
    """Number of claims, or of the items that a derived metric counts, without a label, by
    reason."""
    ungrounded: int = 0
    """Number of claims that were not found in their source text."""
    unasked: int = 0
    """Number of samples with the value 0 because their evidence is empty, for which no judge was
    asked."""
    failure_rate: float = 0.0
    """Share of samples or of claims lost to failures, whichever is larger. Abstentions are no
    failures."""
    by_judge: dict[str, MetricSummary] = Field(default_factory=dict)
    """The summary of each judge of a panel alone, over the claims that it was asked about."""

    @property
    def failures(self) -> list[Reason]:
        """The reasons of samples and claims that were lost to failures, in alphabetical order."""
        return sorted({*self.missing, *self.unassessed} - NOT_APPLICABLE - ABSTAINED)

    def with_bounds(self, ends: tuple[float, float] | None) -> MetricSummary:
        """Return the summary with bounds, if there are any, in place of the interval."""
        if ends is None or self.ends == "bounds":
            return self
        low, high = ends
        return self.model_copy(
            update={"low": low, "high": high, "ends": "bounds", "sampling": self.reported}
        )

    @property
    def value(self) -> float | None:
        """The mean, by the name of this field in an estimate."""
        return self.mean

    @property
    def reported(self) -> tuple[float, float] | None:
        """Both reported ends; None if there are none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def abstained(self) -> int:
        """Number of claims on which judges or the panel abstained."""
        return abstentions(self.unassessed)

    @property
    def mean_in_words(self) -> str:
        """The mean with the decimals of its interval; a dash if it is undefined."""
        return decimal(self.mean, digits_of(self.reported))

    def __repr__(self) -> str:
        value = f"undefined ({self.because})" if self.mean is None else self.mean_in_words
        ends = f", {ends_in_words(self)}" if self.reported else ""
        return f"<MetricSummary {value}{ends}, n {self.n}, missing {sum(self.missing.values())}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Show the mean with its ends and counts."""
        head = ("mean", "95% interval", "n", "missing", "supported", "judged")
        counts = (self.n, sum(self.missing.values()), self.hits, self.judged)
        row = (self.mean_in_words, ends_in_words(self), *map(str, counts))
        return html.shown(html.table(head, [row]))


def figures(name: str, summary: MetricSummary) -> dict[str, float | str]:
    """Return what other tools are told of a metric, by name; undefined figures are left out.

    Where bounds are reported, the mean is over the assessed claims alone, and its name says so.
    """
    mean = f"{name}.assessed_only" if summary.ends == "bounds" else name
    told: dict[str, float | str | None] = {
        mean: summary.mean,
        f"{name}.low": summary.low,
        f"{name}.high": summary.high,
    }
    told |= {f"{name}.n": summary.n, f"{name}.missing": sum(summary.missing.values())}
    told |= {
        f"{name}.unassessed": sum(summary.unassessed.values()),
        f"{name}.failure_rate": summary.failure_rate,
    }
    told[f"{name}.ends"] = summary.ends
    return {figure: value for figure, value in told.items() if value is not None}


def ends_in_words(summary: MetricSummary | Estimate, mark: str = " (bounds)") -> str:
    """Return the interval next to a mean as text, or the bounds with a mark."""
    return interval(summary.reported) + (mark if summary.ends == "bounds" else "")


KINDS_OF_ENDS = {"bounds": "bounds", "sequence": "95% certain between"}
"""What ends are called that are of no interval."""


def ends_and_kind(summary: MetricSummary) -> str:
    """Return the ends next to a mean with their kind: `95% interval 0.70 to 0.90`, `bounds 0.40 to
    0.86`."""
    if summary.reported is None:
        return "no interval"
    kind = KINDS_OF_ENDS.get(summary.ends, "95% interval")
    return f"{kind} {interval(summary.reported)}"


def abstentions(reasons: Mapping[Any, int]) -> int:
    """Return the number of abstentions among counts by reason."""
    return sum(n for reason, n in reasons.items() if reason in ABSTAINED)


class MetricTally:
    """Adds up one metric sample by sample, with a few bytes of memory per sample."""

    def __init__(self) -> None:
        self._unit = "share"
        self._values = array("d")
        self._clusters = array("q")
        self._lows = array("d")
        self._highs = array("d")
        self._bounded = array("q")
        """Bounds of each sample to which the metric applies, and its cluster."""
        self._unbounded = False
        """Whether nothing bounds the value that a sample lacks, as of a number of questions."""
        self._samples = 0
        self._missing: Counter[Reason] = Counter()
        self._unassessed: Counter[Reason] = Counter()
        self._counted = False
        self._hits = self._judged = self._total = self._ungrounded = self._unasked = 0

    def add(
        self,
        score: Score,
        unassessed: Iterable[Reason] = (),
        ungrounded: int = 0,
        *,
        cluster: int,
        unasked: bool = False,
    ) -> None:
        """Add one sample.

        Args:
            score: Score of the sample.
            unassessed: Reason of each unassessed claim.
            ungrounded: Number of ungrounded claims.
            cluster: Number of the sample's cluster.
            unasked: Whether no judge was asked because the evidence is empty.
        """
        self._samples += 1
        self._unit = score.unit
        for reason in unassessed:
            self._unassessed[reason] += 1
        # Metrics such as perplexity count nothing, and must not be shown as 0 of 0 claims.
        self._counted |= score.total is not None
        self._hits += score.hits or 0
        self._judged += score.judged or 0
        self._total += score.total or 0
        self._ungrounded += ungrounded
        self._unasked += unasked
        if score.value is not None:
            self._values.append(score.value)
            self._clusters.append(cluster)
        else:
            assert score.because is not None
            self._missing[score.because] += 1
        if ends := bounds_of(score):
            self._lows.append(ends[0])
            self._highs.append(ends[1])
            self._bounded.append(cluster)
        elif score.because not in NOT_APPLICABLE:
            self._unbounded = True

    def summary(self) -> MetricSummary:
        """Return the summary of the samples so far."""
        support = self._support
        estimate = mean_interval(self._values, clusters=self._clusters, support=support)
        because = (
            self._missing.most_common(1)[0][0]
            if not self._values and self._missing
            else estimate.because
        )
        count = len(self._bounded)
        bounds = None
        if count and not self._unbounded:
            bounds = math.fsum(self._lows) / count, math.fsum(self._highs) / count
        counts = self._total or self._unassessed
        abstained = abstentions(self._unassessed if counts else self._missing)
        doubtful = is_doubtful(abstained, self._total if counts else count)
        summary = MetricSummary(
            mean=estimate.value,
            low=estimate.low,
            high=estimate.high,
            ends="none" if estimate.low is None else "interval",
            n=len(self._values),
            clusters=estimate.clusters,
            because=because,
            unit=self._unit,
            missing=dict(sorted(self._missing.items())),
            micro=self._hits / self._judged if self._judged else None,
            bounds=bounds,
            total=self._total if self._counted else None,
            judged=self._judged if self._counted else None,
            hits=self._hits if self._counted else None,
            unassessed=dict(sorted(self._unassessed.items())),
            ungrounded=self._ungrounded,
            unasked=self._unasked,
            failure_rate=failure_rate(self._missing, self._unassessed, self._samples, self._total),
        )
        return summary.with_bounds(self.reported_bounds) if doubtful else summary

    @property
    def reported_bounds(self) -> tuple[float, float] | None:
        """The bounds with sampling error; None if the metric applies to no sample, or nothing
        bounds the value of one."""
        if self._unbounded:
            return None
        return sampled_bounds(self._lows, self._highs, self._bounded, self._support)

    @property
    def _support(self) -> tuple[float, float]:
        if self._unit == "words":
            return (0.0, math.inf)
        return (0.0, 1.0) if self._unit == "share" else (-math.inf, math.inf)


def sampled_bounds(
    lows: Sequence[float],
    highs: Sequence[float],
    clusters: Sequence[int],
    support: tuple[float, float],
) -> tuple[float, float] | None:
    """Return the bounds that are reported in place of an interval, which hold the mean of further
    samples too.

    They are the low end of the 90% interval of the samples' low bounds, and the high end of that
    of their high bounds: the truth is at one of the two at most (Imbens and Manski 2004). Without
    an interval, they are the means.

    Args:
        lows: The low bound of each sample.
        highs: The high bound of each sample.
        clusters: The cluster of each sample.
        support: The smallest and the largest value that a sample can have.

    Returns:
        Both bounds; None without samples.
    """
    if not lows:
        return None
    resampling = Resampling(level=0.9)
    low, high = (
        mean_interval(ends, clusters=clusters, support=support, resampling=resampling)
        for ends in (lows, highs)
    )
    assert low.value is not None, "there are samples"
    assert high.value is not None, "there are samples"
    return low.value if low.low is None else low.low, high.value if high.high is None else high.high


def bounds_of(score: Score) -> tuple[float, float] | None:
    """Return the bounds of a score; None if nothing is known about it, or the metric does not
    apply."""
    if score.because in NOT_APPLICABLE:
        return None
    if score.bounds:
        return score.bounds
    if score.value is None:
        return (0.0, 1.0) if score.unit == "share" else None
    return score.value, score.value


def failure_rate(
    missing: Mapping[Reason, int],
    unassessed: Mapping[Reason, int],
    samples: int,
    total: int,
) -> float:
    """Return the larger of the shares of samples and of claims that were lost to failures.

    Args:
        missing: Number of samples without a value, by reason.
        unassessed: Number of claims without a label, by reason.
        samples: Number of samples.
        total: Number of claims.
    """
    return max(_share(missing, samples), _share(unassessed, total))


def _share(reasons: Mapping[Reason, int], total: int) -> float:
    failed = sum(n for reason, n in reasons.items() if reason not in NOT_APPLICABLE | ABSTAINED)
    return failed / total if total else 0.0


def undefined(units: Mapping[str, str], because: Reason) -> dict[str, Score]:
    """Return the scores of a sample for which no metric of `units` has a value."""
    return {name: Score.undefined(because, unit) for name, unit in units.items()}


def defined(
    values: Mapping[str, float | None],
    units: Mapping[str, str],
    because: Reason = "no_evidence",
) -> dict[str, Score]:
    """Return the scores of a sample by metric. `because` is the reason for values that are None."""
    return {
        name: Score(value=value, unit=units[name], because=because if value is None else None)
        for name, value in values.items()
    }
