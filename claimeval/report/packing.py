"""Data inside a page: compressed, and written so that nothing in it can be markup.

One short row per sample: what the page's list shows, sorts and filters without opening the sample.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

from claimeval.metrics.rows import Metric
from claimeval.report.requests import Literals, RequestPieces
from claimeval.types.records import Assessment, SampleResult

CHUNK = 256 * 1024
"""Bytes of JSON from which a chunk of details is closed; a page unpacks one chunk to show one sample."""


def block(name: str, content: bytes) -> str:
    """An element that holds zlib-compressed content as base64; the browser neither shows nor runs it."""
    return f'<script type="text/plain" id="{name}">{base64.b64encode(zlib.compress(content, 9)).decode()}</script>\n'


def as_json(value: object) -> bytes:
    """Compact JSON; only where a text has lone surrogates, which UTF-8 cannot hold, everything is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


class Index:
    """Writes the element `index` into a file row by row: `{"rows": [...], "starts": [first sample of every chunk]}`."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._packer = zlib.compressobj(9)
        self._left = b""
        self._next = b'{"rows":['
        file.write('<script type="text/plain" id="index">')

    def add(self, row: object) -> None:
        """One sample."""
        self._write(self._packer.compress(self._next + as_json(row)))
        self._next = b","

    def close(self, starts: Sequence[int]) -> None:
        """Ends the element."""
        opened = b"" if self._next == b"," else self._next
        self._write(self._packer.compress(opened + b'],"starts":' + as_json(starts) + b"}"))
        self._file.write(base64.b64encode(self._left + self._packer.flush()).decode() + "</script>\n")

    def _write(self, packed: bytes) -> None:
        """Base64 of as many bytes as make whole letters; the others wait for more."""
        packed = self._left + packed
        whole = len(packed) - len(packed) % 3
        self._left = packed[whole:]
        self._file.write(base64.b64encode(packed[:whole]).decode())


class Details:
    """Writes the full results of a run into a file, in chunks named `chunk-0`, `chunk-1` and so on.

    A chunk is `{"results": [[line of run a, line of run b?], ...], "requests": [[request or null per call of a], ...],
    "literals": [...]}`.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._samples = 0
        self._begin()
        self.starts: list[int] = []
        """The number of the first sample of every chunk, counted from 0."""

    def _begin(self) -> None:
        self.literals = Literals()
        self._lines: list[bytes] = []
        self._requests: list[object] = []
        self._bytes = 0

    def add(self, lines: Iterable[bytes], requests: Sequence[Sequence[RequestPieces | None]]) -> None:
        """One sample: its line in each run, and the requests behind its calls in each run."""
        if not self._lines:
            self.starts.append(self._samples)
        self._samples += 1
        self._lines.append(b"[" + b",".join(line.strip() for line in lines) + b"]")
        self._requests.append(requests)
        self._bytes += len(self._lines[-1])
        if self._bytes >= CHUNK:
            self.close()

    def close(self) -> None:
        """Writes what has been gathered since the last chunk."""
        if not self._lines:
            return
        lines = b",".join(self._lines)
        rest = as_json({"requests": self._requests, "literals": self.literals.texts()})
        self._file.write(block(f"chunk-{len(self.starts) - 1}", b'{"results":[' + lines + b"]," + rest[1:]))
        self._begin()


QUESTION = 200
"""Characters of the question that a row carries."""
LETTERS = {"supported": "s", "contradicted": "c", "not_found": "n", None: "u"}


class ScoreCell(NamedTuple):
    """One metric of one sample."""

    value: float | None
    strip: str
    """A letter per claim (`LETTERS`), in the order of the claims; a capital where judges differ."""
    because: str | None
    """Why there is no value."""


class SampleRow(NamedTuple):
    """One sample."""

    id: str
    question: str
    ungrounded: int
    """Claims that are tied to no place in their text."""
    failed: int
    """Calls without a usable reply."""
    cells: tuple[ScoreCell, ...]
    """In the order of the run's metrics."""


def row(result: SampleResult, metrics: Sequence[Metric]) -> SampleRow:
    """The row of one sample."""
    found = {(a.evidence.part, a.subject): a for a in result.assessments}
    extracted = {extraction.of: extraction.claims for extraction in result.extractions}
    scores = {score.metric: score for score in result.scores}

    def letter(against: str, subject: str) -> str:
        assessment = found.get((against, subject))
        if assessment is None:
            return LETTERS[None]
        letter = LETTERS[assessment.label]
        return letter.upper() if _divided(assessment) else letter

    return SampleRow(
        id=result.sample.id,
        question=result.sample.question[:QUESTION],
        ungrounded=sum(claim.grounding == "ungrounded" for claim in result.claims),
        failed=sum(call.failed is not None for call in result.calls),
        cells=tuple(
            ScoreCell(
                _rounded(scores[metric.name].value),
                "".join(letter(metric.against, claim.id) for claim in extracted.get(metric.claims_of, ())),
                scores[metric.name].undefined_because,
            )
            for metric in metrics
        ),
    )


def _divided(assessment: Assessment) -> bool:
    """Whether two verdicts have different labels; those without one do not count."""
    return len({verdict.label for verdict in assessment.verdicts if verdict.label is not None}) > 1


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
