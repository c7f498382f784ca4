"""What a reply cost in tokens, read from the counts of any server with the chat completions format.

The fields differ by server and by model, and so does what they count: some servers count hidden
reasoning or cached tokens within a number, others beside it, and some report zeros. So counts are
checked by identities (`total = prompt + completion`), and not taken by the name of a field alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
_REASONING = ("reasoning_tokens", "thinking_tokens", "thoughtsTokenCount")
_OF_PROMPT = ("prompt_tokens_details", "input_tokens_details")
_OF_OUTPUT = ("completion_tokens_details", "output_tokens_details")
NOT_REPORTED = Usage()


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
    of_prompt = list(_with_details(counts, _OF_PROMPT))
    of_output = list(_with_details(counts, _OF_OUTPUT))
    cached = _first(of_prompt, _CACHED)
    written = _first(of_prompt, _WRITTEN)
    reasoning = _first(of_output, _REASONING) or 0
    prompt = _first([counts], _PROMPT)
    output = _first([counts], _OUTPUT)
    total = _first([counts], _TOTAL)
    if has_text:
        prompt, output, total = prompt or None, output or None, total or None
    if prompt is not None and counts.get("prompt_tokens") is None and "input_tokens" in counts:
        # Anthropic's fields, in which the tokens of the cache stand beside those of the prompt
        prompt += sum(_first([counts], (name,)) or 0 for name in (_CACHED[2], _WRITTEN[2]))
    if output is not None and total is None:
        text = _first(of_output, ("text_tokens",)) or 0
        output = max(output, text + reasoning if text else 0)
    found = _balanced(prompt, output, total, (reasoning, cached or 0, written or 0))
    return _believed(Usage(*found, cached, written))


def _balanced(
    prompt: int | None, output: int | None, total: int | None, parts: tuple[int, int, int]
) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and of the output. `parts` are reasoning, cached and written
    tokens."""
    reasoning, cached, written = parts
    if prompt is None and cached + written > 0 and total is None:
        prompt = cached + written
    if output is not None and reasoning > output and (total is None or prompt is None):
        output += reasoning  # more than there is, so it is counted beside
    if total is not None:
        if prompt is None and output is None:
            prompt, output = 0, total  # as output, which is never cheaper
        elif prompt is None:
            prompt = max(total - (output or 0), cached + written) or None
        elif output is None:
            output = max(total - prompt, 0) or None
        else:
            added = _explained(total - prompt - output, parts)
            output += added[0]
            prompt += added[1]
    if output is not None and reasoning > output:
        output += reasoning
    if prompt is not None and cached + written > prompt:
        prompt += cached + written
    return prompt, output


def _explained(excess: int, parts: tuple[int, int, int]) -> tuple[int, int]:
    """Return the tokens that output and prompt lack of a total: the parts that make it up exactly,
    reasoning first, else all as output, where Gemini's hidden thoughts are."""
    if excess <= 0:
        return 0, 0
    for size in (1, 2, 3):
        for chosen in combinations(range(3), size):
            if sum(parts[number] for number in chosen) == excess:
                beside = parts[0] if 0 in chosen else 0
                return beside, excess - beside
    return excess, 0


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
    prompt, output = usage.prompt_tokens, usage.completion_tokens
    return Usage(
        None if prompt is not None and prompt > MOST_TOKENS else prompt,
        None if output is not None and output > MOST_TOKENS else output,
        usage.cached_tokens,
        usage.cache_write_tokens,
    )
