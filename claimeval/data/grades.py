"""Grades of documents in tables: a row a pair of question and document, of one assessor or of many."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from claimeval import ir
from claimeval.data.rows import FORMATS, SourceRow, read_rows
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.records import Record
from claimeval.types.scales import RELEVANCE_SCALES, Scale, grade_scale

NAMES: dict[str, tuple[str, ...]] = {
    "query": ("query_id", "qid", "query-id", "question_id", "query"),
    "document": ("doc_id", "docid", "document_id", "corpus-id", "document"),
}
"""The names that the fields of a row go by; also those of `grades.jsonl`, which `claimeval relevance` writes."""
OF_ONE = ("human", "grade", "relevance", "label")
OF_MANY = "grades"

_UNFIT = re.compile(r"[^\w.+-]+")
"""What does not go into the name of a file."""

Grades = dict[str, dict[str, int]]


def read_qrels(path: Path) -> Grades:
    """The grades of one assessor, or of people: a TREC or BEIR file, or a table with `human`, `grade`, `relevance`.

    DataError, with file and line, for what is no grade and for a pair that stands twice; a pair without one is a hole.
    """
    return _table(path, path.stem, (), of_many=False)[path.stem] if is_table(path) else ir.read_qrels(path)


def read_assessors(path: Path, names: Sequence[str] = ()) -> dict[str, Grades]:
    """The grades of each assessor of a file.

    A table may hold those of many, under `grades`: an object of name to grade, or a list in the order of `names`
    (`1`, `2`, ... without). Anything else has one assessor, called after the file.
    """
    return _table(path, path.stem, names, of_many=True) if is_table(path) else {path.name: ir.read_qrels(path)}


def write_assessors(assessors: Mapping[str, ir.Qrels], folder: Path) -> list[Path]:
    """Writes the grades of each assessor as `FOLDER/NAME.qrels`; UsageError where two names make the same file."""
    paths = {name: folder / f"{_UNFIT.sub('-', name)}.qrels" for name in assessors}
    if len(set(paths.values())) < len(paths):
        raise UsageError(f"the names {', '.join(paths)} would make fewer files than there are assessors; rename some")
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
            ir.write_qrels(assessors[name], file)
    return list(paths.values())


def is_table(path: Path) -> bool:
    """Whether a file is read as a table."""
    return path.suffix.lower() in FORMATS


def read_names(path: Path) -> tuple[str, ...]:
    """Names of assessors: a JSON list of texts, or an object in which exactly one field is such a list."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    lists = [content] if isinstance(content, list) else list(content.values()) if isinstance(content, dict) else []
    found = [one for one in lists if isinstance(one, list) and one and all(isinstance(name, str) for name in one)]
    if len(found) != 1 or len(set(found[0])) < len(found[0]):
        raise DataError(f"{path}: a JSON list of different names was expected, or an object with one such list")
    return tuple(found[0])


def _table(path: Path, own_name: str, names: Sequence[str], *, of_many: bool) -> dict[str, Grades]:
    found: dict[str, Grades] = {}
    places: dict[tuple[str, str], str] = {}
    for row in read_rows(path):
        query, document = (_named(row, field) for field in ("query", "document"))
        if (query, document) in places:
            raise DataError(
                f"{row.place}: document {document!r} was graded for query {query!r} before, in "
                f"{places[query, document]}; remove one"
            )
        places[query, document] = row.place
        for name, said in _said(row, own_name, names, of_many=of_many).items():
            grades = found.setdefault(name, {})
            if said is not None:
                grades.setdefault(query, {})[document] = said
    if not any(found.values()):
        raise DataError(f"{path}: there is no grade in the file")
    return found


def _said(row: SourceRow, own_name: str, names: Sequence[str], *, of_many: bool) -> Mapping[str, int | None]:
    many = row.fields.get(OF_MANY) if of_many else None
    if isinstance(many, dict):
        return {name: _grade(said, row) for name, said in many.items()}
    if isinstance(many, list):
        if names and len(names) != len(many):
            raise DataError(f"{row.place}: {len(many)} grades, but there are {len(names)} names of assessors")
        called = names or [str(number) for number, _ in enumerate(many, 1)]
        return {name: _grade(said, row) for name, said in zip(called, many, strict=True)}
    return {own_name: _grade(next((row.fields[name] for name in OF_ONE if name in row.fields), None), row)}


def _grade(said: object, row: SourceRow) -> int | None:
    if said is None or said == "":
        return None
    try:
        value = float(said) if isinstance(said, str | int | float) and not isinstance(said, bool) else None
    except ValueError:
        value = None
    if value is None or not value.is_integer():
        raise DataError(f"{row.place}: the grade {str(said)[:40]!r} is not a whole number")
    return int(value)


def _named(row: SourceRow, field: str) -> str:
    value = next((row.fields[name] for name in NAMES[field] if row.fields.get(name) is not None), "")
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(f"{row.place}: no id of the {field} (one of {', '.join(NAMES[field])})")
    return str(value)


class _ScaleFile(Record):
    name: str
    meanings: tuple[str, ...] = Field(min_length=2)
    """The sentences shown to the judge, least relevant first."""
    relevant_from: int = Field(ge=1)


def relevance_scale(spec: str) -> Scale:
    """Return a scale by name, or from a YAML file with `meanings` (a list, grade 0 first) and `relevant_from`."""
    if spec in RELEVANCE_SCALES:
        return RELEVANCE_SCALES[spec]
    path = Path(spec)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{unknown_name('scale', spec, RELEVANCE_SCALES)}; or give a YAML file with meanings")
    try:
        fields: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        given = _ScaleFile.model_validate({"name": path.stem, **fields})
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the scale {spec!r}: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"the scale {spec!r} is not YAML: {str(error).splitlines()[0]}") from error
    except TypeError as error:
        raise UsageError(f"the scale {spec!r} needs the fields `meanings` and `relevant_from`") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"the scale {spec!r}, {where}: {first['msg']}") from error
    if given.relevant_from >= len(given.meanings):
        raise UsageError(f"the scale {spec!r}: relevant_from {given.relevant_from} is above its highest grade")
    return grade_scale(given.name, given.meanings, positive_from=given.relevant_from)
