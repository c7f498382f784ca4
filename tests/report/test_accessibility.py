"""Every view before axe-core's rules (WCAG 2.2 A and AA, and good practice), and where the keyboard
leads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

import claimeval as ce
import claimeval.testing
from claimeval.runs.directory import RunResults
from tests.report.conftest import CONTRAST, RULES, Browser
from tests.report.realistic import Realistic

pytestmark = pytest.mark.browser

SINGLE = {
    "overview": "",
    "list": "#/samples",
    "derived": "#/samples?metric=f1",
    "sample": "#/sample/q09?claim=answer-1",
    "long": "#/sample/long",
    "settings": "#/settings",
}
TWO = {
    "comparison": "",
    "run-b": "#/run/b",
    "compared-list": "#/samples",
    "compared-sample": "#/sample/q15?claim=answer-1",
}
OTHERS = {"documents": "#/sample/q01", "experiment": ""}


@pytest.fixture
def pages(realistic: Realistic) -> dict[str, Path]:
    """The page of each view."""
    a = realistic.pages["a"]
    ab = realistic.pages["ab"]
    return {**realistic.pages, **dict.fromkeys(SINGLE, a), **dict.fromkeys(TWO, ab)}


@pytest.mark.parametrize(("view", "fragment"), (SINGLE | TWO | OTHERS).items())
def test_a_view_breaks_no_rule_of_axe(
    browser: Browser, pages: dict[str, Path], view: str, fragment: str
) -> None:
    browser.open(pages[view], fragment)
    for medium in ("light", "dark", "print"):
        if medium == "print":
            browser.paper(True)
        else:
            browser.colours(medium)
        assert browser.breaches(RULES if medium == "light" else CONTRAST) == [], medium
    browser.paper(False)


def test_the_dialog_breaks_no_rule_of_axe(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["sample"], SINGLE["sample"])
    browser.press("r")
    assert browser.breaches() == []


def focused_claim(browser: Browser) -> object:
    return browser.run("return document.activeElement.closest('details.claim')?.dataset.claim")


def test_the_focus_goes_to_the_claim_that_was_chosen(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["overview"])
    browser.one(".worst a").send_keys("\ue007")  # Enter
    browser.until(lambda: browser.all("details.claim[open]"))
    chosen = browser.one("details.claim[open]").get_attribute("data-claim")
    browser.until(lambda: focused_claim(browser) == chosen)
    browser.press("n")
    assert focused_claim(browser) != chosen
    assert focused_claim(browser) == browser.one("details.claim[open]").get_attribute("data-claim")


def test_b_goes_from_one_claim_that_is_not_supported_to_the_next(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["long"], "#/sample/long")
    found = []
    for key in ("b", "b", "b", "B"):
        browser.press(key)
        found.append(focused_claim(browser))
    # Every seventh stone was laid by giants.
    assert found == ["answer-1", "answer-8", "answer-15", "answer-8"]


def test_r_shows_the_reply_above_the_request_and_marks_the_claim_in_both(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["long"], "#/sample/long?claim=answer-8")
    browser.press("r")
    assert browser.texts("dialog h3") == ["Reply copy the reply", "Request copy the request"]
    reply, request = browser.texts("dialog mark")
    assert re.fullmatch(
        r'[{]"id": "c[0-9]", "reason": "strict finds 80% .*"label": "contradicted"[}]', reply
    )
    assert request == "Stone number 7 of the wall was laid by giants."


def test_lists_can_be_taken_along(
    browser: Browser, pages: dict[str, Path], realistic: Realistic
) -> None:
    # What goes to the clipboard and to files is caught where the page hands it to the browser.
    browser.open(pages["list"], "#/samples?q=Tavelaund")
    browser.until(lambda: browser.all(".takes"))
    browser.run(
        "window.taken = []; navigator.clipboard.writeText = async (text) => void"
        " window.taken.push(text);URL.createObjectURL = (blob) => { blob.text().then((text) =>"
        " window.taken.push(text)); return '#'; }"
    )
    ids, saved = browser.all(".takes button")
    ids.click()
    assert browser.until(lambda: browser.run("return window.taken")) == ["q00"]
    saved.click()
    browser.until(lambda: browser.run("return window.taken.length === 2"))
    rows = str(browser.run("return window.taken[1]")).split("\r\n")
    assert rows[0].startswith("id,question,faithfulness,faithfulness hits,faithfulness judged,")
    score = RunResults.of(realistic.a)[0]["faithfulness"]
    assert rows[1].split(",")[:5] == [
        "q00",
        "What is known about the harbour and the council of Tavelaund 0?",
        f"{score.value:g}",
        str(score.hits),
        str(score.judged),
    ]


def test_buttons_leave_only_claims_with_a_label(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["long"], "#/sample/long")
    browser.one(".claim-filter button").click()
    assert len([item for item in browser.all(".claims > li") if item.is_displayed()]) == 9
    browser.one(".claim-filter button").click()
    assert len([item for item in browser.all(".claims > li") if item.is_displayed()]) == 60


def test_paper_takes_every_row_of_the_list(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["list"], "#/samples")
    browser.run(
        "addEventListener('beforeprint', () => (window.printed ="
        " document.querySelectorAll('.row').length));"
    )
    browser.driver.execute_cdp_cmd("Page.printToPDF", {})
    assert browser.run("return window.printed") == 29
    assert len(browser.all(".row")) <= 29


def test_a_derived_metric_leads_to_its_samples_and_sorts_them(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["overview"])
    browser.one("section[aria-labelledby=derived] th a").click()
    browser.until(lambda: browser.fragment() == "#/samples?metric=contradiction_rate")
    assert "contradiction_rate" in browser.line(".list-head")
    browser.go("#/samples?metric=contradiction_rate&sort=best")
    values = [float(text.split()[1][:4]) for text in browser.texts(".row-value.focus")]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0


@pytest.mark.browser
def test_the_first_claim_to_read_is_twenty_tabs_away_and_bars_are_reached_by_arrows(
    browser: Browser, tmp_path: Path
) -> None:
    run = ce.score(
        claimeval.testing.samples(),
        judges="recorded:demo",
        options=ce.RunOptions(cache=tmp_path / "store"),
    )
    run.report(tmp_path / "demo.html")
    browser.open(tmp_path / "demo.html")
    reached = "return document.activeElement.closest('[aria-labelledby=worst] a') !== null"
    tabs = 0
    while not browser.run(reached):
        browser.press(Keys.TAB)
        tabs += 1
        assert tabs <= 20
    title = "return document.activeElement.querySelector('title').textContent"
    browser.run("document.querySelector('.card .plot a').focus()")
    first = browser.run(title)
    browser.press(Keys.ARROW_RIGHT)
    second = browser.run(title)
    browser.press(Keys.ARROW_LEFT)
    assert (browser.run(title), first != second) == (first, True)
