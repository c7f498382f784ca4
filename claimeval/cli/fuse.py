"""`claimeval fuse`: one ranking from several."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Out

LISTED = ("Retrieval", 3, "Fuse rankings by reciprocal rank.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FuseOptions:
    """Fuse rankings by reciprocal rank: score = sum of 1 / (k + rank).

    Example: claimeval fuse bm25.run dense.run -o fused.run && claimeval rank qrels.txt fused.run
    """

    trec_runs: Annotated[tuple[Path, ...], Argument("TREC_RUN")]
    """TREC runs: query, Q0, document, rank, score, tag."""
    k: Annotated[int, Names("-k", "--rank-constant")] = 60
    """The larger, the less the first ranks stand out."""
    depth: Annotated[int | None, Names("-d", "--depth")] = None
    """Documents to keep per query; all by default."""
    tag: str = "rrf"
    """Tag of the new run."""
    out: Out = None
    """File to write; standard output by default."""
    output: Output = Output()


def do(given: FuseOptions) -> int:
    """Fuse the runs, write the result, and return the exit code."""
    from claimeval import ir

    fused = ir.fuse(given.trec_runs, given.k, given.depth)
    if given.out is None:
        lines = io.StringIO()
        ir.write_run(fused, lines, given.tag)
        given.output.data(lines.getvalue())
    else:
        with given.out.open("w", encoding="utf-8", errors="surrogateescape") as file:
            ir.write_run(fused, file, given.tag)
    record = {"queries": len(fused), "documents": sum(map(len, fused.values()))}
    return given.output.result("fuse", record, path=given.out)


fuse = command("fuse", FuseOptions, do)
