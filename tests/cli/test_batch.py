"""`score --batch` and `claimeval batch`: what they print, what they leave, how they exit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.clients import ROOT, write_samples
from benchmarks.loopback import Batching, Options, ThreadHandle, claim_judge
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.execution.batch_runs import spec
from tests.sample_runs import untimed


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_samples(tmp_path / "samples.jsonl", 3)
    return tmp_path / "samples.jsonl"


@pytest.fixture
def slow_server(start_server: StartServer) -> ThreadHandle:
    return start_server(Options(batching=Batching(seconds=3600)), judge=claim_judge.answer)


def test_a_detached_run_is_seen_to_and_finished(
    claimeval: Run, data: Path, slow_server: ThreadHandle, start_server: StartServer
) -> None:
    command = (
        "score",
        data,
        "-j",
        spec(slow_server, "openai"),
        "-m",
        "faithfulness",
        "--out",
        "run",
        "--batch",
    )
    done = claimeval(*command, "--detach", exits=3)
    assert done.stdout == ""
    assert (
        done.stderr.splitlines()[-1]
        == "claimeval: 1 batch with 3 requests pending. Run the same command to resume (see "
        "`claimeval batch list --refresh`)."
    )
    (listed,) = json.loads(claimeval("batch", "list", "--json").stdout)["batches"]
    assert (listed["state"], listed["status"], listed["requests"]) == ("submitted", "validating", 3)
    table = claimeval("batch", "list", "--refresh").stdout.splitlines()
    assert table[0].split() == ["batch", "model", "requests", "answered", "failed", "age", "state"]
    assert table[1].split() == [
        listed["batch"][:8],
        "openai:judge",
        "3",
        "0",
        "0",
        "0:00",
        "validating",
    ]

    online = claimeval(*command[:-1], "--max-calls", "0", exits=3)
    assert online.stderr.startswith(
        "claimeval: 3 requests are pending in batches. This run will send and pay for"
    )
    collected = claimeval("batch", "collect", exits=3)
    assert collected.stdout.splitlines() == [
        "replies stored: 0",
        "still open: 1 with 3 requests; `claimeval batch list --refresh` shows them",
    ]
    cancelled = claimeval("batch", "cancel", listed["batch"][:6], "--json")
    assert json.loads(cancelled.stdout)["batches"][0]["status"] == "cancelling"


def test_a_run_through_batches_leaves_the_files_of_the_run_without(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    command = ("score", data, "-j", spec(server, "mistral"), "-m", "faithfulness")
    claimeval(*command, "--out", "online")
    done = claimeval(*command, "--out", "batch", "--batch", "--cache", "other")
    assert "faithfulness" in done.stdout
    here = data.parent / "here"
    for name in ("results.jsonl", "summary.json"):
        assert untimed(here / "batch" / name) == untimed(here / "online" / name)
    assert claimeval("batch", "list", "--cache", "other").stdout == "No open batches.\n"
    over = json.loads(claimeval("batch", "list", "--all", "--json", "--cache", "other").stdout)
    assert [batch["state"] for batch in over["batches"]] == ["answered", "answered"]


def test_a_run_is_judged_again_in_batches(claimeval: Run, data: Path, server: ThreadHandle) -> None:
    judge = spec(server, "openai")
    claimeval("score", data, "-j", judge, "-m", "faithfulness", "--out", "a", "--batch")
    done = claimeval(
        "rejudge", "a", "--assess-prompt", "binary", "--out", "b", "--batch", "--details"
    )
    assert (
        "Calls: 3 sent, 0 answered from the reply cache, 3 reused from the run (claims of 3 texts"
        in done.stdout
    )
    lines = server.batch_lines()
    assert len(lines) == len({line.custom_id for line in lines}) == 9
    assert not any(exchange.path.endswith("/chat/completions") for exchange in server.exchanges())


LIMITED = """
import resource, sys
from claimeval.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (125_000, resource.RLIM_INFINITY))
main()
"""


def test_a_disk_that_fills_up_is_one_line_and_the_run_goes_on_later(
    claimeval: Run, tmp_path: Path, server: ThreadHandle
) -> None:
    data = tmp_path / "many.jsonl"
    write_samples(data, 100)
    command = (
        "score",
        data,
        "-j",
        spec(server, "openai"),
        "-m",
        "faithfulness",
        "--out",
        "run",
        "--batch",
    )
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, command)],
        cwd=tmp_path / "here",
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        },  # no module cut off at the limit
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    said = [line for line in done.stderr.splitlines() if line.startswith("claimeval:")]
    assert len(said) == 1
    assert "cannot be" in said[0]
    assert "Traceback" not in done.stderr
    assert server.batch_lines() == []
    claimeval(*command)
    lines = server.batch_lines()
    assert len(lines) == len({line.custom_id for line in lines}) == 200


def test_ctrl_c_leaves_the_batches_to_be_taken_up(data: Path, slow_server: ThreadHandle) -> None:
    command = (
        "score",
        data,
        "-j",
        spec(slow_server, "openai"),
        "-m",
        "faithfulness",
        "--out",
        "run",
        "--batch",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "claimeval", *map(str, command)],
        cwd=data.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not any(exchange.path.endswith("/batches") for exchange in slow_server.exchanges()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith(
        "claimeval: Interrupted. All replies received so far are stored"
    )


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--detach", "--detach submits batches; add --batch"),
        ("--batch", "None of the judges supports batches: "),
    ],
)
def test_options_that_do_not_fit_are_told(
    claimeval: Run, data: Path, tmp_path: Path, server: ThreadHandle, option: str, words: str
) -> None:
    (tmp_path / "live.yaml").write_text(f"model: {spec(server, 'openai')}\nbatch: false\n")
    done = claimeval(
        "score", data, "-j", tmp_path / "live.yaml", "-m", "faithfulness", option, exits=2
    )
    assert words in done.stderr
    assert server.exchanges() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list"], "there is no reply cache in"),
        (["cancel"], "say which batches to cancel"),
        (["cancel", "abc", "--all"], "say which batches to cancel"),
    ],
)
def test_commands_without_an_object_say_so(
    claimeval: Run, arguments: list[str], words: str
) -> None:
    done = claimeval("batch", *arguments, exits=2)
    assert words in done.stderr
