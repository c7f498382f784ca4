"""Single lists of ids, and tables of grades."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval import ir
from claimeval.types.errors import DataError, UsageError

RETRIEVED = ["x", "a", "y", "b"]
GRADES = {"a": 2, "b": 1, "c": 1, "y": 0}
BOUND = {
    "P@3": ir.precision(RETRIEVED, GRADES, 3),
    "set_P": ir.precision(RETRIEVED, GRADES),
    "recall@3": ir.recall(RETRIEVED, GRADES, 3),
    "set_recall": ir.recall(RETRIEVED, GRADES),
    "capped_recall@2": ir.capped_recall(RETRIEVED, GRADES, 2),
    "hit@1": ir.hit(RETRIEVED, GRADES, 1),
    "f1@3": ir.f1(RETRIEVED, GRADES, 3),
    "set_F": ir.f1(RETRIEVED, GRADES),
    "recip_rank": ir.reciprocal_rank(RETRIEVED, GRADES),
    "recip_rank@1": ir.reciprocal_rank(RETRIEVED, GRADES, 1),
    "map": ir.average_precision(RETRIEVED, GRADES),
    "map@3": ir.average_precision(RETRIEVED, GRADES, 3),
    "ap_retrieved": ir.ap_retrieved(RETRIEVED, GRADES),
    "Rprec": ir.r_precision(RETRIEVED, GRADES),
    "dcg": ir.dcg(RETRIEVED, GRADES),
    "dcg_exp@2": ir.dcg(RETRIEVED, GRADES, 2, gain="exponential"),
    "ndcg@3": ir.ndcg(RETRIEVED, GRADES, 3),
    "ndcg_exp": ir.ndcg(RETRIEVED, GRADES, gain="exponential"),
}


@pytest.mark.parametrize("measure", BOUND)
def test_function_of_a_list_is_the_measure_of_a_run(measure: str) -> None:
    run = {"q": {document: -float(rank) for rank, document in enumerate(RETRIEVED)}}

    assert BOUND[measure] == ir.evaluate({"q": GRADES}, run, measure).mean[measure]


def test_nothing_retrieved_and_nothing_relevant_are_zero() -> None:
    assert ir.precision([], {"a"}) == ir.recall([], {"a"}) == ir.f1([], {"a"}) == 0
    assert ir.recall(["a"], set()) == ir.average_precision(["a"], set()) == ir.ndcg(["a"], {}) == 0


def test_relevant_ids_of_a_collection_are_relevant_whatever_the_level() -> None:
    assert ir.evaluate_list(["a", "b"], ["b"], "mrr", level=3) == {"mrr": 1 / 2}


def test_a_document_retrieved_twice_is_refused() -> None:
    with pytest.raises(DataError, match="document 'a' was retrieved more than once"):
        ir.recall(["a", "b", "a"], {"a"})


def test_a_string_is_no_list_of_ids() -> None:
    with pytest.raises(DataError, match="not a single string"):
        ir.recall(["a"], "a")


def test_k_of_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="the cutoff '0' must be a whole number, at least 1"):
        ir.precision(["a"], {"a"}, 0)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12), st.integers(1, 12))
def test_array_row_is_the_list_of_its_documents(grades: list[int], k: int) -> None:
    documents = [str(place) for place in range(len(grades))]
    measures = f"P@{k},ndcg@{k},map,bpref,judged@{k},mrr"

    table = ir.evaluate_array([grades], measures)

    assert table.per_query["0"] == ir.evaluate_list(
        documents, dict(zip(documents, grades, strict=True)), measures
    )


def test_scores_rank_an_array_and_equal_ones_keep_the_order_given() -> None:
    grades = [[0, 1, 0], [1, 0, 0]]
    scores = [[0.1, 0.9, 0.5], [0.5, 0.5, 0.9]]

    assert ir.evaluate_array(grades, "mrr", scores=scores).mean["mrr"] == (1 + 1 / 2) / 2


def test_negative_grades_of_an_array_are_unjudged() -> None:
    result = ir.evaluate_array([[-1, 1, 0]], "judged@2,bpref")

    assert result.mean == {"judged@2": 1 / 2, "bpref": 1}
    assert result.counts.unjudged == 1


@pytest.mark.parametrize("grades", [[], [[]], [1, 0], [[float("nan"), 1]], [["a"]]])
def test_what_is_no_table_of_grades_is_refused(grades: list[object]) -> None:
    with pytest.raises(DataError, match="grades must be a table of numbers, queries by ranks"):
        ir.evaluate_array(grades, "mrr")  # type: ignore[arg-type]  # that is the point


def test_the_first_row_of_another_length_is_named() -> None:
    with pytest.raises(DataError, match="row 0 has 2 and row 1 has 1"):
        ir.evaluate_array([[0, 1], [1]], "ndcg")


@pytest.mark.parametrize("scores", [[[1.0]], [[1.0, float("nan")]]])
def test_scores_that_do_not_fit_are_refused(scores: list[list[float]]) -> None:
    with pytest.raises(DataError, match=r"scores must (have the shape|be a table of numbers)"):
        ir.evaluate_array([[1, 0]], "mrr", scores=scores)
