"""Judging claims: `score` and `rejudge`, and their asynchronous twins."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from claimeval.api.data import (
    Data,
    Examination,
    Metrics,
    Read,
    Samples,
    path_of,
    samples_of,
    surveyed,
)
from claimeval.api.hints import with_hints
from claimeval.api.jobs import (
    Judges,
    JudgeSpec,
    blocking,
    logger,
    parse_spec,
    parse_specs,
    run_prepared,
)
from claimeval.api.run import Run
from claimeval.data.mapping import MappingSpec, Turns
from claimeval.data.reading import parse_references
from claimeval.data.reasoning import AnswerReasoning
from claimeval.evaluation.claims import (
    AUTO,
    ClaimsOptions,
    choose_metrics,
    incomplete,
    make_job,
    needs_claims,
    prompt_language,
    with_numbering,
    with_questions,
)
from claimeval.evaluation.job import Reiterable
from claimeval.metrics.derived import MetricSelection, select_metrics
from claimeval.metrics.rows import SUPPORT, metric_names
from claimeval.runs.jobs import Prepared
from claimeval.types.gates import Gates
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.questions import Quotes, Reasons
from claimeval.types.records import References, is_report
from claimeval.types.requests import ClaimsPerCall

if TYPE_CHECKING:
    from claimeval.runs.rejudge import RejudgeSource


@with_hints
def score(
    data: Data,
    *,
    judges: Judges,
    metrics: Metrics | None = None,
    extractor: JudgeSpec | None = None,
    extract_prompt: str | Path | None = None,
    assess_prompt: str | Path | None = None,
    language: str | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    claims_per_call: ClaimsPerCall | None = None,
    reasons: Reasons | None = None,
    quotes: Quotes | None = None,
    references: References | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    sources: str | Path | None = None,
    source_names: str | Path | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Judge answers claim by claim.

    Args:
        data: A file (.jsonl, .json, .csv, .xlsx, .parquet), a run or its directory, samples, rows,
            or a table.
        judges: `provider:model`, `openai:model@URL`, YAML files, their content, or `Judge`; several
            are a panel. There is no default.
        metrics: Names (`faithfulness`, `f1`, `nuggets`, ...), `NAME=CLAIMS_OF:AGAINST` or `Metric`.
            Default: faithfulness, correctness, coverage and context_recall, as far as the data has
            the fields for them.
        extractor: The judge that extracts the claims. Default: the first judge.
        extract_prompt: Name or path of the prompt that extracts claims. Default: `atomic`.
        assess_prompt: Name or path of the prompt that assesses claims. Default: `three_way`, or
            `partial` if a metric counts partial support (`nuggets`).
        language: Language of the shipped prompts: `de`, `fr`, `es`, `pt`, `hi`, `zh`, `ja`, `ar`,
            or `auto` for the language of two thirds of the first 200 samples. Default: English.
            Custom prompts are not translated.
        per_document: Also assess each claim against each document alone. None: as in the panel
            file, else no.
        shuffle_contexts: Number of other document orders under which claims are also assessed, 0 or
            more.
        claims_per_call: Claims per call, for every judge: 1 to 50, or `auto` for the number of
            the model, which is 20 if it is not known. None: each judge's setting.
        reasons: The verdicts that come with a reason: `all`, `unsupported` (those that are not
            support) or `none`: labels alone, without the documents that decide. Default:
            `unsupported`, where the prompt has the parameter.
        quotes: Whether the extractor quotes the words of each claim (`yes`) or only names its
            sentences (`no`). Default: `yes`.
        references: Whether one of several gold answers is enough (`any`) or they are right only
            `together`. Default: what the data say, else `any`.
        mapping: Where the fields of samples are: paths by field, as in `{"answer":
            "output.answer"}`, or a YAML file.
        group: Columns, separated by commas, whose equal values make rows with one document each one
            sample; `none` for rows that are samples.
        turns: `all` makes a sample of every answer in a conversation, with the id
            `CONVERSATION/TURN`; the conversation is the cluster of intervals and tests. Default:
            `last`, the last answer.
        answer_reasoning: `drop` leaves out the reasoning of a model before an answer, as between
            `<think>` and `</think>`; `keep` judges it as a part of the answer. None: such answers
            are an error.
        sheet: The sheet of an Excel or OpenDocument file, if it has several.
        sources: The folder of the sources of a cited report, which is `data`: see `read_report`.
            Claims are judged against the best passages of the sources that they cite; the default
            metrics are `citations`.
        source_names: A table of `file` and `url` for sources that do not say their address.
        limit: The number of samples to judge, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.
        out: The run directory to write. None keeps the run in memory; with a final slash, as in
            `runs/`, a folder in it that is named after data and settings, the same for the same
            call.
        overwrite: Replace a run with other settings in `out`.
        panel: How the verdicts of several judges are counted.
        options: How the judges are asked, and what may be spent.
        gates: Limits on the results, whose outcome is in `.record.gates`; with
            `RunOptions(stop_when_decided=0.95)` the run ends when they are decided.

    Returns:
        The claims, verdicts and scores of every sample, and their summary. With `out` results are
        read from disk.

    Raises:
        UsageError: Before any call, for what you can fix; also for data without a sample.
        DataError: A row of the data is malformed.
        StoreError: The reply cache cannot be read or written.
        StoppedEarly: A limit is reached, batches are detached, or no judge is left. `.run` is the
            unfinished run; the same call resumes it.

    Examples:
        >>> run = ce.score("answers.jsonl", judges="openai:gpt-5-mini", out="runs/first")
        >>> len(run)
        24
        >>> round(run["faithfulness"].mean, 2)
        0.95
    """
    return blocking(ascore(**locals()))


@with_hints
async def ascore(
    data: Data,
    *,
    judges: Judges,
    metrics: Metrics | None = None,
    extractor: JudgeSpec | None = None,
    extract_prompt: str | Path | None = None,
    assess_prompt: str | Path | None = None,
    language: str | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    claims_per_call: ClaimsPerCall | None = None,
    reasons: Reasons | None = None,
    quotes: Quotes | None = None,
    references: References | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    sources: str | Path | None = None,
    source_names: str | Path | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Score as `score` does, in an asynchronous program. The arguments are the same.

    Examples:
        >>> import asyncio
        >>> run = asyncio.run(ce.ascore("answers.jsonl", judges="openai:gpt-5-mini", limit=2))
        >>> len(run)
        2
    """
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, sheet)
    if sources is not None:
        from claimeval.api.report import read_report

        data = read_report(data, sources, source_names=source_names)
        metrics = metrics or "citations"
    samples = samples_of(data, read, references=parse_references(references))
    requested = replace(
        _options(judges, metrics, extractor, extract_prompt, assess_prompt),
        language=language,
        per_document=per_document,
        shuffle_contexts=shuffle_contexts,
        claims_per_call=claims_per_call,
        reasons=reasons,
        quotes=quotes,
        panel=panel,
        cluster=read.cluster(options),
    )
    prepared = _prepare(samples, data, read, requested, options)
    if _are_reports(samples):
        from claimeval.api.report import say_what_is_sent

        await say_what_is_sent(prepared, options)
    return await run_prepared(prepared, out=out, overwrite=overwrite, options=options, gates=gates)


def _options(
    judges: Judges | None,
    metrics: Metrics | None,
    extractor: JudgeSpec | None,
    extract_prompt: str | Path | None,
    assess_prompt: str | Path | None,
) -> ClaimsOptions:
    """Return options as the job takes them, from judges, metrics and prompts as a user gives
    them."""
    return ClaimsOptions(
        judges=() if judges is None else parse_specs(judges),
        extractor=None if extractor is None else parse_spec(extractor),
        metrics=None if metrics is None else metric_names(metrics),
        extract_prompt=None if extract_prompt is None else str(extract_prompt),
        assess_prompt=None if assess_prompt is None else str(assess_prompt),
    )


def _prepare(
    samples: Samples, data: Data, read: Read, requested: ClaimsOptions, options: RunOptions
) -> Prepared:
    """Return the job over these samples, checked without a call."""
    auto = requested.language == AUTO
    remarks = tuple[str, ...]()
    requested = replace(requested, language=None if auto else requested.language)
    selection = None if requested.metrics is None else select_metrics(requested.metrics)
    # Before the data are read: a misspelt judge or prompt is said before minutes of reading, and
    # whether the data come with claims is not known yet.
    make_job(requested, selection or MetricSelection(SUPPORT, None), extracts=False)
    examination = Examination(samples, data, read, options)
    found = surveyed(examination, selection.rows if selection else SUPPORT)
    if found.mapping.read_as:
        logger.info("%s", found.mapping.read_as)
    chosen = choose_metrics(selection, found)
    if auto:
        language, why = prompt_language(samples)
        requested = replace(requested, language=language)
        remarks = (why,)
    job = make_job(requested, chosen, extracts=needs_claims(chosen.rows, found))
    job, without_question = with_questions(replace(job, remarks=remarks), found)
    job = with_numbering(job, examination, read.parsed.numbering)
    job.check_families(found.generators)
    if _are_reports(samples):
        from claimeval.api.report import job_of_report

        job = job_of_report(job)
    lacks = [
        f"{missing}: counted as missing_input in {', '.join(names)}"
        for missing, names in incomplete(found, chosen.rows).items()
    ]
    return examination.prepared(job, [*lacks, *without_question])


def _are_reports(samples: Samples) -> bool:
    """Return whether these are cited reports, whose claims are judged against passages. What does
    that is imported then only."""
    return any(is_report(sample) for sample in islice(samples, 1))


@with_hints
def rejudge(
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
    claims_per_call: ClaimsPerCall | None = None,
    reasons: Reasons | None = None,
    quotes: Quotes | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions | None = None,
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Judge a run of any job again with other judges, prompts, metrics or votes. A run of `measure`
    is recomputed.

    Claims come from the run unless you name another `extractor` or `extract_prompt`. A verdict is
    reused if judge settings, prompt, evidence and claim are the same. With only another `panel` or
    fewer `metrics`, the votes are counted again without a call. `summary.cost` counts new calls and
    reused replies. `rejudge` blocks, `arejudge` is awaited; both take the same arguments.

    Args:
        source: A run of claims, ratings, grades or measures, or its directory; a result file of
            RAGChecker; or data as for `score`.
        judges: Judges to ask, or names of judges of the run. None: all of the run.
        keep_verdicts: Keep the verdicts of the run's judges in addition to those of the new judges.
        metrics: As for `score`, or ratings of the run; None: those of the run.
        extractor: The judge that extracts claims from texts without claims. If it is not the run's
            extractor, it extracts all claims again.
        extract_prompt: Extract the claims again, with this prompt.
        assess_prompt: The prompt that assesses claims, or asks the only judge question of the run.
            None: that of the run.
        per_document: As for `score`. None: as in the run; the same applies to the next two.
        shuffle_contexts: As for `score`.
        claims_per_call: As for `score`; None: as the judges of the run were asked.
        reasons: As for `score`; None: as in the run. Another value asks for all verdicts again.
        quotes: As for `score`; None: as in the run. Another value extracts all claims again.
        mapping: As for `score`, for a file of samples.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        limit: The number of samples to judge, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.
        out: As for `score`; not the directory of the source.
        overwrite: As for `score`.
        panel: How verdicts are counted. None, for all or for one field: as in the run.
        options: How the judges are asked; `cluster` None: as in the run.
        gates: Limits on the results, whose outcome is in `.record.gates`; with
            `RunOptions(stop_when_decided=0.95)` the run ends when they are decided.

    Returns:
        The run with the new verdicts and votes.

    Raises:
        UsageError: Before any call, for what you can fix.
        DataError: The source holds no finished run, or a row is malformed.
        StoppedEarly: As for `score`.

    Examples:
        >>> other = ce.rejudge("runs/a", assess_prompt="binary", out="runs/binary")
        >>> other.manifest.source.path
        'runs/a'
    """
    return blocking(arejudge(**locals()))


@with_hints
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
    claims_per_call: ClaimsPerCall | None = None,
    reasons: Reasons | None = None,
    quotes: Quotes | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions | None = None,
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Rejudge as `rejudge` does, in an asynchronous program. The arguments are the same.

    Examples:
        >>> import asyncio
        >>> again = asyncio.run(ce.arejudge("runs/a", metrics="faithfulness"))
        >>> list(again.summary)
        ['faithfulness']
    """
    from claimeval.runs.rejudge import prepare

    panel = panel or PanelOptions()
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, sheet)
    requested = replace(
        _options(judges, metrics, extractor, extract_prompt, assess_prompt),
        per_document=per_document,
        shuffle_contexts=shuffle_contexts,
        claims_per_call=claims_per_call,
        reasons=reasons,
        quotes=quotes,
        panel=panel,
        cluster=read.cluster(options),
    )
    if before := _source(source, limit):
        prepared = prepare(
            before,
            requested,
            keep_verdicts=keep_verdicts,
            numbering=read.parsed.numbering,
            options=options,
        )
    else:
        # A file of samples has no verdicts to take from: it is scored, as by `score`.
        prepared = _prepare(samples_of(source, read), source, read, requested, options)
    return await run_prepared(prepared, out=out, overwrite=overwrite, options=options, gates=gates)


def _source(data: Data, limit: int | None) -> RejudgeSource | None:
    """Return a run, or results of another tool; None for samples without verdicts."""
    from claimeval.runs.rejudge import RejudgeSource, open_source

    path = path_of(data)
    source = open_source(path) if path else None
    if path is None and isinstance(data, Run):
        source = RejudgeSource(data.results, data.manifest)
    if source is None or limit is None:
        return source
    return source._replace(results=Reiterable(lambda: islice(source.results, limit)), limit=limit)
