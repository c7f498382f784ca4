"""Batches at providers: a file of requests is uploaded, and one or two files of results are
returned within a day.

This module has what all providers share; their statuses and fields are in their files.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from claimeval.providers import provider, rows
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError, Judge, Request

if TYPE_CHECKING:
    from pydantic import SecretStr

NAME = "claimeval"
"""The key of a batch's metadata that holds claimeval's name for it."""
CHAT: Final = "/v1/chat/completions"
WINDOW_HOURS: Final = 24
"""Hours within which a batch is answered or expires."""
CHUNK = 1 << 18
"""Bytes of a file that are in memory at once."""

MAX_LINE_BYTES = 17_000_000
"""Maximum bytes of a result line."""

Phase = Literal["under_way", "ended", "expired", "refused", "cancelled"]
"""`ended`: the results are in the files. `expired`: they are, but some requests did not run.
`refused`: none ran."""


class FileLimits(NamedTuple):
    """The size limits of one file of requests."""

    requests: int
    bytes: int


class BatchStatus(NamedTuple):
    """Status of a batch, as reported by its provider."""

    id: str
    name: str | None
    """The name that claimeval gave it; None for other batches."""
    phase: Phase
    """An unknown status counts as `under_way`."""
    status: str
    """The provider's status."""
    files: tuple[str, ...] = ()
    """Ids of the available files of results and of errors."""
    total: int = 0
    answered: int = 0
    failed: int = 0
    problem: str = ""
    """The provider's error about the whole batch."""
    queue_full: bool = False
    """Whether it was refused only because the provider's queue is full."""


class BatchBackend(Protocol):
    """Sends files of requests to one provider. It neither retries nor waits, and raises CallError
    for failures."""

    key: SecretStr

    async def upload(self, file: Path, name: str) -> str:
        """Upload a file of request lines and return its id at the provider."""

    async def create(self, file_id: str, name: str) -> BatchStatus:
        """Start a batch. After an error that is `possibly_paid`, it may have started
        nevertheless."""

    async def find(self, name: str, since: float, file_id: str) -> list[BatchStatus]:
        """List the batches with this name that started after `since` (seconds since 1970).

        A provider that keeps no names uses `file_id`, which `upload` returned.
        """

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the status of a batch."""

    async def fetch(self, file_id: str, into: Path) -> None:
        """Download a file of results; `into` holds the whole file or nothing."""

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to stop a batch; completed requests are delivered and charged."""


@dataclass(frozen=True, kw_only=True)
class Batches:
    """The batch interface of one provider."""

    open: Callable[[Judge], AbstractAsyncContextManager[BatchBackend]]
    """Opens the batches of a resolved judge's model."""
    line: Callable[[Request], bytes]
    """Writes the line of a request file, with the same body as online."""
    limits: FileLimits
    share: float = 1.0
    """Price of a token in a batch at the provider's endpoint, as a share of its normal price."""


def read_record(content: bytes) -> dict[str, Any]:
    """Return the record of a file, batch or page in a body with status 200. Raises CallError if
    there is none."""
    try:
        record = json.loads(content)
    except ValueError:
        record = None
    if not isinstance(record, dict) or not ("id" in record or "data" in record):
        raise CallError(
            "provider_error",
            f"the server's answer is not a record: {content[:120]!r}",
            possibly_paid=True,
        )
    return record


async def download(chunks: AsyncIterable[bytes], into: Path) -> None:
    """Write a file of results as it arrives; `into` holds the whole file or nothing."""
    # A download that ends halfway would otherwise look like a whole file to the next run.
    part = into.with_name(into.name + ".part")
    with part.open("wb") as target:
        async for chunk in chunks:
            target.write(chunk)
        target.flush()
        # Renamed before it is on disk, a file can be empty after a power cut.
        os.fsync(target.fileno())
    part.replace(into)


def supports_batches(judge: Judge) -> bool:
    """Return whether a judge can be asked in batches."""
    return judge.batch and provider(judge.model).batches is not None


def batches_of(judge: Judge) -> Batches:
    """Return the batch interface of a judge's provider; UsageError if it has none."""
    batches = provider(judge.model).batches
    if batches is None:
        able = ", ".join(row.name for row in rows() if row.batches)
        raise UsageError(f"{judge.model} cannot be asked in batches; providers that can: {able}")
    return batches
