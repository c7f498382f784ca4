"""Which documents of two runs are the same, by hand."""

from __future__ import annotations

import pytest

from claimeval.runs.documents import aligned, match, name_of
from claimeval.types.records import Document

OPENING = "Opening\nThe museum opens at ten and closes at six, except on Mondays."
TICKETS = "Tickets\nA ticket costs five euros, and children under six years go free."
CAFE = "Cafe\nThe cafe closes at six and serves soup, bread and three kinds of cake."
NINE = OPENING.replace("ten", "nine")
LONG = " ".join(f"word{i}" for i in range(200))
JAPANESE = (
    "本館は午前十時に開館し午後六時に閉館します月曜日は休館日です"
    "入館料は五ユーロで六歳未満のお子様は無料です"
)
RANKS = ("1", "2", "3")
LOST = {0: "lost"}
EDITED = {0: "rewritten"}
RECUT = {0: "recut"}
BOTH = {0: "recut", 1: "recut"}


def documents(ids: tuple[str, ...], *texts: str) -> tuple[Document, ...]:
    return tuple(Document(id=one, text=text) for one, text in zip(ids, texts, strict=False))


@pytest.mark.parametrize(
    ("ids", "a", "b", "pairs", "in_a", "in_b"),
    [
        (RANKS, (OPENING, TICKETS, CAFE), (TICKETS, CAFE), {1: 0, 2: 1}, LOST, {}),
        (RANKS, (OPENING, OPENING), (OPENING,), {0: 0}, {1: "lost"}, {}),
        (RANKS, (OPENING, TICKETS), (TICKETS, CAFE), {1: 0}, LOST, {1: "gained"}),
        (("doc-0", "doc-1"), (OPENING, TICKETS), (TICKETS, CAFE), {1: 0}, LOST, {1: "gained"}),
        (("chunk_1", "chunk_2"), (OPENING, TICKETS), (TICKETS, CAFE), {1: 0}, LOST, {1: "gained"}),
        (("kb-7", "kb-9"), (OPENING, TICKETS), (CAFE, TICKETS), {0: 0, 1: 1}, EDITED, EDITED),
        (("a", "b"), (OPENING, TICKETS), (CAFE, TICKETS), {0: 0, 1: 1}, EDITED, EDITED),
        (RANKS, (OPENING,), (NINE,), {0: 0}, EDITED, EDITED),
        (RANKS, (LONG,), (LONG.replace("word9", "word 9"),), {0: 0}, EDITED, EDITED),
        (RANKS, (LONG,), (LONG[:500],), {}, RECUT, RECUT),
        (RANKS, (LONG[:500],), (LONG,), {}, RECUT, RECUT),
        (RANKS, (LONG, OPENING), (LONG[:500],), {}, RECUT | {1: "lost"}, RECUT),
        (RANKS, (LONG[:270],), (LONG[:150], LONG[130:270]), {}, RECUT, BOTH),
        (RANKS, (LONG, OPENING), (LONG[:700], LONG[650:]), {}, RECUT | {1: "lost"}, BOTH),
        (RANKS, (JAPANESE,), (JAPANESE[:28], JAPANESE[24:]), {}, RECUT, BOTH),
    ],
    ids=[
        "a rank higher",
        "a text that repeats",
        "ranks",
        "ranks from 0",
        "ranks of chunks",
        "equal ids",
        "letters",
        "nearly equal",
        "long and nearly equal",
        "cut to a third",
        "three times as long",
        "cut to a third and one lost",
        "cut",
        "long and cut",
        "cut, without spaces",
    ],
)
def test_documents_are_matched_by_text_then_by_ids_that_are_no_ranks(
    ids: tuple[str, ...],
    a: tuple[str, ...],
    b: tuple[str, ...],
    pairs: object,
    in_a: object,
    in_b: object,
) -> None:
    found = match(documents(ids, *a), documents(ids, *b))
    assert (found.pairs, found.changes, found.moved) == (pairs, (in_a, in_b), False)


def test_the_same_documents_in_another_order_only_moved() -> None:
    found = match(documents(RANKS, OPENING, TICKETS), documents(RANKS, TICKETS, OPENING))
    assert (found.changed, found.moved) == (False, True)


def test_one_list_has_the_documents_of_both_runs() -> None:
    a, b = (
        list(enumerate(documents(RANKS, *texts), 1))
        for texts in ((OPENING, TICKETS), (TICKETS, CAFE))
    )
    assert aligned(a, b) == [(1, None, "lost"), (2, 1, ""), (None, 2, "gained")]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (Document(id="1", title="Guide", text="It is old."), "Guide"),
        (Document(id="1", text=OPENING), "Opening"),
        (Document(id="kb-7", text="It is old."), "kb-7"),
        (Document(id="2022_Q3_AAPL#p22", text="Table of Contents\nIt is old."), "2022_Q3_AAPL#p22"),
        (Document(id="chunk_2", text="It is old."), "It is old."),
        (Document(id="2b4c9e0a-77d1-4f3c-9a55-0c1d2e3f4a5b", text=OPENING), "Opening"),
        (Document(id="1", text="It is old."), "It is old."),
        (Document(id="2", text="word " * 30), f"{'word ' * 12}..."),
    ],
)
def test_a_document_has_the_name_that_people_use(document: Document, name: str) -> None:
    assert name_of(document) == name
