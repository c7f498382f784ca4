"""What doors take as data: files, runs, samples, rows and tables, read into samples."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from claimeval.api.run import Run
from claimeval.data import reading
from claimeval.data.rows import SourceRow
from claimeval.evaluation.job import Reiterable
from claimeval.runs.directory import RESULTS, read_results
from claimeval.types.errors import UsageError
from claimeval.types.records import References, Sample, SampleResult

Data = str | Path | Run | Sample | Mapping[str, Any] | Iterable[Any]
"""A file; a run directory; a `Run`; one sample or dict; rows as dicts, dataclasses or models; a DataFrame, Arrow table
or Hugging Face Dataset (recognized by shape, never imported); a dict of columns."""

NO_FIELDS: Mapping[str, str] = MappingProxyType({})


def read_samples(data: Data, *, fields: Mapping[str, str] = NO_FIELDS, limit: int | None = None) -> Iterator[Sample]:
    """Read samples one by one; JSON Lines and CSV files are streamed.

    Args:
        data: A file (.jsonl, .json, .csv, .parquet), a run or its directory, samples, rows, or a table.
        fields: Sample field to column name, as in `{"answer": "draft"}`; before the names recognized by default.
        limit: The number of samples to read, from the first; None for all.

    Returns:
        The samples, in order. Empty data raises DataError for a file and gives no sample otherwise.

    Raises:
        DataError: A row is malformed; the message names file, line and field.
        UsageError: `fields` names a field that samples do not have.
    """
    return iter(samples_of(data, fields=fields, limit=limit))


def samples_of(
    data: Data,
    *,
    fields: Mapping[str, str] = NO_FIELDS,
    limit: int | None = None,
    references: References | None = None,
) -> Iterable[Sample]:
    """Return the samples of the data, to be iterated as often as needed; files are read anew each time.

    `references` decides for all samples whether one of several gold answers is enough.
    """
    reading.check_fields(fields)
    if limit is not None and limit < 1:
        raise UsageError(f"limit: {limit!r}; it needs 1 or more")
    if isinstance(data, Run) or is_run(data):
        results = results_of(data)
        return Reiterable(lambda: itertools.islice(_decided((r.sample for r in results), references), limit))
    if isinstance(data, (str, Path)):
        path = data
        return Reiterable(
            lambda: itertools.islice(reading.read_samples(path, fields=fields, references=references), limit)
        )
    rows = itertools.islice(enumerate(_rows(data), 1), limit)
    return list(_decided((_sample(row, number, fields) for number, row in rows), references))


def is_run(data: Data) -> bool:
    """Whether the data is the path of a run directory."""
    return isinstance(data, (str, Path)) and (Path(data) / RESULTS).exists()


def results_of(data: Data) -> Iterable[SampleResult]:
    """Return the results of a run or a run directory; none for other data."""
    if isinstance(data, Run):
        return data.results
    if isinstance(data, (str, Path)) and is_run(data):
        path = Path(data)
        return Reiterable(lambda: read_results(path))
    return ()


def path_of(data: Data) -> Path | None:
    """Return the file or run directory that the data come from; None for rows and for a run in memory."""
    if isinstance(data, Run):
        return data.path
    return Path(data) if isinstance(data, (str, Path)) else None


def _decided(samples: Iterable[Sample], references: References | None) -> Iterator[Sample]:
    for sample in samples:
        yield sample.model_copy(update={"references": references}) if references else sample


def _rows(data: Any) -> Iterable[Any]:
    """The rows of a table or an iterable; one sample or mapping is one row."""
    if isinstance(data, Sample):
        return [data]
    if isinstance(data, Mapping):
        columns = {name: _plain(values) for name, values in data.items()}
        if any(isinstance(columns.get(name), (list, tuple)) for name in reading.ALIASES["question"]):
            return [
                dict(zip(columns, row, strict=True))
                for row in zip(*(list(values) for values in columns.values()), strict=True)
            ]
        return [data]
    for method, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        if hasattr(data, method):
            table: Iterable[Any] = getattr(data, method)(*arguments)
            return table
    if not isinstance(data, Iterable):
        raise UsageError(f"data: {type(data).__name__}; give a file, a run, samples, dicts or a table")
    return data


def _sample(row: object, number: int, fields: Mapping[str, str]) -> Sample:
    """A sample from a row; NaN, which tables have for nothing, is nothing."""
    if isinstance(row, Sample):
        return row
    if isinstance(row, SampleResult):
        return row.sample
    if isinstance(row, BaseModel):
        row = row.model_dump()
    elif dataclasses.is_dataclass(row) and not isinstance(row, type):
        row = dataclasses.asdict(row)
    if not isinstance(row, Mapping):
        raise UsageError(f"sample {number} is a {type(row).__name__}; give Sample records, mappings or a file name")
    plain = {str(name): _plain(value) for name, value in row.items()}
    known = {name: value for name, value in plain.items() if not (isinstance(value, float) and value != value)}
    return reading.sample(SourceRow(f"sample {number}", number, known), fields)


def _plain(value: Any) -> Any:
    """The value as Python's types have it: NumPy arrays and scalars, and columns of tables, are lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") else value
