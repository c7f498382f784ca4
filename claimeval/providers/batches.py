"""Batches at providers: one file of requests goes up, one or two files of results come down, some time within a day.

What a provider calls things is said in its own file beside its backend (`openai_batch`, `mistral_batch`); here are the
words that all share.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from claimeval.providers import provider, rows
from claimeval.providers.keys import scrub
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError, Judge, Request

if TYPE_CHECKING:
    from pydantic import SecretStr

NAME = "claimeval"
"""The key of a batch's metadata under which our own name for it stands."""
CHAT: Final = "/v1/chat/completions"
WINDOW_HOURS: Final = 24
"""Within which a batch is answered or expires."""
CHUNK = 1 << 18
"""Bytes of a file that are in memory at once."""

Phase = Literal["under_way", "ended", "expired", "refused", "cancelled"]
"""`ended`: what there is lies in the files. `expired`: the same, and the rest did not run. `refused`: nothing ran."""


class FileLimits(NamedTuple):
    """What one file of requests may hold."""

    requests: int
    bytes: int


class BatchStatus(NamedTuple):
    """Where a batch stands, as its provider says."""

    id: str
    name: str | None
    """The name we gave it; None for batches of others."""
    phase: Phase
    """A status that nobody knows counts as `under_way`."""
    status: str
    """The provider's word."""
    files: tuple[str, ...] = ()
    """Ids of the files of results and of errors, those that there are."""
    total: int = 0
    answered: int = 0
    failed: int = 0
    problem: str = ""
    """What the provider says against the whole batch."""
    queue_full: bool = False
    """It was refused only because too much is queued already."""


class BatchBackend(Protocol):
    """Carries files of requests to one provider; CallError for what fails. It neither retries nor waits."""

    key: SecretStr

    async def upload(self, file: Path, name: str) -> str:
        """Brings a file of request lines up and gives the id it has there."""
        ...

    async def create(self, file_id: str, name: str) -> BatchStatus:
        """Begins a batch. An error that is `possibly_paid` leaves open whether it has begun."""
        ...

    async def find(self, name: str, since: float) -> list[BatchStatus]:
        """The batches that bear this name of ours, of those begun after `since` (seconds since 1970)."""
        ...

    async def look(self, batch_id: str) -> BatchStatus:
        """Where a batch stands now."""
        ...

    async def fetch(self, file_id: str, into: Path) -> None:
        """Brings a file of results down; the place holds the whole file or nothing."""
        ...

    async def cancel(self, batch_id: str) -> None:
        """Asks the provider to run no more of a batch; what ran is delivered and charged."""
        ...


@dataclass(frozen=True, kw_only=True)
class Batches:
    """How one provider is asked in batches."""

    open: Callable[[Judge], AbstractAsyncContextManager[BatchBackend]]
    """Opens the batches of a resolved judge's model."""
    line: Callable[[Request], bytes]
    """Writes the line of a request file: the very body that goes out online."""
    limits: FileLimits


def offered(model: str) -> bool:
    """Whether the provider of a model given as `provider:name` has batches."""
    return provider(model).batches is not None


def open_batches(judge: Judge) -> AbstractAsyncContextManager[BatchBackend]:
    """The batches of a resolved judge's model, to be entered inside the run that uses them."""
    return _batches(judge).open(judge)


def line(request: Request) -> bytes:
    """The line of a request file, in the form of its provider: the very body that goes out online."""
    return _batches(request.judge).line(request)


def file_limits(judge: Judge) -> FileLimits:
    """What one file of requests to this judge's provider may hold."""
    return _batches(judge).limits


def _batches(judge: Judge) -> Batches:
    batches = provider(judge.model).batches
    if batches is None:
        able = ", ".join(row.name for row in rows() if row.batches)
        raise UsageError(f"{judge.model} cannot be asked in batches; providers that can: {able}")
    return batches()


def unreached(error: BaseException, key: SecretStr) -> CallError:
    """The error of a request to which no response came."""
    import httpx2

    sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    if isinstance(error, httpx2.TimeoutException):
        return CallError("timeout", "the server did not answer in time", possibly_paid=sent)
    said = scrub(str(error) or type(error).__name__, key)
    return CallError("provider_error", f"no connection: {said}", possibly_paid=sent)
