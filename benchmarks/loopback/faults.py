"""When something goes wrong: a seeded schedule that a test can ask as well as the server."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.loopback.sabotage import KINDS, Group


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Which requests fail and how: a pure function of the seed and of the request's place.

    ``per="request"`` counts all requests in order of arrival. ``per="body"`` counts how often one and the same body
    was asked, so that the schedule does not depend on the order in which concurrent clients arrive.
    """

    seed: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)
    """Kind of fault -> share of requests, 0 to 1; together at most 1."""
    first: tuple[str | None, ...] = ()
    """What happens to the first requests (of all, or of each body), before the rates apply; None is no fault."""
    per: Literal["request", "body"] = "request"
    at_most: int | None = None
    """The most faults that one body meets, so that a client that goes on asking gets its answer; None is no limit."""

    def __post_init__(self) -> None:
        check_rates({**dict.fromkeys(filter(None, self.first), 0.0), **self.rates}, KINDS)

    def at(self, n: int, body: str = "") -> str | None:
        """The fault of request ``n`` (from 0), or of the ``n``-th time this body (its sha256) was asked."""
        if n < len(self.first):
            return self.first[n]
        return choose(self.rates, f"{self.seed} {body if self.per == 'body' else ''} {n}")


@dataclass(slots=True)
class Progress:
    """How far a server is in its schedule; counts per body only where the schedule asks for them."""

    asked: int = 0
    asked_of: dict[str, int] = field(default_factory=dict)
    met_by: dict[str, int] = field(default_factory=dict)

    def next(self, faults: Faults, body: str) -> str | None:
        """The fault of the request that has just come in with this body."""
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
    """The kinds of fault in these groups, in the order of the table; all kinds without an argument."""
    return tuple(kind for kind, fault in KINDS.items() if not groups or fault.group in groups)


def mixed(share: float, kinds: Iterable[str]) -> dict[str, float]:
    """Rates that give every one of ``kinds`` the same part of ``share``."""
    wanted = tuple(kinds)
    return {kind: share / len(wanted) for kind in wanted}


def choose(rates: Mapping[str, float], place: str) -> str | None:
    """The kind that befalls this place, each with its rate; None for none."""
    drawn = draw(place) if rates else 1.0
    for kind, rate in rates.items():
        drawn -= rate
        if drawn < 0:
            return kind
    return None


def check_rates(rates: Mapping[str, float], known: Collection[str]) -> None:
    """Raises ValueError on kinds that do not exist and on rates that together are more than 1."""
    unknown = set(rates) - set(known)
    if unknown:
        raise ValueError(f"unknown faults {sorted(unknown)}; known are {sorted(known)}")
    if sum(rates.values()) > 1 + 1e-9:
        raise ValueError(f"the rates of all faults together are {sum(rates.values())}, more than 1")


def draw(place: str) -> float:
    """A number in [0, 1) that only the place decides."""
    return int.from_bytes(hashlib.sha256(place.encode()).digest()[:7], "big") / 2**56
