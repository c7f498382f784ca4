"""Agreement of lexical metrics with human labels, compared with LLM judges and published figures,
as Markdown tables.

    python benchmarks/human_agreement.py [--data FOLDER] [--resamples 500]

FOLDER (default: $CLAIMEVAL_DATA, or shared/data next to the checkout) has the labeled answers of
three studies:

* openqa: answers of 12 systems to Natural Questions, right or wrong (Kamalloo et al. 2023,
  arXiv:2305.06984), with the recorded verdicts of gpt-4, text-davinci-003 and BEM, a trained answer
  matcher;
* evouna: answers of FiD and four chat models to Natural Questions, right or wrong (Wang et al.
  2023, arXiv:2305.12421);
* begin: replies fully attributable to a piece of knowledge or not (Dziri et al. 2022,
  arXiv:2105.00071). The knowledge is both the context and the reference, so that recall and F1 are
  K-recall and K-F1.

Correlations are multiplied by 100; Kendall's is tau-b. The interval of Spearman's is a 95%
percentile bootstrap over questions, because answers to one question are not independent. The
published columns are tables 2 and 4 of Adlakha et al. 2023 (arXiv:2307.16877) on other data and
other answers, so compare the order of the rows, not the numbers.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kendalltau, spearmanr

from claimeval import lexical

Published = dict[str, tuple[float, float]]

PUBLISHED_CORRECTNESS: Published = {
    "token_recall": (62.7, 57.1),
    "strict_recall": (54.1, 53.5),
    "token_precision": (44.8, 37.8),
    "token_f1": (49.3, 41.1),
    "exact_match": (26.5, 26.2),
    "rouge_l": (47.0, 39.0),
    "gpt-4": (70.2, 69.4),
    "gpt-3.5": (63.5, 62.8),
    "bem": (53.6, 43.7),
}
PUBLISHED_FAITHFULNESS: Published = {
    "k_precision": (46.5, 41.5),
    "token_recall": (-4.3, -3.4),
    "token_f1": (-2.7, -2.1),
    "gpt-4": (50.5, 49.7),
    "gpt-3.5": (27.2, 26.8),
}
CORRECTNESS = [name for name, metric in lexical.METRICS.items() if "contexts" not in metric.needs]
FAITHFULNESS = [
    "k_precision",
    "k_precision_no_question",
    "token_recall",
    "token_f1",
    "rouge_l",
    "answer_length",
]


class Study(NamedTuple):
    """Answers with human labels and the verdicts of judges."""

    title: str
    texts: list[lexical.LexicalSample]
    """The id is the question, so that answers to one question can be resampled together."""
    human: list[bool]
    judges: dict[str, list[float | None]]
    """Verdicts by judge: 1, 0, or None if its recorded reply has no verdict."""
    metrics: list[str]
    published: Published


def read(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def openqa(folder: Path) -> Study:
    """Return answers with recorded judges."""
    rows = read(folder / "openqa" / "nq301_visible.jsonl")
    verdict = {"Yes": 1.0, "No": 0.0}
    return Study(
        "OpenQA NQ301: is the answer right?",
        [
            lexical.LexicalSample(
                row["answer"], row["question"], (), row["gold_answers"], row["question"]
            )
            for row in rows
        ],
        [row["human"] == "Yes" for row in rows],
        {
            judge: [verdict.get(row["judges"][judge]["recorded"]) for row in rows]
            for judge in ("gpt-4", "text-davinci-003", "bem")
        },
        CORRECTNESS,
        PUBLISHED_CORRECTNESS,
    )


def evouna(folder: Path, systems: Sequence[str], title: str) -> Study:
    """Return the answers of these systems."""
    rows = [
        (row["question"], row["gold_answers"], row["answers"][system])
        for row in read(folder / "evouna" / "nq_visible.jsonl")
        for system in systems
        if system in row["answers"]
    ]
    return Study(
        f"EVOUNA NQ, {title}: is the answer right?",
        [
            lexical.LexicalSample(given["answer"], question, (), gold, question)
            for question, gold, given in rows
        ],
        [given["human"] for _, _, given in rows],
        {},
        CORRECTNESS,
        PUBLISHED_CORRECTNESS,
    )


def begin(folder: Path) -> Study:
    """Return replies to a message that are based on a piece of knowledge."""
    rows = read(folder / "begin" / "wow_visible.jsonl")
    return Study(
        "BEGIN: is the reply fully attributable to the knowledge?",
        [
            lexical.LexicalSample(
                row["response"],
                row["message"],
                [row["knowledge"]],
                [row["knowledge"]],
                row["knowledge"],
            )
            for row in rows
        ],
        [row["label"] == "Fully attributable" for row in rows],
        {},
        FAITHFULNESS,
        PUBLISHED_FAITHFULNESS,
    )


def spearman(scores: Sequence[float], human: Sequence[bool]) -> float | None:
    """Return Spearman's correlation times 100; None if one side is constant."""
    if len(set(scores)) < 2 or len(set(human)) < 2:
        return None
    return 100 * float(spearmanr(scores, human).statistic)


def interval(
    scores: Sequence[float], human: Sequence[bool], questions: Sequence[str], resamples: int
) -> tuple[float, float]:
    """Return the 95% percentile interval of Spearman's correlation, which resamples whole
    questions."""
    by_question: defaultdict[str, list[int]] = defaultdict(list)
    for index, question in enumerate(questions):
        by_question[question].append(index)
    groups = list(by_question.values())
    chance = np.random.default_rng(0)
    values = []
    for _ in range(resamples):
        drawn = [
            index
            for group in chance.integers(len(groups), size=len(groups))
            for index in groups[group]
        ]
        values.append(
            spearman([scores[index] for index in drawn], [human[index] for index in drawn])
        )
    low, high = np.quantile([value for value in values if value is not None], [0.025, 0.975])
    return float(low), float(high)


def agreement(study: Study, scores: Sequence[float | None], resamples: int) -> tuple[float, str]:
    """Return Spearman's correlation of `scores` with the human labels, and the cells of the table
    row."""
    kept = [index for index, score in enumerate(scores) if score is not None]
    values = [scores[index] or 0.0 for index in kept]
    human = [study.human[index] for index in kept]
    rank = spearman(values, human)
    if rank is None:
        return float("-inf"), f"{len(kept)} | – | – | –"
    low, high = interval(values, human, [study.texts[index].id for index in kept], resamples)
    tau = 100 * float(kendalltau(values, human).statistic)
    return rank, f"{len(kept)} | {rank:.1f} | {low:.1f} to {high:.1f} | {tau:.1f}"


def show(study: Study, resamples: int) -> None:
    """Print the table of one study, best first."""
    rows = list(lexical.score(study.texts, study.metrics))
    scores = {name: [row.scores[name] for row in rows] for name in study.metrics} | study.judges
    measured = {name: agreement(study, scores[name], resamples) for name in scores}
    print(f"\n**{study.title}** {sum(study.human)} of {len(study.human)} are.\n")
    print("| scored by | n | Spearman | 95% interval | Kendall | published: Spearman | Kendall |")
    print("|---|---|---|---|---|---|---|")
    for name in [
        *sorted(measured, key=measured.__getitem__, reverse=True),
        *sorted(study.published.keys() - measured),
    ]:
        published = study.published.get(name)
        beside = f"{published[0]:.1f} | {published[1]:.1f}" if published else "– | –"
        print(
            f"| {name} | {measured[name][1] if name in measured else '– | – | – | –'} | {beside} |"
        )


def main() -> None:
    """Print all tables."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CLAIMEVAL_DATA", beside)))
    parser.add_argument("--resamples", type=int, default=500)
    options = parser.parse_args()
    show(openqa(options.data), options.resamples)
    show(
        evouna(options.data, ("gpt35", "chatgpt", "gpt4", "newbing"), "chat models"),
        options.resamples,
    )
    show(evouna(options.data, ("fid",), "FiD (short answers)"), options.resamples)
    show(begin(options.data), options.resamples)


if __name__ == "__main__":
    main()
