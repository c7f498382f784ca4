"""Query likelihood: the likelihood of the question given a retrieved text, by a sequence-to-sequence model.

score = exp(mean over the question's tokens, end token included, of ln P(token | text, tokens before it)): the geometric
mean of the token probabilities under teacher forcing, in (0, 1], higher is better. It compares texts for one question
and is not a probability of relevance. Sources: query likelihood, Ponte and Croft 1998; the metric perplexity_q of
unitxt, with the same numbers for flan-t5-small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.networks import Seq2Seq
from claimeval.providers.local.scorer import Answers, ModelResult, Scored, Scorer, key_of, score_items
from claimeval.providers.local.tokens import ReadText, SourcePrompt, SourceWindows, load_prompt
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
BLOCK = 4096
"""Texts that are sorted into batches of similar length together."""


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

    @property
    def finite(self) -> bool:
        """Return whether the mean is a number."""
        return math.isfinite(self.log_probability)


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
        means = (
            math.fsum(ordered[:k]) / len(ordered[:k])
            for ordered, numbers in ((values, TOP), (best, TOP[1:]))
            for k in numbers
        )
        return dict(zip(METRICS, (best[0], *means), strict=True))


class QuestionModel:
    """A model in memory that computes how likely questions are."""

    def __init__(
        self, loaded: Loaded, prompt: SourcePrompt, window: int | None, long_texts: LongTexts, batch: int
    ) -> None:
        self._tokens = loaded.tokens
        self._windows = SourceWindows(loaded.tokens, prompt, window or loaded.window, long_texts)
        self._model = Seq2Seq(loaded, batch)

    def score(self, pairs: Sequence[QuestionTextPair]) -> Iterator[tuple[int, Likelihood]]:
        """Yield the index of each pair and its likelihood, in the order of computing; each text is read once."""
        indices_by_text: dict[str, list[int]] = {}
        for index, pair in enumerate(pairs):
            indices_by_text.setdefault(pair.text, []).append(index)
        questions = list(dict.fromkeys(pair.question for pair in pairs))
        tokens = self._tokens.targets([self._tokens.data(question) for question in questions])
        targets = dict(zip(questions, tokens, strict=True))
        longest, limit = max(map(len, tokens)), self._model.longest_target
        if limit and longest > limit:
            raise UsageError(
                f"a question has {longest} tokens; the model can produce {limit}, and questions are not cut"
            )
        texts = [_TextProgress(self._windows.read(text), indices) for text, indices in indices_by_text.items()]
        sources = [(text, source) for text in texts for source in text.read.sources]
        source_targets = [[targets[pairs[index].question] for index in text.indices] for text, _ in sources]
        for number, means in self._model.mean_log_probabilities([source for _, source in sources], source_targets):
            text = sources[number][0]
            text.means.append(means)
            if len(text.means) == len(text.read.sources):
                best = map(max, zip(*text.means, strict=True))
                for index, value in zip(text.indices, best, strict=True):
                    length = len(targets[pairs[index].question])
                    yield (
                        index,
                        Likelihood(log_probability=value, tokens=length, cut=text.read.cut, windows=len(text.means)),
                    )


class _TextProgress:
    """A text that is being scored: its sources, the indices of its pairs, and the means of each window so far."""

    def __init__(self, read: ReadText, indices: list[int]) -> None:
        self.read = read
        self.indices = indices
        self.means: list[list[float]] = []


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

    def key(self, item: QuestionTextPair) -> str:
        """Return the key of a pair for this model and its settings."""
        settings = (self.setting.dtype, self.prompt, self._window, self._long_texts)
        return key_of("perplexity", self.revision, *settings, item.text, item.question)

    def _ask(self, loaded: Loaded) -> Answers[QuestionTextPair, Likelihood]:
        return QuestionModel(loaded, self._prompt, self._window, self._long_texts, self._batch).score


def measure(
    samples: Iterable[Sample], scorer: QuestionScorer, store: Store | None = None, *, on_scored: Scored = lambda n: None
) -> Iterator[ContextRelevance]:
    """Yield the relevance of the retrieved texts of each sample, in order. Titles are not read, as in unitxt.

    A sample without contexts, or with a blank question, has no scores.

    Args:
        samples: The samples; memory does not grow with their number.
        scorer: The model.
        store: The reply cache, in which results are stored; None to store none.
        on_scored: Called with the number of texts just scored, or read from the reply cache.
    """
    for block in _blocks(samples):
        pairs = [
            QuestionTextPair(text.text, s.question) for s in block if s.question.strip() for text in s.contexts or ()
        ]
        likelihoods = score_items(pairs, scorer, store, on_scored)
        yield from (_relevance(sample, likelihoods) for sample in block)


def _blocks(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    block: list[Sample] = []
    size = 0
    for sample in samples:
        block.append(sample)
        size += len(sample.contexts or ())
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _relevance(sample: Sample, likelihoods: dict[QuestionTextPair, Likelihood]) -> ContextRelevance:
    if not sample.question.strip():
        return ContextRelevance(id=sample.id, because="no question")
    if not sample.contexts:
        return ContextRelevance(id=sample.id, because="no contexts")
    of_sample = [likelihoods[QuestionTextPair(text.text, sample.question)] for text in sample.contexts]
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
