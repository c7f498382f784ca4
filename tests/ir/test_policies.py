"""Missing queries, queries without relevant documents, relevance level, cuts and unjudged
documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval import ir
from claimeval.types.errors import DataError, UsageError

QRELS = {"q1": {"a": 1}, "q2": {"a": 2, "b": 1}, "q3": {"a": 0}}
RUN = {"q1": {"a": 1.0}, "q3": {"a": 1.0, "x": 0.5}, "q9": {"z": 1.0}}


def files(tmp_path: Path) -> tuple[Path, Path]:
    with open(tmp_path / "q", "w") as qrels, open(tmp_path / "r", "w") as run:
        ir.write_qrels(QRELS, qrels)
        ir.write_run(RUN, run)
    return tmp_path / "q", tmp_path / "r"


@pytest.mark.parametrize("from_files", [False, True])
def test_missing_queries_are_left_out_and_named(from_files: bool, tmp_path: Path) -> None:
    qrels, run = files(tmp_path) if from_files else (QRELS, RUN)

    result = ir.evaluate(qrels, run, "map,judged@5")

    assert list(result.per_query) == ["q1", "q3"]
    assert result.mean["map"] == 1 / 2
    assert result.counts == ir.QueryCounts(
        queries=2,
        missing=("q2",),
        not_judged=("q9",),
        no_relevant=("q3",),
        level=1,
        highest_grade=1,
        graded=1,
        retrieved=3,
        unjudged=1,
    )


@pytest.mark.parametrize("from_files", [False, True])
def test_missing_queries_count_as_zero_when_asked(from_files: bool, tmp_path: Path) -> None:
    qrels, run = files(tmp_path) if from_files else (QRELS, RUN)

    result = ir.evaluate(qrels, run, "map,num_rel,num_ret", missing="zero")

    assert result.per_query["q2"] == {"map": 0, "num_rel": 2, "num_ret": 0}
    assert result.mean == {"map": 1 / 3, "num_rel": 3, "num_ret": 3}
    assert result.counts.missing == ("q2",)


def test_missing_queries_are_refused_when_asked() -> None:
    with pytest.raises(
        DataError, match="the run lacks 1 of the 3 queries of the qrels, first 'q2'"
    ):
        ir.evaluate(QRELS, RUN, "map", missing="error")


def test_queries_no_relevant_documents_can_be_undefined() -> None:
    result = ir.evaluate(QRELS, RUN, "map,ndcg,P@1,num_rel,judged", no_relevant="undefined")

    assert result.per_query["q3"] == {
        "map": None,
        "ndcg": None,
        "P@1": None,
        "num_rel": 0,
        "judged": 1 / 2,
    }
    assert result.mean == {"map": 1, "ndcg": 1, "P@1": 1, "num_rel": 1, "judged": 3 / 4}


def test_a_mean_over_no_query_is_none() -> None:
    result = ir.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, "map,gm_map", no_relevant="undefined")

    assert result.mean == {"map": None, "gm_map": None}


def test_undefined_follows_the_level_for_binary_measures_and_grades_for_graded_ones() -> None:
    qrels = {"q": {"a": 1}}

    result = ir.evaluate(
        qrels, {"q": {"a": 1.0}}, "P@1,ndcg,P(rel=1)@1", level=2, no_relevant="undefined"
    )

    assert result.per_query["q"] == {"P@1": None, "ndcg": 1, "P(rel=1)@1": 1}


def test_level_moves_binary_measures_and_leaves_ndcg_alone() -> None:
    qrels = {"q": {"a": 1, "b": 2}}
    run = {"q": {"a": 2.0, "b": 1.0}}

    result = ir.evaluate(qrels, run, "mrr,num_rel,ndcg@1,bpref", level=2)

    assert result.mean == {"mrr": 1 / 2, "num_rel": 1, "ndcg@1": 1 / 2, "bpref": 0}


def test_level_zero_makes_every_judged_document_relevant() -> None:
    result = ir.evaluate(
        {"q": {"a": 0, "b": 1}}, {"q": {"x": 3.0, "a": 2.0}}, "mrr,recall@5", level=0
    )

    assert result.mean == {"mrr": 1 / 2, "recall@5": 1 / 2}


def test_judged_only_drops_unjudged_documents_first() -> None:
    run = {"q": {"x": 4.0, "n": 3.0, "y": 2.0, "a": 1.0}}

    result = ir.evaluate({"q": {"a": 1, "n": 0}}, run, "mrr,num_ret,set_P", judged_only=True)

    assert result.mean == {"mrr": 1 / 2, "num_ret": 2, "set_P": 1 / 2}
    assert result.counts.unjudged == 2


def test_max_retrieved_cuts_each_query() -> None:
    run = {"q": {"x": 4.0, "a": 3.0, "b": 2.0}}

    result = ir.evaluate(
        {"q": {"a": 1, "b": 1}}, run, "num_ret,num_rel_ret,map,judged", max_retrieved=2
    )

    assert result.mean == {"num_ret": 2, "num_rel_ret": 1, "map": (1 / 2) / 2, "judged": 1 / 2}


def test_unjudged_documents_are_counted_where_a_measure_looks_at_them() -> None:
    """Of a small run they are always counted."""
    queries = range(1000)
    qrels = {f"q{number}": {"a": 1, "n": 0} for number in queries}
    run = {f"q{number}": {"a": 3.0, "n": 2.0, "x": 1.0} for number in queries}

    assert ir.evaluate(qrels, run, "map").counts.unjudged is None
    assert ir.evaluate(qrels, run, "map,judged@5").counts.unjudged == 1000
    assert ir.evaluate(qrels, {"q0": run["q0"]}, "map").counts.unjudged == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"level": -1}, "the relevance level is -1; it must be at least 0"),
        ({"max_retrieved": 0}, "max_retrieved is 0; it must be at least 1"),
        ({"missing": "drop"}, "unknown policy for missing queries 'drop'"),
        ({"no_relevant": "nan"}, "unknown policy for queries without relevant documents 'nan'"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ir.evaluate(QRELS, RUN, "map", **wrong)  # type: ignore[arg-type]  # that is the point


def test_no_query_in_common_is_an_error_that_shows_one_of_each() -> None:
    with pytest.raises(DataError, match="no query in common: the qrels have 'q1', the run has '1'"):
        ir.evaluate({"q1": {"a": 1}}, {"1": {"a": 1.0}}, "map", missing="zero")


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({}, {"q": {"a": 1.0}}, "the qrels have no queries"),
        ({"q": {"a": 1}}, {}, "the run has no queries"),
        (
            {"q": {"a": 1}},
            {"q": {"a": float("nan")}},
            "run: the score of document 'a' for query 'q' is nan",
        ),
        (
            {"q": {"a": 1}},
            {"q": {"a": None}},
            "run: the score of document 'a' for query 'q' is None; expected a number",
        ),
        (
            {"q": {"a": 1}},
            {"q": ["a"]},
            "run: query 'q' has list; expected a mapping of document id to score",
        ),
        (
            {"q": {"a": float("inf")}},
            {"q": {"a": 1.0}},
            (
                "qrels: the grade of document 'a' for query 'q' is inf; expected a number such as"
                " 0, 1 or 2"
            ),
        ),
        (
            {"q": {"a": "high"}},
            {"q": {"a": 1.0}},
            "qrels: the grade of document 'a' for query 'q' is 'high'",
        ),
        (
            {"q": {"a"}},
            {"q": {"a": 1.0}},
            "qrels: query 'q' has set; expected a mapping of document id to grade",
        ),
    ],
)
def test_wrong_dicts_are_named(qrels: object, run: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ir.evaluate(qrels, run, "map")  # type: ignore[arg-type]  # that is the point
