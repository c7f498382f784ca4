"""`claimeval plan`: what a command would ask and cost, without asking."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from claimeval.cli.command import RecordCommand, help_formatter
from claimeval.cli.printer import Output
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.api.forecast import Planned
    from claimeval.api.run import Run
    from claimeval.cli.experiment import ExperimentOptions
    from claimeval.evaluation.forecast import Forecast
    from claimeval.evaluation.manifest import Manifest

Number = TypeVar("Number", int, float)
LISTED = ("Judge", 1, "Say what a run would ask and cost, without asking.")
NOT_COUNTED = "questions put again after a useless reply, retries, discounts for repeated prompts"
HELP = """Say what a run would ask and cost, without asking.

Takes what COMMAND takes: put `plan` before the command that you are about to run. Without a COMMAND it is `score`, or
`experiment` for a YAML file. Counts the calls of each step and judge minus those in the reply cache, and estimates
tokens and dollars as a range; a price that nobody stated is unknown. With --batch it uses the price of batches.

Example: claimeval plan score answers.jsonl -j openai:gpt-5-mini -m faithfulness,correctness

Example: claimeval plan experiment.yaml"""


class Plan(click.Command):
    """Takes the arguments of another command."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the page."""
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
    known = arguments[0] in planned_commands()
    if not known and (Path(__file__).parent / f"{arguments[0].replace('-', '_')}.py").is_file():
        raise UsageError(f"{arguments[0]} asks no judge; these can be planned: {', '.join(planned_commands())}")
    name, rest = (arguments[0], arguments[1:]) if known else (_default(arguments), arguments)
    module: Any = importlib.import_module(f"claimeval.cli.{name.replace('-', '_')}")
    command: RecordCommand = getattr(module, name.replace("-", "_"))
    given = command.read(list(rest), parent=context)
    context.exit(forecast_experiment(given) if name == "experiment" else forecast_job(name, module.door, given))


def planned_commands() -> list[str]:
    """Return the commands that can be planned: those whose module has a function `door`, and experiment."""
    folder = Path(__file__).parent
    modules = (path.stem for path in sorted(folder.glob("*.py")) if b"\ndef door(" in path.read_bytes())
    return [*(module.replace("_", "-") for module in modules), "experiment"]


def _default(arguments: Sequence[str]) -> str:
    return "experiment" if any(Path(word).suffix in (".yaml", ".yml") for word in arguments[:1]) else "score"


plan = Plan(
    "plan",
    params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
    callback=call,
    help=HELP,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)


def forecast_job(name: str, door: Callable[..., Run], given: Any) -> int:
    """Print what a command would ask, and return the exit code."""
    from claimeval.api.forecast import planned

    found = planned(door, given, options=given.options)
    _print(given.output, name, found)
    code: int = given.output.result("plan", _record(found.forecast))
    return code


def forecast_experiment(given: ExperimentOptions) -> int:
    """Print what the arms of an experiment would ask, one after the other, and return the exit code."""
    from claimeval.api.forecast import arm_forecasts
    from claimeval.statistics.formatting import count, dollars, span

    output, found = given.output, arm_forecasts(given.file, given.options)
    calls = _sum([ahead.calls for ahead in found.values()])
    unpriced = list(dict.fromkeys(name for ahead in found.values() for name in ahead.unpriced))
    known = _sum([ahead.known_cost for ahead in found.values()])
    cost = None if unpriced else known
    output.line()
    output.line(f": {next(iter(found.values())).samples:,} samples, {len(found)} arms", bold=given.file.name)
    output.line()
    rows = [
        (
            name,
            span(ahead.calls, count),
            span(ahead.cost, dollars) if ahead.cost else "unknown",
            dollars(None if ahead.unpriced else ahead.worst),
        )
        for name, ahead in found.items()
    ]
    worst = None if unpriced else sum(ahead.worst for ahead in found.values())
    rows.append(("total", span(calls, count), span(cost, dollars) if cost else "unknown", dollars(worst)))
    output.table(("arm", "calls", "USD", "at most"), rows, style=lambda row: "bold" if row is rows[-1] else "")
    output.line()
    if unpriced:
        priced = f"; the others cost {span(known, dollars)}" if known[1] else ""
        output.line(f"The price is not known of {', '.join(unpriced)}{priced}")
    output.line(f"What two arms share is counted in the first. Not counted: {NOT_COUNTED}.")
    arms = {name: _record(ahead) for name, ahead in found.items()}
    return output.result("plan", {"calls": calls, "cost": cost, "unpriced": unpriced, "arms": arms})


def _record(found: Forecast) -> dict[str, object]:
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


def _print(output: Output, command: str, planned: Planned) -> None:
    from claimeval.providers.specs import short_names
    from claimeval.statistics.formatting import count, dollars, span

    record, found = planned.prepared.manifest, planned.forecast
    names = short_names(judge.name for judge in record.asked)
    output.line()
    heading = f": {found.samples:,} {planned.prepared.unit}; {', '.join(record.names)}"
    output.line(heading, bold=Path(record.data.path).name if record.data.path else command)
    output.line()
    if not found.lines:
        output.line("Nobody is asked anything, so there is nothing to pay.")
        return
    rows = [
        (
            line.step,
            names[line.judge],
            count(line.stored),
            _calls(line.calls, exact=line.exact),
            span(line.prompt_tokens, count),
            span(line.output_tokens, count),
            span(line.cost, dollars) if line.cost else "unknown",
        )
        for line in found.lines
    ]
    total = (
        "total",
        "",
        count(sum(line.stored for line in found.lines)),
        _calls(found.calls, exact=all(line.exact for line in found.lines)),
        span(_sum([line.prompt_tokens for line in found.lines]), count),
        span(_sum([line.output_tokens for line in found.lines]), count),
        span(found.known_cost, dollars) if found.known_cost[1] or not found.unpriced else "unknown",
    )
    columns = ("step", "judge", "cached", "calls", "tokens in", "tokens out", "USD")
    output.table(columns, [*rows, total], words=(0, 1), style=lambda row: "bold" if row is total else "")
    output.line()
    if found.calls[1]:
        output.line(_most(found), wrap=True)
    for remark in _remarks(record, found, names):
        output.line(f"- {remark}")


def _most(found: Forecast) -> str:
    from claimeval.statistics.formatting import dollars

    if found.unpriced and not found.worst:
        return "The price is not known, so neither is the most that the run can cost."
    known = " for the judges whose price is known" if found.unpriced else ""
    return (
        f"At the very most ${dollars(found.worst)}{known}, if each byte sent were a token and each reply ran to its "
        "limit: a --max-cost of that much covers all that is counted here."
    )


def _remarks(record: Manifest, found: Forecast, names: dict[str, str]) -> Iterator[str]:
    from claimeval.providers import reads_prompts

    yield from record.notes
    yield from found.how
    for line in found.lines:
        if line.how:
            yield f"{line.step} by {names[line.judge]}: {'; '.join(line.how)}"
    judges = {judge.name: judge for judge in record.asked}
    for line in {line.judge: line for line in found.lines if any(line.calls)}.values():
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
    """Format calls; a single number that is an estimate has a mark before it."""
    from claimeval.statistics.formatting import count, span

    return f"~{count(ends[0])}" if ends[0] == ends[1] and not exact else span(ends, count)
