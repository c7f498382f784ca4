"""The two real SDKs pointed at a loopback server, retries off, without the 30 ms that trust in certificates costs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mistralai.client import Mistral
from openai import AsyncOpenAI

from benchmarks.loopback.process import Handle

POOLED = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
ONE_CALL_EACH = httpx2.Limits(max_keepalive_connections=0)
"""A connection for every call, so that no fault touches the next call."""


@asynccontextmanager
async def openai_client(
    server: Handle, *, key: str = "sk-test", limits: httpx2.Limits = POOLED
) -> AsyncIterator[AsyncOpenAI]:
    """AsyncOpenAI as it comes, except for ``max_retries=0``."""
    async with (
        httpx2.AsyncClient(verify=False, limits=limits, follow_redirects=True) as client,
        AsyncOpenAI(base_url=server.url_for("openai"), api_key=key, max_retries=0, http_client=client) as sdk,
    ):
        yield sdk


@asynccontextmanager
async def mistral_client(
    server: Handle, *, key: str = "key-test", limits: httpx2.Limits = POOLED
) -> AsyncIterator[Mistral]:
    """Mistral as it comes."""
    async with httpx2.AsyncClient(verify=False, limits=limits, follow_redirects=True) as client:
        with httpx2.Client(verify=False) as unused:
            yield Mistral(server_url=server.url_for("mistral"), api_key=key, async_client=client, client=unused)
