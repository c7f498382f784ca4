"""Citations on the page of a sample, in the list to read first, and the gold answer beside the
answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from claimeval.metrics.citations import of_claims
from claimeval.runs.forwarded import PLAIN
from claimeval.runs.worst import WRONG_CITATIONS
from tests.report.conftest import Browser

DOCUMENTS = (
    "The museum opens at ten every day.",
    "The museum was founded in 1900.",
    "The cafe sells soup.",
    "Dogs wait outside.",
)
ANSWERS = {
    "misplaced": "The museum opens at ten every day [1]. The museum was founded in 1900 [4].",
    "missing": "The museum opens at ten every day [1]. The museum was founded in 1900.",
    "unfounded": "The museum opens at ten every day [1]. Camels may be parked on Sundays [2].",
    "right": "The museum opens at ten every day [1]. The museum was founded in 1900 [2].",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    samples = [
        {
            "id": name,
            "question": f"When does the museum open ({name})?",
            "answer": answer,
            "contexts": list(DOCUMENTS),
            "reference_answers": ["It opens at ten."],
        }
        for name, answer in ANSWERS.items()
    ]
    out = tmp_path_factory.mktemp("runs") / "cited"
    ce.score(samples, judges="local:lexical", metrics="faithfulness,citations", out=out)
    return out


def test_each_claim_says_what_is_wrong_with_its_citations(run: Path) -> None:
    results = {result.sample.id: result for result in ce.Run.load(run).results}
    kinds = {name: [one.kind for one in of_claims(result)] for name, result in results.items()}
    assert kinds == {
        "misplaced": ["right", "misplaced"],
        "missing": ["right", "missing"],
        "unfounded": ["right", "unfounded"],
        "right": ["right", "right"],
    }
    misplaced = of_claims(results["misplaced"])[1]
    assert misplaced.words == "cites [4], and is supported by [2]"
    assert of_claims(results["missing"])[1].words == "cites nothing, and is supported by [2]"
    assert of_claims(results["unfounded"])[1].words == "cites [2], and no document supports it"


def test_the_kinds_are_those_that_the_metrics_count(run: Path) -> None:
    for result in ce.Run.load(run).results:
        kinds = [one.kind for one in of_claims(result)]
        for kind in ("misplaced", "missing", "unfounded"):
            assert result.scores[f"citation_{kind}"].hits == kinds.count(kind)
        assert result.scores["citation_recall"].hits == kinds.count("right")


def test_wrong_citations_are_read_after_wrong_claims(run: Path) -> None:
    front = ce.Run.load(run).report(format="md")
    places = [front.index(f"`{name}`") for name in ("unfounded", "misplaced", "missing")]
    assert places == sorted(places)
    assert "cites \\[4\\], and is supported by \\[2\\]" in front or (
        "cites [4], and is supported by [2]" in front
    )
    assert WRONG_CITATIONS[0] == "misplaced"
    assert "correctness" not in PLAIN


@pytest.mark.browser
def test_a_sample_has_its_gold_answer_and_its_citations(browser: Browser, run: Path) -> None:
    browser.open(run / "report.html", "#/sample/misplaced")
    assert browser.line(".gold") == "Gold answer It opens at ten."
    citations = browser.line("section[aria-labelledby=citations-0]")
    assert "Of 2 claims: 1 right, 1 misplaced." in citations
    assert "misplaced: cites [4], and is supported by [2]" in citations
    # Document 2 carries a claim: a judge of all documents names it.
    uses = browser.texts(".matrix tfoot td")
    assert uses[1] == "carries"
    assert browser.breaches() == []


@pytest.mark.browser
def test_a_row_of_the_list_has_the_worst_claim_and_the_gold_answer(
    browser: Browser, run: Path
) -> None:
    browser.open(run / "report.html", "#/samples?sort=data")
    rows = dict(zip(ANSWERS, browser.texts(".row-text"), strict=True))
    assert "gold: It opens at ten." in rows["right"]
    assert "Camels may be parked on Sundays" in rows["unfounded"]
    assert "Camels" not in rows["right"]
    for width in (320, 390, 720, 1440):
        browser.size(width)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    browser.size(1280, 900)
