"""`claimeval view`: the runs in a folder, in the browser."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output
from claimeval.types.options import require_at_least

LISTED = ("Look", 2, "Browse a folder of runs on this machine.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """List the runs in a folder, open their reports, and set two side by side. Ctrl-C ends it.

    Never writes, listens on 127.0.0.1 only, and refuses requests from pages of other hosts.

    Example: claimeval view runs
    """

    folder: Annotated[Path, Argument("FOLDER")] = Path("runs")
    """A folder with run directories, at any depth up to four."""
    port: int = 8811
    """Port to listen on; 0 takes a free one."""
    browser: Annotated[bool, Names("--open")] = False
    """Open the list in the browser."""
    output: Output = Output()

    def __post_init__(self) -> None:
        require_at_least(self, 0, "port")


def do(given: ViewOptions) -> int:
    """Serve the list until Ctrl-C, and return the exit code."""
    from claimeval.report.viewer import Viewer

    with Viewer(given.folder, given.port) as viewer:
        given.output.line(f"{viewer.url} shows the runs in {given.folder}; Ctrl-C ends it")
        given.output.result("view", {"url": viewer.url}, path=given.folder)
        if given.browser:
            click.launch(viewer.url)
        with suppress(KeyboardInterrupt):
            viewer.serve_forever()
    return 0


view = command("view", ViewOptions, do)
