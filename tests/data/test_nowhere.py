"""Paths that no row has are named with the nearest one that rows have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval.data.nowhere import ENOUGH, Nowhere
from claimeval.data.paths import has, values_at
from claimeval.data.rows import SourceRow
from claimeval.types.errors import DataError
from tests.command_line import call

ROWS: list[dict[str, Any]] = [
    {
        "id": f"s{n}",
        "split": "test",
        "input": {"text": f"What is {n}?"},
        "output": {"answer": f"It is {n}.", "docs": [{"body": f"Document {n}."}]},
    }
    for n in range(3)
]
RIGHT: dict[str, Any] = {
    "question": "input.text",
    "answer": "output.answer",
    "contexts": "output.docs[*].body",
}
WRONG = [
    ("question", "input.txt", "input.text"),
    ("question", "text", "input.text"),
    ("question", "Input.Text", "input.text"),
    ("answer", "output.anwser", "output.answer"),
    ("answer", "outputs.answer", "output.answer"),
    ("contexts", "output.dcs[*].body", "output.docs[*].body"),
    ("contexts", "output.docs.bdy", "output.docs[*].body"),
    ("where", "spilt=test", "split"),
]


@pytest.mark.parametrize(("field", "path", "near"), WRONG)
def test_a_misspelt_path_is_refused_with_the_nearest(field: str, path: str, near: str) -> None:
    named = path.partition("=")[0] if field == "where" else path
    with pytest.raises(DataError) as raised:
        list(ce.read_samples(ROWS, mapping={**RIGHT, field: path}))
    assert f"no row has '{named}', which was given for {field}. Did you mean '{near}'?" in str(
        raised.value
    )
    survey = ce.doctor(ROWS, mapping={**RIGHT, field: path})
    assert len(survey.nowhere) == 1
    assert not survey.ok


def test_doctor_prints_all_such_paths_and_ends_with_1_and_score_with_2(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "map.yaml").write_text(
        "question: input.txt\nanswer: output.anser\ncontexts: output.docs[*].body\n"
    )
    given_as = ("log.jsonl", "--mapping", "map.yaml")
    looked = call("doctor", *given_as, folder=tmp_path, exits=1)
    assert "Did you mean 'input.text'?" in " ".join(looked.stdout.split())
    assert "Did you mean 'output.answer'?" in " ".join(looked.stdout.split())
    refused = call("score", *given_as, "-j", "local:lexical", folder=tmp_path, exits=2)
    assert "Did you mean 'input.text'?" in refused.stderr
    assert not (tmp_path / "runs").exists()


def test_one_row_with_the_path_is_enough_and_nothing_on_the_way_proves_nothing() -> None:
    failed = {"id": "x", "input": {"text": "Why?"}, "output": None}
    empty = {"id": "y", "input": {"text": "Why?"}, "output": {"answer": "No.", "docs": []}}
    assert len(list(ce.read_samples([failed, empty, ROWS[0]], mapping=RIGHT))) == 3
    (sample,) = ce.read_samples([empty], mapping=RIGHT)
    assert sample.contexts == ()
    list(ce.read_samples([{**ROWS[0], "note": None}], mapping={**RIGHT, "generator": "note"}))


def test_each_of_several_paths_has_to_be_in_some_row_unless_an_empty_one_is_among_them() -> None:
    paths = ["output.answer", "output.final"]
    with pytest.raises(DataError, match=r"'output.final'.*--field answer=''"):
        list(ce.read_samples(ROWS, mapping={**RIGHT, "answer": paths}))
    read = list(ce.read_samples(ROWS, mapping={**RIGHT, "answer": [*paths, ""]}))
    assert [sample.answer for sample in read] == ["It is 0.", "It is 1.", "It is 2."]


def test_a_large_file_is_refused_before_its_end() -> None:
    nowhere = Nowhere("log", [("question", "input.txt")])
    rows = (SourceRow(f"line {n}", n, ROWS[0]) for n in range(1, ENOUGH + 2))
    watched = nowhere.watch(rows, raises=True)
    assert len(list(islice(watched, ENOUGH - 1))) == ENOUGH - 1
    with pytest.raises(DataError, match=r"Did you mean 'input\.text'"):
        next(watched)


def test_the_log_and_recorded_replies_name_the_nearest_too(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no field 'input.txt'\. Did you mean 'input.text'"):
        ce.draw(ROWS, mapping={"question": "input.txt"})
    with pytest.raises(
        DataError, match=r"--stratify splt: no row has this field\. Did you mean 'spl"
    ):
        ce.draw(ROWS, mapping={"question": "input.text"}, stratify="splt")
    with pytest.raises(DataError, match="Did you mean 'split'"):
        ce.draw(ROWS, mapping={"question": "input.text"}, stratify="metadata.split")
    rows = [{**row, "metadata": {"kind": str(n)}} for n, row in enumerate(ROWS)]
    with pytest.raises(DataError, match=r"stratify kind: .* Did you mean 'metadata\.kind'"):
        ce.draw(rows, mapping={"question": "input.text"}, stratify="kind")
    with pytest.raises(ce.UsageError, match=r"None of these rows has splt\. Did you mean 'split'"):
        ce.draw(rows, n=2, mapping={"question": "input.text"}, stratify="metadata.kind,splt")
    recorded = {"claim": "c", "against": "contexts", "judge": "j", "reply": "r", "forms": "word"}
    (tmp_path / "r.jsonl").write_text(
        json.dumps({"c": "A claim.", "j": "m", "r": "yes", "label": "yes"})
    )
    ce.import_replies(tmp_path / "r.jsonl", mapping={**recorded, "human_label": "label"})
    with pytest.raises(DataError, match=r"'lable', which was given for human_label.*mean 'label'"):
        ce.import_replies(tmp_path / "r.jsonl", mapping={**recorded, "human_label": "lable"})


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.just("text") | st.integers(0, 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
STEPS = st.lists(st.sampled_from(["a", "b", "c", "a[*]", "b[0]"]), min_size=1, max_size=3)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3), STEPS)
def test_a_path_that_gives_a_value_is_there(row: Mapping[str, Any], steps: Sequence[str]) -> None:
    path = ".".join(steps)
    if list(values_at(row, path)):
        assert has(row, path) is True
