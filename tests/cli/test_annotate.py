"""`claimeval annotate`: what is drawn, asked and kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from claimeval.data.labels import LabelFile
from claimeval.runs.labeling import ClaimLabels, drawn
from tests.api.test_claims import SAMPLES
from tests.cli.conftest import Run
from tests.command_line import call


@pytest.fixture
def run(claimeval: Run, tmp_path: Path) -> Path:
    data = tmp_path / "samples.jsonl"
    answer = (
        "The tower is 63 metres high. The bridge is 12 metres wide. Ana Souto paid for both. Cats"
        " sleep."
    )
    sample = {**SAMPLES[0], "answer": answer, "contexts": [answer[:58]]}
    data.write_text(
        "".join(
            json.dumps({**sample, "id": f"s{i}", "question": f"How high is the tower? {i}"}) + "\n"
            for i in range(5)
        )
    )
    claimeval("score", data, "-j", "local:lexical", "-m", "faithfulness", "--out", "run")
    return tmp_path / "here" / "run"


def answer(run: Path, keys: str, *options: str) -> str:
    done = call("annotate", run, "--n", "6", *options, stdin="".join(key + "\n" for key in keys))
    return done.stdout


def test_answers_are_kept_and_the_same_command_goes_on(run: Path) -> None:
    first = answer(run, "ynq", "--annotator", "ada")
    assert "2 of 6 claims labeled" in first
    assert "Run the same command to resume." in first
    second = answer(run, "c?xyy")
    assert "3 of 6" in second
    assert "6 of 6 claims labeled" in second
    labels = ClaimLabels(run, "faithfulness")
    given = list(LabelFile(labels.path))
    assert [label.label for label in given] == [
        "supported",
        "not_found",
        "contradicted",
        "supported",
        "supported",
    ]
    assert given[0].annotator == "ada"
    assert len(labels.by("")) == 6


def test_json_has_the_progress_and_questions_go_to_standard_error(run: Path) -> None:
    done = call("annotate", run, "--n", "6", "--json", stdin="y\nn\nq\n")
    found = json.loads(done.stdout)
    assert (found["command"], found["labeled"], found["drawn"]) == ("annotate", 2, 6)
    assert found["labels"] == str(ClaimLabels(run, "faithfulness").path)
    assert "Is the claim supported by the contexts above?" in done.stderr
    exported = json.loads(call("annotate", run, "--json", "--export", run / "todo.csv").stdout)
    assert exported["labels"] == str(run / "todo.csv")


def test_b_goes_back_and_the_later_label_replaces_the_earlier(run: Path) -> None:
    shown = answer(run, "bynb?bq", "--annotator", "ada")
    assert shown.count("This is the first item.") == 1
    assert "so far   not_found" in shown
    labels = ClaimLabels(run, "faithfulness")
    assert list(labels.by("ada").values()) == ["supported", "unsure"]
    assert len(labels.path.read_text().splitlines()) == 2
    assert list(ClaimLabels(run, "faithfulness").by("ada").values()) == ["supported", "unsure"]


def test_each_named_annotator_labels_all_claims_and_agreement_finds_the_labels(
    claimeval: Run, run: Path
) -> None:
    """Of six claims both label all; they differ on one, so a label in six is undecided by
    majority."""
    assert "6 of 6 claims labeled" in answer(run, "ynynyn", "--annotator", "ada")
    assert "1 of 6" in answer(run, "q", "--annotator", "ben")
    assert "6 of 6 claims labeled" in answer(run, "nnynyn", "--annotator", "ben")
    assert "6 of 6 claims labeled" in answer(run, "")
    found = claimeval("agreement", "run", "--json")
    counts = json.loads(found.stdout)["labels"]
    assert (counts["differing"], counts["divided"]) == (1, 1)
    assert "no human labels" not in claimeval("agreement", "run").stdout
    tables = [
        json.loads(claimeval("agreement", "run", "--json", *labels).stdout)["raters"]
        for labels in ((), ("--labels", "run/annotation/faithfulness.labels.jsonl"))
    ]
    assert tables[0] == tables[1] != []


def test_a_person_sees_claim_question_and_evidence_but_no_verdict(run: Path) -> None:
    shown = answer(run, "q")
    assert "How high is the tower?" in shown
    assert "The bridge is 12 metres wide." in shown
    assert "lexical support" not in shown


def test_the_probability_of_every_draw_is_kept(run: Path) -> None:
    answer(run, "q")
    found = drawn(run, "faithfulness")
    assert found is not None
    assert len({(item.sample, item.claim_id) for item in found.items}) == 6
    assert [item.probability for item in found.items] == pytest.approx([6 / found.population] * 6)


def test_something_else_is_not_drawn_over_it(claimeval: Run, run: Path) -> None:
    answer(run, "q")
    done = claimeval("annotate", "run", "--n", "7", "--seed", "1", exits=2)
    assert "6 claims were already drawn for faithfulness (even, seed 0)" in done.stderr


def test_another_design_is_drawn_too(run: Path) -> None:
    answer(run, "q", "--design", "label")
    found = drawn(run, "faithfulness")
    assert found is not None
    assert found.design == "label"
    assert all(0 < (item.probability or 0) <= 1 for item in found.items)


def test_claims_can_be_labelled_elsewhere(claimeval: Run, run: Path) -> None:
    done = claimeval("annotate", "run", "--n", "6", "--export", "todo.csv")
    assert (
        "6 claims written to todo.csv; fill the column `label` (supported, contradicted,"
        " not_found, " in done.stdout
    )
    rows = list(csv.DictReader((run.parent / "todo.csv").read_text().splitlines()))
    assert len(rows) == 6
    assert {row["against"] for row in rows} == {"contexts"}
    assert all(row["text"] and row["evidence"] and not row["label"] for row in rows)


def test_the_exported_file_has_no_formulas_and_its_labels_fit_all_the_same(
    claimeval: Run, tmp_path: Path
) -> None:
    texts = {
        "=1+1": "=The tower is 63 metres high.",
        "'@a": "@The tower is high.",
        "plain": "It is 63 metres high.",
    }
    data = tmp_path / "samples.jsonl"
    rows = [
        {**SAMPLES[0], "id": id, "question": f"-{id}?", "answer": text}
        for id, text in texts.items()
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    claimeval("score", data, "-j", "local:lexical", "-m", "faithfulness", "--out", "run")
    claimeval("annotate", "run", "-n", "3", "--export", "todo.csv")
    todo = tmp_path / "here" / "todo.csv"
    cells = list(csv.reader(todo.read_text().splitlines()))
    assert not [cell for row in cells for cell in row if cell[:1] in ("=", "+", "-", "@")]
    assert {row[0] for row in cells[1:]} == {"'=1+1", "''@a", "plain"}
    with todo.open("w", newline="") as file:
        csv.writer(file).writerows([cells[0], *([*row[:-1], "supported"] for row in cells[1:])])
    done = claimeval("agreement", "run", "--labels", "todo.csv", "--json")
    assert "nothing that was judged" not in done.stderr
    assert [(label.sample, label.text) for label in LabelFile(todo)] == [
        (
            row[0].replace("'", "", 1),
            row[2].replace("'", "", 1) if row[2].startswith("'") else row[2],
        )
        for row in cells[1:]
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metric", "faithfull"], "Did you mean 'faithfulness'"),
        (["--n", "0"], "it needs 1 or more"),
        (["--design", "uncertainty"], "in place of uncertainty, draw even"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    claimeval: Run, run: Path, options: list[str], words: str
) -> None:
    done = claimeval("annotate", "run", *options, exits=2)
    assert words in done.stderr
