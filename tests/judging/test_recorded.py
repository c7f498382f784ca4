"""Recorded replies are read in strict forms: what says both, or neither, is refused."""

from __future__ import annotations

import json

import pytest

from claimeval.judging.recorded import FORMS, Meaning, Reader, Vocabulary, is_binary
from claimeval.judging.reply_values import Unparsable
from claimeval.types.errors import UsageError
from claimeval.types.scales import grade_scale
from tests.shared_data import shared_data

FREE = ("first_word", "answer", "brackets", "statement")
GRADES = grade_scale("grades", highest=3, positive_from=2)
YES = "supported"
NO = "not_found"


def read(text: str, *forms: str, **settings: object) -> tuple[str, str]:
    vocabulary = Vocabulary(binary=True, **settings)  # type: ignore[arg-type]  # its own
    said = Reader(forms or FREE, vocabulary).read(text)
    return said.meaning, said.form


@pytest.mark.parametrize("name", FORMS)
def test_every_form_reads_its_own_example(name: str) -> None:
    spec = {"tag": "tag:answer", "json": "json:verdict"}.get(name, name)
    grades = GRADES if name in ("score", "number") else None
    said = Reader([spec], Vocabulary(grades=grades)).read(FORMS[name].example)
    assert said.form == spec


@pytest.mark.parametrize(
    ("text", "meaning", "form"),
    [
        ("Yes, the candidate is correct. It flows north.", YES, "first_word"),
        ("No, the correct answer is 126.", NO, "first_word"),
        ("yes", YES, "first_word"),
        ("**No**\n\nReasoning: the year differs.", NO, "first_word"),
        ('"No." Evidence: the second line.', NO, "first_word"),
        ("\nFalse. The tower is older.", NO, "first_word"),
        ("Partially. Only the first part is there.", NO, "first_word"),
        ("Line 3 says otherwise.\nAnswer: No", NO, "answer"),
        ("It is all there.\nFinal answer: **Yes**", YES, "answer"),
        ("He was sixty.\nAnswer:\n\nNo, he was not.", NO, "answer"),
        ('Therefore the answer is "No".', NO, "answer"),
        ("The answer is:\n\nAnswer: Yes", YES, "answer"),
        ("It fits. [[Yes]]", YES, "brackets"),
        (
            "The summary is not factually consistent with the document. It says she.",
            NO,
            "statement",
        ),
        ("The summary is factually inconsistent with the document.", NO, "statement"),
        ("Based on the page, the statement is fully supported.", YES, "statement"),
        ("The candidate is partially correct. It was Henry.", NO, "statement"),
        ("The claim is not entirely accurate.", NO, "statement"),
        ("The candidate does not provide a correct answer to the question.", NO, "statement"),
        ("The candidate gives a name, not a year. It should be 1901.", NO, "statement"),
        ("I cannot determine if the candidate is correct without the year.", "unsure", "statement"),
        ("No, this cannot be determined from the page.", NO, "first_word"),
    ],
)
def test_free_texts(text: str, meaning: str, form: str) -> None:
    assert read(text) == (meaning, form)


REFUSED = {
    "says both": [
        "No, the candidate is correct.",
        "Yes, the candidate is partially correct.",
        "No, it is not.\n\nAnswer:\n\nYes, the summary is factually correct.",
        "Answer: Yes, on the first point.\nAnswer: No, on the second.",
        (
            "The summary is consistent with the page. Therefore, the summary is not consistent with"
            " the page."
        ),
        "[[Yes]] ... [[No]]",
        "Yes, but I cannot tell whether the year is right.",
    ],
    "no verdict": [
        "",
        "The page is about clocks.",
        "No evidence is given either way.",
        "No one was hurt.",
        "Yes and no.",
        "Answer: Yes or No",
        'Answer "Yes" or "No" and give the evidence.',
        "Is the summary factually consistent with the document?",
        "If the candidate is correct, the year must be 1901.",
        "It is hard to say that the summary is consistent.",
        "The rest of the summary is consistent with the document.",
        "The summary is correct in its first half.",
        "The summary is not incorrect.",
        "Nothing is known of yesterday's answer.",
        "Notably, it is late.",
    ],
    "another item": [
        "Answer: Yes, it is there.\n\nSummary 2: The clock stopped.\nAnswer: Yes, it did."
    ],
}


@pytest.mark.parametrize(
    ("words", "text"), [(words, text) for words, texts in REFUSED.items() for text in texts]
)
def test_a_text_that_says_both_or_neither_or_goes_on_to_other_items_is_refused(
    words: str, text: str
) -> None:
    with pytest.raises(Unparsable, match=words):
        read(text)


@pytest.mark.parametrize(
    ("form", "text", "meaning"),
    [
        (
            "tag:answer",
            (
                "<output><explanation>A & B <b> says"
                " <no></explanation><answer>partially_supported</answer></output>"
            ),
            NO,
        ),
        (
            "tag:answer",
            "<explanation>The answer is wrong.</explanation>\n<answer> Fully Supported </answer>",
            YES,
        ),
        ("tag:answer", "<ANSWER>no</ANSWER> <answer>No.</answer>", NO),
        ("json:verdict", '{"verdict": "yes"}', YES),
        ("json:verdict", '```json\n{"verdict": false}\n```', NO),
        ("json:verdict", '{"verdict": "Entailment"}', YES),
    ],
)
def test_a_tagged_block_or_json_decides_whatever_stands_around_it(
    form: str, text: str, meaning: str
) -> None:
    assert read(text, form)[0] == meaning


UNREAD = {
    "tag:answer": [
        "<answer>yes</answer><answer>no</answer>",
        "<answer>perhaps</answer>",
        "<answer>yes",
        "answer: yes",
    ],
    "json:verdict": ['{"label": "yes"}', '{"verdict": "maybe"}', 'Sure! {"verdict": "yes"}', "{"],
    "score": [
        "##final score: 4",
        "##final score: -1",
        "##final score: 2.5",
        "##final score: 1\n##final score: 2",
    ],
    "number": ["The passage is from 2021.", "3.", "7"],
}


@pytest.mark.parametrize(
    ("form", "text"), [(form, text) for form, texts in UNREAD.items() for text in texts]
)
def test_what_is_doubled_unknown_open_off_the_scale_or_in_running_text_is_refused(
    form: str, text: str
) -> None:
    grades = GRADES if form in ("score", "number") else None
    with pytest.raises(Unparsable):
        Reader([form], Vocabulary(binary=grades is None, grades=grades)).read(text)


@pytest.mark.parametrize(
    ("text", "form", "grade"),
    [
        ("M: 2\nT: 1\n##final score: 2", "score", 2),
        ("## Final score : 0", "score", 0),
        (" 3\n", "number", 3),
    ],
)
def test_grades(text: str, form: str, grade: int) -> None:
    said = Reader([form], Vocabulary(grades=GRADES)).read(text)
    assert (said.grade, said.meaning) == (grade, YES if grade >= 2 else NO)


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("Entailment", "supported"),
        ("Contradiction", "contradicted"),
        ("Neutral", "not_found"),
        ("not_supported", "not_found"),
        ("partially-supported", "not_found"),
        ("idk", "unsure"),
    ],
)
def test_words_on_a_scale_of_three(word: str, meaning: Meaning) -> None:
    assert Reader(["word"], Vocabulary()).read(word).meaning == meaning


def test_words_of_the_user_come_first() -> None:
    own: dict[str, Meaning] = {"Partially supported": "supported", "ja": "supported"}
    assert read("<a>partially_supported</a>", "tag:a", meanings=own)[0] == YES
    assert read("Ja, das stimmt.", meanings=own)[0] == YES


def test_forms_are_tried_in_order() -> None:
    assert read("No. <answer>yes</answer>", "tag:answer", "first_word")[1] == "tag:answer"
    assert read("No. It differs.", "tag:answer", "first_word")[1] == "first_word"


@pytest.mark.parametrize(
    "reasoning", ["<think>Answer: Yes? Answer: No.</think>", "Answer: Yes?\n</think>"]
)
@pytest.mark.parametrize(
    ("reply", "form"), [("No.", "first_word"), ('{"a": "NO"}', "json:a"), ("not-supported", "word")]
)
def test_reasoning_before_a_recorded_reply_says_nothing(
    reasoning: str, reply: str, form: str
) -> None:
    assert read(f"{reasoning}\n\n{reply}", form)[0] == NO


@pytest.mark.parametrize("form", ["last_word", "tag", "json:", "first_word:x"])
def test_an_unknown_or_incomplete_form_is_refused_in_words(form: str) -> None:
    with pytest.raises(UsageError, match="form"):
        Reader([form], Vocabulary())


def test_free_forms_say_yes_or_no() -> None:
    assert is_binary(FREE)
    assert not is_binary(["first_word", "tag:answer"])


def test_recorded_texts_of_sixteen_models_are_read_or_refused() -> None:
    """All these replies were recorded as "inconsistent"; one of them says Yes in so many words."""
    reader = Reader(FREE, Vocabulary(binary=True))
    said: dict[str, int] = {}
    with shared_data("factcc_judge_text/visible.jsonl").open(encoding="utf-8") as file:
        for line in file:
            for output in json.loads(line)["outputs"]:
                try:
                    meaning = str(reader.read(output["raw"]).meaning)
                except Unparsable:
                    meaning = "refused"
                said[meaning] = said.get(meaning, 0) + 1
    assert said == {"not_found": 1698, "refused": 32, "supported": 1}
