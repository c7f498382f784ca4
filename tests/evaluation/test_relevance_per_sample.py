"""Context relevance and precision of single samples, from the grades of their documents."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re

import pytest

from claimeval import ir
from claimeval.evaluation.grade import GradeJob, precision
from claimeval.execution import Executor
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.types.records import Document, Sample, SampleResult
from claimeval.types.requests import Outcome, Request
from claimeval.types.scales import UMBRELA
from tests.sample_runs import reasons, values
from tests.scripted import completion, judge


class Rule(Executor):
    """Gives each document the grade that its text is; one without is unparsable."""

    async def ask(self, request: Request) -> Outcome:
        text = request.messages[-1].content.rpartition("<documents>")[2]
        (found,) = re.findall(r'^d1: "(.*)"$', text, re.MULTILINE)
        return completion(
            json.dumps(
                {"grades": [{"id": "d1", "reason": "r", "grade": int(found)}]}
                if found != "x"
                else {}
            )
        )


def row(*grades: int | None) -> SampleResult:
    """The result of a sample whose documents have these grades; None is unparsable."""
    texts = ["x" if grade is None else str(grade) for grade in grades]
    contexts = tuple(Document(id=f"d{i}", text=text) for i, text in enumerate(texts))
    panel = Panel(vote="median", scale=UMBRELA)
    job = GradeJob((judge(),), prompts.load("rate", "steps"), UMBRELA, panel)
    return asyncio.run(job.evaluate(Sample(id="s", question="Q", contexts=contexts), Rule()))


def test_shares_grades_and_precision_by_rank() -> None:
    # relevant at ranks 1 and 3: (1/1 + 2/3) / 2
    assert values(row(3, 1, 2)) == {
        "context_relevance": pytest.approx(2 / 3),
        "context_precision_ap": pytest.approx((1 + 2 / 3) / 2),
        "context_grade": 2.0,
    }


def test_documents_of_which_none_is_relevant_have_zero() -> None:
    assert values(row(1, 0)) == {
        "context_relevance": 0.0,
        "context_precision_ap": 0.0,
        "context_grade": 0.5,
    }


def test_a_document_without_a_grade_leaves_the_value_open_between_bounds() -> None:
    found = row(3, None, 2)
    assert set(values(found).values()) == {None}
    assert set(reasons(found).values()) == {"unparsable"}
    bounds = {name: score.bounds for name, score in found.scores.items()}
    assert bounds["context_relevance"] == pytest.approx((2 / 3, 1.0))
    assert bounds["context_grade"] == pytest.approx((5 / 3, 8 / 3))
    # not relevant: (1 + 2/3) / 2; relevant: (1 + 1 + 1) / 3
    assert bounds["context_precision_ap"] == pytest.approx((5 / 6, 1.0))


def test_a_sample_that_retrieved_nothing_has_no_evidence() -> None:
    found = row()
    assert set(reasons(found).values()) == {"no_evidence"}
    assert not any(score.bounds for score in found.scores.values())


def test_the_ends_are_those_of_all_ways_to_fill_the_gaps() -> None:
    draw = random.Random(1)
    for _ in range(200):
        said = [draw.choice([True, False, None]) for _ in range(draw.randint(1, 7))]
        gaps = [i for i, one in enumerate(said) if one is None]
        found = []
        for filling in itertools.product([True, False], repeat=len(gaps)):
            full = list(said)
            for place, one in zip(gaps, filling, strict=True):
                full[place] = one
            names = [str(i) for i in range(len(full))]
            relevant = {name for name, one in zip(names, full, strict=True) if one}
            found.append(ir.ap_retrieved(names, relevant) if relevant else 0.0)
        assert precision(said) == pytest.approx((min(found), max(found)))
