"""Seeded schedules of faults, for the server and for tests that predict its faults."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.loopback.sabotage import KINDS, Group


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The faults of requests: a pure function of the seed and of the request's number.

    ``per="request"`` counts all requests in order of arrival. ``per="body"`` counts the requests
    with the same body, so that the schedule does not depend on the order of concurrent clients.
    """

    seed: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)
    """Share of requests by kind of fault, from 0 to 1; the sum is at most 1."""
    first: tuple[str | None, ...] = ()
    """Faults of the first requests (of all, or with each body), before the rates apply; None is no
    fault."""
    per: Literal["request", "body"] = "request"
    at_most: int | None = None
    """Maximum number of faults per body, so that a client that retries gets its answer; None for no
    limit."""

    def __post_init__(self) -> None:
        check_rates({**dict.fromkeys(filter(None, self.first), 0.0), **self.rates}, KINDS)

    def at(self, n: int, body: str = "") -> str | None:
        """Return the fault of request ``n``, from 0, or of the ``n``-th request with this body (its
        SHA-256)."""
        if n < len(self.first):
            return self.first[n]
        return choose(self.rates, f"{self.seed} {body if self.per == 'body' else ''} {n}")


@dataclass(slots=True)
class Progress:
    """The position of a server in its schedule, with counts per body only if the schedule needs
    them."""

    asked: int = 0
    asked_of: dict[str, int] = field(default_factory=dict)
    met_by: dict[str, int] = field(default_factory=dict)

    def next(self, faults: Faults, body: str) -> str | None:
        """Return the fault of a new request with this body."""
        n = self.asked
        self.asked += 1
        if faults.per == "body":
            n = self.asked_of.get(body, 0)
            self.asked_of[body] = n + 1
        kind = faults.at(n, body)
        if kind is None or faults.at_most is None:
            return kind
        met = self.met_by.get(body, 0)
        self.met_by[body] = met + 1
        return kind if met < faults.at_most else None


def named(*groups: Group) -> tuple[str, ...]:
    """Return the kinds of fault in these groups, in the order of the table; all kinds without an
    argument."""
    return tuple(kind for kind, fault in KINDS.items() if not groups or fault.group in groups)


def mixed(share: float, kinds: Iterable[str]) -> dict[str, float]:
    """Return rates that divide ``share`` equally among ``kinds``."""
    names = tuple(kinds)
    return {kind: share / len(names) for kind in names}


def choose(rates: Mapping[str, float], key: str) -> str | None:
    """Return the kind of fault that is drawn for this key; None for no fault."""
    drawn = draw(key) if rates else 1.0
    for kind, rate in rates.items():
        drawn -= rate
        if drawn < 0:
            return kind
    return None


def check_rates(rates: Mapping[str, float], known: Collection[str]) -> None:
    """Raise ValueError for unknown kinds, and if the sum of the rates is above 1."""
    unknown = set(rates) - set(known)
    if unknown:
        raise ValueError(f"unknown faults {sorted(unknown)}; known are {sorted(known)}")
    if sum(rates.values()) > 1 + 1e-9:
        raise ValueError(f"the rates of all faults together are {sum(rates.values())}, more than 1")


def draw(key: str) -> float:
    """Return a number in [0, 1) that depends only on the key."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big") / 2**56
