"""Rebuilds the requests that judges were sent, and writes them as pieces of the sample's own texts.

Results hold replies, not requests: a request follows from prompt, sample and claims, and its key says whether the
rebuilt one is the one that was sent. In a page a request is a list of pieces, each a piece of the prompt or the
place of a text that the sample has anyway, so that requests cost a few bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.judging import assess, extract
from claimeval.judging.prompts import Prompt, quoted
from claimeval.types.errors import PromptError
from claimeval.types.records import Call, Evidence, Sample, SampleResult
from claimeval.types.requests import ExtractTask, Request

SHORTEST = 12
"""Characters from which a text is referred to; shorter ones stand in the pieces of the prompt."""

Piece = int | str
"""The number of a literal, or a reference: `q` question, `d2` text and `t2` title of the second document of the
evidence, `c3` the third claim of the call, `s10-25` the characters 10 to 25 of the text that claims are taken from."""


class MessagePieces(NamedTuple):
    role: str
    pieces: tuple[Piece, ...]


class RequestPieces(NamedTuple):
    """A request in pieces."""

    messages: tuple[MessagePieces, ...]
    schema: int | None
    """The number of the reply's JSON schema among the literals."""


class _TextSlot(NamedTuple):
    known: str
    """A text of the sample, as it stands in the messages."""
    name: str


class Literals:
    """The pieces of prompts, each kept once and known by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        return list(self._numbers)


class Rebuilder:
    """Rebuilds the requests of one run."""

    def __init__(self, manifest: Manifest) -> None:
        self._judges = {judge.name: judge for judge in reversed(manifest.asked)}
        self._prompts: dict[str | None, Prompt] = {}
        for record in manifest.prompts:
            with suppress(PromptError):  # a prompt of another version of claimeval
                self._prompts[record.id] = Prompt(record.name, record.step, record.source, record.parameters)

    def rebuild(self, result: SampleResult, call: Call) -> Request | None:
        """The request that was sent; None when what can be rebuilt has another key."""
        request = self._ask(result, call)
        return request if request is not None and request.key == call.key else None

    def _ask(self, result: SampleResult, call: Call) -> Request | None:
        judge, question = self._judges.get(call.judge), result.sample.question
        prompt = self._prompts.get(call.prompt)
        again = {"attempt": call.attempt, "replicate": call.replicate}
        if judge is None or prompt is None:
            return None
        if call.step == "extract":
            texts = result.sample.texts(call.part) or ()
            asked = [extract.ask(prompt, judge, call.part, text, question, **again) for text in texts]
            return next((request for request in asked if request.key == call.key), None)
        claims = {claim.id: claim for claim in result.claims}
        documents = result.sample.documents(call.evidence) if call.evidence else None
        if not documents or not claims.keys() >= set(call.subjects):
            return None
        several = call.evidence is not None and result.sample.alternatives(call.evidence.part)
        about = [claims[i] for i in call.subjects]
        return assess.ask(prompt, judge, about, documents, question, alternatives=several, **again)


def pack(request: Request, sample: Sample, evidence: Evidence | None, literals: Literals) -> RequestPieces:
    """The request in pieces. Documents are referred to by their place in the whole set and its own order."""
    places = sorted(_places(request, sample, evidence), key=lambda place: -len(place.known))
    return RequestPieces(
        tuple(MessagePieces(m.role, tuple(_cut(m.content, places, literals))) for m in request.messages),
        None if request.response_schema is None else literals.number(request.response_schema),
    )


def _places(request: Request, sample: Sample, evidence: Evidence | None) -> list[_TextSlot]:
    """The texts of the sample that can stand in a request, and what refers to each."""
    task = request.task
    assert task is not None, "every step gives its request a task"
    found: list[tuple[str, str]] = [(sample.question, "q")]
    if isinstance(task, ExtractTask):
        found += [(task.text[start:end], f"s{start}-{end}") for start, end in task.sentences]
    else:
        assert evidence, "claims are held against something"
        for i, document in zip(sample.ranks(evidence), task.documents, strict=True):
            found += [(document.text, f"d{i}"), (document.title or "", f"t{i}")]
        found += [(claim.text, f"c{i}") for i, claim in enumerate(task.claims, 1)]
    return [_TextSlot(quoted(text)[1:-1], name) for text, name in found if len(text) >= SHORTEST]


def _cut(text: str, places: Sequence[_TextSlot], literals: Literals) -> Iterator[Piece]:
    """Cuts a message at the places of known texts, longest first; what is left are literals."""
    pieces: list[str | _TextSlot] = [text]
    for place in places:
        pieces = [part for piece in pieces for part in (_split(piece, place) if isinstance(piece, str) else [piece])]
    for piece in pieces:
        if isinstance(piece, _TextSlot):
            yield piece.name
        elif piece:
            yield literals.number(piece)


def _split(text: str, place: _TextSlot) -> list[str | _TextSlot]:
    first, *others = text.split(place.known)
    return [first, *(part for other in others for part in (place, other))]
