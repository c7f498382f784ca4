"""OpenAI, and any server that speaks its chat-completions protocol, through the openai SDK.

`openai:MODEL` goes to OPENAI_BASE_URL where that is set, else to api.openai.com; `openai:MODEL@URL` to that server.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from claimeval.providers import Keep, Provider
from claimeval.providers.http import ResponseRecorder, check_endpoint, client
from claimeval.types.errors import UsageError
from claimeval.types.requests import Completion, Judge, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from pydantic import SecretStr

    from claimeval.providers.batches import Batches

OFFICIAL = "https://api.openai.com/v1"

REASONING_MODELS = frozenset(
    {
        *("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-pro", "gpt-5-codex"),
        *("o1", "o1-mini", "o1-pro", "o3", "o3-mini", "o3-pro", "o4-mini"),
    }
)
"""Models that refuse `temperature` and `top_p` and spend hidden tokens. Other models are sent temperature 0."""
REASONING_MAX_TOKENS = 16_384


def resolve(judge: Judge) -> Judge:
    """The judge with endpoint, temperature and token limit settled; UsageError before any call can be made."""
    endpoint = judge.endpoint or PROVIDER.default_endpoint or OFFICIAL
    settled: dict[str, Any] = {"endpoint": check_endpoint(endpoint, judge.name)}
    if judge.model.partition(":")[2] in REASONING_MODELS:
        if judge.temperature is not None or judge.top_p is not None:
            raise UsageError(
                f"judge {judge.name!r}: this model takes neither temperature nor top_p; leave them out of its settings"
            )
        if judge.top_logprobs:
            raise UsageError(
                f"judge {judge.name!r}: this model gives no log-probabilities; leave top_logprobs out of its settings"
            )
        if "max_tokens" not in judge.model_fields_set:
            settled["max_tokens"] = REASONING_MAX_TOKENS
    elif "temperature" not in judge.model_fields_set:
        settled["temperature"] = 0.0
    return judge.model_copy(update=settled)


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[OpenAIBackend]:
    """A backend whose connections live as long as the block."""
    from openai import AsyncOpenAI

    assert judge.endpoint, "the judge is resolved"
    key = PROVIDER.api_key(judge)
    async with client(judge.endpoint, key) as http:
        sdk = AsyncOpenAI(
            api_key=key.get_secret_value(),
            base_url=judge.endpoint,
            max_retries=0,
            http_client=http,
            timeout=http.timeout,
        )
        yield OpenAIBackend(sdk, key)


def body(request: Request) -> dict[str, Any]:
    """The body of a chat-completions request."""
    judge = request.judge
    limit = "max_completion_tokens" if judge.endpoint == OFFICIAL else "max_tokens"
    fields: dict[str, Any] = {
        "model": judge.model.partition(":")[2],
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        limit: request.max_tokens,
        "temperature": judge.temperature,
        "top_p": judge.top_p,
        "seed": judge.seed,
        "reasoning_effort": judge.reasoning_effort,
        "logprobs": True if request.top_logprobs else None,
        "top_logprobs": request.top_logprobs,
        **judge.extra,
    }
    if request.response_schema and judge.structured:
        schema = {"name": "reply", "strict": True, "schema": _parsed(request.response_schema)}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {name: value for name, value in fields.items() if value is not None}


@lru_cache(maxsize=16)
def _parsed(schema: str) -> Any:
    return json.loads(schema)


class OpenAIBackend:
    """Sends requests through one AsyncOpenAI client."""

    def __init__(self, sdk: AsyncOpenAI, key: SecretStr) -> None:
        self._sdk = sdk
        self._key = key

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """The reply as the server sent it; the SDK's own model of it is never built."""
        import httpx2
        import openai

        exchange = ResponseRecorder(self._key, keep)
        with exchange.open():
            try:
                # Not `chat.completions.create`: it goes through the body field by field, a sixth of the CPU of a call.
                await self._sdk.post("/chat/completions", cast_to=httpx2.Response, body=body(request))
            except openai.APIConnectionError as error:
                exchange.break_off(error.__cause__ or error)
            except openai.APIStatusError:
                pass  # the exchange holds what the server said
        return exchange.completion()


def _batches() -> Batches:
    from claimeval.providers.openai_batch import BATCHES

    return BATCHES


PROVIDER = Provider(
    name="openai",
    open=open_backend,
    resolve=resolve,
    example="openai:gpt-5-mini, openai:MODEL@http://127.0.0.1:8000/v1",
    costs=True,
    endpoint=OFFICIAL,
    endpoint_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    reasoning_models=REASONING_MODELS,
    batches=_batches,
)
