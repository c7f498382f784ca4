"""Tallies, which add up samples one by one. The tallies of parts of a run can be saved and joined
exactly."""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel

K = TypeVar("K")
V = TypeVar("V")


class Tally:
    """Adds up samples. Tallies of consecutive parts, absorbed in order, equal a single tally of all
    samples.

    `ADDED` has the names of the attributes that grow: numbers, arrays, lists, counters, mappings
    and other tallies. Floats are in arrays, because a sum of rounded sums depends on where it was
    split.
    """

    ADDED: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return {name: _written(getattr(self, name)) for name in self.ADDED}

    def absorb(self, state: dict[str, Any]) -> None:
        """Add the state of a tally of the same class, whose samples follow those added so far."""
        for name in self.ADDED:
            setattr(self, name, _joined(getattr(self, name), state[name]))


class Keyed(dict[K, V]):
    """Values by key, each of which is made from its key on first use."""

    def __init__(self, make: Callable[[K], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        self[key] = value = self._make(key)
        return value


def _written(value: Any) -> Any:
    if isinstance(value, Tally):
        return value.state()
    if isinstance(value, array):
        return base64.b64encode(_little_endian(value).tobytes()).decode()
    if isinstance(value, dict):
        return [[key, _written(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_written(item) for item in value]
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, Tally):
        first.absorb(second)
    elif isinstance(first, array):
        further: array[Any] = array(first.typecode, base64.b64decode(second))
        first.extend(_little_endian(further))
    elif isinstance(first, dict):
        for key, item in second:
            name = tuple(key) if isinstance(key, list) else key
            first[name] = _joined(first[name], item)
    elif isinstance(first, list) and first and isinstance(first[0], Tally):
        for tally, state in zip(first, second, strict=True):
            tally.absorb(state)
    elif isinstance(first, (bool, str)):
        return second if isinstance(first, str) else first or second
    elif first is None or second is None:
        return second if first is None else first
    else:
        return first + second
    return first


def _little_endian(values: array[Any]) -> array[Any]:
    """Return the values in the byte order of saved states."""
    if sys.byteorder == "little":
        return values
    swapped = array(values.typecode, values)
    swapped.byteswap()
    return swapped
