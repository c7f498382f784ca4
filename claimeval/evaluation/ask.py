"""Ask one judge about one subject, retry replies that cannot be read, and record every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from claimeval.evaluation.assessing import MAX_ATTEMPTS
from claimeval.execution import Executor
from claimeval.judging.call_record import call_record
from claimeval.types.records import Call, Part, Reason
from claimeval.types.requests import Completion, Failure, Request

ASK_AGAIN: frozenset[Reason] = frozenset({"unparsable", "truncated"})
"""What may be another time otherwise."""

T = TypeVar("T")


class AskResult(NamedTuple, Generic[T]):
    """What came of a question."""

    said: T | Failure
    calls: tuple[Call, ...]

    @property
    def reply(self) -> str | None:
        """The last words of the judge as they came; None where there was no reply."""
        return self.calls[-1].reply


async def ask_until_read(
    step: str,
    ask: Callable[[int], Request],
    read: Callable[[Completion, Request], T | Failure],
    executor: Executor,
    *,
    part: Part,
    about: str,
) -> AskResult[T]:
    """Asks with attempt 0, 1, ... until a reply can be read, at most `MAX_ATTEMPTS` times.

    `about` is the id of the subject.

    A provider that fails, refuses or filters is not asked again.
    """
    calls: list[Call] = []
    said: T | Failure = Failure(reason="provider_error", message="not asked")
    for attempt in range(MAX_ATTEMPTS):
        request = ask(attempt)
        outcome = await executor.ask(request)
        said = outcome if isinstance(outcome, Failure) else read(outcome, request)
        failure = said if isinstance(said, Failure) else None
        calls.append(call_record(step, request, outcome, failure, part, claim_ids=[about]))
        if isinstance(outcome, Failure) or failure is None or failure.reason not in ASK_AGAIN:
            break
    return AskResult(said, tuple(calls))
