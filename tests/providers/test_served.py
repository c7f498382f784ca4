"""Which model answered, by names that servers restyle, and what its reply costs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from claimeval.evaluation.summary.cost import ServedModels, ServedTally
from claimeval.execution.budget import Budget, Ledger
from claimeval.providers.served import ServedPrices, is_model
from claimeval.types.errors import ClaimevalError
from claimeval.types.records import Call
from claimeval.types.requests import CallError, Completion, Judge, Message, Request, Usage

SAME = [
    ("gpt-5-mini", "gpt-5-mini"),
    ("gpt-5-mini", "gpt-5-mini-2025-08-07"),
    ("gpt-4", "gpt-4-0613"),
    ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    ("mistral-large-latest", "mistral-large-2411"),
    ("mistral-large-latest", "mistral-large-latest"),
    ("openai/gpt-5-mini", "gpt-5-mini-2025-08-07"),
    ("gemini-2.0-flash", "models/gemini-2.0-flash-001"),
    ("meta-llama/Llama-3.3-70B-Instruct", "meta-llama/llama-3.3-70b-instruct:free"),
    ("qwen3:8b", "qwen3:8b"),
    ("qwen3-8b", "/models/Qwen3-8B.gguf"),
    ("gpt-4o-2024-08-06", "gpt-4o"),
    ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5-20250929"),
    ("llama3.1", "llama3.1:latest"),
    ("qwen3:8b", "qwen3:latest"),
    ("models/gemini-2.5-flash", "gemini-2.5-flash"),
]
OTHER = [
    ("gpt-5", "gpt-5-mini"),
    ("gpt-5-mini", "gpt-5"),
    ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20"),
    ("vendor/large", "vendor/small"),
    ("m", "vendor/small"),
    ("claude-sonnet-4-5", "claude-haiku-4-5-20251001"),
    ("gpt-4o", "gpt-4o-audio"),
    ("llama-3.1-8b", "llama-3.1-70b"),
    ("qwen3:8b", "qwen3:14b"),
    ("openrouter/auto", "openai/gpt-5"),
]


@pytest.mark.parametrize(("asked", "served"), SAME)
def test_a_restyled_name_is_the_model_that_was_asked(asked: str, served: str) -> None:
    assert is_model(asked, served)


@pytest.mark.parametrize(("asked", "served"), OTHER)
def test_another_name_is_another_model(asked: str, served: str) -> None:
    assert not is_model(asked, served)


def _tally(judge: Judge, **served: int) -> ServedTally:
    tally = ServedTally([judge])
    for model, replies in served.items():
        for _ in range(replies):
            call = {"key": "k", "step": "assess", "judge": judge.name, "part": "answer"}
            tally.add(Call.model_validate({**call, "served_model": model}))
    return tally


def test_replies_of_other_models_are_counted() -> None:
    judge = Judge(name="j", model="openrouter:large", endpoint="https://openrouter.ai/api/v1")
    tally = _tally(judge, small=3, large=1, tiny=2)
    served = {"small": 3, "tiny": 2, "large": 1}
    assert tally.summary() == (ServedModels(name="j", served=served),)
    assert tally.others() == (ServedModels(name="j", served={"small": 3, "tiny": 2}),)
    assert _tally(judge, small=3).others() == (ServedModels(name="j", served={"small": 3}),)
    assert _tally(judge, large=3).others() == ()


def test_a_deployment_has_any_name_but_only_one_model() -> None:
    for model in ("azure:mine", "openai:mine"):
        judge = Judge(name="j", model=model, endpoint="https://x.openai.azure.com/openai/v1")
        assert _tally(judge, **{"gpt-4o-2024-11-20": 3}).others() == ()
        assert _tally(judge, a=1, b=1).others() == (
            ServedModels(name="j", served={"a": 1, "b": 1}),
        )


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "openai:small: {input: 1.0, output: 1.0}\nopenai:large: {input: 100.0, output: 100.0}\n"
    )
    return file


def _judge(prices: Path) -> Judge:
    return Judge(name="j", model="openai:small", endpoint="http://127.0.0.1/v1")


def test_a_reply_costs_what_the_model_that_answered_costs(prices: Path) -> None:
    served = ServedPrices(_judge(prices), prices)
    assert [served.of(name) for name in (None, "small-2025-01-01", "unlisted")] == [
        served.asked
    ] * 3
    dearer = served.of("large")
    assert dearer is not None
    assert (dearer.input, dearer.output) == (100.0, 100.0)


def test_a_dearer_model_passes_a_cap_by_no_more_than_its_first_reply(
    prices: Path, tmp_path: Path
) -> None:
    """All replies come from a model of a hundred times the price: 400 tokens are $0.04."""
    judge = _judge(prices)
    request = Request(
        judge=judge, messages=(Message("user", "x" * 100),), reply_format="json", max_tokens=400
    )
    reply = Completion(b"", "{}", served_model="large", usage=Usage(100, 300))

    async def main(ledger: Ledger) -> tuple[int, str]:
        budget = Budget([judge], ledger, prices)
        sent = 0

        async def call() -> None:
            nonlocal sent
            reserved = await budget.reserve(request)
            sent += 1
            await asyncio.sleep(0.001)
            budget.settle(request, reserved, reply)

        outcomes = await asyncio.gather(*[call() for _ in range(30)], return_exceptions=True)
        assert all(o is None or isinstance(o, ClaimevalError) for o in outcomes)
        return sent, budget.exhausted or ""

    with Ledger(tmp_path / "a.db", "run", None, 0.2) as ledger:
        sent, _ = asyncio.run(main(ledger))
        assert sent == 4, "0.16; a fifth call could cost 0.0532"
        assert ledger.spending.cost == pytest.approx(0.16)
    with Ledger(tmp_path / "b.db", "run", None, 0.01) as ledger:
        sent, said = asyncio.run(main(ledger))
        assert sent == 1
        assert "replies in flight cost more than any before (another model answered" in said


def test_reasoning_beyond_max_tokens_passes_no_cap(tmp_path: Path) -> None:
    """Each reply has 3,000 tokens of reasoning that max_tokens, 400, does not limit."""
    judge = Judge.model_validate(
        {
            "name": "j",
            "model": "openai:m",
            "endpoint": "http://127.0.0.1/v1",
            "price": {"input": 1.0, "output": 10.0},
        }
    )
    request = Request(
        judge=judge, messages=(Message("user", "x"),), reply_format="json", max_tokens=400
    )

    async def main(ledger: Ledger) -> int:
        budget = Budget([judge], ledger)
        sent = 0

        async def call(number: int) -> None:
            nonlocal sent
            reserved = await budget.reserve(request)
            sent += 1
            await asyncio.sleep(0.001)
            usage = Usage(10, 3_000 + 100 * number)
            budget.settle(request, reserved, Completion(b"", "{}", usage=usage))

        outcomes = await asyncio.gather(*map(call, range(30)), return_exceptions=True)
        assert all(o is None or isinstance(o, CallError) for o in outcomes)
        return sent

    with Ledger(tmp_path / "a.db", "run", None, 0.2) as ledger:
        assert asyncio.run(main(ledger)) >= 4
        assert ledger.spending.cost <= 0.2
