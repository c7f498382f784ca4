"""Two runs side by side: the numbers, worked by hand, and the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.report import forms
from claimeval.runs.compare import compare
from claimeval.types.errors import DataError, UsageError
from tests.report.conftest import Browser
from tests.report.runs import TOWER, TOWER_SAYS, make

SAMPLES = [TOWER.model_copy(update={"id": f"t{i}", "question": f"Question {i}?"}) for i in range(3)]
BETTER = {"It is 90 metres high.": "contradicted"}
"""The third claim is supported now."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Run a: three samples, each with one of three claims supported. Run b: two of them and another, two supported."""
    folder = tmp_path_factory.mktemp("runs")
    other = SAMPLES[0].model_copy(update={"id": "new"})
    a = make(folder / "a", SAMPLES, {"strict": TOWER_SAYS})
    b = make(folder / "b", [SAMPLES[2], SAMPLES[1], other], {"kind": BETTER})
    return a, b


def test_shared_samples_are_paired_whatever_their_order(runs: tuple[Path, Path]) -> None:
    found = compare(*runs).comparison
    assert (found.shared, found.only_a, found.only_b) == (2, 1, 1)
    faithfulness, coverage = found.metrics
    assert (faithfulness.a, faithfulness.b) == (1 / 3, 2 / 3)
    assert faithfulness.difference.value == pytest.approx(1 / 3)
    assert (faithfulness.higher, faithfulness.lower, faithfulness.n) == (2, 0, 2)
    assert coverage.difference.value == 0
    # Sign patterns of two equal differences: 2 of 4 are as extreme, p = 0.5; Holm doubles the smaller of two.
    assert (faithfulness.p, faithfulness.p_adjusted) == (0.5, 1.0)


def test_claims_that_flipped_are_listed_with_both_labels(runs: tuple[Path, Path]) -> None:
    found = compare(*runs).comparison
    assert found.flipped == 2
    assert [(f.sample_id, f.claim, f.a, f.b) for f in found.flips] == [
        ("t1", "Its keeper was a poet.", "not_found", "supported"),
        ("t2", "Its keeper was a poet.", "not_found", "supported"),
    ]


def test_what_was_asked_differently_is_said(runs: tuple[Path, Path]) -> None:
    found = compare(*runs).comparison
    assert found.settings == ("judges: strict → kind",)
    assert (found.other_texts, found.other_claims) == (0, 0)


def test_other_answers_are_counted_and_their_claims_not_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = [s.model_copy(update={"answer": "The tower is new. It is 90 metres high."}) for s in SAMPLES]
    found = compare(runs[0], make(tmp_path / "c", other, {"strict": {}})).comparison
    assert (found.other_texts, found.other_claims) == (3, 3)
    # The second claim of both answers reads the same; the first does not.
    assert {flip.claim for flip in found.flips} == {"It is 90 metres high."}


def test_runs_without_a_shared_sample_or_metric_cannot_be_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    strange = make(tmp_path / "strange", [TOWER])
    with pytest.raises(UsageError, match="the runs a and strange have no sample id in common"):
        compare(runs[0], strange)
    with pytest.raises(UsageError, match="no metric in common: one has faithfulness, coverage, the other correctness"):
        compare(runs[0], make(tmp_path / "other", SAMPLES, metrics=["correctness"]))
    with pytest.raises(DataError, match="is not a finished run"):
        compare(runs[0], tmp_path)


def test_the_summary_in_markdown_has_the_difference(runs: tuple[Path, Path]) -> None:
    text = forms.text(runs[0], "md", compared=runs[1])
    assert "2 shared samples, 1 only in a, 1 only in b; differences are b - a." in text
    assert "| `faithfulness` | 0.333 | 0.667 | +0.333 |" in text
    assert "- `t1`: `Its keeper was a poet.` not found → supported against `contexts`" in text


@pytest.mark.browser
def test_the_page_shows_what_changed_and_leads_there(browser: Browser, runs: tuple[Path, Path]) -> None:
    browser.open(forms.write(runs[0], "html", compared=runs[1]))
    assert "+0.333" in browser.one(".differences tbody tr").text
    assert "judges: strict → kind" in browser.one(".settings").text
    browser.one(".worst a").click()
    browser.one(".side")
    assert browser.texts(".side h2 .run-letter") == ["a", "b"]
    assert "became supported" in browser.line("details.claim[open]")
    assert browser.texts('.side[data-run="1"] .flag') == ["was not found"]


@pytest.mark.browser
def test_the_list_begins_with_the_samples_that_changed(browser: Browser, tmp_path: Path) -> None:
    a = make(tmp_path / "a", SAMPLES, {"strict": TOWER_SAYS})
    first = SAMPLES[0].model_copy(update={"answer": "The tower opened in 1902."})
    b = make(tmp_path / "b", [first, SAMPLES[1], SAMPLES[2]], {"strict": TOWER_SAYS})
    page = forms.write(b, "html", compared=a)
    browser.open(page, "#/samples")
    assert browser.texts(".row-id") == ["t0", "t1", "t2"]
    assert browser.line(".row-value.focus") == "faithfulness 1.000 ↘ 0.333"
    browser.open(page, "#/samples?show=flipped")
    assert browser.texts(".row-id") == ["t0"]


@pytest.mark.browser
def test_a_claim_of_the_second_run_shows_its_own_evidence(browser: Browser, runs: tuple[Path, Path]) -> None:
    page = forms.write(runs[0], "html", compared=runs[1])
    browser.open(page, "#/sample/t1?run=1&claim=answer-1")
    assert "kind: supported" in browser.line("details.claim[open]")
    assert "named by kind" in browser.line(".document.named")
    browser.one('.side[data-run="0"] .pin').click()
    assert "named by strict" in browser.line(".document.named")
