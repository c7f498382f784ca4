"""Settings of a project: options that commands take from the environment, or from `claimeval.toml`
or `pyproject.toml`.

A typed option takes precedence over the environment, the environment over the file, and the file
over the default. Only commands read settings; Python functions do not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from claimeval.types.errors import UsageError, unknown_name

IN_ENVIRONMENT = ("judge", "metrics", "max_cost")
"""Settings with a variable, such as CLAIMEVAL_JUDGE. Those of `cache` and `prices` are read where
they are used."""
OF_JUDGING = ("judge", "metrics", "extractor", "extract_prompt", "assess_prompt", "language")
"""Settings of commands that need a judge; in others, such as `rejudge`, a missing option is that of
a run."""
SETTINGS = (
    *OF_JUDGING,
    "max_cost",
    "max_calls",
    "max_missing",
    "prices",
    "cache",
    "concurrency",
    "rpm",
    "tpm",
    "timeout",
)
REFUSED = (
    "data",
    "out",
    "overwrite",
    "limit",
    "skip_malformed",
    "field",
    "mapping",
    "group",
    "turns",
    "answer_reasoning",
    "sheet",
    "offline",
    "shard",
)
"""Options that change which data count, or what is written."""
_SECRET = re.compile("key|token|secret|password", re.IGNORECASE)


class Setting(NamedTuple):
    """The value of an option, and the file or variable that it comes from."""

    name: str
    """As in files: with hyphens."""
    value: Any
    source: str

    def __str__(self) -> str:
        return (
            f"{self.name} {', '.join(self.value) if isinstance(self.value, list) else self.value}"
        )


def settings_of(options: Iterable[click.Parameter]) -> dict[str, Setting]:
    """Return the settings of the options that have one, by parameter, as click takes them from a
    map of defaults.

    Raises UsageError for a file that is not TOML, a name that is no setting, a secret, and a value
    of a wrong type.
    """
    typed = [option for option in options if isinstance(option, click.Option)]
    needs_judge = any(option.required and _name(option) == "judge" for option in typed)
    names = {*SETTINGS} if needs_judge else {*SETTINGS} - {*OF_JUDGING}
    having = {_name(option): option for option in typed if _name(option) in names}
    known = {**_in_file(), **_in_environment()} if having else {}
    settings: dict[str, Setting] = {}
    for name, option in having.items():
        if name in known:
            settings[str(option.name)] = _converted(known[name], option)
    return settings


def _name(option: click.Option) -> str:
    return "judge" if option.name == "judges" else str(option.name)


def _converted(setting: Setting, option: click.Option) -> Setting:
    texts = setting.value if option.multiple else [",".join(setting.value)]
    try:
        for text in texts:
            option.type.convert(text, option, None)
    except click.BadParameter as error:
        raise UsageError(f"{setting.source}: {setting.name}: {error.message}") from error
    return setting._replace(value=texts if option.multiple else texts[0])


def _in_environment() -> dict[str, Setting]:
    given = {name: text for name in IN_ENVIRONMENT if (text := os.environ.get(_variable(name)))}
    return {
        name: Setting(
            name.replace("_", "-"),
            text.split(",") if name == "judge" else [text],
            f"${_variable(name)}",
        )
        for name, text in given.items()
    }


def _variable(name: str) -> str:
    return f"CLAIMEVAL_{name.upper()}"


def _in_file() -> dict[str, Setting]:
    """Return the settings in the nearest file; files that they name are relative to its folder."""
    path, table = _nearest(Path.cwd())
    source = os.path.relpath(path)
    settings = dict[str, Setting]()
    for given, value in table.items():
        name = "judge" if given == "judges" else given.replace("-", "_")
        _check_setting(source, given, name, value)
        values = value if isinstance(value, list) else [value]
        # A variable comes first, so that a bad path in the file is nobody's concern then.
        if not os.environ.get(_variable(name)):
            texts: list[str] = []
            for text in map(str, values):
                is_file = name in ("cache", "prices") or text.endswith((".yaml", ".yml", ".j2"))
                at = path.parent / Path(text).expanduser()
                texts.append(os.path.relpath(at) if is_file else text)
            settings[name] = Setting(name.replace("_", "-"), texts, source)
    return settings


def _check_setting(source: str, given: str, name: str, value: Any) -> None:
    """Raise UsageError for a setting that may not be in a file, or has no such value.

    Args:
        source: The file.
        given: The name as it is in the file.
        name: The name of the setting.
        value: Its value.
    """
    from claimeval.providers.keys import masked

    # By the name or by the value: a key may stand under `judge`.
    if _SECRET.search(given) or masked(str(value)) != str(value):
        raise UsageError(
            f"{source}: {given} holds a secret; put it into the environment, never into a file"
        )
    if name in REFUSED:
        raise UsageError(
            f"{source}: {given} changes which data count, or what is written; type it as an option"
        )
    if name not in SETTINGS:
        raise unknown_name(
            f"setting in {source}:", given, [name.replace("_", "-") for name in SETTINGS]
        )
    values = value if isinstance(value, list) else [value]
    if not values or any(isinstance(item, (bool, dict, list)) for item in values):
        raise UsageError(
            f"{source}: {given} is {value!r}; give a text, a number or a list of texts"
        )


def _nearest(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the nearest settings file up to the root of the repository; outside of one, only in
    this folder."""
    above = (folder, *folder.parents)
    # A file in a shared parent folder would choose where texts are sent.
    depth = next((i for i, place in enumerate(above) if (place / ".git").exists()), 0)
    for place in above[: depth + 1]:
        for name in ("claimeval.toml", "pyproject.toml"):
            table = _table_in(place / name)
            if table is not None:
                return place / name, table
    return folder, {}


def _table_in(path: Path) -> Mapping[str, Any] | None:
    """Return the settings in a file; None if it has none."""
    if not path.is_file():
        return None
    content = path.read_bytes()
    is_shared = path.name == "pyproject.toml"
    # A file of other tools is not parsed, which may be in a form that only they read.
    if is_shared and b"claimeval" not in content.lower():
        return None
    import tomllib

    try:
        table = tomllib.loads(content.decode())
    except ValueError as error:
        raise UsageError(f"{os.path.relpath(path)} is not TOML: {error}") from error
    found = _of_claimeval(path, table.get("tool", {})) if is_shared else table
    return found if isinstance(found, dict) else None


def _of_claimeval(path: Path, tools: Mapping[str, Any]) -> object:
    """Return the settings in the tables of a shared file. Raises UsageError for those under
    another spelling of the name, which no other tool reads."""
    for name in tools:
        if name.casefold() == "claimeval" != name and "claimeval" not in tools:
            raise UsageError(
                f"{os.path.relpath(path)}: unknown table 'tool.{name}'. Did you mean"
                " 'tool.claimeval'?"
            )
    return tools.get("claimeval")
