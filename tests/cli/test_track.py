"""`claimeval compare` over a series of runs: three runs in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.loopback import claim_judge
from claimeval.types.records import Sample, SampleResult
from tests.api.test_claims import SAMPLES, spec
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.sample_runs import attach, scored


@pytest.fixture
def runs(claimeval: Run, tmp_path: Path, start_server: StartServer) -> Path:
    """A; B with a better answer to one sample and another sample gone; C as B, under another
    prompt."""
    server = start_server(judge=claim_judge.answer)
    better = {**SAMPLES[1], "answer": SAMPLES[1]["answer"].replace("A MISSING priest", "A priest")}
    for name, samples, prompt in (
        ("a", SAMPLES, "three_way"),
        ("b", [SAMPLES[0], better], "three_way"),
        ("c", [SAMPLES[0], better], "binary"),
    ):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        command = (
            "score",
            path,
            "-j",
            spec(server),
            "-m",
            "faithfulness",
            "--assess-prompt",
            prompt,
            "--out",
            name,
        )
        claimeval(*command)
    return tmp_path / "here"


def test_means_changes_and_samples_that_moved(claimeval: Run, runs: Path) -> None:
    done = claimeval("compare", "a", "b", "c", "--json")
    found = json.loads(done.stdout)
    track = found["metrics"]["faithfulness"]
    # the bad sample has 2 of 4 claims supported in A and 3 of 4 in B and C; the other has all
    assert [point["mean"] for point in track["points"]] == [0.75, 0.875, 0.875]
    first, second = track["changes"]
    assert (first["difference"]["value"], first["increased"], first["decreased"]) == (0.125, 1, 0)
    assert first["changed_samples"] == [{"sample": "bad", "before": 0.5, "after": 0.75}]
    assert first["only_before"] == 1
    assert (second["difference"]["value"], second["changed_samples"], second["p_adjusted"]) == (
        0.0,
        [],
        1.0,
    )
    assert not [setting for setting in found["settings"][0] if "prompt" in setting]
    assert [setting for setting in found["settings"][1] if "assess prompt" in setting]


def test_scores_of_words_are_tracked_too_and_the_table_fits(claimeval: Run, runs: Path) -> None:
    for name in ("a", "b"):
        claimeval("lexical", name, "-m", "k_precision")
    compare = ("compare", "a", "b", "-m", "k_precision,faithfulness")
    first = claimeval(*compare).stdout
    assert "no difference beyond chance in k_precision, faithfulness." in first
    assert "changed most" not in first, "nothing is explained that may be chance"
    done = claimeval(*compare, "--details")
    assert "k_precision" in done.stdout
    assert "b changed most: bad 0.50 to 0.75" in done.stdout
    assert all(
        len(line) <= 80
        for line in done.stdout.splitlines()
        if "changed" not in line and " to " not in line[:20]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a",), "compare needs two runs or more"),
        (("a", "b", "-m", "mrr"), "unknown metric that all these runs have"),
    ],
)
def test_what_cannot_be_tracked_is_said(
    claimeval: Run, runs: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = claimeval("compare", *arguments, exits=2)
    assert message in done.stderr


RETRIEVED = [
    {
        "id": "p",
        "question": "P?",
        "contexts": ["x", "y"],
        "context_ids": ["a", "b"],
        "reference_context_ids": ["b"],
    },
    {
        "id": "q",
        "question": "Q?",
        "contexts": ["x", "y"],
        "context_ids": ["c", "d"],
        "reference_context_ids": ["c"],
    },
]


@pytest.fixture
def retrieved(claimeval: Run, tmp_path: Path) -> Path:
    """Two retrieval runs without claims: the second finds the reference of p at rank 1 instead of
    2."""
    better = [{**RETRIEVED[0], "context_ids": ["b", "a"]}, RETRIEVED[1]]
    for name, samples in (("t1", RETRIEVED), ("t2", better)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        claimeval("measure", path, "-m", "mrr,P@1,answer_length", "--out", name)
    return tmp_path / "here"


def test_retrieval_is_tracked_without_a_run_of_claims(claimeval: Run, retrieved: Path) -> None:
    done = claimeval("compare", "t1", "t2", "-m", "mrr", "--json")
    found = json.loads(done.stdout)["metrics"]["mrr"]
    # (1/2 + 1) / 2 and (1 + 1) / 2
    assert [point["mean"] for point in found["points"]] == [0.75, 1.0]
    assert found["source"] == "measure"
    assert found["changes"][0]["changed_samples"] == [{"sample": "p", "before": 0.5, "after": 1.0}]


def test_retrieval_is_compared_without_a_run_of_claims(claimeval: Run, retrieved: Path) -> None:
    done = claimeval("compare", "t1", "t2")
    assert "a = t1, b = t2, 2 samples in both" in done.stdout
    shown = json.loads(claimeval("compare", "t1", "t2", "--json").stdout)
    found = {metric["metric"]: metric for metric in shown["metrics"]}
    assert (found["mrr"]["a"], found["mrr"]["b"], found["mrr"]["difference"]["value"]) == (
        0.75,
        1.0,
        0.25,
    )
    assert (found["P@1"]["increased"], found["P@1"]["decreased"]) == (1, 0)
    claimeval("compare", "t1", "t2", "--out", "both.html")
    assert "P@1" in (retrieved / "both.html").read_text()


def test_a_run_and_a_folder_of_retrieval_share_the_scores_of_retrieval(
    claimeval: Run, tmp_path: Path, retrieved: Path
) -> None:
    answered = [{**sample, "answer": "It is."} for sample in RETRIEVED]
    path = tmp_path / "answered.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in answered))
    score = (
        "score",
        path,
        "-j",
        "local:lexical",
        "-m",
        "faithfulness",
        "--max-missing",
        "1",
        "--out",
        "run",
    )
    claimeval(*score)
    claimeval("measure", "run", "-m", "mrr")
    claimeval("compare", "run", "t2", "-m", "mrr", "--json")
    (metric,) = json.loads(claimeval("compare", "run", "t2", "--json").stdout)["metrics"]
    assert (metric["metric"], metric["a"], metric["b"]) == ("mrr", 0.75, 1.0)
    alone = claimeval("compare", "run", "nothing", exits=2)
    assert "nothing does not exist" in alone.stderr


def test_scores_without_samples_keep_the_questions_they_were_drawn_by(
    claimeval: Run, tmp_path: Path
) -> None:
    twice = [RETRIEVED[0], {**RETRIEVED[0], "id": "p2"}, RETRIEVED[1]]
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in twice))
    for name in ("a", "b"):
        claimeval("retrieval", path, "-m", "mrr", "--out", name)
    assert "3 samples in both, 2 questions" in claimeval("compare", "a", "b").stdout
    (change,) = json.loads(claimeval("compare", "a", "b", "-m", "mrr", "--json").stdout)["metrics"][
        "mrr"
    ]["changes"]
    assert (change["difference"]["n"], change["difference"]["clusters"]) == (3, 2)


def write_scores(folder: Path, kind: str, **scores: float) -> None:
    """A run of one sample, with a run of these scores inside."""
    sample = Sample(id="s", question="")
    if not folder.exists():
        attach(
            folder.parent,
            folder.name,
            [SampleResult.of(sample, scores=scored({"base": 0.5}))],
            {"base": "share"},
        )
    attach(
        folder,
        kind,
        [SampleResult.of(sample, scores=scored(scores))],
        dict.fromkeys(scores, "share"),
    )


def test_a_name_from_two_sources_is_two_metrics(claimeval: Run, tmp_path: Path) -> None:
    here = tmp_path / "here"
    for name, first, second in (("a", 0.1, 0.6), ("b", 0.2, 0.4)):
        write_scores(here / name, "one", relevance=first)
        write_scores(here / name, "two", relevance=second)
    write_scores(here / "c", "one", relevance=0.5)
    write_scores(here / "d", "two", relevance=0.5)
    found = json.loads(claimeval("compare", "a", "b", "-m", "relevance", "--json").stdout)[
        "metrics"
    ]
    assert {
        name: one["changes"][0]["difference"]["value"] for name, one in found.items()
    } == pytest.approx({"one/relevance": 0.1, "two/relevance": -0.2})
    compared = json.loads(claimeval("compare", "a", "b", "--json").stdout)["metrics"]
    assert [metric["metric"] for metric in compared] == ["base", "one/relevance", "two/relevance"]
    apart = claimeval("compare", "c", "d", "-m", "relevance", exits=2)
    assert "relevance comes from different sources in these runs (c: one; d: two)" in apart.stderr


def test_long_names_wrap_at_80_columns_and_no_two_rows_read_alike(
    claimeval: Run, tmp_path: Path
) -> None:
    names = [f"context_relevance@{k}" for k in (1, 3, 5)] + ["context_relevance"]
    names += [f"query_likelihood_best@{k}" for k in (3, 5)]
    for name in ("a", "b"):
        write_scores(tmp_path / "here" / name, "relevance", **dict.fromkeys(names, 0.5))
    done = claimeval("compare", "a", "b", "--details", COLUMNS="80")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    rows: list[str] = []
    for line in (
        done.stdout.partition("with other claims")[2].partition("no interval:")[0].splitlines()[3:]
    ):
        name = line[:25].strip()
        numbers = line[25:].strip()
        rows = [*rows, name] if numbers else [*rows[:-1], rows[-1] + name]
    assert sorted(rows) == sorted(["base", *names])
