"""Known context windows of models, and detection of servers that silently truncate prompts."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from claimeval.lexical.words import beyond_ascii
from claimeval.providers import reads_prompts, row_of
from claimeval.providers.keys import is_loopback
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
LONG = 1.1
"""Ratio of the usual tokens of a cut prompt to a count that is no usual window, at least."""
SHORTEST = 0.9
"""Ratio of the usual tokens of a cut prompt to the count of what was kept beside its reply, at
least."""
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


SMALL = 1_000_000_000
"""Parameters of a model below which it often repeats itself up to the limit of a reply."""
THOUGHTS = "think"
"""In Ollama's capabilities of a model that reasons, and in the chat templates of such models."""


def may_be_small(judge: Judge) -> bool:
    """Return whether a judge may be a small model on this machine, which its server can be asked:
    nothing is known of the model, and no limit of its replies was set."""
    from claimeval.providers.prices import known_claims

    host = urlsplit(judge.endpoint or "").hostname or ""
    return (
        is_loopback(host)
        and reads_prompts(judge)
        and judge.max_tokens == Judge.model_fields["max_tokens"].default
        and known_claims(judge.model) is None
    )


async def size_of_small(judge: Judge) -> int | None:
    """Return the number of parameters of a judge's model if its server states that they are fewer
    than `SMALL`, and does not state that it reasons; else None.

    A model that reasons needs long replies, however small it is.
    """
    if row_of(judge).cuts_at:
        size, thoughts = await _stated_by_ollama(judge)
    else:
        size, thoughts = await _stated_by_llama_cpp(judge)
    if type(size) is not int or not 0 < size < SMALL:
        return None
    return None if THOUGHTS in json.dumps(thoughts) else size


async def _stated_by_ollama(judge: Judge) -> tuple[JsonValue, JsonValue]:
    """Return the size of a model, and its capabilities."""
    shown = await _read(judge, f"{_server(judge)}/api/show", {"model": judge.model_name})
    info = shown.get("model_info")
    size = info.get("general.parameter_count") if isinstance(info, dict) else None
    return size, shown.get("capabilities")


async def _stated_by_llama_cpp(judge: Judge) -> tuple[JsonValue, JsonValue]:
    """Return the size of a model, and its chat template.

    A server with one model serves it by any name.
    """
    models = await _models(judge)
    named = [entry for entry in models if entry.get("id") == judge.model_name]
    if not named and len(models) == 1:
        named = models
    meta = named[0].get("meta") if named else None
    if not isinstance(meta, dict) or "n_params" not in meta:
        return None, None
    properties = await _read(judge, f"{_server(judge)}/props")
    return meta["n_params"], properties.get("chat_template")


def _server(judge: Judge) -> str:
    """Return the address of a judge's server without the path of OpenAI's protocol."""
    assert judge.endpoint, "the judge is resolved"
    return judge.endpoint.removesuffix("/v1")


async def stated_by_server(judge: Judge) -> int | None:
    """Return the window of a judge's model in the server's list of models; None if it is not there,
    or the call fails.

    vLLM and most gateways have it in their list of models, Ollama in its list of loaded models.
    """
    if judge.endpoint is None:
        return None
    for entry in await _models(judge):
        if judge.model_name in (entry.get("id"), entry.get("name"), entry.get("model")):
            stated = [entry.get(name) for name in STATED_BY]
            return next((tokens for tokens in stated if type(tokens) is int and tokens > 0), None)
    return None


async def _models(judge: Judge) -> list[dict[str, JsonValue]]:
    """Return the server's records of its models, for Ollama of those that are loaded."""
    assert judge.endpoint, "the judge is resolved"
    ollama = f"{judge.endpoint.removesuffix('/v1')}/api/ps"
    content = await _read(judge, ollama if row_of(judge).cuts_at else f"{judge.endpoint}/models")
    listed = content.get("data") or content.get("models")
    return (
        [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )


SECONDS = 5.0
"""Time for a fact about a model."""


async def _read(
    judge: Judge, url: str, body: dict[str, JsonValue] | None = None
) -> dict[str, JsonValue]:
    """Return the JSON object at an address of a judge's server; an empty one if there is none.

    A `body` is sent with POST.
    """
    import httpx2

    from claimeval.providers.http import client

    assert judge.endpoint, "the judge is resolved"
    method = "GET" if body is None else "POST"
    try:
        key = row_of(judge).api_key(judge)
        async with client(judge.endpoint, key) as http:
            secret = key.get_secret_value()
            headers = {"authorization": f"Bearer {secret}"}
            reply = await http.request(
                method,
                url,
                headers=headers,
                json=body,
                timeout=SECONDS,
            )
        if reply.status_code != 200:
            return {}
        content = json.loads(reply.content)
    except (httpx2.HTTPError, CallError, UsageError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def cut_by(request: Request, reply: Completion) -> Failure | None:
    """Return a failure if the counts of one reply show that the server truncated its prompt.

    It counted far too few tokens for the characters, or exactly the window of its judge.
    """
    return PromptCounts().cut(request, reply)


class _KnownPrompt(NamedTuple):
    """What is known of the prompt of a request without its server."""

    digest: int
    least: float
    """Tokens that it has at least, with any tokenizer."""
    usual: float
    """Tokens that a text of its scripts usually has."""

    @classmethod
    def of(cls, request: Request, *, repeats: bool = False) -> _KnownPrompt:
        """Measure the prompt of a request. With `repeats`, it may have fewer tokens."""
        texts = [message.content for message in request.messages]
        if not repeats:
            texts = [_without_repeats(text) for text in texts]
        text = "".join(texts)
        beyond = beyond_ascii(text)
        dense = sum(map(len, _DENSE.findall(beyond)))
        other = len(beyond) - dense
        plain = len(text) - len(beyond)
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
        self.accepted = Counter[int]()
        """Replies that were taken for replies to whole prompts, by their limit of tokens."""

    def add(self, prompt: _KnownPrompt) -> None:
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
    it is the window, what the longest reply leaves of it, or half of it and two tokens, as Ollama
    truncates. One such count may be chance (of 2,000 prompts some hundred have the count of another
    one), so it must also be too low for the text.
    """

    def __init__(self) -> None:
        self._counted: dict[int, _Counted] = {}

    def cut(self, request: Request, reply: Completion) -> Failure | None:
        """Return a failure if the server truncated the prompt before it answered, else None."""
        tokens = reply.usage.prompt_tokens
        if not tokens:
            return None
        known = request.judge.context_tokens
        window = window_of(tokens, request.max_tokens)
        prompt = _KnownPrompt.of(request, repeats=True)
        if known or _is_usual_window(window) or prompt.usual >= LONG * tokens:
            # The usual tokens of most prompts are too few for a cut one, even with all repeats.
            prompt = _KnownPrompt.of(request)
        counted = self._counted.setdefault(tokens, _Counted())
        counted.add(prompt)
        is_known = self._is_known(tokens, known, prompt, request.max_tokens)
        if not (is_known or self._shows(tokens, window, counted, prompt)):
            counted.accepted[request.max_tokens] += 1
            return None
        window = known if is_known and known else window
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
        whole = counts_of_cut(window)
        for tokens, counted in self._counted.items():
            for longest in list(counted.accepted):
                if tokens in whole or tokens + longest == window:
                    accepted += counted.accepted.pop(longest)
        return accepted

    def _is_known(self, tokens: int, known: int | None, prompt: _KnownPrompt, longest: int) -> bool:
        """Return whether a count shows a cut to the known window, or to what the longest reply
        leaves of it."""
        if known is None:
            return False
        if tokens == known:
            return True  # there would be no room for a reply
        if tokens + longest == known:
            return prompt.usual >= SHORTEST * tokens
        # whole prompts may have half a window and two tokens, but not twice as many
        half = tokens == known // 2 + 2
        return half and (prompt.usual >= 1.5 * tokens or self._is_thin(tokens, prompt.usual))

    def _shows(self, tokens: int, window: int, counted: _Counted, prompt: _KnownPrompt) -> bool:
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
        if max(self._counted) > window:
            return False
        spread = counted.longest / max(counted.shortest, 1.0)
        thin = self._is_thin(tokens, counted.shortest)
        if _is_usual_window(window):
            spreads = spread >= SPREAD and not self._is_ordinary(tokens, counted.longest)
            return spreads or thin or counted.shortest >= 1.5 * tokens
        if counted.prompts < MANY:
            return False
        wide = spread >= WIDE_SPREAD
        # Code and numbers have more tokens than usual: the judge's other prompts show how many.
        dense = wide and self._is_thin(tokens, counted.longest)
        return dense or (counted.shortest >= LONG * tokens and (thin or wide))

    def _is_thin(self, tokens: int, usual: float) -> bool:
        """Return whether a prompt has far fewer tokens for its text than all others of the
        judge."""
        others = self._densities(tokens)
        return len(others) >= MANY and tokens / max(usual, 1.0) < 0.75 * min(others)

    def _is_ordinary(self, tokens: int, usual: float) -> bool:
        """Return whether a prompt has as many tokens for its text as the others of the judge.

        Among 200 prompts of numbers with 1,026 tokens each, lengths differ by a tenth; cut ones
        would have half of the tokens.
        """
        others = self._densities(tokens)
        return len(others) >= MANY and tokens / max(usual, 1.0) >= 0.95 * min(others)

    def _densities(self, tokens: int) -> list[float]:
        """Return the tokens of all prompts with other counts, per usual token of their texts."""
        return [
            number / counted.longest
            for number, counted in self._counted.items()
            if number != tokens and counted.longest
        ]


def counts_of_cut(window: int) -> tuple[int, int]:
    """Return what a server with this window may count of a prompt that it truncated."""
    return window, window // 2 + 2


def window_of(tokens: int, longest: int = 0) -> int:
    """Return the window of a server that kept this many tokens of a longer prompt, and may have
    left room for the longest reply."""
    half = tokens - 2
    if half % 512 == 0 and half:
        return 2 * half
    with_reply = tokens + longest
    return with_reply if _is_usual_window(with_reply) and not _is_usual_window(tokens) else tokens


def _is_usual_window(tokens: int) -> bool:
    """Return whether a number of tokens is 512, 1,024, ... or 1.5 times one of these."""
    while tokens > 512 and tokens % 2 == 0:
        tokens //= 2
    return tokens in (512, 384, 768)
