"""Effect of the document order on labels: flips, and support by rank of the supporting document."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from claimeval.metrics.flips import counted_differently
from claimeval.statistics import mean_interval
from claimeval.types.estimates import Estimate
from claimeval.types.records import Assessment, Evidence, Record, Sample, SampleResult


class RankEffect(Record):
    """Labels of claims whose supporting document was shown at one rank."""

    rank: int
    """From 1."""
    labeled: int
    """Labels with the supporting document at this rank."""
    supported: int
    """Labels among them that are "supported"."""
    compared: int
    """Labels among them from another order, if the claim also has a label under the original
    order."""
    flipped: int
    """Labels among those compared that count differently than under the original order."""


class OrderEffects(Record):
    """Changes of labels when the same documents are shown in other orders."""

    orders: int
    """Number of other orders; samples with fewer possible orders are assessed in all of them."""
    claims: int
    """Claims with labels under at least two orders."""
    flipped: int
    """Claims that do not count the same under all orders (see `flips.py`)."""
    lost: int
    """Labels of other orders that are not "supported" although the original label is."""
    gained: int
    """Labels of other orders that are "supported" although the original label is not."""
    rate: Estimate
    """Mean over the samples of the share of flipped claims."""
    places: tuple[RankEffect, ...]
    """By rank of a claim's supporting document, the one that judges cite most for it. Claims
    without one are left out."""


class OrderTally:
    """Computes the effects of other orders, sample by sample."""

    def __init__(self, orders: int) -> None:
        self._orders = orders
        self._shares = array("d")
        self._clusters = array("q")
        self._claims = self._flipped = self._lost = self._gained = 0
        self._places: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """The counts of `RankEffect`, by rank."""

    def add(self, result: SampleResult, cluster: int) -> None:
        """Add one sample with its cluster."""
        original = {(a.subject, a.evidence): a for a in result.whole}
        columns: dict[tuple[str, Evidence], dict[int, Assessment]] = {}
        for other in result.orders:
            key = (other.subject, other.evidence.whole)
            order = other.evidence.order
            if order is not None and key in original:
                columns.setdefault(key, {0: original[key]})[order] = other
        flips = [
            self._add_claim(result.sample, evidence, labeled)
            for (_, evidence), by_order in columns.items()
            if len(labeled := {n: a for n, a in by_order.items() if a.label is not None}) > 1
        ]
        if flips:
            self._shares.append(sum(flips) / len(flips))
            self._clusters.append(cluster)

    def _add_claim(
        self,
        sample: Sample,
        evidence: Evidence,
        by_order: Mapping[int, Assessment],
    ) -> bool:
        """Add the labels of one claim, and return whether they count differently."""
        flipped = any(
            counted_differently(a, b, graded=True) for a, b in combinations(by_order.values(), 2)
        )
        self._claims += 1
        self._flipped += flipped
        if 0 in by_order:
            supported = by_order[0].support == "supported"
            others = [a.support == "supported" for n, a in by_order.items() if n]
            self._lost += supported * (len(others) - sum(others))
            self._gained += (not supported) * sum(others)
        self._add_places(sample, evidence, by_order)
        return flipped

    def _add_places(
        self,
        sample: Sample,
        evidence: Evidence,
        by_order: Mapping[int, Assessment],
    ) -> None:
        """Add the labels of one claim by the rank at which its supporting document was shown."""
        documents = [document.id for document in sample.documents(evidence) or ()]
        index = _most_cited(by_order.values(), documents)
        if index is None:
            return
        rank = sample.ranks(evidence)[index]
        for number, assessment in by_order.items():
            shown = Evidence(part=evidence.part, order=number) if number else evidence
            counts = self._places[sample.ranks(shown).index(rank) + 1]
            counts["labeled"] += 1
            counts["supported"] += assessment.support == "supported"
            if number and 0 in by_order:
                counts["compared"] += 1
                counts["flipped"] += counted_differently(assessment, by_order[0], graded=True)

    def summary(self) -> OrderEffects:
        """Return the effects over the samples so far."""
        return OrderEffects(
            orders=self._orders,
            claims=self._claims,
            flipped=self._flipped,
            lost=self._lost,
            gained=self._gained,
            rate=Estimate.of(mean_interval(self._shares, clusters=self._clusters)),
            places=tuple(
                RankEffect.model_validate({"compared": 0, "flipped": 0, **counts, "rank": rank})
                for rank, counts in sorted(self._places.items())
            ),
        )


def _most_cited(assessments: Iterable[Assessment], documents: list[str]) -> int | None:
    """Return the index in the original order of the document cited most for support; the first
    among equals."""
    cited: Counter[str] = Counter()
    for assessment in assessments:
        for verdict in assessment.verdicts:
            if verdict.support == "supported":
                cited.update(set(verdict.cites))
    counts = [cited[document] for document in documents]
    return counts.index(max(counts)) if any(counts) else None
