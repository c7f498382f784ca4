"""RAGChecker's result files are read as judged samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claimeval.data.result_files import JudgedSample, recognize
from claimeval.types.errors import DataError
from claimeval.types.records import Verdict
from tests.shared_data import shared_data

RAGCHECKER: dict[str, Any] = {
    "query_id": "7",
    "query": "What is the longest river?",
    "gt_answer": "The Nile flows into the sea.",
    "response": "The Nile is long. It flows south.",
    "retrieved_context": [
        {"doc_id": "000", "text": "The Nile."},
        {"doc_id": "001", "text": "Rivers."},
    ],
    "response_claims": [["Nile", "is", "long"], ["Nile", "flows", "south"], ["Nile", "is", "old"]],
    "gt_answer_claims": [["Nile", "flows into", "the sea"]],
    "answer2response": ["Entailment", "Contradiction", "Neutral"],
    "response2answer": ["Neutral"],
    "retrieved2response": [
        ["Neutral", "Entailment"],
        ["Contradiction", "Entailment"],
        ["Neutral", "Contradiction"],
    ],
    "retrieved2answer": [["Neutral", "Neutral"]],
    "metrics": {"precision": 0.333, "faithfulness": 0.667},
}


def samples(tmp_path: Path, content: object, name: str = "results.json") -> list[JudgedSample]:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    found = recognize(path)
    assert found is not None
    return list(found.samples())


def verdicts(sample: JudgedSample, of: str, against: str) -> list[Verdict]:
    part = {claim.id: claim.of for claim in sample.result.claims}
    return [
        v
        for a in sample.result.whole
        if (part[a.subject], a.evidence.part) == (of, against)
        for v in a.verdicts
    ]


def test_ragchecker_labels_become_verdicts(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, {"results": [RAGCHECKER]})
    assert sample.result.sample.id == "7"
    assert [claim.text for claim in sample.result.claims][:2] == [
        "Nile is long",
        "Nile flows south",
    ]
    assert [v.label for v in verdicts(sample, "answer", "reference")] == [
        "supported",
        "contradicted",
        "not_found",
    ]
    assert [v.label for v in verdicts(sample, "reference", "answer")] == ["not_found"]
    assert sample.result.sample.metadata == {}


def test_labels_of_single_contexts_are_merged_and_name_the_entailing_ones(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, {"results": [RAGCHECKER]})
    found = verdicts(sample, "answer", "contexts")
    assert [v.label for v in found] == ["supported", "supported", "contradicted"]
    assert [v.cites for v in found] == [("001",), ("001",), ()]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("answer2response", ["Entailment"], "expected 3 labels"),
        ("retrieved2response", [["Neutral"]] * 3, "2 labels per claim"),
        ("answer2response", ["Entailment", "Yes", "Neutral"], "unknown label 'Yes'"),
        (
            "answer2response",
            ["Entailment", {"label": "Neutral"}, "Neutral"],
            "unknown label \"{'label': 'Neutral'}\"",
        ),
        ("response_claims", "Nile", "a list of claims"),
    ],
)
def test_a_broken_ragchecker_file_is_refused_in_words(
    tmp_path: Path, field: str, value: object, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        samples(tmp_path, {"results": [{**RAGCHECKER, field: value}]})


def test_the_recorded_example_gives_ragcheckers_own_numbers() -> None:
    """Precision, recall, faithfulness and claim recall follow from the verdicts alone."""
    path = shared_data("ragchecker/examples_checking.jsonl")
    found = recognize(path)
    assert found is not None
    names = {
        "precision": ("answer", "reference"),
        "recall": ("reference", "answer"),
        "faithfulness": ("answer", "contexts"),
        "claim_recall": ("reference", "contexts"),
    }
    recorded = [
        json.loads(line)["metrics"] for line in path.read_text(encoding="utf-8").splitlines()
    ]
    for sample, numbers in zip(found.samples(), recorded, strict=True):
        for name, pair in names.items():
            labels = [v.label for v in verdicts(sample, *pair)]
            assert labels.count("supported") / len(labels) == pytest.approx(
                numbers[name], abs=1e-12
            )


def test_other_files_are_not_mistaken_for_results(tmp_path: Path) -> None:
    for number, row in enumerate(
        [
            {"question": "q", "answer": "a"},
            {"user_input": "q", "response": "a", "faithfulness": 0.5},
        ]
    ):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
        assert recognize(path) is None
