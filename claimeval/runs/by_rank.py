"""Gold claims in the answer by the rank of their evidence: whether a system loses what stands in
the middle of its retrieved documents, without a further call.

The page that named it "lost in the middle" means the answer (Liu et al. 2023). Other orders of the
documents ask another thing: whether the judge's verdicts depend on the order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from claimeval.data.context_ids import has_ids
from claimeval.metrics.rows import METRICS
from claimeval.metrics.scoring import counted
from claimeval.statistics.formatting import decimal, p_value
from claimeval.statistics.intervals import mean_interval
from claimeval.statistics.nested import Fall, largest_fall
from claimeval.statistics.slopes import straight_fall
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Estimate
from claimeval.types.records import Assessment, Part, Record, SampleResult

RANKS = 20
"""Ranks that are listed."""
SHORTEST = 3
"""Documents from which a list has a middle."""
COVERAGE = METRICS["coverage"]
WINDOWS = (
    (0.0, "between the first and the last of the retrieved documents"),
    (1 / 3, "in the inner two thirds of the retrieved documents"),
    (1 / 2, "in the inner half of the retrieved documents"),
    (3 / 4, "in the inner quarter of the retrieved documents"),
)
"""Middles of a list: the nearness to its center from which they begin, and their name. A dip may
be as wide as the list or as narrow as one document, and one split sees only its like."""
USUAL = 2
"""The window whose share is shown if nothing falls."""
CHANCE = 0.05
"""A p-value below which a fall is reported."""
SIDE = 0.15
"""A p-value below which the share is lower than on one side of the middle. Of a dip by .2 of all
but the first and last of ten documents, with 200 samples, one side alone has 60 claims: at .05,
four in twenty of these dips were missed."""


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
    """The share for evidence outside the middle."""
    middle: Estimate
    """The share for evidence in the middle: the window into which the share falls most clearly,
    else the inner half of the list."""
    window: str = WINDOWS[USUAL][1]
    """What the middle is."""
    p: float | None = None
    """One-sided p-value of a fall into one of four windows, from both of its sides; None if nothing
    can be compared."""
    drop: Estimate
    """How much the share falls from the first or last rank to the center, by a straight line
    through all claims; its interval takes the claims of a sample together."""

    @property
    def sentence(self) -> str | None:
        """That evidence in the middle is lost, if the share falls towards it beyond chance."""
        if self.p is None or self.p > CHANCE:
            return None
        return (
            "Lost in the middle: the answers have"
            f" {decimal(self.middle.value)} of the gold claims whose evidence stands"
            f" {self.window}, {decimal(self.ends.value)} of the others (p {p_value(self.p)})"
        )

    def __repr__(self) -> str:
        from claimeval.runs.views import plain, run

        return plain.text([run.ranks(self)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from claimeval.runs.views import notebook, run

        return notebook.page([run.ranks(self)])


class _RankedClaim(NamedTuple):
    rank: int
    nearness: float
    """0 at the ends of the list, 1 in its center."""
    covered: float
    """1 if the answer has the claim, else 0."""
    cluster: int
    length: int
    """Documents in the list."""

    @property
    def level(self) -> int:
        """The number of windows that the rank is inside of."""
        # 1 - 2/3 is a hair above 1/3 as a float, and that rank stands on the edge of the window
        return sum(self.nearness > start + 1e-9 for start, _ in WINDOWS)

    def is_before(self) -> bool:
        """Whether it stands before the center of the list."""
        return self.rank < (self.length + 1) / 2

    def is_after(self) -> bool:
        """Whether it stands after the center of the list."""
        return self.rank > (self.length + 1) / 2


class ByRankTally:
    """Collects gold claims sample by sample."""

    def __init__(self, cluster: str | None = None) -> None:
        self._cluster = cluster
        self._rows: list[_RankedClaim] = []

    def add(self, result: SampleResult) -> None:
        """Add the gold claims of a sample whose evidence stands at a rank."""
        length = len(result.sample.contexts or ())
        if length < SHORTEST:
            return
        cluster = cluster_of(result.sample, self._cluster)
        center = (length + 1) / 2
        for rank, covered in _claims(result):
            nearness = 1 - abs(rank - center) / (center - 1)
            self._rows.append(_RankedClaim(rank, nearness, float(covered), cluster, length))

    def by_rank(self) -> ByRank | None:
        """Return the shares; None if no gold claim has evidence at a known rank."""
        if not self._rows:
            return None
        at: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        for row in self._rows:
            at[row.rank].append((row.covered, row.cluster))
        fall = _fall(self._rows)
        window = fall.window if fall else USUAL
        middle: list[tuple[float, int]] = []
        ends: list[tuple[float, int]] = []
        for row in self._rows:
            (middle if row.level > window else ends).append((row.covered, row.cluster))
        return ByRank(
            ranks=tuple(
                RankShare(rank=rank, share=_share(at[rank])) for rank in sorted(at)[:RANKS]
            ),
            ends=_share(ends),
            middle=_share(middle),
            window=WINDOWS[window][1],
            p=fall.p if fall else None,
            drop=Estimate.of(
                straight_fall(
                    [row.nearness for row in self._rows],
                    [row.covered for row in self._rows],
                    [row.cluster for row in self._rows],
                )
            ),
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
    in_answer = dict[str, Assessment]()
    in_contexts = dict[str, Assessment]()
    labeled: dict[Part, dict[str, Assessment]] = {"answer": in_answer, "contexts": in_contexts}
    for one in result.whole:
        if one.label and one.subject in claims and one.against in labeled:
            labeled[one.against][one.subject] = one
    single = _single(result, claims)
    found = []
    for claim, of_answer in in_answer.items():
        of_contexts = in_contexts.get(claim)
        # What the contexts do not have stands at no rank.
        if of_contexts and of_contexts.support != "supported":
            continue
        named = _cited_ranks(result, of_contexts) if of_contexts else []
        # a claim that several documents have stands where the first of them does
        if ranks := named or single.get(claim) or _reference_ranks(result):
            found.append((min(ranks), of_answer.support == "supported"))
    return found


def _cited_ranks(result: SampleResult, assessment: Assessment) -> list[int]:
    """Return the ranks of the documents that judges cite for a claim."""
    documents = assessment.supported_by
    ids = [document.id for document in result.sample.contexts or ()]
    return [rank for rank, name in enumerate(ids, 1) if name in documents]


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


def _fall(rows: Sequence[_RankedClaim]) -> Fall | None:
    """Return the middle into which the share falls most clearly, one-sided, because what is asked
    is whether the middle is lost, not whether it differs; it must fall from what stands before the
    middle and from what stands after it."""
    if len({row.cluster for row in rows}) < SHORTEST:
        return None
    fall = _largest_fall(rows, [row.level for row in rows], len(WINDOWS))
    if fall is None or fall.p > CHANCE:
        return fall
    # Where most evidence stands at the first rank, the others are nearly all first, and a share
    # that falls from the first rank to the last is no loss of the middle: it must rise again.
    for outside in (_RankedClaim.is_before, _RankedClaim.is_after):
        side = [row for row in rows if row.level > fall.window or outside(row)]
        against = _largest_fall(side, [int(row.level > fall.window) for row in side], 1)
        if against is None or against.p > SIDE:
            return Fall(fall.window, against.p if against else 1.0)
    return fall


def _largest_fall(rows: Sequence[_RankedClaim], levels: Sequence[int], windows: int) -> Fall | None:
    return largest_fall(
        levels,
        [row.covered for row in rows],
        [row.cluster for row in rows],
        [row.length for row in rows],
        windows,
    )
