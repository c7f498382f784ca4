"""Known context windows of models, and detection of servers that silently truncate prompts."""

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
"""Minimum tokens of a window to which a server may have truncated a prompt."""
CHARACTERS_PER_TOKEN = 7
"""Upper bound of the characters per token, with repeated punctuation counted once; prose has 3 to
5.5."""
_REPEATED = re.compile(r"(\W)\1+")


class _WindowTable(Record):
    as_of: object
    source: str
    windows: dict[str, int] = Field(min_length=1)


@lru_cache(maxsize=1)
def _table() -> dict[str, int]:
    return _WindowTable.model_validate(read_yaml(TABLE, "table of windows")).windows


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
        if isinstance(entry, dict) and model in (
            entry.get("id"),
            entry.get("name"),
            entry.get("model"),
        ):
            stated = (entry.get(name) for name in STATED_BY)
            return next((tokens for tokens in stated if type(tokens) is int and tokens > 0), None)
    return None


def cut_by(request: Request, reply: Completion) -> Failure | None:
    """Return a failure if the server truncated the prompt before it answered, else None.

    A prompt was truncated if the server counted far too few tokens for its characters. Ollama
    truncates a prompt to half of its window and two tokens, earlier versions to the whole window.
    """
    tokens = reply.usage.prompt_tokens or 0
    cached = reply.usage.cached_tokens or 0
    tokens += cached if cached > tokens else 0  # some servers count cached tokens separately
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
        message=(
            f"the server read {tokens:,} tokens of a prompt of {length:,} characters: it silently"
            f" truncated it to {window:,} tokens"
        ),
        context_tokens=window,
    )
