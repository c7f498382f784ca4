"""Examples that people work through when they learn the measures."""

from __future__ import annotations

import pytest

from claimeval import ir


def test_dcg_and_ndcg_of_three_rankings() -> None:
    result = ir.evaluate_array([[0, 0, 1, 1, 1], [1, 0, 1, 0, 1], [1, 0, 0, 0, 0]], "dcg,ndcg")

    assert [result.per_query[q]["dcg"] for q in "012"] == pytest.approx(
        [1.3175, 1.8869, 1], abs=5e-5
    )
    assert [result.per_query[q]["ndcg"] for q in "012"] == pytest.approx(
        [0.6183, 0.8855, 1], abs=5e-5
    )


def test_two_of_four_relevant_documents_retrieved_at_ranks_one_and_three() -> None:
    retrieved = ["A", "x", "B"]
    gold = {"A", "B", "C", "D"}

    assert ir.precision(retrieved, gold) == pytest.approx(0.667, abs=5e-4)
    assert ir.recall(retrieved, gold) == 0.5
    assert ir.ap_retrieved(retrieved, gold) == pytest.approx(0.833, abs=5e-4)
    assert ir.average_precision(retrieved, gold) == pytest.approx(0.417, abs=5e-4)


def test_first_relevant_documents_at_ranks_one_three_and_two() -> None:
    result = ir.evaluate_array([[1, 0, 0], [0, 0, 1], [0, 1, 0]], "mrr")

    assert result.mean["mrr"] == pytest.approx(0.611, abs=5e-4)


def test_three_retrieved_with_one_of_two_relevant() -> None:
    values = ir.evaluate_list(["x", "a", "y"], ["a", "b"], "P@3,recall@3")

    assert values == pytest.approx({"P@3": 0.333, "recall@3": 0.5}, abs=5e-4)


def test_a_further_relevant_document_found_low_lowers_ap_retrieved_but_raises_map() -> None:
    """Relevant at ranks 1 and 3: (1 + 2/3) / 2; one more at rank 9: (1 + 2/3 + 3/9) / 3."""
    short = ["A", "x", "B"]
    long = ["A", "x", "B", "p", "q", "r", "s", "t", "C"]
    gold = {"A", "B", "C"}

    assert ir.ap_retrieved(short, gold) == pytest.approx(0.833, abs=5e-4)
    assert ir.ap_retrieved(long, gold) == pytest.approx(0.667, abs=5e-4)
    assert ir.average_precision(long, gold) > ir.average_precision(short, gold)


def test_tied_documents_are_ordered_by_falling_id() -> None:
    """trec_eval: a, b and c share a score and a is relevant, so a stands third."""
    result = ir.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, "recip_rank")

    assert result.mean["recip_rank"] == pytest.approx(1 / 3)


def test_scores_are_compared_as_64_bit_numbers() -> None:
    """trec_eval 9 takes 1.00000001 and 1.0 for a tie and gives 1/2; 10.0 does not."""
    result = ir.evaluate({"q": {"a": 1}}, {"q": {"a": 1.00000001, "b": 1.0}}, "recip_rank")

    assert result.mean["recip_rank"] == 1
