"""What judges are asked about claims, for the command line and for Python: each option is stated
here once.

The first line of a field's docstring is its help on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from claimeval.types.options import require_at_least
from claimeval.types.requests import ClaimsPerCall, Judge

Reasons = Literal["all", "unsupported", "none"]
Quotes = Literal["yes", "no"]


@dataclass(frozen=True, kw_only=True)
class Questions:
    """What judges are asked about claims: who splits texts, with which prompts, and what is in one
    question. None: as in the run that is judged again, else the default."""

    extractor: str | Judge | None = None
    """Extracts the claims.  [default: the first judge]"""
    extract_prompt: str | None = None
    """atomic, bullets, or a .j2 file.  [default: atomic]"""
    assess_prompt: str | None = None
    """three_way, binary or .j2.  [default: three_way]

    `partial` is the default where a metric counts partial support.
    """
    claims_per_call: ClaimsPerCall | None = None
    """A number, or auto.  [default: the judge's]

    Claims in one question; `auto` is as many as the model can handle.
    """
    reasons: Reasons | None = None
    """all, unsupported or none.  [default: unsupported]

    The verdicts that come with a reason.
    """
    quotes: Quotes | None = None
    """Claims come with a quote: yes, no.  [default: yes]"""
    per_document: bool | None = None
    """Also assess against each document alone."""
    shuffle_contexts: int | None = None
    """Also assess under N other document orders."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "shuffle_contexts")

    @property
    def asked_parameters(self) -> dict[str, str]:
        """The parameters of the shipped prompts that are set."""
        values = {"reasons": self.reasons, "quotes": self.quotes}
        return {name: value for name, value in values.items() if value is not None}
