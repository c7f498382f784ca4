"""Answer reward: the rating of an answer by a model that was trained on human preferences.

score = sigmoid of the model's single logit for (question, answer), in (0, 1), higher is better,
whatever activation the configuration of the model names. Such models are trained to compare answers
to one question; a mean over questions is meaningful only to compare systems on the same questions.
Source: the metric reward.deberta_v3_large_v2 of unitxt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.networks import Classifier
from claimeval.providers.local.scorer import Answers, ModelResult, Scored, Scorer
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


class SampleReward(Record):
    """The reward of one sample's answer."""

    id: str
    score: float | None
    cut: int = 0
    because: Missing | None = None


class RewardModel(Classifier):
    """A model in memory that rates answers."""

    def rate(self, pairs: Sequence[QuestionAnswerPair]) -> Iterator[tuple[int, Reward]]:
        """Yield the index of each pair and its reward, in the order of computing."""
        texts = [
            (self.tokens.data(question), self.tokens.data(answer)) for question, answer in pairs
        ]
        cuts = [max(length - self.window, 0) for length in self.tokens.pair_lengths(texts)]
        room = self.window - self.tokens.around_a_pair()
        # Only answers are cut: without its end, a question is another question.
        fits = [
            not cut or self.tokens.length(question) < room
            for cut, (question, _) in zip(cuts, texts, strict=True)
        ]
        yield from ((index, Reward(logit=None)) for index, fit in enumerate(fits) if not fit)
        indices = [index for index, fit in enumerate(fits) if fit]
        for number, (logit,) in self.logits([texts[index] for index in indices]):
            yield indices[number], Reward(logit=logit, cut=cuts[indices[number]])


class RewardScorer(Scorer[QuestionAnswerPair, Reward]):
    """A sequence classifier with a single output; its weights are loaded on first use."""

    what = "reward"
    kind = "classifier"
    default_model = MODEL
    result = Reward

    def _ask(self, loaded: Loaded) -> Answers[QuestionAnswerPair, Reward]:
        if (outputs := loaded.config.num_labels) != 1:
            labels = ", ".join(loaded.config.id2label.values())
            raise UsageError(
                f"model {loaded.files.name!r} is no reward model: it has {outputs} outputs"
                f" ({labels}) instead of one"
            )
        return RewardModel(loaded, self._window or loaded.window, self._batch).rate


def measure(
    samples: Iterable[Sample],
    scorer: RewardScorer,
    store: Store | None = None,
    *,
    on_scored: Scored = lambda n: None,
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
        pairs = [
            QuestionAnswerPair(s.question, s.answer or "") for s in block if _missing(s) is None
        ]
        rewards = scorer.results(pairs, store, on_scored)
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
