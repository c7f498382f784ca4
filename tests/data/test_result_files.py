"""Result files of other tools are read as judged samples."""

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
    "retrieved_context": [{"doc_id": "000", "text": "The Nile."}, {"doc_id": "001", "text": "Rivers."}],
    "response_claims": [["Nile", "is", "long"], ["Nile", "flows", "south"], ["Nile", "is", "old"]],
    "gt_answer_claims": [["Nile", "flows into", "the sea"]],
    "answer2response": ["Entailment", "Contradiction", "Neutral"],
    "response2answer": ["Neutral"],
    "retrieved2response": [["Neutral", "Entailment"], ["Contradiction", "Entailment"], ["Neutral", "Contradiction"]],
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
        v for a in sample.result.assessments if (part[a.subject], a.evidence.part) == (of, against) for v in a.verdicts
    ]


def test_ragchecker_labels_become_verdicts(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, {"results": [RAGCHECKER]})
    assert sample.result.sample.id == "7"
    assert [claim.text for claim in sample.result.claims][:2] == ["Nile is long", "Nile flows south"]
    assert [v.label for v in verdicts(sample, "answer", "reference")] == ["supported", "contradicted", "not_found"]
    assert [v.label for v in verdicts(sample, "reference", "answer")] == ["not_found"]
    assert sample.scores == {"precision": 0.333, "faithfulness": 0.667}


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
        ("response_claims", "Nile", "a list of claims"),
    ],
)
def test_a_broken_ragchecker_file_is_refused_in_words(tmp_path: Path, field: str, value: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        samples(tmp_path, {"results": [{**RAGCHECKER, field: value}]})


def test_the_recorded_example_gives_ragcheckers_own_numbers() -> None:
    """Precision, recall, faithfulness and claim recall follow from the verdicts alone."""
    found = recognize(shared_data("ragchecker/examples_checking.jsonl"))
    assert found is not None
    assert found.kind == "ragchecker"
    names = {
        "precision": ("answer", "reference"),
        "recall": ("reference", "answer"),
        "faithfulness": ("answer", "contexts"),
        "claim_recall": ("reference", "contexts"),
    }
    for sample in found.samples():
        for name, pair in names.items():
            labels = [v.label for v in verdicts(sample, *pair)]
            assert labels.count("supported") / len(labels) == pytest.approx(sample.scores[name], abs=1e-12)


LOG = """Truths (limit=None):
[
    "The tower is 63 metres high."
]

Claims:
[
    "The tower is 63 metres high.",
    "It says "hello" at noon.",
    "It is red."
]

Verdicts:
[
    {
        "verdict": "yes",
        "reason": null
    },
    {
        "verdict": "idk",
        "reason": "nothing on sounds"
    },
    {
        "verdict": "no",
        "reason": "it is white"
    }
]"""


def deepeval(log: str, **fields: object) -> dict[str, Any]:
    metric = {"name": "Faithfulness", "score": 0.67, "evaluationModel": "gpt-4o", "verboseLogs": log}
    return {
        "testCases": [
            {
                "name": "test_case_0",
                "input": "How high is the tower?",
                "actualOutput": "63 metres. It is red.",
                "expectedOutput": "63 metres",
                "retrievalContext": ["The tower is 63 metres high and white."],
                "metricsData": [metric, {"name": "Answer Relevancy", "score": None, "error": "timeout"}],
                **fields,
            }
        ]
    }


def test_deepevals_verdicts_are_paired_with_its_claims(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, deepeval(LOG))
    assert [claim.text for claim in sample.result.claims] == [
        "The tower is 63 metres high.",
        'It says "hello" at noon.',
        "It is red.",
    ]
    found = verdicts(sample, "answer", "contexts")
    assert [(v.label, v.explanation) for v in found] == [
        ("supported", None),
        ("not_found", "nothing on sounds"),
        ("contradicted", "it is white"),
    ]
    assert {v.judge for v in found} == {"gpt-4o"}
    assert sample.scores == {"Faithfulness": 0.67, "Answer Relevancy": None}
    assert sample.result.sample.reference_answers == ("63 metres",)


@pytest.mark.parametrize(
    "log", [LOG.replace('    "It is red."', '    "It is red.",\n    "It is old."'), LOG[: LOG.index("Verdicts")]]
)
def test_deepevals_verdicts_without_a_partner_are_nobodys(tmp_path: Path, log: str) -> None:
    (sample,) = samples(tmp_path, deepeval(log))
    assert {v.unassessed for v in verdicts(sample, "answer", "contexts")} == {"incomplete"}


def test_a_test_case_without_a_log_has_scores_only(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, deepeval(LOG, metricsData=[{"name": "Faithfulness", "score": 1}]))
    assert (sample.result.claims, sample.scores) == ((), {"Faithfulness": 1.0})


RAGAS: dict[str, Any] = {
    "user_input": "How high is the tower?",
    "response": "63",
    "retrieved_contexts": ["The tower is 63 metres high."],
    "reference": "63 metres",
    "faithfulness": 0.5,
    "context_recall": float("nan"),
}
TRACE = {
    "faithfulness": {
        "n_l_i_statement_prompt": {
            "output": {
                "statements": [
                    {"statement": "It is 63 metres high.", "reason": "said so", "verdict": 1},
                    {"statement": "It is red.", "reason": "not said", "verdict": 0},
                ]
            }
        }
    }
}


def test_ragas_scores_are_kept_and_nan_is_undefined(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, json.dumps(RAGAS) + "\n", "ragas.jsonl")
    assert sample.scores == {"faithfulness": 0.5, "context_recall": None}
    assert sample.result.sample.answer == "63"
    assert sample.result.claims == ()


def test_ragas_statements_become_verdicts_where_traces_were_kept(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, [{**RAGAS, "traces": TRACE}], "ragas.json")
    assert [claim.text for claim in sample.result.claims] == ["It is 63 metres high.", "It is red."]
    assert [(v.label, v.explanation) for v in verdicts(sample, "answer", "contexts")] == [
        ("supported", "said so"),
        ("not_found", "not said"),
    ]
    assert "traces" not in sample.result.sample.metadata


def test_a_csv_as_pandas_writes_it_is_read(tmp_path: Path) -> None:
    text = 'user_input,retrieved_contexts,response,faithfulness\nWhy?,"[\'It\'\'s so.\', ""Because.""]",So.,0.25\n'
    text = text.replace("'It''s so.'", '""It\'s so.""')
    (sample,) = samples(tmp_path, text, "ragas.csv")
    assert [document.text for document in sample.result.sample.contexts or ()] == ["It's so.", "Because."]
    assert sample.scores == {"faithfulness": 0.25}


def test_other_files_are_not_mistaken_for_results(tmp_path: Path) -> None:
    for number, row in enumerate(
        [{"question": "q", "answer": "a"}, {"user_input": "q", "response": "a", "retrieved_contexts": ["c"]}]
    ):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
        assert recognize(path) is None
