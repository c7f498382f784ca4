"""Corpora and queries of test collections, as JSON Lines or as the tables of MS MARCO, and the bundled sample data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from claimeval.data.rows import SourceRow, read_rows
from claimeval.types.errors import DataError
from claimeval.types.records import Document

DOCUMENT_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "doc_id", "docid", "document_id"),
    "text": ("text", "contents", "content", "passage", "body", "page_content"),
    "title": ("title",),
}
QUERY_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "question_id", "query_id", "qid"),
    "text": ("question", "query", "text", "user_input"),
}


def read_corpus(path: Path) -> Iterator[Document]:
    """Yield the documents of a file: rows with id, text and an optional title, or lines `id<TAB>text`.

    In a BEIR directory, `corpus.jsonl` is read. Raises DataError for a row without id or text and a duplicate id.
    """
    seen: set[str] = set()
    for row in _rows(path, "corpus.jsonl"):
        document = _named(row, DOCUMENT_NAMES)
        if document["id"] in seen:
            raise DataError(f"{row.location}: duplicate document id {document['id']!r}")
        seen.add(document["id"])
        yield Document(id=document["id"], text=document["text"], title=document.get("title") or None)


def read_queries(path: Path) -> dict[str, str]:
    """Return the text of each query: rows with id and question, a JSON object of id to text, or lines `id<TAB>text`.

    In a BEIR directory, `queries.jsonl` is read.
    """
    mapping = _object_of_texts(path)
    if mapping is not None:
        return mapping
    queries: dict[str, str] = {}
    for row in _rows(path, "queries.jsonl"):
        query = _named(row, QUERY_NAMES)
        if query["id"] in queries:
            raise DataError(f"{row.location}: duplicate query id {query['id']!r}")
        queries[query["id"]] = query["text"]
    return queries


def _object_of_texts(path: Path) -> dict[str, str] | None:
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and value and all(isinstance(text, str) for text in value.values()):
        return value
    return None


def _rows(path: Path, beir_file: str) -> Iterator[SourceRow]:
    file = path / beir_file if path.is_dir() else path
    if file.suffix.lower() != ".tsv":
        yield from read_rows(file)
        return
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                name, tab, text = line.decode("utf-8").rstrip("\r\n").partition("\t")
                if not tab:
                    raise DataError(f"{file}, line {number}: no tab between an id and a text")
                yield SourceRow(f"{file}, line {number}", number, {"id": name, "text": text})
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from error


def _named(row: SourceRow, names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the values of a row by our field names. Every field but the title is required."""
    values = {}
    for field, aliases in names.items():
        value = row.first(aliases)
        if isinstance(value, int) and field == "id":
            value = str(value)
        if value is None and field != "title":
            raise DataError(f"{row.location}: no {field} (one of {', '.join(aliases)})")
        if value is not None and not isinstance(value, str):
            raise DataError(f"{row.location}, field {field!r}: expected a text, got {str(value)[:60]!r}")
        if value is not None:
            values[field] = value
    return values


def bundled(name: str) -> Path:
    """Return the path of a bundled file, in the installed package or in the repository's examples."""
    inside = Path(__file__).parents[1] / "_examples"
    return (inside if inside.is_dir() else Path(__file__).parents[2] / "examples" / "data") / name
