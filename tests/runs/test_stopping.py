"""Runs that stop when their gates are decided."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.runs.directory import incomplete
from claimeval.runs.gates import Baseline
from claimeval.runs.gates import check as limits_of
from claimeval.runs.stopping import Gating, Watch, expected, order
from claimeval.testing import claims_reply, verdicts_reply
from claimeval.types.errors import UsageError
from claimeval.types.gates import Gates
from claimeval.types.records import Reason, Sample, SampleResult, Score

NAME = "faithfulness"


def rows(right: Sequence[bool]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{n}",
            "question": f"How high is tower {n}?",
            "answer": f"Tower {n} is {'58' if is_right else '99'} metres high.",
            "contexts": [f"Tower {n} is 58 metres high."],
        }
        for n, is_right in enumerate(right)
    ]


def drawn(n: int, share: float, seed: int = 1) -> list[bool]:
    draw = random.Random(seed)
    return [draw.random() < share for _ in range(n)]


CONTEXTS = {f"Tower {n} is 58 metres high." for n in range(400)}


class Counting:
    """A judge that reads the number of the tower, and counts what it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, messages: Sequence[dict[str, str]]) -> str:
        self.calls += 1
        text = "\n".join(message["content"] for message in messages)
        (says,) = set(re.findall(r"Tower \d+ is \d+ metres high\.", text)) - CONTEXTS or {""}
        says = says or next(one for one in CONTEXTS if one in text)
        if "verdict" not in text:
            return claims_reply(says)
        return verdicts_reply(["contradicted" if "99" in says else "supported"])


def scored(
    data: Sequence[dict[str, Any]], cache: Path, gates: Gates | None = None, **settings: Any
) -> tuple[ce.Run, int]:
    ask = Counting()
    judge = ce.Judge.from_callable("counting", ask, model="house", family="none")
    options = ce.RunOptions(cache=cache, concurrency=4, **settings)
    run = ce.score(data, judges=judge, metrics=NAME, gates=gates, options=options)
    return run, ask.calls


def test_a_stopped_run_pays_for_a_part_and_the_same_call_for_the_rest(tmp_path: Path) -> None:
    data = rows(drawn(400, 0.92))
    gates = Gates(fail_under={NAME: 0.7})
    whole, all_calls = scored(data, tmp_path / "one", gates)
    stopped, first = scored(data, tmp_path / "two", gates, stop_when_decided=0.95)
    assert (whole.record.complete, stopped.record.complete) == (True, False)
    assert stopped.record.decided
    (gate,) = stopped.record.gates
    assert (gate.outcome, gate.of) == ("passed", 400)
    assert gate.after is not None
    assert gate.after < 100
    assert first < all_calls / 2
    again, rest = scored(data, tmp_path / "two", gates)
    assert first + rest == all_calls
    assert again.summary == whole.summary
    assert [(one.outcome, one.after) for one in again.record.gates] == [("passed", None)]


def test_a_decision_is_said_as_one_and_its_ends_are_of_the_same_test(tmp_path: Path) -> None:
    gates = Gates(fail_under={NAME: 0.8}, fail_over={NAME: 0.3})
    run, _ = scored(rows(drawn(300, 0.4)), tmp_path, gates, stop_when_decided=0.9)
    failed = next(gate for gate in run.record.gates if gate.kind == "fail_under")
    assert failed.outcome == "failed"
    assert f"decided after {failed.after} of 300 samples: {NAME} is below 0.8" in failed.says
    assert "(90% certain, however often one looks)" in failed.says
    assert "is not the final number" in failed.says
    assert failed.high is not None
    assert failed.high < 0.8
    metric = run[NAME]
    assert metric.ends == "sequence"
    assert run.ending.code == 0
    assert "stopped after" in (run.record.stopped or "")


def test_the_order_has_nothing_to_do_with_the_file() -> None:
    samples = [Sample(id=str(n), question=f"{n % 40}?") for n in range(100)]
    backwards = order(reversed(samples), None)
    in_order = order(samples, None)
    assert [one.id for one in backwards.items] != [one.id for one in samples]
    clusters = [one.question for one in in_order.items]
    assert clusters == [one.question for one in backwards.items]
    assert sorted(in_order.sizes) == [2] * 20 + [3] * 20
    # samples of a question stand together
    changes = sum(a != b for a, b in itertools.pairwise(clusters))
    assert changes == 39


@pytest.mark.parametrize("option", ["batch", "offline", "shard", "engine"])
def test_what_asks_everything_at_once_cannot_stop(option: str, tmp_path: Path) -> None:
    value = {"shard": "1/2", "engine": "ray"}.get(option, True)
    options = ce.RunOptions(stop_when_decided=0.95, cache=tmp_path, **{option: value})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"cannot be used with --{option}"):
        ce.score(
            rows([True]),
            judges="openai:m@http://127.0.0.1:9",
            metrics=NAME,
            gates=Gates(fail_under={NAME: 0.5}),
            options=options,
        )


@pytest.mark.parametrize("gates", [None, Gates(), Gates(max_missing=0.5)])
def test_without_a_gate_on_a_mean_there_is_nothing_to_decide(gates: Gates | None) -> None:
    with pytest.raises(UsageError, match="needs a gate on a mean"):
        ce.score(
            rows([True]),
            judges="openai:m@http://127.0.0.1:9",
            gates=gates,
            options=ce.RunOptions(stop_when_decided=0.95),
        )


@pytest.mark.parametrize("certainty", [0.2, 1.0, 95])
def test_a_certainty_is_a_probability(certainty: float) -> None:
    with pytest.raises(UsageError, match="stop_when_decided"):
        ce.RunOptions(stop_when_decided=certainty)


def result(number: int, value: float | None, because: Reason = "no_claims") -> SampleResult:
    score = Score.undefined(because) if value is None else Score.share(value)
    sample = Sample(id=str(number), question=f"{number}?")
    return SampleResult.of(sample, scores={NAME: score})


def watch(gates: Gates, results: Sequence[SampleResult], baseline: Baseline | None = None) -> Watch:
    """Show results to the gates until they are decided."""
    ordered = order(results, None)
    watched = Watch(gates, limits_of(gates, [NAME]), ordered, 0.95, baseline)
    for one in ordered.items:
        watched.add(one)
        if watched.ended:
            break
    return watched


def outcomes(watched: Watch) -> list[str]:
    return [gate.outcome for gate in watched.results({})]


def test_a_gate_on_bounds_does_not_pass_early() -> None:
    """A judge that abstains on a tenth of the claims makes the gate compare bounds."""
    results = [result(n, None if n % 8 == 0 else 1.0, "unsure") for n in range(400)]
    watched = watch(Gates(fail_under={NAME: 0.5}), results)
    assert (outcomes(watched), watched.judged) == (["undecided"], 400)
    assert "judges abstained" in watched.results({})[0].says
    low = [result(n, None if n % 8 == 0 else 0.0, "unsure") for n in range(400)]
    assert outcomes(watch(Gates(fail_under={NAME: 0.5}), low)) == ["failed"]


def test_a_run_ends_as_soon_as_too_much_is_lost_for_sure() -> None:
    """More than 1% of 400 are five; that less is lost is never waited for."""
    results = [result(n, None, "timeout") for n in range(400)]
    watched = watch(Gates(fail_under={NAME: 0.5}), results)
    assert watched.judged == 5
    assert outcomes(watch(Gates(fail_under={NAME: 0.5}), [result(n, 1.0) for n in range(400)])) == [
        "passed"
    ]


def test_one_failed_gate_ends_the_run_whatever_the_others_say() -> None:
    gates = Gates(fail_under={NAME: 0.9}, fail_over={NAME: 0.5001})
    watched = watch(gates, [result(n, 0.5) for n in range(2000)])
    assert outcomes(watched) == ["failed", "undecided"]
    assert watched.reason.endswith("because a gate has failed")


def test_a_gate_beyond_chance_is_never_decided_early() -> None:
    before = Baseline.of_results("main", [result(n, 1.0) for n in range(300)])
    gates = Gates(max_drop={NAME: 0.03}, baseline="main", beyond_chance=True)
    watched = watch(gates, [result(n, 0.0) for n in range(300)], before)
    assert outcomes(watched) == ["undecided"]
    assert "--beyond-chance" in watched.results({})[0].says


World = Callable[[random.Random], tuple[list[SampleResult], list[SampleResult]]]


def _noisy(draw: random.Random) -> tuple[list[SampleResult], list[SampleResult]]:
    """Pairs that differ in a third of the samples; some have no partner, and some no score."""
    before = []
    after = []
    for n in range(250):
        value = float(draw.random() < 0.7)
        changed = float(draw.random() < 0.62) if draw.random() < 0.33 else value
        if draw.random() < 0.95:
            before.append(result(n, value))
        after.append(result(n, None if draw.random() < 0.05 else changed))
    return before, after


@pytest.mark.parametrize("gap", [-0.04, -0.01, 0.01, 0.04])
def test_a_loss_is_decided_as_by_the_whole_run(gap: float) -> None:
    """At most 5% of 40 worlds, and 3.5 standard errors: 7."""
    wrong = 0
    read = 0
    for seed in range(40):
        draw = random.Random(f"{seed} {gap}")
        before, after = _noisy(draw)
        baseline = Baseline.of_results("main", before)
        losses = []
        for one in after:
            earlier = baseline.value(one.id, NAME)
            now = one.scores[NAME].value
            if earlier is not None and now is not None:
                losses.append(earlier - now)
        truth = sum(losses) / len(losses)
        limit = min(1.0, max(0.0, truth + gap))
        gates = Gates(max_drop={NAME: limit}, baseline="main")
        watched = watch(gates, after, baseline)
        (outcome,) = outcomes(watched)
        read += watched.judged
        wrong += outcome == ("failed" if truth <= limit else "passed")
    assert wrong <= 7


def test_what_stopping_saves_is_foreseen_from_the_last_run_of_the_data(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(drawn(200, 0.9))))
    options = ce.RunOptions(stop_when_decided=0.95)
    runs = tmp_path / "runs"
    run = ce.score(file, judges="local:lexical", metrics=NAME, out=runs / "before")
    near = Gating.of(Gates(fail_under={NAME: 0.85}), run.manifest, options)
    far = Gating.of(Gates(fail_under={NAME: 0.5}), run.manifest, options)
    assert near
    assert far
    digest = run.manifest.data.digest
    shares = [expected(gating, digest, runs) for gating in (near, far)]
    assert [found.run for found in shares if found] == [runs / "before"] * 2
    assert [found.share for found in shares if found] == sorted(
        [found.share for found in shares if found], reverse=True
    )
    assert shares[1]
    assert shares[1].share < 0.3
    assert expected(near, "other data", runs) is None


def test_a_stopped_run_is_said_to_be_one_wherever_it_is_read(tmp_path: Path) -> None:
    gates = Gates(fail_under={NAME: 0.5})
    data = rows(drawn(200, 0.95))
    options = ce.RunOptions(stop_when_decided=0.95)
    whole = ce.score(data, judges="local:lexical", metrics=NAME, out=tmp_path / "whole")
    stopped = ce.score(
        data, judges="local:lexical", metrics=NAME, gates=gates, options=options, out=tmp_path / "s"
    )
    says = incomplete(tmp_path / "s")
    assert says
    assert "stopped after" in says
    assert "of 200 samples, because every gate is decided" in says
    with pytest.warns(UserWarning, match="stopped after"):
        comparison = ce.compare(whole, stopped)
    assert "Run b stopped after" in comparison.headline
    assert stopped.record.decided
    assert any(note.startswith("Decided after") for note in stopped.notes)
    assert "Decided after" in stopped.report(format="md")
