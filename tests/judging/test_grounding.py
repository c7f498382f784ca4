"""Where a claim stands in its source text."""

from __future__ import annotations

import pytest

from claimeval.judging.grounding import ground as place
from claimeval.judging.grounding import numbers

TEXT = "The café opened in 1901.\nIt has  nine rooms and\u00a0340 clocks. Entry costs €1,200.50 a year."
SENTENCES = [(0, 24), (25, 61), (62, len(TEXT))]


def ground(claim: str, quote: str | None = None, ids: tuple[int, ...] = ()) -> tuple[str, str | None]:
    where = place(claim, quote, ids, TEXT, SENTENCES, "What about 2024?")
    return where.grounding, TEXT[slice(*where.span)] if where.span else None


def test_a_verbatim_quote_is_exact_and_has_its_place() -> None:
    assert ground("It opened.", "opened in 1901") == ("exact", "opened in 1901")


def test_white_space_and_compatibility_forms_do_not_matter() -> None:
    assert ground("Rooms.", "has nine rooms and 340 clocks") == ("exact", "has  nine rooms and\u00a0340 clocks")
    assert ground("Cafe.", "The cafe\u0301 opened".replace("e\u0301", "é")) == ("exact", "The café opened")


def test_a_near_quote_is_fuzzy() -> None:
    assert ground("It opened.", "The cafe opened in 1901") == ("fuzzy", "The café opened in 1901")


def test_valid_sentence_ids_alone_are_ids_only() -> None:
    assert ground("Something reworded entirely.", "not in the text at all, anywhere", (2, 3)) == ("ids_only", TEXT[25:])


def test_nothing_at_all_is_ungrounded() -> None:
    assert ground("Something reworded entirely.", None, (0, 9)) == ("ungrounded", None)


def test_a_number_that_is_nowhere_makes_a_claim_ungrounded_but_keeps_its_place() -> None:
    where = place("It opened in 1910.", "opened in 1901", (1,), TEXT, SENTENCES, "")
    assert (where.grounding, where.missing_numbers) == ("ungrounded", ("1910",))
    assert where.span == (9, 23)


def test_a_number_of_the_question_may_be_used() -> None:
    assert ground("In 2024 it had rooms.", "nine rooms")[0] == "exact"


@pytest.mark.parametrize(
    ("text", "found"),
    [("1,200.50", "1200.5"), ("1200.5", "1200.5"), ("10", "10"), ("3.0", "3"), ("１２", "12"), ("1,2", "1,2")],
)
def test_numbers_are_compared_by_value_as_far_as_the_form_tells(text: str, found: str) -> None:
    assert numbers(text) == {found}


def test_a_long_text_and_quote_stay_quick_and_correct() -> None:
    text = "word " * 100_000
    where = place("x", "gone " * 1000, (1,), text, [(0, len(text))], "")
    assert where.grounding == "ids_only"


CITED = "Brandi【1†source】 was a historian [2]. According to document 3, he wrote 12 books.¹"


def cited(claim: str, quote: str | None = None) -> tuple[str, str | None, tuple[str, ...]]:
    where = place(claim, quote, (), CITED, [], "")
    return where.grounding, CITED[slice(*where.span)] if where.span else None, where.missing_numbers


def test_a_quote_is_exact_although_the_text_cites_in_its_midst() -> None:
    assert cited("Brandi was a historian.") == ("exact", "Brandi【1†source】 was a historian [2].", ())
    assert cited("x", "historian. he wrote 12") == ("exact", "historian [2]. According to document 3, he wrote 12", ())


def test_a_quote_keeps_its_own_citations_in_the_span() -> None:
    assert cited("x", "was a historian [2]") == ("exact", "was a historian [2]", ())


def test_the_number_of_a_citation_is_neither_looked_for_nor_found() -> None:
    assert cited("He wrote 12 books [7].", "wrote 12 books") == ("exact", "wrote 12 books", ())
    assert cited("He wrote 2 books.", "wrote 12 books") == ("ungrounded", "wrote 12 books", ("2",))
    assert cited("As stated in document 5, he wrote 1 book.", "he wrote")[2] == ("1",)
    assert numbers("The area is 5 km² [1].") == {"5", "2"}
