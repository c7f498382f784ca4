"""Sentences and claims by rule. Expected cuts are by hand."""

from __future__ import annotations

import json
import re

import pytest

from claimeval.lexical.claims import sentence_kinds, sentences, split_claims
from tests.shared_data import shared_data


def said(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def claimed(text: str) -> list[str]:
    return [claim.text for claim in split_claims(text)]


@pytest.mark.parametrize(
    "sentences_by_hand",
    [
        ["Dr. Smith paid $3.5 million.", "He left at 5 p.m. on Monday."],
        ["J. K. Rowling wrote it.", "George W. Bush did not."],
        ["It was sold by Verve, Impulse! Records and Decca [1].", "It is red."],
        ["In 2017, Shout! Factory released it.", "I like Elvis!", "Have you heard him?"],
        ["Sure!", "Bern is a town.", "So ein schönes Spiel!", "Bayern hat das Tor gemacht."],
        ["Apple Inc. sold it to Alphabet Inc. in the U.S. Army.", "It failed."],
        ["It left the U.S.", "The end came soon."],
        ["See Fig. 3 and p. 12.", "It rose in Jan. 2020 by approx. 5 per cent."],
        ["He likes fruit, e.g. apples, i.e. food, etc.", "She does not."],
        ["Smith v. Jones was decided.", "Smith vs. Jones was not."],
        ["It rose to 5.", "Then it fell to 3.14."],
        ["The term is old.[1]", "It was used early.[2][3]", "It is used now [4]."],
        ["The term is old. [1]", "It was used early. [2, 3]", "It is used now."],
        ['He said "Stop."', "Then he left."],
        ["“Stop!” he said.", "(She stopped.)", "They left."],
        ["What?!", "Really...", "Yes."],
        ["It went on... and then it stopped.", "Wait… for it."],
        ["The iPhone rose.", "iPad sales fell."],
        ["it was all in lower case.", "nobody minded."],
        ["He has a Ph.D. in law.", "She has one too."],
        ["The vitamin is C.", "It is good for you."],
        ["They met on Main St.", "They walked to St. Paul."],
        ["**Bold.**", "_Italic._", "Plain."],
        ["Ünal went home.", "Émile stayed."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(sentences_by_hand: list[str]) -> None:
    assert said(" ".join(sentences_by_hand)) == sentences_by_hand


def test_sentences_without_spaces_between_them_are_cut_in_chinese() -> None:
    assert said("第一句。第二句！第三句") == ["第一句。", "第二句！", "第三句"]


def test_list_items_are_sentences_without_their_markers() -> None:
    text = "Reasons:\n- It is cheap.\n* It works. Always.\n1. First\n2) Second\n(a) third\n• fourth"
    assert said(text) == [
        "Reasons:",
        "It is cheap.",
        "It works.",
        "Always.",
        "First",
        "Second",
        "third",
        "fourth",
    ]


def test_numbered_steps_within_a_line_keep_their_numbers() -> None:
    assert said("Steps: 1. Open it. 2. Close it.") == ["Steps: 1. Open it.", "2. Close it."]


def test_a_marker_alone_on_its_line_belongs_to_the_next() -> None:
    assert said("1.\nOpen it.") == ["Open it."]


def test_headings_lose_their_marks() -> None:
    assert said("## The end\nIt ended.") == ["The end", "It ended."]


def test_a_wrapped_line_goes_on() -> None:
    text = (
        "This line was broken by a program that wraps at about seventy\nCharacters or words.\nand"
        " so on\nto the end."
    )
    assert said(text) == [
        "This line was broken by a program that wraps at about seventy\nCharacters or words.",
        "and so on\nto the end.",
    ]


def test_a_short_line_is_a_sentence_of_its_own() -> None:
    assert said("Operating expenses\nThey rose.") == ["Operating expenses", "They rose."]


def test_a_column_of_citations_is_no_part_of_the_claims_of_a_table() -> None:
    rows = "| Height | 41 m | [2], [1] |\n| Steps | ✓ | [1] |"
    text = f"| What | How much | Source |\n|---|---|---|\n{rows}"
    assert [claim.text for claim in split_claims(text)][-2:] == [
        "Height; How much: 41 m",
        "Steps; How much: ✓",
    ]


def test_windows_line_ends_are_line_ends() -> None:
    assert said("One.\r\nTwo.\r\n\r\n- Three\r\n") == ["One.", "Two.", "Three"]


@pytest.mark.parametrize("text", ["", " \n\t ", "...", "---\n***", "[]()", "\N{GRINNING FACE}"])
def test_text_without_a_letter_or_digit_has_no_sentence_and_no_claim(text: str) -> None:
    assert sentences(text) == []
    assert split_claims(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I don’t know the answer to that.",
        "I cannot answer that from the documents.",
        "I'm sorry, but I can't help with that.",
        "I apologize, but I could not find any well-known person of that name.",
        "Unfortunately, the provided context does not mention the price.",
        "The documents do not contain enough information to answer.",
        "Based on the provided passages, it is not clear whether he spoke Russian.",
        "None of the passages provide a clear answer.",
        "The cost is not explicitly stated in the provided passages.",
        "There is no information about this person in the search results.",
        "As an AI language model, I don't have opinions.",
        "Insufficient information.",
        "Unknown",
        "N/A",
        "Hello!",
        "Good morning, how can I help?",
        "Thank you for your question.",
        "Great question!",
        "Sure!",
        "Yes.",
        "I hope this helps!",
        "Please let me know if you have further questions.",
        "Is Paris the capital of France?",
        "He asked: who was it?",
        "## Overview",
        "**Key points:**",
        "Here are the main reasons:",
        "Here is a short summary of the answer.",
        "SOURCE(S): 2022 Q3 AAPL.pdf, 2023 Q1 AAPL.pdf",
        '("2022 Q3 AAPL.pdf")',
        "Sources: [1] https://example.org",
        "https://example.org/a/b",
        "```python\nprint('Paris')\n```",
        "</s>",
    ],
)
def test_text_that_asserts_nothing_has_no_claim(text: str) -> None:
    assert claimed(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Paris",
        "1999",
        "The report does not mention any acquisition.",
        "There is no evidence that it works.",
        "No company was sold.",
        "The question of the succession divided Europe.",
        "Welcome to the Jungle is a song of 1987, and its writers are not known for restraint.",
        "Thanks to the rain, the harvest was good; the price fell.",
        "Great Britain left.",
        "Sources differ on the date.",
    ],
)
def test_short_and_negative_answers_are_claims(text: str) -> None:
    assert claimed(text)


def test_what_follows_a_refusal_is_kept() -> None:
    text = "I don't know the exact day, but the treaty was signed in 1848. I am not sure."
    assert claimed(text) == ["The treaty was signed in 1848."]


def test_a_heading_without_a_mark_is_no_claim_where_text_follows() -> None:
    text = (
        "Operating expenses\nThe expenses of the company rose by 5 % in the second quarter.\nParis"
    )
    assert claimed(text) == [
        "The expenses of the company rose by 5 % in the second quarter.",
        "Paris",
    ]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "He was born in Milan in 1944 and moved to Rome in 1960.",
            ["He was born in Milan in 1944", "He moved to Rome in 1960."],
        ),
        (
            "Marie Curie won two prizes and was the first woman to do so.",
            ["Marie Curie won two prizes", "Marie Curie was the first woman to do so."],
        ),
        (
            "In 1931, he founded a laboratory and served as its president.",
            ["In 1931, he founded a laboratory", "He served as its president."],
        ),
        (
            "The company was founded in 1976; it has 164,000 employees.",
            ["The company was founded in 1976", "It has 164,000 employees."],
        ),
        (
            "Prices rose by 3.1 % in 2021, and wages fell.",
            ["Prices rose by 3.1 % in 2021", "Wages fell."],
        ),
        (
            "Sales rose in Europe by 5 %, but the margins were lower than before.",
            ["Sales rose in Europe by 5 %", "The margins were lower than before."],
        ),
        (
            "Tilapia is easy to farm in warm water, whereas these fish are not.",
            ["Tilapia is easy to farm in warm water", "These fish are not."],
        ),
        (
            "The planned bridge opened in 1990 and was closed in 2000.",
            ["The planned bridge opened in 1990", "The planned bridge was closed in 2000."],
        ),
    ],
)
def test_clauses_that_stand_alone_are_claims_of_their_own(
    sentence: str, expected: list[str]
) -> None:
    assert claimed(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "He wrote and directed the film.",
        "An opened jar belongs in the refrigerator and should be used up within four weeks.",
        "He was born in London and educated at Eton.",
        "The film was written and directed by Ann Lee.",
        "She sells cars and related services.",
        "If sales rise and the margins are stable, the profit grows.",
        "Officials said that he moved to Spain and was arrested.",
        "He said: “I won and you were there.”",
        "Ann, who was a nurse and worked in Rome, married.",
        "Studies show that trout, oysters, and clams are profitable.",
        "The actions are fair, legal, and defensible should the worker contest them.",
        "Treatments that have been tried, but are not proven, include yoga.",
        "London, Paris and Rome are capitals.",
        "It was neither cheap nor easy and had few users.",
    ],
)
def test_a_sentence_stays_whole_where_a_cut_could_change_it(sentence: str) -> None:
    assert claimed(sentence) == [sentence]


def test_a_claim_names_its_sentence_and_quotes_the_source() -> None:
    text = "Hello! \n- The **firm** [1] was founded in 1976 and is\nlarge [2]."
    first, second = split_claims(text)
    assert (first.text, second.text) == ("The firm was founded in 1976", "The firm is large.")
    assert text[first.start : first.end] == "The **firm** [1] was founded in 1976"
    assert text[second.start : second.end] == "is\nlarge [2]."
    assert first.sentences == second.sentences == (1,)
    assert said(text)[1] == "The **firm** [1] was founded in 1976 and is\nlarge [2]."


def test_citations_emphasis_and_source_notes_are_not_part_of_a_claim() -> None:
    text = "The *net* sales [1][2] were `$5` million (Source: 2022 Q3.pdf). [3, 4]"
    assert claimed(text) == ["The net sales were $5 million."]


CITED = (
    "The firm is old{}.",
    "The firm{} is old.",
    "The firm is old.{} It is large.",
    "The firm is old{}, and it is large{}.",
)


@pytest.mark.parametrize("sentence", CITED)
@pytest.mark.parametrize(
    "mark",
    [
        "[1]",
        " [1, 2]",
        "【1†source】",
        " [^1^]",
        "[^1]",
        " [doc_2]",
        " [d1][d2]",
        " (Document 2)",
        "¹²",
        "[source: 3]",
    ],
)
def test_citations_of_every_form_change_neither_the_cuts_nor_the_claims(
    sentence: str, mark: str
) -> None:
    plain = sentence.replace("{}", "")
    cited = sentence.replace("{}", mark)
    assert claimed(cited) == claimed(plain)
    for claim in split_claims(cited):
        assert claim.text.split()[-1].strip(".") in cited[claim.start : claim.end]


@pytest.mark.parametrize(
    "notes",
    [
        "[^1]: doc1",
        "[^1]: Guide, page 3.\n[^2]: The list of firms. It was read in 2024.",
        "[1]: https://example.org/firms\n[2]: <https://example.org/b> 'Firms, 2024.'",
    ],
)
def test_footnotes_and_links_of_marks_are_no_claims(notes: str) -> None:
    text = f"The firm is old.[^1] It is large.[^2]\n\n{notes}"
    assert claimed(text) == claimed("The firm is old. It is large.")
    kinds = [kind for _, kind in sentence_kinds(text)]
    assert kinds[:2] == ["statement", "statement"]
    assert set(kinds[2:]) == {"courtesy"}


def test_the_source_that_a_sentence_names_is_not_part_of_its_claim_but_of_its_quote() -> None:
    text = (
        "According to document 3, the firm was founded in 1976 and it is large, as stated in"
        " Document 2."
    )
    first, second = split_claims(text)
    assert (first.text, second.text) == ("The firm was founded in 1976", "It is large.")
    assert text[first.start : first.end] == "According to document 3, the firm was founded in 1976"
    assert text[second.start : second.end] == "it is large, as stated in Document 2."


def test_a_document_that_the_text_is_about_stays() -> None:
    assert claimed("Document 3 of the treaty was signed in 1976.") == [
        "Document 3 of the treaty was signed in 1976."
    ]


def test_table_rows_are_claims_named_by_the_header() -> None:
    table = (
        "| City | Country | People |\n|---|:-:|---|\n| Paris | France | 2.1 million |\n| Rome |"
        " Italy | |"
    )
    assert claimed(table) == ["Paris; Country: France; People: 2.1 million", "Rome; Country: Italy"]


def test_table_rows_without_a_header_are_claims_as_they_are() -> None:
    assert claimed("Net sales   81,797   82,959") == ["Net sales; 81,797; 82,959"]


def test_list_items_without_a_verb_are_claims() -> None:
    assert claimed("The causes are:\n1. Lower volume\n2. A weak currency") == [
        "Lower volume",
        "A weak currency",
    ]


@pytest.mark.parametrize(
    "text",
    ["he was; " * 25_000, "x" * 200_000, ". " * 100_000, "| a " * 50_000, "sorry but " * 20_000],
)
def test_long_odd_texts_give_valid_claims(text: str) -> None:
    for claim in split_claims(text):
        assert claim.text
        assert 0 <= claim.start < claim.end <= len(text)


def test_real_answers_give_claims_that_quote_their_sentence_and_have_its_words_alone() -> None:
    word = re.compile(r"[^\W_]+")
    for name, key in (("expertqa", "answer"), ("factscore", "output"), ("refchecker", "response")):
        lines = shared_data(f"{name}/visible.jsonl").read_text(encoding="utf-8").splitlines()[::3]
        for answer in (json.loads(line)[key] for line in lines):
            spans = sentences(answer)
            ends = [0]
            for claim in split_claims(answer):
                sentence = spans[claim.sentences[-1]]
                assert sentence.start <= claim.start < claim.end <= sentence.end
                assert claim.start >= ends[-1]
                ends.append(claim.end)
                own = {
                    one.lower()
                    for i in claim.sentences
                    for one in word.findall(answer[slice(*spans[i])])
                }
                assert {one.lower() for one in word.findall(claim.text)} - own <= {"a", "an"}


def test_every_sentence_in_which_people_found_facts_gives_a_claim() -> None:
    lines = shared_data("factscore/visible.jsonl").read_text(encoding="utf-8").splitlines()
    with_facts = [
        sentence["text"]
        for line in lines
        for sentence in json.loads(line)["sentences"] or ()
        if sentence["human_facts"]
    ]
    assert [text for text in with_facts if not claimed(text)] == []
