"""One sample's way: the numbers of the scores, what is asked how often, and what becomes of
failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from claimeval.evaluation.claims import ClaimsJob
from claimeval.judging.assess import claim_line
from claimeval.testing import claims_reply, verdicts_reply
from claimeval.types.records import Document, Evidence, Sample, SampleResult
from claimeval.types.requests import AssessTask, Request
from tests.scripted import FAILED, Answer, Scripted, completion, judge, plan

ANSWER = [
    "The museum opened in 1901.",
    "It has nine rooms.",
    "Entry costs 12 euros.",
    "It is closed on Mondays.",
    "The director is Ana Souto.",
    "It shows 340 clocks.",
]
SAID = claims_reply(*ANSWER)
CUT = completion(verdicts_reply(["supported"] * 6), finish_reason="length")
REFUSED = replace(completion("x"), refusal="I cannot help with that.", text=None)
REFERENCE = [f"The reference says fact number {i}." for i in range(1, 7)]
SAMPLE = Sample(
    id="s1",
    question="What should I know about the museum?",
    answer=" ".join(ANSWER),
    contexts=(
        Document(id="page-1", text="About the museum."),
        Document(id="page-2", text="Prices."),
    ),
    reference_answers=(" ".join(REFERENCE),),
)


def marks(*marks: int) -> object:
    """A `tags` reply that repeats the claims it was asked about and ends them with these marks."""

    def reply(request: Request) -> str:
        assert isinstance(request.task, AssessTask)
        claims = zip(request.task.claims, marks, strict=True)
        return "\n".join(f"- {claim_line(claim)} SUPPORTED={mark}" for claim, mark in claims)

    return reply


def run(sample: Sample, plan: ClaimsJob, executor: Scripted) -> SampleResult:
    result = asyncio.run(plan.evaluate(sample, executor))
    assert executor.left == 0, "every scripted answer is asked for"
    return result


@pytest.mark.parametrize(
    ("metric", "claims", "said", "score"),
    [
        ("faithfulness", ANSWER, (1, 1, 1, 1, 1, 1), (1.0, 6, 6, 6)),
        ("faithfulness", ANSWER, (1, 0, 1, 0, 1, 0), (0.5, 3, 6, 6)),
        ("correctness", ANSWER, (0, 0, 0, 1, 1, 1), (0.5, 3, 6, 6)),
        ("coverage", REFERENCE, (0, 1, 0, 0, 1, 0), (pytest.approx(1 / 3), 2, 6, 6)),
    ],
)
def test_a_score_is_the_share_of_claims_with_support(
    metric: str, claims: list[str], said: tuple[int, ...], score: tuple[float, ...]
) -> None:
    # answers from `marks`
    executor = Scripted([claims_reply(*claims)], [marks(*said)])  # type: ignore[list-item]
    found = run(SAMPLE, plan(metric, assess_prompt="tags"), executor)[metric]
    assert (found.value, found.hits, found.judged, found.total) == score


def test_an_answer_that_says_nothing_is_never_sent() -> None:
    for answer in ("", "  \n", ":", "🎉 !"):
        executor = Scripted()
        score = run(SAMPLE.model_copy(update={"answer": answer}), plan("faithfulness"), executor)[
            "faithfulness"
        ]
        assert score.because == "no_claims"


def test_a_claim_left_out_twice_is_incomplete_and_the_score_is_over_the_rest() -> None:
    five = verdicts_reply(["supported"] * 4 + ["not_found"])
    executor = Scripted([SAID], [five, '{"verdicts": []}'])
    result = run(SAMPLE, plan("faithfulness"), executor)
    score = result["faithfulness"]
    assert (score.value, score.judged, score.total) == (0.8, 5, 6)
    assert score.bounds == (4 / 6, 5 / 6)
    assert result.assessments[5].unassessed == "incomplete"
    assert [len(r.task.claims) for r in executor.requests if isinstance(r.task, AssessTask)] == [
        6,
        1,
    ]
    assert executor.requests[-1].attempt == 1


def test_a_claim_left_out_once_gets_its_verdict_when_asked_alone() -> None:
    five = verdicts_reply(["supported"] * 5)
    executor = Scripted([SAID], [five, verdicts_reply(["contradicted"])])
    result = run(SAMPLE, plan("faithfulness"), executor)
    assert result.assessments[5].label == "contradicted"
    assert result["faithfulness"].value == 5 / 6


def test_many_claims_left_out_are_asked_about_together() -> None:
    executor = Scripted([SAID], [verdicts_reply(["supported"]), verdicts_reply(["not_found"] * 5)])
    result = run(SAMPLE, plan("faithfulness"), executor)
    assert result["faithfulness"].value == 1 / 6


LONG = SAMPLE.model_copy(
    update={"id": "long", "answer": " ".join(f"Hall {n} has clocks." for n in range(20))}
)
LONG_SAID = claims_reply(*[f"Hall {n} has clocks." for n in range(20)])
ALL_OF_FIVE = verdicts_reply(["supported"] * 5)


@pytest.mark.parametrize(
    "first",
    [
        verdicts_reply([]),
        "It all holds.",
        REFUSED,
        replace(REFUSED, refusal=None, finish_reason="content_filter"),
        replace(completion('{"verdicts": ['), finish_reason="length"),
    ],
    ids=["left out", "unparsable", "refused", "filtered", "truncated"],
)
def test_what_a_long_question_brings_no_verdict_on_is_asked_again_five_at_a_time(
    first: Answer,
) -> None:
    executor = Scripted([LONG_SAID], [first, *[ALL_OF_FIVE] * 4])
    result = run(LONG, plan("faithfulness"), executor)
    assert (result["faithfulness"].value, result["faithfulness"].judged) == (1.0, 20)
    assert asked_sizes(executor) == [20, 5, 5, 5, 5]


def test_claims_asked_again_five_at_a_time_have_the_attempts_of_a_question_of_five() -> None:
    """Eight are left out of twenty; of the first four of them one is left out again."""
    executor = Scripted(
        [LONG_SAID],
        [
            verdicts_reply(["supported"] * 12),
            verdicts_reply(["supported"] * 3),
            verdicts_reply(["supported"] * 4),
            verdicts_reply(["not_found"]),
        ],
    )
    result = run(LONG, plan("faithfulness"), executor)
    score = result["faithfulness"]
    assert (score.hits, score.judged) == (19, 20)
    assert asked_sizes(executor) == [20, 4, 4, 1]
    assert [request.attempt for request in executor.requests[1:]] == [0, 1, 1, 2]


def asked_sizes(executor: Scripted) -> list[int]:
    tasks = [request.task for request in executor.requests]
    return [len(task.claims) for task in tasks if isinstance(task, AssessTask)]


def test_four_metrics_on_one_sample_are_two_extractions_and_four_assessments() -> None:
    executor = Scripted(
        [claims_reply(*ANSWER), claims_reply(*REFERENCE)],
        [verdicts_reply(["supported"] * 6) for _ in range(4)],
    )
    names = ("faithfulness", "correctness", "coverage", "context_recall")
    result = run(SAMPLE, plan(*names), executor)
    assert [score.value for score in result.scores.values()] == [1.0] * 4
    assert len(executor.requests) == 6


def test_a_further_evidence_set_is_a_metric_by_its_row_alone() -> None:
    policy = {"policy": (Document(id="p", text="Rules."),)}
    executor = Scripted([SAID], [verdicts_reply(["supported"] * 3 + ["contradicted"] * 3)])
    result = run(
        SAMPLE.model_copy(update={"evidence": policy}), plan("on_policy=answer:policy"), executor
    )
    assert result["on_policy"].value == 0.5
    assert {a.evidence for a in result.assessments} == {Evidence(part="policy")}


@pytest.mark.parametrize(
    ("lacks", "metric"),
    [({"reference_answers": ()}, "correctness"), ({"contexts": None}, "faithfulness")],
)
def test_missing_input_is_no_score_and_no_call(lacks: dict[str, object], metric: str) -> None:
    assert (
        run(SAMPLE.model_copy(update=lacks), plan(metric), Scripted())[metric].because
        == "missing_input"
    )


@pytest.mark.parametrize("prompt", ["three_way", "binary", "partial"])
def test_contexts_that_are_empty_support_no_claim_and_no_judge_is_asked(prompt: str) -> None:
    sample = SAMPLE.model_copy(update={"contexts": ()})
    executor = Scripted([SAID])
    score = run(sample, plan("faithfulness", assess_prompt=prompt), executor)["faithfulness"]
    assert (score.value, score.hits, score.judged, score.total) == (0.0, 0, 6, 6)


def test_an_unparsable_extraction_is_asked_once_more() -> None:
    executor = Scripted(
        ["Here are the claims: none", claims_reply(*ANSWER)], [verdicts_reply(["supported"] * 6)]
    )
    assert run(SAMPLE, plan("faithfulness"), executor)["faithfulness"].value == 1.0
    assert [r.attempt for r in executor.requests] == [0, 1, 0]
    assert executor.requests[0].key != executor.requests[1].key


@pytest.mark.parametrize(
    ("extract", "assess", "because", "requests"),
    [
        ([claims_reply()], [], "no_claims", 1),
        ([FAILED], [], "provider_error", 1),
        (["?", "??"], [], "unparsable", 2),
        ([SAID], [FAILED], "provider_error", 2),
        ([SAID], [CUT] * 7, "truncated", 8),  # of 6, of 3 and 3, then of 1 and 2 twice
        ([SAID], [REFUSED] * 3, "refused", 4),
    ],
)
def test_what_brings_no_verdict_is_no_score_and_says_why(
    extract: list[Answer], assess: list[Answer], because: str, requests: int
) -> None:
    executor = Scripted(extract, assess)
    result = run(SAMPLE, plan("faithfulness"), executor)
    score = result["faithfulness"]
    assert (score.value, score.because, score.total) == (None, because, 6 if assess else 0)
    assert {a.unassessed for a in result.assessments} == ({because} if assess else set())
    assert len(executor.requests) == requests
    if FAILED in (*extract, *assess):
        assert result.calls[-1].message == FAILED.message


def test_a_cut_reply_is_asked_again_in_halves_with_more_room() -> None:
    halves = [verdicts_reply(["supported"] * 3), verdicts_reply(["not_found"] * 3)]
    executor = Scripted([SAID], [CUT, *halves])
    assert run(SAMPLE, plan("faithfulness"), executor)["faithfulness"].value == 0.5
    first, *again = executor.requests[1:]
    assert [r.max_tokens for r in again] == [2 * first.max_tokens] * 2


def test_two_judges_see_the_same_claims_and_a_split_is_a_tie() -> None:
    one = judge("one")
    two = judge("two")
    answers = [verdicts_reply(["supported"] * 6), verdicts_reply(["supported"] * 5 + ["not_found"])]
    executor = Scripted([SAID], answers)
    result = run(SAMPLE, plan("faithfulness", judges=[one, two]), executor)
    assert [v.judge for v in result.assessments[0].verdicts] == ["one", "two"]
    assert result.assessments[5].unassessed == "tie"
    assert result["faithfulness"].judged == 5


def test_more_claims_than_fit_a_call_are_asked_about_in_several() -> None:
    many = [f"Fact {i} holds." for i in range(45)]
    answers = [verdicts_reply(["supported"] * 15)] * 3
    result = run(SAMPLE, plan("faithfulness"), Scripted([claims_reply(*many)], answers))
    assert result["faithfulness"].total == 45
    assert [len(c.subjects) for c in result.calls if c.step == "assess"] == [15, 15, 15]


def test_repeated_claims_are_merged_and_counted() -> None:
    executor = Scripted(
        [claims_reply("A is 1.", "a is 1", "B is 2.", "A is 1 [3].")],
        [verdicts_reply(["supported"] * 2)],
    )
    result = run(SAMPLE, plan("faithfulness"), executor)
    assert [c.text for c in result.claims] == ["A is 1.", "B is 2."]
    assert [claim.repeats for claim in result.claims] == [2, 0]


def test_evidence_is_named_by_document_ids_and_a_written_probability_does_not_count() -> None:
    reply = verdicts_reply(["supported"] * 6, evidence=["d2", "d9", "d2"], probability=0.99)
    verdict = (
        run(SAMPLE, plan("faithfulness"), Scripted([SAID], [reply])).assessments[0].verdicts[0]
    )
    assert (verdict.cites, verdict.probability) == (("page-2",), None)
