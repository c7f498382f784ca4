"""What to know before trusting the numbers is decided once: command, Python, JSON and report say the same."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.runs.overview import gather
from tests.command_line import call

ROWS = [
    {"question": "How long?", "answer": "The walk takes 40 minutes.", "contexts": ["The walk takes 40 minutes."]},
    {"question": "How high?", "answer": "It is 12 m high.", "contexts": ["The tower is 90 m high."]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    rows = [*map(json.dumps, ROWS), '{"question": 1, "answer": ["no"]}']
    (folder / "data.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def test_command_python_json_and_report_say_the_same(folder: Path) -> None:
    command = ("score", "data.jsonl", "-j", "local:lexical", "-m", "faithfulness", "--skip-malformed")
    done = call(*command, "-o", "run", folder=folder)
    run = ce.Run.load(folder / "run")
    printed = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith(("Note: ", "Caution: "))]
    assert run.notes == (
        "Lexical support score, not an LLM judgment.",
        "Claims split by rules: 1.14 per biography sentence; people write 4.05.",
        "1 malformed rows were left out.",
    )
    assert printed == list(run.notes)
    again = call(*command, "-o", "again", "--json", folder=folder)
    assert json.loads(again.stdout)["notes"] == list(run.notes)
    assert [note.text for note in gather(folder / "run").cautions] == list(run.notes)
    assert all(note in run.report(format="md") for note in run.notes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ce.score(folder / "data.jsonl", judges="local:lexical", metrics="faithfulness", skip_malformed=True)
    assert [str(warning.message) for warning in caught if warning.category is ce.NoteWarning] == list(run.notes)


def test_every_lost_reply_is_a_note_of_a_shard_and_of_a_run(folder: Path) -> None:
    command = (
        "score",
        "data.jsonl",
        "-j",
        "openai:judge@http://127.0.0.1:9/v1",
        "-m",
        "faithfulness",
        "--offline",
        "--details",
    )
    for more in ((), ("--shard", "1/1")):
        done = call(*command, "--skip-malformed", "-o", f"lost{len(more)}", *more, folder=folder)
        assert "Caution: not_in_cache: " in done.stdout
