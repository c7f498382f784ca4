"""The lexical metrics: one function each, and the table of them.

A metric looks at a `Case`: one sample whose texts are read once and shared by all metrics. Counts are multiset counts.
Where there are several reference answers each metric takes its own maximum over them, so precision and F1 of one sample
may come from different references (as unitxt and instruct-qa do).

Sources: the SQuAD evaluation script (Rajpurkar et al. 2016, arXiv:1606.05250) for the words, F1 and exact match;
Adlakha et al. 2023 (arXiv:2307.16877) and its program instruct-qa for the rest and for texts without words, on which
SQuAD 1.1 and unitxt differ: they give 0 to every pair with an empty side.

ROUGE-L: the longest common subsequence of two texts (Lin 2004, section 3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from claimeval.lexical.words import Bag, Bags, Normalisation

Need = Literal["question", "contexts", "references"]


class Overlap(NamedTuple):
    """What the words that an answer and a reference share say about both; see the token metrics below."""

    precision: float
    recall: float
    f1: float


class Case:
    """One sample as the metrics see it: every text is read when first needed, and once."""

    def __init__(
        self,
        answer: str,
        question: str | None,
        contexts: Sequence[str],
        references: Sequence[str],
        normalisation: Normalisation,
        bags: Bags,
    ) -> None:
        self._answer, self._question = answer, question
        self._contexts, self._references = contexts, references
        self._normalisation, self._bags = normalisation, bags
        self.answer = normalisation.bag(answer)

    @cached_property
    def new_words(self) -> Bag:
        """The words of the answer that do not occur in the question."""
        asked = self._bags[self._question or ""].counts
        counts = {word: count for word, count in self.answer.counts.items() if word not in asked}
        return Bag(counts, sum(counts.values()))

    @cached_property
    def contexts(self) -> list[Bag]:
        """The words of each context."""
        return [self._bags[text] for text in self._contexts]

    @cached_property
    def overlap(self) -> Overlap:
        """The overlap with the reference answers: of each number, the highest that any of them gives."""
        overlaps = [overlap(self.answer, self._bags[text]) for text in self._references]
        return overlaps[0] if len(overlaps) == 1 else Overlap(*map(max, zip(*overlaps, strict=True)))

    @cached_property
    def normalised(self) -> tuple[str, list[str]]:
        """The normalised answer and reference answers."""
        answer, *references = (" ".join(self._normalisation.words(text)) for text in (self._answer, *self._references))
        return answer, references

    @cached_property
    def rouge_words(self) -> tuple[list[str], list[list[str]]]:
        """The words of the answer and of the reference answers, in order, as ROUGE-L compares them."""
        split = self._normalisation.rouge_words
        return split(self._answer), [split(text) for text in self._references]


def common(first: Bag, second: Bag) -> int:
    """The number of words that two bags share: for each word, the smaller of its two counts."""
    shared = 0
    for word in first.counts.keys() & second.counts.keys():
        one, other = first.counts[word], second.counts[word]
        shared += one if one < other else other
    return shared


def overlap(answer: Bag, reference: Bag) -> Overlap:
    """Token precision, recall and F1 of an answer against one reference."""
    shared = common(answer, reference)
    precision = shared / answer.total if answer.total else 0.0
    recall = shared / reference.total if reference.total else 1.0
    if shared == 0:
        return Overlap(precision, recall, float(answer.total == reference.total == 0))
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall))


def common_with_all(answer: Bag, bags: Sequence[Bag]) -> int:
    """The number of words that a bag shares with the sum of others."""
    if len(bags) == 1:
        return common(answer, bags[0])
    lookups = [bag.counts.get for bag in bags]
    shared = 0
    for word, wanted in answer.counts.items():
        held = 0
        for count in lookups:
            held += count(word, 0)
            if held >= wanted:
                held = wanted
                break
        shared += held
    return shared


def k_precision(case: Case) -> float:
    """The share of the answer's words that are in the contexts, joined to one text: |A & K| / |A|.

    0 for an answer without words. Adlakha et al. section 5; this is instruct-qa's KPrecision. Faithfulness.
    """
    return _precision(case.answer, case.contexts)


def k_precision_best_context(case: Case) -> float:
    """K-precision against each context alone, the best of them: at most `k_precision`, equal with one context.

    0 for an answer without words. unitxt's metrics.rag.faithfulness.token_k_precision.
    """
    return max((_precision(case.answer, [context]) for context in case.contexts), default=0.0)


def k_precision_no_question(case: Case) -> float:
    """K-precision of only those words of the answer that do not occur in the question.

    1 where no word is left, so also for an answer without words. instruct-qa's KPrecisionPlusPlus.
    """
    return _precision(case.new_words, case.contexts) if case.new_words.total else 1.0


def _precision(answer: Bag, contexts: Sequence[Bag]) -> float:
    return common_with_all(answer, contexts) / answer.total if answer.total else 0.0


def token_recall(case: Case) -> float:
    """The share of the reference's words that are in the answer: |A & R| / |R|; 1 for a reference without words.

    Correctness. It can only grow when the answer grows, so read it beside `answer_length`.
    """
    return case.overlap.recall


def token_precision(case: Case) -> float:
    """The share of the answer's words that are in the reference: |A & R| / |A|; 0 for an answer without words."""
    return case.overlap.precision


def token_f1(case: Case) -> float:
    """2PR / (P + R) of token precision P and recall R; where a side has no words, 1 if neither has, else 0."""
    return case.overlap.f1


def strict_recall(case: Case) -> float:
    """1 if every word of the reference is in the answer, as often as there, else 0; 1 for a reference without words.

    Recall (S) of Adlakha et al.
    """
    return float(case.overlap.recall == 1)


def exact_match(case: Case) -> float:
    """1 if the answer equals the reference once both are normalised, else 0; two texts without words are equal."""
    answer, references = case.normalised
    return float(answer in references)


def contains_reference(case: Case) -> float:
    """1 if the normalised reference is a part of the normalised answer, else 0; 1 for a reference without words.

    It compares characters, so "art" is contained in "party". instruct-qa's RecallEM.
    """
    answer, references = case.normalised
    return float(any(reference in answer for reference in references))


def rouge_l(case: Case) -> float:
    """ROUGE-L F: 2PR / (P + R) with P = LCS/|A| and R = LCS/|R|, LCS the longest common subsequence of words.

    0 where a side has no words, also where neither has. Lin 2004; equal to rougeL of the rouge-score package without
    stemming, whose words are runs of a-z and 0-9, articles included; with the `multilingual` normalisation, its words.
    """
    answer, references = case.rouge_words
    return max(f_measure(answer, reference) for reference in references)


def answer_length(case: Case) -> float:
    """Number of words of the answer after normalisation."""
    return float(case.answer.total)


class LexicalMetric(NamedTuple):
    """One row of the table."""

    measure: Callable[[Case], float]
    needs: tuple[Need, ...]
    """What a sample must have beside an answer; without it the value is undefined."""
    meaning: str
    """One line for a reader."""
    unit: Literal["share", "words"] = "share"
    """A share lies in [0, 1], higher is better; words are a count and no judgement."""


METRICS: dict[str, LexicalMetric] = {
    "k_precision": LexicalMetric(
        k_precision, ("contexts",), "share of the answer's words found in the contexts (faithfulness)"
    ),
    "k_precision_best_context": LexicalMetric(
        k_precision_best_context, ("contexts",), "the same against the best single context"
    ),
    "k_precision_no_question": LexicalMetric(
        k_precision_no_question,
        ("question", "contexts"),
        "k_precision of the words that the question did not already have",
    ),
    "token_recall": LexicalMetric(
        token_recall, ("references",), "share of the reference's words found in the answer (correctness)"
    ),
    "token_precision": LexicalMetric(
        token_precision, ("references",), "share of the answer's words found in the reference"
    ),
    "token_f1": LexicalMetric(token_f1, ("references",), "harmonic mean of token precision and recall"),
    "strict_recall": LexicalMetric(strict_recall, ("references",), "1 if every word of the reference is in the answer"),
    "exact_match": LexicalMetric(exact_match, ("references",), "1 if answer and reference are equal once normalised"),
    "contains_reference": LexicalMetric(
        contains_reference, ("references",), "1 if the normalised reference is a part of the answer"
    ),
    "rouge_l": LexicalMetric(rouge_l, ("references",), "F of the longest common subsequence of words (rouge-score)"),
    "answer_length": LexicalMetric(answer_length, (), "words in the answer; recall grows with it", "words"),
}


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of two word lists.

    Bit-parallel: one integer holds a whole row of the usual table, a 0 bit where the row steps up by one
    (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").
    """
    places: defaultdict[str, int] = defaultdict(int)
    for index, word in enumerate(first):
        places[word] |= 1 << index
    every = (1 << len(first)) - 1
    row = every
    for word in second:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & every
    return len(first) - row.bit_count()


def f_measure(answer: Sequence[str], reference: Sequence[str]) -> float:
    """ROUGE-L F (beta 1): harmonic mean of LCS/|answer| and LCS/|reference|; 0 where either is empty, both included.

    Equal to `rougeL` of the rouge-score package, given the same words.
    """
    common = lcs_length(answer, reference)
    if common == 0:
        return 0.0
    precision, recall = common / len(answer), common / len(reference)
    return 2 * precision * recall / (precision + recall)
