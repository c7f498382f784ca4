"""Jobs and options of a run can be pickled, so that a run may be carried out elsewhere."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import TypeVar

import pytest

from claimeval.evaluation import grade, measure, rate
from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.evaluation.job import Job, Reiterable
from claimeval.evaluation.kinds import Judging
from claimeval.metrics.derived import select_metrics
from claimeval.testing import claims_reply, verdicts_reply
from claimeval.types.options import LocalOptions, PanelOptions, RunOptions
from claimeval.types.records import Sample
from tests import scripted

T = TypeVar("T")
CLAIMS = make_job(
    ClaimsOptions(
        judges=["openai:a", "openai:b"], panel=PanelOptions(families={"house-*": "llama"})
    ),
    select_metrics(["faithfulness", "on_topic", "f1"]),
)
RATE = rate.make_job(
    Judging(["openai:a"]),
    rate.RateOptions(),
    [Sample(id="s", question="Q", answer="A", reference_answers=("B",))],
)
GRADE = grade.make_job(grade.GradingOptions(judges=["openai:a"]))
JOBS: list[Job[Sample]] = [CLAIMS, RATE, GRADE]
MEASURE = measure.make_job(measure.Measurement(metrics="rouge_l,recall@5"))


def copied(made: T) -> T:
    copy: T = pickle.loads(pickle.dumps(made))  # noqa: S301  # made by this test
    return copy


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_job_can_be_pickled_and_asks_the_same(job: Job[Sample]) -> None:
    copy = copied(job)
    assert copy.manifest == job.manifest
    assert copy.asked == job.asked


def test_a_pickled_job_evaluates_as_the_one_it_is_a_copy_of() -> None:
    sample = Sample(id="s", question="How many moons?", answer="There are two moons.")
    job = scripted.plan("correctness")
    sample = sample.model_copy(update={"reference_answers": ("Two moons.",)})

    def result(job: Job[Sample]) -> str:
        executor = scripted.Scripted(
            [claims_reply("There are two moons.")], [verdicts_reply(["supported"])]
        )
        return asyncio.run(job.evaluate(sample, executor)).model_dump_json()

    assert result(copied(job)) == result(job)


def test_a_job_without_a_judge_can_be_pickled() -> None:
    assert copied(MEASURE) == MEASURE
    assert copied(MEASURE).manifest == MEASURE.manifest


def test_options_can_be_pickled() -> None:
    options = RunOptions(max_cost=2.0, cluster="metadata.topic")
    assert copied(options) == options
    assert copied(LocalOptions(dtype="bfloat16")) == LocalOptions(dtype="bfloat16")


def test_items_that_are_held_are_read_once_and_others_in_each_pass() -> None:
    passes: list[str] = []

    def read(name: str) -> Iterator[int]:
        passes.append(name)
        yield from (1, 2)

    held = Reiterable(lambda: read("held"), hold=True)
    anew = Reiterable(lambda: read("anew"))
    assert next(iter(held)) == 1, "a pass that ends early holds nothing"
    assert [list(held), list(held), list(anew), list(anew)] == [[1, 2]] * 4
    assert passes == ["held", "held", "anew", "anew"]
