"""Which format a file has, how it is opened, and how one that is not read is converted.

Compressed files and those in UTF-16, as PowerShell and Excel write them, are opened as UTF-8.
"""

from __future__ import annotations

import gzip
import io
import re
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from claimeval.types.errors import DataError

FORMATS = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
"""Formats of corpora and of samples; samples are also read from `FURTHER`."""
SPREADSHEETS = (".xlsx", ".xlsm", ".ods")
FURTHER = (".tsv", ".feather", ".arrow", *SPREADSHEETS)
_TEXTS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""Formats that may be compressed or encoded in UTF-16."""
COMPRESSED = ".gz"
_BEGINNING = 256
"""Bytes by which an encoding is recognized."""

_WITH_PANDAS = 'python -c \'import pandas; pandas.{}.to_json("{}", orient="records", lines=True)\''
_CONVERSIONS = {
    ".xls": "soffice --headless --convert-to xlsx {file}",
    ".xlsb": "soffice --headless --convert-to xlsx {file}",
    ".numbers": "export it from Numbers as CSV",
    ".gsheet": "download it from Google Sheets as .xlsx or .csv",
    ".yaml": "yq -o json {file} > {stem}.json",
    ".yml": "yq -o json {file} > {stem}.json",
    ".toml": "yq -o json {file} > {stem}.json",
    ".xml": _WITH_PANDAS.format('read_xml("{name}")', "{name}.jsonl"),
    ".html": _WITH_PANDAS.format('read_html("{name}")[0]', "{name}.jsonl"),
    ".db": 'sqlite3 -json {file} "SELECT * FROM TABLE" > {stem}.json',
    ".sqlite": 'sqlite3 -json {file} "SELECT * FROM TABLE" > {stem}.json',
    ".sqlite3": 'sqlite3 -json {file} "SELECT * FROM TABLE" > {stem}.json',
    ".duckdb": 'duckdb -json {file} "SELECT * FROM TABLE" > {stem}.json',
    ".sql": "load it into its database and export the table, as with psql: \\copy TABLE to"
    " {stem}.csv csv header",
    ".zip": "unzip {file}",
    ".tgz": "tar -xzf {file}",
    ".tar": "tar -xf {file}",
    ".7z": "7z x {file}",
    ".bz2": "bunzip2 -k {file}",
    ".xz": "unxz -k {file}",
    ".zst": "zstd -d {file}",
    ".lz4": "lz4 -d {file}",
    ".orc": _WITH_PANDAS.format('read_orc("{name}")', "{name}.jsonl"),
    ".avro": "avro-tools tojson {file} > {stem}.jsonl",
    ".pkl": _WITH_PANDAS.format('read_pickle("{name}")', "{name}.jsonl"),
    ".pickle": _WITH_PANDAS.format('read_pickle("{name}")', "{name}.jsonl"),
    ".h5": _WITH_PANDAS.format('read_hdf("{name}")', "{name}.jsonl"),
    ".dta": _WITH_PANDAS.format('read_stata("{name}")', "{name}.jsonl"),
    ".sav": _WITH_PANDAS.format('read_spss("{name}")', "{name}.jsonl"),
    ".sas7bdat": _WITH_PANDAS.format('read_sas("{name}")', "{name}.jsonl"),
    ".rds": 'Rscript -e \'write.csv(readRDS("{name}"), "{name}.csv", row.names = FALSE)\'',
    ".txt": "if it is JSON Lines, CSV or TSV, name it so: cp {file} {stem}.jsonl",
    ".log": "if it is JSON Lines, name it so: cp {file} {stem}.jsonl",
    ".md": "pandoc {file} -t html -o {stem}.html, then as for .html;"
    " a report with citations takes --sources DIR",
}
"""Commands that convert files of other formats."""


def sheet_in(path: Path, sheet: str | None) -> str | None:
    """Return the sheet that was named, for a file beside the data, or None if it has no sheets."""
    return sheet if path.suffix.lower() in SPREADSHEETS else None


def sheet_of_data(
    data: Path | None,
    sheet: str | None,
    beside: str | Path | None,
) -> str | None:
    """Return the sheet that was named, for the data; None if only the file beside them has
    sheets."""
    if data is None or beside is None:
        return sheet
    if sheet_in(Path(beside), sheet) is None:
        return sheet
    return sheet_in(data, sheet)


def format_of(path: Path) -> str:
    """Return the format of a file by its name, without the suffix of a compression.

    Raises:
        DataError: The format is not read; with the command that converts the file.
    """
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower() if suffix == COMPRESSED else suffix
    if inner in (_TEXTS if suffix == COMPRESSED else (*FORMATS, *FURTHER)):
        return inner
    known = ", ".join((*FORMATS, *FURTHER))
    if suffix == COMPRESSED:
        command = "tar -xzf {file}" if inner == ".tar" else "gunzip -k {file}"
    else:
        default = "write it as JSON Lines or CSV"
        command = _CONVERSIONS.get(suffix, default)
    how = command.format(file=shlex.quote(str(path)), stem=shlex.quote(path.stem), name=path.name)
    raise DataError(
        f"{path}: unknown file extension {path.suffix or '(none)'!r}. Known: {known}; texts also"
        f" with .gz. To convert it: {how}"
    )


def encoding_of(path: Path) -> str:
    """Return the encoding of a file: UTF-16 by its mark or by its zeros, else UTF-8."""
    with _binary(path) as file:
        start = file.read(_BEGINNING)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    # UTF-8 has no zeros. In UTF-16 each letter, quote and comma of ASCII has one, on the same side
    # of its pair; of other characters a few, such as the Chinese for "one", have one on the other.
    first = start[::2].count(0)
    second = start[1::2].count(0)
    if first == second:
        return "utf-8-sig"
    return "utf-16-le" if second > first else "utf-16-be"


_LOOKED_AT = 2000
"""Bytes from which the encoding of a text is guessed."""
_EXCERPT = 12
"""Characters by which a reader sees whether an encoding is the right one."""
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")


def guessed_encodings(data: bytes) -> list[tuple[str, str]]:
    """Return encodings that a text may have which is not UTF-8, the likeliest first, and the
    beginning of what is not ASCII in it as each of them reads it.

    Letters with accents stand between others, while Cyrillic, Chinese and Japanese ones stand
    together. Which of these a text is, only a reader sees.
    """
    start = next(_NOT_ASCII.finditer(data)).start()
    data = data[start : start + _LOOKED_AT]
    runs = _NOT_ASCII.findall(data)
    stand_together = 2 * len(runs) < sum(map(len, runs))
    others = ("CP1251", "GB18030", "SHIFT_JIS", "BIG5", "CP949") if stand_together else ()
    whole = data.rpartition(b"\n")[0] or data
    guesses: list[tuple[str, str]] = []
    for name in (*others, "CP1252"):
        with suppress(UnicodeDecodeError):
            line, _, _ = whole.decode(name).partition("\n")
            excerpt = line[:_EXCERPT].strip()
            guesses.append((name, excerpt))
    # Every byte is a character of it, and few texts are in it that are not in Windows-1252.
    return guesses or [("ISO-8859-1", whole[:_EXCERPT].decode("iso-8859-1"))]


@contextmanager
def opened_lines(path: Path) -> Iterator[Iterator[bytes]]:
    """Open a file as lines of UTF-8, each with its end."""
    encoding = encoding_of(path)
    with _binary(path) as file:
        if encoding == "utf-8-sig":
            yield iter(file)
            return
        text = io.TextIOWrapper(file, encoding, newline="\n")
        yield (line.encode() for line in text)


@contextmanager
def opened_text(path: Path) -> Iterator[IO[str]]:
    """Open a file as text whose line ends stay."""
    encoding = encoding_of(path)
    with _binary(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
        yield text


def read_bytes(path: Path) -> bytes:
    """Return the content of a file in UTF-8, without the mark of its encoding."""
    with opened_lines(path) as lines:
        return b"".join(lines).removeprefix(b"\xef\xbb\xbf")


@contextmanager
def _binary(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix.lower() != COMPRESSED:
        with path.open("rb") as plain:
            yield plain
        return
    try:
        with gzip.open(path, "rb") as unpacked:
            yield cast("IO[bytes]", unpacked)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a readable .gz file: {error}") from error
