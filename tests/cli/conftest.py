"""Runs the command line as a user would: its own process, its own folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.canary import holds_a_key

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def claimeval(tmp_path: Path) -> Run:
    """`claimeval("score", data, ...)` in an empty folder; environment variables as keywords."""
    folder = tmp_path / "here"
    folder.mkdir()

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "claimeval", *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "COLUMNS": "80", **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not holds_a_key(done.stdout + done.stderr), "the command prints a key"
        return done

    return run
