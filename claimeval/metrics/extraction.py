"""Quality of extracted claims over many texts, beside gold claims, and of one run beside another.

A ratio adds up the counts of `claimeval.lexical.extraction` over all texts. Intervals resample
whole questions. A share of fewer than `FEW` items has no value.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from claimeval.metrics.claim_quality import GOLD_METRICS, ExtractionSummary, Ratio
from claimeval.metrics.scoring import MetricSummary, failure_rate
from claimeval.statistics import NO_INTERVAL, Resampling, difference_interval, ratio_interval
from claimeval.statistics.bootstrap import (
    STANDARD,
    ClusterSums,
    bootstrap_sums,
    cluster_sums,
    quotient,
)
from claimeval.statistics.formatting import digits_of, signed, signed_interval
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Estimate
from claimeval.types.records import Claim, Part, Reason, SampleResult, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from claimeval.lexical.extraction import ExtractionCounts, Statement

    Floats = NDArray[np.float64]

EXAMINED = 500
"""Approximate number of texts of a run whose claims its report examines; each takes 1 to 5 ms."""
FEW = 20
"""Minimum number of items for a share."""
COVERAGE = {"statements_lost": 0.0, "numbers_lost": 0.02, "dates_lost": 0.02, "names_lost": 0.02}
"""Measures that show that claims cover less of their texts, with the minimum difference. It is
above 0 because a splitter that keeps whole sentences loses no words, and claims of single facts
lose some."""
SURE = 0.99
"""Level of the intervals for `COVERAGE`, which are several."""
UNITS = {"claims_per_sentence": "claims", "words_per_claim": "words", "granularity": "claims"}
"""Units of measures that are not shares."""


@lru_cache(maxsize=2 * EXAMINED)
def _examined(text: str, claims: tuple[Statement, ...]) -> ExtractionCounts:
    from claimeval.lexical.extraction import examine

    return examine(text, claims)


def statements(claims: Iterable[Claim]) -> list[Statement]:
    """Return claims as statements. If no claim names its sentences, their sentences are unknown
    (None)."""
    from claimeval.lexical.extraction import Statement

    claim_list = list(claims)
    cite_sentences = any(claim.sentences for claim in claim_list)
    return [
        Statement(
            claim.text,
            tuple(i - 1 for i in claim.sentences) if cite_sentences else None,
            claim.repeats,
        )
        for claim in claim_list
    ]


def ratio_score(name: str, hits: int, of: int) -> Score:
    """Return the score of one text, `hits / of`; undefined if `of` is 0."""
    unit = UNITS.get(name, "share")
    if not of:
        return Score.undefined("no_evidence", unit)
    return Score(
        value=hits / of,
        unit=unit,
        hits=hits,
        judged=of,
        total=of,
        bounds=(hits / of, hits / of),
    )


class RatioTally:
    """Adds up one measure over texts: numerators and denominators, with the clusters of the
    texts."""

    width = 2

    def __init__(self, name: str) -> None:
        self._name = name
        self._values = array("q")
        self._clusters = array("q")

    def add(self, row: Sequence[int], cluster: int) -> None:
        """Add a text."""
        self._values.extend(row)
        self._clusters.append(cluster)

    @property
    def rows(self) -> Floats:
        """The counts of each text."""
        import numpy as np

        return np.array(self._values, dtype=np.float64).reshape(-1, self.width)

    def ratio(self, resampling: Resampling = STANDARD) -> Ratio:
        """Return the ratio. It has no value if there are no items, or too few for a share."""
        name = self._name
        rows = self.rows
        clusters = list(self._clusters)
        hits, of = map(int, rows.sum(axis=0))
        if not of:
            return Ratio(because="none to lose" if name.endswith("_lost") else "none")
        if name.endswith("_lost") and of < FEW:
            because = f"n = {of}, too few"
            return Ratio(
                because=because,
                hits=hits,
                total=of,
                n=len(rows),
                clusters=len(set(clusters)),
            )
        support = (0.0, math.inf if name in UNITS else 1.0)
        columns = rows[:, 0].tolist(), rows[:, 1].tolist()
        estimate = ratio_interval(
            *columns, clusters=clusters, support=support, resampling=resampling
        )
        return Ratio(**Estimate.of(estimate).model_dump(), hits=hits, total=of)


class F1Tally(RatioTally):
    """Adds up claims that are right, claims, gold claims that are found, and gold claims."""

    width = 4

    def ratio(self, resampling: Resampling = STANDARD) -> Ratio:
        """Return the harmonic mean of precision and recall over all texts; 0 if nothing matches."""
        import numpy as np

        rows = self.rows
        if not len(rows):
            return Ratio(because="none")

        def f1(sums: Floats) -> Floats:
            """Return the F1 of rows of sums."""
            precision, recall = (
                np.nan_to_num(quotient(sums[:, i], sums[:, i + 1])) for i in (0, 2)
            )
            both = precision + recall
            values: Floats = quotient(2 * precision * recall, np.where(both > 0, both, 1.0))
            return values

        right, claims, found, gold = map(int, rows.sum(axis=0))
        data = ClusterSums(cluster_sums(rows, list(self._clusters)), len(rows))
        (estimate,) = bootstrap_sums(data, [f1], resampling, because="none")
        return Ratio(**Estimate.of(estimate).model_dump(), hits=right + found, total=claims + gold)


def gold_scores(row: tuple[int, int, int, int]) -> dict[str, Score]:
    """Return the scores of a text, given the numbers of right claims, claims, found gold claims and
    gold claims."""
    right, claims, found, gold = row
    precision = right / claims if claims else 0.0
    recall = found / gold if gold else 0.0
    both = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    f1 = Score.share(both) if claims + gold else Score.undefined("no_evidence")
    ratios = (
        ("claim_precision", right, claims),
        ("claim_recall", found, gold),
        ("granularity", claims, gold),
    )
    scores = {name: ratio_score(name, hits, of) for name, hits, of in ratios} | {"claim_f1": f1}
    return {name: scores[name] for name in GOLD_METRICS}


def ratio_difference(
    a: Sequence[Sequence[int]],
    b: Sequence[Sequence[int]],
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> Estimate:
    """Return the difference b - a of a ratio between two extractors over the same texts; an exact 0
    if no text differs.

    Args:
        a: Numerator and denominator of the first extractor, one row per text.
        b: Those of the second extractor, in the same order.
        clusters: The question of each text. Whole questions are resampled.
        level: The confidence level.
    """
    import numpy as np

    first, second = (np.array(rows, dtype=np.float64).reshape(len(rows), 2) for rows in (a, b))

    def change(sums: Floats) -> Floats:
        """Return the difference for rows of the sums of both."""
        differences: Floats = quotient(sums[:, 2], sums[:, 3]) - quotient(sums[:, 0], sums[:, 1])
        return differences

    if len(first) and np.array_equal(first, second):
        return Estimate(
            value=0.0,
            low=0.0,
            high=0.0,
            n=len(first),
            clusters=len(set(clusters)),
            ends="interval",
        )
    both = np.hstack([first, second])
    resampling = Resampling(level=level)
    (difference,) = bootstrap_sums(
        ClusterSums(cluster_sums(both, clusters), len(first)),
        [change],
        resampling,
        because="none",
        symmetric=True,
    )
    if difference.low is None and difference.value is not None:
        # All texts differ by the same amount, so the interval depends on how many may differ
        # otherwise.
        per_text = change(both)
        mask = np.isfinite(per_text)
        keys = [key for key, keep in zip(clusters, mask, strict=True) if keep]
        interval = difference_interval(
            per_text[mask].tolist(),
            clusters=keys,
            resampling=resampling,
        )
        difference = replace(
            difference,
            low=interval.low,
            high=interval.high,
            because=interval.because,
        )
    return Estimate.of(difference)


class ExaminedClaims:
    """The counts of the claims of a run, over about `EXAMINED` of its texts.

    The texts are selected by their ids, so that runs over the same samples examine the same texts.
    """

    def __init__(self, samples: int, cluster: str | None = None) -> None:
        """Start with a run of `samples` samples, clustered by the field `cluster`."""
        self._below = int(min(1.0, EXAMINED / max(1, samples)) * 2**64)
        self._cluster = cluster
        self._counts: dict[Part, dict[str, tuple[ExtractionCounts, int]]] = {
            "answer": {},
            "reference": {},
        }
        self._texts = Counter[Part]()

    def add(self, result: SampleResult) -> None:
        """Examine the claims of a sample's answer and reference, if the sample is selected."""
        digest = blake2b(result.sample.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for part, of_samples in self._counts.items():
            claims = result.claims_of(part)
            text = result.sample.text(part)
            if claims or result.unextracted.get(part) == "no_claims":
                self._texts[part] += 1
                selected = part == self.part and int.from_bytes(digest) < self._below
                if selected and text and text.strip():
                    counts = _examined(text, tuple(statements(claims)))
                    of_samples[result.sample.id] = counts, cluster_of(result.sample, self._cluster)

    @property
    def part(self) -> Part:
        """The part of the summary: the answer, unless only references have claims."""
        return "answer" if self._texts["answer"] else "reference"

    def summary(self, remarks: Iterable[str] = ()) -> ExtractionSummary | None:
        """Return the measures, without intervals; None for a run without claims."""
        from claimeval.lexical.extraction import MEASURES

        texts = self._counts[self.part].values()
        if not texts:
            return None
        tallies = {name: RatioTally(name) for name in MEASURES}
        unclaimed: Counter[str] = Counter()
        for counts, cluster in texts:
            unclaimed.update({str(kind): n for kind, n in counts.kinds.items()})
            for name, tally in tallies.items():
                tally.add(counts.counts[name], cluster)
        no_ends = {"low": None, "high": None}
        measures = {
            name: tally.ratio(NO_INTERVAL).model_copy(update=no_ends)
            for name, tally in tallies.items()
        }
        return ExtractionSummary(
            part=self.part,
            texts=len(texts),
            all_texts=self._texts[self.part],
            sentences=measures["claims_per_sentence"].total,
            claims=measures["claims_per_sentence"].hits,
            measures=measures,
            unclaimed=dict(unclaimed.most_common()),
            remarks=tuple(remarks),
        )

    def covers_less_than(self, other: ExaminedClaims) -> str | None:
        """Return the first measure of `COVERAGE` by which these claims cover less than the other
        run's, as text."""
        first = self._counts[self.part]
        second = other._counts[self.part]
        shared = [name for name in first if name in second]
        clusters = [first[name][1] for name in shared]
        for measure, margin in COVERAGE.items():
            a, b = (
                [counts[name][0].counts[measure] for name in shared] for counts in (second, first)
            )
            if a and a != b:
                difference = ratio_difference(a, b, clusters, level=SURE)
                if difference.low is not None and difference.low > margin:
                    digits = digits_of(difference.reported)
                    return (
                        f"{measure} {signed(difference.value, digits)}"
                        f" {signed_interval(difference.reported)}"
                    )
        return None


def metric_summary(
    name: str,
    ratio: Ratio,
    missing: Mapping[Reason, int],
    texts: int,
) -> MetricSummary:
    """Return a ratio as the summary of a metric, whose mean is the ratio of sums over all texts.

    Args:
        name: Name of the metric.
        ratio: The ratio.
        missing: Number of texts without a value, by reason.
        texts: Number of all texts.
    """
    return MetricSummary(
        mean=ratio.value,
        unit=UNITS.get(name, "share"),
        missing=dict(sorted(missing.items())),
        micro=ratio.value,
        judged=ratio.total,
        failure_rate=failure_rate(missing, {}, texts, ratio.total),
        **ratio.model_dump(include={"low", "high", "n", "clusters", "because", "total", "hits"}),
    )
