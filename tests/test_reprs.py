"""What results print at a prompt and show in a notebook: a few lines that say the result."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import claimeval as ce
from claimeval import ir
from claimeval.types.records import Document, Sample

LINES = 13
CHARACTERS = 1_300


@pytest.fixture(scope="module")
def results(
    page_template: Path, page_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, object]]:
    """A result of every function, which tests only look at."""
    folder = tmp_path_factory.mktemp("results") / "page"
    shutil.copytree(page_template, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in page_environment.items():
            patch.setenv(name, value)
        yield _results()


def _results() -> dict[str, object]:
    run = ce.Run.load("runs/a")
    comparison = ce.compare("runs/before", "runs/after")
    of_three = ce.compare("runs/2026-09", "runs/2026-10", "runs/2026-11")
    judgments = {"q1": {"d1": 1, "d2": 0}}
    return {
        "run": run,
        "comparison": comparison,
        "pair": comparison.against(1),
        "change": comparison.metrics["faithfulness"],
        "estimate": comparison.metrics["faithfulness"].difference,
        "trend": of_three.trend,
        "experiment": ce.experiment("experiment.yaml", out="experiments/x").table,
        "metric": run["faithfulness"],
        "metrics": run.summary,
        "result": run.results[0],
        "results": run.results,
        "samples": run.samples,
        "sample": run.samples[0],
        "slices": run.by("metadata.kind"),
        "diagnosis": run.diagnosis(),
        "ranks": run.by_rank,
        "gate": run.gate(fail_under={"faithfulness": 0.5})[0],
        "cost": run.cost,
        "methods": run.methods,
        "check": ce.check("It is red.", ["It is red."], judge="local:lexical"),
        "agreement": ce.agreement("runs/a", "labels.csv", evidence="contexts"),
        "correction": ce.correct("runs/a", "labels.csv"),
        # A cache of its own: other tests may have replies of this judge in the shared one.
        "forecast": ce.plan(
            ce.score, "answers.jsonl", judges="openai:gpt-5", options=ce.RunOptions(cache="empty")
        ),
        "probe": ce.probe("openai:gpt-5-mini"),
        "survey": ce.doctor("answers.jsonl"),
        "drawn": ce.draw("log.jsonl", n=3),
        "annotation": ce.annotate("runs/b", n=60),
        "item": ce.annotate("runs/b", n=60).turns[0],
        "evaluation": ir.evaluate(judgments, {"q1": {"d1": 0.9, "d2": 0.4}}, ["ndcg@10"]),
    }


IN_NOTEBOOKS = (
    "run",
    "comparison",
    "pair",
    "trend",
    "experiment",
    "metric",
    "metrics",
    "result",
    "slices",
    "diagnosis",
    "ranks",
    "methods",
    "check",
    "agreement",
    "correction",
    "forecast",
    "probe",
    "survey",
    "drawn",
    "evaluation",
)


def test_every_result_fits_a_few_lines_and_says_the_result(results: dict[str, object]) -> None:
    long = {
        name: repr(value)
        for name, value in results.items()
        if len(repr(value)) > CHARACTERS or repr(value).count("\n") >= LINES
    }
    assert long == {}
    hidden = [name for name, value in results.items() if " object at 0x" in repr(value)]
    assert hidden == []
    assert "<function" not in "".join(map(repr, results.values()))
    assert "0.95" in repr(results["metric"])
    assert "-0.08" in repr(results["change"])
    assert repr(results["evaluation"]) == "<Evaluation, 1 query: ndcg@10 1.0000>"
    assert "133 calls" in repr(results["forecast"])


@pytest.mark.parametrize("name", IN_NOTEBOOKS)
def test_a_notebook_shows_a_table_of_it(name: str, results: dict[str, object]) -> None:
    shown = results[name]._repr_html_()  # type: ignore[attr-defined]  # the point of the test
    assert any(f"<{element}" in shown for element in ("table", "svg", "ul", "pre"))
    assert "<script" not in shown


def test_a_record_shows_what_differs_from_its_defaults_and_long_values_in_short() -> None:
    many = tuple(Document(id=str(number), text="a " * 200) for number in range(9))
    text = repr(Sample(id="1", question="q", contexts=many))
    assert text.startswith("Sample(id='1', question='q', contexts=(Document(id='0', text='a a")
    assert text.endswith("…'), ... 9 in all))")
    assert "answer" not in text
    assert repr(Document(id="1", text="short")) == "Document(id='1', text='short')"
