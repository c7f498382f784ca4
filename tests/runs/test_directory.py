"""A run directory that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.runs.directory import load_manifest
from claimeval.types.errors import DataError


def test_a_run_of_another_format_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    with pytest.raises(DataError, match="is a run of format 1, and this version reads format 2"):
        load_manifest(tmp_path)
