"""A client of a provider is loaded for the first request that is sent, and secrets are checked
before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Options, claim_judge
from tests.conftest import StartServer

SAMPLE: dict[str, object] = {
    "id": "a",
    "question": "Where is it?",
    "answer": "It is in Rome. It is MISSING.",
    "contexts": ["It is in Rome."],
}
AGAIN = """
import json, sys
import claimeval as ce
judge, cache, sample = sys.argv[1:]
run = ce.score(
    [json.loads(sample)], judges=judge, metrics="faithfulness", options=ce.RunOptions(cache=cache)
)
print(json.dumps([run["faithfulness"].mean, sorted(sys.modules.keys() & {"openai", "httpx2"})]))
"""


def again(judge: str, cache: Path, sample: dict[str, object]) -> object:
    """Score in a process of its own, and return the mean and the loaded clients."""
    done = subprocess.run(
        [sys.executable, "-c", AGAIN, judge, str(cache), json.dumps(sample)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_run_that_finds_every_reply_loads_no_client_and_one_that_does_not_loads_it(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(Options(), judge=claim_judge.answer)
    judge = f"openai:m@{server.url}"
    options = ce.RunOptions(cache=tmp_path)
    first = ce.score([SAMPLE], judges=judge, metrics="faithfulness", options=options)
    assert first["faithfulness"].mean == 0.5
    assert again(judge, tmp_path, SAMPLE) == [0.5, []]
    other = {**SAMPLE, "answer": "It is in Rome."}
    assert again(judge, tmp_path, other) == [1.0, ["httpx2", "openai"]]


def test_a_missing_key_is_said_before_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options = ce.RunOptions(cache=tmp_path)
    with pytest.raises(ce.UsageError, match="OPENAI_API_KEY is not set"):
        ce.score([SAMPLE], judges="openai:gpt-5-mini", metrics="faithfulness", options=options)
