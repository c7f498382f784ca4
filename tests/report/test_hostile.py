"""Texts that try to be more than text: in the browser they show as what they are and run
nothing."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.metrics.rows import Metric
from claimeval.report import forms
from claimeval.runs.directory import MANIFEST, RunResults, load_manifest
from claimeval.types.records import Document, Sample
from tests.report.conftest import Browser
from tests.report.runs import make

pytestmark = pytest.mark.browser

MARKUP = (
    '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1"><svg'
    " onload=window.hacked=1><!--<script> --> <style>*{display:none}</style> &lt;b&gt; &amp;amp;"
    " {{7*7}} ${7*7} `x` '\" </textarea></noscript>"
)
LINKS = (
    "javascript:window.hacked=1 data:text/html,<script>window.hacked=1</script>"
    " [x](javascript:alert(1)) http://evil.test/"
)
HIDDEN = (
    "a\u202eb\u2066c\u2069 \u200bd\x00\x1b[31m\x07\x7f\x9b\ufeff \ud83d \U000e0041 \u2028 \rlone"
)
JOINED = "👩‍👩‍👧 می‌خواهم ﷽ 東京 e\u0301"
EVERYTHING = f"{MARKUP} {LINKS} {HIDDEN} {JOINED}"
CLAIM = f"The tower {EVERYTHING} opened."


def hostile(number: int) -> Sample:
    document = Document(id=f"{number}{EVERYTHING}", title=EVERYTHING, text=f"One. {CLAIM} Two.")
    return Sample(
        id=f"{number}/..?#&%2F {EVERYTHING}",
        question=EVERYTHING,
        answer=CLAIM,
        contexts=(document, document.model_copy(update={"id": "__proto__"})),
        reference_answers=(EVERYTHING,),
        reference_context_ids=(document.id,),
        generator=EVERYTHING,
        evidence={"constructor": (document,), "__proto__": (document,)},
        metadata={EVERYTHING: EVERYTHING, "__proto__": {"toString": 1}},
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    metrics: list[str | Metric] = [
        "faithfulness",
        "coverage",
        Metric(name="constructor", claims_of="answer", against="constructor", description=MARKUP),
        Metric(name=MARKUP, claims_of="answer", against="__proto__"),
    ]
    says = {f"a:{MARKUP}@http://x": {CLAIM: "contradicted"}, f"b:{LINKS}": {}, "__proto__": {}}
    folder = make(
        tmp_path_factory.mktemp("runs") / "run",
        [hostile(0), hostile(1)],
        says,
        metrics=metrics,
        notes=(MARKUP,),
        data="/x/</title><script>.jsonl",
    )
    content = json.loads((folder / MANIFEST).read_text())
    content["versions"] = {MARKUP: MARKUP}
    (folder / MANIFEST).write_text(json.dumps(content))
    forms.write(folder, "html")
    return folder


def nothing_ran(browser: Browser) -> bool:
    """Nothing of the data became an element, a link or a script."""
    elements = (
        "document.querySelectorAll('main img, main script, main style, main svg[onload], main"
        " textarea').length"
    )
    links = (
        "[...document.querySelectorAll('a[href]')].every((a) =>"
        " a.getAttribute('href').startsWith('#'))"
    )
    return browser.run(f"return window.hacked === undefined && {elements} === 0 && {links}") is True


@pytest.mark.parametrize(
    "view", ["", "#/samples", "#/settings", "#/samples?q=tower&metric=constructor", "#/nowhere"]
)
def test_views_show_hostile_texts_and_run_nothing(browser: Browser, run: Path, view: str) -> None:
    browser.open(run / "report.html", view)
    assert nothing_ran(browser)


def test_a_hostile_sample_shows_as_what_it_is(browser: Browser, run: Path) -> None:
    browser.open(run / "report.html", "#/samples?sort=data")
    browser.one(".row a").click()
    browser.one(".pin").click()
    for metric in (1, 2, 3, 0):
        browser.go(
            str(browser.run("return document.querySelectorAll('.tab')[arguments[0]].hash", metric))
        )
        assert browser.all(".marked")
        assert nothing_ran(browser)
    assert browser.one(".question").get_property("textContent") == shown(EVERYTHING)
    assert browser.texts(".marked mark")[0] == shown(CLAIM)


def shown(text: str) -> str:
    """The text with hidden characters written out, worked by hand."""
    written = {
        "\u202e": "U+202E",
        "\u2066": "U+2066",
        "\u2069": "U+2069",
        "\u200b": "U+200B",
        "\x00": "U+0000",
        "\x1b": "U+001B",
        "\x07": "U+0007",
        "\x7f": "U+007F",
        "\x9b": "U+009B",
        "\ufeff": "U+FEFF",
        "\ud83d": "U+D83D",
        "\U000e0041": "U+E0041",
        "\u2028": "U+2028",
        "\r": "U+000D",
    }
    return "".join(written.get(character, character) for character in text)


def test_every_call_of_a_hostile_sample_can_be_read_word_for_word(
    browser: Browser, run: Path
) -> None:
    result = RunResults.of(run)[0]
    rebuilder = Rebuilder(load_manifest(run))
    requests = [rebuilder.rebuild(result, call) for call in result.calls]
    assert all(requests)
    browser.open(run / "report.html", "#/samples?sort=data")
    browser.one(".row a").click()
    browser.one(".marked")
    browser.one(".exchanges").click()
    wanted = [message.content for request in requests if request for message in request.messages]
    assert browser.texts("dialog pre[data-role]") == wanted
    assert browser.texts("dialog pre[data-reply]") == [
        shown(call.reply or "") for call in result.calls
    ]
    assert nothing_ran(browser)


def test_the_file_itself_holds_no_text_of_others_outside_its_blocks(run: Path) -> None:
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.count("<script>") == 1
    table = page.partition("<noscript>")[2].partition("</noscript>")[0]
    assert html.escape(MARKUP) in table
    outside = re.sub(r"(?s)<script .*?</script>", "", page)
    assert not re.search(r"<(?:img|svg|iframe)", outside)
    assert MARKUP not in outside


def test_summary_and_tables_hold_hostile_texts(run: Path) -> None:
    summary = forms.text(run, "md")
    assert "\u202e" not in summary
    assert summary.encode()
    assert json.loads(forms.text(run, "json"))["name"] == "run"
    assert forms.text(run, "csv", rows="claims").encode()
