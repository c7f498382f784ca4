"""The pace against a provider that enforces its limits, minutes of it in virtual time."""

from __future__ import annotations

import asyncio
import random
from typing import Any, NamedTuple

import pytest

from benchmarks.loopback import limits as server_limits
from benchmarks.loopback.dialects import DIALECTS
from claimeval.execution.pace import MAX_PAUSE, MAX_WAIT, THROTTLED_TIMEOUT, Pace
from claimeval.types.options import RunOptions
from claimeval.types.requests import (
    CallError,
    Completion,
    Judge,
    Message,
    RateLimitStatus,
    Request,
    Usage,
)
from tests.execution.virtual_time import now, run

JUDGE = Judge(name="j", model="openai:m", endpoint="http://127.0.0.1/v1")


def question(characters: int = 400) -> Request:
    return Request(
        judge=JUDGE,
        messages=(Message(role="user", content="x" * characters),),
        reply_format="json",
        max_tokens=4096,
    )


def reply(
    prompt: int = 100, completion: int = 50, rate_limits: RateLimitStatus | None = None
) -> Completion:
    return Completion(
        body=b"",
        text="{}",
        usage=Usage(prompt_tokens=prompt, completion_tokens=completion),
        rate_limits=rate_limits,
    )


def refusal(retry_after: float | None = None) -> CallError:
    return CallError(
        "provider_error", "slow down", status=429, rate_limited=True, retry_after=retry_after
    )


def pace(**limits: Any) -> Pace:
    return Pace(RunOptions(**limits), lambda _: None, now, asyncio.sleep)


class Provider:
    """Enforces limits as the loopback server does, in virtual time."""

    def __init__(self, enforced: server_limits.Limits, *, tells: bool) -> None:
        self._limiter = server_limits.Limiter(enforced)
        self._tells = tells
        self._random = random.Random(1)
        self.answered: list[tuple[float, int]] = []
        """When, and for how many tokens."""
        self.refused: list[float] = []

    async def ask(self, prompt: int, completion: int) -> Completion | CallError:
        dialect = DIALECTS["openai"]
        await asyncio.sleep(self._random.uniform(0.01, 0.2))
        if (no := self._limiter.refuse(dialect, prompt, now())) is not None:
            self.refused.append(now())
            return refusal(float(no.headers["retry-after"]))
        await asyncio.sleep(self._random.uniform(1.0, 3.0))
        self._limiter.charge(completion, now())
        self.answered.append((now(), prompt + completion))
        told = self._limiter.headers(dialect, 0, now()) if self._tells else {}
        rate_limits = RateLimitStatus(*[int(told[name]) for name in HEADERS]) if told else None
        return reply(prompt, completion, rate_limits)


HEADERS = [
    f"x-ratelimit-{what}-{of}" for of in ("requests", "tokens") for what in ("limit", "remaining")
]


class Measured(NamedTuple):
    refused: float
    """Share of all requests."""
    used: float
    """Share of the scarcer limit from the second minute on."""


def measure(
    provider: Provider, paces: int, limits: RunOptions, completion: int, minutes: int = 8
) -> Measured:
    """Workers that always have something to ask, for some minutes."""

    async def worker(pace: Pace, chance: random.Random) -> None:
        while now() < 60 * minutes:
            turn = await pace.acquire(question(400))
            outcome = await provider.ask(100, max(1, int(completion * chance.uniform(0.5, 1.5))))
            if isinstance(outcome, Completion):
                pace.succeeded(turn, outcome)
            else:
                pace.failed(turn, outcome)
            pace.release()

    async def main() -> None:
        ways = [Pace(limits, lambda _: None, now, asyncio.sleep) for _ in range(paces)]
        await asyncio.gather(*[worker(way, random.Random(i)) for i, way in enumerate(ways * 40)])

    run(main())
    later = [tokens for at, tokens in provider.answered if 60 <= at < 60 * minutes]
    requests = len(later) / (minutes - 1)
    tokens = sum(later) / (minutes - 1)
    return Measured(
        refused=len(provider.refused) / (len(provider.refused) + len(provider.answered)),
        used=max(requests / 60, tokens / 10_000),
    )


@pytest.mark.parametrize("by", ["bucket", "window"])
@pytest.mark.parametrize("completion", [30, 150], ids=["requests are scarce", "tokens are scarce"])
@pytest.mark.parametrize("told", ["by the provider", "by the user"])
def test_under_two_percent_are_refused_and_over_ninety_of_the_limit_are_used(
    by: str, completion: int, told: str
) -> None:
    enforced = server_limits.Limits(
        requests=60, tokens=10_000, by="bucket" if by == "bucket" else "window"
    )
    provider = Provider(enforced, tells=told == "by the provider")
    limits = RunOptions() if told == "by the provider" else RunOptions(rpm=60, tpm=10_000)
    found = measure(provider, 1, limits, completion)
    assert found.refused < 0.02
    assert 0.9 <= found.used <= 1.01


def test_two_processes_share_what_one_account_may_use() -> None:
    provider = Provider(server_limits.Limits(requests=60, tokens=10_000), tells=True)
    found = measure(provider, 2, RunOptions(), 30)
    assert found.refused < 0.1
    assert found.used >= 0.9


def test_a_provider_that_says_nothing_is_found_out() -> None:
    provider = Provider(server_limits.Limits(requests=60), tells=False)
    found = measure(provider, 1, RunOptions(), 30)
    assert found.used >= 0.9


async def enter_after(pace: Pace, error: CallError) -> float:
    """How long the next call waits after this error."""
    turn = await pace.acquire(question())
    pace.failed(turn, error)
    pace.release()
    before = now()
    await pace.acquire(question())
    pace.release()
    return now() - before


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [(0.0, 0.0), (None, 1.0), (0.25, 0.25), (7.0, 7.0), (86_400.0, MAX_WAIT)],
)
def test_a_refusal_holds_everybody_up_for_as_long_as_it_says(
    retry_after: float | None, seconds: float
) -> None:
    assert run(enter_after(pace(), refusal(retry_after))) == pytest.approx(seconds, abs=0.11)


def test_a_provider_that_says_at_once_and_refuses_again_gets_pauses_all_the_same() -> None:
    async def main() -> list[float]:
        way = pace()
        pauses = []
        for _ in range(6):
            slot = await way.acquire(question())
            way.failed(slot, refusal(0.0))
            way.release()
            before = now()
            await way.acquire(question())
            way.release()
            pauses.append(now() - before)
        return pauses

    assert run(main()) == pytest.approx([0, 0, 0, 8, 16, 32], abs=0.11)


def test_a_provider_in_trouble_that_names_a_time_is_left_alone_until_then() -> None:
    busy = CallError("provider_error", "overloaded", status=503, retry_after=5.0)
    assert run(enter_after(pace(), busy)) == pytest.approx(5.0, abs=0.11)
    assert run(enter_after(pace(), CallError("provider_error", "overloaded", status=503))) == 0.0


def test_no_request_leaves_while_a_refusal_holds_and_then_one_goes_first() -> None:
    sent: list[float] = []

    async def worker(way: Pace, first: bool) -> None:
        turn = await way.acquire(question())
        sent.append(now())
        await asyncio.sleep(0.5)
        if first:
            way.failed(turn, refusal(10.0))
        else:
            way.succeeded(turn, reply())
        way.release()

    async def main() -> None:
        way = pace(concurrency=4)
        await asyncio.gather(*[worker(way, first=i == 0) for i in range(10)])

    run(main())
    before = [at for at in sent if at < 0.5]
    after = [at for at in sent if at >= 0.5]
    assert len(before) == 4
    assert min(after) >= 10.5
    assert [at for at in after if at < min(after) + 0.5] == [min(after)], (
        "one probes, the others wait for its reply"
    )


def test_refusals_in_a_row_are_waited_out_longer_and_longer_and_given_up_in_the_end() -> None:
    async def main() -> list[float]:
        way = pace()
        waits = []
        while not way.given_up:
            waits.append(await enter_after(way, refusal()))
            turn = await way.acquire(question())
            way.failed(turn, refusal())
            way.release()
        assert THROTTLED_TIMEOUT < now() < THROTTLED_TIMEOUT + 2 * MAX_PAUSE + 1
        return waits

    waits = run(main())
    assert waits[0] == pytest.approx(1.0, abs=0.11)
    assert waits[-1] == pytest.approx(MAX_PAUSE, abs=0.11)


def test_after_thousands_of_short_refusals_a_pause_is_still_the_longest() -> None:
    async def main() -> float:
        way = pace()
        for _ in range(1_100):
            await enter_after(way, refusal(0.01))
        return await enter_after(way, refusal())

    assert run(main()) == pytest.approx(MAX_PAUSE, abs=0.11)


async def seconds_until_a_call_of_all_tokens(outcome: Completion | CallError) -> float:
    """How long a call of 1000 tokens, all of a minute's, waits after a call of 300 with this
    outcome.

    Before a reply tells otherwise, 400 characters are 100 tokens, 3200 are 800, and a reply has
    200.
    """
    way = pace(tpm=1000)
    slot = await way.acquire(question(400))
    if isinstance(outcome, CallError):
        way.failed(slot, outcome)
    else:
        way.succeeded(slot, outcome)
    way.release()
    await way.acquire(question(3200))
    return now()


@pytest.mark.parametrize(("possibly_paid", "seconds"), [(False, 0.0), (True, 61.0)])
def test_the_tokens_of_a_failed_call_are_free_again_unless_it_may_be_paid(
    possibly_paid: bool, seconds: float
) -> None:
    failed = CallError("provider_error", "broken off", possibly_paid=possibly_paid)
    assert run(seconds_until_a_call_of_all_tokens(failed)) == seconds


@pytest.mark.parametrize(("prompt", "completion"), [(None, 50), (100, None), (None, None)])
def test_the_estimate_stands_where_not_all_tokens_are_counted(
    prompt: int | None, completion: int | None
) -> None:
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
    assert (
        run(seconds_until_a_call_of_all_tokens(Completion(body=b"", text="{}", usage=usage)))
        == 61.0
    )


def test_one_request_a_minute_and_a_question_over_the_token_limit_come_through() -> None:
    async def main() -> list[float]:
        way = pace(rpm=1, tpm=50)
        sent = []
        for _ in range(3):
            turn = await way.acquire(question(4000))
            sent.append(now())
            way.succeeded(turn, reply(1000, 200))
            way.release()
        return sent

    assert run(main()) == [0.0, 61.0, 122.0]


def test_the_first_to_come_is_the_first_to_go() -> None:
    async def main() -> list[int]:
        way = pace(concurrency=1)
        order = []

        async def worker(i: int) -> None:
            await way.acquire(question())
            order.append(i)
            await asyncio.sleep(1)
            way.release()

        await asyncio.gather(*[worker(i) for i in range(20)])
        return order

    assert run(main()) == list(range(20))


def test_someone_who_stops_waiting_holds_nobody_up() -> None:
    async def main() -> None:
        way = pace(concurrency=1)
        await way.acquire(question())
        waiting = [asyncio.create_task(way.acquire(question())) for _ in range(3)]
        await asyncio.sleep(1)
        waiting[0].cancel()
        waiting[1].cancel()
        await asyncio.sleep(1)
        way.release()
        await waiting[2]

    run(main())


def test_what_is_waited_for_is_said() -> None:
    said: list[str | None] = []

    async def main() -> None:
        way = Pace(RunOptions(rpm=1), said.append, now, asyncio.sleep)
        for _ in range(2):
            await way.acquire(question())
            way.release()

    run(main())
    assert any(what and what.startswith("requests per minute until ") for what in said)
    assert said[-1] is None


@pytest.mark.parametrize(
    ("error", "times", "said"),
    [
        (refusal(30.0), 1, "rate limit until"),
        (CallError("provider_error", "away", status=503), 12, "no reply, next try at"),
        (
            CallError("provider_error", "busy", status=503, retry_after=30.0),
            1,
            "asked to wait until",
        ),
    ],
)
def test_why_calls_wait_is_said_and_a_server_that_is_away_is_no_rate_limit(
    error: CallError, times: int, said: str
) -> None:
    waits: list[str | None] = []

    async def main() -> None:
        way = Pace(RunOptions(), waits.append, now, asyncio.sleep)
        for _ in range(times):
            way.failed(await way.acquire(question()), error)
            way.release()
        await way.acquire(question())

    run(main())
    assert [wait for wait in waits if wait and wait.startswith(said)]
    assert not [wait for wait in waits if wait and not wait.startswith(said)]
