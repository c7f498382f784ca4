"""The table of derived metrics, which are computed from the verdicts for other metrics, and their
scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product, starmap
from typing import Literal, NamedTuple

from claimeval.metrics import citations, formulas
from claimeval.metrics import names as names_of_numbers
from claimeval.metrics.formulas import BoundedValue, Formula, Matrix
from claimeval.metrics.rows import METRICS, Metric, canonical_name, rows
from claimeval.types.errors import UsageError
from claimeval.types.records import Part, Reason, SampleResult, Score


class DerivedMetric(NamedTuple):
    """A metric without calls of its own."""

    name: str
    needs: tuple[str, ...]
    """The metrics whose verdicts it is computed from."""
    formula: Formula
    description: str
    per_document: bool = False
    """Whether it needs verdicts on single documents."""
    three_way: bool = False
    """Whether it needs judges who distinguish contradicted from not found."""
    partial: bool = False
    """Whether partial support counts half, if the judges' scale has it."""
    empty_reason: Reason = "no_evidence"
    """Why it is undefined if there is nothing to count."""
    best: bool = False
    """Whether the alternative gold answer with the highest value counts. Metrics that need coverage
    use the answer with the best coverage; other metrics count the claims of all gold answers."""
    cites: bool = False
    """Whether it is about the citations of the answer: verdicts on the cited documents are enough,
    and it is undefined (`no_citations`) if there are none."""
    zero_with: str | None = None
    """If another metric that it needs has no claims, the value is 0 if this metric is 0."""

    def readable(self, *, per_document: bool | Literal["cited"], three_way: bool) -> bool:
        """Return whether it can be computed from verdicts of this kind."""
        enough = not self.per_document or (
            bool(per_document) if self.cites else per_document is True
        )
        return enough and (three_way or not self.three_way)

    @property
    def pairs(self) -> tuple[tuple[Part, Part], ...]:
        """The parts of claims and evidence that it needs assessments of."""
        return tuple((METRICS[name].claims_of, METRICS[name].against) for name in self.needs)


_F = "faithfulness"
_P = "correctness"
_Q = "coverage"
_C = "context_recall"

_CITATIONS: tuple[tuple[str, Formula, str], ...] = (
    ("citation_recall", citations.recall, "claims that their own citations support"),
    ("citation_precision", citations.precision, "citations that support a claim of their sentence"),
    ("citation_missing", citations.missing, "claims without citation that a context supports"),
    (
        "citation_misplaced",
        citations.misplaced,
        "claims that other contexts than the cited ones support",
    ),
    ("citation_unfounded", citations.unfounded, "claims with citation that no context supports"),
    ("citation_unresolved", citations.unresolved, "claims with citation that names no source"),
    ("alce_recall", citations.alce_recall, "sentences that their citations support"),
    (
        "alce_precision",
        citations.alce_precision,
        "citations that their sentence needs or that are enough",
    ),
    (
        "support_precision",
        citations.support_precision,
        "support of cited sentences, first citation",
    ),
    ("support_recall", citations.support_recall, "support of all sentences, first citation"),
)
_SINGLE: tuple[tuple[str, tuple[str, ...], Formula, str], ...] = (
    (
        "context_utilization",
        (_C, _Q),
        formulas.context_utilization,
        "retrieved gold claims in answer",
    ),
    (
        "faithfulness_per_document",
        (_F,),
        formulas.faithfulness_per_document,
        "claims that a single context has",
    ),
    (
        "noise_sensitivity_in_relevant",
        (_F, _P, _C),
        formulas.noise_in_relevant,
        "wrong claims taken from relevant contexts",
    ),
    (
        "noise_sensitivity_in_irrelevant",
        (_F, _P, _C),
        formulas.noise_in_irrelevant,
        "wrong claims taken from irrelevant contexts",
    ),
    ("hallucination", (_F, _P), formulas.hallucination, "wrong claims that no single context has"),
    (
        "self_knowledge",
        (_F, _P),
        formulas.self_knowledge,
        "right claims that no single context has",
    ),
)
_NUGGETS = {"vital": (1.0, 0.0), "": (1.0, 1.0), "weighted": (1.0, 0.5)}
"""By kind of nugget recall, the weights of a vital nugget and of an okay one."""


def _nugget_recall(kind: str, strict: bool) -> DerivedMetric:
    vital, okay = _NUGGETS[kind]
    return DerivedMetric(
        f"nugget_recall{kind and '_' + kind}{'_strict' if strict else ''}",
        (_Q,) if vital == okay else (_Q, "vital"),
        formulas.nuggets(vital, okay, strict=strict),
        f"{kind or 'all'} gold claims in the"
        f" answer{', partial support not counted' if strict else ''}",
        partial=not strict,
        empty_reason="no_claims",
    )


DERIVED = {
    row.name: row
    for row in (
        DerivedMetric(
            "f1",
            (_P, _Q),
            formulas.f1,
            "harmonic mean of correctness and coverage",
            zero_with=_Q,
        ),
        DerivedMetric(
            "claim_recall",
            (_C,),
            formulas.claim_recall,
            "gold claims that a single context has",
            True,
            best=True,
        ),
        DerivedMetric(
            "context_precision_claims",
            (_C,),
            formulas.context_precision_claims,
            "contexts that have a gold claim",
            True,
        ),
        *(
            DerivedMetric(name, needs, formula, words, per_document=True)
            for name, needs, formula, words in _SINGLE
        ),
        DerivedMetric(
            "faithful_but_incorrect",
            (_F, _P),
            formulas.faithful_but_incorrect,
            "wrong claims that the contexts have",
        ),
        DerivedMetric(
            "contradiction_rate",
            (_F,),
            formulas.contradiction_rate,
            "claims that the contexts contradict",
            three_way=True,
        ),
        DerivedMetric(
            "context_conflict_rate",
            (_F,),
            formulas.context_conflict_rate,
            "claims that one context has and another contradicts",
            per_document=True,
            three_way=True,
        ),
        *(
            DerivedMetric(name, (_F,), formula, description, per_document=True, cites=True)
            for name, formula, description in _CITATIONS
        ),
        *starmap(_nugget_recall, product(_NUGGETS, (False, True))),
    )
}

ZERO_IS_BEST = {
    *(f"citation_{what}" for what in ("missing", "misplaced", "unfounded", "unresolved")),
    *(
        name
        for name in DERIVED
        if name.startswith(("noise_sensitivity_", "contradicted_", "not_found_"))
    ),
    *(
        "hallucination",
        "self_knowledge",
        "faithful_but_incorrect",
        "contradiction_rate",
        "context_conflict_rate",
    ),
    *(
        "statements_lost",
        "numbers_lost",
        "dates_lost",
        "names_lost",
    ),
    "noncommittal",
}
"""Metrics of faults."""
OF_RANKINGS = {"rbp_resid", "unj", "num_nonrel_judged_ret"}
LOWER_IS_BETTER = ZERO_IS_BEST | OF_RANKINGS | {"perplexity"}
"""Metrics of which a low value is good, without their cutoffs."""
DOWN = "↓"
"""Mark behind the name of such a metric."""


def directed(name: str) -> str:
    """Return the name of a metric, with an arrow if a low value is good."""
    return f"{name} {DOWN}" if name.partition("@")[0] in LOWER_IS_BETTER else name


NUMBERED: dict[str, tuple[tuple[str, ...], Callable[[float], Formula], str]] = {
    "factscore": ((_F,), formulas.factscore, "faithfulness with length penalty"),
    "long_form_f1": (
        (_F,),
        formulas.long_form_f1,
        "F1 of supported claims and of their number against {0}",
    ),
    "long_form_f1_on_topic": (
        (_F, "on_topic"),
        lambda k: formulas.long_form_f1(k, on_topic=True),
        "F1 of supported claims on topic and of their number against {0}",
    ),
}
"""Metrics with a number of claims after `@`: needs, formula, description."""

GROUPS = {
    "ragchecker": (
        *(_P, _Q, "f1", "claim_recall", "context_precision_claims", "context_utilization"),
        *("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant"),
        *("hallucination", "self_knowledge", "faithfulness_per_document"),
    ),
    "citations": tuple(name for name in DERIVED if name.startswith("citation_")),
    "alce": tuple(name for name in DERIVED if name.startswith("alce_")),
    "trec_support": ("support_precision", "support_recall"),
    "nuggets": tuple(name for name in DERIVED if name.startswith("nugget_recall")),
}
"""Names of several metrics."""

WITH_DOCUMENTS = (
    *(name for name, row in DERIVED.items() if row.per_document and not row.cites),
    *("f1", "contradiction_rate"),
)
"""Metrics that are added by default if claims are assessed per document and their needs are met."""


class MetricSelection(NamedTuple):
    """The metrics of a run."""

    rows: tuple[Metric, ...]
    derived: tuple[str, ...] | None
    """Names of the requested derived metrics; None for the default ones."""


@lru_cache(maxsize=256)
def derived(name: str) -> DerivedMetric:
    """Return a derived metric by name, such as `f1` or `long_form_f1@64`. Raises UsageError if
    there is none."""
    base, at, number = name.partition("@")
    if not at and name in DERIVED:
        return DERIVED[name]
    if base in NUMBERED:
        needs, formula, description = NUMBERED[base]
        if re.fullmatch(r"[1-9]\d{0,5}", number):
            return DerivedMetric(name, needs, formula(float(number)), description.format(number))
        raise UsageError(f"metric {name!r}: write a number of claims after @, as in {base}@64")
    raise names_of_numbers.unknown(
        "metric",
        name,
        [
            *METRICS,
            *DERIVED,
            "factscore@10",
            "long_form_f1@64",
            "long_form_f1_on_topic@64",
            *GROUPS,
        ],
    )


def loss(name: str, value: float) -> float:
    """Return the distance of a share from the best value of the metric: 1, or 0 for metrics of
    faults."""
    return value if name in ZERO_IS_BEST else 1 - value


def is_derived(name: str) -> bool:
    """Return whether a name is that of a derived metric."""
    return name in DERIVED or name.partition("@")[0] in NUMBERED


def select_metrics(specs: Iterable[str | Metric]) -> MetricSelection:
    """Return the requested metrics in order, plus the metrics that derived ones depend on.

    Raises UsageError if a name is unknown or if a custom metric has the name of a derived one.
    """
    plain: list[str | Metric] = []
    names: dict[str, None] = {}
    for spec in specs:
        for member in _members(spec):
            if isinstance(member, str) and is_derived(member):
                names[member] = None
            else:
                plain.append(member)
    chosen = _custom_and_built_in(plain)
    have = {row.name for row in chosen}
    required = dict.fromkeys(chain.from_iterable(derived(name).needs for name in names))
    added = tuple([METRICS[name] for name in required if name not in have])
    return MetricSelection((*chosen, *added) or rows(()), tuple(names))


def _members(spec: str | Metric) -> Sequence[str | Metric]:
    """Return the metrics of a group, or the metric itself."""
    if not isinstance(spec, str):
        return (spec,)
    name = canonical_name(spec)
    return GROUPS.get(name, (name,))


def _custom_and_built_in(specs: Sequence[str | Metric]) -> Sequence[Metric]:
    for spec in specs:
        if isinstance(spec, str) and "=" not in spec and spec not in METRICS:
            derived(spec)  # raises the error that lists all names
    chosen = rows(specs) if specs else ()
    for row in chosen:
        if is_derived(row.name) or row.name in GROUPS:
            raise UsageError(
                f"metric name {row.name!r} is taken by a built-in metric; choose another name"
            )
    return chosen


def resolve_derived(
    chosen: MetricSelection,
    *,
    per_document: bool | Literal["cited"],
    three_way: bool,
) -> tuple[str, ...]:
    """Return the names of a run's derived metrics. Raises UsageError for one that the verdicts do
    not allow.

    By default, with verdicts on single documents, these are all metrics that the chosen rows allow.
    """
    if chosen.derived is None:
        return _with_documents(chosen.rows, three_way) if per_document is True else ()
    for row in map(derived, chosen.derived):
        if not row.readable(per_document=per_document, three_way=True):
            raise UsageError(f"{row.name} needs a verdict for each document; add --per-document")
        if row.three_way and not three_way:
            raise UsageError(
                f"{row.name} needs an assess prompt that distinguishes contradicted from not found,"
                " such as three_way"
            )
    return chosen.derived


def _with_documents(rows: Iterable[Metric], three_way: bool) -> tuple[str, ...]:
    """Return the names of the derived metrics that verdicts on single documents allow beside these
    metrics."""
    pairs = {(metric.claims_of, metric.against) for metric in rows}
    possible = [row for row in map(derived, WITH_DOCUMENTS) if set(row.pairs) <= pairs]
    readable = [row for row in possible if row.readable(per_document=True, three_way=three_way)]
    return tuple(row.name for row in readable)


def scores(names: Sequence[str], matrix: Matrix, covered: int | None = None) -> dict[str, Score]:
    """Return the scores of derived metrics by name. `covered` is the alternative gold answer whose
    coverage counts."""
    return {name: _of_alternatives(derived(name), matrix, covered) for name in names}


def _of_alternatives(row: DerivedMetric, matrix: Matrix, covered: int | None) -> Score:
    if covered is not None and _Q in row.needs:
        return _of_covered(row, matrix, covered)
    if not row.best or not matrix.alternatives:
        return _score(row, matrix)
    scores = {number: _score(row, matrix.of_alternative(number)) for number in matrix.alternatives}
    return best(scores)


def _of_covered(row: DerivedMetric, matrix: Matrix, covered: int) -> Score:
    """Return the score of the alternative whose coverage counts.

    f1 grows with coverage, so its bounds are the best of all alternatives; without claims of the
    answer it is 0 only if no alternative may be covered.
    """
    score = _score(row, matrix.of_alternative(covered), matrix)
    if row.zero_with and matrix.claims_of("answer") and score.bounds:
        ends = [formulas.f1_ends(matrix.of_alternative(n)) for n in matrix.alternatives]
        bounds = (max(low for low, _ in ends), max(high for _, high in ends))
        if bounds != score.bounds:
            score = score.model_copy(update={"bounds": bounds})
    return score.model_copy(update={"alternative": covered})


def best(scores: Mapping[int, Score]) -> Score:
    """Return the highest of the scores of alternatives, by number; of equal ones, that with more
    judged claims.

    The bounds are those of the maximum over all alternatives. A score under the number 0, which is
    of no alternative, is returned unchanged.
    """
    if 0 in scores:
        return scores[0]
    defined = {
        number: score for number, score in scores.items() if score.value is not None
    } or scores
    # Of equal scores the one with more verdicts, then the first, so that a run again says the same.
    number = min(defined, key=lambda n: (-(defined[n].value or 0.0), -(defined[n].judged or 0), n))
    highest = defined[number].model_copy(update={"alternative": number})
    together = _highest_bounds(scores.values())
    return (
        highest if together == highest.bounds else highest.model_copy(update={"bounds": together})
    )


def _highest_bounds(scores: Iterable[Score]) -> tuple[float, float] | None:
    """Return the bounds of the maximum of scores; None if none of them has bounds."""
    ends = [score.bounds for score in scores if score.bounds]
    if not ends:
        return None
    return max(low for low, _ in ends), max(high for _, high in ends)


def missing_reasons(name: str, score: Score, result: SampleResult) -> list[Reason]:
    """Return a reason for each item of a derived score that has no label: the most frequent one of
    its verdicts."""
    if not (count := (score.total or 0) - (score.judged or 0)):
        return []
    return [_why_open(derived(name), Matrix.of(result))] * count


def _why_open(row: DerivedMetric, matrix: Matrix) -> Reason:
    """Return why items of a metric have no truth value: a source could not be read, else the most
    frequent reason of its verdicts."""
    if row.cites and citations.are_unread(matrix):
        return "source_unread"
    return matrix.missing_reason(row.pairs)


def _score(row: DerivedMetric, matrix: Matrix, whole: Matrix | None = None) -> Score:
    """Return the score of a matrix; `whole` has all gold answers, if the matrix has one of them."""
    if reason := matrix.lack(row.pairs):
        zero = METRICS[row.zero_with] if row.zero_with else None
        # F1 is 0, and not undefined, for an answer without claims if the gold answer has some that
        # it lacks.
        if reason == "no_claims" and zero and (whole or matrix).supports_none(zero):
            return Score.share(0.0, bounds=(0.0, 0.0))
        return Score.undefined(reason)
    # An answer without a single mark is no bad citer: it was not asked to cite.
    if row.cites and not citations.table(matrix).citations:
        return Score.undefined("no_citations")
    value = row.formula(matrix)
    if isinstance(value, BoundedValue):
        return Score.share(value.value, bounds=(value.low, value.high))
    if value is None:
        return Score.undefined(_why_open(row, matrix))
    if not value:
        return Score.undefined(row.empty_reason)
    decided = [truth for truth in value if truth is not None]
    if not decided:
        return Score.undefined(_why_open(row, matrix), total=len(value))
    return Score.counted(sum(decided), len(decided), len(value))
