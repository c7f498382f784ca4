"""All ballots of 2 to 5 judges over labels (2 to 4 over grades) under all rules: what holds of
every vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import permutations, product

import pytest

from claimeval.judging.panel import Panel, voting
from claimeval.judging.panel.rules import VOTES
from claimeval.types.records import Assessment, Evidence, Label, Verdict
from claimeval.types.scales import THREE_WAY, Scale, grade_scale

JUDGES = "abcde"
LABELS: tuple[Label, ...] = ("contradicted", "not_found", "supported")
GRADES = grade_scale("grades", highest=3, positive_from=2, divided=False)
RULES: tuple[str, ...] = tuple(VOTES)
ALIKE: tuple[str, ...] = ("majority", "unanimous", "any", "median", "mean")
"""The rules that know no judge from another."""


WEIGHTS = {
    "good judges": (2.0, 1.5, 1.0, 0.5, 2.0),
    "judges at chance": (0.0, 0.0, 0.0, 2.0, 0.5),
}


def voted(
    said: Sequence[str], rule: str, line_up: str = "good judges", tie: str = "abstain"
) -> Assessment:
    """What judges a, b, ... who say that come to."""
    scale = GRADES if said[0] in GRADES.words else THREE_WAY
    verdicts = [verdict(judge, one, scale) for judge, one in zip(JUDGES, said, strict=False)]
    return voting.vote("c", CONTEXTS, verdicts, settings(rule, line_up, tie, scale))


CONTEXTS = Evidence(part="contexts")


@cache
def verdict(judge: str, label: str, scale: Scale) -> Verdict:
    return Verdict(judge=judge, **scale.labeled(label))


@cache
def settings(rule: str, line_up: str, tie: str, scale: Scale) -> Panel:
    return Panel(
        vote=rule, tie=tie, scale=scale, weights=dict(zip(JUDGES, WEIGHTS[line_up], strict=True))
    )


def ballots(choices: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for judges in range(2, 6 if len(choices) == 3 else 5):
        yield from product(choices, repeat=judges)


def supports(choice: str) -> bool:
    return GRADES.positive(choice) if choice in GRADES.words else choice == "supported"


every_rule = pytest.mark.parametrize("rule", RULES)
every_line_up = pytest.mark.parametrize("line_up", WEIGHTS)
every_tie_rule = pytest.mark.parametrize("tie", ["abstain", "conservative", "b"])
every_scale = pytest.mark.parametrize("choices", [LABELS, GRADES.ranked], ids=["labels", "grades"])


@every_scale
@every_tie_rule
@every_line_up
@every_rule
def test_what_every_judge_counts_the_same_the_panel_counts_so(
    rule: str, line_up: str, tie: str, choices: Sequence[str]
) -> None:
    for said in ballots(choices):
        if len({supports(one) for one in said}) == 1:
            found = voted(said, rule, line_up, tie)
            assert (found.support == "supported", found.unassessed) == (
                supports(said[0]),
                None,
            ), said
        if len(set(said)) == 1:
            found = voted(said, rule, line_up, tie)
            assert found.label == said[0], said


@every_tie_rule
@pytest.mark.parametrize("rule", [*ALIKE, "weighted"])
def test_which_label_of_no_support_a_judge_gives_does_not_matter_to_the_score(
    rule: str, tie: str
) -> None:
    """Against the same ballots with `not_found` for every `contradicted`."""
    for said in ballots(LABELS):
        two_way: list[str] = ["not_found" if one == "contradicted" else one for one in said]
        assert value(voted(said, rule, tie=tie)) == value(voted(two_way, rule, tie=tie)), said


@every_scale
@pytest.mark.parametrize("rule", ALIKE)
def test_the_order_of_the_judges_does_not_matter(rule: str, choices: Sequence[str]) -> None:
    for said in ballots(choices):
        if list(said) == sorted(said, key=choices.index):
            found = {
                (a.label, a.tied) for a in (voted(order, rule) for order in set(permutations(said)))
            }
            assert len(found) == 1, said


@every_scale
def test_what_more_than_half_of_the_judges_count_the_same_wins_a_majority(
    choices: Sequence[str],
) -> None:
    for said in ballots(choices):
        (side, votes), *_ = Counter(map(supports, said)).most_common()
        if 2 * votes > len(said):
            assert (voted(said, "majority").support == "supported") == side, said
        (choice, votes), *_ = Counter(said).most_common()
        if 2 * votes > len(said):
            found = voted(said, "majority")
            assert found.label == choice, said


def test_a_majority_of_labels_ties_only_where_half_of_the_judges_find_support() -> None:
    for said in ballots(LABELS):
        tie = 2 * sum(map(supports, said)) == len(said)
        assert (voted(said, "majority").unassessed == "tie") == tie, said


EXPECTED: dict[str, Callable[[int, int], bool | None]] = {
    "unanimous": lambda yes, judges: True if yes == judges else None if yes else False,
    "any": lambda yes, judges: yes > 0,
    "median": lambda yes, judges: 2 * yes > judges,
    "mean": lambda yes, judges: None if 2 * yes == judges else 2 * yes > judges,
}
"""Whether the claim is supported, by the number of judges who say so; None for a tie."""


@pytest.mark.parametrize("rule", EXPECTED)
def test_the_number_of_judges_who_find_support_decides(rule: str) -> None:
    for said in ballots(LABELS):
        assert value(voted(said, rule)) == EXPECTED[rule](sum(map(supports, said)), len(said)), said


@every_scale
@every_line_up
@pytest.mark.parametrize("rule", ["majority", "any", "median", "weighted"])
def test_no_vote_has_a_label_that_no_judge_gave(
    rule: str, line_up: str, choices: Sequence[str]
) -> None:
    for said in ballots(choices):
        assert voted(said, rule, line_up).label in (None, *said), said


@pytest.mark.parametrize("line_up", ["good judges"])
def test_the_greater_weight_of_judges_decides(line_up: str) -> None:
    for said in ballots(LABELS):
        weight = sum(
            w if supports(one) else -w for one, w in zip(said, WEIGHTS[line_up], strict=False)
        )
        assert value(voted(said, "weighted", line_up)) == (None if weight == 0 else weight > 0), (
            said
        )


def value(assessment: Assessment) -> bool | None:
    return None if assessment.label is None else assessment.label == "supported"
