"""Negations within runs of Thai, Chinese and Japanese letters, and syllables that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval.lexical.extraction import claim_words
from claimeval.lexical.support import label, prepare, score_claim
from claimeval.lexical.unspaced import one_sided


def rows(name: str) -> list[list[str]]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split(" ‖ ") for line in lines]


NEGATED = rows("negated.txt")
"""Pairs of which the first denies what the second says."""
NOT_NEGATED = rows("not_negated.txt")
"""Pairs in which both deny the same, or a syllable of a negation denies nothing."""


@pytest.mark.parametrize(("denied", "said"), NEGATED)
def test_a_negation_on_one_side_caps_the_score_both_ways(denied: str, said: str) -> None:
    for claim, document in ((denied, said), (said, denied), (said, f"序。{denied}。終。")):
        result = score_claim(claim, prepare([document]))
        assert result.flags == ("negation",)
        assert label(result.score) != "supported"
    assert label(score_claim(denied, prepare([denied])).score) == "supported"


@pytest.mark.parametrize(("first", "second"), NOT_NEGATED)
def test_syllables_that_deny_nothing_are_no_negation(first: str, second: str) -> None:
    for claim, document in ((first, second), (second, first)):
        assert "negation" not in score_claim(claim, prepare([document])).flags


def test_both_lists_have_forty_rows() -> None:
    assert min(len(NEGATED), len(NOT_NEGATED)) >= 40


def test_a_negation_in_a_script_with_spaces_counts_beside_a_name_in_another() -> None:
    evidence = prepare(["The Bund (外滩) does not open on Monday."])
    assert score_claim("The Bund (外滩) opens on Monday.", evidence).flags == ("negation",)


@pytest.mark.parametrize(
    ("denied", "said"),
    [
        ("Kinderen komen niet gratis binnen.", "Kinderen komen gratis binnen."),
        ("Kinderen hebben geen gratis toegang.", "Kinderen hebben gratis toegang."),
        ("Бесплатно дети не входят.", "Бесплатно дети входят."),
        ("Trẻ em không vào miễn phí.", "Trẻ em vào miễn phí."),
        ("Kinder kommen nicht gratis hinein.", "Kinder kommen gratis hinein."),
        ("الأطفال لا يدخلون مجانا", "الأطفال يدخلون مجانا"),
        ("बच्चे मुफ्त नहीं जाते", "बच्चे मुफ्त जाते"),
    ],
)
def test_words_of_negation_are_listed_for_the_languages_of_the_docs(denied: str, said: str) -> None:
    for claim, document in ((denied, said), (said, denied)):
        assert score_claim(claim, prepare([document])).flags == ("negation",)


@pytest.mark.parametrize(
    ("text", "count"), [("ไม่เปิดและไม่ปิด", 2), ("อย่างไม้", 0), ("开不开放", 0), ("開かない", 1)]
)
def test_negations_are_counted(text: str, count: int) -> None:
    assert claim_words(text).negations == count


LETTERS = st.text("เปดวันไม่ได้ 不没有开放常非開かないずません。，", max_size=60)


@given(LETTERS)
def test_a_text_denies_nothing_of_itself(one: str) -> None:
    assert one_sided(one, one) == ()


@pytest.mark.parametrize("unit", ["ไม่เปิด", "不开", "開かない", "不", "ない"])
def test_texts_of_negations_alone_are_compared(unit: str) -> None:
    """One sentence of 600 letters took a minute."""
    text = (unit * 600)[:600]
    for _ in range(5):
        one_sided(text, text[3:] + "x")
