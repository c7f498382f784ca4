"""The tutorial: its code runs in the order of the week, and its commands print what the pages
show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import call, folded

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial"
WEEK = ("index", "monday", "tuesday", "wednesday", "thursday", "friday")


def test_the_week_runs_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line that a page shows is printed, in that order; `...` stands for any others."""
    monkeypatch.chdir(tmp_path)
    wrong = []
    for day in WEEK:
        page = (TUTORIAL / f"{day}.md").read_text(encoding="utf-8")
        for kind, block in re.findall(r"```(python|console)\n(.*?)```", page, re.DOTALL):
            if kind == "python":
                exec(compile(block, f"{day}.md", "exec"), {})
                continue
            for command in block.split("$ ")[1:]:
                line, _, shown = command.partition("\n")
                name, *arguments = shlex.split(line)
                assert name == "claimeval"
                done = call(*arguments, folder=tmp_path, exits=None)
                printed = iter([*folded(done.stdout + done.stderr), f"exit code {done.returncode}"])
                wrong += [
                    f"{day}: {line}: {text}"
                    for text in folded(shown)
                    if text != "..." and text not in printed
                ]
                if "exit code" not in shown:
                    assert done.returncode == 0, done.stderr
    assert wrong == [], "\n".join(wrong)


def test_every_page_of_the_tutorial_is_part_of_the_week() -> None:
    assert {page.stem for page in TUTORIAL.glob("*.md")} == set(WEEK)
