"""Mistral through the mistralai SDK: chat and batches.

The SDK gives no access to the body of a reply, drops parts of it in its model and refuses others.
So replies are what the HTTP client recorded, whatever the SDK makes of them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from claimeval.providers import Keep, Provider, settle
from claimeval.providers.batches import (
    CHAT,
    CHUNK,
    NAME,
    WINDOW_HOURS,
    Batches,
    BatchStatus,
    FileLimits,
    Phase,
    download,
    read_record,
)
from claimeval.providers.http import ResponseRecorder, client, connection_error, error_for
from claimeval.providers.keys import Secrets, scrub
from claimeval.types.chat_format import request_body
from claimeval.types.errors import UsageError, first_problem, unknown_name
from claimeval.types.requests import CallError, Completion, Judge, Request

if TYPE_CHECKING:
    import httpx2
    from mistralai.client import Mistral
    from pydantic import BaseModel, SecretStr

OFFICIAL = "https://api.mistral.ai"


def resolve(judge: Judge) -> Judge:
    """Return the judge with endpoint and temperature. Raises UsageError for settings that cannot
    work."""
    if judge.token_limit == "max_completion_tokens":
        raise UsageError(
            f"judge {judge.name!r}: Mistral limits replies by max_tokens; leave token_limit out"
        )
    settled = settle(judge)
    if judge.extra:
        _check_fields(judge)
    return settled.model_copy(
        update={"endpoint": str(settled.endpoint).removesuffix("/v1"), "token_limit": None}
    )


def _check_fields(judge: Judge) -> None:
    """Raise UsageError for a field or a value that Mistral's SDK does not send."""
    from mistralai.client.models import ChatCompletionRequest

    allowed = set(ChatCompletionRequest.model_fields)
    if unknown := [field for field in judge.extra if field not in allowed]:
        raise unknown_name(f"field in `extra` of judge {judge.name!r}:", unknown[0], allowed)
    try:
        ChatCompletionRequest.model_validate({"model": judge.model, "messages": [], **judge.extra})
    except ValidationError as error:
        field, problem, _ = first_problem(error)
        raise UsageError(f"judge {judge.name!r}, extra, {field}: {problem}") from error


@asynccontextmanager
async def connect(judge: Judge) -> AsyncIterator[MistralServer]:
    """Connect to a judge's server for the duration of the block."""
    import httpx2
    from mistralai.client import Mistral

    assert judge.endpoint, "the judge is resolved"
    key = Secrets(PROVIDER.api_key(judge), judge.headers, judge.query)
    async with client(judge.endpoint, key) as http:

        async def settle_request(request: httpx2.Request) -> None:
            request.headers.update(key.headers)  # after the SDK's own
            request.extensions["timeout"] = (
                http.timeout.as_dict()
            )  # the SDK has one for connecting and reading

        async def drop_warning(response: httpx2.Response) -> None:
            response.headers.pop(
                "x-model-deprecation-timestamp", None
            )  # the SDK would warn at every call

        http.event_hooks = {"request": [settle_request], "response": [drop_warning]}
        http.params = http.params.merge(key.query)
        # Without this blocking client, the SDK creates one that loads certificates and is not
        # closed.
        with httpx2.Client(verify=False) as unused:
            sdk = Mistral(
                api_key=key.get_secret_value(),
                server_url=judge.endpoint,
                client=unused,
                async_client=http,
            )
            # Else MISTRAL_SDK_TELEMETRY would send prompts and this key to Mistral, whichever the
            # endpoint.
            # read by the SDK, declared nowhere
            sdk.sdk_configuration.telemetry = False  # type: ignore[attr-defined]
            yield MistralServer(sdk, judge.model.partition(":")[2], key)


def body(request: Request) -> dict[str, Any]:
    """Return the body of a chat request with Mistral's field names."""
    return request_body(request, seed="random_seed")


LIMITS = FileLimits(50_000, 200_000_000)
"""Mistral's limits are twice as high, but smaller files are answered sooner, and compatible servers
have OpenAI's."""
SHARE = 0.5
"""https://docs.mistral.ai/studio-api/batch-processing ("at a 50% discount") as of 2026-11-20."""
PHASES: Mapping[str, Phase] = {
    "SUCCESS": "ended",
    "TIMEOUT_EXCEEDED": "expired",
    "FAILED": "refused",
    "CANCELLED": "cancelled",
}
"""Phases of ended jobs; `QUEUED`, `RUNNING`, `CANCELLATION_REQUESTED` and unknown statuses are
under way."""
QUEUE_FULL = ("token limit", "too many pending", "queue is full")
"""Words in errors (which have no code) after which the same file may be accepted later."""
PAGE = 100


def line(request: Request) -> bytes:
    """Write a line of a request file; the model is named once, when the batch is created."""
    fields = {name: value for name, value in body(request).items() if name != "model"}
    return (
        json.dumps({"custom_id": request.key, "body": fields}, separators=(",", ":")).encode()
        + b"\n"
    )


class MistralServer:
    """Chat, files and jobs of one model through one Mistral client."""

    def __init__(self, sdk: Mistral, model: str, key: SecretStr) -> None:
        self._sdk = sdk
        self._model = model
        self.key = key

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the reply as the server sent it, whatever the SDK makes of it."""
        import httpx2
        from mistralai.client.errors import MistralError
        from mistralai.client.models import ChatCompletionRequest

        recorder = ResponseRecorder(self.key, keep)
        fields = dict(
            ChatCompletionRequest.model_validate(body(request))
        )  # for dicts, the SDK makes classes each time
        with recorder.open():
            try:
                await self._sdk.chat.complete_async(**fields)
            except (CallError, httpx2.RequestError) as error:
                recorder.abort(error)
            except MistralError:
                pass  # the recorder holds the server's response
        return recorder.completion()

    async def upload(self, file: Path, name: str) -> str:
        """Upload a file of request lines and return its id."""
        from mistralai.client.models import File

        with file.open("rb") as content:
            upload = File(file_name=f"{name}.jsonl", content=content)
            record = await self._record(self._sdk.files.upload_async(file=upload, purpose="batch"))
        return str(record["id"])

    async def create(self, file_id: str, name: str) -> BatchStatus:
        """Start a job that is answered within `WINDOW_HOURS`."""
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
        return self._status(record)

    async def find(self, name: str, since: float, file_id: str) -> list[BatchStatus]:
        """List the jobs of this name created after the time `since`."""
        matches: list[BatchStatus] = []
        after = datetime.fromtimestamp(since, UTC)
        page = 0
        while True:
            listing = self._sdk.batch.jobs.list_async(
                metadata={NAME: name},
                created_after=after,
                page=page,
                page_size=PAGE,
            )
            jobs = (await self._record(listing)).get("data") or []
            matches += [status for job in jobs if (status := self._status(job)).name == name]
            if len(jobs) < PAGE:
                return matches
            page += 1

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the status of a job."""
        return self._status(await self._record(self._sdk.batch.jobs.get_async(job_id=batch_id)))

    async def fetch(self, file_id: str, into: Path) -> None:
        """Download a file of results; `into` holds the whole file or nothing."""
        from mistralai.client.errors import SDKError

        with self._explained():
            try:
                reply = await self._sdk.files.download_async(file_id=file_id)
            except SDKError as error:
                if (
                    error.status_code != 200
                ):  # with 200, only the content type is not what the SDK expects
                    raise
                await download(_whole(error.body.encode()), into)
                return
            try:
                await download(reply.aiter_bytes(CHUNK), into)
            finally:
                await reply.aclose()

    async def cancel(self, batch_id: str) -> None:
        """Cancel a job."""
        await self._record(self._sdk.batch.jobs.cancel_async(job_id=batch_id))

    async def _record(self, call: Awaitable[BaseModel]) -> dict[str, Any]:
        """Return the server's record, even if it is not what the SDK expected."""
        from mistralai.client.errors import ResponseValidationError

        with self._explained():
            try:
                return (await call).model_dump(mode="json", warnings=False)
            except ResponseValidationError as error:
                content = error.body
        return read_record(content.encode())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate errors of the SDK and the HTTP client, without the key."""
        import httpx2
        from mistralai.client.errors import MistralError, NoResponseError, ResponseValidationError

        try:
            yield
        except ResponseValidationError:
            raise
        except MistralError as error:
            raise error_for(error.status_code, error.headers, error.body, self.key) from None
        except (httpx2.RequestError, NoResponseError) as error:
            raise connection_error(error, self.key) from None

    def _status(self, job: Mapping[str, Any]) -> BatchStatus:
        status = str(job.get("status"))
        problems = [str(p.get("message")) for p in job.get("errors") or [] if isinstance(p, dict)]
        files = (job.get("output_file"), job.get("error_file"))
        problem = "; ".join(problems[:3])
        return BatchStatus(
            id=str(job["id"]),
            name=(job.get("metadata") or {}).get(NAME),
            phase=PHASES.get(status, "under_way"),
            status=status,
            files=tuple(str(file) for file in files if file),
            total=job.get("total_requests") or 0,
            answered=job.get("succeeded_requests") or 0,
            failed=job.get("failed_requests") or 0,
            problem=scrub(problem, self.key),
            queue_full=any(words in problem.lower() for words in QUEUE_FULL),
        )


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content


PROVIDER = Provider(
    name="mistral",
    open=connect,
    resolve=resolve,
    example="mistral:mistral-large-latest",
    costs=True,
    endpoint=OFFICIAL,
    key_variable="MISTRAL_API_KEY",
    packages=("mistralai",),
    batches=Batches(open=connect, line=line, limits=LIMITS, share=SHARE),
)
