"""What is kept of one question to a judge and of what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from claimeval.types.records import Call, Evidence, Part
from claimeval.types.requests import Completion, Failure, Outcome, Request


def call_record(
    step: str,
    request: Request,
    outcome: Outcome,
    failure: Failure | None,
    part: Part,
    evidence: Evidence | None = None,
    subjects: Sequence[str] = (),
    message: str | None = None,
) -> Call:
    """The record of a call; `failure` is also set where a reply came and was no use.

    `message` says what could not be read in a reply of which the rest counts.
    """
    completion = outcome if isinstance(outcome, Completion) else None
    return Call(
        key=request.key,
        step=step,
        judge=request.judge.name,
        part=part,
        evidence=evidence,
        subjects=tuple(subjects),
        prompt=request.prompt_id,
        attempt=request.attempt,
        replicate=request.replicate,
        reply=completion.text if completion else None,
        failed=failure.reason if failure else None,
        message=failure.message if failure else message,
        served_model=completion.served_model if completion else None,
        prompt_tokens=completion.usage.prompt_tokens if completion else None,
        completion_tokens=completion.usage.completion_tokens if completion else None,
    )
