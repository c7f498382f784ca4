"""ragas and deepeval at the same work, for `pipeline_speed`, where they are installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from claimeval.records import Sample


class Cost(NamedTuple):
    """CPU milliseconds."""

    a_sample: float
    a_request: float


PER_CALL: dict[str, Callable[[str, list[Sample], int], float | None]] = {}
CACHED: dict[str, Callable[[list[Sample]], Cost | None]] = {}
