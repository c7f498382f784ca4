"""The lexical metrics: one function each, and the table of them.

A metric reads a `PreparedSample`, whose texts are split once and shared by all metrics. Counts are multiset counts.
With several reference answers each metric takes its own maximum over them, so precision and F1 of one sample
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

from claimeval.lexical.words import Bag, Bags, Normalization

Need = Literal["question", "contexts", "references"]


class Overlap(NamedTuple):
    """Token precision, recall and F1; see the token metrics below."""

    precision: float
    recall: float
    f1: float


class PreparedSample:
    """One sample as the metrics see it: every text is split when first needed, and once."""

    def __init__(
        self,
        answer: str,
        question: str | None,
        contexts: Sequence[str],
        references: Sequence[str],
        normalization: Normalization,
        bags: Bags,
    ) -> None:
        self._answer, self._question = answer, question
        self._contexts, self._references = contexts, references
        self._normalization, self._bags = normalization, bags
        self.answer = normalization.bag(answer)

    @cached_property
    def new_words(self) -> Bag:
        """Return the words of the answer that do not occur in the question."""
        question_words = self._bags[self._question or ""].counts
        counts = {word: count for word, count in self.answer.counts.items() if word not in question_words}
        return Bag(counts, sum(counts.values()))

    @cached_property
    def contexts(self) -> list[Bag]:
        """Return the words of each context."""
        return [self._bags[text] for text in self._contexts]

    @cached_property
    def overlap(self) -> Overlap:
        """Return the overlap with the reference answers: of each number, the highest that any of them gives."""
        overlaps = [overlap(self.answer, self._bags[text]) for text in self._references]
        return overlaps[0] if len(overlaps) == 1 else Overlap(*map(max, zip(*overlaps, strict=True)))

    @cached_property
    def normalized(self) -> tuple[str, list[str]]:
        """Return the normalized answer and reference answers."""
        answer, *references = (" ".join(self._normalization.words(text)) for text in (self._answer, *self._references))
        return answer, references

    @cached_property
    def rouge_words(self) -> tuple[list[str], list[list[str]]]:
        """Return the words of the answer and of the reference answers, in order, as ROUGE-L compares them."""
        split = self._normalization.rouge_words
        return split(self._answer), [split(text) for text in self._references]


def overlap_size(first: Bag, second: Bag) -> int:
    """Count the words that two bags share: for each word, the smaller of its two counts."""
    shared = 0
    for word in first.counts.keys() & second.counts.keys():
        one, other = first.counts[word], second.counts[word]
        shared += one if one < other else other
    return shared


def overlap(answer: Bag, reference: Bag) -> Overlap:
    """Return token precision, recall and F1 of an answer against one reference."""
    shared = overlap_size(answer, reference)
    precision = shared / answer.total if answer.total else 0.0
    recall = shared / reference.total if reference.total else 1.0
    if shared == 0:
        return Overlap(precision, recall, float(answer.total == reference.total == 0))
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall))


def overlap_size_with_sum(answer: Bag, bags: Sequence[Bag]) -> int:
    """Count the words that a bag shares with the sum of others."""
    if len(bags) == 1:
        return overlap_size(answer, bags[0])
    lookups = [bag.counts.get for bag in bags]
    shared = 0
    for word, count_in_answer in answer.counts.items():
        total = 0
        for count in lookups:
            total += count(word, 0)
            if total >= count_in_answer:
                total = count_in_answer
                break
        shared += total
    return shared


def k_precision(sample: PreparedSample) -> float:
    """Return the share of the answer's words that are in the contexts, joined to one text: |A & K| / |A|.

    0 for an answer without words. Adlakha et al. section 5; this is instruct-qa's KPrecision. Faithfulness.
    """
    return _precision(sample.answer, sample.contexts)


def k_precision_best_context(sample: PreparedSample) -> float:
    """Return the best K-precision against a single context: at most `k_precision`, equal with one context.

    0 for an answer without words. unitxt's metrics.rag.faithfulness.token_k_precision.
    """
    return max((_precision(sample.answer, [context]) for context in sample.contexts), default=0.0)


def k_precision_no_question(sample: PreparedSample) -> float:
    """Return the K-precision of only those words of the answer that do not occur in the question.

    1 if no word is left, so also for an answer without words. instruct-qa's KPrecisionPlusPlus.
    """
    return _precision(sample.new_words, sample.contexts) if sample.new_words.total else 1.0


def _precision(answer: Bag, contexts: Sequence[Bag]) -> float:
    return overlap_size_with_sum(answer, contexts) / answer.total if answer.total else 0.0


def token_recall(sample: PreparedSample) -> float:
    """Return the share of the reference's words that are in the answer: |A & R| / |R|; 1 for a reference without words.

    Correctness. It can only grow when the answer grows, so read it with `answer_length`.
    """
    return sample.overlap.recall


def token_precision(sample: PreparedSample) -> float:
    """Return the share of the answer's words that are in the reference: |A & R| / |A|; 0 if the answer has no words."""
    return sample.overlap.precision


def token_f1(sample: PreparedSample) -> float:
    """Return 2PR / (P + R) of token precision P and recall R; if a side has no words, 1 if neither has, else 0."""
    return sample.overlap.f1


def strict_recall(sample: PreparedSample) -> float:
    """Return 1 if every word of the reference is in the answer, as often as in the reference, else 0.

    1 for a reference without words. Recall (S) of Adlakha et al.
    """
    return float(sample.overlap.recall == 1)


def exact_match(sample: PreparedSample) -> float:
    """Return 1 if the normalized answer equals the normalized reference, else 0; two texts without words are equal."""
    answer, references = sample.normalized
    return float(answer in references)


def contains_reference(sample: PreparedSample) -> float:
    """Return 1 if the normalized reference is a part of the normalized answer, else 0; 1 for a reference without words.

    It compares characters, so "art" is contained in "party". instruct-qa's RecallEM.
    """
    answer, references = sample.normalized
    return float(any(reference in answer for reference in references))


def rouge_l(sample: PreparedSample) -> float:
    """Return ROUGE-L F: 2PR / (P + R) with P = LCS/|A| and R = LCS/|R|, LCS the longest common subsequence of words.

    0 if a side has no words, also if neither has. Lin 2004; equal to rougeL of the rouge-score package without
    stemming, whose words are runs of a-z and 0-9, articles included; with the `multilingual` normalization, its words.
    """
    answer, references = sample.rouge_words
    return max(f_measure(answer, reference) for reference in references)


def answer_length(sample: PreparedSample) -> float:
    """Count the words of the answer after normalization."""
    return float(sample.answer.total)


class LexicalMetric(NamedTuple):
    """One row of the table of metrics."""

    measure: Callable[[PreparedSample], float]
    needs: tuple[Need, ...]
    """What a sample must have next to an answer; without it the value is undefined."""
    meaning: str
    """One line for a reader."""
    unit: Literal["share", "words"] = "share"
    """A share lies in [0, 1], higher is better; words are a count and no judgment."""


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
    "exact_match": LexicalMetric(exact_match, ("references",), "1 if answer and reference are equal once normalized"),
    "contains_reference": LexicalMetric(
        contains_reference, ("references",), "1 if the normalized reference is a part of the answer"
    ),
    "rouge_l": LexicalMetric(rouge_l, ("references",), "F of the longest common subsequence of words (rouge-score)"),
    "answer_length": LexicalMetric(answer_length, (), "words in the answer; recall grows with it", "words"),
}


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two word lists.

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
    """Return ROUGE-L F (beta 1): the harmonic mean of LCS/|answer| and LCS/|reference|; 0 if either is empty.

    Equal to `rougeL` of the rouge-score package, given the same words.
    """
    common = lcs_length(answer, reference)
    if common == 0:
        return 0.0
    precision, recall = common / len(answer), common / len(reference)
    return 2 * precision * recall / (precision + recall)
