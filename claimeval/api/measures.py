"""`measure` for metrics without a judge, and `extraction` for the quality of claims."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from claimeval.api.data import Data, Examination, Read, is_run, path_of, samples_of
from claimeval.api.hints import with_hints
from claimeval.api.jobs import JudgeSpec, blocking, parse_spec, run_prepared
from claimeval.api.run import Run, write_page
from claimeval.data.file_formats import sheet_of_data
from claimeval.data.mapping import MappingSpec, Turns
from claimeval.data.reasoning import AnswerReasoning
from claimeval.data.survey import distinct
from claimeval.evaluation.extraction import make_job as extraction_job
from claimeval.evaluation.job import Reiterable
from claimeval.evaluation.measure import Measurement, make_job
from claimeval.runs.jobs import Prepared
from claimeval.types.options import LocalOptions, RunOptions
from claimeval.types.records import Sample, SampleResult


@with_hints
def measure(
    data: Data,
    metrics: str | Sequence[str] | Mapping[str, Callable[[Sample], float | None]],
    *,
    match: Literal["ids", "text"] | None = None,
    collapse_ids: str | None = None,
    normalization: Literal["squad", "multilingual"] = "squad",
    local: LocalOptions = LocalOptions(),
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    options: RunOptions = RunOptions(),
) -> Run:
    """Compute metrics without a judge: lexical and rank metrics, those of local models, or custom
    functions.

    Args:
        data: A file (.jsonl, .json, .csv, .xlsx, .parquet), a run or its directory, samples, rows,
            or a table.
        metrics: Names and groups, as in `rouge_l,recall@5` (groups `lexical`, `overlap`,
            `retrieval`, `perplexity`, `reward`, `similarity`), as a list or one text with commas;
            or functions by name, which return None for an undefined value.
        match: How a retrieved document is matched with a reference: by its id, or by its text.
            None: by id, or by text in samples whose contexts or references have no ids.
        collapse_ids: A regular expression to remove from document ids, so that passages become
            documents.
        normalization: How words are normalized before they are compared.
        local: The local model of `query_likelihood`, `answer_reward` or `answer_similarity`, and
            how it reads.
        mapping: Where the fields of samples are: paths by field, as in `{"answer":
            "output.answer"}`, or a YAML file.
        group: Columns, separated by commas, whose equal values make rows with one document each one
            sample; `none` for rows that are samples.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        limit: The number of samples to measure, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.
        out: The run directory to write. None keeps the run in memory; with a final slash, as in
            `runs/`, a folder in it that is named after data and settings, or `RUN/measure` if the
            data are a run directory.
        overwrite: Replace a run with other settings in `out`.
        options: `cluster` for intervals, `cache` for results of local models, and `progress`.

    Returns:
        The scores of every sample and their summary.

    Raises:
        UsageError: A metric is unknown, or an option does not fit it.
        DataError: A row of the data is malformed, two samples have the same id, or there is no
            sample.

    Examples:
        >>> run = ce.measure("answers.jsonl", metrics="rouge_l,token_f1")
        >>> list(run.summary)
        ['rouge_l', 'token_f1', 'answer_length']
    """
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, sheet)
    job = make_job(
        Measurement(
            metrics=metrics,
            match=match,
            collapse_ids=collapse_ids,
            normalization=normalization,
            local=local,
            cluster=read.cluster(options),
        )
    )
    examination = Examination(samples_of(data, read), data, read, options)
    deque(distinct(examination), maxlen=0)
    prepared = examination.prepared(job)
    measured = blocking(run_prepared(prepared, out=out, overwrite=overwrite, options=options))
    if measured.path and is_run(measured.path.parent):
        # The page of a run has what is measured in its directory.
        write_page(Run.load(measured.path.parent))
    return measured


def _results_with_claims(source: Data) -> Sequence[SampleResult] | None:
    """Return the results of a run that has claims; None for a run without any and for data."""
    if not isinstance(source, Run):
        if not is_run(source):
            return None
        source = Run.load(str(source))
    has_claims = any(result.claims for result in source.results)
    return source.results if has_claims else None


@with_hints
def extraction(
    source: Data,
    *,
    claims: str | Path | None = None,
    extractor: JudgeSpec | None = None,
    gold: str | Path | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    options: RunOptions = RunOptions(),
) -> Run:
    """Measure the quality of claims: what they lose of their texts, and precision and recall
    against gold claims.

    The measures are computed from the words alone, without a call, unless an extractor makes the
    claims.

    Args:
        source: A run, whose claims are measured, or data as for `score`.
        claims: The claims to measure: a field of the data (`human_claims`, or
            `sentences.facts.text` through lists), or a prompt for the `extractor`. None: those of
            the run, if `source` is one.
        extractor: The model that extracts claims with the prompt `claims`, or with `atomic` if that
            is None. Default for data without a run: `local:lexical`.
        gold: Claims by people: a field of the data, or a file with `id` and `claims` (a list) or
            `text` (one claim).
        mapping: As for `score`.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        limit: The number of samples, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.
        out: As for `score`; `RUN/extraction` adds the numbers to a run.
        overwrite: Replace a run with other settings in `out`.
        options: How the extractor is asked, and what may be spent.

    Returns:
        A run whose metrics are ratios of sums over all texts. `.record.extraction` has the counts
        for gold claims, and remarks; each result lists the sentences behind the counts.

    Raises:
        UsageError: Before any call, for what you can fix: an unknown field or prompt.
        DataError: A row of the data is malformed, or two samples have one id.
        StoppedEarly: As for `score`.

    Examples:
        >>> run = ce.extraction("answers.jsonl", extractor="local:lexical")
        >>> "numbers_lost" in run.summary
        True
    """
    of_data = sheet_of_data(path_of(source), sheet, gold)
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, of_data)
    samples = samples_of(source, read)
    examination = Examination(samples, source, read, options)
    results = None
    if claims is None and extractor is None:
        results = _results_with_claims(source)
    of_whole_run = results is not None
    examined: Any = examination if results is None else list(results[:limit])
    named = None if extractor is None else parse_spec(extractor)
    claims, gold = (None if one is None else str(one) for one in (claims, gold))
    cluster = read.cluster(options)
    job = extraction_job(examined, claims, named, gold, cluster, of_run=of_whole_run, sheet=sheet)
    if of_whole_run:
        deque(examination, maxlen=0)  # counts the samples
    items = examined if of_whole_run else examination.items
    record = examination.described(job.manifest)
    prepared = Prepared(
        job, record, Reiterable(lambda: iter(items)), examination.total, examination.path
    )
    return blocking(run_prepared(prepared, out=out, overwrite=overwrite, options=options))
