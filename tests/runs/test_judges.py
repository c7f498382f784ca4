"""Judges beside each other: cost, seconds, agreement, failures, and the front of cost and
agreement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimeval.evaluation.summary.panel import PanelSummary, RaterAgreement
from claimeval.runs.agreement import measure_run
from claimeval.runs.judges import JudgeAgainstPeople, JudgeNumbers, judge_numbers
from claimeval.runs.overview import JudgeOverview, LabelCounts, gather
from claimeval.statistics import calibration
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Cost
from claimeval.types.records import SampleResult
from tests.report.runs import TOWER, TOWER_SAYS, make


def overview(name: str, dollars: float | None, verdicts: int = 500) -> JudgeOverview:
    cost = Cost(calls=1, dollars=dollars)
    return JudgeOverview(
        name=name,
        short=name,
        model="m",
        endpoint=None,
        served_models={},
        prompts=(),
        extractions=0,
        assessments=1,
        failed={},
        replies=1,
        cost=cost,
        assessment_cost=cost,
        seconds=1.5,
        examples={},
        uncounted=0,
        verdicts=verdicts,
        labels=LabelCounts(supported=verdicts),
    )


def panel(kappas: dict[tuple[str, str], float]) -> PanelSummary:
    pairs = [
        RaterAgreement(
            first=a,
            second=b,
            claims=10,
            raw_agreement=kappa,
            kappa=kappa,
            confusion=((4, 1), (2, 3)),
        )
        for (a, b), kappa in kappas.items()
    ]
    return PanelSummary(
        judges=("x", "y", "z"),
        claims=10,
        labels=("no", "yes"),
        unanimous=0,
        split=0,
        ties=0,
        no_quorum=0,
        alpha=None,
        ac1=None,
        noise={},
        disputes=(),
        judge_pairs=tuple(pair for pair in pairs if pair.second != "panel"),
        judge_vs_panel=tuple(pair for pair in pairs if pair.second == "panel"),
    )


KAPPAS = {
    ("x", "y"): 0.8,
    ("x", "z"): 0.2,
    ("y", "z"): 0.3,
    ("x", "panel"): 0.9,
    ("y", "panel"): 0.7,
    ("z", "panel"): 0.5,
}


def test_cost_and_agreement_stand_side_by_side() -> None:
    """x: $1 for 500 verdicts. z agrees least: 0.25 with the others; x 0.5, y 0.55. y is dearer than
    z and below x."""
    found = judge_numbers(
        [overview("x", 1.0), overview("y", 2.0), overview("z", 0.5)], panel(KAPPAS)
    )
    assert [(one.judge, one.dollars_per_1000, one.kappa, one.on_front) for one in found] == [
        ("x", 2.0, 0.9, True),
        ("y", 4.0, 0.7, False),
        ("z", 1.0, 0.5, True),
    ]
    assert [one.kappa_with_judges for one in found] == [0.5, 0.55, 0.25]
    assert [one.odd_one for one in found] == [False, False, True]
    assert {one.agrees_with for one in found} == {"panel"}
    assert found[0].confusion == ((4, 2), (1, 3))  # rows are the panel's labels


def test_people_take_the_place_of_the_panel() -> None:
    compared = JudgeAgainstPeople(
        compared=7, agreement=0.6, kappa=0.4, labels=("no", "yes"), confusion=((1, 2), (3, 4))
    )
    x, y = judge_numbers([overview("x", 1.0), overview("y", None)], panel(KAPPAS), {"x": compared})
    assert (x.agrees_with, x.kappa, x.confusion, x.compared) == ("people", 0.4, ((1, 2), (3, 4)), 7)
    assert (y.agrees_with, y.kappa, y.dollars_per_1000, y.on_front) == (None, None, None, False)


def timed(result: SampleResult) -> SampleResult:
    calls = (
        call.model_copy(update={"seconds": 0.25 * i}) for i, call in enumerate(result.calls, 1)
    )
    return result.model_copy(update={"calls": tuple(calls)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges of whom one is right about three claims and one gives no reply."""
    says = {"strict": TOWER_SAYS, "kind": {}, "dead": {}}
    return make(
        tmp_path_factory.mktemp("runs") / "run", [TOWER], says, failing=("dead",), revise=timed
    )


def numbers(run: Path) -> dict[str, JudgeNumbers]:
    return {one.judge: one for one in gather(run).judge_numbers}


def test_failures_have_an_example(run: Path) -> None:
    dead = numbers(run)["dead"]
    assert dead.failed == {"timeout": 2}
    assert (dead.examples["timeout"].sample_id, dead.examples["timeout"].message) == (
        "tower",
        "no complete reply in 5 s",
    )
    assert dead.examples["timeout"].reply is None


def test_seconds_of_calls_are_added_up(run: Path) -> None:
    found = json.loads((run / "summary.json").read_text())["cost"]
    timed_calls = [call.seconds or 0 for result in gather_calls(run) for call in result.calls]
    assert found["total"]["seconds"] == pytest.approx(sum(timed_calls))
    assert numbers(run)["strict"].seconds is not None


def gather_calls(run: Path) -> list[SampleResult]:
    found: list[SampleResult] = []
    gather(run, found.append)
    return found


def test_agreement_of_a_run_has_its_judges(run: Path) -> None:
    found = measure_run(run)
    assert [one.judge for one in found.judges] == ["strict", "kind", "dead"]
    # there is a panel
    assert found.disputes == gather(run).summary.panel.disputes  # type: ignore[union-attr]


def test_calibration_is_that_of_the_bins() -> None:
    """0.9 and 0.8 state two truths, 0.2 a lie; bins 8, 9 and 2. Errors 0.1, 0.2 and 0.2, a third
    each."""
    found = calibration([0.9, 0.85, 0.25, None, 0.5], [True, True, False, True, None])
    assert [(one.n, one.probability, one.share) for one in found.bins] == [
        (1, 0.25, 0.0),
        (1, 0.85, 1.0),
        (1, 0.9, 1.0),
    ]
    assert found.error == pytest.approx((0.25 + 0.15 + 0.1) / 3)
    assert found.brier == pytest.approx((0.0625 + 0.0225 + 0.01) / 3)
    assert calibration([1.0], [True]).bins[0].low < 1.0
    assert calibration([], []) == calibration([None], [True])
    with pytest.raises(UsageError, match="a truth for each"):
        calibration([0.5], [])
