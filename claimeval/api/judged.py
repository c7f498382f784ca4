"""`judge`: jobs of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from pathlib import Path
from types import MappingProxyType

from claimeval.api.data import Data, Examination, Read, samples_of
from claimeval.api.hints import with_hints
from claimeval.api.jobs import Judges, blocking, parse_specs, run_prepared
from claimeval.api.run import Run
from claimeval.data.mapping import MappingSpec, Turns
from claimeval.data.reasoning import AnswerReasoning
from claimeval.evaluation import kinds
from claimeval.evaluation.kinds import JobKind, Judging
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.options import PanelOptions, RunOptions

NO_SETTINGS: Mapping[str, object] = MappingProxyType({})


@with_hints
def judge(
    job: str,
    data: Data,
    *,
    judges: Judges,
    settings: Mapping[str, object] = NO_SETTINGS,
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
    """Judge data with a job of an installed package, as `score` and `rate` do with theirs.

    Args:
        job: The name of the job.
        data: As for `score`.
        judges: As for `score`.
        settings: The job's own options by name.
        mapping: As for `score`.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        limit: The number of samples to judge, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.
        out: As for `score`; `RUN/JOB` adds the results to a run.
        overwrite: Replace a run with other settings in `out`.
        panel: How the verdicts of several judges are counted.
        options: How the judges are asked, and what may be spent.

    Returns:
        The verdicts and scores of every sample, and their summary.

    Raises:
        UsageError: Before any call, for what you can fix; also if no installed package has the job.
        DataError: A row of the data is malformed.
        StoppedEarly: As for `score`.

    Examples:
        >>> run = ce.judge("tone", "data.jsonl", judges="openai:gpt-5-mini")
        >>> run["tone"].mean
        0.5
    """
    kind = made_kind(job)
    assert kind.options, "a made kind has options"
    assert kind.prepare, "a made kind is prepared"
    known = [field.name for field in fields_of(kind.options)]
    for name in settings:
        if name not in known:
            raise unknown_name(f"setting of {job}:", name, known)
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, sheet)
    judging = Judging(parse_specs(judges), panel, read.cluster(options))
    examination = Examination(samples_of(data, read), data, read, options)
    prepared = examination.prepared(kind.prepare(judging, kind.options(**settings), examination))
    return blocking(run_prepared(prepared, out=out, overwrite=overwrite, options=options))


def made_kind(job: str) -> JobKind:
    """Return a job whose command is made from its row. Raises UsageError if there is none."""
    if job not in kinds.made_names():
        raise unknown_name("job:", job, kinds.made_names())
    kind = kinds.kind(job)
    if kind.options is None or kind.prepare is None:
        raise UsageError(f"the job {job!r} lacks options or prepare in its JobKind")
    return kind
