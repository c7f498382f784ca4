"""Causes of the difference between two runs: parts by cause, of claims or samples, that add up to
it exactly.

The difference of a metric is the mean of run b minus the mean of run a, each over all samples with
a value. It is split twice, in rational numbers, so that no rounding occurs.

1. Over samples. Samples with a value in both runs, n of them, contribute (v_b - v_a) / n each;
   together that is the paired difference of the comparison. A sample that only run b has a value
   for contributes (v_b - m_b) / n_b, where m_b is the mean of run b over the n samples and n_b the
   number of all that b has a value for; one that only run a has contributes -(v_a - m_a) / n_a.
2. Over the claims of a sample, if the value is a share of supported claims, h_a / j_a and h_b /
   j_b. A claim that both runs judged, and count differently, contributes (y_b - y_a) (1 / j_a + 1 /
   j_b) / 2, where y is 1 if it is supported, else 0. A claim that only run b judged contributes
   (y_b - r) / j_b, one that only run a judged -(y_a - r) / j_a, where r is the mean of the shares
   that both runs give to the claims that both judged, or of the two values if there are none. This
   is the average of both orders of changing labels and claims (the Shapley value of the two;
   Kitagawa 1955).

A metric that is not a share of claims (a rating, a grade, f1) is split over samples only.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.derived import derived, is_derived
from claimeval.metrics.flips import ByText
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import counted
from claimeval.runs.inputs import Answer, Inputs, Retrieval
from claimeval.statistics.formatting import adding_up, digits_of_sum, signed
from claimeval.types.records import (
    ASKED,
    CONTEXTS_AND_HISTORY,
    HISTORY,
    REASONS,
    Label,
    Labeled,
    Part,
    Record,
    Sample,
    Score,
)

Judging = Literal["judge", "several", "extraction", "label", "disagreement"]
Other = Literal["reference", "question", "order", "evidence"]
Unpaired = Literal["score", "samples"]
"""Causes that are not part of the paired difference."""
Cause = Literal[Judging, Other, Retrieval, Answer, Unpaired]
CAUSES: dict[Cause, str] = {
    "judge": "other judges, prompt or settings",
    "several": "several of these at once",
    "extraction": "other claims from the same text",
    "label": "a label in one run only",
    "reference": "another gold answer",
    "question": "another question or history",
    "lost": "lost documents",
    "gained": "gained documents",
    "rewritten": "rewritten documents",
    "order": "documents in another order",
    "evidence": "other evidence",
    "missing": "answers missing in one run",
    "refusal": "answers that decline in one run",
    "claimless": "answers without a claim in one run",
    "longer": "longer answers",
    "shorter": "shorter answers",
    "answer": "other answers",
    "disagreement": "the same texts judged otherwise",
    "score": "a score in one run only",
    "samples": "samples of one run only",
}
"""Causes and their names in tables, in table order."""
RETRIEVAL: tuple[Retrieval, ...] = get_args(Retrieval)
"""Causes that may name a document."""
UNPAIRED: tuple[Unpaired, ...] = get_args(Unpaired)
OF_DOCUMENTS = ("grade", "retrieval")
"""Jobs whose scores are about the documents alone."""
MOSTLY = 0.6
"""Share of a part from which one document names it."""
LARGEST = 20
"""Largest changes that a part lists."""


class ChangedClaim(Record):
    """One claim, or one sample, and its contribution to the difference."""

    sample_id: str
    question: str
    """The question about the claim; empty for a sample."""
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
    name: str | None = None
    """The document that makes most of the part, or why samples have a score in one run only."""
    names: int = 0
    """Number of documents."""
    together: bool = False
    """Whether these are answers that changed together with the documents: nobody exchanged one
    without the other."""
    parts: tuple[CausePart, ...] = ()
    """What the part consists of; empty if it is of one kind."""

    @property
    def words(self) -> str:
        """The cause in words."""
        if self.cause == "score" and self.name:
            return f"{CAUSES[self.cause]} ({self.name})"
        if not self.names or self.name is None:
            return CAUSES[self.cause]
        # Without a number: the sentence counts the documents, a part those that move its metric.
        others = " and others" if self.names > 1 else ""
        return f"{CAUSES[self.cause]}: “{self.name}”{others}"

    @property
    def kind(self) -> str:
        """What the part is inside a larger one, in words."""
        if self.cause == "score":
            return self.name or CAUSES[self.cause]
        return (
            "answers changed with it"
            if self.together
            else "the same claims judged on other documents"
        )


class Why(NamedTuple):
    """Why a claim, or a whole sample, counts differently."""

    cause: Cause
    name: str | None = None
    """The document that it is about."""
    together: bool = False
    """Whether it is of an answer that changed together with the documents."""


class ClaimChange(NamedTuple):
    """Exact contribution of one claim to the difference of a sample's values."""

    why: Why
    value: Fraction
    subject: str | None = None
    run: Literal["a", "b"] = "a"
    claim: str | None = None
    a: Label | None = None
    b: Label | None = None
    question: str = ""


class Causes:
    """Finds the causes for which values of samples differ between two runs."""

    def __init__(self, a: Manifest, b: Manifest) -> None:
        self.judged_alike = a.judges_alike(b)
        self.extracted_alike = _extraction(a) == _extraction(b)
        self._judged = bool(a.of_claims or a.judges or b.judges)
        self._of_documents = a.job in OF_DOCUMENTS

    def _why(self, parts: Iterable[Part], inputs: Inputs, claim: str = "", *, up: bool) -> Why:
        """Return the cause of a change that follows from these parts: of a claim's label, or of a
        sample's value.

        Args:
            parts: The parts that it depends on.
            inputs: The inputs of the sample.
            claim: The text of the claim, of which judges may have cited documents.
            up: Whether the value rose.
        """
        differs = [part for part in _single_parts(parts) if inputs.differs(part)]
        changed = dict.fromkeys(_cause_of_part(part) for part in differs)
        if not self.judged_alike:
            changed["judge"] = None
        evidence = next((part for part in differs if _cause_of_part(part) == "evidence"), None)
        if evidence and changed.keys() <= {"evidence", "answer"}:
            if found := inputs.changed_for(evidence, claim, up=up):
                return Why(*found, "answer" in changed)
            if "answer" in changed:
                del changed["evidence"]  # only their order
        if not changed:
            return Why("disagreement" if self._judged else "judge")
        # Nobody exchanged one of these without the others, so none of them is the cause.
        if len(changed) > 1:
            return Why("several")
        (cause,) = changed
        if evidence and cause == "evidence":
            return Why("order" if inputs.documents(evidence).moved else cause)
        return self._of_answer(inputs) if cause == "answer" else Why(cause)

    def _parts(self, name: str, metric: Metric | None, a: Sample, b: Sample) -> Sequence[Part]:
        """Return the parts of a sample that a metric depends on; all parts if that is not known."""
        if metric:
            return ASKED, metric.claims_of, metric.against
        if is_derived(name):
            return ASKED, *itertools.chain.from_iterable(derived(name).pairs)
        if self._of_documents:
            return ASKED, "contexts", "reference_contexts"
        return (
            ASKED,
            "contexts",
            *a.evidence,
            *b.evidence,
            "answer",
            "reference",
            "reference_contexts",
        )

    def changes(self, name: str, metric: Metric | None, inputs: Inputs) -> list[ClaimChange]:
        """Return the contributions of claims to the difference of a sample's values.

        If the metric is not a share of claims, the sample as a whole is the only contribution.

        Args:
            name: The name of the metric.
            metric: The metric, if it is over claims.
            inputs: The inputs and results of the sample, which has a value in both runs.
        """
        values = [exact(result.scores[name]) for result in inputs.results]
        change = values[1] - values[0]
        changed = self._claims(metric, inputs) if metric else None
        if changed is None or sum(one.value for one in changed) != change:
            parts = self._parts(name, metric, inputs.a, inputs.b)
            why = self._why(parts, inputs, up=change > 0)
            return [ClaimChange(why, change)] if change else []
        return changed

    def _claims(self, metric: Metric, inputs: Inputs) -> list[ClaimChange] | None:
        labels = [_of_metric(metric, of_run) for of_run in inputs.assessments]
        hits = [
            _hits(labels[run], counted(metric, result)) for run, result in enumerate(inputs.results)
        ]
        if not all(hits):
            return None
        weights = [Fraction(1, len(of)) for of in hits]
        both = hits[0].keys() & hits[1].keys()
        level = _level(hits, both)
        flip = sum(weights, Fraction()) / 2
        changed = []
        for key in labels[0] | labels[1]:
            a, b = (of.get(key) for of in labels)
            if key in both:
                if not (turn := hits[1][key] - hits[0][key]):
                    continue
                value = turn * flip
                why = self._why(
                    (ASKED, metric.against),
                    inputs,
                    key[0],
                    up=turn > 0,
                )
            elif key in hits[0]:
                value = (level - hits[0][key]) * weights[0]
                why = self._in_one_run(b, metric.claims_of, inputs)
            elif key in hits[1]:
                value = (hits[1][key] - level) * weights[1]
                why = self._in_one_run(a, metric.claims_of, inputs)
            else:
                continue
            support = a.support if a else None, b.support if b else None
            claim = a or labels[1][key]
            sample = inputs.a if a else inputs.b
            run: Literal["a", "b"] = "a" if a else "b"
            changed.append(
                ClaimChange(why, value, claim.subject, run, key[0], *support, sample.question)
            )
        return changed

    def _in_one_run(self, other: Labeled | None, of: Part, inputs: Inputs) -> Why:
        """Return why a claim counts in one run only; `other` is its assessment in the other run."""
        if other is not None:
            return Why("label" if other.label is None else "reference")
        if inputs.a.texts(of) == inputs.b.texts(of):
            return Why("question" if inputs.question and self.extracted_alike else "extraction")
        if not (self.judged_alike and self.extracted_alike):
            return Why("several")
        cause = _cause_of_part(of)
        return self._of_answer(inputs) if cause == "answer" else Why(cause)

    def _of_answer(self, inputs: Inputs) -> Why:
        """Return why something differs that follows from another answer."""
        if found := inputs.with_answer():
            return Why(*found, True)
        return Why(inputs.answer or "answer")


def _single_parts(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if part == CONTEXTS_AND_HISTORY:
            yield "contexts"
            yield HISTORY
        else:
            yield part


_Key = tuple[str, int]
"""The text of a claim, and its position among claims with the same text."""


def _hits(labels: Mapping[_Key, Labeled], counted_claims: Collection[str]) -> dict[_Key, int]:
    """Return the claims that a score counts: 1 if a claim is supported, else 0."""
    hits: dict[_Key, int] = {}
    for key, one in labels.items():
        if one.label and one.subject in counted_claims:
            hits[key] = int(one.support == "supported")
    return hits


def _level(hits: Sequence[Mapping[_Key, int]], both: Collection[_Key]) -> Fraction:
    """Return the share of supported claims that a claim of one run alone is set against: among
    those of both runs, else the mean share of the two runs."""
    if both:
        supported = 0
        for of_run in hits:
            supported += sum(of_run[key] for key in both)
        return Fraction(supported, 2 * len(both))
    shares = [Fraction(sum(of_run.values()), len(of_run)) for of_run in hits]
    return sum(shares, Fraction()) / 2


def _extraction(manifest: Manifest) -> object:
    """Return what decides which claims a text has."""
    prompts = [prompt.id for prompt in manifest.prompts if prompt.step == "extract"]
    # A panel file may call the same judge with the same settings another name.
    return manifest.extractor and manifest.extractor.model_copy(update={"name": ""}), prompts


def _cause_of_part(part: Part) -> Cause:
    if part in ("reference", "reference_contexts"):
        return "reference"
    if part in (ASKED, HISTORY):
        return "question"
    return "answer" if part == "answer" else "evidence"


def _of_metric(metric: Metric, assessments: ByText) -> dict[_Key, Labeled]:
    """Return the claims of a metric."""
    return {
        (text, position): assessment
        for (of, text, position, evidence), assessment in assessments.items()
        if (of, evidence.part) == (metric.claims_of, metric.against)
    }


def exact(score: Score) -> Fraction:
    """Return the value of a defined score as a rational number: hits / judged if the value is that
    ratio."""
    return Fraction(*_ratio(score))


def _ratio(score: Score) -> tuple[int, int]:
    assert score.value is not None, "only defined scores are compared"
    # The float of 1/3 is no third: only sums of the counts add up to the difference to the last
    # digit.
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
        return sum(
            (Fraction(numerator, denominator) for denominator, numerator in ratios), Fraction()
        )


class _PartTally:
    """Adds up the changes of one metric with one cause."""

    def __init__(self, parts: Collection[_PartTally] = ()) -> None:
        """`parts` are added up."""
        self.value = Fraction()
        self.claims = 0
        self.whole = False
        """Whether whole samples are counted."""
        self.samples: defaultdict[int, float] = defaultdict(float)
        """What each sample adds, before it is divided by their number."""
        entries = itertools.chain.from_iterable(part._largest for part in parts)
        self._largest: list[tuple[Fraction, int, str, ClaimChange]] = heapq.nlargest(
            LARGEST, entries
        )
        for part in parts:
            self.value += part.value
            self.claims += part.claims
            self.whole |= part.whole
            for order, value in part.samples.items():
                self.samples[order] += value

    def add(self, sample: str, change: ClaimChange, order: int, position: int) -> None:
        """Add a change.

        Args:
            sample: The id of the sample.
            change: The change.
            order: Number of the sample in the comparison.
            position: Number of the change in the sample.
        """
        self.value += change.value
        self.claims += change.subject is not None
        self.whole |= change.subject is None
        self.samples[order] += float(change.value)
        # Equal values are told apart by their place, the earlier first, as changes themselves have
        # no order.
        push = heapq.heappush if len(self._largest) < LARGEST else heapq.heappushpop
        push(self._largest, (abs(change.value), -(order << 20) - position, sample, change))

    def part(self, cause: Cause, weight: Fraction = Fraction(1), **fields: Any) -> CausePart:
        """Return the part, with everything multiplied by its weight in the difference."""
        entries = sorted(self._largest, key=lambda entry: entry[:2], reverse=True)
        largest = [
            ChangedClaim(
                sample_id=sample,
                question=change.question,
                subject=change.subject,
                run=change.run,
                claim=change.claim,
                a=change.a,
                b=change.b,
                value=float(change.value * weight),
            )
            for _, _, sample, change in entries
        ]
        return CausePart(
            cause=cause,
            value=float(self.value * weight),
            claims=None if self.whole else self.claims,
            samples=len(self.samples),
            largest=tuple(largest),
            **fields,
        )


class CauseTally:
    """Splits the difference of each metric by cause, from the shared samples of two runs, one by
    one."""

    def __init__(self, causes: Causes, metrics: Mapping[str, Metric | None]) -> None:
        """`metrics` maps all names to metrics; None for those that are not over claims."""
        self.causes = causes
        self._metrics = metrics
        self._parts = {
            name: defaultdict[tuple[Cause, bool], _PartTally](_PartTally) for name in metrics
        }
        """By metric, cause, and whether an answer changed together with documents."""
        self._changed = {
            name: defaultdict[tuple[Cause, str], Fraction](Fraction) for name in metrics
        }
        """By metric, change and name of a document, what it adds before it is divided by the number
        of samples."""
        self._paired: tuple[Totals, Totals] = Totals(), Totals()
        self.once: dict[str, list[_UnpairedSample]] = {name: [] for name in metrics}
        """By metric, the shared samples with a value in one run only."""
        self._samples = 0

    def add(
        self, sample: str, a: Mapping[str, Score], b: Mapping[str, Score], inputs: Inputs | None
    ) -> dict[str, dict[Cause, float]]:
        """Add a sample; return the contribution of each cause to the difference of its values, by
        metric.

        Args:
            sample: Its id.
            a: Its scores in run a.
            b: Its scores in run b.
            inputs: Its inputs and results in both; None if claims, labels and scores are the same.
        """
        parts_of: dict[str, dict[Cause, float]] = {}
        for name, metric in self._metrics.items():
            scores = a[name], b[name]
            if scores[0].value is None or scores[1].value is None:
                alone = self._add_unpaired(name, sample, scores, inputs)
                if alone is not None:
                    parts_of[name] = {"score": alone}
                continue
            for side, score in zip(self._paired, scores, strict=True):
                side.add({name: score})
            if inputs is None:
                continue
            grouped: dict[Cause, Fraction] = {}
            for position, change in enumerate(self.causes.changes(name, metric, inputs)):
                cause, document, together = change.why
                self._parts[name][cause, together].add(sample, change, self._samples, position)
                grouped[cause] = grouped.get(cause, Fraction()) + change.value
                if document is not None:
                    self._changed[name][cause, document] += change.value
            if grouped:
                parts_of[name] = {cause: float(value) for cause, value in grouped.items()}
        self._samples += 1
        return parts_of

    def _add_unpaired(
        self, name: str, sample: str, scores: tuple[Score, Score], inputs: Inputs | None
    ) -> float | None:
        """Add a sample without a value in one run or both; return what it adds to the difference,
        None without any value."""
        is_b = scores[0].value is None
        score = scores[is_b]
        if score.value is None:
            return None
        because = scores[not is_b].because
        reason = REASONS[because] if because else CAUSES["score"]
        if inputs and inputs.answer in ("missing", "refusal", "claimless"):
            reason = CAUSES[inputs.answer]
        unpaired = _UnpairedSample(self._samples, sample, is_b, exact(score), reason)
        self.once[name].append(unpaired)
        return score.value if is_b else -score.value

    def decomposition(
        self, name: str, totals: tuple[Totals, Totals]
    ) -> tuple[tuple[CausePart, ...], float | None]:
        """Return the parts of the difference of a metric, and their sum, the difference of the
        means.

        The largest comes first, and `UNPAIRED` last; causes without a change are left out. `totals`
        are over all samples of the runs.
        """
        if 0 in (side.counts[name] for side in totals):
            return (), None
        documents = self.documents(name)
        causes = dict.fromkeys(cause for cause, _ in self._parts[name])
        parts = [
            *(self._part(name, cause, documents) for cause in causes),
            *self._unpaired(name, totals),
        ]
        parts.sort(key=lambda part: (part.cause in UNPAIRED, -abs(part.value)))
        return tuple(parts), math.fsum(part.value for part in parts)

    def _part(
        self, name: str, cause: Cause, documents: Mapping[tuple[Cause, str], float]
    ) -> CausePart:
        """Return the part of a cause, with the document that makes most of it."""
        weight = Fraction(1, self._paired[0].counts[name])
        parts_of = self._parts[name]
        kinds = [
            (flag, parts_of[cause, flag]) for flag in (False, True) if (cause, flag) in parts_of
        ]
        inner = tuple(tally.part(cause, weight, together=flag) for flag, tally in kinds)
        whole = _PartTally([tally for _, tally in kinds])
        values = {
            of: math.copysign(1, whole.value) * v
            for (change, of), v in documents.items()
            if change == cause
        }
        # What changed where several documents did has no name, and counts against every name: the
        # sum of all lost documents was called by the one that a single sample had lost alone.
        unnamed = float(abs(whole.value) * weight) - sum(values.values())
        all_of_it = sum(map(abs, values.values())) + abs(unnamed)
        most = max(values, key=lambda of: values[of], default=None)
        if most and values[most] < MOSTLY * all_of_it:
            most = None
        together = all(flag for flag, _ in kinds)
        parts = inner if len(inner) > 1 else ()
        return whole.part(
            cause, weight, name=most, names=len(values), together=together, parts=parts
        )

    def documents(self, name: str) -> dict[tuple[Cause, str], float]:
        """Return what changed documents add to the difference of a metric, by change and name of
        the document."""
        return {
            key: float(value / self._paired[0].counts[name])
            for key, value in self._changed.get(name, {}).items()
        }

    def by_sample(
        self, name: str, *causes: Cause, together: bool | None = None
    ) -> dict[int, float]:
        """Return what each sample adds to the difference of a metric because of these causes, by
        its number.

        Nothing for a metric of attached runs.
        """
        n = self._paired[0].counts[name]
        found = defaultdict[int, float](float)
        for (cause, flag), part in self._parts.get(name, {}).items():
            if cause in causes and together in (None, flag):
                for order, value in part.samples.items():
                    found[order] += value / n
        return found

    def _unpaired(self, name: str, totals: tuple[Totals, Totals]) -> Iterator[CausePart]:
        """Yield the parts of samples with a value in one run only."""
        n = self._paired[0].counts[name]
        means = [side.sum(name) / n if n else Fraction() for side in self._paired]
        of_a, of_b = (side.counts[name] for side in totals)
        weights = [Fraction(-1, of_a), Fraction(1, of_b)]
        kinds: defaultdict[str, _PartTally] = defaultdict(_PartTally)
        for one in self.once[name]:
            deviation = one.value - means[one.is_b]
            run: Literal["a", "b"] = "b" if one.is_b else "a"
            change = ClaimChange(Why("score"), deviation * weights[one.is_b], run=run)
            kinds[one.why].add(one.id, change, one.order, 0)
        inner = tuple(part.part("score", name=reason) for reason, part in kinds.items())
        if len(inner) == 1:
            yield inner[0]
        elif inner:
            yield _PartTally(kinds.values()).part("score", parts=inner)
        lone = self.lone(name, totals)
        samples = sum(count for count, _ in lone)
        if samples:
            value = Fraction()
            for (_, deviation), weight in zip(lone, weights, strict=True):
                value += deviation * weight
            yield CausePart(
                cause="samples", value=float(value), claims=None, samples=samples, largest=()
            )

    def lone(self, name: str, totals: tuple[Totals, Totals]) -> list[tuple[int, Fraction]]:
        """Return of each run the number of samples that the other lacks, and how far they are off
        the mean in all."""
        n = self._paired[0].counts[name]
        found = []
        for is_b, (side, paired) in enumerate(zip(totals, self._paired, strict=True)):
            shared = [one.value for one in self.once[name] if one.is_b == is_b]
            count = side.counts[name] - n - len(shared)
            mean = paired.sum(name) / n if n else Fraction()
            of_lone = side.sum(name) - paired.sum(name) - sum(shared)
            found.append((count, of_lone - count * mean))
        return found


class _UnpairedSample(NamedTuple):
    """A sample with a value in one run only."""

    order: int
    id: str
    is_b: bool
    value: Fraction
    why: str


def of_whole_samples(parts: Iterable[CausePart]) -> bool:
    """Return whether the parts count whole samples, as for a metric that is not a share of
    claims."""
    paired = [part for part in parts if part.cause not in UNPAIRED]
    return bool(paired) and all(part.claims is None for part in paired)


class CauseRow(NamedTuple):
    """A row of the table of causes."""

    words: str
    figure: str
    """What it adds; the figures of the rows that are not inside another one add up."""
    part: CausePart | None = None
    """None for a sum."""
    inner: bool = False
    """Whether the row is a part of the row above it."""


def rows(
    parts: Iterable[CausePart], difference: float | None, change: float | None, digits: int
) -> list[CauseRow]:
    """Return the rows of a table of causes; the rounded figures add up too, and those inside a row
    to that row.

    Args:
        parts: The parts of one metric.
        difference: The paired difference, the sum of all causes but `UNPAIRED`.
        change: The difference of the two means, the sum of all causes.
        digits: Decimals of the figures.
    """
    parts = list(parts)
    digits = digits_of_sum((difference or 0.0, change or 0.0), digits)
    paired = [part for part in parts if part.cause not in UNPAIRED]
    others = [part for part in parts if part.cause in UNPAIRED]
    found = _rows(paired, difference or 0.0, digits)
    samples = "samples with a score in both runs"
    # Samples of one run only move the two means and not the paired difference, so that the column
    # has a sum on the way, the paired difference, to which their rows are added.
    if others:
        words = samples if paired else f"{samples}: no change"
        found.append(CauseRow(words, signed(difference, digits)))
        found += _rows(others, change or 0.0, digits, difference or 0.0)
    return [*found, CauseRow("all", signed(change, digits))] if found else []


def _rows(
    parts: Sequence[CausePart], total: float, digits: int, start: float = 0.0
) -> list[CauseRow]:
    found = []
    figures = adding_up([part.value for part in parts], total, start, digits)
    for part, figure in zip(parts, figures, strict=True):
        found.append(CauseRow(part.words, figure, part))
        inner = adding_up([one.value for one in part.parts], float(figure), digits=digits)
        found += [
            CauseRow(
                one.kind,
                of,
                one,
                True,
            )
            for one, of in zip(part.parts, inner, strict=True)
        ]
    return found


CHANCE = 0.05
"""The p-value from which a difference counts as chance."""


class DocumentChange(Record):
    """A document that retrieval lost or gained, or that has another text."""

    name: str
    change: Retrieval
    samples: int
    """Samples in which it changed."""
    value: float
    """What it adds to the difference of the metric."""


class CauseSlice(Record):
    """What the samples with one value of a field add to the difference because of the named
    cause."""

    field: str
    value: str
    samples: int
    affected: int
    """Samples whose value the cause moves."""
    contribution: float
    share: float
    """The contribution by that of all samples."""

    @property
    def words(self) -> str:
        """Where the cause is."""
        return (
            f", {'all' if self.share > 1 - 1e-9 else 'nearly all'} in {plain_field(self.field)} ="
            f" {self.value}"
        )


class Culprit(Record):
    """What changed between two runs, as far as the data can tell."""

    sentence: str
    metric: str | None
    """The metric that the sentence is about."""
    significant: bool
    """Whether it differs beyond chance."""
    cause: str | None = None
    """The cause that the sentence names; None if it names none."""
    causes: tuple[CausePart, ...] = ()
    """What the difference of the metric consists of."""
    documents: tuple[DocumentChange, ...] = ()
    """Documents that retrieval lost or gained or that were rewritten, those that add most first."""
    slices: tuple[CauseSlice, ...] = ()
    """The named cause by the field in which it is most uneven, largest part first."""
    separate: str | None = None
    """The commands that tell apart what changed at the same time."""


def plain_field(field: str) -> str:
    """Return the name of a field as it is shown."""
    return field.removeprefix("metadata.")
