"""`claimeval rate`, against loopback judges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.loopback.claim_judge import answer
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.runs.directory import RunResults
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.execution.batch_runs import spec
from tests.sample_runs import untimed

ROWS = [
    {"id": "good", "answer": "The tower is 63 metres high. It is old."},
    {"id": "wrong", "answer": "The tower is old. It has a WRONG height."},
    {"id": "unknown", "answer": "I do not know."},
    {"id": "none"},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    shared = {"question": "How high is the tower?", "contexts": ["C."], "reference_answers": ["R."]}
    path.write_text("".join(json.dumps({**row, **shared}) + "\n" for row in ROWS))
    return path


def lenient(body: Body) -> Reply:
    """Finds every whole answer faithful and correct."""
    asked = text_of(body).rpartition("Reply with this JSON")[2]
    return (
        Reply('{"reason": "", "rating": "yes"}') if '"rating":"yes|no"' in asked else answer(body)
    )


def test_ratings_stand_beside_the_claims_of_a_run_and_are_held_against_them(
    claimeval: Run, data: Path, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=lenient)
    judge = ("-j", f"openai:m@{server.url}")
    claimeval("score", data, *judge, "-m", "faithfulness", "-o", "run")
    before = len(server.exchanges())
    done = claimeval("rate", "run", *judge, "--json", "--details")
    shown = json.loads(done.stdout)
    assert len(server.exchanges()) - before == 9
    means = {name: metric["mean"] for name, metric in shown["metrics"].items()}
    assert means == {
        "rated_relevance": pytest.approx(2 / 3),
        "noncommittal": pytest.approx(1 / 3),
        "rated_faithfulness": 1.0,
        "rated_correctness": 1.0,
    }
    assert shown["metrics"]["rated_relevance"]["missing"] == {"missing_input": 1}
    assert shown["ratings"]["rated_relevance"] == {
        "fully": 2,
        "partly": 0,
        "no": 1,
        "noncommittal": 1,
    }
    for command in (("agreement",), ("correct",), ("annotate",), ("agreement", "--labels", data)):
        refused = claimeval(*command, "run/rate", exits=2)
        several = "the run has several ratings: name one of rated_relevance" in refused.stderr
        assert several or "run/rate is a run of rate" in refused.stderr, command
    (held,) = shown["against_claims"]
    assert (held["rating"], held["metric"]) == ("rated_faithfulness", "faithfulness")
    assert held["claims"]["value"] == pytest.approx(2 / 3)
    assert held["apart"] == [{"id": "wrong", "whole": True, "supported": 1, "judged": 2}]

    run = tmp_path / "here" / "run"
    first = RunResults.of(run / "rate")[0]
    assert [(a.question, a.label, a.verdicts[0].judge) for a in first.assessments] == [
        (name, word, f"openai:m@{server.url}")
        for name, word in (
            ("rated_relevance", "fully"),
            ("noncommittal", "no"),
            ("rated_faithfulness", "yes"),
            ("rated_correctness", "yes"),
        )
    ]
    assert first.calls[1].reply == '{"reason": "", "rating": "yes"}'
    front = claimeval("rate", "run", *judge).stdout
    said = (
        "1 of 3 answers does not answer the question, 1 commits itself to nothing, 1 question"
        " without an answer."
    )
    assert said in " ".join(front.split())
    assert " ✗ unknown: I do not know.\n   rated_relevance no (also noncommittal)" in front
    again = claimeval("rate", "run", *judge, "--details")
    assert "differ in 1 of 3: wrong (yes; 1 of 2 claims supported)" in " ".join(
        again.stdout.split()
    )
    assert len(server.exchanges()) - before == 9
    report = claimeval("report", "run", "--format", "json")
    assert "rated_relevance" in report.stdout
    assert "rated_faithfulness" in claimeval("compare", "run", "run").stdout
    assert "rated_relevance" in claimeval("report", "run/rate", "--format", "md").stdout


def test_a_plan_asks_nothing(claimeval: Run, data: Path, start_server: StartServer) -> None:
    server = start_server(judge=answer)
    done = claimeval(
        "plan", "rate", data, "-j", f"openai:m@{server.url}", "--ask", "correctness", "--json"
    )
    (row,) = json.loads(done.stdout)["lines"]
    assert (row["step"], row["calls"]) == ("answers", [3, 3])
    assert not server.exchanges()


def test_a_cap_stops_with_three_and_a_higher_one_goes_on(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    command = ("rate", data, "-j", f"openai:m@{server.url}", "-o", "out", "--concurrency", "1")
    stopped = claimeval(*command, "--max-calls", "4", exits=3)
    assert "Budget reached" in stopped.stderr
    assert len(server.exchanges()) == 4
    claimeval(*command, "--max-calls", "9")
    assert len(server.exchanges()) == 9


def test_ratings_lost_to_failures_are_unassessed_and_fail_the_gate(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(
        judge=lambda body: Reply("yes") if "<references>" in text_of(body) else answer(body)
    )
    command = ("rate", data, "-j", f"openai:m@{server.url}", "-o", "out", "--json")
    done = claimeval(*command, exits=1)
    assert "rated_correctness lost 75.0% of samples" in done.stderr
    found = json.loads(done.stdout)["metrics"]["rated_correctness"]
    assert (found["mean"], found["missing"]) == (None, {"unparsable": 3, "missing_input": 1})
    claimeval(*command, "--max-missing", "1")


def test_a_panel_of_two_providers_votes_and_says_who_said_what(
    claimeval: Run, data: Path, tmp_path: Path, start_server: StartServer
) -> None:
    strict = start_server(judge=answer)
    kind = start_server(judge=lenient, dialect="mistral")
    (tmp_path / "kind.yaml").write_text(f"model: mistral:m\nendpoint: {kind.url}\n")
    command = (
        "rate",
        data,
        "-j",
        f"openai:m@{strict.url}",
        "-j",
        tmp_path / "kind.yaml",
        "--ask",
        "faithfulness",
    )
    done = claimeval(*command, "-o", "out", "--json", MISTRAL_API_KEY="k")
    found = json.loads(done.stdout)["metrics"]["rated_faithfulness"]
    assert (found["mean"], found["missing"]) == (1.0, {"tie": 1, "missing_input": 1})
    done = claimeval("rejudge", "out", "--tie", "conservative", "-o", "again", "--json")
    assert json.loads(done.stdout)["metrics"]["rated_faithfulness"]["mean"] == pytest.approx(2 / 3)
    assert (len(strict.exchanges()), len(kind.exchanges())) == (3, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ask", "truth"), "abstention, correctness, faithfulness, relevance"),
        (("--prompt", "faithfulness"), "QUESTION=FILE"),
        (("--prompt", "correctness=none.j2"), "none.j2"),
    ],
)
def test_what_the_caller_can_mend_is_said_before_any_call(
    claimeval: Run, data: Path, options: tuple[str, ...], message: str
) -> None:
    done = claimeval("rate", data, "-j", "openai:m@http://127.0.0.1:9/v1", *options, exits=2)
    assert message in done.stderr


def test_ratings_through_batches_are_the_ratings_online(
    claimeval: Run, data: Path, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    command = ("rate", data, "-j", spec(server, "openai"))
    claimeval(*command, "-o", "online", "--cache", "one")
    claimeval(*command, "-o", "batch", "--cache", "two", "--batch")
    online, batch = (tmp_path / "here" / run / "results.jsonl" for run in ("online", "batch"))
    assert untimed(batch) == untimed(online)


def test_refusals_are_counted_against_is_answerable(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    declines = '{"reason": "it says so", "kind": "declines"}'
    answers = '{"reason": "", "kind": "answers"}'
    server = start_server(
        judge=lambda body: Reply(declines if "do not know" in text_of(body) else answers)
    )
    data = tmp_path / "answers.jsonl"
    rows = [
        ("It is 5.", True),
        ("I do not know.", True),
        ("It is 6.", False),
        ("I really do not know.", False),
    ]
    data.write_text(
        "".join(
            json.dumps({"question": "Q?", "answer": a, "is_answerable_label": said}) + "\n"
            for a, said in rows
        )
    )
    command = (
        "rate",
        data,
        "--ask",
        "abstention",
        "-j",
        f"openai:m@{server.url}",
        "--out",
        "out",
        "--json",
    )
    done = claimeval(*command, OPENAI_API_KEY="k")
    shown = json.loads(done.stdout)
    assert shown["metrics"]["answered"]["mean"] == 0.5
    assert shown["metrics"]["abstention_accuracy"]["mean"] == 0.5
    assert (
        shown["outcomes"]["answerable_declined"],
        shown["outcomes"]["unanswerable_answered"],
    ) == (1, 1)
    claimeval(*command, OPENAI_API_KEY="k")
    assert len(server.exchanges()) == 4


def test_judges_who_are_divided_go_by_the_tie_rule(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    partly = Reply('{"reason": "", "kind": "partly"}')
    declines = Reply('{"reason": "", "kind": "declines"}')
    servers = [start_server(judge=lambda body: partly), start_server(judge=lambda body: declines)]
    data = tmp_path / "answers.jsonl"
    data.write_text(json.dumps({"question": "Q?", "answer": "Perhaps."}) + "\n")
    judges = [f"openai:m@{server.url}" for server in servers]
    command = (
        "rate",
        data,
        "--ask",
        "abstention",
        *(option for judge in judges for option in ("-j", judge)),
        "--json",
    )
    assert json.loads(claimeval(*command).stdout)["metrics"]["answered"]["missing"] == {"tie": 1}
    panel = tmp_path / "panel.yaml"
    panel.write_text(json.dumps({"judges": judges, "tie": "conservative"}))
    done = claimeval("rate", data, "--ask", "abstention", "-j", panel, "--json", "--overwrite")
    assert json.loads(done.stdout)["metrics"]["answered"]["mean"] == 0.0
    planned, *_ = json.loads(claimeval("plan", *command).stdout)["lines"]
    assert (planned["step"], planned["cached"]) == ("answering", 1)


def test_answers_that_could_not_be_sorted_fail_the_gate(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=lambda body: Reply("It answers."))
    data = tmp_path / "answers.jsonl"
    data.write_text(json.dumps({"question": "Q?", "answer": "A."}) + "\n")
    done = claimeval("rate", data, "--ask", "abstention", "-j", f"openai:m@{server.url}", exits=1)
    assert "answered lost 100.0% of samples or claims to failures" in done.stderr
