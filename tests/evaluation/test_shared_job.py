"""A job holds no counts of a run, so that several runs can share it."""

from __future__ import annotations

import pytest

from claimeval.evaluation.claims import FIRST_TEXTS
from claimeval.execution.learning import ReviewingExecutor
from claimeval.types.errors import StoppedEarly
from claimeval.types.records import Claim
from claimeval.types.requests import Judge
from tests.scripted import Replies, plan

EXTRACTOR = Judge(name="e", model="openai:m")


def claims(grounding: str) -> tuple[Claim, ...]:
    claim = {"id": "answer-1", "text": "x", "of": "answer", "grounding": grounding}
    return (Claim.model_validate(claim),)


def test_two_runs_of_one_job_count_their_first_texts_apart() -> None:
    job = plan("faithfulness")
    first = ReviewingExecutor(Replies(), None)
    second = ReviewingExecutor(Replies(), None)
    for _ in range(FIRST_TEXTS - 1):
        job.check_grounding(EXTRACTOR, claims("ungrounded"), first)
    job.check_grounding(EXTRACTOR, claims("ungrounded"), second)
    with pytest.raises(StoppedEarly, match="of its first 20 claims are not in the texts"):
        job.check_grounding(EXTRACTOR, claims("ungrounded"), first)
