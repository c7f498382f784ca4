"""Quality of extracted claims over many texts, and comparisons with gold claims and with another extractor.

A ratio adds up the counts of `claimeval.lexical.extraction` over all texts. Intervals resample whole questions. A share
of fewer than `FEW` items has no value.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import Field, computed_field, model_validator

from claimeval.metrics.scoring import MetricSummary
from claimeval.metrics.tally import Tally
from claimeval.statistics import NO_INTERVAL, Resampling, difference_interval, mean_interval, ratio_interval
from claimeval.statistics.bootstrap import STANDARD, ClusterSums, bootstrap_sums, cluster_sums, quotient
from claimeval.statistics.formatting import decimal, signed, signed_interval
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Estimate
from claimeval.types.records import Claim, Part, Reason, Record, SampleResult, Score

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
"""Measures that show that claims cover less of their texts, with the minimum difference. It is above 0 because a
splitter that keeps whole sentences loses no words, and claims of single facts lose some."""
SURE = 0.99
"""Level of the intervals for `COVERAGE`, which are several."""
CLAIMS_BY_RULE = "claims split by rules: 1.69 per biography sentence; people write 4.05"
"""Remark on claims of the local splitter, measured on FActScore: their scores are not comparable with scores of claims
of single facts."""

NOTHING: Mapping[Reason, int] = MappingProxyType({})
UNITS = {"claims_per_sentence": "claims", "words_per_claim": "words", "granularity": "claims"}
"""Units of measures that are not shares."""


class Ratio(Estimate):
    """A ratio of sums over texts, with its interval."""

    hits: int = 0
    """The numerator."""
    total: int = 0
    """The denominator."""

    @property
    def in_words(self) -> str:
        """The value, or why there is none."""
        return decimal(self.value) if self.value is not None else self.because or "-"


class RatioDifference(Record):
    """The ratios of two extractors over the same texts."""

    a: float | None
    """Ratio of this extractor."""
    b: float | None
    """Ratio of the other extractor."""
    difference: Estimate
    """b - a."""

    def beyond(self, margin: float = 0.0) -> int:
        """Return 1 if the whole interval is above `margin`, -1 if it is below `-margin`, else 0."""
        low, high = self.difference.low, self.difference.high
        return 0 if low is None or high is None else (low > margin) - (high < -margin)


class ExtractionSummary(Record):
    """Quality of the claims of a run."""

    part: Part
    """The part that the claims were extracted from."""
    texts: int
    """Number of examined texts."""
    all_texts: int
    """Number of texts in the run that claims were extracted from."""
    sentences: int
    claims: int
    measures: dict[str, Ratio]
    unclaimed: dict[str, int]
    """Number of sentences without a claim, by kind. Only the kind `statement` is a loss."""
    people: dict[str, Ratio] = Field(default_factory=dict)
    """The measures of the gold claims, which are not perfect either."""
    against: dict[str, RatioDifference] = Field(default_factory=dict)
    """By measure, this extractor (a) and the other one (b)."""
    remarks: tuple[str, ...] = ()
    """Remarks on the numbers."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def descriptions(self) -> dict[str, str]:
        """The description of each measure."""
        from claimeval.lexical.extraction import MEASURES

        return {name: MEASURES[name].description for name in self.measures if name in MEASURES}

    @model_validator(mode="before")
    @classmethod
    def _without_descriptions(cls, fields: Any) -> Any:
        known = fields.items() if isinstance(fields, dict) else ()
        return {name: value for name, value in known if name != "descriptions"} if known else fields


def text_counts(result: SampleResult, part: Part) -> ExtractionCounts | None:
    """Compare the claims of a part with its text; None if no claims were extracted, or the extraction failed."""
    text = result.sample.text(part)
    claims = result.claims_of(part)
    if text is None or not (claims or result.unextracted.get(part) == "no_claims") or not text.strip():
        return None
    return _examined(text, tuple(statements(claims)), result.sample.full_question)


@lru_cache(maxsize=2 * EXAMINED)
def _examined(text: str, claims: tuple[Statement, ...], question: str) -> ExtractionCounts:
    from claimeval.lexical.extraction import examine

    return examine(text, claims, question)


def statements(claims: Iterable[Claim]) -> list[Statement]:
    """Return claims as statements. If no claim names its sentences, their sentences are unknown (None)."""
    from claimeval.lexical.extraction import Statement

    claim_list = list(claims)
    cite_sentences = any(claim.sentence_ids for claim in claim_list)
    return [
        Statement(claim.text, tuple(i - 1 for i in claim.sentence_ids) if cite_sentences else None, claim.repeats)
        for claim in claim_list
    ]


def ratio_score(name: str, hits: int, of: int) -> Score:
    """Return the score of one text, `hits / of`; undefined if `of` is 0."""
    unit = UNITS.get(name, "share")
    if not of:
        return Score.undefined("no_evidence", unit)
    return Score(value=hits / of, unit=unit, hits=hits, judged=of, total=of, bounds=(hits / of, hits / of))


class CountRows(Tally):
    """Rows of counts, one for each text, with the clusters of the texts."""

    ADDED = ("_values", "clusters")

    def __init__(self, width: int) -> None:
        self._width = width
        self._values, self.clusters = array("q"), array("q")

    def add(self, row: Sequence[int], cluster: int) -> None:
        """Add a text."""
        self._values.extend(row)
        self.clusters.append(cluster)

    @property
    def rows(self) -> Floats:
        """The counts of each text."""
        import numpy as np

        return np.array(self._values, dtype=np.float64).reshape(-1, self._width)

    def _estimate(self, statistic: Callable[[Floats], Floats]) -> Estimate:
        rows = self.rows
        data = ClusterSums(cluster_sums(rows, list(self.clusters)), len(rows))
        (estimate,) = bootstrap_sums(data, [statistic], STANDARD, because="none")
        return Estimate.of(estimate)


class RatioTally(CountRows):
    """Adds up one measure over texts: numerators and denominators."""

    def __init__(self, name: str) -> None:
        super().__init__(2)
        self._name = name

    def ratio(self, resampling: Resampling = STANDARD) -> Ratio:
        """Return the ratio. It has no value if there are no items, or too few for a share."""
        from claimeval.lexical.extraction import MEASURES

        name, rows, clusters = self._name, self.rows, list(self.clusters)
        hits, of = map(int, rows.sum(axis=0))
        if not of:
            return Ratio(because="none to lose" if name.endswith("_lost") else "none")
        if name in MEASURES and MEASURES[name].fault and of < FEW:
            because = f"n = {of}, too few"
            return Ratio(because=because, hits=hits, total=of, n=len(rows), clusters=len(set(clusters)))
        support = (0.0, math.inf if name in UNITS else 1.0)
        columns = rows[:, 0].tolist(), rows[:, 1].tolist()
        estimate = ratio_interval(*columns, clusters=clusters, support=support, resampling=resampling)
        return Ratio(**Estimate.of(estimate).model_dump(), hits=hits, total=of)


class MatchTally(CountRows):
    """Adds up the result of a matching: claims that are right, claims, gold claims that are found, gold claims."""

    def __init__(self) -> None:
        super().__init__(4)

    def f1(self) -> Ratio:
        """Return the harmonic mean of precision and recall over all texts."""
        if not self.clusters:
            return Ratio(because="none")
        right, claims, matched, gold = map(int, self.rows.sum(axis=0))
        return Ratio(**self._estimate(f1_of_sums).model_dump(), hits=right + matched, total=claims + gold)

    def macro_f1(self) -> Ratio:
        """Return the mean F1 of the texts that have claims or gold claims."""
        rows = self.rows
        mask = rows[:, 1] + rows[:, 3] > 0
        clusters = [cluster for cluster, keep in zip(self.clusters, mask, strict=True) if keep]
        estimate = mean_interval(f1_of_sums(rows[mask]).tolist(), clusters=clusters)
        return Ratio(**Estimate.of(estimate).model_dump())


class ElementTally(CountRows):
    """Adds up elements: verifiable and covered, verifiable and not covered, unverifiable and covered, unverifiable and
    not covered."""

    def __init__(self) -> None:
        super().__init__(4)

    def f1(self) -> Ratio:
        """Return the mean of two F1 over all texts: covering verifiable elements, and leaving out unverifiable ones."""
        if not (total := int(self.rows.sum())):
            return Ratio(because="none")
        return Ratio(**self._estimate(macro_f1_of_sums).model_dump(), total=total)


class PairTally(Tally):
    """Adds up the counts of two extractors over the same texts."""

    ADDED = ("_first", "_second")

    def __init__(self, name: str) -> None:
        width = 4 if name.endswith("_f1") else 2
        self._first, self._second = CountRows(width), CountRows(width)

    def add(self, first: Sequence[int], second: Sequence[int], cluster: int) -> None:
        """Add a text."""
        self._first.add(first, cluster)
        self._second.add(second, cluster)

    def difference(self, level: float = 0.95) -> RatioDifference:
        """Return both ratios and their difference."""
        return ratio_difference(self._first.rows, self._second.rows, list(self._first.clusters), level=level)


def f1_of_sums(sums: Floats) -> Floats:
    """Return the F1 of rows of a `MatchTally`; 0 without hits."""
    import numpy as np

    precision, recall = (np.nan_to_num(quotient(sums[:, i], sums[:, i + 1])) for i in (0, 2))
    both = precision + recall
    f1: Floats = quotient(2 * precision * recall, np.where(both > 0, both, 1.0))
    return f1


def macro_f1_of_sums(sums: Floats) -> Floats:
    """Return the mean F1 of both classes for rows of an `ElementTally`; of one class if the other is empty."""
    import numpy as np

    kept, missed, extra, left_out = sums.T
    each = np.array([quotient(2 * right, 2 * right + missed + extra) for right in (kept, left_out)])
    f1: Floats = quotient(np.nan_to_num(each).sum(axis=0), np.isfinite(each).sum(axis=0).astype(np.float64))
    return f1


def macro_f1(cells: tuple[int, int, int, int]) -> float:
    """Return the mean F1 of both classes of one text's elements."""
    import numpy as np

    return float(macro_f1_of_sums(np.array([cells], dtype=np.float64))[0])


Rows = Sequence[Sequence[int]]


def ratio_difference(
    a: Rows | Floats, b: Rows | Floats, clusters: Sequence[Hashable], *, level: float = 0.95
) -> RatioDifference:
    """Return the difference of a ratio, or of F1 for rows of four, between two extractors over the same texts.

    Args:
        a: The counts of the first extractor, one row per text.
        b: The counts of the second extractor, in the same order.
        clusters: The question of each text. Whole questions are resampled.
        level: The confidence level.

    Returns:
        Both values, and b - a with an interval; an exact 0 if no text differs.
    """
    import numpy as np

    first, second = (np.array(rows, dtype=np.float64).reshape(len(rows), -1) for rows in (a, b))
    width = first.shape[1]

    def value(sums: Floats) -> Floats:
        """Return the ratio, or F1, of rows of sums."""
        return f1_of_sums(sums) if width == 4 else quotient(sums[:, 0], sums[:, 1])

    def change(sums: Floats) -> Floats:
        """Return the difference for rows of the sums of both."""
        differences: Floats = value(sums[:, width:]) - value(sums[:, :width])
        return differences

    ends = [float(value(side.sum(axis=0)[None, :])[0]) if len(side) else float("nan") for side in (first, second)]
    ends_or_none = [None if np.isnan(end) else end for end in ends]
    if len(first) and np.array_equal(first, second):
        same = Estimate(value=0.0, low=0.0, high=0.0, n=len(first), clusters=len(set(clusters)))
        return RatioDifference(a=ends_or_none[0], b=ends_or_none[1], difference=same)
    data = ClusterSums(cluster_sums(np.hstack([first, second]), clusters), len(first))
    resampling = Resampling(level=level)
    (differences,) = bootstrap_sums(data, [change], resampling, because="none", symmetric=True)
    if differences.low is None and differences.value is not None:
        # All texts differ by the same amount, so the interval depends on how many may differ otherwise.
        per_text = change(np.hstack([first, second]))
        mask = np.isfinite(per_text)
        keys = [key for key, keep in zip(clusters, mask, strict=True) if keep]
        interval = difference_interval(per_text[mask].tolist(), clusters=keys, resampling=resampling)
        differences = replace(differences, low=interval.low, high=interval.high, because=interval.because)
    return RatioDifference(a=ends_or_none[0], b=ends_or_none[1], difference=Estimate.of(differences))


class ExaminedClaims:
    """The counts of the claims of a run, over about `EXAMINED` of its texts.

    The texts are selected by their ids, so that runs over the same samples examine the same texts.
    """

    def __init__(self, samples: int, cluster: str | None = None) -> None:
        """Start with a run of `samples` samples, clustered by the field `cluster`."""
        self._below = int(min(1.0, EXAMINED / max(1, samples)) * 2**64)
        self._cluster = cluster
        self._counts: dict[Part, dict[str, tuple[ExtractionCounts, int]]] = {"answer": {}, "reference": {}}
        self._texts = Counter[Part]()

    def add(self, result: SampleResult) -> None:
        """Examine the claims of a sample's answer and reference, if the sample is selected."""
        digest = blake2b(result.sample.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for part, of_samples in self._counts.items():
            if result.claims_of(part) or result.unextracted.get(part) == "no_claims":
                self._texts[part] += 1
                selected = part == self.part and int.from_bytes(digest) < self._below
                if selected and (counts := text_counts(result, part)):
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
        measures = {name: tally.ratio(NO_INTERVAL).model_copy(update=no_ends) for name, tally in tallies.items()}
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
        """Return the first measure of `COVERAGE` by which these claims cover less than the other run's, as text."""
        first, second = self._counts[self.part], other._counts[self.part]
        shared = [name for name in first if name in second]
        clusters = [first[name][1] for name in shared]
        for measure, margin in COVERAGE.items():
            a, b = ([counts[name][0].counts[measure] for name in shared] for counts in (second, first))
            if a and a != b:
                difference = ratio_difference(a, b, clusters, level=SURE)
                if difference.beyond(margin) > 0:
                    estimate = difference.difference
                    return f"{measure} {signed(estimate.value)} {signed_interval(estimate.interval)}"
        return None


def metric_summary(
    ratio: Ratio, unit: str, missing: Mapping[Reason, int] = NOTHING, unassessed: Mapping[Reason, int] = NOTHING
) -> MetricSummary:
    """Return a ratio as the summary of a metric, whose mean is the ratio of sums over all texts.

    Args:
        ratio: The ratio.
        unit: The unit of the metric.
        missing: Number of texts without a value, by reason.
        unassessed: Number of subjects without a label, by reason.
    """
    return MetricSummary(
        mean=ratio.value,
        low=ratio.low,
        high=ratio.high,
        n=ratio.n,
        clusters=ratio.clusters,
        because=ratio.because,
        unit=unit,
        missing=dict(sorted(missing.items())),
        micro=ratio.value,
        total=ratio.total + sum(unassessed.values()),
        judged=ratio.total,
        hits=ratio.hits,
        unassessed=dict(unassessed),
    )


def order_remark(first: RatioDifference, second: RatioDifference, names: Sequence[str]) -> str | None:
    """Return a remark if two matchings rank two extractors differently; None if they agree."""
    values = first.difference.value, second.difference.value
    if values[0] is None or values[1] is None or values[0] * values[1] >= 0:
        return None
    changes = ", ".join(f"{name} {signed(value)}" for name, value in zip(names, values, strict=True))
    return f"the order of the two extractors depends on the matching (F1, the other minus this one: {changes})"
