"""The commands `rank` and `fuse`, called as from a shell."""

from __future__ import annotations

import typer
from typer.testing import CliRunner, Result

from claimeval.cli.fuse import fuse
from claimeval.cli.rank import rank

app = typer.Typer()
app.command()(rank)
app.command()(fuse)


def run_command(*arguments: str) -> Result:
    """Exit code and output; errors of ours are raised, as the commands leave them to the program around them."""
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)
