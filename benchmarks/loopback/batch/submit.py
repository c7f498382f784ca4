"""Shared by tests of batches: input files, and a batch from upload to results with the real SDKs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from mistralai.client import Mistral
from openai import AsyncOpenAI

from benchmarks.loopback import Handle
from benchmarks.loopback.sdk import mistral_client, openai_client

Json = dict[str, Any]


def question(custom_id: str, **changes: Any) -> Json:
    body = {"model": "gpt-test", "messages": [{"role": "user", "content": f"question {custom_id}"}]}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body, **changes}


def jsonl(*lines: Json) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


TEN = jsonl(*(question(f"c{number}") for number in range(10)))


def with_openai(server: Handle, then: Callable[[AsyncOpenAI], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with openai_client(server) as client:
            return await then(client)

    return asyncio.run(run())


def with_mistral(server: Handle, then: Callable[[Mistral], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with mistral_client(server) as client:
            return await then(client)

    return asyncio.run(run())


async def submit(client: AsyncOpenAI, content: bytes = TEN, **metadata: str) -> Any:
    uploaded = await client.files.create(file=("in.jsonl", content), purpose="batch")
    return await client.batches.create(
        input_file_id=uploaded.id, endpoint="/v1/chat/completions", completion_window="24h", metadata=metadata
    )


async def results(client: AsyncOpenAI, file_id: str | None) -> list[Json]:
    if not file_id:
        return []
    content = await client.files.content(file_id)
    return [json.loads(line) for line in content.text.splitlines()]


def run_openai(server: Handle, content: bytes = TEN) -> tuple[Any, list[Json], list[Json]]:
    """Return the batch when it has ended, the lines of its output file, and those of its error file."""

    async def run(client: AsyncOpenAI) -> Any:
        batch = await client.batches.retrieve((await submit(client, content)).id)
        return batch, await results(client, batch.output_file_id), await results(client, batch.error_file_id)

    outcome: tuple[Any, list[Json], list[Json]] = with_openai(server, run)
    return outcome
