"""What `experiment --select` reports if the truth is known: no arm is better, or one is.

    python -m benchmarks.selection [--seeds N]

Judges are right on 80% of claims. Each arm changes 12% of the labels, as often for better as for
worse, and the better one also corrects a planted share. The verdicts are drawn at random, without a
model or calls. `tests/runs/experiments/test_selection.py` runs the command with the same judges.
"""

from __future__ import annotations

import argparse
import random
from typing import NamedTuple

from claimeval.judging.panel import Panel
from claimeval.runs.experiments.selection import Gain, best, gain_of
from claimeval.runs.labels import RaterTable
from claimeval.statistics.selection import ACCURACY, CHANGED

SUPPORTED = 0.6
"""Share of claims that people call supported."""
BASELINE = "baseline"
BETTER = "arm 3"
PANEL = Panel()


class Outcome(NamedTuple):
    """The choice and the gain of one experiment."""

    arm: str
    seems: float
    """Gain of the chosen arm on the choosing half."""
    gain: Gain
    """Its gain on the other half."""


def selected(
    labels: int,
    arms: int,
    seed: int,
    *,
    helps: float = 0.0,
    noise: float = 0.0,
    per_question: int = 1,
) -> Outcome:
    """Draw labels of people and verdicts, choose an arm by one half and return its gain on the
    other.

    Args:
        labels: The number of labels, both halves together.
        arms: Arms beside the baseline.
        seed: Of everything that is drawn.
        helps: By how much the better arm is right more often.
        noise: The share of labels in which people are wrong.
        per_question: Claims of a question; a judge is right or wrong about all claims of one.
    """
    draw = random.Random(f"{labels}/{arms}/{helps}/{noise}/{seed}")
    questions = [i // per_question for i in range(labels)]
    several = questions[-1] + 1
    truth = [draw.random() < SUPPORTED for _ in range(labels)]
    human = [_word(one != (draw.random() < noise)) for one in truth]
    right = [draw.random() < ACCURACY for _ in range(several)]
    columns = {BASELINE: right}
    for number in range(1, arms + 1):
        name = f"arm {number}"
        up = (CHANGED / 2 + (helps if name == BETTER else 0.0)) / (1 - ACCURACY)
        down = CHANGED / 2 / ACCURACY
        columns[name] = [draw.random() >= down if was else draw.random() < up for was in right]
    halves = [draw.random() < 0.5 for _ in range(several)]

    def table(half: bool) -> RaterTable:
        """Return the labels of one half."""
        made = RaterTable((), PANEL)
        items = [i for i, question in enumerate(questions) if halves[question] == half]
        made.clusters = [questions[i] for i in items]
        made.human = [human[i] for i in items]
        made.raters = {
            name: [_word(truth[i] == column[questions[i]]) for i in items]
            for name, column in columns.items()
        }
        return made

    choosing = table(True)
    arm = best(choosing, list(columns))[0]
    equal = {
        name: [a == b for a, b in zip(choosing.human, choosing.raters[name], strict=True)]
        for name in columns
    }
    seems = (sum(equal[arm]) - sum(equal[BASELINE])) / len(choosing.human)
    return Outcome(arm, seems, gain_of(table(False), BASELINE, arm))


def _word(supported: bool) -> str:
    return "supported" if supported else "not_found"


def main() -> None:
    """Print a row for each number of labels and arms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    seeds: int = parser.parse_args().seeds
    print(
        "| labels | arms | truth | chosen | seems | reported | true gain in interval | gain shown |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rows = [
        (100, 10, 0.0, 0.0, 1),
        (100, 30, 0.0, 0.0, 1),
        (300, 10, 0.0, 0.0, 1),
        (300, 30, 0.0, 0.0, 1),
    ]
    rows += [(labels, 10, 0.1, 0.0, 1) for labels in (100, 200, 300, 400, 600)]
    rows += [(300, 10, 0.05, 0.0, 1), (300, 10, 0.0, 0.1, 1), (300, 10, 0.1, 0.1, 1)]
    rows += [(300, 10, 0.0, 0.0, 5), (600, 10, 0.1, 0.0, 5)]
    for labels, arms, helps, noise, size in rows:
        many = [
            selected(labels, arms, seed, helps=helps, noise=noise, per_question=size)
            for seed in range(seeds)
        ]
        truth = f"+{100 * helps:.0f} points" if helps else "nothing helps"
        truth += f", {noise:.0%} of labels wrong" if noise else ""
        truth += f", {size} claims a question" if size > 1 else ""
        chosen = sum(one.arm == BETTER if helps else one.arm != BASELINE for one in many)
        # wrong labels shrink a gain: where people are wrong, a mended verdict counts as one that
        # got worse
        expected = [helps * (1 - 2 * noise) if one.arm == BETTER else 0.0 for one in many]
        held = sum(
            (one.gain.gain.low or 0.0) <= true <= (one.gain.gain.high or 0.0)
            for one, true in zip(many, expected, strict=True)
        )
        seems = sum(one.seems for one in many) / seeds
        reported = sum(one.gain.gain.value or 0.0 for one in many) / seeds
        shown = sum(one.arm != BASELINE and one.gain.beyond_noise for one in many)
        shares = [f"{count / seeds:.1%}" for count in (chosen, held, shown)]
        print(
            f"| {labels} | {arms} | {truth} | {shares[0]} | {seems:+.3f} | {reported:+.3f} |"
            f" {shares[1]} | {shares[2]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
