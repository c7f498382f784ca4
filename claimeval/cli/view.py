"""`claimeval view`: the reports of many runs, in the browser of this machine."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer


def view(
    folder: Annotated[
        Path, typer.Argument(help="A folder with run directories in it, at any depth up to four.")
    ] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8811,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the list in the browser.")] = False,
) -> None:
    """List the runs in a folder, open their reports, and set two side by side. Ctrl-C ends it.

    It reads and never writes, listens on 127.0.0.1 only, and answers no other host's pages.

    Example: `claimeval view runs`
    """
    from claimeval.report.viewer import Viewer

    with Viewer(folder, port) as viewer:
        print(f"{viewer.url} shows the runs in {folder}; Ctrl-C ends it", flush=True)
        if browser:
            typer.launch(viewer.url)
        with suppress(KeyboardInterrupt):
            viewer.serve_forever()
