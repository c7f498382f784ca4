"""Contexts matched with references by judges where the texts leave it open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from claimeval.evaluation.grade import GradeJob, GradingOptions, make_job, unmatched
from claimeval.execution import Executor
from claimeval.types.records import Document, Sample, SampleResult
from claimeval.types.requests import Completion, Failure, Outcome, Request
from tests.sample_runs import reasons, values
from tests.scripted import FAILED, completion

SAME = "The tower rises to sixty-three metres."
"""What a judge takes for the first reference."""
REFERENCES = ("The tower is 63 metres high.", "It was built in the year 1412.")


def sample(*texts: str, references: tuple[str, ...] = REFERENCES) -> Sample:
    documents = tuple(Document(id=f"d{i}", text=text) for i, text in enumerate(texts))
    return Sample(id="s", question="Q", contexts=documents, reference_contexts=references)


def plan(
    judge: str = "openai:m@http://127.0.0.1:9/v1", measures: str = "mrr", per_call: int = 1
) -> GradeJob:
    return make_job(
        GradingOptions(
            judges=[judge],
            against="reference_contexts",
            measures=measures,
            documents_per_call=per_call,
        )
    )


class Rule(Executor):
    """Says 1 of a document with the words of SAME under the first reference, else 0."""

    def __init__(self, failing: Callable[[str], Outcome | None] = lambda text: None) -> None:
        self.asked: list[str] = []
        self._failing = failing

    async def ask(self, request: Request) -> Completion | Failure:
        text = request.messages[-1].content
        self.asked.append(text)
        if failed := self._failing(text):
            return failed
        lines = [line for line in text.splitlines() if line.startswith("d") and ": " in line]
        same = "63 metres" in text.partition("</passage>")[0]
        grades = [
            {
                "id": line.partition(":")[0],
                "reason": "r",
                "grade": int(same and "sixty-three" in line),
            }
            for line in lines
        ]
        return completion(json.dumps({"grades": grades}))


def matched(
    one: Sample, executor: Rule, measures: str = "mrr,recall@5,P@5", per_call: int = 1
) -> SampleResult:
    return asyncio.run(plan(measures=measures, per_call=per_call).evaluate(one, executor))


def test_a_paraphrase_is_the_reference_when_the_judge_says_so() -> None:
    row = matched(sample("Something else.", SAME, REFERENCES[1]), Rule())
    assert row.details["matched"] == ["other-1", "reference-1", "reference-2"]
    assert values(row) == {"mrr": 0.5, "recall@5": 1.0, "P@5": 0.4}


def test_what_the_texts_settle_is_not_asked() -> None:
    executor = Rule()
    matched(sample(REFERENCES[0], "Other.", REFERENCES[1]), executor)
    # the first reference is held at rank 1; the second at rank 3, so only "Other." above it is open
    assert len(executor.asked) == 1
    assert "1412" in executor.asked[0].partition("</passage>")[0]
    executor = Rule()
    assert values(matched(sample(*REFERENCES), executor))["mrr"] == 1.0
    assert executor.asked == []


def test_a_better_document_takes_the_reference_that_a_lower_one_repeats() -> None:
    row = matched(sample(SAME, REFERENCES[0]), Rule())
    assert row.details["matched"] == ["reference-1", "other-2"]


def test_a_pair_without_an_opinion_leaves_the_sample_without_a_value() -> None:
    executor = Rule(lambda text: FAILED if "1412" in text.partition("</passage>")[0] else None)
    row = matched(sample(SAME), executor, "mrr,dcg@5")
    assert values(row) == {"mrr": None, "dcg@5": None}
    assert reasons(row) == {"mrr": "provider_error", "dcg@5": "provider_error"}
    assert [score.unit for score in row.scores.values()] == ["share", "gain"]


def test_samples_without_references_or_contexts_are_not_asked_about() -> None:
    executor = Rule()
    assert reasons(matched(sample(SAME, references=()), executor))["mrr"] == "missing_input"
    assert values(matched(sample(), executor))["mrr"] == 0.0
    assert values(matched(sample("  "), executor))["mrr"] == 0.0
    assert executor.asked == []


def test_contexts_are_compared_one_by_one_or_together() -> None:
    one = sample("Something else.", SAME, "x")
    assert [len(documents) for documents in unmatched(one).values()] == [3, 3]
    for per_call, calls in ((1, 6), (2, 4), (50, 2)):
        executor = Rule()
        assert values(matched(one, executor, per_call=per_call))["mrr"] == 0.5
        assert len(executor.asked) == calls
