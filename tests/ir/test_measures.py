"""Every measure on one small ranking, worked by hand."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

from claimeval import ir
from claimeval.ir.measures import MEASURES
from claimeval.types.errors import DataError, UsageError

RUN = {"q": {"d1": 6.0, "d2": 5.0, "d3": 4.0, "d4": 3.0, "d5": 2.0, "d6": 1.0}}
QRELS = {"q": {"d1": 0, "d2": 2, "d4": 1, "d5": 0, "d7": 3, "d8": 0}}
"""Relevant: d2 at rank 2, d4 at rank 4, d7 missed; judged as not relevant: d1, d5 and d8; unjudged:
d3, d6."""

THREE = log2(3)
FIVE = log2(5)
EXPECTED = {
    "num_q": 1,
    "num_ret": 6,
    "num_rel": 3,
    "num_rel(rel=2)": 2,
    "num_rel_ret": 2,
    "num_nonrel_judged_ret": 2,
    "judged": 4 / 6,
    "judged@3": 2 / 3,
    "judged@10": 4 / 6,
    "unj@5": 1 / 5,
    "unj@10": 2 / 10,
    "P@1": 0,
    "P@2": 1 / 2,
    "P@5": 2 / 5,
    "P@10": 2 / 10,
    "P(rel=2)@5": 1 / 5,
    "recall@2": 1 / 3,
    "recall@10": 2 / 3,
    "recall(rel=2)@10": 1 / 2,
    "capped_recall@2": 1 / 2,
    "capped_recall@5": 2 / 3,
    "hit@1": 0,
    "hit@2": 1,
    "f1@2": 2 * 1 / (2 + 3),
    "f1@5": 2 * 2 / (5 + 3),
    "set_P": 2 / 6,
    "set_recall": 2 / 3,
    "set_F": 2 * (2 / 6) * (2 / 3) / (2 / 6 + 2 / 3),
    "set_F(beta=2)": 5 * (2 / 6) * (2 / 3) / (4 * (2 / 6) + 2 / 3),
    "recip_rank": 1 / 2,
    "mrr@1": 0,
    "map": (1 / 2 + 2 / 4) / 3,
    "map@2": (1 / 2) / 3,
    "map(rel=2)": (1 / 2) / 2,
    "gm_map": (1 / 2 + 2 / 4) / 3,
    "ap_retrieved": (1 / 2 + 2 / 4) / 2,
    "infAP": (1 / 2 + 1 / 2 * 0.00001 / 1.00002 + 1 / 4 + 2 / 4 * 1.00001 / 2.00002) / 3,
    "utility": 2 - 4,
    "utility(a=2,b=-1,c=-0.5,d=0)": 4 - 4 - 0.5,
    "Rprec": 1 / 3,
    "bpref": (2 / 3 + 2 / 3) / 3,
    "iprec@0": 1 / 2,
    "iprec@0.5": 2 / 4,
    "iprec@1": 0,
    "cg": 3,
    "cg@3": 2,
    "cg_exp": 3 + 1,
    "dcg": 2 / THREE + 1 / FIVE,
    "dcg_exp": 3 / THREE + 1 / FIVE,
    "ndcg": (2 / THREE + 1 / FIVE) / (3 + 2 / THREE + 1 / 2),
    "ndcg@2": (2 / THREE) / (3 + 2 / THREE),
    "ndcg(1=3,2=9,3=0)": (9 / THREE + 3 / FIVE) / (9 + 3 / THREE),
    "ndcg_exp": (3 / THREE + 1 / FIVE) / (7 + 3 / THREE + 1 / 2),
    "nDCG(dcg='exp-log2')@2": (3 / THREE) / (7 + 3 / THREE),
    "rbp": 0.1 * (2 / 3 * 0.9 + 1 / 3 * 0.9**3),
    "rbp@2": 0.1 * (2 / 3 * 0.9),
    "rbp(p=0.5,rel=1)": 0.5 * (0.5 + 0.5**3),
    "ERR": 3 / 16 / 2 + (13 / 16) * (1 / 16) / 4,
    "ERR@3": 3 / 16 / 2,
    "ERR(max=3)": 3 / 8 / 2 + (5 / 8) * (1 / 8) / 4,
    "nERR": (
        (3 / 16 / 2 + (13 / 16) * (1 / 16) / 4)
        / (7 / 16 + (9 / 16) * (3 / 16) / 2 + (9 / 16) * (13 / 16) / 16 / 3)
    ),
    "rbp_resid": 1 - 0.1 * (1 + 0.9 + 0.9**3 + 0.9**4),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_measure_has_the_value_worked_by_hand(name: str) -> None:
    result = ir.evaluate(QRELS, RUN, [name])

    assert result.per_query["q"][name] == pytest.approx(EXPECTED[name], abs=1e-15)
    assert result.mean[name] == pytest.approx(EXPECTED[name], abs=1e-15)


def test_every_measure_of_the_table_is_worked_by_hand() -> None:
    """`alpha_ndcg` below."""
    worked = {measure.row.name for name in EXPECTED for measure in ir.parse([name])}

    assert worked | {"alpha_ndcg"} == {row.name for row in MEASURES}


def test_a_document_gains_less_for_a_subtopic_seen_before(tmp_path: Path) -> None:
    """b has subtopics 1 and 2, a has 1, c has 3: b at rank 1 gains 2, a at rank 2 a half; the best
    order is b, c, a."""
    (tmp_path / "qrels").write_text("q 1 a 1\nq 1 b 1\nq 2 b 1\nq 3 c 1\nq 2 c 0\n")
    run = {"q": {"b": 3.0, "a": 2.0, "x": 1.0}}
    nested = {"q": {"a": {"1": 1}, "b": {"1": 1, "2": 1}, "c": {"3": 1, "2": 0}}}
    best = 2 + 1 / THREE + 0.5 / 2

    values = ir.evaluate(
        tmp_path / "qrels", run, "alpha_ndcg,alpha_ndcg@1,alpha_ndcg(alpha=0),ndcg"
    ).mean

    assert values["alpha_ndcg"] == pytest.approx((2 + 0.5 / THREE) / best)
    assert values["alpha_ndcg@1"] == 1
    assert values["alpha_ndcg(alpha=0)"] == pytest.approx((2 + 1 / THREE) / (2 + 1 / THREE + 1 / 2))
    assert values["ndcg"] == pytest.approx((1 + 1 / THREE) / (1 + 1 / THREE + 1 / 2))
    assert ir.evaluate(nested, run, "alpha_ndcg").mean["alpha_ndcg"] == values["alpha_ndcg"]
    with pytest.raises(DataError, match="alpha_ndcg needs judgments of subtopics"):
        ir.evaluate(QRELS, RUN, "alpha_ndcg")
    with pytest.raises(UsageError, match="alpha_ndcg cannot be combined with collapse_ids"):
        ir.evaluate(nested, run, "alpha_ndcg", collapse_ids="#.*")


def test_utility_counts_the_rest_of_the_collection() -> None:
    result = ir.evaluate(QRELS, RUN, "utility(a=0,b=0,d=1)", collection=100)

    assert result.mean == {"utility(a=0,b=0,d=1)": 100 + 2 - 6 - 3}


def test_pooled_documents_without_judgment_lift_inferred_ap() -> None:
    """Of the two documents above rank 3 both are pooled, and the one judged is relevant."""
    qrels = {"q": {"a": 1, "p": -1, "b": 1}}
    run = {"q": {"a": 3.0, "p": 2.0, "b": 1.0}}

    assert ir.evaluate(qrels, run, "infAP").mean["infAP"] == pytest.approx(
        (1 + 1 / 3 + 2 / 3 * 1.00001 / 1.00002) / 2
    )


def test_a_grade_above_the_scale_of_err_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"the grade 5 is above max=4, the highest of the scale; write ERR\(max=5\)"
    ):
        ir.evaluate({"q": {"a": 5}}, {"q": {"a": 1.0}}, "ERR")


def test_fractional_grades_are_gains_and_compared_with_the_level(tmp_path: Path) -> None:
    """Worked by hand; from a dict, a file, and by columns."""
    grades = {"a": 0.5, "b": 2.25, "c": 0.0, "d": 1.5}
    scores = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
    expected = (0.5 + 2.25 / THREE + 1.5 / FIVE) / (2.25 + 1.5 / THREE + 0.5 / 2)
    (tmp_path / "qrels").write_text(
        "".join(f"q 0 {name} {grade}\n" for name, grade in grades.items())
    )
    many = {f"q{number}": grades for number in range(200)}

    for qrels, run in (({"q": grades}, {"q": scores}), (tmp_path / "qrels", {"q": scores})):
        result = ir.evaluate(qrels, run, "ndcg,num_rel,P(rel=0.5)@4", level=1.5)
        assert result.mean == {
            "ndcg": pytest.approx(expected, abs=1e-15),
            "num_rel": 2,
            "P(rel=0.5)@4": 3 / 4,
        }
    assert ir.evaluate(many, dict.fromkeys(many, scores), "ndcg").mean["ndcg"] == pytest.approx(
        expected, abs=1e-14
    )


@pytest.mark.parametrize(
    "row", [row for row in MEASURES if row.name != "alpha_ndcg"], ids=lambda row: row.name
)
def test_measure_is_zero_when_nothing_is_judged_and_nothing_retrieved(row: object) -> None:
    name = next(n for n in EXPECTED if ir.parse([n])[0].row is row)

    result = ir.evaluate({"q": {}}, {"q": {}}, [name])

    assert result.per_query["q"][name] == (1 if name == "num_q" else 0)


def test_bpref_ignores_unjudged_documents_and_is_one_when_no_nonrelevant_document_precedes() -> (
    None
):
    qrels = {"q": {"b": 1, "c": 0}}

    assert ir.evaluate(qrels, {"q": {"x": 3.0, "b": 2.0, "c": 1.0}}, "bpref").mean["bpref"] == 1
    assert ir.evaluate(qrels, {"q": {"c": 3.0, "b": 2.0}}, "bpref").mean["bpref"] == 0


def test_negative_grades_are_not_judged() -> None:
    result = ir.evaluate(
        {"q": {"a": -1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "judged@2,ndcg,bpref,num_rel"
    )

    assert result.mean["judged@2"] == 1 / 2
    assert result.mean["ndcg"] == pytest.approx(1 / THREE)
    assert result.mean["bpref"] == 1
    assert result.counts.unjudged == 1


def test_the_best_order_has_ndcg_one_exactly() -> None:
    grades = {f"d{i}": 1 + i % 4 for i in range(50)}
    run = {"q": {document: float(grade) for document, grade in grades.items()}}

    assert ir.evaluate({"q": grades}, run, "ndcg,ndcg@10,ndcg_exp").mean == {
        "ndcg": 1.0,
        "ndcg@10": 1.0,
        "ndcg_exp": 1.0,
    }


def test_grades_too_large_for_exponential_gain_are_refused() -> None:
    qrels = {"q": {"a": 2000}}
    run = {"q": {"a": 1.0}}

    assert ir.evaluate(qrels, run, "ndcg").mean["ndcg"] == 1
    with pytest.raises(DataError, match="the grade 2000 is too large for exponential gain"):
        ir.evaluate(qrels, run, "ndcg_exp")


def test_gm_map_is_a_geometric_mean_in_which_zero_counts_as_a_hundred_thousandth() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}

    result = ir.evaluate(qrels, {"q1": {"a": 1.0}, "q2": {"x": 1.0}}, "gm_map")

    assert result.mean["gm_map"] == pytest.approx((1 * 1e-5) ** 0.5)


def test_counts_are_whole_numbers_and_are_summed() -> None:
    qrels = {"q1": {"a": 1, "b": 2}, "q2": {"a": 1}}

    result = ir.evaluate(
        qrels, {"q1": {"a": 1.0}, "q2": {"x": 1.0, "a": 0.5}}, "num_rel,num_ret,num_q"
    )

    assert result.mean == {"num_rel": 3, "num_ret": 3, "num_q": 2}
    assert all(isinstance(value, int) for value in result.mean.values())


def test_interpolated_precision_rounds_half_a_document_up_as_trec_eval_10_does() -> None:
    """5 relevant documents at recall 0.1 need round(0.5) = 1 of them, at 0.5 round(2.5) = 3."""
    qrels = {"q": dict.fromkeys("abcde", 1)}
    run = {"q": {"a": 9.0, "x": 8.0, "b": 7.0, "y": 6.0, "z": 5.0, "c": 4.0}}

    result = ir.evaluate(qrels, run, "iprec@0.1,iprec@0.5")

    assert result.mean == {"iprec@0.1": 1.0, "iprec@0.5": 3 / 6}
