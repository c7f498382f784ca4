"""Result files of other tools, recognised by shape and read as runs: RAGChecker, ragas, deepeval.

RAGChecker keeps claims and a label for every claim and document: those are verdicts. deepeval's logs and ragas' traces
keep statements with verdicts where they were saved. Every tool's own scores are kept beside, under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from claimeval.data.foreign import deepeval, ragas, ragchecker
from claimeval.data.foreign.records import RecordedResults
from claimeval.data.rows import SourceRow, read_rows

READERS: dict[str, tuple[Callable[[SourceRow], bool], Callable[[Path], RecordedResults]]] = {
    "ragchecker": (ragchecker.fits, ragchecker.judged),
    "deepeval": (deepeval.fits, deepeval.judged),
    "ragas": (ragas.fits, ragas.judged),
}
"""By tool: whether a row is of its shape, and the reader. A new tool is a file and a row."""


def recognised(path: Path) -> RecordedResults | None:
    """What a result file holds; None where its first row is of no known shape."""
    rows: Iterator[SourceRow] = read_rows(path)
    first = next(rows, None)
    if first is None:
        return None
    for fits, judged in READERS.values():
        if fits(first):
            return judged(path)
    return None
