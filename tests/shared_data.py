"""Where the labeled research data lies, when it is there: beside the checkout, or in
$CLAIMEVAL_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(
    os.environ.get("CLAIMEVAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)


def shared_data(name: str) -> Path:
    """The path of one data file or folder; skips the test, saying so, where it is absent."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(
            f"research data {name} is not beside the checkout (set CLAIMEVAL_DATA to its folder)"
        )
    return path
