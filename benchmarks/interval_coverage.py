"""Coverage of 95% intervals in simulations with clustered claims, as Markdown tables.

    python benchmarks/interval_coverage.py [--sets 2000] [--resamples 1000] [--only-little]

An answer has 1 + Poisson(7) claims. The probability that its claims are right is drawn from a beta
distribution with the prevalence as its mean and an intraclass correlation of .3, so that the claims
of an answer are not independent.

* macro: mean over answers of the share of right claims. micro: share of right claims, answers as
  clusters.
* micro, uneven: geometric numbers of claims with mean 8, in one answer of twenty five times as
  many.
* micro, long worse: the same numbers of claims; answers of more than twice the mean have .2 fewer
  right claims.
* claims as independent: micro with Wilson's interval, as if claims were independent, which
  claimeval does not do.
* difference: two arms over the same answers; in three of ten answers, the second arm draws again,
  at .05 less.
* PPI++: all claims of 300 answers judged, some of them labeled; the judge says yes to 90% of the
  right claims and to 20% of the wrong ones. Rogan-Gladen: the same claims and judge; the labels
  only measure its error rates.

A second set of tables is about small data and clustered answers:

* by question: 30 or 144 questions with 5 yes-or-no answers each, whose probability depends on the
  question (intraclass correlation .5): the mean of `claimeval score`, and the mean as if answers
  were independent. Also the difference of two systems on the same answers without a true difference
  (noise of .25 per answer, and an effect per question with mean 0 and a standard deviation of .15),
  and how often the test is significant at .05.
* few: two to ten samples of several distributions, and differences of pairs of them.
* null: how often the interval of such a difference excludes 0, and the test is significant at .05,
  without a true difference; mostly equal: in three of ten pairs, the second value is drawn again.
* edge: yes-or-no scores that are nearly all yes.
* rare labels: kappa and alpha of two raters of 30 items, and the share of sets without an interval.

Coverage below 93% is marked with -, above 97% with +. With 2,000 sets, the standard error of a
coverage is .5%.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimeval.statistics import (
    NO_INTERVAL,
    IntervalEstimate,
    Resampling,
    cohen_kappa,
    difference_interval,
    krippendorff_alpha,
    mean_interval,
    paired_difference,
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
QUESTIONS = (30, 144)
ANSWERS_A_QUESTION = 5
JUDGED_ANSWERS = 300
SENSITIVITY = 0.9
SPECIFICITY = 0.8
LOWER_BY = 0.05

Floats = NDArray[np.float64]


class Trial(NamedTuple):
    """One simulated interval and the truth."""

    estimate: IntervalEstimate
    truth: float


class Row(NamedTuple):
    """One line of a table."""

    what: str
    prevalence: float
    size: int
    trials: list[Trial]


def chances(rng: np.random.Generator, answers: int, prevalence: float) -> Floats:
    """Return the probability that a claim is right for each answer."""
    size = (1 - CORRELATION) / CORRELATION
    return rng.beta(prevalence * size, (1 - prevalence) * size, answers)


def macro(
    rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int
) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    right = rng.binomial(claims, chances(rng, answers, prevalence))
    return Trial(
        mean_interval(
            (right / claims).tolist(), resampling=Resampling(resamples=resamples, seed=seed)
        ),
        prevalence,
    )


def micro(
    rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int
) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    right = rng.binomial(claims, chances(rng, answers, prevalence))
    return Trial(
        ratio_interval(
            right.tolist(), claims.tolist(), resampling=Resampling(resamples=resamples, seed=seed)
        ),
        prevalence,
    )


def uneven(
    rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int
) -> Trial:
    claims = lengths(rng, answers)
    right = rng.binomial(claims, chances(rng, answers, prevalence))
    return Trial(
        ratio_interval(
            right.tolist(), claims.tolist(), resampling=Resampling(resamples=resamples, seed=seed)
        ),
        prevalence,
    )


LONG = 2 * CLAIMS
WORSE_BY = 0.2


def lengths(rng: np.random.Generator, answers: int) -> Any:
    """Draw uneven numbers of claims."""
    return rng.geometric(1 / CLAIMS, answers) * np.where(rng.random(answers) < 0.05, 5, 1)


@lru_cache(maxsize=1)
def share_in_long() -> float:
    """The share of claims that are of long answers."""
    claims = lengths(np.random.default_rng(1), 4_000_000)
    return float(claims[claims > LONG].sum() / claims.sum())


def long_worse(
    _: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int
) -> Trial:
    rng = np.random.default_rng([answers, round(100 * prevalence), seed])
    claims = lengths(rng, answers)
    usual = chances(rng, answers, prevalence)
    worse = chances(rng, answers, prevalence - WORSE_BY)
    right = rng.binomial(claims, np.where(claims > LONG, worse, usual))
    estimate = ratio_interval(
        right.tolist(), claims.tolist(), resampling=Resampling(resamples=resamples, seed=seed)
    )
    return Trial(estimate, prevalence - WORSE_BY * share_in_long())


def as_independent(
    rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int
) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    right = int(rng.binomial(claims, chances(rng, answers, prevalence)).sum())
    total = int(claims.sum())
    low, high = wilson_interval(right / total, total)
    return Trial(IntervalEstimate(right / total, low, high, total, "wilson"), prevalence)


def difference(
    rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int
) -> Trial:
    claims = 1 + rng.poisson(CLAIMS - 1, answers)
    first = rng.binomial(claims, chances(rng, answers, prevalence))
    anew = rng.random(answers) < 0.3
    second = np.where(
        anew, rng.binomial(claims, chances(rng, answers, prevalence - LOWER_BY)), first
    )
    differences = ((first - second) / claims).tolist()
    return Trial(
        difference_interval(differences, resampling=Resampling(resamples=resamples, seed=seed)),
        0.3 * LOWER_BY,
    )


def means(
    rng: np.random.Generator, answers: int, prevalence: float, resamples: int, seed: int
) -> dict[str, Trial]:
    draws = {
        "macro": macro,
        "micro": micro,
        "micro, uneven": uneven,
        "micro, long worse": long_worse,
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
    says = np.where(
        right, rng.random(len(answer)) < SENSITIVITY, rng.random(len(answer)) > SPECIFICITY
    )
    chosen = {int(item) for item in rng.choice(len(answer), labels, replace=False)}
    human = [bool(truth) if item in chosen else None for item, truth in enumerate(right)]
    keys = answer.tolist()
    powered = prediction_powered(
        says.astype(float).tolist(), human, clusters=keys, resampling=NO_INTERVAL
    )
    by_rates = rogan_gladen(says.tolist(), human, clusters=keys, resampling=NO_INTERVAL).corrected
    estimates = {
        "PPI++": powered.corrected,
        "people only": powered.human,
        "Rogan-Gladen": by_rates,
    }
    return {what: Trial(estimate, prevalence) for what, estimate in estimates.items()}


def by_question(rng: np.random.Generator, sets: int, resamples: int) -> list[str]:
    """The rows of a table: coverage by question and as independent, and false positives of the
    paired test."""
    return [row for questions in QUESTIONS for row in of_questions(rng, questions, sets, resamples)]


def of_questions(rng: np.random.Generator, questions: int, sets: int, resamples: int) -> list[str]:
    """Return the rows of one number of questions."""
    keys = np.repeat(np.arange(questions), ANSWERS_A_QUESTION).tolist()
    cells = []
    for share in (0.5, 0.8, 0.95):
        covered = np.zeros(2)
        for seed in range(sets):
            right = rng.random(len(keys)) < rng.beta(share, 1 - share, questions)[keys]
            for place, clusters in enumerate((keys, None)):
                found = mean_interval(
                    right.astype(float).tolist(),
                    clusters=clusters,
                    resampling=Resampling(resamples=resamples, seed=seed),
                )
                covered[place] += holds(found, share)
        cells.append([f"{100 * n / sets:.1f}" for n in covered])
    covered = np.zeros(2)
    found_one = np.zeros(2)
    for seed in range(sets):
        effect = rng.normal(0, 0.15, questions)[keys] + rng.normal(0, 0.25, len(keys))
        first = rng.uniform(0.3, 0.7, len(keys))
        for place, clusters in enumerate((keys, None)):
            pair = paired_difference(
                (first + effect).tolist(),
                first.tolist(),
                clusters=clusters,
                resampling=Resampling(resamples=resamples, seed=seed),
                flips=1000,
            )
            assert pair.low is not None
            assert pair.high is not None
            assert pair.p is not None
            covered[place] += pair.low <= 0 <= pair.high
            found_one[place] += pair.p <= 0.05
    return [
        f"| {what} | {questions} | {' | '.join(cell[place] for cell in cells)} "
        f"| {100 * covered[place] / sets:.1f} | {100 * found_one[place] / sets:.1f} |"
        for place, what in enumerate(("by question", "answers as independent"))
    ]


def holds(estimate: IntervalEstimate, truth: float) -> bool:
    return (
        estimate.low is not None
        and estimate.high is not None
        and estimate.low <= truth <= estimate.high
    )


def shares(rng: np.random.Generator, answers: int, prevalence: float) -> Floats:
    claims = rng.integers(3, 13, answers)
    found: Floats = rng.binomial(claims, chances(rng, answers, prevalence)) / claims
    return found


FEW = (2, 4, 5, 6, 7, 8, 9, 10)
SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], NDArray[np.floating[Any]]], float]] = {
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "yes or no, .7": (lambda rng, n: (rng.random(n) < 0.7) * 1.0, 0.7),
    "yes or no, .97": (lambda rng, n: (rng.random(n) < 0.97) * 1.0, 0.97),
    "share of claims, .7": (lambda rng, n: shares(rng, n, 0.7), 0.7),
    "share of claims, .95": (lambda rng, n: shares(rng, n, 0.95), 0.95),
    "nine of ten are 1": (lambda rng, n: np.where(rng.random(n) < 0.9, 1.0, rng.random(n)), 0.95),
    "mostly 1, some .8, few 0": (
        lambda rng, n: rng.choice([1.0, 0.8, 0.0], n, p=[0.7, 0.2, 0.1]),
        0.86,
    ),
    "at both ends": (lambda rng, n: rng.beta(0.2, 0.05, n), 0.8),
}


def few(rng: np.random.Generator, sets: int, resamples: int) -> list[str]:
    """The rows of a table: coverage of the mean of 2 to 10 values of each shape, and of a
    difference of two such."""
    rows = []
    for name, (draw, truth) in SHAPES.items():
        cells = []
        for size in FEW:
            covered = np.zeros(2)
            for seed in range(sets):
                resampling = Resampling(resamples=resamples, seed=seed)
                difference = draw(rng, size) - draw(rng, size)
                covered += [
                    holds(mean_interval(draw(rng, size).tolist(), resampling=resampling), truth),
                    holds(difference_interval(difference.tolist(), resampling=resampling), 0.0),
                ]
            cells.append(", ".join(f"{100 * number / sets:.1f}" for number in covered))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


def null(rng: np.random.Generator, sets: int, resamples: int) -> list[str]:
    """The rows of a table: how often an interval and a test find a difference of two arms that have
    none, in %."""
    rows = []
    for name, (draw, _) in SHAPES.items():
        for again, equal in ((1.0, ""), (0.3, ", mostly equal")):
            cells = []
            for size in (5, 10, 30, 100, 300):
                found = np.zeros(2)
                for seed in range(sets):
                    first = draw(rng, size)
                    second = draw(rng, size)
                    pair = paired_difference(
                        first.tolist(),
                        np.where(rng.random(size) < again, second, first).tolist(),
                        resampling=Resampling(resamples=resamples, seed=seed),
                        flips=1000,
                    )
                    assert pair.p is not None
                    found += [not holds(pair, 0.0), pair.p <= 0.05]
                cells.append(", ".join(f"{100 * number / sets:.1f}" for number in found))
            rows.append(f"| {name}{equal} | {' | '.join(cells)} |")
    return rows


def edge(rng: np.random.Generator, sets: int, resamples: int) -> list[str]:
    """The rows of a table: coverage of the mean of yes-or-no scores near 1."""
    rows = []
    for truth in (0.9, 0.97, 0.995):
        cells = []
        for size in (10, 30, 200):
            drawn = (rng.binomial(size, truth) for _ in range(sets))
            cells += [holds_share(int(right), size, truth, resamples) for right in drawn]
        cells_by_size = np.array(cells).reshape(3, sets).mean(axis=1) * 100
        rows.append(f"| {truth} | {' | '.join(f'{cell:.1f}' for cell in cells_by_size)} |")
    return rows


def holds_share(right: int, size: int, truth: float, resamples: int) -> bool:
    return holds(
        mean_interval(
            [1.0] * right + [0.0] * (size - right), resampling=Resampling(resamples=resamples)
        ),
        truth,
    )


def rare_labels(rng: np.random.Generator, sets: int, resamples: int) -> list[str]:
    """The rows of a table: coverage of kappa and alpha where one label is rare, and sets without an
    interval."""
    rows = []
    for items in (10, 30, 200):
        for prevalence, accuracy in ((0.5, 0.9), (0.9, 0.9), (0.97, 0.95)):
            yes = prevalence * accuracy + (1 - prevalence) * (1 - accuracy)
            chance = yes**2 + (1 - yes) ** 2
            truth = (accuracy**2 + (1 - accuracy) ** 2 - chance) / (1 - chance)
            found: dict[str, list[IntervalEstimate]] = {"kappa": [], "alpha": []}
            for seed in range(sets):
                right = rng.random(items) < prevalence
                a, b = ((right ^ (rng.random(items) > accuracy)).tolist() for _ in range(2))
                found["kappa"].append(
                    cohen_kappa(a, b, resampling=Resampling(resamples=resamples, seed=seed))
                )
                found["alpha"].append(
                    krippendorff_alpha(
                        list(zip(a, b, strict=True)),
                        resampling=Resampling(resamples=resamples, seed=seed),
                    )
                )
            cells = []
            for estimates in found.values():
                given = [estimate for estimate in estimates if estimate.low is not None]
                cells.append(
                    f"{100 * np.mean([holds(e, truth) for e in given]):.1f}"
                    if len(given) > 20
                    else "-"
                )
                cells.append(f"{100 * (1 - len(given) / sets):.0f}")
            rows.append(f"| {items} | {prevalence} | {accuracy} | {' | '.join(cells)} |")
    return rows


LITTLE: dict[str, Callable[[np.random.Generator, int, int], list[str]]] = {
    "| mean over 5 answers a question | questions "
    "| .5 | .8 | .95 | difference | false positives % |": by_question,
    f"| values | {' | '.join(map(str, FEW))} |": few,
    "| false positives %: interval, test | 5 | 10 | 30 | 100 | 300 |": null,
    "| truth | 10 | 30 | 200 |": edge,
    "| items | prevalence | accuracy | kappa covers % | none % | alpha covers % | none % |": (
        rare_labels
    ),
}


def little_data(sets: int, resamples: int) -> None:
    """Print the tables of small data, each with its own seed."""
    for number, (head, table) in enumerate(LITTLE.items()):
        print(f"{head}\n|{'---|' * (head.count('|') - 1)}")
        print(
            "\n".join(table(np.random.default_rng([14, number]), sets, resamples)) + "\n",
            flush=True,
        )


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
    resampled = sum(trial.estimate.method in ("bca", "symmetric") for trial in row.trials) / len(
        row.trials
    )
    refused = 1 - len(given) / len(row.trials)
    return (
        f"| {row.what} | {row.prevalence} | {row.size} | {100 * coverage:.1f}{mark} | {width:.3f} "
        f"| {100 * resampled:.0f} | {100 * refused:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--only-little", action="store_true", help="the second set of tables alone")
    arguments = parser.parse_args()
    started = time.process_time()
    little_data(arguments.sets, arguments.resamples)
    if arguments.only_little:
        return
    for draw, sizes, size_is in ((means, ANSWERS, "answers"), (corrections, LABELS, "labels")):
        print(f"| interval of | prevalence | {size_is} | covers % | width | resampled % | none % |")
        print("|---|---|---|---|---|---|---|")
        for row in rows(draw, sizes, arguments.sets, arguments.resamples):
            print(line(row), flush=True)
        print()
    seconds = time.process_time() - started
    print(
        f"{arguments.sets} sets a row, {arguments.resamples} resamples, {seconds:.0f} s of one core"
    )


if __name__ == "__main__":
    main()
