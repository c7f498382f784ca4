"""Records of results that other tools made: samples with claims and verdicts, human labels and scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from claimeval.data.labels import HumanLabel
from claimeval.judging.grounding import ground
from claimeval.metrics.rows import METRICS, Metric
from claimeval.types.records import Assessment, Claim, Evidence, Part, Record, Sample, SampleResult, Verdict
from claimeval.types.requests import Judge
from claimeval.types.scales import Scale

RECORDED = "recorded"
"""Provider of judges with recorded replies. They cannot be asked again."""


class JudgedSample(NamedTuple):
    """A sample judged by another tool. Its assessments have verdicts, but no label yet."""

    result: SampleResult
    human: tuple[HumanLabel, ...] = ()
    scores: dict[str, float | None] = {}  # noqa: RUF012  # never changed
    """The tool's scores of the sample, by name."""
    forms: tuple[tuple[str, str], ...] = ()
    """The judge and the form of every reply."""


class RecordedResults(NamedTuple):
    """A file of judged samples. `samples` reads the file at each call."""

    kind: str
    """The tool that wrote the file: `ragchecker`, `ragas`, `deepeval`, or `recorded`."""
    judges: tuple[Judge, ...]
    metrics: tuple[Metric, ...]
    scale: Scale
    """The words that the judges could give."""
    samples: Callable[[], Iterator[JudgedSample]]
    replicates: int = 1
    derived: tuple[str, ...] = ()
    """Metrics that can be derived from the verdicts."""
    per_document: bool = False
    """Whether the judges saw each context separately."""
    repeated: int = 0
    """Rows that repeat a claim text of their sample for the same judge. 0 if the claims have ids."""

    @property
    def panel_settings(self) -> dict[str, Any]:
        """Return the panel settings that the judges were asked with."""
        return {"replicates": self.replicates, "per_document": self.per_document}


class UnreadReply(Record):
    """A recorded reply without a readable verdict."""

    sample: str
    subject: str
    judge: str
    because: str
    reply: str


def finite(value: float | str | None) -> float | None:
    """Return a tool's score as a number; None for NaN, infinities and numbers beyond all floats.

    Raises ValueError for a text that is no number.
    """
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def recorded_judge(name: str) -> Judge:
    """Return a judge with recorded verdicts."""
    return Judge(name=name, model=f"{RECORDED}:{name}")


def metric_of(claims_of: Part, against: Part) -> Metric:
    """Return the built-in metric of these parts, or a new one named after them."""
    for row in METRICS.values():
        if (row.claims_of, row.against) == (claims_of, against):
            return row
    return Metric(name=f"{claims_of}_against_{against}", claims_of=claims_of, against=against)


def claim(claim_id: str, text: str, of: Part, sample: Sample) -> Claim:
    """Return a claim with its span in the text it was extracted from, if the sample has the text.

    Args:
        claim_id: Id of the claim.
        text: Text of the claim.
        of: The part that the claim was extracted from.
        sample: Its sample.
    """
    source = sample.text(of)
    if source is None:
        return Claim(id=claim_id, text=text, of=of, grounding="ids_only")
    match = ground(text, None, (), source, (), sample.full_question)
    return Claim(
        id=claim_id,
        text=text,
        of=of,
        span=match.span,
        grounding=match.grounding,
        missing_numbers=match.missing_numbers,
    )


def assessment(subject: str, evidence: Evidence, verdicts: tuple[Verdict, ...]) -> Assessment:
    """Return an assessment before the vote."""
    return Assessment(subject=subject, question="support", evidence=evidence, verdicts=verdicts, unassessed="tie")
