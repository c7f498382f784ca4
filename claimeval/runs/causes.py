"""Causes of the difference between two runs: parts by cause, of claims or samples, that add up to it exactly.

The difference of a metric is the mean of run b minus the mean of run a, each over all samples with a value. It is
split twice, in rational numbers, so that no rounding occurs.

1. Over samples. Samples with a value in both runs, n of them, contribute (v_b - v_a) / n each; together that is the
   paired difference of the comparison. A sample that only run b has a value for contributes (v_b - m_b) / n_b, where
   m_b is the mean of run b over the n samples and n_b the number of all that b has a value for; one that only run a
   has contributes -(v_a - m_a) / n_a.
2. Over the claims of a sample, if the value is a share of supported claims, h_a / j_a and h_b / j_b. A claim that both
   runs judged, and count differently, contributes (y_b - y_a) (1 / j_a + 1 / j_b) / 2, where y is 1 if it is
   supported, else 0. A claim that only run b judged contributes (y_b - r) / j_b, one that only run a judged
   -(y_a - r) / j_a, where r is the mean of the shares that both runs give to the claims that both judged, or of the two
   values if there are none. This is the average of both orders of changing labels and claims (the Shapley value of the
   two; Kitagawa 1955).

A metric that is not a share of claims (a rating, a grade, f1) is split over samples only.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.derived import derived, is_derived
from claimeval.metrics.flips import assessments_by_text
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import counted
from claimeval.statistics.formatting import adding_up, signed
from claimeval.types.records import ASKED, Label, Labeled, Part, Record, Sample, Score, ScoredSample

Cause = Literal[
    "evidence",
    "answer",
    "reference",
    "judge",
    "several",
    "disagreement",
    "extraction",
    "label",
    "score",
    "samples",
]
CAUSES: dict[Cause, str] = {
    "evidence": "other evidence",
    "answer": "other answer",
    "reference": "another gold answer",
    "judge": "other judges, prompt or settings",
    "several": "several of these at once",
    "disagreement": "judges disagree with themselves",
    "extraction": "other claims from the same text",
    "label": "a label in one run only",
    "score": "a score in one run only",
    "samples": "samples of one run only",
}
"""Causes and their names in tables, in table order."""
UNPAIRED: tuple[Cause, ...] = ("score", "samples")
"""Causes that are not part of the paired difference."""
LARGEST = 20
"""Largest changes that a part lists."""


class ChangedClaim(Record):
    """One claim, or one sample, and its contribution to the difference."""

    sample_id: str
    subject: str | None
    """Id of the claim; None for a sample."""
    run: Literal["a", "b"]
    """The run that the id is from: a, unless only run b has the claim or a value for the sample."""
    claim: str | None
    a: Label | None
    """What its label in run a counts as; None without one, and for samples."""
    b: Label | None
    value: float
    """Contribution to b - a."""


class CausePart(Record):
    """Contribution of one cause to the difference of a metric."""

    cause: Cause
    value: float
    claims: int | None
    """Claims that count differently; None if whole samples are counted."""
    samples: int
    """Samples of these claims, or the samples that are counted."""
    largest: tuple[ChangedClaim, ...]
    """The largest changes of the part, at most 20."""

    @property
    def words(self) -> str:
        """The cause in words."""
        return CAUSES[self.cause]


class Decomposition(NamedTuple):
    """The parts of a difference, and their sum."""

    parts: tuple[CausePart, ...] = ()
    """In the order of `CAUSES`; causes without a change are left out."""
    change: float | None = None
    """The mean of run b minus that of run a, each over all samples with a value; the sum of the parts."""


class ClaimChange(NamedTuple):
    """Exact contribution of one claim to the difference of a sample's values."""

    cause: Cause
    value: Fraction
    subject: str | None = None
    run: Literal["a", "b"] = "a"
    claim: str | None = None
    a: Label | None = None
    b: Label | None = None


class _JudgedClaim(NamedTuple):
    """A claim in one run."""

    assessment: Labeled
    text: str
    counts: bool
    """Whether it has a label and the score counts it."""

    @property
    def value(self) -> int:
        """1 if it is supported, else 0."""
        return int(self.assessment.support == "supported")


class Causes:
    """Finds the causes for which values of samples differ between two runs."""

    def __init__(self, a: Manifest, b: Manifest) -> None:
        self._judged_alike = a.judges_alike(b)
        self._judged = bool(a.judges or b.judges)

    def of_sample(self, name: str, metric: Metric | None, a: Sample, b: Sample) -> Cause:
        """Return the cause of a change of a metric that cannot be attributed to claims.

        Args:
            name: The name of the metric.
            metric: The metric, if it is over claims.
            a: The sample in the first run.
            b: The same sample in the second run.
        """
        changed = list(
            dict.fromkeys(_cause_of_part(part) for part in _parts(name, metric, a, b) if _differs(a, b, part))
        )
        if not self._judged_alike:
            changed.append("judge")
        if not changed:
            return "disagreement" if self._judged else "judge"
        return changed[0] if len(changed) == 1 else "several"

    def changes(self, name: str, metric: Metric | None, a: ScoredSample, b: ScoredSample) -> list[ClaimChange]:
        """Return the contributions of claims to the difference of a sample's values.

        If the metric is not a share of claims, the sample as a whole is the only contribution.

        Args:
            name: The name of the metric.
            metric: The metric, if it is over claims.
            a: The sample in run a, with a value.
            b: The sample in run b, with a value.
        """
        values = exact(a.scores[name]), exact(b.scores[name])
        if (
            metric is None
            or (changed := self._claims(metric, a, b)) is None
            or sum(c.value for c in changed) != (values[1] - values[0])
        ):
            cause = self.of_sample(name, metric, a.sample, b.sample)
            return [ClaimChange(cause, values[1] - values[0])] if values[0] != values[1] else []
        return changed

    def _claims(self, metric: Metric, a: ScoredSample, b: ScoredSample) -> list[ClaimChange] | None:
        sides = _judged(metric, a), _judged(metric, b)
        judged = [sum(claim.counts for claim in side.values()) for side in sides]
        if 0 in judged:
            return None
        weights = [Fraction(1, n) for n in judged]
        both = [key for key, claim in sides[0].items() if claim.counts and key in sides[1] and sides[1][key].counts]
        if both:
            level = Fraction(sum(side[key].value for side in sides for key in both), 2 * len(both))
        else:
            hits = (Fraction(sum(c.value for c in side.values() if c.counts)) for side in sides)
            level = sum((count * weight for count, weight in zip(hits, weights, strict=True)), Fraction()) / 2
        flip = sum(weights, Fraction()) / 2
        cause_of_flips = self._cause_of_flips(metric.against, a.sample, b.sample)
        cause_of_claims = self._cause_of_claims(metric.claims_of, a.sample, b.sample)
        changed = []
        for key in dict.fromkeys([*sides[0], *sides[1]]):
            in_a, in_b = sides[0].get(key), sides[1].get(key)
            counts = bool(in_a and in_a.counts), bool(in_b and in_b.counts)
            cause: Cause
            value: Fraction
            if in_a and in_b and counts == (True, True):
                value, cause = (in_b.value - in_a.value) * flip, cause_of_flips
            elif in_a and counts[0]:
                value, cause = (level - in_a.value) * weights[0], _cause_in_one_run(in_b, cause_of_claims)
            elif in_b and counts[1]:
                value, cause = (in_b.value - level) * weights[1], _cause_in_one_run(in_a, cause_of_claims)
            else:
                continue
            if value or counts != (True, True):
                claim = in_a or in_b
                assert claim is not None, "a key is of one of the runs"
                labels = in_a.assessment.support if in_a else None, in_b.assessment.support if in_b else None
                run: Literal["a", "b"] = "a" if in_a else "b"
                changed.append(ClaimChange(cause, value, claim.assessment.subject, run, claim.text, *labels))
        return changed

    def _cause_of_flips(self, against: Part, a: Sample, b: Sample) -> Cause:
        """Return why the labels of claims that both runs judged differ."""
        if a.full_question == b.full_question and not _differs(a, b, against):
            return "disagreement" if self._judged_alike else "judge"
        if not self._judged_alike:
            return "several"
        return _cause_of_part(against)

    def _cause_of_claims(self, of: Part, a: Sample, b: Sample) -> Cause:
        """Return why a run has claims that the other lacks."""
        return "extraction" if a.texts(of) == b.texts(of) else _cause_of_part(of)


def _cause_of_part(part: Part) -> Cause:
    if part in ("reference", "reference_contexts"):
        return "reference"
    return "answer" if part == "answer" else "evidence"


def _cause_in_one_run(other: _JudgedClaim | None, cause_of_claims: Cause) -> Cause:
    """Return why a claim counts in one run only; `other` is the claim in the other run."""
    if other is None:
        return cause_of_claims
    return "label" if other.assessment.label is None else "reference"


def _judged(metric: Metric, result: ScoredSample) -> dict[tuple[str, int], _JudgedClaim]:
    """Return the claims of a metric by their text and their position among claims with the same text."""
    ids = counted(metric, result)
    texts = {claim.id: claim.text for claim in result.claims}
    return {
        (text, position): _JudgedClaim(
            assessment, texts[assessment.subject], assessment.label is not None and assessment.subject in ids
        )
        for (of, text, position, evidence), assessment in assessments_by_text(result).items()
        if (of, evidence.part) == (metric.claims_of, metric.against)
    }


def _texts(sample: Sample, part: Part) -> object:
    """Return the texts of a part that judges are shown."""
    documents = sample.documents(part)
    return documents and [(document.title, document.text) for document in documents]


def _parts(name: str, metric: Metric | None, a: Sample, b: Sample) -> Sequence[Part]:
    """Return the parts of a sample that a metric depends on; all parts if that is not known."""
    if metric:
        return ASKED, metric.claims_of, metric.against
    if is_derived(name):
        return ASKED, *(part for pair in derived(name).pairs for part in pair)
    return ASKED, "contexts", "history", *a.evidence, *b.evidence, "answer", "reference", "reference_contexts"


def _differs(a: Sample, b: Sample, part: Part) -> bool:
    return _texts(a, part) != _texts(b, part) or a.alternatives(part) != b.alternatives(part)


def exact(score: Score) -> Fraction:
    """Return the value of a defined score as a rational number: hits / judged if the value is that ratio."""
    return Fraction(*_ratio(score))


def _ratio(score: Score) -> tuple[int, int]:
    assert score.value is not None, "only defined scores are compared"
    if score.judged and score.hits is not None and score.hits / score.judged == score.value:
        return score.hits, score.judged
    return score.value.as_integer_ratio()


class Totals:
    """Number and sum of the values of each metric in one run."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._numerators: defaultdict[str, Counter[int]] = defaultdict(Counter)
        """By denominator."""

    def add(self, scores: Mapping[str, Score]) -> None:
        """Add the scores of a sample."""
        for name, score in scores.items():
            if score.value is not None:
                self.counts[name] += 1
                numerator, denominator = _ratio(score)
                self._numerators[name][denominator] += numerator

    def sum(self, name: str) -> Fraction:
        """Return the exact sum of a metric's values."""
        ratios = self._numerators[name].items()
        return sum((Fraction(numerator, denominator) for denominator, numerator in ratios), Fraction())


class _PartTally:
    """Adds up the changes of one metric with one cause."""

    def __init__(self) -> None:
        self.value = Fraction()
        self.claims = self.samples = 0
        self.whole = False
        """Whether whole samples are counted."""
        self._largest: list[tuple[Fraction, int, str, ClaimChange]] = []

    def add(self, sample: str, changes: Sequence[ClaimChange], order: int) -> None:
        """Add the changes of a sample."""
        self.samples += 1
        for position, change in enumerate(changes):
            self.value += change.value
            self.claims += change.subject is not None
            self.whole |= change.subject is None
            entry = (abs(change.value), -(order << 20) - position, sample, change)
            push = heapq.heappush if len(self._largest) < LARGEST else heapq.heappushpop
            push(self._largest, entry)

    def largest(self, weight: Fraction) -> Iterator[ChangedClaim]:
        """Yield the largest changes, largest first, multiplied by their weight in the difference."""
        for _, _, sample, change in sorted(self._largest, key=lambda entry: entry[:2], reverse=True):
            yield ChangedClaim(
                sample_id=sample,
                subject=change.subject,
                run=change.run,
                claim=change.claim,
                a=change.a,
                b=change.b,
                value=float(change.value * weight),
            )


class CauseTally:
    """Splits the difference of each metric by cause, from the shared samples of two runs, one by one."""

    def __init__(self, causes: Causes, metrics: Mapping[str, Metric | None]) -> None:
        """`metrics` maps all names to metrics; None for those that are not over claims."""
        self._causes, self._metrics = causes, metrics
        self._parts: defaultdict[str, defaultdict[Cause, _PartTally]] = defaultdict(lambda: defaultdict(_PartTally))
        self._paired: tuple[Totals, Totals] = Totals(), Totals()
        self._once: dict[str, list[tuple[str, bool, Fraction]]] = {name: [] for name in metrics}
        """By metric, the samples with a value in one run only: id, whether it is run b, and the value."""
        self._samples = 0

    def add(
        self,
        sample: str,
        a: Mapping[str, Score],
        b: Mapping[str, Score],
        pair: tuple[ScoredSample, ScoredSample] | None,
    ) -> dict[str, dict[Cause, float]]:
        """Add a sample; return the contribution of each cause to the difference of its values, by metric.

        Args:
            sample: Its id.
            a: Its scores in run a.
            b: Its scores in run b.
            pair: Its results in both; None if claims, labels and scores are the same.
        """
        self._samples += 1
        parts_of: dict[str, dict[Cause, float]] = {}
        for name, metric in self._metrics.items():
            scores = a[name], b[name]
            if scores[0].value is None or scores[1].value is None:
                for is_b, score in enumerate(scores):
                    if score.value is not None:
                        self._once[name].append((sample, bool(is_b), exact(score)))
                        parts_of[name] = {"score": score.value * (1 if is_b else -1)}
                continue
            for side, score in zip(self._paired, scores, strict=True):
                side.add({name: score})
            if pair is None:
                continue
            grouped: dict[Cause, list[ClaimChange]] = {}
            for change in self._causes.changes(name, metric, *pair):
                grouped.setdefault(change.cause, []).append(change)
            for cause, changes in grouped.items():
                self._parts[name][cause].add(sample, changes, self._samples)
            if grouped:
                parts_of[name] = {cause: float(sum(c.value for c in changes)) for cause, changes in grouped.items()}
        return parts_of

    def decomposition(self, name: str, a: Totals, b: Totals) -> Decomposition:
        """Return the parts of the difference of a metric; `a` and `b` are totals over all samples of the runs."""
        n = self._paired[0].counts[name]
        counts = a.counts[name], b.counts[name]
        if 0 in counts:
            return Decomposition()
        parts = [
            CausePart(
                cause=cause,
                value=float(part.value / n),
                claims=None if part.whole else part.claims,
                samples=part.samples,
                largest=tuple(part.largest(Fraction(1, n))),
            )
            for cause, part in self._parts[name].items()
        ]
        parts += self._unpaired(name, (a, b))
        order = get_args(Cause)
        parts.sort(key=lambda part: order.index(part.cause))
        return Decomposition(tuple(parts), math.fsum(part.value for part in parts))

    def _unpaired(self, name: str, totals: tuple[Totals, Totals]) -> Iterator[CausePart]:
        """Yield the parts of samples with a value in one run only."""
        n = self._paired[0].counts[name]
        means = [side.sum(name) / n if n else Fraction() for side in self._paired]
        weights = [Fraction(sign, side.counts[name]) for sign, side in zip((-1, 1), totals, strict=True)]
        once = [(sample, is_b, (value - means[is_b]) * weights[is_b]) for sample, is_b, value in self._once[name]]
        if once:
            largest = heapq.nlargest(LARGEST, once, key=lambda entry: abs(entry[2]))
            yield CausePart(
                cause="score",
                value=float(sum(value for *_, value in once)),
                claims=None,
                samples=len(once),
                largest=tuple(
                    ChangedClaim(
                        sample_id=sample,
                        subject=None,
                        run="b" if is_b else "a",
                        claim=None,
                        a=None,
                        b=None,
                        value=float(value),
                    )
                    for sample, is_b, value in largest
                ),
            )
        shared = [[value for _, is_b, value in self._once[name] if is_b == side] for side in (False, True)]
        lone = [side.counts[name] - n - len(values) for side, values in zip(totals, shared, strict=True)]
        if any(lone):
            value = sum(
                (
                    (side.sum(name) - paired.sum(name) - sum(values) - count * mean) * weight
                    for side, paired, values, count, mean, weight in zip(
                        totals, self._paired, shared, lone, means, weights, strict=True
                    )
                ),
                Fraction(),
            )
            yield CausePart(cause="samples", value=float(value), claims=None, samples=sum(lone), largest=())


def of_whole_samples(parts: Iterable[CausePart]) -> bool:
    """Return whether the parts count whole samples, as for a metric that is not a share of claims."""
    paired = [part for part in parts if part.cause not in UNPAIRED]
    return bool(paired) and all(part.claims is None for part in paired)


def cells(
    parts: Iterable[CausePart], difference: float | None, change: float | None
) -> list[tuple[str, str, str, str]]:
    """Return the rows of a table: cause, contribution, claims, samples; the rounded figures add up too.

    Args:
        parts: The parts of one metric.
        difference: The paired difference, the sum of all causes but `UNPAIRED`.
        change: The difference of the two means, the sum of all causes.
    """
    parts = list(parts)
    paired = [part for part in parts if part.cause not in UNPAIRED]
    others = [part for part in parts if part.cause in UNPAIRED]
    rows = _rows(paired, difference or 0.0)
    samples = "samples with a score in both runs"
    if others:
        rows.append((samples if paired else f"{samples}: no change", signed(difference), "", ""))
        rows += _rows(others, change or 0.0, difference or 0.0)
    return [*rows, ("all", signed(change), "", "")] if rows else []


def _rows(parts: Sequence[CausePart], total: float, start: float = 0.0) -> list[tuple[str, str, str, str]]:
    figures = adding_up([part.value for part in parts], total, start)
    return [
        (part.words, figure, "" if part.claims is None else str(part.claims), str(part.samples))
        for part, figure in zip(parts, figures, strict=True)
    ]
