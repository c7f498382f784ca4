"""`claimeval plan`: forecast of the calls and cost of a command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from claimeval.cli.command import MADE, RecordCommand, help_formatter
from claimeval.cli.main import COMMANDS, COMPLETE, app
from claimeval.cli.printer import notes_on_stderr
from claimeval.cli.terminal import write_plain
from claimeval.runs.views import forecast as views
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from claimeval.api.run import Run
    from claimeval.cli.score import ExperimentCommand, ScoreCommand
    from claimeval.evaluation.forecast import Forecast

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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what completes the planned command."""
        from click.shell_completion import ShellComplete

        words = [*ctx.params["arguments"], *ctx.args]
        return ShellComplete(app, {}, "claimeval", COMPLETE).get_completions(words, incomplete)


def call(arguments: Sequence[str]) -> None:
    """Plan the command that the arguments name, and exit with the code."""
    context = click.get_current_context()
    if not arguments or arguments[0] in ("-h", "--help"):
        write_plain(context.get_help() + "\n")
        context.exit(0 if arguments else 2)
    name = arguments[0]
    if app.get_command(context, name) is None:
        name = "experiment" if Path(name).suffix in (".yaml", ".yml") else "score"
    command = copy(app.get_command(context, name))
    if not isinstance(command, RecordCommand) or not (command.door or name == "experiment"):
        raise UsageError(f"{name} asks no judge; these can be planned: {', '.join(planned_commands())}")
    command.params = [copy(parameter) for parameter in command.params]
    for parameter in command.params:
        parameter.required &= parameter.name != "out"  # nothing is written
    args = command.read(list(arguments[arguments[0] == name :]), parent=context)
    context.exit(forecast_job(name, command.door, args) if command.door else forecast_experiment(args))


def planned_commands() -> list[str]:
    """Return the commands that can be planned: those with a `door`, and experiment."""
    context = click.Context(app)
    return [*sorted(name for name in COMMANDS if getattr(app.get_command(context, name), "door", None)), "experiment"]


MADE["plan"] = Plan(
    "plan",
    params=[
        click.Argument(
            ["arguments"],
            nargs=-1,
            type=click.UNPROCESSED,
            shell_complete=lambda ctx, _, incomplete: ctx.command.shell_complete(ctx, incomplete),
        )
    ],
    callback=call,
    help=HELP,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)


def forecast_job(name: str, door: Callable[..., Run], args: Any) -> int:
    """Print the forecast of a command, and return the exit code."""
    from claimeval.api.forecast import planned

    plan = planned(door, args, options=args.options)
    cheaper = savings(door, args) if name == "score" else {}
    args.output.draw(views.view(plan.forecast, plan.prepared.manifest, plan.prepared.unit, name, cheaper))
    return int(args.output.result("plan", {**_record(plan.forecast), "cheaper": cheaper}))


CHEAPER: dict[str, tuple[str, dict[str, object]]] = {
    "--claims-per-call auto": ("questions", {"claims_per_call": "auto"}),
    "--reasons none": ("questions", {"reasons": "none"}),
    "--quotes no": ("questions", {"quotes": "no"}),
    "--batch": ("options", {"batch": True}),
}
"""Cheaper forms of asking: the option, and what it changes in the options of `score`."""
FIRST, LEAST = 100, 0.005
"""Number of samples, from the first, over which forms are compared, and the least share that is named."""


def savings(door: Callable[..., Run], args: ScoreCommand) -> dict[str, float]:
    """Return the share of the dollars that each cheaper form saves by itself; empty if prices are unknown."""
    first = replace(args, reading=replace(args.reading, limit=min(args.reading.limit or FIRST, FIRST)))
    usual = _middle(door, first)
    saved = {}
    for option, (part, changed) in CHEAPER.items() if usual else ():
        with suppress(UsageError):  # the prompt or the provider does not have this form
            asked: Any = replace(first, **{part: replace(getattr(first, part), **changed)})
            saved[option] = 1 - _middle(door, asked) / usual
    return {option: share for option, share in saved.items() if share >= LEAST}


def _middle(door: Callable[..., Run], args: ScoreCommand) -> float:
    """Return the middle of the expected dollars."""
    from claimeval.api.forecast import planned

    return sum(planned(door, args, options=args.options).forecast.known_cost) / 2


def forecast_experiment(args: ExperimentCommand) -> int:
    """Print the forecast of each arm of an experiment, and return the exit code."""
    from claimeval.api.forecast import arm_forecasts

    output = args.output
    with notes_on_stderr(quiet=output.quiet):
        forecasts = arm_forecasts(args.file, args.options, args.labels, select=args.select, anyway=args.anyway)
    output.draw(views.arms(args.file.name, forecasts, select=args.select))
    records = {name: _record(ahead) for name, ahead in forecasts.items()}
    total = {name: getattr(views.together(forecasts), name) for name in ("calls", "cost", "judges_without_price")}
    return output.result("plan", {**total, "arms": records})


def _record(forecast: Forecast) -> dict[str, object]:
    figures = ("samples", "calls", "cost", "cost_per_verdict", "cost_bound", "judges_without_price")
    return {
        **{name: getattr(forecast, name) for name in figures},
        "lines": [{**line.model_dump(), "price": line.price and line.price._asdict()} for line in forecast.lines],
        "basis": forecast.basis,
        "long": [long.model_dump() for long in forecast.long],
        "not_counted": views.NOT_COUNTED,
    }
