"""Regular files are read by columns: the same numbers as from dicts, and nothing wrong slips
through."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval import ir
from claimeval.ir import columnar
from claimeval.ir.columnar import FileContent, Irregular, TextTable, decimals
from claimeval.types.errors import DataError

EVERYTHING = (
    "num_ret,num_rel,num_rel_ret,num_nonrel_judged_ret,"
    "map,gm_map,mrr,bpref,Rprec,P@3,recall@5,iprec@0.3,ndcg,ndcg@3,"
    "ndcg_exp,rbp,rbp_resid,judged@5,unj@5,set_F,ap_retrieved,capped_recall@2"
)


def content(text: str) -> FileContent:
    return FileContent.of(text.encode(), "text")


def draw_data(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Queries and ids of many lengths, ties, unjudged documents, negative grades, queries in one
    file only."""
    rng = random.Random(seed)
    names = [
        f"{'d' * rng.choice((1, 7, 8, 9, 30))}{i}{rng.choice(('', 'é', '#x'))}" for i in range(40)
    ]
    queries = [f"{rng.choice(('q', 'topic-with-a-long-name-', '2024-'))}{i}" for i in range(12)]
    rng.shuffle(queries)
    qrels = {
        query: {
            name: rng.choice((-1, 0, 0, 1, 2, 3)) for name in rng.sample(names, rng.randint(1, 25))
        }
        for query in queries
        if rng.random() < 0.9
    }
    scores = (
        lambda: float(rng.randint(-3, 3)),
        lambda: rng.uniform(-20, 20),
        lambda: round(rng.random(), 3),
        lambda: rng.random() * 10 ** rng.randint(-12, 12),
    )
    run = {}
    for query in queries:
        if rng.random() < 0.9:
            score = rng.choice(scores)
            run[query] = {name: score() for name in rng.sample(names, rng.randint(1, 40))}
    return qrels, run


@pytest.mark.parametrize("block", [40, 400, 1 << 19])
@pytest.mark.parametrize("seed", range(8))
def test_files_give_the_numbers_of_dicts(
    seed: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "_BLOCK", block)
    qrels, run = draw_data(seed)
    separator = random.Random(seed).choice((" ", "\t", "  \t "))
    (tmp_path / "qrels").write_text(
        "".join(
            separator.join((q, "0", d, str(g))) + "\n"
            for q, ds in qrels.items()
            for d, g in ds.items()
        )
    )
    (tmp_path / "run").write_text(
        "".join(
            separator.join((q, "Q0", d, "1", repr(s), "tag")) + "\n"
            for q, ds in run.items()
            for d, s in ds.items()
        )
    )

    for missing in ("skip", "zero"):
        from_files = ir.evaluate(tmp_path / "qrels", tmp_path / "run", EVERYTHING, missing=missing)
        from_dicts = ir.evaluate(qrels, run, EVERYTHING, missing=missing)

        assert from_files.per_query == from_dicts.per_query
        assert from_files.counts == from_dicts.counts
    assert (
        columnar.rank(
            FileContent.read(tmp_path / "qrels"), FileContent.read(tmp_path / "run"), "trec"
        )
        is not None
    )
    assert from_files.run_id == "tag"


IRREGULAR = {
    "comment": "# made by hand\nq Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n",
    "comment between": "q Q0 a 1 2.0 t\n  # a word\nq Q0 b 2 1.0 t\n",
    "empty line": "q Q0 a 1 2.0 t\n\nq Q0 b 2 1.0 t\n",
    "more fields": "q Q0 a 1 2.0 t and more\nq Q0 b 2 1.0 t\n",
    "scattered queries": "q Q0 a 1 2.0 t\nr Q0 z 1 1.0 t\nq Q0 b 2 1.0 t\n",
}
REGULAR = {
    "no newline at the end": "q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t",
    "blanks at the end": "q Q0 a 1 2.0 t  \nq Q0 b 2 1.0 t \n \n",
    "windows": "q Q0 a 1 2.0 t\r\nq Q0 b 2 1.0 t\r\n",
    "leading blanks": " q Q0 a 1 2.0 t\n  q Q0 b 2 1.0 t\n",
}


@pytest.mark.parametrize("form", [*IRREGULAR, *REGULAR])
def test_all_forms_of_a_run_are_read(form: str, tmp_path: Path) -> None:
    text = {**IRREGULAR, **REGULAR}[form]
    (tmp_path / "qrels").write_text("q 0 b 1\n")
    (tmp_path / "run").write_bytes(text.encode())

    result = ir.evaluate(tmp_path / "qrels", tmp_path / "run", "mrr,num_ret,judged")

    assert result.mean == {"mrr": 1 / 2, "num_ret": 2, "judged": 1 / 2}
    assert result.run_id == "t"
    placed = columnar.rank(content("q 0 b 1\n"), content(text), "trec")
    assert (placed is None) == (form in IRREGULAR)


ODD_QRELS: dict[str, ir.Qrels] = {
    "regular": {"q": {"b": 1}},
    "blank in an id": {"q": {"b": 1, "x y": 1}},
    "newline in an id": {"q": {"b": 1, "x 1\nq 0 y": 1}},
    "query without judgments": {"q": {"b": 1}, "r": {}},
    "bool": {"q": {"b": True}},
    "whole float": {"q": {"b": 1.0}},
}


@pytest.mark.parametrize("form", ODD_QRELS)
def test_qrels_of_a_dict_go_with_the_run_of_a_file(form: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")

    result = ir.evaluate(ODD_QRELS[form], tmp_path / "run", "mrr,num_rel")

    assert result.mean == {"mrr": 1 / 2, "num_rel": 1 + ("in an id" in form)}
    assert result.counts.missing == (("r",) if "without" in form else ())
    assert result.run_id == "t"


@pytest.mark.parametrize("comment", ["", "# by hand\n"])
def test_whole_grades_may_be_written_with_a_point_or_a_sign(comment: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(f"{comment}q 0 a 2.0\nq 0 b +1\nq 0 c -1\n")
    (tmp_path / "run").write_text("q Q0 a 1 2.0 t\nq Q0 c 2 1.0 t\n")

    assert ir.evaluate(tmp_path / "qrels", tmp_path / "run", "cg,num_rel,judged").mean == {
        "cg": 2,
        "num_rel": 2,
        "judged": 1 / 2,
    }


def test_qrels_with_comments_go_with_a_regular_run(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("# by hand\nq 0 b 1\nr 0 a 1\nq 0 #c 2\n")
    (tmp_path / "run").write_text("q Q0 #c 1 2.0 t\nq Q0 b 2 1.0 t\n")

    assert ir.evaluate(tmp_path / "qrels", tmp_path / "run", "P@2").mean == {"P@2": 1}


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ({"q": {"a"}}, "qrels: query 'q' has set"),
        ({"q": {"a": 1e10}}, "qrels: the grade of document 'a' for query 'q' is 10000000000.0"),
        ({}, "the qrels have no queries"),
    ],
)
def test_wrong_qrels_of_a_dict_are_named_beside_the_run_of_a_file(
    qrels: object, message: str, tmp_path: Path
) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 2.0 t\n")

    with pytest.raises(DataError, match=message):
        ir.evaluate(qrels, tmp_path / "run", "map")  # type: ignore[arg-type]  # that is the point


def test_gzipped_files_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "qrels.gz").write_bytes(gzip.compress(b"q 0 b 1\n"))
    (tmp_path / "run").write_bytes(gzip.compress(b"q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n"))

    assert ir.evaluate(tmp_path / "qrels.gz", tmp_path / "run", "mrr").mean["mrr"] == 1 / 2


WRONG_RUNS = {
    "q Q0 a 1 2.0 t\nq Q0 b 2 high t\n": "run, line 2: the score 'high' is not a number",
    "q Q0 a 1 2.0 t\nq Q0 b 2 nan t\n": "run, line 2: the score 'nan' is not a number",
    "q Q0 a 1 2.0 t\nq Q0 b 2 1_0 t\n": "run, line 2: the score '1_0' is not a number",
    "q Q0 a 1 2.0 t\nq Q0 b 2 1.2.3 t\n": "run, line 2: the score '1.2.3' is not a number",
    "q Q0 a 1 2.0 t\n# x\n\nq Q0 b 2 1.0\n": (
        "run, line 4: 5 fields; a run has six: query, Q0, document, rank, score"
    ),
    "q Q0 a 1 2.0 t\nr Q0 a 1 2.0 t\nr Q0 a 2 1.0 t\n": (
        "run, line 3: document 'a' appears twice for query 'r'"
    ),
    "q Q0 a 1 2.0 t\nr Q0 a 1 2.0 t\nq Q0 a 2 1.0 t\n": (
        "run, line 3: document 'a' appears twice for query 'q'"
    ),
    "": "run: the file is empty",
    " \n# only words\n": "run: the file is empty",
}
WRONG_QRELS = {
    "q 0 a 1\nq 0 b\n": (
        "qrels, line 2: 3 fields; qrels have four: query, iteration, document, grade"
    ),
    "q 0 a 1\nq 0 b 1 x\n": "qrels, line 2: 5 fields; qrels have four",
    "q 0 a 1\nq 0 b high\n": "qrels, line 2: the grade 'high' is not a number",
    "q 0 a 1\nq 0 b inf\n": "qrels, line 2: the grade 'inf' is not a number",
    "q 0 a 1\nq 0 b 1e10\n": "qrels, line 2: the grade '1e10' is not a number",
    "q 0 a 1\nq 0 a 0\n": "qrels, line 2: document 'a' is judged twice for query 'q'",
    "q 0 a 1\nr 0 a 0\nq 0 a 0\n": "qrels, line 3: document 'a' is judged twice for query 'q'",
    "": "qrels: the file is empty",
    "query-id\tcorpus-id\tscore\n": "qrels: the file has a header but no judgments",
    "query-id\tcorpus-id\tscore\nq\ta\n": (
        "qrels, line 2: 2 fields; BEIR qrels have three: query-id, corpus-id, score"
    ),
}


@pytest.mark.parametrize("text", WRONG_RUNS)
def test_what_is_wrong_with_a_run_is_said_with_file_and_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text(text)

    with pytest.raises(DataError) as caught:
        ir.evaluate(tmp_path / "qrels", tmp_path / "run", "map")

    assert f"{tmp_path}/{WRONG_RUNS[text]}" in str(caught.value)


@pytest.mark.parametrize("text", WRONG_QRELS)
def test_what_is_wrong_with_qrels_is_said_with_file_and_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(text)
    (tmp_path / "run").write_text("q Q0 a 1 2.0 t\n")

    with pytest.raises(DataError) as caught:
        ir.evaluate(tmp_path / "qrels", tmp_path / "run", "map")

    assert f"{tmp_path}/{WRONG_QRELS[text]}" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere does not exist"):
        ir.evaluate({"q": {"a": 1}}, tmp_path / "nowhere", "map")


def numbers(*texts: str) -> list[float]:
    table = TextTable(content("".join(f"{text}\n" for text in texts)))
    return [
        value for block in table.blocks(1) for value in decimals(table, block.fields[0]).tolist()
    ]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=True), min_size=1, max_size=20))
def test_decimals_are_what_float_makes_of_them(values: list[float]) -> None:
    assert numbers(*map(repr, values)) == values


def test_long_decimals_are_rounded_like_float_does() -> None:
    """Numbers of up to 24 digits, more than a binary float holds, with a point anywhere or none,
    and some signs."""
    draw = random.Random(7)
    texts = []
    for _ in range(600):
        digits = f"{draw.randrange(10**24):024d}"[: draw.randint(1, 24)]
        place = draw.randint(0, len(digits) - 1)
        texts.append(
            f"{draw.choice(('', '-'))}{digits[:place]}{draw.choice(('.', ''))}{digits[place:]}"
        )
    texts += ["9007199254740993", "-123456789012345678"]
    assert numbers(*texts) == [float(text) for text in texts]


def test_long_decimals_are_right_without_extended_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("claimeval.ir.columnar._HAS_EXTENDED", False)
    texts = ["12.345678901234567", "0.6898301657029192", "9007199254740993", "1.5"]

    assert numbers(*texts) == [float(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    ["1e", "--1", "1-", "1.2.3", ".", "-", "0x1f", "1,5", "12345678.1234567.1", "nan", "1_0"],
)
def test_what_is_no_number_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(Irregular):
        numbers("1.0", text)


@pytest.mark.parametrize(
    "text", ["5.", ".5", "+5", "007.50", "1E3", "inf", "-0.0", "123456789012345678901234567890"]
)
def test_unusual_numbers_are_what_float_makes_of_them(text: str) -> None:
    assert numbers("1.0", text) == [1.0, float(text)]
