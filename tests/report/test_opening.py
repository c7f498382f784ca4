"""What a person sees of a run in a browser: the overview, the list, a sample, the way between
them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimeval.report import forms
from claimeval.types.records import Sample
from tests.report.conftest import Browser
from tests.report.runs import BRIDGE, DOCUMENTS, TOWER, TOWER_SAYS, make

pytestmark = pytest.mark.browser

SILENT = Sample(id="silent", question="And the well?", answer="...", contexts=DOCUMENTS)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three samples before two judges: tower 1/3 by the strict one, bridge 1, silent without a
    claim."""
    says = {"openai:strict@http://127.0.0.1/v1": TOWER_SAYS, "openai:mild@http://127.0.0.1/v1": {}}
    return forms.write(
        make(tmp_path_factory.mktemp("runs") / "two", (TOWER, BRIDGE, SILENT), says), "html"
    )


def test_the_overview_says_mean_interval_and_what_is_missing(browser: Browser, page: Path) -> None:
    browser.open(page)
    # The judges are divided on two of the tower's claims: 1 of 1 judged claims, and 1 of 1 for the
    # bridge.
    card = browser.one(".card").text
    assert "faithfulness" in card
    assert "1.00" in card
    assert "mean of 2 samples, 1 without a score" in card
    assert "the text makes no factual claim" in card
    assert "2 supported" in card
    assert "2 unassessed" in card
    assert browser.one("h1").text.startswith("2 of 6 claims are undecided")


def test_plots_say_in_words_what_they_show(browser: Browser, page: Path) -> None:
    browser.open(page)
    said = browser.run(
        "return [...document.querySelectorAll('.card .plot')].map((p) =>"
        " p.getAttribute('aria-label'))"
    )
    assert isinstance(said, list)
    assert (
        "faithfulness: 2 samples at 1, 1 sample without a value. Arrow keys lead from bar to bar."
        in said
    )
    assert any(str(text).startswith("faithfulness: mean 1.00") for text in said)


def test_a_bar_of_the_distribution_leads_to_its_samples(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.one('.card a[href$="show=no_score"]').click()
    assert browser.one(".count").text.startswith("1 of 3 samples")
    assert browser.texts(".row-id") == ["silent"]


def test_worst_claims_lead_to_the_claim(browser: Browser, tmp_path: Path) -> None:
    browser.open(forms.write(make(tmp_path / "run"), "html"))
    browser.one(".worst a").click()
    assert browser.one("details.claim[open]").get_attribute("data-claim") == "answer-2"


def test_the_list_begins_with_the_worst_and_sorts(browser: Browser, tmp_path: Path) -> None:
    page = forms.write(make(tmp_path / "run", (BRIDGE, TOWER, SILENT)), "html")
    browser.open(page, "#/samples")
    assert browser.texts(".row-id") == ["tower", "bridge", "silent"]
    browser.one('.list-head button[aria-label^="Sort by faithfulness"]').click()
    assert browser.texts(".row-id") == ["bridge", "tower", "silent"]
    browser.one('.toolbar select option[value="data"]').click()
    assert browser.texts(".row-id") == ["bridge", "tower", "silent"]
    assert browser.fragment() == "#/samples?sort=data"


@pytest.mark.parametrize(
    ("fragment", "found"),
    [
        ("show=differ", ["tower"]),
        ("show=unassessed", ["tower"]),
        ("show=no_score", ["silent"]),
        ("show=contradicted", []),
        ("metric=coverage&show=no_score", ["silent"]),
        ("below=1", []),
        ("from=1&to=1&sort=data", ["tower", "bridge"]),
        ("q=poet", ["tower"]),
        ("q=V1%3A+supported+bridge", ["bridge"]),
        ("q=planted", ["tower"]),
        ("q=nowhere", []),
    ],
)
def test_a_list_can_be_sent_as_an_address(
    browser: Browser, page: Path, fragment: str, found: list[str]
) -> None:
    browser.open(page, f"#/samples?{fragment}")
    browser.until(
        lambda: re.match(rf"{len(found)} of 3 samples(?!, still)", browser.one(".count").text)
    )
    assert browser.texts(".row-id") == found


def test_search_reads_inside_answers_and_claims(browser: Browser, page: Path) -> None:
    browser.open(page, "#/samples")
    browser.press("/")
    browser.press("keeper")
    browser.until(lambda: browser.one(".count").text.startswith("1 of 3 samples\n"))
    assert browser.texts(".row-id") == ["tower"]
    assert browser.fragment() == "#/samples?q=keeper"
    browser.one(".count a").click()
    browser.until(lambda: len(browser.all(".row")) == 3)


def test_keys_lead_through_list_and_samples(browser: Browser, page: Path) -> None:
    browser.open(page, "#/samples?sort=data")
    browser.press("j")
    browser.press("j")
    browser.press("k")
    assert browser.run("return document.activeElement.closest('.row').dataset.at") == "0"
    browser.press("\ue007")  # Enter
    assert browser.one(".question").text == TOWER.question
    browser.press("j")
    browser.until(lambda: browser.one(".question").text == BRIDGE.question)
    browser.press("k")
    browser.until(lambda: browser.one(".question").text == TOWER.question)
    browser.press("n")
    browser.press("n")
    assert browser.fragment() == "#/sample/tower?metric=faithfulness&claim=answer-2"
    browser.press("p")
    assert browser.one("details.claim[open]").get_attribute("data-claim") == "answer-1"
    browser.press("\ue00c")  # Escape
    browser.until(lambda: browser.fragment() == "#/samples?sort=data")


def test_the_question_mark_shows_the_keys_and_escape_closes_them(
    browser: Browser, page: Path
) -> None:
    browser.open(page)
    browser.press("?")
    assert "next and previous claim" in browser.one("dialog[open]").text
    browser.press("\ue00c")
    browser.until(lambda: not browser.all("dialog[open]"))


def test_an_unknown_sample_is_said_to_be_unknown(browser: Browser, page: Path) -> None:
    browser.open(page, "#/sample/%3Cb%3Egone")
    assert "no sample called <b>gone" in browser.one("main").text


def test_settings_show_prompts_judges_and_versions(browser: Browser, page: Path) -> None:
    browser.open(page, "#/settings")
    text = browser.one("main").text
    assert "assess/three_way" in text
    assert "served models" in text
    assert "scripted (4 replies)" in text
    browser.one(".prompt summary").click()
    assert (
        "You take texts apart into the factual claims they make" in browser.one(".prompt pre").text
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(
    browser: Browser, page: Path, scheme: str
) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    browser.colours(scheme)
    browser.open(page)
    grounds = ["rgb(251, 251, 250)", "rgb(22, 24, 28)"]
    system, other = grounds if scheme == "light" else grounds[::-1]
    assert browser.run(background) == system
    browser.one("#theme").click()
    assert browser.run(background) == other
    browser.open(page)
    assert browser.run(background) == other
    browser.one("#theme").click()
    assert browser.run(background) == system


def test_going_back_finds_the_list_as_it_was_left(browser: Browser, tmp_path: Path) -> None:
    samples = [TOWER.model_copy(update={"id": f"t-{i:03}"}) for i in range(60)]
    browser.open(forms.write(make(tmp_path / "run", samples), "html"), "#/samples")
    browser.run("scrollTo(0, 1500)")
    browser.until(lambda: "t-030" in browser.texts(".row-id"))
    browser.go("#/sample/t-030")
    browser.run("history.back()")
    browser.until(lambda: "t-030" in browser.texts(".row-id"))
    assert browser.run("return Math.round(scrollY)") == 1500


def test_a_run_without_samples_opens(browser: Browser, tmp_path: Path) -> None:
    browser.open(forms.write(make(tmp_path / "run", ()), "html"))
    assert "mean of 0 samples" in browser.line(".card")
    browser.go("#/samples")
    assert browser.line(".empty") == "No sample matches."
    browser.press("j")
    browser.go("#/settings")
    assert "Versions" in browser.line("main")
