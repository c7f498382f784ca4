"""What a reply cost in tokens, read from the counts of any server with the chat completions format.

The fields differ by server and by model, and so does what they count: some servers count hidden
reasoning or cached tokens within a number, others beside it, and some report zeros. So counts are
checked by identities (`total = prompt + completion`), and not taken by the name of a field alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, combinations

from claimeval.types.requests import Usage

MOST_TOKENS = 2**53
"""Maximum number of tokens that is believed. Larger numbers would overflow rates and costs."""

_RECORDS = ("usage", "usageMetadata", "usage_metadata")
_PROMPT = ("prompttokens", "inputtokens", "prompttokencount")
_OUTPUT = ("completiontokens", "outputtokens", "candidatestokencount")
_TOTAL = ("totaltokens", "totaltokencount")
_CACHE_BESIDE = ("cachereadinputtokens", "cachecreationinputtokens", "cachewriteinputtokens")
"""Counts of the cache that the prompt does not include: of what was read, and of what was written
(Anthropic, Amazon)."""
_CACHED = (
    "cachedtokens",
    "promptcachehittokens",
    _CACHE_BESIDE[0],
    "numcachedtokens",
    "cachedcontenttokencount",
    "cachedinputtokens",
)
"""OpenAI and most others, and Moonshot outside the details; DeepSeek; Anthropic and gateways to it;
Mistral; Gemini; Vercel."""
_WRITTEN = ("cachewritetokens", "cachecreationtokens", "cachedcreationtokens", *_CACHE_BESIDE[1:])
_CITED = "citationtokens"
"""Perplexity's tokens of what it searched, billed like those of the prompt."""
_NOT_CACHED = "promptcachemisstokens"
"""DeepSeek's tokens of the prompt beside those of its cache."""
_REASONING = re.compile(
    "(?:output|completion)?(?:reasoning|thinking|thoughts?)(?:output)?tokens?(?:count)?"
)
"""Names of the tokens of hidden reasoning."""
_OF_PROMPT = (
    "prompttokensdetails",
    "inputtokensdetails",
    "prompttokendetails",
    "inputtokendetails",
)
_OF_OUTPUT = (
    "completiontokensdetails",
    "outputtokensdetails",
    "completiontokendetails",
    "outputtokendetails",
)
_SLACK = 2
"""Tokens by which a total may be below the sum of its parts."""
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
    records = [record for record in map(reply.get, _RECORDS) if isinstance(record, Mapping)]
    if not records:
        return NOT_REPORTED
    tokens = NOT_REPORTED
    for record in records:
        # A gateway that counts nothing may leave the record of the server behind it beside its own.
        if tokens == NOT_REPORTED:
            tokens = _tokens_of(_by_plain_names(record), has_text=has_text)
    dollars, in_credits = _charged(records[0])
    stated = dollars is not None or in_credits is not None
    return replace(tokens, dollars=dollars, credits=in_credits) if stated else tokens


def _charged(counts: Mapping[str, object]) -> tuple[float | None, float | None]:
    """Return what a reply states that it cost, in dollars and in credits of its host.

    xAI counts ticks of a dollar, and Perplexity's record is in dollars. OpenRouter's number is in
    credits; what a user's own key paid to the provider stands beside it. Without that, nothing says
    what the reply cost. Nor do zeros in the fields of xAI and Perplexity, whose replies are not
    free: a gateway that counts nothing sends them.
    """
    ticks = _amount(counts.get("cost_in_usd_ticks"))
    if ticks is not None:
        return ticks / _TICKS or None, None
    cost = counts.get("cost")
    if isinstance(cost, Mapping):
        return _amount(cost.get("total_cost")) or None, None
    charged = _amount(cost)
    if charged is None or counts.get("is_byok") is not True:
        return None, charged
    details = counts.get("cost_details")
    if not isinstance(details, Mapping):
        return None, None
    upstream = _amount(details.get("upstream_inference_cost"))
    if upstream is None:
        return None, None
    return None, charged + upstream


def _amount(value: object) -> float | None:
    """Return an amount of money; None for anything else."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    amount = float(value) if number and abs(value) <= MOST_TOKENS else None  # type: ignore[arg-type]  # a number
    return amount if amount is not None and amount >= 0 else None


def _by_plain_names(record: Mapping[object, object]) -> dict[str, object]:
    """Return a record with names in small letters without underscores: `inputTokens` and
    `input_tokens` are one name."""
    plain = {}
    for name, value in record.items():
        plain[str(name).replace("_", "").lower()] = value
    return plain


def _tokens_of(counts: Mapping[str, object], *, has_text: bool) -> Usage:
    """Return the tokens in a record of counts."""
    of_prompt = list(_with_details(counts, _OF_PROMPT))
    of_output = list(_with_details(counts, _OF_OUTPUT))
    cached = _first(of_prompt, _CACHED)
    written = _first(of_prompt, _WRITTEN)
    names = filter(_REASONING.fullmatch, chain(*of_output))
    reasoning = _first(of_output, tuple(names)) or 0
    prompt = _prompt_of(counts, of_prompt)
    output = _first([counts], _OUTPUT)
    total = _first([counts], _TOTAL)
    # A gateway that counts nothing sends zeros, and a run with a cap would be free for ever.
    if has_text:
        prompt = prompt or None
        output = output or None
        total = total or None
    cited = _first([counts], (_CITED,))
    if cited and prompt and output:
        # Perplexity bills both beside the completion, and its total has neither.
        return _believed(Usage(prompt + cited, output + reasoning, cached, written))
    if output is not None and _is_beside(reasoning, output, prompt, total, of_output):
        output += reasoning
        reasoning = 0
    if prompt and (beside := _cache_beside(counts, of_prompt)):
        # a total of prompt and output alone has no more of the cache than the prompt
        if total is not None and total <= prompt + (output or 0) + _SLACK:
            total += beside
        prompt += beside
    found = _balanced(prompt, output, total, (reasoning, cached or 0, written or 0))
    return _believed(Usage(*found, cached, written))


def _is_beside(
    reasoning: int,
    output: int,
    prompt: int | None,
    total: int | None,
    of_output: list[Mapping[str, object]],
) -> bool:
    """Return whether reasoning is counted beside the output, as far as this can be told without
    what a total has more than prompt and output.

    Where nothing shows that the output includes it, it may be beside it.
    """
    if text := _first(of_output, ("texttokens",)):
        return text + reasoning > output
    if prompt is None or total is None:
        return True
    return total <= prompt or total < prompt + output - _SLACK


def _prompt_of(counts: Mapping[str, object], of_prompt: list[Mapping[str, object]]) -> int | None:
    """Return the tokens of the prompt as a server states them, with those of its cache."""
    prompt = _first([counts], _PROMPT)
    if missed := _first([counts], (_NOT_CACHED,)):
        return max(prompt or 0, missed + (_first(of_prompt, _CACHED) or 0))
    return prompt


def _cache_beside(counts: Mapping[str, object], of_prompt: list[Mapping[str, object]]) -> int:
    """Return the tokens of a cache beside those of the prompt.

    OpenAI's details are a part of the prompt. Anthropic's fields stand beside it, and gateways pass
    them on.
    """
    if _first(of_prompt[:-1], (*_CACHED, *_WRITTEN)):
        return 0
    beside = 0
    for name in _CACHE_BESIDE:
        beside += _first([counts], (name,)) or 0
    return beside


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
            yield _by_plain_names(details)
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
