"""`rate` for whole answers and `grade` for documents, and their asynchronous twins."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from claimeval import ir
from claimeval.api.data import Data, Examination, Read, Samples, path_of, samples_of
from claimeval.api.hints import with_hints
from claimeval.api.jobs import Judges, blocking, parse_specs, run_prepared
from claimeval.api.run import Run
from claimeval.data.file_formats import sheet_in
from claimeval.data.mapping import MappingSpec, Turns
from claimeval.data.reasoning import AnswerReasoning
from claimeval.data.test_collections import read_corpus, read_qrels, read_queries
from claimeval.evaluation.grade import (
    Against,
    GradingOptions,
    PoolCounts,
    pool,
    samples_of_pool,
    survey,
)
from claimeval.evaluation.grade import make_job as grade_job
from claimeval.evaluation.kinds import Judging
from claimeval.evaluation.rate import RateOptions
from claimeval.evaluation.rate import make_job as rate_job
from claimeval.evaluation.retrieval import MEASURES
from claimeval.types.errors import DataError, UsageError
from claimeval.types.gates import Gates
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.paths import expanded
from claimeval.types.scales import Scale

_NO_PROMPTS: Mapping[str, str | Path] = MappingProxyType({})
_NO_CRITERIA: Mapping[str, str] = MappingProxyType({})
DEPTH = 10
"""The number of documents of each TREC run that are graded, unless another one is given."""


@with_hints
def rate(
    data: Data,
    *,
    judges: Judges,
    ask: str | Sequence[str] | None = None,
    criteria: Mapping[str, str] = _NO_CRITERIA,
    prompts: Mapping[str, str | Path] = _NO_PROMPTS,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Judge whole answers.

    Args:
        data: As for `score`.
        judges: As for `score`.
        ask: Any of `relevance`, `faithfulness`, `correctness`, `abstention`, as a list or one text
            with commas. None: all whose fields the data has.
        criteria: Criteria of your own by name, as in `{"polite": "The answer stays polite."}`: how
            far an answer meets each, fully (1), partly (0.5) or not (0). `NAME:contexts` or
            `NAME:reference` also shows these texts. Without `ask`, nothing else is asked.
        prompts: Names or paths of prompts by question.
        mapping: As for `score`.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        limit: The number of samples to judge, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.
        out: As for `score`; `RUN/rate` adds the ratings to a run.
        overwrite: Replace a run with other settings in `out`.
        panel: How the ratings of several judges are counted. Default: relevance by the median, the
            rest by majority.
        options: How the judges are asked, and what may be spent.
        gates: Limits on the results, whose outcome is in `.record.gates`; with
            `RunOptions(stop_when_decided=0.95)` the run ends when they are decided.

    Returns:
        The verdicts and scores of every answer, and their summary.

    Raises:
        UsageError: Before any call, for what you can fix.
        DataError: A row of the data is malformed.
        StoppedEarly: As for `score`.

    Examples:
        >>> run = ce.rate("answers.jsonl", judges="openai:gpt-5-mini", ask="relevance")
        >>> run["rated_relevance"].n
        24
    """
    return blocking(arate(**locals()))


@with_hints
async def arate(
    data: Data,
    *,
    judges: Judges,
    ask: str | Sequence[str] | None = None,
    criteria: Mapping[str, str] = _NO_CRITERIA,
    prompts: Mapping[str, str | Path] = _NO_PROMPTS,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Rate as `rate` does, in an asynchronous program. The arguments are the same.

    Examples:
        >>> import asyncio
        >>> rating = ce.arate("answers.jsonl", judges="openai:gpt-5-mini", ask="abstention")
        >>> len(asyncio.run(rating))
        24
    """
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, sheet)
    asked = RateOptions(
        ask=ask.split(",") if isinstance(ask, str) else ask,
        prompts={name: str(prompt) for name, prompt in prompts.items()},
        criteria=criteria,
    )
    judging = Judging(parse_specs(judges), panel, read.cluster(options))
    examination = Examination(samples_of(data, read), data, read, options)
    job = rate_job(judging, asked, examination)
    prepared = examination.prepared(job, job.remarks)
    return await run_prepared(prepared, out=out, overwrite=overwrite, options=options, gates=gates)


@with_hints
def grade(
    data: Data | None = None,
    *,
    judges: Judges,
    against: Against = "question",
    scale: str | Path | Scale = "umbrela",
    prompt: str | Path | None = None,
    documents_per_call: int = 1,
    measures: str = MEASURES,
    corpus: str | Path | None = None,
    trec_runs: Sequence[str | Path] = (),
    depth: int = DEPTH,
    qrels: str | Path | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge how relevant documents are to a question.

    Args:
        data: As for `score`; the contexts of the samples are graded. With `corpus`, the queries;
            None for a BEIR folder in `corpus`.
        judges: As for `score`.
        against: Grade documents against the `question`, or match them with the `reference_contexts`
            of their sample.
        scale: `umbrela` (0 to 3), `graded`, `binary`, a YAML file or a `Scale`.
        prompt: Name or path of the prompt. Default: `steps`, or `same_content` against reference
            contexts.
        documents_per_call: Documents in one call; with several, a grade also depends on the other
            documents.
        measures: Rank metrics of matches.
        corpus: The documents of a collection.
        trec_runs: With `corpus`: TREC runs whose top documents are graded.
        depth: The number of documents to grade for each query and TREC run.
        qrels: Human grades to compare with; with `corpus`, these pairs are graded too.
        mapping: As for `score`.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        limit: The number of samples or queries, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.
        out: As for `score`; if documents have grades, the folder also gets `qrels.txt`.
        overwrite: Replace a run with other settings in `out`.
        panel: How several judges' grades become one. Default: the median; for matches, the
            majority.
        options: How the judges are asked, and what may be spent.

    Returns:
        The grades of every sample, and their summary; `.qrels` are the grades by sample and
        document.

    Raises:
        UsageError: Before any call, for what you can fix.
        DataError: A row of the data is malformed, an id cannot stand in a qrels file, or people
            graded none of the documents.
        StoppedEarly: As for `score`.

    Examples:
        >>> run = ce.grade("answers.jsonl", judges="openai:gpt-5-mini", limit=2)
        >>> len(run.qrels)
        2
    """
    return blocking(agrade(**locals()))


@with_hints
async def agrade(
    data: Data | None = None,
    *,
    judges: Judges,
    against: Against = "question",
    scale: str | Path | Scale = "umbrela",
    prompt: str | Path | None = None,
    documents_per_call: int = 1,
    measures: str = MEASURES,
    corpus: str | Path | None = None,
    trec_runs: Sequence[str | Path] = (),
    depth: int = DEPTH,
    qrels: str | Path | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Grade as `grade` does, in an asynchronous program. The arguments are the same.

    Examples:
        >>> import asyncio
        >>> run = asyncio.run(ce.agrade("answers.jsonl", judges="openai:gpt-5-mini", limit=2))
        >>> len(run.qrels)
        2
    """
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, sheet)
    job_options = GradingOptions(
        judges=parse_specs(judges),
        against=against,
        scale=str(scale) if isinstance(scale, Path) else scale,
        prompt=None if prompt is None else str(prompt),
        documents_per_call=documents_per_call,
        measures=measures,
        panel=panel,
        cluster=read.cluster(options),
    )
    job = grade_job(job_options)
    human = None if qrels is None else read_qrels(Path(qrels), sheet_in(Path(qrels), sheet))
    if corpus is None and (trec_runs or depth != DEPTH):
        raise UsageError(
            "--trec-run and --depth choose documents of a collection: add it with --corpus, or"
            " leave them out to grade the contexts of the samples"
        )
    samples = graded_samples(
        data, read, corpus=corpus, trec_runs=trec_runs, depth=depth, human=human
    )
    examination = Examination(samples, data, read, options)
    remarks: list[str] = []
    if against == "question":
        remarks = _remarks(survey(examination, human or {}), qrels)
    elif not sum(bool(sample.reference_contexts) for sample in examination):
        raise UsageError("no sample has reference_contexts to compare the contexts with")
    prepared = examination.prepared(job, remarks)
    return await run_prepared(prepared, out=out, overwrite=overwrite, options=options)


def _remarks(counts: PoolCounts, qrels: str | Path | None) -> list[str]:
    """Return what is said before documents are graded.

    Raises DataError if the grades of people in `qrels` are about none of the documents.
    """
    if qrels is not None and counts.without_id:
        raise DataError(
            f"{counts.without_id} of {counts.pairs} documents have no ids, so no grades of"
            f" people in {qrels} are known to be theirs; give the ids of the contexts"
            " (context_ids)"
        )
    if qrels is not None and not counts.by_people:
        raise DataError(f"people graded none of these pairs in {qrels}; are the ids the same?")
    remarks = []
    if counts.without_id:
        remarks.append(
            f"{counts.without_id} of {counts.pairs} documents have no ids: in the qrels they"
            " are named by sample and rank, as q7-rank-2, and match no run"
        )
    if counts.without_text:
        remarks.append(
            f"{counts.without_text} of {counts.pairs} pairs have no text of the question or the"
            " document"
        )
    return remarks


def graded_samples(
    data: Data | None,
    read: Read,
    *,
    corpus: str | Path | None,
    trec_runs: Sequence[str | Path],
    depth: int,
    human: ir.Qrels | None,
) -> Samples:
    """Return the samples whose contexts are graded: those of the data, or one per query of the
    collection.

    Args:
        data: Samples with contexts, or the queries of a collection.
        read: How the data are read; `limit` also applies to the queries of a collection.
        corpus: The documents of a collection.
        trec_runs: TREC runs whose top documents form the pool.
        depth: The number of documents taken from each TREC run.
        human: Grades by people, whose pairs are graded again.

    Raises:
        UsageError: There is neither data nor a corpus, or a corpus without TREC runs and qrels.
    """
    if corpus is None:
        if data is None:
            raise UsageError("name the samples whose contexts are graded, or queries and a corpus")
        return samples_of(data, read)
    if not trec_runs and human is None:
        raise UsageError(
            "with a corpus, say what is graded: the first documents of a --trec-run, or the --qrels"
        )
    runs = [ir.read_run(expanded(path)) for path in trec_runs]
    ids = dict(
        itertools.islice(
            pool(runs, depth, human).items(),
            read.limit,
        )
    )
    file = Path(corpus) if data is None else _path(data)
    queries = read_queries(file, sheet_in(file, read.sheet))
    names_needed = set(itertools.chain.from_iterable(ids.values()))
    documents = {
        document.id: document
        for document in read_corpus(Path(corpus), sheet_in(Path(corpus), read.sheet))
        if document.id in names_needed
    }
    return list(samples_of_pool(ids, queries, documents))


def _path(data: Data) -> Path:
    path = path_of(data)
    if path is None:
        raise UsageError("with a corpus, the data are the path of the queries")
    return path
