"""Coverage of the 95% interval of every estimate that claimeval prints, as a Markdown table.

    python -m benchmarks.estimate_coverage [--sets 300] [--only METHOD...]

The rows are those of `claimeval/statistics/estimates.py`. Each is simulated in 24 shapes: 20, 50,
100 or 400 items, of which .5, .9 or .97 are right, either one item a question and one reply of each
judge, or five items a question, which are right together (intraclass correlation .3), and three
replies, of which the majority counts. A judge finds .92 of the right items and .8 of the wrong
ones, more or less by question. The true value is that of 200,000 items. A set without an interval
(a rare label, one question) does not count; `none` is their share in the shape with the most.

Printed are the least, the median and the greatest coverage over the shapes, in percent. A shape is
simulated with a quarter of the sets first; if fewer than 95% cover, with all sets anew, and these
count. With 300 sets, the standard error of a coverage is 1.3.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimeval.statistics import (
    NO_INTERVAL,
    IntervalEstimate,
    Resampling,
    auroc,
    binary_report,
    calibration,
    cohen_kappa,
    correlation,
    gwet_ac1,
    krippendorff_alpha,
    mean_interval,
    paired_difference,
    prediction_powered,
    ratio_interval,
    rogan_gladen,
    self_preference,
    weighted_correction,
)
from claimeval.statistics.agreement import kappa_difference
from claimeval.statistics.slopes import straight_fall

Bools = NDArray[np.bool_]
Numbers = NDArray[np.float64]
MANY = 200_000
RECALL, SPECIFICITY = 0.92, 0.8
TOGETHER = 0.3


class Shape(NamedTuple):
    """The data of a simulation."""

    items: int
    right: float
    per_question: int
    replicates: int


SHAPES = [
    Shape(items, right, per_question, replicates)
    for per_question, replicates in ((1, 1), (5, 3))
    for items, right in [(n, p) for n in (20, 50, 100, 400) for p in (0.5, 0.9, 0.97)]
]


class World(NamedTuple):
    """Items with what people and two judges say of them."""

    questions: list[int]
    people: Bools
    judge: Bools
    other: Bools
    probability: Numbers
    """The judge's, of right."""
    grades: Numbers
    """People's, from 0 to 3."""
    judged_grades: Numbers
    sizes: NDArray[np.int64]
    """Claims of each item as an answer."""
    supported: NDArray[np.int64]


def draw(rng: np.random.Generator, shape: Shape, items: int) -> World:
    """Draw the items of a shape."""
    count = -(-items // shape.per_question)
    questions = np.repeat(np.arange(count), shape.per_question)[:items]
    is_together = shape.per_question > 1

    def by_question(share: float) -> Numbers:
        """Return the chance of each item, which those of a question share."""
        if not is_together:
            return np.full(items, share)
        size = (1 - TOGETHER) / TOGETHER
        return rng.beta(share * size, (1 - share) * size, count)[questions]

    people = rng.random(items) < by_question(shape.right)
    chance = np.where(people, by_question(RECALL), 1 - by_question(SPECIFICITY))

    def says() -> Bools:
        votes = rng.random((shape.replicates, items)) < chance
        majority: Bools = votes.sum(axis=0) * 2 > shape.replicates
        return majority

    sizes = 1 + rng.negative_binomial(1.2, 1.2 / 6.2, items)
    grades = np.clip(np.round(1.5 + 1.2 * (2 * people - 1) + rng.normal(0, 0.8, items)), 0, 3)
    return World(
        questions.tolist(),
        people,
        says(),
        says(),
        np.clip(chance + rng.normal(0, 0.15, items), 0, 1),
        grades,
        np.clip(np.round(grades + rng.normal(0, 0.8, items)), 0, 3),
        sizes,
        rng.binomial(sizes, by_question(shape.right)),
    )


Simulation = Callable[[World, Resampling, np.random.Generator], IntervalEstimate]
FAST = Resampling(resamples=500)


def mean(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    values = world.supported / world.sizes
    return mean_interval(values.tolist(), clusters=world.questions, resampling=resampling)


def share(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    return ratio_interval(
        world.supported.tolist(),
        world.sizes.tolist(),
        clusters=world.questions,
        resampling=resampling,
    )


def difference(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    return paired_difference(
        world.judge.astype(float).tolist(),
        world.people.astype(float).tolist(),
        clusters=world.questions,
        resampling=resampling,
        flips=1,
    )


def few(resampling: Resampling) -> Resampling:
    """Return the settings with one resample, for intervals that need none."""
    return resampling._replace(resamples=min(resampling.resamples, 1))


def report(name: str) -> Simulation:
    """Return the simulation of a number of `binary_report`; only f1 is resampled."""

    def simulate(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
        found: IntervalEstimate = getattr(
            binary_report(
                world.judge.tolist(),
                world.people.tolist(),
                clusters=world.questions,
                resampling=resampling if name == "f1" else few(resampling),
            ),
            name,
        )
        return found

    return simulate


def kappa(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    return cohen_kappa(
        world.judge.tolist(), world.people.tolist(), clusters=world.questions, resampling=resampling
    )


def weighted_kappa(
    world: World, resampling: Resampling, _: np.random.Generator
) -> IntervalEstimate:
    return cohen_kappa(
        world.judged_grades.tolist(),
        world.grades.tolist(),
        weights="quadratic",
        labels=(0.0, 1.0, 2.0, 3.0),
        clusters=world.questions,
        resampling=resampling,
    )


def gain_of_kappa(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    return kappa_difference(
        world.people.tolist(),
        world.judge.tolist(),
        world.other.tolist(),
        clusters=world.questions,
        resampling=resampling,
    )


def alpha(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    pairs = list(zip(world.judge.tolist(), world.other.tolist(), strict=True))
    return krippendorff_alpha(pairs, clusters=world.questions, resampling=resampling)


def ac1(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    pairs = list(zip(world.judge.tolist(), world.other.tolist(), strict=True))
    return gwet_ac1(pairs, clusters=world.questions, resampling=resampling)


def area(world: World, _: Resampling, __: np.random.Generator) -> IntervalEstimate:
    return auroc(world.people.tolist(), world.probability.tolist(), clusters=world.questions)


def spearman(world: World, resampling: Resampling, _: np.random.Generator) -> IntervalEstimate:
    return correlation(
        world.probability.tolist(),
        world.grades.tolist(),
        clusters=world.questions,
        resampling=resampling,
    )


def labeled(
    world: World, rng: np.random.Generator, *, complete: bool
) -> tuple[list[float], list[float | None]]:
    """Return what the judge says of all items, and people of a fifth of them; of all, to know the
    true value."""
    people = world.people.astype(float).tolist()
    chosen = rng.random(len(people)) < (1.0 if complete else 0.2)
    human = [label if is_chosen else None for label, is_chosen in zip(people, chosen, strict=True)]
    return world.judge.astype(float).tolist(), human


def corrected_micro(
    world: World, resampling: Resampling, rng: np.random.Generator
) -> IntervalEstimate:
    judge, human = labeled(world, rng, complete=resampling == NO_INTERVAL)
    return prediction_powered(
        judge, human, clusters=world.questions, resampling=NO_INTERVAL
    ).corrected


def corrected_macro(
    world: World, resampling: Resampling, rng: np.random.Generator
) -> IntervalEstimate:
    """The items are claims of answers of 1 to 30 claims, each with the weight of its share."""
    judge, human = labeled(world, rng, complete=resampling == NO_INTERVAL)
    return weighted_correction(
        judge,
        human,
        weights=(1 / np.minimum(world.sizes, 30)).tolist(),
        clusters=world.questions,
        resampling=NO_INTERVAL,
    ).corrected


def by_error_rates(
    world: World, resampling: Resampling, rng: np.random.Generator
) -> IntervalEstimate:
    complete = resampling == NO_INTERVAL
    judge, human = labeled(world, rng, complete=complete)
    if complete:  # the true value is the share of right items
        return prediction_powered(judge, human, resampling=NO_INTERVAL).human
    said = [None if label is None else bool(label) for label in human]
    return rogan_gladen(
        list(map(bool, judge)), said, clusters=world.questions, resampling=NO_INTERVAL
    ).corrected


def preference(world: World, resampling: Resampling, rng: np.random.Generator) -> IntervalEstimate:
    """Two families of judges of answers by both; neither favors its own."""
    families = rng.integers(0, 2, len(world.people))
    generators = ["a" if family else "b" for family in families]
    scores: dict[str, Sequence[float | None]] = {
        "a": world.judge.astype(float).tolist(),
        "b": world.other.astype(float).tolist(),
    }
    found = self_preference(scores, generators, clusters=world.questions, resampling=resampling)
    return found["a"]


def calibrated(world: World, _: Resampling, __: np.random.Generator) -> IntervalEstimate:
    """The judge states one probability of all items, so they are in one bin."""
    n = len(world.people)
    (point,) = calibration([0.5] * n, world.people.tolist(), clusters=world.questions).bins
    return IntervalEstimate(point.share, point.low, point.high, n, "wilson")


def fall(world: World, _: Resampling, rng: np.random.Generator) -> IntervalEstimate:
    """Seven of ten items are at the first of five places; the share does not depend on it."""
    places = rng.choice(5, len(world.people), p=[0.7, 0.075, 0.075, 0.075, 0.075]) / 4
    found = straight_fall(places.tolist(), world.people.astype(float).tolist(), world.questions)
    # The places say nothing of the items, so that the true fall is 0.
    return found if len(world.people) < MANY else replace(found, value=0.0)


SIMULATIONS: dict[str, Simulation] = {
    "mean": mean,
    "share": share,
    "difference": difference,
    "balanced_accuracy": report("balanced_accuracy"),
    "f1": report("f1"),
    "kappa": kappa,
    "weighted_kappa": weighted_kappa,
    "kappa_difference": gain_of_kappa,
    "alpha": alpha,
    "ac1": ac1,
    "auroc": area,
    "spearman": spearman,
    "corrected_micro": corrected_micro,
    "corrected_macro": corrected_macro,
    "rogan_gladen": by_error_rates,
    "self_preference": preference,
    "calibrated_share": calibrated,
    "slope": fall,
}
"""A simulation of each method of `METHODS` with an interval."""
LABELED = {"corrected_micro", "corrected_macro", "rogan_gladen"}
"""Methods whose items are labeled in part: the sizes are those of the labels."""


class Coverage(NamedTuple):
    """The coverage of a method in a shape."""

    shape: Shape
    covered: float
    none: float
    """Percent of the sets without an interval."""


def coverage(method: str, shape: Shape, sets: int, seed: int = 0) -> Coverage:
    """Simulate a method in a shape."""
    simulate = SIMULATIONS[method]
    rng = np.random.default_rng([seed, shape.items, round(100 * shape.right), shape.per_question])
    truth = simulate(draw(rng, shape, MANY), NO_INTERVAL, rng).value
    assert truth is not None
    items = shape.items * (5 if method in LABELED else 1)
    covered: list[bool] = []
    for number in range(sets):
        world = draw(rng, shape, items)
        found = simulate(world, FAST._replace(seed=number), rng)
        if found.low is not None and found.high is not None:
            covered.append(found.low <= truth <= found.high)
    share_covered = 100 * sum(covered) / len(covered) if covered else float("nan")
    return Coverage(shape, share_covered, 100 - 100 * len(covered) / sets)


def carefully(method: str, shape: Shape, sets: int) -> Coverage:
    """Simulate a method in a shape: with all sets only if a quarter of them leaves a doubt."""
    first = coverage(method, shape, max(20, sets // 4))
    return first if first.covered >= 95 else coverage(method, shape, sets, seed=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--only", nargs="*", default=list(SIMULATIONS))
    arguments = parser.parse_args()
    print("| estimate | covers %: least, median, most | shape of the least | none % |")
    print("|---|---|---|---|")
    for method in arguments.only:
        found = [carefully(method, shape, arguments.sets) for shape in SHAPES]
        known = [each for each in found if each.none < 50]
        shares = [each.covered for each in known]
        worst = min(known, key=lambda each: each.covered)
        shape = worst.shape
        where = f"{shape.items} items, {shape.right} right, {shape.per_question} a question"
        print(
            f"| {method} | {min(shares):.1f}, {statistics.median(shares):.1f}, {max(shares):.1f} |"
            f" {where} | {max(each.none for each in found):.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
