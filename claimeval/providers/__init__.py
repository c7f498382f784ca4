"""Models that answer: one file and one row for each provider.

A backend turns one request into one completion and does nothing more: it does not retry, cache, parse replies or limit
how many calls run. What the rest of the package has to know about a provider are fields of its `Provider`; no other
code tests a provider's name.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.requests import CallError, Completion, Judge, Request

if TYPE_CHECKING:
    from pydantic import SecretStr

    from claimeval.providers.batches import Batches

__all__ = ["Backend", "CallError", "Completion", "Judge", "Keep", "Provider", "Request"]

Keep = Callable[[Completion], None]
"""Makes a reply durable."""


class Backend(Protocol):
    """Sends requests to one model at one endpoint."""

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the reply, whole and unparsed; CallError if there is none.

        `keep` is called with it in the very step that read its last byte, before anything is awaited.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Provider:
    """The facts about one provider."""

    name: str
    """The part of a model before the colon."""
    open: Callable[[Judge], AbstractAsyncContextManager[Backend]]
    """Opens the backend of a resolved judge, to be entered inside the run that uses it."""
    resolve: Callable[[Judge], Judge]
    """Fills in the endpoint and the defaults that can change an answer, and checks all that can be checked without a
    call; UsageError for what cannot work."""
    example: str
    """Models as a user writes them, for messages; empty if users do not write them."""
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
    """The environment variable that holds the key; None if there is none."""
    own_host: re.Pattern[str] | None = None
    """Further hosts of the provider, such as those of regions, which get its key."""
    reasons: Callable[[str], bool] | None = None
    """Whether a model of this name spends hidden tokens before it answers."""
    batches: Batches | None = None
    """Its batch interface; None if it has none."""
    note: Callable[[Judge], str] | None = None
    """The remark to print with every number of a judge; None for language models."""
    describe_device: Callable[[Judge], str | None] | None = None
    """Where a judge computes on this machine, and in which precision; UsageError if it cannot compute there."""

    @property
    def default_endpoint(self) -> str | None:
        """Return the server of calls that name none: from the environment, else the provider's."""
        return (self.endpoint_variable and os.environ.get(self.endpoint_variable)) or self.endpoint

    def api_key(self, judge: Judge) -> SecretStr:
        """Return the key for a resolved judge; UsageError if it is absent, empty or malformed."""
        from claimeval.providers.keys import key_for

        assert judge.endpoint, "the judge is resolved"
        assert self.key_variable, "the provider has keys"
        endpoints = {self.endpoint, (self.default_endpoint or "").rstrip("/")}
        parts = urlsplit(judge.endpoint)
        regional = self.own_host is not None and self.own_host.fullmatch(parts.hostname or "") is not None
        return key_for(
            judge.endpoint,
            is_provider_endpoint=judge.endpoint in endpoints or (regional and parts.scheme == "https"),
            default_env=self.key_variable,
            judge_env=judge.key_variable,
        )


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
    """Return all providers."""
    return tuple(map(_row, PROVIDERS))


def examples() -> str:
    """Format models of every provider as a user writes them."""
    return "; ".join(row.example for row in rows() if row.example)


def provider(model: str) -> Provider:
    """Return the row for a model given as `provider:name`; UsageError for another form or an unknown provider."""
    name, colon, rest = model.partition(":")
    if not colon or not rest:
        raise UsageError(f"judge {model!r} is not of the form provider:model. Examples: {examples()}")
    if name not in PROVIDERS:
        raise UsageError(
            f"{unknown_name('provider', name, [row.name for row in rows() if row.example])}. Examples: {examples()}"
        )
    return _row(name)


def reads_prompts(judge: Judge) -> bool:
    """Return whether a judge is a language model, as all are whose provider has no row, such as recorded ones."""
    return judge.provider not in PROVIDERS or _row(judge.provider).reads_prompts


def reasons(judge: Judge) -> bool:
    """Return whether a judge's model spends hidden tokens whatever its settings are."""
    of = _row(judge.provider).reasons if judge.provider in PROVIDERS else None
    return of is not None and of(judge.model.partition(":")[2])


def check_settings(judge: Judge) -> None:
    """Raise UsageError for settings that would undo the caps or write a secret into files; for language models."""
    from claimeval.providers.keys import check_headers
    from claimeval.types.chat_format import refused_in_extra

    if reason := refused_in_extra(judge.extra):
        raise UsageError(f"judge {judge.name!r}, extra: {reason}")
    check_headers(judge.headers, judge.name)


def check_key(judge: Judge) -> None:
    """Raise UsageError if the key that a resolved judge's calls need is absent, empty or malformed."""
    row = provider(judge.model)
    if row.key_variable:
        row.api_key(judge)


def note(judge: Judge) -> str | None:
    """Return the remark to print with every number of this judge; None for language models."""
    describe = _row(judge.provider).note if judge.provider in PROVIDERS else None
    return describe(judge) if describe else None


def describe_device(judge: Judge) -> str | None:
    """Describe where a judge on this machine computes, and in which precision; None for others.

    Raises UsageError if it cannot compute there.
    """
    describe = provider(judge.model).describe_device
    return describe(judge) if describe else None
