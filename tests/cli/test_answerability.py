"""`claimeval answerability` as a process, against a loopback judge."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.loopback.judge import ScriptedJudge
from tests.cli.conftest import Run
from tests.conftest import StartServer


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
    assert shown["metrics"]["abstention_accuracy"]["mean"] == 0.5
    assert (shown["answerable_declined"], shown["unanswerable_answered"]) == (1, 1)
    assert claimeval(*command, OPENAI_API_KEY="k").returncode == 0
    assert len(server.exchanges()) == 4


def test_judges_who_are_divided_go_by_the_tie_rule(claimeval: Run, tmp_path: Path, start_server: StartServer) -> None:
    servers = [
        start_server(judge=ScriptedJudge({"": f'{{"reason": "", "kind": "{k}"}}'})) for k in ("partly", "declines")
    ]
    data = tmp_path / "answers.jsonl"
    data.write_text(json.dumps({"question": "Q?", "answer": "Perhaps."}) + "\n")
    judges = [option for server in servers for option in ("-j", f"openai:m@{server.url}")]
    command = ("answerability", data, *judges, "--json")
    assert json.loads(claimeval(*command).stdout)["metrics"]["answered"]["missing"] == {"tie": 1}
    done = claimeval(*command, "--tie", "conservative")
    assert json.loads(done.stdout)["metrics"]["answered"]["mean"] == 0.0
    (planned, *_) = json.loads(claimeval(*command, "--plan").stdout)
    assert (planned["step"], planned["stored"]) == ("answering", 1)


def test_answers_that_could_not_be_sorted_fail_the_gate(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=ScriptedJudge({"": "It answers."}))
    data = tmp_path / "answers.jsonl"
    data.write_text(json.dumps({"question": "Q?", "answer": "A."}) + "\n")
    done = claimeval("answerability", data, "-j", f"openai:m@{server.url}")
    assert done.returncode == 1
    assert "lost to failures" in done.stderr
