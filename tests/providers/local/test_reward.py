"""Answer reward, against the plain model of transformers."""

from __future__ import annotations

import importlib
import math
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from claimeval.providers.local import reward
from claimeval.providers.local.reward import QuestionAnswerPair, Reward, RewardScorer
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions
from claimeval.types.records import Sample
from tests.providers.local import tiny_models

TOLERANCE = 1e-5
WORDS = [word for word in " ".join(tiny_models.TEXTS).split() if word not in ("</s>", "[SEP]")]


def drawn(number: int) -> list[QuestionAnswerPair]:
    chance = random.Random(0)
    return [
        QuestionAnswerPair(
            " ".join(chance.choices(WORDS, k=5)),
            " ".join(chance.choices(WORDS, k=chance.randint(1, 20))),
        )
        for _ in range(number)
    ]


def plain_logit(folder: Path, exchange: QuestionAnswerPair) -> float:
    """The model's logit for one exchange, as transformers loads and tokenises it."""
    lib = tiny_models.transformers()
    torch = importlib.import_module("torch")
    tokenizer = lib.AutoTokenizer.from_pretrained(folder)
    model = lib.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return float(model(**tokenizer(*exchange, return_tensors="pt")).logits[0, 0])


def scorer_on_cpu(folder: Path, **settings: Any) -> RewardScorer:
    return RewardScorer(LocalOptions(model=str(folder), device="cpu", **settings))


def rated(folder: Path, exchanges: list[QuestionAnswerPair], **settings: Any) -> list[Reward]:
    found = dict(scorer_on_cpu(folder, **settings).score(exchanges))
    return [found[index] for index in range(len(exchanges))]


@pytest.mark.parametrize("problem_type", [None, "regression"])
def test_the_score_is_the_sigmoid_of_the_logit_whatever_the_configuration_says(
    tmp_path: Path, torch_here: None, problem_type: str | None
) -> None:
    folder = tiny_models.classifier(
        tmp_path, ["LABEL_0"], kind="deberta-v2", problem_type=problem_type
    )
    exchange = QuestionAnswerPair("who are we?", "We are saving our own lives.")
    (said,) = rated(folder, [exchange])
    logit = plain_logit(folder, exchange)
    assert said.logit == pytest.approx(logit, abs=TOLERANCE)
    assert said.score == pytest.approx(1 / (1 + math.exp(-logit)), abs=TOLERANCE)


def test_the_score_does_not_depend_on_the_batch_or_the_order(reward_model: Path) -> None:
    exchanges = drawn(20)
    alone = [rated(reward_model, [exchange])[0].logit for exchange in exchanges[:6]]
    for batch in (1, 64, 4096):
        together = [said.logit for said in rated(reward_model, exchanges, batch_size=batch)]
        backwards = [said.logit for said in rated(reward_model, exchanges[::-1], batch_size=batch)][
            ::-1
        ]
        assert together[:6] == pytest.approx(alone, abs=TOLERANCE)
        assert backwards == pytest.approx(together, abs=TOLERANCE)


def test_a_sigmoid_of_a_huge_logit_is_a_number() -> None:
    assert Reward(logit=-1000.0).score == 0.0
    assert Reward(logit=1000.0).score == 1.0
    assert Reward(logit=0.0).score == 0.5


def test_a_long_answer_is_cut_at_its_end_and_says_so(reward_model: Path) -> None:
    tokenizer = tiny_models.transformers().AutoTokenizer.from_pretrained(reward_model)
    question = "who are we?"
    answer = " ".join(WORDS[:50])
    (said,) = rated(reward_model, [QuestionAnswerPair(question, answer)], context_tokens=48)
    offsets = tokenizer(
        answer, add_special_tokens=False, return_offsets_mapping=True
    ).offset_mapping
    kept = len(offsets) - said.cut
    assert len(tokenizer(question, answer[: offsets[kept][0]]).input_ids) == 48
    assert said.logit == pytest.approx(
        plain_logit(reward_model, QuestionAnswerPair(question, answer[: offsets[kept][0]])),
        abs=TOLERANCE,
    )


def test_samples_without_a_reward_say_why(reward_model: Path) -> None:
    samples = [
        Sample(id="a", question="who?", answer="We are."),
        Sample(id="b", question="who?"),
        Sample(id="c", question="who?", answer=" "),
        Sample(id="d", question="", answer="We are."),
        Sample(id="e", question=" ".join(WORDS), answer="We are."),
    ]
    found = list(reward.measure(samples, scorer_on_cpu(reward_model, context_tokens=48)))
    assert [answer.because for answer in found] == [
        None,
        "no answer",
        "no answer",
        "no question",
        "question too long",
    ]
    assert [answer.score is None for answer in found] == [False, True, True, True, True]


def test_a_second_run_computes_nothing(
    reward_model: Path, tmp_path: Path, forwards: list[str]
) -> None:
    samples = [Sample(id="a", question="who?", answer="We are.")]
    with Store(tmp_path / "store") as store:
        first = list(reward.measure(samples, scorer_on_cpu(reward_model), store))
        assert forwards
        forwards.clear()
        assert list(reward.measure(samples, scorer_on_cpu(reward_model), store)) == first
        assert forwards == []


def test_reduced_precision_says_how_far_it_is_from_float32(reward_model: Path) -> None:
    exchanges = drawn(8)
    scorer = scorer_on_cpu(reward_model, dtype="bfloat16")
    found = dict(scorer.score(exchanges))
    exact = rated(reward_model, exchanges)
    assert scorer.deviation == pytest.approx(
        max(abs((found[i].score or 0) - (said.score or 0)) for i, said in enumerate(exact)),
        abs=1e-6,
    )


def test_a_classifier_with_several_outputs_is_no_reward_model(nli: Path) -> None:
    with pytest.raises(UsageError, match="it has 3 outputs"):
        rated(nli, drawn(1))


def test_a_model_without_trained_output_is_refused(tmp_path: Path, torch_here: None) -> None:
    folder = tiny_models.encoder_only(tmp_path)
    with pytest.raises(UsageError, match="its scores would be random"):
        rated(folder, drawn(1))


def test_a_model_of_another_kind_is_refused(t5: Path) -> None:
    with pytest.raises(UsageError, match=r"\(t5\) is not a sequence classifier"):
        rated(t5, drawn(1))


def test_a_model_without_a_tokenizer_is_refused(reward_model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(reward_model, tmp_path / "copy")
    (copy / "tokenizer.json").unlink()
    with pytest.raises(UsageError, match="has no tokenizer"):
        rated(copy, drawn(1))


def test_weights_in_the_older_format_are_read_without_running_what_is_in_them(
    reward_model: Path, tmp_path: Path
) -> None:
    torch = importlib.import_module("torch")
    safetensors = importlib.import_module("safetensors.torch")
    copy = shutil.copytree(reward_model, tmp_path / "copy")
    weights = safetensors.load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    torch.save(weights, copy / "pytorch_model.bin")
    for older, newer in zip(rated(copy, drawn(3)), rated(reward_model, drawn(3)), strict=True):
        # kernels add up in another order where weights lie elsewhere in memory
        assert older.logit == pytest.approx(newer.logit, abs=1e-5)
        assert older.cut == newer.cut
    torch.save({**weights, "evil": Path("x")}, copy / "pytorch_model.bin")
    with pytest.raises(UsageError, match="cannot be loaded"):
        rated(copy, drawn(1))
