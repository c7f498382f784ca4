"""Columns and paths are proposed for fields by their words, and by what they hold."""

from __future__ import annotations

from typing import Any

import pytest

from claimeval.data.hints import by_shape, options, proposals

FIELDS = ("question", "answer", "contexts", "reference_answers", "reference_contexts")
LONG = "The museum opens at ten on weekdays."


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("ANSWER", "answer"),
        ("Model Output", "answer"),
        ("Retrieved Contexts", "contexts"),
        ("userInput", "question"),
        ("Expected Output", "reference_answers"),
        ("source docs", "contexts"),
        ("reference contexts", "reference_contexts"),
        ("ground_truth_contexts", "reference_contexts"),
        ("notes", None),
        ("answer_model", None),
        ("response_time_ms", None),
        ("error_message", None),
    ],
)
def test_a_column_is_proposed_by_the_words_in_its_name(column: str, field: str | None) -> None:
    assert proposals([{column: LONG}], FIELDS) == ({field: column} if field else {})


@pytest.mark.parametrize(
    ("row", "proposed"),
    [
        (
            {"output": {"answer": "A.", "docs": [{"text": LONG}]}},
            {"answer": "output.answer", "contexts": "output.docs"},
        ),
        ({"result": {"generation": {"text": "A."}}}, {"answer": "result.generation.text"}),
        ({"reply": '{"answer": "A."}'}, {"answer": "reply.answer"}),
        (
            {"choices": [{"message": {"role": "assistant", "content": "A."}}], "response": "B."},
            {"answer": "response"},
        ),
        ({"context_1": LONG, "context_10": LONG, "context_2": LONG}, {"contexts": "context_*"}),
        ({"hits": [{"_source": {"text": LONG}}]}, {"contexts": "hits"}),
        (
            {"expected": {"answer": "A."}, "answer_score": "0.5"},
            {"reference_answers": "expected.answer"},
        ),
        ({"context": ["d1", "d2"]}, {}),
    ],
)
def test_a_path_is_proposed_by_its_names_and_by_what_it_leads_to(
    row: dict[str, Any], proposed: dict[str, str]
) -> None:
    assert proposals([row], FIELDS) == proposed


def test_names_of_another_language_are_proposed_by_what_the_columns_hold() -> None:
    rows = [
        {"frage": "Wann?", "antwort": "Um zehn Uhr.", "belege": ["Das Museum hat ab zehn auf."]}
    ]
    assert by_shape(rows) == {"question": "frage", "answer": "antwort", "contexts": "belege"}


def test_options_are_quoted_for_the_shell() -> None:
    assert (
        options({"answer": "Model Output", "contexts": "docs[*].text"})
        == "--field answer='Model Output' --field contexts='docs[*].text'"
    )
    assert (
        options({"question": ["question", "prompt"]})
        == "--field question=question --field question=prompt"
    )
