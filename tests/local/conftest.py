"""Small models with random weights, built once; tests that need them are skipped where torch is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local import tiny_models

NLI_LABELS = ("contradiction", "entailment", "neutral")


@pytest.fixture(scope="session")
def torch_here() -> None:
    """Skips without torch; one thread, since the models are small and tests run side by side."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'claimeval[local]'")
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'claimeval[local]'")
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers on every machine."""
    monkeypatch.setenv("CLAIMEVAL_DEVICE", "cpu")


@pytest.fixture(scope="session")
def t5(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny T5."""
    return tiny_models.t5(tmp_path_factory.mktemp("t5"))


@pytest.fixture(scope="session")
def bart(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny BART."""
    return tiny_models.bart(tmp_path_factory.mktemp("bart"))


@pytest.fixture(scope="session")
def nli(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny BERT with three NLI labels."""
    return tiny_models.classifier(tmp_path_factory.mktemp("nli"), NLI_LABELS)


@pytest.fixture(scope="session")
def reward_model(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny DeBERTa with one output."""
    return tiny_models.classifier(tmp_path_factory.mktemp("reward"), ["LABEL_0"], kind="deberta-v2")
