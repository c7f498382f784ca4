"""The page of an experiment: arms against the baseline, and the claims that flipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimeval.judging.panel import Panel
from claimeval.report import experiments as printing
from claimeval.report import forms
from claimeval.runs.agreement import rater_report
from claimeval.runs.directory import write_lines
from claimeval.runs.experiments.results import ArmFlip, ArmMetric, ArmResult, ExperimentResult
from claimeval.runs.experiments.selection import LabelAgreement, LabelPower, Selection
from claimeval.runs.labels import RaterTable
from claimeval.types.errors import DataError
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Evidence
from tests.report.conftest import Browser

MARKUP = "</script><img src=x onerror=window.hacked=1>"
PEOPLE = LabelAgreement(
    claims=80,
    accuracy=Estimate(value=0.8, low=0.7, high=0.9),
    balanced_accuracy=Estimate(value=0.75, low=0.6, high=0.85),
    kappa=Estimate(value=0.5, low=0.3, high=0.7),
)


def arm(name: str, mean: float, **fields: object) -> ArmResult:
    cell = ArmMetric(mean=mean, low=mean - 0.1, high=mean + 0.1, n=40, clusters=40)
    if fields:
        cell = cell.model_copy(update=fields)
    return ArmResult(
        name=name,
        run=f"/home/someone/{name}",
        metrics={"faithfulness": cell},
        claims=200,
        unassessed_rate=0.01,
        parse_failure_rate=None,
        flips=2,
        compared=9,
        relabeled=5,
        labeled_once=3,
        new_calls=90,
        cost=Cost(calls=90, prompt_tokens=1000, completion_tokens=100, dollars=None),
        median_latency=0.25,
        label_agreement=PEOPLE,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lenient = arm(
        "lenient",
        0.7,
        difference=Estimate(value=0.2, low=0.05, high=0.35, n=40),
        p=0.01,
        p_adjusted=0.02,
    )
    joined = RaterTable((), Panel())
    joined.human = ["supported", "not_found"] * 10
    joined.clusters = list(range(20))
    joined.raters = {"chosen": joined.human, "baseline": ["supported"] * 20}
    joined.probabilities = {"chosen": [None] * 20, "baseline": [None] * 20}
    selection = Selection(
        arm="lenient",
        selected_on={"plain": PEOPLE, "lenient": PEOPLE},
        held_out=rater_report("chosen", joined, Panel()),
        held_out_baseline=rater_report("baseline", joined, Panel()),
        gain=Estimate(value=0.5, low=0.3, high=0.7, n=20, clusters=20),
        p=0.002,
        kappa=Estimate(value=1.0, low=0.8, high=1.0, n=20, clusters=20),
        beyond_noise=True,
        unmatched=0,
        power=LabelPower(
            labels=40,
            questions=40,
            selected_on=20,
            reported_on=20,
            power=0.5,
            least_power=0.4,
            labels_needed=400,
        ),
        written="/home/someone/selected.j2",
    )
    table = ExperimentResult(
        data="/home/someone/towers.jsonl",
        baseline="plain",
        samples=40,
        clusters=40,
        cluster=None,
        arms=(arm("plain", 0.5), lenient, arm(MARKUP, 0.6)),
        selection=selection,
    )
    said: dict[str, Any] = {
        "sample_id": "tower",
        "question": "How high?",
        "subject": "answer-1",
        "of": "answer",
    }
    said |= {"evidence": Evidence(part="contexts"), "a": "not_found", "b": "supported"}
    flips = [
        ArmFlip(
            arm="lenient",
            claim="It is 90 metres high.",
            a_explanation="no",
            b_explanation="near",
            **said,
        ),
        ArmFlip(arm=MARKUP, claim=MARKUP, **said),
    ]
    printing.write(tmp_path, table)
    with write_lines(tmp_path / "flips.jsonl") as add:
        for flip in flips:
            add(flip)
    return tmp_path


def test_the_texts_of_an_experiment_are_its_own_tables(folder: Path) -> None:
    for form in ("csv", "json"):
        assert forms.text(folder, form) == (folder / f"experiment.{form}").read_bytes().decode()
    image = (
        "![faithfulness of each arm, and its difference to the"
        " baseline](experiment-faithfulness.svg)\n\n"
    )
    assert forms.text(folder, "md") == (folder / "experiment.md").read_text().replace(image, "")


def test_an_experiment_that_cannot_be_read_is_said_in_one_line(folder: Path) -> None:
    (folder / "flips.jsonl").unlink()
    with pytest.raises(DataError, match=r"cannot be read: .*No such file"):
        forms.write(folder, "html")


@pytest.mark.browser
def test_arms_stand_beside_the_baseline(browser: Browser, folder: Path) -> None:
    page = forms.write(folder, "html")
    assert b"someone" not in page.read_bytes()
    browser.open(page)
    assert browser.line("h1") == "towers.jsonl"
    rows = [" ".join(row.text.split()) for row in browser.all("section:nth-of-type(2) tbody tr")]
    assert rows[0].endswith("0.50 0.40 to 0.60 40 baseline")
    assert rows[1].endswith("0.70 0.60 to 0.80 40 +0.20 +0.05 to +0.35 0.020")
    assert "Chosen on one half of the questions (20 labels): lenient" in browser.line(".cautions")
    assert "1.00, plain 0.50, gain +0.50 (+0.30 to +0.70, p 0.002)" in browser.line(".cautions")
    assert browser.line("section:has(#people) h2").endswith("on the choosing half")
    assert "0.75 0.60 to 0.85" in browser.line("section:has(#people)")
    browser.picture("experiment-1280")
    browser.one("#theme").click()
    assert browser.run("return document.documentElement.dataset.theme") in ("light", "dark")
    browser.one("#theme").click()  # other pages of the browser follow it
    assert browser.run("return document.documentElement.dataset.theme") == "auto"
    assert (
        browser.run(
            "return window.hacked === undefined && document.querySelectorAll('main img').length"
        )
        == 0
    )


@pytest.mark.browser
def test_flipped_claims_are_found_by_arm_and_by_words(browser: Browser, folder: Path) -> None:
    browser.open(forms.write(folder, "html"))
    assert browser.line("#count") == "2 claims"
    assert "plain ? not found no lenient ✓ supported near" in browser.line("#flips li")
    browser.one('option[value="lenient"]').click()
    assert browser.line("#count") == "1 claim"
    browser.one("#search").send_keys("nowhere")
    assert browser.line("#count") == "0 claims"


@pytest.mark.browser
def test_an_experiment_fits_a_telephone(browser: Browser, folder: Path) -> None:
    browser.size(400)
    browser.open(forms.write(folder, "html"))
    assert browser.run("return document.documentElement.scrollWidth") == 400
