"""Runs that stop when they are decided: the share of samples judged, and wrong decisions.

    python benchmarks/decided.py [--orders 400] [--data FOLDER]

FOLDER (default: $CLAIMEVAL_DATA, or shared/data next to the checkout) has judgments of people:
answers of systems to Natural Questions (evouna, 1,455 questions) and facts of biographies
(factscore, 72 to 88). Each system is a run; a gate stands at a distance above or below its mean.
Pairs of systems are runs with a baseline. Beside each stands looking every 25 samples at an
ordinary 95% interval, which promises nothing of the kind.

Each order is decided at all distances at once. "wrong" is the largest share of wrong decisions over
the sets; 95% certainty allows 5%.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

from claimeval.statistics.sequential import SequentialMean

GAPS = (0.15, 0.10, 0.05, 0.03, 0.02)
EVERY = 25
"""Samples between two looks at an ordinary interval."""


def lines(path: Path) -> list[dict[str, object]]:
    """Return the rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answers(folder: Path) -> dict[str, dict[str, float]]:
    """Return by system and question whether people call the answer right."""
    by_system: dict[str, dict[str, float]] = {}
    for row in lines(folder / "evouna" / "nq_visible.jsonl"):
        of_row: object = row["answers"]
        assert isinstance(of_row, list | dict), "answers of several systems"
        for name, answer in _named(of_row):
            human = answer["human"] if isinstance(answer, dict) else answer
            by_system.setdefault(name, {})[str(row["question"])] = float(bool(human))
    return by_system


def _named(of_row: list[dict[str, float]] | dict[str, float]) -> list[tuple[str, object]]:
    if isinstance(of_row, dict):
        return list(of_row.items())
    return [(str(answer["system"]), answer) for answer in of_row]


def biographies(folder: Path) -> dict[str, dict[str, float]]:
    """Return by system and topic the share of facts that people find supported."""
    by_system: dict[str, dict[str, float]] = {}
    for row in lines(folder / "factscore" / "visible.jsonl"):
        labels: list[str] = []
        for sentence in row["sentences"] or ():  # type: ignore[attr-defined]
            facts = sentence.get("human_facts") or ()
            labels += [fact["label"] for fact in facts if fact["label"] != "IR"]
        if labels:
            share = labels.count("S") / len(labels)
            by_system.setdefault(str(row["system"]), {})[str(row["topic"])] = share
    return by_system


class Outcome:
    """Counts over the orders of one set, by distance."""

    def __init__(self, thresholds: Sequence[float]) -> None:
        self.read = dict.fromkeys(thresholds, 0)
        self.wrong = dict.fromkeys(thresholds, 0)
        self.peeking = dict.fromkeys(thresholds, 0)


def decide(
    scores: Sequence[float], thresholds: Sequence[float], orders: int, low: float
) -> Outcome:
    """Decide every threshold in each of the orders."""
    truth = sum(scores) / len(scores)
    found = Outcome(thresholds)
    draw = random.Random(1)
    shuffled = list(scores)
    for _ in range(orders):
        draw.shuffle(shuffled)
        mean = SequentialMean(len(shuffled), thresholds, low=low, steps=1)
        waiting = set(thresholds)
        for score in shuffled:
            mean.add([score])
            for threshold in list(waiting):
                side = mean.decision(threshold)
                if side:
                    waiting.remove(threshold)
                    found.read[threshold] += mean.read
                    found.wrong[threshold] += (side == "above") != (truth > threshold)
            if not waiting:
                break
        for threshold in waiting:
            found.read[threshold] += len(shuffled)
        for threshold in thresholds:
            found.peeking[threshold] += _peek(shuffled, threshold) not in (None, truth > threshold)
    return found


def _peek(scores: Sequence[float], threshold: float) -> bool | None:
    """Return the first side on which an ordinary 95% interval excludes the threshold."""
    n = total = squares = 0.0
    for score in scores:
        n += 1
        total += score
        squares += score * score
        if n % EVERY:
            continue
        mean = total / n
        variance = max(0.0, squares / n - mean * mean) / (n - 1) * (1 - n / len(scores))
        if variance and abs(mean - threshold) > 1.96 * variance**0.5:
            return mean > threshold
    return None


def table(sets: dict[str, list[float]], gaps: Sequence[float], orders: int, low: float) -> None:
    """Print a row for each distance."""
    read: dict[float, list[float]] = {gap: [] for gap in gaps}
    wrong: dict[float, list[float]] = {gap: [] for gap in gaps}
    peeking: dict[float, list[float]] = {gap: [] for gap in gaps}
    for scores in sets.values():
        truth = sum(scores) / len(scores)
        places = {}
        for gap, sign in itertools.product(gaps, (-1, 1)):
            if low < truth + sign * gap < 1:
                places[truth + sign * gap] = gap
        found = decide(scores, list(places), orders, low)
        for threshold, gap in places.items():
            read[gap].append(found.read[threshold] / orders / len(scores))
            wrong[gap].append(found.wrong[threshold] / orders)
            peeking[gap].append(found.peeking[threshold] / orders)
    print("| distance | judged, mean (least to most) | wrong at most | peeking, wrong at most |")
    print("|---|---|---|---|")
    for gap in gaps:
        shares = read[gap]
        mean = sum(shares) / len(shares)
        print(
            f"| {gap:.2f} | {mean:.2f} ({min(shares):.2f} to {max(shares):.2f})"
            f" | {max(wrong[gap]):.3f} | {max(peeking[gap]):.3f} |"
        )


def pairs(systems: dict[str, dict[str, float]]) -> dict[str, list[float]]:
    """Return by pair of systems the differences of what both have."""
    found: dict[str, list[float]] = {}
    for a, b in itertools.combinations(systems, 2):
        shared = [name for name in systems[a] if name in systems[b]]
        found[f"{a}, {b}"] = [systems[a][name] - systems[b][name] for name in shared]
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=400)
    default = Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=os.environ.get("CLAIMEVAL_DATA", default))
    args = parser.parse_args()
    systems = answers(args.data)
    print(f"\nGates on answers ({len(systems)} systems), {args.orders} orders each\n")
    table({name: list(of.values()) for name, of in systems.items()}, GAPS, args.orders, 0.0)
    topics = biographies(args.data)
    print(f"\nGates on biographies ({len(topics)} systems)\n")
    table({name: list(of.values()) for name, of in topics.items()}, GAPS, args.orders, 0.0)
    for what, runs in {"answers": systems, "biographies": topics}.items():
        differences = pairs(runs)
        print(f"\nPairs on {what} ({len(differences)}), at a distance from their difference\n")
        table(differences, GAPS, args.orders, -1.0)


if __name__ == "__main__":
    main()
