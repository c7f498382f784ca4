"""A client connection: reads requests, sends answers in their manner, and reports the end of each
exchange."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import cast

from benchmarks.loopback.wire import HEAD_END, Answer, Request, take

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
GARBAGE = b"\x15\x03\x03 this is not HTTP\r\n\r\n"
READ_BEFORE_RESET = 0.05
"""Seconds between half a body and the reset, so that the client reads the half."""

Respond = Callable[[Request], tuple[int, Answer]]
"""Returns the number of a request and its answer."""
Ended = Callable[[int, Answer, bool], None]
"""Called with (number, answer, fully sent) when nothing more will be sent for a request."""


class Connection(asyncio.Protocol):
    """Answers one request at a time, with a few callbacks and no task per request."""

    def __init__(
        self, respond: Respond, ended: Ended, drip: float, open_connections: set[Connection]
    ) -> None:
        self._respond = respond
        self._ended = ended
        self._drip = drip
        self._open = open_connections
        self._buffer = bytearray()
        self._current: tuple[int, Answer] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._draining = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=0)
        self._open.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._advance()

    def resume_writing(self) -> None:
        if self._draining:
            self._draining = False
            self._finish(fully_sent=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._finish(fully_sent=False)

    def abort(self) -> None:
        """Abort the connection immediately."""
        self._transport.abort()

    def _advance(self) -> None:
        while self._current is None and not self._transport.is_closing():
            try:
                request = take(self._buffer)
            except ValueError:
                self._transport.abort()
                return
            if request is None:
                return
            self._current = self._respond(request)
            answer = self._current[1]
            if answer.delay > 0:
                self._after(answer.delay, partial(self._send, answer))
            else:
                self._send(answer)

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, then)

    def _send(self, answer: Answer) -> None:
        match answer.manner:
            case "whole" | "then_close":
                self._transport.write(answer.encode())
                if self._transport.get_write_buffer_size():
                    self._draining = True
                else:
                    self._finish(fully_sent=True)
            case "hang":
                pass
            case "reset":
                self._reset()
            case "eof":
                self._transport.close()
            case "garbage":
                self._transport.write(GARBAGE)
                self._transport.close()
            case "cut":
                self._transport.write(_half(answer))
                self._transport.close()
            case "reset_in_body":
                self._transport.write(_half(answer))
                self._after(READ_BEFORE_RESET, self._reset)
            case "drip":
                self._drop(answer.encode(), 0)

    def _reset(self) -> None:
        peer = cast(socket.socket, self._transport.get_extra_info("socket"))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._transport.abort()

    def _drop(self, data: bytes, at: int) -> None:
        """Send the head at once, then the body byte by byte."""
        stop = at + 1 if at else data.index(HEAD_END) + len(HEAD_END)
        self._transport.write(data[at:stop])
        if stop < len(data):
            self._after(self._drip, partial(self._drop, data, stop))
        else:
            self._finish(fully_sent=True)

    def _finish(self, *, fully_sent: bool) -> None:
        if self._current is None:
            return
        number, answer = self._current
        self._current = None
        if answer.manner == "then_close":
            self._transport.close()
        self._ended(number, answer, fully_sent)
        self._advance()


def _half(answer: Answer) -> bytes:
    data = answer.encode()
    return data[: len(data) - max(1, len(answer.body) // 2)]
