"""`claimeval track` as a process: three runs in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import claim_judge
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.test_api import SAMPLES, spec


@pytest.fixture
def runs(claimeval: Run, tmp_path: Path, start_server: StartServer) -> Path:
    """A; B with a better answer to one sample and another sample gone; C as B, under another prompt."""
    server = start_server(judge=claim_judge.answer)
    better = {**SAMPLES[1], "answer": SAMPLES[1]["answer"].replace("A MISSING priest", "A priest")}
    for name, samples, prompt in (
        ("a", SAMPLES, "three_way"),
        ("b", [SAMPLES[0], better], "three_way"),
        ("c", [SAMPLES[0], better], "binary"),
    ):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        command = ("score", path, "-j", spec(server), "-m", "faithfulness", "--assess-prompt", prompt, "--out", name)
        done = claimeval(*command)
        assert done.returncode == 0, done.stderr
    return tmp_path / "here"


def test_means_changes_and_samples_that_moved(claimeval: Run, runs: Path) -> None:
    done = claimeval("track", "a", "b", "c", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    track = found["metrics"]["faithfulness"]
    # the bad sample has 2 of 4 claims supported in A and 3 of 4 in B and C; the other has all
    assert [point["mean"] for point in track["points"]] == [0.75, 0.875, 0.875]
    first, second = track["changes"]
    assert (first["difference"], first["higher"], first["lower"]) == (0.125, 1, 0)
    assert first["moved"] == [{"sample": "bad", "before": 0.5, "after": 0.75}]
    assert first["only_before"] == 1
    assert (second["difference"], second["moved"], second["p_adjusted"]) == (0.0, [], 1.0)
    assert not [setting for setting in found["settings"][0] if "prompt" in setting]
    assert [setting for setting in found["settings"][1] if "assess prompt" in setting]


def test_scores_of_words_are_tracked_too_and_the_table_fits(claimeval: Run, runs: Path) -> None:
    for name in ("a", "b"):
        assert claimeval("lexical", name, "-m", "k_precision").returncode == 0
    done = claimeval("track", "a", "b", "-m", "k_precision,faithfulness")
    assert done.returncode == 0, done.stderr
    assert "k_precision" in done.stdout
    assert "b moved most: bad 0.500 to 0.750" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "moved" not in line and " to " not in line[:20])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("a",), "needs two runs or more"), (("a", "b", "-m", "mrr"), "unknown metric that all these runs have")],
)
def test_what_cannot_be_tracked_is_said(claimeval: Run, runs: Path, arguments: tuple[str, ...], message: str) -> None:
    done = claimeval("track", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
