"""Askers in a thread of this process, and data for their clients."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from claimeval.distributed.asker import SharedAsker
from claimeval.distributed.server import Address, AskerServer
from claimeval.providers.specs import parse_judges
from claimeval.types.errors import ClaimevalError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Judge


class Serving(NamedTuple):
    """An asker that runs."""

    via: str
    asker: SharedAsker
    server: AskerServer
    progress: Progress


@contextmanager
def serving(
    judges: Sequence[str | Judge], options: RunOptions, *, token: str | None = None, names: Sequence[str] = ()
) -> Iterator[Serving]:
    """An asker on loopback, as long as the block lasts."""
    running: Future[Serving] = Future()

    async def serve() -> None:
        """Serve until the end of the block."""
        progress = Progress(unit="answers")
        try:
            async with SharedAsker(parse_judges(judges), options, progress, "serve") as asker:
                server = AskerServer(asker, token, Address.parse("127.0.0.1:0", names))
                serving = asyncio.create_task(server.serve_asker())
                while not server.started:
                    await asyncio.sleep(0.001)
                running.set_result(Serving(f"127.0.0.1:{server.port}", asker, server, progress))
                await serving
        except ClaimevalError as error:
            if not running.done():
                running.set_exception(error)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    asker = running.result(timeout=120)
    try:
        yield asker
    finally:
        if not asker.asker.failure:
            asker.server.stop()
        thread.join(timeout=120)
        assert not thread.is_alive()


@contextmanager
def wire(via: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """An address that leads to an asker, and what cuts all connections that were made there."""
    running: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    writers: list[asyncio.StreamWriter] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes."""
        while part := await reader.read(65536):
            writer.write(part)

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect to the asker."""
        there, to = await asyncio.open_connection(*via.split(":"))
        writers.extend((writer, to))
        await asyncio.gather(pump(reader, to), pump(there, writer), return_exceptions=True)

    def cut() -> None:
        """Cut all connections."""
        for writer in writers:
            writer.transport.abort()

    async def serve() -> None:
        """Serve until the end of the block."""
        ended = asyncio.Event()
        async with await asyncio.start_server(lead, "127.0.0.1", 0) as server:
            running.set_result((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), ended))
            await ended.wait()
            cut()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    port, loop, ended = running.result(timeout=120)
    try:
        yield f"127.0.0.1:{port}", lambda: loop.call_soon_threadsafe(cut)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


def data(folder: Path, count: int = 4) -> Path:
    """A file of samples with a claim each, every other one of them wrong."""
    file = folder / "answers.jsonl"
    rows = [
        {
            "id": f"q{n}",
            "question": f"What is the value of item {n}?",
            "answer": f"Item {n} has the value {n}." + " This is WRONG." * (n % 2),
            "contexts": [f"Item {n} has the value {n}."],
        }
        for n in range(count)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file
