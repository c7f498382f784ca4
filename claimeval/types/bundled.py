"""The sample data that comes with the package."""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> Path:
    """Return the path of a bundled file, in the installed package or in the repository's
    examples."""
    installed = Path(__file__).parents[1] / "_examples"
    return (
        installed if installed.is_dir() else Path(__file__).parents[2] / "examples" / "data"
    ) / name
