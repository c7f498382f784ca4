"""Reciprocal rank fusion."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval import ir
from claimeval.types.errors import DataError, UsageError


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    first = {"q": {"a": 9.0, "b": 8.0, "c": 7.0}}
    second = {"q": {"c": 3.0, "a": 2.0}}

    fused = ir.fuse([first, second])

    assert fused["q"] == {"a": 1 / 61 + 1 / 62, "c": 1 / 63 + 1 / 61, "b": 1 / 62}
    assert list(fused["q"]) == ["a", "c", "b"]


def test_equal_scores_are_ordered_by_the_best_rank_then_by_falling_id() -> None:
    """With k = 1: x at ranks 1 and 5 gets 1/2 + 1/6 = 2/3, y at ranks 2 and 2 gets 1/3 + 1/3, z as much as y."""
    first = {"q": {"x": 9.0, "y": 8.0, "p": 7.0, "z": 6.0, "r": 5.0}}
    second = {"q": {"s": 9.0, "y": 8.0, "t": 7.0, "u": 6.0, "x": 5.0}}
    third = {"q": {"m": 3.0, "n": 3.0}}

    assert list(ir.fuse([first, second], k=1)["q"])[:2] == ["x", "y"]
    assert list(ir.fuse([third, {"q": {"m": 1.0, "n": 1.0}}])["q"]) == ["n", "m"]
    assert list(ir.fuse([{"q": {"m": 2.0, "n": 1.0}}, {"q": {"n": 2.0, "m": 1.0}}])["q"]) == ["n", "m"]


def test_order_of_the_runs_does_not_matter() -> None:
    runs: list[ir.TrecRun] = [
        {"q": {"a": 3.0, "b": 2.0, "c": 1.0}},
        {"q": {"b": 3.0, "c": 2.0, "a": 1.0}},
        {"q": {"c": 3.0, "a": 2.0, "b": 1.0}},
    ]

    assert ir.fuse(runs) == ir.fuse(runs[::-1])
    assert len(set(ir.fuse(runs)["q"].values())) == 1


def test_queries_of_any_run_are_kept_and_sorted() -> None:
    assert list(ir.fuse([{"q2": {"a": 1.0}}, {"q1": {"a": 1.0}}])) == ["q1", "q2"]


def test_depth_keeps_the_best() -> None:
    assert list(ir.fuse([{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}], depth=2)["q"]) == ["a", "b"]


def test_files_are_fused(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")

    assert list(ir.fuse([tmp_path / "one", {"q": {"b": 1.0}}])["q"]) == ["b", "a"]


@pytest.mark.parametrize("k", [0, -5])
def test_k_below_one_is_refused(k: int) -> None:
    with pytest.raises(UsageError, match="it must be at least 1"):
        ir.fuse([{"q": {"a": 1.0}}], k=k)


def test_depth_below_one_and_no_run_are_refused() -> None:
    with pytest.raises(UsageError, match="the depth of the fusion is 0"):
        ir.fuse([{"q": {"a": 1.0}}], depth=0)
    with pytest.raises(UsageError, match="no run to fuse"):
        ir.fuse([])


def test_nan_scores_have_no_rank() -> None:
    with pytest.raises(DataError, match="the score of document 'a' is NaN"):
        ir.fuse([{"q": {"a": float("nan")}}])
