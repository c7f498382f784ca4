"""The HTTP client that SDK backends share: whole bodies, no redirects, no limit of its own, proxies only for https."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from claimeval.backends.exchange import deliver
from claimeval.backends.keys import scrubbed_logs
from claimeval.errors import UsageError

if TYPE_CHECKING:
    import httpx2
    from pydantic import SecretStr

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 600.0
"""Seconds between two bytes. The deadline for a whole attempt is the executor's, by the wall clock."""


def check_endpoint(url: str, given: str) -> str:
    """The base URL without a trailing slash; UsageError unless it is plain http(s) without credentials or query.

    An http:// endpoint that a proxy setting would route through a proxy is refused: the proxy would see the key.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"endpoint {url!r} of judge {given!r} is not an http:// or https:// address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"the endpoint of judge {given!r} carries credentials or a query; put keys in the environment")
    if parts.scheme == "http" and not _bypasses_proxy(parts.hostname):
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            if os.environ.get(variable):
                raise UsageError(
                    f"{variable} is set and the endpoint {url!r} is not https, so the proxy would see your key. "
                    f"Add {parts.hostname} to NO_PROXY or use https"
                )
    return url.rstrip("/")


def _bypasses_proxy(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        if ipaddress.ip_address(host).is_loopback:
            return True
    except ValueError:
        pass
    exempt = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
    names = [name.strip().lstrip(".") for name in exempt if name.strip()]
    return any(name == "*" or host == name or host.endswith("." + name) for name in names)


@asynccontextmanager
async def client(endpoint: str, key: SecretStr) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for one run, whose connections live as long as the block and whose logs do not show the key.

    Every response is read whole and handed to `deliver` before the connection is tidied up, which may wait.
    """
    import httpx2

    secure = endpoint.startswith("https://")

    class WholeResponses(httpx2.AsyncClient):
        async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
            response = await super().send(request, stream=True, **options)
            if stream:
                return response
            try:
                body = b"".join([part async for part in cast(httpx2.AsyncByteStream, response.stream)])
                whole = httpx2.Response(response.status_code, headers=response.headers, content=body, request=request)
                deliver(whole)
            finally:
                await response.aclose()
            return whole

    whole_responses = WholeResponses(
        timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        follow_redirects=False,
        trust_env=secure,
        verify=secure,  # loading the trusted certificates takes 30 ms
    )
    with scrubbed_logs(key):
        async with whole_responses as opened:
            yield opened
