"""Once per key: what is stored is not asked, what is under way is waited for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claimeval.execution import Executor
from claimeval.execution.cached import CachedExecutor, OfflineExecutor
from claimeval.store.store import Store, pack
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.requests import Completion, Failure, Judge, Message, Outcome, Request

JUDGE = Judge(name="j", model="openai:m", endpoint="http://127.0.0.1/v1")
FAILED = Failure(reason="timeout", message="too late")


def question(text: str = "Is it so?", **fields: Any) -> Request:
    asked = Request(
        judge=JUDGE,
        messages=(Message(role="user", content=text),),
        reply_format="json",
        max_tokens=9,
    )
    return replace(asked, **fields)


class Asking(Executor):
    """Answers after a moment, keeps what it answers, and counts."""

    def __init__(self, store: Store, outcome: Outcome | None = None) -> None:
        self.asked: list[Request] = []
        self._store = store
        self._outcome = outcome

    async def ask(self, request: Request) -> Outcome:
        self.asked.append(request)
        await asyncio.sleep(0.01)
        if self._outcome:
            return self._outcome
        reply = read_chat(write_chat(f"reply {len(self.asked)}", "m"))
        self._store.put(request.key, pack(request, reply))
        return reply


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store


def text(outcome: Outcome) -> str | None:
    assert isinstance(outcome, Completion)
    return outcome.text


def test_what_is_stored_is_not_asked_again(store: Store) -> None:
    behind = Asking(store)

    async def main() -> list[Outcome]:
        with CachedExecutor(store, behind) as cached:
            return [await cached.ask(question()) for _ in range(3)]

    outcomes = asyncio.run(main())
    assert [text(outcome) for outcome in outcomes] == ["reply 1"] * 3
    assert [isinstance(o, Completion) and o.cached for o in outcomes] == [False, True, True]
    assert len(behind.asked) == 1


def test_what_is_under_way_is_waited_for(store: Store) -> None:
    behind = Asking(store)

    async def main() -> list[Outcome]:
        with CachedExecutor(store, behind) as cached:
            return await asyncio.gather(*[cached.ask(question()) for _ in range(5)])

    outcomes = asyncio.run(main())
    assert {text(outcome) for outcome in outcomes} == {"reply 1"}
    assert sum(isinstance(o, Completion) and o.cached for o in outcomes) == 4
    assert len(behind.asked) == 1


def test_a_failure_is_shared_by_those_who_waited_and_not_remembered(store: Store) -> None:
    behind = Asking(store, FAILED)

    async def main() -> list[Outcome]:
        with CachedExecutor(store, behind) as cached:
            together = await asyncio.gather(cached.ask(question()), cached.ask(question()))
            return [*together, await cached.ask(question())]

    assert asyncio.run(main()) == [FAILED] * 3
    assert len(behind.asked) == 2


def test_one_who_stops_waiting_leaves_the_call_to_the_others(store: Store) -> None:
    behind = Asking(store)

    async def main() -> Outcome:
        with CachedExecutor(store, behind) as cached:
            first, second, third = [asyncio.create_task(cached.ask(question())) for _ in range(3)]
            await asyncio.sleep(0)
            second.cancel()
            assert text(await first) == "reply 1"
            return await third

    assert text(asyncio.run(main())) == "reply 1"


CHANGES: list[Callable[[Request], Request]] = [
    lambda r: replace(r, judge=JUDGE.model_copy(update={"model": "openai:n"})),
    lambda r: replace(r, judge=JUDGE.model_copy(update={"model": "mistral:m"})),
    lambda r: replace(r, judge=JUDGE.model_copy(update={"endpoint": "http://127.0.0.1:1/v1"})),
    lambda r: replace(r, judge=JUDGE.model_copy(update={"temperature": 1.0})),
    lambda r: replace(r, judge=JUDGE.model_copy(update={"seed": 1})),
    lambda r: replace(r, judge=JUDGE.model_copy(update={"extra": {"verbosity": "low"}})),
    lambda r: replace(r, messages=(Message(role="user", content="Is it so? "),)),
    lambda r: replace(r, messages=(Message(role="system", content="Is it so?"),)),
    lambda r: replace(r, max_tokens=10),
    lambda r: replace(r, response_schema="{}"),
    lambda r: replace(r, replicate=1),
    lambda r: replace(r, attempt=1),
]


def test_whatever_can_change_the_answer_is_another_key() -> None:
    keys = [question().key, *(change(question()).key for change in CHANGES)]
    assert len(set(keys)) == len(CHANGES) + 1


def test_names_and_the_origin_of_words_are_not_in_the_key() -> None:
    renamed = JUDGE.model_copy(update={"name": "another"})
    assert question(judge=renamed).key == question().key
    assert question(prompt="digest").key == question().key


def test_two_threads_on_one_store_pay_once(tmp_path: Path) -> None:
    asked: list[int] = []
    barrier = threading.Barrier(2)

    def run() -> None:
        async def main() -> None:
            with Store(tmp_path / "store") as store:
                behind = Asking(store)
                with CachedExecutor(store, behind) as cached:
                    barrier.wait()
                    await asyncio.gather(*[cached.ask(question(str(i))) for i in range(20)])
                asked.append(len(behind.asked))

        asyncio.run(main())

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(asked) == 20


def test_a_failure_is_final_only_when_no_other_run_gets_the_reply(store: Store) -> None:
    failing = Asking(store, FAILED)
    answering = Asking(store)

    async def main() -> tuple[Outcome, Outcome]:
        with CachedExecutor(store, failing) as first, CachedExecutor(store, answering) as second:
            both = asyncio.gather(first.ask(question()), second.ask(question()))
            return await both

    lost, reply = asyncio.run(main())
    assert text(lost) == text(reply) == "reply 1"
    assert (len(failing.asked), len(answering.asked)) == (1, 1)


def test_replay_makes_no_call(store: Store) -> None:
    async def main() -> Outcome:
        with CachedExecutor(store, OfflineExecutor()) as cached:
            return await cached.ask(question())

    outcome = asyncio.run(main())
    assert isinstance(outcome, Failure)
    assert outcome.reason == "not_in_cache"
