"""Ids of retrieved documents: their columns, and how many gold ids occur among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval.data.context_ids import DOCUMENT_IDS, RETRIEVED_IDS, ContextIds, count_ids

ROW = {"question": "Q?", "contexts": ["a", "b"], "reference_context_ids": ["x"]}


@pytest.mark.parametrize("column", [*RETRIEVED_IDS, *DOCUMENT_IDS])
def test_each_name_of_the_column_is_read(column: str) -> None:
    run = ce.measure([{**ROW, column: ["y", "x"]}], "mrr")
    assert run.summary["mrr"].mean == 0.5


@pytest.mark.parametrize("column", ["ctx_keys", "hit_ids", "my_ids", "search_uris"])
def test_another_name_of_the_column_is_asked_about(column: str) -> None:
    with pytest.raises(ce.DataError, match=f"--field context_ids={column}"):
        ce.measure([{**ROW, column: ["1", "2"], "reference_context_ids": ["1"]}], "mrr")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("hits", ["1", "2"]),  # no word for ids
        ("my_ids", ["1"]),  # not as many
        ("my_ids", ["1", "1"]),  # not each once
        ("gold_ids", ["1", "2"]),
    ],
)
def test_a_column_that_is_none_is_not_asked_about(column: str, values: list[str]) -> None:
    with pytest.warns(ce.NoteWarning, match="contexts have no ids"):
        run = ce.measure([{**ROW, column: values, "reference_context_ids": ["1"]}], "mrr")
    assert (run.summary["mrr"].mean, run.summary["mrr"].missing) == (None, {"missing_input": 1})


@pytest.mark.parametrize(
    ("mapping", "row"),
    [
        (
            {"context_ids": "contexts[*].metadata.source"},
            {"contexts": [{"text": each, "metadata": {"source": f"{each}.pdf"}} for each in "ab"]},
        ),
        (
            {"reference_context_ids": "reference_contexts[*].meta.key"},
            {
                "context_ids": ["a.pdf", "b.pdf"],
                "reference_contexts": [{"text": "b", "meta": {"key": "b.pdf"}}],
            },
        ),
    ],
)
def test_ids_within_documents_leave_the_documents_in_place(
    mapping: dict[str, str], row: dict[str, object]
) -> None:
    gold = {"question": "Q?", "contexts": ["a", "b"], "reference_context_ids": ["b.pdf"]}
    (sample,) = ce.read_samples([{**gold, **row}], mapping=mapping)
    assert [document.id for document in sample.contexts or ()] == ["a.pdf", "b.pdf"]
    assert sample.reference_context_ids == ("b.pdf",)
    if "reference_contexts" in row:
        assert [each.text for each in sample.documents("reference_contexts") or ()] == ["b"]


def test_a_message_about_documents_without_ids_says_how_those_within_them_are_read() -> None:
    with pytest.warns(ce.NoteWarning, match=r"--field context_ids=COLUMN.*metadata\.id"):
        ce.measure([ROW], "mrr")


def test_ids_of_other_documents_are_asked_about() -> None:
    with pytest.raises(ce.DataError, match="--field reference_context_ids=doc_ids"):
        list(ce.read_samples([{"question": "Q?", "contexts": ["a", "b"], "doc_ids": ["x"]}]))


def test_ids_of_documents_that_no_context_has_are_metadata() -> None:
    (sample,) = ce.read_samples([{"question": "Q?", "answer": "A", "doc_ids": ["x"]}])
    assert sample.metadata == {"doc_ids": ["x"]}


def test_ids_alone_lead_to_rank() -> None:
    with pytest.raises(ce.DataError, match="claimeval rank"):
        list(ce.read_samples([{"question": "Q?", "contexts_id": ["x"]}]))


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd")))))
def test_ids_are_counted_by_set(pairs: list[tuple[set[str], set[str]]]) -> None:
    samples = [
        ce.Sample(
            id=str(number),
            question="Q?",
            contexts=tuple(ce.Document(id=name, text="t") for name in sorted(contexts)),
            reference_context_ids=tuple(sorted(references)),
        )
        for number, (contexts, references) in enumerate(pairs)
    ]
    counted = [(a, b) for a, b in pairs if b]
    expected = ContextIds(
        given=len(counted),
        references=sum(len(b) for _, b in counted),
        retrieved=sum(len(a & b) for a, b in counted),
    )
    assert count_ids(samples) == (expected if counted else None)


def test_gold_ids_that_occur_nowhere_are_a_caution_everywhere(tmp_path: Path) -> None:
    rows = [{**ROW, "answer": "a", "context_ids": ["p1", "p2"]}]
    caution = "None of the 1 ids of reference contexts occurs"
    assert any(caution in remark for remark in ce.doctor(rows).remarks)
    with pytest.warns(ce.NoteWarning, match=caution):
        ce.measure(rows, "mrr")
    with pytest.warns(ce.NoteWarning, match=caution):
        ce.score(
            rows,
            judges="local:lexical",
            metrics="faithfulness",
            options=ce.RunOptions(cache=tmp_path),
        )


APPLE = "Sales were $82,959 million.\n\nSOURCE(S): 2022 Q3 AAPL.pdf, 2023 Q1 AAPL.pdf"


def test_sources_of_a_labelled_rag_dataset_are_reference_ids() -> None:
    row = {"query": "Sales?", "reference_answer": APPLE, "reference_answer_by": {"type": "ai"}}
    (sample,) = ce.read_samples([row])
    assert sample.reference_answers == ("Sales were $82,959 million.",)
    assert sample.reference_context_ids == ("2022 Q3 AAPL.pdf", "2023 Q1 AAPL.pdf")


@pytest.mark.parametrize(
    "row",
    [
        {"query": "Sales?", "reference_answer": APPLE},  # no such data set
        {"query": "Q?", "reference_answer": "See SOURCE(S): x.", "reference_answer_by": None},
    ],
)
def test_other_answers_keep_what_they_say_of_sources(row: dict[str, object]) -> None:
    (sample,) = ce.read_samples([row])
    assert sample.reference_context_ids == ()
    assert "SOURCE(S)" in sample.reference_answers[0]
