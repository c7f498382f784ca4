"""Statistics of the reply cache: number of replies by model and prompt, dates, and damaged rows."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter, ValidationError

from claimeval.store.store import ReplyOrigin, Store
from claimeval.types.records import Record

LATEST = 253_402_300_799.0
"""The end of the year 9999, in seconds since 1970."""


class PromptUsage(Record):
    """The replies of one model at one endpoint to one prompt."""

    model: str
    endpoint: str | None
    prompt: str
    """Digest of the prompt."""
    replies: int
    bytes: int
    first: float
    """Seconds since 1970."""
    last: float


class StoreStats(Record):
    """The totals of a reply cache."""

    replies: int
    """Intact replies."""
    bytes: int
    damaged: int
    """Rows with a wrong checksum, or that claimeval did not write."""
    unreadable: int
    """Intact rows that this version cannot read."""
    groups: tuple[PromptUsage, ...]
    """By model, endpoint and prompt."""


class Verification(Record):
    """The result of checking every reply of a reply cache."""

    replies: int
    damaged: int
    unreadable: int
    dropped: int
    """Damaged rows that were removed; the next run that needs them sends their requests again."""


@cache
def _origins() -> TypeAdapter[ReplyOrigin]:
    return TypeAdapter(ReplyOrigin)


def read_origin(value: bytes) -> ReplyOrigin | None:
    """Return the origin of a stored reply; None if this version cannot read it."""
    try:
        origin = _origins().validate_json(value.partition(b"\n")[0])
    except ValidationError:
        return None
    return origin if 0 <= origin.at <= LATEST else None


def collect_stats(store: Store) -> StoreStats:
    """Return the statistics of a reply cache, in one pass and constant memory."""
    groups: dict[tuple[str, str | None, str], PromptUsage] = {}
    damaged = unreadable = 0
    for row in store.rows():
        if row.value is None:
            damaged += 1
            continue
        origin = read_origin(row.value)
        if origin is None:
            unreadable += 1
            continue
        key = (origin.model, origin.endpoint, origin.prompt)
        so_far = groups.get(key)
        if so_far is None:
            so_far = PromptUsage(
                model=origin.model,
                endpoint=origin.endpoint,
                prompt=origin.prompt,
                replies=0,
                bytes=0,
                first=origin.at,
                last=origin.at,
            )
        counted = {
            "replies": so_far.replies + 1,
            "bytes": so_far.bytes + len(row.value),
            "first": min(origin.at, so_far.first),
            "last": max(origin.at, so_far.last),
        }
        groups[key] = so_far.model_copy(update=counted)
    usages = sorted(groups.values(), key=lambda g: (g.model, g.endpoint or "", g.first))
    return StoreStats(
        replies=sum(group.replies for group in usages),
        bytes=sum(group.bytes for group in usages),
        damaged=damaged,
        unreadable=unreadable,
        groups=tuple(usages),
    )


def verify(store: Store, *, drop_damaged: bool) -> Verification:
    """Check the checksum and the origin of every reply; `drop_damaged` removes damaged rows.

    Raises StoreError if all rows are intact but the database is damaged.
    """
    replies = unreadable = 0
    damaged = []
    for row in store.rows():
        if row.value is None:
            damaged.append(row.number)
        elif read_origin(row.value) is None:
            unreadable += 1
        else:
            replies += 1
    if not damaged:
        store.check()
    return Verification(
        replies=replies,
        damaged=len(damaged),
        unreadable=unreadable,
        dropped=store.drop(damaged) if drop_damaged else 0,
    )
