"""Reads and writes TREC qrels and run files.

This reader accepts everything that trec_eval accepts, and its errors name the line and the problem.
``columnar`` is the fast reader of regular files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from claimeval.ir.columnar import FileContent, Source
from claimeval.ir.mappings import Qrels, TrecRun
from claimeval.ir.ranked import LARGEST_GRADE
from claimeval.types.errors import DataError

_BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]


class TaggedRun(NamedTuple):
    """The content of a run file."""

    run: dict[str, dict[str, float]]
    tag: str
    """The tag of the last line, trec_eval's ``runid``."""


def read_run(source: Source) -> dict[str, dict[str, float]]:
    """Read a run: query id to document id to score, in the order of the file.

    A line has six fields, separated by blanks or tabs: query, Q0, document, rank, score, tag. The
    rank, further fields, empty lines and lines that start with ``#`` are ignored. Lines with three
    fields, as in MS MARCO, are query, document and rank, and scores are 1 / rank. The file can also
    be a JSON object of query to document to score, as ranx and BEIR write it, and it can be
    gzipped. Raises DataError with the number of the first invalid line.
    """
    return parse_run(FileContent.read(source)).run


def read_qrels(source: Source) -> dict[str, dict[str, float]]:
    """Read relevance judgments: query id to document id to grade.

    A line has four fields, separated by blanks or tabs: query, iteration, document, grade. Grades
    are usually integers; a negative grade means pooled but not judged. Empty lines and lines that
    start with ``#`` are ignored. The file can also be tab-separated with the header ``query-id
    corpus-id score``, as in BEIR, or a JSON object of query to document to grade, and it can be
    gzipped. Raises DataError with the number of the first invalid line.
    """
    return parse_qrels(FileContent.read(source))


def read_z_scores(source: Source) -> dict[str, dict[str, tuple[float, float]]]:
    """Read trec_eval's file for ``-Z``: query to trec_eval's name of the measure to mean and
    standard deviation."""
    content = FileContent.read(source)
    norms: dict[str, dict[str, tuple[float, float]]] = {}
    for location, fields in _lines(content):
        if len(fields) != 4:
            raise DataError(
                f"{location}: {len(fields)} fields; expected four: query, measure, mean, standard"
                " deviation"
            )
        numbers = (_score(fields[2], location), _score(fields[3], location))
        norms.setdefault(_text(fields[0]), {})[_text(fields[1])] = numbers
    return norms


def find_qrels(folder: Path, split: str = "test") -> Path:
    """Return the path of the qrels file of a split in a BEIR folder. Raises DataError if there is
    none."""
    path = folder / "qrels" / f"{split}.tsv"
    zipped = path.with_name(f"{path.name}.gz")
    if not path.exists() and not zipped.exists():
        splits = sorted(path.name for path in (folder / "qrels").glob("*.tsv*"))
        raise DataError(
            f"{folder}: there is no qrels/{split}.tsv; a BEIR folder holds corpus.jsonl,"
            f" queries.jsonl and qrels/*.tsv, here {', '.join(splits) or 'none'}"
        )
    return path if path.exists() else zipped


def write_run(run: TrecRun, target: IO[str], tag: str = "claimeval") -> None:
    """Write a run with sorted queries, and documents in trec_eval's order (by score, then id, both
    descending).

    Raises DataError for a query, document or tag that is empty or has blanks.
    """
    _check_names([tag])
    for query in sorted(run):
        _check_query(query)
        _check_names([query, *run[query]])
        ranked = sorted(run[query].items(), key=lambda item: (item[1], item[0]), reverse=True)
        for rank, (document, score) in enumerate(ranked, 1):
            target.write(f"{query} Q0 {document} {rank} {float(score)!r} {tag}\n")


def write_qrels(qrels: Qrels, target: IO[str]) -> None:
    """Write judgments with sorted queries and documents. Raises DataError for an id that is empty
    or has blanks."""
    for query in sorted(qrels):
        _check_query(query)
        _check_names([query, *qrels[query]])
        for document in sorted(qrels[query]):
            grade = float(qrels[query][document])
            target.write(f"{query} 0 {document} {int(grade) if grade.is_integer() else grade}\n")


def parse_run(content: FileContent) -> TaggedRun:
    """Parse the content of a run file."""
    if (read := _json(content, "score")) is not None:
        return TaggedRun(read, "")
    run: dict[str, dict[str, float]] = {}
    tag = b""
    width = 6
    for location, fields in _lines(content):
        if not run and len(fields) == 3:
            width = 3
        if len(fields) < width or (width == 3 and len(fields) != 3):
            hint = ". Qrels have four: they come before the runs" if len(fields) == 4 else ""
            raise DataError(
                f"{location}: {len(fields)} fields; a run has six: query, Q0, document, rank,"
                f" score, tag; that of MS MARCO has three: query, document, rank{hint}"
            )
        query = _text(fields[0])
        document = _text(fields[1 if width == 3 else 2])
        documents = run.setdefault(query, {})
        if document in documents:
            raise DataError(
                f"{location}: document {document!r} appears twice for query {query!r}; remove one"
            )
        if width == 3:
            documents[document] = 1 / _rank(fields[2], location)
            continue
        if not _float(fields[3]) == _float(fields[3]):
            raise DataError(
                f"{location}: the rank {_text(fields[3])!r} is not a number; a run has six fields:"
                " query, Q0, document, rank, score, tag, and ids have no blanks"
            )
        documents[document] = _score(fields[4], location)
        tag = fields[5]
    return TaggedRun(run, _text(tag))


def parse_qrels(content: FileContent, *, subtopics: bool = False) -> dict[str, dict[str, Any]]:
    """Parse the content of a qrels file. With ``subtopics``, documents map to grades by subtopic
    (field 2)."""
    if (read := _json(content, "grade")) is not None:
        return read
    qrels: dict[str, dict[str, Any]] = {}
    beir = False
    for location, fields in _lines(content):
        if not qrels and not beir and fields == _BEIR_HEADER:
            beir = True
            continue
        if len(fields) != (3 if beir else 4):
            form = "BEIR qrels have three: query-id, corpus-id, score" if beir else _QRELS_FORM
            raise DataError(f"{location}: {len(fields)} fields; {form}")
        query = _text(fields[0])
        document = _text(fields[-2])
        documents = qrels.setdefault(query, {})
        key = document
        if subtopics and not beir:
            documents = documents.setdefault(document, {})
            key = _text(fields[1])
        if key in documents:
            raise DataError(
                f"{location}: document {document!r} is judged twice for query {query!r}; remove one"
            )
        documents[key] = _grade(fields[-1], location)
    if not qrels:
        raise DataError(f"{content.name}: the file has a header but no judgments")
    return qrels


_QRELS_FORM = "qrels have four: query, iteration, document, grade"


def _lines(content: FileContent) -> Iterator[tuple[str, list[bytes]]]:
    """Yield location and fields of each line that is not empty or a comment."""
    empty = True
    for number, line in enumerate(content.lines(), 1):
        fields = line.split()
        if fields and not fields[0].startswith(b"#"):
            empty = False
            yield f"{content.name}, line {number}", fields
    if empty:
        raise DataError(f"{content.name}: the file is empty")


def _json(content: FileContent, what: str) -> dict[str, dict[str, Any]] | None:
    """Return a JSON object of query to document to number; None if the content is not a JSON
    object."""
    if not content.inside[:64].tobytes().lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    try:
        read: dict[str, dict[str, Any]] = json.loads(content.inside.tobytes())
    except ValueError as error:
        raise DataError(
            f"{content.name}: it starts like JSON but is not valid JSON: {error}. Write one object,"
            ' as in {"q1": {"d1": 1}}, or lines of TREC'
        ) from None
    for query, documents in read.items():
        if not isinstance(documents, dict):
            raise DataError(
                f"{content.name}: query {query!r} is not an object of document to {what}"
            )
    if not read:
        raise DataError(f"{content.name}: the file is empty")
    return read


def _rank(text: bytes, location: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise DataError(
            f"{location}: the rank {_text(text)!r} is not a whole number from 1; three fields are"
            " query, document, rank"
        )
    return int(text)


def _score(text: bytes, location: str) -> float:
    if math.isnan(score := _float(text)):
        raise DataError(f"{location}: the score {_text(text)!r} is not a number")
    return score


def _grade(text: bytes, location: str) -> float:
    if not abs(grade := _float(text)) <= LARGEST_GRADE:
        raise DataError(f"{location}: the grade {_text(text)!r} is not a number")
    return int(grade) if grade.is_integer() else grade


def _float(text: bytes) -> float:
    """Return the number in a field; NaN if it is none."""
    try:
        return math.nan if b"_" in text else float(text)
    except ValueError:
        return math.nan


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def _check_names(names: list[str]) -> None:
    """Raise DataError for names with blanks, with which the file would be read differently."""
    for name in names:
        if name.split() != [name]:
            raise DataError(
                f"{name!r} cannot be written to a TREC file: ids and tags must not be empty or"
                " contain blanks"
            )


def _check_query(name: str) -> None:
    if name.startswith("#"):
        raise DataError(
            f"query {name!r} cannot be written to a TREC file: the line would be a comment"
        )
