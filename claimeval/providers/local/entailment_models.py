"""Models that say how likely a claim follows from a text: NLI classifiers, and sequence-to-sequence fact checkers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from claimeval.providers.local.classifier import Classifier
from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.prompts import SourcePrompt
from claimeval.providers.local.seq2seq import Seq2Seq
from claimeval.providers.local.tokenizing import Tokenizing
from claimeval.types.errors import UsageError

SUPPORTED = frozenset({"entailment", "entailed", "entails", "supported", "supports", "support", "consistent"})
CONTRADICTED = frozenset({"contradiction", "contradicted", "contradicts", "refuted", "refutes"})
"""Label names, letters only, by which models call their classes."""


class Entailment(NamedTuple):
    """What a text says of a claim."""

    supported: float
    """The probability that the claim follows from the text."""
    contradicted: float = 0.0
    """The probability that it cannot be true beside the text; 0 where the model does not tell."""


class Premise(NamedTuple):
    """A claim and the text that may support it."""

    text: str
    claim: str


class EntailmentModel(Protocol):
    """A model in memory. It is asked by one thread."""

    tokens: Tokenizing
    window: int

    def overhead(self, claim: str) -> int:
        """Tokens of an input beside those of the text."""
        ...

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """One entailment for each premise."""
        ...


class NliClassifier:
    """A sequence classifier whose labels say which class is which; a single output is the probability of support."""

    def __init__(self, loaded: Loaded, window: int | None, batch: int, labels: Mapping[str, str]) -> None:
        self.tokens = loaded.tokens
        self.window = window or loaded.window
        names: dict[int, str] = loaded.config.id2label
        self._supported, self._contradicted = label_indices(names, labels, loaded.files.name)
        self._single = len(names) == 1
        self._model = Classifier(loaded, batch)

    def overhead(self, claim: str) -> int:
        """The claim and the control tokens of a pair."""
        return self.tokens.lengths([self.tokens.data(claim)])[0] + self.tokens.around_a_pair()

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """Softmax over the labels, or the sigmoid of a single output."""
        inputs = self.tokens.pairs([p.text for p in premises], [self.tokens.data(p.claim) for p in premises])
        found = dict(self._model.logits(inputs))
        return [self._read(found[index]) for index in range(len(premises))]

    def _read(self, logits: Sequence[float]) -> Entailment:
        if self._single:
            return Entailment(softmax([0.0, logits[0]])[1])
        shares = softmax(logits)
        contradicted = 0.0 if self._contradicted is None else shares[self._contradicted]
        return Entailment(shares[self._supported], contradicted)


class FactChecker:
    """A sequence-to-sequence model that answers with one of two words; their first tokens are compared."""

    def __init__(self, loaded: Loaded, window: int | None, batch: int, prompt: SourcePrompt) -> None:
        self.tokens = loaded.tokens
        self.window = window or loaded.window
        self._prompt = prompt
        self._words = answer_tokens(loaded.tokens, prompt, loaded.files.name)
        self._model = Seq2Seq(loaded, batch)

    def overhead(self, claim: str) -> int:
        """The claim and the prompt."""
        return len(self.tokens.ids([self._source("", claim)])[0])

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """P(yes) / (P(yes) + P(no)), as MiniCheck takes it."""
        sources = self.tokens.ids([self._source(premise.text, premise.claim) for premise in premises])
        return [Entailment(softmax(logits)[0]) for logits in self._model.next_token_logits(sources, self._words)]

    def _source(self, text: str, claim: str) -> str:
        values = {"document": text, "claim": self.tokens.data(claim), "separator": self.tokens.end}
        return self._prompt.render(values)


def label_indices(names: Mapping[int, str], given: Mapping[str, str], model: str) -> tuple[int, int | None]:
    """Which label means supported and which, if any, contradicted: by `given`, else by what the labels are called.

    `given` may hold `entailment_label` and `contradiction_label`. UsageError where the names do not tell.
    """
    supported = _index(names, given.get("entailment_label"), SUPPORTED, model)
    contradicted = _index(names, given.get("contradiction_label"), CONTRADICTED, model)
    if supported is None:
        raise UsageError(
            f"the labels of model {model!r} do not say which one means that a claim is supported: "
            f"{', '.join(names.values())}; say it in a judge file, under extra: `entailment_label: {names[max(names)]}`"
        )
    return supported, contradicted


def _index(names: Mapping[int, str], given: str | None, known: frozenset[str], model: str) -> int | None:
    if given is not None:
        found = [index for index, name in names.items() if name == given]
        if not found:
            raise UsageError(f"model {model!r} has no label {given!r}. Its labels: {', '.join(names.values())}")
    else:
        found = [index for index, name in names.items() if re.sub("[^a-z]", "", name.lower()) in known]
    return found[0] if len(found) == 1 else None


def answer_tokens(tokens: Tokenizing, prompt: SourcePrompt, model: str) -> tuple[int, int]:
    """The first tokens of the words for yes and no that the prompt names."""
    words = [prompt.header.get(name) for name in ("supported", "not_supported")]
    if None in words:
        raise UsageError("the prompt of a fact checker names its answers in the header: `supported`, `not_supported`")
    yes, no = (ids[0] for ids in tokens.targets([word for word in words if word]))
    if yes == no:
        raise UsageError(f"model {model!r} writes both answers of its prompt with the same first token")
    return yes, no


def softmax(logits: Sequence[float]) -> list[float]:
    """Shares that add up to 1."""
    top = max(logits)
    weights = [math.exp(logit - top) for logit in logits]
    return [weight / math.fsum(weights) for weight in weights]
