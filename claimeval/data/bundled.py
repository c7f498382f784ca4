"""The sample data that comes with claimeval."""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> Path:
    """The path of a bundled file: inside the installed package, or in the checkout's examples."""
    inside = Path(__file__).parents[1] / "_examples"
    return (inside if inside.is_dir() else Path(__file__).parents[2] / "examples" / "data") / name
