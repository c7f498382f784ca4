"""OpenAI, and any server that speaks its chat-completions protocol, through the openai SDK.

`openai:MODEL` goes to OPENAI_BASE_URL where that is set, else to api.openai.com; `openai:MODEL@URL` to that server.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claimeval.providers import Keep, Provider
from claimeval.providers.batches import CHAT, CHUNK, NAME, Batches, BatchStatus, FileLimits, Phase
from claimeval.providers.http import ResponseRecorder, check_endpoint, client, connection_error, error_for
from claimeval.providers.keys import scrub
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError, Completion, Judge, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from pydantic import SecretStr

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
    """Return the judge with endpoint, temperature and token limit filled in; UsageError before any call can be made."""
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
    """Open a backend whose connections live as long as the block."""
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
    """Return the body of a chat-completions request."""
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
        """Return the reply as the server sent it; the SDK's own model of it is never built."""
        import httpx2
        import openai

        recorder = ResponseRecorder(self._key, keep)
        with recorder.open():
            try:
                # Not `chat.completions.create`: it goes through the body field by field, a sixth of the CPU of a call.
                await self._sdk.post("/chat/completions", cast_to=httpx2.Response, body=body(request))
            except openai.APIConnectionError as error:
                recorder.abort(error.__cause__ or error)
            except openai.APIStatusError:
                pass  # the recorder holds the server's response
        return recorder.completion()


LIMITS = FileLimits(50_000, 200_000_000)
PHASES: Mapping[str, Phase] = {
    "completed": "ended",
    "expired": "expired",
    "failed": "refused",
    "cancelled": "cancelled",
}
"""Statuses of ended batches; `validating`, `in_progress`, `finalizing`, `cancelling` and unknown ones are under way."""
QUEUE_FULL = "token_limit_exceeded"
PAGE = 100


def line(request: Request) -> bytes:
    """Write a line of a request file. The key is the custom_id, so that the result can be matched with its request."""
    fields = {"custom_id": request.key, "method": "POST", "url": CHAT, "body": body(request) | request.judge.extra}
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


@asynccontextmanager
async def open_batches(judge: Judge) -> AsyncIterator[OpenAIBatches]:
    """Open batches at the judge's endpoint, over connections that live as long as the block."""
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
        yield OpenAIBatches(sdk, key)


class OpenAIBatches:
    """Files and batches through one AsyncOpenAI client."""

    def __init__(self, sdk: AsyncOpenAI, key: SecretStr) -> None:
        self._sdk = sdk
        self.key = key

    async def upload(self, file: Path, name: str) -> str:
        """Upload a file of request lines and return its id."""
        with file.open("rb") as content, self._explained():
            reply = await self._sdk.files.with_raw_response.create(file=(f"{name}.jsonl", content), purpose="batch")
        return str(_read(reply.content)["id"])

    async def create(self, file_id: str, name: str) -> BatchStatus:
        """Start a batch that is answered within 24 hours."""
        with self._explained():
            reply = await self._sdk.batches.with_raw_response.create(
                input_file_id=file_id, endpoint=CHAT, completion_window="24h", metadata={NAME: name}
            )
        return self._status(_read(reply.content))

    async def find(self, name: str, since: float) -> list[BatchStatus]:
        """List the batches of this name; the list is read page by page down to the time `since`."""
        matches: list[BatchStatus] = []
        after: dict[str, Any] = {}
        while True:
            with self._explained():
                reply = await self._sdk.batches.with_raw_response.list(limit=PAGE, **after)
            page = _read(reply.content)
            batches = [batch for batch in page.get("data") or [] if isinstance(batch, dict)]
            matches += [status for batch in batches if (status := self._status(batch)).name == name]
            if not batches or not page.get("has_more") or batches[-1].get("created_at", 0) < since:
                return matches
            after = {"after": batches[-1]["id"]}

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the status of a batch."""
        with self._explained():
            reply = await self._sdk.batches.with_raw_response.retrieve(batch_id)
        return self._status(_read(reply.content))

    async def fetch(self, file_id: str, into: Path) -> None:
        """Download a file of results; `into` holds the whole file or nothing."""
        part = into.with_name(into.name + ".part")
        with self._explained(), part.open("wb") as target:
            async with self._sdk.files.with_streaming_response.content(file_id) as reply:
                async for chunk in reply.iter_bytes(CHUNK):
                    target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
        part.replace(into)

    async def cancel(self, batch_id: str) -> None:
        """Cancel a batch."""
        with self._explained():
            await self._sdk.batches.with_raw_response.cancel(batch_id)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate errors of the SDK and the HTTP client, without the key."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise error_for(error.status_code, error.response.headers, error.response.text, self.key) from None
        except openai.APIConnectionError as error:
            raise connection_error(error.__cause__ or error, self.key) from None
        except httpx2.RequestError as error:
            raise connection_error(error, self.key) from None

    def _status(self, batch: Mapping[str, Any]) -> BatchStatus:
        status = str(batch.get("status"))
        counts = batch.get("request_counts") or {}
        problems = [p for p in (batch.get("errors") or {}).get("data") or [] if isinstance(p, dict)]
        files = (batch.get("output_file_id"), batch.get("error_file_id"))
        return BatchStatus(
            id=str(batch["id"]),
            name=(batch.get("metadata") or {}).get(NAME),
            phase=PHASES.get(status, "under_way"),
            status=status,
            files=tuple(str(file) for file in files if file),
            total=counts.get("total") or 0,
            answered=counts.get("completed") or 0,
            failed=counts.get("failed") or 0,
            problem=scrub("; ".join(_problem(p) for p in problems[:3]), self.key),
            queue_full=any(p.get("code") == QUEUE_FULL for p in problems),
        )


def _problem(problem: Mapping[str, Any]) -> str:
    line = f" (line {problem['line']})" if problem.get("line") else ""
    return f"{problem.get('code') or 'error'}: {problem.get('message')}{line}"


def _read(content: bytes) -> dict[str, Any]:
    """Return the record in a body with status 200."""
    try:
        record = json.loads(content)
    except ValueError:
        record = None
    if not isinstance(record, dict) or not ("id" in record or "data" in record):
        raise CallError("provider_error", f"the server's answer is no record: {content[:120]!r}", possibly_paid=True)
    return record


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
    batches=Batches(open=open_batches, line=line, limits=LIMITS),
)
