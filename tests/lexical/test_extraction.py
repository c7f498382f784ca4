"""What claims lose of their text and what is wrong with them, counted by hand over small texts."""

from __future__ import annotations

import sys

import pytest

from claimeval.lexical.claims import sentence_kinds, split_claims
from claimeval.lexical.extraction import MEASURES, Statement, examine

TEXT = (
    "Maria Lind was born in Oslo in March 1931. She did not marry. It may be that she met Ibsen in 1950 [2]. "
    "I hope this helps! Do you want more?"
)


def counts(*claims: Statement, text: str = TEXT, question: str = "") -> dict[str, tuple[int, int]]:
    return examine(text, claims, question).counts


def test_everything_is_lost_without_claims_but_questions_and_courtesies_are_no_loss() -> None:
    found = examine(TEXT, [])
    assert found.counts["sentences_without_claim"] == (5, 5)
    assert found.counts["statements_lost"] == (3, 3)
    assert found.kinds == {"statement": 3, "courtesy": 1, "question": 1}
    assert found.counts["numbers_lost"] == (2, 2)  # 1931 and 1950; the citation is no number
    assert found.counts["dates_lost"] == (3, 3)  # and March
    assert found.counts["names_lost"] == (4, 4)  # Maria, Lind, Oslo, Ibsen
    assert found.counts["negations_lost"] == found.counts["hedges_lost"] == (1, 1)
    assert found.counts["doubled"] == (0, 0)
    assert list(found.counts) == list(MEASURES)


def test_nothing_is_lost_by_the_sentences_themselves() -> None:
    spans = sentence_kinds(TEXT)
    whole = [Statement(TEXT[start:end], (i,)) for i, ((start, end), _) in enumerate(spans)]
    found = counts(*whole)
    assert {name for name, (hits, _) in found.items() if hits and MEASURES[name].fault} == {"open_reference"}
    assert found["claims_per_sentence"] == (5, 5)


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        (Statement("Maria Lind was born in 1932.", (0,)), "number_nowhere"),
        (Statement("Maria Lind conducted orchestras in Vienna.", (0,)), "foreign"),
        (Statement("She was born in Oslo.", (0,)), "open_reference"),
        (Statement("Born in Oslo.", (0,)), "fragment"),
        (Statement("Maria Lind was born in Oslo and she did not marry.", (0, 1)), "compound"),
        (Statement("Maria Lind was born in Oslo.", (1,)), "misplaced"),
    ],
)
def test_each_fault_of_a_claim_is_counted_alone(claim: Statement, fault: str) -> None:
    clean = Statement("Maria Lind was born in Oslo in March 1931.", (0,))
    found = examine(TEXT, [clean, claim])
    assert {name: where for name, where in found.claims.items() if where} == {fault: [1]}
    assert found.counts[fault] == (1, 2)


def test_a_claim_repeats_another_in_any_order_unless_numbers_or_negation_differ() -> None:
    found = examine(
        TEXT,
        [
            Statement("Maria Lind was born in Oslo in March 1931."),
            Statement("In March 1931 Maria Lind was born in Oslo."),
            Statement("Maria Lind was born in Oslo in March 1930."),
            Statement("Maria Lind was not born in Oslo in March 1931.", repeats=2),
        ],
    )
    assert found.claims["doubled"] == [1]
    assert found.counts["doubled"] == (3, 6)  # the extractor gave the last one three times


def test_the_question_lends_its_words_and_numbers() -> None:
    claim = Statement("Maria Lind won the Nordic prize of 1970.", (0,))
    assert counts(claim)["number_nowhere"] == (1, 1)
    found = counts(claim, question="Who won the Nordic prize of 1970?")
    assert (found["number_nowhere"], found["foreign"]) == ((0, 1), (0, 1))


def test_negations_and_hedges_are_looked_for_in_the_claims_of_their_sentence() -> None:
    kept = counts(Statement("Maria Lind never married.", (1,)), Statement("She perhaps met Ibsen.", (2,)))
    lost = counts(Statement("Maria Lind married.", (1,)), Statement("She met Ibsen.", (2,)))
    assert (kept["negations_lost"], kept["hedges_lost"]) == ((0, 1), (0, 1))
    assert (lost["negations_lost"], lost["hedges_lost"]) == ((1, 1), (1, 1))


def test_a_claim_without_sentences_stands_under_the_one_with_most_of_its_words() -> None:
    found = examine(TEXT, [Statement("Lind did not marry."), Statement("Ibsen met her in 1950.")])
    assert found.sentences["statements_lost"] == [0]
    assert found.counts["misplaced"] == (0, 0)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("# Life\n\nShe sang.", ["heading", "statement"]),
        ("The cities are:\n- Rome\n- Bern", ["lead_in", "statement", "statement"]),
        ("I do not know the answer.", ["refusal"]),
        ("```\nx = 1\n```\nIt sets x.", ["code", "statement"]),
        ("I don't know the day, but it was in 1848.", ["statement"]),
    ],
)
def test_sentences_are_told_by_kind(text: str, kinds: list[str]) -> None:
    assert [kind for _, kind in sentence_kinds(text)] == kinds


def test_list_items_inherit_their_lead_in_unless_they_stand_alone() -> None:
    text = (
        "The following states are part of the Ghats [1]:\n- Gujarat\n- Goa, in part\n\n"
        "Two things happened:\n1. The dam was built.\n2. The town moved away.\n\nHere it ends."
    )
    claims = split_claims(text)
    assert [(claim.text, claim.sentence_ids) for claim in claims] == [
        ("The following states are part of the Ghats: Gujarat", (0, 1)),
        ("The following states are part of the Ghats: Goa, in part", (0, 2)),
        ("The dam was built.", (4,)),
        ("The town moved away.", (5,)),
        ("Here it ends.", (6,)),
    ]
    assert text[claims[0].start : claims[0].end] == "Gujarat"


def test_steps_grow_with_the_claims_and_not_with_their_square() -> None:
    def steps(claims: int) -> int:
        sentences = [f"Tower {n} was built by Ana Souto in {1100 + n}." for n in range(claims)]
        taken = 0

        def count(*_: object) -> None:
            nonlocal taken
            taken += 1

        examine(" ".join(sentences), [])
        sys.setprofile(count)
        try:
            examine(" ".join(sentences), [Statement(text, (i,)) for i, text in enumerate(sentences)])
        finally:
            sys.setprofile(None)
        return taken

    steps(1)
    assert steps(200) < 2.5 * steps(100)
