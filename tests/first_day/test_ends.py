"""How commands end when something went wrong, and how they go on from there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from benchmarks.loopback import Faults, Options, claim_judge
from tests.cli.conftest import Run
from tests.command_line import call
from tests.conftest import StartServer
from tests.first_day.servers import judged, refusal, reply, serve

ROWS = [{"id": str(i), "question": "Q?", "answer": f"It is {i}. It is old.", "contexts": ["C."]} for i in range(3)]


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
        (tmp_path / "judge.yaml").write_text("\n".join((f"model: openai:m@{server.url}", "key_variable: KEY", *lines)))

    with_settings()
    stopped = claimeval(*score, KEY="sk-wrong")
    assert stopped.returncode == 3, stopped.stderr
    assert "run the same command to resume" in stopped.stderr
    with_settings("max_tokens: 900")
    assert claimeval(*score, KEY="sk-right").returncode == 0
    with_settings("max_tokens: 800")
    other = claimeval(*score, KEY="sk-right")
    assert (other.returncode, "holds a run with other judges" in other.stderr) == (2, True), "a complete run is safe"


@pytest.mark.parametrize("command", [("score", "-m", "faithfulness"), ("rate", "--ask", "relevance")])
def test_a_judge_of_a_panel_that_could_not_be_asked_ends_with_3(
    claimeval: Run, start_server: StartServer, command: tuple[str, ...]
) -> None:
    steady = start_server(judge=claim_judge.answer)
    broke = start_server(Options(faults=Faults(rates={"insufficient_quota": 1.0})))
    name, *options = command
    judges = ("-j", f"openai:good@{steady.url}", "-j", f"openai:broke@{broke.url}")
    done = claimeval(name, "data.jsonl", *judges, *options, "-o", "run", "--json", KEY="k")
    assert done.returncode == 3
    assert "broke" in done.stderr
    assert "quota" in done.stderr
    shown = json.loads(done.stdout)
    assert shown["exit_code"] == 3
    assert "quota" in shown["stopped"]


def test_a_run_without_a_finished_sample_is_not_judged_again(claimeval: Run, start_server: StartServer) -> None:
    server = start_server(judge=claim_judge.answer)
    judge = ("-j", f"openai:m@{server.url}", "-m", "faithfulness")
    none = claimeval("score", "data.jsonl", *judge, "-o", "none", "--max-calls", "1", "--concurrency", "1")
    assert none.returncode == 3
    again = claimeval("rejudge", "none", "--vote", "any", "-o", "again")
    assert (again.returncode, "has no finished sample" in again.stderr) == (2, True)

    some = claimeval("score", "data.jsonl", *judge, "-o", "some", "--max-calls", "4", "--concurrency", "1")
    assert some.returncode == 3
    voted = claimeval("rejudge", "some", "--vote", "any", "-o", "voted", "--json")
    assert voted.returncode == 0, voted.stderr
    assert "is not complete" in voted.stderr
    (note,) = json.loads(voted.stdout)["notes"]
    assert "The run that was judged again was not complete" in note


def test_fewer_claims_than_annotate_draws_are_all_drawn(claimeval: Run) -> None:
    assert claimeval("score", "data.jsonl", "-j", "local:lexical", "-m", "faithfulness", "-o", "run").returncode == 0
    done = claimeval("annotate", "run", "--export", "marks.csv")
    assert done.returncode == 0, done.stderr
    assert "6 claims" in done.stdout


REPLIES = {
    "wrong key": refusal("Incorrect API key provided", status=401, code="invalid_api_key"),
    "unknown model": refusal("The model `m` does not exist", status=404, code="model_not_found"),
    "unreadable": reply("I cannot say."),
}
"""What a server answers to every question, so that no run can go on."""
COMMANDS = (
    "score many.jsonl -j JUDGE -m faithfulness -o out",
    "score many.jsonl -j JUDGE -m faithfulness -o out --shard 1/2",
    "rate many.jsonl -j JUDGE --ask relevance -o out",
    "rate many.jsonl -j JUDGE --ask relevance -o out --shard 1/2",
    "rate run -j JUDGE",
    "grade many.jsonl -j JUDGE -o out",
    "grade many.jsonl -j JUDGE --against reference_contexts -o out",
    "grade queries.tsv --corpus corpus.jsonl --qrels qrels.txt -j JUDGE -o out",
    "rejudge run -j JUDGE -o out",
    "rejudge run other -j JUDGE -o out",
    "extraction many.jsonl --claims atomic --extractor JUDGE -o out",
    "write-queries corpus.jsonl -j JUDGE -n 30 -o out",
    "experiment experiment.yaml -o out",
)


@pytest.fixture
def many(tmp_path: Path) -> Run:
    """The command line in a folder with enough questions of every kind to give up a judge."""

    def write(name: str, rows: Iterable[object]) -> None:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    texts = [(str(i), f"How high is tower {i}?", f"Tower {i} in the old town is {i} metres high.") for i in range(24)]
    write(
        "many.jsonl",
        (
            {"id": id, "question": question, "answer": text, "contexts": [text], "reference_contexts": [f"It is {id}."]}
            for id, question, text in texts
        ),
    )
    write("corpus.jsonl", ({"id": id, "text": f"{text} " * 8} for id, _, text in texts))
    (tmp_path / "queries.tsv").write_text("".join(f"{id}\t{question}\n" for id, question, _ in texts))
    (tmp_path / "qrels.txt").write_text("".join(f"{id} 0 {id} 1\n" for id, *_ in texts))
    claimeval = partial(call, folder=tmp_path, OPENAI_API_KEY="k")
    for name in ("run", "other"):
        made = claimeval("score", "many.jsonl", "-j", "local:lexical", "-m", "faithfulness", "-o", name, "-q")
        assert made.returncode == 0, made.stderr
    return claimeval


def run_with(many: Run, tmp_path: Path, url: str, command: str, *options: str) -> tuple[str, dict[str, object]]:
    """Run a command with a judge at this address that ends with 3; return what it says and its JSON."""
    judge = f"openai:m@{url}"
    design = {"data": "many.jsonl", "judges": judge, "metrics": "faithfulness", "grid": {"claims_per_call": [1, 2]}}
    (tmp_path / "experiment.yaml").write_text(json.dumps(design))
    done = many(*command.replace("JUDGE", judge).split(), "--json", *options)
    assert done.returncode == 3, done.stderr
    shown = json.loads(done.stdout)
    assert shown["exit_code"] == 3
    return done.stderr, shown


@pytest.mark.parametrize("answer", REPLIES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_judge_that_cannot_be_used_ends_every_command_with_3(
    many: Run, tmp_path: Path, command: str, answer: str
) -> None:
    with serve(lambda _: REPLIES[answer]) as server:
        said, shown = run_with(many, tmp_path, server.url, command)
    assert "run the same command to resume" in said
    assert "run the same command to resume" in str(shown["stopped"])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_that_allows_no_call_ends_every_command_with_3(many: Run, tmp_path: Path, command: str) -> None:
    with serve(judged) as server:
        said, _ = run_with(many, tmp_path, server.url, command, "--max-calls", "0")
    assert "raise the limit and run the same command" in said
    assert server.asked == []


@pytest.mark.parametrize("command", [words for words in COMMANDS if words.partition(" ")[0] in ("rate", "grade")])
def test_a_batch_with_a_wrong_key_ends_with_3(
    many: Run, tmp_path: Path, start_server: StartServer, command: str
) -> None:
    server = start_server(Options(key="sk-right"), judge=claim_judge.answer)
    said, _ = run_with(many, tmp_path, server.url, command, "--batch")
    assert "run the same command to resume" in said


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("--max-cost inf", "max_cost: inf; it needs 1,000,000,000 or less"),
        ("--max-cost 1e400", "max_cost: inf"),
        ("--max-calls 99999999999999999999999", "max_calls: 99999999999999999999999; it needs 1,000,000,000 or less"),
        ("price: {input: 1.0e+300, output: 1.0e+300}", "price"),
    ],
)
def test_numbers_beyond_every_use_end_with_2_before_any_call(
    many: Run, tmp_path: Path, setting: str, words: str
) -> None:
    with serve(judged) as server:
        price = setting if setting.startswith("price") else "price: {input: 1, output: 1}"
        (tmp_path / "judge.yaml").write_text(f"model: openai:m@{server.url}\n{price}\n")
        options = setting.split() if setting.startswith("--") else ["--max-cost", "1"]
        done = many("score", "many.jsonl", "-j", "judge.yaml", "-o", "out", *options)
    assert (done.returncode, done.stderr.count("\n"), server.asked) == (2, 1, []), done.stderr
    assert words in done.stderr
