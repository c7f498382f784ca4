"""The measures, one row each: name, formula, name in trec_eval, and how values are summarized."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from claimeval.ir import binary, graded
from claimeval.ir.ranked import Floats, MeasureSettings, Ranked

Cutoff = Literal["none", "optional", "required"]
Relevance = Literal["binary", "graded", "either", "none"]
Summary = Literal["mean", "geometric", "sum"]


@dataclass(frozen=True)
class MeasureDefinition:
    """One measure of the table."""

    name: str
    """As papers write it; case, ``_`` and ``-`` are ignored when a name is looked up."""
    formula: Callable[[Ranked, MeasureSettings], Floats]
    aliases: tuple[str, ...] = ()
    """Other names that are accepted."""
    cutoff: Cutoff = "none"
    relevance: Relevance = "binary"
    """``binary``: grades at or above the relevance level count; ``graded``: grades count; ``either``: grades, or with
    ``(rel=2)`` a level; ``none``: only judged or not."""
    trec: str = ""
    """Its name in trec_eval 10.0 without a cutoff, empty if it has none."""
    trec_cut: str = ""
    """Its name in trec_eval with cutoffs."""
    trec_cutoffs: tuple[float, ...] = ()
    """The cutoffs that trec_eval prints when none are given."""
    options: Mapping[str, float] = field(default_factory=dict)
    """Further options and their defaults."""
    nonrelevant: bool = False
    """It looks at judged documents that are not relevant."""
    gains: bool = False
    """Options are gains by grade."""
    summary: Summary = "mean"


_RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


def _exponential(formula: Callable[..., Floats]) -> Callable[[Ranked, MeasureSettings], Floats]:
    """Return a formula with gain ``2 ** grade - 1``."""
    return partial(formula, gain=graded.exponential)


MEASURES: tuple[MeasureDefinition, ...] = (
    # counts
    MeasureDefinition("num_q", binary.queries, relevance="none", trec="num_q", summary="sum"),
    MeasureDefinition("num_ret", binary.retrieved, relevance="none", trec="num_ret", summary="sum"),
    MeasureDefinition("num_rel", binary.relevant, trec="num_rel", summary="sum"),
    MeasureDefinition("num_rel_ret", binary.relevant_at, trec="num_rel_ret", summary="sum"),
    MeasureDefinition(
        "num_nonrel_judged_ret",
        binary.nonrelevant_judged_retrieved,
        trec="num_nonrel_judged_ret",
        nonrelevant=True,
        summary="sum",
    ),
    MeasureDefinition("judged", binary.judged, cutoff="optional", relevance="none", nonrelevant=True),
    MeasureDefinition(
        "unj",
        binary.unjudged,
        ("unjudged",),
        "required",
        "none",
        trec_cut="unj",
        nonrelevant=True,
        trec_cutoffs=(5, 10, 20),
    ),
    # precision and recall at a rank
    MeasureDefinition("P", binary.precision, ("precision",), "required", trec_cut="P", trec_cutoffs=_RANKS),
    MeasureDefinition("recall", binary.recall, ("R",), "required", trec_cut="recall", trec_cutoffs=_RANKS),
    MeasureDefinition("capped_recall", binary.capped_recall, ("recall_cap", "r_cap"), "required"),
    MeasureDefinition(
        "hit",
        binary.hit,
        ("success", "hit_rate"),
        "required",
        trec_cut="success",
        trec_cutoffs=(1, 5, 10),
    ),
    MeasureDefinition("f1", binary.f1, ("f",), "required"),
    # of the whole list, without regard to order
    MeasureDefinition("set_P", binary.set_precision, ("set_precision",), trec="set_P"),
    MeasureDefinition("set_recall", binary.recall, ("set_r",), trec="set_recall"),
    MeasureDefinition("set_F", binary.set_f, ("set_f1",), trec="set_F", options={"x": 1}),
    # of the order
    MeasureDefinition(
        "recip_rank",
        binary.reciprocal_rank,
        ("mrr", "rr", "reciprocal_rank", "mean_reciprocal_rank"),
        "optional",
        trec="recip_rank",
    ),
    MeasureDefinition(
        "map",
        binary.average_precision,
        ("ap", "average_precision", "mean_average_precision"),
        "optional",
        trec="map",
        trec_cut="map_cut",
        trec_cutoffs=_RANKS,
    ),
    MeasureDefinition("gm_map", binary.average_precision, ("gmap",), trec="gm_map", summary="geometric"),
    MeasureDefinition("ap_retrieved", binary.ap_retrieved, (), "optional"),
    MeasureDefinition("Rprec", binary.r_precision, ("r_precision",), trec="Rprec"),
    MeasureDefinition("bpref", binary.bpref, trec="bpref", nonrelevant=True),
    MeasureDefinition(
        "iprec",
        binary.interpolated_precision,
        ("interpolated_precision",),
        "required",
        trec_cut="iprec_at_recall",
        trec_cutoffs=_RECALLS,
    ),
    # of grades
    MeasureDefinition("cg", graded.cumulated_gain, ("cumulated_gain",), "optional", "graded"),
    MeasureDefinition("cg_exp", _exponential(graded.cumulated_gain), (), "optional", "graded"),
    MeasureDefinition("dcg", graded.discounted_gain, (), "optional", "graded", trec="dcg"),
    MeasureDefinition("dcg_exp", _exponential(graded.discounted_gain), (), "optional", "graded"),
    MeasureDefinition(
        "ndcg",
        graded.ndcg,
        (),
        "optional",
        "graded",
        trec="ndcg",
        trec_cut="ndcg_cut",
        trec_cutoffs=_RANKS,
        gains=True,
    ),
    MeasureDefinition("ndcg_exp", _exponential(graded.ndcg), ("ndcg_burges",), "optional", "graded", gains=True),
    MeasureDefinition("rbp", graded.rank_biased_precision, (), "optional", "either", trec="rbp", options={"p": 0.9}),
    MeasureDefinition(
        "rbp_resid",
        graded.rank_biased_residual,
        relevance="none",
        trec="rbp_resid",
        nonrelevant=True,
        options={"p": 0.9},
    ),
)
