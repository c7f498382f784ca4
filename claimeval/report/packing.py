"""Data in a page: compressed, and encoded so that it cannot contain markup.

The index has one short row per sample, which the page's list shows, sorts and filters without
opening the sample.

A request is a list of pieces, parts of the prompt and references to texts of the sample, so that it
takes only a few bytes.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, NamedTuple

from claimeval.evaluation.evidence import deciding_verdict
from claimeval.judging.prompts import quoted
from claimeval.lexical.sentences import sentences
from claimeval.metrics.citations import checked, of_claims
from claimeval.metrics.rows import Metric
from claimeval.report.charts import Picture
from claimeval.runs.slices import Cell, cell_of
from claimeval.runs.worst import worst_of_answer
from claimeval.statistics.formatting import short
from claimeval.types.records import (
    Assessment,
    Evidence,
    Reason,
    Sample,
    SampleResult,
    Score,
)
from claimeval.types.requests import AssessTask, ExtractTask, Request

if TYPE_CHECKING:
    from xml.etree import ElementTree


MIN_LENGTH = 12
"""Minimum number of characters of a text that is replaced by a reference."""

Piece = int | str
"""Number of a literal, or a reference: `q` question, `d2` text and `t2` title of the second
document of the evidence, `d2:10-25` characters 10 to 25 of that text, `c3` third claim of the call,
`s10-25` characters 10 to 25 of the text that claims are extracted from."""


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
        """Return the number of a literal; a new literal is added."""
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        """Return the literals in the order of their numbers."""
        return list(self._numbers)


def pack(
    request: Request, sample: Sample, evidence: Evidence | None, literals: Literals
) -> RequestPieces:
    """Return a request in pieces. Documents are numbered by their rank in the evidence.

    Args:
        request: The request.
        sample: Its sample.
        evidence: The evidence of an assessment; None for an extraction.
        literals: The literals of the page; new ones are added.
    """
    slots = sorted(
        _slots(request, sample, evidence),
        key=lambda slot: -len(slot.text),
    )
    return RequestPieces(
        tuple(
            MessagePieces(
                m.role,
                tuple(_cut(m.content, slots, literals)),
            )
            for m in request.messages
        ),
        None if request.response_schema is None else literals.number(request.response_schema),
    )


def _slots(request: Request, sample: Sample, evidence: Evidence | None) -> list[_TextSlot]:
    """Return the texts of the sample that a request can contain, with their references."""
    task = request.task
    assert task is not None, "every request has a task"
    texts: list[tuple[str, str]] = [(sample.question, "q")]
    if isinstance(task, ExtractTask):
        texts += [(task.text[start:end], f"s{start}-{end}") for start, end in task.sentences]
    elif isinstance(task, AssessTask):
        assert evidence, "an assessment has evidence"
        texts += _document_texts(task, sample, evidence)
        texts += [(claim.text, f"c{i}") for i, claim in enumerate(task.claims, 1)]
    return [_TextSlot(quoted(text)[1:-1], name) for text, name in texts if len(text) >= MIN_LENGTH]


def _document_texts(
    task: AssessTask, sample: Sample, evidence: Evidence
) -> Iterator[tuple[str, str]]:
    """Yield the texts and titles of the documents in a request, with their references."""
    shown: dict[str, list[str]] = {}  # a checker sees one of several
    for document in task.documents:
        shown.setdefault(document.id, []).append(document.text)
    ranked = zip(sample.ranks(evidence), sample.documents(evidence) or (), strict=True)
    for i, document in ranked:
        texts = shown.get(document.id, [])
        if texts:
            yield document.title or "", f"t{i}"
        if document.text in texts:
            yield document.text, f"d{i}"
            continue
        for passage in texts:
            yield from _sentences_within(passage, document.text, f"d{i}")


def _sentences_within(passage: str, text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a passage of a text, which has other white space between them."""
    for start, end in sentences(passage):
        sentence = passage[start:end]
        place = text.find(sentence)
        if place >= 0:
            yield sentence, f"{name}:{place}-{place + len(sentence)}"


def _cut(text: str, slots: Sequence[_TextSlot], literals: Literals) -> Iterator[Piece]:
    """Split a message at the texts of the sample, longest first. The other parts are literals."""
    matches: list[tuple[int, _TextSlot]] = []
    remaining = text
    for slot in slots:
        if slot.text not in remaining:
            continue
        parts = remaining.split(slot.text)
        start = 0
        for part in parts[:-1]:
            matches.append((start + len(part), slot))
            start += len(part) + len(slot.text)
        remaining = ("\0" * len(slot.text)).join(parts)  # no quoted text has a NUL
    end = 0
    for start, slot in sorted(matches, key=lambda match: match[0]):
        if start > end:
            yield literals.number(text[end:start])
        yield slot.reference
        end = start + len(slot.text)
    if end < len(text):
        yield literals.number(text[end:])


CHUNK = 256 * 1024
"""Bytes of JSON after which a chunk of details ends. The page unpacks one chunk to show one
sample."""


LEVEL = 5
"""How hard chunks are compressed: half the time of the highest level, for 4 % more bytes."""


def block(name: str, content: bytes) -> str:
    """Return an element with compressed content as base64, which the browser neither shows nor
    runs."""
    return (
        '<script type="text/plain"'
        f' id="{name}">{base64.b64encode(zlib.compress(content, LEVEL)).decode()}</script>\n'
    )


def as_json(value: object) -> bytes:
    """Return compact JSON. If a text has lone surrogates, which UTF-8 cannot encode, all characters
    are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def tree(picture: Picture) -> list[object]:
    """Return a picture as nested lists of tag, attributes and children, from which a page builds
    its elements."""
    from xml.etree import ElementTree

    return _node(ElementTree.fromstring(picture.svg))


def _node(element: ElementTree.Element) -> list[object]:
    children: list[object] = [element.text] if element.text else []
    for child in element:
        children.append(_node(child))
        if child.tail:
            children.append(child.tail)
    return [element.tag.rpartition("}")[2], dict(element.attrib), *children]


class Index:
    """Writer of the element `index`: `{"rows": [...], "starts": [first sample of every chunk]}`."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._compressor = zlib.compressobj(9)
        self._remainder = b""
        self._prefix = b'{"rows":['
        file.write('<script type="text/plain" id="index">')

    def add(self, row: object) -> None:
        """Write the row of one sample."""
        self._write(self._compressor.compress(self._prefix + as_json(row)))
        self._prefix = b","

    def close(self, starts: Sequence[int]) -> None:
        """End the element."""
        opened = b"" if self._prefix == b"," else self._prefix
        self._write(self._compressor.compress(opened + b'],"starts":' + as_json(starts) + b"}"))
        self._file.write(
            base64.b64encode(self._remainder + self._compressor.flush()).decode() + "</script>\n"
        )

    def _write(self, compressed: bytes) -> None:
        """Write as many bytes as are complete in base64, which are multiples of three."""
        compressed = self._remainder + compressed
        # Other lengths would end with `=` in the middle of the text.
        complete = len(compressed) - len(compressed) % 3
        self._remainder = compressed[complete:]
        self._file.write(base64.b64encode(compressed[:complete]).decode())


def line(result: SampleResult) -> bytes:
    """Return the result of a sample as JSON for the page, without fields that have their
    default."""
    return result.model_dump_json(exclude_defaults=True).encode()


def judged_sentences(result: SampleResult) -> list[list[object]]:
    """Return claim, part, document, start and end of the sentence that the reason of a judge is
    about, for each claim that has one.

    For other claims the page looks for the nearest sentence when it is opened, as a large run has
    many of them.
    """
    claims = {claim.id for claim in result.claims}
    found: list[list[object]] = []
    for one in result.whole:
        if one.subject not in claims or one.support is None:
            continue
        verdict = deciding_verdict(one)
        if verdict and (span := verdict.evidence):
            found.append([one.subject, one.against, span.document, span.start, span.end])
    return found


class Details:
    """Writer of the full results of a run, in chunks named `chunk-0`, `chunk-1` and so on.

    A chunk is `{"results": [[line of run a, line of run b?], ...], "requests": [[request or null
    per call of a], ...], "diagnosis": [[sentence of a, of b?], ...], "citations": [[citations of a,
    of b?], ...], "documents": [{part: [[rank in a, rank in b, change], ...]}, ...], "sentences":
    [[sentences of a, of b?], ...], "cited": [[[claim, kind, words] of a, of b?], ...], "literals":
    [...]}`.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._samples = 0
        self._start_chunk()
        self.starts: list[int] = []
        """Number, from 0, of the first sample of every chunk."""

    def _start_chunk(self) -> None:
        self.literals = Literals()
        self._lines: list[bytes] = []
        self._others: dict[str, list[object]] = {
            name: []
            for name in ("requests", "diagnosis", "citations", "documents", "sentences", "cited")
        }

    def add(
        self,
        results: Sequence[SampleResult],
        requests: Sequence[Sequence[RequestPieces | None]],
        summaries: Sequence[str],
        documents: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Add a sample. The sequences have one item for each run.

        Args:
            results: The results of the sample.
            requests: The requests of its calls; None for calls whose request is not shown.
            summaries: What is said of its diagnosis.
            documents: The documents of two runs in one list, by part.
        """
        if not self._lines:
            self.starts.append(self._samples)
        self._samples += 1
        self._lines.append(b"[" + b",".join(map(line, results)) + b"]")
        citations = [[mark._asdict() for mark in checked(result)] for result in results]
        found = list(map(judged_sentences, results))
        cited = [[[one.claim, one.kind, one.words] for one in of_claims(r)] for r in results]
        others = (requests, summaries, citations, dict(documents), found, cited)
        for kept, new in zip(self._others.values(), others, strict=True):
            kept.append(new)
        if sum(map(len, self._lines)) >= CHUNK:
            self.close()

    def close(self) -> None:
        """Write the chunk."""
        if not self._lines:
            return
        others = as_json({**self._others, "literals": self.literals.texts()})
        content = b'{"results":[' + b",".join(self._lines) + b"]," + others[1:]
        self._file.write(block(f"chunk-{len(self.starts) - 1}", content))
        self._start_chunk()


SHORT = 160
"""Characters of the gold answer and of the worst claim in a row."""
QUESTION = 200
"""Characters of the question in a row."""
LETTERS = {"supported": "s", "contradicted": "c", "not_found": "n", None: "u"}


class ScoreCell(NamedTuple):
    """Score of a sample."""

    value: float | None
    strip: str
    """A letter per claim (`LETTERS`), in the order of the claims. Upper case if the judges
    disagree."""
    because: str | None
    """Reason for a missing value."""
    hits: int | None = None
    judged: int | None = None
    """Counts of a share, `hits` of `judged`; None if the value is not a share."""
    reasons: tuple[Reason, ...] = ()
    """Reasons for which claims have no label, each once."""
    dissenters: tuple[int, ...] = ()
    """Positions of the judges who disagree with the panel on a claim."""
    entropy: float = 0.0
    """The largest entropy of the votes on a claim, in bits."""

    @classmethod
    def of(
        cls,
        score: Score,
        strip: str = "",
        assessed: Sequence[Assessment] = (),
        judges: Sequence[str] = (),
    ) -> ScoreCell:
        """Return the cell of a score.

        Args:
            score: The score.
            strip: The labels of its claims, a letter each.
            assessed: The assessments of its claims.
            judges: The names of the judges, in the order of the page.
        """
        reasons = dict.fromkeys(a.unassessed for a in assessed if a.unassessed)
        dissenters = {
            judges.index(verdict.judge)
            for a in assessed
            for verdict in a.verdicts
            if verdict.support
            and a.support
            and verdict.support != a.support
            and verdict.judge in judges
        }
        entropy = max((a.entropy or 0.0 for a in assessed), default=0.0)
        counts = score.because, score.hits, score.judged
        value = None if score.value is None else short(score.value)
        return cls(
            value, strip, *counts, tuple(reasons), tuple(sorted(dissenters)), round(entropy, 3)
        )


class SampleRow(NamedTuple):
    """A sample in the index."""

    id: str
    question: str
    ungrounded: int
    """Number of claims without a span in their text."""
    failed: int
    """Number of failed calls."""
    cells: tuple[ScoreCell, ...]
    """Scores in the order of the run's metrics."""
    blame: Cell | None
    """Whether retrieval or generation is to blame; None if that is not known."""
    gold: str
    """The beginning of the gold answer; empty if there is none."""
    worst: tuple[str, str] | None
    """The answer's worst claim and the letter of its label; None if all are supported."""


def row(
    result: SampleResult,
    metrics: Sequence[Metric],
    others: Iterable[str] = (),
    judges: Sequence[str] = (),
) -> SampleRow:
    """Return the row of a sample, with a cell for each metric of claims, then for each other
    metric.

    Args:
        result: The result of the sample.
        metrics: The metrics of claims.
        others: The names of the other metrics.
        judges: The names of the judges, in the order of the page.
    """
    assessments = {(a.against, a.subject): a for a in result.whole}
    scores = result.scores

    def cell(metric: Metric) -> ScoreCell:
        """Return the cell of a metric of claims."""
        found = [
            assessments.get((metric.against, claim.id))
            for claim in result.claims_of(metric.claims_of)
        ]
        return ScoreCell.of(
            scores[metric.name], "".join(map(_letter, found)), [a for a in found if a], judges
        )

    worst = worst_of_answer(result, metrics)
    return SampleRow(
        id=result.sample.id,
        question=result.sample.question[:QUESTION],
        ungrounded=sum(claim.grounding == "ungrounded" for claim in result.claims),
        failed=sum(call.failed is not None for call in result.calls),
        cells=(*map(cell, metrics), *(ScoreCell.of(scores[name]) for name in others)),
        blame=cell_of(result),
        gold=(result.sample.reference_answers or ("",))[0][:SHORT],
        worst=worst and (worst[0][:SHORT], LETTERS[worst[1]]),
    )


def changed_parts(a: Sample, b: Sample) -> str:
    """Return the parts of a sample that differ in two runs: `a` answer, `c` contexts, `r`
    reference, `q` question."""
    parts = {
        "a": a.answer != b.answer,
        "c": _documents(a) != _documents(b),
        "r": a.reference_answers != b.reference_answers,
        "q": (a.question, a.history) != (b.question, b.history),
    }
    return "".join(letter for letter, differs in parts.items() if differs)


def _documents(sample: Sample) -> list[tuple[str, str]]:
    return [(document.id, document.text) for document in sample.contexts or ()]


def _letter(found: Assessment | None) -> str:
    """Return the letter of a claim's label, upper case if two verdicts with a label differ."""
    letter = LETTERS[found.support if found else None]
    labels = (
        {verdict.support for verdict in found.verdicts if verdict.label is not None}
        if found
        else ()
    )
    return letter.upper() if len(labels) > 1 else letter
