"""The examples run as they stand, and what pages show of them is what they print."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.command_line import call, folded

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each example prints."""
    found = {}
    for path in EXAMPLES:
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.chdir(tmp_path_factory.mktemp(path.stem)),
            contextlib.redirect_stdout(io.StringIO()) as out,
        ):
            patch.setenv("COLUMNS", "80")
            patch.setattr(sys, "argv", [str(path)])
            runpy.run_path(str(path), run_name="__main__")
        found[path.stem] = out.getvalue()
    return found


def test_every_example_runs_and_says_something(printed: dict[str, str]) -> None:
    assert all(printed.values())


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def block(page: str, after: str) -> str:
    """The first fenced block that follows a line of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    match = re.search(re.escape(after) + r".*?```[a-z]*\n(.*?)```", text, re.DOTALL)
    assert match, f"{page} has no block after {after!r}"
    return match.group(1)


def test_the_demo_prints_what_the_first_guide_shows(tmp_path: Path) -> None:
    printed = folded(call("demo", folder=tmp_path).stdout)
    shown = [line for line in folded(block("start.md", "<!-- demo -->")) if line != "..."]
    assert shown
    assert [line for line in shown if line not in printed] == []


def test_the_first_program_of_the_reference_is_the_file(printed: dict[str, str]) -> None:
    assert block("reference/python.md", "<!-- python -->").strip() in (
        ROOT / "examples" / "score_in_python.py"
    ).read_text(encoding="utf-8")
    assert folded(block("reference/python.md", "<!-- printed -->")) == folded(
        printed["score_in_python"]
    )
