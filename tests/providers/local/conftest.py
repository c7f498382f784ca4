"""Small models with random weights, built once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.providers.local import tiny_models

NLI_LABELS = ("contradiction", "entailment", "neutral")


@pytest.fixture(scope="session")
def torch_here() -> None:
    """One thread, since the models are small and tests run side by side."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def forwards(torch_here: None) -> Iterator[list[str]]:
    """The class of every layer that computes while the test runs, in order: empty where no model
    was asked."""
    module = importlib.import_module("torch.nn.modules.module")
    seen: list[str] = []
    hook = module.register_module_forward_pre_hook(
        lambda layer, _: seen.append(type(layer).__name__)
    )
    yield seen
    hook.remove()


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
def nli_deberta(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny DeBERTa with three NLI labels and the relative positions of version 3."""
    settings: dict[str, Any] = {
        "relative_attention": True,
        "position_buckets": 16,
        "pos_att_type": ["p2c", "c2p"],
    }
    return tiny_models.classifier(
        tmp_path_factory.mktemp("deberta"), NLI_LABELS, kind="deberta-v2", **settings
    )


@pytest.fixture(scope="session")
def nli_bart(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny BART that classifies, as bart-large-mnli does."""
    return tiny_models.bart(tmp_path_factory.mktemp("nli-bart"), labels=NLI_LABELS)


@pytest.fixture(scope="session")
def nli_nystromformer(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny model whose answers change when its input is padded."""
    settings: dict[str, Any] = {"num_landmarks": 4, "segment_means_seq_len": 4}
    return tiny_models.classifier(
        tmp_path_factory.mktemp("nystromformer"), NLI_LABELS, kind="nystromformer", **settings
    )


@pytest.fixture(scope="session")
def reward_model(tmp_path_factory: pytest.TempPathFactory, torch_here: None) -> Path:
    """A tiny DeBERTa with one output."""
    return tiny_models.classifier(tmp_path_factory.mktemp("reward"), ["LABEL_0"], kind="deberta-v2")
