"""Which model answered: gateways route, fall back and upgrade, and say so in each reply."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from claimeval.providers import row_of, rows
from claimeval.providers.prices import Price, price, price_of
from claimeval.types.requests import Judge

_DATED = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8}|\d{6}|\d{4}|\d{3}|v\d+:\d+|latest)$")
"""The end of a name that is a version: `gpt-5-mini-2025-08-07`, `claude-sonnet-4-5-20250929`,
`mistral-large-2411`, `gemini-2.0-flash-001`."""


def is_model(asked: str, served: str) -> bool:
    """Return whether a reply by `served` is one of the model `asked`, both without provider.

    Servers restyle names: other case, an organization or folder before it, a tag or a version after
    it. Two versions of one model are two models.
    """
    name = _plain(asked)
    other = _plain(served)
    if name == other:
        return True
    base = _DATED.sub("", name)
    # a version is what a name without one stands for, or the other way round
    return other == base or (name in (base, f"{base}-latest") and _DATED.sub("", other) == base)


def _plain(name: str) -> str:
    """Return a name without organization or folder, tag, ending of a file, and case."""
    last = name.strip().rstrip("/").replace("\\", "/").rpartition("/")[2].lower()
    return last.partition(":")[0].partition("@")[0].removesuffix(".gguf")


def names_deployments(judge: Judge) -> bool:
    """Return whether the server of a judge calls its models by names that users gave."""
    host = urlsplit(judge.endpoint or "").hostname or ""
    return any(
        row.names_deployments
        and (row is row_of(judge) or (row.own_host and row.own_host.fullmatch(host)))
        for row in rows()
    )


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
            self._known[served] = self._of_other(served) or self.asked
        return self._known[served]

    def _of_other(self, served: str) -> Price | None:
        if is_model(self._judge.model_name, served):
            return None
        model = f"{self._judge.provider}:{served}"
        return price(model, self._judge.endpoint, self._file, batched=self._batched)
