"""OpenAI and all servers with its chat-completions protocol, through the openai SDK.

`openai:MODEL` goes to OPENAI_BASE_URL if it is set, else to api.openai.com. `openai:MODEL@URL` goes
to that server. Other providers with this protocol are rows at the end of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic_core import to_json

from claimeval.providers import Keep, Provider, check_settings, provider
from claimeval.providers.batches import (
    CHAT,
    CHUNK,
    NAME,
    Batches,
    BatchStatus,
    FileLimits,
    Phase,
    download,
    read_record,
)
from claimeval.providers.http import (
    ResponseRecorder,
    check_endpoint,
    client,
    explained,
    header_names,
    sdk_settings,
)
from claimeval.providers.keys import Secrets, scrub
from claimeval.types.chat_format import request_body
from claimeval.types.errors import UsageError
from claimeval.types.requests import Completion, Judge, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from pydantic import SecretStr

OFFICIAL = "https://api.openai.com/v1"

_REASONING = re.compile(r"(?:gpt-(?:[5-9]|\d\d)|o\d)(?![a-z0-9])(?!.*-chat)")
"""Models that spend hidden tokens before they answer, of any version, size and release date."""
_FIXED_SAMPLING = re.compile(
    r"(?:gpt-5|o\d)(?:-(?:mini|nano|pro|codex|preview|deep-research))*(?:-\d{4}-\d{2}-\d{2})?"
)
"""Reasoning models that are known to accept neither `temperature` nor `top_p`, and to give no
log-probabilities."""
REASONING_MAX_TOKENS = 16_384
_OPENAI_HOST = re.compile(r"(?:.+\.)?api\.openai\.com")
AZURE_KEY = "AZURE_OPENAI_API_KEY"
"""The key variable of Azure's documentation; the key is sent only to Azure's hosts."""
AZURE_HOST = re.compile(r".+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com")


def reasons(model: str) -> bool:
    """Return whether a model with this name, also behind a gateway, spends hidden tokens before it
    answers."""
    return _REASONING.match(model.rpartition("/")[2]) is not None


def resolve(judge: Judge) -> Judge:
    """Return the judge with endpoint, temperature and token limit. Raises UsageError for settings
    that cannot work."""
    row = provider(judge.model)
    address, _, query = (judge.endpoint or row.default_endpoint or "").partition("?")
    if not address:
        raise UsageError(
            f"judge {judge.name!r} names no server: set {row.endpoint_variable}, or give it as in"
            f" {row.example}"
        )
    if query and "@" not in address and not judge.query:
        judge = judge.model_copy(update={"query": dict(parse_qsl(query))})
    endpoint = check_endpoint(address, judge.name)
    check_settings(judge)
    model = judge.model_name
    _check_sampling(judge, model)
    settled = _defaults(judge, urlsplit(endpoint).hostname or "", thinks=row.reasons(model))
    return judge.model_copy(update={"endpoint": endpoint, **settled})


def _defaults(judge: Judge, host: str, *, thinks: bool) -> dict[str, Any]:
    """Return the settings that a judge leaves open, for a model at a host; `thinks` is whether it
    spends hidden tokens."""
    model = judge.model_name
    openai = _OPENAI_HOST.fullmatch(host) is not None
    settled: dict[str, Any] = {}
    if thinks and "max_tokens" not in judge.model_fields_set:
        settled["max_tokens"] = REASONING_MAX_TOKENS
    # Reasoning models accept no temperature.
    if not reasons(model) and "temperature" not in judge.model_fields_set:
        settled["temperature"] = 0.0
    if judge.key_variable is None and AZURE_HOST.fullmatch(host):
        settled["key_variable"] = AZURE_KEY
    # OpenAI refuses `max_tokens` for its newer models, and many servers know no other name.
    if judge.token_limit is None:
        newer = openai or reasons(model)
        settled["token_limit"] = "max_completion_tokens" if newer else "max_tokens"
    if openai and not judge.learned.refused:
        settled["learned"] = judge.learned.model_copy(update={"refused": ("maxLength",)})
    return settled


def _check_sampling(judge: Judge, model: str) -> None:
    """Raise UsageError for settings that a model with fixed sampling does not take."""
    if not _FIXED_SAMPLING.fullmatch(model.rpartition("/")[2]):
        return
    if judge.temperature is not None or judge.top_p is not None:
        raise UsageError(
            f"judge {judge.name!r}: this model takes neither temperature nor top_p; leave them"
            " out of its settings"
        )
    if judge.top_logprobs:
        raise UsageError(
            f"judge {judge.name!r}: this model gives no log-probabilities; leave top_logprobs"
            " out of its settings"
        )


def body(request: Request) -> dict[str, Any]:
    """Return the body of a live request. At OpenAI, requests that begin alike go to the machine
    that has it cached."""
    fields = request_body(request)
    judge = request.judge
    beginning = request.beginning
    host = urlsplit(judge.endpoint or "").hostname or ""
    if (
        beginning
        and _OPENAI_HOST.fullmatch(host)
        and "prompt_cache_key" not in judge.learned.refused
    ):
        return {"prompt_cache_key": beginning.key, **fields}
    return fields


@asynccontextmanager
async def connect(judge: Judge) -> AsyncIterator[OpenAIServer]:
    """Connect to a judge's server for the duration of the block."""
    async with open_sdk(judge) as (sdk, key):
        yield OpenAIServer(sdk, key)


@asynccontextmanager
async def open_sdk(judge: Judge) -> AsyncIterator[tuple[AsyncOpenAI, Secrets]]:
    """Open a client of the SDK for a judge's server for the duration of the block.

    Headers that the SDK reads from the environment, and the provider's key, are not sent to servers
    of others.
    """
    from openai import AsyncOpenAI, Omit

    assert judge.endpoint, "the judge is resolved"
    row = provider(judge.model)
    key = Secrets(row.api_key(judge), judge.headers, judge.query)
    is_provider_endpoint = row.key_variable == PROVIDER.key_variable and PROVIDER.owns(
        judge.endpoint
    )
    named = ["OpenAI-Organization", "OpenAI-Project", *header_names("OPENAI_CUSTOM_HEADERS")]
    headers: dict[str, Any] = {} if is_provider_endpoint else dict.fromkeys(named, Omit())
    headers |= {
        name: f"Bearer {key.get_secret_value()}"
        for name in headers
        if name.lower() == "authorization"
    }
    headers |= key.headers
    if AZURE_HOST.fullmatch(urlsplit(judge.endpoint).hostname or ""):
        headers.setdefault("api-key", key.get_secret_value())
    async with client(judge.endpoint, key) as http:
        yield AsyncOpenAI(**sdk_settings(judge, key, http, headers)), key


LIMITS = FileLimits(50_000, 200_000_000)
PHASES: Mapping[str, Phase] = {
    "completed": "ended",
    "expired": "expired",
    "failed": "refused",
    "cancelled": "cancelled",
}
"""Phases of ended batches; all other statuses (`validating`, `in_progress`, `finalizing`, ...) are
under way."""
SHARE = 0.5
"""https://help.openai.com/en/articles/9197833 ("50% cost discount") as of 2026-11-20."""
QUEUE_FULL = "token_limit_exceeded"
PAGE = 100


def line(request: Request) -> bytes:
    """Write a line of a request file. The key is the custom_id, so that the result can be matched
    with its request."""
    fields = {
        "custom_id": request.key,
        "method": "POST",
        "url": CHAT,
        "body": request_body(request),
    }
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


class OpenAIServer:
    """Chat completions, files and batches through one AsyncOpenAI client."""

    def __init__(self, sdk: AsyncOpenAI, key: SecretStr) -> None:
        self._sdk = sdk
        self.key = key

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the reply as the server sent it, without building the SDK's model of it."""
        import httpx2

        recorder = ResponseRecorder(self.key, keep)
        with recorder.open_for(self._sdk):
            # Not `chat.completions.create`: it goes through the body field by field, a sixth of the
            # CPU of a call.
            await self._sdk.post(
                "chat/completions",
                cast_to=httpx2.Response,
                content=to_json(body(request)),
            )
        return recorder.completion()

    async def upload(self, file: Path, name: str) -> str:
        """Upload a file of request lines and return its id."""
        with file.open("rb") as content, explained(self._sdk, self.key):
            reply = await self._sdk.files.with_raw_response.create(
                file=(f"{name}.jsonl", content), purpose="batch"
            )
        return str(read_record(reply.content)["id"])

    async def create(self, file_id: str, name: str) -> BatchStatus:
        """Start a batch that is answered within 24 hours."""
        with explained(self._sdk, self.key):
            reply = await self._sdk.batches.with_raw_response.create(
                input_file_id=file_id,
                endpoint=CHAT,
                completion_window="24h",
                metadata={NAME: name},
            )
        return self._status(read_record(reply.content))

    async def find(self, name: str, since: float, file_id: str) -> list[BatchStatus]:
        """List the batches of this name; the list is read page by page down to the time `since`."""
        matches: list[BatchStatus] = []
        after: dict[str, Any] = {}
        while True:
            with explained(self._sdk, self.key):
                reply = await self._sdk.batches.with_raw_response.list(limit=PAGE, **after)
            page = read_record(reply.content)
            batches = [batch for batch in page.get("data") or [] if isinstance(batch, dict)]
            matches += [status for batch in batches if (status := self._status(batch)).name == name]
            if not batches or not page.get("has_more") or batches[-1].get("created_at", 0) < since:
                return matches
            after = {"after": batches[-1]["id"]}

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the status of a batch."""
        with explained(self._sdk, self.key):
            reply = await self._sdk.batches.with_raw_response.retrieve(batch_id)
        return self._status(read_record(reply.content))

    async def fetch(self, file_id: str, into: Path) -> None:
        """Download a file of results; `into` holds the whole file or nothing."""
        with explained(self._sdk, self.key):
            async with self._sdk.files.with_streaming_response.content(file_id) as reply:
                await download(reply.iter_bytes(CHUNK), into)

    async def cancel(self, batch_id: str) -> None:
        """Cancel a batch."""
        with explained(self._sdk, self.key):
            await self._sdk.batches.with_raw_response.cancel(batch_id)

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


SDK = ("openai",)
"""The package that calls go through."""

PROVIDER = Provider(
    name="openai",
    open=connect,
    resolve=resolve,
    example="openai:gpt-5-mini, openai:MODEL@http://127.0.0.1:8000/v1",
    costs=True,
    endpoint=OFFICIAL,
    endpoint_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    packages=SDK,
    reasons=reasons,
    own_host=_OPENAI_HOST,
    batches=Batches(open=connect, line=line, limits=LIMITS, share=SHARE),
)

_DATED = re.compile(r"(?:^|&)api-version=\d{4}-\d\d-\d\d")
_THINKING_GEMINI = re.compile(r"gemini-(?:2\.5|[3-9]|flash-latest|pro-latest)(?!.*lite)")


def _azure(judge: Judge) -> Judge:
    """Resolve a deployment at a resource, whose address may be only its host, as in Azure's
    documentation.

    With a dated API version, in the address or under `query`, the path is that of a deployment;
    without, that of the version-less API.
    """
    address, mark, query = (judge.endpoint or AZURE.default_endpoint or "").partition("?")
    if address and not urlsplit(address).path.strip("/"):
        dated = _DATED.search(query or f"api-version={judge.query.get('api-version', '')}")
        path = f"deployments/{judge.model.partition(':')[2]}" if dated else "v1"
        judge = judge.model_copy(
            update={"endpoint": f"{address.rstrip('/')}/openai/{path}{mark}{query}"}
        )
    return resolve(judge)


AZURE = Provider(
    name="azure",
    open=connect,
    resolve=_azure,
    example="azure:DEPLOYMENT@https://NAME.openai.azure.com",
    names_deployments=True,
    endpoint_variable="AZURE_OPENAI_ENDPOINT",
    key_variable=AZURE_KEY,
    own_host=AZURE_HOST,
    packages=SDK,
    reasons=reasons,
)
GEMINI = Provider(
    name="gemini",
    open=connect,
    resolve=resolve,
    example="gemini:gemini-2.5-flash",
    endpoint="https://generativelanguage.googleapis.com/v1beta/openai",
    key_variable="GEMINI_API_KEY",
    refuses=frozenset({"seed"}),  # "Unknown name "seed": Cannot find field", as users report
    packages=SDK,
    reasons=lambda model: _THINKING_GEMINI.search(model) is not None,
)
OLLAMA = Provider(
    name="ollama",
    open=connect,
    resolve=resolve,
    example="ollama:qwen3:8b",
    start="ollama serve",
    endpoint="http://127.0.0.1:11434/v1",
    # the default context on machines with little memory; this protocol cannot set another one
    cuts_at=4096,
    packages=SDK,
    reasons=reasons,
)
OPENROUTER = Provider(
    name="openrouter",
    open=connect,
    resolve=resolve,
    example="openrouter:openai/gpt-5-mini",
    endpoint="https://openrouter.ai/api/v1",
    key_variable="OPENROUTER_API_KEY",
    # "cost: The total amount charged to your account", in credits, of which one is a dollar
    # (https://openrouter.ai/docs/use-cases/usage-accounting)
    credits_are_dollars=True,
    packages=SDK,
    reasons=reasons,
)
