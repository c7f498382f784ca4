"""Documents and queries by themselves, as test collections keep them: JSON Lines and the tables of MS MARCO.

The sample data that comes with claimeval.
"""

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
    """The documents of a file one by one: an object a row with id, text and perhaps title, or `id<TAB>text` lines.

    A BEIR folder stands for its `corpus.jsonl`. DataError for a row without id or text and for an id that comes twice.
    """
    seen: set[str] = set()
    for row in _rows(path, "corpus.jsonl"):
        found = _named(row, DOCUMENT_NAMES, ("id", "text"))
        if found["id"] in seen:
            raise DataError(f"{row.place}: the document id {found['id']!r} stands there a second time")
        seen.add(found["id"])
        yield Document(id=found["id"], text=found["text"], title=found.get("title") or None)


def read_queries(path: Path) -> dict[str, str]:
    """The text of each query: objects with id and question, one JSON object of id to text, or `id<TAB>text` lines.

    A BEIR folder stands for its `queries.jsonl`.
    """
    mapping = _one_object(path)
    if mapping is not None:
        return mapping
    queries: dict[str, str] = {}
    for row in _rows(path, "queries.jsonl"):
        found = _named(row, QUERY_NAMES, ("id", "text"))
        if found["id"] in queries:
            raise DataError(f"{row.place}: the query id {found['id']!r} stands there a second time")
        queries[found["id"]] = found["text"]
    return queries


def _one_object(path: Path) -> dict[str, str] | None:
    """A JSON file that is one object of texts; None for anything else."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and value and all(isinstance(text, str) for text in value.values()):
        return value
    return None


def _rows(path: Path, in_folder: str) -> Iterator[SourceRow]:
    file = path / in_folder if path.is_dir() else path
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


def _named(row: SourceRow, names: Mapping[str, tuple[str, ...]], needed: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for field, aliases in names.items():
        value = next((row.fields[alias] for alias in aliases if row.fields.get(alias) is not None), None)
        if isinstance(value, int) and field == "id":
            value = str(value)
        if value is None and field in needed:
            raise DataError(f"{row.place}: no {field} (one of {', '.join(aliases)})")
        if value is not None and not isinstance(value, str):
            raise DataError(f"{row.place}, field {field!r}: a text was expected, got {str(value)[:60]!r}")
        if value is not None:
            found[field] = value
    return found


def bundled(name: str) -> Path:
    """The path of a bundled file: inside the installed package, or in the checkout's examples."""
    inside = Path(__file__).parents[1] / "_examples"
    return (inside if inside.is_dir() else Path(__file__).parents[2] / "examples" / "data") / name
