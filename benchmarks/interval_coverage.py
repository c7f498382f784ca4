"""How often 95 % intervals cover the truth, by simulation with clustered claims. Prints one Markdown table a part.

    python benchmarks/interval_coverage.py [--sets 2000] [--resamples 1000]

An answer has 1 + Poisson(7) claims. The claims of one answer are right with a chance of their own, drawn from a beta
distribution with the prevalence as its mean and an intraclass correlation of .3, so they stand or fall together.

* macro: mean over answers of the share of right claims. micro: share of right claims, answers as clusters.
* micro, uneven: geometric numbers of claims with mean 8, in one answer of twenty five times as many.
* claims as independent: micro with Wilson's interval, as if every claim were a sample of its own. Not what is shipped.
* difference: two arms over the same answers; in three answers of ten the second arm draws anew, at .05 less.
* PPI++: all claims of 300 answers judged, some of them labelled; the judge says yes to 90 % of the right claims and to
  20 % of the wrong ones. Rogan-Gladen: the same claims and judge; the labels only measure its error rates.

Coverage below 93 % is marked with -, above 97 % with +. Over 2,000 sets a coverage has a standard error of .5 %.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimeval.statistics import (
    Estimate,
    difference_interval,
    mean_interval,
    prediction_powered,
    ratio_interval,
    rogan_gladen,
    wilson_interval,
)

CORRELATION = 0.3
CLAIMS = 8
PREVALENCES = (0.5, 0.8, 0.95, 0.98)
ANSWERS = (20, 50, 200)
LABELS = (50, 150)
JUDGED_ANSWERS = 300
SENSITIVITY, SPECIFICITY = 0.9, 0.8
LOWER_BY = 0.05

Floats = NDArray[np.float64]


class Trial(NamedTuple):
    """One simulated interval and the truth."""

    estimate: Estimate
    truth: float


class Row(NamedTuple):
    """One line of a table."""

    what: str
    prevalence: float
    size: int
    trials: list[Trial]


def chances(rng: np.random.Generator, answers: int, prevalence: float) -> Floats:
    """Each answer's own chance that a claim is right."""
    size = (1 - CORRELATION) / CORRELATION
    return rng.beta(prevalence * size, (1 - prevalence) * size, answers)


def macro(rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    right = rng.binomial(claims, chances(rng, answers, prevalence))
    return Trial(mean_interval((right / claims).tolist(), resamples=resamples, seed=seed), prevalence)


def micro(rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    right = rng.binomial(claims, chances(rng, answers, prevalence))
    return Trial(ratio_interval(right.tolist(), claims.tolist(), resamples=resamples, seed=seed), prevalence)


def uneven(rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int) -> Trial:
    claims = rng.geometric(1 / CLAIMS, answers) * np.where(rng.random(answers) < 0.05, 5, 1)
    right = rng.binomial(claims, chances(rng, answers, prevalence))
    return Trial(ratio_interval(right.tolist(), claims.tolist(), resamples=resamples, seed=seed), prevalence)


def as_independent(rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    right, total = int(rng.binomial(claims, chances(rng, answers, prevalence)).sum()), int(claims.sum())
    low, high = wilson_interval(right / total, total)
    return Trial(Estimate(right / total, low, high, total, "wilson"), prevalence)


def difference(rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    first = rng.binomial(claims, chances(rng, answers, prevalence))
    anew = rng.random(answers) < 0.3
    second = np.where(anew, rng.binomial(claims, chances(rng, answers, prevalence - LOWER_BY)), first)
    differences = ((first - second) / claims).tolist()
    return Trial(difference_interval(differences, resamples=resamples, seed=seed), 0.3 * LOWER_BY)


def means(rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int) -> dict[str, Trial]:
    draws = {
        "macro": macro,
        "micro": micro,
        "micro, uneven": uneven,
        "claims as independent": as_independent,
        "difference": difference,
    }
    return {what: draw(rng, answers, prevalence, resamples, seed) for what, draw in draws.items()}


def corrections(
    rng: np.random.Generator, labels: int, prevalence: float, resamples: int, seed: int
) -> dict[str, Trial]:
    claims = 1 + rng.poisson(CLAIMS - 1, JUDGED_ANSWERS)
    answer = np.repeat(np.arange(JUDGED_ANSWERS), claims)
    right = rng.random(len(answer)) < chances(rng, JUDGED_ANSWERS, prevalence)[answer]
    says = np.where(right, rng.random(len(answer)) < SENSITIVITY, rng.random(len(answer)) > SPECIFICITY)
    chosen = {int(item) for item in rng.choice(len(answer), labels, replace=False)}
    human = [bool(truth) if item in chosen else None for item, truth in enumerate(right)]
    keys = answer.tolist()
    powered = prediction_powered(says.astype(float).tolist(), human, clusters=keys, resamples=0)
    by_rates = rogan_gladen(says.tolist(), human, clusters=keys, resamples=0).corrected
    estimates = {"PPI++": powered.corrected, "people only": powered.human, "Rogan-Gladen": by_rates}
    return {what: Trial(estimate, prevalence) for what, estimate in estimates.items()}


Draw = Callable[[np.random.Generator, int, float, int, int], dict[str, Trial]]


def rows(draw: Draw, sizes: tuple[int, ...], sets: int, resamples: int) -> list[Row]:
    found: dict[str, list[Row]] = defaultdict(list)
    for prevalence in PREVALENCES:
        for size in sizes:
            rng = np.random.default_rng([size, round(1000 * prevalence)])
            trials = [draw(rng, size, prevalence, resamples, seed) for seed in range(sets)]
            for what in trials[0]:
                found[what].append(Row(what, prevalence, size, [trial[what] for trial in trials]))
    return [row for of_one in found.values() for row in of_one]


def line(row: Row) -> str:
    given = [
        (estimate.low, estimate.high, truth)
        for estimate, truth in row.trials
        if estimate.low is not None and estimate.high is not None
    ]
    coverage = sum(low <= truth <= high for low, high, truth in given) / len(given)
    width = sum(high - low for low, high, _ in given) / len(given)
    mark = " -" if coverage < 0.93 else " +" if coverage > 0.97 else ""
    resampled = sum(trial.estimate.method in ("bca", "symmetric") for trial in row.trials) / len(row.trials)
    refused = 1 - len(given) / len(row.trials)
    return (
        f"| {row.what} | {row.prevalence} | {row.size} | {100 * coverage:.1f}{mark} | {width:.3f} "
        f"| {100 * resampled:.0f} | {100 * refused:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=1000)
    arguments = parser.parse_args()
    started = time.process_time()
    for draw, sizes, size_is in ((means, ANSWERS, "answers"), (corrections, LABELS, "labels")):
        print(f"| interval of | prevalence | {size_is} | covers % | width | resampled % | none % |")
        print("|---|---|---|---|---|---|---|")
        for row in rows(draw, sizes, arguments.sets, arguments.resamples):
            print(line(row), flush=True)
        print()
    seconds = time.process_time() - started
    print(f"{arguments.sets} sets a row, {arguments.resamples} resamples, {seconds:.0f} s of one core")


if __name__ == "__main__":
    main()
