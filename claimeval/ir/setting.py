"""How one measure is asked: relevance level, cutoff and further options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MeasureSettings:
    """What a formula needs to know besides the ranking."""

    level: int = 1
    """The lowest grade that counts as relevant."""
    cutoff: float | None = None
    """Only the first so many documents are looked at; for ``iprec`` the recall, 0 to 1."""
    options: Mapping[str, float] = field(default_factory=dict)
    """``p`` of rank-biased precision, ``beta`` of set_F, gains by grade of nDCG."""
    binary: bool = False
    """A relevance level was asked for, so a measure that is graded by default counts relevant documents as 1."""
