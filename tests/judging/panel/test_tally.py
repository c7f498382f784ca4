"""What a run says of its panel, worked by hand."""

from __future__ import annotations

import io
import math
from contextlib import redirect_stdout
from typing import Any

import pytest

from claimeval.cli.printer import Output
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.judging.panel import Panel, voting
from claimeval.metrics.rows import metric
from claimeval.runs.views.run import panel
from claimeval.types.records import Call, Claim, Document, Evidence, Sample, SampleResult, Score
from claimeval.types.requests import Judge
from tests.judging.panel.test_voting import verdicts

METRIC = metric("faithfulness")
JUDGES = tuple(Judge(name=name, model=f"scripted:{name}") for name in "abc")


def result(
    *rows: str,
    settings: Panel | None = None,
    judges: tuple[Judge, ...] = JUDGES,
    number: int = 1,
    **fields: Any,
) -> SampleResult:
    """A sample with a claim per row; a row has a mark per judge, repeats of all judges after a
    slash."""
    settings = settings or Panel()
    claims = tuple(
        Claim(grounding="ungrounded", id=f"answer-{i}", text=f"Claim {i}.", of="answer")
        for i in range(1, len(rows) + 1)
    )
    names = {chr(ord("a") + i): judge.name for i, judge in enumerate(judges)}
    assessments = tuple(
        voting.vote(
            claim.id,
            Evidence(part="contexts"),
            [
                v.model_copy(update={"judge": names[v.judge]})
                for n, marks in enumerate(row.split("/"))
                for v in verdicts(marks, replicate=n)
            ],
            settings,
        )
        for claim, row in zip(claims, rows, strict=True)
    )
    labels = [a.label for a in assessments if a.label is not None]
    hits = sum(label == "supported" for label in labels)
    score = Score.share(
        hits / len(labels) if labels else None,
        hits=hits,
        judged=len(labels),
        total=len(rows),
        because=None if labels else "tie",
    )
    sample = {
        "id": f"s{number}",
        "question": f"q{number}",
        "answer": "x",
        "contexts": (Document(id="1", text="x"),),
        **fields,
    }
    return SampleResult(
        sample=Sample.model_validate(sample),
        claims=claims,
        assessments=assessments,
        scores={"faithfulness": score},
    )


def summary(
    *results: SampleResult,
    settings: Panel | None = None,
    judges: tuple[Judge, ...] = JUDGES,
    extractor: Judge | None = None,
) -> Summary:
    tallies = SummaryBuilder(
        Manifest(metrics=(METRIC,), judges=judges, extractor=extractor, panel=settings or Panel())
    )
    for found in results:
        tallies.add(found)
    return tallies.summary()


def test_agreement_by_hand() -> None:
    """a: + + 0 0 +; b: + + 0 + x; c: + 0 0 - x."""
    found = summary(result("+++", "++0", "000"), result("0+-", "+xx", number=2)).panel
    assert found is not None
    assert (found.claims, found.unanimous, found.split, found.ties, found.no_quorum) == (
        5,
        2,
        2,
        0,
        1,
    )
    ab = found.judge_pairs[0]
    assert (ab.first, ab.second, ab.claims, ab.raw_agreement) == ("a", "b", 4, 3 / 4)
    assert ab.kappa == pytest.approx((3 / 4 - (2 / 4 * 3 / 4 + 2 / 4 * 1 / 4)) / (1 - 1 / 2))
    with_panel = {pair.first: pair for pair in found.judge_vs_panel}
    # 0+- is not_found: 2 of 3 find no support
    assert (with_panel["a"].claims, with_panel["a"].raw_agreement) == (4, 1.0)
    assert (with_panel["c"].claims, with_panel["c"].raw_agreement) == (4, 2 / 4)


def printed(settings: Panel, *rows: str) -> str:
    """What the table says of a panel of a, b and c over one sample."""
    manifest = Manifest.model_construct(judges=JUDGES, extractor=JUDGES[0], panel=settings)
    with redirect_stdout(io.StringIO()) as out:
        Output().draw(panel(manifest, summary(result(*rows, settings=settings), settings=settings)))
    return out.getvalue()


def test_the_most_disputed_claims_come_first() -> None:
    found = summary(result("+++", "++0"), result("0+-", "00+", number=2)).panel
    assert found is not None
    assert [(d.sample, d.subject) for d in found.disputes] == [
        ("s2", "answer-1"),
        ("s1", "answer-2"),
        ("s2", "answer-2"),
    ]
    assert found.disputes[0].entropy == pytest.approx(math.log2(3))
    assert found.disputes[0].votes == {"a": "not_found", "b": "supported", "c": "contradicted"}


def test_only_the_twenty_most_disputed_claims_are_listed() -> None:
    found = summary(*(result("++0", "0+-", number=n) for n in range(1, 31))).panel
    assert found is not None
    assert [d.sample for d in found.disputes] == [f"s{n}" for n in range(1, 21)]
    assert {d.subject for d in found.disputes} == {"answer-2"}


def test_members_stand_beside_the_panel() -> None:
    found = summary(result("+++", "++0", "000"), result("0+-", "+xx", number=2))["faithfulness"]
    assert found.mean == pytest.approx((2 / 3 + 0) / 2)  # s1: + + 0; s2: not found, and no quorum
    assert found.unassessed == {"no_quorum": 1}
    assert {name: member.mean for name, member in found.by_judge.items()} == {
        "a": pytest.approx((2 / 3 + 1 / 2) / 2),
        "b": pytest.approx((2 / 3 + 1) / 2),
        "c": pytest.approx((1 / 3 + 0) / 2),
    }
    assert found.by_judge["b"].unassessed == {"provider_error": 1}
    assert (found.by_judge["b"].judged, found.by_judge["b"].total) == (4, 5)


def test_a_metric_that_does_not_apply_does_not_apply_to_the_members() -> None:
    empty = result("+++").model_copy(
        update={
            "assessments": (),
            "claims": (),
            "unextracted": {"answer": "no_claims"},
            "scores": {"faithfulness": Score.undefined("no_claims")},
        }
    )
    found = summary(empty)["faithfulness"]
    assert [member.missing for member in found.by_judge.values()] == [{"no_claims": 1}] * 3


def test_one_judge_asked_once_is_no_panel() -> None:
    found = summary(result("+", judges=JUDGES[:1]), judges=JUDGES[:1])
    assert found.panel is None
    assert found["faithfulness"].by_judge == {}


def test_the_noise_of_repeats_by_hand() -> None:
    """Claims 1 and 2 get + +, claim 3 + 0: within variance 1/6, between (2 * 1/12 - 1/6) / 2 =
    0."""
    settings = Panel(replicates=2)
    one = JUDGES[:1]
    found = summary(
        result("+/+", "+/+", "+/0", settings=settings, judges=one),
        result("0/0", settings=settings, judges=one, number=2),
        settings=settings,
        judges=one,
    ).panel
    assert found is not None
    noise = found.noise["a"]
    assert (noise.claims, noise.inconsistent) == (4, 1)
    # claims: groups (1,1) (1,1) (1,0) (0,0): within 0.5/4, between ((1.375 / 3) - 0.125) / 2
    within = 0.125
    between = (2 * (0.375**2 * 2 + 0.125**2 + 0.625**2) / 3 - 0.125) / 2
    assert noise.variance_share == pytest.approx(within / (within + between))
    # scores: s1 has 1 and 2/3, s2 has 0 and 0
    within = ((1 / 6) ** 2 * 2) / 2
    mean = (1 + 2 / 3) / 4
    between = (2 * ((5 / 6 - mean) ** 2 + mean**2) - within) / 2
    assert noise.score_variance_share["faithfulness"] == pytest.approx(within / (within + between))


FAMILY = (
    Judge(name="gpt", model="openai:gpt-5"),
    Judge(name="le-chat", model="mistral:mistral-large"),
)


def test_whoever_is_of_the_generators_family_is_flagged() -> None:
    written: dict[str, Any] = {"generator": "openai:gpt-4o", "reference_author": "openai:gpt-4"}
    found = summary(
        result("++", judges=FAMILY, **written),
        result("++", judges=FAMILY, number=2, **{**written, "generator": "mistral:mistral-small"}),
        judges=FAMILY,
        extractor=FAMILY[0],
    )
    assert [(flag.role, flag.name, flag.family, flag.samples) for flag in found.same_family] == [
        ("judge", "gpt", "openai", 1),
        ("judge", "le-chat", "mistral", 1),
        ("extractor", "gpt", "openai", 1),
        ("reference_author", "openai:gpt-4", "openai", 1),
    ]


def test_preference_for_the_own_family_is_a_difference_in_differences() -> None:
    """gpt gives 1 and 1/2 to its own kind where le-chat gives 1/2 and 0; both give 1/2 to the
    others' answers."""
    own: dict[str, Any] = {"generator": "openai:gpt-4o"}
    other: dict[str, Any] = {"generator": "qwen3-32b"}
    found = summary(
        result("++", "+0", judges=FAMILY, number=1, **own),
        result("+0", "00", judges=FAMILY, number=2, **own),
        result("++", "00", judges=FAMILY, number=3, **other),
        result("00", "++", judges=FAMILY, number=4, **other),
        judges=FAMILY,
    ).panel
    assert found is not None
    (preference,) = found.self_preference
    assert (preference.metric, preference.family, preference.n) == ("faithfulness", "openai", 4)
    assert preference.value == pytest.approx(0.5)
    assert preference.reported is not None or preference.because


def test_one_family_of_generators_says_nothing_of_preference() -> None:
    found = summary(result("++", judges=FAMILY, generator="openai:gpt-4o"), judges=FAMILY).panel
    assert found is not None
    assert found.self_preference == ()


def call(judge: str, **fields: object) -> Call:
    return Call.model_validate(
        {"key": "k", "step": "assess", "judge": judge, "part": "answer", **fields}
    )


def test_calls_are_counted_by_where_they_come_from() -> None:
    calls = tuple(call(judge, reply="{}") for judge in "ab")
    calls = (
        call("a", step="extract", reused=True, reply="{}"),
        *calls,
        call("c", reply="?"),
        call("c", attempt=1, reply="{}"),
    )
    one = result("++x", "+0+").model_copy(update={"calls": (*calls, call("b", failed="timeout"))})
    two = result("++", "00", number=2).model_copy(update={"calls": calls[:3]})
    found = summary(one, two).cost
    assert found is not None
    assert (found.total.calls, found.total.reused) == (6, 2)
