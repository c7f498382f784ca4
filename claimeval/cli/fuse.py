"""`claimeval fuse`: reciprocal rank fusion of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fuse(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="TREC runs to fuse.")],
    k: Annotated[
        int, typer.Option("--rank-constant", "-k", help="The larger, the less the first ranks stand out.")
    ] = 60,
    depth: Annotated[
        int | None, typer.Option("--depth", "-d", help="Keep so many documents per query.", show_default=False)
    ] = None,
    tag: Annotated[str, typer.Option(help="The tag of the new run.")] = "rrf",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write the run; standard output unless said.", show_default=False),
    ] = None,
) -> None:
    """Fuse runs by reciprocal rank: score = sum of 1 / (k + rank).

    Example: `claimeval fuse bm25.run dense.run -o fused.run && claimeval rank qrels.txt fused.run`
    """
    import sys

    from claimeval import ir

    fused = ir.fuse(runs, k, depth)
    if out is None:
        ir.write_run(fused, sys.stdout, tag)
    else:
        with out.open("w", encoding="utf-8", errors="surrogateescape") as file:
            ir.write_run(fused, file, tag)
