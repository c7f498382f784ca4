"""Messages for arguments that the parser of the command line refuses: what is wrong, and what to
type instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import click

from claimeval.cli.command import MADE, RecordCommand, WordChoice

NO_JUDGE = (
    "no judge named; claimeval never chooses a paid service. For example --judge openai:gpt-5-mini,"
    " or --judge local:lexical (words only, free); CLAIMEVAL_JUDGE or `judge` in claimeval.toml"
    " keeps one"
)
JUDGES = ("judges", "judge")
OTHER_NAMES = {
    "--model": "--judge",
    "--llm": "--judge",
    "--evaluator": "--judge",
    "--output": "--out",
    "--output-dir": "--out",
    "--outdir": "--out",
    "--budget": "--max-cost",
    "--cost-limit": "--max-cost",
    "--threads": "--concurrency",
    "--workers": "--concurrency",
    "--jobs": "--concurrency",
    "--num-workers": "--concurrency",
    "--parallel": "--concurrency",
    "--max-concurrency": "--concurrency",
    "--max-connections": "--concurrency",
    "--num-samples": "--limit",
    "--max-samples": "--limit",
    "--head": "--limit",
    "--threshold": "--fail-under",
    "--min-score": "--fail-under",
    "--lang": "--language",
    "--columns": "--field",
    "--column": "--field",
    "--force": "--overwrite",
    "--silent": "--quiet",
    "--verbose": "--details",
    "--debug": "--details",
    "--no-progress": "--quiet",
    "--cache-dir": "--cache",
    "--prompt": "--assess-prompt",
}
"""Options in other tools, and ours for the same."""
PANEL_LINES = ("vote", "tie", "quorum")
"""Options of `rejudge` that the commands which ask judges read from a panel file."""
NAMED_FIRST = {"--data": "DATA", "--input": "DATA", "--dataset": "DATA", "--run": "RUN"}
"""Options in other tools for what is an argument without a name here."""
EXAMPLES = {
    "DATA": "answers.jsonl",
    "RUN": "runs/a",
    "RUN|DATA": "runs/a",
    "SOURCE": "runs/a",
    "QRELS": "qrels.txt",
    "TREC_RUN": "bm25.run",
    "LOG": "log.jsonl",
    "CORPUS": "docs.jsonl",
    "PROMPT": "assess/three_way",
    "A": "assess/three_way",
    "B": "assess/binary",
    "SHELL": "bash",
}
"""Arguments as examples have them, by placeholder."""
OF_COMMANDS = {
    "compare": "runs/a runs/b",
    "experiment": "prompts.yaml",
    "cache export": "replies.jsonl",
    "cache import": "replies.jsonl",
    "import-replies": "recorded.json",
}
"""What the argument is in examples of these commands."""
OF_OPTIONS = {"--out": "runs/b", "--corpus": "docs.jsonl"}
"""What options with a path are in examples."""
_PROVIDER = re.compile(r"(?!https?:|[A-Za-z]:[\\/])[a-z]+:[^/=]")
"""The beginning of a judge, as in `openai:gpt-5-mini`."""
NEAR = 0.75
"""How similar a name must be to be the one that was meant. A distant guess misleads more than none:
`--threads` is no misspelling of `--reasons`."""


def in_words(error: click.ClickException, arguments: Sequence[str]) -> str:
    """Return the message for an error of the parser.

    Args:
        error: The error.
        arguments: The words of the command line after `claimeval`.
    """
    context = getattr(error, "ctx", None) or _context(arguments)
    if isinstance(error, click.NoSuchOption):
        return _no_such_option(error, context)
    if isinstance(error, click.MissingParameter) and error.param:
        return _missing(error.param, context, arguments)
    if isinstance(error, click.BadOptionUsage):
        return _without_value(error, context)
    if isinstance(error, click.BadParameter) and error.param:
        return f"{_longest(error.param)}: {error.message}"
    if context and error.message.startswith("Got unexpected extra argument"):
        return _too_many(error, context)
    return error.format_message()


def _context(arguments: Sequence[str]) -> click.Context | None:
    """Return a context of the command that the words name; None if they name none.

    The parser's errors about values of options have no context.
    """
    from claimeval.cli.main import app

    command: click.Command | None = app
    context = click.Context(app, info_name="claimeval")
    for word in arguments:
        if not isinstance(command, click.Group):
            return context
        command = command.get_command(context, word)
        if command is None:
            return None
        context = click.Context(command, info_name=word, parent=context)
    return context


def _path(context: click.Context | None) -> str:
    """Return the command as it is typed, such as `claimeval cache export`."""
    return context.command_path if context else "claimeval"


def _options(command: click.Command | None) -> Iterator[str]:
    for parameter in command.params if command else ():
        if isinstance(parameter, click.Option):
            yield from parameter.opts
            yield from parameter.secondary_opts


def _longest(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        return _placeholder(parameter)
    return max(parameter.opts, key=len)


def _placeholder(parameter: click.Parameter) -> str:
    return (parameter.metavar or parameter.name or "").removesuffix("...").strip("[]")


def _no_such_option(error: click.NoSuchOption, context: click.Context | None) -> str:
    """Return what to type instead of an option that a command does not have."""
    name = error.option_name
    path = _path(context)
    command = context.command if context else None
    refused = f"{path} has no option {name}"
    lists = f"`{path} --help` lists all options"
    if near := _nearest(name, list(_options(command))):
        return f"{refused}. Did you mean {near}? {lists}"
    arguments = map(_placeholder, command.params) if command else ()
    if NAMED_FIRST.get(name) in arguments:
        return f"{refused}: type the path alone, as in `{path} PATH`"
    others = [of for of, other in sorted(_commands()) if name in _options(other)]
    if others:
        line = f"; a panel file has it, as the line `{name[2:].replace('-', '_')}: ...`"
        in_file = line if "--judge" in _options(command) and name[2:] in PANEL_LINES else ""
        return f"{refused}; it is an option of {', '.join(others[:3])}{in_file}. {lists}"
    return f"{refused}; {lists}"


def _nearest(name: str, options: Sequence[str]) -> str | None:
    """Return the option that begins with this name, or is the same in other tools, or is spelled
    alike."""
    begins = [option for option in options if option.startswith(name)]
    ours = [option for option in options if option == OTHER_NAMES.get(name)]
    near = begins or ours or get_close_matches(name, options, n=1, cutoff=NEAR)
    return near[0] if near else None


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Yield all commands by name; their modules are imported."""
    from importlib import import_module

    from claimeval.cli.main import COMMANDS

    for _, module, _ in COMMANDS.values():
        import_module(f"claimeval.cli.{module}")
    for name, command in MADE.items():
        if isinstance(command, RecordCommand):
            yield name, command


def _text(command: click.Command | None, parameter: click.Parameter) -> str:
    """Return the help text of a parameter."""
    if not isinstance(command, RecordCommand):
        return ""
    texts = {entry.parameter.name: entry.text for entry in command.entries}
    return texts.get(parameter.name, "").partition("  [")[0].rstrip(".")


def _example(command_name: str, parameter: click.Parameter) -> str:
    """Return a value of a parameter, as an example."""
    if isinstance(parameter.type, WordChoice):
        return str(parameter.type.words[0])
    placeholder = _placeholder(parameter)
    if command_name in OF_COMMANDS and isinstance(parameter, click.Argument):
        return OF_COMMANDS[command_name]
    if isinstance(parameter, click.Option) and placeholder == "PATH":
        return OF_OPTIONS.get(_longest(parameter), "PATH")
    return EXAMPLES.get(placeholder, placeholder)


def _missing(
    parameter: click.Parameter, context: click.Context | None, arguments: Sequence[str]
) -> str:
    """Return what a required option or argument is, and the command line with it."""
    if parameter.name in JUDGES:
        return _no_judge(arguments)
    command = context.command if context else None
    path = _path(context)
    name = path.removeprefix("claimeval ")
    text = _text(command, parameter)
    what = f": {text}" if text else ""
    if isinstance(parameter, click.Option):
        option = _longest(parameter)
        typed = shlex.join(["claimeval", *arguments, option, _example(name, parameter)])
        return f"{path} needs {option}{what}. For example: {typed}"
    words = [path]
    for other in command.params if command else ():
        if other.required and isinstance(other, click.Argument):
            words.append(_example(name, other))
    return f"{path} needs {_placeholder(parameter)}{what}. For example: {' '.join(words)}"


def _no_judge(arguments: Sequence[str]) -> str:
    """Return the message for a missing judge, which may have been typed as an argument."""
    for word in arguments:
        if _PROVIDER.match(word):
            return f"a judge is an option: type -j {word}"
    return NO_JUDGE


def _without_value(error: click.BadOptionUsage, context: click.Context | None) -> str:
    """Return the message for an option whose value is missing, or that takes none."""
    command = context.command if context else None
    name = error.option_name
    for parameter in command.params if command else ():
        if name not in parameter.opts or not isinstance(parameter, click.Option):
            continue
        if parameter.is_flag:
            return f"{name} takes no value; type it alone"
        text = _text(command, parameter)
        return f"{name} needs a value: {name} {parameter.metavar or 'VALUE'}. {text}".rstrip(". ")
    return error.format_message()


def _too_many(error: click.ClickException, context: click.Context) -> str:
    """Return the message for more arguments than a command takes."""
    arguments = [one for one in context.command.params if isinstance(one, click.Argument)]
    takes = " ".join(map(_placeholder, arguments)) or "no argument"
    extra = error.message.partition("(")[2].rpartition(")")[0]
    lists = ""
    if "--metrics" in _options(context.command):
        lists = ", separate metrics with commas (-m A,B)"
    return (
        f"{context.command_path} takes {takes}, and {extra!r} is too many. Quote values that have"
        f" spaces{lists}, and type the name of an option before its value;"
        f" `{context.command_path} --help` lists them"
    )
