"""What results show in a notebook: numbers with what stands beside them, evidence, and nothing that
runs or loads."""

from __future__ import annotations

import asyncio
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.report import notebook, progress_bar
from claimeval.testing import ScriptedJudge
from claimeval.types.progress import Progress

TEXTS = '<script>alert("1")</script>\u202e & <img src=x onerror=alert(1)>'
SAMPLES = [
    {
        "id": "tower",
        "question": "How high?",
        "answer": "It is 58 m high. It is blue.",
        "contexts": ["58 m high."],
    },
    {"id": "clock", "question": "How old?", "answer": "It is old.", "contexts": ["Old.", "Older."]},
    {"id": "none", "question": "Who?", "answer": "", "contexts": ["Nobody."]},
]
JUDGE = ScriptedJudge(
    {"It is 58 m high.": "supported", "It is old.": "contradicted"}, default="not_found"
)
SAFE = {
    "div",
    "p",
    "b",
    "small",
    "span",
    "h4",
    "ul",
    "ol",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
} | {*("blockquote", "details", "summary", "svg", "progress", "style")}
SHAPES = {"title", "desc", "line", "rect", "circle", "polyline", "polygon", "path", "text"}
"""What pictures are made of."""


class Elements(HTMLParser):
    """The names of all elements and attributes of a page, and its words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += f"{data} "


def text(page: str) -> str:
    return " ".join(Elements(page.partition("</style>")[2]).words.split())


@pytest.fixture(scope="module")
def run() -> ce.Run:
    return ce.score(SAMPLES, judges=JUDGE, metrics="faithfulness")


def test_a_run_shows_value_interval_n_and_what_is_missing(run: ce.Run) -> None:
    """Of three claims one is supported: 1/2 and 0/1, mean 0.25; the third sample has no claim."""
    page = text(run._repr_html_())
    assert page.startswith(
        "3 samples, judged by scripted 1 of 2 answers contradicts the documents,"
        " 1 makes claims that no document supports"
    )
    assert re.search(
        r"faithfulness 0.25 0.00 to 1.00 2 1 1 of 3 0.33 .*without a score: 1 no_claims", page
    )


def test_a_run_shows_the_worst_claims_with_their_evidence(run: ce.Run) -> None:
    page = text(run._repr_html_())
    worst = page[page.index("First to read") :]
    first = "clock question: How old? claim: It is old."
    second = "tower question: How high? claim: It is blue."
    assert worst.index(first) < worst.index(second)
    assert "verdict: contradicted by the contexts" in worst
    assert "evidence: nothing like it in the documents" in worst


def test_claims_of_a_large_run_are_looked_for_among_the_first_samples(
    run: ce.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook, "LOOKED_AT", 1)
    page = text(run._repr_html_())
    assert "the claims to read are among the first 1 samples" in page
    assert "It is old." not in page


def test_an_attached_run_has_its_cards_beside(tmp_path: Path) -> None:
    ce.score(SAMPLES[:2], judges=JUDGE, metrics="faithfulness", out=tmp_path / "run")
    ce.measure(tmp_path / "run", "answer_length", out=tmp_path / "run" / "measure")
    page = text(ce.Run.load(tmp_path / "run")._repr_html_())
    assert "answer_length (words) 5.50" in page, "8 and 3 words"


def test_a_comparison_shows_differences_and_flips(run: ce.Run) -> None:
    """The other judge supports the old clock too: 1/2 and 1/1, so that the mean rises from 0.25 to
    0.75."""
    judge = ScriptedJudge(
        {"It is 58 m high.": "supported", "It is old.": "supported"}, name="other"
    )
    page = text(
        ce.compare(run, ce.score(SAMPLES, judges=judge, metrics="faithfulness"))._repr_html_()
    )
    assert "a = run 1, b = run 2, 3 samples in both" in page
    assert "faithfulness 2 0.25 0.75 +0.50" in page
    assert (
        "because of b - a claims samples faithfulness other judges, prompt or settings +0.50 1 1"
        in page
    )
    assert (
        "claim: It is old. label: contradicted → supported against the contexts, claim of the"
        " answer" in page
    )


def test_each_of_several_runs_is_shown_against_the_baseline(run: ce.Run) -> None:
    page = text(ce.compare(run, run, run)._repr_html_())
    assert (
        "run n mean 95% interval change 95% interval p (Holm) up down against the baseline 95%"
        " interval p (Holm)" in page
    )
    assert "run 2 2 0.25" in page
    assert "run 3 against run 1: 0.00" in page
    assert "trend: 0.00 per run" in page


def test_an_experiment_shows_its_arms(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(map(json.dumps, SAMPLES)))
    arms = [{"name": "first"}, {"name": "again", "assess_prompt": "binary"}]
    asked = {"data": str(data), "judges": ["local:lexical"], "metrics": ["faithfulness"]}
    page = text(ce.experiment({**asked, "arms": arms, "baseline": "first"})._repr_html_())
    assert "data.jsonl : 3 samples, 2 arms" in page
    assert re.search(r"faithfulness arm mean .* first [01]\.\d{2} .* again [01]\.\d{2} ", page)


def test_agreement_and_slices_show_themselves(run: ce.Run, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "id,text,label\ntower,It is 58 m high.,supported\ntower,It is blue.,supported\n"
    )
    page = text(ce.agreement(run, labels)._repr_html_())
    assert "agreement : 2 labeled items" in page
    assert "accuracy 0.50" in page
    assert "question metric samples" in text(run.by("question")._repr_html_())


def test_a_sample_shows_its_answer_scores_and_claims_with_what_came_before(run: ce.Run) -> None:
    page = text(run.results[0]._repr_html_())
    assert page.startswith(
        "tower: How high? It is 58 m high. It is blue. faithfulness is 0.50 (1 of 2 claims) "
    )
    assert "answer against contexts supported It is 58 m high. not found It is blue." in page
    sample = {**SAMPLES[0], "history": [{"role": "user", "content": "Hello!"}]}
    later = ce.score([sample], judges=JUDGE, metrics="faithfulness").results[0]
    assert text(later._repr_html_()).startswith("user: Hello! tower: How high?")


def test_texts_under_judgement_are_text(run: ce.Run, tmp_path: Path) -> None:
    sample = {
        "id": TEXTS,
        "question": TEXTS,
        "answer": f"It says {TEXTS}.",
        "contexts": [{"id": TEXTS, "text": TEXTS}],
    }
    hostile = ce.score(
        [{**sample, "metadata": {TEXTS: TEXTS}}], judges=JUDGE, metrics="faithfulness"
    )
    shown: list[Any] = [
        hostile,
        hostile.results[0],
        hostile.by(TEXTS),
        ce.compare(hostile, hostile),
        run,
    ]
    for one in shown:
        found = Elements(one._repr_html_())
        assert found.names <= SAFE | SHAPES
        assert not {
            name
            for name in found.attributes
            if name.startswith("on") or name in ("src", "href", "id")
        }
    assert "<script>alert" in text(hostile._repr_html_())
    assert "\u202e" not in hostile._repr_html_()


class Display:
    """Keeps what is displayed, as IPython's handle would."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, content: dict[str, str], **_: object) -> Display:
        self.shown.append(content["text/plain"])
        return self

    update = __call__


def test_a_bar_appears_after_a_moment_and_ends_with_the_last_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    display = Display()
    progress = Progress(3, progress_bar.ProgressBar(display))
    for now in (0.1, 0.6, 0.7):  # noqa: B007  # read by the clock
        progress.sample_done()
    assert [text.split("  ")[0] for text in display.shown] == ["2/3 samples", "3/3 samples"]


def test_a_quick_job_and_one_outside_of_notebooks_draw_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    display = Display()
    bar = progress_bar.ProgressBar(display)
    asyncio.run(
        ce.ascore(
            SAMPLES, judges=JUDGE, metrics="faithfulness", options=ce.RunOptions(progress=bar)
        )
    )
    assert display.shown == []
    assert progress_bar.progress_bar() is None
