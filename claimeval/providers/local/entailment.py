"""`local:nli=MODEL`: judges claims by a model on this machine that says whether a text entails a claim.

Each claim is held against every piece of the evidence (`evidence_chunks`); its support is the highest probability.
A claim that no single piece supports is held against the best sentences of all pieces together. More than one half
means supported; of the rest, a probability of contradiction over one half means contradicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import repeat
from types import TracebackType
from typing import Literal, NamedTuple, Self

from claimeval.providers.local import prompts
from claimeval.providers.local.batching import MicroBatcher
from claimeval.providers.local.chunks import Chunk, EvidenceChunks
from claimeval.providers.local.devices import DTYPES, DeviceSettings, batch_tokens, choose, describe
from claimeval.providers.local.entailment_models import (
    Entailment,
    EntailmentModel,
    FactChecker,
    NliClassifier,
    Premise,
    label_indices,
)
from claimeval.providers.local.loading import config_of, kind_of, load, reduce
from claimeval.providers.local.model_files import ModelFiles, locate
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Claim, Document

ENGINE = "nli-v1"
THRESHOLD = 0.5
"""Probabilities above it decide, as in MiniCheck."""
CLAIM_SHARE = 4
"""One part in so many of the window is kept for the claim, so that evidence is cut alike for all but long claims."""
LEAST_ROOM = 32
"""Tokens of evidence that must fit beside a claim."""
TOGETHER = {"cpu": 32, "mps": 64, "cuda": 512}
"""Pieces of evidence that are computed before others have their turn."""
SETTINGS = ("batch", "contradiction_label", "device", "dtype", "entailment_label", "prompt", "revision", "window")


class EntailmentSettings(NamedTuple):
    """What decides the answers of one judge, and where it computes them."""

    files: ModelFiles
    device: str
    dtype: str
    prompt: prompts.SourcePrompt | None
    """Only for sequence-to-sequence models."""
    window: int | None
    batch: int | None
    labels: Mapping[str, str]

    @property
    def version(self) -> str:
        """Changes when answers can change: engine, model files, precision, prompt."""
        prompt = f"/{self.prompt.digest[:16]}" if self.prompt else ""
        return f"{ENGINE}/{self.files.revision}/{self.dtype}{prompt}"

    def place(self) -> str:
        """Device and precision, for a person."""
        return describe(choose(self.device, self.dtype))


class EntailmentResult(NamedTuple):
    """What the evidence says of a claim."""

    label: Literal["supported", "contradicted", "not_found"] | None
    """None where the claim does not fit the model."""
    probability: float | None
    """Of support."""
    documents: tuple[int, ...]
    """Indices of the documents that decided."""
    reason: str


def settle(model: str, extra: Mapping[str, str | int | float | bool]) -> EntailmentSettings:
    """The settings of a judge; finds the model's files, and reads its configuration but not its weights.

    UsageError for an unknown setting, a model that is not there, or one whose labels do not say what they mean.
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
        prompt = prompts.load("claim_given_document", text.get("prompt"))
    else:
        prompt = None
        label_indices(config.id2label, labels, model)
    return EntailmentSettings(
        files, text.get("device", "auto"), dtype, prompt, numbers.get("window"), numbers.get("batch"), labels
    )


def _whole(name: str, value: str | int | float | bool) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{name}: {value!r} is not a whole number of tokens")
    return value


class EntailmentJudge:
    """Assesses claims of many samples at once; the weights are loaded for the first of them."""

    def __init__(self, settings: EntailmentSettings) -> None:
        self._settings = settings
        self._setting = choose(settings.device, settings.dtype)
        together = TOGETHER[self._setting.device.partition(":")[0]]
        self._batches: MicroBatcher[Premise, Entailment] = MicroBatcher(self._probabilities, together)

    def __enter__(self) -> Self:
        self._batches.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._batches.__exit__(kind, error, trace)

    @property
    def device(self) -> str:
        """Where it computes."""
        return self._setting.device

    async def assess(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[EntailmentResult]:
        """What the documents say of each claim."""
        texts = [claim.text for claim in claims]
        rooms = await self._batches.run(lambda: [self._room(text) for text in texts])
        chunks = await self._batches.run(lambda: [self._chunks(room, documents) for room in rooms])
        single = await self._ask(texts, chunks)
        joined = await self._ask(
            texts, await self._batches.run(lambda: list(map(self._joined, texts, rooms, single, repeat(documents))))
        )
        return [_finding(*column) for column in zip(rooms, single, joined, strict=True)]

    async def _ask(self, claims: Sequence[str], chunks: Sequence[Sequence[Chunk]]) -> list[list[ChunkFinding]]:
        """What each piece of evidence says of its claim."""
        asked = [Premise(chunk.text, claim) for claim, own in zip(claims, chunks, strict=True) for chunk in own]
        said = iter(await self._batches.ask(asked))
        return [[ChunkFinding(chunk, next(said)) for chunk in own] for own in chunks]

    def _room(self, claim: str) -> int:
        return self._model.window - max(self._model.overhead(claim), self._model.window // CLAIM_SHARE)

    def _chunks(self, room: int, documents: Sequence[Document]) -> list[Chunk]:
        return self._evidence.chunks(documents, room) if room >= LEAST_ROOM else []

    def _joined(
        self, claim: str, room: int, single: Sequence[ChunkFinding], documents: Sequence[Document]
    ) -> Sequence[Chunk]:
        """The best sentences together, where there are several pieces and none of them supports the claim."""
        if len(single) < 2 or max(piece.said.supported for piece in single) > THRESHOLD:
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
    """A piece of evidence and what it says of a claim."""

    chunk: Chunk
    said: Entailment


def _finding(room: int, single: Sequence[ChunkFinding], joined: Sequence[ChunkFinding]) -> EntailmentResult:
    if room < LEAST_ROOM:
        return EntailmentResult(None, None, (), "the claim is too long for the model's window")
    if not single:
        return EntailmentResult("not_found", 0.0, (), "the documents have no words")
    return decide(single, joined)


def decide(single: Sequence[ChunkFinding], joined: Sequence[ChunkFinding] = ()) -> EntailmentResult:
    """The finding from every piece alone, at least one, and from the joined pieces where no single one supports.

    Support goes before contradiction, as in RefChecker; where pieces disagree the reason says so. The first piece wins
    among equals.
    """
    best = max((*single, *joined), key=lambda a: a.said.supported)
    against = max(single, key=lambda a: a.said.contradicted)
    contradicted = against.said.contradicted > THRESHOLD
    reason = f"entailment {best.said.supported:.2f}"
    if best in joined:
        alone = max(a.said.supported for a in single)
        reason += f" by several pieces of evidence together, {alone:.2f} by the best alone"
    if contradicted:
        reason += f"; contradiction {against.said.contradicted:.2f}"
    if best.said.supported > THRESHOLD:
        conflict = "; the evidence is in conflict" if contradicted else ""
        return EntailmentResult("supported", best.said.supported, best.chunk.documents, reason + conflict)
    if contradicted:
        return EntailmentResult("contradicted", best.said.supported, against.chunk.documents, reason)
    return EntailmentResult("not_found", best.said.supported, best.chunk.documents, reason)
