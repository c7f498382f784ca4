"""The seal around every test: sockets, look-ups, keys and proxies."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
from collections.abc import Callable

import pytest

from benchmarks.loopback import ThreadHandle
from tests import canary, conftest


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "", None, b"localhost", b"127.0.0.1"]
)
def test_this_machine_is_local(host: object) -> None:
    assert conftest.is_local(host)


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "10.0.0.1", "0.0.0.0", "2001:db8::1", "localhost.example.org"]
)
def test_everything_else_is_not(host: str) -> None:
    assert not conftest.is_local(host)


AWAY = ("192.0.2.1", 443)
"""TEST-NET-1, RFC 5737."""


@pytest.mark.parametrize(
    "leave",
    [
        lambda stream, datagram: stream.connect(AWAY),
        lambda stream, datagram: stream.connect_ex(AWAY),
        lambda stream, datagram: datagram.sendto(b"", AWAY),
        lambda stream, datagram: socket.getaddrinfo("api.openai.com", 443),
        lambda stream, datagram: asyncio.run(asyncio.wait_for(asyncio.open_connection(*AWAY), 1)),
    ],
    ids=["connect", "connect_ex", "sendto", "look up", "asyncio"],
)
def test_leaving_this_machine_raises_and_is_remembered(
    leave: Callable[[socket.socket, socket.socket], object],
) -> None:
    with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagram:
        with pytest.raises(conftest.NetworkForbidden):
            leave(stream, datagram)
        assert len(conftest.attempts) == 1
        conftest.attempts.clear()


def test_loopback_unix_sockets_and_other_processes_work(openai_server: ThreadHandle) -> None:
    socket.create_connection(("localhost", openai_server.port)).close()
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"x")
        assert other.recv(1) == b"x"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(os.getppid) == os.getpid()


def test_no_real_key_no_proxy_and_a_home_of_its_own() -> None:
    keys = {os.environ[name] for name in os.environ if name.startswith(("OPENAI_", "MISTRAL_"))}
    assert keys == {canary.CANARY}
    assert not [name for name in os.environ if name.upper().endswith("_PROXY")]
    assert os.environ["CLAIMEVAL_CACHE"].startswith(os.environ["CLAIMEVAL_HOME"])
    assert not os.path.exists(os.environ["CLAIMEVAL_HOME"])
