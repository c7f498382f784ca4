"""Precision of 150 human labels with the help of a judge's recorded verdicts, as a Markdown table
per judge.

    python benchmarks/judge_correction.py [--data FOLDER] [--draws 3000] [--labels 150]

FOLDER (default: $CLAIMEVAL_DATA, or shared/data next to the checkout) has the data set openqa:
answers of 12 systems to Natural Questions that people labeled right or wrong, with the recorded
verdicts of gpt-4 and text-davinci-003 (Kamalloo et al. 2023, arXiv:2305.06984). Answers without a
recorded verdict are left out. Every draw labels some answers at random and ignores the other human
labels. The error is the distance from the share by all human labels.

* these answers: only the choice of labeled answers varies. Intervals are for further answers too,
  so they should cover more than 95%.
* further questions: questions are first resampled with all their answers, and are the clusters, so
  intervals should cover 95%.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from claimeval.statistics import (
    NO_INTERVAL,
    CorrectedEstimate,
    IntervalEstimate,
    binary_report,
    prediction_powered,
    rogan_gladen,
)

JUDGES = ("gpt-4", "text-davinci-003")


class Answers(NamedTuple):
    """Answers with both labels, and the question of each."""

    human: list[bool]
    judge: list[bool]
    question: list[int]


def read(path: Path, judge: str) -> Answers:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [line for line in lines if line["judges"][judge]["recorded"] in ("Yes", "No")]
    return Answers(
        [line["human"] == "Yes" for line in kept],
        [line["judges"][judge]["recorded"] == "Yes" for line in kept],
        [line["question_no"] for line in kept],
    )


def resampled(answers: Answers, rng: np.random.Generator) -> Answers:
    """Return as many questions, drawn with replacement, each with all its answers and a new
    number."""
    of_question: dict[int, list[int]] = defaultdict(list)
    for index, question in enumerate(answers.question):
        of_question[question].append(index)
    questions = list(of_question)
    drawn = [
        (index, number)
        for number, choice in enumerate(rng.integers(0, len(questions), len(questions)))
        for index in of_question[questions[choice]]
    ]
    return Answers(
        [answers.human[index] for index, _ in drawn],
        [answers.judge[index] for index, _ in drawn],
        [number for _, number in drawn],
    )


def powered(
    answers: Answers, labeled: set[int], clusters: Sequence[int] | None
) -> CorrectedEstimate:
    return prediction_powered(
        [float(verdict) for verdict in answers.judge],
        [float(label) if index in labeled else None for index, label in enumerate(answers.human)],
        clusters=clusters,
        resampling=NO_INTERVAL,
    )


def by_error_rates(
    answers: Answers, labeled: set[int], clusters: Sequence[int] | None
) -> IntervalEstimate:
    human = [label if index in labeled else None for index, label in enumerate(answers.human)]
    return rogan_gladen(answers.judge, human, clusters=clusters, resampling=NO_INTERVAL).corrected


Method = Callable[[Answers, set[int], Sequence[int] | None], IntervalEstimate]
METHODS: dict[str, Method] = {
    "people only": lambda answers, labeled, clusters: powered(answers, labeled, clusters).human,
    "PPI++": lambda answers, labeled, clusters: powered(answers, labeled, clusters).corrected,
    "Rogan-Gladen": by_error_rates,
}


def row(what: str, method: Method, answers: Answers, labels: int, draws: int, anew: bool) -> str:
    rng = np.random.default_rng(0)
    truth = sum(answers.human) / len(answers.human)
    errors = []
    widths = []
    covered = 0
    for _ in range(draws):
        population = resampled(answers, rng) if anew else answers
        labeled = {int(index) for index in rng.choice(len(population.human), labels, replace=False)}
        estimate = method(population, labeled, population.question if anew else None)
        if estimate.value is None or estimate.low is None or estimate.high is None:
            continue
        errors.append(estimate.value - truth)
        widths.append(estimate.high - estimate.low)
        covered += estimate.low <= truth <= estimate.high
    rmse = math.sqrt(sum(error**2 for error in errors) / len(errors))
    kind = "further questions" if anew else "these answers"
    return (
        f"| {what} | {kind} | {rmse:.4f} | {sum(widths) / len(widths):.3f} |"
        f" {100 * covered / len(widths):.1f} | {100 * (1 - len(widths) / draws):.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CLAIMEVAL_DATA", beside)))
    parser.add_argument("--draws", type=int, default=3000)
    parser.add_argument("--labels", type=int, default=150)
    arguments = parser.parse_args()
    for judge in JUDGES:
        answers = read(arguments.data / "openqa" / "nq301_visible.jsonl", judge)
        report = binary_report(answers.judge, answers.human, clusters=answers.question)
        people, verdicts = (sum(labels) / len(labels) for labels in (answers.human, answers.judge))
        print(
            f"{judge}: {len(answers.human)} answers to {len(set(answers.question))} questions;",
            end=" ",
        )
        print(f"right by people {people:.3f}, by the judge {verdicts:.3f};", end=" ")
        print(
            f"sensitivity {report.recall.value:.3f}, specificity {report.specificity.value:.3f}\n"
        )
        print("| method | the truth is about | rmse | width | covers % | none % |")
        print("|---|---|---|---|---|---|")
        for anew in (False, True):
            for what, method in METHODS.items():
                print(
                    row(what, method, answers, arguments.labels, arguments.draws, anew), flush=True
                )
        print()


if __name__ == "__main__":
    main()
