"""Metrics that are read off the verdicts of other rows, at no further call.

A row is a function of the entailment matrix of a sample. `matrix.py` is the matrix, `formulas.py` what is read off it,
`rows.py` the table of names.
"""

from __future__ import annotations

from claimeval.derived.rows import DERIVED, GROUPS, Chosen, Derived, choose, derived, scores, settle, unknown_because

__all__ = ["DERIVED", "GROUPS", "Chosen", "Derived", "choose", "derived", "scores", "settle", "unknown_because"]
