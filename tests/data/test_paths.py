"""`--field` takes paths into the rows of an export; keys go before paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.data.paths import values_at
from tests.command_line import call

ROW: dict[str, Any] = {
    "input": {"question": "How high?"},
    "output": (
        '{"answer": "90 m", "docs": [{"text": "It is 90 m high."}, {"text": null}, {"text": "It is'
        ' old."}]}'
    ),
    "context_2": "two",
    "context_10": "ten",
    "context_1": "one",
    "a.b": {"c.d": 1, "c": {"d": 2}},
    "joined": "It is 90 m high.\n---\na --- b\n ---\nIt is old.",
    "marked": "one = 1 [SEP] two",
    "tagged": '<docs><doc id="1">one</doc>\n<doc>two</doc></docs>',
    "cells": ["one\n---\ntwo", "three"],
    "systems": {"gpt": {"text": "It is 90 m.", "docs": ["d"]}},
    "spans": [{"type": "LLM", "output": "x"}, {"type": "RETRIEVER", "output": ["r1", "r2"]}],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("input.question", ["How high?"]),
        ("output.answer", ["90 m"]),
        ("output.docs[*].text", ["It is 90 m high.", "It is old."]),
        ("output.docs[0].text", ["It is 90 m high."]),
        ("output.docs[-1]", [{"text": "It is old."}]),
        ("output.docs[7].text", []),
        ("context_*", ["one", "two", "ten"]),
        ("a.b.c.d", [1]),
        ("a.b.c", [{"d": 2}]),
        ("spans[type=RETRIEVER].output[*]", ["r1", "r2"]),
        ("spans[type=NONE].output", []),
        ("input", [{"question": "How high?"}]),
        ("input.nothing", []),
        ("nothing.at.all", []),
        ("joined[split: ---]", ["It is 90 m high.", "a --- b", "It is old."]),
        ("joined[split: =]", ["It is 90 m high.\n---\na --- b\n ---\nIt is old."]),
        ("marked[split: [SEP]]", ["one = 1", "two"]),
        ("marked[split: = ]", ["one", "1 [SEP] two"]),
        ("tagged[split: <doc>]", ["one", "two"]),
        ("cells[split: ---]", ["one", "two", "three"]),
        ("systems.*.text", ["It is 90 m."]),
        ("systems.*.docs[*]", ["d"]),
        ("systems.*", [{"text": "It is 90 m.", "docs": ["d"]}]),
    ],
)
def test_a_path_gives_the_values_that_it_leads_to(path: str, values: list[Any]) -> None:
    assert list(values_at(ROW, path)) == values


FIELDS = {
    "question": "input.question",
    "answer": "output.answer",
    "contexts": "output.docs[*].text",
}


def test_rows_are_read_by_paths_in_python_and_by_the_command(tmp_path: Path) -> None:
    (sample,) = ce.read_samples([{"id": "s", "topic": "towers", **ROW}], mapping=FIELDS)
    assert (sample.question, sample.answer) == ("How high?", "90 m")
    assert [document.text for document in sample.contexts or ()] == [
        "It is 90 m high.",
        "It is old.",
    ]
    assert sample.metadata["topic"] == "towers"
    assert not {"input", "output"} & sample.metadata.keys(), (
        "what a path leads into is not kept twice"
    )
    (tmp_path / "export.jsonl").write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    options = [word for name, path in FIELDS.items() for word in ("--field", f"{name}={path}")]
    call(
        "score",
        "export.jsonl",
        "-j",
        "local:lexical",
        "-m",
        "faithfulness",
        *options,
        "-o",
        "run",
        folder=tmp_path,
    )
    mapping = ce.Run.load(tmp_path / "run").manifest.data.mapping
    assert mapping == {**mapping, **FIELDS}


def test_columns_of_a_table_become_contexts_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(
        "question,answer,context_2,context_10,context_1\nQ,A,two,,one\n", encoding="utf-8"
    )
    (sample,) = ce.read_samples(tmp_path / "wide.csv", mapping={"contexts": "context_*"})
    assert [document.text for document in sample.contexts or ()] == ["one", "two"]


@pytest.mark.parametrize(
    ("columns", "contexts"),
    [
        ({"docs.1": "two", "docs.0": "one"}, ["one", "two"]),
        ({"docs.0": "one", "docs.1": "undefined"}, ["one"]),
        (
            {"docs.0.text": "one", "docs.0.id": "a", "docs.1.text": "null", "docs.1.id": "null"},
            ["one"],
        ),
        ({"docs.0": "null", "docs": "[]"}, []),
        ({"docs.0": "null"}, None),
    ],
)
def test_columns_of_the_items_of_a_list_are_read_as_the_list(
    columns: dict[str, str], contexts: list[str] | None, tmp_path: Path
) -> None:
    names = ["question", "answer", *columns]
    (tmp_path / "flat.csv").write_text(
        ",".join(names) + "\n" + ",".join(["Q", "A", *columns.values()]) + "\n"
    )
    (sample,) = ce.read_samples(tmp_path / "flat.csv", mapping={"contexts": "docs"})
    found = sample.contexts
    assert (None if found is None else [document.text for document in found]) == contexts


def test_columns_that_are_no_whole_list_stay_columns(tmp_path: Path) -> None:
    (tmp_path / "again.csv").write_text(
        "question,answer,score,score.1,model.3,llama-3.0\nQ,A,1,2,m,l\n"
    )
    (sample,) = ce.read_samples(tmp_path / "again.csv")
    assert sample.metadata == {"score": "1", "score.1": "2", "model.3": "m", "llama-3.0": "l"}


def test_objects_that_python_printed_are_opened(tmp_path: Path) -> None:
    (tmp_path / "frame.csv").write_text(
        "inputs,outputs\n"
        """"{'q': 'Who is ""it""?'}","{'a': ""It's Mara."", 'docs': ['Mara.', None]}"\n"""
    )
    (sample,) = ce.read_samples(
        tmp_path / "frame.csv",
        mapping={"question": "inputs.q", "answer": "outputs.a", "contexts": "outputs.docs[*]"},
    )
    assert (sample.question, sample.answer) == ('Who is "it"?', "It's Mara.")
    assert [document.text for document in sample.contexts or ()] == ["Mara."]


def test_a_path_that_a_row_cannot_follow_is_missing_or_refused() -> None:
    found: list[dict[str, Any]] = [{"hits": [{"text": "one"}]}, {"hits": []}, {}]
    rows = [{"question": f"Q{n}", "answer": "A", "docs": docs} for n, docs in enumerate(found)]
    for path in ("docs.hits", "docs.hits[*].text"):
        one, none, unknown = ce.read_samples(rows, mapping={"contexts": path})
        assert [document.text for document in one.contexts or ()] == ["one"]
        assert (none.contexts, unknown.contexts) == (
            (),
            None,
        ), "nothing was retrieved; nothing is known"
    with pytest.raises(ce.DataError, match=r"Did you mean 'docs\.hits'"):
        list(ce.read_samples(rows, mapping={"contexts": "dox.hits"}))


def test_several_values_for_one_text_are_refused() -> None:
    rows = [{"question": "Q", "outputs": [{"answer": "A"}, {"answer": "B"}]}]
    with pytest.raises(ce.DataError, match="answer: a list; give one text"):
        list(ce.read_samples(rows, mapping={"answer": "outputs[*].answer"}))
