"""`claimeval compare`: two runs, aligned by id, compared in pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.loopback import claim_judge
from tests.api.test_claims import SAMPLES, spec
from tests.cli.conftest import Run
from tests.conftest import StartServer


@pytest.fixture
def runs(claimeval: Run, tmp_path: Path, start_server: StartServer) -> Path:
    """Two runs: B has a better answer to one sample, lacks another and has one of its own."""
    server = start_server(judge=claim_judge.answer)
    better = {**SAMPLES[1], "answer": SAMPLES[1]["answer"].replace("A MISSING priest", "A priest")}
    for name, samples in {"a": SAMPLES, "b": [SAMPLES[0], better, {**SAMPLES[0], "id": "new"}]}.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        done = claimeval("score", path, "-j", spec(server), "-m", "faithfulness", "--out", name)
        assert done.returncode == 0, done.stderr
    return tmp_path / "here"


def test_differences_are_over_the_shared_samples(claimeval: Run, runs: Path) -> None:
    found = json.loads(claimeval("compare", "a", "b", "--json").stdout)
    (metric,) = found["metrics"]
    assert (found["shared"], found["only_a"], found["only_b"], found["other_texts"]) == (2, 1, 1, 1)
    assert (metric["n"], metric["a"], metric["b"]) == (2, 0.75, 0.875)
    assert metric["difference"]["value"] == 0.125
    assert (metric["higher"], metric["lower"]) == (1, 0)
    assert found["supported_in_one_only"]["faithfulness"]["p"] == 1.0


def test_a_prompt_with_fewer_labels_flips_nothing(claimeval: Run, runs: Path, start_server: StartServer) -> None:
    server = start_server(judge=claim_judge.answer)
    options = ("-j", spec(server), "-m", "faithfulness", "--assess-prompt", "tags", "--out", "c")
    assert claimeval("score", runs.parent / "a.jsonl", *options).returncode == 0
    done = claimeval("compare", "a", "c", "--out", "both.html")
    # the one contradicted claim becomes not_found, since the other prompt has no word for it; both count 0
    assert "flipped" not in done.stdout
    assert "Not counted as flips: 1 have another label that counts the same" in done.stdout
    assert "supported only in A 0, only in B 0" in " ".join(done.stdout.split())
    assert "assess prompt: assess/three_way" in done.stdout
    assert (runs / "both.html").stat().st_size > 1000
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_runs_that_share_nothing_are_refused(claimeval: Run, runs: Path) -> None:
    run = ("score", runs.parent / "a.jsonl", "-j", "local:lexical", "-m", "coverage", "--out", "other")
    assert claimeval(*run).returncode == 0
    done = claimeval("compare", "a", "other")
    assert done.returncode == 2
    assert "no metric in common" in done.stderr
    assert "has no manifest.json" in claimeval("compare", "a", "nothing").stderr


def test_lexical_scores_of_both_runs_are_compared_too(claimeval: Run, runs: Path) -> None:
    for run in ("a", "b"):
        assert claimeval("lexical", run, "-m", "k_precision").returncode == 0
    found = json.loads(claimeval("compare", "a", "b", "--json").stdout)
    k_precision, length = found["side_scores"]
    assert (k_precision["metric"], k_precision["n"]) == ("k_precision", 2)
    assert (length["metric"], length["difference"]["value"]) == ("answer_length", -0.5)
    assert "k_precision" in claimeval("compare", "a", "b").stdout


def test_side_scores_that_were_made_otherwise_say_so(claimeval: Run, runs: Path) -> None:
    for run, normalization in (("a", "squad"), ("b", "multilingual")):
        assert claimeval("lexical", run, "-m", "k_precision", "--normalization", normalization).returncode == 0
    said = "lexical, normalization: squad → multilingual"
    assert json.loads(claimeval("compare", "a", "b", "--json").stdout)["side_settings"] == [said]
    assert said in claimeval("compare", "a", "b").stdout
