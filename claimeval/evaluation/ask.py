"""Ask one judge about subjects, retry those whose reply cannot be read, and record every call."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from itertools import chain, count, pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging.reply_values import ParsedReply
from claimeval.providers.served import stated_dollars
from claimeval.types.records import Call, Evidence, Part, Reason
from claimeval.types.requests import CLAIMS_PER_CALL, ENDLESS, Completion, Failure, Outcome, Request

MAX_ATTEMPTS = 2
"""Maximum attempts if the reply cannot be read or leaves subjects out."""
MAX_ALONE = 3
"""Up to this many left-out subjects are re-asked one by one, more are re-asked together."""
RE_ASKED_REASONS: frozenset[Reason] = frozenset({"unparsable", "truncated"})
"""Reasons to re-ask a whole reply. A provider that fails, refuses or filters is not re-asked."""
DIVIDED_REASONS = RE_ASKED_REASONS | {"refused", "filtered"}
"""Reasons to re-ask a question about more than `CLAIMS_PER_CALL` subjects in smaller ones: one
subject may be the cause, or their number. The smaller questions have `MAX_ATTEMPTS` of their own,
so that a subject lacks a value only if it would in a question of this size too."""


class Subject(Protocol):
    """The subject of a request: a claim, a document or an answer."""

    @property
    def id(self) -> str:
        """The id in replies and verdicts."""


class CallAddress(NamedTuple):
    """The step, part and evidence that the records of calls name."""

    step: str
    part: Part
    evidence: Evidence | None = None


S = TypeVar("S", bound=Subject)
T = TypeVar("T")
W = TypeVar("W")


class Answers(NamedTuple, Generic[T]):
    """A judge's answers about subjects."""

    values: dict[str, list[T | Failure]]
    """By subject: a value, or why there is none, for each window of the text."""
    calls: tuple[Call, ...]
    windows: int = 1
    limit: int | None = None
    """Half the size of the shortest request that was refused as too long; None if none was."""

    @classmethod
    def only(cls, value: T | Failure, calls: tuple[Call, ...] = ()) -> Answers[T]:
        """Return the answer about the only subject."""
        return cls({"": [value]}, calls)

    @property
    def value(self) -> T | Failure:
        """The answer about the only subject."""
        ((value,),) = self.values.values()
        return value

    @property
    def too_long(self) -> list[str]:
        """The subjects of a request that was refused as too long."""
        return [subject for subject, values in self.values.items() if any(map(is_too_long, values))]


def is_too_long(value: object) -> bool:
    """Return whether a value is the failure of a request that was too long."""
    return isinstance(value, Failure) and value.reason == "too_long"


def smaller_room(
    refused: Request,
    why: object,
    learned: int | None,
    limit: int | None = None,
) -> int:
    """Return the maximum size of a request after one was refused as too long.

    Args:
        refused: The refused request.
        why: The failure, which may state the window.
        learned: The room that is known, if any.
        limit: Half the size of a shorter request that was refused, if any.
    """
    stated = why.context_tokens if isinstance(why, Failure) else None
    room = refused.room(stated) if stated else learned
    half = min(refused.size // 2, limit or refused.size)
    return half if room is None else min(half, room)


async def ask_windows(
    windows: Sequence[W],
    ask: Callable[[W, int | None], Coroutine[Any, Any, Answers[T]]],
    limit: int | None = None,
) -> list[Answers[T]]:
    """Ask about the first window alone, to test whether this size is accepted, then about the
    others.

    `ask` gets a window and the limit that earlier ones have found: half the size of a refused
    request. Returns the answers of the windows; only the first one's if all of it was refused as
    too long.
    """
    # All at once, fifty windows of a size that the server refuses would be fifty refusals.
    first = await ask(windows[0], limit)
    if all(map(is_too_long, chain.from_iterable(first.values.values()))):
        return [first]
    return [first, *await gather_all([ask(window, first.limit) for window in windows[1:]])]


def numbered(answers: Iterable[Answers[T]]) -> tuple[Call, ...]:
    """Return the calls of windows, each with the number of its window."""
    calls: list[Call] = []
    before = 0
    for answer in answers:
        calls += [
            call.model_copy(update={"window": before + (call.window or 1)}) for call in answer.calls
        ]
        before += answer.windows
    return tuple(calls)


async def ask_about(
    subjects: Sequence[S],
    ask: Callable[[tuple[S, ...]], Request],
    read: Callable[[Completion, Request, tuple[S, ...]], ParsedReply[T]],
    executor: Executor,
    address: CallAddress,
    replicate: int = 0,
) -> Answers[T]:
    """Ask until every subject has a value, with attempts 0, 1, ... up to `MAX_ATTEMPTS`, and one
    more after a question about more than `CLAIMS_PER_CALL` subjects.

    If all stored replies are useless, a further attempt is taken from the reply cache, or sent if
    the run re-asks such replies (`RunOptions.ask_again`).

    Args:
        subjects: The subjects of one request.
        ask: Builds the request about some of the subjects.
        read: Reads a reply about them.
        executor: Answers the requests.
        address: Step, part and evidence in the records of the calls.
        replicate: Number of the replicate, from 0.
    """
    values: dict[str, T | Failure] = {}
    calls: list[Call] = []
    batches: list[_SubjectsOfRequest[S]] = [_SubjectsOfRequest(tuple(subjects))]
    divided = len(subjects) > CLAIMS_PER_CALL
    for attempt in count():
        following: list[_SubjectsOfRequest[S]] = []
        for batch in batches:
            request = ask(batch.subjects).repeated(attempt, replicate)
            # The executor sends a further attempt only if `--ask-again` names this reason.
            if batch.again:
                request = replace(request, again=batch.again)
            outcome = await executor.ask(request)
            if batch.again and isinstance(outcome, Failure) and outcome.reason == "not_in_cache":
                continue
            if isinstance(outcome, Failure):
                reading = ParsedReply[T](failure=outcome)
            else:
                reading = read(outcome, request, batch.subjects)
                executor.review(request, outcome, _unreadable(reading))
            values |= reading.values
            values |= {one.id: reading.lack(one.id) for one in batch.missing(reading)}
            calls.append(_call(address, request, outcome, reading, batch.ids))
            following += _following(batch, reading, outcome, attempt, divided=divided)
        if not following:
            return Answers({subject: [value] for subject, value in values.items()}, tuple(calls))
        batches = following
    raise AssertionError("attempts are counted without end")


class _SubjectsOfRequest(NamedTuple, Generic[S]):
    """Subjects of one request."""

    subjects: tuple[S, ...]
    again: Reason | None = None
    """Why their stored replies are useless, if all attempts that a run makes are stored."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the subjects that have one."""
        return tuple([subject.id for subject in self.subjects if subject.id])

    def missing(self, reading: ParsedReply[T]) -> list[S]:
        """Return the subjects that a reply has no value of."""
        return [subject for subject in self.subjects if subject.id not in reading.values]


def _following(
    batch: _SubjectsOfRequest[S],
    reading: ParsedReply[T],
    outcome: Outcome,
    attempt: int,
    *,
    divided: bool,
) -> list[_SubjectsOfRequest[S]]:
    """Return what to ask after a reply about a batch; nothing if it brought all values, or if
    asking again is no use.

    Args:
        batch: The batch.
        reading: What was read from the reply.
        outcome: The reply, or why there is none.
        attempt: Number of the attempt, from 0.
        divided: Whether the first question was about more than `CLAIMS_PER_CALL` subjects.
    """
    missing = batch.missing(reading)
    parts = _batches_to_re_ask(batch.subjects, missing, reading)
    # Twenty claims that are asked again in fives leave those a second attempt, as any five have.
    most = MAX_ATTEMPTS + (divided and len(batch.subjects) > 1)
    if parts and attempt + 1 < most:
        return [_SubjectsOfRequest(part) for part in parts]
    if missing and isinstance(outcome, Completion) and outcome.cached:
        return _asked_before(missing, parts, reading)
    return []


def _unreadable(reading: ParsedReply[T]) -> Failure | None:
    """Return why nothing could be read from a reply; None if something could."""
    if reading.values:
        return None
    return reading.failure or Failure(reason="incomplete", message=reading.message or "")


def _asked_before(
    missing: Sequence[S],
    parts: Sequence[tuple[S, ...]],
    reading: ParsedReply[T],
) -> list[_SubjectsOfRequest[S]]:
    """Return the batches after the last attempt, if its reply is stored.

    It was useless in an earlier run: a further attempt may be stored as well, and whether one is
    sent is for the run's `ask_again` to decide.
    """
    reason = reading.failure.reason if reading.failure else "incomplete"
    return [_SubjectsOfRequest(part, reason) for part in parts or [tuple(missing)]]


def _call(
    address: CallAddress,
    request: Request,
    outcome: Outcome,
    reading: ParsedReply[T],
    subjects: tuple[str, ...],
) -> Call:
    """Return the record of a call; `reading` has the problems of its reply."""
    completion = outcome if isinstance(outcome, Completion) else _NO_REPLY
    usage = completion.usage
    seconds = completion.latency
    return Call(
        key=completion.key or request.key,
        step=address.step,
        judge=request.judge.name,
        part=address.part,
        evidence=address.evidence,
        subjects=subjects,
        prompt=request.prompt_id,
        attempt=request.attempt,
        replicate=request.replicate,
        reply=completion.text,
        failed=reading.failure.reason if reading.failure else None,
        message=reading.failure.message if reading.failure else reading.message,
        served_model=completion.served_model,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        dollars=stated_dollars(request.judge, usage),
        # A full float would make each call in results.jsonl ten characters longer.
        seconds=None if seconds is None else round(seconds, 3),
    )


_NO_REPLY = Completion(body=b"", text=None)
"""The reply in the record of a failed call."""


def _batches_to_re_ask(
    asked: Sequence[S],
    missing: Sequence[S],
    reading: ParsedReply[T],
) -> list[tuple[S, ...]]:
    """Return the subjects without a value in batches, one per new request; none if there is no use
    in asking."""
    failure = reading.failure
    if len(asked) > CLAIMS_PER_CALL and (failure is None or failure.reason in DIVIDED_REASONS):
        return even_chunks(missing, CLAIMS_PER_CALL)
    if failure is not None:
        return _batches_of_failed(missing, failure)
    # A model that leaves a claim out of a list of twenty labels it when it is asked about that
    # alone.
    alone = len(missing) <= MAX_ALONE
    return [(subject,) for subject in missing] if alone else [tuple(missing)]


def _batches_of_failed(missing: Sequence[S], failure: Failure) -> list[tuple[S, ...]]:
    if failure.reason not in RE_ASKED_REASONS:
        return []
    # Half of the claims need half of the reply, which then fits under the same limit.
    if failure.reason == "truncated" and len(missing) > 1:
        middle = len(missing) // 2
        return [tuple(missing[:middle]), tuple(missing[middle:])]
    if failure.message in ENDLESS:
        return []  # a longer reply would only be more of the same
    return [tuple(missing)]


def even_chunks(subjects: Sequence[S], limit: int) -> list[tuple[S, ...]]:
    """Return chunks that are as few as `limit` allows and as even as possible: 6 of at most 5 are 3
    and 3."""
    count = math.ceil(len(subjects) / limit)
    size, larger = divmod(len(subjects), count or 1)
    starts = [n * size + min(n, larger) for n in range(count + 1)]
    return [tuple(subjects[start:end]) for start, end in pairwise(starts)]


class _Only(NamedTuple):
    """The only subject of a request, whose id may be empty."""

    id: str


async def ask_until_read(
    request: Request,
    read: Callable[[Completion, Request], T | Failure],
    executor: Executor,
    address: CallAddress,
    subject: str = "",
) -> Answers[T]:
    """Ask about a single subject until the reply can be read, up to `MAX_ATTEMPTS` times.

    Args:
        request: The request.
        read: Reads the reply.
        executor: Answers the request.
        address: Step, part and evidence in the records of the calls.
        subject: Id of the subject; empty for a whole part of a sample.
    """

    def read_one(completion: Completion, request: Request, _: tuple[_Only, ...]) -> ParsedReply[T]:
        """Read the reply as the value of the only subject."""
        value = read(completion, request)
        return (
            ParsedReply(failure=value)
            if isinstance(value, Failure)
            else ParsedReply({subject: value})
        )

    return await ask_about((_Only(subject),), lambda _: request, read_one, executor, address)
