"""Known context windows of models, and detection of servers that silently truncate prompts."""

from __future__ import annotations

import json
import math
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from claimeval.providers import row_of
from claimeval.types.errors import UsageError, read_yaml
from claimeval.types.records import Record
from claimeval.types.requests import CallError, Completion, Failure, Judge, Request

TABLE = Path(__file__).with_name("windows.yaml")
SMALLEST = 1024
"""Minimum tokens of a window that one reply shows."""
SMALLEST_REPEATED = 256
"""Minimum tokens of a window that two different prompts show."""
CHARACTERS_PER_TOKEN = 7
"""Upper bound of the characters per token, with repeated punctuation counted once; prose has 3 to
5.5."""
DENSE_CHARACTERS_PER_TOKEN = 2.5
"""The same in Chinese, Japanese and Korean, which have 1 to 1.9."""
_DENSE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+")
SPREAD = 1.1
"""Ratio of lengths of prompts with one count that texts of one kind do not have."""
WIDE_SPREAD = 1.3
"""The same for a count that is no usual window."""
MANY = 3
"""Different prompts that are enough for a conclusion."""
_REPEATED = re.compile(r"(\W)\1+")
_TWO_MARKS = [2 * mark for mark in map(chr, range(128)) if _REPEATED.fullmatch(2 * mark)]


class _WindowTable(Record):
    as_of: object
    source: str
    windows: dict[str, int] = Field(min_length=1)


@lru_cache(maxsize=1)
def _table() -> dict[str, int]:
    return _WindowTable.model_validate(read_yaml(TABLE, "table of windows")).windows


def is_known(model: str) -> bool:
    """Return whether the published window of `provider:name` is listed."""
    return any(fnmatchcase(model, name) for name in _table())


def known_window(judge: Judge) -> int | None:
    """Return the context window of a judge's model in tokens; None if it is unknown.

    It is the judge's setting, else the size to which the provider's servers truncate prompts, else
    the published one.
    """
    if judge.context_tokens:
        return judge.context_tokens
    row = row_of(judge)
    if row.cuts_at:
        return row.cuts_at
    if not judge.endpoint or not row.owns(judge.endpoint):
        return None
    return next(
        (tokens for name, tokens in _table().items() if fnmatchcase(judge.model, name)), None
    )


STATED_BY = (
    "max_model_len",
    "context_length",
    "loaded_context_length",
    "context_window",
    "max_context_length",
)
"""Fields with the window in a server's record of a model: vLLM, Ollama and OpenRouter, LM Studio,
Groq, Mistral."""


async def stated_by_server(judge: Judge) -> int | None:
    """Return the window of a judge's model in the server's list of models; None if it is not there,
    or the call fails.

    vLLM and most gateways have it in their list of models, Ollama in its list of loaded models.
    """
    import httpx2

    from claimeval.providers.http import client

    row = row_of(judge)
    if judge.endpoint is None:
        return None
    listing = (
        f"{judge.endpoint.removesuffix('/v1')}/api/ps"
        if row.cuts_at
        else f"{judge.endpoint}/models"
    )
    model = judge.model_name
    try:
        key = row.api_key(judge)
        async with client(judge.endpoint, key) as http:
            headers = {"authorization": f"Bearer {key.get_secret_value()}"}
            reply = await http.get(listing, headers=headers, timeout=5.0)
        content = json.loads(reply.content) if reply.status_code == 200 else {}
    except (httpx2.HTTPError, CallError, UsageError, ValueError, RecursionError):
        return None
    listed = (content.get("data") or content.get("models")) if isinstance(content, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and model in (
            entry.get("id"),
            entry.get("name"),
            entry.get("model"),
        ):
            stated = (entry.get(name) for name in STATED_BY)
            return next((tokens for tokens in stated if type(tokens) is int and tokens > 0), None)
    return None


def cut_by(request: Request, reply: Completion) -> Failure | None:
    """Return a failure if the counts of one reply show that the server truncated its prompt.

    It counted far too few tokens for the characters, or exactly the window of its judge.
    """
    return PromptCounts().cut(request, reply)


class _Prompt(NamedTuple):
    """What is known of the prompt of a request without its server."""

    digest: int
    least: float
    """Tokens that it has at least, with any tokenizer."""
    usual: float
    """Tokens that a text of its scripts usually has."""

    @classmethod
    def of(cls, request: Request) -> _Prompt:
        """Measure the prompt of a request."""
        texts = [_without_repeats(message.content) for message in request.messages]
        text = "".join(texts)
        dense = 0 if text.isascii() else sum(map(len, _DENSE.findall(text)))
        other = 0 if text.isascii() else len(text) - dense - len(text.encode("ascii", "ignore"))
        plain = len(text) - dense - other
        return cls(
            hash(tuple(message.content for message in request.messages)),
            (plain + other) / CHARACTERS_PER_TOKEN + dense / DENSE_CHARACTERS_PER_TOKEN,
            plain / 4 + other / 3 + dense / 1.5,
        )


def _without_repeats(text: str) -> str:
    """Return a text with runs of the same mark or space as one.

    Every prompt of a run is looked at, also those with a stored reply: for the characters of ASCII,
    the search for two of a kind takes a quarter of the time of the expression.
    """
    if not text.isascii():
        return _REPEATED.sub(r"\1", text)
    for two in _TWO_MARKS:
        while two in text:
            text = text.replace(two, two[0])
    return text


class _Counted:
    """The different prompts that were counted as one number of tokens."""

    def __init__(self) -> None:
        self._digests: set[int] = set()
        self.least = math.inf
        self.shortest = math.inf
        self.longest = 0.0
        self.accepted = 0
        """Replies that were taken for replies to whole prompts."""

    def add(self, prompt: _Prompt) -> None:
        """Add a prompt."""
        if len(self._digests) < MANY:
            self._digests.add(prompt.digest)
        self.least = min(self.least, prompt.least)
        self.shortest = min(self.shortest, prompt.usual)
        self.longest = max(self.longest, prompt.usual)

    @property
    def prompts(self) -> int:
        """The number of different prompts, at most `MANY`."""
        return len(self._digests)


class PromptCounts:
    """The token counts of one judge's prompts, by which a server that truncates is recognized.

    A server that truncates counts what it kept. So prompts of different lengths have one count, and
    it is the window, or half of it and two tokens, as Ollama truncates. One such count may be
    chance (of 2,000 prompts some hundred have the count of another one), so it must also be too low
    for the text.
    """

    def __init__(self) -> None:
        self._counted: dict[int, _Counted] = {}

    def cut(self, request: Request, reply: Completion) -> Failure | None:
        """Return a failure if the server truncated the prompt before it answered, else None."""
        tokens = reply.usage.prompt_tokens
        if not tokens:
            return None
        prompt = _Prompt.of(request)
        counted = self._counted.setdefault(tokens, _Counted())
        counted.add(prompt)
        known = request.judge.context_tokens
        if not (self._is_known(tokens, known, prompt) or self._shows(tokens, counted, prompt)):
            counted.accepted += 1
            return None
        window = window_of(tokens)
        if known in (tokens, window):
            window = known
        length = sum(len(message.content) for message in request.messages)
        return Failure(
            reason="too_long",
            message=(
                f"the server read {tokens:,} tokens of a prompt of {length:,} characters: it"
                f" silently truncated it to {window:,} tokens"
            ),
            context_tokens=window,
        )

    def take_accepted(self, window: int) -> int:
        """Return how many replies were accepted although a server with this window may have cut
        their prompts; they are counted once."""
        accepted = 0
        for tokens in (window, window // 2 + 2):
            if tokens in self._counted:
                accepted += self._counted[tokens].accepted
                self._counted[tokens].accepted = 0
        return accepted

    def _is_known(self, tokens: int, known: int | None, prompt: _Prompt) -> bool:
        """Return whether a count shows a cut to the known window."""
        if known is None:
            return False
        if tokens == known:
            return True  # there would be no room for a reply
        # whole prompts may have half a window and two tokens, but not twice as many
        half = tokens == known // 2 + 2
        return half and (prompt.usual >= 1.5 * tokens or self._is_thin(tokens, prompt.usual))

    def _shows(self, tokens: int, counted: _Counted, prompt: _Prompt) -> bool:
        """Return whether the counts of all prompts so far show a cut to this count."""
        if prompt.least > tokens and tokens >= SMALLEST:
            return True
        if counted.prompts < 2 or tokens < SMALLEST_REPEATED:
            # below, a count may be that of the tokens that the server's own cache did not have
            return False
        if counted.shortest < 0.3 * tokens:
            return False  # so short a prompt has not so many tokens: the count is made up
        if counted.least > 2 * tokens:
            return True
        if max(self._counted) > (window_of(tokens) if window_of(tokens) != tokens else tokens):
            return False
        spread = counted.longest / max(counted.shortest, 1.0)
        thin = self._is_thin(tokens, counted.shortest)
        if _is_usual_window(window_of(tokens)):
            return spread >= SPREAD or thin or counted.shortest >= 1.5 * tokens
        return (
            counted.prompts >= MANY
            and counted.shortest >= 1.1 * tokens
            and (thin or spread >= WIDE_SPREAD)
        )

    def _is_thin(self, tokens: int, usual: float) -> bool:
        """Return whether a prompt has far fewer tokens for its text than all others of the
        judge."""
        others = [
            number / counted.longest
            for number, counted in self._counted.items()
            if number != tokens and counted.longest
        ]
        return len(others) >= MANY and tokens / max(usual, 1.0) < 0.75 * min(others)


def window_of(tokens: int) -> int:
    """Return the window of a server that kept this many tokens of a longer prompt."""
    half = tokens - 2
    return 2 * half if half % 512 == 0 and half else tokens


def _is_usual_window(tokens: int) -> bool:
    """Return whether a number of tokens is 512, 1,024, ... or 1.5 times one of these."""
    while tokens > 512 and tokens % 2 == 0:
        tokens //= 2
    return tokens in (512, 384, 768)
