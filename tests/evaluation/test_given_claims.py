"""Claims of the gold answer that come with the data: no extraction, and what people or others said
of them counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from tests.command_line import call
from tests.evaluation.test_per_document import spec

ASSIGNED: dict[str, Any] = {
    "query": "What is the tower?",
    "qid": "2024-1",
    "answer_text": "FROM_alpha it is high.",
    "response_length": 4,
    "run_id": "ours",
    "nuggets": [
        {"text": "It is high.", "importance": "vital", "assignment": "support"},
        {"text": "It is old.", "importance": "vital", "assignment": "partial_support"},
        {"text": "It is near.", "importance": "okay", "assignment": "support"},
        {"text": "It has doors.", "importance": "okay", "assignment": "not_support"},
        {"text": "It has stairs.", "importance": "vital", "assignment": "not_support"},
    ],
}
"""A line as nuggetizer's `assign` writes it."""
SCORES = {
    "nugget_recall_vital": (1 + 0.5 + 0) / 3,
    "nugget_recall_vital_strict": 1 / 3,
    "nugget_recall": (1 + 0.5 + 1 + 0 + 0) / 5,
    "nugget_recall_strict": 2 / 5,
    "nugget_recall_weighted": (1 + 0.5 + 0.5 * 1) / 4,
    "nugget_recall_weighted_strict": (1 + 0.5 * 1) / 4,
}


def nuggets(**changes: object) -> dict[str, Any]:
    return {**ASSIGNED, "nuggets": [{**nugget, **changes} for nugget in ASSIGNED["nuggets"]]}


def test_a_line_of_nuggetizer_has_its_scores_without_a_call(
    server: ThreadHandle, tmp_path: Path
) -> None:
    run = ce.score([ASSIGNED], judges=spec(server), metrics="nuggets", out=tmp_path / "run")
    assert server.exchanges() == []
    assert {name: run.results[0][name].value for name in SCORES} == pytest.approx(SCORES, abs=1e-12)
    assert run.results[0].sample.id == "2024-1"
    assert {claim.grounding for claim in run.results[0].claims} == {"given"}
    assert run.results[0]["coverage"].value == 2 / 5
    again = ce.rejudge(tmp_path / "run", panel=ce.PanelOptions(vote="unanimous"))
    assert {name: again.results[0][name].value for name in SCORES} == pytest.approx(
        SCORES, abs=1e-12
    )


def test_what_is_not_given_is_asked_about_the_same_claims(server: ThreadHandle) -> None:
    run = ce.score([nuggets(assignment=None)], judges=spec(server), metrics="coverage")
    assert [call.step for call in run.results[0].calls] == ["assess"]
    assert [claim.text for claim in run.results[0].claims] == [
        nugget["text"] for nugget in ASSIGNED["nuggets"]
    ]
    assert run["coverage"].total == 5


def test_a_nugget_whose_assignment_failed_is_asked_about(server: ThreadHandle) -> None:
    row = {
        **ASSIGNED,
        "nuggets": [*ASSIGNED["nuggets"][:4], {**ASSIGNED["nuggets"][4], "assignment": "failed"}],
    }
    run = ce.score([row], judges=spec(server), metrics="nuggets")
    assert [call.subjects for call in run.results[0].calls] == [("reference-5",)]


def test_claims_may_be_texts_beside_gold_answers(server: ThreadHandle) -> None:
    row = {
        "question": "?",
        "answer": "FROM_r it is.",
        "reference": "FROM_r it is.",
        "reference_claims": ["It is.", "It was."],
    }
    run = ce.score([row], judges=spec(server), metrics=["coverage", "correctness"])
    steps = [(call.step, call.part) for call in run.results[0].calls]
    assert sorted(steps) == [("assess", "answer"), ("assess", "reference"), ("extract", "answer")]
    assert len(run.results[0].claims_of("reference")) == 2


def test_the_default_metric_of_claims_without_gold_answer_is_coverage(server: ThreadHandle) -> None:
    run = ce.score([nuggets(assignment=None)], judges=spec(server))
    assert list(run.summary) == ["coverage"]


def test_the_command_reads_the_file(server: ThreadHandle, tmp_path: Path) -> None:
    file = tmp_path / "assigned.jsonl"
    file.write_text(json.dumps(ASSIGNED) + "\n")
    call(
        "score",
        file,
        "-j",
        spec(server),
        "--metrics",
        "nuggets",
        "--out",
        tmp_path / "run",
        "--json",
    )
    assert server.exchanges() == []
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["metrics"]["nugget_recall"]["mean"] == SCORES["nugget_recall"]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"text": "It is.", "importance": "big"}, "item 1, importance"),
        ({"importance": "vital"}, "item 1, text"),
        (7, "item 1, text"),
    ],
)
def test_a_claim_that_cannot_be_read_is_an_error_with_its_place(
    claim: object, message: str
) -> None:
    with pytest.raises(ce.DataError, match=f"reference_claims: {message}"):
        ce.read_samples([{"question": "?", "answer": "a", "reference_claims": [claim]}])
