"""The values of pytrec_eval on random runs with ties, unjudged documents and missing queries; a
development check."""

from __future__ import annotations

from random import Random

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from claimeval import ir

TWINS = {
    "map": "map",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "recip_rank": "recip_rank",
    "P@5": "P_5",
    "P@10": "P_10",
    "recall@5": "recall_5",
    "recall@1000": "recall_1000",
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "ndcg@10": "ndcg_cut_10",
    "map@5": "map_cut_5",
    "hit@1": "success_1",
    "hit@5": "success_5",
    "set_P": "set_P",
    "set_recall": "set_recall",
    "set_F": "set_F",
    "num_ret": "num_ret",
    "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret",
    "num_nonrel_judged_ret": "num_nonrel_judged_ret",
}
"""Our name and pytrec_eval's; iprec differs on purpose (trec_eval 10.0 rounds where 9.x
truncates)."""

IDS = st.text(alphabet="ab1", min_size=1, max_size=3)
QUERIES = st.sampled_from(["q1", "q2", "q3", "q4"])
SCORES = st.integers(-8, 8).map(lambda number: number / 4)
"""Exact as 32-bit floats, which pytrec_eval compares."""
QRELS = st.dictionaries(
    QUERIES, st.dictionaries(IDS, st.integers(0, 3), min_size=1, max_size=15), min_size=1
)
RUN = st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES, min_size=1, max_size=25), min_size=1)


@settings(max_examples=60, deadline=None)
@given(QRELS, RUN, st.integers(1, 2))
def test_values_are_those_of_pytrec_eval(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], level: int
) -> None:
    reference = pytrec_eval.RelevanceEvaluator(
        qrels, pytrec_eval.supported_measures, relevance_level=level
    ).evaluate(run)
    if not reference:
        return

    result = ir.evaluate(qrels, run, list(TWINS), level=level)

    assert result.per_query.keys() == reference.keys()
    for query, values in result.per_query.items():
        for name, twin in TWINS.items():
            assert values[name] == pytest.approx(reference[query][twin], abs=1e-12), (query, name)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_long_runs_agree_as_well(seed: int) -> None:
    random = Random(seed)
    names = [f"doc{i}" for i in range(600)]
    qrels = {
        q: {d: random.choice((0, 0, 1, 2)) for d in random.sample(names, 80)} for q in ("q1", "q2")
    }
    run = {
        q: {d: random.randint(0, 400) / 8 for d in random.sample(names, 400)}
        for q in ("q1", "q2", "q3")
    }

    reference = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(run)
    result = ir.evaluate(qrels, run, list(TWINS))

    for query, values in result.per_query.items():
        for name, twin in TWINS.items():
            assert values[name] == pytest.approx(reference[query][twin], abs=1e-12), (query, name)
