"""Which documents of two runs are the same, by hand."""

from __future__ import annotations

import pytest

from claimeval.runs.documents import aligned, match, name_of
from claimeval.types.records import Document

OPENING = "Opening\nThe museum opens at ten and closes at six, except on Mondays."
TICKETS = "Tickets\nA ticket costs five euros, and children under six years go free."
CAFE = "Cafe\nThe cafe closes at six and serves soup, bread and three kinds of cake."


def by_rank(*texts: str) -> tuple[Document, ...]:
    return tuple(Document(id=str(rank), text=text) for rank, text in enumerate(texts, 1))


def test_a_document_that_moved_a_rank_is_the_same() -> None:
    found = match(by_rank(OPENING, TICKETS, CAFE), by_rank(TICKETS, CAFE))
    assert (found.same, found.lost, found.gained, found.moved) == ({1: 0, 2: 1}, (0,), (), False)
    assert aligned(list(enumerate(by_rank(OPENING, TICKETS), 1)), list(enumerate(by_rank(TICKETS, CAFE), 1))) == [
        (1, None, "lost"),
        (2, 1, ""),
        (None, 2, "gained"),
    ]


def test_the_same_documents_in_another_order_only_moved() -> None:
    found = match(by_rank(OPENING, TICKETS), by_rank(TICKETS, OPENING))
    assert (found.changed, found.moved) == (False, True)


@pytest.mark.parametrize("ids", [("kb-7", "kb-9"), ("a", "b")])
def test_an_equal_id_is_another_text_of_the_document(ids: tuple[str, str]) -> None:
    a = Document(id=ids[0], text=OPENING), Document(id=ids[1], text=TICKETS)
    found = match(a, (a[1], Document(id=ids[0], text=CAFE)))
    assert (found.same, found.edited, found.lost) == ({1: 0}, {0: 1}, ())


@pytest.mark.parametrize("ids", [("1", "2"), ("doc-0", "doc-1"), ("chunk_1", "chunk_2")])
def test_ids_that_count_say_nothing(ids: tuple[str, str]) -> None:
    a = tuple(Document(id=one, text=text) for one, text in zip(ids, (OPENING, TICKETS), strict=True))
    b = tuple(Document(id=one, text=text) for one, text in zip(ids, (TICKETS, CAFE), strict=True))
    found = match(a, b)
    assert (found.same, found.lost, found.gained) == ({1: 0}, (0,), (1,))


def test_a_nearly_equal_text_is_the_same_document() -> None:
    found = match(by_rank(OPENING), by_rank(OPENING.replace("ten", "nine")))
    assert (found.edited, found.lost) == ({0: 0}, ())


def test_words_that_are_still_there_are_cut_otherwise() -> None:
    words = [f"word{i}" for i in range(40)]
    whole, halves = " ".join(words), (" ".join(words[:22]), " ".join(words[18:]))
    found = match(by_rank(whole, OPENING), by_rank(*halves, OPENING))
    assert (found.recut, found.lost, found.gained) == (((0,), (0, 1)), (), ())


def test_texts_without_spaces_are_cut_by_characters() -> None:
    text = "本館は午前十時に開館し午後六時に閉館します月曜日は休館日です入館料は五ユーロで六歳未満のお子様は無料です"
    found = match(by_rank(text), by_rank(text[:28], text[24:]))
    assert found.recut == ((0,), (0, 1))


def test_a_text_that_repeats_is_paired_once() -> None:
    found = match(by_rank(OPENING, OPENING), by_rank(OPENING))
    assert (found.same, found.lost) == ({0: 0}, (1,))


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (Document(id="1", title="Guide", text="It is old."), "Guide"),
        (Document(id="1", text=OPENING), "Opening"),
        (Document(id="kb-7", text="It is old."), "kb-7"),
        (Document(id="1", text="It is old."), "It is old."),
        (Document(id="2", text="word " * 30), f"{'word ' * 12}..."),
    ],
)
def test_a_document_has_the_name_that_people_use(document: Document, name: str) -> None:
    assert name_of(document) == name
