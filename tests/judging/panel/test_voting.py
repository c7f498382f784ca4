"""Verdicts to labels: every rule, ties, quorum, repeats, own family. Worked by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from claimeval.judging import panel
from claimeval.judging.panel import Panel, rules, voting
from claimeval.judging.panel.rules import VOTES, Ballot, VoteRule
from claimeval.providers.specs import valid_settings
from claimeval.types.errors import UsageError
from claimeval.types.records import Assessment, Evidence, Verdict
from claimeval.types.scales import Scale, grade_scale

CONTEXTS = Evidence(part="contexts")
SHORT = {"+": "supported", "-": "contradicted", "0": "not_found"}
FAILURES = {"x": "provider_error", "?": "unsure", "t": "timeout"}


def verdicts(said: str, *, replicate: int = 0, **fields: Any) -> list[Verdict]:
    """A verdict per character: judges a, b, c, ... say + supported, - contradicted, 0 not found, x
    nothing."""
    return [
        Verdict(
            judge=chr(ord("a") + i),
            label=SHORT.get(mark),
            unassessed=FAILURES.get(mark),  # type: ignore[arg-type]
            replicate=replicate,
            **{name: values[i] for name, values in fields.items() if values[i] is not None},
        )
        for i, mark in enumerate(said)
    ]


def vote(said: str, same_family: frozenset[str] = frozenset(), **settings: Any) -> Assessment:
    return voting.vote(
        "answer-1", CONTEXTS, verdicts(said), Panel(**settings), same_family=same_family
    )


def graded(grades: list[int | None], **settings: Any) -> Assessment:
    scale = grade_scale("grades", highest=3, positive_from=2, divided=False)
    return voting.vote("d1", CONTEXTS, grades_of(grades, scale), Panel(scale=scale, **settings))


def grades_of(grades: Sequence[int | None], scale: Scale, replicate: int = 0) -> list[Verdict]:
    """Verdicts of judges a, b, c, ... on an ordered scale; None is an outage."""
    return [
        said.model_copy(update={**scale.labeled(scale.of_step(grade)), "replicate": replicate})
        for said, grade in zip(
            verdicts("".join("x" if g is None else "+" for g in grades)), grades, strict=True
        )
    ]


@pytest.mark.parametrize(
    ("rule", "said", "label"),
    [
        ("majority", "++0", "supported"),
        ("majority", "+0-0-0", "not_found"),
        ("majority", "+0-", "not_found"),  # 2 of 3 find no support
        ("majority", "+--0", "contradicted"),
        ("majority", "0-", "not_found"),
        ("majority", "+++00--", "not_found"),  # 4 of 7
        ("majority", "++0--", "contradicted"),  # 3 of 5, and 2 of these 3
        ("majority", "++00", None),
        ("majority", "++0-", None),
        ("unanimous", "+++", "supported"),
        ("unanimous", "++-", None),
        ("unanimous", "--0", "contradicted"),
        ("unanimous", "0-", "not_found"),
        ("any", "00+", "supported"),
        ("any", "-0-", "not_found"),
        ("any", "---", "contradicted"),
        ("median", "--0", "contradicted"),
        ("median", "-0+", "not_found"),
        ("median", "0++", "supported"),
        ("median", "00++", "not_found"),
        ("mean", "++0", "supported"),
        ("mean", "--0", "contradicted"),
        ("mean", "0--+", "contradicted"),
        ("mean", "-0", "not_found"),
        ("mean", "+0", None),
    ],
)
def test_labels_by_rule(rule: str, said: str, label: str | None) -> None:
    found = vote(said, vote=rule)
    assert found.label == label
    assert found.unassessed == (None if label else "tie")


@pytest.mark.parametrize(
    ("rule", "said", "label"),
    [
        ("majority", "++00", "not_found"),
        ("majority", "++0-", "not_found"),
        ("majority", "+++--0", "contradicted"),
        ("unanimous", "++0", "not_found"),
        ("unanimous", "+--0", "contradicted"),
        ("mean", "+-", "contradicted"),
    ],
)
def test_a_conservative_tie_is_not_supported(rule: str, said: str, label: str) -> None:
    assert vote(said, vote=rule, tie="conservative").label == label


def test_a_named_judge_breaks_ties_only() -> None:
    assert vote("++0-", tie="d").label == "contradicted"
    assert vote("++0-", tie="a").label == "supported"
    assert (
        vote("+++00-", tie="f").label == "not_found"
    )  # f decides that it is not supported; the label is voted on
    assert vote("0-", tie="b").label == "contradicted"
    assert vote("+0x", tie="c").unassessed == "tie"
    assert vote("++0", tie="c").label == "supported"


def test_the_mean_of_probabilities_can_overrule_the_labels() -> None:
    def mean(said: str, probabilities: list[float | None]) -> str | None:
        found = voting.vote(
            "answer-1", CONTEXTS, verdicts(said, probability=probabilities), Panel(vote="mean")
        )
        return found.label

    assert mean("+00", [0.9, 0.4, 0.4]) == "supported"  # 0.567
    assert mean("+00", [0.9, 0.2, None]) == "not_found"  # (0.9 + 0.2 + 0) / 3
    assert mean("+-", [0.6, 0.4]) is None


def test_probabilities_do_not_overrule_judges_of_one_mind() -> None:
    likely = voting.vote(
        "answer-1", CONTEXTS, verdicts("++", probability=[0.45, 0.4]), Panel(vote="mean")
    )
    assert likely.label == "supported"
    unlikely = voting.vote(
        "answer-1", CONTEXTS, verdicts("-0", probability=[0.7, 0.6]), Panel(vote="mean")
    )
    assert unlikely.label == "not_found"


def test_weights_decide() -> None:
    heavy = {"a": 2.0, "b": 0.9, "c": 0.9}
    assert vote("+00", vote="weighted", weights=heavy).label == "supported"
    assert vote("+00", vote="weighted", weights={**heavy, "c": 1.2}).label == "not_found"
    assert vote("+0x", vote="weighted", weights={"a": 1.0, "b": 1.0, "c": 1.0}).unassessed == "tie"
    assert vote("+0-", vote="weighted", weights=heavy).label == "supported"  # 2.0 against 0.9 + 0.9
    assert vote("+0-", vote="weighted", weights={"a": 2.0, "b": 1.2, "c": 0.9}).label == "not_found"


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_weights_decide_by_their_ratio(unit: float) -> None:
    """0.1 + 0.2 and 0.3 are a tie, and 2 against 1 is none, whatever the weights are counted in."""
    tied = {"a": 0.1 * unit, "b": 0.2 * unit, "c": 0.3 * unit}
    assert vote("++0", vote="weighted", weights=tied).unassessed == "tie"
    assert vote("+0", vote="weighted", weights={"a": 2 * unit, "b": unit}).label == "supported"


def test_a_weighted_vote_never_has_a_label_that_no_judge_gave() -> None:
    """With weights of 0, `contradicted` would have as much weight as `not_found`."""
    nothing = {"a": 0.0, "b": 0.0, "c": 0.0}
    assert vote("00", vote="weighted", weights=nothing).label == "not_found"
    assert vote("+0", vote="weighted", weights=nothing).unassessed == "tie"
    assert vote("+0", vote="weighted", weights=nothing, tie="conservative").label == "not_found"
    assert vote("+-", vote="weighted", weights=nothing, tie="conservative").label == "contradicted"


@pytest.mark.parametrize(
    ("grades", "rule", "grade"),
    [
        ([3, 3, 1], "majority", 3),
        ([0, 1, 2, 3], "majority", None),
        ([0, 0, 1, 2, 2], "majority", 0),  # two each, and 3 of 5 judges find no support
        ([0, 0, 3, 2, 3], "majority", 3),
        ([3, 3, 1], "median", 3),
        ([0, 1, 2, 3], "median", 1),
        ([3, 3, 1], "mean", 2),  # 2.33
        ([2, 2, 1], "mean", 2),  # 1.67
        ([0, 0, 2], "mean", 1),  # 0.67
        ([3, 3, 3, 0, 0], "mean", 2),  # 1.8
        ([3, 3, 3, 3, 0], "mean", 2),  # 2.4
        ([1, 2], "mean", None),
        ([1, 0, 0], "mean", 0),
        ([0, 0, 3], "any", 3),
        ([2, None, 2], "unanimous", 2),
    ],
)
def test_grades_are_voted_on_as_grades(
    grades: list[int | None], rule: str, grade: int | None
) -> None:
    found = graded(grades, vote=rule)
    assert (None if found.tied or found.label is None else int(found.label)) == grade
    assert grade is None or found.support == ("supported" if grade >= 2 else "not_found")


@pytest.mark.parametrize(
    ("grades", "rule", "label"),
    [
        ([0, 1], "majority", "not_found"),
        ([0, 1, 2], "majority", "not_found"),
        ([1, 2, 3], "majority", "supported"),
        ([0, 1], "mean", "not_found"),
        ([2, 3], "mean", "supported"),
        ([2, 3, 3], "unanimous", "supported"),
    ],
)
def test_grades_in_a_tie_on_one_side_of_support_settle_the_label(
    grades: list[int], rule: str, label: str
) -> None:
    found = graded([*grades], vote=rule)
    assert (found.support, found.tied, found.unassessed, found.agreement) == (
        label,
        True,
        None,
        None,
    )
    assert graded([*grades], vote=rule, tie="conservative").support == label


def test_a_tie_of_grades_goes_to_the_lower_when_conservative() -> None:
    assert graded([0, 1, 2, 3], tie="conservative").label == "0"
    assert graded([2, 3], vote="mean", tie="conservative").label == "2"


def test_an_outage_is_an_abstention_and_never_a_no() -> None:
    found = vote("++x")
    assert (found.label, found.agreement) == ("supported", 1.0)


def test_fewer_labels_than_the_quorum_are_no_label() -> None:
    assert vote("+xt").unassessed == "no_quorum"
    assert vote("+xt", quorum=1).label == "supported"
    assert vote("++x", quorum=3).unassessed == "no_quorum"


def test_more_than_half_of_the_judges_is_the_quorum_unless_said() -> None:
    assert [Panel().needed(n) for n in (1, 2, 3, 4, 5)] == [1, 2, 2, 3, 3]


def test_judges_who_abstain_by_themselves_are_no_failure() -> None:
    assert vote("+??").unassessed == "unsure"
    assert vote("+?x").unassessed == "unsure"
    assert vote("???").unassessed == "unsure"


def test_with_no_label_at_all_the_most_frequent_reason_is_given() -> None:
    assert vote("xtt").unassessed == "timeout"
    assert vote("xt").unassessed == "provider_error"


def test_agreement_probability_and_entropy_by_hand() -> None:
    found = vote("++0")
    assert (found.agreement, found.probability) == (2 / 3, 2 / 3)
    assert found.entropy == pytest.approx(-(2 / 3) * math.log2(2 / 3) - (1 / 3) * math.log2(1 / 3))
    alone = vote("+")
    assert (alone.agreement, alone.probability, alone.entropy) == (None, None, None)


def test_judges_of_the_generators_family_may_be_left_out_of_the_vote() -> None:
    own = frozenset({"a"})
    assert vote("+00", own, vote="any").label == "supported"
    found = vote("+00", own, vote="any", on_same_family="no-vote")
    assert found.label == "not_found"
    assert [v.label for v in found.verdicts] == ["supported", "not_found", "not_found"]
    assert vote("+", own, on_same_family="no-vote").unassessed == "same_family"
    assert vote("+0", own, on_same_family="no-vote").label == "not_found"


def repeated(*rounds: str) -> list[Verdict]:
    return [v for number, said in enumerate(rounds) for v in verdicts(said, replicate=number)]


def test_the_repeats_of_a_judge_are_one_vote() -> None:
    """a says + + 0, b says 0 0 0, c says - - +: one vote each."""
    found = voting.vote("answer-1", CONTEXTS, repeated("+0-", "+0-", "00+"), Panel(replicates=3))
    assert found.label == "not_found"  # + against 0 and -
    assert found.probability == pytest.approx((2 / 3 + 0 + 1 / 3) / 3)
    counts = [3 / 9, 4 / 9, 2 / 9]
    assert found.entropy == pytest.approx(-sum(p * math.log2(p) for p in counts))


def test_a_judge_that_contradicts_itself_evenly_has_no_vote() -> None:
    found = voting.vote("answer-1", CONTEXTS, repeated("+", "0"), Panel(replicates=2))
    assert (found.label, found.unassessed) == (None, "tie")
    assert (found.entropy, found.probability) == (1.0, 0.5)


def test_a_judge_that_finds_no_support_in_two_ways_has_a_vote() -> None:
    assert (
        voting.vote("answer-1", CONTEXTS, repeated("0", "-"), Panel(replicates=2)).label
        == "not_found"
    )
    assert (
        voting.vote("answer-1", CONTEXTS, repeated("+", "0", "-"), Panel(replicates=3)).label
        == "not_found"
    )
    assert (
        voting.vote(
            "answer-1", CONTEXTS, repeated("-", "-", "0", "+", "+"), Panel(replicates=5)
        ).label
        == "contradicted"
    )


def test_the_repeats_of_a_judge_may_be_grades_on_one_side_of_support() -> None:
    settings = Panel(
        replicates=2, scale=grade_scale("grades", highest=3, positive_from=2, divided=False)
    )

    def grade(first: int, second: int) -> str | None:
        said = [
            *grades_of([first], settings.scale),
            *grades_of([second], settings.scale, replicate=1),
        ]
        return voting.vote("d1", CONTEXTS, said, settings).label

    assert (grade(2, 3), grade(0, 1), grade(1, 2)) == ("2", "0", None)


def test_one_failed_repeat_does_not_lose_the_judge() -> None:
    found = voting.vote("answer-1", CONTEXTS, repeated("+", "x", "+"), Panel(replicates=3))
    assert (found.label, found.probability) == ("supported", 1.0)


def test_one_repeat_alone_is_no_share_of_repeats() -> None:
    """With one of two repeats lost, a judge that gives no probability has none; two that agree have
    2 of 2."""
    alone, both = (rules.cast_ballots(repeated("+", other), Panel(replicates=2)) for other in "x+")
    assert (alone, both) == (
        [Ballot("a", "supported", None, None)],
        [Ballot("a", "supported", 1.0, None)],
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tie": "gpt"}, "unknown tie rule or judge 'gpt'"),
        ({"quorum": 4}, "can never be met"),
        ({"weights": {"z": 1.0}}, "unknown judge with a weight"),
        ({"vote": "weighted", "weights": {"a": 1.0}}, "'b' has none"),
        ({"vote": "weighted"}, "'a' has none"),
        ({"weights": {"a": 1.0, "b": -0.5}}, "the weight of 'b' is -0.5; give 0 or more"),
    ],
)
def test_settings_that_do_not_fit_the_judges_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        panel.check(Panel(**settings), ["a", "b", "c"])


def test_documents_have_no_more_other_orders_than_there_are() -> None:
    """1, 2 and 3 documents have 1, 2 and 6 orders, one of them the original."""
    assert [list(Panel(shuffle_contexts=9).other_orders(n)) for n in (1, 2, 3)] == [
        [],
        [1],
        [1, 2, 3, 4, 5],
    ]
    assert list(Panel(shuffle_contexts=2).other_orders(3)) == [1, 2]


def test_an_unknown_vote_names_the_closest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'majority'"):
        valid_settings({"vote": "majorty"})


def test_a_rule_is_a_row_of_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_contradiction(ballots: Sequence[Ballot], panel: Panel) -> tuple[str, ...]:
        """Contradicted as soon as one judge finds a contradiction."""
        return (
            ("contradicted",)
            if any(b.choice == "contradicted" for b in ballots)
            else ("supported",)
        )

    monkeypatch.setattr(rules, "VOTES", {**VOTES, "any_contradiction": VoteRule(any_contradiction)})
    assert vote("++-", vote="any_contradiction").label == "contradicted"
    assert vote("++0", vote="any_contradiction").label == "supported"
    assert valid_settings({"vote": "any_contradiction"}).vote == "any_contradiction"


@pytest.mark.parametrize("rule", sorted(VOTES))
@pytest.mark.parametrize("label", ["supported", "contradicted", "not_found", None])
@pytest.mark.parametrize("probability", [None, 0.7])
def test_one_verdict_stands_as_it_is_under_every_rule(
    rule: str, label: str, probability: float | None
) -> None:
    said = Verdict.model_validate(
        {
            "judge": "a",
            "label": label,
            "probability": probability,
            "unassessed": "unsure" if label is None else None,
        }
    )
    settings = Panel(vote=rule, weights={"a": 1.0}, quorum=1)
    short_way = voting.vote("c", CONTEXTS, [said], settings)
    long_way = voting.vote(
        "c", CONTEXTS, [said], settings, same_family=frozenset({"somebody else"})
    )
    assert short_way == long_way
    assert short_way.label == label


def test_repeats_without_a_label_have_their_most_frequent_reason() -> None:
    found = voting.vote("answer-1", CONTEXTS, repeated("t", "?", "t", "x"), Panel(replicates=4))
    assert found.unassessed == "timeout"
