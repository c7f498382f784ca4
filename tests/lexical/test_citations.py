"""What is a citation, and what only looks like one. All expected texts are written by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from claimeval.lexical import citations
from claimeval.lexical.citations import bare, citation_spans, marks, masked, without
from claimeval.lexical.sentences import sentences
from claimeval.lexical.words import words_of

PLAIN = "Brandi was a restorer."


@pytest.mark.parametrize(
    "mark",
    [
        " [1]",
        "[1]",
        " [1, 2]",
        " [1,2]",
        " [1; 2]",
        " [1-3]",
        " [1–3]",
        "[1][2]",
        " [1] [2]",
        " [1], [2]",
        " ([1])",
        " ([1], [2])",
        " [[1]](https://example.org/a_b)",
        " [1](https://example.org)",
        " [[2]]",
        "【1†source】",
        "【4:0†report.pdf】【4:1†a.pdf】",
        "【1】",
        "［1］",
        "〔2〕",
        " [1†source]",
        " [^1^]",
        " [^1^][^2^]",
        " [^1]",
        " [^note]",
        " [doc_2]",
        " [doc2]",
        " [doc 2]",
        " [Document 2]",
        " [Document 1, Document 3]",
        " [d1]",
        " [D1], [D2]",
        " [S3]",
        " [source: 3]",
        " [Source 3]",
        " [citation:3]",
        " [cite: 1, 2]",
        " [ref. 4]",
        " [passage 3]",
        " [chunk_12]",
        " (Document 2)",
        " (Doc. 2)",
        " (doc 2)",
        " (Docs 2 and 3)",
        " (Documents 1, 2 and 3)",
        " (source: 3)",
        " (Passage ID 3)",
        " (see Source 2, p. 14)",
        " (Dokument 2)",
        " (siehe Quelle 3)",
        " (fuente 2)",
        "（文档2）",
        "¹",
        "¹²",
        "¹,²",
        "<sup>1</sup>",
        " <sup>[1]</sup>",
        "<sup>1,2</sup>",
        ", as stated in Document 3",
        " as stated in document 3",
        ", according to document 3",
        " according to [3]",
        " (according to document 3)",
        ", as noted by source 2",
        " as per document 3",
        " based on documents 1 and 3",
    ],
)
def test_a_citation_at_the_end_of_a_sentence_is_taken_out(mark: str) -> None:
    text = f"Brandi was a restorer{mark}."
    assert without(text).replace("()", "").replace(" .", ".") == PLAIN


@pytest.mark.parametrize(
    "phrase",
    [
        "According to document 3, ",
        "According to Document [3], ",
        "According to [3], ",
        "According to the document 3, ",
        "According to documents 1 and 3, ",
        "According to document 3 ",
        "As stated in Document 3, ",
        "In Document 3, ",
        "As mentioned in [1][2], ",
        "Based on source 2, ",
        "Per document 2, ",
        "Document 3 states that ",
        "The document 3 also says that ",
        "Documents 1 and 3 state that ",
        "[2] states that ",
        "[1] ",
        "Laut Dokument 3, ",
        "Selon le document 3, ",
        "Según el documento 3, ",
        "Secondo la fonte 2, ",
        "根据文档3，",
    ],
)
def test_a_source_named_before_what_it_says_is_taken_out(phrase: str) -> None:
    assert without(f"{phrase}Brandi was a restorer.").strip() == PLAIN
    assert without(f"He lived. {phrase}Brandi was a restorer.") in (
        f"He lived. {PLAIN}",
        f"He lived.  {PLAIN}",
    )


@pytest.mark.parametrize(
    ("cited", "plain"),
    [
        ("Brandi [1] and Riegl [2] met.", "Brandi and Riegl met."),
        ("Brandi[1]and Riegl met.", "Brandi and Riegl met."),
        ("Brandi, as stated in Document 3, was a restorer.", PLAIN),
        ("He taught, according to document 3, and he wrote.", "He taught and he wrote."),
        ("He taught according to document 3, and he wrote.", "He taught, and he wrote."),
        ("He taught (Doc. 2), and he wrote [^1].", "He taught, and he wrote."),
        ("He restored¹ frescoes.² He wrote.", "He restored frescoes. He wrote."),
        ("布兰迪是修复师【1】。", "布兰迪是修复师。"),
        (f"{PLAIN}[^1]\n\n[^1]: Guide, p. 3", PLAIN),
        # A number in brackets and a colon can begin a line of the answer itself.
        ("[1]: open the box.", ": open the box."),
    ],
)
def test_what_a_citation_stands_between_stays_whole(cited: str, plain: str) -> None:
    assert without(cited) == plain


@pytest.mark.parametrize(
    "text",
    [
        "He died in [1994].",
        "He died (1994).",
        "It cost [1,200] lire.",
        "(2) Open the box.",
        "He had sons (2).",
        "It was shown (Smith, 2020).",
        "He [sic] was [...] here [emphasis added].",
        "It is [0.2, 0.5] wide.",
        "The 95% CI [5, 10] holds.",
        "The interval [2, 5] is closed.",
        "The vector [1, 2] is short.",
        "It has 5 km².",
        "It has 5 m².",
        "About 10⁶ cells.",
        "x² + R² = 4.",
        "It has 30 miles².",
        "CO² rose.",
        "5.² is not",
        "It has 5 km<sup>2</sup> and 10<sup>6</sup>.",
        "Document 3 of the treaty bans it.",
        "According to document 3 of the treaty, it is banned.",
        "The limit in document 3 is five.",
        "Document 3 bans it.",
        "The 3 documents agree.",
        "Source 5.2 is new.",
        "In 3 documents, it is banned.",
        "According to 3 documents, it is banned.",
        "Per 100 people, 5 died.",
        "As shown in Figure 2, it rose (Figure 2).",
        "Article 3 (Section 2) bans it.",
        "In 1994, it rose.",
        "It grew by 3 per document.",
        "According to document 1994, it rose.",
        "Resource 3 is used (resource 3).",
    ],
)
def test_what_can_be_a_fact_is_no_citation(text: str) -> None:
    assert without(text) == text
    assert citation_spans(text) == ()


def test_the_bare_text_leads_back_to_the_original() -> None:
    text = "The café【1†source】 opened in 1901 [2], as stated in Document 3."
    found = bare(text)
    assert found.text == "The café opened in 1901."
    assert all(
        text[place] == character for place, character in zip(found.offsets, found.text, strict=True)
    )
    start = found.text.index("café opened")
    assert (
        text[slice(*found.original(start, start + len("café opened")))] == "café【1†source】 opened"
    )


def test_a_text_without_citations_is_given_back_as_it_is() -> None:
    text = "It opened in 1901."
    assert bare(text) == (text, ())
    assert bare(text).original(3, 9) == (3, 9)


def test_masking_keeps_every_other_character_in_its_place() -> None:
    text = "He rose [1] and fell (Document 2)."
    assert masked(text) == "He rose     and fell             ."
    assert len(masked(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[1" * 50_000,
        "[1," * 40_000,
        "(see document " * 10_000,
        "according to document " * 10_000,
        "[^" + "a" * 100_000,
        "¹" * 100_000,
        "document 3, " * 10_000,
        " " * 100_000 + "[1]",
        "[1](http:" * 10_000,
        "<sup>1" * 20_000,
        "[1] " * 20_000,
        "(source 1 and 2 and " * 5_000,
    ],
    ids=lambda text: text[:12],
)
def test_odd_long_texts_are_read_to_their_end(text: str) -> None:
    assert masked(f"{text} x [1].").endswith(" x    .")


@pytest.mark.parametrize(
    ("mark", "names"),
    [
        ("[1]", ["1"]),
        ("[1, 2]", ["1", "2"]),
        ("[1,2]", ["1", "2"]),
        ("[1; 2]", ["1", "2"]),
        ("[1-3]", ["1", "2", "3"]),
        ("[1–3]", ["1", "2", "3"]),
        ("[1-2, 4]", ["1", "2", "4"]),
        ("[1][2]", ["1", "2"]),
        ("[1] [2]", ["1", "2"]),
        ("([1], [2])", ["1", "2"]),
        ("[[1]](https://example.org/4)", ["1"]),
        ("[1](https://example.org/4)", ["1"]),
        ("【1†source】", ["1"]),
        ("【4:0†report.pdf】【4:1†a.pdf】", ["report.pdf", "a.pdf"]),
        ("【3†L10-L20】", ["3"]),
        ("［１］", ["1"]),
        ("〔2〕", ["2"]),
        ("[^1^][^2^]", ["1", "2"]),
        ("[^1]", ["1"]),
        ("[^note]", ["note"]),
        ("[doc_2]", ["2"]),
        ("[Document 1, Document 3]", ["1", "3"]),
        ("[D1], [D2]", ["1", "2"]),
        ("[S3]", ["3"]),
        ("[source: 3]", ["3"]),
        ("[cite: 1, 2]", ["1", "2"]),
        ("[passage 3]", ["3"]),
        ("(Docs 2 and 3)", ["2", "3"]),
        ("(Passage ID 3)", ["3"]),
        ("(see Source 2, p. 14)", ["2"]),
        ("(siehe Quelle 3)", ["3"]),
        ("（文档2）", ["2"]),
        ("¹", ["1"]),
        ("¹²", ["1", "2"]),
        ("²⁻⁴", ["2", "3", "4"]),
        ("<sup>1,2</sup>", ["1", "2"]),
        (", according to documents 1 and 3", ["1", "3"]),
        (", as stated in Document 3", ["3"]),
        ("(Source: handbook.pdf)", ["handbook.pdf"]),
        ("[Source: a.pdf; b.pdf]", ["a.pdf", "b.pdf"]),
        ("(Quelle: Handbuch, Band 3)", ["Handbuch, Band 3"]),
        ("[the manual](https://x.org/m)", ["https://x.org/m"]),
        ("[kb_policy_7]", ["kb_policy_7"]),
        ("[kb_policy_7, kb_9]", ["kb_policy_7", "kb_9"]),
        ("(kb_policy_7)", ["kb_policy_7"]),
        ("[#1]", ["1"]),
        ("[src 2]", ["2"]),
        ("[ref1]", ["1"]),
        ("[ctx 3]", ["3"]),
        ("[1, p. 14]", ["1"]),
        ("[1: p. 3; 2]", ["1", "2"]),
        ("[@kb_policy_7]", ["kb_policy_7"]),
        ("[ID: kb_policy_7]", ["kb_policy_7"]),
        ("(Document: kb_policy_7)", ["kb_policy_7"]),
        ("[Source kb_policy_7]", ["kb_policy_7"]),
        ("[kb_policy_7, page 3]", ["kb_policy_7"]),
        ("[Rules](/gone)", ["Rules"]),
        ("(Source: a.pdf#page=3)", ["a.pdf#page=3"]),
        ("(Source: kb_9#page=3; b.pdf)", ["kb_9", "b.pdf"]),
        ("[kb_9#page=3]", ["kb_9"]),
        ("<cite>1</cite>", ["1"]),
        ("<cite>1, kb_9</cite>", ["1", "kb_9"]),
        ('<ref id="2"/>', ["2"]),
        ("<cite source='kb_9'>so</cite>", ["kb_9"]),
        ("<cite>The Hobbit</cite>", []),
        ("\\cite{kb_9}", ["kb_9"]),
        ("\\citep[p. 3]{kb_9, kb_policy_7}", ["kb_9", "kb_policy_7"]),
        ("`[1]`", ["1"]),
        ("[cite_start]", []),
        ("[write](mailto:a@b.org)", []),
        ("![plan](plan.png)", []),
    ],
)
def test_marks_say_what_is_cited(mark: str, names: list[str]) -> None:
    text = (
        f"Brandi was a restorer {mark}."
        if mark[0] not in ",¹²<"
        else f"Brandi was a restorer{mark}."
    )
    found = marks(text, {"kb_policy_7", "kb_9", "rules"}, 5)
    assert [name for each in found for name in each.names] == names
    assert all(0 < each.start < each.end < len(text) for each in found)


@pytest.mark.parametrize(
    "text",
    [
        "He died in [1994].",
        "It cost [1,200] lire.",
        "(2) Open the box.",
        "It was shown (Smith, 2020).",
        "The 95% CI [5, 10] holds.",
        "The interval [2, 5] is closed.",
        "² is a raised number.",
        "It has 5 km² and 10⁶ cells.",
        "x² + R² = 4.",
        "Document 3 of the treaty bans it.",
        "As shown in Figure 2, it rose (Table 3).",
        "See Section 4.2 (Article 3).",
        "He [sic] was [...] here.",
        "Glucose was 90 mg/dl (reference: 70-99 mg/dl).",
        "It lies in Paris (France).",
        "A range of [2, 5] holds (95% CI of [1, 3]).",
        "It has ²³⁵U and H₂O²⁺.",
        "(ID: 1234) (Document: signed)",
        "It is x[0].",
        "Then `row[1]` is read.",
        "It sets arr[1] and my_list[2].",
        "a[1:3] has two, items[1:3] too.",
        "It goes\n```\nq = row[1]\n```\non.",
        "It varies from [1, 5].",
        "It has values of [10, 20].",
        "It lies between [1 and 3].",
        "Its population is [5] million.",
        "It is [5] %, or `\\cite{kb_9}`.",
        "1. Open it.\n2. Close it.",
        "Sources of energy:\nwind and sun",
        "- [ ] to do\n- [x] done",
    ],
)
def test_years_values_powers_and_sections_are_no_marks(text: str) -> None:
    assert marks(text, {"kb_policy_7", "france", "1", "2", "3"}, 5) == ()


def test_a_named_source_is_taken_out_when_texts_are_compared() -> None:
    assert without("Brandi was a restorer (Source: handbook.pdf).") == PLAIN
    assert without("Brandi was a restorer. [Source: a; b]") == PLAIN


@pytest.mark.parametrize(
    "text",
    [
        "It lies in Paris[1].",
        "It was taken from [1, 5].",
        "It has low values [1, 2].",
        "It is 5 m[1].",
        "It was built in the 1980s[1].",
        "It has vitamin C[1].",
        "He wrote _Hamlet_[1].",
        "It grew [5]. Millions came.",
        "Differences between [1] and [2] are small.",
    ],
)
def test_marks_that_look_like_indexes_and_intervals_are_read(text: str) -> None:
    assert marks(text, (), 5)


def test_tags_and_commands_are_taken_out_when_texts_are_compared() -> None:
    assert without('<cite id="2">Brandi was a restorer</cite>.') == PLAIN
    assert without("Brandi was a restorer <cite>1</cite>.") == PLAIN
    assert without("Brandi was a restorer \\cite{brandi_1963}.") == PLAIN


MARKED = Path(__file__).with_name("marked.txt").read_text(encoding="utf-8").splitlines()
"""Sentences that cite where the sign ‸ stands, many after words such as "set" and "range"."""
UNMARKED = Path(__file__).with_name("unmarked.txt").read_text(encoding="utf-8").splitlines()
"""Sentences whose brackets and raised numbers cite nothing."""


def cited_in_every_form(sentence: str) -> Iterator[tuple[str, list[str]]]:
    before, after = sentence.split("‸")
    yield f"{before} [1]{after}.", ["1"]
    yield f"{before}[1]{after}.", ["1"]
    yield f"{before} [1][2]{after}.", ["1", "2"]
    yield f"{before}【1】{after}.", ["1"]
    if after:
        yield f"{before} (Source 1){after}.", ["1"]
        return
    yield f"{before}. [1]", ["1"]
    yield f"{before}.[1]", ["1"]
    yield f"{before}. [1, 2]", ["1", "2"]
    yield f"{before}.¹", ["1"]


@pytest.mark.parametrize("sentence", MARKED)
def test_a_mark_after_any_word_is_read_and_left_out_of_the_claim(sentence: str) -> None:
    for cited, names in cited_in_every_form(sentence):
        assert [name for mark in marks(cited, (), 5) for name in mark.names] == names, cited
        assert without(cited).rstrip(" .") == sentence.replace("‸", "").rstrip(), cited


@pytest.mark.parametrize("sentence", UNMARKED)
def test_values_indexes_and_powers_stay_in_their_sentence(sentence: str) -> None:
    assert marks(sentence, (), 5) == ()
    assert without(sentence) == sentence


def test_there_are_five_hundred_sentences_both_ways() -> None:
    assert sum(len([*cited_in_every_form(sentence)]) for sentence in MARKED) >= 500
    assert len(set(UNMARKED)) > 150


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The 95% CI [5, 10] [3] holds.", ["3"]),
        ("It varies from [1, 5] [2].", ["2"]),
        ("The intervals [1, 2], [3, 4] [5] are disjoint.", ["5"]),
    ],
)
def test_a_mark_after_values_in_brackets_is_read(text: str, names: list[str]) -> None:
    assert [name for mark in marks(text, (), 5) for name in mark.names] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("<co: 0>Rain fell</co: 0>. <co: 1,2>Snow fell</co: 1,2>.", ["co:0", "co:1", "co:2"]),
        (
            "Rain fell \ue200cite\ue202turn0search0\ue201."
            " Snow fell \ue200cite\ue202turn0search1\ue201.",
            ["turn0search0", "turn0search1"],
        ),
        ("Rain fell citeturn0search0turn0news2. Snow fell.", ["turn0search0", "turn0news2"]),
        ("[cite_start]Rain fell [cite: 1]. [cite_start]Snow fell [cite: 2, 3].", ["1", "2", "3"]),
        ('<cite id="1">Rain fell</cite>. <cite id="2">Snow fell</cite>.', ["1", "2"]),
        ("Rain fell {1}. Snow fell {2}.", ["1", "2"]),
        ("Rain fell^1^. Snow fell.^2^", ["1", "2"]),
        ("Rain fell [web:1]. Snow fell [web:2].", ["1", "2"]),
        ("Rain fell in 1902². Snow fell in 1903<sup>3</sup>.", ["2", "3"]),
    ],
)
def test_marks_of_chat_programs_are_read_and_part_the_sentences(
    text: str, names: list[str]
) -> None:
    assert [name for mark in marks(text, (), 5) for name in mark.names] == names
    assert len(sentences(text)) == 2
    plain = without(text)
    assert plain.startswith("Rain fell")
    assert "cit" not in plain
    assert not any(sign in plain for sign in "[]{}<>^\ue200")


def test_a_raised_number_after_another_one_is_a_mark_too() -> None:
    text = "Rain fell ^1^ ^2^. Snow fell^1^^3^. Five km<sup>2</sup> <sup>3</sup>."
    assert [name for mark in marks(text) for name in mark.names] == ["1", "2", "1", "3", "3"]


ADDRESS = "https://www.example.org/a_(b)?x=1"


@pytest.mark.parametrize(
    "links",
    [
        f"[example.org]({ADDRESS})",
        f"([example.org]({ADDRESS}))",
        f"([The Times]({ADDRESS}), [Daily News]({ADDRESS}))",
        f"(Source: [Daily News]({ADDRESS}))",
        f"({ADDRESS})",
        f"[Daily News]({ADDRESS})",
        f'[Daily News]({ADDRESS} "News") [example.org]({ADDRESS})',
        f"[1] [Daily News]({ADDRESS})",
    ],
)
def test_links_alone_after_a_full_stop_are_of_the_sentence_before(links: str) -> None:
    text = f"Rain fell. {links} The snow fell. {links}"
    assert [text[start:end] for start, end in sentences(text)] == [
        f"Rain fell. {links}",
        f"The snow fell. {links}",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        f"[Daily News]({ADDRESS}) says so.",
        f"[Daily News]({ADDRESS}) Editor Ann Lind says so.",
        f"[The news of 1902]({ADDRESS}).",
        f"[example.org]({ADDRESS}) is a site.",
    ],
)
def test_a_link_begins_a_sentence_that_goes_on_with_it(sentence: str) -> None:
    text = f"Rain fell. {sentence}"
    assert [text[start:end] for start, end in sentences(text)] == ["Rain fell.", sentence]


@pytest.mark.parametrize("odd", ["[a](https://b.c) ", "([a](https://b.c", "(https://b.c, "])
def test_sentences_with_odd_long_links_are_read_to_their_end(odd: str) -> None:
    assert sentences(f"Rain. {odd * 10_000}\n\nSnow.")[-1].end > 10_000


@pytest.mark.parametrize(
    "mark",
    [
        " [kb_policy_7]",
        " (kb_policy_7)",
        " [@kb_policy_7]",
        " [kb_policy_7, kb_policy_9]",
        " [tower.pdf]",
        " (tower.pdf#page=3)",
        " [tower.pdf, p. 3]",
        " [chunk-00012]",
        " [kb:7]",
        " [9f1c2d3e-0a1b-4c2d-8e3f-1a2b3c4d5e6f]",
    ],
)
def test_ids_in_brackets_are_taken_out_whether_or_not_they_are_known(mark: str) -> None:
    assert without(f"Brandi was a restorer{mark}.") == PLAIN


@pytest.mark.parametrize(
    "text",
    [
        "It spread [COVID-19] and stopped.",
        "He flew a plane (B-52) there.",
        "It calls read(my_file.txt) twice.",
        "It sets x[a_b].",
        "It is `list [my_key]`.",
        "He [who had won] left (at last).",
    ],
)
def test_words_and_code_in_brackets_are_no_ids(text: str) -> None:
    assert without(text) == text


def test_a_source_with_a_number_is_found_before_each_number_as_in_all_of_a_text() -> None:
    everywhere = citations._pattern(citations._NUMBERED_SOURCE)
    names = words_of(
        "document Documents doc doc. docs DOC_ sources src passage ctx ref. search results result"
        " id footnote quelle dokumenti источник 文档 資料 출처 according to in , . : # _ - -- 3 12"
        " 1902 2,000 ٣ ４ x"
    )
    parts = sorted(names)
    draw = random.Random(7)
    found = 0
    for _ in range(5_000):
        words = [
            draw.choice(parts) + draw.choice(["", " ", " ", "  ", "\n"])
            for _ in range(draw.randint(1, 9))
        ]
        text = "".join(words)
        found += (expected := everywhere.search(text) is not None)
        assert citations._has_numbered_source(text) == expected, text
    assert 1_000 < found < 4_000, "both kinds of texts are drawn"
