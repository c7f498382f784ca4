"""How judges are asked, as the options of every command that asks them say."""

from __future__ import annotations

from claimeval.cli import batch_options as b
from claimeval.cli import options as o
from claimeval.types.options import RunOptions


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
) -> RunOptions:
    """Return the options together."""
    return RunOptions(
        cache=cache,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        max_calls=max_calls,
        max_cost=max_cost,
        prices=prices,
        batch=batch,
        batch_retries=batch_retries,
        detach=detach,
        online=tuple(online or ()),
        offline=offline,
    )
