"""Query likelihood: the likelihood of the question given a retrieved text, by a
sequence-to-sequence model.

score = exp(mean over the question's tokens, end token included, of ln P(token | text, tokens before
it)): the geometric mean of the token probabilities under teacher forcing, in (0, 1], higher is
better. It compares texts for one question and is not a probability of relevance. Sources: query
likelihood, Ponte and Croft 1998; the metric perplexity_q of unitxt, with the same numbers for
flan-t5-small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple

from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.networks import Seq2Seq
from claimeval.providers.local.scorer import Answers, ModelResult, Scored, Scorer
from claimeval.providers.local.tokens import Ids, SourceWindows, Tokenizing, load_prompt
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions, LongTexts
from claimeval.types.records import Record, Sample

MODEL = "google/flan-t5-small"
TOP = (1, 3, 5)
METRICS = (
    "query_likelihood",
    *(f"query_likelihood@{k}" for k in TOP),
    *(f"query_likelihood_best@{k}" for k in TOP[1:]),
)
BLOCK = 512
"""Samples whose texts are sorted into batches of similar length together."""


class QuestionTextPair(NamedTuple):
    """A text, and the question it was retrieved for."""

    text: str
    question: str


class Likelihood(ModelResult):
    """The likelihood of one question given one text."""

    log_probability: float
    """Mean over the tokens of the question."""
    tokens: int
    """Tokens of the question, end token included."""
    cut: int = 0
    """Tokens of the text that the model did not read."""
    windows: int = 1
    """Number of windows in which the text was read."""

    @property
    def score(self) -> float:
        """Return the geometric mean of the token probabilities."""
        return math.exp(self.log_probability)


class TextRelevance(Record):
    """One retrieved text of a sample."""

    id: str
    score: float
    rank: int
    """1 for the text that makes the question most likely; equal scores share the better rank."""
    cut: int
    windows: int


class ContextRelevance(Record):
    """The retrieved texts of a sample, in the order of retrieval."""

    id: str
    texts: tuple[TextRelevance, ...] = ()
    because: Literal["no question", "no contexts"] | None = None

    @property
    def scores(self) -> dict[str, float | None]:
        """The maximum over all texts, and the means of the first k and of the best k texts.

        With fewer than k texts, the mean is over all texts.
        """
        values = [text.score for text in self.texts]
        if not values:
            return dict.fromkeys(METRICS)
        best = sorted(values, reverse=True)
        first_means = [_mean(values[:k]) for k in TOP]
        best_means = [_mean(best[:k]) for k in TOP[1:]]
        return dict(zip(METRICS, (best[0], *first_means, *best_means), strict=True))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


class QuestionScorer(Scorer[QuestionTextPair, Likelihood]):
    """A sequence-to-sequence model with its options; its weights are loaded on first use."""

    what = "perplexity"
    kind = "seq2seq"
    default_model = MODEL
    result = Likelihood

    def __init__(self, options: LocalOptions = LocalOptions()) -> None:
        super().__init__(options)
        self._prompt = load_prompt("question_given_text", options.prompt)
        self.prompt = self._prompt.digest
        self._long_texts: LongTexts = options.long_texts

    @property
    def settings(self) -> dict[str, str]:
        """The settings that affect scores, as text."""
        return {**super().settings, "prompt": self.prompt[:16], "long_texts": self._long_texts}

    def _ask(self, loaded: Loaded) -> Answers[QuestionTextPair, Likelihood]:
        window = self._window or loaded.window
        windows = SourceWindows(loaded.tokens, self._prompt, window, self._long_texts)
        return partial(_likelihoods, loaded.tokens, windows, Seq2Seq(loaded, self._batch))


def _likelihoods(
    tokenizing: Tokenizing,
    windows: SourceWindows,
    model: Seq2Seq,
    pairs: Sequence[QuestionTextPair],
) -> Iterator[tuple[int, Likelihood]]:
    """Yield the index of each pair and its likelihood, in the order of computing; each text is read
    once."""
    questions = list(dict.fromkeys(pair.question for pair in pairs))
    tokens = tokenizing.targets([tokenizing.data(question) for question in questions])
    targets = dict(zip(questions, tokens, strict=True))
    longest = max(map(len, tokens))
    limit = model.longest_target
    if limit and longest > limit:
        raise UsageError(
            f"a question has {longest} tokens; the model can produce {limit}, and questions are"
            " not cut"
        )
    indices: dict[str, list[int]] = {}
    for index, pair in enumerate(pairs):
        indices.setdefault(pair.text, []).append(index)
    distinct = list(indices)
    read_texts = windows.read(distinct)
    reads = dict(zip(distinct, read_texts, strict=True))
    texts: list[str] = []
    sources: list[Ids] = []
    for text, read in reads.items():
        texts.extend([text] * len(read.sources))
        sources.extend(read.sources)
    source_targets = [[targets[pairs[index].question] for index in indices[text]] for text in texts]
    means: dict[str, list[list[float]]] = {text: [] for text in indices}
    for number, values in model.mean_log_probabilities(sources, source_targets):
        text = texts[number]
        means[text].append(values)
        cut = reads[text].cut
        number_read = len(reads[text].sources)
        if len(means[text]) == number_read:
            for index, best in zip(
                indices[text],
                map(max, zip(*means[text], strict=True)),
                strict=True,
            ):
                size = len(targets[pairs[index].question])
                yield (
                    index,
                    Likelihood(log_probability=best, tokens=size, cut=cut, windows=number_read),
                )


def measure(
    samples: Iterable[Sample],
    scorer: QuestionScorer,
    store: Store | None = None,
    *,
    on_scored: Scored = lambda n: None,
) -> Iterator[ContextRelevance]:
    """Yield the relevance of the retrieved texts of each sample, in order. Titles are not read, as
    in unitxt.

    A sample without contexts, or with a blank question, has no scores.

    Args:
        samples: The samples; memory does not grow with their number.
        scorer: The model.
        store: The reply cache, in which results are stored; None to store none.
        on_scored: Called with the number of texts just scored, or read from the reply cache.
    """
    remaining = iter(samples)
    while block := list(islice(remaining, BLOCK)):
        pairs: list[QuestionTextPair] = []
        for sample in block:
            if sample.question.strip():
                texts = sample.contexts or ()
                pairs.extend(QuestionTextPair(text.text, sample.question) for text in texts)
        likelihoods = scorer.results(pairs, store, on_scored)
        yield from (_relevance(sample, likelihoods) for sample in block)


def _relevance(sample: Sample, likelihoods: dict[QuestionTextPair, Likelihood]) -> ContextRelevance:
    if not sample.question.strip():
        return ContextRelevance(id=sample.id, because="no question")
    if not sample.contexts:
        return ContextRelevance(id=sample.id, because="no contexts")
    of_sample = [
        likelihoods[QuestionTextPair(text.text, sample.question)] for text in sample.contexts
    ]
    scores = [likelihood.score for likelihood in of_sample]
    texts = (
        TextRelevance(
            id=text.id,
            score=score,
            rank=1 + sum(other > score for other in scores),
            cut=likelihood.cut,
            windows=likelihood.windows,
        )
        for text, likelihood, score in zip(sample.contexts, of_sample, scores, strict=True)
    )
    return ContextRelevance(id=sample.id, texts=tuple(texts))
