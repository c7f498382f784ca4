"""What `claimeval queries` does: draw documents, have questions written, say what became of them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from claimeval.cli.endings import ending_code
from claimeval.cli.progress_line import ProgressLine
from claimeval.cli.quoting import quote_and_tell
from claimeval.data.corpora import read_corpus
from claimeval.evaluation.queries import WritingPlan
from claimeval.evaluation.queries_run import DATA, QRELS, draw, prospects, run
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress


def make_and_tell(
    corpus: Path,
    plan: WritingPlan,
    *,
    count: int,
    seed: int,
    out: Path | None,
    only_plan: bool,
    options: RunOptions,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Makes the test set and prints what was kept; exits with the code."""
    documents = draw(read_corpus(corpus), count, seed)
    if only_plan:
        quote_and_tell(prospects(documents, plan), options, as_json=as_json)
        return
    folder = out or Path("runs") / f"{corpus.stem}-queries"
    with ProgressLine(sys.stderr) as line:
        outcome = asyncio.run(
            run(
                documents,
                plan,
                folder,
                corpus=corpus.name,
                seed=seed,
                options=options,
                progress=Progress(len(documents), line.show, unit="documents"),
                overwrite=overwrite,
            )
        )
    made = outcome.summary
    if as_json:
        shown = made.model_dump(mode="json", exclude={"prompts"})
        print(json.dumps({"folder": str(folder), **shown}, indent=1, ensure_ascii=False))
    else:
        print(f"{made.documents} documents, {made.written} questions written, {made.kept} kept")
        _list("rejected", made.rejected)
        _list("failed", made.failures)
        if made.complete:
            print(f"Test set: {folder / DATA}\nQrels: {folder / QRELS}")
    raise typer.Exit(ending_code(outcome.ending))


def _list(what: str, counts: Mapping[str, int]) -> None:
    if counts:
        print(f"{what}: " + ", ".join(f"{n} {reason}" for reason, n in counts.items()))
