"""What `plan` does: check the data as `score` would, walk it over the store, print what is to be asked and paid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.data.reading import parse_fields, parse_references, read_samples
from claimeval.data.survey import survey
from claimeval.evaluation.claims import ClaimsJob, ClaimsOptions, choose_metrics, make_job, without_partial_support
from claimeval.evaluation.forecast.walk import Forecast, forecast
from claimeval.execution.batch.executor import batch_judges, options_for
from claimeval.metrics.derived import select_metrics
from claimeval.metrics.rows import SUPPORT
from claimeval.providers import reads_prompts
from claimeval.providers.specs import short_names
from claimeval.runs.experiments.design import read as read_design
from claimeval.runs.experiments.running import prepare
from claimeval.statistics.formatting import count, dollars, span
from claimeval.store.store import MARKER, Store, cache_folder
from claimeval.types.options import RunOptions
from claimeval.types.records import Sample

NOT_COUNTED = "questions put again after a useless reply, retries, discounts for repeated prompts"


def forecast_and_tell(
    data: Path,
    claims: ClaimsOptions,
    *,
    options: RunOptions,
    limit: int | None,
    fields: tuple[str, ...],
    references: str | None,
    as_json: bool,
) -> None:
    """Finds out what a run would ask and prints it; makes no call and writes nothing."""
    names, several = parse_fields(list(fields)), parse_references(references)

    def samples() -> Iterator[Sample]:
        return islice(read_samples(data, fields=names, references=several), limit)

    asked = select_metrics(claims.metrics) if claims.metrics else None
    chosen = choose_metrics(asked, survey(samples(), asked.rows if asked else SUPPORT))
    plan = make_job(claims, chosen)
    folder = cache_folder(options.cache)
    with Store(folder) if (folder / MARKER).exists() else nullcontext() as store:
        found = asyncio.run(forecast(samples(), plan, store, options.prices, batched=_batched(options, plan)))
    if as_json:
        print(json.dumps(_content(found), indent=1, ensure_ascii=False, default=str))
    else:
        _tell(Console(highlight=False, emoji=False), data, plan, found, _batched(options, plan))


def _batched(options: RunOptions, plan: ClaimsJob) -> Collection[str]:
    """The judges that are asked in batches."""
    return batch_judges((*plan.judges, plan.extractor), options) if options.batch else ()


def forecast_experiment_and_tell(file: Path, options: RunOptions, *, as_json: bool) -> None:
    """Finds out what the arms of an experiment would ask, one after the other, and prints it."""
    prepared = prepare(read_design(file), choose_metrics)
    folder = cache_folder(options.cache)
    asked: set[int] = set()
    found: dict[str, Forecast] = {}
    with Store(folder) if (folder / MARKER).exists() else nullcontext() as store:
        for arm, plan in zip(prepared.design.arms, prepared.plans, strict=True):
            batched = _batched(options_for((*plan.judges, plan.extractor), options), plan)
            found[arm.name] = asyncio.run(forecast(prepared.samples(), plan, store, options.prices, asked, batched))
    calls = _sum([ahead.calls for ahead in found.values()])
    cost = sum(ahead.cost[0] for ahead in found.values()), sum(ahead.cost[1] for ahead in found.values())
    unpriced = list(dict.fromkeys(name for ahead in found.values() for name in ahead.unpriced))
    if as_json:
        arms = {name: _content(ahead) for name, ahead in found.items()}
        print(json.dumps({"calls": calls, "cost": cost, "unpriced": unpriced, "arms": arms}, indent=1, default=str))
        return
    console = Console(highlight=False, emoji=False)
    console.print(f"\n[bold]{escape(file.name)}[/]: {prepared.found.samples:,} samples, {len(found)} arms\n")
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("arm", overflow="fold")
    for name in ("calls", "USD", "at most"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, ahead in found.items():
        table.add_row(escape(name), span(ahead.calls, count), span(ahead.cost, dollars), dollars(ahead.worst))
    worst = sum(ahead.worst for ahead in found.values())
    table.add_row("total", span(calls, count), span(cost, dollars), dollars(worst), style="bold")
    print_whole(console, table)
    if unpriced:
        console.print(f"\nNot in these sums, since their price is not known: {escape(', '.join(unpriced))}")
    console.print(f"\nWhat two arms share is counted in the first. Not counted: {NOT_COUNTED}.")


def _content(found: Forecast) -> dict[str, object]:
    return {
        "samples": found.samples,
        "calls": found.calls,
        "cost": found.cost,
        "worst": found.worst,
        "unpriced": found.unpriced,
        "lines": [{**line.model_dump(), "price": line.price and line.price._asdict()} for line in found.lines],
        "how": found.how,
        "not_counted": NOT_COUNTED,
    }


def _tell(console: Console, data: Path, plan: ClaimsJob, found: Forecast, batched: Collection[str]) -> None:
    names = ", ".join([*(metric.name for metric in plan.metrics), *plan.derived])
    console.print(f"\n[bold]{escape(data.name)}[/]: {found.samples:,} samples; {escape(names)}\n", soft_wrap=True)
    shorter = short_names(judge.name for judge in (plan.extractor, *plan.judges))
    print_whole(console, _table(found, shorter))
    console.print()
    if found.calls[1]:
        console.print(_most(found))
    for remark in _remarks(plan, found, batched, shorter):
        console.print(f"- {escape(remark)}", soft_wrap=True)


def _table(found: Forecast, names: dict[str, str]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column("step", no_wrap=True)
    table.add_column("judge", overflow="fold")
    for name in ("stored", "calls", "tokens in", "tokens out", "USD"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in found.lines:
        table.add_row(
            line.step,
            escape(names[line.judge]),
            count(line.stored),
            _calls(line.calls, exact=line.exact),
            span(line.prompt_tokens, count),
            span(line.output_tokens, count),
            span(line.cost, dollars) if line.cost else "unknown",
        )
    table.add_row(
        "[bold]total[/]",
        "",
        count(sum(line.stored for line in found.lines)),
        _calls(found.calls, exact=all(line.exact for line in found.lines)),
        span(_sum([line.prompt_tokens for line in found.lines]), count),
        span(_sum([line.output_tokens for line in found.lines]), count),
        span(found.cost, dollars) if found.cost[1] or not found.unpriced else "unknown",
    )
    return table


def _most(found: Forecast) -> str:
    if found.unpriced and not found.worst:
        return "The price is not known, so neither is the most that the run can cost."
    known = " for the judges whose price is known" if found.unpriced else ""
    return (
        f"At the very most [bold]${dollars(found.worst)}[/]{known}, if each byte sent were a token and each reply ran "
        "to its limit: a --max-cost of that much covers all that is counted here."
    )


def _remarks(plan: ClaimsJob, found: Forecast, batched: Collection[str], names: dict[str, str]) -> Iterator[str]:
    yield from without_partial_support(plan)
    yield from found.how
    for line in found.lines:
        if line.how:
            yield f"{line.step} by {names[line.judge]}: {'; '.join(line.how)}"
    judges = {judge.name: judge for judge in (plan.extractor, *plan.judges)}
    for line in {line.judge: line for line in found.lines if any(line.calls)}.values():
        judge = judges[line.judge]
        if line.price is None:
            row = f"`{judge.model}@{judge.endpoint}: {{input: 0.25, output: 2.00}}`"
            yield f"price of {line.judge}: unknown; state it in a file by a line such as {row} and give --prices FILE"
        elif reads_prompts(judge):
            date = f", stated on {line.price.as_of}" if line.price.as_of else ""
            rate = " in batches" if judge.name in batched else ""
            amounts = f"${line.price.input:g} in, ${line.price.output:g} out"
            yield f"price of {line.judge}{rate}: {amounts} a million tokens{date}"
    yield f"not counted: {NOT_COUNTED}"


def _sum(ranges: list[tuple[int, int]]) -> tuple[int, int]:
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _calls(ends: tuple[int, int], *, exact: bool) -> str:
    """The calls; a single number that is an estimate has a mark before it."""
    return f"~{count(ends[0])}" if ends[0] == ends[1] and not exact else span(ends, count)
