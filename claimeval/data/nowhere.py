"""Find the paths of a mapping that lead nowhere: a misspelt path gives a field without a value in
every row, and the rows are then judged without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, TypeVar

from claimeval.data.mapping import LOOKED_AT, RowMapping, options
from claimeval.data.paths import has, opened
from claimeval.data.rows import SourceRow
from claimeval.types.errors import DataError

NOWHERE = "path that no row has"
"""The kind of the error."""
ENOUGH = 20_000
"""Rows after which a path that none of them has is an error: as many as of a large file are
examined before the first call."""
_LISTED = 12
"""Maximum number of paths that a message lists."""
_DEPTH = 4
"""Keys of a path in a message at most."""
R = TypeVar("R")


class Nowhere:
    """The caller's paths that no row has had so far.

    A path is not missed if a row has an empty list or nothing on the way to it, as after a failed
    retrieval, and none has a list or object without it. Nor is one missed whose field has an empty
    path, which says that rows may be without it.
    """

    def __init__(self, name: str, paths: Iterable[tuple[str, str]]) -> None:
        """`name` is that of the data; `paths` are what a path was given for, and the path."""
        self._name = name
        self._rows = 0
        self._open = dict.fromkeys(paths, False)
        """Whether some row shows that the path is missing."""
        self._paths = Counter(field for field, _ in self._open)
        """The number of paths of each field."""
        self._examples: list[Mapping[str, Any]] = []

    @classmethod
    def of_samples(
        cls,
        name: str,
        mapping: RowMapping,
        names: Mapping[str, Sequence[str]],
    ) -> Nowhere:
        """Return the caller's paths in a mapping; `names` are the default names of fields, which
        are no paths of the caller."""
        pairs: list[tuple[str, str]] = []
        for field, paths in mapping.fields.items():
            if mapping.is_given(field) and "" not in paths and paths != names.get(field):
                pairs.extend((field, path) for path in paths)
        where, equals, wanted = (mapping.where or "").partition("=")
        if where and (wanted or not equals):
            pairs.append(("where", where))
        return cls(name, pairs)

    def watch(self, rows: Iterable[R], *, raises: bool) -> Iterator[R]:
        """Yield the rows, and look at each of them. Raises DataError if it `raises` and `ENOUGH`
        rows lack a path."""
        for row in rows:
            if isinstance(row, SourceRow):
                self.add(row.fields)
                if self._rows == ENOUGH:
                    self.check(raises=raises)
            yield row

    def check(self, *, raises: bool) -> tuple[str, ...]:
        """Return the problems. Raises DataError instead if it `raises` and there are any."""
        problems = self._problems()
        if problems and raises:
            raise DataError(f"{self._name}: {'. '.join(problems)}", kind=NOWHERE)
        return problems

    def add(self, row: Mapping[str, Any]) -> None:
        """Look at a row."""
        if not self._open:
            return
        self._rows += 1
        if len(self._examples) < LOOKED_AT:
            self._examples.append(row)
        for field, path in list(self._open):
            is_there = has(row, path)
            if is_there:
                del self._open[field, path]
            elif is_there is False:
                self._open[field, path] = True

    def _problems(self) -> tuple[str, ...]:
        """A sentence for each path that no row has, with the nearest one that a row has."""
        missing = [pair for pair, is_missing in self._open.items() if is_missing]
        if not missing:
            return ()
        problems = []
        for field, path in missing:
            optional = f". Files may lack it: {options({field: ''})}" * (self._paths[field] > 1)
            problems.append(
                f"no row has {path!r}, which was given for {field}."
                f"{instead(path, self._examples)}{optional}"
            )
        return tuple(problems)


def instead(path: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the path in these rows that is nearest to a wrong one, and those that there are, as
    the end of a message."""
    known = list(dict.fromkeys(chain.from_iterable(map(_paths, rows))))
    near = _nearest(path, known)
    hint = f" Did you mean {near!r}?" if near else ""
    return f"{hint} Rows have {', '.join(known[:_LISTED])}" + ", ..." * (len(known) > _LISTED)


def _nearest(path: str, known: Sequence[str]) -> str | None:
    """Return the known path that is written most like a path, or that ends with it."""
    by_spelling: dict[str, str] = {}
    for name in known:
        by_spelling.setdefault(name.casefold(), name)
    if "." not in path and (ending := _ending_with(path, known)):
        return ending  # `kind` is that of `metadata`, and not a misspelt `id`
    close = get_close_matches(path.casefold(), by_spelling, n=1, cutoff=0.6)
    if close:
        return by_spelling[close[0]]
    return _ending_with(path.rpartition(".")[2], known)


def _ending_with(key: str, known: Sequence[str]) -> str | None:
    """Return the first path whose last key is this one."""
    plain = key.strip().casefold().removesuffix("s")
    ends = {name: name.rpartition(".")[2].casefold().removesuffix("s") for name in known}
    return next((name for name, end in ends.items() if end == plain), None)


def _paths(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths of the texts and numbers in a value, and of the lists on the way."""
    value = opened(value)
    if depth >= _DEPTH or not isinstance(value, (Mapping, list)):
        if path:
            yield path
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _paths(inner, f"{path}.{key}" if path else str(key), depth + 1)
        return
    if path:
        yield path
    for item in value[:1]:
        if isinstance(item, Mapping):
            yield from _paths(item, f"{path}[*]", depth)
