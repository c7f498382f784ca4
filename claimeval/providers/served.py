"""Which model answered: gateways route, fall back and upgrade, and say so in each reply."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from claimeval.providers import row_of, rows
from claimeval.providers.prices import Price, price, price_of
from claimeval.types.requests import Judge, Usage

_DATED = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8}|\d{6}|\d{4}|\d{3}|v\d+:\d+|latest)$")
"""The end of a name that is a version: `gpt-5-mini-2025-08-07`, `claude-sonnet-4-5-20250929`,
`mistral-large-2411`, `gemini-2.0-flash-001`."""


_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def is_model(asked: str, served: str) -> bool:
    """Return whether a reply by `served` is one of the model `asked`, both without provider.

    Servers restyle names: other case, an organization or folder before it, a tag or a version after
    it. Two versions of one model are two models.
    """
    name, tag = plain_name(asked)
    other, other_tag = plain_name(served)
    # Ollama's tags are sizes; where one has none, it stands for any.
    if tag and other_tag and tag != other_tag:
        return False
    if name == other:
        return True
    base = _DATED.sub("", name)
    # a version is what a name without one stands for, or the other way round
    return other == base or (name in (base, f"{base}-latest") and _DATED.sub("", other) == base)


def plain_name(name: str) -> tuple[str, str]:
    """Return a name without organization or folder, ending of a file, and case, and with one mark
    in numbers (OpenRouter's `4.5` is Anthropic's `4-5`); and its tag, empty without one and for the
    latest."""
    last = name.strip().rstrip("/").replace("\\", "/").rpartition("/")[2].lower()
    last, _, tag = last.partition(":")
    last = _POINT.sub("-", last.partition("@")[0].removesuffix(".gguf"))
    return last, "" if tag == "latest" else tag


def names_deployments(judge: Judge) -> bool:
    """Return whether the server of a judge calls its models by names that users gave."""
    host = urlsplit(judge.endpoint or "").hostname or ""
    return any(
        row.names_deployments
        and (row is row_of(judge) or (row.own_host and row.own_host.fullmatch(host)))
        for row in rows()
    )


def stated_dollars(judge: Judge, usage: Usage) -> float | None:
    """Return the US dollars that the provider states it charged for a reply; None if it states
    none, or a number whose unit is not documented."""
    if usage.dollars is not None or usage.credits is None:
        return usage.dollars
    host = judge.endpoint or ""
    in_dollars = any(
        row.credits_are_dollars and (row is row_of(judge) or row.owns(host)) for row in rows()
    )
    return usage.credits if in_dollars else None


class ServedPrices:
    """The prices of the replies to one judge's requests."""

    def __init__(
        self,
        judge: Judge,
        file: str | Path | None = None,
        *,
        batched: bool = False,
        asked: Price | None = None,
    ) -> None:
        """`asked` is the price of the model that is asked, if it is known already; `file` is a
        price file."""
        self.asked = asked or price_of(judge, file, batched=batched)
        """The price of the model that is asked; None if it is unknown."""
        self._judge = judge
        self._file = file
        self._batched = batched
        self._known: dict[str, Price | None] = {}

    def of(self, served: str | None) -> Price | None:
        """Return the price of a reply by the model that answered: its own where it is another one
        and listed, else that of the model that was asked."""
        if served is None:
            return self.asked
        if served not in self._known:
            listed = None
            if not is_model(self._judge.model_name, served):
                model = f"{self._judge.provider}:{served}"
                listed = price(model, self._judge.endpoint, self._file, batched=self._batched)
            self._known[served] = listed or self.asked
        return self._known[served]
