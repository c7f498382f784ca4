"""Pictures of runs."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from claimeval import ir
from claimeval.report import rankings
from claimeval.types.errors import UsageError

QRELS = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
GOOD = {query: {"a": 2.0, "x": 1.0} for query in QRELS}
MIXED = {
    "q1": {"a": 2.0, "x": 1.0},
    "q2": {"x": 2.0, "a": 1.0},
    "q3": {"x": 3.0, "y": 2.0, "a": 1.0},
}
SVG = "{http://www.w3.org/2000/svg}"


def evaluations(*runs: ir.TrecRun) -> list[ir.Evaluation]:
    return [ir.evaluate(QRELS, run, ["mrr", *rankings.CURVES]) for run in runs]


def test_differences_are_those_of_each_query_largest_first() -> None:
    first, second = evaluations(MIXED, GOOD)

    assert rankings.differences(first, second, "mrr") == [1 - 1 / 3, 1 - 1 / 2, 0]


def test_a_picture_of_two_runs_has_a_curve_each_and_a_bar_a_query() -> None:
    drawn = rankings.draw(evaluations(MIXED, GOOD), ["a < b", "c & d"], "mrr")

    root = ElementTree.fromstring(drawn.file)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    curves = [line for line in root.iter(f"{SVG}polyline") if line.get("class") == "curve"]
    assert len(curves) == 2 * 2
    assert [len((curve.get("points") or "").split()) for curve in curves] == [3, 3, 11, 11]
    assert {"a < b", "nDCG over k", "Precision over recall", "mrr: c & d minus a < b"} <= set(texts)
    assert "queries; higher: 2, lower: 0, of 3" in texts
    # the document that counts is first, second and third: nDCG@1 of 1, 0, 0
    assert any(
        said.startswith("a < b, k (documents looked at) 1, 0.33, 95% ")
        for said in drawn.descriptions
    )
    assert any(
        said.startswith("a < b, k (documents looked at) 3, 0.71, 95% ")
        for said in drawn.descriptions
    )  # 1, 1/log2 3, 1/2


@pytest.mark.parametrize("runs", [(GOOD,), (GOOD, MIXED, GOOD)])
def test_a_picture_of_other_numbers_of_runs_has_no_differences(
    runs: tuple[ir.TrecRun, ...],
) -> None:
    drawn = rankings.draw(evaluations(*runs), ["x", "y", "z"][: len(runs)], "mrr")

    assert "minus" not in drawn.file
    assert drawn.title == ", ".join(["x", "y", "z"][: len(runs)])


def test_runs_without_a_common_query_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="have no query in common"):
        rankings.draw(evaluations({"q1": {"a": 1.0}}, {"q2": {"a": 1.0}}), ["one", "two"], "mrr")


def test_counts_cannot_be_compared() -> None:
    assert rankings.comparable(ir.parse("num_ret,map,mrr")) == "map"
    with pytest.raises(UsageError, match="choose a measure that is not a count"):
        rankings.comparable(ir.parse("num_ret"))
