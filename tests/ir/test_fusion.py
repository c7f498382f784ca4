"""Fusion by reciprocal rank and by score."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

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
    """With k = 1: x at ranks 1 and 5 gets 1/2 + 1/6 = 2/3, y at ranks 2 and 2 gets 1/3 + 1/3, z as
    much as y."""
    first = {"q": {"x": 9.0, "y": 8.0, "p": 7.0, "z": 6.0, "r": 5.0}}
    second = {"q": {"s": 9.0, "y": 8.0, "t": 7.0, "u": 6.0, "x": 5.0}}
    third = {"q": {"m": 3.0, "n": 3.0}}

    assert list(ir.fuse([first, second], k=1)["q"])[:2] == ["x", "y"]
    assert list(ir.fuse([third, {"q": {"m": 1.0, "n": 1.0}}])["q"]) == ["n", "m"]
    assert list(ir.fuse([{"q": {"m": 2.0, "n": 1.0}}, {"q": {"n": 2.0, "m": 1.0}}])["q"]) == [
        "n",
        "m",
    ]


def test_scores_as_text_are_ordered_as_numbers() -> None:
    assert ir.fuse([{"q": {"a": "9", "b": "10"}}]) == ir.fuse([{"q": {"a": 9.0, "b": 10.0}}])


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


FIRST = {"q": {"a": 5.0, "b": 3.0, "c": 1.0}}
SECOND = {"q": {"a": 20.0, "d": 10.0}}
THIRD = {"q": {"a": 0.0, "b": 4.0}}
"""By min-max: a has 1, 1 and 0; b has .5 and 1; c has 0; d has 0."""


@pytest.mark.parametrize(
    ("method", "a", "b"),
    [
        ("sum", 2, 1.5),
        ("mnz", 6, 3),
        ("min", 0, 0.5),
        ("max", 1, 1),
        ("anz", 2 / 3, 0.75),
        ("med", 1, 0.75),
    ],
)
def test_methods_combine_the_normalized_scores(method: ir.Fusion, a: float, b: float) -> None:
    fused = ir.fuse([FIRST, SECOND, THIRD], method)["q"]

    assert fused == {"a": pytest.approx(a), "b": pytest.approx(b), "c": 0, "d": 0}


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [
        ("min-max", {"a": 1, "b": 0.5, "c": 0}),
        ("max", {"a": 1, "b": 0.6, "c": 0.2}),
        ("sum", {"a": 4 / 6, "b": 2 / 6, "c": 0}),
        ("zmuv", {"a": 1.5**0.5, "b": 0, "c": -(1.5**0.5)}),
        ("rank", {"a": 1, "b": 2 / 3, "c": 1 / 3}),
        ("none", {"a": 5, "b": 3, "c": 1}),
    ],
)
def test_scores_are_normalized_per_query(
    normalization: ir.ScoreNormalization, expected: dict[str, float]
) -> None:
    assert ir.fuse([FIRST], "sum", normalization=normalization)["q"] == pytest.approx(expected)


def test_weights_multiply_runs() -> None:
    assert ir.fuse([FIRST, THIRD], "sum", weights=[0.75, 0.25])["q"] == {
        "a": 0.75,
        "b": 0.625,
        "c": 0,
    }
    assert ir.fuse([FIRST, THIRD], weights=[2, 1])["q"]["a"] == pytest.approx(2 / 61 + 1 / 62)


def test_one_document_and_equal_scores_are_zero_under_min_max() -> None:
    assert ir.fuse([{"q": {"a": 7.0}}, {"q": {"b": 2.0, "c": 2.0}}], "sum")["q"] == {
        "c": 0,
        "a": 0,
        "b": 0,
    }


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "combsum"}, "unknown fusion 'combsum'"),
        ({"normalization": "minmax"}, "unknown normalization 'minmax'. Did you mean 'min-max'"),
        ({"weights": [1.0]}, "expected a finite number for each of the 2 runs"),
        ({"weights": [1.0, float("nan")]}, "expected a finite number for each of the 2 runs"),
    ],
)
def test_unknown_options_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ir.fuse([FIRST, SECOND], **wrong)


def test_infinite_scores_cannot_be_normalized() -> None:
    run = {"q": {"a": float("inf"), "b": 1.0}}

    assert list(ir.fuse([run], "sum", normalization="rank")["q"]) == ["a", "b"]
    with pytest.raises(DataError, match="an infinite score cannot be normalized"):
        ir.fuse([run], "sum")


@pytest.mark.slow  # numba compiles for minutes
@pytest.mark.filterwarnings("ignore:.*unsafe cast")
@pytest.mark.parametrize("normalization", ["min-max", "max", "sum", "zmuv", "rank"])
def test_values_are_those_of_ranx(normalization: ir.ScoreNormalization) -> None:
    """Its `rank` takes the order of its dict, which is made to fall here."""
    ranx = pytest.importorskip("ranx", reason="ranx is in the extra `peers`")
    chance = Random(3)
    runs: list[dict[str, dict[str, float]]] = []
    for _ in range(3):
        scores = sorted((chance.uniform(0, 30) for _ in range(12)), reverse=True)
        runs.append(
            {"q": dict(zip(chance.sample("abcdefghijklmnopqrst", 12), scores, strict=True))}
        )
    methods: tuple[ir.Fusion, ...] = ("sum", "mnz", "min", "max", "anz", "med")
    for method in methods:
        theirs = ranx.fuse(
            [ranx.Run(run) for run in runs], norm=normalization, method=method
        ).to_dict()["q"]
        assert ir.fuse(runs, method, normalization=normalization)["q"] == pytest.approx(theirs)
    params = {"weights": [0.2, 0.3, 0.5]}
    theirs = ranx.fuse(
        [ranx.Run(run) for run in runs], norm=normalization, method="wsum", params=params
    ).to_dict()["q"]
    assert ir.fuse(runs, "sum", normalization=normalization, weights=[0.2, 0.3, 0.5])[
        "q"
    ] == pytest.approx(theirs)


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
