"""The reusable evaluator: the same numbers query by query and by columns, and what it takes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimeval import ir
from claimeval.ir import evaluation
from claimeval.ir.measures import MEASURES
from claimeval.types.errors import DataError, NoteWarning
from tests.ir.test_measures import EXPECTED, QRELS, RUN

NAMES = [name for name in EXPECTED if not ir.parse([name])[0].row.one_by_one]
GRADES = st.one_of(st.integers(-1, 3), st.sampled_from([0.25, 0.5, 1.75]))
IDS = st.text(alphabet="ab1", min_size=1, max_size=2)
QUERIES = st.sampled_from(["q1", "q2", "q3"])
POLICIES = st.fixed_dictionaries(
    {
        "level": st.sampled_from([0, 0.5, 1, 2]),
        "judged_only": st.booleans(),
        "max_retrieved": st.sampled_from([None, 1, 3]),
        "ties": st.sampled_from(["trec", "stable"]),
        "missing": st.sampled_from(["skip", "zero"]),
        "no_relevant": st.sampled_from(["zero", "undefined"]),
    }
)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(QUERIES, st.dictionaries(IDS, GRADES, max_size=9), min_size=1),
    st.dictionaries(QUERIES, st.dictionaries(IDS, st.integers(-4, 4), max_size=12), min_size=1),
    POLICIES,
)
def test_queries_one_by_one_have_the_values_of_columns(
    qrels: ir.Qrels, run: ir.TrecRun, policies: dict[str, object]
) -> None:
    if not qrels.keys() & run.keys():
        return
    kept = ir.Evaluator(qrels, NAMES, **policies)  # type: ignore[arg-type]
    one_by_one = kept.evaluate(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "_FEW", -1)
        columns = kept.evaluate(run)

    assert one_by_one.per_query == columns.per_query
    assert one_by_one.mean == pytest.approx(columns.mean, abs=1e-15, nan_ok=True)
    assert one_by_one.counts.missing == columns.counts.missing
    assert one_by_one.counts.no_relevant == columns.counts.no_relevant
    assert one_by_one.counts.retrieved == columns.counts.retrieved


def test_one_evaluator_takes_many_runs_and_what_it_returns_can_be_pickled() -> None:
    kept = ir.Evaluator(QRELS, "mrr,num_ret")

    first = kept.evaluate(RUN)
    second = kept.evaluate({"q": {"d2": 1.0}})

    assert (first.mean, second.mean) == ({"mrr": 1 / 2, "num_ret": 6}, {"mrr": 1.0, "num_ret": 1})
    copy = pickle.loads(pickle.dumps(first))  # noqa: S301
    assert (copy.mean, copy.counts) == (first.mean, first.counts)


def test_counts_are_those_of_the_run_as_it_was() -> None:
    run = {"q": {"d2": 1.0}, "other": {"d1": 1.0}}
    result = ir.Evaluator(QRELS, "mrr").evaluate(run)

    run.clear()

    assert result.counts.not_judged == ("other",)


def frames() -> list[tuple[object, object]]:
    import pandas
    from ir_measures import Qrel, ScoredDoc

    qrels = [("q", "a", 1), ("q", "b", 2), ("p", "a", 1)]
    run = [("q", "b", 0.5), ("q", "a", 0.75), ("p", "x", 0.5)]
    return [
        (qrels, run),
        ([Qrel(*row) for row in qrels], iter([ScoredDoc(*row) for row in run])),
        (
            pandas.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
            pandas.DataFrame(run, columns=["qid", "docno", "score"]).assign(rank=1),
        ),
        (
            pandas.DataFrame(qrels, columns=["query-id", "corpus-id", "score"]),
            pandas.DataFrame(run, columns=["q_id", "doc_id", "score"]),
        ),
        (
            Columns(qid=["q", "q", "p"], docno=list("aba"), label=[1, 2, 1]),
            Columns(qid=["q", "q", "p"], docno=list("bax"), score=[0.5, 0.75, 0.5]),
        ),
    ]


class Columns:
    """A table as polars has it: named columns, no mapping."""

    def __init__(self, **columns: list[object]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> list[object]:
        return self._columns[name]


@pytest.mark.parametrize(
    "number", range(5), ids=["tuples", "ir_measures", "pandas", "beir", "columns"]
)
def test_tables_and_tuples_are_taken(number: int) -> None:
    result = ir.evaluate(*frames()[number], "map,nDCG@10")  # type: ignore[arg-type]

    assert result.mean["map"] == 1 / 2
    assert result.per_query["q"]["map"] == 1


def test_measures_of_ir_measures_are_taken() -> None:
    from ir_measures import nDCG

    assert list(ir.evaluate(QRELS, RUN, [nDCG @ 10]).mean) == ["nDCG@10"]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Columns(q=[1], score=[2.0]), "run: a table needs the columns query_id, doc_id and score"),
        ([("q", "a")], "run: expected a file name, a mapping of query to document to score"),
        (["q"], "got 'q'"),
        (5, "got 5"),
        ([("q", "a", 1.0), ("q", "a", 2.0)], "run: document 'a' appears twice for query 'q'"),
    ],
)
def test_what_is_no_table_is_said(run: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ir.evaluate({"q": {"a": 1}}, run, "map")  # type: ignore[arg-type]


def test_a_frame_without_names_of_columns_and_its_rows_are_told() -> None:
    import pandas

    unnamed = pandas.DataFrame([["q", "a", 1.0]])
    with pytest.raises(DataError, match="it has 0, 1, 2"):
        ir.evaluate(QRELS, unnamed, "map")
    with pytest.raises(DataError, match="give the DataFrame itself"):
        ir.evaluate(QRELS, unnamed.itertuples(), "map")


@pytest.mark.parametrize("queries", [1, 80])
def test_subtopics_and_numbers_as_text_mean_the_same_in_small_and_large_runs(queries: int) -> None:
    names = [f"q{number}" for number in range(queries)]
    run = {name: {"x": "10", "b": "9", "a": "8", "c": "-1"} for name in names}
    grades = {name: {"a": 1, "b": 2, "c": 0} for name in names}
    written = {name: {"a": "1", "b": "2", "c": "0"} for name in names}
    nested = {name: {"a": {"s": 1, "t": 0}, "b": {"t": 2}, "c": {}} for name in names}
    expected = ir.evaluate(grades, run, "ndcg@10,map,bpref").mean
    assert expected["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    for qrels in (written, nested):
        assert ir.evaluate(qrels, run, "ndcg@10,map,bpref").mean == expected
    with pytest.raises(DataError, match="alpha_ndcg needs judgments of subtopics"):
        ir.evaluate(grades, run, "alpha_ndcg@10")


@pytest.mark.parametrize("queries", [1, 80])
def test_ids_that_are_numbers_on_one_side_are_their_text(queries: int) -> None:
    names = [f"q{number}" for number in range(queries)]
    qrels: dict[str, dict[Any, int]] = {name: {1: 1, 2.0: 0} for name in names}
    run = {name: {str(document): 1.0 / document for document in range(1, 10)} for name in names}
    assert ir.evaluate(qrels, run, "map").mean == {"map": 1}
    assert ir.evaluate(run, qrels, "P@1").mean == {"P@1": 1}
    assert ir.evaluate({name: {"other": 1} for name in names}, run, "map").mean == {"map": 0}


MISSING = [None, float("nan"), np.nan, True, 1.5, ""]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_an_id_that_is_missing_or_no_id_is_an_error_that_names_the_row(missing: Any) -> None:
    run = {"q1": {"a": 1.0}}
    with pytest.raises(DataError, match="qrels, row 2, document: "):
        ir.evaluate([("q1", "a", 1), ("q1", missing, 1)], run, "map")
    with pytest.raises(DataError, match="run, row 1, query: "):
        ir.evaluate({"q1": {"a": 1}}, [(missing, "a", 1.0)], "map")
    if missing != "":
        with pytest.raises(DataError, match="qrels, query 'q1', document "):
            ir.evaluate({"q1": {missing: 1}}, run, "map")


def test_a_column_of_numbers_with_a_missing_one_has_whole_numbers() -> None:
    rows = [("q1", 10.0, 1), ("q1", np.float64(11), 0), ("q1", np.int64(12), 1)]
    run = {"q1": {"10": 3.0, "12": 2.0, "11": 1.0}}
    assert ir.evaluate(rows, run, "map").mean == {"map": 1}


def test_an_id_with_decimals_beside_the_same_without_is_noted() -> None:
    with pytest.warns(NoteWarning, match=r"query 'q1': the document ids '10\.0' and '10' are"):
        result = ir.evaluate({"q1": {"10": 1}}, {"q1": {"10.0": 1.0}}, "map")
    assert result.mean == {"map": 0}
    versions = {"q1": {"1.0": 1, "2.0": 1}}
    assert ir.evaluate(versions, {"q1": {"1.0": 2.0, "2.0": 1.0}}, "map").mean == {"map": 1}


@pytest.mark.parametrize("line", ["q1 Q0 annual report.pdf 2 0.8 t", "q1 Q0 b x 0.8 t"])
def test_a_rank_that_is_no_number_is_an_error(line: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    (tmp_path / "run").write_text(f"q1 Q0 a 1 0.9 t\n{line}\n")
    with pytest.raises(DataError, match=r"line 2: the rank '(report\.pdf|x)' is not a number"):
        ir.evaluate(tmp_path / "qrels", tmp_path / "run", "map")


def test_runs_of_ms_marco_and_json_are_read(tmp_path: Path) -> None:
    (tmp_path / "marco").write_text("q\tx\t1\nq\ta\t2\np\ta\t1\n")
    (tmp_path / "run.json").write_text(json.dumps({"q": {"x": 2.0, "a": 1.0}, "p": {"a": 1}}))
    (tmp_path / "qrels.json").write_text(json.dumps({"q": {"a": 1}, "p": {"a": 1}}))
    (tmp_path / "qrels").write_text("q 0 a 1\np 0 a 1\n")

    for qrels in ("qrels", "qrels.json"):
        for run in ("marco", "run.json"):
            assert (
                ir.evaluate(tmp_path / qrels, tmp_path / run, "mrr").mean["mrr"] == (1 / 2 + 1) / 2
            )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q a 1\nq b 0\n", "line 2: the rank '0' is not a whole number from 1"),
        ("q a 1\nq Q0 b 2 1.0 t\n", "line 2: 6 fields; a run has six"),
        ('{"q": ', "it starts like JSON but is not valid JSON"),
        ('{"q": [1]}', "query 'q' is not an object of document to score"),
        ("{}", "the file is empty"),
    ],
)
def test_what_is_wrong_with_such_a_run_is_said(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text(text)

    with pytest.raises(DataError, match=message):
        ir.evaluate({"q": {"a": 1}}, tmp_path / "run", "mrr")


def test_z_scores_are_distances_in_standard_deviations(tmp_path: Path) -> None:
    (tmp_path / "z").write_text("q map 0.2 0.1\nq P_1 0.0 0.0\n")

    result = ir.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, "map,P@1,mrr")

    assert result.z_scores(ir.read_z_scores(tmp_path / "z")).mean == {
        "map": pytest.approx(3),
        "P@1": 0,
        "mrr": None,
    }


def test_every_measure_is_computed_one_by_one_or_both_ways() -> None:
    both = {ir.parse([name])[0].row.name for name in NAMES}

    assert both | {row.name for row in MEASURES if row.one_by_one} == {row.name for row in MEASURES}
