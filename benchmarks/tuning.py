"""Choices and reports of `claimeval tune` with a known truth: no prompt helps, or one sentence does.

    python -m benchmarks.tuning [--seeds N]

Judges are right on 80% of claims. Each candidate changes 12% of the labels, as often for better as for worse, and the
helpful one also corrects a planted share. The verdicts are drawn at random, without a model or calls.
`tests/runs/test_tune.py` runs the command with the same judges.
"""

from __future__ import annotations

import argparse
import random
from typing import NamedTuple

from claimeval.evaluation.tune import Candidate
from claimeval.judging.panel import Panel
from claimeval.runs.labels import RaterTable
from claimeval.runs.tune import Choice, GainNumbers, beyond_noise, choose, gain_numbers
from claimeval.statistics.selection import CHANGED, stratified_parts

ACCURACY, SUPPORTED = 0.8, 0.6
"""Share of claims on which the judge is right with the prompt in use, and share that people call supported."""
HELPFUL = "candidate 3"
PANEL = Panel()


class Outcome(NamedTuple):
    """What came of one tuning."""

    choice: Choice
    gain: GainNumbers
    right: bool
    """Whether the helpful candidate was chosen."""
    shown: bool
    """Whether a gain was shown."""


def tuned(
    labels: int, candidates: int, seed: int, *, helps: float = 0.0, noise: float = 0.0, per_question: int = 1
) -> Outcome:
    """Draw people and verdicts, and return what tuning by them comes to.

    Args:
        labels: The number of labels, both halves together.
        candidates: Candidates beside the prompt in use.
        seed: Of everything that is drawn.
        helps: By how much the helpful candidate is right more often.
        noise: The share of labels in which people are wrong.
        per_question: Claims of a question; a judge is right or wrong about all claims of one.
    """
    draw = random.Random(f"{labels}/{candidates}/{helps}/{noise}/{seed}")
    questions = [i // per_question for i in range(labels)]
    several = questions[-1] + 1
    truth = [draw.random() < SUPPORTED for _ in range(labels)]
    human = [_word(one != (draw.random() < noise)) for one in truth]
    right = [draw.random() < ACCURACY for _ in range(several)]
    columns = {"in use": right}
    for number in range(1, candidates + 1):
        name = f"candidate {number}"
        up = (CHANGED / 2 + (helps if name == HELPFUL else 0.0)) / (1 - ACCURACY)
        down = CHANGED / 2 / ACCURACY
        columns[name] = [draw.random() >= down if was else draw.random() < up for was in right]
    said = {
        name: [_word(one == column[question]) for one, question in zip(truth, questions, strict=True)]
        for name, column in columns.items()
    }
    parts = stratified_parts(human, questions, 2, seed=seed)

    def table(said: dict[str, list[str]], part: int) -> RaterTable:
        """Return the labels of one half."""
        found = RaterTable((), PANEL)
        items = [i for i, one in enumerate(parts) if one == part]
        found.clusters = [questions[i] for i in items]
        found.human = [human[i] for i in items]
        found.raters = {name: [column[i] for i in items] for name, column in said.items()}
        return found

    chosen = choose([Candidate(name, ()) for name in said], table(said, 0), seed)
    name = chosen.chosen.name
    two = {one: said[one] for one in dict.fromkeys(("in use", name))}
    reported = gain_numbers(table(two, 1), "in use", name)
    return Outcome(chosen, reported, name == HELPFUL, beyond_noise(reported.agreement, reported.kappa))


def _word(supported: bool) -> str:
    return "supported" if supported else "not_found"


def main() -> None:
    """Print a row for each number of labels and candidates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    seeds: int = parser.parse_args().seeds
    print("| labels | candidates | truth | chosen | seems | reported | true gain in interval | gain shown |")
    print("|---|---|---|---|---|---|---|---|")
    rows = [(labels, candidates, 0.0, 0.0, 1) for labels in (100, 200, 300) for candidates in (10, 30)]
    rows += [(labels, 10, 0.1, 0.0, 1) for labels in (100, 200, 300, 400, 600)]
    rows += [(300, 10, 0.05, 0.0, 1), (300, 10, 0.0, 0.1, 1), (300, 10, 0.1, 0.1, 1)]
    rows += [(300, 10, 0.0, 0.0, 5), (600, 10, 0.0, 0.0, 5), (600, 10, 0.1, 0.0, 5)]
    for labels, candidates, helps, noise, size in rows:
        many = [tuned(labels, candidates, seed, helps=helps, noise=noise, per_question=size) for seed in range(seeds)]
        truth = f"+{100 * helps:.0f} points" if helps else "nothing helps"
        truth += f", {noise:.0%} of labels wrong" if noise else ""
        truth += f", {size} claims a question" if size > 1 else ""
        chosen = [one.right for one in many] if helps else [one.choice.chosen.name != "in use" for one in many]
        seems = sum(one.choice.seeming_gain or 0.0 for one in many) / seeds
        reported = sum(one.gain.agreement.value or 0.0 for one in many) / seeds
        # wrong labels shrink a gain: where people are wrong a mended verdict is counted as one that got worse
        expected = [helps * (1 - 2 * noise) if one.right else 0.0 for one in many]
        holds = [
            (one.gain.agreement.low or 0.0) <= true <= (one.gain.agreement.high or 0.0)
            for one, true in zip(many, expected, strict=True)
        ]
        shares = [f"{sum(flags) / seeds:.1%}" for flags in (chosen, holds, [one.shown for one in many])]
        print(
            f"| {labels} | {candidates} | {truth} | {shares[0]} | {seems:+.3f} | {reported:+.3f} | {shares[1]} | "
            f"{shares[2]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
