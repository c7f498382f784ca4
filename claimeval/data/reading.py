"""Rows -> samples: the names in common use are understood, the rest is kept as metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast, get_args

from pydantic import ValidationError

from claimeval.data.rows import OnError, SourceRow, read_rows, stop_at_error
from claimeval.metrics.rows import BUILT_IN, ambiguous
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.records import Document, References, Sample

ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "query_id"),
    "question": ("question", "query", "user_input"),
    "answer": ("answer", "response"),
    "contexts": ("contexts", "retrieved_contexts", "retrieved_context"),
    "context_ids": ("context_ids", "contexts_id", "retrieved_context_ids"),
    "reference_answers": ("reference_answers", "reference_answer", "reference", "gt_answer", "ground_truth"),
    "reference_contexts": ("reference_contexts",),
    "reference_context_ids": ("reference_context_ids",),
    "is_answerable": ("is_answerable", "is_answerable_label"),
    "generator": ("generator",),
    "reference_author": ("reference_author", "reference_answer_by"),
    "evidence": ("evidence",),
    "metadata": ("metadata", "metadata_field"),
}
"""The fields of a sample and the names they go by: ours, the RAG task's, LlamaIndex', ragas' and RAGChecker's."""

_ANSWERABLE = {"answerable": True, "true": True, "yes": True, "1": True}
_UNANSWERABLE = {"unanswerable": False, "false": False, "no": False, "0": False}


def read_samples(
    path: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    references: References | None = None,
    on_error: OnError = stop_at_error,
) -> Iterator[Sample]:
    """The samples of a file in order; JSON Lines and CSV are streamed.

    `fields` maps sample fields to column names (`{"answer": "draft"}`) and takes precedence over the names recognized
    by default. `references` states for all samples whether one of several gold answers is enough. A row without an id
    gets its number as id. DataError names file, line and field; a bad row goes to `on_error`, which may continue.
    """
    chosen = fields or {}
    check_fields(chosen)
    empty = True
    for row in read_rows(Path(path), on_error):
        empty = False
        try:
            found = sample(row, chosen)
        except DataError as error:
            on_error(error)
            continue
        yield found.model_copy(update={"references": references}) if references else found
    if empty:
        raise DataError(f"{path} holds no samples")


def check_fields(fields: Mapping[str, str]) -> None:
    """Raise UsageError for a name that is no field of a sample."""
    for name in fields:
        if name not in ALIASES:
            raise unknown_name("field of a sample", name, ALIASES)


def parse_references(said: str | None) -> References | None:
    """Whether one of several gold answers is enough, as an option says; UsageError for another word."""
    for word in get_args(References):
        if word == said:
            return cast(References, word)
    if said is not None:
        raise unknown_name("way with several references", said, get_args(References))
    return None


def sample(row: SourceRow, chosen: Mapping[str, str]) -> Sample:
    """The sample in a row. Fields that no sample has are kept in its metadata under their own names."""
    rest = dict(row.fields)
    found: dict[str, object] = {}
    for field, aliases in ALIASES.items():
        if field in chosen:
            if chosen[field] not in rest:
                raise DataError(f"{row.place}: no field {chosen[field]!r}, which was named as {field}")
            found[field] = rest.pop(chosen[field])
            continue
        present = [name for name in aliases if rest.get(name) is not None and name not in chosen.values()]
        if len(present) > 1:
            raise DataError(
                f"{row.place}: both {present[0]!r} and {present[1]!r} stand for {field}; choose with --field"
            )
        if present:
            found[field] = rest.pop(present[0])
    said = rest.get("references")
    references = rest.pop("references") if isinstance(said, str) and said in get_args(References) else None
    rest = {name: value for name, value in rest.items() if value is not None}
    if "question" not in found:
        raise DataError(f"{row.place}: no question (one of {', '.join(ALIASES['question'])})")
    try:
        return Sample.model_validate(
            {
                "id": _id(found.get("id", row.number), row),
                "question": found["question"],
                "answer": found.get("answer"),
                "contexts": _contexts(found, row),
                "reference_answers": _texts(found.get("reference_answers", ())),
                "references": references,
                "reference_contexts": _texts(found.get("reference_contexts", ())),
                "reference_context_ids": _ids(found.get("reference_context_ids", ())),
                "is_answerable": _answerable(found.get("is_answerable"), row),
                "generator": found.get("generator"),
                "reference_author": _author(found.get("reference_author")),
                "evidence": _evidence(found.get("evidence", {}), row),
                "metadata": {**_metadata(found.get("metadata", {})), **rest},
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{row.place}, field {where!r}: {first['msg']}, got {str(first['input'])[:60]!r}") from error


def _id(value: object, row: SourceRow) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise DataError(f"{row.place}, field 'id': a text or whole number was expected, got {value!r}")
    return str(value)


def _texts(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _ids(value: object) -> object:
    return tuple(str(v) if isinstance(v, int) else v for v in value) if isinstance(value, (list, tuple)) else value


def _contexts(found: Mapping[str, object], row: SourceRow) -> tuple[Document, ...] | None:
    """What was retrieved; None where the row does not say."""
    if "contexts" not in found and "context_ids" not in found:
        return None
    return _documents(found.get("contexts", ()), row, "contexts", found.get("context_ids"))


def _documents(value: object, row: SourceRow, field: str, ids: object = None) -> tuple[Document, ...]:
    """Documents from objects, or from texts with their ids beside them (their ranks where there are none)."""
    items = (value,) if isinstance(value, (str, dict)) else value
    if not isinstance(items, (list, tuple)):
        raise DataError(f"{row.place}, field {field!r}: a list was expected, not {type(value).__name__}")
    names = list(ids) if isinstance(ids, (list, tuple)) else None
    if names is not None and len(names) != len(items):
        raise DataError(f"{row.place}: {len(items)} contexts but {len(names)} context ids")
    documents = []
    for i, item in enumerate(items):
        given = {"text": item} if isinstance(item, str) else item
        if not isinstance(given, dict):
            raise DataError(f"{row.place}, field {field!r}, item {i + 1}: neither a text nor an object")
        known = {"doc_id": "id", "content": "text", "page_content": "text", "document_id": "id"}
        renamed = {known.get(str(name), str(name)): v for name, v in given.items() if v is not None}
        renamed["id"] = str(names[i]) if names is not None else str(renamed.get("id", i + 1))
        if extra := set(renamed) - set(Document.model_fields):
            problem = unknown_name("field of a document", min(extra), Document.model_fields)
            raise DataError(f"{row.place}, field {field!r}, item {i + 1}: {problem}")
        documents.append(Document.model_validate(renamed))
    if len({d.id for d in documents}) < len(documents):
        raise DataError(f"{row.place}, field {field!r}: two documents have the same id")
    return tuple(documents)


def _answerable(value: object, row: SourceRow) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    known = _ANSWERABLE | _UNANSWERABLE
    if str(value).strip().lower() not in known:
        raise DataError(f"{row.place}, field 'is_answerable': expected true or false, got {str(value)[:60]!r}")
    return known[str(value).strip().lower()]


def _author(value: object) -> object:
    """A model's name, from LlamaIndex' `{"model_name", "type"}` too; None for people."""
    if not isinstance(value, dict):
        return value
    return value.get("model_name") or None if value.get("type") == "ai" else None


def _evidence(value: object, row: SourceRow) -> dict[str, tuple[Document, ...]]:
    if not isinstance(value, dict):
        raise DataError(f"{row.place}, field 'evidence': an object of named document lists was expected")
    for name in map(str, value):
        if name in BUILT_IN:
            raise DataError(f"{row.place}, field 'evidence': {name!r} is a part of every sample; take another name")
        if problem := ambiguous(name):
            raise DataError(f"{row.place}, field 'evidence': {problem}")
    return {str(name): _documents(documents, row, f"evidence.{name}") for name, documents in value.items()}


def _metadata(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {"metadata": value}


def parse_fields(pairs: list[str]) -> dict[str, str]:
    """`["answer=draft"]` as a mapping; UsageError for anything else."""
    fields = {}
    for pair in pairs:
        field, equals, name = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"field {pair!r} is not of the form FIELD=NAME, as in answer=draft_llm_answer")
        fields[field] = name
    check_fields(fields)
    return fields
