"""Commands from frozen dataclasses: each field is an option, and its docstring is the help text.

The texts that annotate a field are the names of its option, if they are not `--` and the name of
the field; a text without a hyphen is the placeholder of a positional argument. The fields of nested
dataclasses are options too. Values are checked by the dataclass, so that the command line and
Python refuse the same values with the same messages.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from click.core import ParameterSource

from claimeval.cli.terminal import say, write_plain
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.paths import expanded

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from claimeval.cli.settings import Setting

Record = TypeVar("Record", bound=type)
MADE: dict[str, click.Command] = {}
"""The commands of the modules that were imported, by name."""
HEADINGS = (
    "Positional arguments",
    "Options",
    "Questions",
    "Panel",
    "Whole answers",
    "Documents",
    "Local models",
    "Cost and speed",
    "Batches and machines",
    "Results and gates",
)
"""The order of the headings on a page of help."""


class HomePath(click.Path):
    """A path whose leading `~` is the home directory, also in `--out=~/runs`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        return super().convert(expanded(value), param, ctx)


class Text(click.types.StringParamType):
    """A text, whose known values complete it in a shell."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the values that complete the text."""
        from claimeval.cli.metrics import values

        return values(ctx.info_name or "", param.name or "", incomplete)


class NumberOption(click.types.FloatParamType):
    """A number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises BadParameter with the number that was meant."""
        try:
            return float(value)
        except ValueError:
            self.fail(_no_number(str(value), "a number", param))


class Count(click.types.IntParamType):
    """A whole number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises BadParameter with the number that was meant."""
        try:
            return int(value)
        except ValueError:
            self.fail(_no_number(str(value), "a whole number", param))


def _no_number(value: str, kind: str, param: click.Parameter | None) -> str:
    """Return what is wrong with a text that is no number, and the number that it may mean."""
    digits = r"[0-9]+([.,][0-9]+)?" if kind == "a number" else "[0-9]+"
    example = "5"
    if match := re.search(digits, value):
        example = match[0].replace(",", ".")
    elif param and isinstance(param.default, int | float):
        example = str(param.default)
    return f"{value!r} is not {kind}, such as {example}"


KINDS: dict[object, tuple[click.ParamType[Any], str]] = {
    Path: (HomePath(path_type=Path), "PATH"),
    int: (Count(), "N"),
    float: (NumberOption(), "X"),
    str: (Text(), "TEXT"),
}
"""The click type and placeholder of each type; for a union, the first one listed here."""
SOURCES = "claimeval.settings"
"""Where a context keeps the file or variable of each setting that a command took from the
project."""
SAID = "claimeval.said"
"""Where a context keeps the lines of messages that the terminal shows."""
WIDTH = 100
"""Maximum width of a help page in columns."""
COLUMN = 26
"""Width of the names of options in columns; longer names have a separate line."""


@dataclass(frozen=True, slots=True)
class PairForm:
    """The form of the pairs of a mapping, such as `FIELD=COLUMN`; each use of the option adds
    one."""

    text: str


class WithoutValue(NamedTuple):
    """What an option means that is given without its value."""

    value: float


class Heading:
    """The heading of a field, or of some fields of a nested dataclass; fields without a heading are
    no options."""

    def __init__(self, name: str, *names: str, default: str = "") -> None:
        self.name = name
        self.names = names
        self.default = default
        """What the help calls the defaults of the fields, in place of what the fields say."""


class WordChoice(click.ParamType):  # type: ignore[type-arg]  # no generic class before click 8.4
    """One of several words, or a value of another type."""

    name = "choice"

    def __init__(self, words: tuple[str, ...], other: click.ParamType[Any] | None = None) -> None:
        self.words = words
        self.other = other

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.words:
            return value
        if self.other:
            try:
                return self.other.convert(value, param, ctx)
            except click.BadParameter as error:
                words = " or ".join(map(str, self.words))
                self.fail(f"{error.message}, or {words}", param, ctx)
        option = max(param.opts, key=len) if param else "a word"
        raise unknown_name(f"value of {option}:", str(value), self.words)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the words that complete the value."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self.words if str(word).startswith(incomplete)]


class Once(click.Option):
    """An option with one value. Another value is refused, so that none is dropped."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        # Click keeps the last of several values in silence, unless it is told to collect them.
        parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append")

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if given := opts.get(self.name or ""):
            values = [*dict.fromkeys(given)]
            # A shell that completes a line may see an option twice while it is typed.
            if len(values) > 1 and not ctx.resilient_parsing:
                both = ""
                if isinstance(self.type, Text):
                    both = f", or {','.join(values)} if it takes a list"
                option = max(self.opts, key=len)
                raise UsageError(
                    f"{option} is given {len(values)} values: {' and '.join(values)}; give"
                    f" one{both}"
                )
            opts = {**opts, str(self.name): given[-1]}
        return super().handle_parse_result(ctx, opts, args)


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """A parameter with its heading, and the dataclass and field that it comes from."""

    parameter: click.Parameter
    heading: Heading
    record: type
    field: str

    @property
    def text(self) -> str:
        """The text of the field."""
        text = field_texts(self.record)[self.field]
        if not self.heading.default:
            return text
        return re.sub(r"\[default: [^]]*\]", f"[default: {self.heading.default}]", text)


class RecordCommand(click.Command):
    """A command from a dataclass, whose help lists the options under headings."""

    def __init__(self, name: str, record: Any) -> None:
        self.record = record
        self.entries = list(_entries(record, Heading("Options")))
        self.door: Callable[..., Any] | None = getattr(record, "door", None)
        """Calls the API function of the command with its record and run options; None if it cannot
        be planned."""
        self.run: Callable[[Any], int] = record.do
        """Runs the command with its record, and returns the exit code."""
        super().__init__(
            name, params=[entry.parameter for entry in self.entries], help=record.__doc__
        )

    def invoke(self, ctx: click.Context) -> None:
        """Run the command with the options of the context, print what it logs and warns of, and
        exit."""
        from claimeval.cli.printer import notes_on_stderr

        record = self.record(**_field_values(self.record, ctx.params))
        with notes_on_stderr(quiet=bool(ctx.params.get("quiet"))) as ctx.meta[SAID]:
            code = self.run(record)
        ctx.exit(code)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context, with the settings of the project in place of options that are not
        typed.

        Prints each that is used with its source, and keeps the sources for the JSON object.
        """
        # Help and completion work also where the settings file has a mistake.
        if extra.get("resilient_parsing") or not {"-h", "--help"}.isdisjoint(args):
            return super().make_context(info_name, args, parent, **extra)
        from claimeval.cli.settings import settings_of

        given = settings_of(self.params)
        values = {name: setting.value for name, setting in given.items()}
        context = super().make_context(info_name, args, parent, default_map=values, **extra)
        used = [
            given[name]
            for name in given
            if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        ]
        context.meta[SOURCES] = {setting.name: setting.source for setting in used}
        if not context.params.get("quiet"):
            _say_sources(used)
        return context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options of each heading."""
        self._explain()
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for entry, parameter in zip(self.entries, self.params, strict=True):
            if isinstance(parameter, click.Option):
                rows[entry.heading.name].append(parameter.get_help_record(ctx) or ("", ""))
            else:
                rows["Positional arguments"].append((parameter.metavar or "", entry.text))
        rows["Options"].append(("--help", "Show this message and exit."))
        for heading, listed in rows.items():
            if listed:
                with formatter.section(heading):
                    formatter.write_dl(listed, col_max=COLUMN)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the options that complete a word, with their texts."""
        self._explain()
        return super().shell_complete(ctx, incomplete)

    def _explain(self) -> None:
        """Give the options their texts."""
        for entry, parameter in zip(self.entries, self.params, strict=True):
            if isinstance(parameter, click.Option):
                parameter.help = entry.text


def _say_sources(used: Iterable[Setting]) -> None:
    """Print the settings of each file or variable in a line."""
    by_source: dict[str, list[str]] = {}
    for setting in used:
        by_source.setdefault(setting.source, []).append(str(setting))
    for source, settings in by_source.items():
        say(f"from {source}: {', '.join(settings)}")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def command(name: str) -> Callable[[Record], Record]:
    """Make a class a command: a frozen dataclass whose fields are the options.

    Its method `do` runs the command and returns the exit code. The method `door`, if there is one,
    calls the API function with other `RunOptions`, so that `claimeval plan` can forecast the
    command.

    Args:
        name: The name; of two words for a command of a group.
    """

    def made(record: Any) -> Any:
        record = dataclass(frozen=True, slots=True, kw_only=True)(record)
        MADE[name] = RecordCommand(name.rpartition(" ")[2], record)
        return record

    return made


class CommandGroup(click.Group):
    """A command with subcommands. Without one, it prints its help, and the exit code is 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the help if there are no arguments: click 8.1 would exit with 0."""
        if not args and not ctx.resilient_parsing:
            write_plain(f"{ctx.get_help()}\n")
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raise UsageError for an unknown subcommand, with the closest match."""
        if args[0].startswith("-") or self.get_command(ctx, args[0]):
            return super().resolve_command(ctx, args)
        raise unknown_name(f"command of {ctx.command_path}:", args[0], self.list_commands(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands with the first sentence of each."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, member.get_short_help_str(WIDTH)) for name, member in self.commands.items()]
            )


def group(name: str, text: str) -> None:
    """Make a command of the commands whose names begin with its name."""
    members: dict[str, click.Command] = {}
    for whole, made in MADE.items():
        if whole.startswith(f"{name} "):
            members[whole.partition(" ")[2]] = made
    MADE[name] = CommandGroup(name, members, help=text)


@cache
def field_texts(record: type) -> dict[str, str]:
    """Return the first paragraph of each field's docstring, read from the source of the record and
    its bases."""
    import ast
    from textwrap import dedent

    texts = {field.name: "" for field in fields(record)}
    for base in reversed([base for base in record.__mro__ if is_dataclass(base)]):
        try:
            # Python keeps no docstrings of fields, so that they are read from the source, for help
            # alone.
            tree = ast.parse(dedent(inspect.getsource(base))).body[0]
        except OSError:  # made from a row, and not written in a file
            continue
        for field, text in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ()):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
            ):
                first = inspect.cleandoc(ast.literal_eval(text.value)).partition("\n\n")[0]
                texts[field.target.id] = first.replace("\n", " ")
    return texts


def _field_values(record: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a record's fields; nested records are their defaults with these
    values."""
    plain = {field.name: values[field.name] for field in fields(record) if field.name in values}
    nested: dict[str, Any] = {
        field.name: field.default for field in fields(record) if is_dataclass(field.default)
    }
    return plain | {
        name: replace(default, **_field_values(default, values)) for name, default in nested.items()
    }


def _hint(record: type, name: str) -> tuple[Any, list[Any]]:
    # Annotations are texts, which mean something in the module of the class that wrote them.
    base = next(base for base in record.__mro__ if name in inspect.get_annotations(base))
    holder = types.SimpleNamespace(__annotations__={name: inspect.get_annotations(base)[name]})
    hint = get_type_hints(holder, vars(sys.modules[base.__module__]), include_extras=True)[name]
    return (
        (get_args(hint)[0], list(get_args(hint)[1:]))
        if get_origin(hint) is Annotated
        else (hint, [])
    )


def _entries(record: type, heading: Heading, defaults: object = None) -> Iterator[CommandParameter]:
    """Yield the parameters of a record, its own before inherited ones; `defaults` is the default of
    a nested record."""
    by_name = {field.name: field for field in fields(record)}
    own_first: dict[str, None] = {}
    for base in record.__mro__:
        own_first |= dict.fromkeys(inspect.get_annotations(base))
    for name in heading.names or filter(by_name.get, own_first):
        hint, annotations = _hint(record, name)
        under = [part for part in annotations if isinstance(part, Heading)]
        if isinstance(hint, type) and is_dataclass(hint):
            inner = by_name[name].default
            for part in under or [Heading(heading.name)]:
                yield from _entries(hint, part, inner)
        else:
            default = getattr(defaults, name, by_name[name].default)
            yield CommandParameter(
                _parameter(name, default, hint, annotations),
                under[0] if under else heading,
                record,
                name,
            )


_PAIR = re.compile(r"([^:=%]+) ?[:=] ?([0-9.]+)(%?)")
"""A metric and a number, as people write them."""


def _meant(option: str, pair: str) -> str:
    """Return the pair that was meant, as the end of a message; empty if that is not clear."""
    match = _PAIR.fullmatch(pair)
    if not match:
        return ""
    name, number, percent = match.groups()
    value = float(number) / 100 if percent else float(number)
    return f"; write {option} {name}={value:g}"


def _mapping(
    option: str,
    form: PairForm,
    kind: Any,
    _: click.Context,
    __: click.Parameter,
    given: Iterable[str],
) -> Any:
    """Return pairs as a mapping, whose values are numbers, texts or tuples of texts.

    A tuple may have empty texts. Raises UsageError for another form, and if a name has two values
    that are no tuple.
    """
    values = dict[str, Any]()
    for pair in given:
        key, equals, text = pair.partition("=")
        try:
            value = float(text) if kind is float else text
        except ValueError:
            text = ""
        several = get_origin(kind) is tuple
        if not equals or not (text or several):
            raise UsageError(
                f"{option} {pair!r} is not of the form {form.text}{_meant(option, pair)}"
            )
        if several:
            values[key] = (*values.get(key, ()), value)
        elif values.setdefault(key, value) != value:
            raise UsageError(f"{option} {key} is given twice: {values[key]} and {value}; give one")
    return values


Annotation = TypeVar("Annotation")


def _annotation(kind: type[Annotation], annotations: Iterable[Any]) -> Annotation | None:
    return next((part for part in annotations if isinstance(part, kind)), None)


def _argument(
    name: str, placeholder: str, kind: Any, repeated: bool, default: Mapping[str, Any]
) -> click.Argument:
    metavar = f"[{placeholder}]" if default else placeholder
    return click.Argument(
        [name],
        type=kind,
        nargs=-1 if repeated else 1,
        metavar=f"{metavar}..." if repeated else metavar,
        required=not default,
        **({} if repeated else default),  # click 8.1 takes no default for any number
    )


def _members(hint: Any) -> list[Any]:
    """Return the types in a union, the type of the items of a tuple, or the type itself."""
    if get_origin(hint) is tuple:
        return [get_args(hint)[0]]
    return list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]


def _words(parts: Iterable[Any]) -> list[Any]:
    """Return the words that the types of a union allow."""
    words: list[Any] = []
    for part in parts:
        words += get_args(part) if get_origin(part) is Literal else ()
    return words


def _kind(parts: Sequence[Any], words: Sequence[Any]) -> tuple[click.ParamType[Any] | None, str]:
    """Return the click type of a union, and the placeholder of its values."""
    plain = next((kind for kind in KINDS if kind in parts), None)
    if plain is None:
        return (WordChoice(tuple(words)), "TEXT") if words else (None, "")
    kind, metavar = KINDS[plain]
    return (WordChoice(tuple(words), kind), "TEXT") if words else (kind, metavar)


def _parameter(name: str, value: Any, hint: Any, annotations: list[Any]) -> click.Parameter:
    repeated = get_origin(hint) is tuple
    parts = _members(hint)
    words = _words(parts)
    kind, metavar = _kind(parts, words)
    default = {} if value is MISSING else {"default": value}
    option = "--" + name.replace("_", "-")
    names = [part for part in annotations if isinstance(part, str)] or [option]
    if not names[0].startswith("-"):
        return _argument(name, names[0], kind, repeated, default)
    form = _annotation(PairForm, annotations)
    if form is not None:
        made = partial(_mapping, names[0], form, get_args(hint)[1])
        return click.Option([name, *names], metavar="TEXT", multiple=True, callback=made)
    if bool in parts or words == [True]:
        # None is “as in the run” or “as in the panel file”, so that no has a word of its own.
        if types.NoneType in parts and not words:
            names = [f"{option}/--no-{option[2:]}"]
        return click.Option([name, *names], is_flag=True, flag_value=True, **default)
    alone = _annotation(WithoutValue, annotations)
    if alone is not None:
        return click.Option(
            [name, *names],
            type=kind,
            metavar=f"[{metavar}]",
            is_flag=False,
            flag_value=str(alone.value),
            **default,
        )
    return (click.Option if repeated else Once)(
        [name, *names],
        type=kind,
        metavar=metavar,
        multiple=repeated,
        required=not default,
        # None, an empty tuple or an empty text are no defaults that a reader could use.
        show_default=bool(value) and bool(default),
        **default,
    )
