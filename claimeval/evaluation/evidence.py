"""Where in the documents the evidence of a verdict is: found once for results, pages, screens."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from claimeval.lexical.evidence import EvidenceFinder
from claimeval.types.records import (
    Assessment,
    Claim,
    EvidenceSpan,
    Part,
    Sample,
    Verdict,
)

SHOWS = ("supported", "contradicted")
"""Labels that rest on a sentence. That nothing was found rests on none."""


def with_evidence(
    sample: Sample,
    claims: Iterable[Claim],
    assessments: Sequence[Assessment],
    reasoning: Collection[str],
) -> tuple[Assessment, ...]:
    """Return the assessments, whose verdicts with a reason name the sentence that it is about.

    Args:
        sample: The sample, with the documents.
        claims: Its claims.
        assessments: The assessments of the claims.
        reasoning: The judges whose explanations are reasons; that of a judge that reads no prompt
            is a number.
    """
    texts = {claim.id: claim.text for claim in claims}
    search = _Search(sample, reasoning)
    return tuple([_with_evidence(one, texts, search) for one in assessments])


def _with_evidence(assessment: Assessment, texts: Mapping[str, str], search: _Search) -> Assessment:
    claim = texts.get(assessment.subject)
    if claim is None or not any(map(search.concerns, assessment.verdicts)):
        return assessment
    verdicts = list[Verdict]()
    for verdict in assessment.verdicts:
        if search.concerns(verdict) and verdict.evidence is None:
            span = search.find(assessment, claim, verdict.explanation or "", verdict.cites)
            verdicts.append(verdict.model_copy(update={"evidence": span}))
        else:
            verdicts.append(verdict)
    return assessment.model_copy(update={"verdicts": tuple(verdicts)})


class ShownSentence(NamedTuple):
    """The sentence that is shown beside a claim."""

    span: EvidenceSpan
    judged: bool
    """Whether a judge's reason is about it; else it is only the nearest to the claim."""


def deciding_verdict(assessment: Assessment) -> Verdict | None:
    """Return the first verdict with the label of the assessment, one with a reason if there is
    one."""
    same = [one for one in assessment.verdicts if one.label == assessment.label]
    with_reason = [one for one in same if one.explanation]
    # The verdict is to have the label of the vote: the reason of a judge that was outvoted explains
    # something else.
    return next(iter(with_reason or same), None)


def shown_sentence(sample: Sample, assessment: Assessment, claim: str) -> ShownSentence | None:
    """Return the sentence that every screen shows for a claim; None if no sentence is like it."""
    verdict = deciding_verdict(assessment)
    if verdict and verdict.evidence:
        return ShownSentence(verdict.evidence, judged=True)
    cites = list(chain.from_iterable(one.cites for one in assessment.verdicts))
    span = _Search(sample).find(assessment, claim, "", cites)
    return ShownSentence(span, judged=False) if span else None


_finder = lru_cache(maxsize=32)(EvidenceFinder)
"""The finder of documents, which the results of a sample and its page share: to read the sentences
of ten documents takes longer than to look for all claims in them."""


class _Search:
    """Finds sentences in the documents of a sample."""

    def __init__(self, sample: Sample, reasoning: Collection[str] = ()) -> None:
        self._sample = sample
        self._reasoning = reasoning
        self._finders: dict[Part, EvidenceFinder] = {}
        self._ids: dict[Part, tuple[str, ...]] = {}

    def concerns(self, verdict: Verdict) -> bool:
        """Return whether the verdict rests on a sentence and has a reason."""
        return (
            verdict.support in SHOWS
            and bool(verdict.explanation)
            and verdict.judge in self._reasoning
        )

    def find(
        self,
        assessment: Assessment,
        claim: str,
        reason: str,
        cites: Iterable[str],
    ) -> EvidenceSpan | None:
        part = assessment.against
        if part not in self._finders:
            documents = self._sample.documents(part) or ()
            texts = tuple([document.text for document in documents])
            self._finders[part] = _finder(texts)
            self._ids[part] = tuple(document.id for document in documents)
        ids = self._ids[part]
        if assessment.document is not None:
            single = self._sample.documents(assessment.evidence) or ()
            # A verdict on one document names it by being about it.
            cites = [document.id for document in single]
        among = {ids.index(name) for name in cites if name in ids}
        sentence = self._finders[part].find(claim, reason, among)
        return sentence and EvidenceSpan(
            document=ids[sentence.document],
            start=sentence.start,
            end=sentence.end,
        )
