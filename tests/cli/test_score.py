"""`claimeval score`, `doctor` and `demo`: what they print, what they leave, how they exit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.loopback import Options, ThreadHandle, claim_judge
from claimeval.runs.directory import RunResults, load_summary
from tests.api.test_claims import spec
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.shared_data import shared_data


def test_demo_prints_a_table_the_worst_claims_and_where_the_run_lies(claimeval: Run) -> None:
    done = claimeval("demo", "--out", "run", "--details")
    printed = " ".join(done.stdout.split())
    assert (
        "Replay of recorded replies: one capable language model, asked once with the shipped"
        " prompts" in printed
    )
    for words in (
        "faithfulness",
        "correctness",
        "coverage",
        "context_recall",
        "95% interval",
        "First to read",
        "run",
    ):
        assert words in done.stdout
    assert all(
        len(line) <= 80
        for line in done.stdout.splitlines()
        if not line.startswith(("Run:", "Note:"))
    )


def test_score_writes_the_run_and_prints_json_for_scripts(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    done = claimeval("score", data, "-j", spec(server), "--out", "run", "--json")
    printed = json.loads(done.stdout)
    assert printed["metrics"]["faithfulness"]["mean"] == 0.75
    folder = data.parent / "here" / "run"
    assert (
        load_summary(folder).metrics["coverage"].mean == 0.5
    )  # 1, one half, and 0 of the empty answer
    assert [result.sample.id for result in RunResults.of(folder)] == ["good", "bad", "silent"]


def test_the_same_command_again_pays_nothing_and_leaves_the_same_files(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    files = []
    for _ in range(2):
        claimeval("score", data, "-j", spec(server), "--out", "run")
        folder = data.parent / "here" / "run"
        files.append(
            [
                (folder / name).read_bytes()
                for name in ("results.jsonl", "replies.jsonl.gz", "summary.json", "manifest.json")
            ]
        )
    assert files[0] == files[1]
    assert len(server.exchanges()) == 14


def test_stored_replies_have_a_worth_and_cost_nothing_now(
    claimeval: Run, data: Path, server: ThreadHandle, tmp_path: Path
) -> None:
    """14 questions of the four metrics at 1 and 8 dollars a million tokens, twice; then at an
    unknown price."""
    name = spec(server)
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:judge-1: {input: 1.0, output: 8.0}\n")
    first = claimeval("score", data, "-j", name, "--prices", prices, "--out", "a")
    cost = load_summary(tmp_path / "here" / "a").cost
    assert cost
    assert cost.total.prompt_tokens
    assert cost.total.completion_tokens
    tokens = cost.total.prompt_tokens + cost.total.completion_tokens
    worth = (cost.total.prompt_tokens + 8 * cost.total.completion_tokens) / 1e6
    price = f"${worth:.4f}" if worth < 0.01 else f"${worth:.2f}"
    each = f"${1000 * worth / cost.total.verdicts:.2f} per 1,000 verdicts"
    said = f"Cost of all replies of this run: {price} (14 calls), {each}."
    assert f"Paid now: {price} (14 calls, {tokens:,} tokens). {said}" in first.stdout

    again = ("score", data, "-j", name, "--prices", prices)
    assert f"Paid now: $0 (0 calls, 0 tokens). {said}" in claimeval(*again, "--out", "b").stdout
    printed = json.loads(claimeval(*again, "--out", "c", "--json").stdout)
    assert printed["calls_of_this_command"] == {
        "sent": 0,
        "cached": 14,
        "tokens": 0,
        "dollars": 0.0,
    }

    cache = ("--cache", "another")
    unpriced = claimeval("score", data, "-j", name, "--out", "d", *cache)
    sent = f"Sent now: 14 calls ({tokens:,} tokens); price unknown (--prices)."
    assert (
        f"{sent} Cost of all replies of this run: unknown (14 calls, no price)." in unpriced.stdout
    )


def test_a_table_by_a_field_is_printed_and_kept(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    done = claimeval(
        "score",
        data,
        "-j",
        spec(server),
        "-m",
        "faithfulness",
        "--by",
        "question",
        "--out",
        "run",
    )
    assert "Who built it?" in done.stdout.partition("by question")[2].partition("Report:")[0]
    by = load_summary(data.parent / "here" / "run").by["question"]
    assert {value: means["faithfulness"].value for value, means in by.items()} == {
        "Who built it?": 0.5,
        "How high is the tower?": 1.0,
        "Why?": None,
    }
    assert (
        "metadata.colour"
        in claimeval(
            "score", data, "-j", "local:lexical", "--by", "metadata.colour", exits=2
        ).stderr
    )


def test_worst_claims_name_question_claim_verdict_and_evidence(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    done = claimeval("score", data, "-j", spec(server), "-m", "faithfulness", "--details")
    after = done.stdout.partition("one claim a sample")[2]
    assert "question Who built it?" in after
    assert "The WRONG king paid." in after
    assert "contradicted by the contexts: judged by rule" in after
    assert "evidence: [" in after, "the one sentence of the document that the judge names"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--fail-under", "faithfulness=0.9"], 1, "gate failed: faithfulness is 0.75, below 0.9"),
        (["--fail-under", "faithfulness=0.7"], 0, ""),
        (["--fail-over", "faithfulness=0.7"], 1, "gate failed: faithfulness is 0.75, above 0.7"),
        (["--fail-over", "faithfulness=0.75"], 0, ""),
        (
            ["--fail-under", "coverage=0.5"],
            2,
            "unknown metric in the gate coverage=0.5: 'coverage'",
        ),
        (["--fail-under", "faithfulness=high"], 2, "not of the form METRIC=VALUE"),
    ],
)
def test_gates(
    claimeval: Run, data: Path, server: ThreadHandle, options: list[str], code: int, words: str
) -> None:
    done = claimeval("score", data, "-j", spec(server), "-m", "faithfulness", *options, exits=code)
    assert words in done.stderr
    assert bool(server.exchanges()) == (code != 2)


def test_json_lists_the_gates_that_failed(claimeval: Run, data: Path, server: ThreadHandle) -> None:
    command = ("score", data, "-j", spec(server), "-m", "faithfulness", "--json")
    done = claimeval(*command, "--fail-under", "faithfulness=0.9", exits=1)
    assert json.loads(done.stdout)["failed_gates"] == [
        "gate failed: faithfulness is 0.75, below 0.9"
    ]
    assert json.loads(claimeval(*command).stdout)["failed_gates"] == []


def test_claims_lost_to_failures_fail_the_run_unless_allowed(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    claimeval("score", data, "-j", spec(server), "-m", "faithfulness", "--limit", "1")
    options = ("score", data, "-j", spec(server), "-m", "faithfulness", "--offline")
    done = claimeval(*options, exits=1)
    assert "33.3% of samples or claims have no stored reply (not_in_cache)" in done.stderr
    claimeval(*options, "--max-missing", "0.5")


def test_a_rejected_key_exits_with_3_and_the_providers_words(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(Options(key="sk-the-right-key-000"), judge=claim_judge.answer)
    done = claimeval(
        "score", data, "-j", spec(server), "--out", "run", "--concurrency", "1", exits=3
    )
    assert "status 401" in done.stderr
    assert "run the same command to resume" in done.stderr
    assert len(server.exchanges()) == 1
    again = claimeval(
        "score", data, "-j", spec(server), "--out", "run", "--concurrency", "1", exits=3
    )
    assert again.returncode == 3, "the folder is free for another attempt"


@pytest.mark.usefixtures("without_keys")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["score", "none.jsonl", "-j", "local:lexical"], "none.jsonl does not exist"),
        (["score", ".", "-j", "local:lexical"], "is a directory"),
        (["score", "DATA"], "no judge named; claimeval never chooses a paid service"),
        (["score", "DATA", "-j", "local:lexcal"], "Did you mean 'lexical'"),
        (["score", "DATA", "-j", "openai:gpt-5"], "OPENAI_API_KEY is not set"),
        (
            ["score", "DATA", "-j", "local:lexical", "-m", "faithfullness"],
            "Did you mean 'faithfulness'",
        ),
        (
            ["score", "DATA", "-j", "local:lexical", "-m", "on_policy=contexts:none"],
            "lack evidence.none",
        ),
        (
            ["score", "DATA", "-j", "local:lexical", "--assess-prompt", "tree_way"],
            "Did you mean 'assess/three_way'",
        ),
        (
            ["score", "DATA", "-j", "local:lexical", "--field", "answer"],
            "--field 'answer' is not of the form FIELD=PATH",
        ),
        (
            ["score", "DATA", "-j", "local:lexical", "--out", "DATA"],
            "is a file; --out names a directory",
        ),
        (["score", "DATA", "-j", "local:lexical", "--out", ".."], "is not empty and holds no run"),
        (["doctor", "none.jsonl"], "none.jsonl does not exist"),
        (["scor"], "no such command 'scor'. Did you mean 'score'?"),
    ],
)
def test_the_callers_mistake_is_said_and_exits_with_2(
    claimeval: Run, data: Path, arguments: list[str], words: str
) -> None:
    done = claimeval(*[data if argument == "DATA" else argument for argument in arguments], exits=2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_broken_line_stops_score_before_any_call(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    data.write_text(data.read_text() + "{broken\n")
    done = claimeval("score", data, "-j", spec(server), exits=2)
    assert done.stderr.count("\n") == 1
    assert "line 4: not JSON" in done.stderr
    assert server.exchanges() == []


def test_a_run_of_other_settings_is_not_overwritten_by_accident(claimeval: Run, data: Path) -> None:
    run = ("score", data, "-j", "local:lexical", "--out", "run")
    claimeval(*run, "-m", "faithfulness")
    done = claimeval(*run, "-m", "coverage", exits=2)
    assert (
        "holds a run with other metrics; to have both, name these too with --overwrite:"
        " faithfulness" in done.stderr
    )
    both = claimeval(*run, "-m", "faithfulness,coverage", exits=2)
    assert (
        "holds a run with other metrics; --overwrite replaces it, and keeps its metrics; or give"
        in both.stderr
    )
    claimeval(*run, "-m", "coverage", "--overwrite")


def test_doctor_says_what_a_file_can_feed_and_what_is_malformed(claimeval: Run, data: Path) -> None:
    data.write_text(
        data.read_text()
        + '{broken\n{"answer": ["A"]}\n{"id": "good", "question": "Q", "answer": "Itâ€™s"}\n'
    )
    done = claimeval("doctor", data, exits=1)
    for words in (
        "4 readable samples",
        "line 4: not JSON",
        "line 5, answer: a list; give one text",
        "contexts per sample: min 1, median 1, max 1",
        "The first sample as read: id:",
        "1 lack reference_answers (first: good)",
        "1 id more than once, first 'good' (samples 1 and 4)",
        "1 lack contexts (first: good)",
        "wrongly decoded, as it looks: 1 sample (first: 'good'",
    ):
        assert words in " ".join(done.stdout.split()), words
    found = json.loads(claimeval("doctor", data, "--json", exits=1).stdout)
    assert found["samples"] == 4
    assert len(found["malformed"]) == 2


def test_doctor_is_content_with_a_good_file(claimeval: Run, data: Path) -> None:
    done = claimeval("doctor", data, "--metrics", "on_policy=answer:policy")
    assert "2 lack evidence.policy (first: good)" in done.stdout


@pytest.mark.parametrize(
    "command", [[], ["--help"], ["score", "--help"], ["doctor", "--help"], ["demo", "--help"]]
)
def test_help_teaches(claimeval: Run, command: list[str]) -> None:
    done = claimeval(*command, exits=0 if command else 2)
    assert "Usage: " in done.stdout + done.stderr


def test_the_sec10q_samples_score_from_end_to_end_with_the_local_scorer(claimeval: Run) -> None:
    done = claimeval("score", shared_data("sec10q/rag_mini.jsonl"), "-j", "local:lexical", "--json")
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["faithfulness"]["missing"]["missing_input"] == 1
    assert metrics["context_recall"]["total"] > 20


def test_the_labelled_sec10q_samples_score_from_end_to_end(
    claimeval: Run, server: ThreadHandle
) -> None:
    labeled = shared_data("sec10q/labelled_rag_mini.json")
    for judge in ("local:lexical", spec(server)):
        done = claimeval(
            *("score", labeled, "-j", judge, "--json", "--field", "answer=reference_answer"),
            *("-m", "supported=answer:reference_contexts"),
        )
        assert json.loads(done.stdout)["metrics"]["supported"]["total"] > 20
