"""What fewer, longer questions would have saved, from the calls of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Options
from benchmarks.loopback.judge import Body, Reply, text_of
from tests.conftest import StartServer
from tests.judging.test_claim_order import CLAIMS, reply

SAMPLE = {
    "id": "pier",
    "question": "Which lamps are lit?",
    "answer": " ".join(claim.text for claim in CLAIMS),
    "contexts": ["Lamps 1 to 6 are lit. " * 200],
}


def answer(body: Body) -> Reply:
    return Reply(reply(text_of(body)))


def run(start_server: StartServer, folder: Path, model: str, **asked: object) -> ce.Run:
    server = start_server(Options(), judge=answer)
    judge = ce.Judge(name="mine", model=model, endpoint=server.url)
    options = ce.RunOptions(cache=folder)
    return ce.score([SAMPLE], judges=judge, metrics="faithfulness", options=options, **asked)  # type: ignore[arg-type]


def test_the_share_is_nearly_what_the_option_then_saves(
    start_server: StartServer, tmp_path: Path
) -> None:
    """Twelve claims are three questions, or one."""
    five = run(start_server, tmp_path / "five", "openai:mine")
    auto = run(start_server, tmp_path / "auto", "openai:mine", claims_per_call="auto")
    assert five.record.cost
    assert auto.record.cost
    before = five.record.cost.total.prompt_tokens
    after = auto.record.cost.total.prompt_tokens
    assert before
    assert after
    assert five.record.cost.fewer_prompt_tokens == pytest.approx(1 - after / before, abs=0.02)
    assert auto.record.cost.fewer_prompt_tokens is None


def test_a_model_of_the_table_has_nothing_to_save(
    start_server: StartServer, tmp_path: Path
) -> None:
    found = run(start_server, tmp_path, "openai:gpt-5-mini")
    assert found.record.cost
    assert found.record.cost.fewer_prompt_tokens is None
