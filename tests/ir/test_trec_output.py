"""trec_eval's own expected output, from its repository: option by option, line by line."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from claimeval import ir
from claimeval.ir import measures
from tests.command_line import call
from tests.shared_data import ROOT, shared_data

FOLDER = ROOT / "trec_eval"
OTHER_FORMATS = ("-R",)
"""Preferences and judgment groups."""
COMMANDS = [
    command
    for line in ((FOLDER / "commands.jsonl").read_text().splitlines() if FOLDER.exists() else [])
    if (command := json.loads(line))["trec_eval"] == "10.0"
    and not any(option in command["trec_eval_options"].split() for option in OTHER_FORMATS)
] or [{"qrels": "none", "trec_eval_options": ""}]


@pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda command: f"{command['qrels']}{command['trec_eval_options']}"
)
def test_expected_output_is_reproduced(command: dict[str, str]) -> None:
    """Whole where all measures are ours, else every line of a measure that is, in the same
    order."""
    folder = shared_data("trec_eval")
    expected = (folder / command["expected_output"]).read_text()

    result = call(
        "rank",
        str(folder / command["qrels"]),
        str(folder / command["results"]),
        "--trec",
        *shlex.split(
            command["trec_eval_options"].replace("zscores_file", str(folder / "zscores_file"))
        ),
    )

    printed = {line.split()[0] for line in result.stdout.splitlines()}
    expected = re.sub(
        "^Zgm_map.*\n", "", expected, flags=re.MULTILINE
    )  # a geometric mean of what is no number
    ours = "".join(
        line for line in expected.splitlines(keepends=True) if line.split()[0] in printed
    )
    assert result.stdout == ours
    for line in expected.splitlines():
        assert line.split()[0] in printed or is_foreign(line.split()[0])
    assert (expected == ours) or "not computed here" in result.stderr


def is_foreign(name: str) -> bool:
    """A measure of trec_eval that is not in our list, told by its name."""
    return bool(measures.read(re.sub(r"_([\d.]+|[\d,.-]+)$", "", name.removeprefix("Z"))).left_out)


def test_there_is_an_expected_output_for_every_letter() -> None:
    shared_data("trec_eval")
    options = " ".join(command["trec_eval_options"] for command in COMMANDS)

    assert all(f"-{letter}" in options for letter in "qcMlmZ")


def test_no_summary_leaves_the_queries_only() -> None:
    result = ir.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map,num_ret,gm_map")

    assert (
        ir.trec_text(result, per_query=True, summary=False)
        == "num_ret               \tq\t1\nmap                   \tq\t1.0000\n"
    )


def test_complete_counts_grades_above_zero_whatever_the_level_as_trec_eval_does() -> None:
    """trec_eval 9.0.4 -c -l2 on this input prints num_rel all 2."""
    result = ir.evaluate(
        {"q": {"a": 2, "b": 1}}, {"q": {"a": 1.0}}, "num_rel", level=2, missing="zero"
    )

    assert (
        ir.trec_text(result, per_query=True, run_id=False)
        == "num_rel               \tq\t1\nnum_rel               \tall\t2\n"
    )


def test_measures_that_trec_eval_lacks_follow_in_the_order_asked_for() -> None:
    result = ir.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "f1@5,capped_recall@10,P@5,map")

    printed = [line.split()[0] for line in ir.trec_text(result, run_id=False).splitlines()]

    assert printed == ["map", "P_5", "f1_5", "capped_recall_10"]


def test_undefined_values_are_printed_as_nan() -> None:
    result = ir.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, "map", no_relevant="undefined")

    assert ir.trec_text(result, run_id=False) == "map                   \tall\tnan\n"
