"""Gold claims by the rank of their evidence, on the page."""

from __future__ import annotations

from pathlib import Path

import claimeval as ce
from tests.report.conftest import Browser
from tests.runs.test_by_rank import lost


def test_the_page_draws_ranks_and_says_what_is_lost(browser: Browser, tmp_path: Path) -> None:
    ce.score(
        lost(),
        judges="local:lexical",
        metrics="coverage,context_recall",
        out=tmp_path / "run",
        options=ce.RunOptions(cache=tmp_path / "cache"),
    )
    browser.open(tmp_path / "run" / "report.html")
    section = browser.one("section[aria-labelledby=by_rank]").text
    assert "Where the evidence of gold claims stands" in section
    assert "Lost in the middle" in section
    assert browser.complaints() == []
