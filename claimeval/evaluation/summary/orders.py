"""What the order of the documents does to the labels: how many flip, and how support depends on a document's place."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from claimeval.metrics.flips import counted_differently
from claimeval.metrics.tally import Tally
from claimeval.statistics import mean_interval
from claimeval.types.estimates import Estimate
from claimeval.types.records import Assessment, Evidence, Record, Sample, SampleResult


class RankEffect(Record):
    """One rank, where the document stood that claims rest on."""

    rank: int
    """From 1."""
    labeled: int
    """Labels given with that document there."""
    supported: int
    """Those that say it supports the claim."""
    compared: int
    """Those given under another order to claims that have a label under the original one too."""
    flipped: int
    """Those of these that count differently than under the original order."""


class OrderEffects(Record):
    """How labels change when the same documents are shown in other orders."""

    orders: int
    """Other orders, each asked about once; samples whose documents have fewer are asked about in all of those."""
    claims: int
    """Claims with labels under two orders at least."""
    flipped: int
    """Those that do not count the same under all orders (see `flips.py`)."""
    lost: int
    """Labels of other orders that are not "supported" where that of the original order is."""
    gained: int
    """Labels of other orders that are "supported" where that of the original order is not."""
    rate: Estimate
    """Mean over the samples of the share of flipped claims."""
    places: tuple[RankEffect, ...]
    """By rank of the document that judges name most for a claim they find supported; claims that nobody names one for
    are left out."""


class OrderTally(Tally):
    """Adds up the labels under other orders, sample by sample."""

    ADDED = ("_shares", "_clusters", "_claims", "_flipped", "_lost", "_gained", "_places")

    def __init__(self, orders: int) -> None:
        self._orders = orders
        self._shares, self._clusters = array("d"), array("q")
        self._claims = self._flipped = self._lost = self._gained = 0
        self._places: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """By rank what `RankEffect` counts."""

    def add(self, result: SampleResult, cluster: int) -> None:
        """Counts one sample in, with what it belongs to."""
        original = {(a.subject, a.evidence): a for a in result.assessments}
        columns: dict[tuple[str, Evidence], dict[int, Assessment]] = {}
        for other in result.orders:
            place, order = (other.subject, other.evidence.whole), other.evidence.order
            if order is not None and place in original:
                columns.setdefault(place, {0: original[place]})[order] = other
        flips = [
            self._claim(result.sample, evidence, labeled)
            for (_, evidence), by_order in columns.items()
            if len(labeled := {n: a for n, a in by_order.items() if a.label is not None}) > 1
        ]
        if flips:
            self._shares.append(sum(flips) / len(flips))
            self._clusters.append(cluster)

    def _claim(self, sample: Sample, evidence: Evidence, by_order: Mapping[int, Assessment]) -> bool:
        """Counts the labels of one claim under all orders; whether they differ."""
        flipped = any(counted_differently(a, b, graded=True) for a, b in combinations(by_order.values(), 2))
        self._claims += 1
        self._flipped += flipped
        if 0 in by_order:
            was = by_order[0].support == "supported"
            now = [a.support == "supported" for n, a in by_order.items() if n]
            self._lost += was * (len(now) - sum(now))
            self._gained += (not was) * sum(now)
        documents = [document.id for document in sample.documents(evidence) or ()]
        if (best := _most_named(by_order.values(), documents)) is not None:
            rank = sample.ranks(evidence)[best]
            for number, assessment in by_order.items():
                shown = Evidence(part=evidence.part, order=number) if number else evidence
                place = self._places[sample.ranks(shown).index(rank) + 1]
                place["labeled"] += 1
                place["supported"] += assessment.support == "supported"
                if number and 0 in by_order:
                    place["compared"] += 1
                    place["flipped"] += counted_differently(assessment, by_order[0], graded=True)
        return flipped

    def summary(self) -> OrderEffects:
        """Return what the samples so far show."""
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


def _most_named(assessments: Iterable[Assessment], documents: list[str]) -> int | None:
    """Return the place, in the original order, of the document named most often for support; the first among equals."""
    named = Counter(
        document
        for assessment in assessments
        for verdict in assessment.verdicts
        if verdict.support == "supported"
        for document in set(verdict.cites)
    )
    counts = [named[document] for document in documents]
    return counts.index(max(counts)) if any(counts) else None
