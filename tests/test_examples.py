"""The examples run as they stand, and the README's output is what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_and_says_something(path: Path, tmp_path: Path) -> None:
    assert run([str(path)], tmp_path)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def blocks(after: str) -> str:
    """The first fenced block that follows a line of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    match = re.search(re.escape(after) + r".*?```[a-z]*\n(.*?)```", text, re.DOTALL)
    assert match, f"the README has no block after {after!r}"
    return match.group(1)


def folded(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_the_demo_prints_what_the_readme_shows(tmp_path: Path) -> None:
    printed = folded(run(["-m", "claimeval", "demo"], tmp_path))
    shown = [line for line in folded(blocks("<!-- demo -->")) if line != "..."]
    assert shown
    assert [line for line in shown if line not in printed] == []


def test_the_python_example_of_the_readme_is_the_file(tmp_path: Path) -> None:
    assert blocks("<!-- python -->").strip() in (ROOT / "examples" / "score_in_python.py").read_text(encoding="utf-8")
    assert folded(blocks("<!-- printed -->")) == folded(run([str(ROOT / "examples" / "score_in_python.py")], tmp_path))
