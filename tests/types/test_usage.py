"""What a reply cost in tokens: never below the truth, in every form in which servers report it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mistralai.client.models.usageinfo import UsageInfo
from openai.types import CompletionUsage
from openai.types.responses import ResponseUsage

from claimeval.providers.prices import Price, counted
from claimeval.types.usage import usage_of

PRICE = Price(input=1.0, output=10.0, cached_input=0.1, as_of=None, cache_write=1.25)


class Truth(NamedTuple):
    """What a call used."""

    new: int
    """Tokens of the prompt that no cache had."""
    cached: int
    written: int
    text: int
    reasoning: int

    @property
    def prompt(self) -> int:
        return self.new + self.cached + self.written

    @property
    def output(self) -> int:
        return self.text + self.reasoning

    @property
    def total(self) -> int:
        return self.prompt + self.output

    @property
    def dollars(self) -> float:
        read = self.new * 1.0 + self.cached * 0.1 + self.written * 1.25
        return (read + self.output * 10.0) / 1e6


Shape = Callable[[Truth], dict[str, Any]]


def openai(t: Truth) -> dict[str, Any]:
    return CompletionUsage.model_validate(
        {
            "prompt_tokens": t.prompt,
            "completion_tokens": t.output,
            "total_tokens": t.total,
            "prompt_tokens_details": {"cached_tokens": t.cached, "cache_write_tokens": t.written},
            "completion_tokens_details": {"reasoning_tokens": t.reasoning},
        }
    ).model_dump()


def responses(t: Truth) -> dict[str, Any]:
    return ResponseUsage.model_validate(
        {
            "input_tokens": t.prompt,
            "output_tokens": t.output,
            "total_tokens": t.total,
            "input_tokens_details": {"cached_tokens": t.cached, "cache_write_tokens": t.written},
            "output_tokens_details": {"reasoning_tokens": t.reasoning},
        }
    ).model_dump()


def anthropic(t: Truth) -> dict[str, Any]:
    from anthropic.types import Usage  # four seconds: not in every worker that collects

    return Usage.model_validate(
        {
            "input_tokens": t.new,
            "output_tokens": t.output,
            "cache_read_input_tokens": t.cached,
            "cache_creation_input_tokens": t.written,
        }
    ).model_dump()


def mistral(t: Truth) -> dict[str, Any]:
    counts = {"prompt_tokens": t.prompt, "completion_tokens": t.output, "total_tokens": t.total}
    return {**UsageInfo.model_validate(counts).model_dump(), "num_cached_tokens": t.cached}


def litellm(t: Truth) -> dict[str, Any]:
    return {
        "prompt_tokens": t.prompt,
        "completion_tokens": t.output,
        "total_tokens": t.total,
        "cache_read_input_tokens": t.cached,
        "cache_creation_input_tokens": t.written,
        "prompt_tokens_details": {"cached_tokens": t.cached, "cache_creation_tokens": t.written},
    }


def deepseek(t: Truth) -> dict[str, Any]:
    return {
        "prompt_tokens": t.prompt,
        "completion_tokens": t.output,
        "total_tokens": t.total,
        "prompt_cache_hit_tokens": t.cached,
        "prompt_cache_miss_tokens": t.new,
        "completion_tokens_details": {"reasoning_tokens": t.reasoning},
    }


def reasoning_beside(t: Truth) -> dict[str, Any]:
    """xAI, and gateways to Gemini."""
    return {
        "prompt_tokens": t.prompt,
        "completion_tokens": t.text,
        "total_tokens": t.total,
        "prompt_tokens_details": {"cached_tokens": t.cached, "cache_write_tokens": t.written},
        "completion_tokens_details": {"reasoning_tokens": t.reasoning},
    }


def gemini(t: Truth) -> dict[str, Any]:
    """Thoughts are only in the total."""
    return {
        "prompt_tokens": t.prompt,
        "completion_tokens": t.text,
        "total_tokens": t.total,
        "prompt_tokens_details": {"cached_tokens": t.cached, "cache_write_tokens": t.written},
    }


def all_in_total(t: Truth) -> dict[str, Any]:
    return {"prompt_tokens": t.prompt, "completion_tokens": 0, "total_tokens": t.total}


def as_texts(t: Truth) -> dict[str, Any]:
    return {name: str(count) for name, count in gemini(t).items() if isinstance(count, int)}


def as_floats(t: Truth) -> dict[str, Any]:
    return {name: float(count) for name, count in gemini(t).items() if isinstance(count, int)}


def cached_beside(t: Truth) -> dict[str, Any]:
    return {
        "prompt_tokens": t.new + t.written,
        "completion_tokens": t.output,
        "total_tokens": t.total,
        "prompt_tokens_details": {"cached_tokens": t.cached, "cache_write_tokens": t.written},
    }


def only_total(t: Truth) -> dict[str, Any]:
    return {"total_tokens": t.total}


def zeros(t: Truth) -> dict[str, Any]:
    return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def nothing(t: Truth) -> dict[str, Any]:
    return {}


def no_prompt(t: Truth) -> dict[str, Any]:
    return {"prompt_tokens": 0, "completion_tokens": t.output, "total_tokens": t.total}


def gemini_sdk(t: Truth) -> dict[str, Any]:
    """Without a total, and with thoughts beside the candidates."""
    return {
        "prompt_token_count": t.prompt,
        "candidates_token_count": t.text,
        "thoughts_token_count": t.reasoning,
        "cached_content_token_count": t.cached,
    }


def converse(t: Truth) -> dict[str, Any]:
    """Amazon, as gateways pass it on."""
    return {
        "inputTokens": t.new,
        "outputTokens": t.output,
        "totalTokens": t.total,
        "cacheReadInputTokens": t.cached,
        "cacheWriteInputTokens": t.written,
    }


def reasoning_output(t: Truth) -> dict[str, Any]:
    return {
        "input_tokens": t.prompt,
        "output_tokens": t.text,
        "reasoning_output_tokens": t.reasoning,
    }


def in_camel_case(t: Truth) -> dict[str, Any]:
    return {
        "promptTokens": t.prompt,
        "completionTokens": t.text,
        "completionTokenDetails": {"reasoningTokens": t.reasoning},
    }


def total_without_output(t: Truth) -> dict[str, Any]:
    return {
        "prompt_tokens": t.prompt,
        "completion_tokens": t.text,
        "total_tokens": t.prompt,
        "completion_tokens_details": {"reasoning_tokens": t.reasoning},
    }


def text_beside_reasoning(t: Truth) -> dict[str, Any]:
    """The total leaves the reasoning out; the parts of the output do not."""
    return {
        "prompt_tokens": t.prompt,
        "completion_tokens": t.text,
        "total_tokens": t.prompt + t.text,
        "completion_tokens_details": {"text_tokens": t.text, "reasoning_tokens": t.reasoning},
    }


def old_litellm(t: Truth) -> dict[str, Any]:
    """Anthropic's cache, which neither the prompt nor the total has."""
    return {
        "prompt_tokens": t.new,
        "completion_tokens": t.output,
        "total_tokens": t.new + t.output,
        "cache_read_input_tokens": t.cached,
        "cache_creation_input_tokens": t.written,
    }


STATED = (openai, responses, anthropic, litellm, deepseek, reasoning_beside)
"""Shapes in which the reply states what was used, in full."""
OTHERS = (
    *(mistral, gemini, all_in_total, as_texts, as_floats, cached_beside),
    *(only_total, zeros, nothing, no_prompt),
    *(gemini_sdk, converse, reasoning_output, in_camel_case, total_without_output),
    *(text_beside_reasoning, old_litellm),
)
counts = st.integers(1, 20_000)
truths = st.builds(
    Truth, counts, st.just(0) | counts, st.just(0) | counts, counts, st.just(0) | counts
)


@pytest.mark.parametrize("shape", [*STATED, *OTHERS])
@given(truth=truths)
def test_no_shape_costs_less_than_the_truth(shape: Shape, truth: Truth) -> None:
    # hidden reasoning of exactly as many tokens as the cache gave cannot be told from these
    cache = (truth.cached, truth.written, truth.cached + truth.written)
    assume(not truth.reasoning or truth.reasoning not in cache)
    usage = usage_of({"usage": shape(truth)})
    if counted(usage):
        assert PRICE.of(usage) >= truth.dollars * (1 - 1e-9) - _unreported_writes(shape, truth)
    else:
        assert shape in (zeros, nothing), "then the reservation is kept, the most it can cost"


def _unreported_writes(shape: Shape, truth: Truth) -> float:
    """The premium of a written token, in shapes that do not report that it was written."""
    return 0.0 if shape in STATED[:4] else truth.written * 0.25 / 1e6


@pytest.mark.parametrize("shape", STATED)
@given(truth=truths)
def test_what_the_reply_states_is_counted_exactly(shape: Shape, truth: Truth) -> None:
    usage = usage_of({"usage": shape(truth)})
    assert (usage.prompt_tokens, usage.completion_tokens) == (truth.prompt, truth.output)
    assert (usage.cached_tokens or 0) == truth.cached


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        # sub2api 5771, worked by hand: 1,499 + 2,809 = 14,428 - 10,120
        (
            {
                "prompt_tokens": 10_120,
                "completion_tokens": 1_499,
                "total_tokens": 14_428,
                "completion_tokens_details": {"reasoning_tokens": 2_809},
            },
            (10_120, 4_308),
        ),
        (
            {"prompt_tokens": 10_120, "completion_tokens": 0, "total_tokens": 14_428},
            (10_120, 4_308),
        ),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, None)),
        ({"prompt_tokens": 250, "completion_tokens": None}, (250, None)),
        # more reasoning than completion can only be beside it
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            (9, 12),
        ),
        # more cached than prompt can only be beside it
        ({"prompt_tokens": 9, "completion_tokens": 5, "cached_tokens": 70}, (79, 5)),
        ({"prompt_tokens": -1, "completion_tokens": 10**17}, (None, None)),
        ({"prompt_tokens": True, "completion_tokens": "x"}, (None, None)),
        ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 120}, (100, 50)),
        # DeepSeek's two parts of the prompt, without their sum
        (
            {
                "prompt_cache_hit_tokens": 640,
                "prompt_cache_miss_tokens": 360,
                "completion_tokens": 500,
            },
            (1000, 500),
        ),
        # new-api, which has Anthropic's cache beside the prompt, and a name of its own for writing
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 200,
                "total_tokens": 300,
                "prompt_tokens_details": {"cached_tokens": 300, "cached_creation_tokens": 600},
            },
            (1000, 200),
        ),
        # Perplexity's deep research, whose total is 33 + 7,163
        (
            {
                "prompt_tokens": 33,
                "completion_tokens": 7_163,
                "total_tokens": 7_196,
                "citation_tokens": 20_016,
                "reasoning_tokens": 5_000,
            },
            (20_049, 12_163),
        ),
        # hindsight 3851: a total that is one token below 3,110 + 673 + 909
        (
            {
                "prompt_tokens": 3_110,
                "completion_tokens": 673,
                "total_tokens": 4_691,
                "completion_tokens_details": {"reasoning_tokens": 909},
            },
            (3_110, 1_582),
        ),
        ("none", (None, None)),
        (None, (None, None)),
    ],
)
def test_counts_worked_by_hand(usage: object, found: tuple[int | None, int | None]) -> None:
    read = usage_of({"usage": usage})
    assert (read.prompt_tokens, read.completion_tokens) == found


@pytest.mark.parametrize("gateway", [{}, {"prompt_tokens": 0, "completion_tokens": 0}, None])
def test_a_record_without_counts_hides_no_other_record(gateway: object) -> None:
    behind = {"promptTokenCount": 900, "candidatesTokenCount": 20, "thoughtsTokenCount": 700}
    read = usage_of({"usage": gateway, "usageMetadata": behind})
    assert (read.prompt_tokens, read.completion_tokens) == (900, 720)


def test_reasoning_within_the_output_is_counted_once_where_the_counts_show_it() -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": 40}}
    of_parts = {"completion_tokens_details": {"reasoning_tokens": 40, "text_tokens": 20}}
    by_total = usage_of(
        {"usage": {"prompt_tokens": 9, "completion_tokens": 60, "total_tokens": 69} | details}
    )
    by_parts = usage_of({"usage": {"prompt_tokens": 9, "completion_tokens": 60} | of_parts})
    assert by_total.completion_tokens == by_parts.completion_tokens == 60


def test_zeros_without_a_text_are_counts() -> None:
    read = usage_of({"usage": {"prompt_tokens": 9, "completion_tokens": 0}}, has_text=False)
    assert (read.prompt_tokens, read.completion_tokens) == (9, 0)
