"""What is shown of a forecast: calls, tokens and dollars by step and judge, and what they rest
on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from claimeval.evaluation.forecast import Forecast, StepForecast
from claimeval.evaluation.manifest import Manifest
from claimeval.providers import row_of
from claimeval.providers.prices import example_row
from claimeval.providers.specs import short_names
from claimeval.runs.views import Block, Column, Data, heading, line, table
from claimeval.statistics.formatting import count, dollars, number_of, percent, span

NOT_COUNTED = (
    "questions asked again after an unreadable reply, retries, discounts for repeated prompts"
)
NEXT = "Next: the same command without `plan` sends them; --max-cost limits what they cost"
STEPS = (
    Column("step"),
    Column("judge"),
    Column("cached", "count", 1),
    Column("calls", "count"),
    Column("tokens in", "count", 2),
    Column("tokens out", "count", 2),
    Column("USD", "count"),
)
ARMS = (Column("arm"), Column("calls", "count"), Column("USD", "count"), Column("at most", "count"))


def view(forecast: Forecast, manifest: Manifest, unit: str, command: str) -> Iterator[Block]:
    """Yield the forecast of a command.

    Args:
        forecast: The forecast.
        manifest: The manifest of the run that the command would make.
        unit: What the forecast counts, such as `samples`.
        command: Name of the command, the subject if there is no data file.
    """
    names = short_names(judge.name for judge in manifest.asked)
    of = f": {number_of(forecast.samples, unit.removesuffix('s'))}; "
    subject = Path(manifest.data.path).name if manifest.data.path else command
    yield heading(Data(subject), of, Data(", ".join(manifest.names)))
    if not forecast.lines:
        yield line("No judge is asked, so this costs nothing.")
        return
    yield line(_in_words(forecast))
    rows = [
        (part.step, Data(names[part.judge]), *_calls([part]), _price(part.cost))
        for part in forecast.lines
    ]
    known = (
        forecast.known_cost if forecast.known_cost[1] or not forecast.judges_without_price else None
    )
    yield table(
        "forecast",
        STEPS,
        [*rows, ("total", "", *_calls(forecast.lines), _price(known))],
    )
    is_free = forecast.cost is not None and not forecast.cost_bound
    if forecast.calls[1] and not is_free:
        yield line(_most(forecast))
    if forecast.cost_per_verdict and forecast.cost_per_verdict[1]:
        low, high = forecast.cost_per_verdict
        yield line(f"A thousand verdicts: ${span((1000 * low, 1000 * high), dollars)}.")
    if again := sum(part.cached_tokens for part in forecast.lines):
        yield line(
            f"Cached input: at most {count(again)} tokens, of questions that begin like an earlier"
            " one."
        )
    yield from _savings(forecast)
    for basis in _basis(manifest, forecast, names):
        yield line("- ", Data(basis))
    if is_free:
        yield line(NEXT.partition(";")[0])
        return
    yield line(f"- not counted: {NOT_COUNTED}")
    yield line(NEXT)


def _savings(forecast: Forecast) -> Iterator[Block]:
    """Yield what cheaper forms save, of the dollars or, where no price is known, of the tokens."""
    if forecast.cheaper:
        forms = ", ".join(
            f"{option} {percent(share)}" for option, share in forecast.cheaper.items()
        )
        yield line(f"Cheaper, each by itself: {forms} (of the dollars of the first samples).")
    if forecast.fewer_tokens:
        fewer = []
        for option, shares in forecast.fewer_tokens.items():
            # Most forms change either what is sent or the reply.
            share, way = max((shares.prompt, "in"), (shares.output, "out"))
            fewer.append(f"{option}: {percent(share)} fewer tokens {way}")
        yield line(f"Cheaper, each by itself: {', '.join(fewer)} (of the first samples).")


def arms(name: str, forecasts: Mapping[str, Forecast], *, select: bool) -> Iterator[Block]:
    """Yield the forecast of each arm of an experiment; with `select`, the last two report the
    choice."""
    total = together(forecasts)
    many = len(forecasts)
    samples = number_of(total.samples, "sample")
    arms = f"{samples} to choose by, {many - 2} arms" if select else f"{samples}, {many} arms"
    yield heading(Data(name), f": {arms}")
    yield line(_in_words(total))
    rows = [(Data(arm), *_arm(ahead)) for arm, ahead in forecasts.items()]
    yield table("arms", ARMS, [*rows, ("total", *_arm(total))])
    if total.judges_without_price:
        priced = (
            f"; the others cost {span(total.known_cost, dollars)}" if total.known_cost[1] else ""
        )
        yield line("The price is unknown for ", Data(", ".join(total.judges_without_price)), priced)
    yield line(
        f"Requests that arms share are counted in the first one. Not counted: {NOT_COUNTED}."
    )
    yield line(NEXT)


def together(forecasts: Mapping[str, Forecast]) -> Forecast:
    """Return the forecasts of all arms as one."""
    first, *_ = forecasts.values()
    lines = tuple(line for line in chain.from_iterable(ahead.lines for ahead in forecasts.values()))
    return Forecast(samples=first.samples, lines=lines, basis=())


def _arm(ahead: Forecast) -> tuple[str, str, str]:
    most = dollars(None if ahead.judges_without_price else ahead.cost_bound)
    return span(ahead.calls, count), _price(ahead.cost), most


def _price(ends: tuple[float, float] | None) -> str:
    return span(ends, dollars) if ends else "unknown"


def _calls(parts: Sequence[StepForecast]) -> Iterator[str]:
    """Yield cached replies, calls and tokens, with `~` before a single number of calls that is an
    estimate."""
    yield count(sum(part.cached for part in parts))
    low, high = _added(part.calls for part in parts)
    exact = all(part.exact for part in parts)
    yield f"~{count(low)}" if low == high and not exact else span((low, high), count)
    yield span(_added(part.prompt_tokens for part in parts), count)
    yield span(_added(part.output_tokens for part in parts), count)


def _added(ranges: Iterable[tuple[int, int]]) -> tuple[int, int]:
    lows, highs = zip(*ranges, strict=True)
    return sum(lows), sum(highs)


def _in_words(forecast: Forecast) -> str:
    """Return how many calls are expected, and what they likely cost."""
    if not forecast.calls[1]:
        return "Every reply is in the reply cache: nothing is sent."
    _, calls, *_ = _calls(forecast.lines)
    noun = "call" if calls == "1" else "calls"
    if forecast.cost is None:
        return f"{calls} {noun}, at a price that is unknown."
    if not forecast.cost[1]:
        return f"{calls} {noun}, which cost nothing."
    return f"Likely about ${dollars(forecast.likely_cost or forecast.cost[1])} for {calls} {noun}."


def _most(forecast: Forecast) -> str:
    if forecast.judges_without_price and not forecast.cost_bound:
        return "The price is unknown, and so is the maximum cost."
    known = " for the judges whose price is known" if forecast.judges_without_price else ""
    return (
        f"Upper limit ${dollars(forecast.cost_bound)}{known}, if each byte sent were a token and"
        " each reply had the maximum length; a --max-cost of this amount covers everything counted"
        " here."
    )


def _basis(manifest: Manifest, forecast: Forecast, names: Mapping[str, str]) -> Iterator[str]:
    yield from manifest.notes
    yield from forecast.basis
    yield from (long.in_words(forecast.samples, names[long.judge]) for long in forecast.long)
    for part in forecast.lines:
        if part.basis:
            yield f"{part.step} by {names[part.judge]}: {'; '.join(part.basis)}"
    judges = {judge.name: judge for judge in manifest.asked}
    for part in {part.judge: part for part in forecast.lines if any(part.calls)}.values():
        judge = judges[part.judge]
        if part.price is None:
            row = example_row(judge)
            yield (
                f"price of {part.judge}: unknown; state it in a file by a line such as {row} and"
                " give --prices FILE"
            )
        elif row_of(judge).costs:
            date = f", stated on {part.price.as_of}" if part.price.as_of else ""
            rate = " in batches" if part.batched else ""
            amounts = f"${part.price.input:g} in, ${part.price.output:g} out"
            yield f"price of {part.judge}{rate}: {amounts} a million tokens{date}"
