"""Keys stay in the environment: no file, log, record, error or report holds one in any form,
whatever servers echo."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import claimeval as ce
from benchmarks.clients import ROOT
from benchmarks.loopback import Faults, Name, Options, ThreadHandle, claim_judge, serve_in_thread
from benchmarks.loopback.sabotage import KINDS
from claimeval import providers
from claimeval.types.errors import ClaimevalError
from claimeval.types.options import RunOptions
from claimeval.types.requests import CallError, Completion
from tests import canary
from tests.canary import CANARY, files_with_a_key, holds_a_key
from tests.command_line import call
from tests.providers.asking import PROVIDERS, judge_at, question
from tests.sample_runs import SAMPLE, run

FAST = [kind for kind, fault in KINDS.items() if fault.group != "slow"]
ECHOES = ["key_echo", "key_in_redirect", "key_in_reply"]
"""What a server says in these holds the key that it was sent."""


class Heap:
    """Texts that are to be searched; it does not show them when it is itself a captured local."""

    def __init__(self) -> None:
        self.texts: list[bytes | str] = []

    def add(self, *texts: bytes | str) -> None:
        self.texts += texts


def test_the_forms_are_found(tmp_path: Path) -> None:
    """Every test runs with this key; conftest looks for it in what they print, log and leave
    behind."""
    assert all(
        holds_a_key(text)
        for text in (CANARY, quote(CANARY), base64.b64encode(f"user:{CANARY}".encode()))
    )
    assert not holds_a_key("nothing of that kind")


@pytest.mark.parametrize("before", [0, 1, 63, 64, 100, 127, 128])
def test_a_key_is_found_in_a_file_wherever_blocks_end(
    before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "BLOCK", 128)
    (tmp_path / "none").write_bytes(b"x" * 300)
    (tmp_path / "empty").touch()
    file = tmp_path / "key"
    file.write_bytes(b"x" * before + CANARY.encode() + b"x" * 300)
    assert files_with_a_key(tmp_path) == [file]
    file.unlink()  # or the whole session fails
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "leak").write_text(f"x{CANARY}x")
    (tmp_path / "empty").touch()
    (tmp_path / "clean").write_text("x")
    assert files_with_a_key(tmp_path) == [tmp_path / "inside" / "leak"]
    (tmp_path / "inside" / "leak").unlink()


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadHandle]:
    with serve_in_thread(Options(), judge=claim_judge.answer) as server:
        yield server


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_reply_and_no_error_of_a_backend_holds_the_key(
    server: ThreadHandle, provider: Name, caplog: pytest.LogCaptureFixture
) -> None:
    server.server.faults = Faults(first=tuple(FAST))
    judge = judge_at(server, provider)
    heap = Heap()
    heap.add(repr(judge), judge.model_dump_json(), pickle.dumps(judge))

    async def main() -> None:
        async with providers.provider(judge.model).open(judge) as backend:
            heap.add(repr(backend))
            for _ in FAST:
                kept: list[Completion] = []
                try:
                    reply = await backend.complete(question(judge), kept.append)
                except CallError as error:
                    told = traceback.TracebackException.from_exception(error, capture_locals=True)
                    heap.add(
                        "".join(told.format()), repr(error), repr(vars(error)), pickle.dumps(error)
                    )
                else:
                    heap.add(repr(reply), pickle.dumps(reply), reply.body)
                heap.add(repr(kept))

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    heap.add(*(record.getMessage() for record in caplog.records))
    assert set(ECHOES) < set(FAST)
    assert {record.name.partition(".")[0] for record in caplog.records} >= {"httpx2", "httpcore2"}
    assert sum("[key]" in str(text) for text in heap.texts) > len(ECHOES), (
        "keys came back and were taken out"
    )
    assert len(heap.texts) > 3 * len(FAST)
    assert [text for text in heap.texts if holds_a_key(text)] == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_file_and_no_record_of_a_run_holds_the_key(
    server: ThreadHandle, tmp_path: Path, provider: Name, caplog: pytest.LogCaptureFixture
) -> None:
    judge = judge_at(server, provider)
    kinds = [kind for kind in FAST if KINDS[kind].group not in ("fatal", "rate", "redirect")]
    samples = [
        SAMPLE.model_copy(update={"id": f"{i}", "question": f"Tower {i}?"})
        for i in range(len(kinds))
    ]
    server.server.faults = Faults(first=tuple(fault for kind in kinds for fault in (kind, None)))
    found: list[object] = []
    with caplog.at_level(logging.DEBUG):
        ran = run([judge], tmp_path / "store", samples, attempts=4, concurrency=1)
        found += [ran.results, ran.outcome, vars(ran.progress)]
        for kind in ECHOES:
            server.server.faults = Faults(rates={kind: 1.0})
            asked = SAMPLE.model_copy(update={"question": kind})
            stopped = run([judge], tmp_path / "store", [asked], attempts=1)
            found += [stopped.results, stopped.outcome]
    assert "[key]" in repr(found), "keys came back and were taken out"
    assert not holds_a_key(repr(found))
    assert not holds_a_key(pickle.dumps([ran.results, ran.outcome]))
    assert not [record for record in caplog.records if holds_a_key(record.getMessage())]
    assert files_with_a_key(tmp_path) == []


def test_no_error_of_the_front_door_shows_the_key_even_with_its_locals(
    server: ThreadHandle, tmp_path: Path
) -> None:
    told = []
    for kind in ("key_echo", "key_in_redirect", "status_401", "unknown_model"):
        server.server.faults = Faults(rates={kind: 1.0})
        with pytest.raises(ClaimevalError) as raised:
            ce.score(
                [SAMPLE],
                judges=[judge_at(server, "openai")],
                options=RunOptions(cache=tmp_path / "store"),
            )
        found = traceback.TracebackException.from_exception(raised.value, capture_locals=True)
        told.append("".join(found.format()))
    assert not [text for text in told if holds_a_key(text)]


@pytest.mark.parametrize(
    "wrong",
    [f"{CANARY}\n{CANARY}", f"Bearer {CANARY}", f"{CANARY}é"],
    ids=["two lines", "bearer", "accent"],
)
def test_a_key_that_cannot_be_one_is_not_shown(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", wrong)
    with pytest.raises(ce.UsageError) as raised:
        ce.score([SAMPLE], judges=["openai:gpt-5-mini"])
    found = traceback.TracebackException.from_exception(raised.value)
    assert not holds_a_key("".join(found.format()))


@pytest.mark.slow
def test_no_file_that_the_command_line_leaves_holds_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in ("home", "tmp", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "samples.jsonl").write_text(
        "\n".join(
            SAMPLE.model_copy(update={"id": f"{i}", "question": f"Tower {i}?"}).model_dump_json()
            for i in range(6)
        )
    )
    places = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    for name in list(os.environ):
        if name.startswith("CLAIMEVAL_"):
            monkeypatch.delenv(name)
    for name, value in {**places, "PYTHONPATH": str(ROOT)}.items():
        monkeypatch.setenv(name, value)
    said: list[str] = []

    def command(*arguments: str) -> int:
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-m", "claimeval", *arguments],
            cwd=tmp_path / "work",
            capture_output=True,
            text=True,
            check=False,
        )
        said.extend([done.stdout, done.stderr])
        return done.returncode

    faults = Faults(
        rates=dict.fromkeys(("key_in_reply", "status_503", "reset", "null_body"), 0.15), at_most=2
    )
    with serve_in_thread(Options(faults=faults), judge=claim_judge.answer) as server:
        judges = [f"{provider}:judge@{server.url_for(provider)}" for provider in PROVIDERS]
        assert (
            command(
                "score", "samples.jsonl", *(f"--judge={judge}" for judge in judges), "--out", "run"
            )
            == 0
        ), said[-1]
    with serve_in_thread(
        Options(faults=Faults(rates={"key_echo": 1.0})), judge=claim_judge.answer
    ) as server:
        stopping = (
            "score",
            "samples.jsonl",
            "--judge",
            f"openai:judge@{server.url}",
            "--out",
            "stopped",
        )
        for code, more in (
            (3, stopping),
            (0, ("report", "run")),
            (0, ("cache", "export", "replies.jsonl")),
        ):
            done = call(*more, folder=tmp_path / "work", exits=code)
            said += [done.stdout, done.stderr]
    assert (tmp_path / "work" / "replies.jsonl").stat().st_size > 10_000
    assert files_with_a_key(tmp_path) == []
    assert not [text for text in said if holds_a_key(text)]
    assert not [text for text in said if "ResourceWarning" in text or "Traceback" in text]
