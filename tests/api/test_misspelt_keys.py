"""Misspelt keys of YAML files are refused with the near key, at whatever depth they stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from claimeval.data import recorded, test_collections
from claimeval.data.mapping import parse_mapping
from claimeval.metrics.derived import select_metrics
from claimeval.providers import specs
from claimeval.providers.prices import price
from claimeval.runs import experiments
from claimeval.types.checkers import ReplyRule
from claimeval.types.errors import UsageError, first_problem
from claimeval.types.requests import JudgePrice
from claimeval.types.scales import THREE_WAY

JUDGE = {"model": "openai:gpt-5-mini"}
CHECKER = {**JUDGE, "asks": "pair", "prompt": "{{ document }} {{ claim }}"}
RECORDED = {"claim": "c", "against": "contexts", "forms": ["yes_no"]}
ONE_JUDGE = {**RECORDED, "judge": "j", "reply": "r"}
DESIGN = {"data": "a.jsonl", "judges": ["local:lexical"], "metrics": "faithfulness"}


def read_judge(path: Path) -> object:
    return specs.parse_judge(str(path))


def read_panel(path: Path) -> object:
    return specs.panel_settings(specs.parse_panel([str(path)]), {}, THREE_WAY)


def read_prices(path: Path) -> object:
    return price("openai:a", None, path)


def read_scale(path: Path) -> object:
    return test_collections.relevance_scale(str(path))


def read_experiment(path: Path) -> object:
    design = experiments.read(path)
    parse_mapping(design.mapping)
    return [experiments.plan(arm, select_metrics(design.metrics or ())) for arm in design.arms]


Reader = Callable[[Path], object]
CASES: list[tuple[Reader, dict[str, Any], str, str]] = [
    (read_judge, {**JUDGE, "price": {"Input": 1}}, "price.Input", "input"),
    (read_judge, {**JUDGE, "price": {"input": 1, "outptu": 2}}, "price.outptu", "output"),
    (read_judge, {**CHECKER, "reply": {"Threshold": 0.5}}, "reply.Threshold", "threshold"),
    (read_judge, {**CHECKER, "reply": {"Json": "a", "threshold": 1}}, "reply.Json", "json"),
    (
        read_judge,
        {**CHECKER, "prompt": {"User": CHECKER["prompt"]}, "reply": {"threshold": 0.5}},
        "'User'",
        "user",
    ),
    (
        read_judge,
        {**CHECKER, "prompt": {"usr": CHECKER["prompt"]}, "reply": {"threshold": 0.5}},
        "'usr'",
        "user",
    ),
    (read_judge, {"Model": "openai:a"}, "'Model'", "model"),
    (read_panel, {"Judges": ["openai:a"]}, "'Judges'", "judges"),
    (read_panel, {"judges": [{"modle": "openai:a"}]}, "'modle'", "model"),
    (
        read_panel,
        {"judges": [{"model": "openai:a", "price": {"INPUT": 1, "output": 1}}]},
        "judge 1, price.INPUT",
        "input",
    ),
    (
        read_panel,
        {"judges": ["openai:a"], "extractor": {**JUDGE, "price": {"inputs": 1, "output": 1}}},
        "extractor, price.inputs",
        "input",
    ),
    (read_prices, {"openai:a": {"Input": 1, "output": 2}}, "openai:a, Input", "input"),
    (read_prices, {"openai:a": {"input": 1, "outptu": 2}}, "openai:a, outptu", "output"),
    (read_prices, {"OpenAI:a": {"input": 1, "output": 2}}, "'OpenAI'", "openai"),
    (read_prices, {"opnai:a": {"input": 1, "output": 2}}, "'opnai'", "openai"),
    (read_scale, {"meanings": ["a", "b"], "positiv_from": 1}, "positiv_from", "positive_from"),
    (read_scale, {"Meanings": ["a", "b"], "positive_from": 1}, "Meanings", "meanings"),
    (
        recorded.read_mapping,
        {**RECORDED, "judges": {"gpt": {"Reply": "a"}}},
        "judges.gpt.Reply:",
        "reply",
    ),
    (
        recorded.read_mapping,
        {**RECORDED, "judges": {"gpt": {"reply": "a", "form": ["json"]}}},
        "judges.gpt.form:",
        "forms",
    ),
    (recorded.read_mapping, {**ONE_JUDGE, "grades": {"Lowest": 0}}, "grades.Lowest", "lowest"),
    (recorded.read_mapping, {**ONE_JUDGE, "human_lable": "x"}, "human_lable", "human_label"),
    (parse_mapping, {"anwser": "draft"}, "'anwser'", "answer"),
    (
        read_experiment,
        {**DESIGN, "judge_settings": {"price": {"Input": 1, "output": 1}}, "arms": [{"name": "a"}]},
        "price.Input",
        "input",
    ),
    (
        read_experiment,
        {**DESIGN, "grid": {"judge_settings": {"Seed": [1]}}},
        "'Seed'",
        "seed",
    ),
    (read_experiment, {**DESIGN, "arms": [{"Name": "a"}]}, "'Name'", "name"),
    (
        read_experiment,
        {**DESIGN, "arms": [{"name": "a", "weights": {"local:lexicl": 1}}]},
        "'local:lexicl'",
        "local:lexical",
    ),
    (
        read_experiment,
        {**DESIGN, "arms": [{"name": "a"}], "mapping": {"anwser": "draft"}},
        "'anwser'",
        "answer",
    ),
]


@pytest.mark.parametrize(
    ("read", "content", "wrong", "near"),
    CASES,
    ids=[f"{case[0].__name__} {case[2]}" for case in CASES],
)
def test_a_misspelt_key_is_named_with_the_near_one(
    read: Reader, content: dict[str, Any], wrong: str, near: str, tmp_path: Path
) -> None:
    path = tmp_path / "given.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(UsageError) as raised:
        read(path)
    message = str(raised.value)
    assert wrong in message
    assert f"Did you mean {near!r}" in message


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (read_judge, {**JUDGE, "extra": {"Temperature": 1, "reasoning": {"efort": "low"}}}),
        (
            read_judge,
            {
                **CHECKER,
                "prompt": {"evidence": "{{ document }}", "available_tools": "{{ claim }}"},
                "reply": {"threshold": 0.5},
            },
        ),
        (read_judge, {**CHECKER, "reply": {"words": {"Yes": "supported", "No": "not_found"}}}),
        (read_panel, {"judges": ["openai:a"], "families": {"Openai*": "mine", "gpt-x*": "mine"}}),
        (read_prices, {"ourgateway:a": {"input": 1, "output": 2}}),
        (read_prices, {"openai:A@http://x.example/V1": {"input": 1, "output": 2}}),
        (parse_mapping, {"answer": ["Answer", "outputs[0].Text"]}),
        (recorded.read_mapping, {**RECORDED, "judges": {"Forms": "a", "Reply": {"reply": "b"}}}),
    ],
)
def test_names_that_users_choose_are_read(
    read: Reader, content: dict[str, Any], tmp_path: Path
) -> None:
    """Of a server's own fields, roles of a chat template, patterns, gateways, columns, judges."""
    path = tmp_path / "given.yaml"
    path.write_text(yaml.safe_dump(content))
    read(path)


def test_a_mapping_where_a_path_belongs_is_refused() -> None:
    with pytest.raises(UsageError, match="answer: needs a path or a list of paths"):
        parse_mapping({"answer": {"path": "draft"}})


def test_a_table_of_settings_in_another_case_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.command_line import call

    (tmp_path / "pyproject.toml").write_text('[tool.ClaimEval]\njudge = "local:lexical"\n')
    done = call("score", "a.jsonl", folder=tmp_path, exits=2)
    assert "'tool.ClaimEval'. Did you mean 'tool.claimeval'?" in " ".join(done.stderr.split())


@pytest.mark.parametrize("record", [JudgePrice, ReplyRule, recorded.FieldMap, recorded.GradeRange])
def test_an_unknown_name_comes_before_what_is_missing(record: type[Any]) -> None:
    for name, field in record.model_fields.items():
        typed = (field.alias or name).upper()
        with pytest.raises(ValidationError) as raised:
            record.model_validate({typed: 1})
        key, problem, _ = first_problem(raised.value, record)
        assert key == typed
        assert f"Did you mean {field.alias or name!r}?" in problem
