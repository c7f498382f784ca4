"""The coordinator of a run on a cluster, asked as workers ask it, with a real server as the
provider.

Arguments, results and errors cross between both as pickles, as over Ray; `test_ray` has a cluster
and its deaths.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback.claim_judge import answer
from benchmarks.loopback.judge import Body, Reply
from benchmarks.loopback.options import Latency, Options
from benchmarks.loopback.process import serve_in_thread
from claimeval.execution.asker import ELSEWHERE
from claimeval.providers.specs import parse_judges
from claimeval.store.store import Store
from claimeval.testing import serve
from claimeval.types.errors import StoppedEarly, StoreError
from claimeval.types.options import RunOptions
from tests.distributed.providers import Provider, data
from tests.sample_runs import untimed

ray_engine = pytest.importorskip("claimeval.distributed.ray_engine", reason="Ray is not installed")
from ray.exceptions import RayTaskError  # noqa: E402  # where it is installed

SAMPLES = 12
IN_FLIGHT = 4


class Handle:
    """What Ray gives for an actor: `handle.method.remote(...)`, with copies of what goes there and
    comes back."""

    def __init__(self, actor: object) -> None:
        self._actor = actor

    def __getattr__(self, method: str) -> SimpleNamespace:
        return SimpleNamespace(remote=partial(self._call, getattr(self._actor, method)))

    async def _call(self, method: Any, *arguments: Any, **named: Any) -> Any:
        arguments, named = _copy((arguments, named))
        try:
            return _copy(await method(*arguments, **named))
        except Exception as error:
            # as Ray has it
            details = (method.__name__, "", _copy(error), "actor", 1, "127.0.0.1")
            failed: Any = RayTaskError(*details)  # type: ignore[no-untyped-call]
            raise failed.as_instanceof_cause() from error


def _copy(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # of this process


@asynccontextmanager
async def asking(judge: str, **options: Any) -> AsyncIterator[Any]:
    """A coordinator that the runs in the block ask, each as a shard does."""
    coordinator = ray_engine.Coordinator()
    await coordinator.open(
        ray_engine.VERSION, parse_judges([judge]), RunOptions(**options), "a run"
    )
    token = ELSEWHERE.set(
        ray_engine.ActorExecutor(Handle(coordinator), await coordinator.learned())
    )
    try:
        yield coordinator
    finally:
        ELSEWHERE.reset(token)
        await coordinator.close()


async def shard(coordinator: Any, *arguments: Any, **named: Any) -> ce.Run:
    """A run that asks the coordinator through an executor of its own, as one more shard."""
    ELSEWHERE.set(ray_engine.ActorExecutor(Handle(coordinator), await coordinator.learned()))
    return await ce.ascore(*arguments, **named)


def files(run: Path) -> list[bytes]:
    return [untimed(run / name) for name in ("results.jsonl", "summary.json")]


def test_equal_questions_of_two_shards_are_one_call_and_the_files_are_those_of_a_run_of_one_process(
    tmp_path: Path,
) -> None:
    samples = data(tmp_path, SAMPLES)

    async def both(judge: str) -> int:
        async with asking(judge, cache=tmp_path / "cache") as coordinator:
            runs = [shard(coordinator, samples, judges=judge, out=tmp_path / name) for name in "ab"]
            assert all(run.complete for run in await asyncio.gather(*runs))
            status = await coordinator.status()
        assert status.calls == status.replies == status.cached
        return int(status.calls)

    with serve_in_thread(Options(latency=Latency(seconds=0.02)), judge=answer) as server:
        judge = f"openai:model@{server.url}"
        calls = asyncio.run(both(judge))
        asked = [exchange.sha256 for exchange in server.exchanges()]
        assert len(asked) == len(set(asked)) == calls == 2 * SAMPLES
        ce.score(
            samples,
            judges=judge,
            out=tmp_path / "home",
            options=RunOptions(cache=tmp_path / "cache"),
        )
    assert files(tmp_path / "a") == files(tmp_path / "b") == files(tmp_path / "home")


def test_a_cap_is_exact_over_two_shards_and_counts_what_was_spent_before(tmp_path: Path) -> None:
    samples = data(tmp_path, SAMPLES)
    provider = Provider(0, lambda: None)

    async def both(judge: str, cap: int) -> None:
        async with asking(
            judge, cache=tmp_path / "cache", concurrency=IN_FLIGHT, max_calls=cap
        ) as coordinator:
            runs = [
                shard(coordinator, samples, judges=judge, assess_prompt=name)
                for name in ("three_way", "binary")
            ]
            for ended in await asyncio.gather(*runs, return_exceptions=True):
                assert isinstance(ended, StoppedEarly)
                assert f"Budget reached: {cap} calls of unknown price are spent" in str(ended)

    with serve_in_thread(judge=provider) as server:
        for cap in (13, 17):
            asyncio.run(both(f"openai:model@{server.url}", cap))
            assert provider.asked.total() == len(provider.asked) == cap


def test_judges_that_cost_nothing_are_asked_where_the_shard_is(tmp_path: Path) -> None:
    async def asked(judge: str) -> tuple[ce.Run, int]:
        async with asking(judge, cache=tmp_path / "cache") as coordinator:
            judges = ["local:lexical", judge]
            run = await ce.ascore(data(tmp_path), judges=judges, extractor="local:lexical")
            return run, (await coordinator.status()).calls

    with serve_in_thread(judge=answer) as server:
        judge = f"openai:model@{server.url}"
        run, calls = asyncio.run(asked(judge))
    steps = {(call.judge, call.step) for result in run.results for call in result.calls}
    assert steps == {("local:lexical", "extract"), ("local:lexical", "assess"), (judge, "assess")}
    assert calls == 4


def test_a_coordinator_that_stops_keeps_what_is_in_flight_and_sends_no_more(tmp_path: Path) -> None:
    samples = data(tmp_path, SAMPLES)
    reached = threading.Event()
    provider = Provider(6, reached.set)

    async def stopped(judge: str) -> None:
        async with asking(judge, cache=tmp_path / "cache", concurrency=IN_FLIGHT) as coordinator:
            run = asyncio.create_task(ce.ascore(samples, judges=judge))
            await asyncio.to_thread(reached.wait)
            await coordinator.drain(60)
            asked = provider.asked.total()
            status = await coordinator.status()
            assert (status.in_flight, status.replies) == (0, asked)
            await asyncio.sleep(0.1)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            assert provider.asked.total() == asked < 2 * SAMPLES
        with Store(tmp_path / "cache") as store:
            assert len(store) == asked

    with serve_in_thread(Options(latency=Latency(seconds=0.02)), judge=provider) as server:
        asyncio.run(stopped(f"openai:model@{server.url}"))


def test_a_full_disk_ends_the_shard_as_it_ends_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider(0, lambda: None)

    def full(store: Store, key: str, value: bytes) -> None:
        raise StoreError(f"the reply cache {store.folder} cannot be used: No space left on device")

    async def asked(judge: str) -> None:
        async with asking(judge, cache=tmp_path / "cache", concurrency=IN_FLIGHT):
            with pytest.raises(StoreError, match="No space left on device"):
                await ce.ascore(data(tmp_path, SAMPLES), judges=judge)

    with serve_in_thread(judge=provider) as server:
        monkeypatch.setattr(Store, "put_at_once", full)
        asyncio.run(asked(f"openai:model@{server.url}"))
    assert provider.asked.total() <= IN_FLIGHT


def test_a_judge_that_stops_ends_the_shard_with_the_reason(tmp_path: Path) -> None:
    async def asked(judge: str) -> int:
        async with asking(judge, cache=tmp_path / "cache", concurrency=1) as coordinator:
            with pytest.raises(StoppedEarly, match="no such key"):
                await ce.ascore(data(tmp_path, SAMPLES), judges=judge)
            return int((await coordinator.status()).calls)

    with serve(lambda path, headers, body: (401, b'{"error": {"message": "no such key"}}')) as url:
        assert asyncio.run(asked(f"openai:model@{url}")) == 1


def test_replies_that_gave_nothing_are_asked_for_again_as_in_a_run_of_one_process(
    tmp_path: Path,
) -> None:
    samples = data(tmp_path, 3)
    cannot_say = threading.Event()
    provider = Provider(0, lambda: None)
    counts: dict[str, list[int]] = {"home": [], "cluster": []}

    def respond(body: Body) -> Reply:
        good = provider(body)
        return (
            Reply("I cannot say.")
            if cannot_say.is_set() and "<claims>" in json.dumps(body)
            else good
        )

    async def three_times(place: str, judge: str, options: RunOptions) -> None:
        cannot_say.set()
        for number, again in enumerate(("", "unparsable", "")):
            out = tmp_path / f"{place}{number}"
            await ce.ascore(
                samples, judges=judge, out=out, options=replace(options, ask_again=again)
            )
            counts[place].append(provider.asked.total())
            cannot_say.clear()
        provider.asked.clear()

    async def on_a_cluster(judge: str) -> None:
        async with asking(judge, cache=tmp_path / "cache"):
            await three_times("cluster", judge, RunOptions())

    with serve_in_thread(judge=respond) as server:
        judge = f"openai:model@{server.url}"
        asyncio.run(three_times("home", judge, RunOptions(cache=tmp_path / "home")))
        asyncio.run(on_a_cluster(judge))
    assert counts["home"] == counts["cluster"]
    assert counts["home"][0] < counts["home"][1] == counts["home"][2]
    for number in range(3):
        lines = [(tmp_path / f"{place}{number}" / "results.jsonl").read_bytes() for place in counts]
        assert lines[0] == lines[1]


def test_a_decision_model_is_asked_over_the_coordinator_as_at_home(tmp_path: Path) -> None:
    """It reads the claims and the evidence, which a prompt does not give apart."""
    bodies: list[Any] = []

    def respond(path: str, headers: Any, content: bytes) -> tuple[int, bytes]:
        body = json.loads(content)
        bodies.append(body)
        choices = [choice["value"] for choice in body["questions"][0]["choices"]]
        shares = [{"value": value, "probability": float(value == choices[0])} for value in choices]
        answers = [
            {"type": "choice", "name": question["name"], "choice": choices[0], "confidence": 1.0}
            | {"probabilities": shares}
            for question in body["questions"]
        ]
        return 200, json.dumps({"model": body["model"], "answers": answers}).encode()

    async def asked(judge: str) -> ce.Run:
        async with asking(judge, cache=tmp_path / "cache"):
            return await ce.ascore(data(tmp_path, 2), judges=judge, extractor="local:lexical")

    with serve(respond) as url:
        judge = f"decisions:model@{url}"
        away = asyncio.run(asked(judge))
        sent = len(bodies)
        home = ce.score(
            data(tmp_path, 2),
            judges=judge,
            extractor="local:lexical",
            options=RunOptions(cache=tmp_path / "cache"),
        )
    assert [one.label for result in away for one in result.assessments] == [
        one.label for result in home for one in result.assessments
    ]
    assert all(one.label for result in away for one in result.assessments)
    assert len(bodies) == sent > 0, "its replies are found under the same keys"
