"""`claimeval draw`: what it prints and writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run


def test_what_is_drawn_is_a_data_file_that_the_other_commands_read(
    claimeval: Run, tmp_path: Path
) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "question,topic,answer\n"
        + "".join(f"{w},{w[0]},An answer.\n" for w in ("ab", "cd", "cd", "ef"))
    )
    done = claimeval("draw", log, "--n", "3", "--stratify", "topic", "-o", "test.jsonl", "--json")
    assert json.loads(done.stdout)["drawn"] == 3
    rows = [
        json.loads(line) for line in (tmp_path / "here" / "test.jsonl").read_text().splitlines()
    ]
    assert [row["question"] for row in rows] == ["ab", "cd", "ef"]
    assert rows[1]["drawn"]["row"] == 2
    claimeval("doctor", "test.jsonl")


def test_rows_go_to_standard_output_and_the_table_beside_it(claimeval: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"query": "Why?"}\n')
    done = claimeval("draw", log, "-n", "5")
    assert json.loads(done.stdout)["query"] == "Why?"
    assert "1 of 5 wanted" in done.stderr


def test_the_log_is_not_written_over(claimeval: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"query": "Why?"}\n')
    done = claimeval("draw", log, "-o", log, exits=2)
    assert "is the log itself" in done.stderr


def test_a_log_may_come_from_a_pipe(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"query": f"{word}?"}) + "\n" for word in ("How", "Why", "Who"))
    done = subprocess.run(
        [sys.executable, "-m", "claimeval", "draw", "-", "-n", "2", "-o", "test.jsonl"],
        cwd=tmp_path,
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in (tmp_path / "test.jsonl").read_text().splitlines()]
    assert {row["drawn"]["from"] for row in rows} == {"standard input"}
    assert "Test set: test.jsonl" in done.stdout
