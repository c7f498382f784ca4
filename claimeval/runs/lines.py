"""The format of a run's results, and the files of lines that hold them, plain or compressed.

Each sample has one line in `results.jsonl` and one in `replies.jsonl.gz` with its requests and replies. Derivable
values are left out. Claims of one part are written in columns, and so are assessments by the same judges of one
question against one evidence: the n-th entry of each list belongs to the n-th claim or subject.

A compressed file is a sequence of gzip members, each with whole lines, so that a line can be read without decompressing
all lines before it. Any program that reads gzip can read it.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Required, TypeVar, overload

from pydantic import Field, JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json
from typing_extensions import TypedDict

from claimeval.judging.panel.rules import Ballot
from claimeval.judging.panel.voting import Consensus, consensus
from claimeval.metrics.tally import Keyed
from claimeval.types.errors import DataError
from claimeval.types.records import (
    LABELS,
    Assessment,
    Call,
    Claim,
    Evidence,
    Grounding,
    Part,
    Reason,
    Record,
    Sample,
    SampleResult,
    Score,
    Verdict,
)
from claimeval.types.scales import THREE_WAY

T = TypeVar("T")


class WrittenResult(NamedTuple):
    """The two lines of a result, each with its line end."""

    line: bytes
    replies: bytes

    @property
    def asked(self) -> bool:
        """Whether a judge was asked anything."""
        return b',"calls":[' in self.replies


_ByJudge = tuple[tuple[T, ...] | None, ...]
"""For each judge a list with a value for each subject, or None if it has no such values."""


class _WrittenVerdicts(TypedDict, total=False):
    """Verdicts on the subjects of a column: the n-th entry of each list belongs to the n-th judge."""

    judge: Required[tuple[str, ...]]
    replicate: tuple[int | None, ...]
    """None for 0."""
    prompt: tuple[str | None, ...]
    """None if it is the prompt of the call."""
    call: tuple[int | str | tuple[int | str | None, ...] | None, ...]
    """Position of the call among those of the sample, from 0; a list by subject if there are several calls."""
    labels: _ByJudge[str | None]
    """None, with `positive` and `unassessed`, if they equal those of the panel."""
    positive: _ByJudge[bool | None]
    unassessed: _ByJudge[Reason | None]
    probability: _ByJudge[float | None]
    explanation: _ByJudge[str | None]
    cites: _ByJudge[tuple[int | str, ...]]
    """Documents by their rank in the evidence, from 1, or by their id if they are not in it."""
    windows: _ByJudge[int | None]
    """Number of windows in which the evidence was read; None if it was read whole."""


class _WrittenAssessments(TypedDict, total=False):
    """Assessments of several subjects by the same judges, of one question against one evidence."""

    question: str
    """Left out for `support`."""
    evidence: Required[Part | Evidence]
    """The name of a part, or the address of one of its documents or orders."""
    subjects: Part | tuple[str, ...]
    """The name of a part for all its claims; left out for all claims of the line."""
    labels: Required[tuple[str | None, ...]]
    positive: tuple[bool | None, ...]
    unassessed: tuple[Reason | None, ...]
    tied: tuple[bool, ...]
    agreement: tuple[float | None, ...]
    """Left out, like `probability` and `entropy`, if it follows from the verdicts (`_consensus`)."""
    probability: tuple[float | None, ...]
    entropy: tuple[float | None, ...]
    verdicts: _WrittenVerdicts


class _WrittenClaims(TypedDict, total=False):
    """Claims of one part. A list of defaults is left out."""

    of: Required[Part]
    id: tuple[str, ...]
    """Left out if the ids are numbers, as in `answer-1`, `answer-2`."""
    text: tuple[str | None, ...]
    """None for the text at the span."""
    sentence_ids: tuple[tuple[int, ...], ...]
    span: tuple[tuple[int, int] | None, ...]
    grounding: tuple[Grounding, ...]
    """Left out if claims with a span are exact and others ungrounded."""
    extractor: tuple[str | None, ...]
    alternative: tuple[int | None, ...]
    repeats: tuple[int, ...]
    missing_numbers: tuple[tuple[str, ...], ...]


class _WrittenScore(TypedDict, total=False):
    """A score; `judged` is left out if it equals `total`, and bounds if they follow from the counts."""

    value: Required[float | None]
    unit: str
    hits: int
    judged: int
    total: int
    bounds: tuple[float, float] | None
    because: Reason
    alternative: int


class _WrittenLine(Record):
    """A line of `results.jsonl`."""

    sample: Sample
    claims: tuple[_WrittenClaims, ...] = ()
    unextracted: dict[Part, Reason] = Field(default_factory=dict)
    assessments: tuple[_WrittenAssessments, ...] = ()
    per_document: tuple[_WrittenAssessments, ...] = ()
    orders: tuple[_WrittenAssessments, ...] = ()
    scores: dict[str, _WrittenScore] = Field(default_factory=dict)
    details: dict[str, JsonValue] = Field(default_factory=dict)


class _WrittenCalls(Record):
    """A line of `replies.jsonl.gz`: the requests and replies of a sample."""

    sample: str
    calls: tuple[Call, ...] = ()


def write(result: SampleResult) -> WrittenResult:
    """Return the lines of a result."""
    fields: dict[str, object] = {}
    if result.claims:
        texts = Keyed[Part, tuple[str, ...]](lambda part: result.sample.texts(part) or ())
        fields["claims"] = [
            _written_claims(part, list(claims), texts) for part, claims in groupby(result.claims, lambda one: one.of)
        ]
    if result.unextracted:
        fields["unextracted"] = result.unextracted
    columns = _ColumnWriter(result)
    for name in ("assessments", "per_document", "orders"):
        if value := getattr(result, name):
            fields[name] = [columns.written(list(alike)) for _, alike in groupby(value, _question_key)]
    fields["scores"] = {name: _written_score(score) for name, score in result.scores.items()}
    if result.details:
        fields["details"] = result.details
    line = b'{"sample":' + result.sample.as_line() + b"," + _json(fields)[1:] + b"\n"
    replies = _WrittenCalls.holding({"sample": result.sample.id, "calls": result.calls})
    return WrittenResult(line, replies.as_line() + b"\n")


def read(line: bytes, replies: bytes | None = None, *, verdicts: bool = True) -> SampleResult:
    """Return the result that was written as these lines.

    Args:
        line: The line of `results.jsonl`.
        replies: The line of `replies.jsonl.gz`; None leaves the calls out.
        verdicts: Whether to read the verdicts of the judges; without them, reading takes half the time.

    Raises:
        ValueError: A line is not that of a result, or the lines are of different samples.
    """
    written = _WrittenLine.model_validate_json(line)
    sample = written.sample
    calls: tuple[Call, ...] = ()
    if replies is not None:
        written_calls = _WrittenCalls.model_validate_json(replies)
        if written_calls.sample != sample.id:
            raise ValueError(f"the replies for this line are those of {written_calls.sample!r}, not of {sample.id!r}")
        calls = written_calls.calls
    texts = Keyed[Part, tuple[str, ...]](lambda part: sample.texts(part) or ())
    claims = tuple([claim for group in written.claims for claim in _claims(group, texts)])
    columns = _ColumnReader(sample, claims, calls if verdicts else None)
    return SampleResult.trusted(
        sample=sample,
        claims=claims,
        unextracted=written.unextracted,
        assessments=columns.assessments(written.assessments),
        per_document=columns.assessments(written.per_document),
        orders=columns.assessments(written.orders),
        scores={name: _score(fields) for name, fields in written.scores.items()},
        calls=calls,
        details=written.details,
    )


class ResultLine:
    """A line of `results.jsonl` as plain data, from which records are built on demand."""

    def __init__(self, line: bytes, read: Callable[..., SampleResult]) -> None:
        """`read` returns the result, and with `verdicts=True` its verdicts in any case.

        Raises ValueError, LookupError, TypeError or AttributeError if the line is not that of a result.
        """
        try:
            self._fields: dict[str, Any] = from_json(line)
        except ValueError:  # escapes of lone surrogates
            self._fields = json.loads(line)
        self._read = read
        self.id: str = self._fields["sample"]["id"]
        self.scores = {name: _score(fields) for name, fields in self._fields["scores"].items()}

    @cached_property
    def sample(self) -> Sample:
        """The sample."""
        return Sample.model_validate(self._fields["sample"])

    @cached_property
    def result(self) -> SampleResult:
        """The result."""
        return self._read()

    def with_verdicts(self) -> SampleResult:
        """Return the result with its verdicts."""
        return self._read(verdicts=True)

    def same(self, other: ResultLine) -> bool:
        """Return whether sample, claims, labels and scores are written alike."""
        mine, theirs = self._fields, other._fields
        return (
            mine["sample"] == theirs["sample"]
            and mine["scores"] == theirs["scores"]
            and mine.get("claims") == theirs.get("claims")
            and self._labels() == other._labels()
        )

    def _labels(self) -> list[tuple[object, ...]]:
        return [
            (one["evidence"], one.get("subjects"), one["labels"], one.get("positive"), one.get("tied"))
            for one in self._fields.get("assessments", ())
        ]

    def assessed(self) -> Iterator[tuple[Part, Part, int]]:
        """Yield claimed part, evidence part and the number of claims that were assessed between the two."""
        of = {name: group["of"] for group in self._fields.get("claims", ()) for name in _ids(group)}
        for column in self._fields.get("assessments", ()):
            evidence, subjects = column["evidence"], column.get("subjects", of)
            part = evidence if isinstance(evidence, str) else evidence["part"]
            if isinstance(subjects, str):
                yield subjects, part, len(column["labels"])
            else:
                yield from ((of[subject], part, 1) for subject in subjects if subject in of)


_ID = b'{"sample":{"id":'


def sample_id(line: bytes) -> str:
    """Return the sample id of a line without parsing the rest."""
    end = len(_ID) + 1
    while line[end] != ord('"'):
        end += 2 if line[end] == ord("\\") else 1
    name: str = json.loads(line[len(_ID) : end + 1])
    return name


def _json(value: object) -> bytes:
    """Return compact JSON; lone surrogates, which UTF-8 cannot encode, become escapes."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        return json.dumps(value, separators=(",", ":")).encode()


def _written_claims(part: Part, claims: list[Claim], texts: Mapping[Part, tuple[str, ...]]) -> dict[str, object]:
    columns: dict[str, object] = {"of": part}
    if (ids := [claim.id for claim in claims]) != _numbered(part, len(claims)):
        columns["id"] = ids
    unquoted = [
        None if claim.span and _quoted(texts[part], claim.span, claim.alternative) == claim.text else claim.text
        for claim in claims
    ]
    if unquoted.count(None) < len(unquoted):
        columns["text"] = unquoted
    rows = [claim.__dict__ for claim in claims]
    columns |= _listed(rows, "sentence_ids", "span", "extractor", "alternative", "repeats", "missing_numbers")
    if (groundings := [claim.grounding for claim in claims]) != _groundings([claim.span for claim in claims]):
        columns["grounding"] = groundings
    return columns


def _claims(written: _WrittenClaims, texts: Mapping[Part, tuple[str, ...]]) -> list[Claim]:
    part, ids = written["of"], _ids(written)
    nothing = (None,) * len(ids)
    spans, unquoted = written.get("span", nothing), written.get("text", nothing)
    columns: dict[str, Any] = {"grounding": _groundings(spans), **written, "id": ids}
    del columns["of"]
    if None in unquoted:
        quoted = [_quoted(texts[part], *at) for at in zip(spans, written.get("alternative", nothing), strict=True)]
        columns["text"] = [one if text is None else text for text, one in zip(unquoted, quoted, strict=True)]
    return Claim.table({"of": part}, columns)


def _ids(written: _WrittenClaims) -> Sequence[str]:
    return written.get("id") or _numbered(written["of"], len(written.get("text") or written.get("span") or ()))


def _numbered(part: Part, count: int) -> list[str]:
    """Return the usual ids of the claims of a part."""
    return [f"{part}-{number}" for number in range(1, count + 1)]


def _groundings(spans: Sequence[tuple[int, int] | None]) -> list[Grounding]:
    """Return the usual grounding of claims with or without a span."""
    return ["ungrounded" if span is None else "exact" for span in spans]


def _quoted(texts: Sequence[str], span: tuple[int, int] | None, alternative: int | None) -> str:
    """Return the text in the span of a claim; an empty one without a span."""
    number = (alternative or 1) - 1
    return texts[number][slice(*span)] if span and number < len(texts) else ""


def _question_key(assessment: Assessment) -> tuple[object, ...]:
    """Return the values that assessments in one column share."""
    verdict_keys = tuple([(verdict.judge, verdict.replicate, verdict.prompt) for verdict in assessment.verdicts])
    return assessment.question, assessment.evidence, verdict_keys


_EMPTY: Mapping[str, object] = {"tied": False, "cites": (), "sentence_ids": (), "repeats": 0, "missing_numbers": ()}
"""Default of fields whose default is not None."""


def _listed(rows: Sequence[Mapping[str, Any]], *fields: str) -> dict[str, list[Any]]:
    """Return the columns of fields in which a row differs from the default."""
    columns: dict[str, list[Any]] = {}
    for field in fields:
        values = [row[field] for row in rows]
        if values.count(_EMPTY.get(field)) < len(values):
            columns[field] = values
    return columns


def _labeled(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {"labels": [row["label"] for row in rows], **_listed(rows, "positive", "unassessed")}


class _ColumnWriter:
    """Writes the assessments of a sample in columns."""

    def __init__(self, result: SampleResult) -> None:
        self._sample, self._calls = result.sample, result.calls
        self._known: dict[Part, dict[str, int]] = {}
        self._places: dict[str, int] = {}
        for place, call in enumerate(result.calls):
            self._places.setdefault(call.key, place)
        ids: dict[Part, list[str]] = {}
        for claim in result.claims:
            ids.setdefault(claim.of, []).append(claim.id)
        self._claims = {tuple(of_part): part for part, of_part in ids.items()}
        self._all_claims = tuple([claim.id for claim in result.claims])

    def written(self, alike: list[Assessment]) -> dict[str, object]:
        """Return assessments with the same `_question_key` as one record of columns."""
        first, rows = alike[0], [a.__dict__ for a in alike]
        labeled, subjects = _labeled(rows), tuple([a.subject for a in alike])
        column: dict[str, object] = {
            "question": first.question,
            "evidence": first.evidence.part if first.evidence.is_whole else first.evidence.model_dump(),
            "subjects": self._claims.get(subjects, subjects),
            **labeled,
            **_listed(rows, "tied"),
        }
        if first.question == "support":
            del column["question"]
        if subjects == self._all_claims:
            del column["subjects"]
        judges = [
            self._written_verdicts([verdict.__dict__ for verdict in of_judge], labeled, first.evidence.part)
            for of_judge in zip(*[a.verdicts for a in alike], strict=True)
        ]
        implied = _consensus(column, judges)
        for name in Consensus._fields:
            if (values := [row[name] for row in rows]) != [getattr(one, name) for one in implied]:
                column[name] = values
        return column | {"verdicts": _transposed(judges)} if judges else column

    def _written_verdicts(
        self, verdicts: list[dict[str, Any]], of_panel: dict[str, list[Any]], part: Part
    ) -> dict[str, Any]:
        """Return the verdicts of one judge as columns, from the fields of each verdict."""
        calls = [self._places.get(verdict["call"], verdict["call"]) for verdict in verdicts]
        first = verdicts[0]
        written: dict[str, Any] = {"judge": first["judge"]}
        if first["replicate"]:
            written["replicate"] = first["replicate"]
        if first["prompt"] != self._prompt(calls):
            written["prompt"] = first["prompt"]
        if (call := calls[0] if len(set(calls)) == 1 else calls) is not None:
            written["call"] = call
        if (labeled := _labeled(verdicts)) != of_panel:
            written.update(labeled)
        written.update(_listed(verdicts, "probability", "explanation", "cites", "windows"))
        if "cites" in written:
            ranks = self._ranks(part)
            written["cites"] = [[ranks.get(document, document) for document in cited] for cited in written["cites"]]
        return written

    def _ranks(self, part: Part) -> dict[str, int]:
        if part not in self._known:
            self._known[part] = self._sample.ranks_by_id(part)
        return self._known[part]

    def _prompt(self, calls: Sequence[int | str | None]) -> str | None:
        return next((self._calls[place].prompt for place in calls if isinstance(place, int)), None)


class _ColumnReader:
    """Reads the assessments of a sample from columns."""

    def __init__(self, sample: Sample, claims: Sequence[Claim], calls: Sequence[Call] | None) -> None:
        """If `calls` is None, the verdicts are left out."""
        self._sample, self._claims, self._calls = sample, claims, calls
        self._ids = Keyed[Part, dict[int | str, str]](
            lambda part: {rank: name for name, rank in sample.ranks_by_id(part).items()}
        )

    def assessments(self, columns: Iterable[_WrittenAssessments]) -> tuple[Assessment, ...]:
        return tuple([one for column in columns for one in self._column(column)])

    def _column(self, column: _WrittenAssessments) -> list[Assessment]:
        """Return the assessments of one column."""
        subjects, evidence = column.get("subjects"), column["evidence"]
        if subjects is None or isinstance(subjects, str):
            subjects = tuple([claim.id for claim in self._claims if subjects in (None, claim.of)])
        if isinstance(evidence, str):
            evidence = Evidence.of(evidence)
        judges = _rows(column.get("verdicts", {}))
        columns: dict[str, Sequence[Any]] = {"label": column["labels"], "subject": subjects}
        columns |= dict(zip(Consensus._fields, zip(*_consensus(column, judges), strict=True), strict=False))
        columns |= {name: column[name] for name in _OF_ASSESSMENTS if name in column}
        if judges and self._calls is not None:
            read = [self._verdicts(one, column, evidence.part, self._calls) for one in judges]
            columns["verdicts"] = list(zip(*read, strict=True))
        common = {"question": column.get("question", "support"), "evidence": evidence, "verdicts": ()}
        return Assessment.table(common, columns)

    def _verdicts(
        self, written: Mapping[str, Any], column: _WrittenAssessments, part: Part, calls: Sequence[Call]
    ) -> list[Verdict]:
        places = written.get("call")
        brought = [_call(place, calls) for place in (places if isinstance(places, tuple) else (places,))]
        keys = [call.key if isinstance(call, Call) else call for call in brought]
        prompt = written.get("prompt") or next((call.prompt for call in brought if isinstance(call, Call)), None)
        common = {
            "judge": written["judge"],
            "replicate": written.get("replicate", 0),
            "prompt": prompt,
            "call": keys[0],
        }
        labeled: Mapping[str, Any] = written if "labels" in written else column
        columns: dict[str, Sequence[Any]] = {"label": labeled["labels"]}
        columns |= {name: labeled[name] for name in _OF_BOTH if name in labeled}
        columns |= {name: written[name] for name in _OF_VERDICTS if name in written}
        if isinstance(places, tuple):
            columns["call"] = keys
        if "cites" in written:
            ids = self._ids[part]
            columns["cites"] = [tuple([ids.get(one, str(one)) for one in cited]) for cited in written["cites"]]
        return Verdict.table(common, columns)


_OF_BOTH: tuple[Literal["positive", "unassessed"], ...] = ("positive", "unassessed")
_OF_VERDICTS: tuple[Literal["probability", "explanation", "windows"], ...] = ("probability", "explanation", "windows")
_OF_ASSESSMENTS: tuple[Literal["positive", "unassessed", "tied", "agreement", "probability", "entropy"], ...] = (
    *_OF_BOTH,
    *("tied", "agreement", "probability", "entropy"),
)
"""Columns that are fields of the records unchanged."""


def _call(place: int | str | None, calls: Sequence[Call]) -> Call | str | None:
    """Return a call by its position, or its key if it is not a call of the sample; None if the calls are missing."""
    if isinstance(place, int):
        return calls[place] if 0 <= place < len(calls) else None
    return place


def _transposed(judges: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the fields of each judge as one list for each field."""
    return {name: [one.get(name) for one in judges] for name in dict.fromkeys(chain.from_iterable(judges))}


def _rows(written: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of each judge from one list for each field."""
    return [
        {name: value for name, value in zip(written, values, strict=True) if value is not None}
        for values in zip(*written.values(), strict=True)
    ]


def _consensus(column: Mapping[str, Any], judges: Sequence[Mapping[str, Any]]) -> list[Consensus]:
    """Return for each subject how far the judges agree if each has one vote."""
    labels: Sequence[str | None] = column["labels"]
    if tied := column.get("tied"):
        labels = [None if is_tied else label for label, is_tied in zip(labels, tied, strict=True)]
    nothing = (None,) * len(labels)
    votes = [zip(one.get("labels", column["labels"]), one.get("probability", nothing), strict=True) for one in judges]
    of_subjects = zip(*votes, strict=True) if votes else ((),) * len(labels)
    return [_consensus_of(label, of_subject) for label, of_subject in zip(labels, of_subjects, strict=True)]


@lru_cache(maxsize=1024)
def _consensus_of(label: str | None, votes: tuple[tuple[str | None, float | None], ...]) -> Consensus:
    ballots = [Ballot("", word, None if word is None else probability, None) for word, probability in votes]
    words = [ballot.choice for ballot in ballots if ballot.choice is not None]
    return consensus(label, ballots, words, THREE_WAY if set(words) <= set(LABELS) else None)


def _written_score(score: Score) -> dict[str, object]:
    fields: dict[str, object] = {"value": score.value}
    fields |= {name: value for name, value in score.__dict__.items() if value is not None}
    if score.unit == "share":
        del fields["unit"]
    if score.judged == score.total:
        fields.pop("judged", None)
    if score.bounds == _bounds(score.hits, score.judged, score.total):
        fields.pop("bounds", None)
    elif score.bounds is None:
        fields["bounds"] = None
    return fields


def _score(written: _WrittenScore) -> Score:
    hits, total = written.get("hits"), written.get("total")
    judged = written.get("judged", total)
    bounds = written["bounds"] if "bounds" in written else _bounds(hits, judged, total)
    if not isinstance(written.get("value"), (int, float, type(None))):
        raise TypeError("the value of a score is not a number")
    return Score.holding(Score.unset | {"unit": "share"} | written | {"judged": judged, "bounds": bounds})


def _bounds(hits: int | None, judged: int | None, total: int | None) -> tuple[float, float] | None:
    """Return the least and greatest possible value, from the counts."""
    if not total or hits is None or judged is None:
        return None
    return hits / total, (hits + total - judged) / total


MEMBER = 64
"""Lines of a member."""
LEVEL = 6
_CHUNK = 1 << 18
_GZIP = 16 + zlib.MAX_WBITS


class Packed(NamedTuple):
    """Offsets of the first and last member of a compressed file, which may be incomplete."""

    first_end: int
    last_start: int


def compress(plain: Path, into: Path, *, first: int = 0) -> Packed:
    """Compress a file of lines; the same lines and the same zlib give the same bytes.

    `first` is the position of its first line in the whole file, in which members end at multiples of `MEMBER`.
    """
    starts = [0]
    with plain.open("rb") as lines, into.open("wb") as file:
        room = MEMBER - first % MEMBER
        while block := b"".join(islice(lines, room)):
            starts.append(starts[-1] + file.write(_member(block)))
            room = MEMBER
    return Packed(starts[min(1, len(starts) - 1)], starts[max(0, len(starts) - 2)])


def _member(lines: bytes) -> bytes:
    return gzip.compress(lines, LEVEL, mtime=0)


class Compressed(NamedTuple):
    """A compressed part of a file."""

    path: Path
    packed: Packed
    first: int
    """Position of its first line in the whole file."""
    lines: int


def join(parts: Iterable[Compressed]) -> Iterator[bytes]:
    """Yield the bytes of one compressed file with the lines of all parts; only incomplete members are decompressed."""
    cut = b""
    for path, (first_end, last_start), first, lines in parts:
        end = first + lines
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            if first % MEMBER and lines:
                cut += gzip.decompress(file.read(first_end))
                if first // MEMBER == end // MEMBER:
                    continue
                yield _member(cut)
                cut = b""
            stop = last_start if end % MEMBER else size
            while piece := file.read(min(_CHUNK, max(0, stop - file.tell()))):
                yield piece
            if end % MEMBER and file.tell() < size:
                cut = gzip.decompress(file.read())
    if cut:
        yield _member(cut)


class _Place(NamedTuple):
    start: int
    """Offset of the line in the file, or of its member if the file is compressed."""
    within: int
    """Offset of the line in its member."""


class Lines(Sequence[bytes]):
    """The lines of a file, read on demand; only their positions are kept in memory.

    A damaged file raises DataError.
    """

    def __init__(self, path: Path, *, begun: bool = False) -> None:
        """`begun` marks a file that is unfinished: a last line without a line end is ignored."""
        self.path = path
        self._begun = begun
        self._compressed = ".gz" in path.suffixes
        self._found: list[_Place] | None = None
        self._member: tuple[int, bytes] = (-1, b"")

    def __iter__(self) -> Iterator[bytes]:
        if not self._compressed:
            with self.path.open("rb") as file:
                yield from (line for line in file if line.endswith(b"\n") or not self._begun)
            return
        for _, member in self._members():
            yield from member.splitlines(keepends=True)

    @property
    def _places(self) -> list[_Place]:
        if self._found is None:
            self._found = list(self._find())
        return self._found

    def _find(self) -> Iterator[_Place]:
        if self._compressed:
            for start, member in self._members():
                within = 0
                for line in member.splitlines(keepends=True):
                    yield _Place(start, within)
                    within += len(line)
        else:
            start = 0
            for line in self:
                yield _Place(start, 0)
                start += len(line)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        place = self._places[index]
        if self._compressed:
            if self._member[0] != place.start:
                self._member = next(self._members(place.start))
            member = self._member[1]
            return member[place.within : member.index(b"\n", place.within) + 1]
        with self.path.open("rb") as file:
            file.seek(place.start)
            return file.readline()

    def _members(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield offset and content of the members from an offset on."""
        with self.path.open("rb") as file:
            file.seek(start)
            ahead = b""
            while ahead := ahead or file.read(_CHUNK):
                unpacking, unpacked, length = zlib.decompressobj(_GZIP), [], 0
                while not unpacking.eof:
                    if not ahead and not (ahead := file.read(_CHUNK)):
                        raise DataError(f"{self.path} is cut off after {start + length} bytes")
                    try:
                        unpacked.append(unpacking.decompress(ahead))
                    except zlib.error as error:
                        raise DataError(f"{self.path} is damaged after {start} bytes: {error}") from None
                    length += len(ahead) - len(unpacking.unused_data)
                    ahead = unpacking.unused_data
                yield start, b"".join(unpacked)
                start += length
