"""The matrix of a sample's claims and texts, and the formulas of derived metrics.

A cell of the matrix is True if the text supports the claim, False if the claim has another label,
and None if it has none. `or_`, `and_` and `not_` combine these values as in Kleene's three-valued
logic.

The formulas return truth values to be counted, or a value with its bounds. p: the reference
supports an answer claim; q: the answer supports a reference claim; f: the contexts support an
answer claim; r: a single context does; n: the number of claims of the answer. Definitions:
RAGChecker (arXiv:2408.08067), FActScore (2305.14251), SAFE (2403.18802), AutoNuggetizer
(2411.09607).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from claimeval.metrics.rows import Metric
from claimeval.types.records import (
    ASKED,
    Assessment,
    Claim,
    Evidence,
    Label,
    Part,
    Reason,
    Sample,
    SampleResult,
)
from claimeval.types.scales import PARTIAL

Truth = bool | None
"""True, False, or None for unknown."""


def or_(truths: Iterable[Truth]) -> Truth:
    """Return whether any is true; None if none is true and any is unknown. False without truths."""
    known = list(truths)
    if True in known:
        return True
    return None if None in known else False


def not_(truth: Truth) -> Truth:
    """Return the negation; None if unknown."""
    return None if truth is None else not truth


def and_(*truths: Truth) -> Truth:
    """Return whether all are true; False if any is false, else None if any is unknown."""
    if False in truths:
        return False
    return None if None in truths else True


@dataclass(frozen=True, eq=False)
class Matrix:
    """The assessments of the claims of one sample."""

    sample: Sample
    claims: tuple[Claim, ...]
    unextracted: Mapping[Part, Reason]
    """Why a part has no claims."""
    columns: Mapping[tuple[Part, Evidence], Mapping[str, Assessment]]
    """By part of the claims and evidence, the assessments by id of the claim."""

    @classmethod
    def of(cls, result: SampleResult) -> Matrix:
        """Return the matrix of a sample, including assessments against single documents."""
        part = {claim.id: claim.of for claim in result.claims}
        columns: dict[tuple[Part, Evidence], dict[str, Assessment]] = {}
        for assessment in chain(result.whole, result.per_document):
            columns.setdefault((part[assessment.subject], assessment.evidence), {})[
                assessment.subject
            ] = assessment
        return cls(result.sample, result.claims, result.unextracted, columns)

    def claims_of(self, part: Part) -> tuple[Claim, ...]:
        """Return the claims of a part."""
        return tuple([claim for claim in self.claims if claim.of == part])

    @property
    def alternatives(self) -> tuple[int, ...]:
        """The numbers of the alternative gold answers that have claims."""
        return tuple(
            sorted(
                {claim.alternative for claim in self.claims_of("reference") if claim.alternative}
            )
        )

    def of_alternative(self, number: int) -> Matrix:
        """Return the matrix with only the reference claims of this gold answer."""
        return replace(
            self,
            claims=tuple(c for c in self.claims if c.of != "reference" or c.alternative == number),
        )

    def labeled(self, of: Part, against: Part, label: Label = "supported") -> list[Truth]:
        """Return for each claim of a part whether it has this label against a text."""
        return [
            _truth(assessment, label) for (assessment,) in self.cells(of, [Evidence.of(against)])
        ]

    def support(self, of: Part, against: Part) -> list[float | None]:
        """Return for each claim 1 for support, 0.5 for partial support, 0 for none.

        None if the judges are divided between 0.5 and 0.
        """
        return [support_of(assessment) for (assessment,) in self.cells(of, [Evidence.of(against)])]

    def per_document(self, of: Part, label: Label = "supported") -> list[list[Truth]]:
        """Return for each claim of a part whether it has this label against each single context."""
        return [[_truth(cell, label) for cell in row] for row in self.cells(of)]

    def cells(
        self,
        of: Part,
        evidence: Iterable[Evidence] | None = None,
    ) -> list[list[Assessment | None]]:
        """Return for each claim of a part its assessments against this evidence, by default each
        single context."""
        columns = [
            self.columns.get((of, one), {})
            for one in (self._single if evidence is None else evidence)
        ]
        return [[column.get(claim.id) for column in columns] for claim in self.claims_of(of)]

    @cached_property
    def _single(self) -> list[Evidence]:
        """The single contexts. One that is alone is the whole."""
        ranks = self.sample.ranks("contexts")
        return [
            Evidence.of("contexts", document=rank if len(ranks) > 1 else None) for rank in ranks
        ]

    def relevant(self) -> list[Truth]:
        """Return for each context whether it supports a claim of the reference."""
        rows = self.per_document("reference")
        return [or_(column) for column in zip(*rows, strict=True)]

    def supports_none(self, metric: Metric) -> bool:
        """Return whether a metric is 0: it has claims, and none of them is supported or unknown."""
        truths = self.labeled(metric.claims_of, metric.against)
        return bool(truths) and all(truth is False for truth in truths)

    def lack(self, needs: Iterable[tuple[Part, Part]]) -> Reason | None:
        """Return why a metric with these needs is undefined; None if all columns exist and have
        claims."""
        for of, against in needs:
            if of in self.unextracted:
                return self.unextracted[of]
            if not self.claims_of(of):
                return "missing_input"
            if (of, Evidence.of(against)) not in self.columns:
                return "missing_input" if self.sample.documents(against) is None else "not_in_cache"
        return None

    def missing_reason(self, needs: Iterable[tuple[Part, Part]]) -> Reason:
        """Return the most frequent reason for unknown values in these columns; `undecided` if all
        are known."""
        reasons = Counter(self._reasons(needs))
        return reasons.most_common(1)[0][0] if reasons else "undecided"

    def _reasons(self, needs: Iterable[tuple[Part, Part]]) -> Iterator[Reason]:
        pairs: Sequence[tuple[Part, Part]] = tuple(needs)
        for (of, evidence), column in self.columns.items():
            if (of, evidence.part) in pairs:
                yield from (a.unassessed or "tie" for a in column.values() if support_of(a) is None)


def _truth(assessment: Assessment | None, label: Label) -> Truth:
    return None if assessment is None or assessment.label is None else assessment.support == label


def support_of(assessment: Assessment | None) -> float | None:
    """Return 1 for support, 0.5 for partial support, 0 for none; None if it is not known, or
    between 0.5 and 0."""
    if assessment is None or assessment.label is None:
        return None
    if assessment.support == "supported":
        return 1.0
    if assessment.tied:
        return None
    return PARTIAL.value(assessment.label) if assessment.label in PARTIAL.words else 0.0


class BoundedValue(NamedTuple):
    """A value that is not a share of counted claims."""

    value: float
    low: float
    """The value if all unknown claims were unsupported."""
    high: float
    """The value if all unknown claims were supported."""


FormulaResult = Sequence[Truth] | BoundedValue | None
"""Truth values whose share is the score, or the score itself; None if too little is known."""
Formula = Callable[[Matrix], FormulaResult]


def f1(m: Matrix) -> FormulaResult:
    """2PR / (P + R) of correctness P and coverage R; 0 if both are 0."""
    precision, recall = (_share(truths) for truths in (_p(m), _q(m)))
    if precision is None or recall is None:
        return None
    return BoundedValue(*(_harmonic(p, r) for p, r in zip(precision, recall, strict=True)))


def f1_ends(m: Matrix) -> tuple[float, float]:
    """Return the lowest and the highest f1 that the open labels leave; shares without any label are
    from 0 to 1."""
    unknown = BoundedValue(0.5, 0.0, 1.0)
    precision = _share(_p(m)) or unknown
    recall = _share(_q(m)) or unknown
    return _harmonic(precision.low, recall.low), _harmonic(precision.high, recall.high)


def claim_recall(m: Matrix) -> FormulaResult:
    """Reference claims that some single context supports."""
    return [or_(row) for row in m.per_document("reference")]


def context_precision_claims(m: Matrix) -> FormulaResult:
    """Contexts that support a reference claim."""
    return m.relevant()


def context_utilization(m: Matrix) -> FormulaResult:
    """Among the reference claims that some context supports, those that the answer has."""
    retrieved = [or_(row) for row in m.per_document("reference")]
    return [
        q if is_retrieved else None
        for is_retrieved, q in zip(retrieved, _q(m), strict=True)
        if is_retrieved is not False
    ]


def faithfulness_per_document(m: Matrix) -> FormulaResult:
    """Answer claims that some single context supports."""
    return _single(m)


def noise_in_relevant(m: Matrix) -> FormulaResult:
    """Wrong answer claims that a relevant context supports."""
    return [
        and_(
            not_(right),
            or_(and_(r, relevant) for r, relevant in zip(row, m.relevant(), strict=True)),
        )
        for right, row in zip(_p(m), m.per_document("answer"), strict=True)
    ]


def noise_in_irrelevant(m: Matrix) -> FormulaResult:
    """Wrong answer claims that an irrelevant context supports and no relevant context does."""
    relevant = m.relevant()
    other = [not_(truth) for truth in relevant]
    return [
        and_(
            not_(right),
            not_(or_(and_(r, x) for r, x in zip(row, relevant, strict=True))),
            or_(and_(r, x) for r, x in zip(row, other, strict=True)),
        )
        for right, row in zip(_p(m), m.per_document("answer"), strict=True)
    ]


def hallucination(m: Matrix) -> FormulaResult:
    """Wrong answer claims that no single context supports."""
    return [
        and_(not_(right), not_(is_supported))
        for right, is_supported in zip(_p(m), _single(m), strict=True)
    ]


def self_knowledge(m: Matrix) -> FormulaResult:
    """Right answer claims that no single context supports."""
    return [
        and_(right, not_(is_supported))
        for right, is_supported in zip(_p(m), _single(m), strict=True)
    ]


def faithful_but_incorrect(m: Matrix) -> FormulaResult:
    """Wrong answer claims that the contexts, together, support."""
    return [
        and_(not_(right), is_supported) for right, is_supported in zip(_p(m), _f(m), strict=True)
    ]


def contradiction_rate(m: Matrix) -> FormulaResult:
    """Answer claims that the contexts contradict."""
    return m.labeled("answer", "contexts", "contradicted")


def context_conflict_rate(m: Matrix) -> FormulaResult:
    """Answer claims that one context supports and another contradicts."""
    contradicted = m.per_document("answer", "contradicted")
    return [and_(yes, or_(row)) for yes, row in zip(_single(m), contradicted, strict=True)]


def factscore(gamma: float) -> Formula:
    """Share of supported answer claims, times exp(1 - gamma / n) for an answer of n < gamma
    claims."""

    def formula(m: Matrix) -> FormulaResult:
        """Return the share of supported claims with the length penalty."""
        shares = _share(_f(m))
        n = len(m.claims_of("answer"))
        if shares is None:
            return None
        penalty = 1.0 if n > gamma else math.exp(1 - gamma / n)
        return BoundedValue(*(share * penalty for share in shares))

    return formula


def long_form_f1(k: float, *, on_topic: bool = False) -> Formula:
    """F1 of P = supported / claims and R = min(1, supported / k), with `on_topic` only over claims
    on topic."""

    def formula(m: Matrix) -> FormulaResult:
        """Return the harmonic mean of precision and recall at k."""
        supported = _f(m)
        if on_topic:
            topics = m.labeled("answer", ASKED)
            supported = [
                f if topic else None
                for f, topic in zip(supported, topics, strict=True)
                if topic is not False
            ]
        shares = _share(supported)
        if shares is None:
            return None if supported else BoundedValue(0.0, 0.0, 0.0)
        hits = sum(truth is True for truth in supported)
        most = hits + sum(truth is None for truth in supported)
        return BoundedValue(
            *(
                _harmonic(p, min(1.0, s / k))
                for p, s in zip(shares, (hits, hits, most), strict=True)
            )
        )

    return formula


def nuggets(vital: float, okay: float, *, strict: bool) -> Formula:
    """Weighted share of the reference claims that the answer has. Partial support counts half
    unless `strict`.

    If the weights differ, claims that may or may not be vital are left out. The bounds include all
    possible labels of these and other unassessed claims.
    """

    def weights(m: Matrix) -> list[tuple[float, float]]:
        """Return the least and the highest weight of each claim of the gold answer."""
        # With equal weights nobody needs to be asked which claims are vital.
        if vital == okay:
            return [(vital, vital)] * len(m.claims_of("reference"))
        ends = {None: (okay, vital), True: (vital, vital), False: (okay, okay)}
        return [ends[is_vital] for is_vital in m.labeled("reference", ASKED)]

    def formula(m: Matrix) -> FormulaResult:
        """Return the weighted share of nuggets that the answer supports."""
        if strict:
            support = [None if s is None else float(s) for s in m.labeled("reference", "answer")]
        else:
            support = m.support("reference", "answer")
        rows = [(w, s) for w, s in zip(weights(m), support, strict=True) if max(w)]
        judged = [(low, s) for (low, high), s in rows if low == high and s is not None]
        if not judged:
            return None if rows else []
        # Only claims whose weight is sure; the others are in the bounds.
        value = sum(w * s for w, s in judged) / sum(w for w, _ in judged)
        low = _lowest_mean([(w, s or 0.0) for w, s in rows])
        high = 1 - _lowest_mean([(w, 0.0 if s is None else 1 - s) for w, s in rows])
        return BoundedValue(value, min(low, value), max(high, value))

    return formula


def _p(m: Matrix) -> list[Truth]:
    return m.labeled("answer", "reference")


def _q(m: Matrix) -> list[Truth]:
    return m.labeled("reference", "answer")


def _f(m: Matrix) -> list[Truth]:
    return m.labeled("answer", "contexts")


def _single(m: Matrix) -> list[Truth]:
    return [or_(row) for row in m.per_document("answer")]


def _share(truths: Sequence[Truth]) -> BoundedValue | None:
    """Return the share of true values among the known ones, with its bounds; None if none is
    known."""
    known = [truth for truth in truths if truth is not None]
    if not known:
        return None
    hits = sum(known)
    total = len(truths)
    return BoundedValue(hits / len(known), hits / total, (hits + total - len(known)) / total)


def _lowest_mean(rows: Sequence[tuple[tuple[float, float], float]]) -> float:
    """Return the lowest weighted mean of numbers, given the minimum and maximum weight of each.

    It has the maximum weight on all numbers up to one of them, and the minimum on those above it.
    """

    def mean(limit: float) -> float:
        weighted = [(high if x <= limit else low, x) for (low, high), x in rows]
        return sum(w * x for w, x in weighted) / sum(w for w, _ in weighted)

    return min(mean(x) for _, x in rows)


def _harmonic(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0
