"""`claimeval import-replies`: a run from recorded replies or from results of another tool."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import arguments
from claimeval.runs.views import Column, Data, columns, table
from claimeval.types.errors import visible
from claimeval.types.options import PanelOptions

if TYPE_CHECKING:
    from claimeval.runs.import_replies import JudgeReading

LISTED = {"import-replies": ("Data", 3, "Convert recorded replies or results into a run.")}
SHOWN = 10
"""Unread replies that are printed; the file lists all."""
WIDTH = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRepliesOptions:
    """Convert recorded replies of judges, or results of another tool, into a run that can be voted on and rejudged.

    Nothing is guessed: a reply that says both yes and no, or neither, is unassessed and listed in `unread.jsonl` of the
    run. A mapping for rows such as {"row": 1, "question": "...", "answer": "...", "human": "Yes", "gpt": "Yes, ..."}:

    \b
        id: row
        question: question
        answer: answer
        claim: answer            # what was judged
        against: reference
        judges: {gpt-4: gpt}     # or: items_field: outputs, judge: model, reply: raw
        forms: [first_word, answer, statement]
        human_label: human

    Forms: `first_word`, `answer` ("Answer: No"), `brackets` ("[[Yes]]"), `statement`, `tag:answer`, `json:verdict`,
    `score` ("##final score: 2"), `word`, `number`. `docs/rejudging.md` has mappings for several published files.

    Example: claimeval import-replies judged.jsonl --mapping judged.yaml --out runs/judged
    """

    file: Annotated[Path, Argument("FILE")]
    """The recorded replies: .jsonl, .json, .csv or .parquet."""
    out: Annotated[Path, Names("-o", "--out")]
    """Run directory."""
    mapping: Path | None = None
    """YAML file with the fields of sample, claim, replies and human label, and the forms of replies. Or
    `ragas` or `deepeval`; what they read is in docs/rejudging.md. Not needed for results of RAGChecker."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: question]"""
    overwrite: bool = False
    """Replace a run with other settings in --out."""
    output: Output = Output()
    panel: Annotated[PanelOptions, Heading("Panel", "vote", "tie", "quorum", "families")] = PanelOptions()


def do(args: ImportRepliesOptions) -> int:
    """Import the file, print the run and its unread replies, and return the exit code."""
    from claimeval.api import data as api
    from claimeval.cli.running import print_run
    from claimeval.runs.import_replies import COUNTS, ImportCounts

    with notes_on_stderr(quiet=True):  # the run has them
        run = api.import_replies(**arguments(args))
    counts = ImportCounts.model_validate_json((args.out / COUNTS).read_bytes())
    output = args.output
    print_run(output, args.out, run.manifest, run.record, run.record.samples)
    if counts.readings:
        head = (*columns("replies of", numbers=("replies", "read", "abstained", "refused", "none")), Column("read as"))
        output.draw([table("replies", head, [_cells(judge, read) for judge, read in counts.readings.items()])])
        _print_unread(output, args.out)
    if counts.labels:
        output.line(f"{counts.labels} human labels: `claimeval agreement {args.out}` compares the judges with them")
    record = {
        "readings": {judge: reading.model_dump() for judge, reading in counts.readings.items()},
        "labels": counts.labels,
        "repeated_claims": counts.repeated,
        **run.record.model_dump(),
    }
    return output.result("import-replies", record, path=args.out)


import_replies = command("import-replies", ImportRepliesOptions, do)


def _cells(judge: str, reading: JudgeReading) -> tuple[str | int, ...]:
    counts = reading.replies, reading.read, reading.unsure, sum(reading.refused.values()), reading.missing
    return Data(judge), *counts, ", ".join(f"{form} {n}" for form, n in reading.forms.items())


def _print_unread(output: Output, out: Path) -> None:
    import itertools

    from claimeval.runs.import_replies import UNREAD

    path = out / UNREAD
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        first = [json.loads(line) for line in itertools.islice(file, SHOWN)]
    output.line()
    output.line(f", and so unassessed; all are in {path}", bold="Not read")
    for unread in first:
        output.line(f"{unread['sample']} {unread['judge']}: {unread['because']}", indent=1)
        output.line(visible(unread["reply"], WIDTH), style="dim", indent=3)
