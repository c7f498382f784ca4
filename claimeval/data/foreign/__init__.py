"""Results and recorded replies of other tools, read as samples with verdicts.

The result files of RAGChecker, ragas and DeepEval are recognized by their fields. The tools' scores are kept under
their names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from claimeval.data.foreign import deepeval, ragas, ragchecker
from claimeval.data.foreign.records import RecordedResults
from claimeval.data.rows import SourceRow, read_rows

READERS: dict[str, tuple[Callable[[SourceRow], bool], Callable[[Path], RecordedResults]]] = {
    "ragchecker": (ragchecker.recognizes, ragchecker.recorded_results),
    "deepeval": (deepeval.recognizes, deepeval.recorded_results),
    "ragas": (ragas.recognizes, ragas.recorded_results),
}
"""For each tool, the function that recognizes its rows and the function that reads its files."""


def recognize(path: Path) -> RecordedResults | None:
    """Return the results of a file, or None if its first row is not from a tool in `READERS`."""
    first = next(iter(read_rows(path)), None)
    if first is None:
        return None
    return next((read(path) for recognizes, read in READERS.values() if recognizes(first)), None)
