"""What people are shown of a result, as data: lines, tables and entries. A renderer for each form
draws them.

Numbers stay numbers until a renderer writes them by the kind of their column, so every form shows
the same digits. A renderer begins with `through`, which passes every text, titles, notes and names
included, through the door of its form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from claimeval.metrics.derived import directed
from claimeval.statistics import formatting
from claimeval.statistics.estimates import coverage_notes

if TYPE_CHECKING:
    from claimeval.types.estimates import Ends

Kind = Literal[
    "text",
    "metric",
    "count",
    "number",
    "seconds",
    "range",
    "ends",
    "estimate",
    "signed",
    "signed_ends",
    "percent_ends",
    "p",
    "percent",
    "dollars",
]
"""How the cells of a column are written. `metric` is the name of a metric, which people see with an
arrow if a low value is good. `ends`, `signed_ends` and `percent_ends` have the interval or bounds
of an `Estimate`, `estimate` its value too; `range` has two numbers, `count` a whole number,
`percent` a share."""


class Data(str):
    """A text that is quoted as it is, such as a name, an id or a claim; all other texts are
    claimeval's own words."""

    __slots__ = ()


class Sentence(Data):
    """A sentence of claimeval's own words that names texts of the data, in “quotes” if they have
    more than a word."""

    __slots__ = ()


class Reported(Protocol):
    """A value with the ends that are reported next to it, such as an `Estimate`."""

    @property
    def ends(self) -> Ends:
        """What the ends are."""

    @property
    def reported(self) -> tuple[float, float] | None:
        """Both ends; None if there are none."""


Cell = str | float | Reported | None
"""A text stands as it is in a column of any kind; None is undefined."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: Kind = "text"
    rank: int = 0
    """Where not all columns fit, those with the highest rank are left out first; those with 0
    never."""
    at: str | Callable[[Any], Any] = ""
    """Where the record of a row has the cell: a path of names, at which a text is `Data`, or a
    function; empty for rows of cells."""
    sparse: bool = False
    """Whether the column is left out where no row has a value."""
    estimate: str = ""
    """Of a column of ends, the estimate as `statistics.estimates` names it, whose value is in the
    column before: a note says so if its intervals cover too little."""


class Named(NamedTuple):
    """A record with a name, as a row of a table of `named` columns."""

    name: Cell
    of: Any
    inner: bool = False
    """Whether the row belongs to a row above it."""


class Table(NamedTuple):
    """Rows of cells. `name` is its name in files and on the page."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    """Of a `Cell` for each column."""
    title: str = ""
    notes: tuple[str, ...] = ()
    """Lines below the table."""
    indented: frozenset[int] = frozenset()
    """Numbers of the rows that belong to a row above them."""


class Line(NamedTuple):
    """A line of text in parts; the first part of a heading is its subject."""

    parts: tuple[str, ...]
    kind: Literal["heading", "text", "remark", "caution", "note"] = "text"


class Entry(NamedTuple):
    """One thing to look at: its name, and named texts in their order."""

    name: str
    fields: tuple[tuple[str, str], ...]


class Entries(NamedTuple):
    """Things to look at, the most important first."""

    title: str
    entries: tuple[Entry, ...]


Block = Line | Table | Entries
BOUNDED = "* bounds, not an interval: judges abstained on over a tenth"
"""Note below a table in which an estimate has bounds."""


def line(*parts: str) -> Line:
    """Return a line of text."""
    return Line(parts)


def heading(*parts: str) -> Line:
    """Return a heading; its first part is its subject."""
    return Line(parts, "heading")


def remark(*parts: str) -> Line:
    """Return a line that explains what stands above it."""
    return Line(parts, "remark")


def caution(text: str) -> Line:
    """Return what to know before trusting the numbers."""
    return Line((Sentence(text),), "caution")


def columns(*names: str, numbers: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return columns of texts, and after them columns of numbers, for cells that are written
    already."""
    return (*map(Column, names), *(Column(name, "count") for name in numbers))


def itself(record: Reported) -> Reported:
    """Return the record: where a column of ends has it for a row that is an estimate."""
    return record


def named(head: str, columns: Iterable[Column], kind: Kind = "text") -> tuple[Column, ...]:
    """Return a column for the names of `Named` rows, and the columns of their records."""

    def of(column: Column) -> Column:
        return column._replace(at=lambda row: _at(row.of, column.at))

    return (Column(head, kind, at=lambda row: row.name), *map(of, columns))


def table(
    name: str,
    head: Sequence[Column],
    rows: Iterable[Any],
    title: str = "",
    notes: Iterable[str] = (),
    inner: str = "",
) -> Table:
    """Return a table of rows of cells, or of records, with notes on bounds and on intervals that
    cover too little, if it has such estimates.

    Args:
        name: Its name in files and on the page.
        head: Its columns.
        rows: Cells in the order of the columns, or records in which columns have their place.
        title: What stands above it.
        notes: Lines below it.
        inner: Where the record of a row says whether it belongs to a row above it.
    """
    rows = list(rows)
    made = any(column.at for column in head)
    cells = [tuple(_at(row, column.at) for column in head) if made else tuple(row) for row in rows]
    full = [i for i, column in enumerate(head) if not column.sparse or _has_values(cells, i)]
    shown = tuple(tuple(row[i] for i in full) for row in cells)
    kept = tuple(head[i] for i in full)
    indented = frozenset(i for i, row in enumerate(rows) if inner and _at(row, inner))
    found = (*_on_ends(shown), *_on_coverage(kept, shown), *notes)
    return Table(name, kept, shown, title, found, indented)


def _on_coverage(head: Sequence[Column], rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """Yield a note for each value whose intervals, if the table has any, cover too little."""
    names: dict[str, dict[str, None]] = {}
    for i, column in enumerate(head):
        if column.estimate and any(getattr(row[i], "reported", None) for row in rows):
            value = head[i - 1].name
            shown = f"“{value}”" if isinstance(value, Data) else value
            names.setdefault(column.estimate, {})[shown] = None
    for estimate, values in names.items():
        yield from map(Sentence, coverage_notes(", ".join(values), estimate))


def _has_values(cells: Iterable[Sequence[Any]], position: int) -> bool:
    return any(row[position] not in (None, "", 0) for row in cells)


def _on_ends(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Yield a note on bounds, and why values have no interval; several reasons with the rows that
    they are about."""
    cells = [(row[0], cell) for row in rows for cell in row]
    if any(getattr(cell, "ends", "") == "bounds" for _, cell in cells):
        yield f"{BOUNDED} of the claims"
    reasons: dict[str, dict[str, None]] = {}
    for name, cell in cells:
        if because := _without_interval(cell):
            reasons.setdefault(because, {})[text(name, "text")] = None
    for reason, names in reasons.items():
        of = f" of {', '.join(names)}" if len(reasons) > 1 and all(names) else ""
        yield Sentence(f"no interval{of}: {reason}")


def _without_interval(cell: Any) -> str | None:
    """Return why a value has no interval; None if it has one, or if nobody asked for it."""
    from claimeval.statistics.bootstrap import NOT_REQUESTED

    # What has no value at all says so in its own cell.
    if getattr(cell, "value", None) is None or getattr(cell, "ends", "") != "none":
        return None
    because: str | None = getattr(cell, "because", None)
    return None if because == NOT_REQUESTED else because


def _at(record: Any, at: str | Callable[[Any], Any]) -> Any:
    """Return the cell of a record; None where a part of the path is missing."""
    if callable(at):
        return at(record)
    for name in at.split("."):
        record = getattr(record, name, None)
    return Data(record) if isinstance(record, str) else record


def confusion(
    name: str, corner: str, labels: Sequence[object], counts: Iterable[Iterable[int]]
) -> Table:
    """Return a table of how often items with the label of a row got the label of a column.

    Args:
        name: Name of the table in files and on the page.
        corner: Name of the column of labels, which says who gave which.
        labels: The labels, in the order of rows and columns.
        counts: `counts[i][j]`: items with `labels[i]` that got `labels[j]`.
    """
    names = [Data(label) for label in labels]
    rows = tuple((row, *numbers) for row, numbers in zip(names, counts, strict=True))
    return Table(name, (Column(corner), *(Column(label, "count") for label in names)), rows)


def kappas(
    head: str, rows: Sequence[Sequence[Any]], values: Iterable[float | None], most: int, kind: Kind
) -> Block:
    """Return a table of equal labels and Cohen's kappa of pairs of raters, or one line if there are
    too many.

    Args:
        head: Name of the column that counts what both labeled.
        rows: Names of the pair, what both labeled, the share of equal labels, and kappa.
        values: Kappa of each pair, for the range in the line.
        most: Maximum number of pairs in a table.
        kind: How the last two columns are written.
    """
    if len(rows) <= most:
        return table(
            "pairs",
            (Column("pair"), Column(head, "count"), Column("equal", kind), Column("kappa", kind)),
            rows,
        )
    known = sorted(value for value in values if value is not None)
    ends = formatting.interval((known[0], known[-1]), formatting.DIGITS) if known else "no value"
    return line(f"Cohen's kappa of {len(rows)} pairs: {ends}")


def tables(blocks: Iterable[Block]) -> Iterator[Table]:
    """Yield the tables among blocks."""
    return (block for block in blocks if isinstance(block, Table))


def _marked(estimate: Reported, text: str) -> str:
    return f"{text}*" if estimate.ends == "bounds" else text


_DECIMALS: dict[Kind, Callable[[Any, int], str]] = {
    "number": formatting.decimal,
    "signed": formatting.signed,
    "range": formatting.interval,
    "ends": lambda estimate, digits: _marked(
        estimate, formatting.interval(estimate.reported, digits)
    ),
    "signed_ends": lambda estimate, digits: formatting.signed_interval(estimate.reported, digits),
}
"""Kinds of cells whose decimals are those of their row."""
_WRITTEN: dict[Kind, Callable[[Any], str]] = {
    "count": lambda number: f"{number:,}",
    "seconds": lambda seconds: formatting.decimal(seconds, 2),
    "estimate": lambda estimate: _marked(
        estimate, formatting.estimate(estimate.value, estimate.reported)
    ),
    "percent_ends": lambda estimate: _marked(
        estimate, formatting.percent_interval(estimate.reported)
    ),
    "p": formatting.p_value,
    "percent": formatting.percent,
    "dollars": lambda amount: f"${formatting.dollars(amount)}",
}


def text(cell: Cell, kind: Kind, digits: int = formatting.DIGITS) -> str:
    """Return a cell as every form writes it: a dash for an undefined number, nothing for a text,
    and a metric, or metric and unit, with an arrow if a low value is good."""
    if isinstance(cell, str):
        if kind != "metric":
            return cell
        name, unit, rest = cell.partition(" (")
        shown = f"{directed(name)}{unit}{rest}"
        return Data(shown) if isinstance(cell, Data) else shown
    if cell is None:
        return {"text": "", "dollars": "unknown"}.get(kind, formatting.UNDEFINED)
    if kind in _DECIMALS:
        return _DECIMALS[kind](cell, digits)
    return str(cell) if kind == "text" else _WRITTEN[kind](cell)


def texts(row: Sequence[Cell], kinds: Sequence[Kind]) -> list[str]:
    """Return the cells of a row as every form writes them: values and intervals with the same
    decimals, as many as the narrowest interval needs."""
    reported = [
        getattr(cell, "reported", None)
        for cell, kind in zip(row, kinds, strict=True)
        if kind in ("ends", "signed_ends")
    ]
    digits = max(map(formatting.digits_of, reported), default=formatting.DIGITS)
    return [text(cell, kind, digits) for cell, kind in zip(row, kinds, strict=True)]


def through(block: Block, door: Callable[[str], str], inner: str = "– ") -> Any:
    """Return a block with all cells as texts, in which every text has passed the door of a form.

    `inner` is put before the first text of a row that belongs to a row above it.
    """
    match block:
        case Line():
            return block._replace(parts=tuple(map(door, block.parts)))
        case Entries():
            return Entries(
                door(block.title),
                tuple(
                    Entry(
                        door(entry.name),
                        tuple((door(name), door(words)) for name, words in entry.fields),
                    )
                    for entry in block.entries
                ),
            )
        case Table():
            kinds = [column.kind for column in block.columns]
            rows = [list(map(door, texts(row, kinds))) for row in block.rows]
            for number in block.indented:
                first = next(i for i, cell in enumerate(rows[number]) if cell)
                rows[number][first] = inner + rows[number][first]
            return block._replace(
                columns=tuple(column._replace(name=door(column.name)) for column in block.columns),
                rows=tuple(map(tuple, rows)),
                title=door(block.title),
                notes=tuple(map(door, block.notes)),
            )
