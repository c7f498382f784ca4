"""The lexical metrics: a function for each, the tables of metrics, and the scores and means of many
samples.

A metric reads a `PreparedSample`, whose texts are split once for all metrics. Counts are multiset
counts. With several reference answers, each metric uses its own maximum over them, so precision and
F1 of one sample may come from different references (as in unitxt and instruct-qa).

Sources: the SQuAD evaluation script (Rajpurkar et al. 2016, arXiv:1606.05250) for words, F1 and
exact match; Lin 2004, section 3, for ROUGE-L; Adlakha et al. 2023 (arXiv:2307.16877) and its
program instruct-qa for the rest and for texts without words, where SQuAD 1.1 and unitxt differ:
they give 0 to every pair with an empty side.

The metrics of `OVERLAP_METRICS` are computed by rouge-score and sacrebleu (the extra `lexical`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Literal, NamedTuple

from claimeval.lexical.words import Bag, Bags, Normalization, named
from claimeval.types.errors import UsageError, not_installed, unknown_name

Need = Literal["question", "contexts", "references"]


class Overlap(NamedTuple):
    """Token precision, recall and F1."""

    precision: float
    recall: float
    f1: float


class PreparedSample:
    """The texts of one sample, each of which is split once, when a metric needs it."""

    def __init__(
        self,
        answer: str,
        question: str | None,
        contexts: Sequence[str],
        references: Sequence[str],
        normalization: Normalization,
        bags: Bags,
    ) -> None:
        self.answer_text = answer
        self._question = question
        self._contexts = contexts
        self.reference_texts = references
        self.normalization = normalization
        self._bags = bags
        self.answer = normalization.bag(answer)

    @cached_property
    def new_words(self) -> Bag:
        """The words of the answer that do not occur in the question."""
        question_words = self._bags[self._question or ""].counts
        counts = {
            word: count for word, count in self.answer.counts.items() if word not in question_words
        }
        return Bag(counts, sum(counts.values()))

    @cached_property
    def contexts(self) -> list[Bag]:
        """The words of each context."""
        return [self._bags[text] for text in self._contexts]

    @cached_property
    def overlap(self) -> Overlap:
        """The overlap with the reference answers: the maximum of each number over them."""
        overlaps = [overlap(self.answer, self._bags[text]) for text in self.reference_texts]
        return (
            overlaps[0] if len(overlaps) == 1 else Overlap(*map(max, zip(*overlaps, strict=True)))
        )

    @cached_property
    def normalized(self) -> tuple[str, list[str]]:
        """The normalized answer and reference answers."""
        words = self.normalization.words
        return " ".join(words(self.answer_text)), [
            " ".join(words(text)) for text in self.reference_texts
        ]

    @cached_property
    def rouge_words(self) -> tuple[list[str], list[list[str]]]:
        """The words of the answer and of the reference answers, in order, for ROUGE-L."""
        split = self.normalization.rouge_words
        return split(self.answer_text), [split(text) for text in self.reference_texts]


def overlap_size(first: Bag, second: Bag) -> int:
    """Count the words that two bags share: for each word, the smaller of its two counts."""
    shared = 0
    for word in first.counts.keys() & second.counts.keys():
        in_first = first.counts[word]
        in_second = second.counts[word]
        shared += in_first if in_first < in_second else in_second
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
    """Return the share of the answer's words that are in the joined contexts: |A & K| / |A|.
    Measures faithfulness.

    0 for an answer without words. Adlakha et al. section 5; KPrecision in instruct-qa.
    """
    return _precision(sample.answer, sample.contexts)


def k_precision_best_context(sample: PreparedSample) -> float:
    """Return the highest K-precision against a single context; at most `k_precision`.

    0 for an answer without words. metrics.rag.faithfulness.token_k_precision in unitxt.
    """
    return max((_precision(sample.answer, [context]) for context in sample.contexts), default=0.0)


def k_precision_no_question(sample: PreparedSample) -> float:
    """Return the K-precision of the answer's words that do not occur in the question.

    1 if there are no such words. KPrecisionPlusPlus in instruct-qa.
    """
    return _precision(sample.new_words, sample.contexts) if sample.new_words.total else 1.0


def _precision(answer: Bag, contexts: Sequence[Bag]) -> float:
    return overlap_size_with_sum(answer, contexts) / answer.total if answer.total else 0.0


def token_recall(sample: PreparedSample) -> float:
    """Return the share of the reference's words that are in the answer: |A & R| / |R|; 1 for a
    reference without words.

    Measures correctness. It favors long answers, so compare it with `answer_length`.
    """
    return sample.overlap.recall


def token_precision(sample: PreparedSample) -> float:
    """Return the share of the answer's words that are in the reference: |A & R| / |A|; 0 if the
    answer has no words."""
    return sample.overlap.precision


def token_f1(sample: PreparedSample) -> float:
    """Return 2PR / (P + R) of token precision P and recall R; if a side has no words, 1 if neither
    has, else 0."""
    return sample.overlap.f1


def strict_recall(sample: PreparedSample) -> float:
    """Return 1 if every word of the reference is in the answer, at least as often as in the
    reference, else 0.

    1 for a reference without words. Recall (S) of Adlakha et al.
    """
    return float(sample.overlap.recall == 1)


def exact_match(sample: PreparedSample) -> float:
    """Return 1 if the normalized answer equals the normalized reference, else 0; two texts without
    words are equal."""
    answer, references = sample.normalized
    return float(answer in references)


def contains_reference(sample: PreparedSample) -> float:
    """Return 1 if the normalized reference is a part of the normalized answer, else 0; 1 for a
    reference without words.

    It compares characters, so "party" contains "art". RecallEM in instruct-qa.
    """
    answer, references = sample.normalized
    return float(any(reference in answer for reference in references))


def rouge_l(sample: PreparedSample) -> float:
    """Return ROUGE-L F: 2PR / (P + R) with P = LCS/|A| and R = LCS/|R|, LCS the longest common
    subsequence of words.

    0 if either or both sides have no words. Lin 2004. Equals rougeL of the rouge-score package
    without stemming, whose words are runs of a-z and 0-9, articles included; under `multilingual`,
    words are those of that normalization.
    """
    answer, references = sample.rouge_words
    return max(f_measure(answer, reference) for reference in references)


def answer_length(sample: PreparedSample) -> float:
    """Count the words of the answer after normalization."""
    return float(sample.answer.total)


class LexicalMetric(NamedTuple):
    """A lexical metric."""

    measure: Callable[[PreparedSample], float]
    needs: tuple[Need, ...]
    """Texts besides the answer that a sample must have. Otherwise the value is undefined."""
    meaning: str
    """Description of the metric in one line."""
    unit: Literal["share", "words"] = "share"
    """`share`: in [0, 1], higher is better. `words`: a count, which is neither good nor bad."""


METRICS: dict[str, LexicalMetric] = {
    "k_precision": LexicalMetric(
        k_precision,
        ("contexts",),
        "share of the answer's words found in the contexts (faithfulness)",
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
        token_recall,
        ("references",),
        "share of the reference's words found in the answer (correctness)",
    ),
    "token_precision": LexicalMetric(
        token_precision, ("references",), "share of the answer's words found in the reference"
    ),
    "token_f1": LexicalMetric(
        token_f1, ("references",), "harmonic mean of token precision and recall"
    ),
    "strict_recall": LexicalMetric(
        strict_recall, ("references",), "1 if every word of the reference is in the answer"
    ),
    "exact_match": LexicalMetric(
        exact_match, ("references",), "1 if answer and reference are equal once normalized"
    ),
    "contains_reference": LexicalMetric(
        contains_reference, ("references",), "1 if the normalized reference is a part of the answer"
    ),
    "rouge_l": LexicalMetric(
        rouge_l, ("references",), "F of the longest common subsequence of words (rouge-score)"
    ),
    "answer_length": LexicalMetric(
        answer_length, (), "words in the answer; recall grows with it", "words"
    ),
}


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two word lists.

    Bit-parallel: one integer is a whole row of the usual table, with a 0 bit at each increase by
    one (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").
    """
    positions: defaultdict[str, int] = defaultdict(int)
    for index, word in enumerate(first):
        positions[word] |= 1 << index
    row = all_bits = (1 << len(first)) - 1
    for word in second:
        matches = row & positions.get(word, 0)
        row = ((row + matches) | (row - matches)) & all_bits
    return len(first) - row.bit_count()


def f_measure(answer: Sequence[str], reference: Sequence[str]) -> float:
    """Return ROUGE-L F (beta 1): the harmonic mean of LCS/|answer| and LCS/|reference|; 0 if either
    is empty.

    Equal to `rougeL` of the rouge-score package, given the same words.
    """
    common = lcs_length(answer, reference)
    if common == 0:
        return 0.0
    precision = common / len(answer)
    recall = common / len(reference)
    return 2 * precision * recall / (precision + recall)


def rouge_1(sample: PreparedSample) -> float:
    """Return ROUGE-1 F: the harmonic mean of the shares of common words in answer and reference.

    Words are stemmed (Porter). 0 if a side has no words. Lin 2004; `rouge1` of rouge-score.
    """
    return _rouge("rouge1", sample)


def rouge_2(sample: PreparedSample) -> float:
    """Return ROUGE-2 F: like ROUGE-1, for pairs of neighboring words. 0 if a side has fewer than
    two words."""
    return _rouge("rouge2", sample)


def rouge_lsum(sample: PreparedSample) -> float:
    """Return ROUGE-Lsum F, from the longest common subsequences of each line with all lines of the
    other text.

    Words are stemmed. rouge-score treats lines as sentences; for texts of one line this is ROUGE-L
    with stemming. 0 if a side has no words. `rougeLsum` of rouge-score.
    """
    return _rouge("rougeLsum", sample)


def bleu(sample: PreparedSample) -> float:
    """Return sentence BLEU, 0 to 1: the geometric mean of the precisions of 1 to 4 words, times a
    brevity penalty.

    It uses all references together. Zero counts are smoothed (`exp`), and orders above the answer's
    length do not count, as sacrebleu recommends for single texts. The mean over samples is not
    corpus BLEU. 0 if the answer has no words. Papineni et al. 2002; sacrebleu's `sentence_bleu`,
    divided by 100.
    """
    texts = [sample.answer_text, *sample.reference_texts]
    if words := _words(sample):
        texts = [" ".join(words(text)) for text in texts]
    return _share(
        _sacrebleu("BLEU", effective_order=True, tokenize="none" if words else "13a"), texts
    )


def chrf(sample: PreparedSample) -> float:
    """Return chrF, 0 to 1: F with beta 2 over character n-grams of length 1 to 6, for any language
    and normalization.

    The best reference counts. 0 if a side is blank. Popović 2015; sacrebleu's `sentence_chrf`,
    divided by 100.
    """
    return _share(_sacrebleu("CHRF"), [sample.answer_text, *sample.reference_texts])


class Library(NamedTuple):
    """A package that computes metrics."""

    package: str
    module: str


ROUGE = Library("rouge-score", "rouge_score.rouge_scorer")
SACREBLEU = Library("sacrebleu", "sacrebleu.metrics")
OVERLAP_METRICS: dict[str, LexicalMetric] = {
    "rouge_1": LexicalMetric(rouge_1, ("references",), "F of words, stemmed (rouge-score)"),
    "rouge_2": LexicalMetric(
        rouge_2, ("references",), "F of pairs of words, stemmed (rouge-score)"
    ),
    "rouge_lsum": LexicalMetric(
        rouge_lsum, ("references",), "F of common subsequences by lines, stemmed (rouge-score)"
    ),
    "bleu": LexicalMetric(bleu, ("references",), "BLEU of one answer, smoothed (sacrebleu)"),
    "chrf": LexicalMetric(chrf, ("references",), "F of character sequences (sacrebleu)"),
}
_LIBRARY_OF = {name: ROUGE if name.startswith("rouge") else SACREBLEU for name in OVERLAP_METRICS}


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that these metrics need. Raises UsageError if one is not
    installed."""
    from importlib.metadata import version

    versions: dict[str, str] = {}
    for name in names:
        if name in _LIBRARY_OF:
            library = _LIBRARY_OF[name]
            _load(library)
            versions[library.package] = version(library.package)
    return versions


@cache
def _load(library: Library) -> Any:
    try:
        return import_module(library.module)
    except ImportError as error:
        names = ", ".join(name for name, requires in _LIBRARY_OF.items() if requires == library)
        raise not_installed(f"{names} need {library.package}", "lexical") from error


class _Tokenizer:
    """The tokenizer interface of rouge-score."""

    def __init__(self, words: Callable[[str], list[str]]) -> None:
        self.tokenize = words


def _rouge(kind: str, sample: PreparedSample) -> float:
    scorer = _rouge_scorer(kind, _words(sample))
    return float(scorer.score_multi(sample.reference_texts, sample.answer_text)[kind].fmeasure)


@cache
def _rouge_scorer(kind: str, words: Callable[[str], list[str]] | None) -> Any:
    tokenizer = _Tokenizer(words) if words else None
    return _load(ROUGE).RougeScorer([kind], use_stemmer=True, tokenizer=tokenizer)


@cache
def _sacrebleu(name: str, **settings: object) -> Any:
    return getattr(_load(SACREBLEU), name)(**settings)


def _share(metric: Any, texts: Sequence[str]) -> float:
    return min(float(metric.sentence_score(texts[0], texts[1:]).score) / 100, 1.0)


def _words(sample: PreparedSample) -> Callable[[str], list[str]] | None:
    """Return the normalization's function for words if ROUGE-L uses it too; None for the library's
    words."""
    normalization = sample.normalization
    return None if normalization.rouge_split else normalization.words


Undefined = Literal["no answer", "no question", "no contexts", "no reference answers"]
ALL_METRICS = METRICS | OVERLAP_METRICS
_ABSENT: dict[Need, Undefined] = {
    "question": "no question",
    "contexts": "no contexts",
    "references": "no reference answers",
}


class LexicalSample(NamedTuple):
    """The texts of one sample."""

    answer: str | None
    """None if there is no answer. An empty text is an answer without words."""
    question: str | None = None
    contexts: Sequence[str] | None = None
    """Empty if nothing was retrieved; None if this is unknown."""
    references: Sequence[str] = ()
    """Reference answers. An empty text means that the system should not have answered."""
    id: str = ""


class LexicalScores(NamedTuple):
    """The scores of one sample."""

    id: str
    scores: dict[str, float | None]
    """By metric, in the order requested; None if undefined."""
    undefined: dict[str, Undefined]
    """Why, for each metric that is None."""


class LexicalMean(NamedTuple):
    """One metric over many samples."""

    mean: float | None
    """Mean over the samples with a value; None if there are none."""
    n: int
    """Number of samples with a value."""
    missing: dict[Undefined, int]
    """Number of samples without a value, by reason."""
    bounds: tuple[float, float] | None
    """The mean if all missing values were 0, and if all were 1; None for `answer_length`, which has
    no maximum."""


def score(
    samples: Iterable[LexicalSample],
    metrics: Iterable[str] = METRICS,
    *,
    normalization: str = "squad",
) -> Iterator[LexicalScores]:
    """Score every sample, in order, one at a time.

    A text that occurs again (a context that several answers share) is not split again. Memory does
    not grow with the number of samples. `answer_length` is always among the scores, last if not
    requested: recall says little without it.

    >>> sample = LexicalSample("It is Paris.", references=["Paris"])
    >>> [row] = score([sample], ["token_recall", "token_precision"])
    >>> row.scores
    {'token_recall': 1.0, 'token_precision': 0.3333333333333333, 'answer_length': 3.0}

    Args:
        samples: The samples, read lazily.
        metrics: Names of `METRICS` (all by default) or of `OVERLAP_METRICS`.
        normalization: `squad` or `multilingual`; see `words`.

    Raises:
        UsageError: If a name is unknown or its library is not installed (at once), or a text is not
            a string (when its sample is reached).
    """
    names = list(
        dict.fromkeys([*([metrics] if isinstance(metrics, str) else metrics), "answer_length"])
    )
    for name in names:
        if name not in ALL_METRICS:
            raise unknown_name("lexical metric", name, ALL_METRICS)
    versions_of(names)
    return _rows(samples, {name: ALL_METRICS[name] for name in names}, named(normalization))


def score_one(
    answer: str | None,
    *,
    question: str | None = None,
    contexts: Sequence[str] | None = None,
    references: Sequence[str] = (),
    metrics: Iterable[str] = METRICS,
    normalization: str = "squad",
) -> dict[str, float | None]:
    """Score one sample: the value of each metric, None if the sample lacks what the metric needs.

    >>> score_one("It is Paris.", references=["Paris", "City of Paris"], metrics=["strict_recall"])
    {'strict_recall': 1.0, 'answer_length': 3.0}

    Args:
        answer: The answer; None if the system gave none. An empty text is an answer without words.
        question: The question.
        contexts: The retrieved texts; empty if nothing was retrieved, None if that is unknown.
        references: Reference answers; the best one counts.
        metrics: Names of `METRICS` (all by default) or of `OVERLAP_METRICS`.
        normalization: `squad` or `multilingual`; see `words`.

    Returns:
        Metric to value, with `answer_length` last if not requested.

    Raises:
        UsageError: If a name is unknown, its library is not installed, or a text is not a string.
    """
    [row] = score(
        [LexicalSample(answer, question, contexts, references)],
        metrics,
        normalization=normalization,
    )
    return row.scores


def summarize(rows: Iterable[LexicalScores]) -> dict[str, LexicalMean]:
    """Return the mean of every metric, with the missing values and the bounds that they imply.
    Empty without rows."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    missing: defaultdict[str, Counter[Undefined]] = defaultdict(Counter)
    for row in rows:
        for name, value in row.scores.items():
            if value is None:
                missing[name][row.undefined[name]] += 1
            else:
                values[name].append(value)
    names = [name for name in ALL_METRICS if name in values or name in missing]
    return {name: _mean(name, values[name], missing[name]) for name in names}


def _mean(name: str, values: list[float], missing: Counter[Undefined]) -> LexicalMean:
    n = len(values)
    total = math.fsum(values)
    absent = missing.total()
    return LexicalMean(
        mean=total / n if n else None,
        n=n,
        missing=dict(missing),
        bounds=(
            (total / (n + absent), (total + absent) / (n + absent))
            if ALL_METRICS[name].unit == "share"
            else None
        ),
    )


def _rows(
    samples: Iterable[LexicalSample],
    metrics: dict[str, LexicalMetric],
    normalization: Normalization,
) -> Iterator[LexicalScores]:
    bags = Bags(normalization)
    needs = [
        (need, reason, [name for name in metrics if need in metrics[name].needs])
        for need, reason in _ABSENT.items()
    ]
    for number, texts in enumerate(samples, start=1):
        _check(texts, number)
        if texts.answer is None:
            yield LexicalScores(
                texts.id, dict.fromkeys(metrics), dict.fromkeys(metrics, "no answer")
            )
            continue
        absent = {
            "question": not texts.question,
            "contexts": texts.contexts is None,
            "references": not texts.references,
        }
        undefined: dict[str, Undefined] = {}
        for need, reason, names in needs:
            if absent[need]:
                undefined |= dict.fromkeys(names, reason)
        prepared = PreparedSample(
            texts.answer,
            texts.question,
            texts.contexts or (),
            texts.references,
            normalization,
            bags,
        )
        scores = {
            name: None if name in undefined else metric.measure(prepared)
            for name, metric in metrics.items()
        }
        yield LexicalScores(texts.id, scores, undefined)


def _check(texts: LexicalSample, number: int) -> None:
    single: list[object] = [text for text in (texts.answer, texts.question) if text is not None]
    for field, several in (("contexts", texts.contexts or ()), ("references", texts.references)):
        if isinstance(several, str):
            raise UsageError(
                f"sample {number} {texts.id!r}: {field} is one text, {several[:40]!r}; expected a"
                " list of texts"
            )
        single.extend(several)
    for text in single:
        if not isinstance(text, str):
            raise UsageError(
                f"sample {number} {texts.id!r}: {text!r} is a {type(text).__name__}, expected a"
                " text (None for a missing answer or question)"
            )
