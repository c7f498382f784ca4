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
    having = [
        o for o in typed if _name(o) in SETTINGS and (needs_judge or _name(o) not in OF_JUDGING)
    ]
    known = {**_in_file(), **_in_environment()} if having else {}
    return {str(o.name): _converted(known[_name(o)], o) for o in having if _name(o) in known}


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
    from claimeval.providers.keys import masked

    path, table = _nearest(Path.cwd())
    source = os.path.relpath(path)
    settings = dict[str, Setting]()
    for given, value in table.items():
        name = "judge" if given == "judges" else given.replace("-", "_")
        if _SECRET.search(given) or masked(str(value)) != str(value):
            raise UsageError(
                f"{source}: {given} holds a secret; put it into the environment, never into a file"
            )
        if name in REFUSED:
            raise UsageError(
                f"{source}: {given} changes which data count, or what is written; type it as an"
                " option"
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
        if not os.environ.get(_variable(name)):
            texts = [_from_here(str(item), name, path.parent) for item in values]
            settings[name] = Setting(name.replace("_", "-"), texts, source)
    return settings


def _from_here(value: str, name: str, folder: Path) -> str:
    """Return the value, or if it is a file its path from the working directory."""
    is_file = name in ("cache", "prices") or value.endswith((".yaml", ".yml", ".j2"))
    return os.path.relpath(folder / Path(value).expanduser()) if is_file else value


def _nearest(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the nearest settings file up to the root of the repository; outside of one, only in
    this folder."""
    above = (folder, *folder.parents)
    depth = next((i for i, place in enumerate(above) if (place / ".git").exists()), 0)
    for path in (
        place / name
        for place in above[: depth + 1]
        for name in ("claimeval.toml", "pyproject.toml")
    ):
        if (
            not path.is_file()
            or b"claimeval" not in (content := path.read_bytes()) + path.name.encode()
        ):
            continue
        import tomllib

        try:
            table = tomllib.loads(content.decode())
        except ValueError as error:
            raise UsageError(f"{os.path.relpath(path)} is not TOML: {error}") from error
        if path.name == "pyproject.toml":
            table = table.get("tool", {}).get("claimeval")
        if isinstance(table, dict):
            return path, table
    return folder, {}
