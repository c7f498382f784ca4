"""Rank metrics with the values of trec_eval 10.0, for dicts, lists, arrays, DataFrames and TREC
files.

>>> from claimeval import ir
>>> result = ir.evaluate({"q1": {"a": 1}}, {"q1": {"b": 0.9, "a": 0.8}}, "ndcg@10,mrr")
>>> result.mean["mrr"]
0.5
"""

from claimeval.ir.evaluation import (
    DEFAULT_MEASURES,
    Evaluation,
    Evaluator,
    Missing,
    NoRelevant,
    QueryCounts,
    evaluate,
)
from claimeval.ir.fusion import Fusion, ScoreNormalization, fuse
from claimeval.ir.lists import (
    ap_retrieved,
    average_precision,
    capped_recall,
    dcg,
    evaluate_array,
    evaluate_list,
    f1,
    hit,
    ndcg,
    precision,
    r_precision,
    recall,
    reciprocal_rank,
)
from claimeval.ir.mappings import Qrels, TrecRun
from claimeval.ir.measures import Measure, parse
from claimeval.ir.output import trec_text
from claimeval.ir.ranked import Ties
from claimeval.ir.trec_files import (
    find_qrels,
    read_qrels,
    read_run,
    read_z_scores,
    write_qrels,
    write_run,
)

__all__ = [
    "DEFAULT_MEASURES",
    "Evaluation",
    "Evaluator",
    "Fusion",
    "Measure",
    "Missing",
    "NoRelevant",
    "Qrels",
    "QueryCounts",
    "ScoreNormalization",
    "Ties",
    "TrecRun",
    "ap_retrieved",
    "average_precision",
    "capped_recall",
    "dcg",
    "evaluate",
    "evaluate_array",
    "evaluate_list",
    "f1",
    "find_qrels",
    "fuse",
    "hit",
    "ndcg",
    "parse",
    "precision",
    "r_precision",
    "read_qrels",
    "read_run",
    "read_z_scores",
    "recall",
    "reciprocal_rank",
    "trec_text",
    "write_qrels",
    "write_run",
]
