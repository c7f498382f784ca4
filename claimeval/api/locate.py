"""`locate`: where the fault of each failed claim of a run lies."""

from __future__ import annotations

from pathlib import Path

from claimeval.api.hints import with_hints
from claimeval.api.jobs import Judges, blocking, parse_specs, run_prepared
from claimeval.api.report import host_of
from claimeval.api.run import Run, write_page
from claimeval.data.corpora import open_corpus
from claimeval.evaluation.job import Reiterable
from claimeval.evaluation.kinds import Judging
from claimeval.evaluation.locate import make_job
from claimeval.runs.jobs import Prepared
from claimeval.runs.locate import PassageSelection, open_index
from claimeval.store.store import cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.paths import expanded
from claimeval.types.requests import Judge


@with_hints
def locate(
    run: Run | str | Path,
    *,
    corpus: str | Path,
    judges: Judges = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    sheet: str | None = None,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Judge each failed claim of a run against the passages of a corpus that are nearest to it, to
    say where the fault lies.

    Each claim is judged against ten passages that the run did not have, the neighbors of the best
    three, and the contexts of the run. The first use of a corpus indexes it; the index is kept
    beside the reply cache. The log says how many passages go where before the first call.

    Args:
        run: The run of `score` or `assess`, or its directory.
        corpus: The chunks that the retriever searched, in reading order (.jsonl, .csv, .parquet),
            each with its text and, if a fact that is split over two is to be told, its document; or
            a folder of .txt and .md files, which are split by paragraph.
        judges: As for `score`. There is no default: the corpus may hold what the judges of the run
            have never seen.
        out: As for `score`; `RUN/locate` adds the causes to a run.
        overwrite: Replace a run with other settings in `out`.
        sheet: The sheet of a spreadsheet of chunks, if it has several.
        panel: How the verdicts of several judges are counted.
        options: How the judges are asked, and what may be spent.

    Returns:
        The failed claims of every sample with their passages. The `cause` of an assessment is
        `not_retrieved`, `split`, `spread`, `unused`, `contradicted` or `not_near`; the metrics of
        these names count claims.

    Raises:
        UsageError: Before any call, for what you can fix: no judge, no failed claim, contexts that
            are not in the corpus.
        DataError: The corpus or the run cannot be read.
        StoppedEarly: As for `score`.

    Examples:
        >>> run = ce.score("answers.jsonl", judges="local:lexical", metrics="faithfulness")
        >>> located = ce.locate(run, corpus="docs.jsonl", judges="local:lexical")
        >>> list(located.summary)
        ['not_retrieved', 'split', 'spread', 'unused', 'contradicted', 'not_near']
    """
    return blocking(alocate(**locals()))


@with_hints
async def alocate(
    run: Run | str | Path,
    *,
    corpus: str | Path,
    judges: Judges = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    sheet: str | None = None,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
) -> Run:
    """Locate as `locate` does, in an asynchronous program. The arguments are the same.

    Examples:
        >>> import asyncio
        >>> run = ce.score("answers.jsonl", judges="local:lexical", metrics="faithfulness")
        >>> locating = ce.alocate(run, corpus="docs.jsonl", judges="local:lexical")
        >>> asyncio.run(locating).job
        'locate'
    """
    given = run if isinstance(run, Run) else Run.load(run)
    specs = _checked(given, judges, options)
    opened = open_corpus(expanded(corpus), sheet)
    index = open_index(opened, cache_folder(options.cache))
    selection = PassageSelection(index, opened, given.results, given.manifest)
    selection.choose()
    judging = Judging(specs, panel, options.cluster or given.manifest.cluster)
    job = make_job(judging, chunked=opened.chunked, settings=selection.settings)
    to = ", ".join(map(host_of, job.judges))
    path = given.path
    record = job.manifest.of_data(str(path) if path else None, ids=given.manifest.data.ids)
    items = Reiterable(selection.items)
    remarks = (f"{selection.in_words}. They go to {to}",)
    prepared = Prepared(job, record, items, len(given), path, remarks=remarks)
    located = await run_prepared(prepared, out=out, overwrite=overwrite, options=options)
    if path and located.path and located.path.parent.resolve() == path.resolve():
        # The page of the run begins with the causes that were just found.
        write_page(given)
    return located


def _checked(run: Run, judges: Judges, options: RunOptions) -> tuple[str | Judge, ...]:
    """Return the judges. Raises UsageError for a run that has no claims, and without judges."""
    if not run.manifest.of_claims:
        raise UsageError(
            f"{run.path or 'the run'} is a run of {run.job}, which has no claims; locate takes"
            " one of `score` or `assess`"
        )
    if judges == ():
        raise UsageError(_no_judge(run))
    if options.engine:
        raise UsageError("options.engine: locate reads its index in this process; leave it out")
    return parse_specs(judges)


def _no_judge(run: Run) -> str:
    named = [judge.name for judge in run.manifest.judges]
    options = " ".join(f"--judge {name}" for name in named)
    return (
        "no judge named: the corpus may hold what the judges of the run have never seen. With"
        f" these judges, add {options}"
    )
