"""Clients of the two real SDKs for a loopback server, without retries and without loading
certificates (30 ms)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mistralai.client import Mistral
from openai import AsyncOpenAI

from benchmarks.loopback.process import Handle

POOLED = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
ONE_CALL_EACH = httpx2.Limits(max_keepalive_connections=0)
"""A new connection for every call, so that a fault cannot affect the next call."""


@asynccontextmanager
async def openai_client(
    server: Handle, *, key: str = "sk-test", limits: httpx2.Limits = POOLED
) -> AsyncIterator[AsyncOpenAI]:
    """Yield AsyncOpenAI with its defaults, except for ``max_retries=0``."""
    async with (
        httpx2.AsyncClient(verify=False, limits=limits, follow_redirects=True) as client,
        AsyncOpenAI(
            base_url=server.url_for("openai"), api_key=key, max_retries=0, http_client=client
        ) as sdk,
    ):
        yield sdk


@asynccontextmanager
async def mistral_client(
    server: Handle, *, key: str = "key-test", limits: httpx2.Limits = POOLED
) -> AsyncIterator[Mistral]:
    """Yield Mistral's client with its defaults."""
    async with httpx2.AsyncClient(verify=False, limits=limits, follow_redirects=True) as client:
        with httpx2.Client(verify=False) as unused:
            yield Mistral(
                server_url=server.url_for("mistral"),
                api_key=key,
                async_client=client,
                client=unused,
            )
