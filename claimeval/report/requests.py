"""Rebuild the requests of a run, and split them into pieces that refer to the texts of the sample.

Results contain replies, but no requests. A request is rebuilt from prompt, sample and claims, and compared with the
call's key. In a page, a request is a list of pieces: parts of the prompt and references to texts of the sample. So each
request takes only a few bytes.
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
from claimeval.types.requests import ExtractTask, Judge, Request

MIN_LENGTH = 12
"""Characters of the shortest text that is referred to."""

Piece = int | str
"""Number of a literal, or a reference: `q` question, `d2` text and `t2` title of the second document of the evidence,
`c3` third claim of the call, `s10-25` characters 10 to 25 of the text that claims are extracted from."""


class MessagePieces(NamedTuple):
    """A message in pieces."""

    role: str
    pieces: tuple[Piece, ...]


class RequestPieces(NamedTuple):
    """A request in pieces."""

    messages: tuple[MessagePieces, ...]
    schema: int | None
    """Number of the literal with the JSON schema of the reply."""


class _TextSlot(NamedTuple):
    text: str
    """Text of the sample, as quoted in the messages."""
    reference: str


class Literals:
    """Distinct parts of prompts, by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a literal, which is added if it is new."""
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        """Return the literals in the order of their numbers."""
        return list(self._numbers)


class Rebuilder:
    """Rebuilder of the requests of a run."""

    def __init__(self, manifest: Manifest) -> None:
        self._judges = {judge.name: judge.forms for judge in reversed(manifest.asked)}
        self._prompts: dict[str | None, Prompt] = {}
        for record in manifest.prompts:
            with suppress(PromptError):  # a prompt of another version of claimeval
                self._prompts[record.id] = Prompt(record.name, record.step, record.source, record.parameters)

    def rebuild(self, result: SampleResult, call: Call) -> Request | None:
        """Return the request of a call, or None if the rebuilt request has another key."""
        requests = (self._ask(result, call, judge) for judge in reversed(self._judges.get(call.judge, ())))
        return next((request for request in requests if request is not None and request.key == call.key), None)

    def _ask(self, result: SampleResult, call: Call, judge: Judge) -> Request | None:
        question = result.sample.full_question
        prompt = self._prompts.get(call.prompt)
        if prompt is None:
            return None
        if call.step == "extract":
            texts = result.sample.texts(call.part) or ()
            requests = [self._sent(extract.ask(prompt, judge, call.part, text, question), call) for text in texts]
            return next((request for request in requests if request.key == call.key), None)
        claims = {claim.id: claim for claim in result.claims}
        documents = result.sample.documents(call.evidence) if call.evidence else None
        if not documents or not claims.keys() >= set(call.subjects):
            return None
        alternatives = call.evidence is not None and result.sample.alternatives(call.evidence.part)
        assessed = [claims[i] for i in call.subjects]
        shown = assess.ShownDocuments(documents, alternatives)
        return self._sent(assess.ask(prompt, judge, assessed, shown, question), call)

    def _sent(self, request: Request, call: Call) -> Request:
        return request.repeated(call.attempt, call.replicate).to(request.judge)


def pack(request: Request, sample: Sample, evidence: Evidence | None, literals: Literals) -> RequestPieces:
    """Return a request in pieces. Documents are numbered by their rank in the evidence.

    Args:
        request: The request.
        sample: Its sample.
        evidence: The evidence of an assessment, None for an extraction.
        literals: The literals of the page, to which new ones are added.
    """
    slots = sorted(_slots(request, sample, evidence), key=lambda slot: -len(slot.text))
    return RequestPieces(
        tuple(MessagePieces(m.role, tuple(_cut(m.content, slots, literals))) for m in request.messages),
        None if request.response_schema is None else literals.number(request.response_schema),
    )


def _slots(request: Request, sample: Sample, evidence: Evidence | None) -> list[_TextSlot]:
    """Return the texts of the sample that a request can contain, with their references."""
    task = request.task
    assert task is not None, "every request has a task"
    texts: list[tuple[str, str]] = [(sample.question, "q")]
    if isinstance(task, ExtractTask):
        texts += [(task.text[start:end], f"s{start}-{end}") for start, end in task.sentences]
    else:
        assert evidence, "an assessment has evidence"
        for i, document in zip(sample.ranks(evidence), task.documents, strict=True):
            texts += [(document.text, f"d{i}"), (document.title or "", f"t{i}")]
        texts += [(claim.text, f"c{i}") for i, claim in enumerate(task.claims, 1)]
    return [_TextSlot(quoted(text)[1:-1], name) for text, name in texts if len(text) >= MIN_LENGTH]


def _cut(text: str, slots: Sequence[_TextSlot], literals: Literals) -> Iterator[Piece]:
    """Split a message at the texts of the sample, longest first. The other parts are literals."""
    pieces: list[str | _TextSlot] = [text]
    for slot in slots:
        pieces = [part for piece in pieces for part in (_split(piece, slot) if isinstance(piece, str) else [piece])]
    for piece in pieces:
        if isinstance(piece, _TextSlot):
            yield piece.reference
        elif piece:
            yield literals.number(piece)


def _split(text: str, slot: _TextSlot) -> list[str | _TextSlot]:
    first, *others = text.split(slot.text)
    return [first, *(part for other in others for part in (slot, other))]
