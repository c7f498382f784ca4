"""What becomes of calls and runs when the one asker, or a client, is killed, stopped or cannot keep replies."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

import claimeval as ce
from benchmarks.loopback.claim_judge import answer
from benchmarks.loopback.judge import Body, Reply
from benchmarks.loopback.process import serve_in_thread
from claimeval.execution import elsewhere
from claimeval.store.store import Store
from claimeval.types.errors import StoppedEarly, StoreError
from claimeval.types.options import RunOptions
from tests.command_line import call
from tests.distributed.askers import Serving, data, serving, wire

SAMPLES = 12
IN_FLIGHT = 4


class Provider:
    """Counts what it is asked, and does something when it is asked the nth time, before it answers."""

    def __init__(self, nth: int, then: Callable[[], object]) -> None:
        self.asked: Counter[str] = Counter()
        self.reached = {nth: then}
        """What is still to be done, and at which question."""
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> Reply:
        with self._lock:
            self.asked[json.dumps(body, sort_keys=True)] += 1
            then = self.reached.pop(self.asked.total(), None)
        if then:
            then()
        return answer(body)

    def rest(self) -> None:
        """Wait until nobody has asked anything for two seconds."""
        before = -1
        while before != (before := self.asked.total()):
            time.sleep(2)


@contextmanager
def asker_process(judge: str, cache: Path, port: int, *more: str) -> Iterator[subprocess.Popen[str]]:
    """`claimeval serve` as a process, with more options; when the block begins it listens."""
    listen = f"127.0.0.1:{port}"
    options = ["-j", judge, "--cache", str(cache), "--listen", listen, "--concurrency", str(IN_FLIGHT), "--json", *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "claimeval", "serve", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stderr
        before = ""
        while "Press Ctrl-C to stop" not in (line := process.stderr.readline()):
            before += line
            assert line, f"it ended before it listened: {before}"
        yield process
    finally:
        process.kill()
        process.communicate()


def a_free_port() -> int:
    """A port that nobody listens on, below those that a system gives to outgoing connections meanwhile."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            return int(probe.getsockname()[1])


def test_an_asker_that_is_killed_ends_its_clients_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "RETRY_TIME", 0.0)
    samples, port, asker = data(tmp_path, SAMPLES), a_free_port(), list[subprocess.Popen[str]]()
    provider = Provider(10, lambda: os.kill(asker[0].pid, signal.SIGKILL))
    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        command = ("score", samples, "-j", judge, "-o", tmp_path / "run", "--via", f"127.0.0.1:{port}")
        with asker_process(judge, tmp_path / "cache", port) as process:
            asker.append(process)
            killed = call(*command)
        assert killed.returncode == 3
        assert f"the server 127.0.0.1:{port} does not answer" in killed.stderr
        assert "start it again, then run the same command to resume" in killed.stderr
        assert call(*command).returncode == 3, "nobody listens"
        with asker_process(judge, tmp_path / "cache", port) as process:
            finished = call(*command)
            process.send_signal(signal.SIGTERM)
            printed, _ = process.communicate(timeout=20)
        assert finished.returncode == 0, finished.stderr
    told = json.loads(printed)
    assert (process.returncode, told["command"], told["exit_code"]) == (0, "serve", 0)
    assert told["calls"] == told["replies"] <= provider.asked.total() - 10 + IN_FLIGHT
    repeated = sum(count - 1 for count in provider.asked.values())
    assert max(provider.asked.values()) <= 2
    assert repeated <= IN_FLIGHT


def test_a_cap_is_exact_over_two_clients_that_ask_one_asker(tmp_path: Path) -> None:
    samples, cap, provider = data(tmp_path, SAMPLES), 13, Provider(0, lambda: None)

    async def both(via: str, judge: str) -> list[BaseException | ce.Run]:
        """Two runs at once, with questions of their own."""
        asked = [
            ce.ascore(samples, judges=judge, assess_prompt=prompt, out=tmp_path / prompt, options=RunOptions(via=via))
            for prompt in ("three_way", "binary")
        ]
        return await asyncio.gather(*asked, return_exceptions=True)

    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        options = RunOptions(cache=tmp_path / "cache", concurrency=IN_FLIGHT, max_calls=cap)
        with serving([judge], options) as asker:
            said = asyncio.run(both(asker.via, judge))
            asked = status(asker)["calls"]
    words = (
        rf"Budget reached: {cap} calls .* are spent, the limit of the asker \S+\. To resume, raise the limit and run"
    )
    assert all(isinstance(one, StoppedEarly) and re.match(words, str(one)) for one in said), said
    assert provider.asked.total() == len(provider.asked) == asked == cap


def test_a_call_survives_the_client_that_asked_and_what_was_queued_is_not_sent(tmp_path: Path) -> None:
    samples, clients, askers = data(tmp_path, SAMPLES), list[subprocess.Popen[bytes]](), list[Serving]()

    def kill_the_client() -> None:
        """End the client, and wait until the asker knows."""
        clients[0].kill()
        while status(askers[0])["clients"]:
            time.sleep(0.005)

    provider = Provider(5, kill_the_client)
    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        with serving([judge], RunOptions(cache=tmp_path / "cache", concurrency=1)) as asker:
            askers.append(asker)
            command = ["score", str(samples), "-j", judge, "-o", str(tmp_path / "a"), "--via", asker.via]
            client = subprocess.Popen([sys.executable, "-m", "claimeval", *command], stderr=subprocess.DEVNULL)
            clients.append(client)
            assert client.wait(timeout=60) == -signal.SIGKILL
            while status(asker)["waiting"]:
                time.sleep(0.005)
            assert provider.asked.total() == status(asker)["replies"] == 5
            ce.score(samples, judges=judge, out=tmp_path / "b", options=RunOptions(via=asker.via))
    assert set(provider.asked.values()) == {1}


def test_a_connection_that_is_cut_after_a_silence_is_made_again_and_nothing_is_paid_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "RETRY_TIME", 0.0)  # so that every silence is a long one
    samples, cuts = data(tmp_path, SAMPLES), list[Callable[[], object]]()
    provider = Provider(5, lambda: cuts[0]())
    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        with (
            serving([judge], RunOptions(cache=tmp_path / "cache", concurrency=IN_FLIGHT)) as asker,
            wire(asker.via) as (via, cut),
        ):
            cuts.append(cut)
            run = ce.score(samples, judges=judge, out=tmp_path / "run", options=RunOptions(via=via))
    assert run.complete
    assert not provider.reached, "the connections were cut"
    assert provider.asked.total() == len(provider.asked)


def status(asker: Serving) -> dict[str, int]:
    told: dict[str, int] = httpx2.get(f"http://{asker.via}/v1/status").json()
    return told


def test_an_asker_that_is_stopped_keeps_and_answers_what_is_in_flight(tmp_path: Path) -> None:
    samples, askers = data(tmp_path, SAMPLES), list[Serving]()
    provider = Provider(6, lambda: askers[0].server.stop())
    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        with serving([judge], RunOptions(cache=tmp_path / "cache", concurrency=1)) as asker:
            askers.append(asker)
            with pytest.raises(StoppedEarly, match="ended this run: it was stopped; run the same command to resume"):
                ce.score(samples, judges=judge, out=tmp_path / "run", options=RunOptions(via=asker.via))
        with Store(tmp_path / "cache") as store:
            assert len(store) == provider.asked.total() == asker.progress.replies
        with serving([judge], RunOptions(cache=tmp_path / "cache")) as asker:
            run = ce.score(samples, judges=judge, out=tmp_path / "run", options=RunOptions(via=asker.via))
    assert run.complete
    assert set(provider.asked.values()) == {1}


def test_an_asker_that_cannot_keep_replies_ends_with_its_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: Store, key: str, value: bytes) -> None:
        raise StoreError(f"the reply cache {store.folder} cannot be used: No space left on device")

    provider = Provider(0, lambda: None)
    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        with serving([judge], RunOptions(cache=tmp_path / "cache", concurrency=IN_FLIGHT)) as asker:
            monkeypatch.setattr(Store, "put", full)
            with pytest.raises(StoppedEarly, match="No space left on device"):
                ce.score(data(tmp_path, SAMPLES), judges=judge, options=RunOptions(via=asker.via))
        assert asker.asker.failure
    assert provider.asked.total() <= IN_FLIGHT


def test_replies_that_gave_nothing_are_asked_for_again_as_at_home(tmp_path: Path) -> None:
    samples, cannot_say, provider = data(tmp_path, 3), threading.Event(), Provider(0, lambda: None)
    counts: dict[str, list[int]] = {"home": [], "elsewhere": []}

    def respond(body: Body) -> Reply:
        good = provider(body)
        return Reply("I cannot say.") if cannot_say.is_set() and "<claims>" in json.dumps(body) else good

    with serve_in_thread(judge=respond) as server:
        judge = f"openai:model@{server.url}"
        with serving([judge], RunOptions(cache=tmp_path / "asker")) as asker:
            for place, here in (
                ("home", RunOptions(cache=tmp_path / "home")),
                ("elsewhere", RunOptions(via=asker.via)),
            ):
                cannot_say.set()
                for number, again in enumerate(("", "unparsable", "")):
                    options = replace(here, ask_again=again)
                    ce.score(samples, judges=judge, out=tmp_path / f"{place}{number}", options=options)
                    counts[place].append(provider.asked.total())
                    cannot_say.clear()
                with pytest.warns(UserWarning, match="not_in_cache"):
                    ce.score(samples, judges=judge, assess_prompt="binary", options=replace(here, offline=True))
                counts[place].append(provider.asked.total())
                provider.asked.clear()
    assert counts["home"] == counts["elsewhere"]
    assert counts["home"][0] < counts["home"][1] == counts["home"][2] == counts["home"][3]
    for number in range(3):
        at_home, elsewhere = ((tmp_path / f"{place}{number}" / "results.jsonl").read_bytes() for place in counts)
        assert at_home == elsewhere
