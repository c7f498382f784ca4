"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from claimeval.cli.command import Argument, Heading, Names
from claimeval.types.options import PanelOptions, RunOptions, require_at_least

Data = Annotated[Path, Argument("DATA")]
Judges = Annotated[tuple[str, ...], Names("-j", "--judge")]
Metrics = Annotated[str | None, Names("-m", "--metrics")]
Out = Annotated[Path | None, Names("-o", "--out")]
Panel = Annotated[
    PanelOptions,
    Heading("Panel", "vote", "tie", "quorum", "replicates", "escalate", "on_same_family", "families", "labels"),
]
_COST = Heading(
    "Cost and speed",
    "max_cost", "max_calls", "prices", "offline", "ask_again", "cache", "concurrency", "rpm", "tpm", "timeout",
)  # fmt: skip
_BATCHES = Heading("Batches and machines", "batch", "batch_retries", "detach", "online")
Asking = Annotated[RunOptions, _COST, _BATCHES]
AskingAndCluster = Annotated[RunOptions, _COST, _BATCHES, Heading("Results and gates", "cluster")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """Which samples are read, and under which names."""

    limit: int | None = None
    """Only the first N samples."""
    fields: Annotated[tuple[str, ...], Names("--field")] = ()
    """FIELD=COLUMN, as in answer=draft. Repeatable."""
    skip_malformed: bool = False
    """Leave out rows that cannot be read, and list them."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Limits on the results; a failed one ends the command with exit code 1."""

    fail_under: tuple[str, ...] = ()
    """METRIC=X: exit 1 when lower. Repeatable."""
    fail_over: tuple[str, ...] = ()
    """METRIC=X: exit 1 when higher. Repeatable."""
    max_missing: float = 0.01
    """Exit 1 when more is lost to failures."""
    by: str | None = None
    """Also a table by this field, as in metadata.topic."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "max_missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What the judges are asked when a run is judged again; None as in the run."""

    extractor: str | None = None
    """Who extracts the claims; as in the run by default."""
    extract_prompt: str | None = None
    """Extract all claims again: atomic, bullets, or a .j2 file."""
    assess_prompt: str | None = None
    """three_way, binary, or a .j2 file; as in the run by default."""
    per_document: bool | None = None
    """Assess each document alone, then all."""
    shuffle_contexts: int | None = None
    """Assess again under N other orders."""
    extract_per_judge: bool = False
    """Each judge extracts and assesses separate claims."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "shuffle_contexts")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreQuestions(Questions):
    """What the judges are asked."""

    extractor: str | None = None
    """Who extracts the claims; the first judge by default."""
    extract_prompt: str = "atomic"
    """atomic, bullets, or a .j2 file."""
    assess_prompt: str | None = None
    """three_way, binary, or a .j2 file.  [default: three_way]"""
    per_document: bool = False
    references: str | None = None
    """any (default): one gold answer is enough; or together."""


Asked = Annotated[Questions, Heading("Questions")]
AskedFirst = Annotated[
    ScoreQuestions,
    Heading(
        "Questions",
        "extractor", "extract_prompt", "assess_prompt", "per_document", "shuffle_contexts", "references",
        "extract_per_judge",
    ),
]  # fmt: skip
Gated = Annotated[Gates, Heading("Results and gates")]
