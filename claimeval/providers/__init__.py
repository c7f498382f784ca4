"""Models that answer: one file and one row for each provider.

A backend turns one request into one completion and does nothing more: it neither retries, nor caches, nor reads what
the judge says, nor limits how many calls run. What the rest of the package has to know about a provider are fields of
its `Provider`; nothing elsewhere asks for a provider's name.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.requests import CallError, Completion, Judge, Request

if TYPE_CHECKING:
    from pydantic import SecretStr

    from claimeval.providers.batches import Batches

__all__ = ["Backend", "CallError", "Completion", "Judge", "Keep", "Provider", "Request"]

Keep = Callable[[Completion], None]
"""Makes a reply durable."""


class Backend(Protocol):
    """Carries requests to one model at one endpoint."""

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """The reply, whole and unread; CallError when there is none.

        `keep` is called with it in the very step that read its last byte, before anything is waited for.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Provider:
    """The facts about one provider."""

    name: str
    """What stands before the colon of a model."""
    open: Callable[[Judge], AbstractAsyncContextManager[Backend]]
    """Opens the backend of a resolved judge, to be entered inside the run that uses it."""
    resolve: Callable[[Judge], Judge]
    """Fills in the endpoint and the defaults that can change an answer, and checks all that can be checked without a
    call; UsageError for what cannot work."""
    example: str
    """Models as a user writes them, for messages; empty where nobody writes them."""
    costs: bool
    """Whether calls cost money or leave this machine."""
    reads_prompts: bool = True
    """Whether its models read what a prompt asks. Engines that do not read the typed task of a request, assess claims
    only, and compute the probability that they state."""
    endpoint: str | None = None
    """Where calls go that name no server."""
    endpoint_variable: str | None = None
    """The environment variable that may name another such server."""
    key_variable: str | None = None
    """The environment variable that holds the key; None where there is none."""
    reasoning_models: frozenset[str] = frozenset()
    """Models that spend hidden tokens before they answer."""
    batches: Callable[[], Batches] | None = None
    """Gives its batch interface; None where it has none."""
    note: Callable[[Judge], str] | None = None
    """What must stand beside every number of a judge; None for language models."""
    describe_device: Callable[[Judge], str | None] | None = None
    """Where a judge computes on this machine, and in which precision; UsageError where it cannot compute there."""

    @property
    def default_endpoint(self) -> str | None:
        """The server of calls that name none: that of the environment before the provider's."""
        return (self.endpoint_variable and os.environ.get(self.endpoint_variable)) or self.endpoint

    def api_key(self, judge: Judge) -> SecretStr:
        """The key for a resolved judge; UsageError where it is absent, empty or malformed."""
        from claimeval.providers.keys import key_for

        assert judge.endpoint, "the judge is resolved"
        assert self.key_variable, "the provider has keys"
        own = {self.endpoint, (self.default_endpoint or "").rstrip("/")}
        return key_for(judge.endpoint, own=judge.endpoint in own, variable=self.key_variable, named=judge.key_variable)


PROVIDERS = {
    "openai": "claimeval.providers.openai",
    "mistral": "claimeval.providers.mistral",
    "local": "claimeval.providers.local.backend",
    "testing": "claimeval.testing",
}
"""The modules whose `PROVIDER` is the row of a name; one is loaded when a judge needs it."""


@cache
def _row(name: str) -> Provider:
    row: Provider = importlib.import_module(PROVIDERS[name]).PROVIDER
    return row


def rows() -> tuple[Provider, ...]:
    """All providers."""
    return tuple(map(_row, PROVIDERS))


def examples() -> str:
    """Models of every provider as a user writes them."""
    return "; ".join(row.example for row in rows() if row.example)


def provider(model: str) -> Provider:
    """The row for a model given as `provider:name`."""
    name, colon, rest = model.partition(":")
    if not colon or not rest:
        raise UsageError(f"judge {model!r} is not of the form provider:model. Examples: {examples()}")
    if name not in PROVIDERS:
        raise UsageError(
            f"{unknown_name('provider', name, [row.name for row in rows() if row.example])}. Examples: {examples()}"
        )
    return _row(name)


def reads_prompts(judge: Judge) -> bool:
    """Whether a judge is a language model, as all are whose provider has no row, such as recorded ones."""
    return judge.provider not in PROVIDERS or _row(judge.provider).reads_prompts


def reasons(judge: Judge) -> bool:
    """Whether a judge's model spends hidden tokens whatever its settings are."""
    return judge.provider in PROVIDERS and judge.model.partition(":")[2] in _row(judge.provider).reasoning_models


def check_key(judge: Judge) -> None:
    """UsageError where the key that a resolved judge's calls will need is absent, empty or malformed."""
    row = provider(judge.model)
    if row.key_variable:
        row.api_key(judge)


def note(judge: Judge) -> str | None:
    """What must be said beside the numbers of this judge; None for language models."""
    said = _row(judge.provider).note if judge.provider in PROVIDERS else None
    return said(judge) if said else None


def describe_device(judge: Judge) -> str | None:
    """Where a judge computes that is a model on this machine, and in which precision; None for others.

    UsageError where it cannot compute there.
    """
    said = provider(judge.model).describe_device
    return said(judge) if said else None
