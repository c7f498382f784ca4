"""Providers: one file each, one async method `complete(Request, Keep) -> Completion` or `CallError`.

A backend turns one request into one completion and does nothing more: it neither retries, nor caches, nor reads what
the judge says, nor limits how many calls run. A new provider is one file and one row in `PROVIDERS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import ModuleType
from typing import NamedTuple, Protocol

from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.requests import Completion, Judge, Request

Keep = Callable[[Completion], None]
"""Makes a reply durable."""


class Backend(Protocol):
    """Carries requests to one model at one endpoint."""

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """The reply, whole and unread; CallError when there is none.

        `keep` is called with it in the very step that read its last byte, before anything is waited for.
        """
        ...


class Provider(NamedTuple):
    """One row: where the code is and how its models are called."""

    module: str
    example: str
    costs: bool
    """Whether calls cost money or leave this machine."""
    batches: str | None = None
    """Where the code of its batches is; None where it has none."""
    note: str | None = None
    """What must stand beside every number that comes from it."""


PROVIDERS = {
    "openai": Provider(
        "claimeval.providers.openai",
        "openai:gpt-5-mini, openai:MODEL@http://127.0.0.1:8000/v1",
        True,
        batches="claimeval.providers.openai_batch",
    ),
    "mistral": Provider(
        "claimeval.providers.mistral",
        "mistral:mistral-large-latest",
        True,
        batches="claimeval.providers.mistral_batch",
    ),
    "local": Provider("claimeval.providers.local.backend", "local:lexical, local:nli=MODEL", False),
}


def provider(model: str) -> Provider:
    """The row for a model given as `provider:name`."""
    name, colon, rest = model.partition(":")
    examples = "; ".join(row.example for row in PROVIDERS.values())
    if not colon or not rest:
        raise UsageError(f"judge {model!r} is not of the form provider:model. Examples: {examples}")
    if name not in PROVIDERS:
        raise UsageError(f"{unknown_name('provider', name, PROVIDERS)}. Examples: {examples}")
    return PROVIDERS[name]


def _module(judge: Judge) -> ModuleType:
    return importlib.import_module(provider(judge.model).module)


def resolve(judge: Judge) -> Judge:
    """The judge with its effective endpoint and defaults filled in; checks all that can be checked without a call.

    UsageError for an unknown model of a local engine or a bad URL. A key is not needed yet: see `check_key`.
    """
    module = _module(judge)
    resolved: Callable[[Judge], Judge] = module.resolve
    return resolved(judge)


def check_key(judge: Judge) -> None:
    """UsageError where the key that a resolved judge's calls will need is absent, empty or malformed."""
    found: Callable[[Judge], object] | None = getattr(_module(judge), "api_key", None)
    if found:
        found(judge)


def open_backend(judge: Judge) -> AbstractAsyncContextManager[Backend]:
    """The backend for a resolved judge, to be entered inside the run that uses it."""
    module = _module(judge)
    opened: Callable[[Judge], AbstractAsyncContextManager[Backend]] = module.open_backend
    return opened(judge)


def note(judge: Judge) -> str | None:
    """What must be said beside the numbers of this judge; None for language models."""
    module = _module(judge)
    said: Callable[[Judge], str] | None = getattr(module, "note", None)
    return said(judge) if said else None


def place(judge: Judge) -> str | None:
    """Where a judge computes that is a model on this machine, and in which precision; None for others.

    UsageError where it cannot compute there.
    """
    module = _module(judge)
    said: Callable[[Judge], str | None] | None = getattr(module, "place", None)
    return said(judge) if said else None
