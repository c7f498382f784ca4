"""The page of a cited report in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.report import forms
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.testing import ScriptedJudge
from tests.report.conftest import Browser

pytestmark = pytest.mark.browser

WEATHER = " ".join(f"Day {number} of the archive 🌧 was wet." for number in range(60))
REPORT = """# Tower

The tower is 63 metres high [1]. It was opened in 1902 [1]. It has nine floors [4].

## References

1. height.txt
2. opening.txt
"""
_DOCUMENT = re.compile(r'^(d\d+): (".*")$', re.MULTILINE)
_CLAIM = re.compile(r'^(c\d+): (".*")$', re.MULTILINE)


def _reply(prompt: str) -> str | None:
    evidence, _, rest = prompt.partition("</evidence>")
    if not rest:
        return None
    documents = {name: json.loads(text) for name, text in _DOCUMENT.findall(evidence)}
    verdicts = []
    for name, text in _CLAIM.findall(rest):
        words = json.loads(text).partition(" [")[0].rstrip(".")
        cites = [one for one, document in documents.items() if words in document]
        label = "supported" if cites else "not_found"
        verdicts.append({"id": name, "reason": words, "evidence": cites[:1], "label": label})
    return json.dumps({"verdicts": verdicts})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    sources = folder / "sources"
    sources.mkdir()
    for name, fact in (
        ("height.txt", "The tower is 63 metres high."),
        ("opening.txt", "It was opened in 1902."),
    ):
        (sources / name).write_text(f"{WEATHER}\n{fact}\n{WEATHER}")
    report = folder / "report.md"
    report.write_text(REPORT)
    out = folder / "run"
    ce.score(
        report,
        sources=sources,
        judges=ScriptedJudge(reply=_reply),
        extractor=ScriptedJudge(name="extractor"),
        out=out,
    )
    forms.write(out, "html")  # afresh: the requests are those that are rebuilt
    return out


def test_requests_about_passages_are_shown_word_for_word(browser: Browser, run: Path) -> None:
    (result,) = RunResults.of(run)
    rebuilder = Rebuilder(load_manifest(run))
    requests = [rebuilder.rebuild(result, call) for call in result.calls]
    browser.open(run / "report.html", "#/sample/report")
    browser.one(".exchanges").click()
    shown = browser.texts("dialog pre[data-role]")
    sent = [message.content for request in requests if request for message in request.messages]
    assert None not in requests
    assert sorted(shown) == sorted(sent)


@pytest.mark.parametrize("fragment", ["", "#/sample/report?claim=answer-2"])
def test_the_page_of_a_report_breaks_no_rule_and_fits(
    browser: Browser, run: Path, fragment: str
) -> None:
    browser.open(run / "report.html", fragment)
    assert browser.breaches() == []
    for width in (320, 768, 1440):
        browser.size(width, 900)
        assert browser.run("return document.documentElement.scrollWidth") == width


def test_the_page_says_what_was_known_before_any_call(browser: Browser, run: Path) -> None:
    browser.open(run / "report.html", "#/sample/report")
    facts = dict(zip(browser.texts(".facts dt"), browser.texts(".facts dd"), strict=True))
    assert facts == {
        "report": "report.md",
        "sources": "1 cited, 2 read",
        "no entry": "[4]",
        "never cited": "[2]",
    }
    assert browser.texts(".citation") == ["[1]✓", "[1]?", "[4]○"]
    labels = [one.get_attribute("aria-label") for one in browser.all(".citation")]
    assert labels[1] == "[1]?: not supported by height.txt, supported by opening.txt instead"
