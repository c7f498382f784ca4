"""Which models are of one kind: judges favour answers of their own family, so it must be known who is of which.

The table is data (`families.yaml`); rows of the user come before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from claimeval.types.errors import UsageError

_TABLE = Path(__file__).with_name("families.yaml")


class Families:
    """A table of model names to families, asked by `provider:model`."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        """`own` are further rows, pattern to family, that come before the built-in ones."""
        self._own = tuple((pattern.lower(), family) for pattern, family in (own or {}).items())
        self._known: dict[str, str | None] = {}

    def of(self, model: str) -> str | None:
        """The family of a model given as `provider:model` or by its bare name; None where the table has no row."""
        if model not in self._known:
            self._known[model] = self._look_up(model.strip().lower())
        return self._known[model]

    def same(self, one: str, other: str) -> bool:
        """Whether two models are of one family; a model without a family is its own."""
        family = self.of(one)
        return family == self.of(other) if family else _name(one) == _name(other)

    def own(self, judges: Iterable[tuple[str, str]], generator: str | None) -> frozenset[str]:
        """The names of those of the judges, given as (name, model), that are of the generator's family."""
        return frozenset(name for name, model in judges if self.same(model, generator)) if generator else frozenset()

    def _look_up(self, model: str) -> str | None:
        provider = model.partition(":")[0]
        parts = [part for part in re.split("[/:]", _name(model)) if part]
        shipped, providers = _shipped()
        for pattern, family in (*self._own, *shipped):
            if any(fnmatchcase(part, pattern) for part in parts):
                return family
        return providers.get(provider)


def _name(model: str) -> str:
    """The model without its provider and its address."""
    provider, colon, name = model.strip().lower().partition("@")[0].partition(":")
    return name if colon else provider


@lru_cache(maxsize=1)
def _shipped() -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
    table = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return tuple(table["models"].items()), table["providers"]


def read_families(path: Path) -> dict[str, str]:
    """The rows of a user's file: YAML of the form `pattern: family`; UsageError for anything else."""
    try:
        rows: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the table of families {str(path)!r}: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"the table of families {str(path)!r} is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(rows, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in rows.items()):
        raise UsageError(f"the table of families {str(path)!r} needs lines of the form `my-model*: family`")
    return rows
