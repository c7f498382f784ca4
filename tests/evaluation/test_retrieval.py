"""Rank metrics of contexts against reference contexts, worked by hand."""

from __future__ import annotations

import pytest

from claimeval.evaluation import retrieval
from claimeval.evaluation.measure import Measurement, make_job
from claimeval.types.errors import UsageError
from claimeval.types.records import Document, Sample, Score


def sample(name: str, retrieved: str, relevant: str) -> Sample:
    documents = tuple(Document(id=letter, text=f"Text {letter}") for letter in retrieved)
    return Sample(id=name, question="Q", contexts=documents, reference_context_ids=tuple(relevant))


def rows(
    *samples: Sample, measures: str = "mrr,map,recall@5,P@5", match: retrieval.Match | None = None
) -> list[dict[str, Score]]:
    return list(retrieval.score(samples, retrieval.asked(measures), match))


def means(row: dict[str, Score]) -> dict[str, float | None]:
    return {name: score.value for name, score in row.items()}


def test_values_are_those_of_trec_eval() -> None:
    (row,) = rows(sample("one", "abc", "acx"))
    # hits at ranks 1 and 3 of three relevant: (1/1 + 2/3) / 3
    assert means(row) == pytest.approx({"mrr": 1.0, "map": 5 / 9, "recall@5": 2 / 3, "P@5": 0.4})


def test_samples_keep_their_order_and_say_why_they_have_no_value() -> None:
    first, second, third = rows(
        sample("b", "xa", "a"), sample("a", "x", ""), sample("c", "", "a"), measures="mrr"
    )
    assert means(first) == {"mrr": 0.5}
    assert second == {"mrr": Score.undefined("missing_input")}
    assert means(third) == {"mrr": 0.0}


def test_all_samples_without_references_have_no_value() -> None:
    assert [row["map"].value for row in rows(sample("a", "x", ""), sample("b", "y", ""))] == [
        None,
        None,
    ]


def test_more_samples_than_are_taken_at_once() -> None:
    found = rows(
        *(sample(str(i), "xa" if i % 2 else "a", "a") for i in range(2001)), measures="mrr"
    )
    assert [row["mrr"].value for row in found] == [0.5 if i % 2 else 1.0 for i in range(2001)]


def test_a_context_that_stands_twice_counts_where_it_stands_first() -> None:
    (row,) = rows(sample("one", "axa", "a"), measures="mrr,P@5")
    assert means(row) == {"mrr": 1.0, "P@5": 0.2}


def test_pages_are_folded_into_the_documents_that_are_the_references() -> None:
    pages = tuple(Document(id=name, text="x") for name in ("b#1", "b#2", "a#9", "a#1"))
    one = Sample(id="s", question="Q", contexts=pages, reference_context_ids=("a",))
    (row,) = retrieval.score([one], retrieval.asked("mrr,P@5"), fold="#.*")
    assert means(row) == {"mrr": 0.5, "P@5": 0.2}
    with pytest.raises(UsageError, match="collapsed only if"):
        make_job(Measurement(metrics="mrr", match="text", collapse_ids="#.*"))


NUMBERED = Sample(
    id="s",
    question="Q",
    contexts=["Emma was written in 1815.", "Bath is a city."],
    reference_context_ids=("2", "1"),
)
"""Texts without ids, whose ranks happen to be the gold ids."""


def test_a_rank_is_no_id() -> None:
    (row,) = rows(NUMBERED)
    assert set(row.values()) == {Score.undefined("missing_input")}
    assert retrieval.matched_by(NUMBERED, None) == (None, "contexts have no ids")


def test_one_context_without_an_id_is_enough_for_no_value() -> None:
    mixed = NUMBERED.model_copy(
        update={"contexts": (Document(id="1", text="x"), *(NUMBERED.contexts or ())[1:])}
    )
    (row,) = rows(mixed, measures="mrr")
    assert row == {"mrr": Score.undefined("missing_input")}


def test_contexts_without_ids_are_matched_by_text_unless_ids_are_asked_for() -> None:
    one = NUMBERED.model_copy(update={"reference_contexts": ("Bath is a city.",)})
    assert means(rows(one, measures="mrr")[0]) == {"mrr": 0.5}
    assert rows(one, measures="mrr", match="ids")[0]["mrr"].because == "missing_input"


def test_ids_that_are_numbers_in_the_data_match() -> None:
    given = Sample(
        id="s",
        question="Q",
        contexts=tuple(Document(id=name, text="x") for name in ("1", "2")),
        reference_context_ids=("2",),
    )
    assert means(rows(given, measures="mrr")[0]) == {"mrr": 0.5}


def test_citations_do_not_keep_a_document_from_its_reference() -> None:
    text = Document(id="d", text="The tower[1] is high.[2] It was built in 1901 (Document 3).")
    one = Sample(
        id="s",
        question="Q",
        contexts=(text,),
        reference_contexts=("The tower is high. It was built in 1901.",),
    )
    (row,) = rows(one, measures="mrr", match="text")
    assert means(row) == {"mrr": 1.0}


def test_content_is_matched_once_for_each_reference() -> None:
    texts = ["Something else.", "It says: The  Tower is high, and more.", "the tower is high", "x"]
    one = Sample(
        id="s",
        question="Q",
        contexts=tuple(Document(id=str(i), text=text) for i, text in enumerate(texts)),
        reference_contexts=("The tower is high", "Never found"),
    )
    assert retrieval.assigned(retrieval.references_in_text(one)) == [
        "other-1",
        "reference-1",
        "other-3",
        "other-4",
    ]
    (row,) = rows(one, measures="mrr,recall@5", match="text")
    assert means(row) == {"mrr": 0.5, "recall@5": 0.5}


def test_a_long_piece_of_a_reference_counts_and_a_short_one_does_not() -> None:
    reference = "The quick brown fox jumps over the lazy dog."
    for text, held in (
        ("quick brown fox jumps over", "reference-1"),
        ("fox", "other-1"),
        ("", "other-1"),
    ):
        one = Sample(
            id="s",
            question="Q",
            contexts=(Document(id="d", text=text),),
            reference_contexts=(reference,),
        )
        assert retrieval.assigned(retrieval.references_in_text(one)) == [held]


def test_measures_that_are_no_mean_over_samples_are_refused() -> None:
    with pytest.raises(UsageError, match="num_ret is no mean over samples"):
        retrieval.asked("mrr,num_ret")


def test_dcg_is_no_share() -> None:
    assert retrieval.units(retrieval.asked("dcg@5,mrr")) == {"dcg@5": "gain", "mrr": "share"}
