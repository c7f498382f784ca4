"""Context windows that are known without asking, and replies of servers that cut a prompt without saying so."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from pydantic import Field

from claimeval.providers import row_of
from claimeval.types.errors import UsageError, read_yaml
from claimeval.types.records import Record
from claimeval.types.requests import CallError, Completion, Failure, Judge, Request

TABLE = Path(__file__).with_name("windows.yaml")
SMALLEST = 1024
"""Tokens of the smallest window that a server may have cut a prompt to."""
CHARACTERS_PER_TOKEN = 7
"""More than a token has in any text, if repeated signs count once: prose has 3 to 5, and 5.5 at the very most."""
_REPEATED = re.compile(r"(\W)\1+")


class _Table(Record):
    as_of: object
    source: str
    windows: dict[str, int] = Field(min_length=1)


@lru_cache(maxsize=1)
def _table() -> dict[str, int]:
    return _Table.model_validate(read_yaml(TABLE, "table of windows")).windows


def known_window(judge: Judge) -> int | None:
    """Return the context window of a judge's model in tokens: its setting, the provider's statement, or the size to
    which servers of the provider cut prompts by themselves; None if it is not known."""
    if judge.context_tokens:
        return judge.context_tokens
    row = row_of(judge)
    if row.cuts_at:
        return row.cuts_at
    if not judge.endpoint or not row.owns(judge.endpoint):
        return None
    return next((tokens for name, tokens in _table().items() if fnmatchcase(judge.model, name)), None)


STATED_BY = ("max_model_len", "context_length", "loaded_context_length", "context_window", "max_context_length")
"""Where servers state the window in a model's record: vLLM, Ollama and OpenRouter, LM Studio, Groq, Mistral."""


async def stated_by_server(judge: Judge) -> int | None:
    """Return the window that a server states of a judge's model when it is asked for its models; None if it does not.

    vLLM and most gateways do so in their list of models, Ollama in its list of loaded ones. What fails is no answer.
    """
    import httpx2

    from claimeval.providers.http import client

    row = row_of(judge)
    if judge.endpoint is None:
        return None
    listing = f"{judge.endpoint.removesuffix('/v1')}/api/ps" if row.cuts_at else f"{judge.endpoint}/models"
    model = judge.model.partition(":")[2]
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
        if isinstance(entry, dict) and model in (entry.get("id"), entry.get("name"), entry.get("model")):
            stated = (entry.get(name) for name in STATED_BY)
            return next((tokens for tokens in stated if type(tokens) is int and tokens > 0), None)
    return None


def cut_by(request: Request, reply: Completion) -> Failure | None:
    """Return why a reply counts for nothing whose server cut the prompt before it answered; None if it read all of it.

    It is told by the number of tokens that the server counted: far too few for so many characters. Ollama cuts a prompt
    that is too long to half of its window and two tokens, earlier versions to the whole of it.
    """
    tokens, cached = reply.usage.prompt_tokens or 0, reply.usage.cached_tokens or 0
    tokens += cached if cached > tokens else 0  # some servers count the tokens of their cache apart
    if tokens < SMALLEST:
        return None
    texts = [message.content for message in request.messages]
    if sum(map(len, texts)) <= tokens * CHARACTERS_PER_TOKEN:
        return None
    length = sum(len(_REPEATED.sub(r"\1", text)) for text in texts)
    if length <= tokens * CHARACTERS_PER_TOKEN:
        return None
    half = tokens - 2
    window = 2 * half if half % 512 == 0 else tokens
    return Failure(
        reason="too_long",
        message=f"the server read {tokens:,} tokens of a prompt of {length:,} characters: it silently truncated it to "
        f"{window:,} tokens",
        context_tokens=window,
    )
