"""`claimeval retrieval` as a process."""

from __future__ import annotations

import json
from pathlib import Path

from claimeval import side_scores
from tests.cli.conftest import Run

ROWS = [
    {"id": "one", "question": "Q", "context_ids": ["a", "b"], "contexts": ["A", "B"], "reference_context_ids": ["b"]},
    {"id": "two", "question": "Q", "context_ids": ["a"], "contexts": ["A"]},
]


def test_context_correctness_stands_beside_the_scores_of_a_run(claimeval: Run, tmp_path: Path) -> None:
    data = tmp_path / "samples.jsonl"
    data.write_text("".join(json.dumps({**row, "answer": "A. B."}) + "\n" for row in ROWS))
    assert claimeval("score", data, "-j", "local:lexical", "-m", "faithfulness", "--out", "run").returncode == 0
    done = claimeval("retrieval", "run", "-m", "mrr,success@1", "--json")
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["mrr"]["mean"] == 0.5
    assert metrics["success@1"]["mean"] == 0.0
    assert metrics["mrr"]["missing"] == {"no reference_context_ids": 1}
    found = [row.scores["mrr"] for row in side_scores.rows(tmp_path / "here" / "run", "retrieval")]
    assert found == [0.5, None]


def test_an_unknown_measure_is_the_callers_mistake(claimeval: Run, tmp_path: Path) -> None:
    data = tmp_path / "samples.jsonl"
    data.write_text(json.dumps(ROWS[0]) + "\n")
    done = claimeval("retrieval", data, "-m", "mmr")
    assert done.returncode == 2
    assert "mrr" in done.stderr
