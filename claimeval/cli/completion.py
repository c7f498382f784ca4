"""`claimeval completion`: completion of commands, options and their values in a shell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from click.shell_completion import CompletionItem, get_completion_class

from claimeval.cli.command import Argument, command
from claimeval.cli.main import COMPLETE, app
from claimeval.cli.printer import Output

LISTED = {"completion": ("Upkeep", 5, "Complete commands, metrics and prompts in a shell.")}
COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
"""Loads zsh's completion, in case the user's file does not."""
CUT, WHOLE = 'string split ","', 'string split -m 1 ","'
"""What click's script for fish has, which cuts values and texts at their first comma, and what keeps them whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionOptions:
    """Print the script with which a shell completes commands, options, metrics, prompts and judges.

    bash: add `eval "$(claimeval completion bash)"` to ~/.bashrc; zsh: `eval "$(claimeval completion zsh)"` to ~/.zshrc;
    fish: `claimeval completion fish | source` to ~/.config/fish/config.fish.
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], Argument("SHELL")]
    """bash, zsh or fish."""
    output: Output = Output()


def do(args: CompletionOptions) -> int:
    """Print the script, and return the exit code."""
    shell = get_completion_class(args.shell)
    assert shell, "click knows these shells"
    script = shell(app, {}, "claimeval", COMPLETE).source().replace(CUT, WHOLE)
    script = COMPINIT + script if args.shell == "zsh" else script
    args.output.data(script)
    return args.output.result("completion", {"script": script})


completion = command("completion", CompletionOptions, do)


def values(command: str, option: str, typed: str) -> list[CompletionItem]:
    """Return the values of an option that takes a text, or what completes files.

    Args:
        command: The command.
        option: The parameter's name.
        typed: The beginning of the value; metrics may be separated by commas.
    """
    before, comma, last = typed.rpartition(",") if option == "metrics" else ("", "", typed)
    given = before.split(",")
    matching = [(name, text) for name, text in _known(command, option) if name.startswith(last) and name not in given]
    items = [CompletionItem(f"{before}{comma}{name}", help=text) for name, text in matching]
    return items or ([] if option in ("metrics", "vote", "name") else [CompletionItem(typed, type="file")])


def _known(command: str, option: str) -> Iterable[tuple[str, str]]:
    """Return the values of an option with their meaning."""
    if option in ("metrics", "vote", "name"):
        from claimeval.cli.metrics import rows

        kind = {"vote": "vote rule", "name": ""}.get(option, command if command in ("score", "measure") else "")
        return [(row.name, row.description) for row in rows() if row.kind.startswith(kind)]
    if option in ("judges", "judge", "extractor"):
        from claimeval import providers

        return [(example, "") for row in providers.rows() for example in row.example.split(", ") if example]
    from claimeval.judging import prompts

    steps = {"extract_prompt": ["extract"], "assess_prompt": ["assess"], "prompt": prompts.STEPS}.get(option, [])
    names = [name for step in steps for name in prompts.shipped(step) if "." not in name]
    return [(name if option == "prompt" else name.partition("/")[2], "") for name in names]
