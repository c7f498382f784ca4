"""Options that several commands share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from claimeval.cli.command import Heading, PairForm, WithoutValue
from claimeval.cli.printer import Output
from claimeval.data.mapping import Turns
from claimeval.data.reasoning import AnswerReasoning
from claimeval.types import gates
from claimeval.types.errors import read_yaml
from claimeval.types.options import RunOptions, require_at_least
from claimeval.types.questions import Questions

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.cli.running import Finished

DEFAULT_FOLDER = "runs/"
"""`out` of a job without --out: a folder in it, named by data and settings."""
Data = Annotated[Path, "DATA"]
Fields = Annotated[
    Mapping[str, tuple[str, ...]], "--field", PairForm("FIELD=PATH, as in question=input.text")
]
Judges = Annotated[tuple[str, ...], "-j", "--judge"]
Metrics = Annotated[str | None, "-m", "--metrics"]
Out = Annotated[Path | None, "-o", "--out"]
_COST = Heading(
    "Cost and speed",
    "max_cost",
    "max_calls",
    "prices",
    "offline",
    "ask_again",
    "cache",
    "concurrency",
    "rpm",
    "tpm",
    "timeout",
)
_BATCHES = Heading("Batches and machines", "batch", "detach", "shard", "engine")
Asking = Annotated[
    RunOptions, _COST, Heading(_BATCHES.name, *(name for name in _BATCHES.names if name != "shard"))
]
"""For commands whose runs cannot be split into shards."""
AskingAndCluster = Annotated[RunOptions, _COST, _BATCHES, Heading("Results and gates", "cluster")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Options of all commands."""

    output: Output = Output()


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions(OutputOptions):
    """Options of commands about a reply cache."""

    cache: Path | None = None
    """Folder of the reply cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """Options for how the rows of a file are read."""

    fields: Fields = field(default_factory=dict)
    """FIELD=PATH, as in answer=output.answer. Repeatable."""
    mapping: Path | None = None
    """YAML of fields; doctor --write-mapping writes it."""
    group: str | None = None
    """Column that joins rows of one document each, or none."""
    turns: Turns | None = None
    """Turns that are samples: last, all.  [default: last]"""
    answer_reasoning: AnswerReasoning | None = None
    """<think> in answers: drop it, or keep it as a part."""
    sheet: str | None = None
    """The sheet of a spreadsheet that has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions(RowOptions):
    """Options for reading samples."""

    limit: int | None = None
    """Only the first N samples."""
    skip_malformed: bool = False
    """Leave out rows that cannot be read, and list them."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "limit")


_LIMIT = "METRIC=VALUE with a value from 0 to 1, as in faithfulness=0.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """Limits on the results; a failed one ends the command with exit code 1."""

    fail_under: Annotated[Mapping[str, float], "--fail-under", PairForm(_LIMIT)] = field(
        default_factory=dict
    )
    """METRIC=X: exit 1 if lower. Repeatable."""
    fail_over: Annotated[Mapping[str, float], "--fail-over", PairForm(_LIMIT)] = field(
        default_factory=dict
    )
    """METRIC=X: exit 1 if higher. Repeatable."""
    max_drop: Annotated[Mapping[str, float], "--max-drop", PairForm(_LIMIT)] = field(
        default_factory=dict
    )
    """METRIC=X: exit 1 if worse by more. Repeatable."""
    baseline: Path | None = None
    """Run that --max-drop compares with."""
    beyond_chance: bool = False
    """--max-drop fails only if the interval excludes 0."""
    max_missing: float = 0.01
    """Exit 1 if a larger share is lost to failures."""
    stop_when_decided: Annotated[float | None, "--stop-when-decided", WithoutValue(0.95)] = None
    """End when the gates are this certain; 0.95 alone."""
    by: str | None = None
    """Print a table by this field, as in metadata.topic."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "max_missing")

    @property
    def limits(self) -> gates.Gates:
        """The limits as Python has them. Raises UsageError for values out of range."""
        return gates.Gates(
            fail_under=self.fail_under,
            fail_over=self.fail_over,
            max_drop=self.max_drop,
            baseline=self.baseline,
            max_missing=self.max_missing,
            beyond_chance=self.beyond_chance,
        )

    @property
    def given(self) -> bool:
        """Whether a gate on a mean is given, or a table by a field."""
        return bool(self.fail_under or self.fail_over or self.max_drop or self.by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is printed of a run."""

    top: int = 3
    """Claims to read first."""
    details: bool = False
    """Print all numbers, also by judge and by reason."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "top")


QUESTIONS = Heading("Questions")
OF_RUN = Heading("Questions", default="as in the run")
Front = Annotated[Shown, Heading("Results and gates")]
Gated = Annotated[GateOptions, Heading("Results and gates")]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions(ABC):
    """Options of commands that make a run."""

    out: Out = None
    """Run directory. Default: runs/NAME-DIGEST, as in runs/answers-15b5f2e4; for a run, inside
    it."""
    overwrite: bool = False
    """Replace a run with other settings in --out."""
    reading: ReadingOptions = ReadingOptions()
    output: Output = Output()
    gates: Gated = GateOptions()
    options: AskingAndCluster = RunOptions()

    @abstractmethod
    def door(self, options: RunOptions) -> Run:
        """Call the function of the API."""

    def settings(self, options: RunOptions) -> dict[str, Any]:
        """Return the arguments of the function of the API."""
        return arguments(self, out=self.out or DEFAULT_FOLDER, options=options)

    def watch(self, command: str, gates: GateOptions | None = None) -> Finished:
        """Call `door` with a progress line; a run that stopped early is returned too, and a shard
        ends the command."""
        from claimeval.cli.running import watch

        finished = watch(command, self.door, self.options, gates or self.gates, self.output)
        if finished.of_shard:
            click.get_current_context().exit(finished.show())
        return finished


def arguments(args: object, **made: object) -> dict[str, Any]:
    """Return the options of a command as the arguments of its API function, which have the same
    names.

    Args:
        args: The record of the command. The fields of nested records of the command line become
            arguments too; its output options and gates are left out.
        made: Arguments that the command derives from its options.
    """
    values: dict[str, Any] = {}
    # a dataclass, by the contract of `command`
    for option in fields(args):  # type: ignore[arg-type]
        value = getattr(args, option.name)
        if isinstance(value, Output | GateOptions | Shown):
            continue
        # `ce.score` takes each field of `Questions` as an argument, though the record is of the
        # package and not of the command line.
        if isinstance(value, Questions) or type(value).__module__.startswith("claimeval.cli."):
            values |= arguments(value)
        else:
            values[option.name] = value
    if (paths := values.pop("fields", None)) is not None:
        values["mapping"] = mapping(values.get("mapping"), paths)
    return values | made


def mapping(
    file: Path | None, fields: Mapping[str, tuple[str, ...]]
) -> Path | dict[str, Any] | None:
    """Return the mapping in a file with the fields of `--field`, or one of them."""
    named: dict[str, Any] = {}
    for name, paths in fields.items():
        named[name] = paths[0] if len(paths) == 1 else paths
    return {**read_yaml(file, "mapping"), **named} if file and named else named or file
