"""Model families. Judges may favor answers of models of their own family (self-preference bias).

The built-in table is `families.yaml`. Custom rows take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from claimeval.types.errors import UsageError, read_yaml

_TABLE = Path(__file__).with_name("families.yaml")


class Families:
    """Table of models and their families."""

    def __init__(self, custom: Mapping[str, str] | None = None) -> None:
        """Create a table. `custom` maps patterns to families and takes precedence over the built-in
        rows."""
        self._custom = tuple(
            (pattern.lower(), family) for pattern, family in (custom or {}).items()
        )
        self._cache: dict[str, str | None] = {}

    def family_of(self, model: str) -> str | None:
        """Return the family of `provider:model` or of a bare model name, or None if it is not in
        the table."""
        if model not in self._cache:
            self._cache[model] = self._look_up(model.strip().lower())
        return self._cache[model]

    def are_same_family(self, a: str, b: str) -> bool:
        """Return whether two models have the same family or, if `a` has no family, the same
        name."""
        family = self.family_of(a)
        return family == self.family_of(b) if family else _bare_name(a) == _bare_name(b)

    def same_family_judges(
        self,
        judges: Iterable[tuple[str, str]],
        generator: str | None,
    ) -> frozenset[str]:
        """Return the names of the judges, given as (name, model), that have the generator's
        family."""
        if not generator:
            return frozenset()
        return frozenset(name for name, model in judges if self.are_same_family(model, generator))

    def _look_up(self, model: str) -> str | None:
        provider = model.partition(":")[0]
        parts = [part for part in re.split("[/:]", _bare_name(model)) if part]
        shipped, providers = _shipped()
        for pattern, family in (*self._custom, *shipped):
            if any(fnmatchcase(part, pattern) for part in parts):
                return family
        return providers.get(provider)


@lru_cache(maxsize=1024)
def _bare_name(model: str) -> str:
    """Return the model without its provider and endpoint."""
    provider, colon, name = model.strip().lower().partition("@")[0].partition(":")
    return name if colon else provider


@lru_cache(maxsize=1)
def _shipped() -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
    table = read_yaml(_TABLE, "family table")
    return tuple(table["models"].items()), table["providers"]


def read_families(path: Path) -> dict[str, str]:
    """Return the rows of a YAML file with lines `pattern: family`. Raises UsageError for any other
    content."""
    rows = read_yaml(path, "family table")
    if not isinstance(rows, dict) or not all(
        isinstance(k, str) and isinstance(v, str) for k, v in rows.items()
    ):
        raise UsageError(
            f"the family table {str(path)!r} needs lines of the form `my-model*: family`"
        )
    return rows
