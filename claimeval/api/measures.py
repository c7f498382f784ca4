"""Metrics without a judge: `measure`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from claimeval.api.data import Data, Examination, Read, samples_of
from claimeval.api.jobs import Prepared, run_prepared
from claimeval.api.run import Run
from claimeval.api.twins import blocking
from claimeval.data.reading import NO_FIELDS
from claimeval.data.survey import repeated_id
from claimeval.evaluation.measure import Measurement, make_job
from claimeval.types.errors import DataError
from claimeval.types.options import LocalOptions, PanelOptions, RunOptions
from claimeval.types.records import Sample


def measure(
    data: Data,
    metrics: str | Sequence[str] | Mapping[str, Callable[[Sample], float | None]],
    *,
    match: Literal["ids", "text"] = "ids",
    collapse_ids: str | None = None,
    normalization: Literal["squad", "multilingual"] = "squad",
    local: LocalOptions = LocalOptions(),
    fields: Mapping[str, str] = NO_FIELDS,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    options: RunOptions = RunOptions(),
) -> Run:
    """Compute metrics without a judge: of words, of ranks, of a local model, or functions of your own.

    Args:
        data: A file (.jsonl, .json, .csv, .parquet), a run or its directory, samples, rows, or a table.
        metrics: Names and groups, as in `rouge_l,recall@5` (groups `lexical`, `retrieval`, `perplexity`, `reward`), as
            a list or one text with commas; or functions by name, which return None where they are undefined.
        match: How a retrieved document is known to be a reference: by its id, or by its text.
        collapse_ids: A regular expression that is cut out of document ids, so that passages become documents.
        normalization: What is done to words before they are compared.
        local: The local model of `query_likelihood` and `answer_reward`, and how it reads.
        fields: Sample field to column name, as in `{"answer": "draft"}`.
        limit: The number of samples to measure, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a warning.
        out: The run directory to write. None keeps the run in memory; with a final slash, as in `runs/`, a folder in
            it that is named after data and settings, or `RUN/measure` if the data are a run directory.
        overwrite: Replace a run with other settings in `out`.
        options: `cluster` for intervals, `cache` for what local models compute, and `progress`.

    Returns:
        The scores of every sample and their summary; data without a sample raise DataError.

    Raises:
        UsageError: A metric is unknown, or an option does not fit it.
        DataError: A row of the data is malformed, or two samples have one id.
    """
    job = make_job(
        Measurement(
            metrics=metrics,
            match=match,
            collapse_ids=collapse_ids,
            normalization=normalization,
            local=local,
            cluster=options.cluster,
        )
    )
    read = Read(fields, limit, skip_malformed)
    examination = Examination(samples_of(data, read), data, read, options)
    _check_ids(examination)
    prepared = Prepared.over(job, examination)
    return blocking(run_prepared(prepared, out=out, overwrite=overwrite, panel=PanelOptions(), options=options))


def _check_ids(samples: Iterable[Sample]) -> None:
    """Raise DataError if there are no samples, or two with one id."""
    seen: dict[str, int] = {}
    for number, sample in enumerate(samples, 1):
        if (first := seen.setdefault(sample.id, number)) != number:
            raise repeated_id(sample.id, first, number)
    if not seen:
        raise DataError("there are no samples")
