"""Attempts, deadlines, judges that are stopped: the real SDKs against servers that fail as they are
told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from benchmarks.loopback import Faults, Latency, Name, Options, ThreadHandle, named
from claimeval.execution.budget import Budget
from claimeval.execution.online import MAX_UNANSWERED, OnlineExecutor
from claimeval.execution.pace import MOST_UNANSWERED, SILENT_AFTER, SILENT_TIMEOUT
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Failure, Judge, Outcome, Request
from tests.conftest import StartServer
from tests.providers.asking import PROVIDERS, judge_at, question

ATTEMPTS = 3


class Clock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Came(NamedTuple):
    outcomes: list[Outcome]
    kept: list[str]
    stopped: dict[str, str]
    progress: Progress
    clock: Clock


Way = Callable[[OnlineExecutor], Awaitable[list[Outcome]]]


def go(judges: list[Judge], way: Way, **options: Any) -> Came:
    """What comes of asking, in time that passes at once."""
    kept: list[str] = []
    clock = Clock()
    progress = Progress()
    settled = RunOptions(**{"attempts": ATTEMPTS, "timeout": 10.0} | options)

    async def main() -> Came:
        def keep(request: Request, completion: Completion) -> None:
            kept.append(request.messages[0].content)

        online = OnlineExecutor(
            judges, keep, settled, progress, Budget(judges), clock=clock, sleep=clock.sleep
        )
        async with online:
            outcomes = await way(online)
        return Came(outcomes, kept, online.stopped, progress, clock)

    return asyncio.run(main())


def one_by_one(judge: Judge, questions: int) -> Way:
    async def way(online: OnlineExecutor) -> list[Outcome]:
        return [await online.ask(question(judge, f"question {i}")) for i in range(questions)]

    return way


def at_once(judge: Judge, questions: int) -> Way:
    async def way(online: OnlineExecutor) -> list[Outcome]:
        return await asyncio.gather(
            *[online.ask(question(judge, f"question {i}")) for i in range(questions)]
        )

    return way


def reasons(came: Came) -> list[str]:
    return [o.reason if isinstance(o, Failure) else "ok" for o in came.outcomes]


RETRIED = [
    kind for kind in named("transient", "connection", "malformed") if kind != "lone_surrogate"
]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_passes_is_tried_again_until_it_has_passed(
    start_server: StartServer, provider: Name
) -> None:
    """Every kind of fault twice, then the answer: three requests and two waits for each
    question."""
    faults = [fault for kind in RETRIED for fault in (kind, kind, None)]
    server = start_server(Options(faults=Faults(first=tuple(faults))))
    came = go([judge := judge_at(server, provider)], one_by_one(judge, len(RETRIED)))
    assert reasons(came) == ["ok"] * len(RETRIED)
    assert came.kept == [f"question {i}" for i in range(len(RETRIED))]
    assert [exchange.fault for exchange in server.exchanges()] == faults
    assert len(came.clock.slept) == 2 * len(RETRIED)
    first = came.clock.slept[::2]
    second = came.clock.slept[1::2]
    assert all(0.75 <= seconds <= 1.25 for seconds in first)
    assert all(1.5 <= seconds <= 2.5 for seconds in second)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_does_not_pass_is_a_failure_after_so_many_attempts(
    start_server: StartServer, provider: Name
) -> None:
    kinds = RETRIED[: MAX_UNANSWERED - 1]
    faults = [fault for kind in kinds for fault in (*[kind] * ATTEMPTS, None)]
    server = start_server(Options(faults=Faults(first=tuple(faults))))
    came = go([judge := judge_at(server, provider)], one_by_one(judge, 2 * len(kinds)))
    assert reasons(came) == ["provider_error", "ok"] * len(kinds)
    assert came.kept == [f"question {2 * i + 1}" for i in range(len(kinds))]
    assert came.stopped == {}
    assert len(server.exchanges()) == (ATTEMPTS + 1) * len(kinds)


FATAL = [
    *(
        "insufficient_quota",
        "unsupported_parameter",
        "status_401",
        "key_echo",
        "status_403",
        "status_404",
    ),
    *("unknown_model", "redirect_302", "redirect_307"),
]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", FATAL)
def test_a_fatal_answer_stops_the_judge_at_once(
    start_server: StartServer, provider: Name, kind: str
) -> None:
    server = start_server(Options(faults=Faults(rates={kind: 1.0})))
    came = go([judge := judge_at(server, provider)], at_once(judge, 200), concurrency=4)
    assert reasons(came) == ["judge_stopped"] * 200
    assert len(server.exchanges()) <= 4
    assert list(came.stopped) == [judge.name]
    assert came.clock.slept == []


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("status_400", "provider_error"),
        ("status_413", "too_long"),
        ("status_422", "provider_error"),
        ("context_too_long", "too_long"),
        ("filtered_prompt", "filtered"),
    ],
)
def test_what_lies_in_the_question_is_asked_once(
    start_server: StartServer, provider: Name, kind: str, reason: str
) -> None:
    server = start_server(Options(faults=Faults(first=(kind,))))
    came = go([judge := judge_at(server, provider)], one_by_one(judge, 2))
    assert reasons(came) == [reason, "ok"]
    assert len(server.exchanges()) == 2


def test_one_judges_end_is_not_the_others(start_server: StartServer) -> None:
    broken = start_server(Options(faults=Faults(rates={"status_401": 1.0})))
    dead = judge_at(broken, "openai")
    alive = judge_at(start_server(dialect="mistral"), "mistral")

    async def way(online: OnlineExecutor) -> list[Outcome]:
        return [await online.ask(question(judge)) for judge in (dead, alive, dead, alive)]

    came = go([dead, alive], way)
    assert reasons(came) == ["judge_stopped", "ok", "judge_stopped", "ok"]
    assert len(broken.exchanges()) == 1


@pytest.mark.parametrize("kind", ["status_500", "status_503"])
def test_a_server_that_answers_nothing_is_given_up_after_sixty_requests(
    start_server: StartServer, kind: str
) -> None:
    server = start_server(Options(faults=Faults(rates={kind: 1.0})))
    came = go([judge := judge_at(server, "openai")], at_once(judge, 200), attempts=6)
    assert set(reasons(came)) == {"judge_stopped"}
    assert len(server.exchanges()) == MOST_UNANSWERED
    assert came.clock.now >= SILENT_TIMEOUT
    assert "no reply to 60 requests in" in came.stopped[judge.name]


def test_a_server_that_is_away_for_a_while_costs_no_question(start_server: StartServer) -> None:
    """Forty requests fail, which takes more than half a minute; nothing is lost."""
    faults = [None] * 100 + ["status_503"] * 40
    server = start_server(Options(faults=Faults(first=tuple(faults))))
    came = go([judge := judge_at(server, "openai")], at_once(judge, 400), attempts=6)
    assert reasons(came) == ["ok"] * 400
    assert came.stopped == {}
    assert len(server.exchanges()) == 440
    assert came.clock.now >= 30


def test_while_nothing_answers_one_request_is_sent_at_a_time(start_server: StartServer) -> None:
    server = start_server(Options(faults=Faults(first=("status_500",) * 40)))
    came = go([judge := judge_at(server, "openai")], at_once(judge, 50), concurrency=8)
    assert reasons(came) == ["ok"] * 50
    pauses = [seconds for seconds in came.clock.slept if seconds >= 1]
    assert len(pauses) >= 40 - SILENT_AFTER - 8, "one pause before each"


def test_one_reply_in_between_and_it_goes_on(start_server: StartServer) -> None:
    faults = ["status_500"] * (MAX_UNANSWERED - 1) + [None]
    server = start_server(Options(faults=Faults(first=tuple(faults * 3))))
    came = go(
        [judge := judge_at(server, "openai")], one_by_one(judge, 3 * MAX_UNANSWERED), attempts=1
    )
    assert came.stopped == {}
    assert reasons(came).count("ok") == 3


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        ("rate_limited", 1.0),
        ("rate_limited_zero", 1.0),
        ("rate_limited_seconds", 1.0),
        ("rate_limited_ms", 0.25),
        ("rate_limited_garbage", 1.0),
        ("rate_limited_reset", 0.5),
    ],
)
def test_a_refusal_is_waited_out_and_counts_for_no_attempt(
    start_server: StartServer, provider: Name, kind: str, seconds: float
) -> None:
    server = start_server(Options(faults=Faults(first=(kind,) * (ATTEMPTS + 3))))
    came = go([judge := judge_at(server, provider)], one_by_one(judge, 1))
    assert reasons(came) == ["ok"]
    assert came.clock.now >= seconds * (ATTEMPTS + 3)
    assert len(server.exchanges()) == ATTEMPTS + 4


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_that_asks_for_a_day_is_left_alone(
    start_server: StartServer, provider: Name
) -> None:
    server = start_server(Options(faults=Faults(rates={"rate_limited_day": 1.0})))
    came = go([judge := judge_at(server, provider)], at_once(judge, 50), concurrency=4)
    assert set(reasons(came)) <= {"provider_error", "judge_stopped"}
    assert len(server.exchanges()) <= 4
    assert "it asks to wait 86400 seconds" in came.stopped[judge.name]
    assert came.clock.now <= 4, (
        "calls that wait for a slot do not sit out the pause of a judge that is stopped"
    )


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_an_attempt_ends_by_the_clock_on_the_wall(
    start_server: StartServer, provider: Name, kind: str
) -> None:
    server = start_server(Options(faults=Faults(first=(kind,)), drip=0.01))
    judge = judge_at(server, provider)
    started = time.monotonic()
    came = go([judge], one_by_one(judge, 1), timeout=0.5)
    assert reasons(came) == ["ok"]
    assert 0.5 <= time.monotonic() - started < 5
    assert came.progress.failures == {"timeout": 1}
    assert came.progress.possibly_paid == 1


def test_progress_knows_what_went_on(start_server: StartServer) -> None:
    server = start_server(
        Options(faults=Faults(first=("status_503", "reset", None, "rate_limited_ms", None)))
    )
    came = go([judge := judge_at(server, "openai")], one_by_one(judge, 2))
    progress = came.progress
    assert (progress.calls, progress.replies, progress.in_flight) == (5, 2, 0)
    assert progress.failures == {"provider_error": 3}
    assert progress.possibly_paid == 1
    assert progress.tokens == 2 * (2 + 2), "ten characters a question, four a token"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_broken_off_call_leaves_the_slot_and_the_connection_usable(
    start_server: StartServer, provider: Name
) -> None:
    server = start_server(Options(latency=Latency(seconds=0.2)))
    judge = judge_at(server, provider)

    async def way(online: OnlineExecutor) -> list[Outcome]:
        first = asyncio.create_task(online.ask(question(judge, "first")))
        await asyncio.sleep(0.05)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return [await online.ask(question(judge, "second"))]

    came = go([judge], way, concurrency=1)
    assert reasons(came) == ["ok"]
    assert came.progress.in_flight == 0


def test_draining_lets_replies_arrive_and_sends_nothing_more(start_server: StartServer) -> None:
    server = start_server(Options(latency=Latency(seconds=0.2)))
    judge = judge_at(server, "openai")

    async def way(online: OnlineExecutor) -> list[Outcome]:
        asking = [
            asyncio.create_task(online.ask(question(judge, f"question {i}"))) for i in range(10)
        ]
        await asyncio.sleep(0.1)
        await online.drain()
        done = [task.result() for task in asking if task.done()]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        return done

    came = go([judge], way, concurrency=3)
    assert reasons(came) == ["ok"] * 3
    assert len(server.exchanges()) == len(came.kept) == 3


def test_a_reply_that_came_in_time_counts_although_tidying_up_took_too_long(
    openai_server: ThreadHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx2

    async def slow(response: httpx2.Response) -> None:
        await asyncio.sleep(5)

    monkeypatch.setattr(httpx2.Response, "aclose", slow)
    judge = judge_at(openai_server, "openai")
    came = go([judge], one_by_one(judge, 1), timeout=0.5)
    assert reasons(came) == ["ok"]
    assert len(openai_server.exchanges()) == 1


def test_one_run_after_another_and_in_two_threads(openai_server: ThreadHandle) -> None:
    from concurrent.futures import ThreadPoolExecutor

    judge = judge_at(openai_server, "openai")
    for _ in range(3):
        assert reasons(go([judge], at_once(judge, 5))) == ["ok"] * 5
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: go([judge], at_once(judge, 20)), range(2)))
    assert [reasons(came) for came in both] == [["ok"] * 20] * 2


def test_a_server_that_nobody_reaches_stops_its_judge_within_seconds() -> None:
    judge = Judge(model="openai:m", name="m", endpoint="http://127.0.0.1:9/v1")
    came = go([judge], one_by_one(judge, 3), attempts=6)
    assert reasons(came)[0] in ("provider_error", "judge_stopped")
    assert reasons(came)[1:] == ["judge_stopped"] * 2
    assert (
        "no connection: nothing answers there, for 3 seconds; check the address http://127.0.0.1:9/v1"
        in came.stopped[judge.name]
    )
