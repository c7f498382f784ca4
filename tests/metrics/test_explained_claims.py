"""The examples of metrics of claims are what is computed from a small matrix."""

from __future__ import annotations

from typing import Any

import pytest

from claimeval.metrics import names
from claimeval.metrics.derived import scores
from claimeval.statistics.formatting import decimal
from tests.metrics.matrices import matrix

MATRICES: dict[str, dict[str, Any]] = {
    "f1": {"p": "sn", "q": "ss"},
    "claim_recall": {"C": ("sn", "ns", "nn", "nn")},
    "context_precision_claims": {"C": ("snnnn", "nsnnn")},
    "context_utilization": {"C": ("sn", "sn", "ns", "ss"), "q": "sssn"},
    "faithfulness_per_document": {"R": ("sn", "ns", "nn", "nn")},
    "noise_sensitivity_in_relevant": {
        "p": "ssssn",
        "R": ("nn", "nn", "nn", "nn", "sn"),
        "C": ("sn",),
    },
    "noise_sensitivity_in_irrelevant": {
        "p": "sssnn",
        "R": ("nn", "nn", "nn", "ns", "ns"),
        "C": ("sn",),
    },
    "hallucination": {"p": "ssssn", "R": ("sn", "sn", "sn", "sn", "nn")},
    "self_knowledge": {"p": "sssss", "R": ("sn", "sn", "sn", "sn", "nn")},
    "faithful_but_incorrect": {"p": "ssssn", "f": "sssss"},
    "contradiction_rate": {"f": "sssc"},
    "context_conflict_rate": {"R": ("sc", "sn", "ns", "nn")},
    "factscore@N": {"f": "ssssn"},
    "long_form_f1@N": {"f": "ssssssnn"},
    "long_form_f1_on_topic@N": {"f": "ssssssnn", "on_topic": "ssssssss"},
    "nugget_recall": {"q": "sspn"},
    "nugget_recall_strict": {"q": "sspn"},
    "nugget_recall_vital": {"q": "sp", "vital": "ss"},
    "nugget_recall_vital_strict": {"q": "sp", "vital": "ss"},
    "nugget_recall_weighted": {"q": "ssn", "vital": "snn"},
    "nugget_recall_weighted_strict": {"q": "ssp", "vital": "snn"},
}
"""What the examples say in words, with a letter a claim."""
N = {"factscore@N": "10", "long_form_f1@N": "12", "long_form_f1_on_topic@N": "12"}
"""The numbers that the examples give for N."""


@pytest.mark.parametrize("name", MATRICES)
def test_the_examples_of_metrics_of_claims_are_what_is_computed(name: str) -> None:
    base, at, _ = name.partition("@")
    asked = f"{base}@{N[name]}" if at else base
    value = scores([asked], matrix(**MATRICES[name]))[asked].value
    assert value is not None
    assert decimal(value) == names.numbers()[name].example[2]
