"""`claimeval answerability` as a process, against a loopback judge."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.loopback.judge import ScriptedJudge


def test_refusals_are_counted_against_is_answerable(claimeval: Run, tmp_path: Path, start_server: StartServer) -> None:
    declines = '{"reason": "it says so", "kind": "declines"}'
    server = start_server(judge=ScriptedJudge({"do not know": declines, "": '{"reason": "", "kind": "answers"}'}))
    data = tmp_path / "answers.jsonl"
    rows = [("It is 5.", True), ("I do not know.", True), ("It is 6.", False), ("I really do not know.", False)]
    data.write_text(
        "".join(json.dumps({"question": "Q?", "answer": a, "is_answerable_label": said}) + "\n" for a, said in rows)
    )
    command = ("answerability", data, "-j", f"openai:m@{server.url}", "--out", "out", "--json")
    done = claimeval(*command, OPENAI_API_KEY="k")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["metrics"]["answered"]["mean"] == 0.5
    assert shown["metrics"]["right_to_answer"]["mean"] == 0.5
    assert (shown["answerable_declined"], shown["unanswerable_answered"]) == (1, 1)
    assert claimeval(*command, OPENAI_API_KEY="k").returncode == 0
    assert len(server.exchanges()) == 4
