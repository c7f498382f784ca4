"""Read samples from rows. Common field names are recognized, and all other fields are kept as metadata."""

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
"""The fields of a sample and their names here, in the TREC RAG track, LlamaIndex, ragas and RAGChecker."""

_ANSWERABLE = {"answerable": True, "true": True, "yes": True, "1": True}
_UNANSWERABLE = {"unanswerable": False, "false": False, "no": False, "0": False}


def read_samples(
    path: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    references: References | None = None,
    on_error: OnError = stop_at_error,
) -> Iterator[Sample]:
    """Yield the samples of a file in order. JSON Lines are streamed. A row without an id gets its number as id.

    Args:
        path: The file.
        fields: Maps sample fields to column names (`{"answer": "draft"}`). Takes precedence over the names that are
            recognized by default.
        references: How several reference answers count, for all samples: whether one of them is enough.
        on_error: Called with the error of a row. Can ignore it, so that reading continues.

    Returns:
        An iterator over the samples.

    Raises:
        DataError: With file, line and field, if a row is not a sample.
    """
    fields = fields or {}
    check_fields(fields)
    empty = True
    for row in read_rows(Path(path), on_error):
        empty = False
        try:
            record = sample(row, fields)
        except DataError as error:
            on_error(error)
            continue
        yield record.model_copy(update={"references": references}) if references else record
    if empty:
        raise DataError(f"{path} has no samples")


def check_fields(fields: Mapping[str, str]) -> None:
    """Raise UsageError for a name that is no field of a sample."""
    for name in fields:
        if name not in ALIASES:
            raise unknown_name("field of a sample", name, ALIASES)


def parse_references(value: str | None) -> References | None:
    """Return the value of the option `references`. Raises UsageError if it is unknown."""
    if value is not None and value not in get_args(References):
        raise unknown_name("value of references", value, get_args(References))
    return cast(References | None, value)


def sample(row: SourceRow, columns: Mapping[str, str]) -> Sample:
    """Return the sample in a row. `columns` maps sample fields to column names.

    Fields that a sample does not have are kept in its metadata.
    """
    other = dict(row.fields)
    values: dict[str, object] = {}
    for field, aliases in ALIASES.items():
        if field in columns:
            if columns[field] not in other:
                raise DataError(f"{row.location}: no field {columns[field]!r}, which was given for {field}")
            values[field] = other.pop(columns[field])
            continue
        present = [name for name in aliases if other.get(name) is not None and name not in columns.values()]
        if len(present) > 1:
            raise DataError(
                f"{row.location}: both {present[0]!r} and {present[1]!r} are names of {field}. Choose one with --field"
            )
        if present:
            values[field] = other.pop(present[0])
    references = other.get("references")
    if isinstance(references, str) and references in get_args(References):
        del other["references"]
    else:
        references = None
    other = {name: value for name, value in other.items() if value is not None}
    if "question" not in values:
        raise DataError(f"{row.location}: no question (one of {', '.join(ALIASES['question'])})")
    try:
        return Sample.model_validate(
            {
                "id": _id(values.get("id", row.number), row),
                "question": values["question"],
                "answer": values.get("answer"),
                "contexts": _contexts(values, row),
                "reference_answers": _texts(values.get("reference_answers", ())),
                "references": references,
                "reference_contexts": _texts(values.get("reference_contexts", ())),
                "reference_context_ids": _ids(values.get("reference_context_ids", ())),
                "is_answerable": _answerable(values.get("is_answerable"), row),
                "generator": values.get("generator"),
                "reference_author": _author(values.get("reference_author")),
                "evidence": _evidence(values.get("evidence", {}), row),
                "metadata": {**_metadata(values.get("metadata", {})), **other},
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{row.location}, field {field!r}: {first['msg']}, got {str(first['input'])[:60]!r}") from error


def _id(value: object, row: SourceRow) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise DataError(f"{row.location}, field 'id': expected a text or an integer, got {value!r}")
    return str(value)


def _texts(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _ids(value: object) -> object:
    return tuple(str(v) if isinstance(v, int) else v for v in value) if isinstance(value, (list, tuple)) else value


def _contexts(values: Mapping[str, object], row: SourceRow) -> tuple[Document, ...] | None:
    if "contexts" not in values and "context_ids" not in values:
        return None
    return _documents(values.get("contexts", ()), row, "contexts", values.get("context_ids"))


def _documents(value: object, row: SourceRow, field: str, ids: object = None) -> tuple[Document, ...]:
    """Return documents from objects, or from texts with a list of ids. The default id is the rank."""
    items = (value,) if isinstance(value, (str, dict)) else value
    if not isinstance(items, (list, tuple)):
        raise DataError(f"{row.location}, field {field!r}: expected a list, not {type(value).__name__}")
    names = list(ids) if isinstance(ids, (list, tuple)) else None
    if names is not None and len(names) != len(items):
        raise DataError(f"{row.location}: {len(items)} contexts but {len(names)} context ids")
    documents = []
    for i, item in enumerate(items):
        document = {"text": item} if isinstance(item, str) else item
        if not isinstance(document, dict):
            raise DataError(f"{row.location}, field {field!r}, item {i + 1}: neither a text nor an object")
        aliases = {"doc_id": "id", "content": "text", "page_content": "text", "document_id": "id"}
        renamed = {aliases.get(str(name), str(name)): v for name, v in document.items() if v is not None}
        renamed["id"] = str(names[i]) if names is not None else str(renamed.get("id", i + 1))
        if extra := set(renamed) - set(Document.model_fields):
            problem = unknown_name("field of a document", min(extra), Document.model_fields)
            raise DataError(f"{row.location}, field {field!r}, item {i + 1}: {problem}")
        documents.append(Document.model_validate(renamed))
    if len({d.id for d in documents}) < len(documents):
        raise DataError(f"{row.location}, field {field!r}: duplicate document id")
    return tuple(documents)


def _answerable(value: object, row: SourceRow) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    words = _ANSWERABLE | _UNANSWERABLE
    if str(value).strip().lower() not in words:
        raise DataError(f"{row.location}, field 'is_answerable': expected true or false, got {str(value)[:60]!r}")
    return words[str(value).strip().lower()]


def _author(value: object) -> object:
    """Return the name of a model, also from LlamaIndex' `{"model_name", "type"}`. None means a human author."""
    if not isinstance(value, dict):
        return value
    return value.get("model_name") or None if value.get("type") == "ai" else None


def _evidence(value: object, row: SourceRow) -> dict[str, tuple[Document, ...]]:
    if not isinstance(value, dict):
        raise DataError(f"{row.location}, field 'evidence': expected an object of named document lists")
    for name in map(str, value):
        if name in BUILT_IN:
            raise DataError(f"{row.location}, field 'evidence': {name!r} is a part of every sample. Use another name")
        if problem := ambiguous(name):
            raise DataError(f"{row.location}, field 'evidence': {problem}")
    return {str(name): _documents(documents, row, f"evidence.{name}") for name, documents in value.items()}


def _metadata(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {"metadata": value}


def parse_fields(pairs: list[str]) -> dict[str, str]:
    """Return pairs such as `["answer=draft"]` as a mapping. Raises UsageError for any other form."""
    fields = {}
    for pair in pairs:
        field, equals, name = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"Field {pair!r} does not have the form FIELD=NAME, as in answer=draft_llm_answer")
        fields[field] = name
    check_fields(fields)
    return fields
