"""What a report says of a run as a whole: the records behind the page's overview, the Markdown and the JSON."""

from __future__ import annotations

from claimeval.flips import Flip, FlipCounts
from claimeval.metrics import ClaimMetric
from claimeval.records import Evidence, Reason, Record
from claimeval.run import Manifest, Summary
from claimeval.side_scores import SideSummary

BINS = 12
"""Bars of a distribution: exactly 0, ten tenths in between (lower end excluded), exactly 1."""


class LabelCounts(Record):
    """How many claims got which label."""

    supported: int = 0
    contradicted: int = 0
    not_found: int = 0
    unassessed: int = 0


class Interval(Record):
    """A value with its 95 % interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


class MetricFacts(Record):
    """What is shown of one metric beside its summary."""

    metric: ClaimMetric
    labels: LabelCounts
    distribution: tuple[int, ...]
    """Samples by value, in `BINS` bars."""


class JudgeFacts(Record):
    """What one judge or extractor was asked and said."""

    name: str
    short: str
    """The name as tables show it."""
    model: str
    endpoint: str | None
    served_models: dict[str, int]
    """Replies by the model name that came with them."""
    extractions: int
    """Calls that took claims from texts."""
    assessments: int
    """Calls that assessed claims."""
    failed: dict[Reason, int]
    """Calls without a usable reply, by reason."""
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    """Replies that came without a count of tokens."""
    cost: float | None
    """US dollars for these tokens at the stated price, whenever they were paid and without discounts; None where no
    price is stated or tokens were not counted."""
    labels: LabelCounts
    """Verdicts over all claims and metrics."""


class RankFacts(Record):
    """What one rank of the retrieved contexts is good for."""

    rank: int
    samples: int
    """Samples with a context at this rank."""
    cited: int
    """Those whose context a judge named for a claim that the panel found supported."""
    relevant: int | None
    """Those whose context is among the sample's reference contexts; None where no sample says which these are."""


class Trouble(Record):
    """A claim that its evidence does not carry."""

    sample_id: str
    question: str
    claim_id: str
    claim: str
    evidence: Evidence
    label: str
    reason: str | None
    """The words of the first judge who gave that label."""
    excerpt: str | None = None
    """How the first document begins that a judge named, after its id in brackets; None when none was named."""
    documents: int = 0
    """How many documents the claim was assessed against."""


class Caution(Record):
    """Something that a reader must know before believing a number."""

    kind: str
    text: str


class Facts(Record):
    """What a run comes to."""

    name: str
    """The run directory's name."""
    manifest: Manifest
    summary: Summary
    cautions: tuple[Caution, ...]
    metrics: tuple[MetricFacts, ...]
    """In the order of the manifest."""
    derived: dict[str, str]
    """What the metrics are, in words, that are read off the verdicts of these."""
    sides: tuple[SideSummary, ...]
    """Scores that no judge gave."""
    judges: tuple[JudgeFacts, ...]
    ranks: tuple[RankFacts, ...]
    worst: tuple[Trouble, ...]
    """The worst claim of each of the worst samples, contradicted ones first."""


class MetricComparison(Record):
    """One metric in two runs, over the samples that have a value in both. Differences are b - a."""

    metric: str
    n: int
    clusters: int
    """Questions (or what `--cluster` names) that these samples are about; the test flips whole ones."""
    a: float | None
    """Mean of these samples in run a."""
    b: float | None
    difference: Interval
    p_value: float | None
    """Two-sided sign-flip permutation test."""
    p_adjusted: float | None
    """The same after Holm's correction over the metrics."""
    higher: int
    """Samples whose value is higher in b."""
    lower: int
    dropped: int
    """Shared samples without a value in one of the runs."""


class Comparison(Record):
    """Two runs over the same samples."""

    a: str
    b: str
    shared: int
    clusters: int
    """Questions that the shared samples are about, or what `--cluster` names."""
    cluster: str | None
    """The field by which samples belong together in intervals and tests; None for their question."""
    only_a: int
    only_b: int
    other_texts: int
    """Shared samples whose question, answer, contexts or references differ: two systems, or edited data."""
    other_claims: int
    """Shared samples whose claims differ; labels are compared claim by claim only where they are the same."""
    settings: tuple[str, ...]
    """What the runs were asked differently, in words."""
    abstained: tuple[str, ...]
    """Of which run and metric many claims are open, so that means and difference are over what judges were sure of."""
    metrics: tuple[MetricComparison, ...]
    compared: int
    """Claims that both runs have and assessed against the same evidence; the four counts are those of `flips.py`."""
    flipped: int
    relabeled: int
    labeled_once: int
    flips: tuple[Flip, ...]
    """The first claims that flipped."""

    @property
    def other_changes(self) -> str:
        """The changes of claims that are no flips, in words; empty if there are none."""
        return FlipCounts(self.compared, self.flipped, self.relabeled, self.labeled_once).others()
