"""A thousand samples: the page opens at once, scrolls, searches and opens any of them. Times are
printed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from claimeval.report import forms
from tests.report.conftest import Browser
from tests.report.runs import many

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SAMPLES = 1_000


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all samples `many` writes."""
    run = many(tmp_path_factory.mktemp("runs"), SAMPLES)
    started = time.perf_counter()
    page = forms.write(run, "html")
    print(f"\nwritten in {time.perf_counter() - started:.1f} s, {page.stat().st_size / 1e6:.1f} MB")
    return page


def test_a_thousand_samples_open_scroll_search_and_filter(browser: Browser, page: Path) -> None:
    browser.open(page)
    drawn = browser.run("return performance.getEntriesByName('drawn')[0].startTime")
    whole = browser.run("return performance.getEntriesByType('navigation')[0].domComplete")
    print(f"overview drawn after {drawn:.0f} ms, file read whole after {whole:.0f} ms")
    browser.go("#/samples?sort=data")
    assert browser.one(".count").text.startswith("1,000 of 1,000 samples\nshow all")
    assert len(browser.all(".row")) < 100
    browser.run("scrollTo(0, document.body.scrollHeight)")
    browser.until(lambda: "sample-00999" in browser.texts(".row-id"))
    started = time.perf_counter()
    browser.go("#/sample/sample-00711?claim=answer-2")
    print(f"a sample opened in {1000 * (time.perf_counter() - started):.0f} ms")
    assert browser.line("details.claim[open] .claim-text") == "It is 90 metres high."
    started = time.perf_counter()
    browser.go("#/samples?q=sample-0071")
    browser.until(
        lambda: browser.one(".count").text.startswith("10 of 1,000 samples\nshow all\ncopy")
    )
    print(f"all texts searched in {time.perf_counter() - started:.1f} s")
