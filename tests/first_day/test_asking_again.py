"""Replies that gave nothing, asked for again with `--ask-again`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.loopback import ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from tests.cli.conftest import Run
from tests.command_line import call
from tests.conftest import StartServer


class Unsteady:
    """A judge that babbles about one sample, or leaves it out, until it is mended."""

    def __init__(self) -> None:
        self.mended = False

    def __call__(self, body: Body) -> Reply:
        reply = claim_judge.answer(body)
        if self.mended or "BAD" not in text_of(body) or '"verdicts"' not in str(reply.content):
            return reply
        return Reply("Sure! Here is what I think of it.")


@pytest.fixture
def claimeval(tmp_path: Path) -> Run:
    return partial(call, folder=tmp_path, OPENAI_API_KEY="k")


@pytest.fixture
def judge() -> Unsteady:
    return Unsteady()


@pytest.fixture
def server(start_server: StartServer, judge: Unsteady) -> ThreadHandle:
    return start_server(judge=judge)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    rows = [
        {"id": name, "question": "Q?", "answer": f"It is {name}.", "contexts": ["C."]}
        for name in ("GOOD", "BAD")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def scored(done: Any) -> tuple[int, dict[str, int]]:
    assert done.stdout, done.stderr
    metric = json.loads(done.stdout)["metrics"]["faithfulness"]
    return metric["n"], metric["missing"]


def test_useless_stored_replies_are_asked_anew_and_their_successors_are_kept(
    claimeval: Run, data: Path, server: ThreadHandle, judge: Unsteady
) -> None:
    score = (
        "score",
        data,
        "-j",
        f"openai:m@{server.url}",
        "-m",
        "faithfulness",
        "--max-missing",
        "1",
        "--json",
    )
    assert scored(claimeval(*score, "-o", "a")) == (1, {"unparsable": 1})
    asked = len(server.exchanges())
    assert asked == 2 + 1 + 2, "an extraction each, one good assessment and two useless ones"

    assert scored(claimeval(*score, "-o", "a", "--ask-again", "truncated")) == (
        1,
        {"unparsable": 1},
    )
    assert len(server.exchanges()) == asked, "no reply was cut off"

    assert scored(claimeval(*score, "-o", "a", "--ask-again", "unparsable")) == (
        1,
        {"unparsable": 1},
    )
    assert len(server.exchanges()) == asked + 1, "once a run, also where it does not help"

    judge.mended = True
    assert scored(claimeval(*score, "-o", "a", "--ask-again", "unparsable,incomplete")) == (2, {})
    assert len(server.exchanges()) == asked + 2

    assert scored(claimeval(*score, "-o", "b")) == (
        2,
        {},
    ), "the reply to the further attempt is in the store"
    assert scored(claimeval(*score, "-o", "b", "--offline")) == (2, {})
    assert len(server.exchanges()) == asked + 2
    a, b = (data.parent / name / "results.jsonl" for name in ("a", "b"))
    assert a.read_text() == b.read_text()


@pytest.mark.parametrize("named", [False, True])
def test_a_run_is_judged_again_where_its_judge_was_useless(
    claimeval: Run, data: Path, server: ThreadHandle, judge: Unsteady, named: bool
) -> None:
    spec = f"openai:m@{server.url}"
    claimeval("score", data, "-j", spec, "-m", "faithfulness", "-o", "a", exits=1)
    asked = len(server.exchanges())
    judge.mended = True
    again = (
        "rejudge",
        "a",
        *(("-j", spec) if named else ()),
        "-o",
        "b",
        "--ask-again",
        "unparsable",
        "--json",
    )
    done = claimeval(*again)
    assert scored(done) == (2, {})
    assert len(server.exchanges()) == asked + 1


def test_a_reason_that_no_reply_is_is_refused(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    done = claimeval(
        "score", data, "-j", f"openai:m@{server.url}", "--ask-again", "timeout", exits=2
    )
    assert "unknown ask_again 'timeout'" in done.stderr
    assert server.exchanges() == []
