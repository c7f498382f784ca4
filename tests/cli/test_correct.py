"""`claimeval correct`, after labels were given in the terminal or in a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_annotate import answer, run

__all__ = ["run"]


@pytest.mark.parametrize("design", ["even", "label"])
def test_labels_given_in_the_terminal_correct_the_score(
    claimeval: Run, run: Path, design: str
) -> None:
    answer(run, "ynynyn", "--design", design)
    found = json.loads(claimeval("correct", "run", "--json").stdout)
    assert found["labeled"] == 6
    assert found["micro"]["people"]["value"] is not None
    assert found["macro"]["corrected"]["n"] == 6


def test_a_filled_csv_file_corrects_the_score(claimeval: Run, run: Path) -> None:
    claimeval("annotate", "run", "--n", "6", "--export", "todo.csv")
    path = run.parent / "todo.csv"
    path.write_text(path.read_text().replace(',""', ",yes").replace(",\n", ",yes\n"))
    done = claimeval("correct", "run", "--labels", "todo.csv")
    assert "6 of them labeled" in done.stdout
    all_alike = (
        "all 6 labels say supported, so they do not show where the judges err; move"
        " RUN/annotation/faithfulness"
    )
    for words in ("the judges alone", "corrected (ppi++)", "people alone", all_alike):
        assert words in done.stdout


def test_without_labels_it_says_how_to_get_some(claimeval: Run, run: Path) -> None:
    done = claimeval("correct", "run", exits=2)
    assert "give some with `claimeval annotate run`" in done.stderr


@pytest.mark.parametrize(
    ("options", "design", "told"),
    [
        ("", "even", "claimeval annotate RUN --n 100"),
        (
            "--design label --seed 7",
            "label",
            "claimeval annotate RUN --design label --seed 7 --n 100",
        ),
        ("", "uncertainty", "claimeval annotate RUN"),
    ],
)
def test_what_a_note_recommends_works_when_typed(
    claimeval: Run, run: Path, options: str, design: str, told: str
) -> None:
    """Six labels that say supported: label more, and draw claims of every label."""
    answer(run, "yyyyyy", *options.split())
    drawing = run / "annotation" / "faithfulness.json"
    drawing.write_text(drawing.read_text().replace('"design": "even"', f'"design": "{design}"'))
    few, alike = (
        note
        for note in json.loads(claimeval("correct", "run", "--json").stdout)["notes"]
        if "`claimeval" in note
    )
    assert f"`{told}`" in few
    before = {path: path.read_bytes() for path in drawing.parent.iterdir()}
    for note in (few, alike):
        for path, content in before.items():
            path.write_bytes(content)
        for moved in re.findall(r"RUN/(\S+)", note):
            (run / moved).unlink()
        (command,) = re.findall("`claimeval (.+?)`", note)
        claimeval(*command.replace("RUN", "run").split(), "--export", "more.csv")
        assert len((run.parent / "more.csv").read_text().splitlines()) > 7
        (run.parent / "more.csv").unlink()


def test_the_macro_score_of_the_judges_alone_is_that_of_the_run(claimeval: Run, run: Path) -> None:
    """To the last digit of its interval, although the other numbers are over claims."""
    scored = json.loads(claimeval("demo", "--json", "--out", "demo").stdout)["metrics"]
    labels = Path(__file__).parents[2] / "examples" / "data" / "demo_labels.jsonl"
    for name in ("faithfulness", "correctness"):
        found = json.loads(
            claimeval("correct", "demo", "--metric", name, "--labels", labels, "--json").stdout
        )
        judged = found["macro"]["judged"]
        ours = scored[name]
        assert [judged[key] for key in ("value", "low", "high", "n", "clusters")] == [
            ours[key] for key in ("mean", "low", "high", "n", "clusters")
        ]


def test_what_few_labels_count_as_is_said_once(claimeval: Run, run: Path) -> None:
    answer(run, "ynynyn")
    printed = " ".join(claimeval("correct", "run").stdout.split())
    assert "Quote no number yet: 6 labels are too few. The judges alone say" in printed
    assert printed.count("count as") == 1
    assert "simulations" not in printed  # nothing has an interval that could cover too little
