"""The command line. Commands are one file each without logic of their own; errors are one line and a code.

Exit codes: 0 done, 1 finished but a gate failed, 2 the caller's mistake, 3 stopped early and resumable, 130 Ctrl-C.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from claimeval.cli.agreement import agreement
from claimeval.cli.annotate import annotate
from claimeval.cli.answerability import answerability
from claimeval.cli.answers import answers
from claimeval.cli.batch import batch
from claimeval.cli.cache import cache
from claimeval.cli.compare import compare
from claimeval.cli.correct import correct
from claimeval.cli.demo import demo
from claimeval.cli.doctor import doctor
from claimeval.cli.experiment import experiment
from claimeval.cli.fuse import fuse
from claimeval.cli.import_replies import import_replies
from claimeval.cli.lexical import lexical
from claimeval.cli.outlets import fail_for, outlast_readers
from claimeval.cli.perplexity import perplexity
from claimeval.cli.plan import plan
from claimeval.cli.prompts import prompts
from claimeval.cli.queries import queries
from claimeval.cli.rank import rank
from claimeval.cli.rejudge import rejudge
from claimeval.cli.relevance import relevance
from claimeval.cli.report import report
from claimeval.cli.retrieval import retrieval
from claimeval.cli.reward import reward
from claimeval.cli.sample import sample
from claimeval.cli.score import score
from claimeval.cli.track import track
from claimeval.cli.view import view
from claimeval.types.errors import ClaimevalError, UsageError

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
    demo,
    doctor,
    plan,
    score,
    rejudge,
    import_replies,
    agreement,
    experiment,
    compare,
    track,
    annotate,
    correct,
    lexical,
    perplexity,
    reward,
    rank,
    fuse,
    relevance,
    retrieval,
    answers,
    answerability,
    sample,
    queries,
    report,
    view,
):
    app.command()(command)
for group in (
    batch,
    cache,
    prompts,
):
    app.add_typer(group)


def _version(asked: bool) -> None:
    if asked:
        import claimeval

        print(f"claimeval {claimeval.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of claimeval itself."""


def main() -> None:
    """Runs the command line; the console script."""
    outlast_readers()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except UsageError as error:
        fail(str(error), 2)
    except ClaimevalError as error:
        fail(str(error), 3)
    except KeyboardInterrupt:
        fail("interrupted", 130)
    except OSError as error:
        fail_for(error)


def fail(message: str, code: int) -> None:
    """One line on standard error, and the end."""
    print(f"claimeval: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(code)
