"""The sentence that a verdict rests on, found by the words of its reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval.lexical.evidence import EvidenceFinder

TOWER = (
    "The lighthouse was built between 1868 and 1871, after the wreck. The plans came from the"
    " engineer Thomas Garrow. Its lamp can be seen for 20 miles."
)
SHIPS = "Ships use the harbor. The lighthouse was painted red in 1990."
CJK = "建物は1902年に建てられた。設計者は田中である。入場は無料である。"


def found(claim: str, reason: str, *texts: str, among: tuple[int, ...] = ()) -> str | None:
    sentence = EvidenceFinder(texts).find(claim, reason, among)
    return sentence and texts[sentence.document][sentence.start : sentence.end]


@pytest.mark.parametrize(
    ("claim", "reason", "among", "sentence"),
    [
        (
            "The lighthouse was designed by Edwin Pell.",
            "The plans came from Thomas Garrow.",
            (),
            "The plans came from the engineer Thomas Garrow.",
        ),
        (
            "The lighthouse was built in 1850.",
            "",
            (),
            "The lighthouse was built between 1868 and 1871, after the wreck.",
        ),
        (
            "The lighthouse is white.",
            "d2 says that it was painted red.",
            (1,),
            "The lighthouse was painted red in 1990.",
        ),
        (
            "The lamp can be seen for 30 miles.",
            "It can be seen for 20 miles.",
            (1,),
            "Its lamp can be seen for 20 miles.",
        ),
        ("Quantum chromodynamics confines quarks.", "", (), None),
    ],
)
def test_words_of_the_reason_come_first_and_named_documents_before_others(
    claim: str, reason: str, among: tuple[int, ...], sentence: str | None
) -> None:
    assert found(claim, reason, TOWER, SHIPS, among=among) == sentence


def test_a_named_document_of_one_sentence_is_the_evidence_in_whatever_words() -> None:
    """The judge says "contradicted [2]" and gives no reason; other documents are nearer."""
    texts = ["Entry on Sundays is by the side door.", "Closed at weekends.", "Two. Sentences."]
    finder = EvidenceFinder(texts)
    assert finder.find("One can visit the tower on Sundays.", among=[1]) == (1, 0, 19)
    assert finder.find("One can visit the tower on Sundays.", among=[2]) is None


def test_scripts_without_spaces_are_compared_by_pairs_of_characters() -> None:
    assert found("設計者は佐藤である。", "設計者は田中だ", CJK) == "設計者は田中である。"


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=40), st.text(max_size=40))
def test_a_sentence_lies_in_its_document(texts: list[str], claim: str, reason: str) -> None:
    sentence = EvidenceFinder(texts).find(claim, reason)
    if sentence:
        assert 0 <= sentence.start < sentence.end <= len(texts[sentence.document])
