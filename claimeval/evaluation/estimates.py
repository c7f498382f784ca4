"""Estimate the number of tokens and claims: from stored replies, else from assumptions.

The assumptions are ranges:

* a token of a prompt has 3 to 5 bytes of UTF-8 (about 4 in English prose, fewer in lists of numbers
  and many scripts);
* a sentence has 1 to 5 claims (whole sentences give about 1, atomic facts 3.6 to 5.4: 10th and 90th
  percentile over the 242 biographies of FActScore, Min et al. 2023);
* all claims of a text together are 1 to 2 times as long as the text (1.5 to 2 in FActScore);
* a verdict has 20 to 60 tokens, 15 to 50 if only those that are not support have a reason, 6 to 10
  as a label alone; a reasoning model spends 100 to 3,000 more on a call.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from claimeval.providers import reasons
from claimeval.store.stats import read_origin
from claimeval.store.store import Store, StoredRow, completion
from claimeval.types.requests import (
    MOST_VERDICT_TOKENS,
    AssessTask,
    CallError,
    ExtractTask,
    Judge,
    Request,
)

AS_USUAL: Mapping[str, str] = MappingProxyType({})
"""The parameters of a prompt without parameters."""


class Range(NamedTuple):
    low: float
    high: float


class TokenCounts(NamedTuple):
    """Token counts of prompts, as reported by a provider."""

    replies: int = 0
    bytes: int = 0
    tokens: int = 0

    def plus(self, other: TokenCounts) -> TokenCounts:
        """Return the sum of both."""
        return TokenCounts(
            self.replies + other.replies,
            self.bytes + other.bytes,
            self.tokens + other.tokens,
        )


BYTES_PER_TOKEN = Range(3, 5)
CLAIMS_PER_SENTENCE = Range(1, 5)
CLAIM_BYTES = Range(1, 2)
"""Bytes of all claims of a text, as a multiple of the text's bytes."""
VERDICT_TOKENS = {
    "all": Range(20, MOST_VERDICT_TOKENS),
    "unsupported": Range(15, 50),
    "none": Range(6, 10),
}
"""Tokens of a verdict by which verdicts have a reason."""
THINKING_TOKENS = Range(100, 3000)
REPLY_TOKENS = 10
"""Tokens of a reply in addition to its claims or verdicts."""

CLAIM_FRAME = 45
"""Bytes of the JSON around a claim in a reply."""
LINE_FRAME = 8
"""Bytes of a claim's line in a prompt in addition to the claim: its number and quotation marks."""
QUOTE_BYTES = Range(0.2, 0.6)
"""Bytes of all quotes in an extraction, as a multiple of the text's bytes. One model wrote 0.39
times those of 22 answers, of which it made 345 claims."""

ENOUGH = 20
"""Minimum number of replies or texts from which a range is measured instead of assumed."""
ENOUGH_PROMPTS = 5
TOLERANCE = 0.05
"""Half the relative width of the range around measured bytes per token."""
LOOKED_AT = 100_000
"""Maximum number of stored replies that are searched, newest first."""
SAMPLED = 1_000
"""Maximum number of these that are used for each model and prompt."""

Source = tuple[str, str | None, str]
"""Model, endpoint and prompt digest of a reply."""


def spread(values: Counter[float]) -> Range | None:
    """Return the range from the 10th to the 90th percentile, extended to the mean; None below
    `ENOUGH` values."""
    count = values.total()
    if count < ENOUGH:
        return None
    mean = sum(value * n for value, n in values.items()) / count
    return Range(min(_percentile(values, 0.1), mean), max(_percentile(values, 0.9), mean))


def _percentile(values: Counter[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    cumulative = 0
    for value in sorted(values):
        cumulative += values[value]
        if cumulative >= share * values.total():
            break
    return value


class RecordedOutput:
    """The output tokens of stored replies, as the providers counted them, by what was asked.

    The replies are read once, newest first, as far as it takes. A large cache takes seconds, and
    the forecasts of one command ask about the same replies.
    """

    def __init__(self, store: Store | None) -> None:
        """Begin with no reply; without a store there are none."""
        rows = store.rows(newest_first=True) if store else ()
        self._rows = islice(rows, LOOKED_AT)
        self._lengths = defaultdict[Source, list[int]](list)

    def of(self, source: Source) -> Counter[float]:
        """Return those of the newest stored replies to a prompt."""
        lengths = self._lengths[source]
        while len(lengths) < SAMPLED and (row := next(self._rows, None)):
            self._read(row)
        return Counter(lengths)

    def _read(self, row: StoredRow) -> None:
        origin = read_origin(row.value) if row.value is not None else None
        if row.value is None or origin is None:
            return
        lengths = self._lengths[origin.model, origin.endpoint, origin.prompt]
        if len(lengths) < SAMPLED:
            with suppress(CallError):
                tokens = completion(row.value).usage.completion_tokens
                if tokens is not None:
                    lengths.append(tokens)


def measured(counted: TokenCounts) -> Range | None:
    """Return the measured bytes per token; None below `ENOUGH_PROMPTS` prompts."""
    if counted.replies < ENOUGH_PROMPTS:
        return None
    ratio = counted.bytes / counted.tokens
    return Range(ratio * (1 - TOLERANCE), ratio * (1 + TOLERANCE))


def thinking(judge: Judge) -> Range:
    """Return the reasoning tokens of a reply."""
    return THINKING_TOKENS if judge.reasoning_effort is not None or reasons(judge) else Range(0, 0)


TOKENS: dict[str, Range] = {
    "rate": Range(40, 120),
    "answers": Range(30, 120),
    "answering": Range(30, 120),
    "queries": Range(10, 250),
    "screen": Range(40, 120),
    "propose": Range(100, 600),
}
"""Tokens assumed of a reply about one document or answer, by step."""


def output(
    request: Request,
    step: str,
    subjects: int,
    parameters: Mapping[str, str] = AS_USUAL,
) -> Range:
    """Return the assumed output tokens of a request, at most its limit.

    Args:
        request: The request.
        step: Its step, for requests that neither extract nor assess claims.
        subjects: Number of documents or answers that such a request is about.
        parameters: The prompt's parameters, such as `reasons` and `quotes`.
    """
    task = request.task
    if isinstance(task, AssessTask):
        tokens = verdicts(request.judge, 1, len(task.claims), parameters)
    elif isinstance(task, ExtractTask):
        tokens = _claims(request.judge, len(task.sentences), size(task.text), parameters)
    else:
        of_one = TOKENS[step]
        extra = thinking(request.judge)
        tokens = Range(subjects * of_one.low + extra.low, subjects * of_one.high + extra.high)
    return Range(min(tokens.low, request.max_tokens), min(tokens.high, request.max_tokens))


def size(text: str) -> int:
    """Return the number of bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def _claims(
    judge: Judge,
    sentences: int,
    text: int,
    parameters: Mapping[str, str] = AS_USUAL,
) -> Range:
    quotes = Range(0, 0) if parameters.get("quotes") == "no" else QUOTE_BYTES
    low = sentences * CLAIMS_PER_SENTENCE.low * CLAIM_FRAME + text * (CLAIM_BYTES.low + quotes.low)
    high = sentences * CLAIMS_PER_SENTENCE.high * CLAIM_FRAME + text * (
        CLAIM_BYTES.high + quotes.high
    )
    return _replies(judge, 1, Range(low / BYTES_PER_TOKEN.high, high / BYTES_PER_TOKEN.low))


def verdicts(
    judge: Judge,
    calls: int,
    claims: int,
    parameters: Mapping[str, str] = AS_USUAL,
) -> Range:
    """Return the assumed output tokens of verdicts.

    Args:
        judge: The judge, which may reason before each reply.
        calls: Number of calls.
        claims: Number of claims in all calls.
        parameters: The prompt's parameters, such as `reasons`.
    """
    if judge.asks:
        return Range(calls, calls * judge.max_tokens)
    of_one = VERDICT_TOKENS[parameters.get("reasons", "all")]
    return _replies(judge, calls, Range(claims * of_one.low, claims * of_one.high))


def _replies(judge: Judge, calls: int, content: Range) -> Range:
    extra = thinking(judge)
    return Range(
        content.low + calls * (REPLY_TOKENS + extra.low),
        content.high + calls * (REPLY_TOKENS + extra.high),
    )
