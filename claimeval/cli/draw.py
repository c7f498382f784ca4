"""`claimeval draw`: a test set from logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Fields, Out, arguments
from claimeval.cli.terminal import write_data
from claimeval.types.errors import UsageError
from claimeval.types.options import require_at_least

LISTED = ("Data", 1, "Draw a test set from logs or traces.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawOptions:
    """Draw a test set from logs, in one pass over a log of any size, seeded.

    Each row keeps its fields and gets `drawn`: the file and row it comes from, its stratum, and the probability with
    which a question like it is drawn, for estimates about the whole log.

    Example: claimeval draw log.jsonl --n 200 --stratify metadata.topic -o test.jsonl

    Example: claimeval draw traces.jsonl --every 1000 --seed 7 -o test.jsonl

    Example: zcat logs/*.jsonl.gz | claimeval draw - --n 200 -o test.jsonl
    """

    log: Annotated[Path, Argument("LOG")]
    """Questions as they were asked, or traces: .jsonl, .json, .csv or .parquet; `-` is JSON Lines on standard input."""
    n: Annotated[int | None, Names("-n", "--n")] = None
    """Rows to draw.  [default: 200]"""
    every: int | None = None
    """Draw one in N different questions instead, of a log of any size."""
    stratify: str | None = None
    """Field whose values get their share each, as in generator or metadata.topic."""
    min_per_stratum: int = 15
    """With --stratify: least rows of each value, if it has so many."""
    seed: int = 0
    """Another seed draws other rows."""
    keep_duplicates: bool = False
    """Draw rows, not questions; by default equal questions are one, and of near duplicates one stays."""
    duplicate_threshold: float = 90.0
    """Similarity of words, of 100, from which two questions are near duplicates."""
    fields: Fields = field(default_factory=dict)
    """question=COLUMN, if the question has none of the usual names."""
    out: Out = None
    """File to write, .jsonl; standard output by default."""
    output: Output = Output()

    def __post_init__(self) -> None:
        require_at_least(self, 1, "n", "every", "duplicate_threshold")
        require_at_least(self, 0, "min_per_stratum")
        if self.duplicate_threshold > 100:
            raise UsageError(f"duplicate_threshold: {self.duplicate_threshold!r}; it needs 100 or less")


def do(given: DrawOptions) -> int:
    """Draw and write the rows, print what was drawn, and return the exit code."""
    from dataclasses import replace

    from claimeval.api import data as api
    from claimeval.cli.running import notes_on_stderr
    from claimeval.data.sampling import COUNT

    out, output = given.out, given.output
    if output.json and out is None:
        raise UsageError("--json prints what was drawn: say with --out where the rows go")
    with notes_on_stderr(quiet=output.quiet):
        found = api.draw(**arguments(given))
    if not out:
        write_data(api.as_lines(found))
        output = replace(output, json=True)  # the rows are on standard output, the table goes to standard error
    rows = [
        (
            name or "all",
            str(one.rows),
            f"{'' if one.exact else 'about '}{one.questions}",
            str(one.drawn),
            str(one.near_duplicates),
        )
        for name, one in found.strata.items()
    ]
    output.table((given.stratify or "log", "rows", "different", "drawn", "near duplicates left out"), rows)
    if found.empty_questions:
        output.line(f" {found.empty_questions} rows with an empty question left out", style="dim")
    if not given.every and len(found) < (wanted := given.n or COUNT):
        output.line(f" {len(found)} of {wanted} wanted: the log has no more that are different", style="dim")
    if not out:
        return 0
    output.line(f"Test set: {out}")
    strata = {name: one._asdict() for name, one in found.strata.items()}
    record = {"out": str(out), "drawn": len(found), "empty": found.empty_questions, "strata": strata}
    return output.result("draw", record)


draw = command("draw", DrawOptions, do)
