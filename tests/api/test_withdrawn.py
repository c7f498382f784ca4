"""A run whose interval is withdrawn: 45 of 95 claims of the demo have no label from `local:lexical`.

With them the mean is between .372 and .846, to three places; the interval of the claims that got a label would be .500
to .883, as if these were a random sample.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.metrics.scoring import MetricSummary
from claimeval.types.bundled import bundled
from tests.command_line import call

BOUNDS = pytest.approx((0.371970, 0.846212), abs=1e-4)
Ends = tuple[float, float]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of the demo, `a`, `b` and `c`, and an experiment over it."""
    folder = tmp_path_factory.mktemp("withdrawn")
    for name in "abc":
        ce.score(bundled("demo.jsonl"), judges="local:lexical", metrics="faithfulness,f1", out=folder / name)
    design = {"data": str(bundled("demo.jsonl")), "judges": "local:lexical", "metrics": "faithfulness"}
    arms = {"baseline": "one", "arms": [{"name": "one"}, {"name": "two", "vote": "any"}]}
    ce.experiment(design | arms, out=folder / "experiment")
    return folder


def of_json(folder: Path, *arguments: str) -> Any:
    done = call(*arguments, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of(summary: MetricSummary | dict[str, Any]) -> Ends:
    fields: dict[str, Any] = dict(summary)
    assert fields["shown"] == "bounds"
    return fields["low"], fields["high"]


def of_experiment(folder: Path) -> Ends:
    with open(folder / "experiment" / "experiment.csv", newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    return float(row["low"]), float(row["high"])


EXITS: dict[str, Callable[[Path], Ends]] = {
    "a run in Python": lambda folder: of(ce.Run.load(folder / "a")["faithfulness"]),
    "summary.json": lambda folder: of(json.loads((folder / "a/summary.json").read_text())["metrics"]["faithfulness"]),
    "score --json": lambda folder: of(
        of_json(folder, "score", str(bundled("demo.jsonl")), "-j", "local:lexical", "-m", "faithfulness", "-o", "json")[
            "metrics"
        ]["faithfulness"]
    ),
    "report -f json": lambda folder: of(
        json.loads(ce.Run.load(folder / "a").report(format="json"))["summary"]["metrics"]["faithfulness"]
    ),
    "a series": lambda folder: of(ce.compare(*(folder / name for name in "abc")).trend.tracks[0].points[0]),
    "experiment.csv": of_experiment,
    "experiment.json": lambda folder: of(
        json.loads((folder / "experiment/experiment.json").read_text())["arms"][0]["metrics"]["faithfulness"]
    ),
}


@pytest.mark.parametrize("exit", EXITS)
def test_low_and_high_are_the_bounds_wherever_they_are_read(folder: Path, exit: str) -> None:
    assert EXITS[exit](folder) == BOUNDS


def test_a_gate_on_the_low_end_goes_by_the_bounds(folder: Path) -> None:
    run = ce.Run.load(folder / "a")
    run.assert_at_least("low", faithfulness=0.36)
    with pytest.raises(AssertionError, match=r"low is 0\.372, below 0\.45\nfaithfulness: bounds 0\.37 to 0\.85, n 20"):
        run.assert_at_least("low", faithfulness=0.45)


def test_a_run_that_was_written_with_its_interval_is_read_with_its_bounds(folder: Path, tmp_path: Path) -> None:
    run = ce.Run.load(folder / "a").save(tmp_path / "earlier")
    summary = json.loads((run / "summary.json").read_text())
    summary["metrics"]["faithfulness"] |= {"low": 0.5001, "high": 0.8826}
    (run / "summary.json").write_text(json.dumps(summary))
    assert of(ce.Run.load(run)["faithfulness"]) == BOUNDS


def test_a_score_of_metrics_with_bounds_has_its_own(folder: Path) -> None:
    f1 = ce.Run.load(folder / "a")["f1"]
    assert (f1.shown, f1.ends) == ("bounds", f1.bounds)
