"""Line-ups as users write them: judges one by one, or a panel file that says how they are asked and counted too.

A panel file is YAML with `judges` (specs, judge files beside it, or settings of a judge), optionally `extractor`, and
the settings of `Panel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from claimeval import panel
from claimeval.calls import Judge
from claimeval.errors import UsageError, unknown
from claimeval.judges import from_fields, line_up, read_file
from claimeval.panel import Panel
from claimeval.panel.settings import UNFAVOURABLE_FIRST
from claimeval.records import Label
from claimeval.scales import Scale

SETTINGS = frozenset(Panel.model_fields) - {"labels", "grades"}
"""The settings of a panel that users may give."""
_YAML = (".yaml", ".yml")


class LineUp(NamedTuple):
    """The judges that were named, and what a panel file says besides."""

    judges: tuple[Judge, ...]
    extractor: str | Judge | None
    settings: dict[str, Any]
    """Settings of the panel that the file gives, unchecked."""


def named(specs: Sequence[str | Judge]) -> LineUp:
    """The judges of these specs, of which one may be a panel file; its judges come first. A single text is one spec."""
    specs = [specs] if isinstance(specs, str) else specs
    files = [spec for spec in specs if isinstance(spec, str) and spec.endswith(_YAML)]
    panels = {spec: fields for spec in files if "judges" in (fields := read_file(Path(spec)))}
    if len(panels) > 1:
        raise UsageError(f"two panel files: {', '.join(panels)}; name one, and further judges by themselves")
    if not panels:
        return LineUp(line_up(specs), None, {})
    (path, fields), *_ = panels.items()
    place = f"the panel file {path!r}"
    if extra := set(fields) - SETTINGS - {"judges", "extractor"}:
        raise unknown(f"setting in {place}:", str(min(extra, key=str)), SETTINGS | {"judges", "extractor"})
    members = fields["judges"]
    if not isinstance(members, list) or not members:
        raise UsageError(f"{place}: `judges` is a list of judges")
    inside = [_member(member, Path(path), f"judge {number}") for number, member in enumerate(members, 1)]
    taker = fields.get("extractor")
    return LineUp(
        line_up([*inside, *(spec for spec in specs if spec != path)]),
        None if taker is None else _member(taker, Path(path), "extractor"),
        {name: value for name, value in fields.items() if name in SETTINGS},
    )


def _member(member: object, path: Path, role: str) -> str | Judge:
    """One entry of a panel file: a spec, a judge file beside the panel file, or the settings of a judge."""
    if isinstance(member, str):
        return str(path.parent / member) if member.endswith(_YAML) else member
    if isinstance(member, dict):
        place = f"the panel file {str(path)!r}, {role}"
        return from_fields(member, place, str(member.get("model", "")))
    raise UsageError(f"the panel file {str(path)!r}, {role}: {member!r} is neither a judge nor its settings")


def panel_settings(line_up: LineUp, said: Mapping[str, Any], scale: Scale, *, with_labels: bool = False) -> Panel:
    """How the panel is asked and counted: what was `said` before what its file says before the defaults.

    UsageError where a setting is wrong or does not fit the judges. `scale` is that of the assessment prompt;
    `with_labels` says that human labels are at hand.
    """
    found = valid_settings({**line_up.settings, **said}, {step.label for step in scale.steps})
    found = found.model_copy(update={"grades": scale.grades})
    panel.check(found, [judge.name for judge in line_up.judges], with_labels=with_labels)
    return found


def valid_settings(given: Mapping[str, Any], labels: set[Label]) -> Panel:
    """Settings of a panel whose judges could give these labels, unchecked against the judges."""
    try:
        return Panel.model_validate({**given, "labels": [label for label in UNFAVOURABLE_FIRST if label in labels]})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"panel setting {where}: {first['msg']}, got {first['input']!r}") from error
