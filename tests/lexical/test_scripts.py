"""Numbers, words and dates of texts in other scripts: in the lexical support score, and in what
extraction counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval.judging.grounding import ground, numbers
from claimeval.lexical import content_words as words
from claimeval.lexical.claims import sentences, split_claims
from claimeval.lexical.extraction import Statement, examine
from claimeval.lexical.support import label, prepare, score_claim
from claimeval.lexical.words import with_plain_numbers

NUMBERS = {
    "１２３": "123",
    "٣٫٥": "3.5",
    "۱۹۰۴": "1904",
    "२२": "22",
    "৪.৫০": "4.50",
    "๑๙": "19",
    "၁၈၇၇": "1877",
    "១៨៨០": "1880",
    "一九〇四年": "1904年",
    "三百五十": "350",
    "一万二千": "12000",
    "二十": "20",
    "3億": "300000000",
    "1.2亿": "120000000",
    "5万人": "50000人",
    "十分": "十分",
    "三四": "三四",
    "万一": "万一",
    "一个": "一个",
}


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_of_all_scripts_are_read_by_their_value(text: str) -> None:
    assert with_plain_numbers(text) == NUMBERS[text]


@given(st.text(max_size=60))
def test_a_text_without_such_numbers_stays_as_it_is(text: str) -> None:
    plain = with_plain_numbers(text)
    assert with_plain_numbers(plain) == plain or not text.isascii()
    assert plain == text or not text.isascii()


GROUNDED = {
    "ar": ("احترقت الطاحونة عام ١٨٧٧.", "احترقت الطاحونة عام 1877.", "احترقت الطاحونة عام ١٨٧٨."),
    "hi": ("चक्की १८७७ में जली।", "चक्की 1877 में जली।", "चक्की १८७८ में जली।"),
    "ja": ("水車は一八七七年に焼けた。", "水車は1877年に焼けた。", "水車は１８７８年に焼けた。"),
    "zh": ("人口为1.2亿。", "人口为120000000。", "人口为1.3亿。"),
}


@pytest.mark.parametrize("language", GROUNDED)
def test_a_claim_is_grounded_if_its_number_is_in_the_text_in_any_digits(language: str) -> None:
    text, same, other = GROUNDED[language]
    spans = [(span.start, span.end) for span in sentences(text)]
    assert ground(same, None, (1,), text, spans, "").missing_numbers == ()
    assert ground(text, None, (1,), text, spans, "").grounding == "exact"
    found = ground(other, None, (1,), text, spans, "")
    assert (found.grounding, found.missing_numbers) == ("ungrounded", tuple(numbers(other)))


@pytest.mark.parametrize("language", GROUNDED)
def test_the_examination_sees_a_number_in_other_digits_and_one_that_is_lost(language: str) -> None:
    text, same, other = GROUNDED[language]
    kept = examine(text, [Statement(same, (0,))])
    lost = examine(text, [Statement(other, (0,))])
    assert (kept.counts["numbers_lost"], lost.counts["numbers_lost"]) == ((0, 1), (1, 1))


@pytest.mark.parametrize(
    "text",
    [
        "Am 3. Mai 1904 kam er.",
        "Il arriva le 3 février 1904.",
        "Llegó el 3 de mayo de 1904.",
        "Chegou em 3 de maio de 1904.",
        "वह ३ मई १९०४ को आया।",
        "وصل في ٣ مايو ١٩٠٤.",
        "He came on 3 May 1904.",
    ],
)
def test_months_and_years_are_dates_in_the_languages_of_the_prompts(text: str) -> None:
    assert examine(text, []).counts["dates_lost"] == (2, 2)


@pytest.mark.parametrize("language", GROUNDED)
def test_a_copied_claim_is_supported_and_one_with_another_number_is_not(language: str) -> None:
    text, same, other = GROUNDED[language]
    documents = prepare([text])
    assert label(score_claim(same, documents).score) == "supported"
    found = score_claim(other, documents)
    assert (label(found.score), found.flags[0]) == ("not_found", "number_nowhere")


def test_words_of_hindi_and_arabic_are_whole_and_signs_of_vowels_belong_to_them() -> None:
    assert [word.text for word in words.tokens("हिन्दी की पुस्तक")] == ["हिन्दी", "की", "पुस्तक"]
    assert words.read("كَتَبَ الوَلَدُ") == words.read("كتب الولد")


def test_a_latin_name_beside_japanese_is_a_word_of_its_own() -> None:
    assert [word.text for word in words.tokens("Moll社は1904年")] == [
        "Moll",
        "社",
        "は",
        "1904",
        "年",
    ]


@pytest.mark.parametrize(
    "text", ["पुल बंद है। वह पुराना है।", "桥关闭了。它很旧。", "الجسر مغلق. إنه قديم."]
)
def test_a_claim_of_the_splitter_is_a_sentence(text: str) -> None:
    assert [claim.text for claim in split_claims(text)] == [
        text[start:end] for start, end in sentences(text)
    ]
