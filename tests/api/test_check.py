"""One answer, judged now: claims with verdicts, a time limit that raises nothing, and assertions on
the result."""

from __future__ import annotations

import asyncio
import inspect
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import claimeval as ce
from claimeval.testing import ScriptedJudge, claims_reply, provider, verdicts_reply
from claimeval.types.records import SampleResult

ANSWER = "The tower is 58 m high. It is red."
CONTEXTS = ["The tower is 58 m high.", "Towers have colours."]
JUDGE = ScriptedJudge({"The tower is 58 m high.": "supported"}, default="contradicted")


def judge_that(assess: Callable[[str], str | None], claims: int = 1) -> ce.Judge:
    """A judge that takes so many claims and assesses them with a function; None never answers."""

    async def reply(messages: list[dict[str, str]]) -> str:
        text = messages[-1]["content"]
        said = (
            assess(text)
            if '"verdicts"' in text
            else claims_reply(*(f"Claim {n}." for n in range(claims)))
        )
        if said is None:
            await asyncio.Event().wait()
        return str(said)

    return ce.Judge.from_callable(f"judge-{id(assess)}", reply, model="none")


def test_the_result_has_claims_with_spans_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ce.check(ANSWER, CONTEXTS, judge=JUDGE, question="What of the tower?")
    assert [(ANSWER[slice(*claim.span)] if claim.span else "") for claim in result.claims] == [
        "The tower is 58 m high.",
        "It is red.",
    ]
    assert [a.label for a in result.assessments] == ["supported", "contradicted"]
    assert (result.faithfulness, result["faithfulness"].hits, result["faithfulness"].judged) == (
        0.5,
        1,
        2,
    )
    assert list(tmp_path.iterdir()) == [], "there is no run directory"


def test_metrics_over_a_gold_answer_are_attributes_too() -> None:
    result = ce.check(
        "It is red.",
        judge=ScriptedJudge(default="supported"),
        reference_answers="Red.",
        metrics="f1",
    )
    assert (result.correctness, result.coverage) == (1.0, 1.0)
    assert inspect.getattr_static(result, "f1", None) is None
    assert result.f1 == 1.0  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        _ = result.faithfulness
    with pytest.raises(KeyError, match="Did you mean 'coverage'"):
        result["covrage"]


def test_what_has_no_verdict_in_time_is_unassessed_and_the_score_undefined() -> None:
    result = ce.check("Claim 0.", CONTEXTS, judge=judge_that(lambda _: None), timeout=1)
    assert [a.unassessed for a in result.assessments] == ["timeout"]
    assert (result.faithfulness, result["faithfulness"].because) == (None, "timeout")
    assert [call.failed for call in result.calls] == [None, "timeout"]


def test_an_answer_of_which_claims_are_lost_has_no_score(tmp_path: Path) -> None:
    """Of eight claims, four in each of two calls, four get no verdict."""

    def assess(text: str) -> str | None:
        return verdicts_reply(["supported"] * 4) if "Claim 0" in text else None

    options = ce.RunOptions(cache=tmp_path)
    result = ce.check("Claims.", CONTEXTS, judge=judge_that(assess, 8), timeout=1, options=options)
    score = result["faithfulness"]
    assert (score.value, score.because, score.judged, score.total) == (None, "timeout", 4, 8)
    assert score.bounds == (4 / 8, 1.0), "what is known of it stays"


def test_an_abstention_loses_nothing() -> None:
    judge = ScriptedJudge({"It is red.": "unsure"}, default="supported")
    result = ce.check(ANSWER, CONTEXTS, judge=judge)
    assert (result.faithfulness, result["faithfulness"].judged) == (1.0, 1)


@pytest.mark.parametrize(
    ("options", "because"),
    [
        (ce.RunOptions(attempts=1), "provider_error"),
        (ce.RunOptions(offline=True), "not_in_cache"),
        (ce.RunOptions(max_calls=0), "over_budget"),
    ],
)
def test_a_call_that_fails_raises_nothing(options: ce.RunOptions, because: str) -> None:
    result = ce.check(ANSWER, CONTEXTS, judge="openai:m@http://127.0.0.1:1/v1", options=options)
    assert (result.faithfulness, result["faithfulness"].because) == (None, because)


def test_a_key_that_is_refused_raises_nothing(start_server: Any) -> None:
    from benchmarks.loopback import Options

    server = start_server(Options(key="another"))
    result = ce.check(ANSWER, CONTEXTS, judge=f"openai:m@{server.url}")
    assert result["faithfulness"].because == "judge_stopped"


def test_a_stored_reply_is_not_asked_for_again() -> None:
    def reply(text: str) -> str:
        return verdicts_reply(["supported"]) if '"verdicts"' in text else claims_reply("It is red.")

    with provider(reply) as server:
        for _ in range(2):
            assert ce.check("It is red.", CONTEXTS, judge=server.judge).faithfulness == 1.0
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"contexts": "one text"}, "give a list of texts"),
        ({"contexts": None}, "contexts: None; give a list"),
        ({"contexts": [3]}, "^contexts: item 1: a number; give a text or an object with text$"),
        (
            {"history": "earlier"},
            "^history: no messages; give a list of objects with role and content$",
        ),
        ({"answer": None}, "answer: NoneType"),
        ({"timeout": 0}, "seconds above 0"),
        ({"timeout": float("nan")}, "seconds above 0"),
        ({"judge": [JUDGE, JUDGE]}, "asks one judge"),
        ({"judge": "nobody:x"}, "unknown provider"),
        ({"metrics": "correctness"}, "needs reference_answers"),
        ({"metrics": "faithfull"}, "Did you mean 'faithfulness'"),
        ({"options": ce.RunOptions(batch=True)}, "batch"),
    ],
)
def test_errors_of_use_are_raised_before_any_call(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(ce.UsageError, match=problem):
        ce.check(**{"answer": ANSWER, "contexts": CONTEXTS, "judge": JUDGE, **arguments})


def test_many_answers_are_checked_in_one_event_loop_which_keeps_its_signals() -> None:
    async def service() -> list[float | None]:
        before = signal.getsignal(signal.SIGINT)
        texts = ("It is red.", "The tower is 58 m high.", ANSWER)
        found = await asyncio.gather(*(ce.acheck(text, CONTEXTS, judge=JUDGE) for text in texts))
        assert signal.getsignal(signal.SIGINT) is before
        return [result.faithfulness for result in found]

    assert asyncio.run(service()) == [0.0, 1.0, 0.5]


def test_check_works_in_a_running_loop_and_says_that_it_blocks() -> None:
    async def cell() -> float | None:
        with pytest.warns(UserWarning, match="await acheck"):
            return ce.check(ANSWER, CONTEXTS, judge=JUDGE).faithfulness

    assert asyncio.run(cell()) == 0.5


def test_a_plan_asks_nothing() -> None:
    with provider("") as server:
        forecast = ce.plan(ce.check, ANSWER, CONTEXTS, judge=server.judge)
        assert server.requests == []
    assert [(line.step, line.calls) for line in forecast.lines] == [
        ("extract", (1, 1)),
        ("assess", (1, 2)),
    ]


# --- assertions on a result ---


@pytest.fixture(scope="module")
def result() -> SampleResult:
    return ce.check(ANSWER, CONTEXTS, judge=JUDGE)


def test_a_failed_assertion_has_the_claim_the_verdict_and_the_evidence(
    result: SampleResult,
) -> None:
    result.assert_at_least(faithfulness=0.5)
    with pytest.raises(AssertionError) as failed:
        result.assert_at_least(faithfulness=0.9)
    assert str(failed.value).splitlines() == [
        "faithfulness is 0.50 (1 of 2 claims), not at least 0.9",
        "contradicted: It is red.",
        "    scripted: scripted",
        "    contexts 1: The tower is 58 m high.",
        "    contexts 2: Towers have colours.",
    ]


def test_an_undefined_score_fails_with_its_reason() -> None:
    result = ce.check(ANSWER, CONTEXTS, judge=JUDGE, options=ce.RunOptions(offline=True))
    with pytest.raises(
        AssertionError,
        match=r"faithfulness is undefined \(not_in_cache: the reply is not in the cache",
    ):
        result.assert_at_least(faithfulness=0)


def test_assertions_on_nothing_that_was_asked_are_errors_of_use(result: SampleResult) -> None:
    with pytest.raises(ce.UsageError, match="no metric to assert"):
        result.assert_at_least()
    with pytest.raises(ce.UsageError, match="unknown metric 'correctness'"):
        result.assert_at_least(correctness=0.5)
    for limit in (90, float("nan")):
        with pytest.raises(ce.UsageError, match="from 0 to 1"):
            result.assert_at_least(faithfulness=limit)


def test_objects_of_llamaindex_and_langchain_are_checked_as_they_are_scored() -> None:
    text = "The tower is 63 m tall."
    scored = SimpleNamespace(
        node=SimpleNamespace(node_id="n1", get_content=lambda: text), score=0.9
    )
    response = SimpleNamespace(response=text, source_nodes=[scored])
    page = SimpleNamespace(page_content=text, id="p1")
    message = SimpleNamespace(content=text, type="ai")
    for answer, contexts in ((response, ()), (text, [scored]), (text, [page]), (message, [page])):
        result = ce.check(answer, contexts, judge="local:lexical")
        assert (result.sample.answer, result.scores["faithfulness"].value) == (text, 1.0)
        assert [document.text for document in result.sample.contexts or ()] == [text]
    with pytest.raises(
        ce.UsageError, match="answer: int; give one text, or a response of LlamaIndex"
    ):
        ce.check(5, [text], judge="local:lexical")


def test_a_sample_without_a_question_counts_as_one_without_an_answer() -> None:
    rows = [
        {"question": "Q?", "answer": "A is B.", "contexts": ["A is B."]},
        {"answer": "A is B.", "contexts": ["A."]},
    ]
    run = ce.score(rows, judges=ScriptedJudge({}, default="supported"), metrics="faithfulness")
    assert [result.scores["faithfulness"].because for result in run] == [None, "missing_input"]
