"""`claimeval locate`: where the fault of each failed claim of a run lies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import claimeval as ce
from claimeval.cli import shared
from claimeval.cli.command import Heading, command
from claimeval.cli.printer import Output
from claimeval.types.options import RunOptions


@command("locate")
class LocateCommand:
    """Say where the fault of each failed claim of a run lies: in the corpus, in retrieval or in the
    answer.

    Each claim is judged once, against the ten passages of the corpus that are nearest to it and
    that the run did not have, the neighbors of the best three, and the contexts of the run.

    Example: claimeval locate runs/a --corpus chunks.jsonl -j openai:gpt-5-mini
    """

    run: Annotated[Path, "RUN"]
    """A run of score."""
    corpus: Path
    """The chunks in reading order (.jsonl, .csv, .parquet), or a folder of .txt and .md."""
    judges: shared.Judges = ()
    """PROVIDER:MODEL[@URL] or judge file; repeatable. The corpus goes there in parts."""
    out: shared.Out = None
    """Run directory.  [default: RUN/locate]"""
    overwrite: bool = False
    """Replace a run with other settings in --out."""
    sheet: str | None = None
    """The sheet of a spreadsheet of chunks that has several."""
    shown: shared.Front = shared.Shown()
    output: Output = Output()
    gates: Annotated[shared.GateOptions, Heading("Results and gates", "max_missing")] = (
        shared.GateOptions()
    )
    options: shared.Asking = RunOptions()

    def door(self, options: RunOptions) -> ce.Run:
        return ce.locate(
            self.run,
            corpus=self.corpus,
            judges=self.judges,
            out=self.out or "runs/",
            overwrite=self.overwrite,
            sheet=self.sheet,
            options=options,
        )

    def do(self) -> int:
        from claimeval.cli.running import watch

        watched = watch("locate", self.door, self.options, self.gates, self.output)
        return watched.show(shown=self.shown)
