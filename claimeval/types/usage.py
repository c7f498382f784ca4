"""What a reply cost in tokens, read from the counts of any server with the chat completions format.

The fields differ by server and by model, and so does what they count: some servers count hidden
reasoning or cached tokens within a number, others beside it, and some report zeros. So counts are
checked by identities (`total = prompt + completion`), and not taken by the name of a field alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from claimeval.types.requests import Usage

MOST_TOKENS = 2**53
"""Maximum number of tokens that is believed. Larger numbers would overflow rates and costs."""

_RECORDS = ("usage", "usageMetadata", "usage_metadata")
_PROMPT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count")
_TOTAL = ("total_tokens", "totalTokenCount", "total_token_count")
_CACHED = (
    "cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_input_tokens",
    "num_cached_tokens",
    "cachedContentTokenCount",
)
"""OpenAI and most others, and Moonshot outside the details; DeepSeek; Anthropic and gateways to it;
Mistral; Gemini."""
_WRITTEN = (
    "cache_write_tokens",
    "cache_creation_tokens",
    "cached_creation_tokens",
    "cache_creation_input_tokens",
)
_CITED = "citation_tokens"
"""Perplexity's tokens of what it searched, billed like those of the prompt."""
_NOT_CACHED = "prompt_cache_miss_tokens"
"""DeepSeek's tokens of the prompt beside those of its cache."""
_REASONING = ("reasoning_tokens", "thinking_tokens", "thoughtsTokenCount")
_OF_PROMPT = ("prompt_tokens_details", "input_tokens_details")
_OF_OUTPUT = ("completion_tokens_details", "output_tokens_details")
NOT_REPORTED = Usage()


_TICKS = 10_000_000_000
"""xAI's ticks in a dollar (https://docs.x.ai/developers/cost-tracking)."""


def usage_of(reply: Mapping[str, object], *, has_text: bool = True) -> Usage:
    """Return the tokens of a reply: all that are billed as output, and all of the prompt.

    Output is the completion and all reasoning, whether the server counts the reasoning within
    `completion_tokens`, beside it, or only in `total_tokens`. The prompt includes tokens that were
    read from a cache or written to it. Where the counts allow several readings, the dearest counts,
    so that the cost is never too low.

    Args:
        reply: The body of the reply.
        has_text: Whether the reply has a text. Beside a text, zeros are no counts.
    """
    records = map(reply.get, _RECORDS)
    counts = next((record for record in records if isinstance(record, Mapping)), None)
    if counts is None:
        return NOT_REPORTED
    tokens = _tokens_of(counts, has_text=has_text)
    dollars, in_credits = _charged(counts)
    stated = dollars is not None or in_credits is not None
    return replace(tokens, dollars=dollars, credits=in_credits) if stated else tokens


def _charged(counts: Mapping[str, object]) -> tuple[float | None, float | None]:
    """Return what a reply states that it cost, in dollars and in credits of its host.

    xAI counts ticks of a dollar, and Perplexity's record is in dollars. OpenRouter's number is in
    credits; what a user's own key paid to the provider stands beside it.
    """
    ticks = _amount(counts.get("cost_in_usd_ticks"))
    if ticks is not None:
        return ticks / _TICKS, None
    cost = counts.get("cost")
    if isinstance(cost, Mapping):
        return _amount(cost.get("total_cost")), None
    charged = _amount(cost)
    details = counts.get("cost_details")
    if charged is not None and counts.get("is_byok") is True and isinstance(details, Mapping):
        charged += _amount(details.get("upstream_inference_cost")) or 0.0
    return None, charged


def _amount(value: object) -> float | None:
    """Return an amount of money; None for anything else."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    amount = float(value) if number and abs(value) <= MOST_TOKENS else None  # type: ignore[arg-type]  # a number
    return amount if amount is not None and amount >= 0 else None


def _tokens_of(counts: Mapping[str, object], *, has_text: bool) -> Usage:
    """Return the tokens in a record of counts."""
    of_prompt = list(_with_details(counts, _OF_PROMPT))
    of_output = list(_with_details(counts, _OF_OUTPUT))
    cached = _first(of_prompt, _CACHED)
    written = _first(of_prompt, _WRITTEN)
    reasoning = _first(of_output, _REASONING) or 0
    prompt = _prompt_of(counts, cached or 0)
    output = _first([counts], _OUTPUT)
    total = _first([counts], _TOTAL)
    # A gateway that counts nothing sends zeros, and a run with a cap would be free for ever.
    if has_text:
        prompt = prompt or None
        output = output or None
        total = total or None
    if output is not None and total is None:
        text = _first(of_output, ("text_tokens",)) or 0
        output = max(output, text + reasoning if text else 0)
    cited = _first([counts], (_CITED,))
    if cited and prompt and output:
        # Perplexity bills both beside the completion, and its total has neither.
        return _believed(Usage(prompt + cited, output + reasoning, cached, written))
    found = _balanced(prompt, output, total, (reasoning, cached or 0, written or 0))
    return _believed(Usage(*found, cached, written))


def _prompt_of(counts: Mapping[str, object], cached: int) -> int | None:
    """Return the tokens of the prompt as a server states them, with those of its cache."""
    prompt = _first([counts], _PROMPT)
    if missed := _first([counts], (_NOT_CACHED,)):
        return max(prompt or 0, missed + cached)
    if prompt and counts.get("prompt_tokens") is None and "input_tokens" in counts:
        # Anthropic's fields, in which the tokens of the cache stand beside those of the prompt
        prompt += sum(_first([counts], (name,)) or 0 for name in (_CACHED[2], _WRITTEN[-1]))
    return prompt


def _balanced(
    prompt: int | None,
    output: int | None,
    total: int | None,
    parts: tuple[int, int, int],
) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and of the output. `parts` are reasoning, cached and written
    tokens."""
    reasoning, cached, written = parts
    if prompt is None and cached + written > 0 and total is None:
        prompt = cached + written
    if output is not None and reasoning > output and (total is None or prompt is None):
        # More reasoning than output, so that it is counted beside it.
        output += reasoning
    if total is not None:
        prompt, output = _adding_up(prompt, output, total, parts)
    if output is not None and reasoning > output:
        output += reasoning
    if prompt is not None and cached + written > prompt:
        prompt += cached + written
    return prompt, output


def _adding_up(
    prompt: int | None,
    output: int | None,
    total: int,
    parts: tuple[int, int, int],
) -> tuple[int | None, int | None]:
    """Return the tokens of prompt and output that add up to a total, where the counts allow it."""
    _, cached, written = parts
    if prompt is None and output is None:
        # All as output, which is never cheaper.
        return 0, total
    if prompt is None:
        return max(total - (output or 0), cached + written) or None, output
    if output is None:
        return prompt, max(total - prompt, 0) or None
    beside_output, beside_prompt = _explained(total - prompt - output, parts)
    return prompt + beside_prompt, output + beside_output


def _explained(excess: int, parts: tuple[int, int, int]) -> tuple[int, int]:
    """Return the tokens that output and prompt lack of a total: the parts that make it up exactly,
    reasoning first, else all as output, where Gemini's hidden thoughts are.

    A gateway's total may be a token or two below the sum of its parts, and then the parts count.
    """
    if excess <= 0:
        return 0, 0
    # As few parts as possible: with reasoning 40 and cached 40, an excess of 40 is the reasoning.
    for size in (1, 2, 3):
        for chosen in combinations(range(3), size):
            if sum(parts[number] for number in chosen) == excess:
                beside = parts[0] if 0 in chosen else 0
                return beside, excess - beside
    return max(excess, parts[0]), 0


def _with_details(
    counts: Mapping[str, object], names: tuple[str, ...]
) -> Iterator[Mapping[str, object]]:
    for name in names:
        details = counts.get(name)
        if isinstance(details, Mapping):
            yield details
    yield counts


def _first(records: list[Mapping[str, object]], names: tuple[str, ...]) -> int | None:
    """Return the largest count under any of the names; None if there is none."""
    found: list[int] = []
    for record in records:
        for name in names:
            value = _count(record[name]) if name in record else None
            if value is not None:
                found.append(value)
    # Gateways send the same count under two names, one of them as 0.
    return max(found, default=None)


def _count(value: object) -> int | None:
    """Return a whole number, which some gateways send as `120.0` or `"120"`."""
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20
    whole = isinstance(value, float) and value.is_integer()
    if digits or whole:
        value = int(value)  # type: ignore[call-overload]  # a text of digits or a whole number
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _believed(usage: Usage) -> Usage:
    """Return counts without those that are too large."""
    prompt = usage.prompt_tokens
    output = usage.completion_tokens
    return Usage(
        None if prompt is not None and prompt > MOST_TOKENS else prompt,
        None if output is not None and output > MOST_TOKENS else output,
        usage.cached_tokens,
        usage.cache_write_tokens,
    )
