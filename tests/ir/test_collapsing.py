"""Passages collapsed into documents: worked by hand, and pages of SEC reports against judgments of
reports."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import pytest

from claimeval import ir
from claimeval.ir.mappings import collapse_ids, collapse_names
from claimeval.types.errors import DataError, UsageError
from tests.shared_data import shared_data

QRELS = {"q": {"a": 1, "c": 2}}
RUN = {"q": {"b#1": 5.0, "a#2": 4.0, "a#1": 3.0, "b#2": 2.0, "c#9": 1.0}}


def test_the_best_passage_stands_for_its_document() -> None:
    assert collapse_ids(RUN, "#.*") == {"q": {"b": 5.0, "a": 4.0, "c": 1.0}}
    assert collapse_names(["b#1", "a#2", "a#1", "c"], "#.*") == ["b", "a", "c"]


def test_ranks_close_up_and_measures_are_those_of_documents() -> None:
    found = ir.evaluate(QRELS, RUN, "mrr,map,ndcg@10,P@2", collapse_ids="#.*").mean
    assert found["mrr"] == 1 / 2
    assert found["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found["P@2"] == 1 / 2
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3) + 2 / 2) / (2 + 1 / math.log2(3)))


def test_qrels_are_collapsed_too_and_the_highest_grade_stays() -> None:
    qrels = {"q": {"a#1": 0, "a#7": 2, "b#1": -1, "b#2": 0}}
    assert collapse_ids(qrels, "#.*") == {"q": {"a": 2, "b": 0}}
    assert ir.evaluate(qrels, RUN, "mrr", collapse_ids="#.*").mean["mrr"] == 1 / 2


def test_equal_scores_keep_the_place_of_the_better_passage() -> None:
    run = {"q": {"x#1": 1.0, "y#1": 2.0, "x#2": 2.0}}
    assert list(collapse_ids(run, "#.*")["q"]) == ["y", "x"]


@pytest.mark.parametrize(
    ("pattern", "message", "error"),
    [
        ("(", "is not a regular expression", UsageError),
        (".*", "leaves nothing of the document id", DataError),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(
    pattern: str, message: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=message):
        ir.evaluate(QRELS, RUN, "mrr", collapse_ids=pattern)


def test_files_are_collapsed_and_the_tag_stays(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 b#1 1 5 tag\nq Q0 a#2 2 4 tag\nq Q0 a#1 3 3 tag\n")
    found = ir.evaluate(tmp_path / "qrels", tmp_path / "run", "mrr,num_ret", collapse_ids="#.*")
    assert (found.run_id, found.mean) == ("tag", {"mrr": 0.5, "num_ret": 2})


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("q 0 a 1\n"))
    writer.start()
    assert ir.read_qrels(pipe) == {"q": {"a": 1}}
    writer.join()


def test_pages_of_reports_against_judgments_of_reports() -> None:
    """Reciprocal ranks are worked out from the lines of the files, equal scores by id, falling; the
    other figures are trec_eval 10.0's for a run whose ids were cut with sed and whose later copies
    were dropped with awk.
    """
    qrels = shared_data("sec10q/qrels_docs.txt")
    pages = shared_data("sec10q/run_bm25_pages.txt")
    relevant = {(line.split()[0], line.split()[2]) for line in qrels.read_text().splitlines()}
    best: dict[str, dict[str, float]] = {}
    for line in pages.read_text().splitlines():
        query, _, page, _, score, _ = line.split()
        documents = best.setdefault(query, {})
        document = page.partition("#")[0]
        documents[document] = max(float(score), documents.get(document, 0.0))
    ranked = {
        query: sorted(found, key=lambda d: (found[d], d), reverse=True)
        for query, found in best.items()
    }
    ranks = [
        next((i for i, d in enumerate(found, 1) if (q, d) in relevant), None)
        for q, found in ranked.items()
    ]
    mean = ir.evaluate(qrels, pages, "map,ndcg@10,mrr,P@10,recall@100", collapse_ids="#.*").mean
    assert mean["mrr"] == pytest.approx(sum(1 / rank for rank in ranks if rank) / len(ranks))
    assert {name: round(value or 0, 4) for name, value in mean.items()} == {
        "map": 0.4863,
        "ndcg@10": 0.5663,
        "mrr": 0.4852,
        "P@10": 0.1656,
        "recall@100": 0.9321,
    }
