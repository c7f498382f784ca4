"""Tables with one row a document are refused at every door; files that only look like them are
read."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.data import long_tables
from tests.command_line import call

Q1 = {"qid": "q1", "question": "How high is the tower?", "answer": "The tower is 58 metres high."}
Q2 = {"qid": "q2", "question": "Who built the tower?", "answer": "Ana Souto built the tower."}
LONG: list[dict[str, Any]] = [
    Q1 | {"document": "The baker sells bread on Mondays."},
    Q1 | {"document": Q1["answer"]},
    Q2 | {"document": Q2["answer"]},
    Q2 | {"document": "Cats sleep all day long in summer."},
]


def table(folder: Path, rows: Iterable[Mapping[str, Any]] = LONG) -> Path:
    path = folder / "long.tsv"
    lines = [list(LONG[0]), *(list(map(str, row.values())) for row in rows)]
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    "command",
    [
        "score long.tsv --field contexts=document -j local:lexical -m faithfulness",
        (
            "score long.tsv --field contexts=document -j local:lexical -m faithfulness"
            " --skip-malformed"
        ),
        "doctor long.tsv",
        "doctor long.tsv --field contexts=document",
        "measure long.tsv -m token_recall",
        "rate long.tsv -j openai:m@http://127.0.0.1:9/v1",
        "plan score long.tsv -j local:lexical --field contexts=document",
    ],
)
def test_commands_refuse_it_with_the_column_and_the_way_out(tmp_path: Path, command: str) -> None:
    table(tmp_path)
    done = call(*command.split(), folder=tmp_path, OPENAI_API_KEY="k", exits=2)
    assert done.stderr.count("\n") == 1, done.stderr
    assert "long.tsv has one row a document: in 4 of 4 rows" in done.stderr
    assert "only 'document' differs" in done.stderr
    assert "--group qid to join them, or --" in done.stderr
    assert "--group none if each row is a sample" in done.stderr


def test_what_the_message_says_joins_the_rows(tmp_path: Path) -> None:
    """Joined, each answer has a document that supports it: faithfulness is 1, and n 2, not 0.5 and
    4."""
    refused = call("doctor", table(tmp_path).name, folder=tmp_path, exits=2).stderr
    joined = shlex.split(
        refused.partition("all its documents: add ")[2].partition(" to join them")[0]
    )
    assert joined == ["--field", "contexts=document", "--group", "qid"]
    score = ("score", "long.tsv", "-j", "local:lexical", "-m", "faithfulness", "-q", "-o")
    call(*score, "joined", *joined, folder=tmp_path)
    run = ce.Run.load(tmp_path / "joined")
    assert (run["faithfulness"].mean, run["faithfulness"].n) == (1.0, 2)
    assert run.manifest.data.mapping == {"contexts": "document", "group": "qid"}
    assert [result.sample.id for result in run] == ["q1", "q2"]
    as_it_is = ("rows", "--field", "contexts=document", "--group", "none")
    call(*score, *as_it_is, folder=tmp_path)
    run = ce.Run.load(tmp_path / "rows")
    assert (run["faithfulness"].mean, run["faithfulness"].n) == (0.5, 4)


def test_joined_documents_are_ordered_by_rank_and_keep_what_belongs_to_them() -> None:
    rows = [
        row | {"rank": 3 - n % 2, "score": n / 4, "doc_id": f"d{n}"} for n, row in enumerate(LONG)
    ]
    first, second = ce.read_samples(
        [rows[0], rows[2], rows[1], rows[3]], mapping={"contexts": "document"}, group="qid"
    )
    assert first.contexts == (
        ce.Document(id="d1", text=LONG[1]["document"], score=0.25),
        ce.Document(id="d0", text=LONG[0]["document"], score=0.0),
    )
    assert [document.id for document in second.contexts or ()] == ["d3", "d2"]
    assert first.metadata == {"qid": "q1"}


def test_a_row_to_join_without_the_column_of_documents_has_an_empty_document() -> None:
    rows = [LONG[0], {name: value for name, value in LONG[1].items() if name != "document"}]
    (sample,) = ce.read_samples(rows, mapping={"contexts": "document"}, group="qid")
    assert [document.text for document in sample.contexts or ()] == [LONG[0]["document"], ""]


def test_several_columns_may_join_rows_and_an_exploded_frame_is_joined_by_its_id() -> None:
    two = [row | {"answer": f"Answer {n // 2}."} for n, row in enumerate([*LONG[:2], *LONG[:2]])]
    with pytest.raises(ce.DataError, match="--group answer to join"):
        ce.doctor(two)
    assert [len(s.contexts or ()) for s in ce.read_samples(two, group="question,answer")] == [2, 2]
    exploded = [
        {
            "id": row["qid"],
            "question": row["question"],
            "answer": row["answer"],
            "contexts": [row["document"]],
        }
        for row in LONG
    ]
    assert [(s.id, len(s.contexts or ())) for s in ce.read_samples(exploded, group="id")] == [
        ("q1", 2),
        ("q2", 2),
    ]


def test_rows_that_differ_in_more_than_documents_are_named(tmp_path: Path) -> None:
    path = table(tmp_path, [*LONG[:3], LONG[3] | {"answer": "Nobody built it."}])
    with pytest.raises(
        ce.DataError,
        match=r"line 5, answer: 'Nobody built it.' differs from .*line 4, though qid is",
    ):
        list(ce.read_samples(path, mapping={"contexts": "document"}, group="qid"))
    with pytest.raises(
        ce.DataError, match="line 2: no 'topic', which --group names; it has qid, question, answer"
    ):
        list(ce.read_samples(path, group="topic"))


@pytest.mark.parametrize(
    "rows",
    [
        LONG,
        [
            row | {"rank": number, "score": 1 / (number + 1), "doc_id": f"d{number}"}
            for number, row in enumerate(LONG)
        ],
        [row | {"id": f"r{number}"} for number, row in enumerate(LONG)],
        [
            *LONG,
            Q1 | {"question": "Why?", "document": "D."},
            Q2 | {"question": "When?", "document": "D."},
        ],
    ],
    ids=["plain", "ranks, scores and ids of documents", "ids of rows", "half of the rows"],
)
def test_rows_in_python_are_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ce.DataError, match="one row a document"):
        ce.score(
            rows, judges="local:lexical", metrics="faithfulness", mapping={"contexts": "document"}
        )


def test_a_list_of_one_document_without_an_id_is_one_row_a_document() -> None:
    rows = [
        {"question": row["question"], "answer": row["answer"], "contexts": [row["document"]]}
        for row in LONG
    ]
    with pytest.raises(ce.DataError, match="only 'contexts' differs"):
        ce.doctor(rows)
    assert ce.doctor([row | {"id": str(number)} for number, row in enumerate(rows)]).samples == 4


ORDINARY: dict[str, list[dict[str, Any]]] = {
    "systems that give one answer": [
        row | {"system": f"s{number % 2}"} for number, row in enumerate(LONG)
    ],
    "generators that give one answer": [
        row | {"generator": f"g{number % 2}"} for number, row in enumerate(LONG)
    ],
    "repeated samples with other answers": [
        row | {"answer": f"Answer {n}."} for n, row in enumerate(LONG)
    ],
    "a row repeated": [LONG[0], LONG[0], LONG[2], LONG[2]],
    "lists of documents of two retrievers": [
        row | {"document": [row["document"], "More."]} for row in LONG
    ],
    "few repeated questions": [
        *LONG[:2],
        *(Q2 | {"question": f"{n}?", "document": f"{n}"} for n in range(3)),
    ],
    "documents to be graded, without an answer": [row | {"answer": ""} for row in LONG],
    "claims without a question": [row | {"question": ""} for row in LONG],
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_files_are_read(name: str) -> None:
    rows = ORDINARY[name]
    assert len(list(ce.read_samples(rows, mapping={"contexts": "document"}))) == len(rows)


def test_a_large_file_is_refused_before_the_first_call_and_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claimeval.api.data.HELD", 1000)
    monkeypatch.setattr("claimeval.api.data.EXAMINED", 40)
    monkeypatch.setattr(long_tables, "LOOKED_AT", 40)
    path = tmp_path / "large.jsonl"
    row = {"question": "Q?", "answer": "A is B.", "contexts": "C."}
    rows = (row | {"question": f"{n // 4}?", "contexts": f"{n}"} for n in range(400))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ce.DataError, match="in 40 of 40 rows"):
        ce.score(path, judges="local:lexical", metrics="faithfulness")


def test_documents_below_a_question_and_its_answer_are_no_samples_of_their_own() -> None:
    below: list[dict[str, Any]] = [
        {"question": "", "answer": "", "context": "Cats sleep all day."},
        {"question": None, "answer": None, "context": "Boats float."},
    ]
    first, second = (
        {"question": each["question"], "answer": each["answer"], "context": "It is old."}
        for each in (Q1, Q2)
    )
    rows = [first, *below, second, *below]
    with pytest.raises(ce.DataError, match="4 of 6 rows have a document and neither a question"):
        list(ce.read_samples(rows))
    assert len(list(ce.read_samples([*rows[:2], *rows[3:4]]))) == 3
