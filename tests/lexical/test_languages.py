"""The language of texts, by script and commonest words."""

from __future__ import annotations

import pytest

from benchmarks.sentences import cases
from claimeval.lexical.languages import NAMES, language_of, language_of_all

LABELLED = sorted({case.language for case in cases()})


@pytest.mark.parametrize("language", [language for language in LABELLED if language in NAMES])
def test_a_few_sentences_show_their_language(language: str) -> None:
    text = " ".join(case.text for case in cases() if case.language == language)
    assert language_of(text) in (
        (language,) if language != "tr" else ("tr", None)
    )  # three sentences are too few


@pytest.mark.parametrize("language", [language for language in LABELLED if language not in NAMES])
def test_a_language_that_is_not_known_passes_for_none_that_is(language: str) -> None:
    assert {language_of(case.text) for case in cases() if case.language == language} == {None}


def test_of_single_sentences_hardly_one_passes_for_another_language() -> None:
    found = [(case.language, language_of(case.text)) for case in cases()]
    assert sum(said is not None and said != right for right, said in found) <= 2


@pytest.mark.parametrize("text", ["", "Paris, 1990", "42", "OK!", "..."])
def test_too_little_shows_no_language(text: str) -> None:
    assert language_of(text) is None


def test_two_thirds_decide_and_texts_that_show_nothing_do_not_count() -> None:
    german = "Der Turm ist nicht rot und steht am Markt."
    english = "The tower is not red and stands at the market."
    assert language_of_all([german, german, english, "42"]) == ("de", {"de": 2, "en": 1})
    assert language_of_all([german, english]) == (None, {"de": 1, "en": 1})
    assert str(language_of_all([german, english, german])) == "German 2, English 1"
    assert language_of_all([]) == (None, {})
