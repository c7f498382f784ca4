"""Read recorded replies of judges as samples, claims and verdicts. A sample's rows must be
consecutive.

A mapping (YAML) names the fields, with paths as in `--field` (`judges.gpt-4.raw`,
`outputs[0].text`). A row is one claim with a single reply (`judge` and `reply`) or with the replies
of several judges: in the fields `judges`, in a list `replies` in the order of `judges`, or in a
list of objects `items_field`. With `claims`, a row has a list of claims. With `systems`, a row has
the answers of several systems. With `document`, a row is about one chunk of the evidence.

The mappings of the folder `mappings` are used by their names.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator

from claimeval.data.labels import HumanLabel, parse_label
from claimeval.data.nowhere import Nowhere, instead
from claimeval.data.paths import values_at
from claimeval.data.reasoning import AnswerReasoning, settle_reasoning
from claimeval.data.result_files import (
    BEST_FIRST,
    JudgedSample,
    RecordedResults,
    assessment,
    claim,
    metric_of,
    recorded_judge,
)
from claimeval.data.rows import SourceRow, read_rows
from claimeval.judging.recorded import Meaning, Reader, Vocabulary, is_binary
from claimeval.judging.reply_values import Unparsable
from claimeval.metrics.rows import ambiguous
from claimeval.types.errors import DataError, UsageError, first_problem, read_yaml, unknown_name
from claimeval.types.records import (
    Assessment,
    Call,
    Claim,
    Document,
    Evidence,
    Part,
    Reason,
    Record,
    Sample,
    SampleResult,
    Verdict,
)
from claimeval.types.scales import BINARY, THREE_WAY, grade_scale

MAX_EXPLANATION = 300
"""Characters of a reply that are kept as the judge's explanation. The calls have the whole
reply."""


class RecordedJudge(Record):
    """Fields of one judge's replies."""

    reply: str
    forms: tuple[str, ...] = ()
    """The forms of the replies. Default: the forms of the mapping."""


class GradeRange(Record):
    """Range of grades, and the lowest grade that counts as supported."""

    lowest: int = 0
    highest: int = 3
    positive_from: int = 2


class FieldMap(Record):
    """Paths of the fields in a row, and the forms of the replies."""

    id: str | None = None
    """The sample's id. Default: the number of the row."""
    question: str | None = None
    answer: str | None = None
    contexts: str | None = None
    """A text or a list of texts."""
    reference_answers: str | None = None
    generator: str | None = None
    claim: str
    """The text of the claim that was judged."""
    claim_id: str | None = None
    """Default: the claims of a sample are numbered."""
    claims: str | None = None
    """The claims of a row: a list of objects. Paths may start in a claim or in the row."""
    of: Part = "answer"
    against: Part
    judges: dict[str, RecordedJudge] | tuple[str, ...] | None = None
    replies: str | None = None
    items_field: str | None = None
    judge: str | tuple[str, ...] | None = None
    reply: str | None = None
    forms: tuple[str, ...] = Field(min_length=1)
    explanation: str | None = None
    """The judge's reason. Default: the beginning of the reply."""
    words: dict[str, Meaning] = Field(default_factory=dict)
    scale: Literal["binary", "three_way"] | None = None
    """Whether "no" means contradicted. Default: binary if the forms only say yes or no, else
    three_way."""
    grades: GradeRange | None = None
    """The range, if the replies are grades."""
    human_label: str | None = None
    systems: str | None = None
    """The answers of several systems: an object by system, or a list of objects with `system`. Each
    answer is a sample, with the system in its id and as its generator. Paths may start in an answer
    or in the row."""
    document: str | None = None
    """The chunk of the evidence that the row's replies are about, with its text in `contexts`. A
    claim is supported if at least one chunk supports it."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, fields: Any) -> Any:
        """Expand a path to a judge, and a single form to a list."""
        if not isinstance(fields, dict):
            return fields
        judges = fields.get("judges")
        if isinstance(judges, dict):
            judges = {
                str(n): {"reply": judge} if isinstance(judge, str) else judge
                for n, judge in judges.items()
            }
        forms = fields.get("forms")
        return {**fields, "judges": judges, "forms": (forms,) if isinstance(forms, str) else forms}

    @model_validator(mode="after")
    def _check(self) -> FieldMap:
        if problem := ambiguous(self.of) or ambiguous(self.against):
            raise ValueError(problem)
        if not self._says_where_replies_are():
            raise ValueError(
                "one of these is needed for the replies: `judges` with a path each; `judges` as a"
                " list with `replies`; or `judge` with `reply`, plus `items_field` if they are in a"
                " list"
            )
        return self

    def _says_where_replies_are(self) -> bool:
        """Return whether exactly one of the forms of replies is given."""
        if self.judge and self.reply and not self.judges:
            return not self.replies
        if self.items_field or self.judge or self.reply:
            return False
        if isinstance(self.judges, dict):
            return not self.replies
        return self.judges is not None and bool(self.replies)


MAPPINGS = {path.stem: path for path in sorted(Path(__file__).with_name("mappings").glob("*.yaml"))}
"""The mappings that come with the package, by name."""


def read_mapping(path: Path) -> FieldMap:
    """Read a mapping from a YAML file, or one of `MAPPINGS` by its name. Raises UsageError if it is
    invalid."""
    if str(path) not in MAPPINGS and not (path.suffix or path.exists()):
        raise unknown_name("mapping", str(path), MAPPINGS)
    return field_map(
        read_yaml(MAPPINGS.get(str(path), path), "mapping"), f"the mapping {str(path)!r}"
    )


def field_map(fields: Mapping[str, Any], name: str = "the mapping") -> FieldMap:
    """Return a valid mapping. Raises UsageError, with `name`, if it is invalid."""
    try:
        return FieldMap.model_validate(fields)
    except ValidationError as error:
        field, problem, _ = first_problem(error, FieldMap)
        raise UsageError(f"{name}{', ' if field else ''}{field}: {problem}") from error


def value_at(row: SourceRow, path: str | None, *, optional: bool = False) -> Any:
    """Return the value at a path of a row, or a list of several; None without a path.

    If it is missing, return None or, unless it is optional, raise DataError.
    """
    if not path:
        return None
    values = list(values_at(row.fields, path))
    if not values and "/" in path and path.partition("/")[0] in row.fields:
        raise DataError(
            f"{row.location}: no field {path!r}; paths have dots, as in {path.replace('/', '.')}"
        )
    if not values and not optional:
        raise DataError(f"{row.location}: no field {path!r}.{instead(path, [row.fields])}")
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def _optional(fields: FieldMap) -> Iterator[tuple[str, str]]:
    """Yield the paths without which a row is read too, so that a misspelt one would be missed
    silently."""
    names = ("answer", "contexts", "reference_answers", "generator", "human_label")
    for name in names:
        if path := getattr(fields, name):
            yield name, path
    if isinstance(fields.judges, dict):
        for judge, recorded in fields.judges.items():
            yield f"judge {judge}", recorded.reply
    in_row = not (fields.items_field or fields.replies)
    if fields.explanation and in_row:
        yield "explanation", fields.explanation
    if fields.reply and in_row:
        yield "reply", fields.reply


class _Reply(NamedTuple):
    judge: str
    text: str | None
    explanation: str | None = None
    document: str | None = None
    """The chunk that the reply is about."""


class _AnsweredRow(NamedTuple):
    """A row of a claim and the replies in it."""

    row: SourceRow
    replies: list[_Reply]


class RecordedReplies:
    """A file of recorded replies with its mapping."""

    def __init__(
        self,
        path: Path,
        fields: FieldMap,
        reasoning: AnswerReasoning | None = None,
    ) -> None:
        """With `reasoning`, that of a model in answers is kept or left out."""
        self._path = path
        self._reasoning = reasoning
        self._fields = fields
        self._evidence = Evidence(part=fields.against)
        binary = (
            fields.scale == "binary"
            if fields.scale
            else not fields.grades and is_binary(fields.forms)
        )
        grades = (
            grade_scale("grades", **fields.grades.model_dump(), divided=False)
            if fields.grades
            else None
        )
        self._words = Vocabulary(fields.words, binary=binary, grades=grades)
        self._scale = grades or (BINARY if binary else THREE_WAY)
        by_name = fields.judges if isinstance(fields.judges, dict) else {}
        self._readers = {
            name: Reader(judge.forms or fields.forms, self._words)
            for name, judge in by_name.items()
        }
        self._reader = Reader(fields.forms, self._words)

    def recorded_results(self) -> RecordedResults:
        """Return the results of the file. A first pass counts the judges and their replicates."""
        fields = self._fields
        judges = Counter[str]()
        repeated = 0
        # Files need not have all paths of a mapping that comes with the package.
        is_built_in = fields in map(read_mapping, map(Path, MAPPINGS))
        nowhere = Nowhere(str(self._path), () if is_built_in else _optional(fields))
        for _, rows in self._grouped():
            for claimed in chain.from_iterable(map(self._claims, rows)):
                nowhere.add(claimed.fields)
            for answered in self._by_claim(rows).values():
                if not (fields.claim_id or fields.document):
                    repeated += _repeating_rows(answered)
                times = Counter[tuple[str, str | None]]()
                for _, replies in answered:
                    times.update((reply.judge, reply.document) for reply in replies)
                for (name, _), count in times.items():
                    judges[name] = max(judges[name], count)
        if not judges:
            where = f": no row has claims in {fields.claims!r}" if fields.claims else ""
            raise DataError(f"{self._path} has no recorded replies{where}")
        nowhere.check(raises=True)
        return RecordedResults(
            judges=tuple(map(recorded_judge, judges)),
            metrics=(metric_of(fields.of, fields.against),),
            scale=self._scale,
            samples=lambda: (self._sample(sample, rows) for sample, rows in self._grouped()),
            replicates=max(judges.values()),
            per_document=fields.document is not None,
            repeated=repeated,
        )

    def _rows(self) -> Iterator[SourceRow]:
        """Yield the rows; a row with the answers of several systems is yielded once for each
        answer."""
        systems = self._fields.systems
        for row in read_rows(self._path):
            if systems is None:
                yield row
                continue
            for name, answer in _by_system(value_at(row, systems), row, systems):
                yield row._replace(fields={**row.fields, **answer, "system": name})

    def _id(self, row: SourceRow) -> str:
        name = str(value_at(row, self._fields.id) if self._fields.id else row.number)
        return f"{name} {row.fields['system']}" if self._fields.systems else name

    def _grouped(self) -> Iterator[tuple[str, list[SourceRow]]]:
        """Yield the rows of each sample. Raises DataError if they are not consecutive."""
        digests: set[bytes] = set()
        for sample, rows in groupby(self._rows(), key=self._id):
            sample_rows = list(rows)
            digest = hashlib.blake2b(
                sample.encode("utf-8", "surrogatepass"), digest_size=8
            ).digest()
            # Digests of 8 bytes, since a file may have millions of samples whose ids are long.
            if digest in digests:
                raise DataError(
                    f"{sample_rows[0].location}: rows of sample {sample!r} are not consecutive."
                    " Sort the file"
                )
            digests.add(digest)
            yield sample, sample_rows

    def _by_claim(self, rows: Iterable[SourceRow]) -> dict[str, list[_AnsweredRow]]:
        """Return the rows of each claim, by its id, or by its text if claims have no ids."""
        fields = self._fields
        by_claim: dict[tuple[str, int], list[_AnsweredRow]] = {}
        for whole in rows:
            times: Counter[str] = Counter()
            for row in self._claims(whole):
                name = str(value_at(row, fields.claim_id or fields.claim))
                times[name] += not fields.claim_id  # a text that is twice in a row is two claims
                chunk = None if fields.document is None else str(value_at(row, fields.document))
                replies = [reply._replace(document=chunk) for reply in self._replies(row)]
                by_claim.setdefault((name, times[name]), []).append(_AnsweredRow(row, replies))
        if fields.claim_id:
            return {name: answered for (name, _), answered in by_claim.items()}
        return {
            f"{fields.of}-{number}": answered
            for number, answered in enumerate(by_claim.values(), 1)
        }

    def _claims(self, row: SourceRow) -> Iterator[SourceRow]:
        """Yield a row for each claim, with the fields of the claim and of the row."""
        path = self._fields.claims
        if not path:
            yield row
        elif value_at(row, path, optional=True) is not None:
            for claimed in _objects(row, path):
                yield claimed._replace(fields={**row.fields, **claimed.fields})

    def _replies(self, row: SourceRow) -> Iterator[_Reply]:
        fields = self._fields
        if isinstance(fields.judges, dict):
            for name, judge in fields.judges.items():
                yield self._reply(name, value_at(row, judge.reply, optional=True), row)
        elif fields.judges:
            assert fields.replies, "the mapping is valid"
            replies = value_at(row, fields.replies)
            if not isinstance(replies, list) or len(replies) != len(fields.judges):
                raise DataError(
                    f"{row.location}, field {fields.replies!r}: expected {len(fields.judges)}"
                    " replies"
                )
            for name, reply in zip(fields.judges, replies, strict=True):
                yield self._reply(name, reply, row)
        else:
            assert fields.judge, "the mapping is valid"
            assert fields.reply, "the mapping is valid"
            parts = (fields.judge,) if isinstance(fields.judge, str) else fields.judge
            for item in _objects(row, fields.items_field) if fields.items_field else (row,):
                name = " / ".join(str(value_at(item, part)) for part in parts)
                yield self._reply(name, value_at(item, fields.reply, optional=True), item)

    def _reply(self, judge: str, reply: object, row: SourceRow) -> _Reply:
        """Return a reply with the explanation beside it; empty ones are None, and numbers are
        recorded grades."""
        because = value_at(row, self._fields.explanation, optional=True)
        return _Reply(
            judge,
            *(None if value is None or value == "" else str(value) for value in (reply, because)),
        )

    def _sample(self, name: str, rows: Sequence[SourceRow]) -> JudgedSample:
        fields = self._fields
        part = self._evidence.part
        chunks = self._chunks(rows)
        evidence_of: dict[str | None, Evidence] = {
            chunk: self._evidence.model_copy(update={"document": rank})
            for rank, chunk in enumerate(chunks, 1)
        }
        source = _as_sample(name, rows[0], fields)
        source = settle_reasoning(source, rows[0].location, self._reasoning)
        if chunks:
            source = source.model_copy(update=_evidence_of(part, chunks))
        claims = list[Claim]()
        calls = list[Call]()
        labels = list[HumanLabel]()
        forms = list[tuple[str, str]]()
        assessments = list[Assessment]()
        per_document = list[Assessment]()
        for claim_id, answered in self._by_claim(rows).items():
            claims.append(
                claim(claim_id, str(value_at(answered[0].row, fields.claim)), fields.of, source)
            )
            verdicts: dict[str | None, list[Verdict]] = {}
            times = Counter[tuple[str, str | None]]()
            for reply in chain.from_iterable(replies for _, replies in answered):
                replicate = times[reply.judge, reply.document]
                times[reply.judge, reply.document] += 1
                evidence = evidence_of.get(reply.document, self._evidence)
                verdict, call, form = self._verdict(claim_id, reply, replicate, evidence)
                verdicts.setdefault(reply.document, []).append(verdict)
                calls.append(call)
                forms.append((reply.judge, form))
            whole = verdicts.get(None) or _merge_chunks(verdicts)
            assessments.append(assessment(claim_id, self._evidence, tuple(whole)))
            per_document += [
                assessment(claim_id, evidence, tuple(verdicts[chunk]))
                for chunk, evidence in evidence_of.items()
                if chunk in verdicts
            ]
            of_claim = [row for row, _ in answered]
            labels += self._human_labels(name, claim_id, of_claim if chunks else of_claim[:1])
        # without a list, the step that lists claims failed
        missing = not claims and None in [
            value_at(row, fields.claims, optional=True) for row in rows
        ]
        result = SampleResult(
            sample=source,
            claims=tuple(claims),
            unextracted={} if claims else {fields.of: "incomplete" if missing else "no_claims"},
            assessments=(*assessments, *per_document),
            calls=tuple(calls),
        )
        return JudgedSample(result, tuple(labels), tuple(forms))

    def _verdict(
        self,
        claim_id: str,
        reply: _Reply,
        replicate: int,
        evidence: Evidence,
    ) -> tuple[Verdict, Call, str]:
        unassessed: Reason | None = None
        label: dict[str, Any] = {}
        message = None
        form = ""
        if reply.text is None:
            unassessed = "incomplete"
            message = "no recorded reply"
            form = "missing"
        else:
            try:
                parsed = self._readers.get(reply.judge, self._reader).read(reply.text)
            except Unparsable as error:
                unassessed = "unparsable"
                message = str(error)
                form = "refused"
            else:
                form = parsed.form
                word = parsed.meaning if parsed.grade is None else self._scale.of_step(parsed.grade)
                unassessed = "unsure" if parsed.meaning == "unsure" else None
                because = reply.text if self._fields.explanation is None else reply.explanation
                label = self._scale.labeled(None if unassessed else word)
                label |= {"explanation": because and because[:MAX_EXPLANATION]}
                if form == "probability":
                    label |= {"probability": float(reply.text), "explanation": reply.explanation}
        call = Call(
            key=hashlib.sha256(
                f"{reply.judge}\n{reply.text}".encode("utf-8", "surrogatepass")
            ).hexdigest(),
            step="assess",
            judge=reply.judge,
            part=self._fields.of,
            evidence=evidence,
            subjects=(claim_id,),
            replicate=replicate,
            reused=True,
            reply=reply.text,
            failed=unassessed if message else None,
            message=message,
        )
        return (
            Verdict(judge=reply.judge, replicate=replicate, unassessed=unassessed, **label),
            call,
            form,
        )

    def _chunks(self, rows: Iterable[SourceRow]) -> dict[str, Document]:
        """Return the chunks that rows are about, by their names; none if rows are about all of the
        evidence."""
        if not self._fields.document:
            return {}
        chunks: dict[str, Document] = {}
        for row in rows:
            name = str(value_at(row, self._fields.document))
            text = "\n".join(_texts(row, self._fields.contexts))
            chunks.setdefault(name, Document(id=name, text=text))
        return chunks

    def _human_labels(
        self,
        sample: str,
        claim_id: str,
        rows: Iterable[SourceRow],
    ) -> list[HumanLabel]:
        """Return the label of people that counts for a claim, if there is one."""
        labels = filter(None, [self._human_label(sample, claim_id, row) for row in rows])
        # A claim that people found in one chunk is supported, whatever the other chunks say.
        return sorted(labels, key=lambda label: label.label != "supported")[:1]

    def _human_label(self, sample: str, claim_id: str, row: SourceRow) -> HumanLabel | None:
        value = value_at(row, self._fields.human_label, optional=True)
        if value is None or not str(value).strip():
            return None
        label, grade = parse_label(value, row.location, self._words)
        if label is None and grade is None:
            return None
        return HumanLabel(
            sample=sample,
            claim_id=claim_id,
            evidence=self._evidence,
            label=label,
            grade=grade,
        )


def _objects(row: SourceRow, path: str) -> Iterator[SourceRow]:
    """Yield the objects of a list as rows."""
    items = value_at(row, path)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"{row.location}, field {path!r}: expected a list of objects")
    for number, item in enumerate(items, 1):
        yield SourceRow(f"{row.location}, {path} {number}", number, item)


def _by_system(value: object, row: SourceRow, path: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the answers of several systems, each with its fields."""
    if isinstance(value, dict):
        listed = [(str(name), answer) for name, answer in value.items()]
    elif isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        listed = [
            (str(entry.get("system", number)), entry) for number, entry in enumerate(value, 1)
        ]
    else:
        raise DataError(
            f"{row.location}, field {path!r}: expected an object by system, or a list of objects"
        )
    for name, answer in listed:
        yield name, dict(answer) if isinstance(answer, dict) else {"answer": answer}


def _evidence_of(part: Part, chunks: Mapping[str, Document]) -> dict[str, object]:
    """Return chunks as the evidence of a sample."""
    documents = tuple(chunks.values())
    if part == "contexts":
        return {"contexts": documents}
    if part == "reference_contexts":
        return {"reference_contexts": tuple(document.text for document in documents)}
    return {} if part in ("reference", "answer") else {"evidence": {part: documents}}


def _merge_chunks(verdicts: Mapping[str | None, Sequence[Verdict]]) -> Iterator[Verdict]:
    """Yield each judge's verdict over all chunks: supported if any chunk supports it, else
    contradicted, not found."""
    by_judge: dict[tuple[str, int], list[tuple[str, Verdict]]] = {}
    for chunk, of_chunk in verdicts.items():
        for verdict in of_chunk:
            by_judge.setdefault((verdict.judge, verdict.replicate), []).append(
                (str(chunk), verdict)
            )
    order = (*BEST_FIRST, None)
    for by_chunk in by_judge.values():
        _, best = min(by_chunk, key=lambda pair: order.index(pair[1].support))
        probabilities = [
            verdict.probability for _, verdict in by_chunk if verdict.probability is not None
        ]
        cites = tuple(chunk for chunk, verdict in by_chunk if verdict.support == "supported")
        yield best.model_copy(
            update={"cites": cites, "probability": max(probabilities, default=None)}
        )


def _repeating_rows(answered: Iterable[_AnsweredRow]) -> int:
    """Return the number of rows of a claim that repeat a judge of an earlier row."""
    judges = set[str]()
    count = 0
    for _, replies in answered:
        of_row = {reply.judge for reply in replies}
        count += not judges.isdisjoint(of_row)
        judges |= of_row
    return count


def _texts(row: SourceRow, path: str | None) -> tuple[str, ...]:
    """Return the text or the list of texts at a path; none if there is nothing."""
    value = value_at(row, path, optional=True)
    if value is None:
        return ()
    return tuple(map(str, value if isinstance(value, list) else [value]))


def _as_sample(name: str, row: SourceRow, fields: FieldMap) -> Sample:
    def text(path: str | None) -> str | None:
        value = value_at(row, path, optional=True)
        return None if value is None else str(value)

    has_contexts = value_at(row, fields.contexts, optional=True) is not None
    contexts = (
        Document(id=str(rank), text=text, id_is_rank=True)
        for rank, text in enumerate(_texts(row, fields.contexts), 1)
    )
    return Sample(
        id=name,
        question=str(value_at(row, fields.question)) if fields.question else "",
        answer=text(fields.answer),
        contexts=tuple(contexts) if has_contexts else None,
        reference_answers=_texts(row, fields.reference_answers),
        generator=(
            text(fields.generator)
            if fields.generator
            else text("system" if fields.systems else None)
        ),
    )
