"""Tables with one row a document: question and answer repeat, and each row has another retrieved document.

Scored row by row, such a table gives another number than its samples, so it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from claimeval.types.errors import DataError
from claimeval.types.records import Sample

ONE_ROW_A_DOCUMENT = "one row a document"
"""The kind of the error."""
LOOKED_AT = 20_000
"""Rows that are looked at, from the first, so that memory stays bounded in a table of any size."""
_DOCUMENT = frozenset({"document", "doc", "passage", "chunk", "context", "text", "content", "snippet", "evidence"})
"""Words in the name of a column with one document; also with an s."""
_OF_DOCUMENT = _DOCUMENT | {
    "docid", "docno", "end", "file", "id", "idx", "index", "link", "name", "no", "number", "offset", "page", "path",
    "pid", "position", "rank", "relevance", "retrieval", "retrieved", "row", "score", "section", "similarity", "source",
    "start", "title", "unnamed", "uri", "url", "uuid",
}  # fmt: skip
"""Words in the names of columns that describe a document or number the rows. Other columns tell samples apart."""
_READERS = {
    ".csv": "read_csv({!r})", ".tsv": "read_csv({!r}, sep='\\t')", ".json": "read_json({!r})",
    ".jsonl": "read_json({!r}, lines=True)", ".parquet": "read_parquet({!r})",
}  # fmt: skip


class Layout(NamedTuple):
    """What the columns of a table hold."""

    document: str | None
    """The column that holds or may hold the document; None if there is none."""
    mapped: bool
    """Whether it is read as contexts."""
    has_id: bool
    """Whether samples have ids of their own."""
    other: tuple[str, ...]
    """The columns that tell samples apart."""

    @classmethod
    def of(cls, names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Layout:
        """Return the layout of a table with these names; `columns` are those that are read as a field of a sample."""
        contexts = columns.get("contexts", ())
        used = {name for of_field in columns.values() for name in of_field}
        unread = (name for name in names if name not in used and _words(name) & _DOCUMENT)
        document = contexts[0] if contexts else next(unread, None)
        other = tuple(name for name in names if name != document and not _describes_document(name))
        return cls(document, bool(contexts), "id" in columns, other)


def _words(column: str) -> set[str]:
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", column).lower())
    return {word.removesuffix("s") if word.removesuffix("s") in _DOCUMENT else word for word in words}


def _describes_document(column: str) -> bool:
    """Return whether a column describes a document, as ranks and titles do, or only numbers the rows."""
    words = _words(column)
    return bool(words) and words <= _OF_DOCUMENT and words != {"name"}


class _Repeated:
    """Rows with the same question, answer and other fields."""

    __slots__ = ("differ", "document", "rows")

    def __init__(self, document: int) -> None:
        self.rows, self.document, self.differ = 1, document, False


class LongTable:
    """Finds out row by row whether a table has one row a document."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows = 0
        self._groups: dict[int, _Repeated] = {}
        self._column, self._same = "", tuple[str, ...]()
        """The column of the document, and the columns with scalar values that repeat with the question."""

    def add(self, sample: Sample, cells: Mapping[str, object], layout: Layout) -> None:
        """Add the sample in a row. Raises DataError at the last row that is looked at."""
        self._rows += 1
        if layout.document and sample.answer and sample.question and not sample.question.isspace():
            self._add(sample, cells, layout)
        if not self.open:
            self.check()

    @property
    def open(self) -> bool:
        """Whether further rows are looked at."""
        return self._rows < LOOKED_AT

    def _add(self, sample: Sample, cells: Mapping[str, object], layout: Layout) -> None:
        assert layout.document, "there is one"
        document = cells[layout.document]
        if layout.mapped:
            contexts = sample.contexts or ()
            if len(contexts) != 1 or (layout.has_id and not isinstance(document, str)):
                return
            document = contexts[0].text
        if not isinstance(document, str):
            return
        same = [name for name in layout.other if not isinstance(cells[name], float)]
        key = hash(tuple([str(cells[name]) for name in same]))
        if (group := self._groups.get(key)) is None:
            self._groups[key] = _Repeated(hash(document))
            return
        group.rows += 1
        if not group.differ and group.document != hash(document):
            group.differ, self._column = True, layout.document
            self._same = self._same or tuple(name for name in same if not isinstance(cells[name], list | dict))

    def check(self) -> None:
        """Raise DataError if at least half of the rows repeat a question with its answer for another document."""
        rows = sum(group.rows for group in self._groups.values() if group.differ)
        if not rows or 2 * rows < self._rows:
            return
        self._groups.clear()
        path = Path(self._name)
        reader = _READERS.get(path.suffix.lower(), "DataFrame(data)").format(str(path))
        joined = (
            f"pandas.{reader}.groupby({list(self._same)}, sort=False, dropna=False)[{self._column!r}].agg(list)"
            ".reset_index(name='contexts').to_json('joined.jsonl', orient='records', lines=True)"
        )
        raise DataError(
            f"{self._name} has one row a document: in {rows:,} of {self._rows:,} rows question and answer are those of "
            f"another row, and only {self._column!r} differs. A sample is an answer with all its documents; join the "
            f"rows, as with {joined}. If each row is a sample, add a column that tells them apart, such as system",
            kind=ONE_ROW_A_DOCUMENT,
        )
