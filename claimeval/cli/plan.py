"""`claimeval plan`: forecast of the calls and cost of a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from claimeval.cli.command import RecordCommand, help_formatter
from claimeval.cli.main import app, listed
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.statistics.formatting import count, dollars, span
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.api.forecast import Planned
    from claimeval.api.run import Run
    from claimeval.cli.experiment import ExperimentOptions
    from claimeval.evaluation.forecast import Forecast
    from claimeval.evaluation.manifest import Manifest

Number = TypeVar("Number", int, float)
LISTED = {"plan": ("Judge", 1, "Forecast the calls and cost of a command, asking nothing.")}
NOT_COUNTED = "questions asked again after an unreadable reply, retries, discounts for repeated prompts"
HELP = """Forecast the calls and cost of a command, asking nothing.

Put `plan` before the command that you are about to run, with all its options. The default COMMAND is `score`, or
`experiment` for a YAML file. Counts the calls of each step and judge minus those in the reply cache, and estimates
tokens and dollars as a range; a price that is not stated is unknown. With --batch it uses the price of batches.

Example: claimeval plan score answers.jsonl -j openai:gpt-5-mini -m faithfulness,correctness

Example: claimeval plan experiment.yaml"""


class Plan(click.Command):
    """Takes the arguments of another command."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help page."""
        formatter = help_formatter()
        formatter.write_usage(ctx.command_path, "[COMMAND] [OPTIONS] ...")
        self.format_help_text(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_text(", ".join(planned_commands()) + "; `claimeval COMMAND --help` lists the options.")
        return formatter.getvalue().rstrip("\n")


def call(arguments: Sequence[str]) -> None:
    """Plan the command that the arguments name, and exit with the code."""
    context = click.get_current_context()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(context.get_help())
        context.exit(0 if arguments else 2)
    name = arguments[0]
    if name in listed() and name not in planned_commands():
        raise UsageError(f"{name} asks no judge; these can be planned: {', '.join(planned_commands())}")
    if name not in listed() and app.get_command(context, name) is None:
        name = "experiment" if Path(name).suffix in (".yaml", ".yml") else "score"
    command = copy(app.get_command(context, name))
    assert isinstance(command, RecordCommand), "commands that can be planned have a record of options"
    command.params = [copy(parameter) for parameter in command.params]
    for parameter in command.params:
        parameter.required &= parameter.name != "out"  # nothing is written
    args = command.read(list(arguments[arguments[0] == name :]), parent=context)
    context.exit(forecast_job(name, command.door, args) if command.door else forecast_experiment(args))


def planned_commands() -> list[str]:
    """Return the commands that can be planned: those with a `door`, and experiment."""
    texts = (path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py"))
    return [
        *sorted(name for text in texts for name in re.findall(r' = command\("([\w-]+)", .*, door\)', text)),
        "experiment",
    ]


plan = Plan(
    "plan",
    params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
    callback=call,
    help=HELP,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)


def forecast_job(name: str, door: Callable[..., Run], args: Any) -> int:
    """Print the forecast of a command, and return the exit code."""
    from claimeval.api.forecast import planned

    plan = planned(door, args, options=args.options)
    _print(args.output, name, plan)
    code: int = args.output.result("plan", _record(plan.forecast))
    return code


def forecast_experiment(args: ExperimentOptions) -> int:
    """Print the forecast of each arm of an experiment, and return the exit code."""
    from claimeval.api.forecast import arm_forecasts

    output = args.output
    with notes_on_stderr(quiet=output.quiet):
        forecasts = arm_forecasts(args.file, args.options, args.labels, select=args.select, anyway=args.anyway)
    calls = _sum([ahead.calls for ahead in forecasts.values()])
    judges_without_price = list(
        dict.fromkeys(name for ahead in forecasts.values() for name in ahead.judges_without_price)
    )
    known = _sum([ahead.known_cost for ahead in forecasts.values()])
    cost = None if judges_without_price else known
    output.line()
    samples, arms = next(iter(forecasts.values())).samples, len(forecasts)
    heading = (
        f": {samples:,} samples to choose by, {arms - 2} arms" if args.select else f": {samples:,} samples, {arms} arms"
    )
    output.line(heading, bold=args.file.name)
    output.line()
    rows = [
        (
            name,
            span(ahead.calls, count),
            span(ahead.cost, dollars) if ahead.cost else "unknown",
            dollars(None if ahead.judges_without_price else ahead.cost_bound),
        )
        for name, ahead in forecasts.items()
    ]
    worst = None if judges_without_price else sum(ahead.cost_bound for ahead in forecasts.values())
    rows.append(("total", span(calls, count), span(cost, dollars) if cost else "unknown", dollars(worst)))
    output.text_table(("arm", "calls", "USD", "at most"), rows, style=lambda row: "bold" if row is rows[-1] else "")
    output.line()
    if judges_without_price:
        priced = f"; the others cost {span(known, dollars)}" if known[1] else ""
        output.line(f"The price is unknown for {', '.join(judges_without_price)}{priced}")
    output.line(f"Requests that arms share are counted in the first one. Not counted: {NOT_COUNTED}.")
    records = {name: _record(ahead) for name, ahead in forecasts.items()}
    return output.result(
        "plan", {"calls": calls, "cost": cost, "judges_without_price": judges_without_price, "arms": records}
    )


def _record(forecast: Forecast) -> dict[str, object]:
    return {
        "samples": forecast.samples,
        "calls": forecast.calls,
        "cost": forecast.cost,
        "cost_bound": forecast.cost_bound,
        "judges_without_price": forecast.judges_without_price,
        "lines": [{**line.model_dump(), "price": line.price and line.price._asdict()} for line in forecast.lines],
        "basis": forecast.basis,
        "long": [long.model_dump() for long in forecast.long],
        "not_counted": NOT_COUNTED,
    }


def _print(output: Output, command: str, planned: Planned) -> None:
    from claimeval.providers.specs import short_names

    record, forecast = planned.prepared.manifest, planned.forecast
    names = short_names(judge.name for judge in record.asked)
    output.line()
    heading = f": {forecast.samples:,} {planned.prepared.unit}; {', '.join(record.names)}"
    output.line(heading, bold=Path(record.data.path).name if record.data.path else command)
    output.line()
    if not forecast.lines:
        output.line("No judge is asked, so this costs nothing.")
        return
    rows = [
        (
            line.step,
            names[line.judge],
            count(line.cached),
            _calls(line.calls, exact=line.exact),
            span(line.prompt_tokens, count),
            span(line.output_tokens, count),
            span(line.cost, dollars) if line.cost else "unknown",
        )
        for line in forecast.lines
    ]
    total = (
        "total",
        "",
        count(sum(line.cached for line in forecast.lines)),
        _calls(forecast.calls, exact=all(line.exact for line in forecast.lines)),
        span(_sum([line.prompt_tokens for line in forecast.lines]), count),
        span(_sum([line.output_tokens for line in forecast.lines]), count),
        span(forecast.known_cost, dollars)
        if forecast.known_cost[1] or not forecast.judges_without_price
        else "unknown",
    )
    columns = ("step", "judge", "cached", "calls", "tokens in", "tokens out", "USD")
    output.text_table(columns, [*rows, total], words=(0, 1), style=lambda row: "bold" if row is total else "")
    output.line()
    if forecast.calls[1]:
        output.line(_most(forecast))
    for remark in _remarks(record, forecast, names):
        output.line(f"- {remark}")


def _most(forecast: Forecast) -> str:
    if forecast.judges_without_price and not forecast.cost_bound:
        return "The price is unknown, and so is the maximum cost."
    known = " for the judges whose price is known" if forecast.judges_without_price else ""
    return (
        f"At the very most ${dollars(forecast.cost_bound)}{known}, if each byte sent were a token and each reply had "
        "the maximum length. A --max-cost of this amount covers everything counted here."
    )


def _remarks(record: Manifest, forecast: Forecast, names: dict[str, str]) -> Iterator[str]:
    from claimeval.providers import reads_prompts

    yield from record.notes
    yield from forecast.basis
    yield from (long.in_words(forecast.samples, names[long.judge]) for long in forecast.long)
    for line in forecast.lines:
        if line.basis:
            yield f"{line.step} by {names[line.judge]}: {'; '.join(line.basis)}"
    judges = {judge.name: judge for judge in record.asked}
    for line in {line.judge: line for line in forecast.lines if any(line.calls)}.values():
        judge = judges[line.judge]
        if line.price is None:
            row = f"`{judge.model}@{judge.endpoint}: {{input: 0.25, output: 2.00}}`"
            yield f"price of {line.judge}: unknown; state it in a file by a line such as {row} and give --prices FILE"
        elif reads_prompts(judge):
            date = f", stated on {line.price.as_of}" if line.price.as_of else ""
            rate = " in batches" if line.batched else ""
            amounts = f"${line.price.input:g} in, ${line.price.output:g} out"
            yield f"price of {line.judge}{rate}: {amounts} a million tokens{date}"
    yield f"not counted: {NOT_COUNTED}"


def _sum(ranges: Sequence[tuple[Number, Number]]) -> tuple[Number, Number]:
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _calls(ends: tuple[int, int], *, exact: bool) -> str:
    """Format a number of calls, with `~` before a single number that is an estimate."""
    return f"~{count(ends[0])}" if ends[0] == ends[1] and not exact else span(ends, count)
