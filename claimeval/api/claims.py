"""Judging claims: `score` and `rejudge`, and their asynchronous twins."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from claimeval.api.data import Data, Examination, Metrics, Read, path_of, samples_of
from claimeval.api.jobs import Judges, JudgeSpec, Prepared, logger, metric_names, parse_spec, parse_specs, run_prepared
from claimeval.api.run import Run
from claimeval.api.twins import blocking_twin
from claimeval.data.reading import NO_FIELDS, parse_references
from claimeval.data.survey import survey
from claimeval.evaluation.claims import (
    ClaimsOptions,
    check_families,
    check_questions,
    choose_metrics,
    incomplete,
    make_job,
)
from claimeval.evaluation.job import Reiterable
from claimeval.evaluation.measure import MeasureJob
from claimeval.evaluation.measure import job_of as measured_again
from claimeval.metrics.derived import MetricSelection, select_metrics
from claimeval.metrics.rows import SUPPORT
from claimeval.runs.directory import results_file
from claimeval.runs.rejudge import RejudgeSource, open_source, prepare
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.records import References, SampleResult


async def ascore(
    data: Data,
    *,
    judges: Judges,
    metrics: Metrics | None = None,
    extractor: JudgeSpec | None = None,
    extract_prompt: str | Path = "atomic",
    assess_prompt: str | Path | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    references: References | None = None,
    extract_per_judge: bool | None = None,
    fields: Mapping[str, str] = NO_FIELDS,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge answers claim by claim. `score` blocks, `ascore` is awaited; both take the same arguments.

    Args:
        data: A file (.jsonl, .json, .csv, .parquet), a run or its directory, samples, rows, or a table.
        judges: `provider:model`, `openai:model@URL`, YAML files, their content, or `Judge`; several are a panel. There
            is no default.
        metrics: Names (`faithfulness`, `f1`, `nuggets`, ...), `NAME=CLAIMS_OF:AGAINST` or `Metric`. Default:
            faithfulness, correctness, coverage and context_recall, as far as the data can feed them.
        extractor: The judge that extracts the claims. Default: the first judge.
        extract_prompt: Name or path of the prompt that extracts claims.
        assess_prompt: Name or path of the prompt that assesses claims. Default: `three_way`, or `partial` if a metric
            counts partial support (`nuggets`).
        per_document: Also assess each claim against each document alone. None: as in the panel file, else no.
        shuffle_contexts: In how many other orders of the documents claims are also assessed, 0 or more.
        references: Whether one of several gold answers is enough (`any`) or they are right only `together`. Default:
            what the data say, else `any`.
        extract_per_judge: Have every judge extract claims and assess only those.
        fields: Sample field to column name, as in `{"answer": "draft"}`.
        limit: The number of samples to judge, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a warning.
        out: The run directory to write. None keeps the run in memory; with a final slash, as in `runs/`, a folder in
            it that is named after data and settings, the same for the same call.
        overwrite: Replace a run with other settings in `out`.
        panel: How the verdicts of several judges are counted.
        options: How the judges are asked, and what may be spent.

    Returns:
        The claims, verdicts and scores of every sample, and their summary. With `out` results are read from disk.

    Raises:
        UsageError: Before any call, for what you can fix; also for data without a sample.
        DataError: A row of the data is malformed.
        StoreError: The reply cache cannot be read or written.
        StoppedEarly: A cap is reached, batches are detached, or no judge is left; `.run` is the run as far as it went,
            and the same call resumes it.
    """
    read = Read(fields, limit, skip_malformed)
    samples = samples_of(data, read, references=parse_references(references))
    wanted = ClaimsOptions(
        judges=parse_specs(judges),
        extractor=None if extractor is None else parse_spec(extractor),
        extract_prompt=str(extract_prompt),
        assess_prompt=None if assess_prompt is None else str(assess_prompt),
        per_document=per_document,
        shuffle_contexts=shuffle_contexts,
        extract_per_judge=extract_per_judge,
        panel=panel,
        cluster=options.cluster,
    )
    selection = select_metrics(metric_names(metrics)) if metrics is not None else None
    make_job(wanted, selection or MetricSelection(SUPPORT, None))  # refuses judges and prompts before the data are read
    examination = Examination(samples, data, read, options)
    found = survey(examination, selection.rows if selection else SUPPORT)
    chosen = choose_metrics(selection, found)
    for missing, names in incomplete(found, chosen.rows).items():
        logger.info("%s: counted as missing_input in %s", missing, ", ".join(names))
    job = make_job(wanted, chosen)
    check_questions(job, found)
    check_families(job, found.generators)
    prepared = Prepared.over(job, examination)
    return await run_prepared(prepared, out=out, overwrite=overwrite, panel=panel, options=options)


score = blocking_twin(ascore)


async def arejudge(
    source: Data,
    *,
    judges: Judges | None = None,
    keep_verdicts: bool = False,
    metrics: Metrics | None = None,
    extractor: JudgeSpec | None = None,
    extract_prompt: str | Path | None = None,
    assess_prompt: str | Path | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    extract_per_judge: bool | None = None,
    fields: Mapping[str, str] = NO_FIELDS,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge a run of any job again: other judges, prompts, metrics or votes. A run of `measure` is computed again.

    Claims are taken from the run unless another `extractor` or `extract_prompt` is named. A verdict is taken over if
    judge settings, prompt, evidence and claim are the same. With only another `panel` or fewer `metrics` the votes are
    counted again without a call. `summary.cost` counts the questions that were asked and the replies that were reused.
    `rejudge` blocks, `arejudge` is awaited; both take the same arguments.

    Args:
        source: A run of claims, ratings, grades or measures, or its directory; a result file of RAGChecker, ragas or
            deepeval; or data as for `score`.
        judges: Judges to ask, or names of judges of the run. None: all of the run.
        keep_verdicts: Keep the verdicts of the run's judges beside those of the new ones.
        metrics: As for `score`, or ratings of the run; None: those of the run.
        extractor: The judge that extracts claims from texts without any; another one than the run's extracts all again.
        extract_prompt: Extract the claims again, with this prompt.
        assess_prompt: The prompt that assesses claims, or asks the only question of the run; None: that of the run.
        per_document: As for `score`; None: as in the run, like the two that follow.
        shuffle_contexts: As for `score`.
        extract_per_judge: As for `score`.
        fields: As for `score`, for a file of samples.
        limit: The number of samples to judge, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a warning.
        out: As for `score`; another directory than that of the source.
        overwrite: As for `score`.
        panel: How verdicts are counted; None, also of a field: as in the run.
        options: How the judges are asked; `cluster` None: as in the run.

    Returns:
        The run with the new verdicts and votes.

    Raises:
        UsageError: Before any call, for what you can fix.
        DataError: The source holds no finished run, or a row is malformed.
        StoppedEarly: As for `score`.
    """
    panel = panel or PanelOptions()
    wanted = ClaimsOptions(
        judges=() if judges is None else parse_specs(judges),
        extractor=None if extractor is None else parse_spec(extractor),
        metrics=None if metrics is None else metric_names(metrics),
        extract_prompt=None if extract_prompt is None else str(extract_prompt),
        assess_prompt=None if assess_prompt is None else str(assess_prompt),
        per_document=per_document,
        shuffle_contexts=shuffle_contexts,
        extract_per_judge=extract_per_judge,
        panel=panel,
        cluster=options.cluster,
    )
    before = _source(source, Read(fields, limit, skip_malformed))
    if before.manifest and before.manifest.job == MeasureJob.name:
        if wanted != ClaimsOptions(metrics=wanted.metrics, cluster=wanted.cluster) or keep_verdicts:
            raise UsageError("the source is a run of measure, which has no judges; only `metrics` can be others")
        job = measured_again(before.manifest, None if metrics is None else list(map(str, metric_names(metrics))))
        samples = Reiterable(lambda: (result.sample for result in before.results()))
        record = before.recorded(job.manifest, limit)
        prepared = Prepared(job, record, samples, sum(1 for _ in samples), path_of(source))
    else:
        rejudged = prepare(before, wanted, keep_verdicts=keep_verdicts, options=options)
        record = before.recorded(rejudged.manifest, limit, fields)
        prepared = Prepared(rejudged.plan, record, rejudged.results, rejudged.samples, path_of(source), rejudged)
    return await run_prepared(prepared, out=out, overwrite=overwrite, panel=panel, options=options)


rejudge = blocking_twin(arejudge)


def _source(data: Data, read: Read) -> RejudgeSource:
    """A run, another tool's results, or samples without verdicts."""
    if isinstance(data, Run):
        run = data
        source = RejudgeSource(
            str(run.path or run.manifest.data.path or "run"),
            lambda: iter(run.results),
            run.manifest,
            file=results_file(run.path) if run.path else None,
        )
    elif isinstance(data, (str, Path)):
        source = open_source(Path(data), fields=read.fields, skip_malformed=read.skip_malformed)
    else:
        samples = samples_of(data, read._replace(limit=None))
        source = RejudgeSource("data", lambda: (SampleResult(sample=sample) for sample in samples), None)
    return source._replace(results=lambda: islice(source.results(), read.limit)) if read.limit is not None else source
