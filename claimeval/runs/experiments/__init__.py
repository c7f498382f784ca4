"""Designs of experiments: YAML files with common settings, a grid of variants, and single arms."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, JsonValue, ValidationError, model_validator

from claimeval.data.mapping import Turns
from claimeval.data.reasoning import AnswerReasoning
from claimeval.evaluation.claims import ClaimsJob, ClaimsOptions, make_job
from claimeval.metrics.derived import MetricSelection
from claimeval.providers import specs as judging
from claimeval.types.clusters import CONVERSATION
from claimeval.types.errors import UsageError, first_problem, read_yaml, unknown_name
from claimeval.types.options import OnSameFamily, PanelOptions
from claimeval.types.records import Record
from claimeval.types.requests import ClaimsPerCall


class Arm(Record):
    """One configuration of an experiment: the settings that can differ between arms."""

    name: str
    judges: tuple[str, ...]
    extractor: str | None = None
    """None: the extractor of the baseline, or its first judge."""
    extract_prompt: str = "atomic"
    assess_prompt: str | None = None
    """None: by the metrics, as in `claimeval score`."""
    language: str | None = None
    """Language of the shipped prompts, `auto` for that of the samples; None for English."""
    prompt_parameters: dict[str, str] = Field(default_factory=dict)
    """Values for parameters of the prompts."""
    judge_settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of all judges of the arm, as in a judge file: temperature, seed, max_tokens, ..."""
    per_document: bool | None = None
    shuffle_contexts: int | None = Field(default=None, ge=0)
    claims_per_call: ClaimsPerCall | None = None
    claim_order: int = Field(default=0, ge=0)
    """Number of the order in which judges are shown claims, to measure how much labels depend on
    it."""
    vote: str | None = None
    """This and the following fields are as in `PanelOptions`."""
    tie: str | None = None
    quorum: int | None = None
    replicates: int | None = Field(default=None, ge=1)
    weights: dict[str, float] | None = None
    on_same_family: OnSameFamily | None = None
    families: dict[str, str] | None = None


class Experiment(Record):
    """The design of an experiment: data, arms and baseline."""

    data: Path
    arms: tuple[Arm, ...]
    baseline: str
    """The name of the arm that the others are compared with."""
    metrics: tuple[str, ...] | None = None
    mapping: str | dict[str, Any] | None = None
    group: str | None = None
    turns: Turns | None = None
    answer_reasoning: AnswerReasoning | None = None
    sheet: str | None = None
    """The sheet of spreadsheets that have several, of the data and of the labels."""
    limit: int | None = Field(default=None, ge=1)
    skip_malformed: bool = False
    """Whether to leave out rows that cannot be read or repeat an id."""
    labels: Path | None = None
    """Human labels to compare the arms with: a file, or a run with labels."""
    cluster: str | None = None
    """The field whose equal values are one cluster in intervals and tests; None for the question,
    or for the conversation if every turn of it is a sample."""

    @model_validator(mode="before")
    @classmethod
    def _cluster_of_turns(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Make conversations the clusters if every turn is a sample and no field is named."""
        if fields.get("turns") == "all" and not fields.get("cluster"):
            return {**fields, "cluster": CONVERSATION}
        return fields

    def arm(self, name: str) -> Arm:
        """Return the arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)


R = TypeVar("R", bound=Record)
_VARIED = tuple(name for name in Arm.model_fields if name != "name")
_COMMON = tuple(name for name in Experiment.model_fields if name != "arms")


def read(design: str | Path | Mapping[str, Any], labels: str | Path | None = None) -> Experiment:
    """Return the design in a YAML file, or in the same mapping, with other `labels` if given.

    Paths in a file are relative to it. Errors are UsageError and name the file and the key.
    """
    if isinstance(design, Mapping):
        experiment = _design(Path("the design"), dict(design), Path())
    else:
        path = Path(design)
        experiment = _design(path, _content(path), path.parent)
    return experiment.model_copy(update={"labels": Path(labels)}) if labels else experiment


def _content(path: Path) -> Any:
    """Return what a file holds."""
    from yaml import YAMLError

    try:
        return read_yaml(path, "experiment")
    except UsageError as error:
        if not isinstance(error.__cause__, YAMLError):
            raise
        raise UsageError(
            f"{error}. An experiment is a YAML file with data, judges, and a grid or arms;"
            f" `claimeval score {path}` judges a file of samples"
        ) from error


def _design(path: Path, content: Any, folder: Path) -> Experiment:
    """Return the design in the content of `path`, with paths relative to a folder."""
    _check_keys(path, content)
    common = {name: content[name] for name in _COMMON if name in content}
    defaults = {name: content[name] for name in _VARIED if name in content}
    arms = [
        *_from_grid(path, content.get("grid") or {}, defaults),
        *_by_hand(path, content.get("arms") or [], defaults),
    ]
    if not arms:
        raise UsageError(
            f"the experiment {str(path)!r} has neither a grid nor arms; add what to"
            " vary, as in grid: {assess_prompt: [three_way, binary]}"
        )
    if "data" not in common:
        raise UsageError(f"the experiment {str(path)!r} has no data")
    baseline = str(common.pop("baseline", arms[0].name))
    _check_names(path, [arm.name for arm in arms], baseline)
    if isinstance(common.get("metrics"), str):
        common["metrics"] = tuple(common["metrics"].split(","))
    for name in ("data", "labels"):
        if common.get(name):
            common[name] = folder / str(common[name])
    return _valid(
        path,
        Experiment,
        {**common, "baseline": baseline, "arms": tuple(_placed(folder, a) for a in arms)},
    )


def _check_names(path: Path, names: Sequence[str], baseline: str) -> None:
    """Raise UsageError if two arms have one name, or none has that of the baseline."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"the experiment {str(path)!r} has two arms called {twice!r}")
    if baseline not in names:
        raise unknown_name(f"baseline in {path}:", baseline, names)


def _check_keys(path: Path, content: Any) -> None:
    if not isinstance(content, dict):
        raise UsageError(
            f"the experiment {str(path)!r} is not a mapping; it needs data, judges and a grid or"
            " arms"
        )
    known = (*_VARIED, *_COMMON, "grid", "arms")
    extra = set(content).difference(known)
    if extra:
        raise unknown_name(f"key in {path}:", str(min(extra, key=str)), known)


def _from_grid(path: Path, grid: Any, defaults: Mapping[str, Any]) -> Iterator[Arm]:
    """Yield an arm for every combination of the grid's values, named after the values that vary."""
    if not isinstance(grid, dict):
        raise UsageError(f"{path}: grid is not a mapping of lists")
    axes: list[list[_Choice]] = []
    for key, values in grid.items():
        if key not in _VARIED:
            raise unknown_name(f"key in the grid of {path}:", str(key), _VARIED)
        axes += _axes(path, key, values)
    for combination in itertools.product(*axes) if axes else ():
        fields = dict(defaults)
        for key, _, value in combination:
            fields[key] = {**fields.get(key, {}), **value} if key in _OF_SETTINGS else value
        varying = [
            name for axis, (_, name, _) in zip(axes, combination, strict=True) if len(axis) > 1
        ]
        yield _arm(path, " ".join(varying) or "only", fields)


_OF_SETTINGS = ("prompt_parameters", "judge_settings")
"""The keys of a grid whose values are settings by name, each an axis of its own."""
_Choice = tuple[str, str, Any]
"""A key of an arm, the name of a value, and the value."""


def _axes(path: Path, key: str, values: Any) -> list[list[_Choice]]:
    """Return the axes of one key of a grid: the values to choose from, in lists."""
    if key in _OF_SETTINGS:
        if not isinstance(values, dict) or not all(map(_is_filled_list, values.values())):
            raise UsageError(f"{path}: grid.{key} is not a mapping of lists")
        axes: list[list[_Choice]] = []
        for name, options in values.items():
            axes.append([(key, f"{name}={option}", {name: option}) for option in options])
        return axes
    if not _is_filled_list(values):
        raise UsageError(f"{path}: grid.{key} is not a list of values; write {key}: [...]")
    named = zip(_names(key, values), values, strict=True)
    return [[(key, name, value) for name, value in named]]


def _is_filled_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _names(key: str, values: list[Any]) -> list[str]:
    """Return the names of the values of an axis: short names of judges, file names of prompts.

    If two prompts have the same file name, such as `three_way` and `my/three_way.j2`, they keep
    their paths.
    """
    if key in ("judges", "extractor"):
        panels = [
            list(map(str, value)) if isinstance(value, list) else [str(value)] for value in values
        ]
        # All at once, since a name is as short as tells it from the others of the axis.
        names = judging.short_names(itertools.chain(*panels))
        return ["+".join(names[judge] for judge in panel) for panel in panels]
    if not key.endswith("_prompt"):
        return [f"{key}={value}" for value in values]
    files = [Path(str(value)).name.removesuffix(".j2") for value in values]
    return [
        file if files.count(file) == 1 else str(value)
        for file, value in zip(files, values, strict=True)
    ]


def _by_hand(path: Path, arms: Any, defaults: Mapping[str, Any]) -> Iterator[Arm]:
    if not isinstance(arms, list) or not all(isinstance(arm, dict) for arm in arms):
        raise UsageError(f"{path}: arms is not a list of mappings")
    for number, arm in enumerate(arms, 1):
        if extra := set(arm) - {"name", *_VARIED}:
            raise unknown_name(
                f"key in arm {number} of {path}:", str(min(extra, key=str)), ["name", *_VARIED]
            )
        yield _arm(path, str(arm.get("name", f"arm {number}")), {**defaults, **arm})


def _arm(path: Path, name: str, fields: Mapping[str, Any]) -> Arm:
    judges = fields.get("judges")
    if not judges:
        raise UsageError(
            f"{path}: arm {name!r} names no judges; claimeval never chooses a paid service by"
            " itself"
        )
    parameters = {str(k): str(v) for k, v in (fields.get("prompt_parameters") or {}).items()}
    listed = (judges,) if isinstance(judges, str) else tuple(judges)
    return _valid(
        path, Arm, {**fields, "name": name, "judges": listed, "prompt_parameters": parameters}
    )


def _valid(path: Path, record: type[R], fields: Mapping[str, Any]) -> R:
    try:
        return record.model_validate(fields)
    except ValidationError as error:
        field, problem, value = first_problem(error, record)
        raise UsageError(f"{path}, {field}: {problem}, got {value}") from error


def _placed(folder: Path, arm: Arm) -> Arm:
    """Return the arm with the paths of prompt and judge files relative to the working directory."""

    def placed(spec: str) -> str:
        return str(folder / spec) if spec.endswith((".j2", ".yaml", ".yml")) else spec

    return arm.model_copy(
        update={
            "judges": tuple(map(placed, arm.judges)),
            "extractor": placed(arm.extractor) if arm.extractor else None,
            "extract_prompt": placed(arm.extract_prompt),
            "assess_prompt": placed(arm.assess_prompt) if arm.assess_prompt else None,
        }
    )


def plan(arm: Arm, metrics: MetricSelection, cluster: str | None = None) -> ClaimsJob:
    """Return the job of an arm, as for `score`. Raises UsageError with the name of the arm."""
    options = arm.model_dump(include=set(ClaimsOptions.__dataclass_fields__) - {"judges"})
    panel = arm.model_dump(include=set(PanelOptions.__dataclass_fields__))
    try:
        judges = (
            judging.parse_judges(arm.judges, arm.judge_settings)
            if arm.judge_settings
            else arm.judges
        )
        return make_job(
            ClaimsOptions(**options, judges=judges, panel=PanelOptions(**panel), cluster=cluster),
            metrics,
        )
    except UsageError as error:
        raise type(error)(f"arm {arm.name!r}: {error}") from error


def slug(name: str) -> str:
    """Return the name as a folder name of letters, digits and a few signs."""
    return re.sub(r"[^\w.=+-]+", "-", name).strip("-") or "arm"
