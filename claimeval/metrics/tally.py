"""A mapping that makes its values on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Keyed(dict[K, V]):
    """Values by key, each of which is made from its key on first use."""

    def __init__(self, make: Callable[[K], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        self[key] = value = self._make(key)
        return value
