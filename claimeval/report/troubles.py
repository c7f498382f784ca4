"""The claims to look at first: the worst one of every sample, contradicted before not found."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from claimeval.records import ASKED, Assessment, Part, SampleResult
from claimeval.report.facts import Trouble

SHOWN = 10
EXCERPT = 200
"""Characters of a document that a trouble carries."""


class _Ranked(NamedTuple):
    rank: tuple[int, int, float, int]
    trouble: Trouble


class Worst:
    """Keeps the worst claims of a run while its samples pass by."""

    def __init__(self, order: Sequence[Part], shown: int = SHOWN) -> None:
        """`order` says which evidence comes first among claims that are as bad."""
        self._order = {part: i for i, part in reversed(list(enumerate(order)))}
        self._shown = shown
        self._samples = 0
        self._found: list[_Ranked] = []

    def add(self, result: SampleResult) -> None:
        """Looks at one sample; of its answer's claims at most one is kept."""
        self._samples += 1
        of_answer = {claim.id for claim in result.claims if claim.of == "answer"}
        troubles = [
            a
            for a in result.assessments
            if a.claim_id in of_answer and a.label in ("contradicted", "not_found") and a.evidence.part != ASKED
        ]
        if troubles:
            worst = min(troubles, key=self._rank)
            self._found.append(_Ranked((*self._rank(worst), self._samples), _trouble(result, worst)))
            self._found = heapq.nsmallest(self._shown, self._found, key=lambda ranked: ranked.rank)

    def troubles(self) -> tuple[Trouble, ...]:
        """Worst first; in the order of the data among equals."""
        return tuple(ranked.trouble for ranked in self._found)

    def _rank(self, assessment: Assessment) -> tuple[int, int, float]:
        """Contradicted first, then by evidence, then by the mean probability of "supported", lowest first."""
        given = [v.probability for v in assessment.verdicts if v.probability is not None]
        likely = sum(given) / len(given) if given else 0.5
        return (
            int(assessment.label != "contradicted"),
            self._order.get(assessment.evidence.part, len(self._order)),
            likely,
        )


def _trouble(result: SampleResult, assessment: Assessment) -> Trouble:
    documents = {document.id: document for document in result.sample.documents(assessment.evidence) or ()}
    named = next((d for v in assessment.verdicts for d in v.cites if d in documents), None)
    return Trouble(
        sample_id=result.sample.id,
        question=result.sample.question,
        claim_id=assessment.claim_id,
        claim=next(claim.text for claim in result.claims if claim.id == assessment.claim_id),
        evidence=assessment.evidence,
        label=assessment.label,
        reason=next((v.reason for v in assessment.verdicts if v.label == assessment.label and v.reason), None),
        excerpt=None if named is None else f"[{named}] {documents[named].text[:EXCERPT]}",
        documents=len(documents),
    )
