"""`claimeval lexical`: alone, and beside the scores of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimeval.runs import directory
from tests.cli.conftest import Run


def test_scores_of_a_file_are_printed_and_kept(claimeval: Run, data: Path) -> None:
    done = claimeval("lexical", data, "-m", "exact_match,k_precision", "--out", "run", "--json")
    record = json.loads(done.stdout)
    assert (
        record["command"]
        == json.loads(claimeval("lexical", "none", "--json", exits=2).stdout)["command"]
        == "lexical"
    )
    metrics = record["metrics"]
    assert list(metrics) == ["exact_match", "k_precision", "answer_length"]
    assert metrics["exact_match"]["n"] == 3
    results = list(directory.RunResults.of(data.parent / "here" / "run"))
    assert [result.sample.id for result in results] == ["good", "bad", "silent"]
    assert results[0]["answer_length"].value == 10.0


def test_a_shard_says_what_is_left_and_the_merged_run_has_the_scores(
    claimeval: Run, data: Path
) -> None:
    command = ("lexical", data, "-m", "exact_match", "--out", "run", "--shard")
    first = claimeval(*command, "1/2").stdout.splitlines()
    assert first == [
        "Shard 1/2: 1 sample in run/parts/00001-of-00002.jsonl",
        "1 of 2 shards are finished; `claimeval merge run` joins them when all are",
    ]
    second = json.loads(claimeval(*command, "2/2", "--json").stdout)
    assert (second["shard"], second["samples"], second["exit_code"]) == ("2/2", 2, 0)
    assert (
        json.loads(claimeval("merge", "run", "--json").stdout)["metrics"]["exact_match"]["n"] == 3
    )


def test_one_table_shows_lexical_scores_beside_judged_ones(claimeval: Run, data: Path) -> None:
    score = ("score", data, "-j", "local:lexical", "-m", "faithfulness", "--out", "run")
    claimeval(*score)
    claimeval("lexical", "run", "-m", "token_recall")
    shown = claimeval(*score, "--details").stdout.partition("metric  ")[2]
    assert shown.index("faithfulness") < shown.index("token_recall") < shown.index("First to read")


def test_missing_texts_are_counted_with_their_reason(claimeval: Run, data: Path) -> None:
    data.write_text(json.dumps({"question": "Q", "answer": "A b."}) + "\n")
    metrics = json.loads(claimeval("lexical", data, "--json").stdout)["metrics"]
    found = metrics["k_precision"]
    assert (found["mean"], found["low"], found["n"], found["unit"], found["bounds"]) == (
        None,
        None,
        0,
        "share",
        None,
    )
    assert (found["missing"], found["total"], found["micro"]) == ({"missing_input": 1}, None, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-m", "token_recal"], "Did you mean 'token_recall'"),
        (["--normalization", "squid"], "Did you mean 'squad'"),
    ],
)
def test_unknown_names_get_the_closest(
    claimeval: Run, data: Path, options: list[str], words: str
) -> None:
    done = claimeval("lexical", data, *options, exits=2)
    assert words in done.stderr


def test_text_without_spaces_is_noticed_once(claimeval: Run, data: Path) -> None:
    row = {
        "question": "Q",
        "answer": "東京は日本の首都です。",
        "contexts": ["東京は日本の首都です。"],
    }
    data.write_text((json.dumps(row) + "\n") * 2)
    done = claimeval("lexical", data, "-m", "k_precision")
    assert done.stderr.count("--normalization multilingual") == 1


def test_text_that_rouge_does_not_read_is_noticed_once(claimeval: Run, data: Path) -> None:
    """ROUGE of two equal texts is 0 there."""
    row = {"question": "Q", "answer": "Москва, 1147", "reference_answers": ["Москва, 1147"]}
    data.write_text((json.dumps(row) + "\n") * 2)
    told = "has no letters a to z, and ROUGE reads no others; use --normalization multilingual"
    assert claimeval("lexical", data, "-m", "rouge_l,token_f1").stderr.count(told) == 1
    assert told not in claimeval("lexical", data, "-m", "token_f1").stderr
    assert (
        told
        not in claimeval("lexical", data, "-m", "rouge_l", "--normalization", "multilingual").stderr
    )
