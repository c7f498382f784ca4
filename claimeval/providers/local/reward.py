"""Answer reward: the rating of an answer by a model that was trained on human preferences.

score = sigmoid of the model's single logit for (question, answer), in (0, 1), higher is better. The sigmoid is applied
here, because pipelines of transformers apply one only for some configurations. Such models are trained to compare
answers to one question; a mean over questions is meaningful only to compare systems on the same questions. Source: the
metric reward.deberta_v3_large_v2 of unitxt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.networks import Classifier
from claimeval.providers.local.scorer import Answers, ModelResult, Scored, Scorer, key_of, score_items
from claimeval.providers.local.tokens import Encoded
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from claimeval.types.records import Record, Sample

MODEL = "OpenAssistant/reward-model-deberta-v3-large-v2"
METRIC = "answer_reward"
BLOCK = 4096
"""Answers that are sorted into batches of similar length together."""

Missing = Literal["no question", "no answer", "question too long"]


class QuestionAnswerPair(NamedTuple):
    """A question and the answer to it."""

    question: str
    answer: str


class Reward(ModelResult):
    """The model's logit for one answer."""

    logit: float | None
    """None if the question alone fills the model's window."""
    cut: int = 0
    """Tokens at the end of the answer that the model did not read."""

    @property
    def score(self) -> float | None:
        """Return the sigmoid of the logit."""
        if self.logit is None:
            return None
        return 1 / (1 + math.exp(-self.logit)) if self.logit > -700 else 0.0

    @property
    def finite(self) -> bool:
        """Return whether the logit, if there is one, is a number."""
        return self.logit is None or math.isfinite(self.logit)


class SampleReward(Record):
    """The reward of one sample's answer."""

    id: str
    score: float | None
    cut: int = 0
    because: Missing | None = None


class RewardModel:
    """A model in memory that rates answers."""

    def __init__(self, loaded: Loaded, window: int | None, batch: int) -> None:
        if loaded.config.num_labels != 1:
            labels = ", ".join(loaded.config.id2label.values())
            raise UsageError(
                f"model {loaded.files.name!r} is no reward model: it has {loaded.config.num_labels} outputs "
                f"({labels}) instead of one"
            )
        self._tokens = loaded.tokens
        self._window = window or loaded.window
        self._model = Classifier(loaded, batch)

    def rate(self, pairs: Sequence[QuestionAnswerPair]) -> Iterator[tuple[int, Reward]]:
        """Yield the index of each pair and its reward, in the order of computing."""
        inputs: list[Encoded] = []
        indices: list[int] = []
        cuts: list[int] = []
        for index, pair in enumerate(pairs):
            fitted = self._fit(pair)
            if fitted is None:
                yield index, Reward(logit=None)
                continue
            inputs.append(fitted[0])
            cuts.append(fitted[1])
            indices.append(index)
        for number, (logit,) in self._model.logits(inputs):
            yield indices[number], Reward(logit=logit, cut=cuts[number])

    def _fit(self, pair: QuestionAnswerPair) -> tuple[Encoded, int] | None:
        """Return the pair with as much of the answer as fits the window, and the number of tokens that do not fit."""
        question, answer = self._tokens.data(pair.question), self._tokens.data(pair.answer)
        (whole,) = self._tokens.pairs([question], [answer])
        if len(whole.ids) <= self._window:
            return whole, 0
        cut = self._tokens.cut_pair(question, answer, self._window)
        return cut and (cut, len(whole.ids) - len(cut.ids))


class RewardScorer(Scorer[QuestionAnswerPair, Reward]):
    """A sequence classifier with a single output; its weights are loaded on first use."""

    what = "reward"
    kind = "classifier"
    default_model = MODEL
    result = Reward

    def key(self, item: QuestionAnswerPair) -> str:
        """Return the key of a pair for this model and its settings."""
        return key_of("reward", self.revision, self.setting.dtype, self._window, item.question, item.answer)

    def _ask(self, loaded: Loaded) -> Answers[QuestionAnswerPair, Reward]:
        return RewardModel(loaded, self._window, self._batch).rate


def measure(
    samples: Iterable[Sample], scorer: RewardScorer, store: Store | None = None, *, on_scored: Scored = lambda n: None
) -> Iterator[SampleReward]:
    """Yield the reward of each sample's answer, in order. A blank question or answer has none.

    Args:
        samples: The samples; memory does not grow with their number.
        scorer: The model.
        store: The reply cache, in which results are stored; None to store none.
        on_scored: Called with the number of answers just scored, or read from the reply cache.
    """
    remaining = iter(samples)
    while block := list(islice(remaining, BLOCK)):
        pairs = [QuestionAnswerPair(s.question, s.answer or "") for s in block if _missing(s) is None]
        rewards = score_items(pairs, scorer, store, on_scored)
        for sample in block:
            if missing := _missing(sample):
                yield SampleReward(id=sample.id, score=None, because=missing)
                continue
            reward = rewards[QuestionAnswerPair(sample.question, sample.answer or "")]
            missing = "question too long" if reward.logit is None else None
            yield SampleReward(id=sample.id, score=reward.score, cut=reward.cut, because=missing)


def _missing(sample: Sample) -> Missing | None:
    if not sample.question.strip():
        return "no question"
    return None if sample.answer and sample.answer.strip() else "no answer"
