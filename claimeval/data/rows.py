"""Read the rows of a file: JSON Lines, JSON, CSV or Parquet. No row is skipped.

A row that cannot be read is a DataError with its line number."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.types.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas

FORMATS = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")


class SourceRow(NamedTuple):
    """A row of a file."""

    location: str
    """File and line for messages, such as `data.jsonl, line 3`."""
    number: int
    """Number of the row, from 1."""
    fields: dict[str, object]

    def first(self, names: Iterable[str]) -> object:
        """Return the first of these fields that has a value, or None."""
        return next((self.fields[name] for name in names if self.fields.get(name) is not None), None)


OnError = Callable[[DataError], None]


def stop_at_error(error: DataError) -> None:
    """Raise the error of a row that cannot be read."""
    raise error


def read_rows(path: Path, on_error: OnError = stop_at_error) -> Iterator[SourceRow]:
    """Yield the rows of a file. JSON Lines are streamed.

    Raises DataError if the file cannot be read or is not a list of rows. The error of a single row goes to `on_error`,
    which can ignore it.
    """
    if path.is_dir():
        raise DataError(f"{path} is a directory. Give a file in it")
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if not path.is_file():
        raise DataError(f"{path} is a pipe or a device, but data is read more than once. Write it to a file first")
    readers = {".jsonl": _json_lines, ".ndjson": _json_lines, ".json": _json, ".csv": _csv, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: unknown file extension {path.suffix or '(none)'!r}. Known: {', '.join(FORMATS)}")
    try:
        yield from reader(path, on_error)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _decode(name: str, line: int, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "it looks like UTF-16" if utf16 else f"byte 0x{data[error.start]:02x} at column {error.start + 1}"
        encoding = "UTF-16" if utf16 else "ISO-8859-1"
        path = Path(name)
        raise DataError(
            f"{path}, line {line}: not UTF-8 ({hint}); convert the file, as in: "
            f"iconv -f {encoding} -t UTF-8 {path} > {path.stem}.utf8{path.suffix}"
        ) from error


def read_json_lines(file: Iterable[bytes], name: str, on_error: OnError = stop_at_error) -> Iterator[SourceRow]:
    """Yield the rows of JSON Lines from any source, such as a pipe. `name` is the name of the source in messages."""
    number = 0
    for line, data in enumerate(file, 1):
        if not data.strip():
            continue
        number += 1
        try:
            row = _json_line(name, line, number, data.removeprefix(b"\xef\xbb\xbf") if line == 1 else data)
        except DataError as error:
            on_error(error)
            continue
        yield row


def _json_lines(path: Path, on_error: OnError) -> Iterator[SourceRow]:
    with path.open("rb") as file:
        yield from read_json_lines(file, str(path), on_error)


def _json_line(name: str, line: int, number: int, data: bytes) -> SourceRow:
    location = f"{name}, line {line}"
    text = _decode(name, line, data)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{location}: not JSON: {error}") from error
    return SourceRow(location, number, _object(fields, location))


def _json(path: Path, on_error: OnError) -> Iterator[SourceRow]:
    text = _decode(str(path), 1, path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    key = ""
    if isinstance(content, dict):
        lists = [name for name in CONTAINERS if isinstance(content.get(name), list)]
        if not lists:
            raise DataError(f"{path}: no list of samples under one of {', '.join(CONTAINERS)}")
        key, content = lists[0], content[lists[0]]
    if not isinstance(content, list):
        raise DataError(f"{path}: expected a list of samples, not {type(content).__name__}")
    for number, fields in enumerate(content, 1):
        location = f"{path}, {key or 'item'} {number}"
        yield SourceRow(location, number, _object(fields, location))


CONTAINERS = ("examples", "predictions", "results", "testCases", "samples", "data")
"""Fields of a JSON object that can hold its rows, from LlamaIndex, RAGChecker, DeepEval, ragas and others."""


def _csv(path: Path, on_error: OnError) -> Iterator[SourceRow]:
    text = _decode(str(path), 1, path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = reader.fieldnames or ()
        _check_header(path, names)
        for number, fields in enumerate(reader, 1):
            location = f"{path}, line {reader.line_num}"
            if None in fields or None in fields.values():
                on_error(DataError(f"{location}: the row does not have {len(names)} columns"))
                continue
            yield SourceRow(
                location, number, {name: _cell(value, location, name) for name, value in fields.items() if value != ""}
            )
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: not CSV: {error}") from error


def _check_header(path: Path, names: Sequence[str]) -> None:
    duplicate = next((name for name in names if list(names).count(name) > 1), None)
    if duplicate is not None:
        raise DataError(f"{path}, line 1: duplicate column {duplicate!r}")
    if len(names) == 1 and (separator := next((c for c in ";\t|" if c in names[0]), None)):
        raise DataError(f"{path}, line 1: the columns are separated by {separator!r}. Separate them by commas")


def _cell(value: str, location: str, name: str) -> object:
    """Return a cell that begins like a JSON list or object as JSON, and any other cell as text."""
    if not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        if value.lstrip().startswith(('["', "[{", '{"')):
            raise DataError(f"{location}, column {name!r}: looks like JSON but is not valid") from None
        return value


def _parquet(path: Path, on_error: OnError) -> Iterator[SourceRow]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise UsageError("reading .parquet needs pyarrow: pip install 'claimeval[parquet]'") from error
    number = 0
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=256):
            for fields in batch.to_pylist():
                number += 1
                yield SourceRow(f"{path}, row {number}", number, {k: v for k, v in fields.items() if v is not None})
    except ArrowException as error:
        raise DataError(f"{path} is not a readable Parquet file: {' '.join(str(error).split())[:200]}") from error


def _object(fields: object, location: str) -> dict[str, object]:
    if not isinstance(fields, dict):
        raise DataError(f"{location}: expected a JSON object, not {type(fields).__name__}")
    return fields


def dataframe(
    columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[str] = ()
) -> pandas.DataFrame:
    """Return a pandas table; undefined values of the columns `numbers` are NaN. UsageError without pandas."""
    try:
        import pandas
    except ImportError as error:
        raise UsageError("a table needs pandas: pip install 'claimeval[pandas]'") from error

    frame = pandas.DataFrame(list(rows), columns=list(columns))
    return frame.astype(dict.fromkeys(numbers, "float64"))
