"""Data in a page: compressed, and encoded so that it cannot contain markup.

The index has one short row per sample, which the page's list shows, sorts and filters without
opening the sample.

Results contain replies but no requests. A request is rebuilt from prompt, sample and claims, and
checked against the call's key. In a page, a request is a list of pieces, parts of the prompt and
references to texts of the sample, so that it takes only a few bytes.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, NamedTuple

from claimeval.evaluation.evidence import ShownSentence, deciding_verdict, shown_sentence
from claimeval.evaluation.manifest import Manifest
from claimeval.judging import assess, extract
from claimeval.judging.prompts import Prompt, quoted
from claimeval.lexical.sentences import sentences
from claimeval.metrics.citations import checked, of_claims
from claimeval.metrics.rows import Metric
from claimeval.report.charts import Picture
from claimeval.runs.slices import Cell, cell_of
from claimeval.runs.worst import worst_of_answer
from claimeval.types.errors import PromptError
from claimeval.types.records import (
    Assessment,
    Call,
    Claim,
    Document,
    Evidence,
    Reason,
    Sample,
    SampleResult,
    Score,
)
from claimeval.types.requests import AssessTask, ExtractTask, Judge, Request

if TYPE_CHECKING:
    from xml.etree import ElementTree


MIN_LENGTH = 12
"""Minimum number of characters of a text that is replaced by a reference."""

Piece = int | str
"""Number of a literal, or a reference: `q` question, `d2` text and `t2` title of the second
document of the evidence, `c3` third claim of the call, `s10-25` characters 10 to 25 of the text
that claims are extracted from."""


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


class Rebuilder:
    """Rebuilds the requests of a run."""

    def __init__(self, manifest: Manifest, sent: dict[str, Request] | None = None) -> None:
        """`sent` are requests by key, which are returned once instead of being rebuilt."""
        self._sent_requests = {} if sent is None else sent
        self._judges = {judge.name: judge.forms for judge in reversed(manifest.asked)}
        self._records = {record.id: record for record in manifest.prompts}
        self._prompts: dict[str | None, Prompt | None] = {}
        self._sample: SampleResult | None = None
        self._asked: dict[tuple[object, ...], Request] = {}
        """Questions about claims of the latest sample, which the judges of a panel share."""

    def rebuild(self, result: SampleResult, call: Call) -> Request | None:
        """Return the request of a call; None if the rebuilt request has another key, or the judge
        reads no prompts."""
        sent = self._sent_requests.pop(call.key, None)
        if sent is not None and (call.step == "extract" or call.evidence is not None):
            return sent
        requests = (
            self._ask(result, call, judge) for judge in reversed(self._judges.get(call.judge, ()))
        )
        return next(
            (request for request in requests if request is not None and request.key == call.key),
            None,
        )

    def _ask(self, result: SampleResult, call: Call, judge: Judge) -> Request | None:
        if judge.is_engine:
            return None
        question = result.sample.full_question
        prompt = self._prompt(call.prompt)
        if prompt is None:
            return None
        if call.step == "extract":
            return self._extraction(result, call, judge, prompt)
        if self._sample is not result:
            self._sample = result
            self._asked = {}
        about = call.prompt, call.evidence, call.subjects
        if known := self._asked.get(about):
            return self._sent(known.put_to(judge), call)
        claims = {claim.id: claim for claim in result.claims}
        documents = _shown(result, call)
        if not documents or not claims.keys() >= set(call.subjects):
            return None
        alternatives = call.evidence is not None and result.sample.alternatives(call.evidence.part)
        assessed = [claims[i] for i in call.subjects]
        if judge.asks:
            return self._of_checker(call, judge, prompt, assessed, documents, question)
        shown = assess.ShownDocuments(documents, alternatives)
        self._asked[about] = assess.ask(prompt, judge, assessed, shown, question)
        return self._sent(self._asked[about], call)

    def _of_checker(
        self,
        call: Call,
        judge: Judge,
        prompt: Prompt,
        assessed: Sequence[Claim],
        documents: Sequence[Document],
        question: str,
    ) -> Request | None:
        """Return the request of a checker: about all documents, or about the one whose request has
        the key of the call."""
        for shown in (documents, *[(document,) for document in documents]):
            asked = assess.ask(prompt, judge, assessed, assess.ShownDocuments(shown), question)
            sent = self._sent(asked, call)
            if sent.key == call.key:
                return sent
        return None

    def _extraction(
        self, result: SampleResult, call: Call, judge: Judge, prompt: Prompt
    ) -> Request | None:
        """Return the request of an extraction: of the text, among alternatives, whose request has
        the key of the call."""
        window = extract.TextWindow.read(call.subjects[0]) if call.subjects else None
        for text in result.sample.texts(call.part) or ():
            if window is not None and window.end > len(sentences(text)):
                continue
            question = result.sample.full_question
            asked = extract.ask(prompt, judge, call.part, text, question, window)
            sent = self._sent(asked, call)
            if sent.key == call.key:
                return sent
        return None

    def _prompt(self, number: str | None) -> Prompt | None:
        """Return the prompt of a call; None if it is from another version of claimeval."""
        if number not in self._prompts:
            record = self._records.get(number or "")
            self._prompts[number] = None
            if record:
                with suppress(PromptError):
                    self._prompts[number] = Prompt(
                        record.name, record.step, record.source, record.parameters
                    )
        return self._prompts[number]

    def _sent(self, request: Request, call: Call) -> Request:
        return request.repeated(call.attempt, call.replicate).to(request.judge)


def _shown(result: SampleResult, call: Call) -> tuple[Document, ...] | None:
    """Return the documents of a call: those of its evidence or, of a claim that was located, the
    passages that it was judged against."""
    if call.evidence is None:
        return None
    documents = result.sample.documents(call.evidence)
    if not documents or "locate" not in result.details:
        return documents
    from claimeval.evaluation.locate import Located

    shown = Located.of(result).claims[call.subjects[0]].shown
    return tuple([documents[number] for number in shown])


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
    slots = sorted(_slots(request, sample, evidence), key=lambda slot: -len(slot.text))
    return RequestPieces(
        tuple(
            MessagePieces(m.role, tuple(_cut(m.content, slots, literals))) for m in request.messages
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
    shown = {document.id for document in task.documents}  # a checker sees one of several
    ranked = zip(sample.ranks(evidence), sample.documents(evidence) or (), strict=True)
    for i, document in ranked:
        if document.id in shown:
            yield document.text, f"d{i}"
            yield document.title or "", f"t{i}"


def _cut(text: str, slots: Sequence[_TextSlot], literals: Literals) -> Iterator[Piece]:
    """Split a message at the texts of the sample, longest first. The other parts are literals."""
    matches: list[tuple[int, _TextSlot]] = []
    remaining = text
    for slot in slots:
        start = remaining.find(slot.text)
        while start >= 0:
            matches.append((start, slot))
            start = remaining.find(slot.text, start + len(slot.text))
        remaining = remaining.replace(slot.text, "\0" * len(slot.text))  # no quoted text has a NUL
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


def block(name: str, content: bytes) -> str:
    """Return an element with compressed content as base64, which the browser neither shows nor
    runs."""
    return (
        '<script type="text/plain"'
        f' id="{name}">{base64.b64encode(zlib.compress(content, 9)).decode()}</script>\n'
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
        complete = len(compressed) - len(compressed) % 3
        self._remainder = compressed[complete:]
        self._file.write(base64.b64encode(compressed[:complete]).decode())


def line(result: SampleResult) -> bytes:
    """Return the result of a sample as JSON for the page, without fields that have their
    default."""
    return result.model_dump_json(exclude_defaults=True).encode()


def shown_sentences(result: SampleResult) -> Iterator[tuple[Assessment, ShownSentence | None]]:
    """Yield the sentence that is shown for each claim with a label.

    A claim that is supported without a reason has none here: the page looks for the nearest when it
    is opened, as a large run has many of them.
    """
    texts = {claim.id: claim.text for claim in result.claims}
    for one in result.whole:
        if one.subject not in texts or one.support is None:
            continue
        verdict = deciding_verdict(one)
        if one.support != "supported" or (verdict and verdict.evidence):
            yield one, shown_sentence(result.sample, one, texts[one.subject])


def _written_sentence(found: tuple[Assessment, ShownSentence | None]) -> list[object]:
    """Return claim, part and sentence as the page reads them; without a sentence if none is like
    the claim."""
    assessment, shown = found
    address: list[object] = [assessment.subject, assessment.against]
    if shown is None:
        return address
    span = shown.span
    return [*address, span.document, span.start, span.end, int(shown.judged)]


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
        found = [list(map(_written_sentence, shown_sentences(result))) for result in results]
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
        value = None if score.value is None else round(score.value, 6)
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
