"""One number, one text: the terminal, Markdown, the page with and without its script, and the page
of an experiment."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.cli.printer import Output
from claimeval.cli.reports import CompareCommand
from claimeval.cli.running import front_of, print_run
from claimeval.report import experiments as printing
from claimeval.report import forms
from claimeval.report.assets import bundle
from claimeval.runs.experiments.results import ArmMetric, ArmResult, ExperimentResult
from claimeval.statistics.formatting import decimal, percent, signed
from claimeval.testing import ScriptedJudge
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Document
from tests.report.conftest import Browser
from tests.report.runs import TOWER, make

SENTENCES = [f"Room {letter} is large." for letter in "ABCDEFGHIJKLMNOP"]
SIXTEEN = TOWER.model_copy(
    update={
        "answer": " ".join(SENTENCES),
        "contexts": (Document(id="guide", text="The rooms are large."),),
    }
)
TEN = dict.fromkeys(SENTENCES[10:], "not_found")
"""Ten of sixteen claims are supported: faithfulness .625, half-way between .62 and .63."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(
        tmp_path_factory.mktemp("run") / "ten",
        [SIXTEEN],
        {"strict": TEN},
        metrics=["faithfulness"],
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Twelve samples at .625 and at 1: each of 2^12 sign patterns but two is less extreme, p = 2 /
    4096."""
    folder = tmp_path_factory.mktemp("runs")
    samples = [
        SIXTEEN.model_copy(update={"id": f"s{i}", "question": f"Question {i}?"}) for i in range(12)
    ]
    return (
        make(folder / "ten", samples, {"strict": TEN}, metrics=["faithfulness"]),
        make(folder / "all", samples, {"kind": {}}, metrics=["faithfulness"]),
    )


def test_a_mean_half_way_reads_alike_in_the_terminal_in_markdown_and_without_a_script(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_run(Output(), ce.Run.load(run), front_of(ce.Run.load(run)))
    forms.write(run, "md", tmp_path / "run.md")
    forms.write(run, "html", tmp_path / "run.html")
    plain_table = (
        (tmp_path / "run.html").read_text().partition("<noscript>")[2].partition("</noscript>")[0]
    )
    for text in (capsys.readouterr().out, (tmp_path / "run.md").read_text(), plain_table):
        assert "0.63" in text
        assert "0.62" not in text


@pytest.mark.browser
def test_a_judge_without_a_verdict_is_not_one_that_extracts_and_no_call_is_not_free(
    tmp_path: Path, browser: Browser
) -> None:
    failed = make(tmp_path / "failed", failing=["taker"])
    empty = make(tmp_path / "empty", ())
    forms.write(failed, "html", tmp_path / "failed.html")
    forms.write(empty, "html", tmp_path / "empty.html")
    browser.open(tmp_path / "failed.html")
    verdicts = dict(
        zip(
            browser.texts("section[aria-labelledby=judges] > .scroll:nth-of-type(1) tbody th"),
            browser.texts(
                "section[aria-labelledby=judges] > .scroll:nth-of-type(1) tbody td:nth-child(2)"
            ),
            strict=True,
        )
    )
    assert verdicts == {"strict": "none", "taker": "extracts claims only"}
    browser.open(tmp_path / "empty.html")
    assert "0 questions put to judges." in browser.line("section[aria-labelledby=judges]")
    assert "free" not in browser.line("section[aria-labelledby=judges]")


@pytest.mark.browser
def test_the_total_cost_is_a_sentence_and_counts_have_their_commas(
    tmp_path: Path, browser: Browser
) -> None:
    """A thousand claims by a judge that abstains on all: each count of the caution has a comma."""
    row = {
        "id": "a",
        "question": "?",
        "answer": " ".join(f"Room {i} is large." for i in range(1000)),
        "contexts": ["x"],
    }
    judge = ScriptedJudge(default="unsure")
    run = ce.score(
        [row], judges=judge, metrics="faithfulness", options=ce.RunOptions(cache=tmp_path / "cache")
    )
    run.report(tmp_path / "run.html")
    browser.open(tmp_path / "run.html")
    assert "(1,000 of 1,000 in faithfulness)" in browser.line("#main")
    ce.score([row], judges="local:lexical", metrics="faithfulness", limit=1).report(
        tmp_path / "free.html"
    )
    browser.open(tmp_path / "free.html")
    judges = browser.line("section[aria-labelledby=judges]")
    assert (
        "questions put to judges. Cost of all replies at the stated prices, including those paid"
        " for earlier: free." in judges
    )


def likelihoods(folder: Path, times: int) -> ce.Run:
    """Six samples with likelihoods about 3e-8, as a model of language gives them."""
    values = dict(zip("abcdef", (1e-8, 3e-8, 5e-8, 2e-8, 4e-8, 3.6e-8), strict=True))
    rows = [
        {"id": name, "question": f"{name}?", "answer": "x", "metadata": {"topic": "uv"[i % 2]}}
        for i, name in enumerate(values)
    ]
    return ce.measure(rows, {"likelihood": lambda sample: times * values[sample.id]}, out=folder)


def test_a_number_that_is_not_zero_is_not_printed_as_zero_in_any_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = likelihoods(tmp_path / "a", 1)
    again = likelihoods(tmp_path / "b", 3)
    forms.write(tmp_path / "a", "md", tmp_path / "a.md")
    forms.write(tmp_path / "a", "csv", tmp_path / "a.csv", rows="scores")
    forms.summary(tmp_path / "a", "md", tmp_path / "summary.md")
    forms.write(tmp_path / "a", "md", tmp_path / "two.md", compared=tmp_path / "b")
    print_run(Output(), run, front_of(run))
    terminal = capsys.readouterr().out
    CompareCommand(runs=(tmp_path / "a", tmp_path / "b"), details=True, flips=0).do()
    compared = capsys.readouterr().out
    texts = [terminal, (tmp_path / "a.md").read_text(), (tmp_path / "summary.md").read_text()]
    for text in (*texts, str(run.by("metadata.topic"))):
        assert "3.1e-8" in text or "3.3e-8" in text
        assert "0.00" not in text
    assert "3.1e-08,1.59" in (tmp_path / "a.csv").read_text()
    for text in (compared, (tmp_path / "two.md").read_text()):
        assert "+6.2e-8" in text
        assert "0.00" not in text
    assert "is 3.1e-8 on average" in texts[2]
    assert "share of claims" not in texts[2]
    assert "judges disagree" not in compared
    assert repr(again["likelihood"]).startswith("<MetricSummary 9.3e-8, 4.8e-8 to 1.4e-7")


@pytest.mark.browser
def test_a_small_number_reads_the_same_on_the_page(tmp_path: Path, browser: Browser) -> None:
    likelihoods(tmp_path / "a", 1)
    likelihoods(tmp_path / "b", 3)
    forms.write(tmp_path / "a", "html", tmp_path / "a.html")
    browser.open(tmp_path / "a.html")
    text = browser.line("#main")
    assert "3.1e-8" in text
    assert "0.00" not in text
    forms.write(tmp_path / "a", "html", tmp_path / "two.html", compared=tmp_path / "b")
    browser.open(tmp_path / "two.html")
    text = browser.line("#main")
    assert "+6.2e-8" in text
    assert "0.00" not in text


@pytest.mark.browser
def test_a_mean_half_way_reads_the_same_on_the_page(
    run: Path, tmp_path: Path, browser: Browser
) -> None:
    forms.write(run, "html", tmp_path / "run.html")
    browser.open(tmp_path / "run.html")
    assert browser.line(".mean-value") == "0.63"


def test_differences_and_small_p_values_read_alike_in_compare_track_and_markdown(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forms.write(runs[0], "md", tmp_path / "two.md", compared=runs[1])
    CompareCommand(runs=tuple(runs), details=True, flips=0).do()
    compared = capsys.readouterr().out
    CompareCommand(runs=(*runs, runs[0]), details=True, flips=0).do()
    tracked = capsys.readouterr().out
    for text in (compared, tracked, (tmp_path / "two.md").read_text()):
        assert "0.63" in text
        assert "+0.38" in text  # .375 is half-way too
        assert "< 0.001" in text


@pytest.mark.browser
def test_the_page_of_two_runs_says_the_same(
    runs: tuple[Path, Path], tmp_path: Path, browser: Browser
) -> None:
    forms.write(runs[0], "html", tmp_path / "two.html", compared=runs[1])
    browser.open(tmp_path / "two.html")
    line = browser.line(".differences tbody tr")
    assert "0.63 1.00 +0.38" in line
    assert "< 0.001" in line


@pytest.mark.browser
def test_an_experiment_says_the_same_in_markdown_and_on_its_page(
    tmp_path: Path, browser: Browser
) -> None:
    base = ArmResult(
        name="plain",
        run="plain",
        metrics={"faithfulness": ArmMetric(mean=0.625, low=0.545, high=0.875, n=16, clusters=16)},
        claims=16,
        unassessed_rate=0.125,
        parse_failure_rate=0.0625,
        flips=0,
        compared=9,
        relabeled=0,
        labeled_once=0,
        new_calls=1,
        cost=Cost(calls=1, prompt_tokens=1, completion_tokens=1, dollars=0.0),
        median_latency=0.125,
    )
    cell = ArmMetric(
        mean=1.0,
        low=None,
        high=None,
        n=16,
        clusters=16,
        difference=Estimate(value=0.375, low=-0.125, high=0.875, n=16),
        p=0.0,
        p_adjusted=0.0,
    )
    arm = base.model_copy(update={"name": "kind", "metrics": {"faithfulness": cell}})
    printing.write(
        tmp_path,
        ExperimentResult(
            data="d.jsonl",
            baseline="plain",
            samples=16,
            clusters=16,
            cluster=None,
            arms=(base, arm),
        ),
    )
    (tmp_path / "flips.jsonl").touch()
    markdown = (tmp_path / "experiment.md").read_text()
    forms.write(tmp_path, "html", tmp_path / "experiment.html")
    browser.open(tmp_path / "experiment.html")
    page = " ".join(browser.texts("main")).replace("−", "-")
    for text in (markdown, page):
        for number in (
            "0.63",
            "0.55 to 0.88",
            "+0.38",
            "-0.13 to +0.88",
            "< 0.001",
            "12.5%",
            "6.3%",
            "0.13",
        ):
            assert number in text


@pytest.mark.browser
def test_the_script_rounds_every_number_as_python_does(
    run: Path, tmp_path: Path, browser: Browser
) -> None:
    forms.write(run, "html", tmp_path / "run.html")
    browser.open(tmp_path / "run.html")
    values = sorted(
        {k / n for n in range(1, 129) for k in range(n + 1)} | {k / 2000 for k in range(2001)}
    )
    values += [-value for value in values]
    found = browser.run(
        bundle("numbers") + "const { number, signed, percent } = $_numbers;"
        "return arguments[0].map((v) => [number(v), number(v, 2), signed(v), percent(v)])",
        values,
    )
    expected = [
        [decimal(v), decimal(v, 2), signed(v).replace("-", "−"), percent(v)] for v in values
    ]
    assert isinstance(found, list)
    differing = [(v, a, b) for v, a, b in zip(values, found, expected, strict=True) if a != b]
    assert list(itertools.islice(differing, 5)) == []
