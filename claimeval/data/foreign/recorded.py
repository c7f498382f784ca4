"""Read recorded replies of judges as samples, claims and verdicts. The rows of a sample must be consecutive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.foreign.field_maps import FieldMap, RecordedJudge, value_at
from claimeval.data.foreign.records import JudgedSample, RecordedResults, assessment, claim, metric_of, recorded_judge
from claimeval.data.labels import HumanLabel, parse_label
from claimeval.data.rows import SourceRow, read_rows
from claimeval.judging.recorded import Reader, Vocabulary, says_yes_or_no
from claimeval.judging.reply_values import Unparsable
from claimeval.types.errors import DataError
from claimeval.types.records import Call, Document, Evidence, Sample, SampleResult, Verdict
from claimeval.types.scales import BINARY, THREE_WAY

MAX_EXPLANATION = 300
"""Characters of a reply that are kept as the judge's explanation. The calls have the whole reply."""


class _Reply(NamedTuple):
    judge: str
    text: str | None


class RecordedReplies:
    """A file of recorded replies with its mapping."""

    def __init__(self, path: Path, fields: FieldMap) -> None:
        self._path = path
        self._fields = fields
        self._evidence = Evidence(part=fields.against)
        binary = fields.scale == "binary" if fields.scale else not fields.grades and says_yes_or_no(fields.forms)
        grades = fields.grades.scale if fields.grades else None
        self._words = Vocabulary(fields.words, binary=binary, grades=grades)
        self._scale = grades or (BINARY if binary else THREE_WAY)
        self._readers = {
            name: Reader(judge.forms or fields.forms, self._words) for name, judge in _settings(fields).items()
        }
        self._reader = Reader(fields.forms, self._words)

    def recorded_results(self) -> RecordedResults:
        """Return the results of the file. A first pass counts the judges and their replicates."""
        judges: dict[str, int] = {}
        repeated = 0
        for _, rows in self._grouped():
            repeated += self._repeated(rows)
            for replies in self._by_claim(rows).values():
                times: dict[str, int] = {}
                for reply in replies:
                    times[reply.judge] = times.get(reply.judge, 0) + 1
                for name, n in times.items():
                    judges[name] = max(judges.get(name, 0), n)
        if not judges:
            raise DataError(f"{self._path} has no recorded replies")
        return RecordedResults(
            kind="recorded",
            judges=tuple(recorded_judge(name) for name in judges),
            metrics=(metric_of(self._fields.of, self._fields.against),),
            scale=self._scale,
            samples=self._samples,
            replicates=max(judges.values()),
            repeated=repeated,
        )

    def _grouped(self) -> Iterator[tuple[str, list[SourceRow]]]:
        """Yield the rows of each sample. Raises DataError if they are not consecutive."""
        seen: set[bytes] = set()
        for sample, rows in groupby(read_rows(self._path), key=lambda row: str(value_at(row, self._fields.id))):
            sample_rows = list(rows)
            digest = hashlib.blake2b(sample.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            if digest in seen:
                raise DataError(
                    f"{sample_rows[0].location}: rows of sample {sample!r} are not consecutive. Sort the file"
                )
            seen.add(digest)
            yield sample, sample_rows

    def _by_claim(self, rows: Sequence[SourceRow]) -> dict[str, list[_Reply]]:
        """Return the replies to each claim of a sample, by claim id."""
        claims: dict[str, list[_Reply]] = {}
        numbers: dict[str, str] = {}
        for row in rows:
            claims.setdefault(self._claim_id(row, numbers), []).extend(self._replies(row))
        return claims

    def _claim_id(self, row: SourceRow, numbers: dict[str, str]) -> str:
        if self._fields.claim_id:
            return str(value_at(row, self._fields.claim_id))
        return numbers.setdefault(str(value_at(row, self._fields.claim)), f"{self._fields.of}-{len(numbers) + 1}")

    def _repeated(self, rows: Sequence[SourceRow]) -> int:
        """Return the number of rows that repeat a claim text for the same judge. 0 if the claims have ids."""
        if self._fields.claim_id:
            return 0
        judges_of: dict[str, set[str]] = {}
        count = 0
        for row in rows:
            judges = {reply.judge for reply in self._replies(row)}
            earlier = judges_of.setdefault(str(value_at(row, self._fields.claim)), set())
            count += bool(judges & earlier)
            earlier |= judges
        return count

    def _replies(self, row: SourceRow) -> Iterator[_Reply]:
        fields = self._fields
        if isinstance(fields.judges, dict):
            for name, judge in fields.judges.items():
                yield _Reply(name, _text(value_at(row, judge.reply, optional=True)))
        elif fields.judges:
            assert fields.replies, "the mapping is valid"
            replies = value_at(row, fields.replies)
            if not isinstance(replies, list) or len(replies) != len(fields.judges):
                raise DataError(f"{row.location}, field {fields.replies!r}: expected {len(fields.judges)} replies")
            yield from map(_Reply, fields.judges, map(_text, replies))
        else:
            assert fields.judge, "the mapping is valid"
            assert fields.reply, "the mapping is valid"
            parts = (fields.judge,) if isinstance(fields.judge, str) else fields.judge
            for item in self._items(row):
                name = " / ".join(str(value_at(item, part)) for part in parts)
                yield _Reply(name, _text(value_at(item, fields.reply, optional=True)))

    def _items(self, row: SourceRow) -> Iterator[SourceRow]:
        field = self._fields.items_field
        if not field:
            yield row
            return
        items = value_at(row, field)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise DataError(f"{row.location}, field {field!r}: expected a list of objects")
        for number, item in enumerate(items, 1):
            yield SourceRow(f"{row.location}, {field} {number}", number, item)

    def _samples(self) -> Iterator[JudgedSample]:
        for sample, rows in self._grouped():
            yield self._sample(sample, rows)

    def _sample(self, sample: str, rows: Sequence[SourceRow]) -> JudgedSample:
        fields = self._fields
        numbers: dict[str, str] = {}
        first: dict[str, SourceRow] = {}
        for row in rows:
            first.setdefault(self._claim_id(row, numbers), row)
        source = _as_sample(sample, rows[0], fields)
        claims, assessments, calls, labels, forms = [], [], [], [], []
        for claim_id, replies in self._by_claim(rows).items():
            row = first[claim_id]
            claims.append(claim(claim_id, str(value_at(row, fields.claim)), fields.of, source))
            verdicts = []
            times: dict[str, int] = {}
            for reply in replies:
                replicate = times.get(reply.judge, 0)
                times[reply.judge] = replicate + 1
                verdict, call, form = self._verdict(claim_id, reply, replicate)
                verdicts.append(verdict)
                calls.append(call)
                forms.append((reply.judge, form))
            assessments.append(assessment(claim_id, self._evidence, tuple(verdicts)))
            if fields.human_label and (label := self._human_label(sample, claim_id, row)):
                labels.append(label)
        result = SampleResult(
            sample=source,
            claims=tuple(claims),
            assessments=tuple(assessments),
            calls=tuple(calls),
        )
        return JudgedSample(result, tuple(labels), {}, tuple(forms))

    def _verdict(self, claim_id: str, reply: _Reply, replicate: int) -> tuple[Verdict, Call, str]:
        fields: dict[str, Any] = {"judge": reply.judge, "replicate": replicate}
        message, form = None, ""
        if reply.text is None:
            fields |= {"unassessed": "incomplete"}
            message, form = "no recorded reply", "missing"
        else:
            try:
                parsed = self._readers.get(reply.judge, self._reader).read(reply.text)
            except Unparsable as error:
                fields |= {"unassessed": "unparsable"}
                message, form = str(error), "refused"
            else:
                form = parsed.form
                unsure = parsed.meaning == "unsure"
                word = parsed.meaning if parsed.grade is None else self._scale.of_step(parsed.grade)
                fields |= self._scale.labeled(None if unsure else word)
                fields |= {"unassessed": "unsure" if unsure else None, "explanation": reply.text[:MAX_EXPLANATION]}
        verdict = Verdict(**fields)
        call = Call(
            key=hashlib.sha256(f"{reply.judge}\n{reply.text}".encode("utf-8", "surrogatepass")).hexdigest(),
            step="assess",
            judge=reply.judge,
            part=self._fields.of,
            evidence=self._evidence,
            subjects=(claim_id,),
            replicate=replicate,
            reused=True,
            reply=reply.text,
            failed=verdict.unassessed if message else None,
            message=message,
        )
        return verdict, call, form

    def _human_label(self, sample: str, claim_id: str, row: SourceRow) -> HumanLabel | None:
        assert self._fields.human_label, "called only if the field is mapped"
        value = value_at(row, self._fields.human_label, optional=True)
        if value is None or not str(value).strip():
            return None
        label, grade = parse_label(value, row.location, self._words)
        if label is None and grade is None:
            return None
        return HumanLabel(sample=sample, claim_id=claim_id, evidence=self._evidence, label=label, grade=grade)


def _settings(fields: FieldMap) -> dict[str, RecordedJudge]:
    return fields.judges if isinstance(fields.judges, dict) else {}


def _text(value: object) -> str | None:
    """Return a reply as text, or None if it is empty. Numbers are recorded grades."""
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else str(value)


def _as_sample(name: str, row: SourceRow, fields: FieldMap) -> Sample:
    def texts(path: str | None) -> tuple[str, ...]:
        value = value_at(row, path, optional=True) if path else None
        values = value if isinstance(value, list) else [] if value is None else [value]
        return tuple(str(text) for text in values)

    answer = value_at(row, fields.answer, optional=True) if fields.answer else None
    generator = value_at(row, fields.generator, optional=True) if fields.generator else None
    return Sample(
        id=name,
        question=str(value_at(row, fields.question)) if fields.question else "",
        answer=None if answer is None else str(answer),
        contexts=None
        if not fields.contexts or value_at(row, fields.contexts, optional=True) is None
        else tuple(Document(id=str(i), text=text) for i, text in enumerate(texts(fields.contexts), 1)),
        reference_answers=texts(fields.reference_answers),
        generator=None if generator is None else str(generator),
    )
