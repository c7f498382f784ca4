"""The cost of a known list of questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.evaluation.estimates import Range
from claimeval.evaluation.quotes import Prospect, quote
from claimeval.types.requests import Judge, Message, Request

JUDGE = Judge(name="m", model="openai:m", endpoint="http://127.0.0.1:1/v1", structured=False)


def request(text: str) -> Request:
    return Request(judge=JUDGE, messages=(Message(role="user", content=text),), reply_format="json", max_tokens=100)


def test_each_question_counts_once_and_is_priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:m: {input: 3.0, output: 10.0}\n")
    prospects = [
        Prospect("rate", request("a" * 300), Range(10, 20)),
        Prospect("rate", request("a" * 300), Range(10, 20)),
        Prospect("rate", request("b" * 300), Range(10, 500), certain=False),
    ]
    (found,) = quote(prospects, None, prices)
    assert (found.step, found.judge, found.stored, found.calls) == ("rate", "m", 0, (1, 2))
    # 300 bytes are 60 to 100 tokens; a reply is never over its limit of 100
    assert found.prompt_tokens == (60, 200)
    assert found.output_tokens == (10, 120)
    assert found.cost == pytest.approx(((60 * 3 + 10 * 10) / 1e6, (200 * 3 + 120 * 10) / 1e6))
    # two prompts of 300 bytes, 32 tokens around each, and two replies of 100
    assert found.worst == pytest.approx(2 * (332 * 3 + 100 * 10) / 1e6)


def test_a_price_that_nobody_stated_is_unknown() -> None:
    (found,) = quote([Prospect("rate", request("a"), Range(1, 2))], None)
    assert (found.cost, found.worst) == (None, None)
