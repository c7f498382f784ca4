"""The command line. The module of a command is imported when it is called; errors are one line and
an exit code.

Exit codes: 0 done, 1 finished but a gate failed, 2 usage error, 3 stopped early and resumable, 130
interrupted by Ctrl-C, SIGTERM or SIGHUP, 70 a bug in claimeval.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from itertools import chain
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from claimeval.cli.command import MADE, WIDTH, CommandGroup
from claimeval.cli.terminal import (
    end_on_next_signal,
    flush,
    go_on_in_a_child,
    in_words,
    interrupt_on_termination,
    prepare_streams,
    say,
    say_trace,
    write_plain,
)
from claimeval.types.errors import (
    ClaimevalError,
    Interrupted,
    UsageError,
    clash,
    missing_part,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "demo": ("Start", "score", "Score bundled samples from recorded replies: no key."),
    "doctor": ("Start", "data", "Check a data file, or test a judge with a few calls."),
    "metrics": ("Start", "metrics", "List all metrics and vote rules, or explain one."),
    "plan": ("Judge", "plan", "Forecast calls and cost of a command; send nothing."),
    "score": ("Judge", "score", "Judge answers claim by claim."),
    "rate": ("Judge", "ratings", "Judge answers as a whole, refusals included."),
    "rejudge": ("Judge", "score", "Judge or vote again on a run; pay only for what is new."),
    "locate": ("Judge", "locate", "Say where the fault of each failed claim lies."),
    "experiment": ("Judge", "score", "Compare prompts and judges over the same samples."),
    "extraction": ("Judge", "measures", "Measure the quality of extracted claims."),
    "report": ("Look", "reports", "Write the page, Markdown or tables of a run."),
    "view": ("Look", "reports", "Browse a folder of runs on this machine."),
    "compare": ("Look", "reports", "Compare two or more runs, sample by sample."),
    "push": ("Look", "reports", "Send scores to OpenTelemetry, MLflow or Langfuse."),
    "annotate": ("People", "people", "Label claims, answers or documents in the terminal."),
    "agreement": ("People", "people", "Compare judges with people, or with each other."),
    "correct": ("People", "people", "Correct a score with human labels."),
    "grade": ("Retrieval", "ratings", "Grade how relevant documents are; write qrels."),
    "rank": ("Retrieval", "rankings", "Evaluate rankings against qrels, as trec_eval does."),
    "fuse": ("Retrieval", "rankings", "Fuse rankings by rank or by score."),
    "measure": (
        "Without a judge",
        "measures",
        "Compute lexical, retrieval and local-model metrics.",
    ),
    "draw": ("Data", "data", "Draw a test set from logs or traces."),
    "write-queries": ("Data", "data", "Write questions that documents answer."),
    "import-replies": ("Data", "data", "Convert recorded replies or results into a run."),
    "cache": ("Upkeep", "cache", "Inspect, clear, verify, export and import cached replies."),
    "batch": ("Upkeep", "cache", "List, collect and cancel providers' batches."),
    "prompts": ("Upkeep", "prompts", "List, show, check and render prompts."),
    "merge": ("Upkeep", "score", "Merge the shards of a run."),
    "completion": ("Upkeep", "metrics", "Complete commands, metrics and prompts in a shell."),
}
"""The heading of each command in `--help`, its module, which is imported when it is called, and its
text."""
UNLISTED = dict.fromkeys(("lexical", "perplexity", "reward", "retrieval"), "measure")
"""Commands that `--help` does not list, and the command they are a variant of."""
HINTS = {
    "eval": "score",
    "evaluate": "score",
    "run": "score",
    "track": "compare",
    "answers": "rate",
    "answerability": "rate",
    "relevance": "grade",
    "sample": "draw",
    "queries": "write-queries",
}
"""Names in other tools and earlier versions, and the commands that they correspond to."""
COMPLETE = "_CLAIMEVAL_COMPLETE"
"""The variable by which a shell asks what completes a line."""
LOST = "the cluster lost its head, or the node of this command; run the same command to resume"
CRASHED = 70
"""The exit code for a bug, EX_SOFTWARE of sysexits.h."""
OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""New objects between two garbage collections: more than a short command creates. By default the
collector runs 200 times while modules are loaded, and twice over all objects at exit: a quarter of
the time, without freeing anything."""


def commands() -> dict[str, dict[str, str]]:
    """Return the text of each command by heading and name; those of other packages come last."""
    from claimeval.evaluation.kinds import made_names

    by_heading: dict[str, dict[str, str]] = {}
    for name, (heading, _, text) in COMMANDS.items():
        by_heading.setdefault(heading, {})[name] = text
    of_others = dict.fromkeys(made_names(), "Judge with a job of another package.")
    return by_heading | ({"Installed": of_others} if of_others else {})


class Root(CommandGroup):
    """Imports a command when it is called, and lists all commands under headings."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        names = list[str]()
        for rows in commands().values():
            names += rows
        return names

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the module of the command and return the command."""
        if entry := COMMANDS.get(UNLISTED.get(name, name)):
            importlib.import_module(f"claimeval.cli.{entry[1]}")
            return MADE[name]
        from claimeval.evaluation.kinds import made_names

        if name not in made_names():
            return None
        from claimeval.cli.ratings import make

        make(name)
        return MADE[name]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that complete a word, without importing their modules, or the
        options."""
        from click.shell_completion import CompletionItem

        listed = [
            pair
            for pair in chain.from_iterable(rows.items() for rows in commands().values())
            if pair[0].startswith(incomplete)
        ]
        return [CompletionItem(name, help=text) for name, text in listed] or super().shell_complete(
            ctx, incomplete
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raise UsageError for an unknown command, with the closest match."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name):
            return super().resolve_command(ctx, args)
        # Other tools have these as commands.
        if name in ("help", "version"):
            raise UsageError(f"no such command {name!r}. Type `claimeval --{name}`")
        from difflib import get_close_matches

        near = (
            [HINTS[name]] if name in HINTS else get_close_matches(name, self.list_commands(ctx), 1)
        )
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"no such command {name!r}.{hint} `claimeval --help` lists all")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the two options, then the commands under their headings."""
        with formatter.section("Options"):
            formatter.write_dl(
                [
                    ("--version", "Show the version and exit."),
                    ("--help", "Show this message and exit."),
                ]
            )
        width = max(map(len, self.list_commands(ctx)))
        for heading, rows in commands().items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows.items()])


def _version(ctx: click.Context, parameter: click.Parameter, requested: bool) -> None:
    if requested:
        import claimeval

        write_plain(f"claimeval {claimeval.__version__}\n")
        if note := clash():
            say(note)
        ctx.exit()


app = Root(
    "claimeval",
    params=[
        click.Option(
            ["--version"], is_flag=True, callback=_version, expose_value=False, is_eager=True
        )
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "How far can the answers of a question-answering system be trusted?\n\n"
        "Begin with `claimeval demo`, then `claimeval doctor DATA`."
    ),
)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors of claimeval and of the system are raised."""
    width = max(50, min(get_terminal_size().columns, WIDTH))
    try:
        with app.make_context("claimeval", arguments, terminal_width=width) as context:
            app.invoke(context)
            return 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        from claimeval.cli.usage_errors import in_words as of_arguments

        raise UsageError(of_arguments(error, arguments)) from error


def main() -> None:
    """Run the command line; the entry point of the console script."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # What is frozen is not gone through at exit.
    atexit.register(gc.freeze)
    if COMPLETE in os.environ:
        app.main(prog_name="claimeval", complete_var=COMPLETE)
    # Finding plugins reads a file of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    prepare_streams()
    interrupt_on_termination()
    if any(word.partition("=")[0] == "--engine" for word in sys.argv):
        go_on_in_a_child(LOST)
    try:
        try:
            code = run(sys.argv[1:])
        finally:
            flush()
    except ClaimevalError as error:
        fail(str(error), error.exit_code)
    except KeyboardInterrupt as error:
        end_on_next_signal()
        fail(str(error) or "interrupted", Interrupted.exit_code)
    # The last resort: Python's exit code 1 would mean a failed gate.
    except Exception as error:  # noqa: BLE001
        _fail_by(error)
    raise SystemExit(code)


def _fail_by(error: Exception) -> None:
    """End with what a full disk or a missing package means, else as a bug with its trace."""
    # pydantic wraps an interrupt that occurs while it builds a validator.
    if "KeyboardInterrupt" in str(error):
        fail("interrupted", Interrupted.exit_code)
    if isinstance(error, OSError) and (message_and_code := in_words(error)):
        fail(*message_and_code)
    if isinstance(error, ImportError) and (lacking := missing_part(error)):
        fail(clash() or str(lacking), lacking.exit_code)
    import traceback

    say_trace("".join(traceback.format_exception(error)))
    fail(clash() or "this is a bug in claimeval; please report it with the lines above", CRASHED)


def fail(message: str, code: int) -> None:
    """Print one line on standard error and, with --json, the JSON object; then exit."""
    say(message)
    if "--json" in sys.argv:
        from claimeval.cli.printer import Output

        # Commands of a group have two words, as in `cache export`.
        two = " ".join(sys.argv[1:3])
        Output(json=True).result(
            two if two in MADE else sys.argv[1], {}, exit_code=code, stopped=message
        )
    raise SystemExit(code)
