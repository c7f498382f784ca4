"""Commands that are still on Typer."""

from __future__ import annotations

import click
import typer

from claimeval.cli.lexical import lexical
from claimeval.cli.perplexity import perplexity
from claimeval.cli.plan import plan
from claimeval.cli.queries import queries
from claimeval.cli.relevance import relevance
from claimeval.cli.retrieval import retrieval
from claimeval.cli.reward import reward

app = typer.Typer(
    name="claimeval",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How far can the answers of a question-answering system be trusted? claimeval takes them apart into claims "
    "and has judges assess each one.\n\nBegin with `claimeval demo`; then `claimeval doctor DATA` says what your own "
    "file can feed, and `claimeval score DATA --judge PROVIDER:MODEL` judges it.",
)
for command in (
    plan,
    lexical,
    perplexity,
    reward,
    relevance,
    retrieval,
    queries,
):
    app.command()(command)


def old_command(name: str) -> click.Command:
    """The command of the old application."""

    def call(arguments: tuple[str, ...]) -> None:
        app([name, *arguments], prog_name="claimeval")

    return click.Command(
        name,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        callback=call,
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
    )
