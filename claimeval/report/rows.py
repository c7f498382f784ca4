"""One short row per sample: what the page's list shows, sorts and filters without opening the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claimeval.metrics import ClaimMetric
from claimeval.records import Assessment, SampleResult

QUESTION = 200
"""Characters of the question that a row carries."""
LETTERS = {"supported": "s", "contradicted": "c", "not_found": "n", "unassessed": "u"}


class Cell(NamedTuple):
    """One metric of one sample."""

    value: float | None
    strip: str
    """A letter per claim (`LETTERS`), in the order of the claims; a capital where judges differ."""
    because: str | None
    """Why there is no value."""


class Row(NamedTuple):
    """One sample."""

    id: str
    question: str
    ungrounded: int
    """Claims that are tied to no place in their text."""
    failed: int
    """Calls without a usable reply."""
    cells: tuple[Cell, ...]
    """In the order of the run's metrics."""


def row(result: SampleResult, metrics: Sequence[ClaimMetric]) -> Row:
    """The row of one sample."""
    found = {(a.evidence.part, a.claim_id): a for a in result.assessments}
    extracted = {extraction.of: extraction.claims for extraction in result.extractions}
    scores = {score.metric: score for score in result.scores}

    def letter(against: str, claim_id: str) -> str:
        assessment = found.get((against, claim_id))
        if assessment is None:
            return LETTERS["unassessed"]
        letter = LETTERS[assessment.label]
        return letter.upper() if _divided(assessment) else letter

    return Row(
        id=result.sample.id,
        question=result.sample.question[:QUESTION],
        ungrounded=sum(claim.grounding == "ungrounded" for claim in result.claims),
        failed=sum(call.failed_because is not None for call in result.calls),
        cells=tuple(
            Cell(
                _rounded(scores[metric.name].value),
                "".join(letter(metric.against, claim.id) for claim in extracted.get(metric.claims_of, ())),
                scores[metric.name].undefined_because,
            )
            for metric in metrics
        ),
    )


def _divided(assessment: Assessment) -> bool:
    """Whether two verdicts have different labels; those without one do not count."""
    return len({verdict.label for verdict in assessment.verdicts if verdict.label != "unassessed"}) > 1


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
