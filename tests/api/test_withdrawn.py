"""A run whose interval is withdrawn: 45 of 95 claims of the demo have no label from
`local:lexical`.

With them the mean is between .372 and .846, to three places; the interval of the claims that got a
label would be .500 to .883, as if these were a random sample.
"""

from __future__ import annotations

import base64
import csv
import json
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.metrics.scoring import MetricSummary, figures
from claimeval.runs.slices import slices
from claimeval.types.bundled import bundled
from tests.command_line import call

REPORTED = (0.72, 0.265909, 0.924966, "bounds")
"""Value, low, high and what the ends are."""
SAMPLING = (0.5001, 0.8826)
"""The interval that is withdrawn."""
Reported = tuple[float, float, float, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of the demo, `a`, `b` and `c`, and an experiment over it."""
    folder = tmp_path_factory.mktemp("withdrawn")
    for name in "abc":
        ce.score(
            bundled("demo.jsonl"),
            judges="local:lexical",
            metrics="faithfulness,f1",
            out=folder / name,
        )
    design = {
        "data": str(bundled("demo.jsonl")),
        "judges": "local:lexical",
        "metrics": "faithfulness",
    }
    arms = {"baseline": "one", "arms": [{"name": "one"}, {"name": "two", "vote": "any"}]}
    ce.experiment(design | arms, out=folder / "experiment")
    return folder


def of_json(folder: Path, *arguments: str) -> Any:
    done = call(*arguments, "--json", folder=folder)
    return json.loads(done.stdout)


def of(summary: MetricSummary | dict[str, Any]) -> Reported:
    fields: dict[str, Any] = dict(summary)
    assert fields["sampling"] == pytest.approx(SAMPLING, abs=1e-3)
    return fields["mean"], fields["low"], fields["high"], fields["ends"]


def of_experiment(folder: Path) -> Reported:
    with open(folder / "experiment" / "experiment.csv", newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    return float(row["mean"]), float(row["low"]), float(row["high"]), row["ends"]


def told(figures: Mapping[str, float | str]) -> Reported:
    """What another tool is told: the mean is not under the name of the metric, which would be the
    whole."""
    assert "faithfulness" not in figures
    names = ("assessed_only", "low", "high", "ends")
    mean, low, high, ends = (figures[f"faithfulness.{name}"] for name in names)
    return float(mean), float(low), float(high), str(ends)


def of_mlflow(folder: Path) -> Reported:
    from claimeval.integrations import mlflow

    run = ce.Run.load(folder / "a")
    return told({**mlflow._metrics(run), **mlflow._params(run)})


def of_text(text: str) -> Reported:
    """The line of the metric, in which the bounds have their mark."""
    cells = re.findall(
        r"faithfulness\W+([.\d]+)\W+(?:n \d+, )?([.\d]+) to ([.\d]+) ?(\\?\*|\(bounds\))", text
    )
    value, low, high, _ = cells[0]
    return float(value), float(low), float(high), "bounds"


def of_notebook(folder: Path) -> Reported:
    """The row of the metric, in which the bounds have their mark."""
    text = re.sub(r"<[^>]+>", " ", ce.Run.load(folder / "a")._repr_html_())
    ((value, low, high),) = re.findall(r"faithfulness\s+([.\d]+)\s+([.\d]+) to ([.\d]+)\*", text)
    return float(value), float(low), float(high), "bounds"


def of_page(folder: Path) -> Reported:
    """The data that the page draws."""
    html = (folder / "a" / "report.html").read_text(encoding="utf-8")
    (packed,) = re.findall(r'id="overview"[^>]*>([^<]+)<', html)
    overview = json.loads(zlib.decompress(base64.b64decode(packed)))
    return of(overview["runs"][0]["summary"]["metrics"]["faithfulness"])


ROUNDED = ("a notebook", "the terminal", "report -f md", "repr in Python")
EXITS: dict[str, Callable[[Path], Reported]] = {
    "a run in Python": lambda folder: of(ce.Run.load(folder / "a")["faithfulness"]),
    "summary.json": lambda folder: of(
        json.loads((folder / "a/summary.json").read_text())["metrics"]["faithfulness"]
    ),
    "score --json": lambda folder: of(
        of_json(
            folder,
            "score",
            str(bundled("demo.jsonl")),
            "-j",
            "local:lexical",
            "-m",
            "faithfulness",
            "-o",
            "json",
        )["metrics"]["faithfulness"]
    ),
    "report -f json": lambda folder: of(
        json.loads(ce.Run.load(folder / "a").report(format="json"))["summary"]["metrics"][
            "faithfulness"
        ]
    ),
    "a series": lambda folder: of(
        ce.compare(*(folder / name for name in "abc")).trend.tracks[0].points[0]
    ),
    "experiment.csv": of_experiment,
    "a notebook": of_notebook,
    "the page": of_page,
    "MLflow": of_mlflow,
    "pytest": lambda folder: told(
        figures("faithfulness", ce.Run.load(folder / "a")["faithfulness"])
    ),
    "the terminal": lambda folder: of_text(
        call("rejudge", "a", "--out", "again", folder=folder).stdout
    ),
    "report -f md": lambda folder: of_text(
        ce.Run.load(folder / "a").report(format="md").replace("`", "")
    ),
    "repr in Python": lambda folder: of_text(
        f"faithfulness {ce.Run.load(folder / 'a')['faithfulness']}".replace("<MetricSummary ", "")
    ),
    "experiment.json": lambda folder: of(
        json.loads((folder / "experiment/experiment.json").read_text())["arms"][0]["metrics"][
            "faithfulness"
        ]
    ),
}


@pytest.mark.parametrize("exit", EXITS)
def test_low_and_high_are_the_bounds_wherever_they_are_read(folder: Path, exit: str) -> None:
    value, low, high, ends = EXITS[exit](folder)
    precision = 0.006 if exit in ROUNDED else 1e-4
    assert ends == REPORTED[3]
    assert (value, low, high) == pytest.approx(REPORTED[:3], abs=precision)


def test_slices_of_the_metric_have_bounds_too(folder: Path) -> None:
    """All samples have one value of the field: the slice is the run."""
    run = ce.Run.load(folder / "a")
    results = [
        r.model_copy(update={"sample": r.sample.model_copy(update={"generator": "g"})}) for r in run
    ]
    (row,) = slices(results, "generator", {"faithfulness": run["faithfulness"]})
    assert (row.estimate.value, row.estimate.low, row.estimate.high) == pytest.approx(
        REPORTED[:3], abs=1e-4
    )
    assert row.estimate.ends == "bounds"
    assert row.estimate.sampling == pytest.approx(SAMPLING, abs=1e-3)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (
            {"fail_under": {"faithfulness": 0.45}},
            "faithfulness may be 0.27, as judges abstained on many claims, below",
        ),
        (
            {"fail_over": {"faithfulness": 0.8}},
            "faithfulness may be 0.92, as judges abstained on many claims, above",
        ),
    ],
)
def test_a_gate_on_the_mean_compares_the_bound_and_says_so(
    folder: Path, gate: dict[str, dict[str, float]], words: str
) -> None:
    (failed,) = ce.Run.load(folder / "a").gate(**gate)  # type: ignore[arg-type]  # one of the two
    assert failed.failed
    assert failed.says.startswith(words)
    held = ce.Run.load(folder / "a").gate(
        fail_under={"faithfulness": 0.26}, fail_over={"faithfulness": 0.93}
    )
    assert not any(gate.failed for gate in held)


def test_a_gate_on_the_low_end_goes_by_the_bounds(folder: Path) -> None:
    run = ce.Run.load(folder / "a")
    run.assert_at_least("low", faithfulness=0.26)
    with pytest.raises(
        AssertionError,
        match=r"low is 0\.27, below 0\.45\nfaithfulness: bounds 0\.27 to 0\.92, n 20",
    ):
        run.assert_at_least("low", faithfulness=0.45)


def test_a_score_of_metrics_with_bounds_has_its_own(folder: Path) -> None:
    f1 = ce.Run.load(folder / "a")["f1"]
    assert f1.ends == "bounds"
    assert f1.bounds
    # both are there
    assert f1.low is not None
    assert f1.high is not None
    assert f1.low < f1.bounds[0] < f1.bounds[1] < f1.high, "with sampling error"
