"""How commands end when something went wrong, and how they go on from there."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from benchmarks.loopback import Faults, Options, ThreadHandle, claim_judge
from tests.cli.conftest import Run
from tests.command_line import call
from tests.conftest import StartServer
from tests.first_day.servers import judged, serve

ROWS = [
    {"id": str(i), "question": "Q?", "answer": f"It is {i}. It is old.", "contexts": ["C."]}
    for i in range(3)
]


@pytest.fixture
def claimeval(tmp_path: Path) -> Run:
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return partial(call, folder=tmp_path)


def test_the_same_command_goes_on_after_a_judge_file_is_mended(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(Options(key="sk-right"), judge=claim_judge.answer)
    score = ("score", "data.jsonl", "-j", "judge.yaml", "-m", "faithfulness", "-o", "run")

    def with_settings(*lines: str) -> None:
        (tmp_path / "judge.yaml").write_text(
            "\n".join((f"model: openai:m@{server.url}", "key_variable: KEY", *lines))
        )

    with_settings()
    stopped = claimeval(*score, KEY="sk-wrong", exits=3)
    assert "run the same command to resume" in stopped.stderr
    with_settings("max_tokens: 900")
    claimeval(*score, KEY="sk-right")
    with_settings("max_tokens: 800")
    other = claimeval(*score, KEY="sk-right", exits=2)
    assert "holds a run with other judges" in other.stderr, "a complete run is safe"


@pytest.mark.parametrize(
    "command", [("score", "-m", "faithfulness"), ("rate", "--ask", "relevance")]
)
def test_a_judge_of_a_panel_that_could_not_be_asked_ends_with_3(
    claimeval: Run, server: ThreadHandle, start_server: StartServer, command: tuple[str, ...]
) -> None:
    steady = server
    broke = start_server(Options(faults=Faults(rates={"insufficient_quota": 1.0})))
    name, *options = command
    judges = ("-j", f"openai:good@{steady.url}", "-j", f"openai:broke@{broke.url}")
    done = claimeval(name, "data.jsonl", *judges, *options, "-o", "run", "--json", KEY="k", exits=3)
    assert "broke" in done.stderr
    assert "quota" in done.stderr
    shown = json.loads(done.stdout)
    assert shown["exit_code"] == 3
    assert "quota" in shown["stopped"]


def test_a_run_without_a_finished_sample_is_not_judged_again(
    claimeval: Run, server: ThreadHandle
) -> None:
    judge = ("-j", f"openai:m@{server.url}", "-m", "faithfulness")
    claimeval(
        "score",
        "data.jsonl",
        *judge,
        "-o",
        "none",
        "--max-calls",
        "1",
        "--concurrency",
        "1",
        exits=3,
    )
    again = claimeval("rejudge", "none", "--vote", "any", "-o", "again", exits=2)
    assert "has no finished sample" in again.stderr

    claimeval(
        "score",
        "data.jsonl",
        *judge,
        "-o",
        "some",
        "--max-calls",
        "4",
        "--concurrency",
        "1",
        exits=3,
    )
    voted = claimeval("rejudge", "some", "--vote", "any", "-o", "voted", "--json")
    assert "is not complete" in voted.stderr
    (note,) = json.loads(voted.stdout)["notes"]
    assert "The run that was judged again was not complete" in note


def test_fewer_claims_than_annotate_draws_are_all_drawn(claimeval: Run) -> None:
    claimeval("score", "data.jsonl", "-j", "local:lexical", "-m", "faithfulness", "-o", "run")
    done = claimeval("annotate", "run", "--export", "marks.csv")
    assert "6 claims" in done.stdout


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("--max-cost inf", "max_cost: inf; it needs 1,000,000,000 or less"),
        ("--max-cost 1e400", "max_cost: inf"),
        (
            "--max-calls 99999999999999999999999",
            "max_calls: 99999999999999999999999; it needs 1,000,000,000 or less",
        ),
        ("price: {input: 1.0e+300, output: 1.0e+300}", "price"),
    ],
)
def test_numbers_beyond_every_use_end_with_2_before_any_call(
    claimeval: Run, tmp_path: Path, setting: str, words: str
) -> None:
    with serve(judged) as server:
        price = setting if setting.startswith("price") else "price: {input: 1, output: 1}"
        (tmp_path / "judge.yaml").write_text(f"model: openai:m@{server.url}\n{price}\n")
        options = setting.split() if setting.startswith("--") else ["--max-cost", "1"]
        done = claimeval("score", "data.jsonl", "-j", "judge.yaml", "-o", "out", *options, exits=2)
    assert (done.returncode, done.stderr.count("\n"), server.asked) == (2, 1, []), done.stderr
    assert words in done.stderr
