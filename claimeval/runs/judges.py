"""Comparison of the judges of a run: cost, speed, agreement and failures of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from claimeval.types.records import Reason, Record

if TYPE_CHECKING:
    from claimeval.evaluation.summary.panel import PanelSummary
    from claimeval.runs.overview import JudgeOverview

EXCERPT = 400
"""Characters of a reply that an example of a failure quotes."""


class FailedReply(Record):
    """An example of a failed call."""

    sample_id: str
    step: str
    call: str
    """Key of the call."""
    reply: str | None
    """Beginning of the raw reply; None if there is none."""
    message: str | None


class JudgeNumbers(Record):
    """Cost, speed, agreement and failures of one judge."""

    judge: str
    verdicts: int
    """Requested verdicts."""
    dollars_per_1000: float | None
    """US dollars for 1,000 verdicts at the stated price, extraction left out; None if the price is
    unknown."""
    seconds: float | None
    """Median seconds per reply; None if no call is timed."""
    compared: int
    """Verdicts that are compared with `agrees_with`."""
    agrees_with: Literal["people", "panel"] | None
    """The labels that it is compared with: those of people if there are any, else the panel's; None
    for a single judge without human labels."""
    agreement: float | None
    """Share of equal labels."""
    kappa: float | None
    """Cohen's kappa."""
    kappa_with_judges: float | None
    """Mean of Cohen's kappa with each of the other judges."""
    odd_one: bool = False
    """Whether `kappa_with_judges` is the lowest of three or more judges."""
    on_front: bool = False
    """Whether the judge is on the Pareto front: no other judge agrees at least as much for less."""
    labels: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    """`confusion[a][b]`: items that people, or the panel, label `labels[a]` and the judge
    `labels[b]`."""
    failed: dict[Reason, int]
    """Calls without a usable reply, by reason."""
    examples: dict[Reason, FailedReply]
    """The first failed call of each reason."""


class JudgeAgainstPeople(Record):
    """Agreement of a judge with people."""

    compared: int
    agreement: float | None
    kappa: float | None
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]


def judge_numbers(
    judges: Sequence[JudgeOverview],
    panel: PanelSummary | None,
    people: Mapping[str, JudgeAgainstPeople] | None = None,
) -> tuple[JudgeNumbers, ...]:
    """Return the numbers of each judge with verdicts.

    Args:
        judges: The overview of each judge.
        panel: Agreement of the judges; None for a single judge.
        people: Agreement of each judge with people, by name; None without labels.
    """
    numbers = []
    agrees_with: Literal["people", "panel"] = "people" if people else "panel"
    for judge in judges:
        if not judge.verdicts:
            continue
        dollars = judge.assessment_cost.dollars
        compared = _compared(judge.name, panel, people)
        numbers.append(
            JudgeNumbers(
                judge=judge.name,
                verdicts=judge.verdicts,
                dollars_per_1000=None if dollars is None else 1000 * dollars / judge.verdicts,
                seconds=judge.seconds,
                compared=compared.compared if compared else 0,
                agrees_with=agrees_with if compared else None,
                agreement=compared.agreement if compared else None,
                kappa=compared.kappa if compared else None,
                kappa_with_judges=_kappa_with_judges(judge.name, panel),
                labels=compared.labels if compared else (),
                confusion=compared.confusion if compared else (),
                failed=judge.failed,
                examples=judge.examples,
            )
        )
    front = _front(numbers)
    odd = _odd_one(numbers)
    return tuple(
        of_judge.model_copy(
            update={"on_front": of_judge.judge in front, "odd_one": of_judge.judge == odd}
        )
        for of_judge in numbers
    )


def _compared(
    judge: str, panel: PanelSummary | None, people: Mapping[str, JudgeAgainstPeople] | None
) -> JudgeAgainstPeople | None:
    if people:
        return people.get(judge)
    for pair in panel.judge_vs_panel if panel else ():
        if pair.first == judge and panel:
            # The pair has the judge in its rows; here the rows are the panel's, as those of people
            # are.
            transposed = tuple(zip(*pair.confusion, strict=True))
            return JudgeAgainstPeople(
                compared=pair.claims,
                agreement=pair.raw_agreement,
                kappa=pair.kappa,
                labels=panel.labels,
                confusion=transposed,
            )
    return None


def _kappa_with_judges(judge: str, panel: PanelSummary | None) -> float | None:
    pairs = panel.judge_pairs if panel else ()
    kappas = [
        pair.kappa
        for pair in pairs
        if judge in (pair.first, pair.second) and pair.kappa is not None
    ]
    return sum(kappas) / len(kappas) if kappas else None


def _odd_one(judges: Sequence[JudgeNumbers]) -> str | None:
    kappas = sorted(
        (judge.kappa_with_judges, judge.judge)
        for judge in judges
        if judge.kappa_with_judges is not None
    )
    if len(kappas) < 3:
        return None
    (least, judge), (second, _), *_ = kappas
    return judge if least < second else None


def _front(judges: Sequence[JudgeNumbers]) -> set[str]:
    """Return the judges on the Pareto front of cost and agreement."""
    priced = [
        (judge.dollars_per_1000, judge.kappa, judge.judge)
        for judge in judges
        if judge.dollars_per_1000 is not None and judge.kappa is not None
    ]
    front = set()
    for cost, kappa, name in priced:
        as_good = {(c, k) for c, k, _ in priced if c <= cost and k >= kappa}
        if as_good == {(cost, kappa)}:
            front.add(name)
    return front
