"""Retrieval or generation: the four cells, their sentences, and where they are printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimeval.api.run import Run
from claimeval.report import forms
from claimeval.runs.overview import gather
from claimeval.runs.slices import Cell, DiagnosisTally, cell_of
from claimeval.types.bundled import bundled
from claimeval.types.records import Sample, SampleResult, Score
from tests.command_line import call
from tests.report.runs import TOWER, TOWER_SAYS, make


def result(recall: int | None, faithful: int, correct: int | None = None) -> SampleResult:
    """A sample with so many of five claims supported."""
    hits = {"context_recall": recall, "faithfulness": faithful, "correctness": correct}
    scores = {
        name: Score.share(n / 5, hits=n, judged=5, total=5)
        for name, n in hits.items()
        if n is not None
    }
    if recall is None:
        scores["context_recall"] = Score.undefined("missing_input")
    return SampleResult.of(Sample(id="s", question="Q?"), scores=scores)


@pytest.mark.parametrize(
    ("recall", "faithful", "cell"),
    [(5, 4, "fine"), (4, 3, "ignored"), (3, 4, "missed"), (0, 3, "made_up")],
)
def test_both_metrics_at_the_threshold_make_four_cells(
    recall: int, faithful: int, cell: Cell
) -> None:
    assert cell_of(result(recall, faithful)) == cell


def test_another_threshold_makes_other_cells() -> None:
    assert cell_of(result(3, 3), threshold=0.6) == "fine"


def test_counts_leave_out_what_has_no_value() -> None:
    tally = DiagnosisTally()
    assert tally.counts() is None
    for one in (result(5, 5, 1), result(0, 0, 5), result(None, 5)):
        tally.add(one)
    counts = tally.counts()
    assert counts is not None
    assert counts.cells == {"fine": 1, "ignored": 0, "missed": 0, "made_up": 1}
    assert counts.undefined == 1
    assert (
        counts.words
        == "1 found and grounded; 0 found, answer adds to it; 0 not found, answer grounded; 1"
        " neither found nor grounded (context recall and faithfulness high from 0.8); 0 of these"
        " contradict the gold answer; 1 without one of both"
    )


def test_a_run_and_its_reports_say_it(tmp_path: Path) -> None:
    """Of the answer's three claims one is supported, of the gold answer's one claim one."""
    folder = make(
        tmp_path / "run", [TOWER], {"j": TOWER_SAYS}, metrics=("faithfulness", "context_recall")
    )
    counts = Run.load(folder).diagnosis()
    assert counts is not None
    assert counts == gather(folder).diagnosis
    assert counts.cells["ignored"] == 1
    assert "| found, answer adds to it | 1 |" in forms.text(folder, "md")
    lower = Run.load(folder).diagnosis(threshold=0.3)
    assert lower is not None
    assert lower.cells["fine"] == 1


def test_a_judge_that_compares_words_gives_no_diagnosis_anywhere(tmp_path: Path) -> None:
    """The recorded replies of a language model to the same samples give one, in each place."""
    printed = {}
    for judge in ("local:lexical", "recorded:demo"):
        folder = tmp_path / judge.partition(":")[2]
        done = call("score", bundled("demo.jsonl"), "-j", judge, "-o", folder, folder=tmp_path)
        shown = done.stdout + forms.text(folder, "md") + Run.load(folder)._repr_html_()
        page = json.loads(forms.text(folder, "json"))["diagnosis"]
        counts = Run.load(folder).diagnosis()
        printed[judge] = (
            "Retrieval or generation" in shown,
            "found, answer adds to it" in shown,
            page is None,
            counts is None,
        )
    assert printed == {
        "local:lexical": (False, False, True, True),
        "recorded:demo": (True, True, False, False),
    }
