"""A store for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from claimeval.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store
