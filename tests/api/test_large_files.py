"""Files that are not held in memory: the first calls are made before the last row is read, and no
bad row is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.api import data as api
from claimeval.evaluation.job import run_identity
from claimeval.types.progress import Progress


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "HELD", 0)
    monkeypatch.setattr(api, "EXAMINED", 3)
    monkeypatch.setattr(api, "AHEAD", 2)


def rows(n: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"Q {i}?",
            "answer": f"It is {i} m high.",
            "contexts": [f"It is {i % 5} m high."],
        }
        for i in range(n)
    ]


def write(path: Path, content: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in content))
    return path


def test_a_large_file_scores_as_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "data.jsonl", rows())
    large = ce.score(file, judges="local:lexical", metrics="faithfulness")
    monkeypatch.setattr(api, "HELD", 10**6)
    small = ce.score(file, judges="local:lexical", metrics="faithfulness")
    assert len(large) == 12
    assert [result.scores for result in large] == [result.scores for result in small]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"answer": ["a list"]}, "line 9, answer: a list; give one text"),
        ({"id": "q0"}, "line 9, id: 'q0' is the id of"),
    ],
)
def test_a_bad_row_is_found_before_it_is_judged(
    tmp_path: Path, bad: dict[str, object], words: str
) -> None:
    content = rows()
    content[8] |= bad
    file = write(tmp_path / "data.jsonl", content)
    with pytest.raises(ce.DataError) as raised:
        ce.score(file, judges="local:lexical", metrics="faithfulness", out=tmp_path / "run")
    assert words in str(raised.value)
    assert "The replies so far are stored" in str(raised.value)
    with pytest.warns(UserWarning, match="1 malformed row left out"):
        run = ce.score(file, judges="local:lexical", metrics="faithfulness", skip_malformed=True)
    assert len(run) == 11


def test_a_large_file_is_measured_as_a_small_one(tmp_path: Path) -> None:
    content = rows()
    assert len(ce.measure(write(tmp_path / "data.jsonl", content), "answer_length")) == 12
    content[8]["id"] = "q0"
    with pytest.raises(ce.DataError, match="line 9, id: 'q0' is the id of an earlier row"):
        ce.measure(write(tmp_path / "data.jsonl", content), "answer_length")


def test_rows_at_the_beginning_are_examined_before_any_call(tmp_path: Path) -> None:
    file = write(tmp_path / "data.jsonl", [{"id": "q0", "answer": "A", "contexts": ["A"]}])
    with pytest.raises(ce.DataError, match="no sample has a question"):
        ce.score(file, judges="openai:x@http://127.0.0.1:9/v1")


def test_reading_is_told_as_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "data.jsonl", rows(2000))
    seen: list[tuple[str, int]] = []
    samples = api.samples_of(file, read := api.Read(limit=1500))
    monkeypatch.setattr(api, "EXAMINED", 1200)
    examination = api.Examination(
        samples, file, read, ce.RunOptions(progress=lambda now: seen.append((now.unit, now.done)))
    )
    assert sum(1 for _ in examination) == 1200
    assert (seen, examination.total) == ([("samples read", 1000)], None)
    assert sum(1 for _ in examination.items) == 1500


def test_the_order_of_rows_opens_no_new_cap(tmp_path: Path) -> None:
    run = ce.score(rows(2), judges="local:lexical", metrics="faithfulness")
    content = rows()
    files = [write(tmp_path / "a.jsonl", content), write(tmp_path / "b.jsonl", content[::-1])]
    names = {run_identity(run.manifest, api.samples_of(file)) for file in files}
    assert len(names) == 1
    assert (
        run_identity(run.manifest, api.samples_of(write(tmp_path / "c.jsonl", content[1:])))
        not in names
    )


def test_progress_has_no_total_where_the_end_was_not_read(tmp_path: Path) -> None:
    totals: set[tuple[str, int | None]] = set()

    def note(now: Progress) -> None:
        totals.add((now.unit, now.total))

    file = write(tmp_path / "data.jsonl", rows())
    ce.score(
        file, judges="local:lexical", metrics="faithfulness", options=ce.RunOptions(progress=note)
    )
    assert totals == {("samples", None)}
