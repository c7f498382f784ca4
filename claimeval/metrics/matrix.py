"""The entailment matrix of one sample: claims of answer and reference against texts, as truths of three values.

A cell is True where the claim is supported, False where it has another label, and None where it has none: whoever
counts must say what becomes of what nobody knows, and `or_`, `and_`, `not_` say it as Kleene's logic does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from claimeval.metrics.rows import Metric
from claimeval.types.records import Assessment, Claim, Evidence, Label, Part, Reason, Sample, SampleResult
from claimeval.types.scales import PARTIAL

Truth = bool | None
"""True, False, or not known."""


def or_(truths: Iterable[Truth]) -> Truth:
    """Whether one of them is true: not known where none is and one is not known. False of nothing."""
    found: Truth = False
    for truth in truths:
        if truth:
            return True
        if truth is None:
            found = None
    return found


def not_(truth: Truth) -> Truth:
    """The opposite; not known of what is not known."""
    return None if truth is None else not truth


def and_(*truths: Truth) -> Truth:
    """Whether all of them are true: False as soon as one is false, whatever the others are."""
    return not_(or_(not_(truth) for truth in truths))


class Matrix(NamedTuple):
    """What was found out about the claims of one sample."""

    sample: Sample
    claims: tuple[Claim, ...]
    unextracted: Mapping[Part, Reason]
    """Why a part has no claims."""
    columns: Mapping[tuple[Part, Evidence], Mapping[str, Assessment]]
    """By part of the claims and evidence, each assessment by its claim's id."""

    @classmethod
    def of(cls, result: SampleResult) -> Matrix:
        """Return the matrix of a sample from its assessments, those against single documents among them."""
        part = {claim.id: claim.of for claim in result.claims}
        columns: dict[tuple[Part, Evidence], dict[str, Assessment]] = {}
        for assessment in chain(result.assessments, result.per_document):
            columns.setdefault((part[assessment.subject], assessment.evidence), {})[assessment.subject] = assessment
        return cls(result.sample, result.claims, result.unextracted, columns)

    def claims_of(self, part: Part) -> tuple[Claim, ...]:
        """The claims of a part."""
        return tuple([claim for claim in self.claims if claim.of == part])

    @property
    def alternatives(self) -> tuple[int, ...]:
        """The numbers of the gold answers that are alternatives and have claims."""
        return tuple(sorted({claim.alternative for claim in self.claims_of("reference") if claim.alternative}))

    def of_alternative(self, number: int) -> Matrix:
        """The matrix with the claims of that gold answer alone."""
        return self._replace(
            claims=tuple(c for c in self.claims if c.of != "reference" or c.alternative == number),
        )

    def labelled(self, of: Part, against: Part, label: Label = "supported") -> list[Truth]:
        """Per claim of a part whether it has that label against a text."""
        return self._labelled(of, Evidence(part=against), label)

    def support(self, of: Part, against: Part) -> list[float | None]:
        """Per claim 1 for support, one half for a grade above 0 that is less than support, 0 for none.

        Not known where the judges are divided between a half and nothing.
        """
        column = self.columns.get((of, Evidence(part=against)), {})
        return [_support(column.get(claim.id)) for claim in self.claims_of(of)]

    def per_document(self, of: Part, label: Label = "supported") -> list[list[Truth]]:
        """Per claim of a part whether it has that label against each of the contexts alone."""
        ranks = self.sample.ranks("contexts")
        whole = Evidence(part="contexts")
        single = [whole] if len(ranks) == 1 else [Evidence(part="contexts", document=rank) for rank in ranks]
        columns = [self._labelled(of, evidence, label) for evidence in single]
        return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in self.claims_of(of)]

    def relevant(self) -> list[Truth]:
        """Per context whether it alone supports a claim of the reference."""
        rows = self.per_document("reference")
        return [or_(column) for column in zip(*rows, strict=True)]

    def supports_none(self, metric: Metric) -> bool:
        """Whether a metric is 0: it has claims, and each is known to be unsupported."""
        truths = self.labelled(metric.claims_of, metric.against)
        return bool(truths) and not any(truth is not False for truth in truths)

    def lack(self, needs: Iterable[tuple[Part, Part]]) -> Reason | None:
        """Why nothing can be said where these columns are needed; None where every one of them has claims."""
        for of, against in needs:
            if of in self.unextracted:
                return self.unextracted[of]
            if not self.claims_of(of):
                return "missing_input"
            if (of, Evidence(part=against)) not in self.columns:
                return "missing_input" if self.sample.documents(against) is None else "not_in_cache"
        return None

    def why_unknown(self, needs: Iterable[tuple[Part, Part]]) -> Reason:
        """The most frequent reason for what is not known in these columns."""
        reasons = Counter(self._reasons(needs))
        return reasons.most_common(1)[0][0] if reasons else "incomplete"

    def _reasons(self, needs: Iterable[tuple[Part, Part]]) -> Iterator[Reason]:
        wanted: Sequence[tuple[Part, Part]] = tuple(needs)
        for (of, evidence), column in self.columns.items():
            if (of, evidence.part) in wanted:
                yield from (a.unassessed or "tie" for a in column.values() if _support(a) is None)

    def _labelled(self, of: Part, evidence: Evidence, label: Label) -> list[Truth]:
        column = self.columns.get((of, evidence), {})
        found = [column.get(claim.id) for claim in self.claims_of(of)]
        return [None if a is None or a.label is None else a.support == label for a in found]


def _support(assessment: Assessment | None) -> float | None:
    if assessment is None or assessment.label is None:
        return None
    if assessment.support == "supported":
        return 1.0
    if assessment.tied:
        return None
    return PARTIAL.value(assessment.label) if assessment.label in PARTIAL.words else 0.0
