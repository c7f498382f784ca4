"""Equal scores: by document id as trec_eval, in the order given, or refused; the same from dicts
and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval import ir
from claimeval.types.errors import DataError, UsageError

QRELS = {"q": {"b": 1, "d": 1}}
RUN = {"q": {"b": 5.0, "c": 5.0, "a": 5.0, "e": 1.0, "d": 1.0, "f": 0.5}}
"""By id falling: c b a e d f; as given: b c a e d f."""


def files(tmp_path: Path, run: ir.TrecRun = RUN) -> tuple[Path, Path]:
    qrels = tmp_path / "qrels"
    results = tmp_path / "run"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, ds in QRELS.items() for d, g in ds.items()))
    results.write_text(
        "".join(f"{q} Q0 {d} 0 {s} t\n" for q, ds in run.items() for d, s in ds.items())
    )
    return qrels, results


def test_trec_orders_equal_scores_by_falling_document_id(tmp_path: Path) -> None:
    for qrels, run in ((QRELS, RUN), files(tmp_path)):
        assert ir.evaluate(qrels, run, "map").mean["map"] == (1 / 2 + 2 / 5) / 2


def test_stable_keeps_the_order_given(tmp_path: Path) -> None:
    for qrels, run in ((QRELS, RUN), files(tmp_path)):
        assert ir.evaluate(qrels, run, "map", ties="stable").mean["map"] == (1 + 2 / 5) / 2


def test_stable_keeps_the_order_given_among_unsorted_scores(tmp_path: Path) -> None:
    shuffled = {"q": {"d": 1.0, "c": 5.0, "e": 1.0, "b": 5.0, "f": 0.5, "a": 5.0}}

    for qrels, run in ((QRELS, shuffled), files(tmp_path, shuffled)):
        assert ir.evaluate(qrels, run, "map", ties="stable").mean["map"] == (1 / 2 + 2 / 4) / 2
        assert ir.evaluate(qrels, run, "map").mean["map"] == (1 / 2 + 2 / 5) / 2


def test_error_refuses_equal_scores_and_names_query_and_score(tmp_path: Path) -> None:
    for qrels, run in ((QRELS, RUN), files(tmp_path)):
        with pytest.raises(DataError, match=r"query 'q' has several documents with score 5\.0"):
            ir.evaluate(qrels, run, "map", ties="error")


def test_error_accepts_different_scores() -> None:
    run = {"q": {"b": 2.0, "c": 3.0}, "r": {"a": 3.0}}

    assert (
        ir.evaluate({"q": {"b": 1}, "r": {"a": 1}}, run, "mrr", ties="error").mean["mrr"]
        == (1 / 2 + 1) / 2
    )


def test_ids_are_compared_as_bytes_like_strcmp_does(tmp_path: Path) -> None:
    """In UTF-8 'é' is above 'z', and an id is below its own extension."""
    qrels = {"q": {"z": 1}}
    run = {"q": {"z": 1.0, "é": 1.0, "z1": 1.0, "a": 1.0}}
    (tmp_path / "q").write_text("q 0 z 1\n")
    (tmp_path / "r").write_text("".join(f"q Q0 {d} 0 1.0 t\n" for d in run["q"]))

    assert ir.evaluate(qrels, run, "mrr").mean["mrr"] == 1 / 3
    assert ir.evaluate(tmp_path / "q", tmp_path / "r", "mrr").mean["mrr"] == 1 / 3


def test_unknown_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown tie rule 'random'.*error, stable, trec"):
        ir.evaluate(QRELS, RUN, "map", ties="random")  # type: ignore[arg-type]  # that is the point
