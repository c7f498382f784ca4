"""Values of TREC's gdeval and ndeval, and of trec_eval's infAP, on random judgments and runs."""

from __future__ import annotations

import shutil
from random import Random

import ir_measures
import pyndeval
import pytest
import pytrec_eval
from ir_measures import ERR, nDCG

from claimeval import ir


def drawn(
    seed: int, grades: tuple[int, ...]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run with distinct scores, of five queries, whose ids gdeval wants to be
    numbers."""
    chance = Random(seed)
    names = [f"d{number}" for number in range(60)]
    queries = [str(number) for number in range(1, 6)]
    qrels = {
        query: {name: chance.choice(grades) for name in chance.sample(names, 25)}
        for query in queries
    }
    run = {
        query: dict(zip(chance.sample(names, 30), map(float, range(30, 0, -1)), strict=True))
        for query in queries
    }
    return qrels, run


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_err_and_exponential_ndcg_are_those_of_gdeval() -> None:
    """It prints five decimals."""
    qrels, run = drawn(1, (0, 0, 1, 2, 3, 4))

    result = ir.evaluate(qrels, run, "ERR@20,ERR@5,ndcg_exp@10")

    twins = {ERR @ 20: "ERR@20", ERR @ 5: "ERR@5", nDCG(dcg="exp-log2") @ 10: "ndcg_exp@10"}
    found = list(ir_measures.iter_calc(list(twins), qrels, run))
    assert len(found) == 15
    for row in found:
        assert result.per_query[row.query_id][twins[row.measure]] == pytest.approx(
            row.value, abs=6e-6
        )


@pytest.mark.parametrize("seed", range(4))
def test_alpha_ndcg_and_nerr_are_those_of_ndeval(seed: int) -> None:
    """With one subtopic and grades 0 and 1 its nERR-IA is nERR of a scale that ends with 1."""
    chance = Random(seed)
    qrels, run = drawn(seed, (0, 1))
    topics: dict[str, dict[str, dict[str, int]]] = {
        query: {name: {topic: chance.choice((0, 0, 1)) for topic in "123"} for name in grades}
        for query, grades in qrels.items()
    }
    scored = [
        pyndeval.ScoredDoc(query, name, score)
        for query, docs in run.items()
        for name, score in docs.items()
    ]
    by_topic = [
        pyndeval.SubtopicQrel(query, topic, name, grade)
        for query, documents in topics.items()
        for name, grades in documents.items()
        for topic, grade in grades.items()
    ]
    single = [
        pyndeval.SubtopicQrel(q, "1", name, grade)
        for q, docs in qrels.items()
        for name, grade in docs.items()
    ]

    diverse = pyndeval.ndeval(by_topic, scored, measures=["alpha-nDCG@5", "alpha-nDCG@20"])
    plain = pyndeval.ndeval(single, scored, measures=["nERR-IA@10"])

    result = ir.evaluate(topics, run, "alpha_ndcg@5,alpha_ndcg@20").per_query
    stopping = ir.evaluate(qrels, run, "nERR(max=1)@10").per_query
    for query in qrels:
        assert result[query]["alpha_ndcg@5"] == pytest.approx(
            diverse[query]["alpha-nDCG@5"], abs=1e-6
        )
        assert result[query]["alpha_ndcg@20"] == pytest.approx(
            diverse[query]["alpha-nDCG@20"], abs=1e-6
        )
        assert stopping[query]["nERR(max=1)@10"] == pytest.approx(
            plain[query]["nERR-IA@10"], abs=1e-6
        )


@pytest.mark.parametrize("level", [1, 2])
def test_inferred_ap_and_utility_are_those_of_trec_eval(level: int) -> None:
    qrels, run = drawn(level, (-1, 0, 0, 1, 2))

    reference = pytrec_eval.RelevanceEvaluator(
        qrels, {"infAP", "utility"}, relevance_level=level
    ).evaluate(run)

    result = ir.evaluate(qrels, run, "infAP,utility", level=level).per_query
    for query, values in reference.items():
        assert result[query] == pytest.approx(values, abs=1e-12)
