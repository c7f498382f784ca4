"""The quality of extracted claims as a run records it; `metrics.extraction` computes it."""

from __future__ import annotations

from pydantic import Field

from claimeval.statistics.formatting import decimal
from claimeval.types.estimates import Estimate
from claimeval.types.records import Part, Record

GOLD_METRICS = ("claim_precision", "claim_recall", "claim_f1", "granularity")
"""Comparisons with gold claims: precision, recall and F1 over all texts, and claims per gold
claim."""


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
    remarks: tuple[str, ...] = ()
    """Remarks on the numbers."""
