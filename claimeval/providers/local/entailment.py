"""`local:nli=MODEL`: judge claims with a model on this machine that computes whether a text entails a claim.

Models are NLI classifiers or sequence-to-sequence fact checkers. Each claim is compared with every piece of the
evidence; the highest probability is its support. A claim that no single piece supports is compared with the best
sentences of all pieces together. A probability above 0.5 means supported; otherwise, a probability of contradiction
above 0.5 means contradicted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Literal, NamedTuple, Protocol, Self

from pydantic import JsonValue

from claimeval.providers.local.loading import (
    DTYPES,
    DeviceSettings,
    Loaded,
    ModelFiles,
    batch_tokens,
    choose,
    config_of,
    describe,
    kind_of,
    load,
    locate,
    reduce,
)
from claimeval.providers.local.networks import Classifier, MicroBatcher, Seq2Seq
from claimeval.providers.local.tokens import Chunk, EvidenceChunks, SourcePrompt, Tokenizing, load_prompt
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Claim, Document

SUPPORTED = frozenset({"entailment", "entailed", "entails", "supported", "supports", "support", "consistent"})
CONTRADICTED = frozenset({"contradiction", "contradicted", "contradicts", "refuted", "refutes"})
"""Names of the classes of models, letters only."""


class Entailment(NamedTuple):
    """The probabilities of a claim given a text."""

    supported: float
    """The probability that the claim follows from the text."""
    contradicted: float = 0.0
    """The probability that the claim contradicts the text; 0 if the model does not compute it."""


class Premise(NamedTuple):
    """A claim and the text that may support it."""

    text: str
    claim: str


class EntailmentModel(Protocol):
    """A model in memory, used by one thread."""

    tokens: Tokenizing
    window: int

    def overhead(self, claim: str) -> int:
        """Count the tokens of an input that are not of the text."""

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """Return one entailment for each premise."""


class NliClassifier:
    """A sequence classifier whose labels name its classes; a single output is the probability of support."""

    def __init__(self, loaded: Loaded, window: int | None, batch: int, labels: Mapping[str, str]) -> None:
        self.tokens = loaded.tokens
        self.window = window or loaded.window
        names: dict[int, str] = loaded.config.id2label
        self._supported, self._contradicted = label_indices(names, labels, loaded.files.name)
        self._single = len(names) == 1
        self._model = Classifier(loaded, batch)

    def overhead(self, claim: str) -> int:
        """Count the tokens of the claim and the control tokens of a pair."""
        return self.tokens.lengths([self.tokens.data(claim)])[0] + self.tokens.around_a_pair()

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """Return the softmax over the labels, or the sigmoid of a single output."""
        inputs = self.tokens.pairs([p.text for p in premises], [self.tokens.data(p.claim) for p in premises])
        logits = dict(self._model.logits(inputs))
        return [self._read(logits[index]) for index in range(len(premises))]

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
        """Count the tokens of the claim and the prompt."""
        return len(self.tokens.ids([self._source("", claim)])[0])

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """Return P(yes) / (P(yes) + P(no)), as in MiniCheck."""
        sources = self.tokens.ids([self._source(premise.text, premise.claim) for premise in premises])
        return [Entailment(softmax(logits)[0]) for logits in self._model.next_token_logits(sources, self._words)]

    def _source(self, text: str, claim: str) -> str:
        values = {"document": text, "claim": self.tokens.data(claim), "separator": self.tokens.end}
        return self._prompt.render(values)


def label_indices(names: Mapping[int, str], settings: Mapping[str, str], model: str) -> tuple[int, int | None]:
    """Return the labels that mean supported and, if any, contradicted: by `settings`, else by the labels' names.

    `settings` may hold `entailment_label` and `contradiction_label`. Raises UsageError if the names do not tell.
    """
    supported = _index(names, settings.get("entailment_label"), SUPPORTED, model)
    contradicted = _index(names, settings.get("contradiction_label"), CONTRADICTED, model)
    if supported is None:
        raise UsageError(
            f"the labels of model {model!r} do not say which one means that a claim is supported: "
            f"{', '.join(names.values())}; say it in a judge file, under extra: `entailment_label: {names[max(names)]}`"
        )
    return supported, contradicted


def _index(names: Mapping[int, str], chosen: str | None, usual_names: frozenset[str], model: str) -> int | None:
    if chosen is not None:
        matches = [index for index, name in names.items() if name == chosen]
        if not matches:
            raise UsageError(f"model {model!r} has no label {chosen!r}. Its labels: {', '.join(names.values())}")
    else:
        matches = [index for index, name in names.items() if re.sub("[^a-z]", "", name.lower()) in usual_names]
    return matches[0] if len(matches) == 1 else None


def answer_tokens(tokens: Tokenizing, prompt: SourcePrompt, model: str) -> tuple[int, int]:
    """Return the first tokens of the words for yes and no that the prompt names."""
    words = [prompt.header.get(name) for name in ("supported", "not_supported")]
    if None in words:
        raise UsageError(
            "the prompt of a fact checker must name its answers in the header: `supported`, `not_supported`"
        )
    yes, no = (ids[0] for ids in tokens.targets([word for word in words if word]))
    if yes == no:
        raise UsageError(f"model {model!r} writes both answers of its prompt with the same first token")
    return yes, no


def softmax(logits: Sequence[float]) -> list[float]:
    """Return shares that add up to 1, in proportion to the exponentials of the logits."""
    top = max(logits)
    weights = [math.exp(logit - top) for logit in logits]
    return [weight / math.fsum(weights) for weight in weights]


ENGINE = "nli-v1"
THRESHOLD = 0.5
"""Probability above which evidence supports or contradicts a claim, as in MiniCheck."""
CLAIM_SHARE = 4
"""A quarter of the window is reserved for the claim, so that evidence is cut equally for all but long claims."""
LEAST_ROOM = 32
"""Minimum tokens of evidence that must fit next to a claim."""
TOGETHER = {"cpu": 32, "mps": 64, "cuda": 512}
"""Pieces of evidence that are computed in one call of the model."""
SETTINGS = ("batch", "contradiction_label", "device", "dtype", "entailment_label", "prompt", "revision", "window")


class EntailmentSettings(NamedTuple):
    """The settings of one judge and the files of its model."""

    files: ModelFiles
    device: str
    dtype: str
    prompt: SourcePrompt | None
    """Only for sequence-to-sequence models."""
    window: int | None
    batch: int | None
    labels: Mapping[str, str]

    @property
    def version(self) -> str:
        """Return a name that changes when answers can change: engine, model files, precision, prompt."""
        prompt = f"/{self.prompt.digest[:16]}" if self.prompt else ""
        return f"{ENGINE}/{self.files.revision}/{self.dtype}{prompt}"

    def describe_device(self) -> str:
        """Describe device and precision."""
        return describe(choose(self.device, self.dtype))


class EntailmentResult(NamedTuple):
    """The label of a claim and what it is based on."""

    label: Literal["supported", "contradicted", "not_found"] | None
    """None if the claim does not fit the model's window."""
    probability: float | None
    """Probability of support."""
    documents: tuple[int, ...]
    """Indices of the decisive documents."""
    reason: str


def load_settings(model: str, extra: Mapping[str, JsonValue]) -> EntailmentSettings:
    """Return the settings of a judge. Locates the model's files and reads its configuration, but not its weights.

    Raises UsageError for an unknown setting, a missing model, or a model whose labels have unknown names.
    """
    for name in extra:
        if name not in SETTINGS:
            raise unknown_name(f"setting of local:nli={model}:", name, SETTINGS)
    text = {name: str(value) for name, value in extra.items()}
    numbers = {name: _whole(name, extra[name]) for name in ("window", "batch") if name in extra}
    dtype = text.get("dtype", "float32")
    if dtype not in DTYPES:
        raise unknown_name("precision", dtype, DTYPES)
    files = locate(model, text.get("revision"))
    config = config_of(files)
    labels = {name: value for name, value in text.items() if name.endswith("_label")}
    if kind_of(config) == "seq2seq":
        prompt = load_prompt("claim_given_document", text.get("prompt"))
    else:
        prompt = None
        label_indices(config.id2label, labels, model)
    return EntailmentSettings(
        files, text.get("device", "auto"), dtype, prompt, numbers.get("window"), numbers.get("batch"), labels
    )


def _whole(name: str, value: JsonValue) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{name}: {value!r} is not a whole number of tokens")
    return value


class EntailmentJudge:
    """Assesses claims of many samples together; the weights are loaded on first use."""

    def __init__(self, settings: EntailmentSettings) -> None:
        self._settings = settings
        self._setting = choose(settings.device, settings.dtype)
        together = TOGETHER[self._setting.device.partition(":")[0]]
        self._batches: MicroBatcher[Premise, Entailment] = MicroBatcher(self._probabilities, together)

    def __enter__(self) -> Self:
        self._batches.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._batches.__exit__(*exception)

    @property
    def device(self) -> str:
        """The device of the model."""
        return self._setting.device

    async def assess(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[EntailmentResult]:
        """Assess each claim against the documents."""
        texts = [claim.text for claim in claims]
        rooms = await self._batches.run(lambda: [self._room(text) for text in texts])
        chunks = await self._batches.run(lambda: [self._chunks(room, documents) for room in rooms])
        single = await self._ask(texts, chunks)
        joined = await self._ask(
            texts, await self._batches.run(lambda: list(map(self._joined, texts, rooms, single, repeat(documents))))
        )
        return [_finding(*column) for column in zip(rooms, single, joined, strict=True)]

    async def _ask(self, claims: Sequence[str], chunks: Sequence[Sequence[Chunk]]) -> list[list[ChunkFinding]]:
        premises = [
            Premise(chunk.text, claim) for claim, pieces in zip(claims, chunks, strict=True) for chunk in pieces
        ]
        results = iter(await self._batches.ask(premises))
        return [[ChunkFinding(chunk, next(results)) for chunk in pieces] for pieces in chunks]

    def _room(self, claim: str) -> int:
        return self._model.window - max(self._model.overhead(claim), self._model.window // CLAIM_SHARE)

    def _chunks(self, room: int, documents: Sequence[Document]) -> list[Chunk]:
        return self._evidence.chunks(documents, room) if room >= LEAST_ROOM else []

    def _joined(
        self, claim: str, room: int, single: Sequence[ChunkFinding], documents: Sequence[Document]
    ) -> Sequence[Chunk]:
        """Return the best sentences together, if there are several pieces and none of them supports the claim."""
        if len(single) < 2 or max(piece.result.supported for piece in single) > THRESHOLD:
            return ()
        chunk = self._evidence.joined(claim, documents, room)
        return (chunk,) if chunk else ()

    @cached_property
    def _model(self) -> EntailmentModel:
        return _load(self._settings, self._setting)

    @cached_property
    def _evidence(self) -> EvidenceChunks:
        return EvidenceChunks(self._model.tokens)

    def _probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        return self._model.probabilities(premises)


def _load(settings: EntailmentSettings, setting: DeviceSettings) -> EntailmentModel:
    batch = settings.batch or batch_tokens(setting)
    loaded = load(settings.files, "seq2seq" if settings.prompt else "classifier", setting)
    if setting.dtype != "float32":
        reduce(loaded)
    if settings.prompt:
        return FactChecker(loaded, settings.window, batch, settings.prompt)
    return NliClassifier(loaded, settings.window, batch, settings.labels)


class ChunkFinding(NamedTuple):
    """A piece of evidence and the probabilities of a claim given it."""

    chunk: Chunk
    result: Entailment


def _finding(room: int, single: Sequence[ChunkFinding], joined: Sequence[ChunkFinding]) -> EntailmentResult:
    if room < LEAST_ROOM:
        return EntailmentResult(None, None, (), "the claim is too long for the model's window")
    if not single:
        return EntailmentResult("not_found", 0.0, (), "the documents have no words")
    return combine_chunks(single, joined)


def combine_chunks(single: Sequence[ChunkFinding], joined: Sequence[ChunkFinding] = ()) -> EntailmentResult:
    """Combine the findings of single pieces (at least one), and of joined pieces if no single one supports the claim.

    Support takes precedence over contradiction, as in RefChecker; the reason mentions a conflict. The first piece wins
    among equals.
    """
    best = max((*single, *joined), key=lambda a: a.result.supported)
    against = max(single, key=lambda a: a.result.contradicted)
    contradicted = against.result.contradicted > THRESHOLD
    reason = f"entailment {best.result.supported:.2f}"
    if best in joined:
        alone = max(a.result.supported for a in single)
        reason += f" by several pieces of evidence together, {alone:.2f} by the best alone"
    if contradicted:
        reason += f"; contradiction {against.result.contradicted:.2f}"
    if best.result.supported > THRESHOLD:
        conflict = "; the evidence is in conflict" if contradicted else ""
        return EntailmentResult("supported", best.result.supported, best.chunk.documents, reason + conflict)
    if contradicted:
        return EntailmentResult("contradicted", best.result.supported, against.chunk.documents, reason)
    return EntailmentResult("not_found", best.result.supported, best.chunk.documents, reason)
