"""Two reports compared in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval.api.comparison import experiment
from claimeval.api.measures import measure
from claimeval.statistics import holm
from tests.api.test_claims import SAMPLES, spec
from tests.report.runs import TOWER_SAYS, make


def test_reports_and_run_directories_compare_alike(server: ThreadHandle, tmp_path: Path) -> None:
    better = [
        SAMPLES[0],
        {**SAMPLES[1], "answer": SAMPLES[1]["answer"].replace("A MISSING priest", "A priest")},
    ]
    a = ce.score(SAMPLES[:2], judges=[spec(server)], metrics=["faithfulness"])
    b = ce.score(better, judges=[spec(server)], metrics=["faithfulness"])
    found = ce.compare(a, b)
    metric = found.metrics["faithfulness"]
    assert (found.against(1).shared, metric.a, metric.b, metric.difference.value) == (
        2,
        0.75,
        0.875,
        0.125,
    )
    a.save(tmp_path / "a")
    b.save(tmp_path / "b")
    assert ce.compare(tmp_path / "a", str(tmp_path / "b")).metrics == found.metrics


def test_a_difference_over_what_judges_were_sure_of_is_warned_of(tmp_path: Path) -> None:
    """Of three claims the two judges of A are divided on two."""
    divided = make(tmp_path / "a", says={"one": TOWER_SAYS, "two": {}}, metrics=["faithfulness"])
    whole = make(tmp_path / "b", says={"one": {}}, metrics=["faithfulness"])
    assert ce.compare(divided, whole).against(1).abstained == (
        (
            "a: Judges abstained on claims or are divided (2 of 3 in faithfulness); means cover the"
            " other claims only. The difference says little."
        ),
    )


def test_p_is_adjusted_over_the_metrics_that_are_asked_for(server: ThreadHandle) -> None:
    """Two metrics: Holm doubles the smaller p. One that is asked for alone keeps its own, as in the
    trend."""
    answers = [{**sample, "answer": "It is a MISSING tower."} for sample in SAMPLES]
    a, b = (
        ce.score(data, judges=[spec(server)], metrics="faithfulness,correctness")
        for data in (SAMPLES, answers)
    )
    both = ce.compare(a, b, by="question")
    alone = ce.compare(a, b, metrics="faithfulness", by="question")
    tested = [m.p for m in both.metrics.values() if m.p is not None]
    assert [m.p_adjusted for m in both.metrics.values()] == holm(tested) != tested
    assert list(alone.metrics) == ["faithfulness"]
    assert alone.metrics["faithfulness"].p_adjusted == both.metrics["faithfulness"].p
    (series,) = alone.trend.tracks
    assert series.against[1]
    assert series.against[1].p_adjusted == alone.metrics["faithfulness"].p_adjusted
    assert {m.metric for metrics in alone.against(1).by.values() for m in metrics} == {
        "faithfulness"
    }


def test_more_runs_have_a_baseline_and_a_trend(server: ThreadHandle) -> None:
    runs = [
        ce.score([sample], judges=[spec(server)], metrics="faithfulness")
        for sample in SAMPLES[:1] * 3
    ]
    found = ce.compare(*runs, baseline=1)
    assert list(found.metrics) == ["faithfulness"]
    assert len(found.to_pandas()) == 2
    (series,) = found.trend.tracks
    assert [point.mean for point in series.points] == [1.0, 1.0, 1.0]
    assert "faithfulness" in found.report(format="md")
    with pytest.raises(ce.UsageError, match="two runs or more"):
        ce.compare(runs[0])
    with pytest.raises(ce.UsageError, match="baseline"):
        ce.compare(*runs, baseline=3)
    with pytest.raises(ce.UsageError, match="metric that all these runs have"):
        ce.compare(*runs, metrics="coverage")


def test_a_baseline_that_is_a_number_is_first_a_name_and_a_report_has_the_form_of_its_file(
    tmp_path: Path,
) -> None:
    for name in ("1", "0", "2026"):
        measure(SAMPLES[:2], "token_recall", out=tmp_path / name)
    runs = [tmp_path / name for name in ("1", "0", "2026")]
    chosen = [ce.compare(*runs, baseline=which).baseline for which in ("0", "2026", "2", 2)]
    assert chosen == [1, 2, 2, 2]
    with pytest.raises(ce.UsageError, match="baseline: 7; give a position from 0 to 2"):
        ce.compare(*runs, baseline="7")
    two = ce.compare(*runs[:2])
    assert json.loads(two.report(tmp_path / "pair.JSON"))["comparison"]
    assert two.report(tmp_path / "pair.md").startswith("#")
    assert two.report(tmp_path / "pair.html").startswith("<!")


def test_runs_without_a_judge_compare(tmp_path: Path) -> None:
    a = measure(SAMPLES[:2], "token_recall", out=tmp_path / "a")
    b = measure(
        [{**sample, "answer": sample["contexts"][0]} for sample in SAMPLES[:2]],
        "token_recall,token_f1",
    )
    assert set(ce.compare(a, b).metrics) == {"token_recall", "answer_length"}


def test_an_experiment_comes_back_as_runs_side_by_side(
    server: ThreadHandle, tmp_path: Path
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    design = {
        "data": str(data),
        "judges": spec(server),
        "metrics": ["faithfulness"],
        "grid": {"assess_prompt": ["three_way", "binary"]},
    }
    found = experiment(design)
    assert [run["faithfulness"].mean for run in found.runs] == [0.75, 0.75]
    assert found.metrics["faithfulness"].difference.value == 0
    assert found.table is not None
    assert [arm.name for arm in found.table.arms] == ["three_way", "binary"]
    assert (found.chosen, found.runs[0].path) == (None, None)
    again = experiment(design, out=tmp_path / "exp")
    assert again.runs[1].path == tmp_path / "exp" / "arms" / "binary"
    with pytest.raises(ce.UsageError, match="labels"):
        experiment(design, select=True)
