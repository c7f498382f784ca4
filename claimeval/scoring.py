"""Labels -> scores of a sample -> summary of a run."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from pydantic import Field

from claimeval.derived import scores as derived_scores
from claimeval.derived.matrix import Matrix
from claimeval.metrics import ClaimMetric
from claimeval.records import (
    ABSTAINED,
    NOT_APPLICABLE,
    Assessment,
    Evidence,
    Extraction,
    Label,
    Part,
    Reason,
    Record,
    Sample,
    Score,
)
from claimeval.scales import VALUES
from claimeval.statistics import mean_interval


def score(
    metric: ClaimMetric,
    extraction: Extraction | None,
    assessments: Sequence[Assessment],
) -> Score:
    """The share of the judged claims that are supported; the mean of the judges' shares where each took its own.

    None without claims (`no_claims`, or why the extraction failed) or when no claim could be judged (the most frequent
    reason; `not_in_cache` where a run without calls has no verdicts on it).
    """
    if extraction is None:
        return Score(metric=metric.name, undefined_because="missing_input")
    total = len(extraction.claims)
    if not total:
        return Score(metric=metric.name, undefined_because=extraction.failed_because or "no_claims")
    if not any(a.label != "unassessed" for a in assessments):
        reasons = Counter(a.unassessed_because for a in assessments if a.unassessed_because)
        because = reasons.most_common(1)[0][0] if reasons else "not_in_cache"
        return Score(metric=metric.name, total=total, undefined_because=because)
    assessed = {a.claim_id: a.label for a in assessments}
    takers: dict[str | None, list[Label]] = {claim.taken_by: [] for claim in extraction.claims}
    claims = Counter(claim.taken_by for claim in extraction.claims)
    for claim in extraction.claims:
        if (label := assessed.get(claim.id, "unassessed")) != "unassessed":
            takers[claim.taken_by].append(label)
    parts = [
        Score(
            metric=metric.name,
            value=sum(VALUES[label] == 1.0 for label in labels) / len(labels) if labels else None,
            hits=sum(VALUES[label] == 1.0 for label in labels),
            judged=len(labels),
            total=claims[taker],
        )
        for taker, labels in takers.items()
    ]
    return parts[0] if len(parts) == 1 else _mean(parts)


def _mean(parts: Sequence[Score]) -> Score:
    """The score of several judges who took claims of their own: each counts once, however many claims it took."""
    values = [part.value for part in parts if part.value is not None]
    bounds = [part.bounds for part in parts if part.bounds]
    lows, highs = zip(*bounds, strict=True)
    return Score(
        metric=parts[0].metric,
        value=sum(values) / len(values),
        hits=sum(part.hits for part in parts),
        judged=sum(part.judged for part in parts),
        total=sum(part.total for part in parts),
        ends=(sum(lows) / len(bounds), sum(highs) / len(bounds)),
    )


def unasked(
    metrics: Sequence[ClaimMetric], sample: Sample, extractions: Mapping[Part, Extraction]
) -> dict[tuple[Part, Part], list[Assessment]]:
    """The assessments against parts that are there and empty: nothing supports a claim, and no judge is asked."""
    return {
        (metric.claims_of, metric.against): [
            Assessment(claim_id=claim.id, evidence=Evidence(part=metric.against), verdicts=(), label="not_found")
            for claim in extraction.claims
        ]
        for metric in metrics
        if sample.documents(metric.against) == ()
        if (extraction := extractions.get(metric.claims_of)) and extraction.claims
    }


def scores(
    metrics: Sequence[ClaimMetric],
    sample: Sample,
    extractions: Mapping[Part, Extraction],
    assessments: Mapping[tuple[Part, Part], Sequence[Assessment]],
    derived: Sequence[str] = (),
    cells: Sequence[Assessment] = (),
) -> tuple[Score, ...]:
    """The scores of one sample, a metric each; `assessments[of, against]` are of the claims of `of`.

    Behind them those of derived rows by name, for which `cells` are assessments against single documents.
    """
    found = []
    for metric in metrics:
        assessed = assessments.get((metric.claims_of, metric.against), ())
        fed = assessed or metric.lacks(sample) is None
        extraction = extractions.get(metric.claims_of) if fed else None
        found.append(score(metric, extraction, assessed))
    if derived:
        columns = (assessment for column in assessments.values() for assessment in column)
        found += derived_scores(derived, Matrix.of(sample, extractions, chain(columns, cells)))
    return tuple(found)


class MetricSummary(Record):
    """One metric over all samples of a run."""

    mean: float | None
    """Macro mean: the mean of the samples' values; None when no sample has one."""
    ci: tuple[float, float] | None
    """95 % interval of the mean, samples being the resampled unit."""
    n: int
    """Samples with a value."""
    missing: dict[Reason, int]
    """Samples without a value, by reason."""
    micro: float | None
    """Supported claims / judged claims over all samples."""
    bounds: tuple[float, float] | None
    """The mean if everything that could not be assessed were unsupported, and if it were supported.

    Samples to which the metric does not apply (no claims, no evidence, no input) are left out of both.
    """
    claims: int
    judged: int
    supported: int
    unassessed: dict[Reason, int]
    """Claims without a label, by reason; of a derived metric, what it counts and could not be settled."""
    ungrounded: int
    """Claims that could not be tied to the text they were taken from."""
    unasked: int = 0
    """Samples that have 0 without a question to a judge: what their claims are held against is there and empty."""
    failure_rate: float
    """The larger of the shares of samples and of claims lost to failures (not to abstentions or inapplicability)."""
    note: str | None = None
    """Says so when the numbers are no LLM judgement."""
    members: dict[str, MetricSummary] = Field(default_factory=dict)
    """What each judge of a panel alone makes of it, over the claims it was asked about."""


class Tally:
    """Adds up one metric sample by sample, in memory that grows by a few bytes a sample."""

    def __init__(self, note: str | None = None) -> None:
        self._note = note
        self._values = array("d")
        self._low = self._high = 0.0
        self._bounded = 0
        self._samples = 0
        self._missing: Counter[Reason] = Counter()
        self._unassessed: Counter[Reason] = Counter()
        self._hits = self._judged = self._claims = self._ungrounded = self._unasked = 0

    def add(self, score: Score, unassessed: Iterable[Reason], ungrounded: int, *, unasked: bool = False) -> None:
        """One sample: its score, the reasons of its unassessed claims, the number of its ungrounded claims.

        `unasked` says that its claims were held against nothing.
        """
        self._samples += 1
        self._unassessed.update(unassessed)
        self._hits += score.hits
        self._judged += score.judged
        self._claims += score.total
        self._ungrounded += ungrounded
        self._unasked += unasked
        if score.value is not None:
            self._values.append(score.value)
        else:
            assert score.undefined_because is not None
            self._missing[score.undefined_because] += 1
        if score.undefined_because not in NOT_APPLICABLE:
            low, high = score.bounds or ((0.0, 1.0) if score.value is None else (score.value, score.value))
            self._low, self._high, self._bounded = self._low + low, self._high + high, self._bounded + 1

    def summary(self) -> MetricSummary:
        """What the samples added so far come to."""
        estimate = mean_interval(self._values)
        ci = None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)
        return MetricSummary(
            mean=estimate.value,
            ci=ci,
            n=len(self._values),
            missing=dict(sorted(self._missing.items())),
            micro=self._hits / self._judged if self._judged else None,
            bounds=(self._low / self._bounded, self._high / self._bounded) if self._bounded else None,
            claims=self._claims,
            judged=self._judged,
            supported=self._hits,
            unassessed=dict(sorted(self._unassessed.items())),
            ungrounded=self._ungrounded,
            unasked=self._unasked,
            failure_rate=max(_share(self._missing, self._samples), _share(self._unassessed, self._claims)),
            note=self._note,
        )


def _share(reasons: Counter[Reason], total: int) -> float:
    failed = sum(n for reason, n in reasons.items() if reason not in NOT_APPLICABLE | ABSTAINED)
    return failed / total if total else 0.0
