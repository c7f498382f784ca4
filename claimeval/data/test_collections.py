"""Read test collections: corpora, queries and relevance grades, as JSON Lines or tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import Field, ValidationError

from claimeval import ir
from claimeval.data.file_formats import FORMATS, SPREADSHEETS
from claimeval.data.rows import SourceRow, read_rows
from claimeval.types.errors import DataError, UsageError, first_problem, read_yaml, unknown_name
from claimeval.types.records import Document, Record
from claimeval.types.scales import RELEVANCE_SCALES, Scale, grade_scale

DOCUMENT_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "doc_id", "docid", "document_id"),
    "text": ("text", "contents", "content", "passage", "body", "page_content"),
    "title": ("title",),
}
QUERY_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "question_id", "query_id", "qid"),
    "text": ("question", "query", "text", "user_input"),
}


def read_corpus(path: Path, sheet: str | None = None) -> Iterator[Document]:
    """Yield the documents of a file: rows with id, text and an optional title, or lines
    `id<TAB>text`.

    In a BEIR directory, `corpus.jsonl` is read. Raises DataError for a row without id or text and a
    duplicate id.
    """
    for document in _named(path, "corpus.jsonl", DOCUMENT_NAMES, "document", sheet):
        yield Document(
            id=document["id"],
            text=document["text"],
            title=document.get("title") or None,
        )


def read_queries(path: Path, sheet: str | None = None) -> dict[str, str]:
    """Return the text of each query: rows with id and question, a JSON object of id to text, or
    lines `id<TAB>text`.

    In a BEIR directory, `queries.jsonl` is read.
    """
    if path.suffix.lower() == ".json" and path.is_file():
        with suppress(ValueError, RecursionError):
            value = json.loads(path.read_bytes())
            if (
                isinstance(value, dict)
                and value
                and all(isinstance(text, str) for text in value.values())
            ):
                return value
    queries = _named(path, "queries.jsonl", QUERY_NAMES, "query", sheet)
    return {query["id"]: query["text"] for query in queries}


def _rows(path: Path, beir_file: str, sheet: str | None) -> Iterator[SourceRow]:
    file = path / beir_file if path.is_dir() else path
    if file.suffix.lower() != ".tsv":
        yield from read_rows(file, sheet=sheet)
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


def _named(
    path: Path,
    beir_file: str,
    names: Mapping[str, tuple[str, ...]],
    what: str,
    sheet: str | None,
) -> Iterator[dict[str, str]]:
    """Yield the values of rows by our field names. Every field but the title is required, and an id
    is unique."""
    ids: set[str] = set()
    for row in _rows(path, beir_file, sheet):
        values = {}
        for field, aliases in names.items():
            value = row.first(aliases)
            # BEIR's ids are texts, which other programs write as numbers.
            value = str(value) if field == "id" and isinstance(value, int) else value
            if value is None and field != "title":
                raise DataError(f"{row.location}: no {field} (one of {', '.join(aliases)})")
            if value is not None and not isinstance(value, str):
                raise DataError(
                    f"{row.location}, field {field!r}: expected a text, got {str(value)[:60]!r}"
                )
            if value is not None:
                values[field] = value
        if values["id"] in ids:
            raise DataError(f"{row.location}: duplicate {what} id {values['id']!r}")
        ids.add(values["id"])
        yield values


NAMES: dict[str, tuple[str, ...]] = {
    "query": ("query_id", "qid", "query-id", "question_id", "query"),
    "document": ("doc_id", "docid", "document_id", "corpus-id", "document"),
}
"""Field names of the ids in a row."""
GRADE_FIELDS = ("human", "grade", "relevance", "label")
ASSESSORS_FIELD = "grades"

_NOT_IN_FILE_NAMES = re.compile(r"[^\w.+-]+")

Grades = dict[str, dict[str, int]]


def read_qrels(path: Path, sheet: str | None = None) -> Grades:
    """Return the grades in a TREC or BEIR file, or in a table with a field `human`, `grade`,
    `relevance` or `label`.

    Pairs without a grade are left out. Raises DataError with file and line for an invalid grade or
    a duplicate pair.
    """
    assessors = read_assessors(path, None, sheet)
    return next(iter(assessors.values()))


def read_assessors(
    path: Path,
    names: Sequence[str] | None = (),
    sheet: str | None = None,
) -> dict[str, Grades]:
    """Return the grades of each assessor in a file, by name.

    A table can have the grades of multiple assessors in the field `grades`: an object of name to
    grade, or a list in the order of `names` (default: `1`, `2`, ...). Any other file has one
    assessor, named after the file; with `names` None, so has a table.
    """
    if path.suffix.lower() not in (*FORMATS, *SPREADSHEETS):
        return {path.name: _whole(path)}
    table: dict[str, Grades] = {}
    locations: dict[tuple[str, str], str] = {}
    for row in read_rows(path, sheet=sheet):
        query, document = (_id(row, field) for field in ("query", "document"))
        if (query, document) in locations:
            raise DataError(
                f"{row.location}: document {document!r} was already graded for query {query!r} in "
                f"{locations[query, document]}. Remove one of the rows"
            )
        locations[query, document] = row.location
        for assessor, grade in _row_grades(row, path.stem, names).items():
            grades = table.setdefault(assessor, {})
            if grade is not None:
                grades.setdefault(query, {})[document] = grade
    if not any(table.values()):
        raise DataError(f"{path} has no grades")
    return table


def _whole(path: Path) -> Grades:
    """Return the grades of a TREC or BEIR file. Raises DataError for a grade that is not a whole
    number."""
    qrels = ir.read_qrels(path)
    for query, documents in qrels.items():
        for document, grade in documents.items():
            if grade != int(grade):
                raise DataError(
                    f"{path}: the grade of {document!r} for {query!r} is {grade}, not a whole"
                    " number"
                )
    return {
        query: {name: int(grade) for name, grade in documents.items()}
        for query, documents in qrels.items()
    }


def qrels_file(folder: Path, assessor: str) -> Path:
    """Return the file with the grades of an assessor."""
    return folder / f"{_NOT_IN_FILE_NAMES.sub('-', assessor)}.qrels"


def write_assessors(assessors: Mapping[str, ir.Qrels], folder: Path) -> None:
    """Write the grades of each assessor to `FOLDER/NAME.qrels`. Raises UsageError if two names give
    the same file."""
    paths = {name: qrels_file(folder, name) for name in assessors}
    if len(set(paths.values())) < len(paths):
        raise UsageError(
            f"Two of the assessors {', '.join(paths)} have the same file name. Rename one"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
            ir.write_qrels(assessors[name], file)


def read_names(path: Path) -> tuple[str, ...]:
    """Return the names of assessors from a JSON list of texts, or from an object with one such
    list."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    lists = list(content.values()) if isinstance(content, dict) else [content]
    names = [
        names
        for names in lists
        if isinstance(names, list) and names and all(isinstance(n, str) for n in names)
    ]
    if len(names) != 1 or len(set(names[0])) < len(names[0]):
        raise DataError(
            f"{path}: expected a JSON list of unique names, or an object with one such list"
        )
    return tuple(names[0])


def _row_grades(row: SourceRow, name: str, names: Sequence[str] | None) -> Mapping[str, int | None]:
    """Return the grades of the assessors in a row; if `names` is None, only that of one, called
    `name`."""
    grades = None if names is None else row.fields.get(ASSESSORS_FIELD)
    if isinstance(grades, dict):
        return {assessor: _grade(grade, row) for assessor, grade in grades.items()}
    if isinstance(grades, list):
        if names and len(names) != len(grades):
            raise DataError(
                f"{row.location}: {len(grades)} grades for {len(names)} names of assessors"
            )
        assessors = names or [str(number) for number, _ in enumerate(grades, 1)]
        return {
            assessor: _grade(grade, row) for assessor, grade in zip(assessors, grades, strict=True)
        }
    return {name: _grade(row.first(GRADE_FIELDS), row)}


def _grade(value: object, row: SourceRow) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = (
            float(value)
            if isinstance(value, str | int | float) and not isinstance(value, bool)
            else None
        )
    except (ValueError, OverflowError):
        number = None
    if number is None or not number.is_integer():
        raise DataError(f"{row.location}: the grade {str(value)[:40]!r} is not an integer")
    return int(number)


def _id(row: SourceRow, field: str) -> str:
    value = row.first(NAMES[field])
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(f"{row.location}: no id of the {field} (one of {', '.join(NAMES[field])})")
    return str(value)


class _ScaleFile(Record):
    name: str
    meanings: tuple[str, ...] = Field(min_length=2)
    """The sentences shown to the judge, for grade 0 first."""
    positive_from: int = Field(ge=1)


def relevance_scale(spec: str) -> Scale:
    """Return a scale by name, or from a YAML file with `meanings` (a list, grade 0 first) and
    `positive_from`."""
    if spec in RELEVANCE_SCALES:
        return RELEVANCE_SCALES[spec]
    path = Path(spec)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(
            f"{unknown_name('scale', spec, RELEVANCE_SCALES)}. For a custom scale, give a YAML file"
        )
    fields = read_yaml(path, "scale")
    if not isinstance(fields, dict):
        raise UsageError(f"the scale {spec!r} needs the fields `meanings` and `positive_from`")
    try:
        scale = _ScaleFile.model_validate({"name": path.stem, **fields})
    except ValidationError as error:
        field, problem, _ = first_problem(error, _ScaleFile)
        raise UsageError(f"the scale {spec!r}, {field}: {problem}") from error
    if scale.positive_from >= len(scale.meanings):
        raise UsageError(
            f"the scale {spec!r}: positive_from {scale.positive_from} is above its highest grade"
        )
    return grade_scale(scale.name, scale.meanings, positive_from=scale.positive_from)
