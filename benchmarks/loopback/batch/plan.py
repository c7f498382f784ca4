"""The plan of batches: how long they take, how they end and which lines fail, all from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.loopback.faults import check_rates, choose, draw, named

OUTCOMES: Mapping[str, str] = {
    "completed": "all lines ran",
    "failed": "refused as a whole after validation; nothing ran",
    "token_limit": "refused as a whole because too many tokens are queued; may be sent again later",
    "expired": "the time was up after half of the lines",
    "all_failed": "completed, but every line failed: an error file and no output file",
    "blank_error_id": "completed, and the id of the absent error file is an empty string",
    "lost_output": "completed, and the output file cannot be found",
    "cut_output": "completed, and the output file ends in the middle of a line half way through",
    "unknown_status": "a status that no documentation names, then completed",
    "stuck": "in progress for ever",
}

CREATES: Mapping[str, str] = {
    "unheard": "the batch is made, the connection resets before the reply",
    "unanswered": "the batch is made, the reply never comes",
    "refused": "status 500, no batch is made",
    "rejected": "status 400, no batch is made",
    "refused_yet_made": "status 500, and yet the batch is made",
}
"""Faults of a request to create a batch."""

ONLY_LINES: Mapping[str, str] = {
    "missing": "in neither file; did not run",
    "expired": "in the error file: did not run in time",
    "no_response": "in the error file: no response, an error nobody documented",
    "duplicate": "twice in the output file",
    "conflict": "twice in the output file, the second time with other words",
    "garbled": "cut in the middle: no JSON",
    "stranger": "followed by a line with a custom_id that nobody sent",
    "rate_limited_in_output": "in the output file, with status 429 inside",
}
NOT_IN_LINES = {"empty_body", "html_page", "html_as_json", "truncated_json", "closed_after"}
LINES = (
    *ONLY_LINES,
    *(
        k
        for k in named("rate", "fatal", "transient", "malformed", "unusable", "odd")
        if k not in NOT_IN_LINES
    ),
)
"""Faults of a line: those of `ONLY_LINES`, and those of single calls that can occur in a line."""


@dataclass(frozen=True, kw_only=True)
class Batching:
    """The plan for all batches of one server; batches are counted from 0 in order of creation."""

    seed: int = 0
    seconds: float = 0.0
    """Seconds from creation to the end. With 0, a batch has ended before its first status
    request."""
    spread: float = 0.0
    """Maximum number of additional seconds, drawn for each batch."""
    outcomes: tuple[str, ...] = ()
    """Outcomes of the first batches (see OUTCOMES); all others are completed."""
    creates: tuple[str | None, ...] = ()
    """Faults of the first requests to create a batch (see CREATES); None for no fault."""
    lines: Mapping[str, float] = field(default_factory=dict)
    """Share of lines by kind of fault (see LINES); the sum is at most 1."""
    faulty_batches: int | None = None
    """Number of batches, from the first, with line faults; None for all."""
    rotated: bool = False
    """Whether every result has the custom_id of the next line."""
    max_requests: int = 50_000
    max_bytes: int = 200_000_000
    """The limits of one input file, as OpenAI documents them."""

    def __post_init__(self) -> None:
        for kind, given, known in (
            ("outcomes", self.outcomes, OUTCOMES),
            ("creates", self.creates, CREATES),
        ):
            unknown = {*given} - {None} - {*known}
            if unknown:
                raise ValueError(
                    f"unknown {kind} {sorted(map(str, unknown))}; known are {sorted(known)}"
                )
        check_rates(self.lines, LINES)

    def duration(self, n: int) -> float:
        """Return the seconds that batch ``n`` takes."""
        return self.seconds + self.spread * draw(f"batch {self.seed} {n}")

    def outcome(self, n: int) -> str:
        """Return the outcome of batch ``n``."""
        return self.outcomes[n] if n < len(self.outcomes) else "completed"

    def create(self, n: int) -> str | None:
        """Return the fault of the ``n``-th request to create a batch."""
        return self.creates[n] if n < len(self.creates) else None

    def line(self, n: int, custom_id: str) -> str | None:
        """Return the fault of a line of batch ``n``."""
        if self.faulty_batches is not None and n >= self.faulty_batches:
            return None
        return choose(self.lines, f"line {self.seed} {n} {custom_id}")
