"""Processes that are killed, interrupted or run out of disk, and the same command again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.clients import ROOT, Client, score, write_samples
from benchmarks.loopback import Latency, Options, ThreadHandle, claim_judge, serve_in_thread
from benchmarks.survival import survive
from claimeval.execution.budget import LEDGER_FILE, NANO
from tests.command_line import Done, call
from tests.sample_runs import without_seconds

CONCURRENCY = 16
SAMPLES = 60
"""Of three calls each; `benchmarks.survival` has ten thousand calls."""


@pytest.mark.slow
def test_calls_with_faults_in_two_processes_survive_three_kills(tmp_path: Path) -> None:
    kills = 3
    survived = survive(tmp_path / "killed", SAMPLES, kills=kills, concurrency=CONCURRENCY)
    assert (survived.calls, survived.kills, survived.lost) == (3 * SAMPLES, kills, 0)
    assert survived.repeated_kept == 0
    assert survived.repeated <= kills * CONCURRENCY
    assert survived.requests <= 1.4 * survived.calls + kills * CONCURRENCY
    assert sorted(survived.codes) == [-signal.SIGKILL] * kills + [0, 0]
    assert survived.peak <= 200_000_000

    undisturbed = survive(
        tmp_path / "undisturbed", SAMPLES, clients=1, kills=0, share=0.0, port=survived.port
    )
    assert undisturbed.requests == undisturbed.calls == 3 * SAMPLES
    for part in (0, 1):
        assert {without_seconds(file) for file in survived.results[part::2]} == {
            without_seconds(undisturbed.results[part])
        }


@pytest.mark.slow
def test_four_processes_that_begin_at_once_pay_for_every_question_once(tmp_path: Path) -> None:
    survived = survive(tmp_path / "runs", 20, clients=4, kills=0, share=0.0)
    assert survived.requests == survived.calls == 60
    assert survived.lost == survived.repeated == 0


@pytest.fixture
def slow_server() -> Iterator[ThreadHandle]:
    with serve_in_thread(Options(latency=Latency(seconds=0.5)), judge=claim_judge.answer) as server:
        yield server


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline, "it never comes to that"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number_sent", "signals"), [(signal.SIGINT, 1), (signal.SIGTERM, 3), (signal.SIGHUP, 2)]
)
def test_ctrl_c_ends_soon_and_loses_nothing_that_was_read(
    tmp_path: Path, slow_server: ThreadHandle, number_sent: signal.Signals, signals: int
) -> None:
    write_samples(tmp_path / "samples.jsonl", 20)
    run = score(slow_server, "--concurrency", "8")
    client = Client(tmp_path, "run", run)
    wait_until(lambda: sum(exchange.answered for exchange in slow_server.exchanges()) >= 10)
    for number in range(signals):
        time.sleep(0.05 * bool(number))
        client.send(number_sent)
    client.wait()
    said = client.errors.read_text().splitlines()
    assert client.codes == [130], said
    assert signals == 3 or said[-1].startswith("claimeval: Interrupted")
    assert not any("Traceback" in line for line in said)

    call(*run, "--out", "run", folder=tmp_path)
    answered = [exchange.sha256 for exchange in slow_server.exchanges() if exchange.answered]
    assert len(set(answered)) == 60
    repeated = len(answered) - len(set(answered))
    assert repeated == 0 if signals == 1 else repeated <= 8
    assert len((tmp_path / "run" / "results.jsonl").read_text().splitlines()) == 20


def test_a_reply_that_waits_for_the_reply_cache_is_not_noted_as_stored(
    tmp_path: Path, slow_server: ThreadHandle
) -> None:
    """Else a run that is killed then seems to have paid for a stored reply twice."""
    write_samples(tmp_path / "samples.jsonl", 20)
    client = Client(tmp_path, "run", score(slow_server, "--concurrency", "8"))
    wait_until(lambda: len(client.noted("end")) >= 5)
    with contextlib.closing(sqlite3.connect(tmp_path / "store" / "cache.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = client.noted("begin")
        # the second begins after the first would have been noted
        wait_until(lambda: len(client.noted("begin") - begun) >= 2)
        assert client.noted("end") <= begun
        waiting = client.noted("begin") - begun
    wait_until(lambda: waiting <= client.noted("end"))
    client.kill()


@pytest.mark.slow
def test_after_kills_the_spending_is_what_was_sent(tmp_path: Path) -> None:
    """Every kill loses up to eight replies; the same questions asked again say what these cost."""
    write_samples(tmp_path / "samples.jsonl", 60)
    (tmp_path / "prices.yaml").write_text("openai:judge: {input: 1.0, output: 1.0}\n")
    caps = ("--concurrency", "8", "--max-cost", "5", "--prices", "prices.yaml", "--timeout", "20")
    latency = Latency(seconds=0.31, tail_seconds=0.83, tail_rate=0.5)
    with serve_in_thread(Options(latency=latency), judge=claim_judge.answer) as server:
        client = Client(tmp_path, "run", score(server, *caps))
        for kill in range(1, 6):
            least = 12 * kill
            # `least` is bound now
            wait_until(lambda n=least: len(server.exchanges()) >= n)  # type: ignore[misc]
            time.sleep(random.uniform(0.1, 0.6))
            client.kill(signal.SIGKILL)
            client.start()
        client.wait()
        wait_until(lambda: all(exchange.sent is not None for exchange in server.exchanges()))
        sent = sum(exchange.tokens for exchange in server.exchanges() if exchange.paid) / 1e6
    with sqlite3.connect(tmp_path / "store" / LEDGER_FILE) as ledger:
        ((nano,),) = ledger.execute("SELECT cost FROM spending").fetchall()
    assert client.codes == [-signal.SIGKILL] * 5 + [0]
    assert sent * (1 - 1e-9) <= nano / NANO <= 1.02 * sent


LIMITED = """
import resource, sys
from claimeval.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv[1:] = sys.argv[2:]
main()
"""


def command(tmp_path: Path, server: ThreadHandle, *options: str) -> Done:
    return call(*scoring(server), *options, folder=tmp_path, exits=None)


def scoring(server: ThreadHandle) -> list[str]:
    return [
        "score",
        "samples.jsonl",
        "--judge",
        f"openai:judge@{server.url}",
        "--metrics",
        "faithfulness",
    ]


def limited(tmp_path: Path, server: ThreadHandle, *options: str, limit: int) -> Done:
    """The command in a process that may not write files over a limit."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *scoring(server), *options],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        },  # no module cut off at the limit
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def server() -> Iterator[ThreadHandle]:
    with serve_in_thread(judge=claim_judge.answer) as server:
        yield server


def test_a_disk_that_fills_up_in_mid_run_is_one_line_and_the_run_goes_on_later(
    tmp_path: Path, server: ThreadHandle
) -> None:
    write_samples(tmp_path / "samples.jsonl", 60)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = limited(
        tmp_path, server, "--cache", "store", "--out", "run", "--concurrency", "4", limit=200_000
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 3
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("claimeval: ")]
    assert said.startswith("claimeval: the reply cache store cannot be ")
    assert after.ru_utime - before.ru_utime < 10, "it does not spin"
    asked = len(server.exchanges())
    assert 10 < asked < 120

    again = command(tmp_path, server, "--cache", "store", "--out", "run", "--concurrency", "4")
    assert again.returncode == 0, again.stderr
    assert len(server.exchanges()) - asked >= 120 - asked
    assert len(server.exchanges()) <= 120 + 2 * 4, (
        "at most the replies that could not be kept are asked for again"
    )


def test_results_that_cannot_be_written_are_one_line_and_cost_nothing_again(
    tmp_path: Path, server: ThreadHandle
) -> None:
    write_samples(tmp_path / "samples.jsonl", 8, words=5000)
    assert command(tmp_path, server, "--cache", "store", "--out", "run").returncode == 0
    asked = len(server.exchanges())
    done = limited(tmp_path, server, "--cache", "store", "--out", "other", limit=100_000)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith(
        "claimeval: the run directory other cannot be written: File too large"
    )
    assert command(tmp_path, server, "--cache", "store", "--out", "other").returncode == 0
    assert len(server.exchanges()) == asked
    for name in ("results.jsonl", "summary.json"):
        assert (tmp_path / "other" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()


def test_a_run_has_one_writer(tmp_path: Path, slow_server: ThreadHandle) -> None:
    write_samples(tmp_path / "samples.jsonl", 60)
    client = Client(tmp_path, "run", score(slow_server, "--concurrency", "8"))
    wait_until(lambda: len(client.noted("end")) >= 5)
    metrics = [*scoring(slow_server)[:-1], "faithfulness,correctness"]
    done = call(*metrics, "--cache", "store", "--out", "run", folder=tmp_path, exits=2)
    client.kill(signal.SIGINT)
    assert "another process is writing the run run" in done.stderr


@pytest.mark.parametrize("place", ["--cache", "--out"])
def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, server: ThreadHandle, place: str
) -> None:
    write_samples(tmp_path / "samples.jsonl", 1)
    (tmp_path / "file").write_text("x")
    folders = {"--cache": "store", "--out": "run"} | {place: "file/inside"}
    done = command(tmp_path, server, *[text for option in folders.items() for text in option])
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "file/inside" in done.stderr
    assert server.exchanges() == []


def test_a_cap_is_told_and_kept_by_the_command(tmp_path: Path, server: ThreadHandle) -> None:
    write_samples(tmp_path / "samples.jsonl", 20)
    done = command(tmp_path, server, "--cache", "store", "--out", "run", "--max-calls", "15")
    assert done.returncode == 3
    assert "Budget reached: 15 calls" in done.stderr
    assert len(server.exchanges()) == 15
    assert not json.loads((tmp_path / "run" / "summary.json").read_text())["complete"]
    done = command(tmp_path, server, "--cache", "store", "--out", "run", "--max-calls", "40")
    assert done.returncode == 0
    assert len(server.exchanges()) == 40


def test_a_cap_on_money_without_a_price_is_told_before_any_call(
    tmp_path: Path, server: ThreadHandle
) -> None:
    write_samples(tmp_path / "samples.jsonl", 1)
    done = command(tmp_path, server, "--cache", "store", "--out", "run", "--max-cost", "1")
    assert done.returncode == 2
    assert "A cost limit needs the price of openai:judge" in done.stderr
    assert server.exchanges() == []

    (tmp_path / "prices.yaml").write_text("openai:judge: {input: 0.1, output: 0.1}\n")
    priced = ("--cache", "store", "--out", "run", "--max-cost", "1", "--prices", "prices.yaml")
    assert command(tmp_path, server, *priced).returncode == 0
    assert len(server.exchanges()) == 2


def test_two_processes_together_keep_a_cap_with_many_calls_in_flight(
    tmp_path: Path, slow_server: ThreadHandle
) -> None:
    write_samples(tmp_path / "samples.jsonl", 30)
    options = ("--concurrency", "64", "--max-calls", "50")
    clients = [Client(tmp_path, name, score(slow_server, *options)) for name in ("one", "two")]
    for client in clients:
        client.wait()
    assert [client.codes for client in clients] == [[3], [3]]
    assert len(slow_server.exchanges()) == 50

    again = Client(tmp_path, "one", score(slow_server, "--concurrency", "64", "--max-calls", "90"))
    again.wait()
    assert again.codes == [0]
    assert len(slow_server.exchanges()) == 90
