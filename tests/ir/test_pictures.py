"""Pictures of runs."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from claimeval import ir
from claimeval.ir import pictures
from claimeval.types.errors import UsageError

QRELS = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
GOOD = {query: {"a": 2.0, "x": 1.0} for query in QRELS}
MIXED = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 2.0, "a": 1.0}, "q3": {"x": 3.0, "y": 2.0, "a": 1.0}}
SVG = "{http://www.w3.org/2000/svg}"


def evaluations(*runs: ir.TrecRun) -> list[ir.Evaluation]:
    return [ir.evaluate(QRELS, run, ["mrr", *pictures.CURVE]) for run in runs]


def test_differences_are_those_of_each_query_largest_first() -> None:
    first, second = evaluations(MIXED, GOOD)

    assert pictures.differences(first, second, "mrr") == [1 - 1 / 3, 1 - 1 / 2, 0]


def test_a_picture_of_two_runs_has_a_curve_each_and_a_bar_a_query(tmp_path: Path) -> None:
    pictures.draw(evaluations(MIXED, GOOD), ["a < b", "c & d"], "mrr", tmp_path / "x.svg")

    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    curves = [line for line in root.iter(f"{SVG}polyline") if line.get("stroke-width") == "2"]
    ground_and_legend = 1 + 2
    assert len(curves) == 2
    assert all(len((curve.get("points") or "").split()) == 11 for curve in curves)
    assert len(list(root.iter(f"{SVG}rect"))) == ground_and_legend + len(QRELS)
    assert "a < b" in [text.text for text in root.iter(f"{SVG}text")]


def test_a_picture_of_one_run_has_no_differences(tmp_path: Path) -> None:
    pictures.draw(evaluations(GOOD), ["good"], "mrr", tmp_path / "x.svg")

    assert "difference" not in (tmp_path / "x.svg").read_text()


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a picture is written as \.svg, not as 'x\.png'"):
        pictures.draw(evaluations(GOOD), ["good"], "mrr", tmp_path / "x.png")


def test_runs_without_a_common_query_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="have no query in common"):
        pictures.draw(evaluations({"q1": {"a": 1.0}}, {"q2": {"a": 1.0}}), ["one", "two"], "mrr", tmp_path / "x.svg")


def test_counts_cannot_be_compared() -> None:
    assert pictures.comparable(ir.parse("num_ret,map,mrr")) == "map"
    with pytest.raises(UsageError, match="ask for a measure that is no count"):
        pictures.comparable(ir.parse("num_ret"))
