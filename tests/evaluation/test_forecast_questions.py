"""What ratings will cost: each different question once, and what hangs on replies as a range."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from claimeval.evaluation.forecast import Forecast, forecast
from claimeval.evaluation.rate import PutQuestion, RateJob
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.judging.rate import ask
from claimeval.types.records import Sample
from claimeval.types.requests import Judge
from claimeval.types.scales import FAITHFULNESS
from tests.evaluation.paid import sample

JUDGE = Judge(
    name="m", model="openai:m", endpoint="http://127.0.0.1:1/v1", structured=False, max_tokens=100
)
PROMPT = prompts.load("answers", "faithful")


def planned(samples: list[Sample], prices: Path | None = None) -> Forecast:
    put = PutQuestion(FAITHFULNESS, PROMPT, Panel(scale=FAITHFULNESS.scale))
    return asyncio.run(forecast(samples, RateJob((JUDGE,), (put,)), None, prices))


def test_each_question_counts_once_and_is_priced(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:m: {input: 3.0, output: 10.0}\n")
    (line,) = planned([sample("a"), sample("a"), sample("b")], prices).lines
    assert (line.step, line.judge, line.cached, line.calls, line.exact) == (
        "answers",
        "m",
        0,
        (2, 2),
        True,
    )
    size = sum(
        ask(PROMPT, JUDGE, FAITHFULNESS, sample(name), sample(name).contexts or ()).size
        for name in "ab"
    )
    # a token of a prompt is 3 to 5 bytes; a reply is 30 to 120 tokens, and never over its limit of
    # 100
    assert line.prompt_tokens == (size // 5, -(-size // 3))
    assert line.output_tokens == (60, 200)
    low, high = line.prompt_tokens
    assert line.cost == pytest.approx(((low * 3 + 60 * 10) / 1e6, (high * 3 + 200 * 10) / 1e6))
    # at most a token for each byte, 48 tokens around the two messages of each prompt, and two
    # replies of 100
    assert line.cost_bound == pytest.approx(((size + 2 * 48) * 3 + 2 * 100 * 10) / 1e6)


def test_a_price_that_nobody_stated_is_unknown() -> None:
    (line,) = planned([sample("a")]).lines
    assert (line.cost, line.cost_bound) == (None, None)
