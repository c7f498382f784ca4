"""Values of a closed set are refused with the near name and those that the run has, and labels that
fit nothing are no silence."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

import claimeval as ce
from claimeval.types.bundled import bundled
from tests.command_line import Done, call


class Command(Protocol):
    """Runs the command in the folder of the run."""

    def __call__(self, *arguments: str, exits: int | None = 0) -> Done: ...


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the demo in `a`, with its labels and with ratings of its answers."""
    here = tmp_path_factory.mktemp("closed")
    run = ce.score(
        bundled("demo.jsonl"),
        judges="local:lexical",
        metrics="faithfulness,correctness",
        out=here / "a",
        options=ce.RunOptions(cache=here / "cache"),
    )
    (here / "labels.jsonl").write_bytes(bundled("demo_labels.jsonl").read_bytes())
    with (here / "ratings.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "fluency"))
        rows.writerows((sample.id, number % 5) for number, sample in enumerate(run.samples))
    return here


@pytest.fixture
def command(folder: Path) -> Command:
    return partial(call, folder=folder)


LABELED = ("agreement", "a", "--labels", "labels.jsonl")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((*LABELED, "--evidence", "context"), ("'context'", "'contexts'", "contexts, reference")),
        ((*LABELED, "--evidence", "banana"), ("'banana'", "Known: contexts, reference")),
        ((*LABELED, "--by", ""), ("unknown field to slice by: ''",)),
        (("compare", "a", "a", "--by", ""), ("unknown field to slice by: ''",)),
        (("report", "a", "--rows", "", "--out", "rows.csv"), ("unknown table ''",)),
        (("agreement", "a", "--evidence", "reference_context"), ("Known: contexts, reference",)),
        (
            (*LABELED, "--evidence", "contexts", "--by", "metadata.knd"),
            ("'metadata.knd'", "'metadata.kind'"),
        ),
        (("report", "a", "--rows", "claimz", "--out", "x.csv"), ("'claimz'", "'claims'")),
        (("report", "a", "--rows", "claims"), ("'claims'", "--format csv")),
        (("report", "a", "--rows", "claims", "--format", "json"), ("'claims'", "--format csv")),
        (("report", "a", "--rows", "claimz", "--format", "json"), ("'claimz'", "'claims'")),
        (("report", "a", "--rows", "claimz"), ("'claimz'", "'claims'")),
        (("report", "a", "--rows", "difference", "--compare", "a"), ("'differences'",)),
        (("report", "a", "--out", "r.csvv"), ("'.csvv'", "'.csv'")),
        (("report", "a", "--out", "r.txt"), ("'.txt'", ".csv, .html")),
        (
            ("agreement", "a", "--labels", "ratings.csv", "--rating", "fluencyy"),
            ("'fluencyy'", "'fluency'"),
        ),
        (
            ("agreement", "a", "--labels", "ratings.csv", "--rating", "fluency", "--score", "fait"),
            ("'fait'", "'faithfulness'"),
        ),
        (
            ("draw", "labels.jsonl", "--field", "question=text", "--stratify", "lable"),
            ("'label'",),
        ),
        (
            ("draw", "labels.jsonl", "--field", "question=text", "--stratify", "Labels"),
            ("'label'",),
        ),
        ((*LABELED, "--evidence", "contexts", "--by", "kinds"), ("'metadata.kind'",)),
    ],
)
def test_a_misspelt_value_is_refused_with_the_near_one(
    typed: tuple[str, ...], said: tuple[str, ...], command: Command, folder: Path
) -> None:
    before = sorted(folder.rglob("*"))
    done = command(*typed, exits=2)
    message = " ".join(done.stderr.split())
    assert [words for words in said if words not in message] == []
    assert sorted(folder.rglob("*")) == before


def rewritten(folder: Path, name: str, **changes: str) -> None:
    """Write the labels with other values in some fields of the first rows."""
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    count = 70 if len(rows) > 100 else len(rows)
    changed = [{**row, **changes} if n < count else row for n, row in enumerate(rows)]
    (folder / name).write_text("\n".join(map(json.dumps, changed)))


@pytest.mark.parametrize(
    ("column", "meant"),
    [("Text", "text"), (" text", "text"), ("Against", "against"), ("anotator", "annotator")],
)
def test_a_misspelt_column_of_labels_is_refused(
    column: str, meant: str, folder: Path, command: Command
) -> None:
    """Labels of claims would be labels of whole answers, or of another annotator."""
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    for row in rows:
        row[column] = row.pop(meant, "contexts" if meant == "against" else "ada")
    (folder / "columns.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = command("agreement", "a", "--labels", "columns.jsonl", exits=2)
    assert f"line 1: the column {column!r} is not read. Did you mean {meant!r}?" in " ".join(
        done.stderr.split()
    )


def test_a_misspelt_design_of_a_label_is_refused(folder: Path, command: Command) -> None:
    """A label of a disputed claim would count as one of a random draw."""
    rewritten(folder, "design.jsonl", design="disputd")
    done = command("correct", "a", "--labels", "design.jsonl", exits=2)
    assert "Did you mean 'disputed'?" in " ".join(done.stderr.split())


def test_evidence_in_a_file_of_labels_is_refused_with_its_line(
    folder: Path, command: Command
) -> None:
    rewritten(folder, "against.jsonl", against="context")
    for typed in ("agreement", "correct"):
        done = command(typed, "a", "--labels", "against.jsonl", exits=2)
        message = " ".join(done.stderr.split())
        assert "against.jsonl, line 1, against: unknown evidence 'context'" in message
        assert "Did you mean 'contexts'? Known: contexts, reference" in message


@pytest.mark.parametrize(
    "changes", [{"id": "nobody"}, {"text": "Nobody said so.", "claim_id": "x"}]
)
def test_labels_that_fit_nothing_are_an_error_where_they_are_most(
    folder: Path, command: Command, changes: dict[str, str]
) -> None:
    rewritten(folder, "stray.jsonl", **changes)
    for typed in (("agreement", "--evidence", "contexts"), ("correct",)):
        done = command(typed[0], "a", "--labels", "stray.jsonl", *typed[1:], exits=2)
        assert "most labels are not about a" in " ".join(done.stderr.split())


def test_some_labels_that_fit_nothing_are_counted_in_the_first_lines(
    folder: Path, command: Command
) -> None:
    lines = (folder / "labels.jsonl").read_text().splitlines()
    first = json.dumps({**json.loads(lines[0]), "id": "nobody"})
    (folder / "one.jsonl").write_text("\n".join([first, *lines[1:]]))
    for typed in (("agreement", "--evidence", "contexts"), ("correct",)):
        done = command(typed[0], "a", "--labels", "one.jsonl", *typed[1:])
        beginning = " ".join(" ".join(done.stdout.split("\n")[:5]).split())
        assert "labels fit nothing: 1 with the id or question of no sample of the run" in beginning


def test_ratings_of_other_answers_are_an_error_where_they_are_most(
    folder: Path, command: Command
) -> None:
    text = (folder / "ratings.csv").read_text()
    (folder / "others.csv").write_text(text.replace("-", "_"))
    done = command("agreement", "a", "--labels", "others.csv", "--rating", "fluency", exits=2)
    assert "with the id or question of no sample of the run" in " ".join(done.stderr.split())
