"""Commands from records: what each type of field becomes, and the page of help."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest

from claimeval.cli.command import (
    MADE,
    Heading,
    PairForm,
    RecordCommand,
    command,
    field_texts,
    group,
)
from claimeval.cli.main import HINTS, UNLISTED, app
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions, require_at_least
from tests.command_line import call


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """A record in the record."""

    depth: int = 3
    """How deep.

    Not in the help.
    """
    hidden: int = 7
    """Python only."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "depth")


@command("do")
class Options:
    """Do something.

    Example: it do DATA
    """

    data: Annotated[Path, "DATA"]
    """The data."""
    more: Annotated[tuple[str, ...], "MORE"] = ()
    """More data."""
    judges: Annotated[tuple[str, ...], "-j", "--judge"]
    """Repeatable."""
    name: str | None = None
    """A text."""
    folder: str | Path | None = None
    """A path."""
    share: float = 0.5
    """A number."""
    size: int | Literal["auto"] = "auto"
    """A whole number, or auto."""
    mode: Literal["fast", "slow"] = "fast"
    """fast or slow."""
    loud: bool = False
    """A flag."""
    either: bool | None = None
    """A flag with a counterpart."""
    only: Literal[True] | None = None
    """A flag that is true or not given."""
    limits: Annotated[Mapping[str, float], "--limit", PairForm("METRIC=X")] = field(
        default_factory=dict
    )
    """Pairs."""
    nested: Annotated[Nested, Heading("Panel", "depth")] = Nested()

    def do(self) -> int:
        return 0


def of(name: str) -> RecordCommand:
    """A command by its name."""
    found = app.get_command(click.Context(app), name) or MADE[name]
    assert isinstance(found, RecordCommand)
    return found


def parsed(*arguments: str) -> Options:
    """The record that the command makes of the arguments."""
    found = read(of("do"), *arguments)
    assert isinstance(found, Options)
    return found


def read(one: RecordCommand, *arguments: str) -> Any:
    """What a command would run with."""
    found: list[Any] = []

    def keep(record: Any) -> int:
        found.append(record)
        return 0

    one = copy(one)
    one.run = keep
    with (
        pytest.raises(click.exceptions.Exit),
        one.make_context("do", ["DATA", "-j", "x", *arguments]) as context,
    ):
        one.invoke(context)
    return found[0]


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ((), "data", Path("DATA")),
        ((), "more", ()),
        (("a", "b"), "more", ("a", "b")),
        ((), "judges", ("x",)),
        (("--judge", "y"), "judges", ("x", "y")),
        ((), "name", None),
        (("--name", "Ada"), "name", "Ada"),
        (("--folder", "a/b"), "folder", Path("a/b")),
        ((), "share", 0.5),
        (("--share", "2"), "share", 2.0),
        ((), "size", "auto"),
        (("--size", "8"), "size", 8),
        (("--mode", "slow"), "mode", "slow"),
        ((), "loud", False),
        (("--loud",), "loud", True),
        ((), "either", None),
        (("--either",), "either", True),
        (("--no-either",), "either", False),
        ((), "only", None),
        (("--only",), "only", True),
        ((), "limits", {}),
        (("--limit", "a=0.5", "--limit", "b=1"), "limits", {"a": 0.5, "b": 1.0}),
        ((), "nested", Nested()),
        (("--depth", "9"), "nested", Nested(depth=9)),
    ],
)
def test_a_field_becomes_an_option_of_its_type(
    arguments: tuple[str, ...], field: str, value: object
) -> None:
    found = getattr(parsed(*arguments), field)
    assert found == value
    assert type(found) is type(value) or isinstance(value, Path)


@command("deeper")
class Deeper(Options):
    """Do it deeper."""

    nested: Annotated[Nested, Heading("Panel", "depth")] = Nested(depth=5, hidden=1)


def test_the_default_of_a_nested_record_decides_the_defaults_of_its_options() -> None:
    one = of("deeper")
    records = [read(one, *arguments) for arguments in ((), ("--depth", "9"))]
    assert [record.nested for record in records] == [
        Nested(depth=5, hidden=1),
        Nested(depth=9, hidden=1),
    ]
    assert "[default: 5]" in one.get_help(click.Context(one))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("--depth", "0"), UsageError, "depth: 0; it needs 1 or more"),
        (("--mode", "slwo"), UsageError, "unknown value of --mode: 'slwo'. Did you mean 'slow'?"),
        (("--share", "much"), click.UsageError, "'much' is not a number"),
        (("--limit", "a"), UsageError, "--limit 'a' is not of the form METRIC=X"),
        (("--limit", "a=b"), UsageError, "--limit 'a=b' is not of the form METRIC=X"),
        (
            ("--limit", "a=1", "--limit", "b=3", "--limit", "a=2"),
            UsageError,
            "--limit a is given twice: 1.0 and 2.0",
        ),
        (
            ("--name", "a", "--name", "b"),
            UsageError,
            "--name is given 2 values: a and b; give one, or a,b if it takes a",
        ),
        (
            ("--depth", "4", "--depth", "5"),
            UsageError,
            "--depth is given 2 values: 4 and 5; give one",
        ),
        (("--size", "big"), click.UsageError, "'big' is not a whole number"),
        (("--hidden", "1"), click.UsageError, "No such option"),
        (("--naem", "x"), click.UsageError, "--name"),
    ],
)
def test_what_does_not_fit_is_refused_in_the_words_of_the_record(
    arguments: tuple[str, ...], error: type[Exception], words: str
) -> None:
    one = of("do")
    with (
        pytest.raises(error) as refused,
        one.make_context("do", ["DATA", "-j", "x", *arguments]) as context,
    ):
        one.invoke(context)
    text = (
        refused.value.format_message()
        if isinstance(refused.value, click.UsageError)
        else str(refused.value)
    )
    assert words in text


def test_the_page_has_first_paragraphs_under_headings() -> None:
    one = of("do")
    page = one.get_help(click.Context(one, info_name="it do"))
    lines = page.splitlines()
    assert lines[0] == "Usage: it do [OPTIONS] DATA [MORE]..."
    assert "Positional arguments:\n  DATA       The data.\n  [MORE]...  More data." in page
    assert lines.index("Options:") < lines.index("Panel:")
    assert "-j, --judge TEXT        Repeatable.  [required]" in page
    assert "--share X               A number.  [default: 0.5]" in page
    assert "--either / --no-either  A flag with a counterpart." in page
    assert "  --depth N  How deep.  [default: 3]" in page
    assert "Not in the help" not in page
    assert "--hidden" not in page


def test_a_record_that_inherits_has_the_texts_of_its_base() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class More(Nested):
        """More of it."""

        width: int = 1
        """How wide."""

    assert field_texts(More) == {
        "depth": "How deep.",
        "hidden": "Python only.",
        "width": "How wide.",
    }


def every_command(
    one: click.Command, path: tuple[str, ...] = ()
) -> list[tuple[str, click.Command]]:
    if path and not getattr(one, "commands", None):
        return [(" ".join(path), one)]
    assert isinstance(one, click.Group)
    context = click.Context(one)
    names = [*one.list_commands(context), *(UNLISTED if not path else ())]
    found: list[tuple[str, click.Command]] = []
    for name in names:
        member = one.get_command(context, name)
        assert member, name
        found += every_command(member, (*path, name))
    return found


def test_every_option_of_every_command_has_a_text_and_its_whole_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path, one in every_command(app):
        page = one.get_help(
            click.Context(one, info_name=f"claimeval {path}", **app.context_settings)
        )
        assert all(
            len(line) <= 80
            for line in page.splitlines()
            if not line.startswith("  ") or "  " not in line
        ), path
        for option in one.params:
            if isinstance(option, click.Option):
                assert option.help, f"{path} {option.opts}"
                assert all(name in page for name in option.opts), f"{path} {option.opts}"


def test_the_page_of_score_is_short_and_says_every_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    score = of("score")
    page = score.get_help(click.Context(score, info_name="claimeval score", **app.context_settings))
    assert len(page.splitlines()) <= 80
    assert len([param for param in score.params if param.opts[0].startswith("-")]) <= 50
    assert max(map(len, page.splitlines())) <= 80
    headings = [
        line for line in page.splitlines() if line.endswith(":") and not line.startswith(" ")
    ]
    assert headings == [
        "Positional arguments:",
        "Options:",
        "Questions:",
        "Cost and speed:",
        "Batches and machines:",
        "Results and gates:",
    ]


def test_the_root_lists_every_command_with_the_name_of_its_module() -> None:
    context = click.Context(app)
    for name in (*app.list_commands(context), *UNLISTED):
        one = app.get_command(context, name)
        assert one
        assert one.name == name
    assert not set(HINTS) & set(app.list_commands(context)), (
        "a hint is for a name that is no command"
    )
    assert set(HINTS.values()) <= set(app.list_commands(context))


@pytest.mark.parametrize(
    ("given", "meant"), [*HINTS.items(), ("scor", "score"), ("rejugde", "rejudge")]
)
def test_other_names_hint_at_the_command_that_is_meant(given: str, meant: str) -> None:
    with (
        pytest.raises(UsageError, match=f"Did you mean '{meant}'"),
        app.make_context("claimeval", [given]) as context,
    ):
        app.invoke(context)


def test_a_group_lists_its_commands() -> None:
    command("store do")(type("Done", (Options,), {"__doc__": "Do something."}))
    group("store", "Look after it.")
    found = MADE["store"]
    assert "  do  Do something." in found.get_help(click.Context(found, info_name="store"))


@pytest.mark.parametrize("group", ["", "cache", "plan"])
def test_a_group_without_a_command_prints_its_help_and_exits_with_2(group: str) -> None:
    done = call(*group.split(), exits=2)
    assert done.stdout.startswith(f"Usage: claimeval{' ' * bool(group)}{group} [")
    assert not done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--nope",), "claimeval has no option --nope; `claimeval --help` lists all options"),
        (("score", "--metric", "f1"), "claimeval score has no option --metric. Did you mean"),
        (
            ("score", "--workers", "4"),
            "claimeval score has no option --workers. Did you mean --concurrency?",
        ),
        (("score", "--labels", "a"), "claimeval score has no option --labels; it is an option of"),
        (("score", "--data", "a.jsonl"), "claimeval score has no option --data: type the path"),
        (
            ("score",),
            "claimeval score needs DATA: The samples: .jsonl, .json, .csv, .xlsx or .parquet. For"
            " example: claimeval score answers.jsonl",
        ),
        (
            ("push", "runs/a"),
            "claimeval push needs --to: otlp (events for a collector of OpenTelemetry), mlflow (a"
            " run), langfuse (scores of traces) or phoenix (annotations of spans). For example:"
            " claimeval push runs/a --to otlp",
        ),
        (("compare",), "claimeval compare needs RUN: Run directories"),
        (("score", "a.jsonl", "-j"), "-j needs a value: -j TEXT. PROVIDER:MODEL[@URL]"),
        (("score", "a.jsonl", "--overwrite=yes"), "--overwrite takes no value; type it alone"),
        (
            ("report", "runs/a", "runs/b"),
            "claimeval report takes RUN, and 'runs/b' is too many. Quote values that have spaces",
        ),
        (
            ("score", "a.jsonl", "--limit", "x"),
            "--limit: 'x' is not a whole number, such as 5",
        ),
        (("score", "a.jsonl", "--limit", "20.0"), "--limit: '20.0' is not a whole number"),
        (
            ("score", "a.jsonl", "--max-cost", "$2.50"),
            "--max-cost: '$2.50' is not a number, such as 2.50",
        ),
        (
            ("score", "a.jsonl", "--max-cost", "$2,50"),
            "--max-cost: '$2,50' is not a number, such as",
        ),
        (
            ("score", "a.jsonl", "--claims-per-call", "lots"),
            "--claims-per-call: 'lots' is not a whole number, such as 5, or auto",
        ),
        (("score", "a.jsonl", "openai:gpt-5-mini"), "a judge is an option: type -j openai:gpt-5-m"),
        (("help",), "no such command 'help'. Type `claimeval --help`"),
        (
            ("doctor", "--judge", "http://127.0.0.1:9/v1"),
            "judge 'http://127.0.0.1:9/v1' has no",
        ),
        (
            ("score", "a.jsonl", "-j", "local:lexical", "--fail-under", "faithfulness=80%"),
            "--fail-under 'faithfulness=80%' is not of the form METRIC=VALUE with a value from 0 to"
            " 1, as in faithfulness=0.8; write --fail-under faithfulness=0.8",
        ),
        (("locate", "runs/a"), "claimeval locate needs --corpus: "),
        (("compare", "a", "b", "-o", "c.docx"), "unknown ending of a report '.docx'."),
        (
            ("cache", "import", "no/such.jsonl"),
            "no/such.jsonl does not exist: there is no folder 'no'",
        ),
        (("view", "--port", "abc"), "--port: 'abc' is not a whole number, such as 8811"),
        (("view", "--port", "80000"), "port: 80000; it needs 65535 or less"),
        (("score", "a.jsonl"), "no judge named"),
        (("cache", "nope"), "unknown command of claimeval cache: 'nope'. Known: "),
        (("metrics", "nope"), "unknown metric or vote rule 'nope'"),
    ],
)
def test_what_is_typed_wrong_is_one_line_and_exits_with_2(
    arguments: tuple[str, ...], message: str
) -> None:
    done = call(*arguments, exits=2)
    assert done.stderr.startswith(f"claimeval: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_what_a_command_warns_of_is_a_line_and_with_quiet_nothing(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    kinds = {"t1": "CHAIN", "t2": "WEIRD"}
    spans = [
        {
            "trace_id": trace,
            "span_id": "a",
            "name": "span",
            "attributes": {
                "openinference.span.kind": kind,
                "input.value": "Who?",
                "output.value": "Ada.",
            },
        }
        for trace, kind in kinds.items()
    ]
    path.write_text("".join(f"{json.dumps(span)}\n" for span in spans))
    left_out = (
        "spans of unknown kinds, left out: 1 (span 1); traces without a question or an answer, left"
        " out: 1"
    )
    assert call("doctor", path).stderr == f"claimeval: {left_out}\n"
    assert not call("doctor", path, "--quiet").stderr


def test_defaults_are_those_of_the_records() -> None:
    values: dict[str, Any] = {
        parameter.name or "": parameter.default for parameter in of("score").params
    }
    for record in (RunOptions(), PanelOptions()):
        for name in values.keys() & set(record.__slots__):
            assert values[name] == getattr(record, name)
