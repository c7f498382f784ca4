"""The nouns of batches: a file of requests on its way, and a request that has no reply yet."""

from __future__ import annotations

from typing import Literal, NamedTuple

from claimeval.calls import Judge
from claimeval.records import Reason

State = Literal["gathering", "ready", "by_hand", "submitted", "answered", "refused", "cancelled", "split", "dropped"]
"""`ready`: written, with its name, before the provider hears of it. `by_hand`: somebody else carries it there."""
OPEN: tuple[State, ...] = ("gathering", "ready", "by_hand", "submitted")


class Batch(NamedTuple):
    """One file of requests and what became of it."""

    name: str
    """Ours, 32 hex digits; the provider has it in the batch's metadata."""
    judge: Judge
    """A judge whose model answers it. It holds no key."""
    run: str
    """The ledger's row that its cost is held against; empty where there is none."""
    state: State
    requests: int
    size: int
    """Bytes of its file."""
    at: float
    """When it was submitted, or its file begun, in seconds since 1970."""
    upload: str | None
    """The id of its file at the provider."""
    id: str | None
    """Its id at the provider."""
    status: str
    """The provider's last word on it."""
    answered: int
    failed: int
    problem: str

    @property
    def open(self) -> bool:
        """Whether replies may still come of it."""
        return self.state in OPEN

    @property
    def group(self) -> Group:
        """Batches of one group are asked of the same model at the same place with the same key."""
        return group(self.judge)


class Group(NamedTuple):
    model: str
    endpoint: str
    key_variable: str


def group(judge: Judge) -> Group:
    """The group that a resolved judge's requests belong to: they may share files."""
    return Group(judge.model, judge.endpoint or "", judge.key_variable or "")


class Entry(NamedTuple):
    """A request without a reply."""

    batch: str | None
    """The one that it rides in; None after it came back without a reply."""
    prompt: str
    """Digest of the prompt."""
    reserved: int
    """Billionths of a dollar set aside for it."""
    tries: int
    reason: Reason | None
    message: str
    final: int
    """1 when it is not worth another try, else 0."""


class Freed(NamedTuple):
    """Requests that a batch will not answer, and what had been set aside for them."""

    requests: int
    reserved: int


class Sealed(NamedTuple):
    """A file of requests that lies whole on the disk."""

    name: str
    requests: int
    size: int
