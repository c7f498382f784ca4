"""Runs the command line as a user would, in a folder of the test's."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.api.test_claims import SAMPLES
from tests.command_line import Done, call, spawn

Run = Callable[..., Done]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The empty folder that commands are called in."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of samples."""
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    return path


@pytest.fixture
def claimeval(here: Path) -> Run:
    """`claimeval("score", data, ...)` in an empty folder; environment variables as keywords."""
    return partial(call, folder=here)


@pytest.fixture
def process(here: Path) -> Run:
    """The same in a process of its own: one test of each command."""
    return partial(spawn, folder=here)
