"""The page that is forwarded: the numbers, worked by hand, what it keeps to itself, and how it
looks."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval.judging.panel import Panel
from claimeval.report import forms, forwarded
from claimeval.runs.directory import append_line
from claimeval.runs.forwarded import ANSWERS, ROWS, TEXT, ForwardedPage
from claimeval.types.errors import UsageError
from claimeval.types.records import Document
from claimeval.types.scales import BINARY
from tests.command_line import call
from tests.report.conftest import Browser
from tests.report.realistic import Realistic
from tests.report.runs import BRIDGE, TOWER, make

METRICS = ("faithfulness", "correctness", "coverage", "context_recall")
SECRETS = {
    "id": "secretid",
    "question": "How high is the secretquestion?",
    "answer": "The secretanswer opened in 1902. It is 90 metres high. Its keeper was a secretpoet.",
    "reference_answers": ("The secretgold is 80 metres high.",),
    "metadata": {"secretfield": "secretvalue"},
    "contexts": (
        Document(id="secretdoc", title="Secrettitle of two words", text="The secrettext opened."),
    ),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("runs") / "towers", [TOWER, BRIDGE], metrics=METRICS)


def test_rows_say_in_plain_words_what_was_counted(run: Path) -> None:
    rows = {row.metric: row for row in forwarded.read(run).rows}
    # The tower's answer has 3 claims: 1 supported, 1 contradicted, 1 not found; the bridge's 1.
    assert rows["faithfulness"].shown == "67%"
    assert rows["faithfulness"].counts == "2 of 4 claims"
    assert rows["contradicted"].words == "of the answer contradicts the gold answer"
    # (1/3 + 0) / 2
    assert rows["contradicted"].shown == "17%"
    assert rows["contradicted"].counts == "1 of 4 claims"
    # Correctness is in the row of contradictions.
    assert list(rows) == ["context_recall", "faithfulness", "coverage", "contradicted"]


def test_judges_that_say_yes_or_no_give_no_row_of_contradictions(tmp_path: Path) -> None:
    says = {"plain": {"It is 90 metres high.": "no"}}
    folder = make(tmp_path / "towers", [TOWER], says, metrics=METRICS, panel=Panel(scale=BINARY))
    assert "contradicted" not in {row.metric for row in forwarded.read(folder).rows}


def test_the_title_is_the_first_sentence_of_the_run(run: Path) -> None:
    page = forwarded.read(run)
    assert page.title == ce.Run.load(run).headline
    first = page.answers[0]
    assert (first.sample_id, first.claim) == ("tower", "It is 90 metres high.")
    assert first.verdict == "contradicted by the documents"
    assert first.gold == "The tower is 80 metres high and opened in 1902."
    assert "answered by" not in page.facts[0]
    assert "openai:gpt-5-mini" in page.facts
    assert "not compared with people" in page.facts


def test_agreement_with_people_is_said_where_there_are_labels(tmp_path: Path) -> None:
    run = make(tmp_path / "run", [TOWER, BRIDGE])
    file = run / "annotation" / "faithfulness.labels.jsonl"
    file.parent.mkdir()
    for subject, label in (("answer-1", "supported"), ("answer-2", "supported")):
        claim = {"id": "tower", "claim_id": subject, "against": "contexts"}
        append_line(file, {**claim, "label": label, "annotator": "ada"})
    # The judge says supported and contradicted.
    assert "agreed with people on 1 of 2 labeled claims" in forwarded.read(run).facts


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Twelve questions; run b contradicts one claim of three in each, run a none."""
    folder = tmp_path_factory.mktemp("pair")
    samples = [
        TOWER.model_copy(update={"id": f"t{i}", "question": f"Question {i}?"}) for i in range(12)
    ]
    a = make(folder / "a", samples, {"strict": {}}, metrics=METRICS)
    says = {"It is 90 metres high.": "contradicted"}
    return a, make(folder / "b", samples, {"strict": says}, metrics=METRICS)


def test_two_runs_have_before_after_and_difference(pair: tuple[Path, Path]) -> None:
    page = forwarded.read(*pair)
    rows = {row.metric: row for row in page.rows}
    faithfulness = rows["faithfulness"]
    assert (faithfulness.shown_before, faithfulness.shown) == ("100%", "67%")
    assert faithfulness.samples == "12 worse, 0 better"
    assert faithfulness.change.startswith("-33 (")
    # More contradictions are worse, although the number rose.
    assert (rows["contradicted"].shown_before, rows["contradicted"].shown) == ("0%", "33%")
    assert rows["contradicted"].samples == "12 worse, 0 better"
    assert rows["coverage"].change.startswith("no difference beyond chance")
    assert page.title == ce.compare(*pair).headline


def test_the_metric_of_the_title_has_a_row(tmp_path: Path) -> None:
    """What an answer says beyond the gold answer is no contradiction, and lowers correctness."""
    gold = "The tower is 90 metres high."
    more = f"{gold} It was painted green by the engineer Halvorsen."
    runs = []
    for name, answer in (("a", gold), ("b", more)):
        rows = [
            {
                "id": f"t{i}",
                "question": f"How high is tower {i}?",
                "answer": answer,
                "contexts": [more],
                "reference_answers": [gold],
            }
            for i in range(24)
        ]
        ce.score(rows, judges="local:lexical", metrics=METRICS, out=tmp_path / name)
        runs.append(tmp_path / name)
    page = forwarded.read(runs[0], runs[1])
    assert page.title.startswith("correctness fell 0.50")
    assert len(page.rows) == 4
    (row,) = (row for row in page.rows if row.metric == "correctness")
    assert (row.shown_before, row.shown) == ("100%", "50%")


def test_the_answers_of_two_runs_went_the_way_of_the_difference(pair: tuple[Path, Path]) -> None:
    page = forwarded.read(*pair)
    assert len(page.answers) == 3
    for one in page.answers:
        assert one.claim == "It is 90 metres high."
        assert one.verdict.endswith("supported → contradicted")
        assert one.before == one.answer == TOWER.answer
        assert one.why == "judge: strict: contradicted"


def _markdown(run: Path, compared: Path | None = None, *, texts: bool = False) -> str:
    return forms.summary(run, "md", compared=compared, texts=texts)


def test_markdown_has_no_text_of_the_data_unless_it_is_asked_for(tmp_path: Path) -> None:
    secret = TOWER.model_copy(update=SECRETS)
    samples = [
        secret.model_copy(update={"id": f"secretid{i}", "question": f"Is secretquestion {i} high?"})
        for i in range(12)
    ]
    others = [
        one.model_copy(
            update={
                "answer": "The secretanswer is old.",
                "contexts": (Document(id="secretother", text="Another secrettext."),),
            }
        )
        for one in samples
    ]
    says = {"It is 90 metres high.": "contradicted", "The secretanswer is old.": "contradicted"}
    a = make(tmp_path / "a", samples, {"strict": says}, metrics=METRICS)
    b = make(tmp_path / "b", others, {"strict": says}, metrics=METRICS)
    for text in (_markdown(a), _markdown(a, b), _markdown(b, a)):
        assert "secret" not in text.casefold()
        assert "| 95% interval |" in text or "| change in points (95% interval) |" in text
    assert "secretquestion" in _markdown(a, texts=True)
    assert "secretgold" in _markdown(a, b, texts=True)


NAMES = st.text("ab.*+ =[(", min_size=1, max_size=6).filter(lambda name: name.strip() == name)


@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=4))
def test_a_masked_sentence_has_no_name_that_it_could_have(
    names: list[str], said: list[str]
) -> None:
    page = ForwardedPage(
        title=" ; ".join(said),
        facts=(),
        names=(),
        rows=(),
        why="",
        answers=(),
        heading="",
        cautions=(),
        sure=(),
        paid="",
        private=tuple(names),
    )
    for word in page.without_texts().title.split(" ; "):
        assert word not in names


def test_markdown_folds_what_is_not_read_first(run: Path) -> None:
    text = _markdown(run, texts=True)
    assert text.startswith("### 1 of 2 answers contradicts the gold answer")
    assert text.count("<details>") == text.count("</details>") == 2
    fold = "<details><summary>How sure, and what it cost</summary>\n\n- Intervals are 95%"
    assert fold in text
    table = next(line for line in text.splitlines() if "(faithfulness)" in line)
    assert table.startswith(
        "| of the answer is supported by these documents (faithfulness) | 67% |"
    )


def test_a_mean_that_is_no_share_of_claims_is_printed_as_in_the_title(tmp_path: Path) -> None:
    documents = [{"id": "d1", "text": "It is red."}, {"id": "d2", "text": "It is new."}]
    rows = [
        {"id": name, "contexts": documents, "reference_context_ids": [found]}
        for name, found in (("a", "d1"), ("b", "d2"))
    ]
    data = tmp_path / "ranked.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("retrieval", data, "-m", "mrr", "--out", tmp_path / "ranked")
    page = forwarded.read(tmp_path / "ranked")

    # The first document that counts has rank 1 and 2: (1 + 1/2) / 2.
    assert page.title == "mrr is 0.75 on average over 2 samples."
    assert [row.shown for row in page.rows] == ["0.75"]
    assert page.rows[0].change.startswith("0.")
    missing = page.rows[0].model_copy(update={"value": None})
    assert missing.shown == "no score"


def test_the_command_writes_the_page_and_prints_markdown(
    run: Path, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    done = call("report", run, "--summary")
    assert f"Summary: {run / 'summary.html'}" in done.stdout.replace("\n", "")
    call("report", pair[0], "--compare", pair[1], "--summary", "--out", tmp_path / "two.html")
    assert "12 worse, 0 better" in (tmp_path / "two.html").read_text(encoding="utf-8")
    done = call("report", run, "--summary", "--format", "md")
    assert done.stdout == _markdown(run)
    for wrong, says in (
        (("--texts",), "--texts is for the Markdown of --summary"),
        (("--summary", "--format", "csv"), "A summary is a page or Markdown, not csv"),
        (("--summary", "--rows", "claims"), "--summary and --rows are two reports"),
    ):
        done = call("report", run, *wrong, exits=2)
        assert says in " ".join(done.stderr.split())


def test_python_has_the_same(run: Path, pair: tuple[Path, Path], tmp_path: Path) -> None:
    assert ce.Run.load(run).report(summary=True, format="md") == _markdown(run)
    compared = ce.compare(*pair)
    assert compared.report(summary=True, format="md", texts=True) == _markdown(*pair, texts=True)
    out = tmp_path / "page.html"
    assert compared.report(out, summary=True) == out.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="one or two runs"):
        ce.compare(*pair, pair[0]).report(summary=True)


class _Elements(HTMLParser):
    """Collects elements and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: set[str] = set()
        self.handlers: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.handlers |= {name for name, _ in attrs if name.startswith("on")}
        self.addresses |= {str(value) for name, value in attrs if name in ("href", "src")}


def test_hostile_texts_become_no_element(tmp_path: Path) -> None:
    markup = '<img src=x onerror="hacked()"></section><script>hacked()</script><!--data-->'
    sample = TOWER.model_copy(
        update={
            "id": markup,
            "question": markup,
            "answer": f"{markup} It is 90 metres high.",
            "reference_answers": (markup,),
            "generator": markup,
        }
    )
    run = make(tmp_path / "run", [sample], {"strict": {"It is 90 metres high.": "contradicted"}})
    page = _Elements()
    page.feed(forwarded.fragment(forwarded.read(run), linked=True))
    assert page.names.isdisjoint({"img", "script", "style"})
    assert not page.handlers
    assert all(address.startswith("#/sample/") for address in page.addresses)
    html = forms.summary(run, "html")
    assert html.count("<script>") == 1


def _printed_pages(browser: Browser) -> int:
    found = browser.driver.execute_cdp_cmd(
        "Page.printToPDF",
        {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True},
    )
    return len(re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(found["data"])))


@pytest.mark.browser
def test_the_page_prints_on_one_sheet_and_fits_every_width(
    browser: Browser, realistic: Realistic, tmp_path: Path
) -> None:
    for compared in (False, True):
        page = tmp_path / f"{compared}.html"
        other = realistic.b if compared else None
        forms.summary(realistic.a, "html", page, compared=other)
        browser.open(page)
        assert browser.breaches() == []
        assert _printed_pages(browser) == 1
        for width in (320, 390, 720, 1440):
            browser.size(width)
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        browser.size(1280, 900)


@pytest.mark.browser
def test_a_telephone_shows_which_run_a_number_is_of(
    browser: Browser, realistic: Realistic, tmp_path: Path
) -> None:
    """Without the heads of the columns, `87% 44%` could be either way round."""
    page = tmp_path / "both.html"
    forms.summary(realistic.a, "html", page, compared=realistic.b)
    browser.open(page)
    named = "[...document.querySelectorAll('.plain-rows .value')]"
    content = f"return {named}.map((cell) => getComputedStyle(cell, '::before').content)"
    browser.size(390)
    found = browser.run(content)
    assert isinstance(found, list)
    assert found[:2] == ['"a "', '"b "']
    browser.size(1280, 900)
    assert set(cast("list[str]", browser.run(content))) == {"none"}


@pytest.mark.browser
@pytest.mark.parametrize(
    "word", ["Wartungsvertragsverlängerungsklausel ", "The town of Bern ", "塔的高度与历史"]
)
def test_the_longest_texts_print_on_one_sheet(
    browser: Browser, realistic: Realistic, tmp_path: Path, word: str
) -> None:
    long = (word * 400)[:1200]
    text = long[:TEXT]
    for other in (None, realistic.b):
        content = forwarded.read(realistic.a, other)
        browser.open(_with_texts(content, long, text, tmp_path))
        assert _printed_pages(browser) == 1
        cautions = browser.texts(".cautions li")
        assert (len(cautions), cautions[-1]) == (4, "9 other cautions are in the report.")
        browser.paper(True)
        heights = "[...document.querySelectorAll('.deciding li')].map((one) => one.clientHeight)"
        shown = browser.run(f"return {heights}")
        browser.paper(False)
        assert isinstance(shown, list)
        assert min(shown) > 40, "the three answers are all there"
        # the longest that are printed whole
        shorter = text
        while browser.all(".crowded"):
            shorter = shorter[:-10]
            browser.open(_with_texts(content, shorter, shorter, tmp_path))
        assert len(shorter) > 30
        assert _printed_pages(browser) == 1


def _with_texts(content: ForwardedPage, long: str, text: str, folder: Path) -> Path:
    """A page with these texts everywhere, and twelve cautions."""
    answers = [
        one.model_copy(
            update={
                "question": text,
                "gold": text,
                "before": text if one.before else "",
                "answer": text,
                "claim": text,
                "why": text,
            }
        )
        for one in content.answers
    ]
    assert len(answers) == ANSWERS
    longest = content.model_copy(
        update={
            "title": long[:300],
            "facts": (long[:900],),
            "cautions": (long,) * 12,
            "why": long,
            "sure": (long,),
            "answers": tuple(answers),
            "rows": (content.rows * ROWS)[:ROWS],
        }
    )
    page = folder / "summary.html"
    page.write_text(forwarded.document(longest))
    return page


@pytest.mark.browser
def test_the_comparison_begins_with_its_results(browser: Browser, realistic: Realistic) -> None:
    browser.open(realistic.pages["ab"])
    browser.size(1440, 900)
    top = browser.run("return document.querySelector('#results').getBoundingClientRect().top")
    assert isinstance(top, int | float)
    assert 0 < top < 600
    heads = browser.texts(".changed-rows thead th")
    assert heads == ["question", "gold answer", "before", "after"]
    browser.one(".deciding a").click()
    browser.until(lambda: browser.fragment().startswith("#/sample/"))
    assert browser.until(lambda: browser.all("details.claim[open]"))
