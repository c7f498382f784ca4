"""`claimeval retrieval`: what it prints and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.loopback.claim_judge import answer
from claimeval.runs import directory
from tests.cli.conftest import Run
from tests.conftest import StartServer

ROWS = [
    {
        "id": "one",
        "question": "Q",
        "context_ids": ["a", "b"],
        "contexts": ["A", "B"],
        "reference_context_ids": ["b"],
    },
    {"id": "two", "question": "Q", "context_ids": ["a"], "contexts": ["A"]},
]


def test_context_correctness_stands_beside_the_scores_of_a_run(
    claimeval: Run, tmp_path: Path
) -> None:
    data = tmp_path / "samples.jsonl"
    data.write_text("".join(json.dumps({**row, "answer": "A. B."}) + "\n" for row in ROWS))
    claimeval("score", data, "-j", "local:lexical", "-m", "faithfulness", "--out", "run")
    done = claimeval("retrieval", "run", "-m", "mrr,success@1", "--json")
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["mrr"]["mean"] == 0.5
    assert metrics["success@1"]["mean"] == 0.0
    assert metrics["mrr"]["missing"] == {"missing_input": 1}
    found = [
        result["mrr"].value
        for result in directory.RunResults.of(tmp_path / "here" / "run" / "retrieval")
    ]
    assert found == [0.5, None]


def test_metrics_that_no_sample_can_feed_are_named_beside_the_table(
    claimeval: Run, tmp_path: Path
) -> None:
    data = tmp_path / "samples.jsonl"
    data.write_text(json.dumps(ROWS[1]) + "\n")
    done = claimeval("retrieval", data, "-m", "mrr", "--out", "run", exits=2)
    printed = " ".join(done.stdout.split())
    fields = "contexts, and reference_context_ids or reference_contexts"
    assert f"Caution: No sample has the fields for mrr ({fields}). `claimeval doctor`" in printed
    assert "map the columns with --field FIELD=COLUMN." in printed
    data.write_text(json.dumps(ROWS[0]) + "\n")
    assert (
        "has the fields" not in claimeval("retrieval", data, "-m", "mrr", "--out", "other").stdout
    )


def test_contexts_are_matched_by_a_judge_where_texts_leave_it_open(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    data = tmp_path / "samples.jsonl"
    passage = "The harbour freezes every winter."
    contexts = ["Nothing of it.", "Every winter the harbour freezes."]
    rows = [{"id": "s", "question": "Q", "contexts": contexts, "reference_contexts": [passage]}]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (
        json.loads(claimeval("retrieval", data, "--match", "text", "--json").stdout)["metrics"][
            "mrr"
        ]["mean"]
        == 0.0
    )
    command = (
        "grade",
        data,
        "--against",
        "reference_contexts",
        "-j",
        f"openai:m@{server.url}",
        "--json",
    )
    (planned,) = json.loads(claimeval("plan", *command).stdout)["lines"]
    assert planned["calls"] == [2, 2]
    done = claimeval(*command)
    shown = json.loads(done.stdout)
    assert shown["metrics"]["mrr"]["mean"] == 0.5
    assert shown["counts"]["pairs"] == 2
    claimeval(*command)
    assert len(server.exchanges()) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "no judge named"),
        (("-j", "openai:m", "--corpus", "docs.jsonl"), "go with --against question"),
        (("-j", "openai:m@http://127.0.0.1:9/v1"), "no sample has reference_contexts"),
    ],
)
def test_what_does_not_go_together_is_said(
    claimeval: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    data = tmp_path / "samples.jsonl"
    data.write_text(json.dumps(ROWS[0]) + "\n")
    done = claimeval("grade", data, "--against", "reference_contexts", *options, exits=2)
    assert message in done.stderr


def test_an_unknown_measure_is_the_callers_mistake(claimeval: Run, tmp_path: Path) -> None:
    data = tmp_path / "samples.jsonl"
    data.write_text(json.dumps(ROWS[0]) + "\n")
    done = claimeval("retrieval", data, "-m", "mmr", exits=2)
    assert "unknown metric without a judge 'mmr'" in done.stderr


def test_an_id_that_stands_twice_is_refused_with_its_samples(
    claimeval: Run, tmp_path: Path
) -> None:
    data = tmp_path / "samples.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in (*ROWS, ROWS[0])))
    for command in (("retrieval", data), ("plan", "rate", data, "-j", "openai:m")):
        done = claimeval(*command, exits=2)
        assert "Duplicate sample id 'one' (samples 1 and 3)" in done.stderr
