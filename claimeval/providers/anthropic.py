"""Anthropic through the anthropic SDK: messages and message batches.

The JSON schema of a reply is the input schema of a tool that the model must call. Models that
always think refuse this and get the schema as their output format. A reply is stored in the
chat-completions format, with all other fields of Anthropic's message. The tool and the system
prompt, which all calls of a step share, can be in its prompt cache.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from claimeval.providers import Keep, Provider, check_settings
from claimeval.providers.batches import (
    CHUNK,
    MAX_LINE_BYTES,
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
from claimeval.providers.keys import Secrets
from claimeval.types.errors import UsageError, not_installed
from claimeval.types.requests import ANY_KEYS, Beginning, CallError, Completion, Judge, Request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, RequestOptions
    from pydantic import SecretStr

OFFICIAL = "https://api.anthropic.com"
MESSAGES = "/v1/messages"
SAMPLING_VERSION = {"anthropic-version": "2023-06-01"}
"""The API version for requests with a temperature, which later versions refuse for every model."""
TOOL = "reply"
"""The tool whose input is the reply."""
SCHEMA_TOKENS = 1024
"""Upper bound of the hidden prompt for tool use; 264 to 804 tokens in Anthropic's table."""
THINKING_MAX_TOKENS = 16_384

_THINKS = re.compile(r"claude-(?:fable|mythos|[a-z]+-(?:[5-9]|\d\d)(?!\d))")
"""Models that think before a reply by default. They accept no temperature, and later ones no forced
tool call."""
FORMAT_REFUSES = ("maxItems", "maxLength")
"""Keywords in a schema that the output format does not accept."""
_EPHEMERAL = {"type": "ephemeral"}
_REFUSED_EXTRA = {
    "system": "is set by claimeval: the prompt",
    "tool_choice": "is set by claimeval; use structured:",
    "output_config": "is set by claimeval; use reasoning_effort: or structured:",
    "output_format": "is set by claimeval; use structured:",
    "speed": "has a price that the caps do not count",
    "inference_geo": "has a price that the caps do not count",
    "mcp_servers": "has a price that the caps do not count",
    "container": "has a price that the caps do not count",
}


def reasons(model: str) -> bool:
    """Return whether a model with this name, also behind a gateway, thinks before it replies."""
    return _THINKS.match(model.rpartition("/")[2]) is not None


def resolve(judge: Judge) -> Judge:
    """Return the judge with endpoint, temperature and token limit. Raises UsageError for settings
    that cannot work."""
    endpoint = check_endpoint(
        judge.endpoint or PROVIDER.default_endpoint or OFFICIAL, judge.name
    ).removesuffix("/v1")
    check_settings(judge)
    if judge.token_limit == "max_completion_tokens":
        raise UsageError(
            f"judge {judge.name!r}: Anthropic limits replies by max_tokens; leave token_limit out"
        )
    for name, value in judge.extra.items():
        if reason := _REFUSED_EXTRA.get(name):
            raise UsageError(f"judge {judge.name!r}, extra: {name!r} {reason}")
        if name == "cache_control" and value != _EPHEMERAL:
            raise UsageError(
                f"judge {judge.name!r}, extra: 'cache_control' is {{type: ephemeral}}, for five"
                " minutes"
            )
    settled: dict[str, Any] = {"endpoint": endpoint, "token_limit": None}
    if reasons(judge.model.partition(":")[2]):
        if "max_tokens" not in judge.model_fields_set:
            settled["max_tokens"] = THINKING_MAX_TOKENS
        if not judge.learned.refused:
            settled["learned"] = judge.learned.model_copy(update={"refused": FORMAT_REFUSES})
    elif "temperature" not in judge.model_fields_set and judge.top_p is None:
        settled["temperature"] = 0.0
    return judge.model_copy(update=settled)


def body(request: Request) -> dict[str, Any]:
    """Return the body of a request for a message."""
    judge = request.judge
    system = "\n\n".join(
        m.content for m in request.messages if m.role == "system" and m.content.strip()
    )
    model = judge.model.partition(":")[2]
    fields: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "system": (
            [{"type": "text", "text": system, "cache_control": _EPHEMERAL}] if system else None
        ),
        "messages": [
            {
                "role": "user",
                "content": _content(
                    m.content, request.beginning if m is request.messages[-1] else None
                ),
            }
            for m in request.messages
            if m.role == "user"
        ],
        "temperature": judge.temperature,
        "top_p": judge.top_p,
        **_form(judge, model, request.schema_sent),
    }
    return {**judge.extra, **{name: value for name, value in fields.items() if value is not None}}


def _form(judge: Judge, model: str, schema: str | None) -> dict[str, Any]:
    """Return the fields that ask for the form of a reply: a tool that must be called, or an output
    format of models that refuse this."""
    output: dict[str, Any] = {"effort": judge.reasoning_effort} if judge.reasoning_effort else {}
    if schema and not reasons(model):
        description = "Give the reply that the prompt asks for."
        tool = {"name": TOOL, "description": description, "input_schema": json.loads(schema)}
        choice = {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True}
        return {"tools": [tool], "tool_choice": choice, "output_config": output or None}
    # The output format refuses an object whose keys are not listed, such as labels by claim id.
    if schema and ANY_KEYS not in schema:
        output["format"] = {"type": "json_schema", "schema": json.loads(schema)}
    return {"output_config": output or None}


def _content(text: str, beginning: Beginning | None) -> str | list[dict[str, Any]]:
    """Return a text, with a mark for the prompt cache after what several requests share: a write
    has its price."""
    if not beginning or not beginning.shared:
        return text
    marked = {"type": "text", "text": text[: beginning.shared], "cache_control": _EPHEMERAL}
    return [marked, {"type": "text", "text": text[beginning.shared :]}]


_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "refusal": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""The finish reason of the chat-completions format for each stop reason."""


def as_chat(content: bytes) -> bytes:
    """Return a message in the chat-completions format, with all its other fields; other content is
    unchanged."""
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(message, dict) or message.get("type") != "message":
        return content
    reason = message.get("stop_reason")
    choice = {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": _text_of(message),
            "refusal": _refusal(message),
        },
        "finish_reason": _FINISH.get(reason, reason) if isinstance(reason, str) else None,
    }
    return json.dumps({**message, "choices": [choice]}).encode()


def _text_of(message: Mapping[str, Any]) -> str | None:
    """Return the text of a message: the input of the tool that must be called, else its texts; None
    if it has neither."""
    blocks = [block for block in message.get("content") or [] if isinstance(block, dict)]
    calls = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    if calls:
        return _json_text(calls[0])
    return "".join(texts) if texts else None


def _json_text(raw: Any) -> str:
    """Return the input of the tool as JSON; models sometimes write its only field as a string of
    JSON."""
    if isinstance(raw, dict) and len(raw) == 1:
        (name, value), *_ = raw.items()
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            return f"{{{json.dumps(name)}: {value}}}"
    return json.dumps(raw, ensure_ascii=False)


def _refusal(message: Mapping[str, Any]) -> str | None:
    if message.get("stop_reason") != "refusal":
        return None
    details = message.get("stop_details")
    explanation = (
        (details.get("explanation") or details.get("category"))
        if isinstance(details, dict)
        else None
    )
    return str(explanation or "the model refused to reply")


@asynccontextmanager
async def connect(judge: Judge) -> AsyncIterator[AnthropicServer]:
    """Connect to a judge's server for the duration of the block.

    Headers that the SDK reads from the environment, and the provider's key, are not sent to servers
    of others.
    """
    try:
        from anthropic import AsyncAnthropic, Omit
    except ImportError as error:
        raise not_installed("models of Anthropic need its SDK", "anthropic") from error

    assert judge.endpoint, "the judge is resolved"
    key = Secrets(PROVIDER.api_key(judge), judge.headers, judge.query)
    headers: dict[str, Any] = {}
    if not PROVIDER.owns(judge.endpoint):
        ours = {
            "authorization": f"Bearer {key.get_secret_value()}",
            "x-api-key": key.get_secret_value(),
        }
        headers = {
            name: ours.get(name.lower(), Omit())
            for name in header_names("ANTHROPIC_CUSTOM_HEADERS")
        }
        if "x-api-key" not in map(str.lower, headers):
            headers["x-api-key"] = ours[
                "x-api-key"
            ]  # the SDK leaves it out, but other servers read it
    headers |= key.headers
    async with client(judge.endpoint, key) as http:
        sdk = AsyncAnthropic(**sdk_settings(judge, key, http, headers), open_telemetry=False)
        yield AnthropicServer(sdk, key)


LIMITS = FileLimits(50_000, 32_000_000)
"""Anthropic's limits are two and eight times as high, but a batch is one request, which has a
timeout."""
SHARE = 0.5
"""https://platform.claude.com/docs/en/build-with-claude/batch-processing ("50% of the standard API
prices")."""
BATCHES = f"{MESSAGES}/batches"
PAGE = 100
STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status of each error type, which result lines do not have."""


def line(request: Request) -> bytes:
    """Write a line of a request file. The key is the custom_id, so that the result can be matched
    with its request."""
    return (
        json.dumps(
            {"custom_id": request.key, "params": body(request)}, separators=(",", ":")
        ).encode()
        + b"\n"
    )


class AnthropicServer:
    """Messages and message batches through one AsyncAnthropic client.

    Anthropic has no request files and keeps no name with a batch. So "uploading" a file only
    records the newest batch: a later batch with the same number of requests is ours.
    """

    def __init__(self, sdk: AsyncAnthropic, key: SecretStr) -> None:
        self._sdk = sdk
        self.key = key

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the reply, without building the SDK's model of it."""
        import httpx2

        recorder = ResponseRecorder(self.key, keep, as_chat)
        with recorder.open_for(self._sdk):
            fields = body(request)
            options: RequestOptions = (
                {"headers": SAMPLING_VERSION} if {"temperature", "top_p"} & set(fields) else {}
            )
            await self._sdk.post(MESSAGES, cast_to=httpx2.Response, body=fields, options=options)
        return recorder.completion()

    async def upload(self, file: Path, name: str) -> str:
        """Record the newest batch and the number of requests in a file; nothing is sent."""
        newest = (await self._record(f"{BATCHES}?limit=1")).get("data") or [{}]
        with file.open("rb") as lines:
            requests = sum(1 for _ in lines)
        return json.dumps({"after": newest[0].get("id"), "requests": requests, "file": str(file)})

    async def create(self, file_id: str, name: str) -> BatchStatus:
        """Start a batch of the requests in a file, which is answered within 24 hours."""
        file = json.loads(file_id)["file"]
        try:
            lines = Path(file).read_bytes().splitlines()
        except OSError as error:
            raise CallError(
                "provider_error", f"cannot read {file}: {error.strerror}", status=404
            ) from None
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        return _status(await self._record(BATCHES, content))

    async def find(self, name: str, since: float, file_id: str) -> list[BatchStatus]:
        """List the batches that were created after the file was "uploaded" and have the same number
        of requests."""
        noted = json.loads(file_id)
        matching: list[BatchStatus] = []
        query = ""
        while True:
            page = await self._record(f"{BATCHES}?limit={PAGE}{query}")
            batches = [_status(batch) for batch in page.get("data") or []]
            ids = [batch.id for batch in batches]
            # The list is the newest first, so that those before the noted one came after it.
            newer = batches[: ids.index(noted["after"])] if noted["after"] in ids else batches
            matching += [batch for batch in newer if batch.total == noted["requests"]]
            if len(newer) < len(batches) or not page.get("has_more") or not ids:
                return matching
            query = f"&after_id={ids[-1]}"

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the status of a batch."""
        return _status(await self._record(f"{BATCHES}/{batch_id}"))

    async def fetch(self, file_id: str, into: Path) -> None:
        """Download results in the form of OpenAI's files; `into` holds the whole file or
        nothing."""
        import httpx2
        from anthropic import AsyncStream

        raw = into.with_name(into.name + ".raw")
        with explained(self._sdk, self.key):
            path = f"{BATCHES}/{file_id}/results"
            cls = AsyncStream[Any]
            streamed = await self._sdk.get(
                path,
                cast_to=httpx2.Response,
                stream=True,
                stream_cls=cls,
            )
            reply = cast(
                httpx2.Response, streamed
            )  # as the SDK gives what is to be cast to a response
            try:
                await download(reply.aiter_bytes(CHUNK), raw)
            finally:
                await reply.aclose()
        await download(_results(raw), into)
        raw.unlink()

    async def cancel(self, batch_id: str) -> None:
        """Cancel a batch."""
        try:
            await self._record(f"{BATCHES}/{batch_id}/cancel", b"")
        except CallError as error:
            if error.status != 400 or (await self.status(batch_id)).phase == "under_way":
                raise

    async def _record(self, path: str, content: bytes | None = None) -> dict[str, Any]:
        """Return the record in a response to a GET or, with content, a POST."""
        import httpx2

        with explained(self._sdk, self.key):
            if content is None:
                reply = await self._sdk.get(path, cast_to=httpx2.Response)
            else:
                headers = {"content-type": "application/json"}
                if any(f',"{name}":'.encode() in content for name in ("temperature", "top_p")):
                    headers |= SAMPLING_VERSION
                reply = await self._sdk.post(
                    path,
                    cast_to=httpx2.Response,
                    content=content,
                    options={"headers": headers},
                )
        return read_record(reply.content)


async def _results(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as lines:
        for line in iter(partial(lines.readline, MAX_LINE_BYTES), b""):
            yield as_result(line)


def as_result(raw: bytes) -> bytes:
    """Return a result line in OpenAI's form; other lines are unchanged."""
    try:
        record = json.loads(raw)
        key = record["custom_id"]
        result = record["result"]
        kind = result["type"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return raw
    row: dict[str, Any] = {"custom_id": key}
    if kind == "succeeded":
        row["response"] = {
            "status_code": 200,
            "body": as_chat(json.dumps(result.get("message")).encode()).decode(),
        }
    elif kind == "errored":
        record = result.get("error")
        inner = record.get("error", record) if isinstance(record, dict) else None
        status = STATUS_OF.get(inner.get("type", ""), 500) if isinstance(inner, dict) else 500
        row["response"] = {"status_code": status, "body": record}
    else:
        row["error"] = {
            "code": {"canceled": "batch_cancelled", "expired": "batch_expired"}.get(kind, kind)
        }
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _status(batch: Mapping[str, Any]) -> BatchStatus:
    counts = {
        name: count
        for name, count in (batch.get("request_counts") or {}).items()
        if type(count) is int
    }
    status = str(batch.get("processing_status"))
    return BatchStatus(
        id=str(batch["id"]),
        name=None,
        phase=_phase(batch, status, expired=bool(counts.get("expired"))),
        status=status,
        files=(str(batch["id"]),) if status == "ended" and batch.get("results_url") else (),
        total=sum(counts.values()),
        answered=counts.get("succeeded", 0),
        failed=sum(counts.get(name, 0) for name in ("errored", "canceled", "expired")),
    )


def _phase(batch: Mapping[str, Any], status: str, *, expired: bool) -> Phase:
    if status != "ended":
        return "under_way"
    if batch.get("cancel_initiated_at"):
        return "cancelled"
    return "expired" if expired else "ended"


PROVIDER = Provider(
    name="anthropic",
    open=connect,
    resolve=resolve,
    example="anthropic:claude-haiku-4-5",
    costs=True,
    endpoint=OFFICIAL,
    endpoint_variable="ANTHROPIC_BASE_URL",
    key_variable="ANTHROPIC_API_KEY",
    refuses=frozenset({"seed", "top_logprobs"}),
    packages=("anthropic",),
    reasons=reasons,
    schema_tokens=SCHEMA_TOKENS,
    batches=Batches(open=connect, line=line, limits=LIMITS, share=SHARE),
)
