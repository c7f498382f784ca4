"""Where a claim stands in its source text."""

from __future__ import annotations

from time import process_time

import pytest

from claimeval.judging.grounding import ground as place
from claimeval.judging.grounding import numbers
from claimeval.lexical.sentences import sentences

TEXT = (
    "The café opened in 1901.\nIt has  nine rooms and\u00a0340 clocks. Entry costs €1,200.50 a"
    " year."
)
SENTENCES = [(0, 24), (25, 61), (62, len(TEXT))]


@pytest.mark.parametrize(
    ("claim", "quote", "ids", "found"),
    [
        ("It opened.", "opened in 1901", (), ("exact", "opened in 1901")),
        # white space and compatibility forms do not matter
        (
            "Rooms.",
            "has nine rooms and 340 clocks",
            (),
            ("exact", "has  nine rooms and\u00a0340 clocks"),
        ),
        ("Cafe.", "The café opened", (), ("exact", "The café opened")),
        ("It opened.", "The cafe opened in 1901", (), ("fuzzy", "The café opened in 1901")),
        (
            "Something reworded entirely.",
            "not in the text at all, anywhere",
            (2, 3),
            ("ids_only", TEXT[25:]),
        ),
        ("Something reworded entirely.", None, (0, 9), ("ungrounded", None)),
        # a number of the question may be used
        ("In 2024 it had rooms.", "nine rooms", (), ("exact", "nine rooms")),
    ],
)
def test_a_claim_stands_where_its_quote_or_its_sentences_do(
    claim: str, quote: str | None, ids: tuple[int, ...], found: tuple[str, str | None]
) -> None:
    where = place(claim, quote, ids, TEXT, SENTENCES, "What about 2024?")
    assert (where.grounding, TEXT[slice(*where.span)] if where.span else None) == found


@pytest.mark.parametrize(
    ("quote", "ids", "place_of_quote"),
    [
        ("in 1871", (2,), 1),
        ("in 1871", (1,), 0),
        ("in 1871", (2, 1), 0),
        # ids that the text does not have, and none
        ("in 1871", (7,), 0),
        ("in 1871", (), 0),
        # the words of another sentence are looked for in the whole text
        ("The lamp", (2,), 0),
    ],
)
def test_words_that_stand_twice_are_those_of_the_named_sentence(
    quote: str, ids: tuple[int, ...], place_of_quote: int
) -> None:
    text = "The lamp was lit in 1871. The pier was built in 1871."
    starts = [text.find(quote), text.rfind(quote)]
    where = place("A claim.", quote, ids, text, [(0, 25), (26, 53)], "1871")
    assert where.span == (starts[place_of_quote], starts[place_of_quote] + len(quote))


@pytest.mark.parametrize(
    ("text", "quote", "start"),
    [
        ("A hundred lamps are red.", "red", 20),
        ("Partly art.", "art", 7),
        ("Artful arts.", "art", 7),
        # a script without blanks has no whole words, and where no word is whole, the first is meant
        ("灯塔建于1871年。", "建于", 2),
        ("A hundred lamps.", "red", 6),
    ],
)
def test_a_quote_is_of_whole_words_if_there_are_such(text: str, quote: str, start: int) -> None:
    where = place("A claim.", quote, (1,), text, [(0, len(text))], "")
    assert where.span == (start, start + len(quote))


@pytest.mark.parametrize(
    ("text", "quote", "ids", "start"),
    [
        # another sentence that is named has the whole word
        ("The category is new. A cat is old.", "cat", (1, 2), 23),
        # a quote over two sentences
        ("It is red. It is blue. It is red. It is blue.", "red. It is", (3, 4), 29),
        # between them is one that is not named
        ("It is red. It is blue. It is red. It is blue.", "red. It is", (1, 4), 6),
        # the whole word, not that with another vowel sign, nor the letters without the accent
        ("मति ठीक है, मत दो।", "मत", (1,), 12),
        ("Q́uay, Quay, aý, ay.", "ay", (1,), 18),
    ],
)
def test_words_that_stand_twice_are_the_whole_ones_of_all_named_sentences(
    text: str, quote: str, ids: tuple[int, ...], start: int
) -> None:
    where = place("A claim.", quote, ids, text, sentences(text), "")
    assert where.span == (start, start + len(quote))


def test_a_quote_is_found_beside_citations_and_blanks_in_its_sentence() -> None:
    text = "Rain  fell hard. Rain [1] fell [2]  hard."
    where = place("A claim.", "fell hard", (2,), text, sentences(text), "")
    assert where.span
    assert text[slice(*where.span)] == "fell [2]  hard"
    where = place("A claim.", "Rain fell", (2, 1), text, sentences(text), "")
    assert where.span
    assert text[slice(*where.span)] == "Rain  fell"


def test_quotes_of_replies_that_name_all_sentences_or_repeat_a_letter_are_found_at_once() -> None:
    text = " ".join(f"City {n} has a river [{n % 9 + 1}]." for n in range(1_000))
    spans = sentences(text)
    begun = process_time()
    names = range(1, len(spans) + 1)
    for _ in range(200):
        assert place("It is.", "no such words", names, text, spans, "").grounding == "ids_only"
    repeated = "a" * 100_000
    for n in range(10):
        where = place("It is.", "a" * (50_000 + n), (1,), repeated, [(0, 100_000)], "")
        assert where.span == (0, 50_000 + n)
    assert process_time() - begun < 8  # half a second, in place of half a minute


def test_a_power_makes_no_other_number() -> None:
    assert numbers("10⁶ m") == numbers("10^6 m") == {"10", "6"}
    assert numbers("106 m") == {"106"}


def test_a_number_that_is_nowhere_makes_a_claim_ungrounded_but_keeps_its_place() -> None:
    where = place("It opened in 1910.", "opened in 1901", (1,), TEXT, SENTENCES, "")
    assert (where.grounding, where.missing_numbers) == ("ungrounded", ("1910",))
    assert where.span == (9, 23)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,200.50", "1200.5"),
        ("1200.5", "1200.5"),
        ("10", "10"),
        ("3.0", "3"),
        ("１２", "12"),
        ("1,2", "1,2"),
    ],
)
def test_numbers_are_compared_by_value_as_far_as_the_form_tells(text: str, found: str) -> None:
    assert numbers(text) == {found}


def test_a_long_text_and_quote_stay_quick_and_correct() -> None:
    text = "word " * 100_000
    where = place("x", "gone " * 1000, (1,), text, [(0, len(text))], "")
    assert where.grounding == "ids_only"


CITED = "Brandi【1†source】 was a historian [2]. According to document 3, he wrote 12 books.¹"


@pytest.mark.parametrize(
    ("claim", "quote", "found"),
    [
        ("Brandi was a historian.", None, ("exact", "Brandi【1†source】 was a historian [2].", ())),
        (
            "x",
            "historian. he wrote 12",
            ("exact", "historian [2]. According to document 3, he wrote 12", ()),
        ),
        ("x", "was a historian [2]", ("exact", "was a historian [2]", ())),
        ("He wrote 12 books [7].", "wrote 12 books", ("exact", "wrote 12 books", ())),
        ("He wrote 2 books.", "wrote 12 books", ("ungrounded", "wrote 12 books", ("2",))),
        (
            "As stated in document 5, he wrote 1 book.",
            "he wrote",
            ("ungrounded", "he wrote", ("1",)),
        ),
    ],
)
def test_citations_in_the_midst_of_a_text_do_not_matter_and_their_numbers_do_not_count(
    claim: str, quote: str | None, found: tuple[str, str, tuple[str, ...]]
) -> None:
    where = place(claim, quote, (), CITED, [], "")
    assert (
        where.grounding,
        CITED[slice(*where.span)] if where.span else None,
        where.missing_numbers,
    ) == found


def test_the_number_of_a_citation_is_no_number_of_the_text() -> None:
    assert numbers("The area is 5 km² [1].") == {"5", "2"}
