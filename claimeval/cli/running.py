"""What `score`, `demo` and `rejudge` print: the table or JSON of a run, why it stopped, and the gates that failed."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import typer

from claimeval.api.claims import Prepared, before_run, score
from claimeval.api.run import Run, check_gates
from claimeval.cli.endings import say
from claimeval.cli.progress_line import ProgressLine
from claimeval.cli.table import print_run
from claimeval.data.reading import parse_fields, parse_references
from claimeval.metrics.rows import canonical_name
from claimeval.types.errors import Interrupted, StoppedEarly, UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress


class Gates(NamedTuple):
    """The gates of a command."""

    fail_under: dict[str, float]
    fail_over: dict[str, float]
    max_missing: float = 0.01

    @classmethod
    def parse(cls, fail_under: Iterable[str] | None, fail_over: Iterable[str] | None, max_missing: float) -> Gates:
        """Read gates as they are written, `faithfulness=0.9`; UsageError for another form."""
        under, over = (
            dict(_limit(option, text) for text in texts or ())
            for option, texts in (("--fail-under", fail_under), ("--fail-over", fail_over))
        )
        return cls(under, over, max_missing)

    def check(self, prepared: Prepared) -> None:
        """Raise UsageError for a gate on a metric that the run does not have."""
        check_gates(dict.fromkeys(prepared.metrics), self.fail_under, self.fail_over)


def _limit(option: str, text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        limit = float(value)
    except ValueError:
        limit = -1.0
    if not equals or not 0 <= limit <= 1:
        raise UsageError(f"{option} {text!r} is not of the form METRIC=VALUE with a value from 0 to 1")
    return canonical_name(name), limit


class Finished(NamedTuple):
    """A run that ended, by itself or early."""

    run: Run
    progress: Progress
    stop: StoppedEarly | Interrupted | None
    """Why it stopped early; None if it is complete."""


def watch(door: Callable[[RunOptions], Run], options: RunOptions, inspect: Callable[[Prepared], None]) -> Finished:
    """Run a door with a progress line; a run that stopped early comes back as far as it went."""
    progress = Progress()

    def show(now: Progress) -> None:
        nonlocal progress
        progress = now
        line.show(now)

    with notes_on_stderr(), before_run(inspect), ProgressLine(sys.stderr) as line:
        try:
            return Finished(door(replace(options, progress=show)), progress, None)
        except (StoppedEarly, Interrupted) as stop:
            if stop.run is None:
                raise
            return Finished(stop.run, progress, stop)


def exit_code(finished: Finished, gates: Gates) -> int:
    """Return the exit code, and say on standard error why it is not 0."""
    if finished.stop:
        say(str(finished.stop))
        return 130 if isinstance(finished.stop, Interrupted) else 3
    failed = finished.run.gate(**gates._asdict())
    for problem in failed:
        say(problem)
    return 1 if failed else 0


@contextmanager
def notes_on_stderr() -> Iterator[None]:
    """Print what doors log and warn of as lines on standard error."""
    logger, handler = logging.getLogger("claimeval"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("claimeval: %(message)s"))
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: say(str(message))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


def score_and_print(
    data: Path,
    judges: Iterable[str],
    *,
    metrics: str | None = None,
    extractor: str | None = None,
    extract_prompt: str = "atomic",
    assess_prompt: str | None = None,
    references: str | None = None,
    panel: PanelOptions = PanelOptions(),
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    extract_per_judge: bool | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    options: RunOptions = RunOptions(),
    limit: int | None = None,
    fields: Iterable[str] = (),
    gates: Gates | None = None,
    json_output: bool = False,
) -> None:
    """Score, print, and exit with the code."""
    gates = gates or Gates({}, {})
    finished = watch(
        lambda options: score(
            data,
            judges=tuple(judges),
            metrics=metrics,
            extractor=extractor,
            extract_prompt=extract_prompt,
            assess_prompt=assess_prompt,
            references=parse_references(references),
            per_document=per_document,
            shuffle_contexts=shuffle_contexts,
            extract_per_judge=extract_per_judge,
            fields=parse_fields(list(fields)),
            limit=limit,
            out=out or "runs/",
            overwrite=overwrite,
            panel=panel,
            options=options,
        ),
        options,
        gates.check,
    )
    run, progress = finished.run, finished.progress
    folder = run.path
    assert folder, "the run is on disk"
    report = folder / "report.html"
    if json_output:
        paths = {"run": str(folder), "report": str(report) if report.exists() else None}
        print(json.dumps(paths | run.summary.model_dump(), indent=1, ensure_ascii=False))
    elif run.summary.samples or not finished.stop:
        print_run(folder, run.manifest, run.summary, progress.total or run.summary.samples)
        if report.exists():
            print(f"Report: {report}")
            print(f"Calls: {progress.calls} sent, {progress.cached} answered from the store")
    if progress.last_failure and any(metric.failure_rate for metric in run.summary.metrics.values()):
        say(f"the last failure: {progress.last_failure}")
    raise typer.Exit(exit_code(finished, gates))
