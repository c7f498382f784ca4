"""Batches at Mistral through the mistralai SDK.

Mistral keeps results for a day and files for a month: https://docs.mistral.ai/resources/known-limitations
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claimeval.providers.batches import (
    CHAT,
    CHUNK,
    NAME,
    WINDOW_HOURS,
    Batches,
    BatchStatus,
    FileLimits,
    Phase,
    unreached,
)
from claimeval.providers.http import client
from claimeval.providers.http_errors import error_for
from claimeval.providers.keys import scrub
from claimeval.providers.mistral import PROVIDER, READ_TIMEOUT_MS, body
from claimeval.types.requests import CallError, Judge, Request

if TYPE_CHECKING:
    from mistralai.client import Mistral
    from pydantic import BaseModel, SecretStr

LIMITS = FileLimits(50_000, 200_000_000)
"""Mistral takes twice as much; smaller files are answered sooner, and compatible servers keep to OpenAI's limits."""
PHASES: Mapping[str, Phase] = {
    "SUCCESS": "ended",
    "TIMEOUT_EXCEEDED": "expired",
    "FAILED": "refused",
    "CANCELLED": "cancelled",
}
"""What is over; `QUEUED`, `RUNNING`, `CANCELLATION_REQUESTED` and what nobody knows are under way."""
QUEUE_FULL = ("token limit", "too many pending", "queue is full")
"""Mistral's problems have no code; these words in them say that the same file may be taken later."""
PAGE = 100


def line(request: Request) -> bytes:
    """A line of a request file; the model is said once, when the batch is made."""
    fields = {name: value for name, value in body(request).items() if name != "model"}
    return json.dumps({"custom_id": request.key, "body": fields}, separators=(",", ":")).encode() + b"\n"


@asynccontextmanager
async def open_batches(judge: Judge) -> AsyncIterator[MistralBatches]:
    """Batches of the judge's model, over connections that live as long as the block."""
    import httpx2
    from mistralai.client import Mistral

    assert judge.endpoint, "the judge is resolved"
    key = PROVIDER.api_key(judge)
    async with client(judge.endpoint, key) as http:
        with httpx2.Client(verify=False) as unused:  # as in the backend
            sdk = Mistral(
                api_key=key.get_secret_value(),
                server_url=judge.endpoint,
                async_client=http,
                client=unused,
                timeout_ms=READ_TIMEOUT_MS,
            )
            yield MistralBatches(sdk, judge.model.partition(":")[2], key)


class MistralBatches:
    """Files and jobs of one model through one Mistral client."""

    def __init__(self, sdk: Mistral, model: str, key: SecretStr) -> None:
        self._sdk = sdk
        self._model = model
        self.key = key

    async def upload(self, file: Path, name: str) -> str:
        from mistralai.client.models import File

        with file.open("rb") as content:
            upload = File(file_name=f"{name}.jsonl", content=content)
            record = await self._record(self._sdk.files.upload_async(file=upload, purpose="batch"))
        return str(record["id"])

    async def create(self, file_id: str, name: str) -> BatchStatus:
        jobs = self._sdk.batch.jobs
        record = await self._record(
            jobs.create_async(
                endpoint=CHAT,
                input_files=[file_id],
                model=self._model,
                metadata={NAME: name},
                timeout_hours=WINDOW_HOURS,
            )
        )
        return self._standing(record)

    async def find(self, name: str, since: float) -> list[BatchStatus]:
        found: list[BatchStatus] = []
        after = datetime.fromtimestamp(since, UTC)
        page = 0
        while True:
            listing = self._sdk.batch.jobs.list_async(
                metadata={NAME: name}, created_after=after, page=page, page_size=PAGE
            )
            jobs = (await self._record(listing)).get("data") or []
            found += [standing for job in jobs if (standing := self._standing(job)).name == name]
            if len(jobs) < PAGE:
                return found
            page += 1

    async def look(self, batch_id: str) -> BatchStatus:
        return self._standing(await self._record(self._sdk.batch.jobs.get_async(job_id=batch_id)))

    async def fetch(self, file_id: str, into: Path) -> None:
        part = into.with_name(into.name + ".part")
        with self._explained(), part.open("wb") as target:
            reply = await self._sdk.files.download_async(file_id=file_id)
            try:
                async for chunk in reply.aiter_bytes(CHUNK):
                    target.write(chunk)
            finally:
                await reply.aclose()
            target.flush()
            os.fsync(target.fileno())
        part.replace(into)

    async def cancel(self, batch_id: str) -> None:
        await self._record(self._sdk.batch.jobs.cancel_async(job_id=batch_id))

    async def _record(self, call: Awaitable[BaseModel]) -> dict[str, Any]:
        """What the server said, also where the SDK does not take it for what it expected."""
        from mistralai.client.errors import ResponseValidationError

        with self._explained():
            try:
                return (await call).model_dump(mode="json", warnings=False)
            except ResponseValidationError as error:
                said = error.body
        try:
            record = json.loads(said)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not ("id" in record or "data" in record):
            raise CallError("provider_error", f"the server's answer is no record: {said[:120]!r}", possibly_paid=True)
        return record

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The SDK's and the HTTP client's errors in our words, without the key."""
        import httpx2
        from mistralai.client.errors import MistralError, NoResponseError, ResponseValidationError

        try:
            yield
        except ResponseValidationError:
            raise
        except MistralError as error:
            raise error_for(error.status_code, error.headers, error.body, self.key) from None
        except (httpx2.RequestError, NoResponseError) as error:
            raise unreached(error, self.key) from None

    def _standing(self, job: Mapping[str, Any]) -> BatchStatus:
        status = str(job.get("status"))
        problems = [str(p.get("message")) for p in job.get("errors") or [] if isinstance(p, dict)]
        files = (job.get("output_file"), job.get("error_file"))
        said = "; ".join(problems[:3])
        return BatchStatus(
            id=str(job["id"]),
            name=(job.get("metadata") or {}).get(NAME),
            phase=PHASES.get(status, "under_way"),
            status=status,
            files=tuple(str(file) for file in files if file),
            total=job.get("total_requests") or 0,
            answered=job.get("succeeded_requests") or 0,
            failed=job.get("failed_requests") or 0,
            problem=scrub(said, self.key),
            queue_full=any(words in said.lower() for words in QUEUE_FULL),
        )


BATCHES = Batches(open=open_batches, line=line, limits=LIMITS)
