"""The claims of a run to look at first, each with the nearest sentence of its evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from pydantic import Field

from claimeval.evaluation.evidence import deciding_verdict, shown_sentence
from claimeval.evaluation.summary.headline import PLACES, bad_ratings
from claimeval.metrics.citations import of_claims
from claimeval.metrics.derived import directed
from claimeval.metrics.names import number_of
from claimeval.metrics.rows import Metric
from claimeval.statistics.formatting import decimal
from claimeval.types.records import (
    CAUSES,
    Assessment,
    Cause,
    Evidence,
    Label,
    Record,
    Sample,
    SampleResult,
    Verdict,
)

SHOWN = 10
WRONG_CITATIONS = ("misplaced", "unfounded", "unresolved", "missing")
"""Kinds of wrong citations, the worst first: one that leads to another document misleads."""
EXCERPT = 200
"""Characters of a sentence."""


class WorstClaim(Record):
    """A claim that its evidence does not support."""

    sample_id: str
    question: str
    subject: str
    claim: str
    evidence: Evidence
    label: str
    explanation: str | None
    """Explanation of the first judge with that label; documents that it numbers, such as d2, have
    their ids."""
    is_reason: bool = True
    """Whether the explanation is a reason; that of a judge that reads no prompt is a number."""
    cites: tuple[str, ...] = ()
    """Ids of the documents that this judge named."""
    excerpt: str | None = None
    """Id in brackets and the sentence that the judge's reason is about or, without a reason, the
    one nearest to the claim; None if no sentence is like it."""
    is_word_for_word: bool = False
    """Whether the evidence has the claim word for word; then look at the judge."""
    near: str
    """What the evidence has of the claim, in words: the sentence that the judge's reason is about,
    the nearest one, or that it has none."""
    documents: int = 0
    """Number of documents that the claim was assessed against."""
    metric: str | None = None
    """The metric that counts the claim."""
    score: float | None = None
    """The metric's score of the sample."""
    supported: int = 0
    """Claims of the answer that this evidence supports."""
    judged: int = 0
    """Claims of the answer that have a label against this evidence."""
    cause: Cause | None = None
    """Where the fault lies, of a claim that was located."""
    votes: dict[str, int] = Field(default_factory=dict)
    """Verdicts on the claim by label; `unassessed` counts verdicts without a label."""
    citation: str = ""
    """What is wrong with the citations of a claim that the evidence supports; empty for others."""

    @property
    def why(self) -> str:
        """Why the claim has its label, in a line: the reason of the judge with the documents that
        it named, or what the evidence has of the claim; of a citation, what is wrong with it."""
        if self.citation:
            return self.citation
        if self.is_word_for_word or not self.explanation or not self.is_reason:
            return self.near
        unnamed = [name for name in self.cites if f"[{name}]" not in self.explanation]
        named = f" [{', '.join(unnamed)}]" if unnamed else ""
        return f"judge: {self.explanation}{named}"

    @property
    def standing(self) -> str:
        """The score of the answer and the votes of the judges, in words."""
        if self.cause:
            return CAUSES[self.cause]
        score = (
            f"{self.metric or 'supported'} {decimal(self.score)}, {self.supported} of {self.judged}"
            " claims supported"
        )
        if sum(self.votes.values()) < 2:
            return score
        votes = ", ".join(f"{n} {label.replace('_', ' ')}" for label, n in self.votes.items())
        return f"{score}; verdicts: {votes}"


class WorstAnswer(Record):
    """An answer with bad ratings."""

    sample_id: str
    question: str
    answer: str
    ratings: dict[str, str]
    """The word of each bad rating, by its name; of a run without ratings, the value of the metric
    that it has first."""
    explanation: str | None
    """Explanation of the first judge who gave the first of these words."""


class WorstAnswers:
    """Collects the answers of a run with the most bad ratings."""

    def __init__(self, shown: int = SHOWN) -> None:
        self._shown = shown
        self._worst: list[tuple[tuple[int, float, int], WorstAnswer]] = []
        self._n = 0
        """Answers with a rating."""

    def add(self, result: SampleResult) -> None:
        """Add a sample whose whole answer was rated."""
        rated = [a for a in result.whole if a.label is not None]
        is_bad = bad_ratings(result)
        bad = {one.question: one for one in rated if is_bad.get(one.question)}
        self._n += bool(rated)
        if bad:
            values = sum(score.value for score in result.scores.values() if score.value is not None)
            rank = -len(bad), values, self._n
            ranked = [*self._worst, (rank, _worst_answer(result.sample, bad))]
            self._worst = sorted(ranked, key=lambda one: one[0])[: self._shown]

    def worst(self) -> tuple[WorstAnswer, ...]:
        """Return the answers with the most bad ratings, worst first."""
        return tuple(answer for _, answer in self._worst)


class LowestScores:
    """Collects the samples with the worst values of the first metric of a run without claims and
    ratings, as of ranks or of words."""

    def __init__(self, shown: int = SHOWN) -> None:
        self._shown = shown
        self._worst: list[tuple[tuple[float, int], WorstAnswer]] = []
        self._n = 0

    def add(self, result: SampleResult) -> None:
        """Add a sample, if its value could be better."""
        for name, score in result.scores.items():
            number = number_of(name)
            if number is None or number.better == "neither" or score.value is None:
                continue
            lower = number.better == "lower"
            if score.unit == "share" and score.value == (0.0 if lower else 1.0):
                return
            self._n += 1
            sample = result.sample
            of_answer = "answer" in number.needs and sample.answer
            worst = WorstAnswer(
                sample_id=sample.id,
                question=sample.question,
                answer=(of_answer or sample.question) or "",
                ratings={directed(name): decimal(score.value)},
                explanation=None,
            )
            rank = score.value * (-1 if lower else 1)
            ranked = [*self._worst, ((rank, self._n), worst)]
            self._worst = sorted(ranked, key=lambda one: one[0])[: self._shown]
            return

    def worst(self) -> tuple[WorstAnswer, ...]:
        """Return the samples with the worst values, worst first."""
        return tuple(worst for _, worst in self._worst)


def _worst_answer(sample: Sample, bad: Mapping[str, Assessment]) -> WorstAnswer:
    """Return an answer with its bad ratings, and the reason that a judge gives for the first."""
    first = next(iter(bad.values()))
    told = (v.explanation for v in first.verdicts if v.label == first.label and v.explanation)
    return WorstAnswer(
        sample_id=sample.id,
        question=sample.question,
        answer=sample.answer or "",
        ratings={name: str(one.label) for name, one in bad.items()},
        explanation=next(told, None),
    )


def bad_answers(
    results: Iterable[SampleResult], ratings: Collection[str], limit: int
) -> list[WorstAnswer]:
    """Return the answers with the most bad ratings, worst first.

    Args:
        results: The results of a run of ratings.
        ratings: The ratings that count; empty for all.
        limit: The maximum number of answers.
    """
    found: list[WorstAnswer] = []
    for result in results:
        names = [name for name, is_bad in bad_ratings(result).items() if is_bad]
        named = {one.question: one for one in result.whole if one.question in names}
        bad = {name: one for name, one in named.items() if not ratings or name in ratings}
        if bad:
            found.append(_worst_answer(result.sample, bad))
    return sorted(found, key=lambda one: -len(one.ratings))[:limit]


class LocatedClaims:
    """Collects failed claims of a run of `locate`, one of each cause before a second of any."""

    def __init__(self, shown: int = SHOWN) -> None:
        self._shown = shown
        self._by_cause: dict[Cause, list[WorstClaim]] = {}

    def add(self, result: SampleResult) -> None:
        """Add the failed claims of a sample."""
        for one in result.whole:
            if one.cause:
                claims = self._by_cause.setdefault(one.cause, [])
                if len(claims) < self._shown:
                    claims.append(_located_claim(result, one, one.cause))

    def first(self) -> tuple[WorstClaim, ...]:
        """Return the claims in the order of the causes, then of the data."""
        ordered = list[WorstClaim]()
        for number in range(self._shown):
            for cause in CAUSES:
                ordered += self._by_cause.get(cause, [])[number : number + 1]
        return tuple(ordered[: self._shown])


def _located_claim(result: SampleResult, one: Assessment, cause: Cause) -> WorstClaim:
    text = next(claim.text for claim in result.claims if claim.id == one.subject)
    documents = {document.id: document for document in result.sample.documents(one.against) or ()}
    cites = tuple(dict.fromkeys(chain.from_iterable(verdict.cites for verdict in one.verdicts)))
    sentence = shown_sentence(result.sample, one, text)
    excerpt = None
    if sentence:
        span = sentence.span
        names = dict.fromkeys((*cites, span.document))
        said = documents[span.document].text[span.start : span.end]
        excerpt = f"[{', '.join(names)}] {said[:EXCERPT]}"
    return WorstClaim(
        sample_id=result.sample.id,
        question=result.sample.question,
        subject=one.subject,
        claim=text,
        evidence=one.evidence,
        label=one.support or "not_found",
        explanation=None,
        cites=cites,
        excerpt=excerpt,
        cause=cause,
        near=f"{CAUSES[cause]}: {excerpt or 'no sentence is like it'}",
        documents=len(documents),
    )


class _WorstOfSample(NamedTuple):
    rank: tuple[float, ...]
    result: SampleResult
    assessment: Assessment
    metric: str
    score: float | None
    claims: Sequence[Assessment]
    """All claims of the answer with a label against the same evidence."""
    citation: str = ""
    """What is wrong with the citations of the claim, if nothing else is."""


class WorstClaims:
    """Collects the worst claim of each of the worst samples of a run."""

    def __init__(
        self,
        metrics: Iterable[Metric],
        shown: int = SHOWN,
        computed: Collection[str] = (),
        *,
        citations: bool = False,
    ) -> None:
        """Collect claims that these metrics count; among equally bad claims, earlier metrics come
        first. The explanations of judges that are `computed` are numbers, not reasons. With
        `citations`, wrong citations of answers without such claims come last."""
        self._computed = computed
        self._citations = citations
        self._metrics = [
            metric for metric in metrics if metric.claims_of == "answer" and not metric.prompt
        ]
        self._shown = shown
        self._samples = 0
        self._worst: list[_WorstOfSample] = []

    def add(self, result: SampleResult) -> None:
        """Add a sample; at most one claim of its answer is kept.

        Samples rank by the number of contradicted claims, then by that of claims that are not
        supported, then by score; claims of a sample by label, then by the number of judges that
        agree on it. A claim that a short gold answer leaves out is none of them if the contexts
        support it.
        """
        self._samples += 1
        for position, metric in enumerate(self._metrics):
            claims = _judged(result, metric)
            bad = _bad(result, metric, claims)
            if bad:
                self._keep(result, metric, claims, bad, position)
                return
        if self._citations:
            self._keep_citation(result)

    def _keep_citation(self, result: SampleResult) -> None:
        """Keep the first claim with a wrong citation of a sample whose claims are all supported."""
        wrong = [one for one in of_claims(result) if one.kind not in ("right", "unknown")]
        metric = next((one for one in self._metrics if one.against == "contexts"), None)
        if not wrong or metric is None:
            return
        worst = min(wrong, key=lambda one: WRONG_CITATIONS.index(one.kind))
        claims = _judged(result, metric)
        assessment = next((one for one in claims if one.subject == worst.claim), None)
        if assessment is None:
            return
        name = f"citation_{worst.kind}"
        score = result.scores.get(name)
        rank = (0.0, -float(len(wrong)), 1.0, *_gravity(assessment), 0.0, float(self._samples))
        value = None if score is None else score.value
        self._insert(_WorstOfSample(rank, result, assessment, name, value, claims, worst.words))

    def _keep(
        self,
        result: SampleResult,
        metric: Metric,
        claims: Sequence[Assessment],
        bad: Sequence[Assessment],
        position: int,
    ) -> None:
        """Keep the worst of the bad claims of a sample if it is among the worst of the run."""
        worst = min(bad, key=_gravity)
        score = result.scores.get(metric.name)
        value = None if score is None else score.value
        # A contradiction misleads, a gap only leaves open: a medicine dose that is wrong
        # comes before three claims that are not found.
        contradicted = sum(one.support == "contradicted" for one in bad)
        rank = (
            -contradicted,
            -len(bad),
            1.0 if value is None else value,
            *_gravity(worst),
            position,
            self._samples,
        )
        self._insert(_WorstOfSample(rank, result, worst, metric.name, value, claims))

    def _insert(self, entry: _WorstOfSample) -> None:
        """Keep an entry if it is among the worst; wrong citations come after wrong claims."""
        ranked = sorted([*self._worst, entry], key=lambda one: (bool(one.citation), one.rank))
        self._worst = ranked[: self._shown]

    def worst(self) -> tuple[WorstClaim, ...]:
        """Return the worst claims, worst first; equally bad claims are in the order of the data."""
        return tuple([_worst_claim(ranked, self._computed) for ranked in self._worst])


def worst_of_answer(result: SampleResult, metrics: Iterable[Metric]) -> tuple[str, Label] | None:
    """Return the worst claim of an answer and its label; None if the evidence supports all."""
    for metric in metrics:
        if metric.claims_of != "answer" or metric.prompt:
            continue
        if bad := _bad(result, metric, _judged(result, metric)):
            worst = min(bad, key=_gravity)
            texts = {claim.id: claim.text for claim in result.claims}
            assert worst.support is not None, "only claims with a label are bad"
            return texts[worst.subject], worst.support
    return None


def _judged(result: SampleResult, metric: Metric) -> list[Assessment]:
    """Return the claims of the answer that were judged against the evidence of a metric."""
    of_answer = {claim.id for claim in result.claims if claim.of == "answer"}
    judged: list[Assessment] = []
    for one in result.whole:
        of_metric = one.against == metric.against and one.evidence.is_whole
        if of_metric and one.subject in of_answer and one.support is not None:
            judged.append(one)
    return judged


def _bad(result: SampleResult, metric: Metric, claims: Sequence[Assessment]) -> list[Assessment]:
    """Return claims that are not supported; against a gold answer, which may be short, without
    those that the contexts support."""
    elsewhere = set[str]()
    if metric.against == "reference":
        # A gold answer of five words does not make the rest of a grounded answer wrong.
        elsewhere = {
            one.subject
            for one in result.whole
            if one.against == "contexts" and one.support == "supported"
        }
    gaps = [one for one in claims if one.support != "supported"]
    return [one for one in gaps if one.support == "contradicted" or one.subject not in elsewhere]


def _gravity(assessment: Assessment) -> tuple[int, float, float]:
    """Return a sort key: contradicted first, then by agreement of verdicts, then lowest mean
    probability of support."""
    verdicts = assessment.verdicts
    probabilities = [v.probability for v in verdicts if v.probability is not None]
    agree = (
        sum(v.support == assessment.support for v in verdicts) / len(verdicts) if verdicts else 1.0
    )
    return (
        int(assessment.support != "contradicted"),
        -agree,
        sum(probabilities) / len(probabilities) if probabilities else 0.5,
    )


def _worst_claim(ranked: _WorstOfSample, computed: Collection[str]) -> WorstClaim:
    _, result, assessment, metric, score, claims, citation = ranked
    assert assessment.support is not None, "only claims with a label are listed"
    text = next(claim.text for claim in result.claims if claim.id == assessment.subject)
    documents = {one.id: one for one in result.sample.documents(assessment.evidence) or ()}
    sentence = shown_sentence(result.sample, assessment, text)
    verdict = deciding_verdict(assessment)
    cites = verdict.cites if verdict else ()
    shown = ""
    excerpt = None
    if sentence:
        document = sentence.span.document
        shown = documents[document].text[sentence.span.start : sentence.span.end]
        excerpt = f"[{document}] {shown[:EXCERPT]}"
    literal = bool(shown and _words(text) in _words(shown))
    return WorstClaim(
        sample_id=result.sample.id,
        question=result.sample.question,
        subject=assessment.subject,
        claim=text,
        evidence=assessment.evidence,
        label=assessment.support,
        is_reason=bool(verdict and verdict.judge not in computed),
        explanation=_readable(verdict, tuple(documents)) if verdict else None,
        cites=cites,
        excerpt=excerpt,
        is_word_for_word=literal,
        near=_in_words(
            excerpt,
            PLACES.get(assessment.against, assessment.against),
            cites,
            literal=literal,
            judged=bool(sentence and sentence.judged),
        ),
        documents=len(documents),
        metric=metric,
        score=score,
        supported=sum(a.support == "supported" for a in claims),
        judged=len(claims),
        citation=citation,
        votes=dict(Counter(verdict.support or "unassessed" for verdict in assessment.verdicts)),
    )


_NUMBERED = re.compile(r"\bd([1-9]\d?)\b")


def _readable(verdict: Verdict, ids: Sequence[str]) -> str | None:
    """Return the explanation with the ids of documents in place of the numbers, d1, d2, ..., that
    only the judge saw."""
    # An imported reason answers a prompt that we do not know, where d2 may be an id.
    if verdict.explanation is None or verdict.call is None:
        return verdict.explanation

    def name(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"[{ids[number - 1]}]" if number <= len(ids) else match[0]

    return _NUMBERED.sub(name, verdict.explanation)


def _in_words(
    excerpt: str | None, place: str, cites: Sequence[str], *, literal: bool, judged: bool
) -> str:
    """Return what a part of the evidence has of a claim: its words (`literal`), the sentence that
    the reason is about (`judged`), one like it, or none, beside the documents that the judge
    names."""
    if literal:
        return f"word for word in {place}: the judge may be wrong"
    if not excerpt and cites:
        return f"the judge names [{', '.join(cites)}]; no sentence there is worded like the claim"
    if not excerpt:
        return f"nothing like it in {place}"
    return f"evidence: {excerpt}" if judged else f"nearest: {excerpt}"


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?")
