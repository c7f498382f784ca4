"""Sentences of labeled texts in 30 languages, beside those that the library sentencex finds."""

from __future__ import annotations

import pytest

from benchmarks.sentences import Case, cases, of_library, ours
from claimeval.lexical.claims import sentence_kinds
from claimeval.lexical.sentences import sentences

KNOWN_WRONG = {
    "Das Amt liegt in der Hauptstr. 5, Nr. 2. Es öffnet um 9 Uhr, usw. siehe Aushang.",
    "تبيع الورشة الأشرعة والحبال إلخ. للموانئ. لا أحد غيرها يفعل ذلك.",
    "雨下了一个星期……然后堤坝决口了。",
}


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.language}: {case.text[:20]}")
def test_a_labelled_text_is_cut_where_people_cut_it(case: Case) -> None:
    assert (ours(case) == case.spans) == (case.text not in KNOWN_WRONG)


@pytest.mark.parametrize("language", dict.fromkeys(case.language for case in cases()))
def test_the_rule_finds_as_many_as_the_library(language: str) -> None:
    of_it = [case for case in cases() if case.language == language]
    assert sum(ours(case) == case.spans for case in of_it) >= sum(
        of_library(case) == case.spans for case in of_it
    )


def test_lists_and_headings_are_blocks_in_every_script() -> None:
    text = "# कारखाना\n- वह नगर का है। वह लाल है।\n- 1904 में खुला।"
    assert [text[start:end] for start, end in sentences(text)] == [
        "कारखाना",
        "वह नगर का है।",
        "वह लाल है।",
        "1904 में खुला।",
    ]


def test_a_short_quotation_of_several_sentences_is_one_and_a_long_one_is_cut() -> None:
    short = "彼は「行こう。早く。」と叫んだ。"
    assert len(sentences(short)) == 1
    assert len(sentences("彼は「" + "今日は雨が降っている。" * 12 + "」と書いた。")) > 10


@pytest.mark.parametrize(
    "text",
    ["क्या पुल बंद है?", "هل الجسر مغلق؟", "Είναι κλειστή η γέφυρα;", "ድልድዩ ተዘግቷል፧", "橋は？"],
)
def test_a_question_is_known_by_the_mark_of_its_script(text: str) -> None:
    assert [kind for _, kind in sentence_kinds(text)] == ["question"]


def test_a_semicolon_is_a_question_mark_after_greek_alone() -> None:
    assert [kind for _, kind in sentence_kinds("It is red;")] == ["statement"]
