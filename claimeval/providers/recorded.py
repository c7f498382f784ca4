"""`recorded:FILE`: a judge that answers from a file of recorded claims and verdicts, without a key,
model or network.

A file is JSON Lines. Each line holds the claims of a text, or verdicts on claims against some
evidence::

    {"text": "It is 63 m high.", "claims": [{"claim": "It is 63 m high.", "sentences": [1]}]}
    {"evidence": ["58 m"], "verdicts": [{"claim": "It is 63 m high.", "label": "contradicted"}]}

They are found by text, claim and evidence and not by request, so they also answer requests with
other claims together or documents in another order. What the file lacks is `not_in_cache`.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import Field, ValidationError, model_validator

from claimeval.judging.replies import ExtractedClaim
from claimeval.providers import Backend, Provider
from claimeval.providers.local import (
    ComputedBackend,
    EngineAnswer,
    computed,
    write_claims,
    write_verdicts,
)
from claimeval.types.bundled import bundled
from claimeval.types.errors import (
    DataError,
    UsageError,
    first_problem,
    missing_file,
    unknown_name,
)
from claimeval.types.records import Record
from claimeval.types.requests import AssessTask, ExtractTask, Failure, Judge, Outcome, Request
from claimeval.types.scales import ABSTAIN, SCALES

K = TypeVar("K")
V = TypeVar("V")
Texts = frozenset[str]
"""The texts of documents, in any order."""
LABELS = frozenset({ABSTAIN}).union(*(scale.words for scale in SCALES.values()))


class _ClaimEntry(Record):
    claim: str = Field(min_length=1)
    sentences: tuple[int, ...] = ()
    quote: str | None = None


class _VerdictEntry(Record):
    claim: str = Field(min_length=1)
    label: str
    reason: str = ""
    documents: tuple[int, ...] = ()


class _RecordedLine(Record):
    source: str | None = None
    text: str | None = None
    claims: tuple[_ClaimEntry, ...] = ()
    evidence: tuple[str, ...] = ()
    verdicts: tuple[_VerdictEntry, ...] = ()

    @model_validator(mode="after")
    def _is_valid(self) -> _RecordedLine:
        if self.model_fields_set not in ({"source"}, {"text", "claims"}, {"evidence", "verdicts"}):
            raise ValueError(
                "a line has `text` and `claims`, or `evidence` and `verdicts`, or `source`"
            )
        for verdict in self.verdicts:
            if verdict.label not in LABELS:
                raise ValueError(str(unknown_name("label", verdict.label, LABELS)))
            if not all(1 <= number <= len(self.evidence) for number in verdict.documents):
                raise ValueError(
                    f"`documents` are numbers of the {len(self.evidence)} texts in `evidence`,"
                    " from 1"
                )
        return self


class _FileVerdict(NamedTuple):
    label: str
    reason: str
    documents: Texts


class Recording(NamedTuple):
    """The content of a file."""

    version: str
    """Identifies the content."""
    source: str
    """Whose replies they are; empty if the file does not say."""
    claims: dict[str, tuple[ExtractedClaim, ...]]
    """By text."""
    verdicts: dict[tuple[Texts, str], _FileVerdict]
    """By the texts of the evidence and the claim."""
    labels: frozenset[str]

    def answer(self, request: Request) -> Outcome:
        """Return the recorded claims or verdicts in the reply format of the request; a failure if
        there are none.

        Verdicts answer only for scales that have all labels of the file. Otherwise, a prompt with
        fewer labels would get verdicts only on the claims with these labels, and a wrong score.
        """
        task = request.task
        text = None
        if (
            isinstance(task, ExtractTask)
            and (claims := self.claims.get(_spaced(task.text))) is not None
        ):
            text = write_claims(claims, request)
        if isinstance(task, AssessTask) and self.labels <= {*task.scale.words, ABSTAIN}:
            answers = self._verdicts_on(task)
            text = write_verdicts(task, request, answers) if any(answers) else None
        if text is None:
            return Failure(
                reason="not_in_cache",
                message=f"no recorded reply from {request.judge.name} to this question",
            )
        return computed(text, request)

    def _verdicts_on(self, task: AssessTask) -> list[EngineAnswer | None]:
        texts = [_spaced(document.text) for document in task.documents]
        evidence = frozenset(texts)
        verdicts = [self.verdicts.get((evidence, _spaced(claim.text))) for claim in task.claims]
        return [
            verdict
            and EngineAnswer(
                verdict.label,
                None,
                [index for index, text in enumerate(texts) if text in verdict.documents],
                verdict.reason,
            )
            for verdict in verdicts
        ]


def read(judge: Judge) -> Recording:
    """Read the file of a judge: a path, or the name of a bundled file (`demo`).

    Raises UsageError if there is no such file, and DataError for a line that is malformed or
    contradicts another.
    """
    name = judge.model.partition(":")[2]
    path = Path(name) if name.endswith(".jsonl") else bundled(f"{name}_replies.jsonl")
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(
            f"judge {judge.name!r}, recorded replies: {missing_file(path)}. `recorded:demo` has the"
            " replies to the bundled samples"
        ) from error
    except OSError as error:
        raise UsageError(
            f"judge {judge.name!r}: cannot read the recorded replies {name!r}:"
            f" {error.strerror or error}. Give the path of a .jsonl file, or `demo` for the replies"
            " to the bundled samples"
        ) from error
    return _parse(content, name)


@lru_cache(maxsize=8)
def _parse(content: bytes, name: str) -> Recording:
    source = ""
    claims: dict[str, tuple[ExtractedClaim, ...]] = {}
    verdicts: dict[tuple[Texts, str], _FileVerdict] = {}
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        location = f"{name}, line {number}"
        row = _recorded_line(line, location)
        source = row.source or source
        if row.text is not None:
            extracted = [
                ExtractedClaim(entry.claim, entry.sentences, entry.quote) for entry in row.claims
            ]
            _put(
                claims,
                _spaced(row.text),
                tuple(extracted),
                f"{location}: other claims of this text were given before",
            )
        texts = [_spaced(text) for text in row.evidence]
        for entry in row.verdicts:
            verdict = _FileVerdict(
                entry.label,
                entry.reason,
                frozenset(texts[n - 1] for n in entry.documents),
            )
            twice = (
                f"{location}: another verdict on the claim {entry.claim[:60]!r} was given before"
            )
            _put(verdicts, (frozenset(texts), _spaced(entry.claim)), verdict, twice)
    if not claims and not verdicts:
        raise DataError(f"{name} has no recorded claims and verdicts")
    version = f"recorded/{hashlib.sha256(content).hexdigest()[:16]}"
    return Recording(
        version,
        source,
        claims,
        verdicts,
        frozenset(verdict.label for verdict in verdicts.values()),
    )


def _recorded_line(line: bytes, location: str) -> _RecordedLine:
    try:
        return _RecordedLine.model_validate_json(line)
    except ValidationError as error:
        field, problem, value = first_problem(error, _RecordedLine)
        problem = problem.removeprefix("Value error, ")
        raise DataError(
            f"{location}, {field}: {problem}, got {value}" if field else f"{location}: {problem}"
        ) from error


def _put(table: dict[K, V], key: K, value: V, problem: str) -> None:
    if table.setdefault(key, value) != value:
        raise DataError(problem)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def resolve(judge: Judge) -> Judge:
    """Return the judge with the version of its file as endpoint."""
    version = read(judge).version
    if judge.endpoint not in (None, version):
        raise UsageError(
            f"judge {judge.name!r}: its file has changed since the run"
            if judge.endpoint and judge.endpoint.startswith("recorded/")
            else (
                f"judge {judge.name!r}: recorded replies have no address, and their file's name"
                " no @"
            )
        )
    return judge.model_copy(update={"endpoint": version})


def note(judge: Judge) -> str:
    """Return the note to print with the numbers of this judge: whose replies they are, if the file
    says so."""
    try:
        source = read(judge).source
    except UsageError:  # the verdicts of a run can be counted again without the file
        source = ""
    return f"replay of recorded replies: {source}" if source else "replay of recorded replies"


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[Backend]:
    """Open the file's backend."""
    yield ComputedBackend(read(judge).answer)


PROVIDER = Provider(
    name="recorded",
    open=open_backend,
    resolve=resolve,
    example="recorded:FILE.jsonl",
    costs=False,
    computes=lambda judge: read(judge).answer,
    note=note,
)
