"""Documents in windows, and what verdicts on windows come to."""

from __future__ import annotations

from itertools import pairwise

import pytest

from claimeval.judging import windows
from claimeval.judging.requests import document_text
from claimeval.types.records import Document, ReadVerdict
from claimeval.types.requests import Failure
from claimeval.types.scales import PARTIAL, THREE_WAY, Scale

SENTENCES = [f"Lock number {i} was dug in the autumn of {1700 + i} by hand." for i in range(200)]
LONG = Document(id="long", title="Locks", text=" ".join(SENTENCES))
SHORT = Document(id="short", text="The lock-keeper lives in Varn.")


def size(window: tuple[Document, ...]) -> int:
    return sum(len(document_text(document).encode()) + windows.LINE for document in window)


def test_documents_stay_whole_and_in_order_where_they_fit() -> None:
    documents = [SHORT.model_copy(update={"id": str(i)}) for i in range(20)]
    found = windows.split(documents, 600)
    assert [document for window in found for document in window] == documents
    assert max(map(size, found)) <= 600
    assert len(found) == 2  # of 48 bytes each with its line, twelve fit


@pytest.mark.parametrize("room", [windows.SHORTEST, 1000, 5000])
def test_a_long_document_is_cut_between_sentences_into_pieces_that_overlap(room: int) -> None:
    found = windows.split([SHORT, LONG, SHORT], room)
    assert max(map(size, found)) <= room
    pieces = [document for window in found for document in window if document.id == "long"]
    assert {piece.title for piece in pieces} == {"Locks"}
    assert all(any(sentence in piece.text for piece in pieces) for sentence in SENTENCES)
    for first, second in pairwise(pieces):
        assert second.text.startswith("Lock number")
        assert second.text[:20] in first.text  # the first sentence of a piece ends the one before


@pytest.mark.parametrize("text", ["x" * 5000, "ก" * 3000, "é\u202e" * 1500, "1 " * 3000])
def test_a_text_without_sentences_loses_no_character(text: str) -> None:
    found = windows.split([Document(id="a", text=text)], 500)
    assert max(map(size, found)) <= 500
    pieces = [window[0].text for window in found]
    joined = pieces[0]
    for piece in pieces[1:]:
        common = next(n for n in range(len(piece), -1, -1) if joined.endswith(piece[:n]) or n == 0)
        joined += piece[common:]
    assert len(joined.replace(" ", "")) <= len(text.replace(" ", ""))
    assert sum(map(len, pieces)) >= len(text)


def test_a_sentence_longer_than_a_window_is_cut_finely_so_that_its_pieces_overlap() -> None:
    """A quarter of the room is 100 bytes, with quotation marks 98, halved from 100: parts of 50, of
    which seven fit into a piece, and the next piece repeats the last of them."""
    before = " ".join(SENTENCES[:10]) + " "
    text = before + "x" * 3000
    spans = [span for span in windows.cuts(text, 400) if span[0] >= len(before)]
    assert {end - start for start, end in spans[:-1]} == {350}
    assert {first[1] - second[0] for first, second in pairwise(spans)} == {50}
    assert spans[-1][1] == len(text)


def test_no_room_is_no_window() -> None:
    assert windows.split([LONG], windows.SHORTEST - 1) == []
    assert windows.split([], 1000) == []


def said(label: str | None, scale: Scale = THREE_WAY, *cites: str) -> ReadVerdict:
    return ReadVerdict(
        judge="j", **scale.labeled(label), unassessed=None if label else "unsure", cites=cites
    )


LATE = Failure(reason="timeout", message="late")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("not_found", "supported"), "supported"),
        (("contradicted", "supported"), "supported"),
        (("not_found", "contradicted"), "contradicted"),
        (("not_found", "not_found"), "not_found"),
        ((None, "not_found"), None),
        ((None, "contradicted"), "contradicted"),
    ],
)
def test_support_by_any_window_wins(labels: tuple[str | None, ...], expected: str | None) -> None:
    for order in (labels, labels[::-1]):
        merged = windows.merge([said(label) for label in order], THREE_WAY)
        assert isinstance(merged, ReadVerdict)
        assert (merged.label, merged.windows) == (expected, 2)


def test_partial_support_goes_before_none() -> None:
    merged = windows.merge([said("not_found", PARTIAL), said("partly_supported", PARTIAL)], PARTIAL)
    assert isinstance(merged, ReadVerdict)
    assert merged.label == "partly_supported"


def test_a_window_that_was_not_read_leaves_open_what_no_other_settles() -> None:
    assert windows.merge([said("contradicted"), LATE], THREE_WAY) == LATE
    merged = windows.merge([LATE, said("supported")], THREE_WAY)
    assert isinstance(merged, ReadVerdict)
    assert merged.label == "supported"


def test_the_documents_of_all_windows_that_say_so_are_cited() -> None:
    verdicts = [
        said("supported", THREE_WAY, "a"),
        said("not_found", THREE_WAY, "b"),
        said("supported", THREE_WAY, "c"),
    ]
    merged = windows.merge(verdicts, THREE_WAY)
    assert isinstance(merged, ReadVerdict)
    assert merged.cites == ("a", "c")
