"""The same rows in every shape that people have them in: through the command line and Python, with
the true scores.

Half of each answer stands in the contexts, and one of two contexts has what the gold answer says.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import pytest
from pydantic import BaseModel

import claimeval as ce
from claimeval.report.tables import Table
from tests.command_line import call

if TYPE_CHECKING:
    import pandas as pd

TRUE = {"faithfulness": 0.5, "context_precision_claims": 0.5}
RAGAS = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts"}
BUSINESS = {
    "question": "Question",
    "answer": "Model Output",
    "contexts": "Retrieved Chunks",
    "reference_answers": "Ground Truth",
}


def rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"How high is the market of town {i}?",
            "answer": (
                f"The market of town {i} is {40 + i} metres high. Penguins eat fish in Antarctica"
                " every winter."
            ),
            "contexts": [
                (
                    f"The market of town {i} is {40 + i} metres high. It was built by Ana's"
                    f' "guild"\nin {1800 + i}.'
                ),
                f"Rivers near lake {i} flow slowly towards distant forests.",
            ],
            "reference_answers": [f"The market of town {i} is {40 + i} metres high."],
        }
        for i in range(4)
    ]


@cache
def frame() -> pd.DataFrame:
    """The rows as pandas has them; made when the first test asks, as loading it takes long."""
    import pandas

    return pandas.DataFrame(rows())


def one_reference() -> pd.DataFrame:
    """The same as Ragas names it, with one reference answer a row."""
    return (
        frame()
        .rename(columns=RAGAS)
        .assign(reference=frame()["reference_answers"].str[0])
        .drop(columns="reference_answers")
    )


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def llama_index(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "query": record["question"],
        "response": record["answer"],
        "reference_answer": record["reference_answers"][0],
        "source_nodes": [
            {"node": {"id_": text[:9], "text": text}, "score": 0.5} for text in record["contexts"]
        ],
    }


def of_parquet() -> pd.DataFrame:
    """The frame as Parquet gives it back: lists are NumPy arrays."""
    return arrow().to_pandas()


def arrow() -> Any:
    """The frame as a table of Arrow."""
    import pyarrow

    return pyarrow.Table.from_pandas(frame())


def printed(cell: Any) -> Any:
    """A cell as its column was turned into text by repr: `array([...], dtype=object)`."""
    return cell if isinstance(cell, str) else repr(cell)


def as_tuple(cell: Any) -> Any:
    return cell if isinstance(cell, str) else tuple(cell)


def messy() -> str:
    """A row that is no sample, and one twice."""
    good = rows()
    return lines([good[0], {**good[1], "id": "bad", "contexts": 5}, *good])


class Shape(NamedTuple):
    name: str
    content: Callable[[], str | bytes]
    options: tuple[str, ...] = ()


FIELDS = tuple(
    word for field, column in BUSINESS.items() for word in ("--field", f"{field}={column}")
)
FILES = {
    "JSON Lines": Shape("data.jsonl", lambda: lines(rows())),
    "CSV of pandas": Shape("data.csv", lambda: frame().to_csv(index=False)),
    "CSV of pandas with its index": Shape("data.csv", lambda: frame().to_csv()),
    "CSV of a frame from Parquet": Shape("data.csv", lambda: of_parquet().to_csv(index=False)),
    "CSV of the repr of arrays": Shape(
        "data.csv", lambda: of_parquet().map(printed).to_csv(index=False)
    ),
    "CSV of tuples": Shape("data.csv", lambda: frame().map(as_tuple).to_csv(index=False)),
    "CSV of Excel": Shape(
        "data.csv", lambda: "\ufeff" + frame().to_csv(index=False, sep=";", lineterminator="\r\n")
    ),
    "tabs": Shape("data.tsv", lambda: frame().to_csv(index=False, sep="\t")),
    "CSV of ragas": Shape("data.csv", lambda: one_reference().to_csv(index=False)),
    "JSON Lines of ragas": Shape(
        "data.jsonl", lambda: one_reference().to_json(orient="records", lines=True)
    ),
    "names of a business": Shape(
        "data.csv", lambda: frame().rename(columns=BUSINESS).to_csv(index=False), FIELDS
    ),
    "Parquet": Shape("data.parquet", lambda: frame().to_parquet(None)),
    "LabelledRagDataset": Shape(
        "data.json", lambda: json.dumps({"examples": [llama_index(row) for row in rows()]})
    ),
    "to_json, columns": Shape("data.json", lambda: frame().to_json()),
    "to_json, records": Shape("data.json", lambda: frame().to_json(orient="records")),
    "to_json, split": Shape("data.json", lambda: frame().to_json(orient="split")),
    "to_json, index": Shape("data.json", lambda: frame().to_json(orient="index")),
    "to_json, table": Shape("data.json", lambda: frame().to_json(orient="table")),
    "one object": Shape("data.json", lambda: json.dumps(rows()[0])),
    "a bad row and one twice": Shape("data.jsonl", messy, ("--skip-malformed",)),
}


@pytest.mark.parametrize("shape", FILES.values(), ids=FILES)
def test_a_file_scores_the_same_in_every_shape(shape: Shape, tmp_path: Path) -> None:
    content = shape.content()
    (tmp_path / shape.name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = call(
        *(
            "score",
            shape.name,
            "-j",
            "local:lexical",
            "-m",
            ",".join(TRUE),
            "--per-document",
            "--json",
            *shape.options,
        ),
        folder=tmp_path,
    )
    summary = json.loads(done.stdout)
    assert {name: summary["metrics"][name]["mean"] for name in TRUE} == TRUE


@dataclasses.dataclass
class Answered:
    question: str
    answer: str
    contexts: list[str]
    reference_answers: list[str]


class AnsweredModel(BaseModel):
    question: str
    answer: str
    contexts: list[ce.Document]
    reference_answers: list[str]


def without_id() -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "id"} for row in rows()]


def models() -> list[AnsweredModel]:
    return [
        AnsweredModel(
            **{**row, "contexts": [ce.Document(id=text[:9], text=text) for text in row["contexts"]]}
        )
        for row in without_id()
    ]


def dataset() -> Any:
    import datasets

    return datasets.Dataset.from_list(rows())


class Polars:
    """A frame of polars, by its shape."""

    def to_dicts(self) -> list[dict[str, Any]]:
        return rows()


TABLES: dict[str, Callable[[], Any]] = {
    "frame": frame,
    "frame with arrays": of_parquet,
    "frame with named index": lambda: frame().set_index("id"),
    "frame of a CSV": lambda: frame().map(str),
    "rows of itertuples": lambda: frame().itertuples(index=False),
    "Arrow table": arrow,
    "Arrow batch": lambda: arrow().to_batches()[0],
    "Dataset": dataset,
    "polars": Polars,
    "dict of columns": lambda: frame().to_dict("list"),
    "dict of arrays": lambda: {name: frame()[name].to_numpy() for name in frame()},
    "one dict": lambda: rows()[0],
    "generator": lambda: (row for row in rows()),
    "dataclasses": lambda: [Answered(**row) for row in without_id()],
    "models": models,
    "one model": lambda: models()[0],
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_in_memory_scores_the_same_in_every_shape(table: Callable[[], Any]) -> None:
    run = ce.score(table(), judges="local:lexical", metrics=",".join(TRUE), per_document=True)
    assert {name: run[name].mean for name in TRUE} == TRUE


def test_tables_of_a_run_become_data_sets() -> None:
    import datasets

    run = ce.score(dataset(), judges="local:lexical", metrics="faithfulness", per_document=True)
    for table in get_args(Table):
        table_of_run = run.to_pandas(table)
        again = datasets.Dataset.from_pandas(table_of_run)
        assert len(again) == len(table_of_run)
        assert len(table_of_run) > 0 or table == "citations", "no answer of them cites"
    claims = datasets.Dataset.from_pandas(run.to_pandas("claims"))
    assert claims[0]["id"] == "q0"
    assert claims[0]["label"] == next(iter(run)).assessments[0].label


def test_one_metric_may_be_given_as_a_text_and_columns_by_fields() -> None:
    data = frame().rename(columns=BUSINESS)
    run = ce.score(data, judges="local:lexical", metrics="faithfulness", mapping=BUSINESS)
    assert run["faithfulness"].mean == 0.5


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (5, "data: int; give the name of a file"),
        (b"x", "data: bytes; give the name of a file"),
        (["a text"], "sample 1 is str 'a text'; give the name of a file"),
        (
            {"question": ["Q", "R"], "answer": ["A"]},
            "columns of different lengths (question 2, answer 1)",
        ),
        (
            [{"Question": "Q"}],
            "data: no column is known; it has Question: add --field question=Question",
        ),
        ([{"question": "Q", "answer": ["A"]}], "sample 1, answer: a list; give one text"),
        (
            [{"question": "Q", "answer": "A", "contexts": "array(['a', ..., 'z'], dtype=object)"}],
            "sample 1, contexts: looks like a list and cannot be read",
        ),
        ([], "data has no samples"),
    ],
)
def test_what_is_refused_says_what_was_given_and_what_is_taken(data: Any, words: str) -> None:
    with pytest.raises(ce.UsageError) as raised:
        ce.score(data, judges="local:lexical")
    assert words in str(raised.value)


def test_the_splits_of_a_data_set_are_named() -> None:
    with pytest.raises(
        ce.UsageError,
        match=r"several data sets \(train, test\); give one of them, as in data\[NAME\]",
    ):
        ce.score({"train": dataset(), "test": dataset()}, judges="local:lexical")


def test_a_run_says_how_many_rows_were_left_out(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(messy())
    run = ("score", "data.jsonl", "-j", "local:lexical", "-m", "faithfulness", "-o", "run")
    refused = call(*run, folder=tmp_path, exits=2)
    assert (
        "data.jsonl, line 2, contexts: a number; give a list of texts. --skip-malformed leaves"
        in refused.stderr
    )
    done = call(*run, "--skip-malformed", folder=tmp_path)
    assert "2 malformed rows left out:" in done.stderr
    assert "line 3, id: 'q0' is the id of an earlier row" in done.stderr
    assert ce.Run.load(tmp_path / "run").notes[-1] == "2 malformed rows were left out."
    assert "2 malformed rows were left out" in (tmp_path / "run" / "summary.json").read_text()


def test_a_question_is_needed_only_where_a_prompt_reads_it(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(
        "topic,answer,contexts\nQ,A town.,A town.\nR,A lake.,A town.\n"
    )
    judged = call(
        "score", "data.csv", "-j", "openai:x@http://127.0.0.1:9/v1", folder=tmp_path, exits=2
    )
    assert (
        "no sample has a question (first: '1'), which prompt assess/three_way reads"
        in judged.stderr
    )
    call("score", "data.csv", "-j", "local:lexical", "-m", "faithfulness", folder=tmp_path)
    call("lexical", "data.csv", folder=tmp_path)
