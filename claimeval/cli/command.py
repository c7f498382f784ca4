"""A command from a frozen dataclass: a field is an option, its docstring the help, its type the type.

A field whose type is such a record too gives its fields as options. Values out of range are refused by the record's
checks, so the command line refuses what Python refuses, in the same words.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from claimeval.types.errors import UsageError, unknown_name

Record = TypeVar("Record")
HEADINGS = (
    "Positional arguments", "Options", "Questions", "Panel", "Documents", "Local models", "Cost and speed",
    "Batches and machines", "Results and gates",
)  # fmt: skip
"""The order of the headings on a page of help."""
KINDS: dict[object, tuple[click.ParamType[Any], str]] = {
    Path: (click.Path(path_type=Path), "PATH"),
    int: (click.INT, "N"),
    float: (click.FLOAT, "X"),
    str: (click.STRING, "TEXT"),
}
"""How each type is read, and its placeholder; of a union the first that is listed here."""
WIDTH = 100
"""Columns that help takes at most."""
COLUMN = 26
"""Columns for the names of options; longer names have a line of their own."""


class Argument:
    """Marks a field that is given by its position, under this placeholder."""

    def __init__(self, metavar: str | None = None) -> None:
        self.metavar = metavar


class Names:
    """The names of an option, if they are not just `--` and the name of its field."""

    def __init__(self, *names: str) -> None:
        self.names = names


class Pairs(Names):
    """Marks a mapping that is given as pairs: each use of the option adds one, of the form `FIELD=COLUMN`."""

    def __init__(self, name: str, form: str) -> None:
        super().__init__(name)
        self.form = form


class Heading:
    """A heading of the help page for a field or, of a record, for these of its fields; others are not options."""

    def __init__(self, name: str, *names: str) -> None:
        self.name, self.names = name, names


class Choice(click.ParamType):  # type: ignore[type-arg]  # no generic class before click 8.4
    """One of several words, or else a value of another type."""

    name = "choice"

    def __init__(self, words: tuple[str, ...], other: click.ParamType[Any] | None = None) -> None:
        self.words, self.other = words, other

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.words:
            return value
        if self.other:
            return self.other.convert(value, param, ctx)
        raise unknown_name(str(param and param.name), str(value), self.words)


class Pair(click.ParamType):  # type: ignore[type-arg]  # as above
    """A name and a value."""

    name = "pair"

    def __init__(self, pairs: Pairs, number: bool) -> None:
        self.pairs, self.number = pairs, number

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        key, equals, text = value.partition("=")
        try:
            if equals and text:
                return key, float(text) if self.number else text
        except ValueError:
            pass
        (option,) = self.pairs.names
        raise UsageError(f"{option} {value!r} is not of the form {self.pairs.form}")


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """A parameter, and what the help page needs besides."""

    parameter: click.Parameter
    heading: str
    record: type
    field: str


class HelpPage(click.Command):
    """A command whose help is a page."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the page, at most `WIDTH` columns wide."""
        formatter = help_formatter()
        self.format_help(ctx, formatter)
        return formatter.getvalue().rstrip("\n")


class RecordCommand(HelpPage):
    """A command whose help fits 80 columns and has its texts under headings."""

    def __init__(self, name: str, record: type, entries: list[CommandParameter], **settings: Any) -> None:
        settings["context_settings"] = {"help_option_names": ["-h", "--help"]}
        super().__init__(name, params=[entry.parameter for entry in entries], **settings)
        self.record, self.entries = record, entries

    def read(self, arguments: list[str], *, parent: click.Context | None = None) -> Any:
        """Return the record of the arguments, without doing anything."""
        with self.make_context(self.name, arguments, parent=parent) as context:
            return _made(self.record, context.params)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options of each heading."""
        texts = {record: field_texts(record) for record in {entry.record for entry in self.entries}}
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for entry in self.entries:
            text = texts[entry.record][entry.field]
            if isinstance(entry.parameter, click.Option):
                entry.parameter.help = text
                rows[entry.heading].append(entry.parameter.get_help_record(ctx) or ("", ""))
            else:
                rows["Positional arguments"].append((entry.parameter.metavar or "", text))
        rows["Options"].append(("--help", "Show this message and exit."))
        for heading, listed in rows.items():
            if listed:
                with formatter.section(heading):
                    formatter.write_dl(listed, col_max=COLUMN)


def help_formatter() -> click.HelpFormatter:
    """Return a formatter as wide as the terminal, within limits."""
    from shutil import get_terminal_size

    return click.HelpFormatter(width=max(50, min(get_terminal_size().columns, WIDTH)))


def command(name: str, record: type[Record], do: Callable[[Record], int]) -> RecordCommand:
    """Return the command that makes the record of its options and passes it to `do`, which returns the exit code."""

    def call(**values: Any) -> None:
        click.get_current_context().exit(do(_made(record, values)))

    return RecordCommand(name, record, list(_entries(record, "Options")), callback=call, help=record.__doc__)


class Group(HelpPage, click.Group):
    """Commands under one name, each with its line."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the first sentence of each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(WIDTH)) for name, one in self.commands.items()])


def group(name: str, text: str, *commands: click.Command) -> click.Group:
    """Return the command that has these commands."""
    settings = {"help_option_names": ["-h", "--help"]}
    return Group(name, {str(one.name): one for one in commands}, help=text, context_settings=settings)


def field_texts(record: type) -> dict[str, str]:
    """Return the first paragraph of each field's docstring, read from the source of the record and its bases."""
    import ast
    from itertools import pairwise
    from textwrap import dedent

    texts = {of.name: "" for of in fields(record)}
    for base in reversed([base for base in record.__mro__ if is_dataclass(base)]):
        tree = ast.parse(dedent(inspect.getsource(base))).body[0]
        for of, text in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ()):
            if isinstance(of, ast.AnnAssign) and isinstance(of.target, ast.Name) and isinstance(text, ast.Expr):
                first = inspect.cleandoc(ast.literal_eval(text.value)).partition("\n\n")[0]
                texts[of.target.id] = first.replace("\n", " ")
    return texts


def _made(record: type[Record], values: dict[str, Any]) -> Record:
    made = {}
    for of in fields(record):  # type: ignore[arg-type]  # a dataclass, by the contract of `command`
        if of.name in values:
            made[of.name] = values[of.name]
        elif is_dataclass(of.default):
            made[of.name] = _made(type(of.default), values)
    return record(**made)


def _hint(record: type, name: str) -> tuple[Any, list[Any]]:
    """Return a field's type and marks."""
    base = next(base for base in record.__mro__ if name in inspect.get_annotations(base))
    holder = types.SimpleNamespace(__annotations__={name: inspect.get_annotations(base)[name]})
    hint = get_type_hints(holder, vars(sys.modules[base.__module__]), include_extras=True)[name]
    return (get_args(hint)[0], list(get_args(hint)[1:])) if get_origin(hint) is Annotated else (hint, [])


def _entries(record: type, heading: str, only: Iterable[str] = ()) -> Iterator[CommandParameter]:
    known = {of.name: of for of in fields(record)}
    for name in only or known:
        hint, marks = _hint(record, name)
        under = [mark for mark in marks if isinstance(mark, Heading)]
        if is_dataclass(hint):
            for mark in under or [Heading(heading)]:
                yield from _entries(hint, mark.name, mark.names)  # type: ignore[arg-type]
        else:
            yield CommandParameter(
                _parameter(known[name], hint, marks), under[0].name if under else heading, record, name
            )


def _parameter(of: Field[Any], hint: Any, marks: list[Any]) -> click.Parameter:
    parts = list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]
    optional = types.NoneType in parts
    if many := get_origin(hint) is tuple:
        parts = [get_args(hint)[0]]
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    plain = next((kind for kind in KINDS if kind in parts), None)
    kind, metavar = KINDS.get(plain, (None, ""))
    if words:
        kind, metavar = Choice(tuple(words), kind), "TEXT"
    default = {} if of.default is MISSING else {"default": of.default}
    for mark in marks:
        if isinstance(mark, Pairs):
            return click.Option(
                [of.name, *mark.names], type=Pair(mark, number=get_args(hint)[1] is float), metavar="TEXT",
                multiple=True, callback=lambda ctx, parameter, pairs: dict(pairs),
            )  # fmt: skip
        if isinstance(mark, Argument):
            metavar = mark.metavar or of.name.upper()
            metavar = (f"[{metavar}]" if default else metavar) + "..." * many
            settings = {} if many else default  # click 8.1 takes no default for any number
            return click.Argument(
                [of.name], type=kind, nargs=-1 if many else 1, metavar=metavar, required=not default, **settings
            )
    option = "--" + of.name.replace("_", "-")
    names = next((mark.names for mark in marks if isinstance(mark, Names)), (option,))
    if bool in parts or words == [True]:
        if optional and not words:
            names = (f"{option}/--no-{option[2:]}",)
        return click.Option([of.name, *names], is_flag=True, flag_value=True, **default)
    return click.Option(
        [of.name, *names], type=kind, metavar=metavar, multiple=many, required=not default,
        show_default=bool(of.default) and bool(default), **default,
    )  # fmt: skip
