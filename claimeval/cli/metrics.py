"""`claimeval metrics` and `completion`: list of all metrics and vote rules, and completion of words
in a shell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, NamedTuple

from click.shell_completion import CompletionItem, get_completion_class

from claimeval.cli.command import command
from claimeval.cli.main import COMPLETE, app
from claimeval.cli.shared import OutputOptions
from claimeval.runs.views import columns, table
from claimeval.types.errors import unknown_name

COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
"""Loads zsh's completion, in case the user's file does not."""
CUT = 'string split ","'
WHOLE = 'string split -m 1 ","'
"""What click's script for fish has, which cuts values and texts at their first comma, and what
keeps them whole."""


@command("metrics")
class MetricsCommand(OutputOptions):
    """List all metrics and vote rules, or explain one.

    Example: claimeval metrics faithfulness
    """

    name: Annotated[str | None, "NAME"] = None
    """A metric, a group of metrics, or a vote rule.  [default: all]"""

    def do(self) -> int:
        from claimeval.metrics.rows import canonical_name

        listed = {row.name: row for row in rows()}
        if self.name is None:
            self.output.draw(
                [table("metrics", columns("name", "of", "description"), listed.values())]
            )
            self.output.line(
                "Custom metrics: NAME=CLAIMS_OF:AGAINST, as in on_policy=answer:policy."
            )
        else:
            name = self.name if self.name in listed else canonical_name(self.name)
            if name not in listed:
                raise unknown_name("metric or vote rule", self.name, listed)
            listed = {name: listed[name]}
            self.output.line(f" ({listed[name].kind}): {listed[name].description}", bold=name)
        return self.output.result(
            "metrics", {"metrics": [row._asdict() for row in listed.values()]}
        )


class MetricRow(NamedTuple):
    """A row of the list: a metric, a group or a vote rule."""

    name: str
    kind: str
    """The command that computes it and, for metrics of claims, their part and evidence."""
    description: str


def rows() -> Iterator[MetricRow]:
    """Yield all metrics, groups and vote rules."""
    from claimeval import lexical
    from claimeval.evaluation import measure
    from claimeval.judging.panel import rules
    from claimeval.metrics.derived import DERIVED, GROUPS, NUMBERED
    from claimeval.metrics.rows import METRICS

    for row in METRICS.values():
        yield MetricRow(row.name, f"score: {row.claims_of} against {row.against}", row.description)
    for derived in DERIVED.values():
        yield MetricRow(
            derived.name, f"score: from {', '.join(derived.needs)}", derived.description
        )
    for name, (needs, _, text) in NUMBERED.items():
        yield MetricRow(f"{name}@N", f"score: from {', '.join(needs)}", text.format("N"))
    for name, members in GROUPS.items():
        yield MetricRow(name, "score: group", ", ".join(members))
    for name, metric in lexical.ALL_METRICS.items():
        yield MetricRow(name, "measure: words", metric.meaning)
    for name, members in measure.GROUPS.items():
        yield MetricRow(name, "measure: group", ", ".join(members))
    for name, rule in rules.VOTES.items():
        summary, _, _ = (rule.decide.__doc__ or "").partition("\n\n")
        yield MetricRow(name, "vote rule", " ".join(summary.split()).rstrip("."))


@command("completion")
class CompletionCommand(OutputOptions):
    """Print the script with which a shell completes commands, options, metrics, prompts and judges.

    bash: add `eval "$(claimeval completion bash)"` to ~/.bashrc; zsh: `eval "$(claimeval completion
    zsh)"` to ~/.zshrc; fish: `claimeval completion fish | source` to ~/.config/fish/config.fish.
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], "SHELL"]
    """bash, zsh or fish."""

    def do(self) -> int:
        shell = get_completion_class(self.shell)
        assert shell, "click knows these shells"
        script = shell(app, {}, "claimeval", COMPLETE).source().replace(CUT, WHOLE)
        script = COMPINIT + script if self.shell == "zsh" else script
        self.output.data(script)
        return self.output.result("completion", {"script": script})


def values(command: str, option: str, typed: str) -> list[CompletionItem]:
    """Return the values of an option that takes a text, or what completes files.

    Args:
        command: The command.
        option: The parameter's name.
        typed: The beginning of the value; metrics may be separated by commas.
    """
    before, comma, last = typed.rpartition(",") if option == "metrics" else ("", "", typed)
    given = before.split(",")
    matching = [
        (name, text)
        for name, text in _known(command, option)
        if name.startswith(last) and name not in given
    ]
    items = [CompletionItem(f"{before}{comma}{name}", help=text) for name, text in matching]
    return items or (
        [] if option in ("metrics", "vote", "name") else [CompletionItem(typed, type="file")]
    )


def _known(command: str, option: str) -> Iterable[tuple[str, str]]:
    """Return the values of an option with their meaning."""
    if option in ("metrics", "vote", "name"):
        kind = {"vote": "vote rule", "name": ""}.get(
            option, command if command in ("score", "measure") else ""
        )
        return [(row.name, row.description) for row in rows() if row.kind.startswith(kind)]
    if option in ("judges", "judge", "extractor"):
        from claimeval import providers

        examples = list[str]()
        for row in providers.rows():
            examples += filter(None, row.example.split(", "))
        return [(example, "") for example in examples]
    from claimeval.judging import prompts

    steps = {
        "extract_prompt": ["extract"],
        "assess_prompt": ["assess"],
        "prompt": prompts.STEPS,
    }.get(option, [])
    names = list[str]()
    for step in steps:
        names += (name for name in prompts.shipped(step) if "." not in name)
    return [(name if option == "prompt" else name.partition("/")[2], "") for name in names]
