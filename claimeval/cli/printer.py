"""Output of commands: lines, tables, notes on standard error, and one JSON object. Only this module
uses `rich`.

Whatever is printed for people is escaped here: data may hold escape codes of terminals.
"""

from __future__ import annotations

import json as json_text
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from claimeval.cli.command import SOURCES
from claimeval.cli.terminal import encodes, say, write_data
from claimeval.metrics.derived import DOWN
from claimeval.runs.views import Block, Column, Entries, Line, Table, through
from claimeval.statistics.estimates import coverage_in
from claimeval.types.errors import HIDDEN, NoteWarning, escaped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.containers import Lines
    from rich.text import Text

WORDS = 16
"""Minimum width to which a column of words is folded."""
NAMES = 32
"""Minimum width to which the first column, which has names, is folded."""
PROSE = 100
"""Maximum width of folded text."""
UNLIMITED = 100_000
"""Columns where there is no terminal."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """Options for the output of a command: for people, for scripts, or errors only."""

    json: bool = False
    """Print JSON on standard output."""
    quiet: Annotated[bool, "-q", "--quiet"] = False
    """Only errors, and the scores of a run in one line."""

    @cached_property
    def console(self) -> Console:
        """The console for text: standard output, or with --json standard error."""
        from rich.console import Console

        return Console(
            highlight=False, emoji=False, markup=False, stderr=self.json, quiet=self.quiet
        )

    @property
    def scores_alone(self) -> bool:
        """Whether a run prints its scores in one line and nothing else."""
        return self.quiet and not self.json

    def line(
        self,
        text: str = "",
        *,
        bold: str = "",
        style: str = "",
        indent: int = 0,
        lead: str = "bold",
    ) -> None:
        """Print a line that begins with `bold`, in the style `lead`, folded between words.

        Indented text may have lines of its own, and is folded at 100 columns at most. Without a
        terminal, other text is not folded.

        Args:
            text: What follows.
            bold: The beginning of the line.
            style: The style of `text`.
            indent: Spaces before each line.
            lead: The style of `bold`.
        """
        from rich.text import Text

        shown = Text.assemble(
            (escaped(bold), lead), (_lines(text) if indent else escaped(text), style)
        )
        width = min(self.console.width, PROSE) - indent if indent else self._columns
        for line in self._fold(shown, width):
            self.console.print(Text(" " * indent) + line, soft_wrap=True)

    def _fold(self, text: Text, width: int) -> Lines:
        """Return the lines of the text, folded at this width."""
        lines = text.wrap(self.console, max(width, 1), overflow="fold")
        for line in lines:
            line.rstrip()
        return lines

    def lines(self, *texts: object, style: str = "") -> None:
        """Print each of the texts as a line; what is empty, None, False or 0 is left out."""
        for text in filter(None, texts):
            self.line(str(text), style=style)

    def note(self, text: str, *, kind: str = "Note") -> None:
        """Print a note that readers of the numbers must know."""
        self.line(text, bold=f"{kind}: ", lead="bold yellow")

    @property
    def _columns(self) -> int:
        """The columns of a line: as wide as it is without a terminal."""
        known = self.console.is_terminal or "COLUMNS" in os.environ
        return self.console.width if known else UNLIMITED

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

        return [line.plain for line in self._fold(Text(_lines(text)), width)]

    def draw(self, blocks: Iterable[Block]) -> None:
        """Print views. Headings, titled tables and entries begin with an empty line."""
        for block in blocks:
            shown = through(block, _plain, inner="  ")
            match shown:
                case Line(parts, "caution" | "note" as kind):
                    self.note("".join(parts), kind=kind.capitalize())
                case Line((first, *parts), "heading"):
                    self.line()
                    self.line("".join(parts), bold=first)
                case Line(parts, "remark"):
                    self.line("".join(parts), style="dim", indent=1)
                case Line(parts):
                    self.line("".join(parts))
                case Table():
                    self._table(shown)
                case Entries(title, entries):
                    self.line()
                    self.line(bold=title)
                    for entry in entries:
                        self.line()
                        self.line(bold=entry.name, indent=1)
                        self.pairs(entry.fields, indent=3)

    def _table(self, shown: Table) -> None:
        """Print a table.

        Columns of texts are folded, and columns of a high rank left out where a terminal is too
        narrow; where the rest does not fit either, each row is a block of lines with name and
        value.
        """
        widths = _widths(shown, self.console.width)
        kept = _fitting(shown.columns, widths, self.console.width)
        if shown.title:
            self.line()
            self.line(bold=shown.title)
        absent = ""
        if sum(widths[i] for i in kept) > self._columns:
            self._rows_as_pairs(shown)
        else:
            self._grid(shown, {i: widths[i] for i in kept})
            names = [column.name for i, column in enumerate(shown.columns) if i not in kept]
            absent = ", ".join(names)
        for note in shown.notes:
            self.line(note, style="dim", indent=1)
        if absent:
            self.line(f"not shown below {sum(widths)} columns: {absent}", style="dim", indent=1)

    def _rows_as_pairs(self, shown: Table) -> None:
        names = [column.name for column in shown.columns[1:]]
        for first, *rest in shown.rows:
            self.line(bold=first or "-")
            pairs = zip(names, rest, strict=True)
            self.pairs(((name, text) for name, text in pairs if text), indent=1)

    def _grid(self, shown: Table, widths: Mapping[int, int]) -> None:
        """Print the columns that `widths` names, each with its width."""
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(header_style="bold", box=None, padding=(0, 1))
        for i, width in widths.items():
            column = shown.columns[i]
            is_text = column.kind in ("text", "metric")
            grid.add_column(
                Text("\n".join(_folded(column.name, width - 2))),
                justify="left" if is_text else "right",
                no_wrap=not is_text,
                overflow="fold",
            )
        for number, row in enumerate(shown.rows):
            style = "dim" if number in shown.indented else ""
            grid.add_row(*(Text(row[i]) for i in widths), style=style)
        console = self.console
        terminal = console.width
        # Names and numbers are never cut: a pipe has no width, and a reader may scroll.
        console.width = max(terminal, sum(widths.values()))
        console.print(grid)
        console.width = terminal

    def pairs(self, rows: Iterable[tuple[str, str]], *, indent: int = 0, bold: str = "") -> None:
        """Print names next to texts; that of the name `bold` is bold."""
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, text in rows:
            style = "bold" if name == bold else ""
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
        """Print the record as the JSON object if --json is set, and return the exit code.

        Args:
            command: The command, as the field `command` names it.
            record: The fields of the object.
            path: What was written, if anything.
            exit_code: The code to end with.
            stopped: Why the run stopped early, if the record does not say.
        """
        if self.json:
            import claimeval

            context = click.get_current_context(silent=True)
            sources = context and context.meta.get(SOURCES)
            head: dict[str, object] = {
                "claimeval": claimeval.__version__,
                "command": command,
                "path": path and str(path),
                "exit_code": exit_code,
                "stopped": stopped or record.get("stopped"),
            }
            if sources:
                head["settings_from"] = sources
            # The head first for its order, and last so that no field of a record takes the place of
            # one.
            coverage = coverage_in(record)
            of_intervals = {"interval_coverage": coverage} if coverage else {}
            shown = {**head, **record, **of_intervals, **head}
            text = json_text.dumps(
                shown, indent=1, ensure_ascii=False, allow_nan=False, default=str
            )
            # Direction marks in a text of the data would reorder what a terminal shows of the JSON.
            shown_text = HIDDEN.sub(lambda mark: json_text.dumps(mark.group())[1:-1], text)
            write_data(f"{shown_text}\n")
        return exit_code


@contextmanager
def notes_on_stderr(*, quiet: bool = False) -> Iterator[list[str]]:
    """Print what doors log and warn of as lines on standard error, and yield the lines on a
    terminal so far."""
    said = list[str]()
    logger = logging.getLogger("claimeval")
    handler = _Said(said)
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", UserWarning)
        warnings.simplefilter("ignore", NoteWarning)  # the command prints the notes of its run
        warnings.showwarning = lambda message, *_: said.extend(say(*str(message).splitlines()))
        logger.addHandler(handler)
        logger.setLevel(logging.ERROR if quiet else logging.INFO)
        try:
            yield said
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


class _Said(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said += say(*record.getMessage().splitlines())


def _plain(text: str) -> str:
    """Return the text escaped, with a plain mark for metrics of which a low value is good where the
    output has no arrow."""
    shown = escaped(text)
    return shown if encodes(DOWN) else shown.replace(DOWN, "v")


def _lines(text: str) -> str:
    """Return the text `escaped`, with its line ends, and at most one empty line in a row."""
    lines = "\n".join(escaped(line).rstrip() for line in text.expandtabs(4).splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n")


def _widths(shown: Table, wide: int) -> list[int]:
    """Return the width of each column, with as few lines for the names as `wide` columns allow."""
    cells = list(zip(*shown.rows, strict=True)) or [()] * len(shown.columns)
    # A folded name can still be read, while of a column that is left out nothing is known.
    least = [NAMES] + [WORDS] * (len(shown.columns) - 1)
    for lines in (1, 2, 3, 9):
        widths = [
            _width(column, of_column, words, lines)
            for column, of_column, words in zip(shown.columns, cells, least, strict=True)
        ]
        if sum(widths) <= wide:
            break
    return widths


def _fitting(columns: Sequence[Column], widths: Sequence[int], wide: int) -> list[int]:
    """Return the indices of the columns that are shown: those of high rank are left out first."""
    kept = list(range(len(columns)))
    for rank in sorted({column.rank for column in columns if column.rank}, reverse=True):
        if sum(widths[i] for i in kept) > wide:
            kept = [i for i in kept if columns[i].rank < rank]
    return kept


def _width(column: Column, cells: Iterable[str], words: int, lines: int) -> int:
    """Return the least width of a column with its padding; texts are folded at `words`, its name in
    `lines`."""
    from rich.cells import cell_len

    widest = max(map(cell_len, cells), default=0)
    least = min(widest, words) if column.kind in ("text", "metric") else widest
    named = max(map(len, column.name.split(" ")))
    while len(_folded(column.name, named)) > lines:
        named += 1
    return 2 + max(least, min(named, WORDS if lines > 1 else named))


def _folded(name: str, width: int) -> list[str]:
    """Return the name of a column in lines of whole words, as few as its width allows."""
    from textwrap import wrap

    return wrap(name, max(width, 1), break_long_words=False, break_on_hyphens=False) or [""]
