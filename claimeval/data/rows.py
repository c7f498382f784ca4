"""Read the rows of files (JSON Lines, JSON, CSV, spreadsheets, Parquet or Arrow) and of tables in
memory.

No row is skipped: a row that cannot be read is a DataError with its line number.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel

from claimeval.data.cells import parse_json
from claimeval.data.field_names import names_a_field, words_of
from claimeval.data.file_formats import (
    SPREADSHEETS,
    encoding_of,
    format_of,
    guessed_encodings,
    opened_lines,
    opened_text,
    read_bytes,
)
from claimeval.data.paths import flat, opened, roots, values_at
from claimeval.types.errors import DataError, missing_file, not_installed, visible

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

FORMULAS = tuple("=+-@＝＋－＠\t\r\n")
"""Characters that begin a formula in spreadsheets, also in full width, as some languages of Office
accept them."""


class SourceRow(NamedTuple):
    """A row of a file."""

    location: str
    """File and line for messages, such as `data.jsonl, line 3`."""
    number: int
    """Number of the row, from 1."""
    fields: dict[str, object]
    raw: Mapping[str, object] | None = None
    """The fields as they are in the file, if a mapping changed them."""

    @property
    def origin(self) -> Mapping[str, object]:
        """The fields as they are in the file."""
        return self.fields if self.raw is None else self.raw

    def leads(self, path: str) -> bool:
        """Return whether the first key of a path is a field."""
        return bool(roots(tuple(self.fields), path))

    def first(self, names: Iterable[str]) -> object:
        """Return the first of these fields that has a value, or None."""
        return next(
            (self.fields[name] for name in names if self.fields.get(name) is not None), None
        )


OnError = Callable[[DataError], None]


def stop_at_error(error: DataError) -> None:
    """Raise the error of a row that cannot be read."""
    raise error


def read_rows(
    path: Path,
    on_error: OnError = stop_at_error,
    *,
    texts: Collection[str] = frozenset(),
    positions: range | None = None,
    under: str | None = None,
    sheet: str | None = None,
) -> Iterator[SourceRow]:
    """Yield the rows of a file. JSON Lines and CSV are streamed.

    Args:
        path: The file.
        on_error: Called with the error of a single row, which it may ignore.
        texts: Columns of a CSV whose cells are not read as lists or objects.
        positions: The rows to read, from 0; None for all. Rows before these are not parsed.
        under: The path of the list of rows in a JSON file or in a line.
        sheet: The sheet of a spreadsheet; None if one has values.

    Raises:
        DataError: If the file cannot be read or is not a list of rows.
    """
    if path.is_dir():
        raise _is_folder(path)
    if not path.exists():
        raise missing_file(path)
    if not path.is_file():
        raise DataError(
            f"{path} is a pipe or a device, but data is read more than once. Write it to a file"
            " first"
        )
    form = format_of(path)
    csv_reader = partial(_csv, texts=texts)
    spreadsheet = partial(_spreadsheet, texts=texts, sheet=sheet)
    readers: dict[str, Callable[[Path, OnError, range | None], Iterator[SourceRow]]] = {
        ".jsonl": _json_lines,
        ".ndjson": _json_lines,
        ".json": partial(_json, under=under),
        ".csv": csv_reader,
        ".parquet": _parquet,
        ".feather": _arrow,
        ".arrow": _arrow,
        ".tsv": csv_reader,
        **dict.fromkeys(SPREADSHEETS, spreadsheet),
    }
    if sheet is not None and form not in SPREADSHEETS:
        raise DataError(f"{path} has no sheets: leave out --sheet {sheet}")
    try:
        rows = readers[form](path, on_error, positions)
        yield from rows if under is None or form == ".json" else _within(rows, under)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _is_folder(path: Path) -> DataError:
    """Return the error for a folder in place of a file, with the files in it that can be read."""
    if (path / "manifest.json").exists():
        # Files of a run can be read as rows too, but are neither labels nor data.
        return DataError(f"{path} is the folder of a run, and a file with rows is needed here")
    runs = [str(entry.parent) for entry in sorted(path.glob("*/manifest.json"))][:3]
    if runs:
        return DataError(f"{path} is a directory of runs. Give one of them: {', '.join(runs)}, ...")
    files: list[str] = []
    for entry in sorted(path.iterdir()):
        with suppress(DataError):
            if entry.is_file() and format_of(entry):
                files.append(str(entry))
    named = ", ".join(files[:3])
    return DataError(
        f"{path} is a directory. Give a file in it" + (f", such as {named}" if files else "")
    )


def _within(rows: Iterable[SourceRow], under: str) -> Iterator[SourceRow]:
    number = 0
    for row in rows:
        for item in flat(values_at(row.fields, under)):
            number += 1
            location = f"{row.location}, {under} {number}"
            yield SourceRow(location, number, _object(item, location))


def count_rows(path: Path) -> int:
    """Return the number of rows of a file, if possible without parsing them."""
    form = format_of(path)
    if form in (".jsonl", ".ndjson"):
        with opened_lines(path) as lines:
            return sum(1 for line in lines if not line.isspace())
    if form == ".parquet":
        from pyarrow import parquet

        rows: int = parquet.ParquetFile(path).metadata.num_rows
        return rows
    return sum(1 for _ in read_rows(path, lambda _: None))


def _decode(name: str, line: int, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        path = Path(name)
        hint = f"byte 0x{data[error.start]:02x} at column {error.start + 1}"
        guesses = guessed_encodings(data[error.start :])
        encoding = guesses[0][0]
        reads = " or ".join(f"{guess} (it then reads {text!r})" for guess, text in guesses)
        guess = f"By a guess, it is {reads}. If so, convert it"
        if len(guesses) > 1:
            guess = f"It may be {reads}. Convert it from the one that reads right"
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # from a pipe; files are converted
            hint = "it looks like UTF-16"
            encoding = "UTF-16"
            guess = "Convert it"
        to = f"{path.stem}.utf8{path.suffix}"
        raise DataError(
            f"{path}, line {line}: not UTF-8 ({hint}). {guess}:"
            f" iconv -f {encoding} -t UTF-8 {shlex.quote(str(path))} > {shlex.quote(to)}"
        ) from error


def read_json_lines(
    file: Iterable[bytes],
    name: str,
    on_error: OnError = stop_at_error,
    positions: range | None = None,
) -> Iterator[SourceRow]:
    """Yield the rows of JSON Lines from any source, such as a pipe.

    Args:
        file: The lines, each with its end.
        name: The name of the source in messages.
        on_error: Called with the `DataError` of a row that cannot be read; by default it is raised.
        positions: The rows to yield, counted from 0; all by default.
    """
    lines = ((line, data) for line, data in enumerate(file, 1) if not data.isspace())
    for number, (line, data) in _numbered(lines, positions):
        try:
            row = _json_line(
                name,
                line,
                number,
                data.removeprefix(b"\xef\xbb\xbf") if line == 1 else data,
            )
        except DataError as error:
            on_error(error)
            continue
        yield row


def _numbered(rows: Iterable[T], positions: range | None) -> Iterator[tuple[int, T]]:
    """Yield the rows at these positions with their numbers, from 1; no row after the last position
    is read."""
    numbered = enumerate(rows, 1)
    return numbered if positions is None else islice(numbered, positions.start, positions.stop)


def _json_lines(path: Path, on_error: OnError, positions: range | None) -> Iterator[SourceRow]:
    with opened_lines(path) as lines:
        yield from read_json_lines(lines, str(path), on_error, positions)


def _json_line(name: str, line: int, number: int, data: bytes) -> SourceRow:
    location = f"{name}, line {line}"
    text = _decode(name, line, data)
    try:
        fields = parse_json(text)
    except ValueError as error:
        raise DataError(f"{location}: not JSON: {_json_problem(error)}", kind="not JSON") from error
    return SourceRow(location, number, _object(fields, location))


def _json_problem(error: ValueError) -> str:
    """Return the problem and its column. Python counts the lines of a row that was cut, and says of
    a text that ends too early what could follow."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    if not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated string"):
        return f"the text ends too early, after {len(error.doc.rstrip()):,} characters"
    line = f"line {error.lineno}, " if error.lineno > 1 else ""
    return f"{error.msg[:1].lower()}{error.msg[1:]} ({line}column {error.colno})"


def _json(
    path: Path,
    on_error: OnError,
    positions: range | None,
    under: str | None = None,
) -> Iterator[SourceRow]:
    data = read_bytes(path)
    try:
        content = parse_json(_decode(str(path), 1, data))
    except ValueError as error:
        if data.partition(b"\n")[0].rstrip().endswith(b"}"):
            yield from _json_lines(path, on_error, positions)
            return
        raise DataError(f"{path}: not JSON: {_json_problem(error)}") from error
    if not isinstance(content, (dict, list)):
        raise DataError(f"{path}: expected a list of samples, not {type(content).__name__}")
    if under is not None:
        rows = flat(values_at(content, under))
        name = under
    elif isinstance(content, list):
        rows = content
        name = "item"
    else:
        rows = table_rows(content, str(path))
        name = _container(content) or "item"
    for number, fields in _numbered(rows, positions):
        location = f"{path}, {name} {number}"
        try:
            yield SourceRow(location, number, _object(fields, location))
        except DataError as error:
            on_error(error)


CONTAINERS = (
    *(
        "examples",
        "predictions",
        "results",
        "results.results",
        "testCases",
        "test_cases",
        "samples",
        "data",
    ),
    *("rows", "records", "items", "goldens", "runs", "data.data", "data.items", "data.rows"),
)
"""Paths of the rows of a JSON object, in files of LlamaIndex, RAGChecker, DeepEval, ragas,
promptfoo and others."""
_OF_A_TRACE = frozenset({"info", "spans", "resourceSpans", "observations", "trace"})
_OF_A_ROW = _OF_A_TRACE | {
    "question",
    "query",
    "answer",
    "response",
    "input",
    "user_input",
    "messages",
}
"""Fields of objects that are rows, although they have lists of objects."""


def table_rows(table: Mapping[str, Any], name: str) -> list[Any]:
    """Return the rows of an object: a list in it, any form of `DataFrame.to_json`, a dict of
    columns, or one row.

    `name` is its name in messages.

    Raises:
        DataError: If its columns have different lengths, or its lists are unknown.
    """
    values = list(table.values())
    if isinstance(table.get("columns"), list) and isinstance(table.get("data"), list):
        return [dict(zip(table["columns"], row, strict=False)) for row in table["data"]]
    if container := _container(table):
        (rows,) = values_at(table, container)
        return _without_index(table.get("schema"), rows)
    if not _OF_A_TRACE.isdisjoint(table) or not values:
        return [dict(table)]
    if _are_all(values, dict):
        return _rows_of_objects(table)
    if _are_all(values, (list, tuple)):
        return _rows_of_columns(table, name)
    return _rows_of_texts(table, name)


def _rows_of_texts(table: Mapping[str, Any], name: str) -> list[Any]:
    """Return the rows of an object of texts: answers by their questions, or one row.

    Raises:
        DataError: They are answers by ids; with what joins them to their questions.
    """
    if len(table) < 2 or not _are_all(table.values(), str) or any(map(names_a_field, table)):
        return [dict(table)]
    asking = sum(key.rstrip().endswith(("?", "？")) for key in table)
    if 2 * asking > len(table):
        return [{"question": question, "answer": answer} for question, answer in table.items()]
    numbered = sum(any(map(str.isdecimal, key)) for key in table)
    if 2 * numbered > len(table):
        first = visible(next(iter(table)), 40)
        raise DataError(
            f"{name} has texts by ids, as for {first!r}, and nothing beside them. If they are"
            " answers, write each into the row of its question, as in: jq -c --slurpfile"
            f" answers {shlex.quote(name)} '.answer = $answers[0][.id | tostring]' QUESTIONS.jsonl"
            " > joined.jsonl"
        )
    return [dict(table)]


def _are_all(values: Iterable[object], kind: type | tuple[type, ...]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _without_index(schema: object, rows: Iterable[Any]) -> list[Any]:
    """Return the rows of a frame, `DataFrame.to_json(orient="table")`, without an index that has no
    name; a named one is a column like others."""
    made_up = isinstance(schema, dict) and schema.get("primaryKey") == ["index"]
    if not made_up:
        return list(rows)
    return [{k: v for k, v in row.items() if k != "index"} for row in rows]


def _rows_of_objects(table: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return the rows of an object of objects: rows by number or by id, or columns with their cells
    by label."""
    if all(str(label).isdecimal() for label in table):
        return list(table.values())
    if _are_by_id(table):
        return [row if "id" in row else {"id": name, **row} for name, row in table.items()]
    return _rows_by_label(table)


def _rows_by_label(table: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    labels = dict.fromkeys(chain.from_iterable(table.values()))
    # pandas numbers the rows of a table without an index
    has_ids = "id" not in table and not all(str(label).isdecimal() for label in labels)
    rows: list[Any] = []
    for label in labels:
        row = {column: cells.get(label) for column, cells in table.items()}
        rows.append({"id": label, **row} if has_ids else row)
    return rows


def _rows_of_columns(table: Mapping[str, Sequence[Any]], name: str) -> list[Any]:
    columns = list(table.values())
    if not any(columns):
        raise DataError(f"{name}: no list of samples under one of {', '.join(CONTAINERS)}")
    lengths = {column: len(cells) for column, cells in table.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{column} {length}" for column, length in lengths.items())
        raise DataError(f"{name}: columns of different lengths ({counts})")
    return [dict(zip(table, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _are_by_id(table: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether an object of objects has rows by their ids and not columns by their names: the
    names within are those of questions, answers and documents, and the outer ones are not."""
    outer = {words_of(name) for name in table if names_a_field(name)}
    names = set(chain.from_iterable(table.values()))
    inner = {words_of(name) for name in names if names_a_field(name)}
    return len(outer) < 2 <= len(inner)


def _container(table: Mapping[str, Any]) -> str | None:
    """Return the path of the rows in an object: a known one, else that of its only list of
    objects."""
    for name in CONTAINERS:
        if any(isinstance(value, list) for value in values_at(table, name)):
            return name
    lists = [
        path
        for path, value in _two_levels(table).items()
        if isinstance(value, list) and value and _are_all(value, dict)
    ]
    return lists[0] if len(lists) == 1 and _OF_A_ROW.isdisjoint(table) else None


def _two_levels(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an object and of the objects in it, by their paths."""
    inner: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            inner |= {f"{name}.{key}": item for key, item in value.items()}
    return {**table, **inner}


_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)
"""The line before the header that tells Excel the separator of the columns."""


def _csv(
    path: Path,
    on_error: OnError,
    positions: range | None,
    texts: Collection[str],
) -> Iterator[SourceRow]:
    # Python refuses cells above 131,072 characters, which contexts in one cell exceed. The limit is
    # a C long, of 32 bits on Windows.
    csv.field_size_limit(2**31 - 1)
    with opened_text(path) as file:
        try:
            header = file.readline()
            declared = _SEPARATOR.fullmatch(header)
            # The header decides and not the rows: a text may have more semicolons than a table
            # columns.
            columns = {
                mark: len(next(csv.reader([header], delimiter=mark), ())) for mark in ",;\t|"
            }
            delimiter = declared[1] if declared else max(columns, key=columns.__getitem__)
            reader = csv.reader(file, strict=True, delimiter=delimiter)
            file.seek(0)
            if declared:
                next(reader)
            lines = _csv_lines(reader)
            yield from _table(path, "line", lines, on_error, positions, texts)
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: not CSV: {error}") from error
        except UnicodeDecodeError as error:
            # Reading in text mode says only the byte, so the file is read once more to find the
            # line.
            if encoding_of(path) != "utf-8-sig":
                raise DataError(f"{path} is not UTF-16, as its beginning says: {error}") from error
            with path.open("rb") as binary:
                for line, data in enumerate(binary, 1):
                    _decode(str(path), line, data)


def _spreadsheet(
    path: Path,
    on_error: OnError,
    positions: range | None,
    texts: Collection[str],
    sheet: str | None,
) -> Iterator[SourceRow]:
    from claimeval.data.spreadsheets import cells_of

    return _table(path, "row", cells_of(path, sheet), on_error, positions, texts)


def _table(
    path: Path,
    unit: str,
    lines: Iterator[tuple[int, list[Any]]],
    on_error: OnError,
    positions: range | None,
    texts: Collection[str],
) -> Iterator[SourceRow]:
    """Yield the rows of a table whose first line has the names of its columns.

    Args:
        path: The file.
        unit: What its lines are called.
        lines: Lines that are not blank, with their numbers; empty cells are empty texts.
        on_error: Called with the error of a single row.
        positions: The rows to yield, from 0; None for all.
        texts: Columns whose cells are not read as lists or objects.
    """
    _, header = next(lines, (1, []))
    columns = _TableColumns.of(path, header, texts)
    width = len(columns.names)
    for number, (line, cells) in _numbered(lines, positions):
        location = f"{path}, {unit} {line}"
        if problem := columns.misfit(cells):
            said = f" but {len(cells)}" if len(cells) != width else ""
            on_error(DataError(f"{location}: {problem}{said}", kind=problem))
            continue
        if columns.repeated and cells[0] != cells[columns.repeated]:
            raise _duplicate(path, columns.names[columns.repeated])
        yield SourceRow(location, number, columns.fields(cells))


class _TableColumns(NamedTuple):
    """The columns of a table, as its header names them."""

    names: Sequence[str]
    repeated: int
    """The column that the first one repeats, as an index that pandas writes may; else 0."""
    named: Sequence[tuple[str, int, Callable[[Any], Any]]]
    """The name and the position of each column of a value, and how its cells are read."""
    nameless: Sequence[int]
    """The positions of columns without a name; the first column may be the index that pandas
    writes."""
    lists: Mapping[str, list[list[tuple[int, str]]]]
    """As `_spread` returns them."""

    @classmethod
    def of(cls, path: Path, header: Iterable[Any], texts: Collection[str]) -> _TableColumns:
        """Return the columns of a header; the cells of `texts` are not read as lists or objects."""
        names, repeated = _header(path, header)
        lists = _spread(names)
        items = chain.from_iterable(lists.values())
        spread = {position for position, _ in chain.from_iterable(items)}
        named = [
            (name, at, (lambda cell: cell) if name in texts else opened)
            for at, name in enumerate(names)
            if name and at not in spread
        ]
        nameless = [at for at, name in enumerate(names) if at and not name]
        return cls(names, repeated, named, nameless, lists)

    def misfit(self, cells: Sequence[Any]) -> str | None:
        """Return the problem of a row with other columns than the header. Empty columns at the end
        or without a name, as spreadsheets save them, are none."""
        width = len(self.names)
        if len(cells) < width or any(cell != "" for cell in cells[width:]):
            return f"the row does not have {width} columns"
        if filled := [at for at in self.nameless if cells[at] != ""]:
            problem = f"column {filled[0] + 1} has a value and no name"
            alone = sum(map(bool, self.names)) == 1
            return f"{problem}; delete the rows above those of the names" if alone else problem
        return None

    def fields(self, cells: Sequence[Any]) -> dict[str, Any]:
        """Return the values of a row by the names of their columns; an empty cell is None."""
        fields = {
            name: read(cells[at]) if cells[at] != "" else None for name, at, read in self.named
        }
        for name, items in self.lists.items():
            if name not in fields:
                fields[name] = _items(cells, items)
        return fields


def _csv_lines(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank with its first line. Spreadsheets save empty rows as
    commas."""
    line = reader.line_num + 1
    for cells in reader:
        if any(cells):
            yield line, cells
        line = reader.line_num + 1


def write_csv(file: IO[str], rows: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV with guarded cells; None is an empty cell. Open files with `newline=""`.

    Lines end with `\\r\\n`, as RFC 4180 says. With another end, Python 3.11 leaves a lone `\\r`
    unquoted, and readers begin a row there.
    """
    csv.writer(file).writerows(map(guarded, row) for row in rows)


def guarded(cell: Any) -> Any:
    """Return a cell for a spreadsheet; a text that looks like a formula gets an apostrophe in
    front."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip("'")[:1] in FORMULAS else cell


def unguarded(cell: Any) -> Any:
    """Undo `guarded`."""
    return (
        cell[1:]
        if isinstance(cell, str) and cell[:1] == "'" and cell.lstrip("'")[:1] in FORMULAS
        else cell
    )


def _header(path: Path, cells: Iterable[Any]) -> tuple[list[str], int]:
    """Return the names of the columns; the index that pandas writes has none, and may repeat the
    column returned."""
    names = [str(cell).strip() for cell in cells]
    index = names.index(names[0], 1) if any(names[:1]) and names[0] in names[1:] else 0
    names[:1] = [""] if index else names[:1]
    given = list(filter(None, names))
    if duplicates := [name for name in dict.fromkeys(given) if given.count(name) > 1]:
        raise _duplicate(path, *duplicates)
    return names, index


_OF_ITEM = re.compile(r"(.*?[^\W\d_])\.(\d+)(?:\.(.+))?")
"""The name of a column with an item of a list or a field of that item: `docs.0`, `docs.0.text`, but
not `v1.0`."""
_NO_ITEM = frozenset({"", "null", "undefined"})
"""Cells of lists that are shorter than others, as json-2-csv writes them."""


def _spread(names: Sequence[str]) -> dict[str, list[list[tuple[int, str]]]]:
    """Return the lists whose items have columns of their own: of each item the positions and names
    of its columns."""
    lists: dict[str, dict[int, list[tuple[int, str]]]] = {}
    for position, name in enumerate(names):
        if match := _OF_ITEM.fullmatch(name):
            lists.setdefault(match[1], {}).setdefault(int(match[2]), []).append(
                (position, match[3] or "")
            )
    complete = {
        name: items for name, items in lists.items() if items.keys() == set(range(len(items)))
    }
    return {
        name: [columns for _, columns in sorted(items.items())] for name, items in complete.items()
    }


def _items(cells: Sequence[str], items: Iterable[Iterable[tuple[int, str]]]) -> list[object] | None:
    """Return the items of a list that have something in their columns; None if none has."""
    found = ({name: cells[at] for at, name in item if cells[at] not in _NO_ITEM} for item in items)
    return [item.get("", item) for item in found if item] or None


def _duplicate(path: Path, *columns: str) -> DataError:
    found = (
        f"columns {', '.join(map(repr, columns))}" if len(columns) > 1 else f"column {columns[0]!r}"
    )
    return DataError(
        f"{path}, line 1: duplicate {found}; rename all but one of each, or export JSON"
    )


def _parquet(path: Path, on_error: OnError, positions: range | None) -> Iterator[SourceRow]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise not_installed("reading .parquet needs pyarrow", "parquet") from error
    number = 0
    try:
        # Whole, a file of a million rows would not fit into memory as Python objects.
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=256):
            before = number
            number = number + batch.num_rows
            if positions is not None and number <= positions.start:
                continue
            if positions is not None and before >= positions.stop:
                return
            for row, fields in enumerate(batch.to_pylist(), before + 1):
                if positions is None or row - 1 in positions:
                    yield SourceRow(f"{path}, row {row}", row, plain(fields))
    except ArrowException as error:
        raise DataError(
            f"{path} is not a readable Parquet file: {' '.join(str(error).split())[:200]}"
        ) from error


def _arrow(path: Path, on_error: OnError, positions: range | None) -> Iterator[SourceRow]:
    """Yield the rows of a Feather file or of Arrow's other formats."""
    try:
        from pyarrow import ArrowException, feather, ipc
    except ImportError as error:
        raise not_installed(f"reading {path.suffix} needs pyarrow", "parquet") from error
    try:
        if path.suffix.lower() == ".feather":
            table = feather.read_table(path)
        else:
            with path.open("rb") as file:
                is_file = file.read(6) == b"ARROW1"
            open_arrow = ipc.open_file if is_file else ipc.open_stream
            with path.open("rb") as file:
                table = open_arrow(file).read_all()
    except ArrowException as error:
        problem = " ".join(str(error).split())[:200]
        raise DataError(f"{path} is not a readable Arrow file: {problem}") from error
    rows = chain.from_iterable(batch.to_pylist() for batch in table.to_batches(256))
    for number, fields in _numbered(rows, positions):
        yield SourceRow(f"{path}, row {number}", number, plain(fields))


def _object(fields: object, location: str) -> dict[str, object]:
    if not isinstance(fields, dict):
        hint = (
            '; of a DataFrame, write to_json(orient="records", lines=True)'
            if isinstance(fields, list)
            else ""
        )
        what = "null" if fields is None else type(fields).__name__
        problem = f"expected a JSON object, not {what}{hint}"
        raise DataError(f"{location}: {problem}", kind=problem)
    return fields


def plain(value: Any) -> Any:
    """Return a value as JSON: arrays as lists, records as objects, dates and bytes as texts, NA as
    None."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    # A float64 of numpy is a float too, and shows as `np.float64(1.0)` in messages.
    if isinstance(value, float):
        return float(value)
    if isinstance(value, BaseModel):
        value = value.model_dump()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    for method in ("to_pylist", "tolist", "as_py"):
        if hasattr(value, method):
            return plain(getattr(value, method)())
    # By name, since pandas may not be installed, and importing it takes half a second.
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):  # not a text, such as a picture
            return value.decode("utf-8")
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)


def dataframe(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    numbers: Iterable[str] = (),
) -> pandas.DataFrame:
    """Return a pandas table in which undefined values of the columns `numbers` are NaN.

    Raises UsageError if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise not_installed("a table needs pandas", "pandas") from error

    frame = pandas.DataFrame(list(rows), columns=list(columns))
    return frame.astype(dict.fromkeys(numbers, "float64"))
