"""What claims lose of their text, counted by hand over small texts."""

from __future__ import annotations

import sys

import pytest

from claimeval.lexical.claims import sentence_kinds, split_claims
from claimeval.lexical.extraction import MEASURES, Statement, examine

TEXT = (
    "Maria Lind was born in Oslo in March 1931. She did not marry. It may be that she met Ibsen in"
    " 1950 [2]. I hope this helps! Do you want more?"
)


def counts(*claims: Statement) -> dict[str, tuple[int, int]]:
    return examine(TEXT, claims).counts


def test_everything_is_lost_without_claims_but_questions_and_courtesies_are_no_loss() -> None:
    found = examine(TEXT, [])
    assert found.counts["statements_lost"] == (3, 3)
    assert found.kinds == {"statement": 3, "courtesy": 1, "question": 1}
    assert found.counts["numbers_lost"] == (2, 2)  # 1931 and 1950; the citation is no number
    assert found.counts["dates_lost"] == (3, 3)  # and March
    assert found.counts["names_lost"] == (4, 4)  # Maria, Lind, Oslo, Ibsen
    assert list(found.counts) == list(MEASURES)


def test_nothing_is_lost_by_the_sentences_themselves() -> None:
    spans = list(sentence_kinds(TEXT))
    whole = [Statement(TEXT[start:end], (i,)) for i, ((start, end), _) in enumerate(spans)]
    found = counts(*whole)
    assert {name for name, (hits, _) in found.items() if hits and name.endswith("_lost")} == set()
    assert found["claims_per_sentence"] == (5, 5)


def test_a_claim_that_the_extractor_repeats_counts_each_time() -> None:
    found = counts(Statement("Maria Lind was born in Oslo in March 1931.", repeats=2))
    assert (found["claims_per_sentence"], found["words_per_claim"]) == ((3, 5), (9, 1))


def test_a_claim_without_sentences_stands_under_the_one_with_most_of_its_words() -> None:
    found = examine(TEXT, [Statement("Lind did not marry."), Statement("Ibsen met her in 1950.")])
    assert found.sentences["statements_lost"] == [0]


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
    assert [(claim.text, claim.sentences) for claim in claims] == [
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
            examine(
                " ".join(sentences), [Statement(text, (i,)) for i, text in enumerate(sentences)]
            )
        finally:
            sys.setprofile(None)
        return taken

    steps(1)
    assert steps(200) < 2.5 * steps(100)
