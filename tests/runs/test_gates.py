"""Gates: exact means, and the loss against a baseline."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.evaluation.manifest import DataSource
from claimeval.metrics.scoring import MetricTally
from claimeval.runs.gates import Baseline, evaluate, is_below, loss
from claimeval.testing import ScriptedJudge
from claimeval.types.errors import UsageError
from claimeval.types.gates import GateResult, Gates
from claimeval.types.records import Sample, SampleResult, Score

FAITHFULNESS = "faithfulness"


def results(values: Sequence[float | None], name: str = FAITHFULNESS) -> list[SampleResult]:
    """A result for each value, with the ids 0, 1, ..."""
    made = []
    for number, value in enumerate(values):
        score = Score.undefined("no_claims") if value is None else Score.share(value)
        sample = Sample(id=str(number), question=f"{number}?")
        made.append(SampleResult.of(sample, scores={name: score}))
    return made


def judged(
    gates: Gates,
    values: Sequence[float | None],
    before: Sequence[float | None] = (),
    name: str = "",
) -> GateResult:
    name = name or FAITHFULNESS
    tally = MetricTally()
    samples = results(values, name)
    for number, result in enumerate(samples):
        tally.add(result.scores[name], cluster=number)
    baseline = Baseline.of_results("main", results(before, name)) if before else None
    (found,) = evaluate(gates, {name: tally.summary()}, samples, baseline)
    return found


@pytest.mark.parametrize("share", [0.7, 0.1, 0.3, 1 / 3, 2 / 3, 0.9, 0.6])
@pytest.mark.parametrize("samples", [1, 3, 7, 10, 49, 1000])
def test_a_mean_of_equal_shares_is_neither_below_nor_above_them(share: float, samples: int) -> None:
    """Three times 7/10 add up to 2.0999999999999996, a third of which is below 0.7."""
    values = [share] * samples
    assert judged(Gates(fail_under={FAITHFULNESS: share}), values).outcome == "passed"
    assert judged(Gates(fail_over={FAITHFULNESS: share}), values).outcome == "passed"
    assert judged(Gates(fail_under={FAITHFULNESS: share + 1e-6}), values).outcome == "failed"
    assert judged(Gates(fail_over={FAITHFULNESS: share - 1e-6}), values).outcome == "failed"


def test_a_loss_is_over_the_samples_that_both_runs_have() -> None:
    """By hand: (1 + 0 + 1) - (1 + 1 + 1) over three; samples 3 and 4 have no partner."""
    gates = Gates(max_drop={FAITHFULNESS: 0.3}, baseline="main")
    found = judged(gates, [1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0, 0.0])
    assert found.value == pytest.approx(1 / 3)
    assert (found.outcome, found.pairs, found.unpaired) == ("failed", 3, 2)
    assert "0.33 lower than in main, more than the 0.3 allowed" in found.says
    assert "2 have no partner" in found.says


def test_a_loss_of_exactly_the_margin_holds() -> None:
    gates = Gates(max_drop={FAITHFULNESS: 0.1}, baseline="main")
    found = judged(gates, [0.6] * 9, [0.7] * 9)
    assert (found.outcome, round(found.value or 0, 12)) == ("passed", 0.1)


def test_metrics_of_faults_lose_by_rising() -> None:
    assert loss("hallucination", 0.3, 0.1) == pytest.approx(0.2)
    gates = Gates(max_drop={"hallucination": 0.1}, baseline="main")
    found = judged(gates, [0.3, 0.3], [0.1, 0.1], "hallucination")
    assert found.failed
    assert found.value == pytest.approx(0.2)
    assert "0.20 higher" in found.says


def test_a_sample_without_a_value_is_no_pair() -> None:
    gates = Gates(max_drop={FAITHFULNESS: 0.0}, baseline="main")
    assert judged(gates, [1.0, None], [1.0, 1.0]).pairs == 1
    unknown = judged(gates, [None], [1.0])
    assert (unknown.outcome, unknown.value) == ("failed", None)
    assert "is unknown" in unknown.says


def test_a_loss_is_the_largest_possible_one_where_judges_abstained() -> None:
    """By hand, over the three samples that both runs have: 8 of 10 claims, 6 of them true and 2
    without a verdict, after 0.8, so that 0.2 each may be lost. The fourth sample has no partner."""
    scores = [Score.counted(hits=6, judged=8, total=10)] * 3
    scores.append(Score.counted(hits=0, judged=1, total=10))
    tally = MetricTally()
    samples = []
    for number, score in enumerate(scores):
        tally.add(score, cluster=number)
        sample = Sample(id=str(number), question=f"{number}?")
        samples.append(SampleResult.of(sample, scores={FAITHFULNESS: score}))
    metric = tally.summary().model_copy(update={"ends": "bounds"})
    gates = Gates(max_drop={FAITHFULNESS: 0.1}, baseline="main")
    main = Baseline.of_results("main", results([0.8] * 3))
    (found,) = evaluate(gates, {FAITHFULNESS: metric}, samples, main)
    assert found.failed
    assert found.value == pytest.approx(0.2)
    assert "may be 0.20 lower than in main, as judges abstained on many claims" in found.says


def _pairs(seed: int, drop: float) -> tuple[list[float], list[float]]:
    """300 pairs whose differences have a standard deviation of about 0.30."""
    draw = random.Random(seed)
    before = []
    after = []
    for _ in range(300):
        quality = draw.uniform(0.25, 0.75)
        before.append(min(1.0, max(0.0, quality + draw.gauss(0, 0.21))))
        after.append(min(1.0, max(0.0, quality - drop + draw.gauss(0, 0.21))))
    return before, after


def failures(drop: float, *, beyond_chance: bool = False) -> int:
    gates = Gates(max_drop={FAITHFULNESS: 0.03}, baseline="main", beyond_chance=beyond_chance)
    failed = 0
    for seed in range(60):
        before, after = _pairs(seed, drop)
        failed += judged(gates, after, before).failed
    return failed


def test_an_equal_system_seldom_fails_and_a_worse_one_nearly_always() -> None:
    """Of 60 at most 5% and 2.3 standard errors (7); of 60 at least 98% less that (57)."""
    assert failures(0.0) <= 7
    assert failures(0.08) >= 57


def test_beyond_chance_a_loss_needs_an_interval_without_0() -> None:
    gates = {"max_drop": {FAITHFULNESS: 0.03}, "baseline": "main"}
    after = [0.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    before = [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    worse = [0.0, *after[1:3], 0.0, 0.0, 1.0]
    assert judged(Gates(**gates), worse, before).outcome == "failed"  # type: ignore[arg-type]
    chance = judged(Gates(**gates, beyond_chance=True), worse, before)  # type: ignore[arg-type]
    assert (chance.outcome, "within chance" in chance.says) == ("passed", True)
    assert chance.says.endswith("(the interval covered as little as 90% in simulations)")


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        ({"max_drop": {FAITHFULNESS: 0.1}}, "--max-drop needs --baseline"),
        ({"baseline": "main"}, "--baseline needs --max-drop"),
        ({"beyond_chance": True}, "--beyond-chance is about --max-drop"),
        ({"max_drop": {FAITHFULNESS: 3}, "baseline": "main"}, "from 0 to 1"),
        ({"max_missing": -1}, "max_missing"),
    ],
)
def test_limits_that_make_no_sense_are_refused(gates: Mapping[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Gates(**gates)  # type: ignore[arg-type]  # what is refused


def test_a_metric_that_the_baseline_does_not_have_is_named() -> None:
    with pytest.raises(UsageError, match=r"metric of the baseline main.*Did you mean"):
        Baseline.of_results("main", results([1.0])).check(
            Gates(max_drop={"faithfulnes": 0.1}, baseline="main").limits
        )


def test_a_run_is_compared_with_another_by_python(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "question": f"{n}?", "answer": f"It is {n}.", "contexts": [f"It is {n}."]}
        for n in range(6)
    ]
    good = ce.score(
        rows,
        judges=ScriptedJudge({}, default="supported"),
        metrics=FAITHFULNESS,
        out=tmp_path / "a",
    )
    script = {"It is 1.": "contradicted", "It is 2.": "not_found"}
    bad = ce.score(rows, judges=ScriptedJudge(script, default="supported"), metrics=FAITHFULNESS)
    for baseline in (good, tmp_path / "a"):
        (gate,) = bad.gate(max_drop={FAITHFULNESS: 0.3}, baseline=baseline)
        assert gate.failed
        assert gate.value == pytest.approx(1 / 3)
    (gate,) = good.gate(max_drop={FAITHFULNESS: 0.0}, baseline=bad)
    assert not gate.failed
    assert gate.value == pytest.approx(-1 / 3)
    assert is_below(0.1, 0.2)


def test_a_loss_is_between_samples_that_ask_the_same() -> None:
    """The second run has other ids in another order: by row, each sample would lose 1 or gain 1."""

    def run(order: Sequence[int], name: str) -> list[SampleResult]:
        return [
            SampleResult.of(
                Sample(id=name.format(row), question=f"{asked}?"),
                scores={FAITHFULNESS: Score.share(float(asked % 2))},
            )
            for row, asked in enumerate(order)
        ]

    made = DataSource(ids="made")
    before = run(range(8), "{}")
    after = run([5, 0, 3, 6, 1, 2, 7, 4], "{}")
    gates = Gates(max_drop={FAITHFULNESS: 0.0}, baseline="main")
    tally = MetricTally()
    for number, result in enumerate(after):
        tally.add(result.scores[FAITHFULNESS], cluster=number)
    summary = {FAITHFULNESS: tally.summary()}
    baseline = Baseline.of_results("main", before, made)
    (found,) = evaluate(gates, summary, after, baseline, data=made)
    pairs = found.pairs, found.unpaired
    assert (found.outcome, found.value, pairs) == ("passed", 0.0, (8, 0))
    other = Baseline.of_results("main", run(range(50, 58), "{}"), made)
    with pytest.raises(UsageError, match="of the 8 of this run and 8 of main"):
        evaluate(gates, summary, run(range(100, 108), "x{}"), other, data=DataSource(ids="given"))
