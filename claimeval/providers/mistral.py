"""Mistral through the mistralai SDK.

The SDK gives no access to the body of a reply and loses parts of it in its own model, so what it makes of a reply is
not used: the body is taken from the HTTP client underneath.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from claimeval.providers import Keep, Provider
from claimeval.providers.http import ResponseRecorder, check_endpoint, client
from claimeval.types.errors import unknown_name
from claimeval.types.requests import Completion, Judge, Request

if TYPE_CHECKING:
    from mistralai.client import Mistral
    from pydantic import SecretStr

    from claimeval.providers.batches import Batches

OFFICIAL = "https://api.mistral.ai"
READ_TIMEOUT_MS = 600_000


def resolve(judge: Judge) -> Judge:
    """The judge with endpoint and temperature settled; UsageError before any call can be made."""
    endpoint = check_endpoint(judge.endpoint or OFFICIAL, judge.name).removesuffix("/v1")
    settled: dict[str, Any] = {"endpoint": endpoint}
    if "temperature" not in judge.model_fields_set:
        settled["temperature"] = 0.0
    if judge.extra:
        _check_fields(judge)
    return judge.model_copy(update=settled)


def _check_fields(judge: Judge) -> None:
    """UsageError for a field that the SDK cannot send."""
    from mistralai.client.chat import Chat

    known = inspect.signature(Chat.complete_async).parameters
    for field in judge.extra:
        if field not in known:
            raise unknown_name(f"field in `extra` of judge {judge.name!r}:", field, set(known) - {"self"})


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[MistralBackend]:
    """A backend whose connections live as long as the block."""
    import httpx2
    from mistralai.client import Mistral

    assert judge.endpoint, "the judge is resolved"
    key = PROVIDER.api_key(judge)
    async with client(judge.endpoint, key) as http:
        # Without a blocking client of ours the SDK makes one of its own, which loads certificates and is not closed.
        with httpx2.Client(verify=False) as unused:
            sdk = Mistral(
                api_key=key.get_secret_value(),
                server_url=judge.endpoint,
                client=unused,
                async_client=http,
                timeout_ms=READ_TIMEOUT_MS,
            )
            yield MistralBackend(sdk, key)


def body(request: Request) -> dict[str, Any]:
    """The body of a chat request, under Mistral's names."""
    judge = request.judge
    fields: dict[str, Any] = {
        "model": judge.model.partition(":")[2],
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": judge.temperature,
        "top_p": judge.top_p,
        "random_seed": judge.seed,
        "reasoning_effort": judge.reasoning_effort,
        "logprobs": True if request.top_logprobs else None,
        "top_logprobs": request.top_logprobs,
        **judge.extra,
    }
    if request.response_schema and judge.structured:
        schema = {"name": "reply", "strict": True, "schema": json.loads(request.response_schema)}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {name: value for name, value in fields.items() if value is not None}


class MistralBackend:
    """Sends requests through one Mistral client."""

    def __init__(self, sdk: Mistral, key: SecretStr) -> None:
        self._sdk = sdk
        self._key = key

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """The reply as the server sent it, whatever the SDK thinks of it."""
        import httpx2
        from mistralai.client.errors import MistralError, NoResponseError

        exchange = ResponseRecorder(self._key, keep)
        with exchange.open():
            try:
                await self._sdk.chat.complete_async(**body(request))
            except httpx2.RequestError as error:
                exchange.break_off(error)
            except (MistralError, NoResponseError):
                pass  # the exchange holds what the server said
        return exchange.completion()


def _batches() -> Batches:
    from claimeval.providers.mistral_batch import BATCHES

    return BATCHES


PROVIDER = Provider(
    name="mistral",
    open=open_backend,
    resolve=resolve,
    example="mistral:mistral-large-latest",
    costs=True,
    endpoint=OFFICIAL,
    key_variable="MISTRAL_API_KEY",
    batches=_batches,
)
