"""The table of claims and documents: a document that a verdict names is not called unused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from tests.report.conftest import Browser

TEXTS = [
    "The kiosk by the harbor opens at noon.",
    "The museum is closed on Mondays.",
    "A bakery sells rye bread.",
]


@pytest.mark.browser
def test_a_document_named_by_a_verdict_against_all_is_not_unused(
    browser: Browser, tmp_path: Path
) -> None:
    """The second claim cites a document that is not there: it was judged against all documents
    only, and supported by the second one."""
    ce.score(
        [
            {
                "id": "s",
                "question": "When is it open?",
                "answer": f"{TEXTS[0]} [1] {TEXTS[1]} [3]",
                "contexts": TEXTS,
            }
        ],
        judges="local:lexical",
        metrics="faithfulness,citations",
        out=tmp_path / "run",
    ).report(tmp_path / "page.html")
    browser.open(tmp_path / "page.html", "#/sample/s?metric=faithfulness")
    rows: Any = browser.run(
        "return [...document.querySelectorAll('.matrix table tr')].map((row) =>"
        " [...row.querySelectorAll('th, td')].slice(1).map((cell) => cell.textContent))"
    )
    use = rows[-1]
    assert use[0] == "carries"
    assert use[1] == "carries"
    assert use[2] != "carries"
