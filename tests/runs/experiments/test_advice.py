"""Which arm the first line of an experiment says to take, and what it says of the others."""

from __future__ import annotations

import pytest

from claimeval.runs.experiments.results import ArmResult, ExperimentResult
from claimeval.runs.experiments.selection import LabelAgreement
from claimeval.runs.views.experiment import advice
from claimeval.types.estimates import Cost, Estimate


def arm(
    name: str, agrees: float, *, dollars: float | None = None, behind: float | None = None
) -> ArmResult:
    """An arm with the label of people for this share of claims, give or take a twentieth; its
    distance `behind` the best arm is known to three points."""
    same = Estimate(
        value=agrees,
        low=agrees - 0.05,
        high=agrees + 0.05,
        n=95,
        clusters=95,
        ends="interval",
    )
    distance = None
    if behind is not None:
        distance = Estimate(
            value=behind, low=behind - 0.03, high=behind + 0.03, n=95, clusters=95, ends="interval"
        )
    return ArmResult(
        name=name,
        run=name,
        metrics={},
        claims=95,
        unassessed_rate=None,
        parse_failure_rate=None,
        flips=0,
        compared=0,
        relabeled=0,
        labeled_once=0,
        cost=Cost(calls=1, prompt_tokens=1, completion_tokens=1, dollars=dollars),
        label_agreement=LabelAgreement(claims=95, same=same, behind=distance),
    )


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        ((arm("a", 0.9),), ""),
        ((arm("a", 0.9), arm("b", 0.8, behind=0.1)), ", the most of 2 arms"),
        # Both err on the same claims: the difference is known better than either share.
        ((arm("a", 0.9), arm("b", 0.86, behind=0.04)), ", the most of 2 arms"),
        (
            (arm("a", 0.9), arm("b", 0.88, behind=0.02)),
            ", the most of 2 arms, but the 88.0% of b may be lower by chance alone",
        ),
        # They have no claim in common, or too few questions.
        (
            (arm("a", 0.9), arm("b", 0.6)),
            ", the most of 2 arms, but the 60.0% of b may be lower by chance alone",
        ),
        (
            (
                arm("a", 0.9),
                arm("b", 0.88, behind=0.02),
                arm("c", 0.87, behind=0.03),
                arm("d", 0.5, behind=0.4),
            ),
            ", the most of 4 arms, but 2 others may be lower by chance alone",
        ),
        ((arm("a", 0.9), arm("b", 0.9, behind=0.0)), ", and no arm to more"),
        (
            (arm("a", 0.9), arm("b", 0.9, behind=0.0), arm("c", 0.89, behind=0.01)),
            ", and no arm to more, but the 89.0% of c may be lower by chance alone",
        ),
        (
            (arm("b", 0.92, dollars=9.0), arm("a", 0.9, dollars=1.0, behind=0.02)),
            ", and costs less than b, whose 92.0% may be better by chance alone",
        ),
    ],
)
def test_an_arm_within_the_interval_of_the_best_one_may_be_as_good(
    arms: tuple[ArmResult, ...], said: str
) -> None:
    result = ExperimentResult(
        data="towers.jsonl",
        baseline=arms[0].name,
        samples=95,
        clusters=95,
        cluster=None,
        arms=arms,
    )

    start = "Take a: it gives the label of people to 90.0% of 95 claims"
    assert advice(result) == f"{start}{said}."
