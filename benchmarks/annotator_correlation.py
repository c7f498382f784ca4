"""Correlation of RAGChecker's scores with two annotators, and of the annotators with each other, as
a Markdown table.

    python benchmarks/annotator_correlation.py [--data FOLDER]

FOLDER (default: $CLAIMEVAL_DATA, or shared/data next to the checkout) has the data set ragchecker:
pairs of answers to one question, each with claim precision, recall and F1, and two annotators'
preferences from -2 (the first is much better) to 2 (Ru et al. 2024, arXiv:2408.08067). The score of
a pair is the second answer's minus the first's. Intervals are 95% BCa over questions. A score with
the same correlation as between the annotators is as good as an annotator.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any, Literal

from claimeval.statistics import IntervalEstimate, cohen_kappa, correlation, krippendorff_alpha

ASPECTS = {"correctness": "precision", "completeness": "recall", "overall": "f1"}
KINDS: tuple[Literal["pearson"], Literal["spearman"]] = ("pearson", "spearman")


def shown(estimate: IntervalEstimate) -> str:
    if estimate.value is None:
        return f"undefined: {estimate.because}"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def compare(pairs: list[dict[str, Any]], aspect: str, metric: str) -> None:
    questions = [pair["question"] for pair in pairs]
    score = [
        pair["responses"][1]["ragchecker"][metric] - pair["responses"][0]["ragchecker"][metric]
        for pair in pairs
    ]
    first, second = ([pair["human"][who][aspect] for pair in pairs] for who in (0, 1))
    mean = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    for what, x, y in (
        (f"{metric} and annotator 1", score, first),
        (f"{metric} and annotator 2", score, second),
        (f"{metric} and their mean", score, mean),
        ("annotator 1 and annotator 2", first, second),
    ):
        cells = [shown(correlation(x, y, kind=kind, clusters=questions)) for kind in KINDS]
        print(f"| {aspect} | {what} | {' | '.join(cells)} |", flush=True)
    kappa = cohen_kappa(
        first, second, weights="quadratic", labels=[-2, -1, 0, 1, 2], clusters=questions
    )
    alpha = krippendorff_alpha(
        list(zip(first, second, strict=True)),
        scale="ordinal",
        labels=[-2, -1, 0, 1, 2],
        clusters=questions,
    )
    print(
        f"| {aspect} | annotators: weighted kappa, ordinal alpha | {shown(kappa)} |"
        f" {shown(alpha)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CLAIMEVAL_DATA", beside)))
    path = parser.parse_args().data / "ragchecker" / "pairs_visible.jsonl"
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    print(f"{len(pairs)} pairs, {len({pair['question'] for pair in pairs})} questions\n")
    print("| aspect | compared | Pearson | Spearman |")
    print("|---|---|---|---|")
    for aspect, metric in ASPECTS.items():
        compare(pairs, aspect, metric)


if __name__ == "__main__":
    main()
