"""The normalizations: equal to the plain SQuAD steps for any text, and sensible for other
languages."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claimeval.lexical.content_words import read
from claimeval.lexical.words import (
    NORMALIZATIONS,
    Bags,
    is_unspaced_script,
    named,
    normalize,
    with_powers,
)
from claimeval.types.errors import UsageError

SQUAD = NORMALIZATIONS["squad"]
MULTILINGUAL = NORMALIZATIONS["multilingual"]

# Texts that meet every branch: articles beside signs, controls, odd white space, letters whose case
# folds oddly.
VISIBLE = "a an the The AN A paris x1 - ' _ . ’ “ ” — – … € ´ · é É ß İ ı Σ ς ﬁ １ ² 京 タ ไ ก็ مي"
INVISIBLE = " \n\t\x1c\x00\x1b\x7f\x85\xa0\u2003\u0301\u200b\u200d\u00ad\ufeff\u212a\ud800"
PIECES = st.sampled_from([*VISIBLE.split(), *INVISIBLE])
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=60)


def squad_by_its_steps(text: str) -> list[str]:
    """The SQuAD evaluation script's steps, written plainly: the reference for the fast code."""
    lowered = text.lower()
    bare = "".join(character for character in lowered if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


@given(TEXTS)
@example("The a\x00b a\u0301 the—end “A” ’s")
@example("ΑΣ-Β ΟΔΟΣ.")
@example("x" * 40 + "é a Σ. the")
def test_squad_words_equal_the_plain_steps_for_any_text(text: str) -> None:
    assert SQUAD.words(text) == squad_by_its_steps(text)


@given(TEXTS)
@example("l'été d’Alice plain words before and after " * 3)
@example("a\u200bb ‘’ plain words, so that most of it is ASCII")
def test_multilingual_words_equal_folding_the_whole_text(text: str) -> None:
    assert MULTILINGUAL.words(text) == MULTILINGUAL.fold(text).split()


@given(TEXTS)
def test_a_bag_holds_every_word_with_its_count(text: str) -> None:
    for normalization in NORMALIZATIONS.values():
        words = normalization.words(text)
        bag = normalization.bag(text)
        assert bag.counts == {word: words.count(word) for word in words}
        assert bag.total == len(words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Washington-Post, (an) 1877 paper", "washingtonpost 1877 paper"),
        ("co-op", "coop"),
        ("A’s “the” plan", "’s “ ” plan"),
        ("a, an; the.", ""),
        ("Vitamin_A", "vitamina"),
        ("", ""),
    ],
)
def test_squad_normalization_worked_by_hand(text: str, expected: str) -> None:
    assert normalize(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L’homme de l'Italie a 1 an", "l homme de l italie a 1 an"),
        ("„Straße“ – STRASSE, E-Mail", "strasse strasse email"),
        ("1914–1918, 1,000.50 €", "1914 1918 100050"),
        ("１２３ ﬁn CO₂ e\u0301te\u0301 Été", "123 fin co2 été été"),
        ("東京タワー、Tokyo。", "東 京 タ ワ ー tokyo"),
        ("ไทย", "ไ ท ย"),
        ("한국어 문장", "한국어 문장"),
        ("می‌خواهم", "میخواهم"),
        ('צה"ל צה״ל בית־ספר בית-ספר', "צהל צהל ביתספר ביתספר"),
        ("don't", "don t"),
    ],
)
def test_multilingual_normalization_worked_by_hand(text: str, expected: str) -> None:
    assert normalize(text, "multilingual") == expected


def test_scripts_without_spaces_are_recognised() -> None:
    assert is_unspaced_script("Tokyo is 東京")
    assert is_unspaced_script("ภาษาไทย")
    assert not is_unspaced_script("naïve résumé, Ελλάδα, 한국어")


def test_an_unknown_normalization_gets_the_closest_name() -> None:
    with pytest.raises(UsageError, match=r"'sqad'.*Did you mean 'squad'\?.*multilingual"):
        named("sqad")


def test_a_text_met_again_is_not_read_again() -> None:
    bags = Bags(SQUAD)
    first = bags["a shared context"]
    assert bags["a shared " + "context"] is first


def test_remembered_texts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bags, "LIMIT", 100)
    bags = Bags(SQUAD)
    for number in range(50):
        assert bags[f"text number {number:02}"].total == 3
        assert sum(map(len, bags)) <= 100 + len("text number 00")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10⁶ litres", "10^⁶ litres"),
        ("3.2 x 10⁻⁴ m", "3.2 x 10^⁻⁴ m"),
        ("5 km² of x⁴", "5 km² of x⁴"),
        ("106 litres", "106 litres"),
    ],
)
def test_a_power_is_apart_from_its_number(text: str, shown: str) -> None:
    assert with_powers(text) == shown


def test_a_power_makes_no_other_number() -> None:
    raised, plain, other = (read(text)[0] for text in ("10⁶ m", "10^6 m", "106 m"))
    assert raised == plain != other
