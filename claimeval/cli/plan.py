"""`claimeval plan`: forecast of the calls and cost of a command."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from claimeval.cli.command import MADE, CommandGroup, RecordCommand
from claimeval.cli.main import COMMANDS, app
from claimeval.cli.shared import JobOptions
from claimeval.cli.terminal import write_plain
from claimeval.runs.views import forecast as views
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.cli.score import ExperimentCommand
    from claimeval.evaluation.forecast import Forecast
    from claimeval.runs.jobs import Prepared

HELP = """Forecast the calls and cost of a command without sending requests.

Put `plan` before the command that you are about to run, with all its options. The default COMMAND
is `score`, or `experiment` for a YAML file. Counts the calls of each step and judge minus those in
the reply cache, and estimates tokens and dollars as a range; a price that is not stated is unknown.
With --batch it uses the price of batches.

Example: claimeval plan score answers.jsonl -j openai:gpt-5-mini -m faithfulness,correctness

Example: claimeval plan experiment.yaml"""


class Plan(CommandGroup):
    """Has the commands that can be planned; what names none is the data of `score`, or the file of
    `experiment`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands that can be planned: those with a `door`, and experiment."""
        return [
            *sorted(
                name
                for name in COMMANDS
                if getattr(
                    app.get_command(ctx, name),
                    "door",
                    None,
                )
            ),
            "experiment",
        ]

    def get_command(self, ctx: click.Context, name: str) -> RecordCommand | None:
        """Return the command, which forecasts instead of running; None if it cannot be planned."""
        command = copy(app.get_command(ctx, name))
        if not isinstance(command, RecordCommand) or not (command.door or name == "experiment"):
            return None
        command.params = list(map(copy, command.params))
        for parameter in command.params:
            parameter.required &= parameter.name != "out"  # nothing is written
        command.run = (
            partial(forecast_job, name, command.door) if command.door else forecast_experiment
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, or the default. Raises UsageError if it
        cannot be planned."""
        if args[0] in ("-h", "--help"):
            write_plain(ctx.get_help() + "\n")
            ctx.exit()
        if app.get_command(ctx, args[0]) is None:
            args = ["experiment" if Path(args[0]).suffix in (".yaml", ".yml") else "score", *args]
        if not (ctx.resilient_parsing or self.get_command(ctx, args[0])):
            planned = ", ".join(self.list_commands(ctx))
            raise UsageError(f"{args[0]} asks no judge; these can be planned: {planned}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that can be planned."""
        with formatter.section("Commands"):
            names = ", ".join(self.list_commands(ctx))
            formatter.write_text(f"{names}; `claimeval COMMAND --help` lists the options.")


MADE["plan"] = Plan(
    "plan",
    help=HELP,
    add_help_option=False,
    options_metavar="[COMMAND] [OPTIONS]",
    subcommand_metavar="...",
    context_settings={"ignore_unknown_options": True},
)


def forecast_job(name: str, door: Callable[..., Run], args: Any) -> int:
    """Print the forecast of a command, and return the exit code."""
    from claimeval.api.forecast import planned

    plan = planned(door, args, options=args.options)
    args.output.draw(
        views.view(
            plan.forecast,
            plan.prepared.manifest,
            plan.prepared.unit,
            name,
        )
    )
    savings = {
        "cheaper": plan.forecast.cheaper,
        "fewer_tokens": {
            option: shares.model_dump() for option, shares in plan.forecast.fewer_tokens.items()
        },
    }
    record = {**_record(plan.forecast), **savings}
    if isinstance(args, JobOptions) and args.gates.stop_when_decided is not None:
        record["stop_when_decided"] = _forecast_stop(args, plan.prepared)
    return int(args.output.result("plan", record))


def _forecast_stop(args: JobOptions, prepared: Prepared) -> dict[str, object]:
    """Print what stopping is expected to save, and return it."""
    from claimeval.runs.stopping import Gating, expected

    options = replace(args.options, stop_when_decided=args.gates.stop_when_decided)
    gating = Gating.of(args.gates.limits, prepared.manifest, options)
    assert gating, "the command has gates"
    # a folder with a final slash holds runs; any other is a run beside others
    out = args.out or Path("runs")
    folder = out if out.name == "runs" else out.parent
    found = expected(gating, prepared.manifest.data.digest, folder)
    if found is None:
        args.output.line(
            f"--stop-when-decided: no finished run of these data in {folder} says how far the gates"
            " are from their means, so nothing can be foreseen"
        )
        return {"share": None, "run": None}
    args.output.line(
        f"--stop-when-decided: about {found.share:.0%} of the samples and of the cost, if the means"
        f" are those of {found.run}"
    )
    return {"share": found.share, "run": str(found.run)}


def forecast_experiment(args: ExperimentCommand) -> int:
    """Print the forecast of each arm of an experiment, and return the exit code."""
    from claimeval.api.forecast import arm_forecasts

    output = args.output
    forecasts = arm_forecasts(
        args.file, args.options, args.labels, select=args.select, anyway=args.anyway
    )
    output.draw(views.arms(args.file.name, forecasts, select=args.select))
    records = {name: _record(ahead) for name, ahead in forecasts.items()}
    total = {
        name: getattr(views.together(forecasts), name)
        for name in ("calls", "cost", "judges_without_price")
    }
    return output.result("plan", {**total, "arms": records})


def _record(forecast: Forecast) -> dict[str, object]:
    figures = (
        "samples",
        "calls",
        "cost",
        "likely_cost",
        "cost_per_verdict",
        "cost_bound",
        "judges_without_price",
    )
    return {
        **{name: getattr(forecast, name) for name in figures},
        "lines": [
            {**line.model_dump(), "price": line.price and line.price._asdict()}
            for line in forecast.lines
        ],
        "basis": forecast.basis,
        "long": [long.model_dump() for long in forecast.long],
        "not_counted": views.NOT_COUNTED,
    }
