"""Doors that rate whole answers.

The front doors of `claimeval relevance` and `claimeval retrieval`, over what samples retrieved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from claimeval.api.data import NO_FIELDS, Data, path_of, samples_of
from claimeval.api.jobs import Judges, Prepared, parse_specs, run_prepared, without_labels
from claimeval.api.reports import SideReport, judged, material, reported
from claimeval.api.run import Run, raise_if_stopped
from claimeval.api.twins import blocking_twin
from claimeval.evaluation import matching, relevance, relevance_run, retrieval
from claimeval.evaluation.rate import RateOptions
from claimeval.evaluation.rate import make_job as rate_job
from claimeval.evaluation.relevance import PER_CALL, Graded
from claimeval.evaluation.relevance_run import RelevanceSummary, grade_all, grading_plan
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Judge
from claimeval.types.scales import Scale

_NO_PROMPTS: Mapping[str, str | Path] = MappingProxyType({})


async def arate(
    data: Data,
    *,
    judges: Judges,
    ask: str | Sequence[str] | None = None,
    prompts: Mapping[str, str | Path] = _NO_PROMPTS,
    fields: Mapping[str, str] = NO_FIELDS,
    limit: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge whole answers. `rate` blocks, `arate` is awaited; both take the same arguments.

    Args:
        data: As for `score`.
        judges: As for `score`.
        ask: Any of `relevance`, `faithfulness`, `correctness`, `abstention`, as a list or one text with commas. None:
            what the data can feed.
        prompts: Names or paths of prompts by question.
        fields: As for `score`.
        limit: The number of samples to judge, from the first; None for all.
        out: As for `score`; `RUN/rate` sets the ratings beside the scores of a run.
        overwrite: Replace a run with other settings in `out`.
        panel: How the ratings of several judges are counted. Default: relevance by the median, the rest by majority.
        options: How the judges are asked, and what may be spent.

    Returns:
        The verdicts and scores of every answer, and their summary.

    Raises:
        UsageError: Before any call, for what you can fix.
        DataError: A row of the data is malformed.
        StoppedEarly: As for `score`.
    """
    samples = samples_of(data, fields=fields, limit=limit)
    check_cluster(options.cluster, samples)
    wanted = RateOptions(
        judges=parse_specs(judges),
        ask=ask.split(",") if isinstance(ask, str) else ask,
        prompts={name: str(prompt) for name, prompt in prompts.items()},
        panel=panel,
        cluster=options.cluster,
    )
    job = rate_job(wanted, samples)
    path = path_of(data)
    record = job.manifest.of_data(str(path) if path else None, limit=limit)
    prepared = Prepared(job, record, samples, sum(1 for _ in samples), path)
    return await run_prepared(prepared, out=out, overwrite=overwrite, panel=panel, options=options)


rate = blocking_twin(arate)


class Grading(NamedTuple):
    """Documents graded for relevance."""

    grades: tuple[Graded, ...]
    """A row a pair of sample and document, with every judge's grade and reason."""
    qrels: dict[str, dict[str, int]]
    """Sample to document to grade, without the holes; what `claimeval.ir.evaluate` takes."""
    summary: RelevanceSummary
    scores: SideReport
    """Context relevance and context precision of each sample."""


async def agrade_relevance(
    data: Data,
    *,
    judges: Sequence[str | Judge],
    scale: str | Scale = "umbrela",
    prompt: str = "steps",
    per_call: int = PER_CALL,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Grading:
    """Has judges grade how relevant the contexts of each sample are to its question.

    `scale` is `umbrela` (0 to 3), `graded`, `binary`, a YAML file or a `Scale`; `per_call` the documents in
    one call. Several grades become one by the median unless `panel.vote` says otherwise.
    """
    plan = grading_plan(judges, scale, prompt, per_call=per_call, panel=without_labels(panel))
    asked = material(data).samples
    items = list(relevance.of_samples(asked, per_call))
    unit = "pairs" if per_call == 1 else "groups"
    progress = Progress(relevance.survey(items).items, options.progress, unit=unit)
    grades: list[Graded] = []
    outcome = await grade_all(items, plan, grades.extend, source="samples", options=options, progress=progress)
    raise_if_stopped(outcome.ending)
    rows = relevance_run.rows(asked, outcome.qrels, outcome.holes, plan.scale)
    scores = reported(rows, asked, "relevance", outcome.summary.settings, options.cluster)
    return Grading(tuple(grades), outcome.qrels, outcome.summary, scores)


grade_relevance = blocking_twin(agrade_relevance)


async def ascore_retrieval(
    data: Data,
    *,
    measures: str = retrieval.MEASURES,
    match: retrieval.Match | Literal["judge"] = "ids",
    fold: str | None = None,
    judges: Sequence[str | Judge] = (),
    prompt: str = "same_content",
    per_call: int = PER_CALL,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> SideReport:
    """Rank metrics of what each sample retrieved, against its reference contexts.

    `match` says how they are compared: by `ids` (after `fold` was cut out of them), by `text`, or by a `judge` where
    the texts leave it open; only then `judges` and what follows count.
    """
    asked = retrieval.asked(measures)
    shown = material(data).samples
    if match != "judge":
        if judges:
            raise UsageError(f"match={match!r} asks nobody; leave judges out, or say match='judge'")
        rows = retrieval.score(shown, asked, match, fold=fold)
        settings = {"match": match, **({"fold": fold} if fold else {})}
        return reported(rows, shown, "retrieval", settings, options.cluster)
    if fold:
        raise UsageError("contexts are folded by their ids, as with match='ids'; leave fold out")
    plan = matching.matching_plan(judges, prompt, per_call=per_call, panel=without_labels(panel))
    work = matching.matching_work(plan, asked)
    return await judged(shown, work, "retrieval", matching.settings(plan), options)


score_retrieval = blocking_twin(ascore_retrieval)
