"""Providers of models: one file and one row for each, here or in another package.

A backend turns one request into one completion. It does not retry, cache, parse replies or limit
concurrency. Facts about a provider that other code needs are fields of its `Provider`; no code
tests a provider's name.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.requests import (
    AUTOMATIC_CLAIMS,
    CLAIMS_PER_CALL,
    ENGINES,
    MAX_CLAIMS_PER_CALL,
    MOST_VERDICT_TOKENS,
    CallError,
    Completion,
    Judge,
    Outcome,
    Request,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from pydantic import SecretStr

    from claimeval.providers.batches import Batches

__all__ = ["Backend", "CallError", "Completion", "Judge", "Keep", "Provider", "Request"]

Keep = Callable[[Completion], None]
"""Stores a reply durably."""
MAX_REPLY_BYTES: ContextVar[int] = ContextVar("max_reply_bytes", default=16_000_000)
"""Maximum bytes of a response body, compressed or not, for clients opened in this context."""


class Backend(Protocol):
    """Sends requests to one model at one endpoint."""

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the whole unparsed reply. Raises CallError if there is none.

        `keep` is called with the reply in the step that read its last byte, before anything is
        awaited.
        """


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Facts about one provider."""

    name: str
    """The part of a model before the colon."""
    open: Callable[[Judge], AbstractAsyncContextManager[Backend]]
    """Opens the backend of a resolved judge, to be entered inside the run that uses it."""
    resolve: Callable[[Judge], Judge] = lambda judge: settle(judge)
    """Fill in the endpoint and the defaults that can change an answer, and check the settings
    without a call. Raises UsageError for settings that cannot work. Default: the provider's
    endpoint, and temperature 0."""
    example: str = ""
    """Models as a user writes them, for messages; empty if users do not write them."""
    costs: bool = True
    """Whether calls cost money or leave this machine."""
    reads_prompts: bool = True
    """Whether its models read prompts. Engines that do not read the typed task of a request, only
    assess claims, and compute the probability that they state."""
    answers_any: bool = False
    """Whether judges that read no prompts answer any typed question; others only say whether
    documents support a text."""
    extracts: bool = True
    """Whether its models can extract claims from a text, by a prompt or by rules."""
    answers_jointly: bool = False
    """Whether one request can ask about every claim against each of several documents."""
    most_claims: int = MAX_CLAIMS_PER_CALL
    """The most claims in one request to a judge that reads no prompts."""
    endpoint: str | None = None
    """The default server."""
    start: str = ""
    """The command that starts its server; empty if others run it."""
    endpoint_variable: str | None = None
    """The environment variable that can name another default server."""
    key_variable: str | None = None
    """The environment variable with the key; None if its servers need none."""
    own_host: re.Pattern[str] | None = None
    """Further hosts of the provider, such as those of regions, which get its key."""
    refuses: frozenset[str] = frozenset()
    """Settings of a judge that its servers do not accept; they are refused before any call."""
    packages: tuple[str, ...] = ()
    """The packages that process its calls, whose versions a run records. A provider with packages
    is opened in the task of its first call."""
    reasons: Callable[[str], bool] = lambda model: False
    """Whether a model with this name spends hidden tokens before it answers."""
    cuts_at: int | None = None
    """Number of tokens to which its servers truncate longer prompts, unless a judge's
    `context_tokens` differs; None if they refuse longer prompts."""
    names_deployments: bool = False
    """Whether its models have names that users gave to them."""
    credits_are_dollars: bool = False
    """Whether the number in `usage.cost` of its replies is what was charged in US dollars."""
    schema_tokens: int = 0
    """Upper bound of the tokens that it adds to a prompt with a schema, in addition to the
    schema."""
    batches: Batches | None = None
    """Its batch interface; None if it has none."""
    computes: Callable[[Judge], Callable[[Request], Outcome] | None] = lambda judge: None
    """Return the function that answers requests of a judge faster than a lookup in the reply cache,
    so that its replies are not stored; None for judges with a backend."""
    compares_words: Callable[[Judge], bool] = lambda judge: False
    """Whether a judge compares words and not meaning, so that nothing about answers is concluded
    from its verdicts."""
    note: Callable[[Judge], str | None] = lambda judge: None
    """The note to print with every number of a judge; None for language models."""
    describe_device: Callable[[Judge], str | None] = lambda judge: None
    """The device and precision of a judge on this machine, None for others. Raises UsageError if it
    cannot run."""

    @property
    def loads_sdk(self) -> bool:
        """Whether its calls go through packages that are installed and loaded on first use."""
        if not self.packages:
            return False
        found = map(find_spec, self.packages)
        return all(found)

    @property
    def default_endpoint(self) -> str | None:
        """The default server: from the environment, else the provider's."""
        return (self.endpoint_variable and os.environ.get(self.endpoint_variable)) or self.endpoint

    def owns(self, endpoint: str) -> bool:
        """Return whether an address is the provider's, or the one in its environment variable."""
        parts = urlsplit(endpoint)
        regional = (
            self.own_host is not None and self.own_host.fullmatch(parts.hostname or "") is not None
        )
        defaults = {self.endpoint, (self.default_endpoint or "").rstrip("/")}
        return endpoint in defaults or (regional and parts.scheme == "https")

    def api_key(self, judge: Judge) -> SecretStr:
        """Return the key for a resolved judge: that of its own variable, else the provider's if the
        server is theirs.

        Any other server, also on this machine, gets the key in CLAIMEVAL_ENDPOINT_KEY, or a
        placeholder if it is not set. Raises UsageError if a key is absent, empty or malformed.
        """
        from pydantic import SecretStr

        from claimeval.providers.keys import ENDPOINT_KEY, NO_KEY, read_key

        assert judge.endpoint, "the judge is resolved"
        if variable := judge.key_variable or (
            self.key_variable if self.owns(judge.endpoint) else None
        ):
            if variable not in os.environ and (others := other_keys(variable)):
                raise UsageError(
                    f"the environment variable {variable} is not set; put your API key"
                    f" there{others}"
                )
            return read_key(variable)
        return read_key(ENDPOINT_KEY) if ENDPOINT_KEY in os.environ else SecretStr(NO_KEY)


PROVIDERS = {
    "openai": "claimeval.providers.openai",
    "anthropic": "claimeval.providers.anthropic",
    "mistral": "claimeval.providers.mistral",
    "azure": "claimeval.providers.openai:AZURE",
    "gemini": "claimeval.providers.openai:GEMINI",
    "ollama": "claimeval.providers.openai:OLLAMA",
    "openrouter": "claimeval.providers.openai:OPENROUTER",
    "decisions": "claimeval.providers.decisions",
    "check": "claimeval.providers.checkers",
    "local": "claimeval.providers.local",
    "recorded": "claimeval.providers.recorded",
    "callable": "claimeval.providers.callables",
    "testing": "claimeval.testing",
}
"""The row of each name: `PROVIDER` in a module, or the name after the colon. Loaded when a judge
needs it."""
ENTRY_POINTS = "claimeval.providers"
"""The group of entry points with providers from other packages."""


def _not_open(judge: Judge) -> AbstractAsyncContextManager[Backend]:
    raise UsageError(f"the judge {judge.name!r} has no provider")


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


_NO_ROW = Provider(name="", open=_not_open)


@cache
def _row(name: str) -> Provider | None:
    """Return the row of a name from this package or another; None if there is none."""
    if name in PROVIDERS:
        module, _, attribute = PROVIDERS[name].partition(":")
        row: Provider = getattr(importlib.import_module(module), attribute or "PROVIDER")
        return _registered(row)
    from claimeval.providers import hosts

    if host := hosts.row(name):
        return host
    for entry in _entry_points().select(name=name):
        try:
            loaded = entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"the provider {name!r} of the entry point {entry.value!r} cannot be loaded:"
                f" {error}"
            ) from error
        if not isinstance(loaded, Provider) or loaded.name != name:
            raise UsageError(
                f"the entry point {entry.value!r} is not a claimeval.providers.Provider with the"
                f" name {name!r}"
            )
        return _registered(loaded)
    return None


def _registered(row: Provider) -> Provider:
    """Return a row, after its requests are known to be typed tasks if its judges read no
    prompts."""
    if not row.reads_prompts:
        ENGINES.add(row.name)
    return row


def other_keys(variable: str) -> str:
    """Return a hint at judges of the other providers whose keys are set; empty if there are
    none."""
    found = {
        row.name: row.key_variable
        for row in (*rows(), *host_rows())
        if row.key_variable not in (None, variable)
    }
    judges = [f"{name}:MODEL ({key} is set)" for name, key in found.items() if key in os.environ]
    return f", or name a judge such as {' or '.join(judges)}" if judges else ""


def rows() -> tuple[Provider, ...]:
    """Return all providers of this package."""
    return tuple(row for name in PROVIDERS if (row := _row(name)))


def host_rows() -> tuple[Provider, ...]:
    """Return the rows of hosts with OpenAI's protocol."""
    from claimeval.providers import hosts

    return tuple(row for name in hosts.hosts() if (row := hosts.row(name)))


def names() -> frozenset[str]:
    """Return the names of all providers, with those of hosts and of other installed packages."""
    from claimeval.providers import hosts

    return frozenset({*PROVIDERS, *hosts.hosts(), *_entry_points().names})


def examples() -> str:
    """Return models of the providers of this package as a user writes them, without hosts."""
    return "; ".join(row.example for row in rows() if row.example)


@lru_cache(maxsize=256)
def provider(model: str) -> Provider:
    """Return the row for a model given as `provider:name`. Raises UsageError for an unknown form or
    provider."""
    name, colon, rest = model.partition(":")
    if not colon or not rest:
        meant = meant_by(model)
        hint = f". Did you mean {meant!r}?" if meant else "."
        more = "" if meant else f" Examples: {examples()}"
        raise UsageError(f"judge {model!r} is not of the form provider:model{hint}{more}")
    parts = [part.strip() for part in model.split(",")]
    if len(parts) > 1 and all(_row(part.partition(":")[0]) for part in parts):
        raise UsageError(
            f"judge {model!r} is {len(parts)} models in one; give each by itself:"
            f" {' '.join(f'--judge {part}' for part in parts)}"
        )
    if (row := _row(name)) is None:
        if meant := meant_by(model):
            raise UsageError(f"unknown provider {name!r}. Did you mean {meant!r}?")
        raise _unknown_provider(name, model)
    return row


def _unknown_provider(name: str, model: str) -> UsageError:
    """Return the error for an unknown provider. If one is near, it needs no examples."""
    if name in ("http", "https"):
        return UsageError(f"judge {model!r} has no model. Write openai:MODEL@{model}")
    known = (row.name for row in (*rows(), *host_rows()) if row.example)
    unknown = unknown_name("provider", name, {*known, *_entry_points().names})
    message = f"{unknown}. Any other server with OpenAI's protocol is openai:MODEL@URL"
    if "Did you mean" in message:
        return UsageError(message)
    return UsageError(f"{message}. Examples: {examples()}")


def meant_by(model: str) -> str | None:
    """Return the model in the right form, for one in the form of another tool (`ollama/llama3`) or
    without its provider (`gpt-5-mini`); None if it is unknown."""
    from claimeval.providers import hosts, windows

    for separator in (":", "/"):
        name, found, rest = model.partition(separator)
        host = name if name in PROVIDERS else hosts.named(name)
        if found and rest and host and f"{host}:{rest}" != model:
            return f"{host}:{rest}"
    if ":" in model or "/" in model:
        return None
    return next(
        (f"{name}:{model}" for name in PROVIDERS if windows.is_known(f"{name}:{model}")), None
    )


def settle(judge: Judge) -> Judge:
    """Return a judge with its provider's endpoint and temperature 0 as defaults.

    Raises UsageError for settings that cannot work.
    """
    from claimeval.providers.http import check_endpoint

    row = provider(judge.model)
    check_settings(judge)
    settled: dict[str, object] = {}
    if endpoint := judge.endpoint or row.default_endpoint:
        settled["endpoint"] = check_endpoint(endpoint, judge.name)
    if "temperature" not in judge.model_fields_set:
        settled["temperature"] = 0.0
    return judge.model_copy(update=settled)


def claims_per_call(judge: Judge) -> int:
    """Return the number of claims in one request to a judge; engines assess each claim separately.

    A judge with `auto` has that of `automatic_claims`.
    """
    if judge.asks:
        return 1
    if not reads_prompts(judge):
        return row_of(judge).most_claims
    if judge.claims_per_call == "auto":
        return automatic_claims(judge)
    return judge.claims_per_call or CLAIMS_PER_CALL


def automatic_claims(judge: Judge) -> int:
    """Return the number of claims that a judge's model bears in one request by the table of models,
    or `AUTOMATIC_CLAIMS` if it is not there, but at most as many as its `max_tokens` has room for;
    0 for engines and checkers."""
    from claimeval.providers.prices import known_claims

    if judge.asks or not reads_prompts(judge):
        return 0
    bears = known_claims(judge.model) or AUTOMATIC_CLAIMS
    room = max(1, judge.max_tokens // MOST_VERDICT_TOKENS)
    return min(bears, room)


def row_of(judge: Judge) -> Provider:
    """Return the provider of a judge; an empty row for judges without one, such as imported
    ones."""
    return _row(judge.provider) or _NO_ROW


def reads_prompts(judge: Judge) -> bool:
    """Return whether a judge is a language model that is asked with the prompts of a run. Judges
    without a provider, such as imported ones, count as one; checkers have a prompt of their own."""
    return row_of(judge).reads_prompts and judge.asks is None


def answers_any(judge: Judge) -> bool:
    """Return whether a judge can be asked any question; others only say whether documents support a
    text."""
    return reads_prompts(judge) or (judge.asks is None and row_of(judge).answers_any)


def writes(judge: Judge) -> bool:
    """Return whether a judge's model writes a text, as language models and checkers do."""
    return row_of(judge).reads_prompts


def reasons(judge: Judge) -> bool:
    """Return whether a judge's model always spends hidden tokens."""
    return row_of(judge).reasons(judge.model_name)


def check_settings(judge: Judge) -> None:
    """Raise UsageError for settings of a language model that would bypass limits or write a secret
    into files."""
    from claimeval.providers.keys import check_secrets
    from claimeval.types.chat_format import TEMPLATE_ARGUMENTS, refused_in_extra

    if reason := refused_in_extra(judge.extra):
        raise UsageError(f"judge {judge.name!r}, extra: {reason}")
    for name in sorted(row_of(judge).refuses):
        if getattr(judge, name) is not None:
            raise UsageError(
                f"judge {judge.name!r}: {judge.provider} does not take {name}; leave it out of its"
                " settings"
            )
    if reason := refused_in_extra({TEMPLATE_ARGUMENTS: judge.chat_template}):
        raise UsageError(f"judge {judge.name!r}, chat_template: {reason}")
    for setting in ("headers", "query", "extra", "chat_template"):
        check_secrets(setting, getattr(judge, setting), judge.name)


def check_secrets_of(judge: Judge) -> None:
    """Raise UsageError if the key, or another secret, of a resolved judge is absent, empty or
    malformed."""
    from claimeval.providers.keys import Secrets

    row = row_of(judge)
    key = row.api_key(judge)
    Secrets(key, judge.headers, judge.query)


def check_key(judge: Judge) -> None:
    """Raise UsageError if the key that a resolved judge's calls need is absent, empty or
    malformed."""
    row = provider(judge.model)
    if row.key_variable:
        row.api_key(judge)
