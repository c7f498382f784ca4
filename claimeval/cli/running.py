"""What `score` and `demo` do: check the data, carry the plan out, print the table, keep the gates."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import typer

from claimeval.api import choose_metrics, incomplete, make_plan
from claimeval.cli.progress_line import ProgressLine
from claimeval.cli.table import print_run
from claimeval.data.reading import parse_fields, read_samples
from claimeval.data.survey import survey
from claimeval.errors import UsageError
from claimeval.evaluation import Outline, carry_out, identity
from claimeval.execution.limits import Limits
from claimeval.execution.progress import Progress
from claimeval.judges import notes as notes_of
from claimeval.metrics import METRICS, ClaimMetric, rows
from claimeval.records import Sample
from claimeval.run import Manifest, RunWriter, Summary, manifest
from claimeval.store import default_folder


class Settings(NamedTuple):
    """The options of a scoring command, as they were given."""

    data: Path
    judges: tuple[str, ...]
    metrics: tuple[str, ...] | None = None
    extractor: str | None = None
    extract_prompt: str = "atomic"
    assess_prompt: str = "three_way"
    out: Path | None = None
    overwrite: bool = False
    cache: Path | None = None
    limits: Limits = Limits()
    limit: int | None = None
    fields: tuple[str, ...] = ()
    fail_under: tuple[str, ...] = ()
    max_missing: float = 0.01
    offline: bool = False
    json: bool = False


def run_and_tell(settings: Settings) -> None:
    """Runs a scoring command to its end and exits with its code."""
    fields = parse_fields(list(settings.fields))

    def samples() -> Iterator[Sample]:
        return itertools.islice(read_samples(settings.data, fields=fields), settings.limit)

    asked = rows(settings.metrics) if settings.metrics else None
    found = survey(samples(), asked or tuple(METRICS.values()))
    metrics = choose_metrics(asked, found)
    for lack, names in incomplete(found, metrics).items():
        _say(f"{lack}: counted as missing_input in {', '.join(names)}")
    gates = [_gate(text, metrics) for text in settings.fail_under]
    plan = make_plan(settings.judges, settings.extractor, metrics, settings.extract_prompt, settings.assess_prompt)
    notes = notes_of((*plan.judges, plan.extractor))
    record = manifest(plan, notes, str(settings.data))
    folder = settings.out or _default_folder(record)
    writer = RunWriter(folder, record, overwrite=settings.overwrite)
    with ProgressLine(sys.stderr) as line:
        outline = asyncio.run(
            carry_out(
                samples(),
                plan,
                notes=notes,
                cache=settings.cache or default_folder(),
                limits=settings.limits,
                progress=Progress(found.samples, line.show),
                offline=settings.offline,
                on_result=writer.add,
                run=identity(plan, samples()) if settings.limits.capped else "",
            )
        )
    writer.finish(outline.summary)
    if settings.json:
        print(json.dumps({"run": str(folder), **outline.summary.model_dump()}, indent=1, ensure_ascii=False))
    else:
        print_run(folder, record, outline.summary, found.samples)
    raise typer.Exit(_code(outline, gates, settings.max_missing))


def _default_folder(record: Manifest) -> Path:
    digest = hashlib.sha256(record.model_dump_json(exclude={"versions"}).encode()).hexdigest()
    return Path("runs") / f"{Path(record.data or 'data').stem}-{digest[:8]}"


def _gate(text: str, metrics: tuple[ClaimMetric, ...]) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        least = float(value)
    except ValueError:
        least = -1.0
    if not equals or not 0 <= least <= 1:
        raise UsageError(f"--fail-under {text!r} is not of the form METRIC=VALUE with a value from 0 to 1")
    if name not in {metric.name for metric in metrics}:
        raise UsageError(f"--fail-under {text!r}: this run has no metric {name!r}")
    return name, least


def ending(outline: Outline) -> int:
    """Says on standard error why a run ended before its last sample, and gives the exit code; 0 if it did not."""
    if outline.interrupted:
        _say("interrupted; what was paid for is stored, and the same command goes on from here")
        return 130
    for judge, message in outline.stopped.items():
        _say(f"judge {judge} was stopped: {message}")
    if outline.over_budget:
        _say(f"the cap is reached: {outline.over_budget}. The same command with a higher cap goes on from here")
        return 3
    if not outline.summary.complete:
        _say("stopped before the last sample; mend the cause, and the same command goes on from here")
        return 3
    return 0


def _code(outline: Outline, gates: list[tuple[str, float]], max_missing: float) -> int:
    """The exit code, said on standard error if it is not 0."""
    if code := ending(outline):
        return code
    failed = _failed_gates(outline.summary, gates, max_missing)
    for problem in failed:
        _say(problem)
    return 1 if failed else 0


def _failed_gates(summary: Summary, gates: list[tuple[str, float]], max_missing: float) -> list[str]:
    low = [
        f"gate failed: {name} is {'undefined' if mean is None else f'{mean:.3f}'}, below {least:g}"
        for name, least in gates
        if (mean := summary[name].mean) is None or mean < least
    ]
    lost = [
        f"gate failed: {name} lost {metric.failure_rate:.1%} of samples or claims to failures, over --max-missing"
        for name, metric in summary.metrics.items()
        if metric.failure_rate > max_missing
    ]
    return low + lost


def _say(text: str) -> None:
    print(f"claimeval: {text}", file=sys.stderr)
