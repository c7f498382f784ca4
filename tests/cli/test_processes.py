"""Commands start in an interpreter of their own; other tests call them in the process of the test.

The commands that are left out import what one of these imports, and their own file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import call, spawn

DATA = Path(__file__).parents[2] / "examples" / "data"
LOCAL = ("-j", "local:lexical", "-m", "faithfulness")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, two runs, and rankings."""
    folder = tmp_path_factory.mktemp("processes")
    for name in ("demo.jsonl", "demo_labels.jsonl"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    for name in ("a", "b"):
        done = call("score", "demo.jsonl", *LOCAL, "--limit", 6, "--out", name, "--cache", "store", folder=folder)
        assert done.returncode == 0, done.stderr
    (folder / "qrels").write_text("q1 0 d 1\n")
    (folder / "one.run").write_text("q1 Q0 d 1 1 one\n")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "demo.jsonl", *LOCAL),
        ("score", "demo.jsonl", *LOCAL, "--limit", 2, "--out", "c"),
        ("compare", "a", "b"),
        ("agreement", "a", "--labels", "demo_labels.jsonl"),
        ("rank", "qrels", "one.run", "-m", "mrr"),
        ("prompts", "list"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_runs_in_an_interpreter_of_its_own(folder: Path, command: tuple[object, ...]) -> None:
    done = spawn(*command, folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Traceback" not in done.stderr
