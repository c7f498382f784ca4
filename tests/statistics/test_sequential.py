"""Decisions before all scores are known: rules worked by hand, and simulations of the promise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from claimeval.statistics.sequential import LEAST, SequentialMean, Side

Scores = Sequence[float | None]


def decided(
    clusters: Sequence[Scores], threshold: float, *, confidence: float = 0.95
) -> tuple[Side | None, int]:
    """Read clusters until the threshold is decided, and return the decision and how many were
    read."""
    largest = max(map(len, clusters))
    mean = SequentialMean(
        len(clusters), [threshold], largest=largest, confidence=confidence, steps=1
    )
    for scores in clusters:
        mean.add(scores)
        side = mean.decision(threshold)
        if side:
            return side, mean.read
    return None, mean.read


def mean_of(clusters: Sequence[Scores]) -> float:
    values = [score for scores in clusters for score in scores if score is not None]
    return sum(values) / len(values)


def test_arithmetic_decides_as_soon_as_the_rest_cannot_change_it() -> None:
    """Of 12 scores, 7 ones are above a mean of .5 whatever the others are: 7 > 12 * .5."""
    scores = [[1.0]] * 7 + [[0.0]] * 5
    assert decided(scores, 0.5, confidence=1 - 1e-9) == ("above", 7)
    assert decided([[0.0]] * 7 + [[1.0]] * 5, 0.5, confidence=1 - 1e-9) == ("below", 7)


def test_a_mean_at_the_threshold_is_never_decided_by_arithmetic() -> None:
    assert decided([[1.0], [0.0]] * 6, 0.5, confidence=1 - 1e-9) == (None, 12)


def test_the_first_bets_are_those_of_the_formula() -> None:
    """The prior mean is 1/2 with variance 1/4: at t = .4 of 100 the stake is .1 / (.25 + .01).

    The first score of 1 multiplies the capital by 1 + .3846 * .6 = 1.2308; then m = (40 - 1) / 99,
    the mean .75 and the variance .125.
    """
    mean = SequentialMean(100, [0.4])
    place = int(mean._t.tolist().index(0.4))
    mean.add([1.0])
    first = 1 + 0.1 / 0.26 * 0.6
    assert mean._log_capital[0][place] == pytest.approx(math.log(first))
    mean.add([1.0])
    m = 39 / 99
    stake = min((0.75 - m) / (0.125 + (0.75 - m) ** 2), 0.75 / m)
    second = first * (1 + stake * (1 - m))
    assert mean._log_capital[0][place] == pytest.approx(math.log(second))


def test_nothing_is_decided_by_betting_before_ten_clusters() -> None:
    side, read = decided([[1.0]] * 1000, 0.01)
    assert (side, read) == ("above", LEAST)


def test_samples_without_a_score_move_nothing() -> None:
    """Their number is not known before the end, so they may not count as anything but the
    threshold."""
    scores: list[Scores] = [[1.0], [None], [0.0], [None], [1.0], [1.0], [1.0]]
    mean = SequentialMean(7, [0.5])
    for one in scores:
        mean.add(one)
    assert mean.decision(0.5) == "above"  # 4 of 5
    assert mean.decision(0.9) == "below"


def test_the_interval_closes_on_the_mean_of_the_whole_set() -> None:
    mean = SequentialMean(40, [0.5])
    for n in range(40):
        mean.add([float(n % 4 == 0)])
    low, high = mean.interval
    assert low == pytest.approx(0.25, abs=0.002)
    assert high == pytest.approx(0.25, abs=0.002)


def test_the_interval_leaves_out_what_is_decided() -> None:
    mean = SequentialMean(1000, [0.8])
    for n in range(80):
        mean.add([float(n % 20 > 0)])
    assert mean.decision(0.8) == "above"
    low, high = mean.interval
    assert 0.8 < low < 0.95 < high


def test_differences_have_another_scale() -> None:
    mean = SequentialMean(400, [-0.03], low=-1.0, high=1.0)
    for n in range(120):
        mean.add([0.5 if n % 2 else 0.0])
    assert mean.decision(-0.03) == "above"
    assert mean.interval[0] > -0.03


@pytest.mark.parametrize(
    "wrong",
    [{"clusters": 0}, {"confidence": 1.0}, {"largest": 0}, {"low": 1.0}],
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SequentialMean(**({"clusters": 10, "thresholds": [0.5]} | wrong))  # type: ignore[arg-type]


def test_more_clusters_than_there_are_is_an_error() -> None:
    mean = SequentialMean(1, [0.5])
    mean.add([1.0])
    with pytest.raises(ValueError, match="all 1 clusters"):
        mean.add([1.0])


def _plain(draw: random.Random) -> list[Scores]:
    return [[float(draw.random() < 0.7)] for _ in range(300)]


def _shares(draw: random.Random) -> list[Scores]:
    return [[draw.betavariate(4, 2)] for _ in range(200)]


def _clustered(draw: random.Random) -> list[Scores]:
    """Questions of 1 to 6 samples whose scores depend on the question."""
    clusters: list[Scores] = []
    for _ in range(120):
        right = draw.betavariate(2, 1)
        clusters.append([float(draw.random() < right) for _ in range(draw.randint(1, 6))])
    return clusters


def _missing(draw: random.Random) -> list[Scores]:
    """A fifth of the samples has no score, and those that have one are worse than they seem at
    first."""
    clusters: list[Scores] = []
    for _ in range(250):
        clusters.append([None if draw.random() < 0.2 else float(draw.random() < 0.6)])
    return clusters


@pytest.mark.parametrize("world", [_plain, _shares, _clustered, _missing])
@pytest.mark.parametrize("gap", [0.0, 0.02, -0.02, 0.06, -0.06])
def test_decisions_are_those_of_the_whole_set(
    world: Callable[[random.Random], list[Scores]], gap: float
) -> None:
    """Of 60 orders at most one in twenty is decided wrongly, and 4 standard errors: 9."""
    draw = random.Random(f"{world.__name__} {gap}")
    clusters = world(draw)
    truth = mean_of(clusters)
    threshold = truth + gap
    wrong = 0
    read = 0
    for _ in range(60):
        draw.shuffle(clusters)
        side, n = decided(clusters, threshold)
        read += n
        if gap:
            wrong += side is not None and (side == "above") == (gap > 0)
        else:
            wrong += side == "below"
    assert wrong <= 9
    if abs(gap) >= 0.06:
        assert read < 60 * len(clusters) * 0.9
