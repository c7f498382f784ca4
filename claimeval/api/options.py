"""How judges are asked from Python: the options that all front doors share, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from claimeval.execution.batch.executor import Batching
from claimeval.execution.limits import Limits, set_limits
from claimeval.execution.progress import Progress
from claimeval.store.store import default_folder
from claimeval.types.errors import unknown_name


class How(TypedDict, total=False):
    """How judges are asked, as in `score`: limits, caps, batches, where replies are kept."""

    concurrency: int
    """Calls in flight per model."""
    rpm: int
    tpm: int
    """Requests and tokens a minute per model."""
    timeout: float
    """Seconds for an attempt; 300 unless said."""
    max_calls: int
    max_cost: float
    """Caps for this question over these samples; StoppedEarly when one is reached, a higher one goes on from there."""
    batch: bool
    """Through the provider's batch files."""
    batch_retries: Literal["batch", "online"]
    detach: bool
    """StoppedEarly once the batches are submitted; the same call goes on."""
    online: Sequence[str]
    """Judges that are asked one by one all the same."""
    cache: str | Path
    """Folder of the store of replies; `$CLAIMEVAL_CACHE` unless said."""
    offline: bool
    """Stored replies only."""
    progress: Callable[[Progress], None]
    cluster: str
    """Intervals draw samples with the same value of this field together; those with the same question unless said."""


class Means(TypedDict):
    """What `carry_through` and its like are given."""

    cache: Path
    limits: Limits
    progress: Progress
    offline: bool
    batching: Batching | None


def means(how: How, total: int, unit: str = "samples") -> Means:
    """What carries the questions, for so many items; UsageError for an option that there is not or out of range."""
    for name in how:
        if name not in How.__annotations__:
            raise unknown_name("option", name, How.__annotations__)
    batching = None
    if how.get("batch"):
        batching = Batching(
            how.get("batch_retries", "batch"), how.get("detach", False), online=tuple(how.get("online", ()))
        )
    return Means(
        cache=Path(how["cache"]) if "cache" in how else default_folder(),
        limits=set_limits(
            concurrency=how.get("concurrency"),
            rpm=how.get("rpm"),
            tpm=how.get("tpm"),
            timeout=how.get("timeout", 300.0),
            max_calls=how.get("max_calls"),
            max_cost=how.get("max_cost"),
        ),
        progress=Progress(total, how.get("progress"), unit=unit),
        offline=how.get("offline", False),
        batching=batching,
    )
