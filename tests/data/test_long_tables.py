"""Tables with one row a document are refused at every door; files that only look like them are read."""

from __future__ import annotations

import json
import subprocess
import sys
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
        "score long.tsv --field contexts=document -j local:lexical -m faithfulness --skip-malformed",
        "doctor long.tsv",
        "doctor long.tsv --field contexts=document",
        "measure long.tsv -m token_recall",
        "rate long.tsv -j openai:m@http://127.0.0.1:9/v1",
        "plan score long.tsv -j local:lexical --field contexts=document",
    ],
)
def test_commands_refuse_it_with_the_column_and_the_way_out(tmp_path: Path, command: str) -> None:
    table(tmp_path)
    done = call(*command.split(), folder=tmp_path, OPENAI_API_KEY="k")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "long.tsv has one row a document: in 4 of 4 rows" in done.stderr
    assert "only 'document' differs" in done.stderr
    assert ".groupby(['qid', 'question', 'answer']" in done.stderr


def test_what_the_message_says_joins_the_rows(tmp_path: Path) -> None:
    """Joined, each answer has a document that supports it: faithfulness is 1, and n 2, not 0.5 and 4."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    refused = call("doctor", table(tmp_path).name, folder=tmp_path)
    snippet = refused.stderr.partition("as with ")[2].partition(". If each row")[0]
    subprocess.run([sys.executable, "-c", f"import pandas; {snippet}"], cwd=tmp_path, check=True)
    run = ce.score(tmp_path / "joined.jsonl", judges="local:lexical", metrics="faithfulness")
    assert (run["faithfulness"].mean, run["faithfulness"].n) == (1.0, 2)


@pytest.mark.parametrize(
    "rows",
    [
        LONG,
        [row | {"rank": number, "score": 1 / (number + 1), "doc_id": f"d{number}"} for number, row in enumerate(LONG)],
        [row | {"id": f"r{number}"} for number, row in enumerate(LONG)],
        [*LONG, Q1 | {"question": "Why?", "document": "D."}, Q2 | {"question": "When?", "document": "D."}],
    ],
    ids=["plain", "ranks, scores and ids of documents", "ids of rows", "half of the rows"],
)
def test_rows_in_python_are_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ce.DataError, match="one row a document"):
        ce.score(rows, judges="local:lexical", metrics="faithfulness", fields={"contexts": "document"})


def test_a_list_of_one_document_without_an_id_is_one_row_a_document() -> None:
    rows = [{"question": row["question"], "answer": row["answer"], "contexts": [row["document"]]} for row in LONG]
    with pytest.raises(ce.DataError, match="only 'contexts' differs"):
        ce.doctor(rows)
    assert ce.doctor([row | {"id": str(number)} for number, row in enumerate(rows)]).samples == 4


ORDINARY: dict[str, list[dict[str, Any]]] = {
    "systems that give one answer": [row | {"system": f"s{number % 2}"} for number, row in enumerate(LONG)],
    "generators that give one answer": [row | {"generator": f"g{number % 2}"} for number, row in enumerate(LONG)],
    "repeated samples with other answers": [row | {"answer": f"Answer {n}."} for n, row in enumerate(LONG)],
    "a row repeated": [LONG[0], LONG[0], LONG[2], LONG[2]],
    "lists of documents of two retrievers": [row | {"document": [row["document"], "More."]} for row in LONG],
    "few repeated questions": [*LONG[:2], *(Q2 | {"question": f"{n}?", "document": f"{n}"} for n in range(3))],
    "documents to be graded, without an answer": [row | {"answer": ""} for row in LONG],
    "claims without a question": [row | {"question": ""} for row in LONG],
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_files_are_read(name: str) -> None:
    rows = ORDINARY[name]
    assert len(list(ce.read_samples(rows, fields={"contexts": "document"}))) == len(rows)


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
