"""Endpoints and proxies: where a key may go."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import tracemalloc
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr

import claimeval as ce
from claimeval.providers import MAX_REPLY_BYTES
from claimeval.providers import http as exchange
from claimeval.providers.http import check_endpoint, client
from claimeval.testing import samples
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError, Completion


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
    with pytest.raises(
        UsageError,
        match=f"{variable} is set and the endpoint 'http://10.0.0.7:8000/v1' is not https",
    ):
        check_endpoint("http://10.0.0.7:8000/v1", "openai:m")
    for untouched in (
        "https://10.0.0.7/v1",
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        "http://[::1]/v1",
    ):
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


def test_a_compressed_reply_is_delivered_unpacked_and_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delivered: list[httpx2.Response] = []
    monkeypatch.setattr("claimeval.providers.http.record_response", delivered.append)
    packed = gzip.compress(b'{"a": "b"}')

    async def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(packed)
        )

    monkeypatch.setattr(
        httpx2.AsyncHTTPTransport,
        "handle_async_request",
        httpx2.MockTransport(answer).handle_async_request,
    )

    async def main() -> bytes:
        async with client("http://127.0.0.1/v1", SecretStr("none")) as http:
            return (await http.post("http://127.0.0.1/v1", json={})).content

    assert asyncio.run(main()) == b'{"a": "b"}'
    assert [response.content for response in delivered] == [b'{"a": "b"}']


def received(reply: httpx2.Response, longest: int) -> httpx2.Response:
    """What a client makes of a reply if bodies may have `longest` bytes."""

    async def main() -> httpx2.Response:
        MAX_REPLY_BYTES.set(longest)
        async with client("http://127.0.0.1/v1", SecretStr("none")) as http:
            return await http.post("http://127.0.0.1/v1", json={})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            httpx2.AsyncHTTPTransport,
            "handle_async_request",
            httpx2.MockTransport(lambda _: reply).handle_async_request,
        )
        return asyncio.run(main())


def packed(content: bytes, encoding: str = "gzip", status: int = 200) -> httpx2.Response:
    return httpx2.Response(
        status, headers={"content-encoding": encoding}, stream=httpx2.ByteStream(content)
    )


def test_a_reply_of_the_greatest_size_is_read_and_one_byte_more_is_not() -> None:
    assert (
        received(httpx2.Response(200, stream=httpx2.ByteStream(b"x" * 100)), 100).content
        == b"x" * 100
    )
    with pytest.raises(
        CallError, match=r"larger than 0\.0001 MB, the limit of max_reply_bytes"
    ) as refused:
        received(httpx2.Response(200, stream=httpx2.ByteStream(b"x" * 101)), 100)
    assert (refused.value.possibly_paid, refused.value.retryable) == (True, False)


def test_a_packed_reply_is_unpacked_only_up_to_the_limit() -> None:
    tracemalloc.start()
    with pytest.raises(CallError, match="larger than 1 MB"):
        received(packed(gzip.compress(b"x" * 50_000_000)), 1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60_000_000  # the 50 MB of this test, and few of the client
    with pytest.raises(CallError, match="packed several times") as caught:
        received(packed(gzip.compress(gzip.compress(b"{}")), "gzip, gzip"), 1_000_000)
    assert (caught.value.possibly_paid, caught.value.retryable) == (True, False)


def test_an_error_with_a_huge_body_keeps_its_status() -> None:
    for reply in (
        packed(gzip.compress(b"x" * 2000), status=503),
        httpx2.Response(503, content=b"x" * 2000),
    ):
        assert (received(reply, 1000).status_code, received(reply, 1000).text[:19]) == (
            503,
            "the reply is larger",
        )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine that nobody signed, with its key beside it."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "certificate.pem"


async def asked_over_tls(certificate: Path) -> str:
    """What a server with this certificate answers to a client, or the client's error."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nso")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", ssl=context)
    endpoint = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    async with server, client(endpoint, SecretStr("none")) as http:
        try:
            return (await http.get(endpoint)).text
        except httpx2.RequestError as error:
            return str(exchange.connection_error(error, SecretStr("none")))


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl, which makes the certificate, is not installed"
)
def test_only_certificates_that_are_trusted_are_accepted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = asyncio.run(asked_over_tls(certificate))
    assert "CERTIFICATE_VERIFY_FAILED" in refused
    assert "set SSL_CERT_FILE" in refused
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert asyncio.run(asked_over_tls(certificate)) == "so"


def test_certificates_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def opened() -> None:
        async with client("https://localhost:1", SecretStr("none")):
            pass

    (tmp_path / "empty.pem").touch()
    for name, problem in (("none.pem", "No such file"), ("empty.pem", r"\[X509: NO_CERTIFICATE")):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
        with pytest.raises(
            UsageError, match=f"SSL_CERT_FILE='.*{name}' cannot be read as certificates: {problem}"
        ):
            asyncio.run(opened())


@pytest.mark.parametrize(
    "proxy", ["socks5://127.0.0.1:9", "ftp://127.0.0.1", "http://127.0.0.1:port"]
)
def test_a_proxy_that_cannot_be_used_is_said_with_what_can(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(
        UsageError, match="HTTPS_PROXY or ALL_PROXY cannot be used; name an http:// proxy"
    ):
        ce.score(samples()[:1], judges="openai:m@https://127.0.0.1:1/v1", metrics="faithfulness")


async def uploaded(port: int, write: float) -> httpx2.Response:
    """The response to 20 MB, each part of which may take so many seconds."""
    address = f"http://127.0.0.1:{port}"
    async with client(address, SecretStr("none")) as http:
        return await http.post(
            address, content=bytes(20_000_000), timeout=httpx2.Timeout(30, write=write)
        )


def test_a_server_that_stops_reading_ends_the_upload() -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(httpx2.WriteTimeout):
            await uploaded(deaf.getsockname()[1], 0.05)
        for _ in range(9):  # the loop hears that the server has closed
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_response_after_its_call_is_let_go() -> None:
    kept: list[Completion] = []
    recorder = exchange.ResponseRecorder(SecretStr("key"), kept.append)
    with recorder.open():
        pass
    exchange.record_response(httpx2.Response(200, content=b"{}"))
    assert kept == []
    with pytest.raises(CallError, match="the server did not answer"):
        recorder.completion()
