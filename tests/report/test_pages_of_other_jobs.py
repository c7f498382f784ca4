"""The page of a run whose numbers are not of claims: ratings, grades, and metrics without a
judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import claimeval as ce
from claimeval import testing
from tests.report.conftest import Browser

ROWS = [
    {
        "id": f"q{i}",
        "question": f"How high is tower {i}?",
        "answer": f"Tower {i} is {50 + i} metres high.",
        "contexts": [f"Tower {i} is {50 + i} metres high.", "The ferry leaves at nine."],
        "reference_contexts": [f"Tower {i} is {50 + i} metres high."],
    }
    for i in range(4)
]


def rated(folder: Path) -> ce.Run:
    with testing.provider(
        '{"rating": "fully", "noncommittal": false, "reason": "It says the height."}'
    ) as judge:
        options = ce.RunOptions(cache=folder / "cache")
        return ce.rate(
            ROWS, judges=judge.judge, ask="relevance", out=folder / "run", options=options
        )


def graded(folder: Path) -> ce.Run:
    with testing.provider('{"grade": 2, "reason": "It says the height."}') as judge:
        options = ce.RunOptions(cache=folder / "cache")
        return ce.grade(ROWS, judges=judge.judge, out=folder / "run", options=options)


def measured(folder: Path) -> ce.Run:
    return ce.measure(ROWS, "recall@5,answer_length", match="text", out=folder / "run")


@pytest.mark.browser
def test_two_such_runs_are_compared_on_a_page(tmp_path: Path, browser: Browser) -> None:
    for name in ("a", "b"):
        measured(tmp_path / name)
    comparison = ce.compare(tmp_path / "a" / "run", tmp_path / "b" / "run")
    comparison.report(tmp_path / "both.html")
    browser.open(tmp_path / "both.html")
    assert "answer_length" in browser.line("main")
    browser.go("#/samples")
    assert "4 of 4 samples" in browser.line("main")
    browser.go("#/sample/q1")
    assert "How high is tower 1?" in browser.line("main")


@pytest.mark.browser
@pytest.mark.parametrize("make", [rated, graded, measured])
def test_the_page_of_a_run_without_claims_has_its_metrics_and_opens_every_view(
    tmp_path: Path, browser: Browser, make: Callable[[Path], ce.Run]
) -> None:
    run = make(tmp_path)
    browser.open(tmp_path / "run" / "report.html")
    text = browser.line("main")
    for name in run.summary:
        assert name in text
    assert "taken apart into claims" not in text
    browser.go("#/settings")
    assert "Versions" in browser.line("main")
    browser.go("#/samples")
    assert "4 of 4 samples" in browser.line("main")
    browser.go("#/sample/q1")
    text = browser.line("main")
    assert "How high is tower 1?" in text
    if run.manifest.judges:
        assert "It says the height." in text
