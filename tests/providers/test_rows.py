"""Rows of providers: what the package asks of them, and that one file and one row are all it takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimeval import providers
from claimeval.providers import reads_prompts, reasons
from claimeval.types.requests import Judge

ROOT = Path(__file__).parents[2]


def judge(model: str, **settings: object) -> Judge:
    return Judge.model_validate({"name": "judge", "model": model, **settings})


def test_every_row_bears_the_name_that_it_is_found_by() -> None:
    assert [row.name for row in providers.rows()] == list(providers.PROVIDERS)


@pytest.mark.parametrize(
    ("model", "language_model"),
    [("openai:gpt-5-mini", True), ("mistral:large", True), ("local:lexical", False), ("recorded:gpt-4", True)],
)
def test_a_judge_is_a_language_model_unless_its_row_says_otherwise(model: str, language_model: bool) -> None:
    assert reads_prompts(judge(model)) is language_model


@pytest.mark.parametrize(
    ("model", "hidden"),
    [("openai:gpt-5-mini", True), ("openai:gpt-4o", False), ("mistral:gpt-5-mini", False), ("recorded:o3", False)],
)
def test_reasoning_models_are_those_of_their_provider(model: str, hidden: bool) -> None:
    assert reasons(judge(model)) is hidden


def test_the_environment_may_name_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example.org/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    row = providers.provider("openai:m")
    resolved = row.resolve(judge("openai:m"))
    assert resolved.endpoint == "https://models.example.org/v1"
    assert row.api_key(resolved).get_secret_value() == "sk-of-the-environment"


def test_no_module_asks_for_a_provider_by_name() -> None:
    names = "|".join(providers.PROVIDERS)
    asks = re.compile(rf"""provider\s*(==|!=|in)\s*\(?["']({names})["']""")
    found = [str(file) for file in (ROOT / "claimeval").rglob("*.py") if asks.search(file.read_text(encoding="utf-8"))]
    assert not found
