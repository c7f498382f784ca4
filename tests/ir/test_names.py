"""Names of measures as papers, ir_measures and trec_eval write them."""

from __future__ import annotations

import pytest

from claimeval import ir
from claimeval.ir.measures import GROUPS, MEASURES, read
from claimeval.types.errors import UsageError


def trec_names(text: str) -> list[str]:
    return [measure.trec_name for measure in read(text).measures]


@pytest.mark.parametrize(
    ("written", "as_trec"),
    [
        ("ndcg@10,map", ["ndcg_cut_10", "map"]),
        ("nDCG@10, MAP , R@100,RR", ["ndcg_cut_10", "map", "recall_100", "recip_rank"]),
        ("AP@20,AP,Success@5,IPrec@0.5,SetF,Rprec,Bpref", None),
        ("mrr,mean-reciprocal-rank,reciprocal_rank", ["recip_rank"] * 3),
        ("P.5,7,3", ["P_3", "P_5", "P_7"]),
        ("P.5,7,map", ["P_5", "P_7", "map"]),
        ("ndcg_cut.10,20,23.4", ["ndcg_cut_10", "ndcg_cut_20", "ndcg_cut_23"]),
        (
            "iprec_at_recall..10,.20,.25",
            ["iprec_at_recall_0.10", "iprec_at_recall_0.20", "iprec_at_recall_0.25"],
        ),
        ("ndcg.1=3,2=9,4=4.5", ["ndcg_1=3,2=9,4=4.5"]),
        ("ndcg(1=3,2=9,4=4.5)", ["ndcg_1=3,2=9,4=4.5"]),
        ("utility.2,-1,0,0", ["utility_2,-1,0,0"]),
        ("set_F.0.5,rbp.p=0.8", ["set_F_0.5", "rbp_p=0.8"]),
        ("P_5,ndcg_cut_10,iprec_at_recall_0.10", ["P_5", "ndcg_cut_10", "iprec_at_recall_0.10"]),
        ("success", ["success_1", "success_5", "success_10"]),
        ("unj", ["unj_5", "unj_10", "unj_20"]),
        ("capped_recall@10,P(rel=2)@5", ["capped_recall_10", "P(rel=2)_5"]),
    ],
)
def test_names_are_understood(written: str, as_trec: list[str] | None) -> None:
    names = trec_names(written)

    assert as_trec is None or names == as_trec


def test_values_are_found_under_the_name_that_was_asked_for() -> None:
    result = ir.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "MRR,recip_rank,nDCG@10,P.5")

    assert list(result.mean) == ["MRR", "recip_rank", "nDCG@10", "P@5"]


@pytest.mark.parametrize("row", MEASURES, ids=lambda row: row.name)
def test_every_name_of_the_table_leads_to_its_row(row: object) -> None:
    from claimeval.ir.measures import MeasureDefinition

    assert isinstance(row, MeasureDefinition)
    cutoff = "" if row.cutoff == "none" else "@0.5" if row.name == "iprec" else "@5"
    for name in (row.name, row.name.upper(), *row.aliases):
        assert ir.parse(f"{name}{cutoff}")[0].row is row


@pytest.mark.parametrize("group", GROUPS)
def test_groups_of_trec_eval_are_measures_or_named_as_left_out(group: str) -> None:
    asked = read(group)

    assert asked.run_id
    assert asked.measures
    assert bool(asked.left_out) == (group != "official")


def test_measures_that_were_read_are_taken_as_they_are() -> None:
    measures = ir.parse("set_F.0.5,ndcg.1=3,P@5")

    assert ir.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, measures).measures == measures
    assert [measure.trec_name for measure in ir.parse(measures)] == ["set_F_0.5", "ndcg_1=3", "P_5"]


def test_explicit_cutoffs_replace_those_of_a_group() -> None:
    assert [name for name in trec_names("official,P.7") if name.startswith("P_")] == ["P_7"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("ndgc@10", "unknown measure 'ndgc'. Did you mean 'ndcg'?"),
        ("recal@5", "Did you mean 'recall'?"),
        ("P@0", "measure 'P@0': the cutoff '0' must be a whole number, at least 1"),
        ("P.0", "measure 'P.0': the cutoff '0' must be a whole number, at least 1"),
        ("P@-1", "must be a whole number, at least 1"),
        ("P@2.5", "must be a whole number, at least 1"),
        ("P@many", "must be a whole number, at least 1"),
        ("iprec@1.5", "the recall '1.5' must be between 0 and 1"),
        ("hit", "measure 'hit' needs a cutoff, for example hit@10"),
        ("iprec", "needs a cutoff, for example iprec@0.1"),
        ("bpref@3", "bpref takes no cutoff"),
        ("rbp(q=1)", "unknown option of rbp 'q'. Known: p, rel"),
        ("ndcg(rel=2)@5", "unknown option of ndcg 'rel'"),
        ("rbp(p=2)", "p must be between 0 and 1"),
        ("alpha_ndcg(alpha=-1)", "alpha must be between 0 and 1"),
        ("rbp(p=high)", "option 'p=high' is not name=number"),
        ("P.a,b", "parameters are numbers or option=number"),
        ("P@5@6", "must be a whole number"),
        ("@5", "cannot be read"),
        ("", "no measure was requested"),
        (
            "gm_bpref",
            (
                "not computed here: gm_bpref (measures of trec_eval that claimeval does not have;"
                " it has num_q"
            ),
        ),
        ("map,Rprec_mult.2,1", "not computed here: Rprec_mult.2,1"),
        ("utility.2,-1", "utility has four coefficients"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(written: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        ir.parse(written)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
