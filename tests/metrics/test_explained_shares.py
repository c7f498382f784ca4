"""The examples of shares of claims are what a run of these claims has."""

from __future__ import annotations

import pytest

import claimeval as ce
from claimeval.metrics import names
from claimeval.statistics.formatting import decimal
from claimeval.testing import ScriptedJudge

PARTS = {
    "faithfulness": ("answer", "contexts"),
    "correctness": ("answer", "reference"),
    "coverage": ("reference", "answer"),
    "context_recall": ("reference", "contexts"),
    "reference_support": ("reference", "reference_contexts"),
}
ROOMS = "ABCDEFGH"


@pytest.mark.parametrize("name", PARTS)
def test_the_example_of_a_share_is_what_a_run_has(name: str) -> None:
    """The calculation of each example is supported claims / claims, as in `3 / 4`."""
    _, calculation, value = names.numbers()[name].example
    supported, _, claims = calculation.partition(" / ")
    sentences = [f"Room {letter} is large." for letter in ROOMS[: int(claims)]]
    text = " ".join(sentences)
    run = ce.score(
        [
            {
                "question": "How large?",
                "answer": text,
                "contexts": ["A house."],
                "reference_answers": [text],
                "reference_contexts": ["A house."],
            }
        ],
        judges=ScriptedJudge(dict.fromkeys(sentences[: int(supported)], "supported")),
        metrics=name,
    )
    mean = run[name].mean
    assert mean is not None
    assert decimal(mean) == value
