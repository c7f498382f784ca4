"""Why it changed, in which slice, retrieval or generation, which judge: the views, and the lists
they lead to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimeval.report.charts import Mark, forest
from claimeval.report.packing import tree
from claimeval.runs.causes import UNPAIRED
from claimeval.runs.compare import compare
from claimeval.runs.overview import gather
from tests.report.conftest import Browser
from tests.report.realistic import Realistic, changed, sample

pytestmark = pytest.mark.browser


@pytest.fixture
def compared(realistic: Realistic) -> Path:
    """The page of both runs."""
    return realistic.pages["ab"]


@pytest.fixture
def alone(realistic: Realistic) -> Path:
    """The page of run a."""
    return realistic.pages["a"]


def figure(text: str) -> float:
    return float(text.replace("−", "-"))


def count(browser: Browser) -> int:
    """How many samples are listed."""
    # it begins with a number
    return int(re.match(r"\d+", browser.line(".count")).group())  # type: ignore[union-attr]


def test_parts_of_a_difference_add_up_and_lead_to_their_samples(
    browser: Browser, compared: Path, realistic: Realistic
) -> None:
    found = compare(realistic.a, realistic.b).comparison
    metric = next(one for one in found.metrics if one.metric == found.culprit.metric)
    browser.open(compared)
    browser.picture("why-1440")
    assert browser.line("h1") == found.culprit.sentence
    card = ".why-front .why-card"
    figures = [
        figure(text) for text in browser.texts(f"{card} tbody tr:not(:has(.inner)) td.strong")
    ]
    sums = browser.texts(f"{card} tr.sum th")
    paired = len([part for part in metric.because if part.cause not in UNPAIRED])
    assert round(sum(figures[:paired]), 3) == figures[paired]
    assert round(sum(figures[paired : -1 if len(sums) > 1 else None]), 3) == figures[-1]
    lost = next(part for part in metric.because if part.cause == "lost")
    browser.one(f"{card} a[href*='cause=lost']").click()
    browser.one(".row")
    assert count(browser) == lost.samples
    assert browser.texts(".count .token") == ["because of lost documents ✕", "show all"]
    assert set(browser.texts(".row .flag")) & {"other contexts"}
    assert browser.complaints() == []


def test_filters_add_up_and_live_in_the_address(browser: Browser, compared: Path) -> None:
    browser.open(compared, "#/samples")
    every = count(browser)
    browser.open(compared, "#/samples?is=metadata.field%3DLaw&is=metadata.field%3DLaw")
    law = count(browser)
    assert 0 < law < every
    browser.open(compared, "#/samples?is=metadata.field%3DLaw&cause=lost&judge=strict")
    both = count(browser)
    assert both < law
    browser.all(".count .token")[1].click()
    assert "cause=" not in browser.fragment()
    assert "metadata.field%3DLaw" in browser.fragment()
    assert both <= count(browser) <= law
    options = browser.texts("#add-filter optgroup option")
    assert "metadata.field is Medicine" in options
    assert "metadata.field is Law" not in options, "what is chosen is not offered again"


def test_slices_lead_to_their_samples(
    browser: Browser, alone: Path, compared: Path, realistic: Realistic
) -> None:
    field, *_ = gather(realistic.a, sliced=True).slices
    browser.open(alone, "#/slices")
    assert browser.texts("select[name=field] option")[0] == field.field
    assert browser.all("figure svg.picture")
    first = browser.all("table.plain tbody tr")[0]
    value = first.find_element("css selector", "th").text
    row = next(row for row in field.rows if (row.value or "(without)") == value)
    assert first.find_element("css selector", "td.num").text == str(row.estimate.n)
    first.find_element("css selector", "a").click()
    browser.one(".row")
    assert count(browser) == row.samples
    browser.open(compared, "#/slices")
    contributions = [figure(text) for text in browser.texts("table.plain td.strong")]
    metric, *_ = compare(realistic.a, realistic.b).comparison.metrics
    assert sum(contributions) == pytest.approx(
        metric.difference.value, abs=0.005 * len(contributions) + 1e-9
    )
    assert browser.complaints() == []


def test_a_cell_of_the_square_leads_to_its_samples(
    browser: Browser, alone: Path, realistic: Realistic
) -> None:
    counts = gather(realistic.a).diagnosis
    assert counts is not None
    cell = max(counts.cells, key=lambda one: counts.cells[one])
    browser.open(alone)
    browser.run(
        "document.querySelector(`#diagnosis ~ .beside a[href*=${arguments[0]}]`).dispatchEvent("
        "new MouseEvent('click', { bubbles: true, cancelable: true }))",
        cell,
    )
    browser.one(".row")
    assert count(browser) == counts.cells[cell]
    browser.one(".row a").click()
    assert "the gold answer" in browser.one(".diagnosis").text


def test_judges_stand_beside_each_other(
    browser: Browser, alone: Path, realistic: Realistic
) -> None:
    judges = gather(realistic.a).judge_numbers
    browser.open(alone, "#/judges")
    assert len(browser.texts("#main table.plain tbody tr")) == len(judges)
    assert len(browser.all("figure svg.picture")) >= 1 + len(
        judges
    )  # agreement, and a confusion each
    odd = [one.judge for one in judges if one.odd_one]
    if odd:
        browser.one(f"#main p a[href*='judge={odd[0][:6]}']").click()
        browser.one(".row")
        assert count(browser) > 0
    assert browser.complaints() == []


def test_five_questions_are_answered_by_a_click_or_two(
    browser: Browser, compared: Path, alone: Path, realistic: Realistic
) -> None:
    def clicks(*selectors: str) -> None:
        """What the reader clicks, from the start of the page on."""
        browser.open(compared)
        for selector in selectors:
            browser.one(selector).click()

    both = compare(realistic.a, realistic.b, sliced=True).comparison
    metric = next(one for one in both.metrics if one.metric == both.culprit.metric)
    clicks()  # why is b lower than a
    most = max(metric.because, key=lambda part: abs(part.value))
    assert browser.line(".why-front .why-card tbody tr").startswith(most.words)
    clicks("nav a[href*=slices]")  # in which field
    rows = [row for row in both.slices[0].rows if row.metric == metric.metric]
    worst = max(rows, key=lambda row: abs(row.contribution or 0))
    browser.until(
        lambda: browser.line("#main tbody tr").startswith(f"{worst.value or '(without)'} {worst.n}")
    )
    clicks(".why-front .why-card a[href*='cause=lost']", ".row a")  # which documents vanished
    browser.one(".document.only-a")
    found = [card.get_attribute("data-document") for card in browser.all(".document.only-a")]
    number = int(re.findall(r"/sample/q(\d+)", browser.fragment())[0])
    before = sample(number)
    after = changed(number, sample(number))
    assert found == [one["id"] for one in before["contexts"] if one not in after["contexts"]]
    clicks("nav a[href*=judges]")  # which judge is the odd one
    (odd,) = [one for one in gather(realistic.a).judge_numbers if one.odd_one]
    browser.until(
        lambda: f"{odd.judge.split(':')[1].split('@')[0]} agrees least" in browser.line("#main")
    )
    browser.open(alone)  # which ten samples to look at first
    assert [
        text.split()[0] for text in browser.texts("section[aria-labelledby=worst] li code")
    ] == [one.sample_id for one in gather(realistic.a).front.read[:10]]


def test_a_picture_travels_as_lists() -> None:
    drawn = forest([Mark("faithfulness", 0.1, 0.0, 0.2, 9, link="#/x")], "title <b>", "difference")
    tag, attributes, *children = tree(drawn)
    assert tag == "svg"
    viewbox = attributes["viewBox"]  # type: ignore[index]  # an element
    assert viewbox == f"0 0 {drawn.width:g} {drawn.height:g}"
    assert children[0] == ["title", {}, "title <b>"]
