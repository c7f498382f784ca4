"""Samples as people make them in Python."""

from __future__ import annotations

from typing import Any

import claimeval as ce


def test_a_sample_with_texts_and_without_id_is_read_as_the_dict() -> None:
    fields: dict[str, Any] = {"question": "Q?", "answer": "A.", "contexts": ["one", "two"]}
    assert list(ce.read_samples([ce.Sample(**fields)])) == list(ce.read_samples([fields]))


def test_samples_without_id_are_numbered_as_rows_are() -> None:
    given = [ce.Sample(question="Q?"), ce.Sample(id="own", question="Q?"), ce.Sample(question="Q?")]
    assert [sample.id for sample in ce.read_samples(given)] == ["1", "own", "3"]
    run = ce.measure(
        given[0].model_copy(update={"answer": "A.", "reference_answers": ("A.",)}), "token_f1"
    )
    assert [result.sample.id for result in run] == ["1"]


def test_documents_and_texts_may_stand_side_by_side() -> None:
    sample = ce.Sample(question="Q?", contexts=[ce.Document(id="d", text="one"), "two"])
    assert [(document.id, document.text) for document in sample.contexts or ()] == [
        ("d", "one"),
        ("2", "two"),
    ]
