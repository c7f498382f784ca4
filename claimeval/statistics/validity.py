"""Whether a judge may replace human annotators: agreement with each of them, and the alternative annotator test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from claimeval.statistics.agreement import Weighting, cohen_kappa, raw_agreement
from claimeval.statistics.bootstrap import STANDARD, IntervalEstimate, Resampling
from claimeval.types.errors import UsageError


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two raters on the items that both labeled."""

    first: str
    """One rater."""
    second: str
    """The other."""
    raw: IntervalEstimate
    """Share of equal labels."""
    kappa: IntervalEstimate
    """Cohen's kappa."""


def pairwise_agreement(
    raters: Mapping[str, Sequence[Hashable | None]],
    *,
    weights: Weighting = "unweighted",
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> tuple[PairAgreement, ...]:
    """Return raw agreement and Cohen's kappa of every pair of raters.

    A judge's agreement with people means something next to the agreement of people with each other, so include all of
    them.

    Args:
        raters: `raters[name][i]` is a label of item i or `None`.
        weights: The weighting of kappa.
        labels: The scale; by default the labels in use, sorted.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        One agreement for each pair, in the order of `raters`.

    Raises:
        UsageError: If the arguments differ in length.
    """
    return tuple(
        PairAgreement(
            first,
            second,
            raw_agreement(raters[first], raters[second], clusters=clusters, resampling=resampling),
            cohen_kappa(
                raters[first], raters[second], weights=weights, labels=labels, clusters=clusters, resampling=resampling
            ),
        )
        for first, second in itertools.combinations(raters, 2)
    )


@dataclass(frozen=True, slots=True)
class AnnotatorComparison:
    """The judge against one annotator, measured by the others."""

    annotator: str
    """The annotator left out."""
    items: int
    """Items that this annotator, another one and the judge labelled."""
    advantage: float
    """Share of items on which the judge is at least as close to the others as this annotator."""
    p: float
    """One-sided p-value that the annotator's lead is smaller than epsilon."""
    rejected: bool
    """Whether the judge wins: rejected by Benjamini-Yekutieli over all annotators."""


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """Whether using the judge instead of an annotator is justified."""

    winning_rate: float | None
    """Share of annotators against whom the judge wins (omega)."""
    advantage: float | None
    """Mean chance that the judge is at least as good as an annotator (rho); compares judges with each other."""
    passed: bool | None
    """Winning rate of one half or more."""
    comparisons: tuple[AnnotatorComparison, ...]
    """One per annotator with enough items."""
    skipped: tuple[str, ...]
    """Annotators with too few items."""
    because: str | None = None
    """Why there is no result."""


def alternative_annotator_test(
    judge: Sequence[Hashable | None],
    annotators: Mapping[str, Sequence[Hashable | None]],
    *,
    epsilon: float,
    similarity: Literal["match", "rmse"] = "match",
    false_discovery_rate: float = 0.05,
    least_items: int = 30,
) -> AlternativeAnnotatorTest:
    """Test whether the judge may replace a human annotator: the alt-test of Calderon, Reichart & Dror (2501.10970).

    Leaving each annotator out, an item is won by whoever is closer to the remaining annotators; both win a tie. A
    one-sided t-test asks whether the annotator's lead is below `epsilon`. Needs two annotators; use 50 to 100 items.
    Gives the numbers of the authors' published code.

    Args:
        judge: The judge's label of each item, `None` if there is none.
        annotators: `annotators[name][i]` is a label of item i or `None`.
        epsilon: How much more a human label is worth: 0.2 for experts, 0.15 for skilled annotators, 0.1 for crowd
        workers.
        similarity: `match`: mean agreement; `rmse`: negative root mean square error, for numbers.
        false_discovery_rate: The rate of the Benjamini-Yekutieli procedure over the annotators.
        least_items: Annotators with fewer items are skipped.

    Returns:
        The share of annotators against whom the judge wins, and each comparison.

    Raises:
        UsageError: If the arguments differ in length, or `rmse` gets labels that are no numbers.
    """
    different = [name for name, labels in annotators.items() if len(labels) != len(judge)]
    if different:
        raise UsageError(f"annotators must label the same {len(judge)} items as the judge: {different} do not")
    by_item = [
        {name: labels[i] for name, labels in annotators.items() if labels[i] is not None} for i in range(len(judge))
    ]
    results = []
    skipped = []
    for name in annotators:
        items = [i for i, given in enumerate(by_item) if name in given and len(given) >= 2 and judge[i] is not None]
        if len(items) < max(2, least_items):
            skipped.append(name)
            continue
        judge_wins, leads = 0, []
        for i in items:
            others = [label for other, label in by_item[i].items() if other != name]
            of_judge, of_annotator = (_closeness(label, others, similarity) for label in (judge[i], by_item[i][name]))
            judge_wins += of_judge >= of_annotator
            leads.append(int(of_annotator >= of_judge) - int(of_judge >= of_annotator))
        results.append((name, len(items), judge_wins / len(items), _lead_is_small(leads, epsilon)))
    if not results:
        reason = f"no annotator shares {max(2, least_items)} items with another one and the judge"
        return AlternativeAnnotatorTest(None, None, None, (), tuple(skipped), reason)
    rejected = _benjamini_yekutieli([p for *_, p in results], false_discovery_rate)
    comparisons = tuple(AnnotatorComparison(*result, win) for result, win in zip(results, rejected, strict=True))
    winning_rate = sum(rejected) / len(rejected)
    advantage = math.fsum(result.advantage for result in comparisons) / len(comparisons)
    return AlternativeAnnotatorTest(winning_rate, advantage, winning_rate >= 0.5, comparisons, tuple(skipped))


def _closeness(label: Hashable, others: Sequence[Hashable], similarity: Literal["match", "rmse"]) -> float:
    if similarity == "match":
        return sum(label == other for other in others) / len(others)
    numbers = [value for value in (label, *others) if isinstance(value, int | float)]
    if len(numbers) <= len(others):
        raise UsageError(f"rmse needs numbers as labels, given {label!r} and {list(others)!r}")
    value, *rest = numbers
    return -math.sqrt(math.fsum((value - other) ** 2 for other in rest) / len(rest))


def _lead_is_small(leads: Sequence[int], epsilon: float) -> float:
    """Return the one-sided p-value of a t-test that the mean lead is below epsilon; 0 or 1 if all leads are equal."""
    from scipy.special import stdtr

    count = len(leads)
    mean = sum(leads) / count
    variance = math.fsum((lead - mean) ** 2 for lead in leads) / (count - 1)
    if variance == 0:
        return 0.0 if mean < epsilon else 1.0
    return float(stdtr(count - 1, (mean - epsilon) / math.sqrt(variance / count)))


def _benjamini_yekutieli(p_values: Sequence[float], rate: float) -> list[bool]:
    """Return which hypotheses are rejected at a false discovery rate, under any dependence (2001)."""
    count = len(p_values)
    harmonic = math.fsum(1 / rank for rank in range(1, count + 1))
    ordered = sorted(p_values)
    passing = [p for rank, p in enumerate(ordered, start=1) if p <= rank / count * rate / harmonic]
    return [bool(passing) and p <= passing[-1] for p in p_values]
