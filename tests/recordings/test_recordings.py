"""Everything that commands print and leave is as recorded; `python -m tests.recordings.record`
records it anew."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.recordings import harness, stories
from tests.recordings.harness import Bench, Renames

SHOWN = 120
"""Lines of a difference that are shown."""


@pytest.mark.parametrize("name", stories.STORIES)
def test_everything_is_as_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_server: StartServer
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable, value in {
        "COLUMNS": "80",
        "CLAIMEVAL_CACHE": "cache",
        "CLAIMEVAL_DEVICE": "cpu",
    }.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(
        time, "perf_counter", lambda: 0.0
    )  # replies take no time, so that latencies are the same
    bench = Bench(start_server, name)
    stories.STORIES[name](bench)
    if harness.REWRITE:
        harness.save(name, bench.steps)
        return
    changed = harness.difference(harness.load(name), bench.steps, Renames.read())
    rest = [f"... and {len(changed) - SHOWN} more lines"] if len(changed) > SHOWN else []
    assert not changed, "\n".join(["", *changed[:SHOWN], *rest])


def test_every_command_that_the_docs_print_is_recorded() -> None:
    root = Path(__file__).parents[2]
    printed = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (root / "README.md", *(root / "docs").rglob("*.md"))
    )
    named = set(re.findall(r"^(?:\$ )?claimeval ([a-z-]+) ", printed, re.MULTILINE)) & set(
        stories.commands()
    )
    assert named <= stories.commands_used() | set(stories.UNRECORDED)


def test_every_command_is_recorded_or_listed_as_unrecorded() -> None:
    assert set(stories.commands()) - stories.commands_used() == set(stories.UNRECORDED)


def test_recordings_are_small_and_there_are_no_others() -> None:
    found = list(harness.RECORDED.iterdir())
    assert sum(path.stat().st_size for path in found) < 1_500_000
    assert {path.name.split(".")[0] for path in found} == set(stories.STORIES)


def test_a_rename_is_declared_once_and_a_changed_number_still_shows() -> None:
    recorded = [
        {
            "command": "claimeval answers a --ask x",
            "exit": 0,
            "stdout": ["answers  0.5"],
            "stderr": [],
        }
    ]
    renames = Renames({"answers": "rate", "--ask": "--about"}, {"supported": "hits"}, {})
    now = [
        {"command": "claimeval rate a --about x", "exit": 0, "stdout": ["rate 0.5"], "stderr": []}
    ]
    assert harness.difference(recorded, now, renames) == []
    assert harness.difference(recorded, [{**now[0], "stdout": ["rate 0.6"]}], renames)
    assert renames.of({"supported": 1}) == {"hits": 1}
