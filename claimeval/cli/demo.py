"""`claimeval demo`: score the bundled samples with the local judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from claimeval.cli.command import Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Gates
from claimeval.types.options import RunOptions

LISTED = ("Start", 1, "Score bundled samples with a local judge: no key, no model.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Score the bundled samples with a local judge that matches words. Needs no key, no model and no network.

    The samples have planted mistakes: wrong numbers, swapped names, negations, inventions. The local judge compares
    words, not meaning: name a real judge in `claimeval score` for numbers to rely on.
    """

    out: Annotated[Path, Names("-o", "--out")] = Path("runs/demo")
    """Run directory."""
    output: Output = Output()


def do(given: DemoOptions) -> int:
    """Score the samples, print the run, and return the exit code."""
    from claimeval.api.claims import score
    from claimeval.cli.running import print_finished, watch
    from claimeval.data.corpora import bundled

    finished = watch(
        lambda options: score(
            bundled("demo.jsonl"), judges="local:lexical", out=given.out, overwrite=True, options=options
        ),
        RunOptions(),
        Gates(),
        given.output,
    )
    return print_finished("demo", finished, given.output)


demo = command("demo", DemoOptions, do)
