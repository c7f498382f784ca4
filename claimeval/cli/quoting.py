"""What commands with a known list of questions print under `--plan`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from claimeval.evaluation.forecast.quotes import Prospect, quote
from claimeval.evaluation.forecast.workload import StepForecast
from claimeval.statistics.formatting import dollars
from claimeval.store.store import MARKER, Store, cache_folder
from claimeval.types.options import RunOptions


def store_for(options: RunOptions) -> AbstractContextManager[Store | None]:
    """The reply cache if there is one; it is not made."""
    folder = cache_folder(options.cache)
    return Store(folder) if (folder / MARKER).exists() else nullcontext()


def quote_and_tell(prospects: Iterable[Prospect], options: RunOptions, *, as_json: bool) -> None:
    """Prints what is to be asked and paid; makes no call and writes nothing."""
    with store_for(options) as store:
        print_forecast(quote(prospects, store, options.prices), as_json=as_json)


def print_forecast(found: Sequence[StepForecast], *, as_json: bool) -> None:
    """Print what is to be asked and paid."""
    if as_json:
        print(json.dumps([one.model_dump() for one in found], indent=1))
        return
    for one in found:
        cost = "price unknown" if one.cost is None else f"${dollars(one.cost[0])} to ${dollars(one.cost[1])}"
        worst = "" if one.worst is None else f", at worst ${dollars(one.worst)}"
        print(f"{one.step}: {one.judge}")
        print(f"  {_range(one.calls)} calls, {one.stored:,} more are stored; {cost}{worst}")
        print(f"  {_range(one.prompt_tokens)} prompt tokens, {_range(one.output_tokens)} output tokens, assumed")
    print("not counted: questions put again after a useless reply, retries, discounts for batches")


def _range(ends: tuple[int, int]) -> str:
    return f"{ends[0]:,}" if ends[0] == ends[1] else f"{ends[0]:,} to {ends[1]:,}"
