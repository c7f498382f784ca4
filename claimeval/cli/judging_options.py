"""How judges are asked, as the options of every command that asks them say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.cli import batch_options as b
from claimeval.cli import options as o

if TYPE_CHECKING:
    from claimeval.execution.batch.executor import Batching
    from claimeval.execution.limits import Limits


class Way(NamedTuple):
    """How judges are asked."""

    cache: Path | None
    limits: Limits
    batching: Batching | None
    offline: bool


def asking(
    cache: o.Cache = None,
    concurrency: o.Concurrency = None,
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = 300.0,
    max_calls: o.MaxCalls = None,
    max_cost: o.MaxCost = None,
    prices: o.Prices = None,
    batch: b.Batch = False,
    batch_retries: b.BatchRetries = "batch",
    detach: b.Detach = False,
    online: b.Online = None,
    offline: o.Offline = False,
) -> Way:
    """The options together; UsageError for some that do not fit each other. `prices` hold for the whole process."""
    from claimeval.execution.limits import set_limits

    limits = set_limits(
        concurrency=concurrency, rpm=rpm, tpm=tpm, timeout=timeout, max_calls=max_calls, max_cost=max_cost
    )
    return Way(cache, limits, b.said(batch, batch_retries, detach, online), offline)
