"""`claimeval compare`: two runs, aligned by id, compared in pairs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.culprit import make
from benchmarks.loopback import ThreadHandle, claim_judge
from claimeval.types.records import Sample, SampleResult
from tests.api.test_claims import SAMPLES, spec
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.runs.test_culprit import SOME
from tests.sample_runs import attach, scored


@pytest.fixture
def runs(claimeval: Run, tmp_path: Path, start_server: StartServer) -> Path:
    """Two runs: B has a better answer to one sample, lacks another and has one of its own."""
    server = start_server(judge=claim_judge.answer)
    better = {**SAMPLES[1], "answer": SAMPLES[1]["answer"].replace("A MISSING priest", "A priest")}
    for name, samples in {
        "a": SAMPLES,
        "b": [SAMPLES[0], better, {**SAMPLES[0], "id": "new"}],
    }.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        claimeval("score", path, "-j", spec(server), "-m", "faithfulness", "--out", name)
    return tmp_path / "here"


def test_differences_are_over_the_shared_samples(claimeval: Run, runs: Path) -> None:
    found = json.loads(claimeval("compare", "a", "b", "--json").stdout)
    (metric,) = found["metrics"]
    assert (found["shared"], found["only_a"], found["only_b"], found["changed_texts"]) == (
        2,
        1,
        1,
        1,
    )
    assert (metric["n"], metric["a"], metric["b"]) == (2, 0.75, 0.875)
    assert metric["difference"]["value"] == 0.125
    assert (metric["increased"], metric["decreased"]) == (1, 0)
    assert metric["discordant"]["p"] == 1.0
    part, *_ = metric["because"]
    assert (part["cause"], part["value"], part["claims"]) == ("answer", 0.125, 2)
    assert "other answer" in claimeval("compare", "a", "b", "--details").stdout


def test_there_is_no_test_of_claims_where_no_claim_is_in_both_runs(
    claimeval: Run, tmp_path: Path
) -> None:
    sample = {"id": "t", "question": "How high?", "contexts": ["The tower is high."]}
    for name, answer in (("a", "The tower is high."), ("b", "A priest came.")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({**sample, "answer": answer}) + "\n")
        judge = ("--judge", "local:lexical", "--metrics", "faithfulness")
        claimeval("score", tmp_path / f"{name}.jsonl", *judge, "--out", name)
    done = claimeval("compare", "a", "b", "--details")
    assert "faithfulness 1 1.00 0.00 -1.00" in " ".join(done.stdout.split())
    assert "McNemar" not in done.stdout
    assert "\nNo claim is in both runs\n" in done.stdout
    assert (
        json.loads(claimeval("compare", "a", "b", "--json").stdout)["metrics"][0]["discordant"]
        is None
    )


def test_a_prompt_with_fewer_labels_flips_nothing(
    claimeval: Run, runs: Path, server: ThreadHandle
) -> None:
    options = ("-j", spec(server), "-m", "faithfulness", "--assess-prompt", "tags", "--out", "c")
    claimeval("score", runs.parent / "a.jsonl", *options)
    done = claimeval("compare", "a", "c", "--details", "--out", "both.html")
    # the one contradicted claim becomes not_found, since the other prompt has no word for it; both
    # count 0
    assert "\n0 of 6 claims flipped\n" in done.stdout
    assert "Not counted as flips: 1 have another label that counts the same" in done.stdout
    assert "Claims that one run alone supports" not in done.stdout, "there is nothing to test"
    assert "assess prompt: assess/three_way" in done.stdout
    assert (runs / "both.html").stat().st_size > 1000
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[2:]), (
        "the first line is whole without a terminal"
    )


def test_runs_that_share_nothing_are_refused(claimeval: Run, runs: Path) -> None:
    run = (
        "score",
        runs.parent / "a.jsonl",
        "-j",
        "local:lexical",
        "-m",
        "coverage",
        "--out",
        "other",
    )
    claimeval(*run)
    done = claimeval("compare", "a", "other", exits=2)
    assert "no metric in common" in done.stderr
    assert (
        "nothing does not exist; the current folder has"
        in claimeval("compare", "a", "nothing", exits=2).stderr
    )


def test_lexical_scores_of_both_runs_are_compared_too(claimeval: Run, runs: Path) -> None:
    for run in ("a", "b"):
        claimeval("lexical", run, "-m", "k_precision")
    found = json.loads(claimeval("compare", "a", "b", "--json").stdout)
    _, k_precision, length = found["metrics"]
    assert (k_precision["metric"], k_precision["n"]) == ("k_precision", 2)
    assert (length["metric"], length["difference"]["value"]) == ("answer_length", -0.5)
    assert "k_precision" in claimeval("compare", "a", "b").stdout


def test_scores_that_were_made_otherwise_say_so(claimeval: Run, runs: Path) -> None:
    for run, normalization in (("a", "squad"), ("b", "multilingual")):
        claimeval("lexical", run, "-m", "k_precision", "--normalization", normalization)
    said = "lexical, normalization: squad → multilingual"
    assert json.loads(claimeval("compare", "a", "b", "--json").stdout)["settings"][-1] == said
    assert said in claimeval("compare", "a", "b", "--details").stdout


TOPICS = [("p", "x", 1.0, 0.0), ("q", "x", 0.0, 0.0), ("r", "y", 0.0, 1.0)]
"""Sample, topic, and its value in two runs."""


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """Three runs; the third is as the first."""
    here = tmp_path / "here"
    for name, place in (("one", 0), ("two", 1), ("three", 0)):
        rows = [
            SampleResult.of(
                Sample(id=of, question=of, metadata={"topic": topic}),
                scores=scored({"words": values[place]}),
            )
            for of, topic, *values in TOPICS
        ]
        attach(here, name, rows, {"words": "share"})
    return here


def test_a_field_splits_the_differences(claimeval: Run, topics: Path) -> None:
    done = claimeval("compare", "one", "two", "--by", "metadata.topic", "--json")
    by = json.loads(done.stdout)["by"]
    found = {value: (of["n"], of["difference"]["value"]) for value, (of,) in by.items()}
    assert found == {"x": (2, -0.5), "y": (1, 1.0)}
    assert "metadata.topic" in claimeval("compare", "one", "two", "--by", "metadata.topic").stdout
    wrong = claimeval("compare", "one", "two", "--by", "metadata.topik", exits=2)
    assert "Did you mean 'metadata.topic'?" in wrong.stderr


@pytest.mark.parametrize("baseline", ["two", "1"])
def test_any_run_is_the_baseline(claimeval: Run, topics: Path, baseline: str) -> None:
    done = claimeval("compare", "one", "two", "three", "--baseline", baseline, "--json")
    found = json.loads(done.stdout)
    assert (found["runs"], found["baseline"]) == (["one", "two", "three"], 1)
    # words: 0, 0, 1 under the baseline, 1, 0, 0 otherwise
    against = found["metrics"]["words"]["against"]
    assert [
        one and (one["difference"]["value"], one["increased"], one["decreased"]) for one in against
    ] == [
        (0.0, 1, 1),
        None,
        (0.0, 1, 1),
    ]
    claimeval("compare", "one", "two", "--baseline", "four", exits=2)


def test_three_runs_are_a_page_markdown_with_pictures_and_numbers(
    claimeval: Run, topics: Path
) -> None:
    runs = ("one", "two", "three")
    told = claimeval(
        *("compare", *runs, "--baseline", "two", "--details"),
        *("--out", "trend.html", "--plot", "trend.svg"),
    ).stdout
    claimeval("compare", *runs, "--out", "trend.md")
    claimeval("compare", *runs, "--out", "trend.json")

    page = (topics / "trend.html").read_text()
    markdown = (topics / "trend.md").read_text()
    against = next(line.strip() for line in told.splitlines() if "three against two" in line)
    trend = next(line.strip() for line in told.splitlines() if line.strip().startswith("trend:"))
    # x falls and rises, so that the slope of every sample is 0
    assert (
        trend == "trend: 0.00 per run (-0.32 to +0.32), p (Holm) 1.000, 0 samples rise, 0 fall, n 3"
    )
    assert f"<p>{against}</p>" in page
    assert f"<p>{trend}</p>" in page
    assert "default-src 'none'" in page
    assert page.count("<script") == 1, "that of the colours"
    assert "one: 0.33" in (topics / "trend.svg").read_text()
    assert trend in markdown
    assert "![words](trend-words.svg)" in markdown
    assert "one: 0.33" in (topics / "trend-words.svg").read_text()
    (track,) = json.loads((topics / "trend.json").read_text())["tracks"]
    assert track["trend"]["slope"]["value"] == 0.0


def test_two_runs_are_drawn_as_differences(claimeval: Run, topics: Path) -> None:
    assert "Picture: d.svg" in claimeval("compare", "one", "two", "--plot", "d.svg").stdout
    assert "words: 0.00" in (topics / "d.svg").read_text()
    wrong = claimeval("compare", "one", "two", "--plot", "d.png", exits=2)
    assert "is a .svg file" in wrong.stderr


def test_printed_commands_can_be_pasted_where_paths_have_spaces(
    claimeval: Run, tmp_path: Path
) -> None:
    make("other_judge_and_other_answers", 3, tmp_path / "here" / "my runs")
    shown = claimeval("compare", "my runs/a", "my runs/b").stdout
    assert "Next: claimeval report 'my runs/a' --compare 'my runs/b' (" in shown
    (command,) = (
        line.partition(": ")[2]
        for line in shown.splitlines()
        if line.startswith("To tell them apart")
    )
    assert "rejudge 'my runs/a' -j openai:m2 " in command
    assert "-o 'my runs/a-again' && claimeval compare 'my runs/a-again' 'my runs/b'" in command


def test_the_next_command_names_the_runs_that_were_compared(claimeval: Run, runs: Path) -> None:
    claimeval("measure", "a", "-m", "token_recall")
    claimeval("measure", runs.parent / "a.jsonl", "-m", "token_recall", "--out", "m")
    shown = claimeval("compare", "a", "m").stdout
    (command,) = (
        line.removeprefix("Next: claimeval ")
        for line in shown.splitlines()
        if line.startswith("Next: ")
    )
    assert command.startswith("report a/measure --compare m (")
    claimeval(*command.partition(" (")[0].split())


def test_every_table_of_differences_says_what_their_intervals_cover(
    claimeval: Run, tmp_path: Path
) -> None:
    """The figure of `docs/evidence/statistics.md`."""
    make(SOME[0], 3, tmp_path / "here")
    shutil.copytree(tmp_path / "here" / "a", tmp_path / "here" / "c")
    for runs, shown in (
        ("a b", "b - a"),
        ("a b --details", "b - a"),
        ("a b c", "change"),
        ("a b c --details", "change"),
    ):
        told = claimeval("compare", *runs.split(), COLUMNS="120").stdout
        assert f"{shown}: the 95% interval covered as little as 90% in simulations" in told


@pytest.mark.parametrize("name", SOME)
def test_the_front_fits_a_screen_of_24_lines_with_80_columns(
    claimeval: Run, tmp_path: Path, name: str
) -> None:
    make(name, 3, tmp_path / "here")
    shown = claimeval("compare", "a", "b", COLUMNS="80")
    lines = (shown.stdout + shown.stderr).splitlines()
    assert sum(max(1, -(-len(line) // 80)) for line in lines) <= 24, shown.stdout
