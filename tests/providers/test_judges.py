"""What the judges of a run are called in tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from claimeval.cli.people import AgreementCommand
from claimeval.cli.printer import Output
from claimeval.cli.running import front_of, print_run
from claimeval.providers.specs import parse_judge, short_names
from claimeval.report import forms
from claimeval.types.requests import Judge
from tests.report.runs import TOWER_SAYS, make


@pytest.mark.parametrize(
    ("given", "shorter"),
    [
        (["openai:gpt-5-mini@http://127.0.0.1:8000/v1", "mistral:large"], ["gpt-5-mini", "large"]),
        (
            ["openai:m@http://a", "mistral:m@http://a", "local:lexical"],
            ["openai:m", "mistral:m", "lexical"],
        ),
        (["openai:m@http://a", "openai:m@http://b"], ["openai:m@http://a", "openai:m@http://b"]),
        (["openai:m", "openai:m@http://a"], ["openai:m", "openai:m@http://a"]),
        (["m", "openai:m"], ["m", "openai:m"]),
        (["my judge"], ["my judge"]),
        (["a:"], ["a:"]),
        ([], []),
    ],
)
def test_names_are_as_short_as_they_stay_different(given: list[str], shorter: list[str]) -> None:
    assert list(short_names(given).values()) == shorter


@pytest.mark.parametrize("text", ["openai:m", "openai:m@http://127.0.0.1:1/v1", "ollama:qwen3:8b"])
def test_a_judge_made_of_its_model_alone_is_the_one_that_is_typed(text: str) -> None:
    assert parse_judge(Judge(model=text)) == parse_judge(text)
    assert parse_judge(Judge(model=text, name="n")).name == "n"


def test_an_extractor_of_the_same_name_is_the_same_model() -> None:
    assert short_names(["openai:m", "openai:m"]) == {"openai:m": "m"}


def test_a_judge_has_one_name_in_the_table_in_markdown_in_csv_and_in_agreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    says = {"openai:one@http://127.0.0.1:1": TOWER_SAYS, "mistral:two": {}}
    run = make(tmp_path / "run", says=says, metrics=["faithfulness"])
    print_run(Output(), ce.Run.load(run), front_of(ce.Run.load(run)))
    table = capsys.readouterr().out.partition("judged by")[2].partition("\n")[2]
    AgreementCommand(run=(run,), details=True).do()
    agreement = capsys.readouterr().out
    forms.write(run, "md", tmp_path / "run.md")
    forms.write(run, "csv", tmp_path / "run.csv", rows="claims")
    markdown = (tmp_path / "run.md").read_text()
    csv = (tmp_path / "run.csv").read_text().partition("\n")[0]
    assert "one / two" in table
    assert "one / two" in agreement
    assert "judged by `one, two`" in markdown
    assert "one: label" in csv
    for text in (table, agreement, markdown, csv):
        assert "openai:" not in text
        assert "mistral:" not in text
