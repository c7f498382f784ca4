"""Coverage and width of corrected scores by how the labeled claims were drawn, in simulations.

    python -m benchmarks.label_draws [--sets 2000] [--single] [--shape NUMBER]

Every shape is a kind of three judges, a share of correct claims, a number of answers (each with 1 +
Poisson(3) claims of an intraclass correlation of .3) and a number of labels. The shapes and the
seed were fixed before the table was made, and none of them was used to choose a constant of the
methods. With `--single`, every claim is independent: 308 shapes of seven kinds of judges, up to
10,000 claims, which are those that the designs of draws were chosen on. The truth is the share in
the population. Draws:

* plain: claims drawn with equal probability, without regard to the judges.
* even: `draw_even` by the share of judges that support a claim.
* grown: a third of the labels drawn evenly, the rest later from what was left.
* macro: the even draw, and the mean over answers (`weighted_correction`).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimeval.statistics import (
    NO_INTERVAL,
    CorrectedEstimate,
    draw_even,
    prediction_powered,
    weighted_correction,
)

Floats = NDArray[np.float64]
Verdicts = Callable[[np.random.Generator, NDArray[np.bool_]], Floats]
SEED = 20261124
SHARES = (0.55, 0.75, 0.92, 0.985)
ANSWERS = (60, 150, 1500)
LABELS = (35, 60, 120)
SINGLE = (0.6, 0.9, 0.97, 0.99), (200, 1000, 10_000), (30, 50, 100, 200)
"""Shares, claims and labels of the shapes of independent claims."""
CORRELATION = 0.3


def _of(*rates: tuple[float, float], shared: float = 0.0) -> Verdicts:
    """Return judges by the rates of yes on correct and on wrong claims; a share of their errors is
    common to all."""

    def verdicts(rng: np.random.Generator, right: NDArray[np.bool_]) -> Floats:
        common = rng.random(len(right))
        together = rng.random(len(right)) < shared
        votes = [
            np.where(together, common, rng.random(len(right))) < np.where(right, yes, false)
            for yes, false in rates
        ]
        found: Floats = np.mean(votes, axis=0)
        return found

    return verdicts


JUDGES: dict[str, Verdicts] = {
    "three good ones": _of((0.92, 0.15), (0.88, 0.1), (0.85, 0.2)),
    "generous, with common errors": _of((0.97, 0.3), (0.95, 0.25), (0.97, 0.35), shared=0.5),
    "severe": _of((0.75, 0.01), (0.8, 0.03), (0.7, 0.02)),
    "a single one": _of((0.9, 0.12), (0.9, 0.12), (0.9, 0.12), shared=1.0),
}


def _hard(rng: np.random.Generator, right: NDArray[np.bool_]) -> Floats:
    """Return three judges who err on the same hard claims: .6 of them right where .95 of the others
    are."""
    accuracy = np.where(rng.random(len(right)) < 0.3, 0.6, 0.95)
    common = rng.random(len(right))
    votes = [
        np.where(rng.random(len(right)) < 0.6, common, rng.random(len(right)))
        < np.where(right, accuracy, 1 - accuracy)
        for _ in range(3)
    ]
    found: Floats = np.mean(votes, axis=0)
    return found


JUDGES_OF_SINGLE: dict[str, Verdicts] = {
    "independent": _of(*[(0.95, 0.1)] * 3),
    "the same hard claims": _hard,
    "one kind judge": _of((0.92, 0.08), (0.85, 0.15), (0.99, 0.95)),
    "weak": _of(*[(0.7, 0.3)] * 3),
    "superb": _of(*[(0.99, 0.01)] * 3),
    "one judge": _of(*[(0.9, 0.1)] * 3, shared=1.0),
    "strict": _of(*[(0.8, 0.02)] * 3),
}


class Shape(NamedTuple):
    """One row of the simulation."""

    judges: str
    share: float
    answers: int
    labels: int
    single: bool = False
    """Whether every answer has one claim."""


SHAPES = [Shape(*values) for values in product(JUDGES, SHARES, ANSWERS, LABELS)]
SINGLE_SHAPES = [
    Shape(*values, single=True)
    for values in product(JUDGES_OF_SINGLE, *SINGLE)
    if values[2] > values[3]
]


class Found(NamedTuple):
    """Sums over the sets of a shape, for one draw."""

    covered: int
    width: float
    error: float


def simulate(shape: Shape, sets: int) -> dict[str, Found]:
    """Return coverage, mean width and root mean squared error of each draw."""
    rng = np.random.default_rng([SEED, (SINGLE_SHAPES if shape.single else SHAPES).index(shape)])
    rows: dict[str, list[tuple[bool, float, float]]] = defaultdict(list)
    for seed in range(sets):
        claims = 1 + rng.poisson(0 if shape.single else 3, shape.answers)
        answer = np.repeat(np.arange(shape.answers), claims)
        size = (1 - CORRELATION) / CORRELATION
        chances = rng.beta(shape.share * size, (1 - shape.share) * size, shape.answers)
        right = rng.random(len(answer)) < chances[answer]
        if shape.single:
            right = rng.random(shape.answers) < shape.share
        support = (JUDGES | JUDGES_OF_SINGLE)[shape.judges](rng, right)
        judge = (support > 0.5).astype(float).tolist()
        keys = None if shape.single else answer.tolist()
        plain = draw_even([0.0] * len(answer), shape.labels, seed=seed).chosen
        even = draw_even(support.tolist(), shape.labels, seed=seed).chosen
        third = draw_even(support.tolist(), shape.labels // 3, seed=seed).chosen
        grown = draw_even(support.tolist(), shape.labels, seed=seed, taken=third).chosen

        def micro(
            chosen: tuple[int, ...],
            right: NDArray[np.bool_] = right,
            judge: list[float] = judge,
            keys: list[int] | None = keys,
        ) -> CorrectedEstimate:
            return prediction_powered(
                judge, _labels(right, chosen), clusters=keys, resampling=NO_INTERVAL
            )

        estimates = {"plain": micro(plain), "even": micro(even), "grown": micro(grown)}
        if not shape.single:
            weights = (1 / claims[answer]).tolist()
            labels = _labels(right, even)
            estimates["macro"] = weighted_correction(
                judge, labels, weights=weights, clusters=keys, resampling=NO_INTERVAL
            )
        for name, estimate in estimates.items():
            one = estimate.corrected
            assert one.low is not None
            assert one.high is not None
            assert one.value is not None
            rows[name].append(
                (one.low <= shape.share <= one.high, one.high - one.low, one.value - shape.share)
            )
    return {
        name: Found(
            sum(covered for covered, _, _ in of_draw),
            float(np.mean([width for _, width, _ in of_draw])),
            float(np.sqrt(np.mean([error**2 for _, _, error in of_draw]))),
        )
        for name, of_draw in rows.items()
    }


def _labels(right: NDArray[np.bool_], chosen: tuple[int, ...]) -> list[float | None]:
    human: list[float | None] = [None] * len(right)
    for item in chosen:
        human[item] = float(right[item])
    return human


def main() -> None:
    """Print the table, or the numbers of one shape."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--single", action="store_true", help="the shapes of independent claims")
    parser.add_argument("--shape", type=int, help="print one shape alone")
    arguments = parser.parse_args()
    shapes = SINGLE_SHAPES if arguments.single else SHAPES
    shapes = shapes if arguments.shape is None else [shapes[arguments.shape]]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(simulate, shapes, repeat(arguments.sets)))
    error = 100 * np.sqrt(0.95 * 0.05 / arguments.sets)
    print(
        f"{len(shapes)} shapes, {arguments.sets} sets each, Monte Carlo error of a coverage"
        f" {error:.1f}\n"
    )
    print(
        "| draw | covers least, median, most % | under 93% | width to plain, median / largest |"
        " over 1.05 | rmse |"
    )
    print("|---|---|---|---|---|---|")
    for name in found[0]:
        coverage = np.array([100 * of_shape[name].covered / arguments.sets for of_shape in found])
        width = np.array([of_shape[name].width / of_shape["plain"].width for of_shape in found])
        rmse = np.median([of_shape[name].error / of_shape["plain"].error for of_shape in found])
        least = shapes[int(coverage.argmin())]
        print(
            f"| {name} | {coverage.min():.1f}, {np.median(coverage):.1f}, {coverage.max():.1f} "
            f"| {100 * np.mean(coverage < 93):.0f}% | {np.median(width):.3f} / {width.max():.2f} "
            f"| {100 * np.mean(width > 1.05):.0f}% | {rmse:.2f} | {least}"
        )


if __name__ == "__main__":
    main()
