"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from claimeval.cli.command import Argument, Heading, Names, Pairs
from claimeval.cli.printer import Output
from claimeval.types.options import PanelOptions, RunOptions, require_at_least

Data = Annotated[Path, Argument("DATA")]
Fields = Annotated[Mapping[str, str], Pairs("--field", "FIELD=COLUMN, as in answer=draft")]
Judges = Annotated[tuple[str, ...], Names("-j", "--judge")]
Metrics = Annotated[str | None, Names("-m", "--metrics")]
Flag = Literal[True] | None
"""A flag that leaves the setting to a panel file, or to the run that is judged again, unless it is given."""
Out = Annotated[Path | None, Names("-o", "--out")]
Panel = Annotated[
    PanelOptions,
    Heading("Panel", "vote", "tie", "quorum", "replicates", "escalate", "on_same_family", "families", "labels"),
]
_COST = Heading(
    "Cost and speed",
    "max_cost", "max_calls", "prices", "offline", "ask_again", "cache", "concurrency", "rpm", "tpm", "timeout",
)  # fmt: skip
_BATCHES = Heading(
    "Batches and machines", "batch", "batch_retries", "detach", "online", "shard", "via", "engine", "compress"
)
Asking = Annotated[RunOptions, _COST, Heading(_BATCHES.name, *(name for name in _BATCHES.names if name != "shard"))]
"""Of commands whose runs are not cut into shards."""
AskingAndCluster = Annotated[RunOptions, _COST, _BATCHES, Heading("Results and gates", "cluster")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """Which reply cache a command looks after, and how it prints."""

    cache: Path | None = None
    """Folder of the reply cache."""
    output: Output = Output()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """Which samples are read, and under which names."""

    limit: int | None = None
    """Only the first N samples."""
    fields: Fields = field(default_factory=dict)
    """FIELD=COLUMN, as in answer=draft. Repeatable."""
    skip_malformed: bool = False
    """Leave out rows that cannot be read, and list them."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "limit")


_LIMIT = "METRIC=VALUE with a value from 0 to 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Limits on the results; a failed one ends the command with exit code 1."""

    fail_under: Annotated[Mapping[str, float], Pairs("--fail-under", _LIMIT)] = field(default_factory=dict)
    """METRIC=X: exit 1 when lower. Repeatable."""
    fail_over: Annotated[Mapping[str, float], Pairs("--fail-over", _LIMIT)] = field(default_factory=dict)
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
    claims_per_call: int | None = None
    """Claims in one question; as the judges of the run were asked by default."""
    extract_per_judge: Flag = None
    """Each judge extracts and assesses separate claims."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "shuffle_contexts")
        require_at_least(self, 1, "claims_per_call")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreQuestions(Questions):
    """What the judges are asked."""

    extractor: str | None = None
    """Who extracts the claims; the first judge by default."""
    extract_prompt: str = "atomic"
    """atomic, bullets, or a .j2 file."""
    assess_prompt: str | None = None
    """three_way, binary, or a .j2 file.  [default: three_way]"""
    language: str | None = None
    """Language of the shipped prompts: de, fr, es, pt, hi, zh, ja, ar or auto; English by default."""
    per_document: Flag = None
    claims_per_call: int | None = None
    """Claims in one question; 5 by default."""
    references: Literal["any", "together"] | None = None
    """any (default): one gold answer is enough; or together."""


Asked = Annotated[Questions, Heading("Questions")]
AskedFirst = Annotated[
    ScoreQuestions,
    Heading(
        "Questions",
        "extractor", "extract_prompt", "assess_prompt", "language", "per_document", "shuffle_contexts",
        "claims_per_call", "references",
        "extract_per_judge",
    ),
]  # fmt: skip
Gated = Annotated[Gates, Heading("Results and gates")]


def arguments(args: object, **made: object) -> dict[str, Any]:
    """Return the options of a command as the arguments of its function in the API, which have the same names.

    Args:
        args: The record of the command. Records of options within it that the command line has alone are spread; how a
            command prints and its gates are left out.
        made: Arguments that the command makes of its options.
    """
    values: dict[str, Any] = {}
    for of in fields(args):  # type: ignore[arg-type]  # a dataclass, by the contract of `command`
        value = getattr(args, of.name)
        if isinstance(value, Output | Gates):
            continue
        if type(value).__module__.startswith("claimeval.cli."):
            values |= arguments(value)
        else:
            values[of.name] = value
    return values | made
