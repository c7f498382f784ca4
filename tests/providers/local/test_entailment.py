"""The entailment judge: labels by name, evidence in pieces, the maximum over them, and a joint
look."""

from __future__ import annotations

import asyncio
import importlib
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from claimeval.providers.local import EngineAnswer
from claimeval.providers.local.entailment import (
    ChunkFinding,
    Entailment,
    EntailmentJudge,
    EntailmentModel,
    EntailmentSettings,
    FactChecker,
    NliClassifier,
    Premise,
    combine_chunks,
    label_indices,
    load_settings,
    softmax,
)
from claimeval.providers.local.loading import DeviceSettings, load, locate
from claimeval.providers.local.tokens import Chunk, EvidenceChunks, Tokenizing, load_prompt
from claimeval.types.errors import UsageError
from claimeval.types.records import Claim, Document
from tests.providers.local import tiny_models

TOLERANCE = 1e-5
WORDS = [word for word in " ".join(tiny_models.TEXTS).split() if word not in ("</s>", "[SEP]")]
CPU = DeviceSettings("cpu", "float32")


def premises(number: int) -> list[Premise]:
    chance = random.Random(0)
    return [
        Premise(
            " ".join(chance.choices(WORDS, k=chance.randint(1, 30))),
            " ".join(chance.choices(WORDS, k=4)),
        )
        for _ in range(number)
    ]


def classifier(folder: Path, batch: int = 512) -> NliClassifier:
    return NliClassifier(load(locate(str(folder)), "classifier", CPU.device), 256, batch, {})


def checker(folder: Path, batch: int = 512) -> FactChecker:
    prompt = load_prompt("claim_given_document")
    return FactChecker(load(locate(str(folder)), "seq2seq", CPU.device), 256, batch, prompt)


@pytest.mark.parametrize("name", ["nli", "nli_deberta", "nli_bart"])
def test_a_classifier_says_what_the_plain_model_says_under_that_label(
    name: str, request: pytest.FixtureRequest
) -> None:
    nli = request.getfixturevalue(name)
    lib = tiny_models.transformers()
    torch = importlib.import_module("torch")
    tokenizer = lib.AutoTokenizer.from_pretrained(nli)
    model = lib.AutoModelForSequenceClassification.from_pretrained(nli).eval()
    asked = premises(6)
    for premise, said in zip(asked, classifier(nli).probabilities(asked), strict=True):
        with torch.no_grad():
            contradiction, supported, _ = (
                model(**tokenizer(*premise, return_tensors="pt")).logits[0].softmax(0).tolist()
            )
        assert said.supported == pytest.approx(supported, abs=TOLERANCE)
        assert said.contradicted == pytest.approx(contradiction, abs=TOLERANCE)


def test_a_fact_checker_compares_the_first_tokens_of_its_two_answers(t5: Path) -> None:
    lib = tiny_models.transformers()
    torch = importlib.import_module("torch")
    tokenizer = lib.AutoTokenizer.from_pretrained(t5)
    model = lib.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    no, yes = (tokenizer(word).input_ids[0] for word in "01")
    asked = premises(6)
    for premise, said in zip(asked, checker(t5).probabilities(asked), strict=True):
        source = tokenizer(
            f"predict: {premise.text}</s>{premise.claim}", return_tensors="pt"
        ).input_ids
        with torch.no_grad():
            logits = model(
                input_ids=source, decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)
            ).logits[0, 0]
        assert said.supported == pytest.approx(
            logits[[no, yes]].softmax(0)[1].item(), abs=TOLERANCE
        )
        assert said.contradicted == 0.0


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("nli", classifier),
        ("nli_deberta", classifier),
        ("nli_bart", classifier),
        ("nli_nystromformer", classifier),
        ("t5", checker),
    ],
)
def test_probabilities_do_not_depend_on_the_batch_or_the_order(
    name: str, make: Callable[..., EntailmentModel], request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(name)
    asked = premises(12)
    one = make(folder)
    alone = [said.supported for premise in asked for said in one.probabilities([premise])]
    for batch in (1, 4096):
        model = make(folder, batch)
        assert [said.supported for said in model.probabilities(asked)] == pytest.approx(
            alone, abs=TOLERANCE
        )
        backwards = [said.supported for said in model.probabilities(asked[::-1])]
        assert backwards[::-1] == pytest.approx(alone, abs=TOLERANCE)


def test_a_bart_that_classifies_is_asked_for_its_labels_and_not_for_words(
    nli_bart: Path, bart: Path
) -> None:
    assert load_settings(str(nli_bart), {}).prompt is None
    assert load_settings(str(bart), {}).prompt is not None
    with pytest.raises(UsageError, match=r"\(bart\) is not a sequence-to-sequence model"):
        load(locate(str(nli_bart)), "seq2seq", CPU.device)


@pytest.mark.parametrize(
    ("labels", "given", "found"),
    [
        (("entailment", "neutral", "contradiction"), {}, (0, 2)),
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), {}, (2, 0)),
        (("not_entailment", "entailment"), {}, (1, None)),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), {}, (0, 1)),
        (("LABEL_0", "LABEL_1"), {"entailment_label": "LABEL_1"}, (1, None)),
        (("a", "b", "c"), {"entailment_label": "c", "contradiction_label": "a"}, (2, 0)),
    ],
)
def test_labels_are_found_by_name(
    labels: Sequence[str], given: dict[str, str], found: tuple[int, int | None]
) -> None:
    assert label_indices(dict(enumerate(labels)), given, "m") == found


@pytest.mark.parametrize(
    ("labels", "given", "problem"),
    [
        (("LABEL_0", "LABEL_1"), {}, "`entailment_label: LABEL_1`"),
        (("entailment", "entailed"), {}, "do not say which one"),
        (("entailment", "neutral"), {"entailment_label": "Entailment"}, "no label 'Entailment'"),
    ],
)
def test_labels_that_do_not_tell_are_refused(
    labels: Sequence[str], given: dict[str, str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        label_indices(dict(enumerate(labels)), given, "m")


def test_a_single_output_is_the_probability_of_support(tmp_path: Path, torch_here: None) -> None:
    folder = tiny_models.classifier(tmp_path, ["consistent"])
    loaded = load(locate(str(folder)), "classifier", CPU.device)
    (said,) = NliClassifier(loaded, 256, 512, {}).probabilities([Premise("Rome", "London")])
    lib = tiny_models.transformers()
    torch = importlib.import_module("torch")
    encoded = lib.AutoTokenizer.from_pretrained(folder)("Rome", "London", return_tensors="pt")
    with torch.no_grad():
        logit = (
            lib.AutoModelForSequenceClassification.from_pretrained(folder)
            .eval()(**encoded)
            .logits.item()
        )
    assert said.supported == pytest.approx(1 / (1 + math.exp(-logit)), abs=TOLERANCE)


def test_softmax_of_far_logits_is_a_share() -> None:
    assert softmax([0.0, 2000.0]) == [0.0, 1.0]
    assert softmax([math.log(1), math.log(3)]) == pytest.approx([0.25, 0.75])


# --- Evidence in pieces ---


class Letters(Tokenizing):
    """A tokenizer for which every character is a token."""

    def __init__(self) -> None:
        pass

    def data(self, text: str) -> str:
        return text

    def starts(self, text: str) -> list[int]:
        return list(range(len(text)))


def documents(*texts: str) -> list[Document]:
    return [Document(id=str(number), text=text) for number, text in enumerate(texts)]


THREE = "It rained on Monday. It snowed on Tuesday. The sun shone on Wednesday."


@pytest.mark.parametrize(
    ("room", "pieces"),
    [
        (100, [THREE]),
        (50, ["It rained on Monday. It snowed on Tuesday.", "The sun shone on Wednesday."]),
        (32, ["It rained on Monday.", "It snowed on Tuesday.", "The sun shone on Wednesday."]),
        (
            24,
            [
                "It rained on Monday.",
                "It snowed on Tuesday",
                ".",
                "The sun shone on Wed",
                "nesday.",
            ],
        ),
    ],
)
def test_documents_are_cut_between_sentences_where_they_fit(room: int, pieces: list[str]) -> None:
    chunks = EvidenceChunks(Letters()).chunks(documents(THREE), room)
    assert [chunk.text for chunk in chunks] == pieces
    assert all(chunk.documents == (0,) for chunk in chunks)


def test_a_document_is_read_with_its_title_and_one_without_a_word_gives_nothing() -> None:
    titled = Document(id="a", title="Weather", text="It rained on Monday.")
    chunks = EvidenceChunks(Letters()).chunks([titled, *documents("...", "Snow.")], 100)
    assert chunks == [Chunk("Weather\nIt rained on Monday.", (0,)), Chunk("Snow.", (2,))]


def test_joined_evidence_has_the_sentences_with_most_of_the_claims_words_in_order() -> None:
    evidence = documents(
        "Ada Byron was born in London. She liked horses.",
        "Bread is baked daily.",
        "London lies on the Thames.",
    )
    chunks = EvidenceChunks(Letters())
    joined = chunks.joined("Ada Byron was born on the Thames.", evidence, 70)
    assert joined == Chunk("Ada Byron was born in London. London lies on the Thames.", (0, 2))
    assert chunks.joined("She liked horses.", evidence, 70) is None
    assert chunks.joined("Quantum chromodynamics", evidence, 70) is None


def test_pieces_fit_the_window_of_a_real_tokenizer(nli: Path) -> None:
    model = classifier(nli)
    text = " ".join(WORDS) + ". " + " ".join(WORDS[::-1]) + "."
    chunks = EvidenceChunks(model.tokens).chunks(documents(text, text.upper()), 40)
    assert max(model.tokens.length(chunk.text) for chunk in chunks) <= 40
    for index, wanted in enumerate((text, text.upper())):
        kept = "".join(chunk.text for chunk in chunks if chunk.documents == (index,))
        assert "".join(kept.split()) == "".join(wanted.split())


# --- Verdicts ---


def assessed(supported: float, contradicted: float = 0.0, document: int = 0) -> ChunkFinding:
    return ChunkFinding(Chunk("text", (document,)), Entailment(supported, contradicted))


def test_the_best_piece_decides_and_support_goes_before_contradiction() -> None:
    low, high = assessed(0.2), assessed(0.9, document=1)
    assert combine_chunks([low, high]) == EngineAnswer("supported", 0.9, (1,), "entailment 0.90")
    assert combine_chunks([low]) == EngineAnswer("not_found", 0.2, (0,), "entailment 0.20")
    assert combine_chunks([assessed(0.5)]).label == "not_found"
    against = assessed(0.1, 0.8, document=2)
    assert combine_chunks([low, against]) == EngineAnswer(
        "contradicted", 0.2, (2,), "entailment 0.20; contradiction 0.80"
    )
    both = combine_chunks([high, against])
    assert (both.label, both.probability, both.documents) == ("supported", 0.9, (1,))
    assert both.reason == "entailment 0.90; contradiction 0.80; the evidence is in conflict"


def test_joined_pieces_support_what_no_single_one_does_and_the_reason_says_so() -> None:
    together = ChunkFinding(Chunk("text", (0, 2)), Entailment(0.8))
    found = combine_chunks([assessed(0.2), assessed(0.3)], [together])
    assert (found.label, found.probability, found.documents) == ("supported", 0.8, (0, 2))
    assert (
        found.reason
        == "entailment 0.80 by several pieces of evidence together, 0.30 by the best alone"
    )


class Known:
    """A model that knows which words support and contradict."""

    tokens: Tokenizing = Letters()
    window = 200

    def __init__(self) -> None:
        self.asked: list[list[Premise]] = []

    def overhead(self, claim: str) -> int:
        return len(claim)

    def probabilities(self, premises: Sequence[Premise]) -> list[Entailment]:
        self.asked.append(list(premises))
        return [self.one(premise) for premise in premises]

    def one(self, premise: Premise) -> Entailment:
        words = premise.claim.strip(".").split()
        share = sum(word in premise.text for word in words) / len(words)
        return Entailment(
            share if share == 1 else share / 4, 0.9 if "never" in premise.text else 0.0
        )


@pytest.fixture
def known() -> Known:
    return Known()


@pytest.fixture
def judge(nli: Path, known: Known, monkeypatch: pytest.MonkeyPatch) -> EntailmentJudge:
    monkeypatch.setattr(EntailmentSettings, "load", lambda _: known)
    return EntailmentJudge(load_settings(str(nli), {}))


def findings(judge: EntailmentJudge, claims: Sequence[str], *texts: str) -> list[EngineAnswer]:
    async def ask() -> list[EngineAnswer]:
        with judge:
            return await judge.assess(
                [
                    Claim(grounding="ungrounded", id=str(number), text=text, of="answer")
                    for number, text in enumerate(claims)
                ],
                documents(*texts),
            )

    return asyncio.run(ask())


def test_claims_are_supported_alone_together_or_not_at_all(judge: EntailmentJudge) -> None:
    found = findings(
        judge,
        ["Rain fell.", "Rain hail.", "Sand fell."],
        "Rain fell here.",
        "There was hail.",
        "It never rained.",
    )
    assert [finding.label for finding in found] == ["supported", "supported", "contradicted"]
    assert [finding.documents for finding in found] == [(0,), (0, 1), (2,)]
    assert "together" in found[1].reason


def test_claims_of_one_request_share_a_batch(judge: EntailmentJudge, known: Known) -> None:
    findings(judge, ["Rain fell.", "Hail fell."], "Rain fell here.", "Hail fell there.")
    assert len(known.asked[0]) == 4


def test_a_claim_that_leaves_no_room_for_evidence_is_not_judged(judge: EntailmentJudge) -> None:
    long, short = findings(judge, ["x" * 180, "Rain."], "Rain fell.")
    assert (long.label, long.probability) == (None, None)
    assert "too long" in long.reason
    assert short.label == "supported"


def test_documents_without_words_support_nothing(judge: EntailmentJudge) -> None:
    (found,) = findings(judge, ["Rain."], "", "...")
    assert found == EngineAnswer("not_found", 0.0, (), "the documents have no words")


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({"devise": "cpu"}, "unknown setting of local:nli="),
        ({"dtype": "float16"}, "unknown precision"),
        ({"window": "wide"}, "window: 'wide' is not a whole number"),
        ({"device": "abacus"}, "no device 'abacus'"),
        ({"batch": True}, "batch: True is not a whole number"),
        ({"entailment_label": "yes"}, "no label 'yes'"),
    ],
)
def test_wrong_settings_are_refused(nli: Path, extra: dict[str, str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        _ = load_settings(str(nli), extra).device


def test_the_version_names_model_precision_and_prompt(nli: Path, t5: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "own.j2"
    prompt.write_text(
        "{#\npurpose: x\nsupported: yes\nnot_supported: no\n#}\npremise: {{ document }} {{ claim }}"
    )
    versions = {
        load_settings(str(nli), {}).version,
        load_settings(str(nli), {"dtype": "bfloat16"}).version,
        load_settings(str(t5), {}).version,
        load_settings(str(t5), {"prompt": str(prompt)}).version,
    }
    assert len(versions) == 4
    assert all(version.startswith("nli-v2/sha256:") for version in versions)
