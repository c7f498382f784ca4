"""Gold claims in the answer by the rank of their evidence: whether a system loses what stands in
the middle of its retrieved documents, without a further call.

The page that named it "lost in the middle" means the answer (Liu et al. 2023). Other orders of the
documents ask another thing: whether the judge's verdicts depend on the order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from claimeval.data.context_ids import has_ids
from claimeval.metrics.rows import METRICS
from claimeval.metrics.scoring import counted
from claimeval.runs.inputs import cited
from claimeval.statistics.formatting import decimal
from claimeval.statistics.intervals import mean_interval
from claimeval.statistics.quantiles import critical_value
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record, SampleResult

RANKS = 20
"""Ranks that are listed."""
SHORTEST = 3
"""Documents from which a list has a middle."""
COVERAGE = METRICS["coverage"]


class RankShare(Record):
    """Gold claims whose evidence stands at one rank."""

    rank: int
    share: Estimate
    """The share of them that the answer has; `n` is their number."""


class ByRank(Record):
    """Gold claims in the answer by the rank of their evidence."""

    ranks: tuple[RankShare, ...]
    """The first 20 ranks at which evidence stands."""
    ends: Estimate
    """The share for evidence in the outer half of the list of documents."""
    middle: Estimate
    """The share for evidence in the inner half."""
    drop: Estimate
    """How much the share falls from the first or last rank to the center, by a straight line
    through all claims; its interval takes the claims of a sample together."""
    least: float | None = None
    """The one-sided lower bound of `drop`, which it exceeds with 95% confidence."""

    @property
    def sentence(self) -> str | None:
        """That evidence in the middle is lost, if the share falls towards it beyond chance."""
        if self.least is None or self.least <= 0:
            return None
        return (
            "Lost in the middle: the answers have"
            f" {decimal(self.middle.value, 2)} of the gold claims whose evidence stands in the"
            f" inner half of the retrieved documents, {decimal(self.ends.value, 2)} of the others;"
            f" the fall from the ends to the center is {decimal(self.drop.value, 2)},"
            f" with 95% confidence above {decimal(self.least, 2)}"
        )

    def __repr__(self) -> str:
        from claimeval.runs.views import plain, run

        return plain.text([run.ranks(self)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from claimeval.runs.views import notebook, run

        return notebook.page([run.ranks(self)])


class ByRankTally:
    """Collects gold claims sample by sample."""

    def __init__(self, cluster: str | None = None) -> None:
        self._cluster = cluster
        self._rows: list[tuple[int, float, float, int]] = []
        """Rank, nearness to the center, whether the answer has the claim, and the cluster."""

    def add(self, result: SampleResult) -> None:
        """Add the gold claims of a sample whose evidence stands at a rank."""
        length = len(result.sample.contexts or ())
        if length < SHORTEST:
            return
        cluster = cluster_of(result.sample, self._cluster)
        center = (length + 1) / 2
        for rank, covered in _claims(result):
            nearness = 1 - abs(rank - center) / (center - 1)
            self._rows.append((rank, nearness, float(covered), cluster))

    def by_rank(self) -> ByRank | None:
        """Return the shares; None if no gold claim has evidence at a known rank."""
        if not self._rows:
            return None
        at: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        middle: list[tuple[float, int]] = []
        ends: list[tuple[float, int]] = []
        for rank, nearness, covered, cluster in self._rows:
            at[rank].append((covered, cluster))
            (middle if nearness > 0.5 else ends).append((covered, cluster))
        drop = _drop([row[1:] for row in self._rows])
        return ByRank(
            ranks=tuple(
                RankShare(rank=rank, share=_share(at[rank])) for rank in sorted(at)[:RANKS]
            ),
            ends=_share(ends),
            middle=_share(middle),
            drop=drop,
            least=_least(drop),
        )


def by_rank(results: Iterable[SampleResult], cluster: str | None = None) -> ByRank | None:
    """Return the gold claims in the answer by the rank of their evidence; None without coverage, or
    if no rank is known."""
    tally = ByRankTally(cluster)
    for result in results:
        tally.add(result)
    return tally.by_rank()


def _claims(result: SampleResult) -> list[tuple[int, bool]]:
    """Return the rank of the evidence of each gold claim, and whether the answer has the claim."""
    claims = counted(COVERAGE, result) if "coverage" in result.scores else frozenset[str]()
    if not claims:
        return []
    in_answer: dict[str, bool] = {}
    supported: dict[str, bool] = {}
    documents: dict[str, set[str]] = {}
    for one in result.whole:
        if one.subject not in claims or one.label is None:
            continue
        if one.against == "answer":
            in_answer[one.subject] = one.support == "supported"
        elif one.against == "contexts":
            supported[one.subject] = one.support == "supported"
            documents[one.subject] = cited(one)
    single = _single(result, claims)
    ids = [document.id for document in result.sample.contexts or ()]
    found = []
    for claim, covered in in_answer.items():
        if not supported.get(claim, True):
            continue  # the contexts do not have it, so it stands at no rank
        named = [rank for rank, name in enumerate(ids, 1) if name in documents.get(claim, ())]
        # a claim that several documents have stands where the first of them does
        if ranks := named or single.get(claim) or _reference_ranks(result):
            found.append((min(ranks), covered))
    return found


def _single(result: SampleResult, claims: Collection[str]) -> dict[str, list[int]]:
    """Return the ranks of the documents that support each claim alone, if they were judged."""
    single: defaultdict[str, list[int]] = defaultdict(list)
    for one in result.per_document:
        if one.subject in claims and one.against == "contexts" and one.support == "supported":
            single[one.subject].append(one.document or 1)
    return single


def _reference_ranks(result: SampleResult) -> list[int]:
    """Return the ranks of the reference contexts, by id or by text; none if they are not known."""
    sample = result.sample
    if sample.reference_context_ids and has_ids(sample):
        relevant = set(sample.reference_context_ids)
        contexts = sample.contexts or ()
        return [rank for rank, one in enumerate(contexts, 1) if one.id in relevant]
    if not sample.reference_contexts:
        return []
    from claimeval.evaluation import retrieval  # loads `ir`, which most runs do without

    matches = retrieval.references_in_text(sample).by_rank
    return [rank for rank, names in matches.items() if names]


def _share(rows: Sequence[tuple[float, int]]) -> Estimate:
    clusters = [cluster for _, cluster in rows]
    return Estimate.of(mean_interval([value for value, _ in rows], clusters=clusters))


def _drop(rows: Sequence[tuple[float, float, int]]) -> Estimate:
    """Return the fall of the share along the nearness to the center, with an interval that leaves
    out one cluster at a time.

    The jackknife of clusters (CR3) is used because the claims of a sample are alike; other
    sandwich estimates are too narrow for few samples (Bell and McCaffrey 2002).
    """
    sums: defaultdict[int, list[float]] = defaultdict(lambda: [0.0] * 5)
    for x, y, cluster in rows:
        of = sums[cluster]
        for at, number in enumerate((1.0, x, y, x * x, x * y)):
            of[at] += number
    total = [sum(column) for column in zip(*sums.values(), strict=True)]
    value = _slope(total)
    clusters = len(sums)
    if value is None or clusters < SHORTEST:
        return Estimate(n=len(rows), clusters=clusters, because="too few ranks or samples")
    left = [
        _slope([whole - part for whole, part in zip(total, of, strict=True)])
        for of in sums.values()
    ]
    slopes = [slope for slope in left if slope is not None]
    if len(slopes) < clusters:
        return Estimate(n=len(rows), clusters=clusters, because="too few ranks or samples")
    spread = sum((slope - value) ** 2 for slope in slopes)
    reach = math.sqrt(spread * (clusters - 1) / clusters) * critical_value(0.95, clusters - 1)
    return Estimate(
        value=-value,
        low=-value - reach,
        high=-value + reach,
        n=len(rows),
        clusters=clusters,
        ends="interval",
    )


def _least(drop: Estimate) -> float | None:
    """Return the one-sided bound that belongs to the two-sided interval of a drop, because what is
    asked is whether the middle is lost, not whether it differs."""
    if drop.value is None or drop.low is None:
        return None
    freedom = drop.clusters - 1
    narrower = critical_value(0.9, freedom) / critical_value(0.95, freedom)
    return drop.value - (drop.value - drop.low) * narrower


def _slope(sums: Sequence[float]) -> float | None:
    """Return the slope of a least-squares line from the sums of 1, x, y, xx and xy; None if all x
    are equal."""
    n, x, y, xx, xy = sums
    spread = n * xx - x * x
    return (n * xy - x * y) / spread if spread > 1e-9 else None
