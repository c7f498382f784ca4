"""Rows of providers: what the package asks of them, and that one file and one row are all it takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.loopback import claim_judge
from claimeval import providers
from claimeval.providers import batches, check_key, reads_prompts, reasons
from claimeval.types.errors import UsageError
from claimeval.types.requests import Judge
from tests.conftest import StartServer
from tests.sample_runs import RIGHT, run

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


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The provider of the page, as a file and a row."""
    page = (ROOT / "docs" / "adding-a-provider.md").read_text(encoding="utf-8")
    (tmp_path / "acme_judges.py").write_text(page.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(providers.PROVIDERS, "acme", "acme_judges")


@pytest.mark.usefixtures("acme")
def test_the_provider_of_the_page_is_one_file_and_one_row(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = start_server(judge=claim_judge.answer)
    monkeypatch.setenv("ACME_URL", server.url_for("openai"))
    with pytest.raises(UsageError, match="ACME_KEY is not set"):
        check_key(providers.provider("acme:m").resolve(judge("acme:m")))
    monkeypatch.setenv("ACME_KEY", "key-of-acme")
    done = run(["acme:judge-1"], tmp_path / "cache")
    assert done.values == [RIGHT]
    assert {exchange.status for exchange in server.exchanges()} == {200}
    assert not batches.supports_batches("acme:m")
