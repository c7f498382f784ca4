"""Batches at OpenAI, and at servers that speak its protocol, through the openai SDK."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claimeval.providers.batches import CHAT, CHUNK, NAME, Batches, BatchStatus, FileLimits, Phase, unreached
from claimeval.providers.http import client
from claimeval.providers.http_errors import error_for
from claimeval.providers.keys import scrub
from claimeval.providers.openai import PROVIDER, body
from claimeval.types.requests import CallError, Judge, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from pydantic import SecretStr

LIMITS = FileLimits(50_000, 200_000_000)
PHASES: Mapping[str, Phase] = {
    "completed": "ended",
    "expired": "expired",
    "failed": "refused",
    "cancelled": "cancelled",
}
"""What is over; `validating`, `in_progress`, `finalizing`, `cancelling` and what nobody knows are under way."""
QUEUE_FULL = "token_limit_exceeded"
PAGE = 100


def line(request: Request) -> bytes:
    """A line of a request file. The key is the custom_id, so that the result finds its question."""
    fields = {"custom_id": request.key, "method": "POST", "url": CHAT, "body": body(request) | request.judge.extra}
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


@asynccontextmanager
async def open_batches(judge: Judge) -> AsyncIterator[OpenAIBatches]:
    """Batches at the judge's endpoint, over connections that live as long as the block."""
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
        with file.open("rb") as content, self._explained():
            reply = await self._sdk.files.with_raw_response.create(file=(f"{name}.jsonl", content), purpose="batch")
        return str(_read(reply.content)["id"])

    async def create(self, file_id: str, name: str) -> BatchStatus:
        with self._explained():
            reply = await self._sdk.batches.with_raw_response.create(
                input_file_id=file_id, endpoint=CHAT, completion_window="24h", metadata={NAME: name}
            )
        return self._standing(_read(reply.content))

    async def find(self, name: str, since: float) -> list[BatchStatus]:
        found: list[BatchStatus] = []
        after: dict[str, Any] = {}
        while True:
            with self._explained():
                reply = await self._sdk.batches.with_raw_response.list(limit=PAGE, **after)
            page = _read(reply.content)
            batches = [batch for batch in page.get("data") or [] if isinstance(batch, dict)]
            found += [standing for batch in batches if (standing := self._standing(batch)).name == name]
            if not batches or not page.get("has_more") or batches[-1].get("created_at", 0) < since:
                return found
            after = {"after": batches[-1]["id"]}

    async def look(self, batch_id: str) -> BatchStatus:
        with self._explained():
            reply = await self._sdk.batches.with_raw_response.retrieve(batch_id)
        return self._standing(_read(reply.content))

    async def fetch(self, file_id: str, into: Path) -> None:
        part = into.with_name(into.name + ".part")
        with self._explained(), part.open("wb") as target:
            async with self._sdk.files.with_streaming_response.content(file_id) as reply:
                async for chunk in reply.iter_bytes(CHUNK):
                    target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
        part.replace(into)

    async def cancel(self, batch_id: str) -> None:
        with self._explained():
            await self._sdk.batches.with_raw_response.cancel(batch_id)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The SDK's and the HTTP client's errors in our words, without the key."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise error_for(error.status_code, error.response.headers, error.response.text, self.key) from None
        except openai.APIConnectionError as error:
            raise unreached(error.__cause__ or error, self.key) from None
        except httpx2.RequestError as error:
            raise unreached(error, self.key) from None

    def _standing(self, batch: Mapping[str, Any]) -> BatchStatus:
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
    place = f" (line {problem['line']})" if problem.get("line") else ""
    return f"{problem.get('code') or 'error'}: {problem.get('message')}{place}"


def _read(content: bytes) -> dict[str, Any]:
    """The record in a body with status 200."""
    try:
        record = json.loads(content)
    except ValueError:
        record = None
    if not isinstance(record, dict) or not ("id" in record or "data" in record):
        raise CallError("provider_error", f"the server's answer is no record: {content[:120]!r}", possibly_paid=True)
    return record


BATCHES = Batches(open=open_batches, line=line, limits=LIMITS)
