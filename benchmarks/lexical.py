"""Speed of the lexical metrics, compared with plain SQuAD code, unitxt and rouge-score, whose values must be equal.

    python benchmarks/lexical.py                 50,000 pairs, about three minutes on one core
    python benchmarks/lexical.py --pairs 5000    a quick look

A pair is an answer and a text. Both programs run in turn in this process, the best of `--rounds` turns counts, and a
different value stops the program. Texts are random invented words with the frequencies of a natural language. The plain
implementation is also the inner loop of unitxt. unitxt and rouge-score are measured if they are installed (`pip install
unitxt rouge-score`, best in a separate environment). unitxt bootstraps confidence intervals by default, so it is
measured with and without them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import random
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from claimeval import lexical

Pairs = list[tuple[str, str]]
Scores = list[tuple[float, ...]]

PEER_PAIRS = 1_000
SYLLABLES = [first + vowel + last for first in "bcdfglmnprst" for vowel in "aeiou" for last in ("", "n", "s")]


def plain_words(text: str) -> list[str]:
    """The normalization of the SQuAD evaluation script, step by step."""
    deleted = set(string.punctuation)
    bare = "".join(character for character in text.lower() if character not in deleted)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def plain(pairs: Pairs) -> Scores:
    """Token precision, recall and F1 as the SQuAD evaluation script computes F1."""
    scores: Scores = []
    for answer, text in pairs:
        answer_words, text_words = plain_words(answer), plain_words(text)
        common = sum((Counter(answer_words) & Counter(text_words)).values())
        if common == 0:
            scores.append((0.0, 0.0, 0.0))
            continue
        precision, recall = common / len(answer_words), common / len(text_words)
        scores.append((precision, recall, (2 * precision * recall) / (precision + recall)))
    return scores


def unitxt(pairs: Pairs, *, intervals: bool = True) -> Scores:
    """Token precision, recall and F1 by unitxt: a data set of its question answering task, then `evaluate`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    api = importlib.import_module("unitxt.api")
    dataset = api.create_dataset(
        task="tasks.qa.open",
        test_set=[{"question": "?", "answers": [text]} for _, text in pairs],
        metrics=["metrics.token_overlap"],
        split="test",
    )
    results = api.evaluate(
        predictions=[answer for answer, _ in pairs], data=dataset, calc_confidence_intervals=intervals
    )
    return [(row["precision"], row["recall"], row["f1"]) for row in results.instance_scores]


def rouge_score(pairs: Pairs) -> Scores:
    """ROUGE-L F by the rouge-score package."""
    scorer = importlib.import_module("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    return [(scorer.score(text, answer)["rougeL"].fmeasure,) for answer, text in pairs]


def texts(number: int, length: int, seed: int) -> list[str]:
    """`number` texts of `length` invented words, with capitals and punctuation, all ASCII."""
    chance = random.Random(seed)
    invented = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(20_000)]
    vocabulary = ["the", "of", "and", "to", "a", "in", *invented]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    written = []
    for _ in range(number):
        words = chance.choices(vocabulary, cum_weights=weights, k=length)
        for index in range(0, length, 8):
            words[index] = words[index].capitalize()
            words[index - 1] += chance.choice(".,;:")
        written.append(" ".join(words))
    return written


def accented(text: str) -> str:
    """The text with a handful of words that are not ASCII, as most web pages have: quotes, a dash, an accent."""
    words = text.split()
    words[10] = f"“{words[10]}”"
    words[20] += "’s"
    words[30] += "–" + words[31]
    words[40] += "é"
    return " ".join(words)


class Case(NamedTuple):
    """One line of the table."""

    what: str
    metrics: tuple[str, ...]
    pairs: Pairs
    peer_name: str
    peer: Callable[[Pairs], Scores]
    goal: float | None = None

    def ours(self) -> list[lexical.LexicalScores]:
        """The rows of claimeval, the second text of a pair being the context or the reference answer."""
        if "contexts" in lexical.METRICS[self.metrics[0]].needs:
            return list(
                lexical.score((lexical.LexicalSample(a, contexts=(text,)) for a, text in self.pairs), self.metrics)
            )
        return list(
            lexical.score((lexical.LexicalSample(a, references=(text,)) for a, text in self.pairs), self.metrics)
        )

    def best_seconds(self, rounds: int) -> tuple[float, float]:
        """The best time of the peer and of claimeval, which take turns."""
        theirs, ours = [], []
        for _ in range(rounds):
            start = time.perf_counter()
            expected = self.peer(self.pairs)
            theirs.append(time.perf_counter() - start)
            start = time.perf_counter()
            rows = self.ours()
            ours.append(time.perf_counter() - start)
            for row, values in zip(rows, expected, strict=True):
                scored = [row.scores[name] for name in self.metrics]
                if scored != list(values[: len(self.metrics)]):
                    raise SystemExit(f"{self.what}: {self.peer_name} says {values}, claimeval {scored}")
        return min(theirs), min(ours)


def cases(number: int) -> Iterator[Case]:
    """The lines of the table, those of programs that are not installed left out."""
    token, squad = ("token_precision", "token_recall", "token_f1"), "plain SQuAD"
    contexts, answers, short = texts(number, 300, seed=1), texts(number, 25, seed=2), texts(number, 5, seed=3)
    own, brief = list(zip(answers, contexts, strict=True)), list(zip(answers, short, strict=True))
    shared = [(answer, contexts[index // 5]) for index, answer in enumerate(answers)]
    mixed = [(answer, accented(text) if index % 2 else text) for index, (answer, text) in enumerate(own)]
    yield Case("300-token texts", token, own, squad, plain, 2.5)
    yield Case("300-token texts, half not all ASCII", token, mixed, squad, plain, 2.5)
    yield Case("300-token texts, each with five answers", token, shared, squad, plain, 7)
    yield Case("300-token contexts", ("k_precision",), own, squad, plain, 2.5)
    yield Case("300-token contexts, each with five answers", ("k_precision",), shared, squad, plain, 7)
    yield Case("5-token texts", token, brief, squad, plain)
    if importlib.util.find_spec("unitxt"):
        bare = partial(unitxt, intervals=False)
        yield Case("300-token texts", token, own[:PEER_PAIRS], "unitxt", unitxt, 20)
        yield Case("300-token texts", token, own[:PEER_PAIRS], "unitxt, no intervals", bare)
        yield Case("5-token texts", token, brief[:PEER_PAIRS], "unitxt", unitxt, 20)
        yield Case("5-token texts", token, brief[:PEER_PAIRS], "unitxt, no intervals", bare)
    if importlib.util.find_spec("rouge_score"):
        yield Case("300-token texts", ("rouge_l",), own[:PEER_PAIRS], "rouge-score", rouge_score)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| metrics | pairs | of | peer | peer, us a pair | claimeval, us a pair | ratio | goal |")
    print("|---|---|---|---|---|---|---|---|")
    for case in cases(options.pairs):
        theirs, ours = (seconds / len(case.pairs) * 1e6 for seconds in case.best_seconds(options.rounds))
        metrics = "token P, R, F1" if len(case.metrics) == 3 else case.metrics[0]
        print(
            f"| {metrics} | {len(case.pairs)} | {case.what} | {case.peer_name} "
            f"| {theirs:.1f} | {ours:.1f} | {theirs / ours:.1f} | {case.goal or ''} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
