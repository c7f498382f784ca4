"""Endpoints and proxies: where a key may go."""

from __future__ import annotations

import asyncio
import gzip

import httpx2
import pytest
from pydantic import SecretStr

from claimeval.providers import http as exchange
from claimeval.providers.http import check_endpoint, client
from claimeval.types.errors import UsageError


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://127.0.0.1", "not an http:// or https:// address"),
        ("127.0.0.1:8000", "not an http:// or https:// address"),
        ("http://", "not an http:// or https:// address"),
        ("https://me:secret@models.example.org/v1", "carries credentials or a query"),
        ("https://models.example.org/v1?key=secret", "carries credentials or a query"),
        ("https://models.example.org/v1#secret", "carries credentials or a query"),
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        check_endpoint(url, "openai:m")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_does_not_get_to_see_a_key(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://proxy.example.org:3128")
    with pytest.raises(UsageError, match=f"{variable} is set and the endpoint 'http://10.0.0.7:8000/v1' is not https"):
        check_endpoint("http://10.0.0.7:8000/v1", "openai:m")
    for untouched in ("https://10.0.0.7/v1", "http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]/v1"):
        assert check_endpoint(untouched, "openai:m") == untouched


@pytest.mark.parametrize("exempt", ["10.0.0.7", "other, 10.0.0.7", "*", ".example.org"])
def test_no_proxy_exempts_a_host(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example.org:3128")
    monkeypatch.setenv("no_proxy", exempt)
    host = "models.example.org" if "example" in exempt else "10.0.0.7"
    assert check_endpoint(f"http://{host}/v1/", "openai:m") == f"http://{host}/v1"


def test_only_https_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example.org:3128")
    monkeypatch.setenv("https_proxy", "http://proxy.example.org:3128")

    async def mounts(endpoint: str) -> int:
        async with client(endpoint, SecretStr("none")) as http:
            return len(http._mounts)

    assert asyncio.run(mounts("https://10.0.0.7/v1")) == 2
    assert asyncio.run(mounts("http://127.0.0.1:8000/v1")) == 0


def test_a_compressed_reply_is_delivered_unpacked_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    delivered: list[httpx2.Response] = []
    monkeypatch.setattr("claimeval.providers.http.record_response", delivered.append)
    packed = gzip.compress(b'{"a": "b"}')

    async def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(packed))

    async def main() -> bytes:
        async with client("http://127.0.0.1/v1", SecretStr("none")) as http:
            http._transport = httpx2.MockTransport(answer)
            return (await http.post("http://127.0.0.1/v1", json={})).content

    assert asyncio.run(main()) == b'{"a": "b"}'
    assert [response.content for response in delivered] == [b'{"a": "b"}']


def test_a_response_that_nobody_waits_for_is_let_go() -> None:
    exchange.record_response(httpx2.Response(200, content=b"{}"))
