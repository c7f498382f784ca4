"""Read a corpus as passages in reading order: a file of chunks, or a folder of texts.

The columns of a file are found by what is in them: the id of a chunk is a column whose values are
all different, its document one whose values repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from claimeval.data import documents
from claimeval.data.rows import SourceRow, read_rows
from claimeval.lexical.passages import VERSION, Passage
from claimeval.types.errors import DataError, UsageError, missing_file
from claimeval.types.records import has_words

TEXT_FILES = (".md", ".txt")
LOOKED_AT = 2000
"""Rows, from the first, by which the columns are found."""
_IDS = ("id", "chunk_id", "passage_id", "_id", "doc_id", "docid", "id_", "node_id", "pid", "docno")
_DOCUMENTS = (
    *("document", "document_id", "doc_id", "doc", "source", "source_id", "parent_id", "parent"),
    *("file", "filename", "file_name", "file_path", "path", "url", "uri"),
    *("title", "docid", "id"),
)
"""Names of the columns, most reliable first; the last key of a path counts, as in
`metadata.source`."""


class Corpus(NamedTuple):
    """Where the passages of a corpus are, and what is known of them."""

    path: Path
    chunked: bool
    """Whether the passages are the chunks of a retriever: then it can be told whether a fact was
    split over two. Paragraphs of a folder are none."""
    id_column: str | None = None
    document_column: str | None = None
    sheet: str | None = None
    """The sheet of a spreadsheet."""

    @property
    def digest(self) -> str:
        """A digest of the content and of how it is read."""
        read: tuple[object, ...] = (VERSION, self.id_column, self.document_column)
        if self.sheet:
            read = (*read, self.sheet)
        digest = hashlib.sha256(repr(read).encode())
        for file in _files(self.path):
            digest.update(file.relative_to(self.path).as_posix().encode("utf-8", "surrogateescape"))
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
        return digest.hexdigest()

    @property
    def reads(self) -> str:
        """How it is read, in words."""
        if not self.chunked:
            return "paragraphs of a folder; whether a fact is split over two chunks cannot be told"
        if self.document_column:
            return f"the document of each is in `{self.document_column}`"
        return (
            "no column says which document each is of, so whether a fact is split over two cannot"
            " be told"
        )

    def passages(self) -> Iterator[Passage]:
        """Yield the passages in reading order. Raises DataError for a row without a text."""
        if not self.chunked:
            yield from _paragraphs(self.path)
            return
        for row in read_rows(self.path, sheet=self.sheet):
            yield _passage(row, self)


def open_corpus(path: Path, sheet: str | None = None) -> Corpus:
    """Find how a corpus, or a sheet of it, is read. Raises an error if there is none."""
    if not path.exists():
        raise missing_file(path)
    if path.is_dir():
        if not _files(path):
            raise UsageError(f"{path} has no .txt or .md file; give a folder of texts, or a file")
        return Corpus(path, chunked=False)
    rows = list(islice(read_rows(path, sheet=sheet), LOOKED_AT))
    if not rows:
        raise DataError(f"{path} has no passages")
    columns = [dict(_values(row)) for row in rows]
    name = _column(
        columns,
        _IDS,
        lambda values: None not in values and len(set(values)) == len(values),
    )
    document = _column(columns, _DOCUMENTS, _repeats)
    return Corpus(
        path,
        chunked=True,
        id_column=name,
        document_column=document,
        sheet=sheet,
    )


def _column(
    columns: list[dict[str, str]],
    names: Iterable[str],
    fits: Callable[[list[str | None]], bool],
) -> str | None:
    """Return the first path with one of these names whose values fit; None if there is none."""
    for key in _named(columns, names):
        values = [row.get(key) for row in columns]
        if fits(values):
            return key
    return None


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [file for file in sorted(path.rglob("*")) if file.suffix.lower() in TEXT_FILES]


def _values(row: SourceRow) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of a row, and of objects in it, by path."""
    yield from _values_in(row.fields, "")


def _values_in(fields: Mapping[str, object], path: str) -> Iterator[tuple[str, str]]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _values_in(value, f"{path}{key}.")
        elif isinstance(value, (str, int)) and not isinstance(value, bool):
            yield f"{path}{key}", str(value)


def _named(columns: list[dict[str, str]], names: Iterable[str]) -> Iterator[str]:
    """Yield the paths that end in one of these names, in the order of the names."""
    known = dict[str, None]()
    for row in columns:
        known.update(dict.fromkeys(row))
    for name in names:
        for key in known:
            if key.rpartition(".")[2].casefold() == name:
                yield key


def _repeats(values: list[str | None]) -> bool:
    """Return whether rows that follow each other have the same value."""
    return any(a is not None and a == b for a, b in pairwise(values))


def _passage(row: SourceRow, corpus: Corpus) -> Passage:
    found = documents.document(row.fields)
    if found is None:
        raise DataError(
            f"{row.location}: no text of a passage; it is looked for under text, content, ..."
        )
    values = dict(_values(row))
    name = values.get(corpus.id_column or "") or str(row.number)
    document = values.get(corpus.document_column or "", "")
    return Passage(name, document, str(found["text"]), found.get("title"))


def _paragraphs(folder: Path) -> Iterator[Passage]:
    for file in _files(folder):
        name = file.relative_to(folder).as_posix()
        text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
        kept = (paragraph.strip() for paragraph in text.split("\n\n"))
        for number, paragraph in enumerate(filter(has_words, kept), 1):
            yield Passage(f"{name}#{number}", name, paragraph)
