"""Output of commands: lines, tables, notes on standard error, and one JSON object. Only this module uses `rich`.

Whatever is printed for people is escaped here: data may hold escape codes of terminals.
"""

from __future__ import annotations

import json as json_text
import logging
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from claimeval.cli.command import Names
from claimeval.cli.terminal import write_data
from claimeval.types.errors import HIDDEN, NoteWarning, escaped, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column

WORDS = 16
"""Minimum width to which a column of words is folded."""
NARROW = 60
"""Terminal width below which a table that does not fit is printed as a block of lines per row."""
PROSE = 100
"""Maximum width of folded text."""
BOUNDED = "* bounds, not an interval: judges abstained on over a tenth"
"""Footnote of a table that prints bounds instead of an interval."""
Row = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Output:
    """Options for the output of a command: for people, for scripts, or errors only."""

    json: bool = False
    """Print JSON on standard output."""
    quiet: Annotated[bool, Names("-q", "--quiet")] = False
    """Print errors only; of a run, the scores in one line."""

    @cached_property
    def console(self) -> Console:
        """The console for text: standard output, or with --json standard error."""
        from rich.console import Console

        return Console(highlight=False, emoji=False, markup=False, stderr=self.json, quiet=self.quiet)

    def line(self, text: str = "", *, bold: str = "", style: str = "", indent: int = 0, wrap: bool = False) -> None:
        """Print a line that begins with `bold`. With `indent` or `wrap` it is folded, at 100 columns at most;
        otherwise it is not, so that a path can be copied. Only indented text has lines of its own."""
        from rich.padding import Padding
        from rich.text import Text

        shown = Text.assemble((escaped(bold), "bold"), (_lines(text) if indent else escaped(text), style))
        console = self.console
        if indent or wrap:
            folded = Padding(shown, (0, 0, 0, indent)) if indent else shown
            console.print(folded, width=min(console.width, PROSE))
        else:
            console.print(shown, soft_wrap=True)

    def note(self, text: str, *, kind: str = "Note") -> None:
        """Print a note that readers of the numbers must know."""
        from rich.text import Text

        self.console.print(Text.assemble((f"{kind}: ", "bold yellow"), escaped(text)), soft_wrap=True)

    def data(self, text: str) -> None:
        """Write data for other programs on standard output, unless JSON goes there."""
        if not self.json:
            write_data(text)

    def rule(self, text: str) -> None:
        """Print a horizontal line with the text in its middle."""
        from rich.text import Text

        self.console.rule(Text(escaped(text)))

    @property
    def size(self) -> tuple[int | None, int]:
        """Rows and columns of the terminal; rows are None if there is none."""
        console = self.console
        return console.height if console.is_terminal else None, console.width

    def wrap(self, text: str, width: int) -> list[str]:
        """Return the lines of the text, folded at this width."""
        from rich.text import Text

        return [line.plain for line in Text(_lines(text)).wrap(self.console, width)]

    def table(
        self,
        columns: Row,
        rows: Iterable[Row],
        *,
        words: Collection[int] = (0,),
        title: str = "",
        style: Callable[[Row], str] = lambda row: "",
    ) -> None:
        """Print a table. The columns in `words` are folded; all others are right-aligned and never folded.

        On a terminal that is too narrow, lines exceed its width; below 60 columns, each row is a block of lines with
        name and value.
        """
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=Text(escaped(title)) if title else None, title_justify="left", title_style="bold",
            header_style="bold", box=None, padding=(0, 1),
        )  # fmt: skip
        for number, column in enumerate(columns):
            fold = number in words
            table.add_column(
                Text(_lines(column)), justify="left" if fold else "right", no_wrap=not fold, overflow="fold"
            )
        rows = list(rows)
        for row in rows:
            table.add_row(*(Text(escaped(cell)) for cell in row), style=style(row))
        console = self.console
        least_width = 2 * len(table.columns) + sum(map(_least_width, table.columns))
        if console.width < min(least_width, NARROW):
            self._blocks(columns, rows, title)
        else:
            console.width = max(console.width, least_width)
            console.print(table)

    def confusion(self, corner: str, labels: Iterable[object], counts: Iterable[Iterable[int]]) -> None:
        """Print how often items with the label of a row got the label of a column."""
        names = [str(label) for label in labels]
        self.table((corner, *names), [(name, *map(str, row)) for name, row in zip(names, counts, strict=True)])

    def _blocks(self, columns: Row, rows: Sequence[Row], title: str) -> None:
        if title:
            self.line(bold=title, wrap=True)
        for first, *cells in rows:
            self.line(bold=first, wrap=True)
            self._grid([(name, cell, "") for name, cell in zip(columns[1:], cells, strict=False) if cell], indent=1)

    def pairs(self, rows: Mapping[str, tuple[str, str]], *, indent: int = 0) -> None:
        """Print names next to texts, each text with its style."""
        self._grid([(name, *text) for name, text in rows.items()], indent)

    def _grid(self, rows: Iterable[tuple[str, str, str]], indent: int) -> None:
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, text, style in rows:
            grid.add_row(Text(escaped(name)), Text(_lines(text), style))
        self.console.print(Padding(grid, (0, 0, 0, indent)))

    def result(
        self,
        command: str,
        record: Mapping[str, Any],
        *,
        path: Path | None = None,
        exit_code: int = 0,
        stopped: str | None = None,
    ) -> int:
        """Print the record as the JSON object if --json is set, and return the exit code."""
        if self.json:
            import claimeval

            head: dict[str, object] = {
                "claimeval": claimeval.__version__,
                "command": command,
                "path": path and str(path),
            }
            head |= {"exit_code": exit_code, "stopped": stopped or record.get("stopped")}
            shown = {**head, **record, **head}
            text = json_text.dumps(shown, indent=1, ensure_ascii=False, allow_nan=False, default=str)
            write_data(HIDDEN.sub(lambda match: json_text.dumps(match.group())[1:-1], text) + "\n")
        return exit_code


def tally(counts: Mapping[Any, int]) -> str:
    """Return counts in words, such as `3 unsure, 1 tie`."""
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def say(text: str) -> None:
    """Print a line on standard error."""
    print(f"claimeval: {visible(text)}", file=sys.stderr)


def _say_lines(text: str) -> None:
    for line in text.splitlines():
        say(line)


@contextmanager
def notes_on_stderr(*, quiet: bool = False) -> Iterator[None]:
    """Print what doors log and warn of as lines on standard error."""
    logger, handler = logging.getLogger("claimeval"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Escaped("claimeval: %(message)s"))
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "always", UserWarning)
        warnings.simplefilter("ignore", NoteWarning)  # the command prints the notes of its run
        warnings.showwarning = lambda message, *_: _say_lines(str(message))
        logger.addHandler(handler)
        logger.setLevel(logging.ERROR if quiet else logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


class _Escaped(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _lines(super().format(record))


def _lines(text: str) -> str:
    """Return the text `escaped`, with its line ends, and at most one empty line in a row."""
    lines = "\n".join(escaped(line).rstrip() for line in text.expandtabs(4).splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n")


def _least_width(column: Column) -> int:
    from rich.cells import cell_len

    width = max(cell_len(line) for cell in (column.header, *column.cells) for line in str(cell).splitlines() or [""])
    return width if column.no_wrap else min(width, WORDS)
