"""Rows of providers: what the package asks of them, and that one file and one row are all it
takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from claimeval import providers
from claimeval.providers import reads_prompts, reasons, specs
from claimeval.types.errors import UsageError
from claimeval.types.requests import Judge

ROOT = Path(__file__).parents[2]


def judge(model: str, **settings: object) -> Judge:
    return Judge.model_validate({"name": "judge", "model": model, **settings})


def test_every_row_bears_the_name_that_it_is_found_by() -> None:
    assert [row.name for row in providers.rows()] == list(providers.PROVIDERS)


@pytest.mark.parametrize(
    ("model", "language_model"),
    [
        ("openai:gpt-5-mini", True),
        ("mistral:large", True),
        ("local:lexical", False),
        ("imported:gpt-4", True),
    ],
)
def test_a_judge_is_a_language_model_unless_its_row_says_otherwise(
    model: str, language_model: bool
) -> None:
    assert reads_prompts(judge(model)) is language_model
    assert judge(model).is_engine is not language_model


@pytest.mark.parametrize(
    ("model", "hidden"),
    [
        ("openai:gpt-5-mini", True),
        ("openai:gpt-4o", False),
        ("mistral:gpt-5-mini", False),
        ("imported:o3", False),
    ],
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


DATED = "api-version=2024-10-21"


@pytest.mark.parametrize(
    ("spec", "endpoint", "query"),
    [
        ("azure:d", "https://house.openai.azure.com/openai/v1", {}),
        ("azure:d@https://other.openai.azure.com/", "https://other.openai.azure.com/openai/v1", {}),
        (
            f"azure:d@https://other.openai.azure.com?{DATED}",
            "https://other.openai.azure.com/openai/deployments/d",
            {"api-version": "2024-10-21"},
        ),
        (
            "azure:d@https://other.openai.azure.com?api-version=preview",
            "https://other.openai.azure.com/openai/v1",
            {"api-version": "preview"},
        ),
        (
            f"azure:d@https://gateway.example/azure/d?{DATED}",
            "https://gateway.example/azure/d",
            {"api-version": "2024-10-21"},
        ),
        ("gemini:gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai", {}),
        ("ollama:qwen3:8b", "http://127.0.0.1:11434/v1", {}),
        ("ollama:qwen3:8b@http://gpu:11434/v1", "http://gpu:11434/v1", {}),
        ("openrouter:openai/gpt-5-mini", "https://openrouter.ai/api/v1", {}),
    ],
)
def test_a_name_stands_for_an_address(
    spec: str, endpoint: str, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://house.openai.azure.com/")
    resolved = specs.parse_judge(spec)
    assert (resolved.endpoint, resolved.query) == (endpoint, query)
    assert resolved.model == spec.partition("@")[0]


def test_a_dated_version_may_stand_in_a_judge_file() -> None:
    settings: dict[str, Any] = {
        "endpoint": "https://house.openai.azure.com",
        "query": {"api-version": "2024-10-21"},
    }
    resolved = specs.parse_judge(judge("azure:d", **settings))
    assert resolved.endpoint == "https://house.openai.azure.com/openai/deployments/d"


def test_azure_without_an_address_says_where_to_give_it() -> None:
    with pytest.raises(
        UsageError, match=r"names no server: set AZURE_OPENAI_ENDPOINT, or give it as in azure:"
    ):
        specs.parse_judge("azure:d")


def test_ollama_needs_no_key_and_takes_that_of_its_judge_file(
    monkeypatch: pytest.MonkeyPatch, without_keys: None
) -> None:
    row = providers.provider("ollama:m")
    assert row.api_key(specs.parse_judge("ollama:m")).get_secret_value() == "none"
    monkeypatch.setenv("OLLAMA_API_KEY", "key-of-the-cloud")
    cloud = judge("ollama:m", endpoint="https://ollama.com/v1", key_variable="OLLAMA_API_KEY")
    assert row.api_key(specs.parse_judge(cloud)).get_secret_value() == "key-of-the-cloud"


@pytest.mark.parametrize(
    ("spec", "tokens", "temperature"),
    [
        ("gemini:gemini-2.5-pro", 16_384, 0.0),
        ("gemini:gemini-3-flash-preview", 16_384, 0.0),
        ("gemini:gemini-2.5-flash-lite", 4096, 0.0),
        ("gemini:gemini-2.0-flash", 4096, 0.0),
        ("openrouter:openai/gpt-5-mini", 16_384, None),
        ("openrouter:meta-llama/llama-3.3-70b", 4096, 0.0),
        ("ollama:qwen3:8b", 4096, 0.0),
    ],
)
def test_models_that_think_get_more_tokens(
    spec: str, tokens: int, temperature: float | None
) -> None:
    resolved = specs.parse_judge(spec)
    assert (resolved.max_tokens, resolved.temperature) == (tokens, temperature)


def test_a_setting_that_a_host_does_not_take_is_refused() -> None:
    with pytest.raises(UsageError, match="gemini does not take seed; leave it out"):
        specs.parse_judge(judge("gemini:gemini-2.5-pro", seed=1))


def test_no_module_asks_for_a_provider_by_name() -> None:
    names = "|".join(providers.PROVIDERS)
    asks = re.compile(rf"""provider\s*(==|!=|in)\s*\(?["']({names})["']""")
    found = [
        str(file)
        for file in (ROOT / "claimeval").rglob("*.py")
        if asks.search(file.read_text(encoding="utf-8"))
    ]
    assert not found
