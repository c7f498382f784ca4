"""What `claimeval correct` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.data.labels import HumanLabel, read_labels
from claimeval.runs.import_replies import LABELS
from claimeval.runs.labels.correct import Corrected, Method, Number, correct
from claimeval.runs.labels.draw import LabelFile, metric_of
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.errors import UsageError


def correct_and_tell(
    run: Path,
    labels: Path | None,
    metric: str | None,
    method: Method,
    seed: int,
    cluster: str | None = None,
    *,
    as_json: bool,
) -> None:
    """Corrects one metric of a run and prints the three numbers."""
    found = correct(run, metric, _labels(run, labels, metric), method, seed, cluster)
    if as_json:
        print(json.dumps(found.model_dump(), indent=1))
        return
    console = Console(highlight=False, emoji=False)
    what = "micro" if found.unit == "claim" else "share of samples with every claim supported"
    of = "judged claims" if found.unit == "claim" else "samples with a judged claim"
    console.print(
        f"\n[bold]{escape(found.metric)}[/], {what}: {found.items} {of}, {found.labelled} of them labelled",
        soft_wrap=True,
    )
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("by", no_wrap=True)
    for name in ("value", "95 % interval", "width"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, number in (
        ("the judges alone", found.judge),
        (f"corrected ({found.method})", found.corrected),
        ("people alone", found.human),
    ):
        table.add_row(name, *_cells(number))
    print_whole(console, table)
    for remark in _remarks(found):
        console.print(f"- {escape(remark)}")


def _labels(run: Path, labels: Path | None, metric: str | None) -> Iterable[HumanLabel]:
    if labels:
        return read_labels(labels)
    given = LabelFile(run, metric_of(run, metric).name).given
    if given:
        return given
    if (run / LABELS).exists():
        return read_labels(run / LABELS)
    raise UsageError(f"no labels yet: give some with `claimeval annotate {run}`, or name a file with --labels")


def _cells(number: Number) -> list[str]:
    if number.value is None:
        return [f"- ({number.undefined_because})", "-", "-"]
    width = None if number.low is None or number.high is None else number.high - number.low
    return [decimal(number.value), interval((number.low, number.high)), decimal(width)]


def _remarks(found: Corrected) -> list[str]:
    remarks = ["the judges' own interval knows nothing of their errors"]
    if found.judge_weight is not None:
        remarks.append(f"the judges count {decimal(found.judge_weight, 2)} (0 not at all, 1 fully)")
    if found.labels_to_halve is not None:
        remarks.append(f"{found.labels_to_halve} more labels would halve the corrected interval")
    if words := found.labels.words():
        remarks.append(f"labels {words}")
    if found.unmatched:
        remarks.append(f"{found.unmatched} labels are about no judged claim of {found.metric}")
    return remarks
