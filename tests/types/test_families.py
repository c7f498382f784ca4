"""Who is of one kind with whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.types.errors import UsageError
from claimeval.types.families import Families, read_families


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openai:gpt-5-mini", "openai"),
        ("openai:o3-mini", "openai"),
        ("openai:ft:gpt-4o-mini:acme:v2", "openai"),
        ("openai:gpt-oss-20b@http://127.0.0.1:8000/v1", "openai"),
        ("openai:EleutherAI/gpt-neo-2.7B", "eleutherai"),
        ("mistral:mistral-large-latest", "mistral"),
        ("mistral:some-new-name", "mistral"),
        ("openai:mistralai/Mixtral-8x7B-Instruct-v0.1", "mistral"),
        ("openai:meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("openai:lmsys/vicuna-13b-v1.5", "llama"),
        ("openai:Qwen/Qwen3-32B", "qwen"),
        ("anthropic:claude-opus-4", "anthropic"),
        ("bedrock:anthropic.claude-3-haiku", "anthropic"),
        ("text-davinci-003", "openai"),
        ("gpt-4", "openai"),
        ("openai:my-own-model", None),
        ("local:lexical", None),
    ],
)
def test_models_by_family(model: str, family: str | None) -> None:
    assert Families().family_of(model) == family


def test_models_of_one_family_are_the_same_kind_whoever_serves_them() -> None:
    families = Families()
    assert families.are_same_family("openai:gpt-5", "azure:gpt-4o")
    assert not families.are_same_family("openai:gpt-5", "mistral:mistral-small")


def test_an_unknown_model_is_of_the_same_kind_only_as_itself() -> None:
    families = Families()
    assert families.are_same_family("openai:house-model", "vllm:House-Model")
    assert not families.are_same_family("openai:house-model", "openai:other-model")


def test_rows_of_the_user_come_first(tmp_path: Path) -> None:
    path = tmp_path / "families.yaml"
    path.write_text("house-*: llama\ngpt-4o*: house\n", encoding="utf-8")
    families = Families(read_families(path))
    assert families.family_of("openai:House-7B") == "llama"
    assert families.family_of("openai:gpt-4o-mini") == "house"
    assert families.family_of("openai:gpt-5") == "openai"


def test_the_judges_of_the_generators_family_are_named() -> None:
    judges = [("big", "openai:gpt-5"), ("small", "mistral:ministral-8b")]
    assert Families().same_family_judges(judges, "azure:gpt-4o") == {"big"}
    assert Families().same_family_judges(judges, None) == frozenset()


@pytest.mark.parametrize("text", ["- a\n", "a: 1\n", "a: [\n"])
def test_a_broken_table_is_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "families.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="families"):
        read_families(path)
