"""Answer similarity, against the plain model of transformers."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.providers.local import similarity
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions
from tests.providers.local import tiny_models

SAMPLES = [
    {
        "id": "near",
        "question": "?",
        "answer": "The capital is Rome.",
        "reference_answers": ["Rome", "The capital is Rome."],
    },
    {
        "id": "far",
        "question": "?",
        "answer": "It rained for days.",
        "reference_answers": ["The capital is London."],
    },
    {"id": "blank", "question": "?", "answer": " ", "reference_answers": ["Rome"]},
    {"id": "none", "question": "?", "answer": "Rome", "reference_answers": []},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.encoder_only(tmp_path_factory.mktemp("encoder"))


def plain_cosine(folder: Path, first: str, second: str) -> float:
    """The cosine of the means of the last layer, as transformers computes it."""
    lib = tiny_models.transformers()
    torch = importlib.import_module("torch")
    tokenizer = lib.AutoTokenizer.from_pretrained(folder)
    encoder = lib.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        one, other = (
            encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
            for text in (first, second)
        )
        return float(torch.nn.functional.cosine_similarity(one, other, dim=0))


def test_values_are_cosines_of_the_closest_reference(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ce.measure(SAMPLES, "similarity", local=LocalOptions(model=str(model), device="cpu"))

    assert capsys.readouterr().err == ""
    found = {result.sample.id: result.scores["answer_similarity"] for result in run.results}
    assert found["near"].value == pytest.approx(1, abs=1e-6)
    assert found["far"].value == pytest.approx(
        plain_cosine(model, "It rained for days.", "The capital is London."), abs=1e-5
    )
    assert {score.unit for score in found.values()} == {"cosine"}
    assert [(found[name].value, found[name].because) for name in ("blank", "none")] == [
        (None, "missing_input")
    ] * 2
    assert run.manifest.settings["model"] == str(model)


def test_tokens_beyond_the_window_are_counted(model: Path) -> None:
    scorer = similarity.SimilarityScorer(
        LocalOptions(model=str(model), device="cpu", context_tokens=16)
    )
    long = "The capital of Italy is Rome. " * 5

    [found] = similarity.measure([(long, ["Rome"])], scorer)

    assert (
        found.cut
        == len(tiny_models.transformers().AutoTokenizer.from_pretrained(model)(long)["input_ids"])
        - 16
    )


def test_what_does_not_fit_is_said(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes neither a prompt nor windows"):
        similarity.SimilarityScorer(LocalOptions(model=str(model), long_texts="window"))
    with pytest.raises(UsageError, match="cannot be loaded"):
        similarity.SimilarityScorer(LocalOptions(model=str(tmp_path), device="cpu"))
    with pytest.raises(UsageError, match="take different models; measure one of them at a time"):
        ce.measure(SAMPLES, "answer_similarity,answer_reward")
