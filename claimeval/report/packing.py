"""Data in a page: compressed, and encoded so that it cannot contain markup.

The index has one short row per sample, which the page's list shows, sorts and filters without opening the sample.
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
"""Bytes of JSON after which a chunk of details ends. The page unpacks one chunk to show one sample."""


def block(name: str, content: bytes) -> str:
    """Return an element with compressed content as base64, which the browser neither shows nor runs."""
    return f'<script type="text/plain" id="{name}">{base64.b64encode(zlib.compress(content, 9)).decode()}</script>\n'


def as_json(value: object) -> bytes:
    """Return compact JSON. If a text has lone surrogates, which UTF-8 cannot encode, all characters are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


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
        self._file.write(base64.b64encode(self._remainder + self._compressor.flush()).decode() + "</script>\n")

    def _write(self, compressed: bytes) -> None:
        """Write as many bytes as are complete in base64, which are multiples of three."""
        compressed = self._remainder + compressed
        complete = len(compressed) - len(compressed) % 3
        self._remainder = compressed[complete:]
        self._file.write(base64.b64encode(compressed[:complete]).decode())


class Details:
    """Writer of the full results of a run, in chunks named `chunk-0`, `chunk-1` and so on.

    A chunk is `{"results": [[line of run a, line of run b?], ...], "requests": [[request or null per call of a], ...],
    "literals": [...]}`.
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
        self._requests: list[object] = []
        self._bytes = 0

    def add(self, lines: Iterable[bytes], requests: Sequence[Sequence[RequestPieces | None]]) -> None:
        """Add a sample: its line and the requests of its calls, in each run."""
        if not self._lines:
            self.starts.append(self._samples)
        self._samples += 1
        self._lines.append(b"[" + b",".join(line.strip() for line in lines) + b"]")
        self._requests.append(requests)
        self._bytes += len(self._lines[-1])
        if self._bytes >= CHUNK:
            self.close()

    def close(self) -> None:
        """Write the chunk."""
        if not self._lines:
            return
        lines = b",".join(self._lines)
        requests = as_json({"requests": self._requests, "literals": self.literals.texts()})
        self._file.write(block(f"chunk-{len(self.starts) - 1}", b'{"results":[' + lines + b"]," + requests[1:]))
        self._start_chunk()


QUESTION = 200
"""Characters of the question in a row."""
LETTERS = {"supported": "s", "contradicted": "c", "not_found": "n", None: "u"}


class ScoreCell(NamedTuple):
    """Score of a sample."""

    value: float | None
    strip: str
    """A letter per claim (`LETTERS`), in the order of the claims. Upper case if the judges disagree."""
    because: str | None
    """Reason why there is no value."""


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


def row(result: SampleResult, metrics: Sequence[Metric], others: Iterable[str] = ()) -> SampleRow:
    """Return the row of a sample, with a cell for each metric of claims, then for each other metric."""
    assessments = {(a.evidence.part, a.subject): a for a in result.assessments}
    scores = result.scores

    def letter(against: str, subject: str) -> str:
        """Return the letter of a claim's label; a capital if the judges disagree."""
        assessment = assessments.get((against, subject))
        if assessment is None:
            return LETTERS[None]
        letter = LETTERS[assessment.support]
        return letter.upper() if _disagree(assessment) else letter

    return SampleRow(
        id=result.sample.id,
        question=result.sample.question[:QUESTION],
        ungrounded=sum(claim.grounding == "ungrounded" for claim in result.claims),
        failed=sum(call.failed is not None for call in result.calls),
        cells=tuple(
            ScoreCell(
                _rounded(scores[metric.name].value),
                "".join(letter(metric.against, claim.id) for claim in result.claims_of(metric.claims_of)),
                scores[metric.name].because,
            )
            for metric in metrics
        )
        + tuple(ScoreCell(_rounded(scores[name].value), "", scores[name].because) for name in others),
    )


def _disagree(assessment: Assessment) -> bool:
    """Return whether two verdicts have different labels. Verdicts without a label are ignored."""
    return len({verdict.support for verdict in assessment.verdicts if verdict.label is not None}) > 1


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
