"""`claimeval metrics` and `completion`: list of all metrics and vote rules, and completion of words
in a shell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, NamedTuple

from click.shell_completion import CompletionItem, get_completion_class

from claimeval.cli.command import command
from claimeval.cli.main import COMPLETE, app
from claimeval.cli.shared import OutputOptions
from claimeval.metrics import names
from claimeval.types.errors import unknown_name

COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
"""Loads zsh's completion, in case the user's file does not."""
CUT = 'string split ","'
WHOLE = 'string split -m 1 ","'
"""What click's script for fish has, which cuts values and texts at their first comma, and what
keeps them whole."""


@command("metrics")
class MetricsCommand(OutputOptions):
    """List the numbers that commands print, or explain one: by its name here or elsewhere.

    Example: claimeval metrics ndcg@10

    Example: claimeval metrics "hit ratio"
    """

    name: Annotated[str | None, "NAME"] = None
    """A metric or measure, its name in another tool, a group, or a vote rule.  [default: all]"""
    all: bool = False
    """Also list variants, counts, groups and vote rules."""

    def do(self) -> int:
        return self._explain(self.name) if self.name else self._list()

    def _list(self) -> int:
        listed = [number for number in names.numbers().values() if self.all or not number.variant]
        width = max(len(number.name) for number in listed) + 1
        for needs in dict.fromkeys(number.needs for number in listed):
            self.output.line()
            self.output.line("", bold=f"with {needs}")
            for number in listed:
                if number.needs == needs:
                    self.output.line(f" {number.name:{width}}{number.question}")
        if self.all:
            self._list_others()
        self.output.line()
        self.output.line("`claimeval metrics NAME` explains one; --all lists variants and groups.")
        self.output.line("Custom metrics: NAME=CLAIMS_OF:AGAINST, as in on_policy=answer:policy.")
        record = [number.model_dump(mode="json") for number in listed]
        return self.output.result("metrics", {"metrics": record})

    def _list_others(self) -> None:
        for kind in ("score: group", "measure: group", "vote rule"):
            self.output.line()
            self.output.line("", bold=kind)
            for row in rows():
                if row.kind == kind:
                    self.output.line(f"{row.name}: {row.description}", indent=1)

    def _explain(self, name: str) -> int:
        number = names.number_of(name)
        of_field = names.in_the_field(name)
        others = [sense for sense in of_field if sense.number != number or sense.rest]
        if number is None and len(others) == 1:
            (sense,) = others
            number = sense.number
            others = []
            sources = ", ".join(sense.sources)
            self.output.line(f" is {sense.expression} here ({sources})", bold=name)
        if number:
            self._draw(number)
        elif not others:
            return self._explain_other(name)
        if others:
            self._draw_others(name, others, alone=number is None)
        numbers = [*([number] if number else []), *(sense.number for sense in others)]
        shown = list(dict.fromkeys(numbers))
        elsewhere = []
        for meaning in names.meanings(name):
            elsewhere.append({"source": meaning.source, "name": meaning.name})
        record = {
            "metrics": [one.model_dump(mode="json") for one in shown],
            "elsewhere": elsewhere,
        }
        return self.output.result("metrics", record)

    def _draw_others(self, name: str, others: Iterable[names.Sense], *, alone: bool) -> None:
        self.output.line()
        if alone:
            self.output.line(" is the name of several numbers:", bold=name)
        else:
            self.output.line(bold="The same word elsewhere:")
        meanings = []
        for sense in others:
            meanings.append(
                (sense.expression, f"{', '.join(sense.sources)}: {sense.number.question}")
            )
        self.output.pairs(meanings, indent=1)

    def _draw(self, number: names.Number) -> None:
        self.output.line(f": {number.question}", bold=number.name)
        better = {"higher": "higher is better", "lower": "lower is better"}
        elsewhere: dict[str, list[str]] = {}
        for source, name in names.names_of(number):
            elsewhere.setdefault(source, []).append(name)
        call, steps, value = number.example
        lines = {
            "formula": number.formula,
            "needs": number.needs,
            "command": "\n".join(number.calls),
            "direction": better.get(number.better, "neither high nor low is better"),
            "source": number.source,
            "example": f"{call}\n= {steps}\n= {value}",
        }
        if elsewhere:
            named = (f"{', '.join(listed)} ({source})" for source, listed in elsewhere.items())
            lines["elsewhere"] = "; ".join(named)
        self.output.pairs(lines.items(), indent=1)

    def _explain_other(self, name: str) -> int:
        """Explain a group or a vote rule. Raises UsageError for a name of nothing."""
        listed = {row.name: row for row in rows()}
        if text := names.other_command(name):
            self.output.line(f": {text}", bold=name)
            return self.output.result("metrics", {"metrics": [], "command": text})
        if name not in listed:
            known = {*listed, *(number.base for number in names.numbers().values())}
            raise unknown_name("metric or vote rule", name, known)
        self.output.line(f" ({listed[name].kind}): {listed[name].description}", bold=name)
        return self.output.result("metrics", {"metrics": [listed[name]._asdict()]})


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
    # A shell completes the whole word, commas and all.
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
        kind = ""
        if option == "vote":
            kind = "vote rule"
        elif option == "metrics" and command in ("score", "measure"):
            kind = command
        return [(row.name, row.description) for row in rows() if row.kind.startswith(kind)]
    if option in ("judges", "judge", "extractor"):
        from claimeval import providers

        examples = list[str]()
        for row in (*providers.rows(), *providers.host_rows()):
            examples += filter(None, row.example.split(", "))
        return [(example, "") for example in examples]
    from claimeval.judging import prompts

    if option == "prompt":
        return [(name, "") for name in _shipped(prompts.STEPS)]
    step = {"extract_prompt": "extract", "assess_prompt": "assess"}.get(option)
    return [(name.partition("/")[2], "") for name in _shipped([step] if step else [])]


def _shipped(steps: Iterable[str]) -> Iterator[str]:
    """Yield the names of the prompts of some steps, without those in other languages."""
    from claimeval.judging import prompts

    for step in steps:
        yield from (name for name in prompts.shipped(step) if "." not in name)
