"""Tables with one row a document: question and answer repeat, and each row has another retrieved
document.

Scored row by row, such a table gives another number than its samples, so it is refused unless the
caller has it joined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple, TypeVar

from claimeval.data.documents import document
from claimeval.data.field_names import words_of
from claimeval.data.mapping import options
from claimeval.data.paths import values_at
from claimeval.data.rows import SourceRow
from claimeval.types.errors import DataError
from claimeval.types.records import Sample

Row = TypeVar("Row")

ONE_ROW_A_DOCUMENT = "one row a document"
"""The kind of the error."""
LOOKED_AT = 20_000
"""Rows that are looked at, from the first, so that memory stays bounded in a table of any size."""
_DOCUMENT = frozenset(words_of("document doc passage chunk context text content snippet evidence"))
"""Words in the name of a column with one document; also with an s."""
_OF_DOCUMENT = _DOCUMENT.union(
    words_of(
        "at char chars distance docid docno embedding end file id idx index is label length link"
        " name no number offset page path pid position rank relevance relevant retrieval retrieved"
        " row score section similarity size source start title token tokens unnamed uri url uuid"
    )
)
"""Words in the names of columns that describe a document or number the rows. Other columns tell
samples apart."""
_RANK = frozenset({"rank", "position"})
_SHORT = 100
"""Characters of a value by which rows are joined, at most."""


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
    named: bool
    """Whether one of these is the id of the sample."""

    @classmethod
    def of(cls, names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Layout:
        """Return the layout of a table with these names; `columns` are those that are read as a
        field of a sample."""
        contexts = columns.get("contexts", ())
        used = set(chain.from_iterable(columns.values()))
        unread = (name for name in names if name not in used and _words(name) & _DOCUMENT)
        document = contexts[0] if contexts else next(unread, None)
        other = tuple(name for name in names if name != document and not _describes_document(name))
        return cls(
            document,
            bool(contexts),
            "id" in columns,
            other,
            not set(columns.get("id", ())).isdisjoint(other),
        )


def _words(column: str) -> set[str]:
    return {
        word.removesuffix("s") if word.removesuffix("s") in _DOCUMENT else word
        for word in words_of(column)
    }


def _describes_document(column: str) -> bool:
    """Return whether a column describes a document, as ranks and titles do, or only numbers the
    rows."""
    words = _words(column)
    return bool(words) and words <= _OF_DOCUMENT and words not in ({"name"}, {"label"})


class _Repeated:
    """Rows with the same question, answer and other fields."""

    __slots__ = ("differ", "document", "rows")

    def __init__(self, document: int) -> None:
        self.rows = 1
        self.document = document
        self.differ = False


class LongTable:
    """Finds out row by row whether a table has one row a document."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows = 0
        self._below = 0
        """Rows with a document alone, below one with an answer."""
        self._groups: dict[int, _Repeated] = {}
        self._answered: tuple[str, Mapping[str, object]] | None = None
        """The question and the cells of the last row with an answer."""
        self._column = ""
        self._mapped = False
        """The column of the document, and whether it is read as contexts."""
        self._values: dict[str, set[int]] = {}
        self._pairs: dict[str, set[tuple[int, int]]] = {}
        """The values of the columns that may join rows, alone and with the group of their row."""

    def add(self, sample: Sample, cells: Mapping[str, object], layout: Layout) -> None:
        """Add the sample in a row. Raises DataError at the last row that is looked at."""
        self._rows += 1
        if layout.document and sample.question and not sample.question.isspace():
            if sample.answer:
                self._answered = (sample.question, cells)
                self._add(sample, cells, layout)
            elif self._answered and self._answered[0] == sample.question:
                # Exports with a row a document often write the answer into the first of them only.
                above = self._answered[1]
                cells = {
                    name: above.get(name) if _blank(cell) else cell for name, cell in cells.items()
                }
                self._add(sample, cells, layout)
        elif layout.document and self._answered and not sample.answer:
            self._below += _single_document(sample, cells, layout) is not None
        if not self.open:
            self.check()

    @property
    def open(self) -> bool:
        """Whether further rows are looked at."""
        return self._rows < LOOKED_AT

    def _add(self, sample: Sample, cells: Mapping[str, object], layout: Layout) -> None:
        document = _single_document(sample, cells, layout)
        if document is None:
            return
        assert layout.document, "there is one"
        # Scores differ from document to document, so numbers with decimals do not tell rows apart.
        same = [name for name in layout.other if not isinstance(cells[name], float)]
        key = hash(tuple([str(cells[name]) for name in same]))
        self._add_values(key, cells)
        if (group := self._groups.get(key)) is None:
            self._groups[key] = _Repeated(hash(document))
            return
        group.rows += 1
        if not group.differ and group.document != hash(document):
            group.differ = True
            self._column = layout.document
            self._mapped = layout.mapped

    def _add_values(self, key: int, cells: Mapping[str, object]) -> None:
        """Add the cells of a row of a group that may join its rows, which a long text does not."""
        for name, value in cells.items():
            if isinstance(value, int) or (isinstance(value, str) and len(value) <= _SHORT):
                self._values.setdefault(name, set()).add(hash(value))
                self._pairs.setdefault(name, set()).add((key, hash(value)))

    def check(self, likeliest: Mapping[str, str | Sequence[str]] | None = None) -> None:
        """Raise DataError if at least half of the rows repeat a question with its answer for
        another document.

        `likeliest` are the paths of fields that have to be named as well.
        """
        if self._below > 1 and 3 * self._below >= self._rows:
            raise DataError(
                f"{self._name} seems to have one row a document: {self._below:,} of"
                f" {self._rows:,} rows have a document and neither a question nor an answer, as"
                " below a merged cell. Write both into each row (in pandas: frame.ffill())",
                kind=ONE_ROW_A_DOCUMENT,
            )
        rows = sum(group.rows for group in self._groups.values() if group.differ)
        # Half of the rows: a log has a few questions that were asked twice about other documents.
        if not rows or 2 * rows < self._rows:
            return
        named = likeliest or ({} if self._mapped else {"contexts": self._column})
        reading = {**named, "group": self._key()}
        row_each = {**named, "group": "none"}
        raise DataError(
            f"{self._name} has one row a document: in {rows:,} of {self._rows:,} rows question and"
            f" answer are those of another row, and only {self._column!r} differs. A sample is an"
            f" answer with all its documents: add {options(reading)} to"
            f" join them, or {options(row_each)} if each row is a sample",
            kind=ONE_ROW_A_DOCUMENT,
            readings=(reading, row_each),
        )

    def _key(self) -> str:
        """Return the column that tells the groups apart, an id before a text, or several
        columns."""
        count = len(self._groups)
        alone = [
            name
            for name, values in self._values.items()
            if len(values) == len(self._pairs[name]) == count
        ]
        best = sorted(alone, key=lambda name: not name.lower().endswith("id"))
        steady = [name for name, pairs in self._pairs.items() if len(pairs) == count]
        return best[0] if best else ",".join(steady)


def _single_document(sample: Sample, cells: Mapping[str, object], layout: Layout) -> str | None:
    """Return the text of the only document of a row; None if it has several or none."""
    document = cells[layout.document or ""]
    if layout.mapped:
        contexts = sample.contexts or ()
        # A list with one document, in rows that have ids, is what a retriever of one returns.
        if len(contexts) != 1 or (layout.has_id and not isinstance(document, str)):
            return None
        document = contexts[0].text
    return document if isinstance(document, str) else None


def _blank(cell: object) -> bool:
    return cell is None or cell == "" or cell != cell


def joined(
    rows: Iterable[Row],
    group: str,
    layout: Callable[[SourceRow], Layout],
) -> Iterator[Row | SourceRow]:
    """Yield one row for the rows with equal values of a column, or of several columns, with a list
    of their documents.

    The documents are ordered by a column with their ranks, else as they stand.

    Args:
        rows: The rows, with one document each.
        group: The columns, separated by commas.
        layout: What the columns of a row hold.

    Raises:
        DataError: If a row has no value of a column, or rows of a group differ in more than their
            documents.
    """
    groups: dict[str, list[SourceRow]] = {}
    for row in rows:
        if not isinstance(row, SourceRow):
            yield row
            continue
        values = [next(iter(values_at(row.origin, name)), None) for name in _names(row, group)]
        if None in values:
            raise DataError(
                f"{row.location}: no {group!r}, which --group names; it has {', '.join(row.origin)}"
            )
        groups.setdefault(" / ".join(map(str, values)), []).append(row)
    for number, (name, members) in enumerate(groups.items(), 1):
        yield _joined(name, number, members, layout(members[0]), group)


def _names(row: SourceRow, group: str) -> list[str]:
    return [group] if group in row.origin else group.split(",")


def _joined(name: str, number: int, rows: list[SourceRow], layout: Layout, group: str) -> SourceRow:
    first = rows[0]
    keys = _names(first, group)
    if layout.document is None:
        raise DataError(
            f"{first.location}: no column with a document to join; name it: --field contexts="
        )
    kept = {
        field: value for field, value in first.fields.items() if field in (*layout.other, *keys)
    }
    for row in rows[1:]:
        field = _first_difference(row, kept)
        if field is not None:
            raise DataError(
                f"{row.location}, {field}: {str(row.fields.get(field))[:60]!r} differs from"
                f" {first.location}, though {group} is {name!r} in both; rows to join differ in"
                " their documents alone"
            )
    documents = [_document(row, layout.document, kept) for row in _by_rank(rows)]
    column = layout.document if layout.mapped else "contexts"
    own = {} if layout.named else {"id": name}
    fields = {**own, **kept, column: _with_distinct_ids(documents)}
    return SourceRow(first.location, number, fields, first.origin)


def _by_rank(rows: Sequence[SourceRow]) -> Sequence[SourceRow]:
    """Return rows in the order of a column with their ranks, if there is one."""
    names = rows[0].fields
    ranks = [name for name in names if _describes_document(name) and _words(name) & _RANK]
    if ranks:
        with suppress(ValueError):  # no number
            return sorted(rows, key=lambda row: float(str(row.fields.get(ranks[0]))))
    return rows


def _first_difference(row: SourceRow, kept: Mapping[str, object]) -> str | None:
    """Return the first field in which a row differs from the first of its group, beside blanks and
    numbers such as scores."""
    for field, value in kept.items():
        cell = row.fields.get(field)
        if cell != value and not isinstance(value, float) and not _blank(cell):
            return field
    return None


def _with_distinct_ids(documents: list[object]) -> list[object]:
    """Return the documents; without their ids if two have the same or one has none."""
    names = [document.get("id") for document in documents if isinstance(document, dict)]
    if len(set(names)) == len(documents):
        return documents
    return [
        {**document, "id": None} if isinstance(document, dict) else document
        for document in documents
    ]


def _document(row: SourceRow, column: str, kept: Collection[str]) -> object:
    """Return the document of a row, with its id, title and score from other columns."""
    value = row.fields.get(column)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    beside = {
        name: cell for name, cell in row.fields.items() if name not in kept and name != column
    }
    found = document({**beside, "text": value}) if isinstance(value, str) else document(value)
    return found or value
