"""`local:nli=MODEL`: judge claims with a model on this machine that computes whether a text entails
a claim.

Models are NLI classifiers or sequence-to-sequence fact checkers. Each claim is compared with every
piece of the evidence; the highest probability is its support. A claim that no single piece supports
is compared with the best sentences of all pieces together. A probability above 0.5 means supported;
otherwise, a probability of contradiction above 0.5 means contradicted.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from typing import Generic, NamedTuple, Self, TypeVar

from pydantic import JsonValue

from claimeval.providers.local import EngineAnswer, loading
from claimeval.providers.local.loading import DTYPES, DeviceSettings, Loaded, ModelFiles
from claimeval.providers.local.networks import Classifier, Seq2Seq
from claimeval.providers.local.tokens import Chunk, EvidenceChunks, SourcePrompt, load_prompt
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Claim, Document

SUPPORTED = frozenset(
    {"entailment", "entailed", "entails", "supported", "supports", "support", "consistent"}
)
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


class NliClassifier(Classifier):
    """A sequence classifier whose labels name its classes; a single output is the probability of
    support."""

    def __init__(self, loaded: Loaded, window: int, batch: int, labels: Mapping[str, str]) -> None:
        super().__init__(loaded, window, batch)
        self._supported, self._contradicted = label_indices(
            loaded.config.id2label,
            labels,
            loaded.files.name,
        )

    def overhead(self, claim: str) -> int:
        """Count the tokens of the claim and the control tokens of a pair."""
        return self.tokens.length(self.tokens.data(claim)) + self.tokens.around_a_pair()

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """Return the softmax over the labels, or the sigmoid of a single output."""
        logits = dict(
            self.logits([(premise.text, self.tokens.data(premise.claim)) for premise in premises])
        )
        return [self._read(logits[index]) for index in range(len(premises))]

    def _read(self, logits: Sequence[float]) -> Entailment:
        if len(logits) == 1:
            return Entailment(softmax([0.0, logits[0]])[1])
        shares = softmax(logits)
        return Entailment(
            shares[self._supported],
            0.0 if self._contradicted is None else shares[self._contradicted],
        )


class FactChecker:
    """A sequence-to-sequence model that answers with one of two words; their first tokens are
    compared."""

    def __init__(self, loaded: Loaded, window: int, batch: int, prompt: SourcePrompt) -> None:
        self.tokens = loaded.tokens
        self.window = window
        self._prompt = prompt
        self._model = Seq2Seq(loaded, batch)
        words = [prompt.header.get("supported", ""), prompt.header.get("not_supported", "")]
        if not all(words):
            raise UsageError(
                "the prompt of a fact checker must name its answers in the header: `supported`,"
                " `not_supported`"
            )
        self._answers = yes, no = self.tokens.targets(words)
        if yes[0] == no[0]:
            raise UsageError(
                f"model {loaded.files.name!r} writes both answers of its prompt with the same first"
                " token"
            )

    def overhead(self, claim: str) -> int:
        """Count the tokens of the claim and the prompt."""
        return len(self.tokens.ids([self._source(Premise("", claim))])[0])

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        """Return P(yes) / (P(yes) + P(no)), as in MiniCheck."""
        sources = self.tokens.ids([self._source(premise) for premise in premises])
        return [
            Entailment(softmax(logits)[0])
            for logits in self._model.first_token_logits(sources, self._answers)
        ]

    def _source(self, premise: Premise) -> str:
        values = {
            "document": premise.text,
            "claim": self.tokens.data(premise.claim),
            "separator": self.tokens.end,
        }
        return self._prompt.render(values)


def label_indices(
    names: Mapping[int, str],
    settings: Mapping[str, str],
    model: str,
) -> tuple[int, int | None]:
    """Return the labels that mean supported and, if any, contradicted: by `settings`, else by the
    labels' names.

    `settings` may hold `entailment_label` and `contradiction_label`. Raises UsageError if the names
    do not tell.
    """
    found: list[int | None] = []
    for setting, usual in (("entailment_label", SUPPORTED), ("contradiction_label", CONTRADICTED)):
        chosen = settings.get(setting)
        if chosen is not None and chosen not in names.values():
            raise UsageError(
                f"model {model!r} has no label {chosen!r}. Its labels: {', '.join(names.values())}"
            )
        plain = {index: re.sub("[^a-z]", "", name.lower()) for index, name in names.items()}
        fits = [
            index
            for index, name in names.items()
            if (plain[index] in usual if chosen is None else name == chosen)
        ]
        found.append(fits[0] if len(fits) == 1 else None)
    supported, contradicted = found
    if supported is None:
        raise UsageError(
            f"the labels of model {model!r} do not say which one means that a claim is supported:"
            f" {', '.join(names.values())}; say it in a judge file, under extra: `entailment_label:"
            f" {names[max(names)]}`"
        )
    return supported, contradicted


EntailmentModel = NliClassifier | FactChecker
"""A model in memory, used by one thread."""


def softmax(logits: Sequence[float]) -> list[float]:
    """Return shares that add up to 1, in proportion to the exponentials of the logits."""
    weights = [math.exp(logit - max(logits)) for logit in logits]
    return [weight / math.fsum(weights) for weight in weights]


ENGINE = "nli-v2"
THRESHOLD = 0.5
"""Probability above which evidence supports or contradicts a claim, as in MiniCheck."""
CLAIM_SHARE = 4
"""A quarter of the window is reserved for the claim, so that evidence is cut equally for all but
long claims."""
LEAST_ROOM = 32
"""Minimum tokens of evidence that must fit next to a claim."""
TOGETHER = {"cpu": 32, "mps": 64, "cuda": 512}
"""Pieces of evidence that are computed in one call of the model."""
SETTINGS = (
    "batch",
    "contradiction_label",
    "device",
    "dtype",
    "entailment_label",
    "prompt",
    "revision",
    "window",
)


class EntailmentSettings(NamedTuple):
    """The settings of one judge and the files of its model."""

    files: ModelFiles
    text: Mapping[str, str]
    """The settings in the judge file."""
    prompt: SourcePrompt | None
    """Only for sequence-to-sequence models."""

    @property
    def device(self) -> DeviceSettings:
        """Device and precision."""
        return loading.choose(self.text.get("device", "auto"), self.text.get("dtype", "float32"))

    @property
    def version(self) -> str:
        """Return a name that changes when answers can change: engine, model files, precision,
        prompt."""
        prompt = f"/{self.prompt.digest[:16]}" if self.prompt else ""
        return f"{ENGINE}/{self.files.revision}/{self.text.get('dtype', 'float32')}{prompt}"

    def load(self) -> EntailmentModel:
        """Load the model."""
        device = self.device
        loaded = loading.load(self.files, "seq2seq" if self.prompt else "classifier", device.device)
        loaded.model.to(device.torch_dtype)
        window = int(self.text.get("window", loaded.window))
        batch = int(self.text.get("batch", device.batch_tokens))
        if self.prompt:
            return FactChecker(loaded, window, batch, self.prompt)
        return NliClassifier(loaded, window, batch, self.text)


def load_settings(model: str, extra: Mapping[str, JsonValue]) -> EntailmentSettings:
    """Return the settings of a judge. Locates the model's files and reads its configuration, but
    not its weights.

    Raises UsageError for an unknown setting, a missing model, or a model whose labels have unknown
    names.
    """
    for name, value in extra.items():
        if name not in SETTINGS:
            raise unknown_name(f"setting of local:nli={model}:", name, SETTINGS)
        if name in ("window", "batch") and (type(value) is not int or value < 1):
            raise UsageError(f"{name}: {value!r} is not a whole number of tokens")
    text = {name: str(value) for name, value in extra.items()}
    if (dtype := text.get("dtype", "float32")) not in DTYPES:
        raise unknown_name("precision", dtype, DTYPES)
    files = loading.locate(model, text.get("revision"))
    config = loading.config_of(files)
    if loading.kind_of(config) == "seq2seq":
        return EntailmentSettings(
            files,
            text,
            load_prompt("claim_given_document", text.get("prompt")),
        )
    label_indices(config.id2label, text, model)
    return EntailmentSettings(files, text, None)


Item = TypeVar("Item", bound=Hashable)
Answer = TypeVar("Answer")
T = TypeVar("T")


class MicroBatcher(Generic[Item, Answer]):
    """Computes items of many tasks in one thread: those that arrive while the model is busy are
    computed together.

    Equal items that wait at the same time are computed once. A call of `compute` gets at most
    `max_items` items.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Item]], Sequence[Answer]],
        max_items: int,
    ) -> None:
        self._compute = compute
        self._max_items = max_items
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="claimeval-model")
        self._wanted: Counter[Item] = Counter()
        self._answers: dict[Item, Answer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def ask(self, items: Sequence[Item]) -> list[Answer]:
        """Return the answers to these items. An exception from `compute` is raised here."""
        self._wanted.update(items)
        try:
            await asyncio.sleep(0)  # so that ready tasks can add their items
            return await self.run(lambda: self._answer(items)) if items else []
        finally:
            self._wanted.subtract(items)
            for item in {item for item in items if not self._wanted[item]}:
                del self._wanted[item]
                self._answers.pop(item, None)

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function that uses the model, in the model's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    def _answer(self, items: Sequence[Item]) -> list[Answer]:
        while any(item not in self._answers for item in items):
            waiting = (
                item for item in dict.fromkeys([*items, *self._wanted]) if item not in self._answers
            )
            batch = list(islice(waiting, self._max_items))
            self._answers.update(zip(batch, self._compute(batch), strict=True))
        return [self._answers[item] for item in items]


class EntailmentJudge(MicroBatcher[Premise, Entailment]):
    """Assesses claims of many samples together; the weights are loaded on first use."""

    def __init__(self, settings: EntailmentSettings) -> None:
        self._settings = settings
        self.device = settings.device.device
        """The device of the model."""
        super().__init__(
            lambda premises: self._model.probabilities(premises),
            TOGETHER[self.device.partition(":")[0]],
        )

    @cached_property
    def _model(self) -> EntailmentModel:
        return self._settings.load()

    @cached_property
    def _evidence(self) -> EvidenceChunks:
        return EvidenceChunks(self._model.tokens)

    async def assess(
        self,
        claims: Sequence[Claim],
        documents: Sequence[Document],
    ) -> list[EngineAnswer]:
        """Assess each claim against the documents."""
        texts = [claim.text for claim in claims]
        rooms = await self.run(lambda: [self._room(text) for text in texts])
        chunks = await self.run(
            lambda: [self._evidence.chunks(documents, room) if room else [] for room in rooms]
        )
        single = await self._findings(texts, chunks)
        asked = list(zip(texts, rooms, single, strict=True))
        chunks = await self.run(lambda: [self._joined(*claim, documents) for claim in asked])
        joined = await self._findings(texts, chunks)
        return [
            combine_chunks(*both) if room else _TOO_LONG
            for room, *both in zip(rooms, single, joined, strict=True)
        ]

    async def _findings(
        self,
        claims: Sequence[str],
        chunks: Sequence[Sequence[Chunk]],
    ) -> list[list[ChunkFinding]]:
        premises: list[Premise] = []
        for claim, pieces in zip(claims, chunks, strict=True):
            premises.extend(Premise(chunk.text, claim) for chunk in pieces)
        results = iter(await self.ask(premises))
        return [[ChunkFinding(chunk, next(results)) for chunk in pieces] for pieces in chunks]

    def _room(self, claim: str) -> int:
        """Return the tokens of evidence that fit next to a claim; 0 if they are too few."""
        room = self._model.window - max(
            self._model.overhead(claim), self._model.window // CLAIM_SHARE
        )
        return room if room >= LEAST_ROOM else 0

    def _joined(
        self,
        claim: str,
        room: int,
        single: Sequence[ChunkFinding],
        documents: Sequence[Document],
    ) -> list[Chunk]:
        """Return the best sentences together, if there are several pieces and none of them supports
        the claim."""
        # A claim whose halves are in two sentences is supported by neither alone.
        if len(single) < 2 or max(piece.result.supported for piece in single) > THRESHOLD:
            return []
        chunk = self._evidence.joined(claim, documents, room)
        return [chunk] if chunk else []


class ChunkFinding(NamedTuple):
    """A piece of evidence and the probabilities of a claim given it."""

    chunk: Chunk
    result: Entailment


_TOO_LONG = EngineAnswer(None, None, (), "the claim is too long for the model's window")


def combine_chunks(
    single: Sequence[ChunkFinding], joined: Sequence[ChunkFinding] = ()
) -> EngineAnswer:
    """Combine the findings of single pieces, and of joined pieces if no single one supports the
    claim.

    Support takes precedence over contradiction, as in RefChecker; the reason mentions a conflict.
    The first piece wins among equals.
    """
    if not single:
        return EngineAnswer("not_found", 0.0, (), "the documents have no words")
    best = max((*single, *joined), key=lambda a: a.result.supported)
    against = max(single, key=lambda a: a.result.contradicted)
    contradicted = against.result.contradicted > THRESHOLD
    support = best.result.supported
    reason = f"entailment {support:.2f}"
    if best in joined:
        alone = max(a.result.supported for a in single)
        reason += f" by several pieces of evidence together, {alone:.2f} by the best alone"
    if contradicted:
        reason += f"; contradiction {against.result.contradicted:.2f}"
    if support > THRESHOLD:
        conflict = "; the evidence is in conflict" if contradicted else ""
        return EngineAnswer("supported", support, best.chunk.documents, reason + conflict)
    if contradicted:
        return EngineAnswer("contradicted", support, against.chunk.documents, reason)
    return EngineAnswer("not_found", support, best.chunk.documents, reason)
